"""The folder that is served: private tables with their plans and ledgers, and releases.

tables/NAME.csv      a private table, in any form that `dproof sanitise` reads
plans/NAME.toml      its plan
drafts/NAME.json     the plan that a custodian is writing on the pages, saved or not (`dproof.serve.custody`)
ledgers/NAME.db      its ledger, begun with the plan's budget
checked/NAME.json    in which state of its files the table was found to be readable (`dproof.serve.custody`)
releases/…/          folders that `dproof sanitise` made
surveys/NAME/        folders that `dproof collect` made
answers/NAME.db      what came in, for `dproof adopt answers/NAME.db --plan surveys/NAME`
tokens.db            who may do what (`dproof.serve.tokens`)
custodians.jsonl     what custodians did (`dproof.serve.custody`)
"""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
import stat
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from dproof import Ledger, Plan
from dproof.errors import ArgumentError, DproofError, FileError, did_you_mean
from dproof.serve import limits

CERTIFICATE, REPORT = "certificate.json", "report.html"  # files of a release
_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_-]{{0,{limits.LONGEST_NAME - 1}}}")
_TABLES, _PLANS, _DRAFTS, _LEDGERS = "tables", "plans", "drafts", "ledgers"
_CHECKED, _RELEASES, _SURVEYS, _ANSWERS = "checked", "releases", "surveys", "answers"
UNFINISHED = ".upload-"  # how the name of a file begins that is not all there; no table has such a name


def checked_name(name: str, what: str) -> str:
    """A name that is one part of a path, and nothing else.

    >>> checked_name("census_2024", "table")
    'census_2024'
    """
    if not _NAME.fullmatch(name):
        raise ArgumentError(f"the name of a {what} has letters, digits, _ and -, at most {limits.LONGEST_NAME} of them")
    return name


@dataclass(frozen=True, slots=True)
class Folder:
    """Where everything lies. A name from outside is looked up among what is there, and never joined to a path."""

    root: Path

    @classmethod
    def open(cls, root: Path) -> Folder:
        """A folder that can be served; its parts are made where they are not there yet."""
        if not root.is_dir():
            raise FileError(f"{str(root)!r} is no folder: make one, with your tables in {_TABLES}/")
        for part in (_TABLES, _PLANS, _DRAFTS, _LEDGERS, _CHECKED, _RELEASES, _SURVEYS, _ANSWERS):
            try:
                (root / part).mkdir(0o700, exist_ok=True)  # for its owner alone
            except OSError as error:
                raise FileError(f"{str(root / part)!r} cannot be made: {error.strerror}") from None
        return cls(root)

    def open_to_others(self) -> list[str]:
        """A sentence for each part of the folder that other people on this machine can look into.

        Nobody can through a folder that is closed to them, whatever lies in it.
        """
        root = _for_others(self.root)
        parts = {part: root & _for_others(self.root / part) for part in (_TABLES, _PLANS, _DRAFTS, _LEDGERS, _CHECKED)}
        found = [f"{part}/" for part, others in parts.items() if others]
        if not found:
            return []
        return [f"other people on this machine can look into {', '.join(found)}: close it with `chmod 700 {self.root}`"]

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the folder, so that no second server serves it; a process that ends lets go of it, however it ends."""
        file = self.root / "serving.db"
        try:
            database = sqlite3.connect(file, timeout=0, isolation_level=None)
            database.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            if "locked" in str(error):
                raise FileError(f"another server serves {str(self.root)!r} already: stop it first") from None
            raise FileError(f"{str(self.root)!r} cannot be written to, so no budget could be kept: {error}") from None
        try:
            for part in (self.root / _TABLES).glob(f"{UNFINISHED}*"):  # of a server that was killed
                part.unlink(missing_ok=True)
            yield
        finally:
            database.close()

    @property
    def files(self) -> dict[str, list[Path]]:
        """The files in the folder of tables, by the names of tables, whether they have a plan or not."""
        found: dict[str, list[Path]] = {}
        for file in sorted(os.listdir(self.root / _TABLES)):
            if _NAME.fullmatch(name := file.partition(".")[0]):
                found.setdefault(name, []).append(self.root / _TABLES / file)
        return found

    @property
    def misnamed(self) -> list[str]:
        """The files in the folder of tables whose names no table can have; hidden ones are meant to be overlooked."""
        names = sorted(os.listdir(self.root / _TABLES))
        return [name for name in names if not name.startswith(".") and not _NAME.fullmatch(name.partition(".")[0])]

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that can be asked: those with a plan."""
        return tuple(name for name in self.files if self.plan_file(name).is_file())

    @property
    def releases(self) -> dict[str, Path]:
        """The folders of releases, by their names."""
        found = sorted((self.root / _RELEASES).iterdir())
        return {path.name: path for path in found if _NAME.fullmatch(path.name) and (path / CERTIFICATE).is_file()}

    def file(self, name: str) -> Path:
        """The file of a table, whether it has a plan or not."""
        files = self.files
        if name not in files:
            raise _absent("table", name, files)
        kept = next((file.name for file in files[name] if file.suffix == ".ledger"), None)
        if kept is not None:  # as the command line keeps it
            way = "people lose both, so take it away only if they may"
            if not self.ledger(name).exists():
                way = f"move it to {_LEDGERS}/{name}.db"
            raise FileError(f"the server does not count what {_TABLES}/{kept} says was spent on {name!r}: {way}")
        if len(files[name]) > 1:  # a copy beside the table: which one is meant?
            raise FileError(
                f"{_TABLES}/ holds {len(files[name])} files with the name {name!r}: leave one of them there"
            )
        return files[name][0]

    def place_of_new_table(self, name: str, ending: str, *, replacing: bool = False) -> Path:
        """Where a table of that name will lie; once something was paid for one, it is never another."""
        if checked_name(name, "table") in self.files and not replacing:
            raise FileError(f"there is a table {name!r} already: choose another name, or replace it on its page")
        if self.is_paid(name):  # its answers would be told of other rows
            raise FileError(f"something was paid for a table {name!r} already, so its rows stay: choose another name")
        if self.ledger(name).exists() and not replacing:  # who had a budget on it would have one on this
            raise FileError(f"there is a ledger of an earlier table {name!r}: choose another name")
        return self.root / _TABLES / f"{name}{ending}"

    def table(self, name: str) -> Path:
        """The file of a table that can be asked."""
        if not _NAME.fullmatch(name) or not self.plan_file(name).is_file():
            raise _absent("table", name, self.tables)
        return self.file(name)

    def state(self, name: str) -> list[Any]:
        """The state of a table's plan and of its rows: it changes when one of them does."""
        data = self.table(name)  # says so where there is none
        return [state_of(self.plan_file(name)), state_of(data)]

    def release(self, name: str) -> Path:
        """The folder of a release."""
        found = self.releases
        if name not in found:
            raise _absent("release", name, found)
        return found[name]

    def plan_file(self, name: str) -> Path:
        return self.root / _PLANS / f"{checked_name(name, 'table')}.toml"

    def plan(self, name: str) -> Plan:
        """The plan of a table."""
        self.table(name)
        return Plan.read(self.plan_file(name))

    def ledger(self, name: str) -> Path:
        """Where the ledger of a table lies, or will."""
        return self.root / _LEDGERS / f"{checked_name(name, 'table')}.db"

    def is_paid(self, name: str) -> bool:
        """Whether something was paid for a table, so that its plan and its rows stay; a damaged ledger may say so."""
        try:
            return Ledger.is_begun(self.ledger(name)) and not Ledger(self.ledger(name)).is_unspent
        except DproofError:
            return True

    def draft_file(self, name: str) -> Path:
        return self.root / _DRAFTS / f"{checked_name(name, 'table')}.json"

    def checked_file(self, name: str) -> Path:
        return self.root / _CHECKED / f"{checked_name(name, 'table')}.json"

    def new_release(self, name: str) -> Path:
        """Where a release of that name will lie."""
        place = self.root / _RELEASES / checked_name(name, "release")
        if place.exists():
            raise FileError(f"there is a release {name!r} already: choose another name")
        return place

    def survey(self, name: str) -> Path:
        """The folder of a survey, if there is one."""
        return self.root / _SURVEYS / checked_name(name, "survey")

    def answers(self, name: str) -> Path:
        """Where the answers to a survey lie, or will."""
        return self.root / _ANSWERS / f"{checked_name(name, 'survey')}.db"

    def hide(self, sentence: str) -> str:
        """A sentence without the place of this folder, which is nobody's business who only comes by HTTP."""
        return sentence.replace(f"{self.root}/", "").replace(f"{self.root.resolve()}/", "")

    @property
    def record(self) -> Path:
        return self.root / "custodians.jsonl"

    @property
    def tokens(self) -> Path:
        return self.root / "tokens.db"


def _absent(what: str, name: str, known: Iterable[str]) -> FileError:
    shown = name[: limits.LONGEST_NAME]
    return FileError(f"there is no {what} {shown!r}{did_you_mean(shown, known)}")


def _for_others(path: Path) -> int:
    """Permission bits of the group and of everybody to enter a folder."""
    return stat.S_IMODE(os.stat(path).st_mode) & 0o011 if os.name == "posix" else 0


def state_of(path: Path) -> Any:
    """Inode, size and times of a file, or of each file in a folder: they change when it does.

    Its time and size can be those of another file: `cp -p` and `touch -r` set the time. No program sets `st_ctime`.
    """
    try:
        found = {"": os.stat(path)}
        if stat.S_ISDIR(found[""].st_mode):
            found = {name: os.stat(path / name) for name in sorted(os.listdir(path))}
    except OSError:
        raise FileError(f"{path.name!r} is not there, or cannot be read") from None
    return [[name, one.st_ino, one.st_size, one.st_mtime_ns, one.st_ctime_ns] for name, one in found.items()]


def write_whole(place: Path, text: str, what: str) -> None:
    """Write a file, or leave the one that is there."""
    part = place.with_name(f"{place.name}.{secrets.token_hex(8)}.part")
    try:
        part.write_text(text, "utf-8")
        os.replace(part, place)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise FileError(f"{what} cannot be saved: {error.strerror}") from None


_Key = TypeVar("_Key", bound=Hashable)
_Content = TypeVar("_Content")


@dataclass(slots=True)
class _Place(Generic[_Content]):
    """A content that is kept under one key, with the state in which its files were; none at first."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    found: tuple[Any, _Content] | None = None


class StateCache(Generic[_Key, _Content]):
    """Things that are opened once for each state of their files; the one not used for longest is forgotten.

    What takes long to open holds up nobody but those who want the same.

    >>> plans = StateCache[str, str](2)
    >>> plans.get("a", 1, lambda: "first"), plans.get("a", 1, lambda: "again"), plans.get("a", 2, lambda: "changed")
    ('first', 'first', 'changed')
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._places: OrderedDict[_Key, _Place[_Content]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: _Key, state: Any, opened: Callable[[], _Content]) -> _Content:
        """The content under a key, which is opened anew where its files have changed."""
        with self._lock:
            place = self._places.setdefault(key, _Place())
            self._places.move_to_end(key)
            while len(self._places) > self._most:
                self._places.popitem(last=False)
        with place.lock:
            if place.found is None or place.found[0] != state:
                place.found = state, opened()
            return place.found[1]

    def holds(self, key: _Key, state: Any) -> bool:
        """Whether the content under a key is open in this state."""
        place = self._places.get(key)
        return place is not None and place.found is not None and place.found[0] == state


@dataclass(frozen=True, slots=True)
class Table:
    """A table that can be asked: its plan, where its rows and its ledger lie, and the state of its files.

    `spender` is whose share of the budget pays for questions; None is the whole of it, for a custodian.
    """

    name: str
    plan: Plan
    data: Path
    ledger: Path
    state: Any
    spender: str | None = None

    @property
    def has_ledger(self) -> bool:
        return Ledger.is_begun(self.ledger)

"""What a custodian does with a table: look at its columns, save its plan, look at what the plan misses, sanitise."""

from __future__ import annotations

import errno
import json
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dproof import (
    InputError,
    Ledger,
    Plan,
    ReleasePayment,
    check,
    compare_ways,
    header,
    least_epsilon,
    sanitise,
)
from dproof.serve import limits
from dproof.serve.folder import Folder, Kept, state_of, write_whole
from dproof.serve.tokens import Holder, now
from dproof.serve.work import Job, Jobs, apart


class Custody:
    """The custodian's work on a folder. Who may come here is decided before."""

    def __init__(self, folder: Folder) -> None:
        self.folder, self.jobs, self.record = folder, Jobs(), Record(folder.record)
        self.faults: dict[str, str] = {}  # why tables could not be read, since the server started
        self._headers = Kept[str, Any](limits.MOST_OPEN)

    def files(self) -> list[dict[str, Any]]:
        """Every table that lies in the folder, and whether it has a plan."""
        planned = self.folder.tables
        return [
            {"name": name, "file": ", ".join(path.name for path in paths), "plan": name in planned}
            for name, paths in self.folder.files.items()
        ]

    def columns(self, name: str) -> dict[str, Any]:
        """The names of a table's columns, as its header has them, and the plan if it has one."""
        plan = self.folder.plan_file(name)
        text, wrong, read_plan = None, None, None
        if plan.is_file():
            text = plan.read_text("utf-8", "replace")
            try:
                read_plan = Plan.read(plan)
            except InputError as error:  # it can be mended here
                wrong = str(error)
        found = self._header(name, read_plan)
        doubtful = [] if text else list(found.doubtful)
        return {"name": name, "columns": list(found.names), "doubtful": doubtful, "plan": text, "wrong": wrong}

    def expected(self, draft: Mapping[str, Any], rows: int) -> dict[str, Any]:
        """What a draft would give for so many rows."""
        return compare_ways(draft, rows=_checked_rows(rows))

    def epsilon(
        self, draft: Mapping[str, Any], rows: int, question: str, column: str, half_width: Any
    ) -> dict[str, Any]:
        """The least ε with which an answer about so many rows has a wanted ±, each way."""
        checked = _checked_rows(rows)
        return least_epsilon(draft, rows=checked, question=question, column=column, half_width=half_width)

    def save(
        self, who: Holder, name: str, draft: Mapping[str, Any], *, names_are_public: bool = False
    ) -> dict[str, Any]:
        """Write a draft as the plan of a table, or not at all; refused once its budget is being spent.

        Where the first line of a file looks like a row, its custodian has to say that it holds names.
        """
        plan, place = Plan.from_dict(draft), self.folder.plan_file(name)
        found = self._header(name, plan)
        plan.check_names(found.names)
        if found.doubtful and not place.is_file() and not names_are_public:
            raise InputError(
                f"{len(found.doubtful)} of {len(found.names)} names in the first line look like values, and a plan is "
                "public: write a line of names above it, or say that they are names (names_are_public)"
            )
        if Ledger.is_begun(self.folder.ledger(name)):
            raise InputError(
                f"{name!r} has a ledger already, which counts by the plan that is there: change the plan by hand"
            )
        write_whole(place, plan.text, "the plan")
        self.record.add(who, "saved a plan", table=name)
        return {"plan": plan.text, "file": f"plans/{place.name}"}

    def check(self, who: Holder, name: str) -> dict[str, Any]:
        """How many values the plan does not cover, without noise: CONFIDENTIAL. From then on analysts may ask."""
        self.folder.table(name)
        self.record.add(who, "looked at a table", table=name)
        found: dict[str, Any] = check_table(self.folder, name).to_json()
        self.faults.pop(name, None)
        return found

    def check_later(self, names: Sequence[str], tell: Callable[[str, str], None] = lambda name, why: None) -> str:
        """Begin to read tables through, where they are new or changed: the name of the job; `tell` what is wrong."""

        def work(_: Job) -> None:
            for name in names:
                self.faults.pop(name, None)
            for name, why in check_all(self.folder, names):
                self.faults[name] = self.folder.hide(why)
                tell(name, self.faults[name])

        return self.jobs.start("reading tables", work)

    def _header(self, name: str, plan: Plan | None) -> Any:
        file = self.folder.file(name)
        state = state_of(file), plan and plan.file
        return self._headers.get(name, state, lambda: apart(header, file, plan))

    def sanitise(self, who: Holder, table: str, release: str) -> str:
        """Begin to sanitise a table, paid from its ledger; the name of the job."""
        data, plan, out = self.folder.table(table), self.folder.plan(table), self.folder.new_release(release)
        plan.check_names(self._header(table, plan).names)
        payment = ReleasePayment(self.folder.ledger(table), out)

        def work(job: Job) -> None:
            try:
                sanitise(data, plan, out, progress=job.advance, payment=payment)
            except BaseException as error:
                if payment.outstanding:
                    error.add_note("it is paid for: sanitise into the same name again, at no further cost")
                raise

        self.record.add(who, "began a release", table=table, release=release)
        return self.jobs.start(_into(table, release), work)

    def is_making(self, table: str, release: str) -> bool:
        """Whether a release is being made."""
        return self.jobs.runs(_into(table, release))

    def job(self, name: str) -> dict[str, Any]:
        """How far a job is."""
        found = self.jobs.find(name)
        if found is None:
            raise InputError("there is no such job")
        return found.to_json()

    def commands(self, table: str, *, rows: int = 0) -> dict[str, str]:
        """The commands that do the same, in the folder that is served."""
        file = shlex.quote(self.folder.file(table).name)
        paths = f"tables/{file} --plan plans/{table}.toml"
        return {
            "init": f"dproof init tables/{file} > plans/{table}.toml",
            "plan": f"dproof plan plans/{table}.toml --rows {rows}",
            "check": f"dproof check {paths}",
            "sanitise": f"dproof sanitise {paths} --out releases/{table} --ledger ledgers/{table}.db",
        }


def _into(table: str, release: str) -> str:
    return f"{table} into {release}"


def _checked_rows(rows: int) -> int:
    if not 1 <= rows <= limits.MOST_PLANNED_ROWS:
        raise InputError("say about how many rows the table has: at least 1")
    return rows


def check_table(folder: Folder, name: str) -> Any:
    """Read a table through and open it to analysts; refused, for its custodian, where a row cannot be read."""
    state = folder.state(name)  # before the reading: what changes meanwhile is not checked
    found = apart(check, folder.table(name), folder.plan(name))
    write_whole(folder.checked_file(name), json.dumps(state), "that the table is checked")
    return found


def is_checked(folder: Folder, name: str, state: Any) -> bool:
    """Whether a table is as it was when it was last checked."""
    try:
        return bool(json.loads(folder.checked_file(name).read_bytes()) == state)
    except (OSError, ValueError):
        return False


def check_new(folder: Folder, name: str) -> None:
    """Check a table, if it is not checked as it is now."""
    if not is_checked(folder, name, folder.state(name)):
        check_table(folder, name)


def check_all(folder: Folder, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Check tables where they are not checked as they are now; those that cannot be read, and why.

    It goes on with the others, whatever is wrong with one of them.
    """
    for name in names:
        try:
            check_new(folder, name)
        except InputError as error:
            yield name, str(error)


@dataclass(frozen=True, slots=True)
class Record:
    """The record of a folder. It holds names of tables, releases and tokens; no value, no question and no token."""

    path: Path

    def add(self, who: Holder | None, did: str, **about: Any) -> None:
        """Add a line; without a holder it was done by a command on the machine itself.

        >>> import tempfile
        >>> record = Record(Path(tempfile.mkdtemp(), "custodians.jsonl"))
        >>> record.add(None, "gave a token", to="ann")
        >>> [(one["number"], one["who"], one["did"], one["to"]) for one in record.latest(10)]
        [(1, None, 'gave a token', 'ann')]
        """
        holder = {"who": who and who.name, "token": who and who.number}
        told = json.dumps({"at": now().isoformat(timespec="seconds"), **holder, "did": did, **about})
        line = f"{told}\n".encode()
        try:
            with open(os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600), "r+b", buffering=0) as file:
                if file.seek(0, os.SEEK_END) and file.seek(-1, os.SEEK_END) >= 0 and file.read(1) != b"\n":
                    line = b"\n" + line  # the last one was cut off, by a full disk or an end of the power
                if file.write(line) < len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(file)
        except OSError as error:
            raise InputError(f"the record {self.path.name!r} cannot be written: {error.strerror}") from None

    def latest(self, most: int, before: int | None = None) -> list[dict[str, Any]]:
        """The latest lines, or those before the line of a number, oldest first, with their numbers."""
        try:
            lines = self.path.read_bytes().splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InputError(f"the record {self.path.name!r} cannot be read: {error.strerror}") from None
        end = len(lines) if before is None else max(0, min(before - 1, len(lines)))
        begin = max(0, end - most)
        return [{**_line(text), "number": n} for n, text in enumerate(lines[begin:end], begin + 1)]


def _line(text: bytes) -> dict[str, Any]:
    try:
        match json.loads(text):
            case {"at": str(), "who": str() | None, "token": int() | None, "did": str()} as told:
                return dict(told)
    except (ValueError, RecursionError):
        pass
    return {"at": "", "who": None, "token": None, "did": "a damaged line"}  # it is still a line

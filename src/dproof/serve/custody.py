"""A custodian's work: plans, tables that are read through, releases, the jobs that make them, and a record of it all.

A line that cannot be read stops every question, and who pays for one would see that it is there. So a table is read
through first, and the state of its files at that time is kept. In any other state it is closed to analysts. What they
can see is that it opens, and when: that every row can be read, and how long that took. Where a custodian looks at the
table before giving a token, it is open by then, and they see neither.

Files are read in a process of their own: a damaged one can end the process that reads it, and that must not be the
server.
"""

from __future__ import annotations

import errno
import hashlib
import json
import multiprocessing
import os
import secrets
import shlex
import shutil
import threading
import tomllib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

from dproof import (
    ArgumentError,
    DproofError,
    FileError,
    InputError,
    Ledger,
    Plan,
    PlanError,
    ReleasePayment,
    SourceError,
    check,
    compare_ways,
    draft_plan,
    expected_answers,
    header,
    least_epsilon,
    sanitise,
)
from dproof.errors import with_notes
from dproof.serve import limits
from dproof.serve.folder import Folder, StateCache, state_of, write_whole
from dproof.serve.plan_form import check_shape
from dproof.serve.tokens import Holder, now

ROWS = "10000"  # where the person has not said how many there are
CHANGED = "somebody else changed the plan meanwhile, and nothing of this was kept: load the page again"


@dataclass(frozen=True, slots=True)
class Draft:
    """The plan that a custodian is writing, as nested mappings, and what is known of it.

    It is kept from one page to the next and over a stop of the server, mistakes and all. What comes from the rows of
    the table is confidential until a person has read it: only custodians see it, and nobody can ask a table by it.

    `rows` is about how many the table has. `seen` are the columns whose values come from the table and were not read
    through yet, and `notes` what is doubtful of a column. `saved` is the text of the plan's file that it began with.
    `public_names` are those of the first line that look like values, and of which it was said that they are public.
    `by` is the number of the token of who changed it last.
    """

    plan: Mapping[str, Any] = field(default_factory=dict)
    rows: str = ROWS
    seen: tuple[str, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)
    names_are_public: bool = False
    public_names: tuple[str, ...] = ()
    saved: str | None = None
    by: int | None = None

    @property
    def edition(self) -> str:
        """What tells this draft from others of the same table, on a page that shows it."""
        return edition_of(asdict(self))

    @property
    def row_count(self) -> int:
        """The number of rows; 0 where what was typed is none."""
        plain = self.rows.strip().replace(",", "").replace(" ", "")
        return int(plain) if plain.isdecimal() and len(plain) <= 12 else 0


def edition_of(known: Any) -> str:
    """A short text that is another one wherever something of this is."""
    return hashlib.sha256(json.dumps(known, default=str, sort_keys=True).encode()).hexdigest()[:16]


def _stored(file: Path, saved: str | None) -> Draft:
    """The draft that is kept, or the plan's own file where that was changed by hand, or is all there is."""
    with suppress(OSError, ValueError, TypeError, AttributeError, RecursionError, PlanError):  # none can be read
        given = json.loads(file.read_bytes())
        kept = Draft(**{**given, **{key: tuple(given.get(key, ())) for key in ("seen", "public_names")}})
        texts = (kept.rows, *kept.seen, *kept.public_names, *kept.notes.values())
        check_shape(kept.plan)
        if kept.saved == saved and all(isinstance(text, str) for text in texts):
            return kept
    with suppress(tomllib.TOMLDecodeError, PlanError):
        plan = tomllib.loads(saved or "")
        check_shape(plan)
        return Draft(plan, saved=saved)
    return Draft(saved=saved)


def _store(file: Path, draft: Draft) -> None:
    """Keep a draft; dates are kept as the texts that plans have for them."""
    write_whole(file, json.dumps(asdict(draft), default=str), "the draft")


class Custody:
    """The custodian's work on a folder. Who may come here is decided before."""

    def __init__(self, folder: Folder) -> None:
        self.folder, self.jobs, self.record = folder, Jobs(), Record(folder.record)
        self.faults: dict[str, str] = {}  # why tables could not be read, since the server started
        self._headers = StateCache[str, Any](limits.MOST_OPEN)
        self._expected = StateCache[tuple[Any, ...], Any](limits.MOST_OPEN)  # every page of a step shows them again
        self._changing = threading.RLock()  # a draft, or the plan that comes of it

    def files(self) -> list[dict[str, Any]]:
        """Every table that lies in the folder, and whether it has a plan."""
        planned = self.folder.tables
        return [
            {"name": name, "file": ", ".join(path.name for path in paths), "plan": name in planned}
            for name, paths in self.folder.files.items()
        ]

    def columns(self, name: str) -> dict[str, Any]:
        """The names of a table's columns, as its header has them, and the plan if it has one."""
        text, wrong, read_plan = self._plan_text(name), None, None
        if text is not None:
            try:
                read_plan = Plan.read(self.folder.plan_file(name))
            except InputError as error:  # it can be mended here
                wrong = str(error)
        found = self._header(name, read_plan)
        doubtful = self.doubtful(name, found)
        return {"name": name, "columns": list(found.names), "doubtful": doubtful, "plan": text, "wrong": wrong}

    def doubtful(self, name: str, header: Any) -> list[str]:
        """The names in a table's first line that look like values, but for those that its saved plan has made public.

        They may be cells of a person's row, of the table that took the place of the one that was planned, too.
        """
        try:
            columns = tomllib.loads(self._plan_text(name) or "").get("columns", {})
            public = {each for key, table in columns.items() for each in (key, *table.get("columns", ()))}
        except (tomllib.TOMLDecodeError, AttributeError, TypeError):
            public = set()  # a plan that cannot be read
        return [doubted for doubted in header.doubtful if doubted not in public]

    def _plan_text(self, name: str) -> str | None:
        plan = self.folder.plan_file(name)
        return plan.read_text("utf-8", "replace") if plan.is_file() else None

    # A plan in the making --------------------------------------------------------------------------------------------

    def draft(self, name: str) -> Draft:
        """The plan that is being written for a table, or the one that is saved; {} where there is none."""
        return _stored(self.folder.draft_file(name), self._plan_text(name))

    @contextmanager
    def unchanged(self, name: str, edition: str) -> Iterator[None]:
        """Hold the draft of a table, which is still the one that was read: another may have been quicker."""
        with self._changing:
            if self.draft(name).edition != edition:
                raise PlanError(CHANGED)
            yield

    def store_draft(self, who: Holder, name: str, draft: Draft) -> None:
        """Keep a plan that is being written, mistakes and all; once something is paid, the plan stays as it is."""
        self.folder.file(name)
        self._check_unpaid(name)
        _store(self.folder.draft_file(name), replace(draft, by=who.number))

    def header(self, name: str, draft: Draft) -> Any:
        """The names of a table's columns, and those that look like values, by what the draft says of its file."""
        file = draft.plan.get("file") or None
        column = {"space": "categories", "values": ["a"]}
        return self._header(
            name, Plan.from_dict({"privacy": {"epsilon": 1}, "file": file, "columns": {"x": column}}) if file else None
        )

    def first_draft(self, who: Holder, name: str, draft: Draft, *, look: bool) -> Draft:
        """A draft to begin with: from the header or, with a look, from all rows, which is CONFIDENTIAL."""
        file = self.folder.file(name)
        if look:
            self.record.add(who, "looked at a table", table=name)
        made = apart(_first_draft, file, look, draft.plan.get("file") or None)
        plan = {**made.plan, **{key: draft.plan[key] for key in ("privacy", "about", "questions") if key in draft.plan}}
        rows = draft.rows if made.rows is None else f"{made.rows:,}"
        return replace(draft, plan=plan, rows=rows, seen=made.seen if look else (), notes=dict(made.notes))

    def widths(self, draft: Mapping[str, Any], rows: int) -> list[dict[str, Any]]:
        """± of a draft of a plan in its own way."""
        return self._worked_out(expected_answers, draft, rows)

    def expected(self, draft: Mapping[str, Any], rows: int) -> dict[str, Any]:
        """± of a draft of a plan each way, for this number of rows, and what would help."""
        return self._worked_out(compare_ways, draft, rows)

    def _worked_out(self, what: Callable[..., _Done], draft: Mapping[str, Any], rows: int) -> _Done:
        """What depends on a draft and the number of its rows alone, worked out once."""
        key = what, edition_of(json.dumps(draft, default=str)), _checked_rows(rows)
        found: _Done = self._expected.get(key, None, lambda: what(draft, rows=rows))
        return found

    def epsilon(
        self, draft: Mapping[str, Any], rows: int, question: str, column: str, half_width: Any
    ) -> dict[str, Any]:
        """The least ε with which an answer about so many rows has a wanted ±, each way."""
        checked = _checked_rows(rows)
        return least_epsilon(draft, rows=checked, question=question, column=column, half_width=half_width)

    def save(
        self, who: Holder, name: str, draft: Mapping[str, Any], *, names_are_public: bool = False
    ) -> dict[str, Any]:
        """Write a draft as the plan of a table, or not at all; refused once something is paid for the table.

        Where the first line of a file looks like a row, its custodian has to say that it holds names. Where analysts
        have budgets and have spent nothing, their ledger begins anew with the new promise.
        """
        plan, place = Plan.from_dict(draft), self.folder.plan_file(name)
        found = self._header(name, plan)
        plan.check_names(found.names)
        if (doubtful := self.doubtful(name, found)) and not names_are_public:
            raise PlanError(
                f"{len(doubtful)} of {len(found.names)} names in the first line look like values, or stand there "
                "twice, and a plan is public: write a line of names above it, or say that they are names "
                "(names_are_public)"
            )
        self._check_unpaid(name)
        if Ledger.is_begun(self.folder.ledger(name)):
            Ledger(self.folder.ledger(name)).begin_anew(plan.privacy, plan.unit, keep_analysts=True)
        write_whole(place, plan.text, "the plan")
        self.record.add(who, "saved a plan", table=name)
        return {"plan": plan.text, "file": f"plans/{place.name}"}

    def _check_unpaid(self, name: str) -> None:
        if self.folder.is_paid(name):
            raise PlanError(
                f"something was paid for {name!r} by the plan that is there, as its ledger says, so it stays: send the "
                "table under another name to plan it anew"
            )

    def remove(self, who: Holder, name: str) -> None:
        """Remove a table with its plan, as long as nothing is paid for it; who had a budget on it has none then."""
        files = self.folder.files.get(name) or [self.folder.file(name)]
        self._check_unpaid(name)
        self.record.add(who, "removed a table", table=name)
        plan, ledger = self.folder.plan_file(name), self.folder.ledger(name)
        for file in (*files, plan, self.folder.draft_file(name), self.folder.checked_file(name)):
            _remove(file)
        if Ledger.is_begun(ledger):  # nobody can pay from it any more: there is no table to ask
            old = Ledger(ledger)
            old.begin_anew(old.budget, old.unit, keep_analysts=False)
            old.close()
        for ending in ("", "-wal", "-shm"):
            _remove(ledger.with_name(f"{ledger.name}{ending}"))

    def check(self, who: Holder, name: str) -> dict[str, Any]:
        """Count the values that the plan does not cover, without noise: CONFIDENTIAL. From then on analysts may ask."""
        self.folder.table(name)
        self.record.add(who, "looked at a table", table=name)
        found: dict[str, Any] = check_table(self.folder, name).to_json()
        self.faults.pop(name, None)
        return found

    def check_in_background(
        self, names: Sequence[str], tell: Callable[[str, str], None] = lambda name, why: None
    ) -> str:
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

    def sanitise(self, who: Holder, table: str, release: str, *, anyway: bool = True) -> str:
        """Begin to sanitise a table, paid from its ledger; the name of the job.

        Unless `anyway`, a release that would tell nothing is refused before it is paid for. Always refused is one of
        another plan or table than were there when it was asked for: other work may come first.
        """
        state = self.folder.state(table)
        data, plan, out = self.folder.table(table), self.folder.plan(table), self.folder.new_release(release)
        plan.check_names(self._header(table, plan).names)
        payment = _Payment(self.folder, table, state, out)

        def work(job: Job) -> None:
            try:
                sanitise(data, plan, out, progress=job.advance, payment=payment, anyway=anyway)
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
        """The progress of a job, and what stopped it."""
        found = self.jobs.find(name)
        if found is None:
            raise ArgumentError("there is no such job")
        return asdict(found)

    def commands(self, table: str, *, rows: int = 0, release: str = "") -> dict[str, str]:
        """The commands that do the same, in the folder that is served."""
        file = shlex.quote(self.folder.file(table).name)
        paths, made = f"tables/{file} --plan plans/{table}.toml", shlex.quote(f"releases/{release or table}")
        return {
            "init": f"dproof init tables/{file} --look > plans/{table}.toml",
            "plan": f"dproof plan plans/{table}.toml --rows {rows}",
            "check": f"dproof check {paths}",
            "sanitise": f"dproof sanitise {paths} --out {made} --ledger ledgers/{table}.db",
            "verify": f"dproof verify {made}",
            "collect": f"dproof collect plans/{table}.toml --out surveys/{table} --send https://SERVER/collect/{table}",
        }


class _Payment(ReleasePayment):
    """Pays for a release of a table in a state of its plan and rows, and publishes it in no other."""

    def __init__(self, folder: Folder, table: str, state: Any, out: Path) -> None:
        super().__init__(folder.ledger(table), out, is_whole=True)
        self._folder, self._table, self._state = folder, table, state

    def pay(self, law: Any) -> None:
        self._check()
        super().pay(law)

    def settle(self, seal: str | None) -> None:
        self._check()
        super().settle(seal)

    def _check(self) -> None:
        if self._folder.state(self._table) != self._state:
            raise FileError(f"the plan or the file of {self._table!r} was changed since this was asked for")


def _first_draft(file: Path, look: bool, layout: Mapping[str, Any] | None) -> Any:
    """A first draft, in a process of its own."""
    return draft_plan(file, look=look, file=layout)


def _remove(file: Path) -> None:
    try:
        shutil.rmtree(file) if file.is_dir() and not file.is_symlink() else file.unlink(missing_ok=True)
    except OSError as error:
        raise FileError(f"{file.name!r} cannot be removed: {error.strerror}") from None


def _into(table: str, release: str) -> str:
    return f"{table} into {release}"


def _checked_rows(rows: int) -> int:
    if not 1 <= rows <= limits.MOST_EXPECTED_ROWS:
        raise ArgumentError(f"say about how many rows the table has, from 1 to {limits.MOST_EXPECTED_ROWS:,}")
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


def check_all(folder: Folder, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Check tables where they are not checked as they are now; those that cannot be read, and why.

    It goes on with the others, whatever is wrong with one of them.
    """
    for name in names:
        try:
            if not is_checked(folder, name, folder.state(name)):
                check_table(folder, name)
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
            raise FileError(f"the record {self.path.name!r} cannot be written: {error.strerror}") from None

    def latest(self, most: int, before: int | None = None) -> list[dict[str, Any]]:
        """The latest lines, or those before the line of a number, oldest first, with their numbers."""
        try:
            lines = self.path.read_bytes().splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise FileError(f"the record {self.path.name!r} cannot be read: {error.strerror}") from None
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


_Done = TypeVar("_Done")
_WAYS = multiprocessing.get_all_start_methods()
# A process that has loaded what is needed forks in no time; never fork the server itself, which has threads.
_CONTEXT: Any = multiprocessing.get_context("forkserver" if "forkserver" in _WAYS else "spawn")
if "forkserver" in _WAYS:
    _CONTEXT.set_forkserver_preload(["dproof.serve.custody", "duckdb", "pyarrow.dataset"])


def load_early() -> None:
    """Start the process from which those that read files are forked: what it loads first takes a second or more."""
    if "forkserver" in _WAYS:
        from multiprocessing.forkserver import ensure_running

        ensure_running()


def apart(work: Callable[..., _Done], *arguments: Any) -> _Done:
    """Call a function in a process of its own and return its result; whatever stops it is refused in one sentence.

    >>> apart(int, "12")
    12
    """
    here, there = _CONTEXT.Pipe(duplex=False)
    child = _CONTEXT.Process(target=_done, args=(there, work, arguments), daemon=True)
    child.start()
    there.close()
    try:
        done, sentence = here.recv()
    except EOFError:
        done, sentence = None, "the process that read it has ended: is the file damaged, or too large for this machine?"
    finally:
        here.close()
        child.join()
    if sentence is not None:
        raise SourceError(sentence)
    result: _Done = done
    return result


def _done(there: Connection, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    with suppress(ImportError):  # there is none on Windows
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core dump would hold rows
    told: tuple[Any, str | None]
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what a library says may quote them
    try:
        told = work(*arguments), None
    except DproofError as error:
        told = None, str(error)
    except MemoryError:
        told = None, "there is not enough memory to read it"
    except BaseException as error:  # a library's panic is no Exception; what it says may quote the data
        told = None, f"it cannot be read: {type(error).__name__}"
    there.send(told)


@dataclass(slots=True)
class Job:
    """A piece of work: how far it is, and what became of it."""

    what: str
    rows: int = 0
    total: int | None = None
    done: bool = False
    error: str | None = None

    def advance(self, rows: int, total: int | None) -> None:
        self.rows, self.total = self.rows + rows, total


class Jobs:
    """The jobs that are running or have ended."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._one = threading.Lock()

    def start(self, what: str, work: Callable[[Job], object]) -> str:
        """Begin as soon as nothing else runs; the name by which to ask for it."""
        name, job = secrets.token_urlsafe(9), Job(what)
        self._jobs[name] = job
        while len(self._jobs) > limits.MOST_JOBS:
            self._jobs.popitem(last=False)
        threading.Thread(target=self._run, args=(job, work), daemon=True).start()
        return name

    def runs(self, what: str) -> bool:
        """Whether a job of this description is not done yet."""
        return any(job.what == what and not job.done for job in list(self._jobs.values()))

    def find(self, name: str) -> Job | None:
        return self._jobs.get(name)

    def _run(self, job: Job, work: Callable[[Job], object]) -> None:
        with self._one:
            try:
                work(job)
            except DproofError as error:
                job.error = with_notes(error)
            except Exception as error:  # its text may quote the data
                job.error = f"a fault of dproof itself: {type(error).__name__}"
            finally:
                job.done = True

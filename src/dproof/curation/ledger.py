"""The ledger: what a table has told so far, kept so that nobody can spend twice or quietly forget.

One SQLite file, one table that is only ever added to. Each entry carries the hash of the one before it, so a changed,
dropped or swapped entry breaks the chain; the head of the chain is kept beside it, so a cut end shows as well. Who can
rewrite the whole file can still put back an older copy of it: against that, keep the mark outside (`docs/limits.md`).

A question is debited before any row is read, and the debit is on the disk by then. While a ledger is open, its latest
entries lie in a file beside it, which ends in `-wal`; closing brings them into the one file.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from weakref import WeakSet, finalize

from dproof.arguments import as_path, expect, mapping
from dproof.curation.account import Account, Amount, Unit, amount, paid
from dproof.errors import DproofError, InputError, OverBudget, VerificationFailed
from dproof.privacy import Neighbours, Privacy, Promise

VERSION = 1  # of the file: its tables, its chain, and the keys of questions in it
_START = hashlib.sha256(f"dproof ledger {VERSION}".encode()).hexdigest()
_Files = tuple[tuple[int, int] | None, tuple[int, int] | None]
_PATIENCE = 120  # seconds that a process waits for the others
_KIND = 1146114674
_TABLES = f"""
CREATE TABLE entries (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, body TEXT NOT NULL, hash TEXT NOT NULL);
CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER NOT NULL, hash TEXT NOT NULL);
CREATE TRIGGER no_change BEFORE UPDATE ON entries BEGIN SELECT raise(ABORT, 'a ledger is only added to'); END;
CREATE TRIGGER no_loss BEFORE DELETE ON entries BEGIN SELECT raise(ABORT, 'a ledger is only added to'); END;
PRAGMA application_id = {_KIND};
PRAGMA user_version = {VERSION};
"""


class Ledger:
    """The account of one table.

    >>> import tempfile
    >>> ledger = Ledger(Path(tempfile.mkdtemp()) / "budget.db", budget=Privacy(1))
    >>> number = ledger.debit("SELECT count(*) FROM data", Privacy("0.1"))
    >>> ledger.remaining().epsilon
    Fraction(9, 10)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        budget: Promise | None = None,
        unit: Unit | None = None,
        analysts: Mapping[str, Promise] | None = None,
        mark: str | None = None,
        ceiling: Promise | None = None,
    ) -> None:
        """Open a ledger and check it from end to end, or with a budget begin one where there is none.

        `unit` says whose loss will be counted here: a ledger that counts another's is refused.
        `ceiling` holds whoever spends through this object to less than the budget.
        `mark` is the hash of an entry that was noted down earlier: a file without it is an older copy or another one.
        """
        self.path = as_path(path, "path")
        if unit is not None:
            expect(unit, Unit, "unit", "what Unit.of(plan) makes")
        neighbours = (unit or Unit()).neighbours
        budget = None if budget is None else Privacy.of(budget, "budget", neighbours=neighbours)
        limits = {} if analysts is None else _limits(analysts, neighbours)
        if mark is not None:
            expect(mark, str, "mark", "a text")
        self._file = self.path.resolve()  # SQLite keeps the journal beside the file itself, not beside a link to it
        self.ceiling = None if ceiling is None else Privacy.of(ceiling, "ceiling", neighbours=neighbours)
        self._database: sqlite3.Connection | None = None
        self._journal = ""
        self._files: _Files | None = None
        self._forget()
        if budget is None and not self.path.exists():
            raise InputError(f"there is no ledger {str(self.path)!r}: begin one with a plan or a budget")
        with self._transaction(writing=bool(budget or limits)) as (database, account):
            if begun := account.budget is None:
                if budget is None:
                    raise InputError(f"{self.path.name!r} is no ledger: it is empty")
                for statement in _TABLES.strip().split(";\n"):
                    database.execute(statement)
                told = {**(unit or Unit()).to_json(), "neighbours": budget.neighbours}
                self._append(database, "budget", {**_told(budget), **told})
            elif budget is not None and budget != account.budget:
                raise InputError(f"the ledger was begun with {account.budget}, and that cannot be changed to {budget}")
            if unit not in (None, account.unit):
                raise InputError(
                    f"the ledger counts {account.unit}, and the plan {unit}: these do not add up, "
                    "so let the plan say what the ledger says"
                )
            for name, limit in limits.items():
                known = account.limits.get(name)
                if known not in (None, amount(limit)):
                    raise InputError(f"the budget of analyst {name!r} is {known}, and that cannot be changed")
                if name not in account.limits:
                    self._append(database, "analyst", {"analyst": name, **_told(limit)})
            if mark is not None and mark not in self._marks:
                raise VerificationFailed(
                    f"the mark is not in {self.path.name!r}: this is an older copy, or the ledger of another table"
                )
        if begun:
            self.close()  # from its first entry on, the file alone is a ledger

    # What it says --------------------------------------------------------------------------------------------------

    @property
    def budget(self) -> Privacy:
        assert self._account.budget is not None
        return self._account.budget

    @property
    def unit(self) -> Unit:
        return self._account.unit

    @property
    def analysts(self) -> dict[str, Amount | None]:
        """Who has asked or may ask by name, with their budgets."""
        with self._transaction() as (_, account):
            return {**dict.fromkeys(account.spent_by), **account.limits}

    def spent(self, analyst: str | None = None) -> Amount:
        """The sum of all that was asked and released, or of what one analyst asked."""
        with self._transaction() as (_, account):
            return account.spent if analyst is None else account.spent_by.get(analyst, Amount())

    def remaining(self, analyst: str | None = None) -> Amount:
        """What may still be spent, by anyone or by one analyst."""
        with self._transaction() as (_, account):
            return account.left_to(analyst, self.ceiling).at_least(Amount())

    @property
    def mark(self) -> str:
        """The hash of the last entry: kept outside, it shows later whether this ledger was set back."""
        with self._transaction():
            return self._hash

    @property
    def entries(self) -> list[dict[str, Any]]:
        """Every entry: its number, its kind and what it says."""
        with self._transaction() as (database, _):
            rows = database.execute("SELECT number, kind, body FROM entries ORDER BY number").fetchall()
        return [{"number": number, "kind": kind, **json.loads(body)} for number, kind, body in rows]

    def find(self, key: str, cost: Privacy) -> Any | None:
        """The stored answer to a question that was paid at least this much; asking it again is free."""
        with self._transaction() as (database, account):
            return _find(database, account, key, amount(cost))

    # What is added to it -------------------------------------------------------------------------------------------

    def debit(self, key: str, cost: Promise, *, analyst: str | None = None) -> int:
        """Pay for a question before anything is read; the number of the entry, or OverBudget and no entry."""
        expect(key, str, "key", "the text of a question")
        who = {} if analyst is None else {"analyst": expect(analyst, str, "analyst", "a name")}
        with self._transaction(writing=True) as (database, account):
            left = account.left_to(analyst, self.ceiling)
            return self._spend(database, "question", {"key": key, **who}, cost, left)

    def store(self, number: int, answer: Any) -> Any:
        """Keep the answer to a question that was paid for, and give back the one that counts.

        Where another process has answered the same question meanwhile, the earlier answer stays the only one. It
        reaches the disk with the next debit: an answer lost with the power has to be paid again, and that is all.
        """
        with self._transaction(writing=True, lasting=False) as (database, account):
            question = account.questions[number]
            earlier = _find(database, account, question["key"], paid(question))
            if earlier is not None:
                return earlier
            self._append(database, "answer", {"question": number, "answer": answer})
            return answer

    def release(self, cost: Promise, description: str, *, plan: str | None = None) -> int:
        """Pay for a sanitised release of the table; with a digest of its plan and place, until it is published."""
        expect(description, str, "description", "a text")
        under = {} if plan is None else {"plan": plan}
        with self._transaction(writing=True) as (database, account):
            body = {"description": description, **under}
            return self._spend(database, "release", body, cost, account.left(self.ceiling))

    def unpublished(self, cost: Privacy, description: str, plan: str) -> int | None:
        """The number of such a release that was paid for and never published, if there is one."""
        told = {"description": description, "plan": plan, **_told(cost)}
        with self._transaction() as (_, account):
            return next((n for n, paid_for in account.unpublished.items() if told.items() <= paid_for.items()), None)

    def published(self, cost: Privacy, description: str, plan: str) -> set[str]:
        """The seals of such releases that were published."""
        told = {"description": description, "plan": plan, **_told(cost)}
        with self._transaction() as (_, account):
            return {done["seal"] for done in account.published if done["seal"] and told.items() <= done.items()}

    def publish(self, number: int, seal: str | None = None) -> None:
        """Take down, before anybody can see it, that a release is published: once for each that was paid for."""
        with self._transaction(writing=True) as (database, account):
            if number not in account.unpublished:
                raise InputError("another run has published this release meanwhile: nothing was written")
            sealed = {} if seal is None else {"seal": seal}
            self._append(database, "published", {"release": number, **sealed})

    def _spend(self, database: sqlite3.Connection, kind: str, body: dict[str, Any], cost: Promise, left: Amount) -> int:
        cost = Privacy.of(cost, "cost", neighbours=self.budget.neighbours)
        if cost.neighbours != self.budget.neighbours:
            raise InputError(
                f"the ledger counts {self.budget.neighbours} neighbours and this costs {cost.neighbours} ones: "
                "the two do not add up"
            )
        if not left.covers(amount(cost)):
            raise OverBudget(
                f"this costs {amount(cost)}, and what is left is {left.at_least(Amount())}: nothing was read and "
                "nothing was spent"
            )
        return self._append(database, kind, {**body, **_told(cost)})

    def _append(self, database: sqlite3.Connection, kind: str, body: Mapping[str, Any]) -> int:
        text = json.dumps({**body, "at": datetime.now(UTC).isoformat(timespec="seconds")}, sort_keys=True)
        number = self._number + 1
        digest = _link(self._hash, number, kind, text)
        database.execute("INSERT INTO entries VALUES (?, ?, ?, ?)", (number, kind, text, digest))
        database.execute("INSERT OR REPLACE INTO head VALUES (1, ?, ?)", (number, digest))
        self._take(number, kind, text, digest)
        return number

    # The chain -----------------------------------------------------------------------------------------------------

    def _forget(self) -> None:
        self._number, self._hash, self._marks, self._account = 0, _START, {_START}, Account()

    def _take(self, number: int, kind: str, body: str, stored: str) -> None:
        """Take one more entry into account, if it continues the chain."""
        if number != self._number + 1 or stored != _link(self._hash, number, kind, body):
            raise VerificationFailed(_broken(number))
        self._account.add(number, kind, json.loads(body))
        self._number, self._hash = number, stored
        self._marks.add(stored)

    def _catch_up(self, database: sqlite3.Connection) -> None:
        """Check all that is new in the file; what was checked before is still there if the head is."""
        if not database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            if self._number:
                raise VerificationFailed(f"{self.path.name!r} was emptied while it was open")
            return
        new = "SELECT number, kind, body, hash FROM entries WHERE number > ? ORDER BY number"
        for entry in database.execute(new, (self._number,)):
            self._take(*entry)
        head = database.execute("SELECT number, hash FROM head").fetchone()
        if head != (self._number, self._hash):
            raise VerificationFailed(_broken(self._number))

    # The file ------------------------------------------------------------------------------------------------------

    @contextmanager
    def _transaction(
        self, *, writing: bool = False, lasting: bool = True
    ) -> Iterator[tuple[sqlite3.Connection, Account]]:
        """One writer at a time over all threads and processes; all that is new in the file is checked first.

        What was written is on the disk afterwards, or if it need not be `lasting`, together with the next that is.
        """
        with _LOCK:
            before = self._number
            try:
                database = self._open()
                lazily = self._journal == "wal" and not lasting
                database.execute(f"PRAGMA synchronous = {'NORMAL' if lazily else 'FULL'}")
                database.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
                self._catch_up(database)
                self._files = self._files or self._beside()
                yield database, self._account
                database.execute("COMMIT")
            except BaseException as error:
                if self._number != before:
                    self._forget()  # what was taken in may be gone again
                if isinstance(error, sqlite3.Error):
                    self.close()
                    raise _said(error, self.path) from None
                if self._database is not None:
                    self._database.rollback()
                raise

    def _open(self) -> sqlite3.Connection:
        """The connection, kept from one transaction to the next while the files are those that it opened."""
        if self._database is not None and self._files == self._beside():
            return self._database
        self.close()
        place = self._file.as_uri()
        fixed = self._file.exists() and not all(os.access(path, os.W_OK) for path in (self._file, self._file.parent))
        if fixed:  # nothing can be spent from it, but it can be looked at
            place += "?mode=ro" if self._beside()[1] else "?immutable=1"
        database = sqlite3.connect(place, uri=True, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        self._database, self._files, self._closing = database, None, finalize(self, database.close)
        _OPEN.add(self)
        made = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if made and database.execute("PRAGMA application_id").fetchone()[0] != _KIND:
            raise InputError(f"{self.path.name!r} is no ledger")
        if made and (version := database.execute("PRAGMA user_version").fetchone()[0]) != VERSION:
            raise InputError(
                f"{self.path.name!r} is a ledger of version {version}, and this dproof knows version {VERSION}: "
                "use the dproof that wrote it"
            )
        if made and not fixed:
            # With the journal ahead of the file, a debit waits for the disk once. A new file has no journal yet, and
            # one that another process is reading just now keeps the journal that it has.
            with suppress(sqlite3.OperationalError):
                database.execute("PRAGMA journal_mode = WAL")
        self._journal = database.execute("PRAGMA journal_mode").fetchone()[0]
        return database

    def _beside(self) -> _Files:
        """Which files lie at the ledger's place and at that of its journal."""
        return _identity(self._file), _identity(f"{self._file}-wal")

    def close(self) -> None:
        """Bring everything into the one file and let go of it; whatever comes next opens it again."""
        with _LOCK:
            if self._database is not None:
                self._database = None
                self._closing()


# SQLite's locks do not survive a fork: every ledger is closed before one, and no other thread may open it meanwhile.
_LOCK = threading.RLock()
_OPEN: WeakSet[Ledger] = WeakSet()


def _before_fork() -> None:
    _LOCK.acquire()
    for ledger in list(_OPEN):
        ledger.close()


if hasattr(os, "register_at_fork"):  # where processes fork
    os.register_at_fork(before=_before_fork, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


def is_begun(path: str | os.PathLike[str]) -> bool:
    """Whether a file is there, and not only the empty one with which another process is about to begin."""
    return Path(path).exists() and Path(path).stat().st_size > 0


def _limits(analysts: Any, neighbours: Neighbours) -> dict[str, Privacy]:
    """The budgets of people, by their names."""
    limits = {}
    for name, limit in mapping(analysts, "analysts", "a mapping from names to budgets").items():
        expect(name, str, "each of the analysts", "a name")
        limits[name] = Privacy.of(limit, f"the budget in analysts of {name!r}", neighbours=neighbours)
    return limits


def _find(database: sqlite3.Connection, account: Account, key: str, cost: Amount) -> Any | None:
    for price, number in account.answers.get(key, ()):
        if price.covers(cost):
            row = database.execute("SELECT body FROM entries WHERE number = ?", (number,)).fetchone()
            return json.loads(row[0])["answer"]
    return None


def _told(privacy: Privacy) -> dict[str, str]:
    return {"epsilon": str(privacy.epsilon), "delta": str(privacy.delta)}


def _link(previous: str, number: int, kind: str, body: str) -> str:
    return hashlib.sha256("\n".join([previous, str(number), kind, body]).encode()).hexdigest()


def _broken(number: int) -> str:
    return f"the ledger was changed: its chain of hashes breaks at entry {number}, so what was spent is not known"


def _identity(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _said(error: sqlite3.Error, path: Path) -> DproofError:
    """What SQLite's trouble means to a person."""
    code = getattr(error, "sqlite_errorname", "")
    for start, sentence in _TROUBLES.items():
        if code.startswith(start):
            return InputError(sentence.format(repr(str(path))))
    return VerificationFailed(f"{path.name!r} is damaged: what was spent is not known ({error})")


_TROUBLES = {
    "SQLITE_NOTADB": "{} is no ledger",
    "SQLITE_BUSY": "the ledger {} is held by another process: try again",
    "SQLITE_CANTOPEN": "the ledger {} cannot be opened: is it a file, in a folder that you may write in?",
    "SQLITE_READONLY": "the ledger {} cannot be written to, so nothing can be paid from it",
    "SQLITE_FULL": "the disk of the ledger {} is full, so nothing can be paid from it",
    "SQLITE_IOERR": "the ledger {} cannot be read or written: its disk fails",
}

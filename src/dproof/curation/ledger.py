"""The ledger: what a table has told so far, kept so that nobody can spend twice or quietly forget.

One SQLite file, one table that is only ever added to. Each entry carries the hash of the one before it, so a changed,
dropped or swapped entry breaks the chain; the head of the chain is kept beside it, so a cut end shows as well. Who can
rewrite the whole file can still put back an older copy of it: against that, keep the mark outside (`docs/limits.md`).

A question is debited before any row is read. Costs add up: with questions and epsilons chosen after seeing earlier
answers, Σε and Σδ still hold (basic composition), and all sums are exact fractions.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from dproof.errors import InputError, OverBudget, VerificationFailed, did_you_mean
from dproof.exact import float_below
from dproof.privacy import Privacy
from dproof.queries.canonical import literal

_START = hashlib.sha256(b"dproof ledger 1").hexdigest()
_PATIENCE = 120  # seconds that a process waits for the others
_TABLES = """
CREATE TABLE entries (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, body TEXT NOT NULL, hash TEXT NOT NULL);
CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER NOT NULL, hash TEXT NOT NULL);
CREATE TRIGGER no_change BEFORE UPDATE ON entries BEGIN SELECT raise(ABORT, 'a ledger is only added to'); END;
CREATE TRIGGER no_loss BEFORE DELETE ON entries BEGIN SELECT raise(ABORT, 'a ledger is only added to'); END;
PRAGMA application_id = 1146114674;
"""


@dataclass(frozen=True, slots=True)
class Amount:
    """So much ε and so much δ."""

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.epsilon + other.epsilon, self.delta + other.delta)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.epsilon - other.epsilon, self.delta - other.delta)

    def at_most(self, other: Amount) -> Amount:
        return Amount(min(self.epsilon, other.epsilon), min(self.delta, other.delta))

    def __str__(self) -> str:
        return f"epsilon {literal(self.epsilon)} and delta {literal(self.delta)}"

    def to_json(self) -> dict[str, float]:
        """Both as floats that are not above the exact numbers."""
        return {"epsilon": float_below(self.epsilon) + 0.0, "delta": float_below(self.delta) + 0.0}

    def covers(self, other: Amount) -> bool:
        return self.epsilon >= other.epsilon and self.delta >= other.delta


def amount(privacy: Privacy) -> Amount:
    """What a promise of privacy costs."""
    return Amount(privacy.epsilon, privacy.delta)


@dataclass(slots=True)
class _Known:
    """What the entries that were checked so far say."""

    number: int = 0
    hash: str = _START
    budget: Privacy | None = None
    spent: Amount = field(default_factory=Amount)
    limits: dict[str, Amount] = field(default_factory=dict)
    spent_by: dict[str, Amount] = field(default_factory=dict)
    questions: dict[int, dict[str, Any]] = field(default_factory=dict)
    answers: dict[str, list[tuple[Amount, int]]] = field(default_factory=dict)
    marks: set[str] = field(default_factory=lambda: {_START})

    def add(self, number: int, kind: str, body: str, stored: str) -> None:
        """Take one more entry, if it continues the chain."""
        expected = _hash(self.hash, number, kind, body)
        if number != self.number + 1 or stored != expected:
            raise VerificationFailed(_broken(number))
        told = json.loads(body)
        cost = Amount(Fraction(told.get("epsilon", 0)), Fraction(told.get("delta", 0)))
        if kind == "budget":
            self.budget = Privacy(cost.epsilon, cost.delta, neighbours=told["neighbours"])
        elif kind == "analyst":
            self.limits[told["analyst"]] = cost
        elif kind == "answer":
            question = self.questions.pop(told["question"])
            paid = Amount(Fraction(question["epsilon"]), Fraction(question["delta"]))
            self.answers.setdefault(question["key"], []).append((paid, number))
        else:
            self.spent += cost
            who = told.get("analyst")
            if who is not None:
                self.spent_by[who] = self.spent_by.get(who, Amount()) + cost
            if kind == "question":
                self.questions[number] = told
        self.number, self.hash = number, stored
        self.marks.add(stored)


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
        budget: Privacy | None = None,
        analysts: Mapping[str, Privacy] | None = None,
        mark: str | None = None,
        ceiling: Privacy | None = None,
    ) -> None:
        """Open a ledger and check it from end to end, or with a budget begin one where there is none.

        `ceiling` holds whoever spends through this object to less than the budget.
        `mark` is the hash of an entry that was noted down earlier: a file without it is an older copy or another one.
        """
        self.path = Path(path)
        self.ceiling = ceiling
        self._lock = threading.RLock()
        self._known = _Known()
        if budget is None and not self.path.exists():
            raise InputError(f"there is no ledger {str(self.path)!r}: begin one with a budget")
        with self._transaction() as (database, known):
            if known.budget is None:
                if budget is None:
                    raise VerificationFailed(f"{self.path.name!r} is no ledger: it has no first entry")
                self._append(database, "budget", {**_told(budget), "neighbours": budget.neighbours})
            elif budget is not None and budget != known.budget:
                raise InputError(f"the ledger was begun with {known.budget}, and that cannot be changed to {budget}")
            for name, limit in (analysts or {}).items():
                if known.limits.get(name) not in (None, amount(limit)):
                    raise InputError(f"the budget of analyst {name!r} cannot be changed: the ledger has another")
                if name not in known.limits:
                    self._append(database, "analyst", {"analyst": name, **_told(limit)})
            if mark is not None and mark not in known.marks:
                raise VerificationFailed(
                    f"the mark is not in {self.path.name!r}: this is an older copy, or the ledger of another table"
                )

    # What it says --------------------------------------------------------------------------------------------------

    @property
    def budget(self) -> Privacy:
        assert self._known.budget is not None
        return self._known.budget

    def spent(self, analyst: str | None = None) -> Amount:
        """The sum of all that was asked and released, or of what one analyst asked."""
        with self._transaction() as (_, known):
            return known.spent if analyst is None else known.spent_by.get(analyst, Amount())

    def remaining(self, analyst: str | None = None) -> Amount:
        """What may still be spent, by anyone or by one analyst."""
        with self._transaction() as (_, known):
            left = self._left(known, analyst)
        return Amount(max(left.epsilon, Fraction(0)), max(left.delta, Fraction(0)))

    @property
    def mark(self) -> str:
        """The hash of the last entry: kept outside, it shows later whether this ledger was set back."""
        with self._transaction() as (_, known):
            return known.hash

    @property
    def entries(self) -> list[dict[str, Any]]:
        """Every entry: its number, its kind and what it says."""
        with self._transaction() as (database, _):
            rows = database.execute("SELECT number, kind, body FROM entries ORDER BY number").fetchall()
        return [{"number": number, "kind": kind, **json.loads(body)} for number, kind, body in rows]

    def find(self, key: str, cost: Privacy) -> Any | None:
        """The stored answer to a question that was paid at least this much; asking it again is free."""
        with self._transaction() as (database, known):
            return self._find(database, known, key, amount(cost))

    # What is added to it -------------------------------------------------------------------------------------------

    def debit(self, key: str, cost: Privacy, *, analyst: str | None = None) -> int:
        """Pay for a question before anything is read; the number of the entry, or OverBudget and no entry."""
        return self._spend("question", {"key": key}, cost, analyst)

    def store(self, number: int, answer: Any) -> Any:
        """Keep the answer to a question that was paid for, and give back the one that counts.

        Where another process has answered the same question meanwhile, the earlier answer stays the only one.
        """
        with self._transaction() as (database, known):
            question = known.questions[number]
            paid = Amount(Fraction(question["epsilon"]), Fraction(question["delta"]))
            earlier = self._find(database, known, question["key"], paid)
            if earlier is not None:
                return earlier
            self._append(database, "answer", {"question": number, "answer": answer})
            return answer

    def release(self, cost: Privacy, description: str) -> int:
        """Pay for a sanitised release of the table."""
        return self._spend("release", {"description": description}, cost, None)

    def _spend(self, kind: str, body: dict[str, Any], cost: Privacy, analyst: str | None) -> int:
        with self._transaction() as (database, known):
            if cost.neighbours != self.budget.neighbours:
                raise InputError(
                    f"the ledger counts {self.budget.neighbours} neighbours and this costs {cost.neighbours} ones: "
                    "the two do not add up"
                )
            left = self._left(known, analyst)
            if not left.covers(amount(cost)):
                raise OverBudget(
                    f"this costs {amount(cost)}, and what is left is {left}: nothing was read and nothing was spent"
                )
            who = {} if analyst is None else {"analyst": analyst}
            return self._append(database, kind, {**body, **_told(cost), **who})

    def _left(self, known: _Known, analyst: str | None) -> Amount:
        assert known.budget is not None
        whole = amount(known.budget)
        if self.ceiling is not None:
            whole = whole.at_most(amount(self.ceiling))
        whole -= known.spent
        if not known.limits:
            return whole
        if analyst not in known.limits:
            named = "no analyst was named" if analyst is None else f"there is no analyst {analyst!r}"
            raise InputError(
                f"the ledger gives each analyst a budget, and {named}{did_you_mean(analyst, known.limits)}"
            )
        own = known.limits[analyst] - known.spent_by.get(analyst, Amount())
        return own.at_most(whole)

    def _find(self, database: sqlite3.Connection, known: _Known, key: str, cost: Amount) -> Any | None:
        for paid, number in known.answers.get(key, ()):
            if paid.covers(cost):
                row = database.execute("SELECT body FROM entries WHERE number = ?", (number,)).fetchone()
                return json.loads(row[0])["answer"]
        return None

    def _append(self, database: sqlite3.Connection, kind: str, body: Mapping[str, Any]) -> int:
        known = self._known
        text = json.dumps({**body, "at": datetime.now(UTC).isoformat(timespec="seconds")}, sort_keys=True)
        number = known.number + 1
        digest = _hash(known.hash, number, kind, text)
        database.execute("INSERT INTO entries VALUES (?, ?, ?, ?)", (number, kind, text, digest))
        database.execute("INSERT OR REPLACE INTO head VALUES (1, ?, ?)", (number, digest))
        known.add(number, kind, text, digest)
        return number

    # The file ------------------------------------------------------------------------------------------------------

    @contextmanager
    def _transaction(self) -> Iterator[tuple[sqlite3.Connection, _Known]]:
        """One writer at a time over all threads and processes; all that is new in the file is checked first."""
        with self._lock:
            try:
                database = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)
            except sqlite3.Error:
                raise InputError(f"the ledger {str(self.path)!r} cannot be opened: is its folder there?") from None
            before = self._known.number
            try:
                database.execute("PRAGMA synchronous = FULL")
                database.execute("BEGIN IMMEDIATE")
                try:
                    self._catch_up(database)
                    yield database, self._known
                    database.execute("COMMIT")
                except BaseException:
                    if database.in_transaction:
                        database.execute("ROLLBACK")
                    if self._known.number != before:
                        self._known = _Known()  # what was taken in may be gone again
                    raise
            except sqlite3.OperationalError as error:
                if "locked" in str(error) or "busy" in str(error):
                    raise VerificationFailed(f"{self.path.name!r} is held by another process: try again") from None
                raise VerificationFailed(f"{self.path.name!r} cannot be read as a ledger ({error})") from None
            except sqlite3.Error:
                raise VerificationFailed(f"{self.path.name!r} is damaged or no ledger at all") from None
            finally:
                database.close()

    def _catch_up(self, database: sqlite3.Connection) -> None:
        known = self._known
        if not database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            if known.number:
                raise VerificationFailed(f"{self.path.name!r} was emptied while it was open")
            for statement in _TABLES.strip().split(";\n"):
                database.execute(statement)
            return
        new = "SELECT number, kind, body, hash FROM entries WHERE number > ? ORDER BY number"
        for number, kind, body, stored in database.execute(new, (known.number,)):
            known.add(number, kind, body, stored)
        head = database.execute("SELECT number, hash FROM head").fetchone()
        if head != (known.number, known.hash):
            raise VerificationFailed(_broken(known.number))


def _told(privacy: Privacy) -> dict[str, str]:
    return {"epsilon": str(privacy.epsilon), "delta": str(privacy.delta)}


def _hash(previous: str, number: int, kind: str, body: str) -> str:
    return hashlib.sha256("\n".join([previous, str(number), kind, body]).encode()).hexdigest()


def _broken(number: int) -> str:
    return f"the ledger was changed: its chain of hashes breaks at entry {number}, so what was spent is not known"


def record_release(path: str | os.PathLike[str], privacy: Privacy, description: str, *, budget: Privacy) -> int:
    """Pay for a sanitised release before the table is read; the ledger is begun with `budget` if there is none.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "budget.db"
    >>> record_release(file, Privacy(2), "out/", budget=Privacy(3)), Ledger(file).remaining().epsilon
    (2, Fraction(1, 1))
    """
    ledger = Ledger(path) if Path(path).exists() else Ledger(path, budget=budget)
    return ledger.release(privacy, description)

"""The ledger: what was spent on a table and for which answers, in a chain of hashes that entries are only added to.

One SQLite file with one writer at a time, over threads, processes and forks, and one table that is only ever added to.
Each entry carries the hash of the one before it, so a changed, dropped or swapped entry breaks the chain; the head of
the chain is kept beside it, so a cut end shows as well. While the file is open, its latest entries lie in a file beside
it, which ends in `-wal`; closing brings them into the one file. Who can rewrite the whole file can still put back an
older copy of it: against that, keep the mark outside (`docs/limits.md`).

A question is debited before any row is read, and the debit is on the disk by then.

A budget without δ is kept by the sums of ε, in a file of version 1. One with δ is kept in ρ (`account`), in a file of
version 2; files of version 1 with δ were kept by sums, and are. Where the first expense of all is one that only plain
sums of ε and δ cover, such as a release with the whole δ, then sums are kept from there on: nothing was told before,
so no answer has had a part in that.

`statement` is what a ledger says of itself: the budget, what was spent for what, and what is left, also in words.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sqlite3
import threading
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any
from weakref import WeakSet, finalize

from dproof.arguments import as_path, expect, mapping
from dproof.curator.account import (
    WIDEST_SIGMA_BY_VALUE,
    Account,
    Limit,
    left_under,
    price_of,
    question_of,
    rho_for,
    undercharged_epsilon,
)
from dproof.errors import ArgumentError, DproofError, FileError, OverBudget, VerificationFailed
from dproof.exact import exact, float_above, written
from dproof.privacy import NOTHING, Cost, Neighbours, Privacy, Promise, Unit

BASIC, CONCENTRATED = 1, 2  # versions of the file: its tables, its chain, the keys of questions in it, how it accounts
_Files = tuple[tuple[int, int] | None, tuple[int, int] | None]
_PATIENCE = 120  # seconds that a process waits for the others
_KIND = 1146114674
_TABLES = """
CREATE TABLE entries (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, body TEXT NOT NULL, hash TEXT NOT NULL);
CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER NOT NULL, hash TEXT NOT NULL);
CREATE TRIGGER no_change BEFORE UPDATE ON entries BEGIN SELECT raise(ABORT, 'a ledger is only added to'); END;
CREATE TRIGGER no_loss BEFORE DELETE ON entries BEGIN SELECT raise(ABORT, 'a ledger is only added to'); END;
PRAGMA application_id = {kind};
PRAGMA user_version = {version};
"""
# Why a cost is refused that looks smaller than what is left.
_PURE = ", and asked with a delta above 0 it would cost less"
_NO_RHO = ", but the rho of this cost is not known: pay it before anything else, or from a ledger of its own"


@dataclass(frozen=True, slots=True)
class Standing:
    """The three amounts that somebody is told of a ledger: what may be spent in all, what was, and what is left."""

    budget: Cost
    spent: Cost
    remaining: Cost

    @classmethod
    def unspent(cls, promise: Privacy) -> Standing:
        """Where nothing is spent yet.

        >>> str(Standing.unspent(Privacy(1)).remaining)
        'epsilon 1 and delta 0'
        """
        whole = Limit.of(Cost.of(promise), in_rho=True).whole
        return cls(whole, Cost(), whole)

    def in_words(self, rows_per_person: int) -> str:
        """What is left, in counts that can still be asked."""
        return counts_left(self.remaining, rows_per_person)

    def to_json(self) -> dict[str, Any]:
        """One JSON object, with floats that are not above the exact numbers."""
        return {name: getattr(self, name).to_json() for name in ("budget", "spent", "remaining")}


class Ledger:
    """The account of one table.

    >>> import tempfile
    >>> ledger = Ledger(f"{tempfile.mkdtemp()}/budget.db", budget=Privacy(1))
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
            expect(unit, Unit, "unit", "the unit of a plan")
        neighbours = (unit or Unit()).neighbours
        budget = None if budget is None else Privacy.of(budget, "budget", neighbours=neighbours)
        limits = {} if analysts is None else _limits(analysts, neighbours)
        if mark is not None:
            expect(mark, str, "mark", "a text")
        self._file = LedgerFile(self.path)
        self.ceiling = None if ceiling is None else Privacy.of(ceiling, "ceiling", neighbours=neighbours)
        self._forget()
        if budget is None and not self.path.exists():
            raise FileError(f"there is no ledger {str(self.path)!r}: begin one with a plan or a budget")
        with self._transaction(writing=bool(budget or limits)) as (database, account):
            if begun := account.budget is None:
                if budget is None:
                    raise FileError(f"{self.path.name!r} is not a ledger: it is empty")
                self._write_budget(database, budget, unit or Unit())
            elif budget is not None and budget != account.budget:
                raise ArgumentError(
                    f"the ledger was begun with {Cost.of(account.budget)}, and that cannot be changed to "
                    f"{Cost.of(budget)}: begin another in a new file"
                )
            if unit not in (None, account.unit):
                raise ArgumentError(
                    f"the ledger counts {account.unit}, and the plan {unit}: costs of different "
                    "units do not add up, so write into the plan what the ledger counts"
                )
            for name, limit in limits.items():
                known = account.limits.get(name)
                if known not in (None, Cost.of(limit)):
                    raise ArgumentError(f"the budget of analyst {name!r} is {known}, and that cannot be changed")
                if name not in account.limits:
                    self._append(database, "analyst", {"analyst": name, **_written(Cost.of(limit))})
            if mark is not None and mark not in self._marks:
                raise VerificationFailed(
                    f"the mark is not in {self.path.name!r}: this is an older copy, or the ledger of another table"
                )
        if begun:
            self.close()  # from its first entry on, the file alone is a ledger

    def _write_budget(self, database: sqlite3.Connection, budget: Privacy, unit: Unit) -> None:
        """The tables of a new ledger, and its first entry."""
        # In version 1 nothing is said of the accounting: it is basic.
        version, kept = (CONCENTRATED, {"accounting": "zcdp"}) if budget.delta else (BASIC, {})
        for statement in _TABLES.format(kind=_KIND, version=version).strip().split(";\n"):
            database.execute(statement)
        self._begin(version)
        counted = {**unit.to_json(), "neighbours": budget.neighbours, **kept}
        self._append(database, "budget", {**_written(Cost.of(budget)), **counted})

    def begin_anew(self, budget: Promise, unit: Unit, *, keep_analysts: bool) -> None:
        """Begin again with another budget, where nothing was spent: a plan may change until then.

        `unit` says whose loss will be counted. With `keep_analysts` who has a budget keeps it, if the new one is as
        large. Whoever has the ledger open meanwhile finds its chain broken, and spends nothing.
        """
        whole = Privacy.of(budget, "budget", neighbours=unit.neighbours)
        with self._transaction(writing=True) as (database, account):
            if any(entry["kind"] not in ("budget", "analyst") for entry in _entries(database)):
                raise ArgumentError("something was spent from the ledger, so its budget cannot be changed")
            limits = dict(account.limits) if keep_analysts else {}
            for name, limit in limits.items():
                if limit.epsilon > whole.epsilon or limit.delta > whole.delta:
                    raise ArgumentError(
                        f"{name!r} has a budget of {limit}, and all together would have {Cost.of(whole)}: revoke that "
                        "token and remove the table, or allow as much"
                    )
            for table in ("entries", "head"):
                database.execute(f"DROP TABLE {table}")
            self._forget()
            self._write_budget(database, whole, unit)
            for name, limit in limits.items():
                self._append(database, "analyst", {"analyst": name, **_written(limit)})

    # What it says --------------------------------------------------------------------------------------------------

    @property
    def is_unspent(self) -> bool:
        """Whether nothing was paid from it yet, neither a question nor a release."""
        with self._transaction() as (database, _):
            return all(entry["kind"] in ("budget", "analyst") for entry in _entries(database))

    @property
    def budget(self) -> Privacy:
        assert self._account.budget is not None
        return self._account.budget

    @property
    def unit(self) -> Unit:
        return self._account.unit

    @property
    def analysts(self) -> dict[str, Cost | None]:
        """Who has asked or may ask by name, with their budgets."""
        with self._transaction() as (_, account):
            return {**dict.fromkeys(account.spent_by), **account.limits}

    @property
    def counts_rho(self) -> bool:
        """Whether a question with δ is priced by its ρ, as far as the file was read.

        Noise by ρ keeps (ε, δ) too: if another process has begun to keep sums meanwhile, the question costs as much.
        """
        with LOCK:
            if not self._number:  # what was read is forgotten where something failed
                with self._transaction():
                    pass
            return self._account.in_rho

    def standing(self, analyst: str | None = None) -> Standing:
        """The budget, what is spent of it and what is left: over all analysts, or of one who has a budget."""
        with self._transaction() as (_, account):
            return self._standing(account, analyst if account.limits.get(analyst or "") else None)

    def _standing(self, account: Account, analyst: str | None) -> Standing:
        limits = account.for_everyone(self.ceiling) if analyst is None else account.limits_of(analyst, self.ceiling)
        spent = account.spent_of(analyst)
        # A ceiling that is kept to is what may be spent here.
        kept = [limit.whole for limit, _ in limits if spent.epsilon <= limit.whole.epsilon] or [limits[0][0].whole]
        budget = min(kept, key=lambda whole: whole.epsilon) if analyst is None else account.limits[analyst]
        return Standing(budget, spent, left_under(limits))

    def spent(self, analyst: str | None = None) -> Cost:
        """What all that was asked and released comes to, or what one analyst asked."""
        with self._transaction() as (_, account):
            return account.spent_of(analyst)

    def remaining(self, analyst: str | None = None) -> Cost:
        """What may still be spent, by anyone or by one analyst."""
        with self._transaction() as (_, account):
            return left_under(account.limits_of(analyst, self.ceiling))

    def quote(self, key: str, cost: Cost, *, analyst: str | None = None) -> tuple[bool, Cost, int]:
        """Whether a question is answered at this cost already; what may still be spent; and how many times the cost."""
        with self._transaction() as (_, account):
            limits, one = account.limits_of(analyst, self.ceiling), account.cost(_written(cost))
            times = min(limit.times(spent, one) for limit, spent in limits)
            return _number_of_answer(account, key, cost) is not None, left_under(limits), times

    @property
    def mark(self) -> str:
        """The hash of the last entry: kept outside, it shows later whether this ledger was set back."""
        with self._transaction():
            return self._hash

    @property
    def entries(self) -> list[dict[str, Any]]:
        """Every entry: its number, its kind and what it says."""
        with self._transaction() as (database, _):
            return _entries(database)

    def statement(self) -> dict[str, Any]:
        """One JSON object: the whole, each analyst, and every entry but the answers."""
        with self._transaction() as (database, account):
            entries, whole = _entries(database), self._standing(account, None)
            published = {entry["release"] for entry in entries if entry["kind"] == "published"}
            return {
                "budget": whole.budget.to_json(),
                "spent": whole.spent.to_json_above(),
                "remaining": whole.remaining.to_json(),
                **account.unit.to_json(),
                "accounting": _ACCOUNTING["basic" if whole.budget.rho is None else "zcdp"],
                "analysts": [
                    {"name": name, **self._statement_of(account, name)}
                    for name in dict.fromkeys((*account.spent_by, *account.limits))
                ],
                "entries": [
                    entry_to_json(entry, account.unit, published)
                    for entry in entries
                    if entry["kind"] not in ("answer", "published")
                ],
                "mark": self._hash,
            }

    def _statement_of(self, account: Account, analyst: str) -> dict[str, Any]:
        """What one analyst may spend and has spent; who has no budget may spend nothing where others have one."""
        budget = account.limits.get(analyst)
        closed = budget is None and account.limits
        remaining = Cost() if closed else left_under(account.limits_of(analyst, self.ceiling))
        return {
            "budget": None if budget is None else budget.to_json(),
            "spent": account.spent_of(analyst).to_json_above(),
            "remaining": remaining.to_json(),
        }

    def questions(
        self, analyst: str | None = None, *, before: int | None = None, most: int | None = None
    ) -> list[dict[str, Any]]:
        """The questions that were paid for, by anyone or by one analyst, with their costs, oldest first.

        They are the latest `most`, or those before the entry of a number; `answered` says whether an answer came of it.
        """
        with self._transaction() as (database, account):
            found = [
                entry
                for entry in _entries(database)
                if entry["kind"] == "question"
                and (analyst is None or entry.get("analyst") == analyst)
                and (before is None or entry["number"] < before)
            ]
            chosen = found if most is None else found[-most:]
            return [
                {**entry_to_json(one, account.unit), "answered": one["number"] not in account.questions}
                for one in chosen
            ]

    @staticmethod
    def beside(table: str | os.PathLike[str]) -> Path:
        """Where the command line keeps the ledger of a table: beside the file or folder itself, not a link to it.

        >>> Ledger.beside("/data/people.csv").name
        'people.csv.ledger'
        """
        place = Path(os.path.realpath(table))
        return place.parent / f"{place.name}.ledger"

    @staticmethod
    def is_begun(path: str | os.PathLike[str]) -> bool:
        """Whether there is a ledger at a path, and not only the empty file with which another process begins one."""
        return Path(path).exists() and Path(path).stat().st_size > 0

    @property
    def unanswered(self) -> frozenset[int]:
        """The entries of questions that were paid for and have no answer: stopped half-way, or still being answered."""
        with self._transaction() as (_, account):
            return frozenset(account.questions)

    def find(self, key: str, cost: Promise | Cost) -> Any | None:
        """The stored answer to a question that was paid at least this much; asking it again is free."""
        return self.find_all({key: Cost.of(cost)}).get(key)

    def find_all(self, costs: Mapping[str, Cost]) -> dict[str, Any]:
        """The stored answers to those of some questions that have one at their costs."""
        with self._transaction() as (database, account):
            return _find(database, account, costs)

    # What is added to it -------------------------------------------------------------------------------------------

    def debit(self, key: str, cost: Promise | Cost, *, analyst: str | None = None) -> int:
        """Pay for a question before anything is read; the number of the entry, or OverBudget and no entry.

        The `rho` of a cost is that of the answer's noise, and its `cut` how far the tables of the noise may lie from
        the laws that have this ρ.
        """
        with self._transaction(writing=True) as (database, account):
            return self._debit(database, account, key, cost, analyst)

    def debit_all(
        self, costs: Mapping[str, Cost], *, analyst: str | None = None
    ) -> tuple[dict[str, int], dict[str, Any]]:
        """Pay for several questions, or for none of them where the budget does not allow all (see `debit`).

        The number of each entry; and the answers that others have stored meanwhile, which cost nothing.
        """
        with self._transaction(writing=True) as (database, account):
            stored = _find(database, account, costs)
            owed = {key: cost for key, cost in costs.items() if key not in stored}
            return {key: self._debit(database, account, key, cost, analyst) for key, cost in owed.items()}, stored

    def _debit(
        self, database: sqlite3.Connection, account: Account, key: str, cost: Promise | Cost, analyst: str | None
    ) -> int:
        who = {} if analyst is None else {"analyst": expect(analyst, str, "analyst", "a name")}
        body = {"key": expect(key, str, "key", "the text of a question"), **who}
        return self._spend(database, "question", body, cost, account.limits_of(analyst, self.ceiling))

    def store(self, number: int, answer: Any) -> Any:
        """Keep the answer to a question that was paid for, and give back the one that counts.

        Where another process has answered the same question meanwhile, the earlier answer stays the only one. It
        reaches the disk with the next debit: an answer lost with the power has to be paid again, and that is all.
        """
        with self._transaction(writing=True, lasting=False) as (database, account):
            question = account.questions[number]
            earlier = _find(database, account, {question["key"]: price_of(question)})
            if earlier:
                return earlier[question["key"]]
            self._append(database, "answer", {"question": number, "answer": answer})
            return answer

    def release(self, cost: Promise | Cost, description: str, *, plan: str | None = None) -> int:
        """Pay for a sanitised release of the table; with a digest of its plan and place, until it is published."""
        expect(description, str, "description", "a text")
        under = {} if plan is None else {"plan": plan}
        with self._transaction(writing=True) as (database, account):
            body = {"description": description, **under}
            return self._spend(database, "release", body, cost, account.for_everyone(self.ceiling))

    def unpublished(self, cost: Cost, description: str, plan: str) -> int | None:
        """The number of such a release that was paid for and never published, if there is one; also at another cost.

        Where ρ is counted, one whose ρ is known does not pay for one of which none is.
        """
        with self._transaction() as (_, account):
            unknown = account.cost(_written(cost)).rho is None
            paid_for = {n: e for n, e in account.unpublished.items() if not unknown or account.cost(e).rho is None}
            of_place = [n for n, e in paid_for.items() if (e["description"], e["plan"]) == (description, plan)]
            enough = (n for n in of_place if price_of(paid_for[n]).covers(cost))
            return next(enough, next(iter(of_place), None))

    def pay_more(self, number: int, cost: Cost) -> None:
        """Pay what a release costs beyond what was paid for an earlier one in its place, of which nothing came."""
        with self._transaction(writing=True) as (database, account):
            entry = account.unpublished.get(number)
            if entry is None:
                raise FileError("another run has published this release meanwhile: nothing was written")
            paid, price = account.cost(entry), account.cost(_written(cost))
            more = _beyond(price, paid)
            if any((more.epsilon, more.delta, more.rho, more.cut)):
                body = {"description": f"{entry['description']}, under another plan", "beyond": number}
                self._spend(database, "release", body, more, account.for_everyone(self.ceiling), paid=paid)

    def published(self, cost: Cost, description: str, plan: str) -> set[str]:
        """The seals of such releases that were published."""
        with self._transaction() as (_, account):
            found = (done for done in account.published if _pays(done, cost, description, plan))
            return {done["seal"] for done in found if done["seal"]}

    def publish(self, number: int, seal: str | None = None) -> None:
        """Record that a release is published, before anybody can see it; once for each that was paid for."""
        with self._transaction(writing=True) as (database, account):
            if number not in account.unpublished:
                raise FileError("another run has published this release meanwhile: nothing was written")
            sealed = {} if seal is None else {"seal": seal}
            self._append(database, "published", {"release": number, **sealed})

    def _spend(
        self,
        database: sqlite3.Connection,
        kind: str,
        body: dict[str, Any],
        cost: Promise | Cost,
        limits: Sequence[tuple[Limit, Cost]],
        paid: Cost = NOTHING,
    ) -> int:
        """Add an entry that is paid for; `paid` is what was spent for the same thing."""
        if isinstance(cost, Privacy) and cost.neighbours != self.budget.neighbours:
            raise ArgumentError(
                f"the ledger counts {self.budget.neighbours} neighbours and this costs {cost.neighbours} ones: "
                "the two do not add up"
            )
        price = Cost.of(cost)
        body = {**body, **_written(price)}
        more = self._account.cost(body)
        if all(limit.allows(spent + more) for limit, spent in limits):
            return self._append(database, kind, body)
        sums = [Limit.of(limit.whole, in_rho=False) for limit, _ in limits]
        is_first = self._account.in_rho and self._account.spent == paid
        if is_first and all(limit.allows(paid + more) for limit in sums):
            return self._append(database, kind, {**body, "accounting": "basic"})
        rho, reason, left = None, "", left_under(limits)
        if self._account.in_rho:
            seems_to_fit = not price.delta and price.epsilon <= left.epsilon
            rho, reason = more.rho, _NO_RHO if more.rho is None else _PURE if seems_to_fit else ""
        raise OverBudget(
            f"this costs {replace(price, rho=rho)}, and what is left is {left}{reason}: "
            "nothing was read and nothing was spent"
        )

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
        self._number, self._hash, self._account = 0, "", Account()
        self._marks: set[str] = set()

    def _begin(self, version: int) -> None:
        self._hash = hashlib.sha256(f"dproof ledger {version}".encode()).hexdigest()
        self._marks = {self._hash}

    def _take(self, number: int, kind: str, body: str, stored: str) -> None:
        """Take one more entry into account, if it continues the chain."""
        if number != self._number + 1 or stored != _link(self._hash, number, kind, body):
            raise VerificationFailed(_broken(number))
        self._account.add(number, kind, json.loads(body))
        self._number, self._hash = number, stored
        self._marks.add(stored)

    def _catch_up(self, database: sqlite3.Connection, version: int) -> None:
        """Check all that is new in the file; what was checked before is still there if the head is."""
        if not version:
            if self._number:
                raise VerificationFailed(f"{self.path.name!r} was emptied while it was open")
            return
        if not self._number:
            self._begin(version)
        new = "SELECT number, kind, body, hash FROM entries WHERE number > ? ORDER BY number"
        for entry in database.execute(new, (self._number,)):
            self._take(*entry)
        head = database.execute("SELECT number, hash FROM head").fetchone()
        if head != (self._number, self._hash):
            raise VerificationFailed(_broken(self._number))

    @contextmanager
    def _transaction(
        self, *, writing: bool = False, lasting: bool = True
    ) -> Iterator[tuple[sqlite3.Connection, Account]]:
        """The file and the account, when all that is new in the file is checked; see `LedgerFile.transaction`."""
        with LOCK:
            before = self._number
            try:
                with self._file.transaction(writing=writing, lasting=lasting) as (database, version):
                    self._catch_up(database, version)
                    yield database, self._account
            except BaseException:
                if self._number != before:
                    self._forget()  # what was taken in may be gone again
                raise

    def close(self) -> None:
        """Bring everything into the one file and let go of it; whatever comes next opens it again."""
        self._file.close()


def _limits(analysts: Any, neighbours: Neighbours) -> dict[str, Privacy]:
    """The budgets of people, by their names."""
    limits = {}
    for name, limit in mapping(analysts, "analysts", "a mapping from names to budgets").items():
        expect(name, str, "each of the analysts", "a name")
        limits[name] = Privacy.of(limit, f"the budget in analysts of {name!r}", neighbours=neighbours)
    return limits


def _entries(database: sqlite3.Connection) -> list[dict[str, Any]]:
    rows = database.execute("SELECT number, kind, body FROM entries ORDER BY number").fetchall()
    return [{"number": number, "kind": kind, **json.loads(body)} for number, kind, body in rows]


def _find(database: sqlite3.Connection, account: Account, costs: Mapping[str, Cost]) -> dict[str, Any]:
    found = {}
    for key, cost in costs.items():
        number = _number_of_answer(account, key, cost)
        if number is not None:
            row = database.execute("SELECT body FROM entries WHERE number = ?", (number,)).fetchone()
            found[key] = json.loads(row[0])["answer"]
    return found


def _number_of_answer(account: Account, key: str, cost: Cost) -> int | None:
    return next((number for price, number in account.answers.get(key, ()) if price.covers(cost)), None)


def _pays(entry: Mapping[str, Any], cost: Cost, description: str, plan: str) -> bool:
    """Whether an entry pays the (ε, δ) of such a release: as much, or more, as a release of tables once did."""
    same = entry["description"] == description and entry["plan"] == plan
    return same and price_of(entry).covers(cost)


def _beyond(price: Cost, paid: Cost) -> Cost:
    """What is left to pay of a price, in each figure."""
    rho = None if price.rho is None or paid.rho is None else max(Fraction(0), price.rho - paid.rho)
    epsilon, delta, cut = price.epsilon - paid.epsilon, price.delta - paid.delta, price.cut - paid.cut
    return Cost(max(Fraction(0), epsilon), max(Fraction(0), delta), rho, max(Fraction(0), cut))


def _written(cost: Cost) -> dict[str, str]:
    """What an entry says of a cost; of the noise of an answer, too, where its ρ is known."""
    names = ("epsilon", "delta") if cost.rho is None else ("epsilon", "delta", "rho", "cut")
    amounts = {name: exact(getattr(cost, name), name) for name in names}
    if min(amounts.values()) < 0:
        raise ArgumentError("epsilon, delta, rho and cut must be 0 or more: they are what an answer costs")
    return {name: str(amount) for name, amount in amounts.items()}


def _link(previous: str, number: int, kind: str, body: str) -> str:
    return hashlib.sha256("\n".join([previous, str(number), kind, body]).encode()).hexdigest()


def _broken(number: int) -> str:
    return f"the ledger was changed: its chain of hashes breaks at entry {number}, so what was spent is not known"


# What a ledger says of itself -----------------------------------------------------------------------------------------

_ACCOUNTING = {
    "basic": "basic composition: costs add up, also when questions and prices are chosen one after another",
    "zcdp": "zCDP: rho adds up, also when questions and prices are chosen one after another; what is left is an ε "
    "at the δ of the budget",
}
_COUNTS = 40  # about so many, to tell what is left
_WIDTHS = [digit * 10.0**power for power in range(12) for digit in (1, 2, 5)]  # the widest tells nothing of any table


def entry_to_json(entry: Mapping[str, Any], unit: Unit, published: Container[int] = ()) -> dict[str, Any]:
    """An entry with its question as it was asked and its cost as numbers; a release tells whether it was published.

    An answer of an earlier version that cost more than was paid has the ε that it may have cost (see `account`).
    """
    asked: dict[str, Any] = {"question": question_of(entry["key"])} if "key" in entry else {}
    really = undercharged_epsilon(entry, unit)
    asked |= {} if really is None else {"may_have_cost": float_above(really)}
    made = {"published": entry["number"] in published} if "plan" in entry else {}
    return (
        {key: value for key, value in entry.items() if key not in ("key", "plan", "cut")}
        | asked
        | made
        | price_of(entry).to_json_above()
    )


def counts_left(left: Cost, rows: int) -> str:
    """What is left, in counts: so many at so wide an interval, about forty of them; for so many rows of a person."""
    if not float(left.epsilon) and not left.rho:
        return "nothing is left to spend"
    width = min(_WIDTHS, key=lambda near: abs(math.log(max(_counts_at(near, left, rows)) / _COUNTS)))
    laplace, gaussian = _counts_at(width, left, rows)
    if max(laplace, gaussian) < 1:
        return "too little is left for a count"
    how = ", each asked with a δ" if gaussian > laplace else ""
    return f"about {int(max(laplace, gaussian)):,} more counts at ± {written(width)}{how}"


def _counts_at(width: float, left: Cost, rows: int) -> tuple[float, float]:
    """How many counts ± `width` at 95 % may still be asked, without a δ and with one: by Laplace and Gaussian noise."""
    reach = width + 0.5  # noise is a whole number, and one that would be rounded to `width` is within it
    epsilon, sigma = math.log(20) * rows / reach, reach / 1.96
    digits = math.floor(math.log10(epsilon)) - 2  # three of them, as for who asks for an accuracy
    price = math.ceil(epsilon / 10.0**digits) * Fraction(10) ** digits
    if left.rho is None or not left.delta:
        return float(left.epsilon / price), 0.0
    rho = float(left.rho)
    # The ε that is left may come from ρ. It is one at a δ then, and a price without a δ is paid by its ρ, ε²/2.
    from_rho = rho_for(left.epsilon, left.delta) <= left.rho
    laplace = 2 * rho / float(price) ** 2 if from_rho else float(left.epsilon / price)
    # Noise that is wider costs more than (rows/σ)²/2. Three digits of ε can cost 2 % more of ρ.
    gaussian = 2 * rho * (sigma / rows) ** 2 / 1.02 if sigma < WIDEST_SIGMA_BY_VALUE / 2 else 0.0
    return laplace, gaussian


# The file of a ledger -------------------------------------------------------------------------------------------------


class LedgerFile:
    """A connection that is kept from one transaction to the next, and opened anew where the file is another one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._place = Path(os.path.realpath(path))  # SQLite keeps the journal there, not beside a link
        self.database: sqlite3.Connection | None = None
        self._journal = ""
        self._files: _Files | None = None

    @contextmanager
    def transaction(self, *, writing: bool, lasting: bool) -> Iterator[tuple[sqlite3.Connection, int]]:
        """The connection, and the version of the file, 0 where it is empty: one writer at a time over all processes.

        What was written is on the disk afterwards, or if it need not be `lasting`, together with the next that is.
        """
        with LOCK:
            try:
                database = self._open()
                lazily = self._journal == "wal" and not lasting
                database.execute(f"PRAGMA synchronous = {'NORMAL' if lazily else 'FULL'}")
                database.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
                made = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
                self._files = self._files or self._beside()
                yield database, database.execute("PRAGMA user_version").fetchone()[0] if made else 0
                database.execute("COMMIT")
            except BaseException as error:
                if isinstance(error, sqlite3.Error):
                    self.close()
                    raise _said(error, self.path) from None
                if self.database is not None:
                    self.database.rollback()
                raise

    def _open(self) -> sqlite3.Connection:
        if self.database is not None and self._files == self._beside():
            return self.database
        self.close()
        place = self._place.as_uri()
        fixed = self._place.exists() and not all(os.access(path, os.W_OK) for path in (self._place, self._place.parent))
        if fixed:  # nothing can be spent from it, but it can be looked at
            place += "?mode=ro" if self._beside()[1] else "?immutable=1"
        database = sqlite3.connect(place, uri=True, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        self.database, self._files, self._closing = database, None, finalize(self, database.close)
        _OPEN.add(self)
        made = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if made and database.execute("PRAGMA application_id").fetchone()[0] != _KIND:
            raise FileError(_NO_LEDGER.format(repr(self.path.name)))
        version = database.execute("PRAGMA user_version").fetchone()[0]
        if made and version not in (BASIC, CONCENTRATED):
            raise FileError(
                f"{self.path.name!r} is a ledger of version {version}, and this dproof knows version {BASIC} and "
                f"{CONCENTRATED}: use the dproof that wrote it"
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
        return _identity(self._place), _identity(f"{self._place}-wal")

    def close(self) -> None:
        """Bring everything into the one file and let go of it; whatever comes next opens it again."""
        with LOCK:
            if self.database is not None:
                self.database = None
                self._closing()


# SQLite's locks do not survive a fork: every ledger is closed before one, and no other thread may open it meanwhile.
LOCK = threading.RLock()
_OPEN: WeakSet[LedgerFile] = WeakSet()


def _before_fork() -> None:
    LOCK.acquire()
    for file in list(_OPEN):
        file.close()


if hasattr(os, "register_at_fork"):  # where processes fork
    os.register_at_fork(before=_before_fork, after_in_parent=LOCK.release, after_in_child=LOCK.release)


def _identity(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _said(error: sqlite3.Error, path: Path) -> DproofError:
    """What SQLite's trouble means to a person."""
    code = getattr(error, "sqlite_errorname", "")
    for start, sentence in _TROUBLES.items():
        if code.startswith(start):
            return FileError(sentence.format(repr(str(path))))
    return VerificationFailed(f"{path.name!r} is damaged: what was spent is not known ({error})")


_NO_LEDGER = "{} is not a ledger: that is a file which `dproof sanitise`, `ask` or `budget` begins, under a new name"
_TROUBLES = {
    "SQLITE_NOTADB": _NO_LEDGER,
    "SQLITE_BUSY": "the ledger {} is held by another process: try again",
    "SQLITE_CANTOPEN": "the ledger {} cannot be opened: is it a file, in a folder that you may write in?",
    "SQLITE_READONLY": "the ledger {} cannot be written to, so nothing can be paid from it",
    "SQLITE_FULL": "the disk of the ledger {} is full, so nothing can be paid from it",
    "SQLITE_IOERR": "the ledger {} cannot be read or written: its disk fails",
}

"""The account: what the entries of a ledger add up to, in exact fractions; `limits` says what that allows.

Costs add up only where they count the loss of the same unit. A question is known by a key, made when it is paid for.

Some answers of earlier versions cost more than was paid. The mean or the sum of curves by group had K-norm noise,
P(x) ∝ c^⌈‖x‖/s⌉, drawn for each group, and its cell s was a part of all that a person moves in all groups together. A
person who moves n groups by a part of a cell each costs n cells, not one: where all moves together are m cells,
n·⌈m/n⌉ of them instead of m.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Any, Literal

from dproof.composition import pure_epsilon, pure_rho
from dproof.curator.limits import Limit, amount, limit_of
from dproof.errors import ArgumentError, TooLarge, did_you_mean
from dproof.laws.k_norm import Norm, k_norm
from dproof.privacy import NOTHING, Cost, Privacy, Unit

Accounting = Literal["basic", "zcdp"]  # as a ledger writes it


@dataclass(slots=True)
class Account:
    """What the entries that were taken in so far say."""

    budget: Privacy | None = None
    unit: Unit = field(default_factory=Unit)
    accounting: Accounting = "basic"
    spent: Cost = NOTHING
    limits: dict[str, Cost] = field(default_factory=dict)
    spent_by: dict[str, Cost] = field(default_factory=dict)
    questions: dict[int, dict[str, Any]] = field(default_factory=dict)
    answers: dict[str, list[tuple[Cost, int]]] = field(default_factory=dict)
    unpublished: dict[int, dict[str, Any]] = field(default_factory=dict)  # releases that were paid for
    published: list[dict[str, Any]] = field(default_factory=list)  # the same with their seals, once they are

    def add(self, number: int, kind: str, entry: Mapping[str, Any]) -> None:
        """Take in one more entry."""
        self.accounting = entry.get("accounting", self.accounting)
        price = paid(entry)
        if kind == "budget":
            self.unit = Unit(entry["neighbours"], entry.get("person"), entry.get("rows_per_person", 1))
            self.budget = Privacy(price.epsilon, price.delta, neighbours=self.unit.neighbours)
        elif kind == "analyst":
            self.limits[entry["analyst"]] = price
        elif kind == "answer":
            question = self.questions.pop(entry["question"])
            self.answers.setdefault(question["key"], []).append((paid(question), number))
        elif kind == "published":
            self.published.append({**self.unpublished.pop(entry["release"]), "seal": entry.get("seal")})
        else:
            self._spend(self.cost(entry), entry.get("analyst"))
            if kind == "question":
                self.questions[number] = dict(entry)
            elif "plan" in entry:
                self.unpublished[number] = dict(entry)

    def _spend(self, cost: Cost, analyst: str | None) -> None:
        self.spent += cost
        if analyst is not None:
            self.spent_by[analyst] = self.spent_by.get(analyst, NOTHING) + cost

    @property
    def in_rho(self) -> bool:
        return self.accounting == "zcdp"

    def cost(self, entry: Mapping[str, Any]) -> Cost:
        """What an entry costs, in every way that this ledger counts."""
        price = paid(entry)
        pure = self.in_rho and not price.delta
        rho = pure_rho(price.epsilon) if pure and price.rho is None else price.rho
        really, cut = pure_cost(entry, self.unit), Fraction(entry.get("cut", 0))
        if really is None:
            return Cost(price.epsilon, price.delta, rho, cut)
        return Cost(max(price.epsilon, really), price.delta, None if rho is None else max(rho, pure_rho(really)), cut)

    def limit(self, whole: Cost) -> Limit:
        """A limit on what may be spent, kept as this ledger counts."""
        return limit_of(whole.epsilon, whole.delta, in_rho=self.in_rho)

    def for_everyone(self, ceiling: Privacy | None) -> list[tuple[Limit, Cost]]:
        """The limits that hold for everyone, each with what counts against it."""
        assert self.budget is not None
        return [(self.limit(amount(most)), self.spent) for most in (self.budget, ceiling) if most is not None]

    def limits_of(self, analyst: str | None, ceiling: Privacy | None) -> list[tuple[Limit, Cost]]:
        """The limits that hold for one analyst; without budgets of their own all share the whole."""
        if not self.limits:
            return self.for_everyone(ceiling)
        if analyst not in self.limits:
            named = "no analyst was named" if analyst is None else f"there is no analyst {analyst!r}"
            raise ArgumentError(
                f"the ledger gives each analyst a budget, and {named}{did_you_mean(analyst, self.limits)}"
            )
        of_analyst = (self.limit(self.limits[analyst]), self.spent_by.get(analyst, NOTHING))
        return [of_analyst, *self.for_everyone(ceiling)]


def left_under(limits: Sequence[tuple[Limit, Cost]]) -> Cost:
    """A price that may still be paid under every one of some limits."""
    return reduce(Cost.at_most, (limit.left(spent) for limit, spent in limits))


def paid(entry: Mapping[str, Any]) -> Cost:
    """The price of an entry."""
    rho = Fraction(entry["rho"]) if "rho" in entry else None
    return Cost(Fraction(entry.get("epsilon", 0)), Fraction(entry.get("delta", 0)), rho)


# What one row moved at most: a curve of norm 2^14 and, in the Euclidean norm, a count with half its weight.
_MOVES: dict[Norm, int] = {"linf": 1 << 14, "l2": 18318}


def pure_cost(entry: Mapping[str, Any], unit: Unit) -> Fraction | None:
    """The ε that such an answer may have cost at δ = 0; None where it cost what was paid.

    Gaussian noise is known by what its tables cut off, where ρ is counted; an answer that may have had K-norm noise
    counts as one that had.
    """
    if not shared_a_cell(entry.get("key", "")) or Fraction(entry.get("cut", 0)):
        return None
    epsilon = pure_epsilon(Fraction(entry["rho"])) if "rho" in entry else Fraction(entry["epsilon"])
    times = _times(epsilon, unit.rows_per_person * (2 if unit.neighbours == "change-one" else 1))
    return times * epsilon if times > 1 else None


@lru_cache(maxsize=256)
def _times(epsilon: Fraction, moves: int) -> Fraction:
    """How many times ε, in the worse of the two norms."""
    most = Fraction(1)
    for norm, one in _MOVES.items():
        try:
            cells = moves * one // k_norm(norm, 1, moves * one, epsilon).cell if epsilon else moves
        except TooLarge:  # no such noise was drawn
            continue
        most = max(most, Fraction(moves * -(-cells // moves), cells))
    return most


# Earlier versions measured coefficients of curves, with other noise: their answers cannot be read as those of values
# on the grid; and those by group had noise that cost more than was paid (`pure_cost`).
ON_THE_GRID = " -- on the grid"
BY_GROUP = f"{ON_THE_GRID} by group"
_QUOTED = re.compile("'[^']*'|\"[^\"]*\"")


def key_of(text: str, reading: str) -> str:
    """The key of a canonical text, with a digest of how the plan reads its columns.

    >>> key_of("SELECT count(*) FROM data", "")
    'SELECT count(*) FROM data -- plan e3b0c44298fc1c14'
    """
    return f"{text} -- plan {hashlib.sha256(reading.encode()).hexdigest()[:16]}"


def question_of(key: str) -> str:
    """The question in a key, without what only a ledger needs.

    >>> question_of(key_of("SELECT avg(load) FROM data" + ON_THE_GRID, ""))
    'SELECT avg(load) FROM data'
    """
    text = key.rpartition(" -- ")[0] or key  # whoever keeps a ledger by hand may give any text
    return text.removesuffix(BY_GROUP).removesuffix(ON_THE_GRID)


def shared_a_cell(key: str) -> bool:
    """Whether a key is that of curves by group in an earlier version.

    >>> asked = "SELECT kind, avg(load) FROM data GROUP BY kind"
    >>> [shared_a_cell(key_of(asked + kind, "")) for kind in (ON_THE_GRID, BY_GROUP)]
    [True, False]
    """
    text = key.rpartition(" -- ")[0]
    return text.endswith(ON_THE_GRID) and " GROUP BY " in _QUOTED.sub("", text)

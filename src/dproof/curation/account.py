"""The account: what the entries of a ledger add up to.

Costs add up: with questions and epsilons chosen after seeing earlier answers, Σε and Σδ still hold (basic
composition), and all sums are exact fractions. They add up only where they count the loss of the same unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dproof.errors import InputError, did_you_mean
from dproof.exact import float_below
from dproof.privacy import Neighbours, Privacy
from dproof.questions.canonical import literal

if TYPE_CHECKING:
    from dproof.plans.plan import Plan


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

    def at_least(self, other: Amount) -> Amount:
        return Amount(max(self.epsilon, other.epsilon), max(self.delta, other.delta))

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


@dataclass(frozen=True, slots=True)
class Unit:
    """Whose loss is counted: that of a row, or of a person who owns so many rows; and who is their neighbour.

    >>> print(Unit(rows_per_person=3))
    change-one neighbours, per person with at most 3 rows
    """

    neighbours: Neighbours = "change-one"
    person: str | None = None
    rows_per_person: int = 1

    @classmethod
    def of(cls, plan: Plan) -> Unit:
        return cls(plan.privacy.neighbours, plan.person, plan.rows_per_person)

    def __str__(self) -> str:
        if self.person is None and self.rows_per_person == 1:
            return f"{self.neighbours} neighbours, per row"
        named = "" if self.person is None else f" ({self.person!r})"
        rows = "1 row" if self.rows_per_person == 1 else f"{self.rows_per_person} rows"
        return f"{self.neighbours} neighbours, per person{named} with at most {rows}"

    def to_json(self) -> dict[str, Any]:
        return {"neighbours": self.neighbours, "person": self.person, "rows_per_person": self.rows_per_person}


@dataclass(slots=True)
class Account:
    """What the entries that were taken in so far say."""

    budget: Privacy | None = None
    unit: Unit = field(default_factory=Unit)
    spent: Amount = field(default_factory=Amount)
    limits: dict[str, Amount] = field(default_factory=dict)
    spent_by: dict[str, Amount] = field(default_factory=dict)
    questions: dict[int, dict[str, Any]] = field(default_factory=dict)
    answers: dict[str, list[tuple[Amount, int]]] = field(default_factory=dict)
    unpublished: dict[int, dict[str, Any]] = field(default_factory=dict)  # releases that were paid for
    published: list[dict[str, Any]] = field(default_factory=list)  # the same with their seals, once they are

    def add(self, number: int, kind: str, told: Mapping[str, Any]) -> None:
        """Take in one more entry."""
        cost = paid(told)
        if kind == "budget":
            self.unit = Unit(told["neighbours"], told.get("person"), told.get("rows_per_person", 1))
            self.budget = Privacy(cost.epsilon, cost.delta, neighbours=self.unit.neighbours)
        elif kind == "analyst":
            self.limits[told["analyst"]] = cost
        elif kind == "answer":
            question = self.questions.pop(told["question"])
            self.answers.setdefault(question["key"], []).append((paid(question), number))
        elif kind == "published":
            self.published.append({**self.unpublished.pop(told["release"]), "seal": told.get("seal")})
        else:
            self.spent += cost
            who = told.get("analyst")
            if who is not None:
                self.spent_by[who] = self.spent_by.get(who, Amount()) + cost
            if kind == "question":
                self.questions[number] = dict(told)
            elif "plan" in told:
                self.unpublished[number] = dict(told)

    def left(self, ceiling: Privacy | None) -> Amount:
        """What may still be spent under the budget, and under the ceiling where there is one."""
        assert self.budget is not None
        whole = amount(self.budget) if ceiling is None else amount(self.budget).at_most(amount(ceiling))
        return whole - self.spent

    def left_to(self, analyst: str | None, ceiling: Privacy | None) -> Amount:
        """What one analyst may still spend; without budgets of their own all share the whole."""
        whole = self.left(ceiling)
        if not self.limits:
            return whole
        if analyst not in self.limits:
            named = "no analyst was named" if analyst is None else f"there is no analyst {analyst!r}"
            raise InputError(f"the ledger gives each analyst a budget, and {named}{did_you_mean(analyst, self.limits)}")
        return (self.limits[analyst] - self.spent_by.get(analyst, Amount())).at_most(whole)


def paid(told: Mapping[str, Any]) -> Amount:
    """What an entry cost."""
    return Amount(Fraction(told.get("epsilon", 0)), Fraction(told.get("delta", 0)))

"""The account: what the entries of a ledger add up to, in exact fractions; `limits` says what that allows.

Costs add up only where they count the loss of the same unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import Any, Literal

from dproof.composition import pure_rho
from dproof.curator.earlier import pure_cost
from dproof.curator.limits import Amount, Cost, Limit, amount, limit_of
from dproof.errors import InputError, did_you_mean
from dproof.privacy import Privacy, Unit

Accounting = Literal["basic", "zcdp"]  # as a ledger writes it


@dataclass(slots=True)
class Account:
    """What the entries that were taken in so far say."""

    budget: Privacy | None = None
    unit: Unit = field(default_factory=Unit)
    accounting: Accounting = "basic"
    spent: Cost = field(default_factory=Cost)
    limits: dict[str, Amount] = field(default_factory=dict)
    spent_by: dict[str, Cost] = field(default_factory=dict)
    questions: dict[int, dict[str, Any]] = field(default_factory=dict)
    answers: dict[str, list[tuple[Amount, int]]] = field(default_factory=dict)
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
            self.spent_by[analyst] = self.spent_by.get(analyst, Cost()) + cost

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

    def limit(self, whole: Amount) -> Limit:
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
            raise InputError(f"the ledger gives each analyst a budget, and {named}{did_you_mean(analyst, self.limits)}")
        of_analyst = (self.limit(self.limits[analyst]), self.spent_by.get(analyst, Cost()))
        return [of_analyst, *self.for_everyone(ceiling)]


def left_under(limits: Sequence[tuple[Limit, Cost]]) -> Amount:
    """A price that may still be paid under every one of some limits."""
    return reduce(Amount.at_most, (limit.left(spent) for limit, spent in limits))


def paid(entry: Mapping[str, Any]) -> Amount:
    """The price of an entry."""
    rho = Fraction(entry["rho"]) if "rho" in entry else None
    return Amount(Fraction(entry.get("epsilon", 0)), Fraction(entry.get("delta", 0)), rho)

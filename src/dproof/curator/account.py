"""The account: what the entries of a ledger add up to, in exact fractions, and what a limit (ε, δ) still allows.

A limit without δ, and every limit of a ledger with basic accounting, is kept by sums: with questions and prices chosen
after seeing earlier answers, Σε and Σδ still hold (basic composition).

Else a limit is kept in ρ (zCDP): questions whose ρ add up to at most ρ(ε, δ) keep (ε, δ), whatever chooses them
(Feldman and Zrnic 2021; Whitehouse, Ramdas, Rogers and Wu 2023). For each α the product of e^((α−1)(loss − αρ)) over
the answers is at most 1 on average, whatever is asked next, so the loss of all has the moments of ρ(ε, δ).
The sums count beside it: they are better for a few large prices. Which of the two proofs covers what was asked may
depend on the answers. Hence each has a part of δ of its own: P(A) − e^ε P'(A) is at most the one part over the
outcomes that the first covers, at most the other over those that the second does, and so at most δ over all.

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
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Any, Literal

from dproof.composition import concentrated_epsilon, concentrated_rho, pure_epsilon, pure_rho
from dproof.errors import ArgumentError, TooLarge, did_you_mean
from dproof.exact import exp_above
from dproof.laws.k_norm import Norm, k_norm
from dproof.privacy import NOTHING, Cost, Privacy, Unit

Released = dict[str, Any]  # plain JSON: the numbers that leave the table, as a ledger keeps them
_DELTA_OF_SUMS = Fraction(1, 16)  # of δ: what sums of ε and δ may use
_DELTA_OF_TABLES = Fraction(1, 1024)  # of δ: what the tables of Gaussian noise may miss
_EPSILON_DIGITS = 6  # of an ε that is left
_TIMES_FOR_NOTHING = 10**9  # that what costs nothing can be paid
WIDEST_SIGMA_BY_VALUE = 1 << 12  # σ of Gaussian noise up to which a cell of its table holds one value


@dataclass(frozen=True, slots=True)
class Limit:
    """The rule by which a `Cost` is spent: ε and δ add up; in one with ρ, ρ adds up or they do, each in its part of δ.

    >>> limit = Limit.of(Cost(Fraction(1), Fraction("1e-6")), in_rho=True)
    >>> round(float(limit.whole.rho), 6), limit.allows(Cost(Fraction(2), Fraction("1e-6"), Fraction("0.024")))
    (0.024215, True)
    """

    whole: Cost

    @classmethod
    def of(cls, whole: Cost, *, in_rho: bool) -> Limit:
        """The limit (ε, δ), kept in ρ if that is counted and there is a δ."""
        counted = in_rho and whole.delta > 0
        return cls(Cost(whole.epsilon, whole.delta, rho_for(whole.epsilon, whole.delta) if counted else None))

    def allows(self, total: Cost) -> bool:
        """Whether all that was paid, and is to be paid, keeps to the limit."""
        return self._sums_allow(total) or self._rho_left(total) >= 0

    def spent(self, total: Cost) -> Cost:
        """What was paid, as (ε, δ): with ρ, that of the same questions if all had been fixed beforehand."""
        if self.whole.rho is None:
            return Cost(total.epsilon, total.delta)
        rho, left = total.rho, self._rho_left(total)
        if rho is None or left < 0 or self._sums_left(total).epsilon > self.priced(left).epsilon:
            return Cost(total.epsilon, total.delta, rho)
        if not rho:
            return Cost(rho=rho)
        epsilon = concentrated_epsilon(rho, self.whole.delta * (1 - _DELTA_OF_SUMS - _DELTA_OF_TABLES))
        return Cost(min(epsilon, self.whole.epsilon), self.whole.delta, rho)

    def left(self, total: Cost) -> Cost:
        """A price that may still be paid, with as large an ε as there is."""
        if self.whole.rho is None:
            return self._sums_left(total)
        by_sums = self._sums_left(total) if self._sums_allow(total) else Cost()
        by_rho = self.priced(self._rho_left(total))
        return replace(by_sums, rho=by_rho.rho) if by_sums.epsilon > by_rho.epsilon else by_rho

    def times(self, total: Cost, cost: Cost) -> int:
        """How many times a cost may still be paid."""
        sums, rho, by_sums = self._sums_left(total), self._rho_left(total), 0
        if self._sums_allow(total):
            by_sums = min(_how_often(sums.epsilon, cost.epsilon), _how_often(sums.delta, cost.delta))
        if rho < 0 or cost.rho is None:
            return by_sums
        cut = self.whole.delta * _DELTA_OF_TABLES / (1 + exp_above(self.whole.epsilon)) - total.cut
        return max(by_sums, min(_how_often(rho, cost.rho), _how_often(cut, cost.cut)))

    def _sums_allow(self, total: Cost) -> bool:
        return total.epsilon <= self.whole.epsilon and total.delta <= self._delta_of_sums

    def _sums_left(self, total: Cost) -> Cost:
        epsilon, delta = self.whole.epsilon - total.epsilon, self._delta_of_sums - total.delta
        return Cost(max(Fraction(0), epsilon), max(Fraction(0), delta))

    @property
    def _delta_of_sums(self) -> Fraction:
        return self.whole.delta * (1 if self.whole.rho is None else _DELTA_OF_SUMS)

    def _rho_left(self, total: Cost) -> Fraction:
        """How much of ρ is left; negative where ρ does not cover what was paid."""
        whole = self.whole
        if whole.rho is None or total.rho is None or not covers_cut(whole.epsilon, whole.delta, total.cut):
            return Fraction(-1)
        return whole.rho - total.rho

    def priced(self, rho: Fraction) -> Cost:
        """The largest ε in six digits whose ρ, at δ, is no larger."""
        whole = self.whole
        assert whole.rho is not None
        if rho >= whole.rho:
            return whole
        if rho <= 0 or rho_for(Fraction(0), whole.delta) > rho:
            return Cost(rho=max(Fraction(0), rho))
        epsilon = concentrated_epsilon(rho, whole.delta * (1 - _DELTA_OF_SUMS - _DELTA_OF_TABLES))
        step = _last_digit(epsilon)
        epsilon = epsilon // step * step
        while rho_for(epsilon, whole.delta) > rho:
            epsilon -= step
        return Cost(min(epsilon, whole.epsilon), whole.delta, rho)


def rho_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The ρ that a price (ε, δ) buys and that a limit (ε, δ) holds; δ is above 0."""
    return concentrated_rho(epsilon, delta * (1 - _DELTA_OF_SUMS - _DELTA_OF_TABLES))


def even_prices(budget: Privacy, questions: int) -> list[Cost]:
    """What each of so many questions may cost under a budget: an even part of ε, and with δ another one of ρ.

    All must have the first price, or all the second: which is better depends on how many they are.

    >>> [str(price) for price in even_prices(Privacy(1, "1e-6"), 20)]
    ['epsilon 0.05 and delta 0', 'epsilon 0.203187 and delta 0.000001 (rho 0.00121073)']
    """
    prices = [Cost(budget.epsilon / questions)] if budget.epsilon else []
    if budget.delta:
        limit = Limit.of(Cost.of(budget), in_rho=True)
        assert limit.whole.rho is not None
        prices += [price for price in [limit.priced(limit.whole.rho / questions)] if price.delta]
    return prices


def pure_part(price: Cost) -> Fraction:
    """The ε that a price buys where δ is 0: its own, or where ρ is counted the one whose ρ is no larger."""
    return price.epsilon if price.rho is None else pure_epsilon(price.rho)


def covers_cut(epsilon: Fraction, delta: Fraction, cut: Fraction) -> bool:
    """Whether the part of δ that is set aside for it covers that tables lie so far from their laws.

    Where P and Q lie within `cut` of laws that keep (ε, δ), they keep (ε, δ + (1 + e^ε)·cut).
    """
    return not cut or (1 + exp_above(epsilon)) * cut <= delta * _DELTA_OF_TABLES


def _how_often(left: Fraction, cost: Fraction) -> int:
    return int(left // cost) if cost else _TIMES_FOR_NOTHING


def _last_digit(value: Fraction) -> Fraction:
    """What the last of six digits is worth."""
    step = Fraction(1)
    while step * 10**_EPSILON_DIGITS <= value:
        step *= 10
    while step * 10 ** (_EPSILON_DIGITS - 1) > value > Fraction(1, 10**40):
        step /= 10
    return step


Accounting = Literal["basic", "zcdp"]  # as a ledger writes it


@dataclass(slots=True)
class Account:
    """What the entries of a ledger add up to, of those that were taken in so far."""

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
        price = price_of(entry)
        if kind == "budget":
            self.unit = Unit(entry["neighbours"], entry.get("person"), entry.get("rows_per_person", 1))
            self.budget = Privacy(price.epsilon, price.delta, neighbours=self.unit.neighbours)
        elif kind == "analyst":
            self.limits[entry["analyst"]] = price
        elif kind == "answer":
            question = self.questions.pop(entry["question"])
            self.answers.setdefault(question["key"], []).append((price_of(question), number))
        elif kind == "published":
            self.published.append({**self.unpublished.pop(entry["release"]), "seal": entry.get("seal")})
        else:
            self._spend(self.cost(entry), entry.get("analyst"))
            if kind == "question":
                self.questions[number] = dict(entry)
            elif "plan" in entry:
                self.unpublished[number] = dict(entry)
            elif entry.get("beyond") in self.unpublished:  # so much more was paid for the same release
                first = self.unpublished[entry["beyond"]]
                paid = self.cost(first) + price
                known = {} if paid.rho is None else {"rho": str(paid.rho)}
                first |= {"epsilon": str(paid.epsilon), "delta": str(paid.delta), "cut": str(paid.cut), **known}

    def _spend(self, cost: Cost, analyst: str | None) -> None:
        """Count a cost against the whole, and against the analyst who asked."""
        self.spent += cost
        if analyst is not None:
            self.spent_by[analyst] = self.spent_by.get(analyst, NOTHING) + cost

    @property
    def in_rho(self) -> bool:
        """Whether the ledger counts ρ beside ε and δ."""
        return self.accounting == "zcdp"

    def cost(self, entry: Mapping[str, Any]) -> Cost:
        """What an entry costs, in every way that this ledger counts."""
        price, really = price_of(entry), undercharged_epsilon(entry, self.unit)
        if self.in_rho and not price.delta and price.rho is None:
            price = replace(price, rho=pure_rho(price.epsilon))
        if really is None:
            return price
        rho = None if price.rho is None else max(price.rho, pure_rho(really))
        return replace(price, epsilon=max(price.epsilon, really), rho=rho)

    def limit(self, whole: Cost) -> Limit:
        """A limit on what may be spent, kept as this ledger counts."""
        return Limit.of(whole, in_rho=self.in_rho)

    def for_everyone(self, ceiling: Privacy | None) -> list[tuple[Limit, Cost]]:
        """The limits that hold for everyone: the budget, and the `ceiling` of whoever opened the ledger, if any.

        Each with what counts against it.
        """
        assert self.budget is not None
        both = dict.fromkeys(most for most in (self.budget, ceiling) if most is not None)
        return [(self.limit(Cost.of(most)), self.spent) for most in both]

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

    def spent_of(self, analyst: str | None) -> Cost:
        """What all that was asked and released comes to, or what one analyst asked."""
        assert self.budget is not None
        cost = self.spent if analyst is None else self.spent_by.get(analyst, NOTHING)
        of_analyst = None if analyst is None else self.limits.get(analyst)
        return self.limit(of_analyst or Cost.of(self.budget)).spent(cost)


def left_under(limits: Sequence[tuple[Limit, Cost]]) -> Cost:
    """A price that may still be paid under every one of some limits."""
    return reduce(Cost.at_most, (limit.left(spent) for limit, spent in limits))


def price_of(entry: Mapping[str, Any]) -> Cost:
    """The price that an entry, or a stored answer, says was paid."""
    rho = Fraction(entry["rho"]) if "rho" in entry else None
    epsilon, delta, cut = (Fraction(entry.get(name, 0)) for name in ("epsilon", "delta", "cut"))
    return Cost(epsilon, delta, rho, cut)


# What one row moved at most: a curve of norm 2^14 and, in the Euclidean norm, a count with half its weight.
_MOVES: dict[Norm, int] = {"linf": 1 << 14, "l2": 18318}


def undercharged_epsilon(entry: Mapping[str, Any], unit: Unit) -> Fraction | None:
    """The ε that an answer of an earlier version may have cost at δ = 0; None where it cost what was paid.

    Gaussian noise is known by what its tables cut off, where ρ is counted; an answer that may have had K-norm noise
    counts as one that had.
    """
    price = price_of(entry)
    if not is_undercharged(entry.get("key", "")) or price.cut:
        return None
    epsilon = pure_part(price)
    times = _undercharge(epsilon, unit.rows_per_person * (2 if unit.neighbours == "change-one" else 1))
    return times * epsilon if times > 1 else None


@lru_cache(maxsize=256)
def _undercharge(epsilon: Fraction, moves: int) -> Fraction:
    """How many times the ε that was paid such an answer cost, in the worse of the two norms."""
    most = Fraction(1)
    for norm, one in _MOVES.items():
        try:
            cells = moves * one // k_norm(norm, 1, moves * one, epsilon).cell if epsilon else moves
        except TooLarge:  # no such noise was drawn
            continue
        most = max(most, Fraction(moves * -(-cells // moves), cells))
    return most


# Earlier versions measured coefficients of curves, with other noise: their answers cannot be read as those of values
# on the grid; and those by group had noise that cost more than was paid (`undercharged_epsilon`).
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


def is_undercharged(key: str) -> bool:
    """Whether a key is that of curves by group in an earlier version, which cost more than was paid.

    >>> asked = "SELECT kind, avg(load) FROM data GROUP BY kind"
    >>> [is_undercharged(key_of(asked + kind, "")) for kind in (ON_THE_GRID, BY_GROUP)]
    [True, False]
    """
    text = key.rpartition(" -- ")[0]
    return text.endswith(ON_THE_GRID) and " GROUP BY " in _QUOTED.sub("", text)

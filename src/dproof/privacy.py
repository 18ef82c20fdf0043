"""Amounts of privacy: the promise (ε, δ) and its neighbours, what was paid or may be paid, and whose loss it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from dproof.arguments import choice, described, named, whole
from dproof.errors import ArgumentError
from dproof.exact import decimals, exact, exp_above, float_above, float_below, several
from dproof.limits import LARGEST_EPSILON

Neighbours = Literal["change-one", "add-remove"]
Promise: TypeAlias = "Privacy | int | float | str | Fraction | Decimal"  # as callers may give it: see `Privacy.of`


def as_epsilon(value: Any) -> Fraction:
    """An argument ε, exactly: from 0 to 1000."""
    epsilon = exact(value, "epsilon")
    if not 0 <= epsilon <= LARGEST_EPSILON:
        raise ArgumentError(f"epsilon must lie between 0 and {LARGEST_EPSILON}; small means private, 1 is usual")
    return epsilon


def as_delta(value: Any) -> Fraction:
    """An argument δ, exactly: from 0 to 1."""
    delta = exact(value, "delta")
    if not 0 <= delta <= 1:
        raise ArgumentError("delta must lie between 0 and 1; 0 is pure differential privacy")
    return delta


@dataclass(frozen=True, slots=True, init=False)
class Privacy:
    """The guarantee P(Y_d ∈ A) ≤ e^ε P(Y_d' ∈ A) + δ for all neighbours d, d' and all sets A.

    `neighbours="change-one"` (HLM15, HLM16): two tables of the same, public size that differ in one row.
    `neighbours="add-remove"` (the sheet): one table has one row more.
    Numbers are exact, and a float means its shortest decimal. HLM15, Definition 2.

    >>> Privacy(0.1, "1e-6")
    Privacy(epsilon='1/10', delta='1/1000000', neighbours='change-one')
    """

    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours

    @named
    def __init__(self, epsilon: Any, delta: Any = 0, *, neighbours: Neighbours = "change-one") -> None:
        choice(neighbours, get_args(Neighbours), "neighbours")
        self._set(as_epsilon(epsilon), as_delta(delta), neighbours)

    def _set(self, epsilon: Fraction, delta: Fraction, neighbours: Neighbours) -> None:
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", delta)
        object.__setattr__(self, "neighbours", neighbours)

    @classmethod
    def of(cls, value: Promise, name: str = "privacy", *, neighbours: Neighbours = "change-one") -> Privacy:
        """A promise as it is, or the number ε alone, with δ = 0.

        >>> Privacy.of(1) == Privacy(1)
        True
        """
        if isinstance(value, Privacy):
            return value
        if isinstance(value, (int, float, Fraction, Decimal, str, np.number)) and not isinstance(value, bool):
            return cls(value, neighbours=neighbours)
        raise ArgumentError(f"{name} must be a Privacy or a number ε such as 1 or '0.5', not {described(value)}")

    @classmethod
    def derived(cls, epsilon: Fraction, delta: Fraction, neighbours: Neighbours) -> Privacy:
        """A guarantee that follows from others: δ is cut to 1, and ε may be larger than a user can ask for."""
        made = cls.__new__(cls)
        made._set(epsilon, min(delta, Fraction(1)), neighbours)
        return made

    def without_delta(self) -> Privacy:
        """The stronger promise with δ = 0: what keeps it keeps this one too, at times with a smaller error."""
        return self.derived(self.epsilon, Fraction(0), self.neighbours)

    def part(self, share: Fraction) -> Privacy:
        """A share of the promise: of ε and of δ alike.

        >>> Privacy(1, "1e-6").part(Fraction(1, 4))
        Privacy(epsilon='1/4', delta='1/4000000', neighbours='change-one')
        """
        return self.derived(self.epsilon * share, self.delta * share, self.neighbours)

    def for_group(self, rows: int) -> Privacy:
        """The guarantee for several rows together, such as those of a family.

        (gε, δ(1 + e^ε + … + e^((g−1)ε))), δ at most 1: change the rows one after another.
        Tight while that δ is at most 1/2: a mechanism with two outputs attains it. For independent rows under one
        known law `compose_mechanisms([mechanism] * rows)` is exact, and much smaller.

        >>> two = Privacy("0.4", "0.01").for_group(2)
        >>> float(two.epsilon), round(float(two.delta), 10)
        (0.8, 0.024918247)
        """
        whole(rows, "rows", 1)
        growth = sum((exp_above(n * self.epsilon) for n in range(rows)), Fraction(0)) if self.delta else Fraction(0)
        return self.derived(rows * self.epsilon, growth * self.delta, self.neighbours)

    def restated(self, neighbours: Neighbours) -> Privacy:
        """The guarantee for the other relation between neighbours.

        A change is a removal and an addition: (ε, δ) under add-remove gives (2ε, (1 + e^ε)δ) under change-one.
        The converse fails: change-one says nothing about the number of rows.

        >>> float(Privacy("0.4", neighbours="add-remove").restated("change-one").epsilon)
        0.8
        """
        choice(neighbours, get_args(Neighbours), "neighbours")
        if neighbours == self.neighbours:
            return self
        if neighbours == "add-remove":
            raise ArgumentError(
                "a change-one guarantee gives none for add-remove, because the number of rows is public; "
                "ask for add-remove when the mechanism is made"
            )
        two = self.for_group(2)
        return self.derived(two.epsilon, two.delta, neighbours)

    def to_json_above(self) -> dict[str, float]:
        """ε and δ as floats that are not below the exact numbers."""
        return {"epsilon": float_above(self.epsilon), "delta": float_above(self.delta)}

    def __repr__(self) -> str:
        return f"Privacy(epsilon='{self.epsilon}', delta='{self.delta}', neighbours='{self.neighbours}')"


@dataclass(frozen=True, slots=True)
class Cost:
    """An amount of ε and δ, and of ρ where that is counted: a price, what was spent, or what is left.

    `rho` is None where it is not counted, or where none is known: of (ε, δ) with δ > 0 alone. `cut` is how far, in
    total variation, the tables that are sampled may lie from the laws whose ρ is counted.

    >>> print(NOTHING + Cost(Fraction(1, 4)))
    epsilon 0.25 and delta 0
    """

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    cut: Fraction = Fraction(0)

    @classmethod
    def of(cls, promise: Promise | Cost, name: str = "cost") -> Cost:
        """An amount as it is, or what a promise of privacy costs."""
        if isinstance(promise, Cost):
            return promise
        privacy = Privacy.of(promise, name)
        return cls(privacy.epsilon, privacy.delta)

    def __add__(self, other: Cost) -> Cost:
        rho = None if self.rho is None or other.rho is None else self.rho + other.rho
        return Cost(self.epsilon + other.epsilon, self.delta + other.delta, rho, self.cut + other.cut)

    def at_most(self, other: Cost) -> Cost:
        """The lesser of the two in each figure; a ρ that is not counted sets no bound."""
        counted = [rho for rho in (self.rho, other.rho) if rho is not None]
        return Cost(min(self.epsilon, other.epsilon), min(self.delta, other.delta), min(counted, default=None))

    def covers(self, price: Cost) -> bool:
        """Whether what was paid so much serves for a price (ε, δ)."""
        return self.epsilon >= price.epsilon and self.delta >= price.delta

    def __str__(self) -> str:
        rho = "" if self.rho is None else f" (rho {float_below(self.rho) + 0.0:.6g})"
        return f"epsilon {decimals(self.epsilon)} and delta {decimals(self.delta)}{rho}"

    def to_json(self) -> dict[str, float]:
        """The figures as floats that are not above the exact numbers."""
        return self._rounded(lambda number: float_below(number) + 0.0)

    def to_json_above(self) -> dict[str, float]:
        """The figures as floats that are not below the exact numbers, as of what was paid."""
        return self._rounded(float_above)

    def _rounded(self, rounded: Callable[[Fraction], float]) -> dict[str, float]:
        figures = {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho}
        return {name: rounded(figure) for name, figure in figures.items() if figure is not None}


NOTHING = Cost(rho=Fraction(0))


@dataclass(frozen=True, slots=True)
class Unit:
    """Whose loss is counted: a row's, or a person's with at most `rows_per_person` rows; and who is their neighbour.

    >>> print(Unit(rows_per_person=3))
    change-one neighbours, per person with at most 3 rows
    """

    neighbours: Neighbours = "change-one"
    person: str | None = None
    rows_per_person: int = 1

    @property
    def row_is_person(self) -> bool:
        """Whether every row is another person. If not, one person may own fewer rows than another, or none."""
        return self.person is None and self.rows_per_person == 1

    @property
    def rows_are_public(self) -> bool:
        """Whether neighbours have equally many rows, so that their number may be told."""
        return self.neighbours == "change-one" and self.row_is_person

    def __str__(self) -> str:
        if self.row_is_person:
            return f"{self.neighbours} neighbours, per row"
        named = "" if self.person is None else f" ({self.person!r})"
        return f"{self.neighbours} neighbours, per person{named} with at most {several(self.rows_per_person, 'row')}"

    def to_json(self) -> dict[str, Any]:
        """The unit as a ledger keeps it."""
        return {"neighbours": self.neighbours, "person": self.person, "rows_per_person": self.rows_per_person}

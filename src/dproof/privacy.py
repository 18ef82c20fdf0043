"""The promise: ε, δ and who counts as a neighbour."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from dproof.arguments import choice, described
from dproof.errors import InputError
from dproof.exact import exact

Neighbours = Literal["change-one", "add-remove"]
_LARGEST_EPSILON = 1000
Promise: TypeAlias = "Privacy | int | float | str | Fraction | Decimal"  # as callers may give it: see `Privacy.of`


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

    def __init__(self, epsilon: Any, delta: Any = 0, *, neighbours: Neighbours = "change-one") -> None:
        eps, dlt = exact(epsilon, "epsilon"), exact(delta, "delta")
        if not 0 <= eps <= _LARGEST_EPSILON:
            raise InputError(f"epsilon must lie between 0 and {_LARGEST_EPSILON}; small means private, 1 is usual")
        if not 0 <= dlt <= 1:
            raise InputError("delta must lie between 0 and 1; 0 is pure differential privacy")
        choice(neighbours, get_args(Neighbours), "neighbours")
        object.__setattr__(self, "epsilon", eps)
        object.__setattr__(self, "delta", dlt)
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
        raise InputError(f"{name} must be a Privacy or a number ε such as 1 or '0.5', not {described(value)}")

    def __repr__(self) -> str:
        return f"Privacy(epsilon='{self.epsilon}', delta='{self.delta}', neighbours='{self.neighbours}')"

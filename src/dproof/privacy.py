"""The promise: ε, δ and who counts as a neighbour."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

from dproof.errors import InputError, did_you_mean
from dproof.exact import exact

Neighbours = Literal["change-one", "add-remove"]
_LARGEST_EPSILON = 1000


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
        if neighbours not in get_args(Neighbours):
            raise InputError(
                f"neighbours {str(neighbours)[:40]!r} is not known{did_you_mean(neighbours, get_args(Neighbours))}"
            )
        object.__setattr__(self, "epsilon", eps)
        object.__setattr__(self, "delta", dlt)
        object.__setattr__(self, "neighbours", neighbours)

    def __repr__(self) -> str:
        return f"Privacy(epsilon='{self.epsilon}', delta='{self.delta}', neighbours='{self.neighbours}')"

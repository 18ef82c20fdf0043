"""What every family of laws {Y_d} offers, whatever its shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray

from dproof.coins import Coins


@dataclass(frozen=True, slots=True)
class Worst:
    """The largest hockey-stick divergence at given odds, and an ordered pair of inputs that attains it."""

    value: Fraction
    source: int
    target: int


@dataclass(frozen=True, slots=True)
class Odds:
    """The tight e^ε at a given δ (None is infinite), and an ordered pair of inputs that attains it."""

    value: Fraction | None
    source: int
    target: int


@runtime_checkable
class Family(Protocol):
    """Laws of whole numbers over one total, one for each input.

    Every ordered pair of distinct inputs is a neighbouring pair: this is the law of one row (HLM15, Theorem 5).
    """

    @property
    def inputs(self) -> int: ...

    @property
    def outputs(self) -> int: ...

    @property
    def total(self) -> int: ...

    def weights(self, source: int) -> NDArray[Any]:
        """The law of one input: a whole number for each output, summing to the total."""
        ...

    def worst(self, odds: Fraction) -> Worst:
        """max over ordered pairs of Σ_y max(0, P(y) − odds·Q(y)), exactly, for odds of at least 1."""
        ...

    def odds(self, delta: Fraction) -> Odds:
        """The least e^ε such that every ordered pair satisfies (ε, δ), exactly."""
        ...

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        """One output code for each input code; the codes' dtype must hold the largest output code."""
        ...

    def record(self) -> Mapping[str, Any]:
        """The law as JSON, whole numbers as strings; what a certificate holds."""
        ...

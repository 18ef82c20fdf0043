"""The pair of inputs and the set of outputs that decide a guarantee."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dproof.laws.pair import worst_set
from dproof.mechanisms.mechanism import Mechanism

_LARGEST_SET = 1 << 16  # outputs; beyond this the set is told by its pair alone


@dataclass(frozen=True, slots=True)
class Witness:
    """P(Y_d ∈ A) and P(Y_d' ∈ A) for the set A = {y : P(Y_d = y) > e^ε P(Y_d' = y)} of the worst pair.

    `outputs` is None where the outputs are too many to list.
    """

    d: Any
    d_prime: Any
    outputs: tuple[Any, ...] | None
    probability: Fraction | None
    probability_prime: Fraction | None

    def __str__(self) -> str:
        pair = f"inputs {self.d!r} and {self.d_prime!r}"
        if self.outputs is None or self.probability is None or self.probability_prime is None:
            return pair
        shown = ", ".join(repr(y) for y in self.outputs[:6]) + (", …" if len(self.outputs) > 6 else "")
        return (
            f"{pair} fall in the set {{{shown}}} with probabilities "
            f"{float(self.probability):.6g} and {float(self.probability_prime):.6g}"
        )

    def __repr__(self) -> str:
        return f"<witness: {self}>"


def find_witness(mechanism: Mechanism, source: int, target: int, odds: Fraction) -> Witness:
    """The witness for an ordered pair of input codes at given odds."""
    d, d_prime = mechanism.inputs.label(source), mechanism.inputs.label(target)
    family = mechanism.family
    if family.outputs is None or family.total is None or family.outputs > _LARGEST_SET:
        return Witness(d, d_prime, None, None, None)
    p, q = family.weights(source), family.weights(target)
    codes = worst_set(p, q, odds)
    masses = [Fraction(sum(int(law[y]) for y in codes), family.total) for law in (p, q)]
    return Witness(d, d_prime, tuple(mechanism.outputs.decode(np.array(codes, np.int64))), *masses)

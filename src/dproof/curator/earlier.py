"""Answers of earlier versions that cost more than was paid: what they really cost, from their entries in a ledger.

The mean or the sum of curves by group had K-norm noise, P(x) ∝ c^⌈‖x‖/s⌉, drawn for each group, and its cell s was a
part of all that a person moves in all groups together. A person who moves n groups by a part of a cell each costs n
cells, not one: where all moves together are m cells, n·⌈m/n⌉ of them instead of m.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

from dproof.composition import pure_epsilon
from dproof.curator.question_key import shared_a_cell
from dproof.errors import TooLarge
from dproof.laws.k_norm import Norm, k_norm
from dproof.privacy import Unit

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

"""Designs at δ = 0 between all pairs of inputs."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.exact import exp_above
from dproof.mechanisms.error import Losses
from dproof.optimality.dual import least_favourable, pure_bound
from dproof.optimality.interior import solve_pure
from dproof.optimality.rounding import SLACK

_LARGEST_ODDS = 1 << 50  # whole numbers of 62 bits tell no larger odds apart


def spread(epsilon: Fraction) -> float:
    """e^ε − 1 as a float, a little less."""
    return float(min(exp_above(epsilon), Fraction(_LARGEST_ODDS)) - 1)


def pure_law(
    losses: Losses, epsilon: Fraction, prior: NDArray[Any] | None, delta: Fraction = Fraction(0)
) -> tuple[NDArray[np.float64], Fraction]:
    """A law in floats, ε-private with a little to spare, and a proven lower bound for all (ε, δ)-private ones."""
    scale = float(losses.floats.max()) or 1.0
    floats, width = losses.floats / scale, spread(epsilon) * (1 - SLACK)
    ones = np.ones_like(floats)
    if prior is None:
        law, multipliers = solve_pure(np.stack([ones, floats]), (1, 0), np.zeros_like(floats), width, minimax=True)
    else:
        law, multipliers = solve_pure(ones[None], (1,), floats * prior.astype(float)[:, None], width, minimax=False)
    prices = least_favourable(multipliers[-1]) if prior is None else list(prior)
    return law, pure_bound(exp_above(epsilon), losses, prices, -scale * multipliers[0], delta=delta)

"""Designs at δ = 0 between all pairs of inputs."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.errors import TooLarge
from dproof.exact import exp_above
from dproof.optimality.dual import least_favourable, pure_bound
from dproof.optimality.error import Losses
from dproof.optimality.interior import PureProgramme
from dproof.optimality.rounding import SLACK
from dproof.optimality.symmetry import mirror_rows, mirrored, unfold

LARGEST_PURE = 600_000  # inputs (half of them under reflection) times outputs
_LARGEST_ODDS = 1 << 50  # whole numbers of 62 bits tell no larger odds apart


def spread(epsilon: Fraction) -> float:
    """e^ε − 1 as a float, a little less."""
    return float(min(exp_above(epsilon), Fraction(_LARGEST_ODDS)) - 1)


def pure_law(
    losses: Losses, epsilon: Fraction, prior: NDArray[Any] | None, delta: Fraction = Fraction(0)
) -> tuple[NDArray[np.float64], Fraction]:
    """A law in floats, ε-private with a little to spare, and a proven lower bound for all (ε, δ)-private ones."""
    (k, j), fold = losses.shape, mirrored(losses, prior)
    rows = (k + 1) // 2 if fold else k
    if rows * j > LARGEST_PURE:
        raise TooLarge(
            f"a design of {k} inputs by {j} outputs is too large; about 1000 points on a line fit, or 700 of any "
            "kind, so use a coarser step or fewer values"
        )
    floats = losses.floats[:rows]
    scale = float(floats.max()) or 1.0
    features, sums, cost = [np.ones_like(floats)], [1.0], np.zeros_like(floats)
    if prior is None:
        features.append(floats / scale)
        sums.append(0.0)
    else:
        # Under reflection an input stands for its mirror image too, but the middle one for itself alone.
        places = np.arange(rows)
        images = np.where(places == k - 1 - places, 1, 2) if fold else np.ones(rows)
        cost = floats / scale * (np.array([float(p) for p in prior[:rows]]) * images)[:, None]
    width = spread(epsilon) * (1 - SLACK)
    found = PureProgramme(np.stack(features), np.array(sums), cost, width, prior is None, fold).solve()
    law, multipliers = found.law, found.multipliers
    if fold:
        law, multipliers = mirror_rows(law, k), np.stack([unfold(row, k) for row in multipliers])
    prices = least_favourable(multipliers[-1]) if prior is None else list(prior)
    return law, pure_bound(exp_above(epsilon), losses, prices, -scale * multipliers[0], delta=delta)

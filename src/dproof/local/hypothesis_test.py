"""A one-sided test of what the distribution of a number under wide noise can be, which holds for every distribution.

The hypothesis is ∫ h dF ≥ a for the measure F of some rows over the codes of the number, K being its law. A score s of
the sanitised number with

    K s ≥ κ h  at every code, for some κ ≥ 0,

has a sum with the mean ∫ Ks dF ≥ κ a, so a sum that lies further below κ a than its standard error allows refutes the
hypothesis. That is true of any such s; a good one tells the rows apart from what they would be under the hypothesis.
Here s is the ratio of the two nearest laws of the sanitised number: that of a smooth fit to the rows, and that of the
likeliest distribution within the hypothesis for it (a least favourable one: Huber and Strassen 1973). The fit takes few
steps and so hardly follows the noise of the rows, and the score is nearly the same for all noise: one linear function
of the counts at its own level, where bounds on all thresholds at once would share it (test inversion; Donoho 1994).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dproof.laws.scores import Array
from dproof.local.contingency import Target
from dproof.local.intervals import half_widths

if TYPE_CHECKING:
    from dproof.local.distribution_free import ChosenRows, Condition

_FEW_STEPS = 20  # of the fit to the rows
_ANYWHERE = 0.02  # of the rows may lie anywhere, whatever the fit says
_STRICT = 1e3  # how much more a constraint weighs than what is seen
_ROUNDS, _SETTLED, _TINY = 200, 1e-9, 1e-12  # of the least squares within the hypothesis


def can_reach(
    condition: Condition, group: int, parts: list[ChosenRows], sign: int, least: float, level: float, target: Target
) -> bool:
    """Whether sign · (the first sum of a group) ≥ `least` for some distribution that fits the rows."""
    if not parts:
        return least <= 0
    counts = np.maximum(np.stack([condition.counts(group, part) for part in parts]), 0.0)
    heights = sign * np.stack([part.weights[0][condition.points.block] for part in parts])
    law = condition.law
    fit = _fit(law, counts)
    mean = least / max(float(counts.sum()), 1.0)
    if (heights * fit).sum() >= mean:
        return True
    seen = fit @ law
    scores = _within(law, seen, heights - mean) @ law / seen - 1
    means, gaps = zip(*(condition.points.means(condition.bins @ score) for score in scores), strict=True)
    slope, shift = _above(heights, np.stack(means) - np.array(gaps)[:, None])
    target = condition.noise_target(target)
    pairs = zip(parts, scores + shift, strict=True)
    scored = [condition.scored(group, part, score, target) for part, score in pairs]
    totals, variances, heaviest = (np.concatenate(numbers) for numbers in zip(*scored, strict=True))
    # The parts are of the same rows: at worst their errors are those of one.
    variance = np.array([np.sqrt(np.abs(variances)).sum() ** 2])
    half = half_widths(variance, np.array([heaviest.sum()]), level).half
    return bool(totals.sum() + half[0] >= slope * least)


def _fit(law: Array, counts: Array) -> Array:
    """A smooth distribution that is likely for the counts, over parts and points: some steps of iterative Bayes."""
    size = counts.shape[0] * len(law)
    shares = np.full((len(counts), len(law)), 1 / size)
    if counts.any():
        for _ in range(_FEW_STEPS):
            shares = shares * ((counts / counts.sum() / (shares @ law)) @ law.T)
    return np.asarray((1 - _ANYWHERE) * shares + _ANYWHERE / size)


def _within(law: Array, seen: Array, heights: Array) -> Array:
    """The distribution with Σ heights · shares = 0 whose law is nearest to what is seen, in χ²."""
    root, (points, bins) = np.sqrt(seen), law.shape
    matrix = np.zeros((root.size + 2, heights.size))
    for n, scale in enumerate(root):
        matrix[n * bins : (n + 1) * bins, n * points : (n + 1) * points] = (law / scale).T
    matrix[-2], matrix[-1] = _STRICT, _STRICT * heights.reshape(-1)
    return nonnegative(matrix, np.append(root, [_STRICT, 0.0])).reshape(heights.shape)


def nonnegative(matrix: Array, wanted: Array) -> Array:
    """The x ≥ 0 with the least |A x − b|² (Lawson and Hanson 1974).

    >>> nonnegative(np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([1.0, -1.0])).tolist()
    [1.0, 0.0]
    """
    x, free = np.zeros(matrix.shape[1]), np.zeros(matrix.shape[1], bool)
    for _ in range(_ROUNDS):
        gain = np.where(free, -np.inf, matrix.T @ (wanted - matrix @ x))
        if gain.max() <= _SETTLED:
            break
        free[gain.argmax()] = True
        while True:
            best = np.zeros_like(x)
            best[free] = np.linalg.lstsq(matrix[:, free], wanted, rcond=None)[0]
            out = free & (best <= 0)
            if not out.any():
                break
            # As far towards the best as nothing gets negative; what has come to 0 stays there.
            step = (x[out] / np.maximum(x[out] - best[out], _TINY)).min()
            x = np.maximum(x + step * (best - x), 0.0)
            free &= x > _TINY
            x[~free] = 0.0
        x = best
    return x


def _above(heights: Array, means: Array) -> tuple[float, float]:
    """κ ≥ 0 and the least shift with means + shift ≥ κ · heights.

    >>> _above(np.array([0.5, -0.5]), np.array([3.0, 1.0]))
    (2.0, -2.0)
    """
    levels, which = np.unique(heights, return_inverse=True)
    least = np.full(len(levels), np.inf)
    np.minimum.at(least, which.reshape(-1), means.reshape(-1))
    rise = levels[:, None] - levels
    slopes = np.divide(least[:, None] - least, rise, out=np.zeros_like(rise), where=rise > 0)
    slopes = np.unique(np.maximum(slopes, 0.0))  # 0, and where two of the lines cross
    shifts = (slopes[:, None] * levels - least).max(axis=1)
    best = int(shifts.argmin())
    return float(slopes[best]), float(shifts[best])

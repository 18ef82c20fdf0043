"""What a curator's noisy sums of curves say: means and totals with bands, and the covariance of coefficients."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import inf

import numpy as np

from dproof.coins import Coins
from dproof.curator.curve_sums import CurveSums
from dproof.curator.recipe import WAYS_OUT, Measurement, Released
from dproof.curator.simulation import public_seed
from dproof.curves.bands import band_quantile, drawn_quantile, widened
from dproof.curves.bases import Floats
from dproof.questions.answer import Answer, Cell, cautions
from dproof.questions.curve_estimate import CurveEstimate, basis_notes
from dproof.questions.question import Expression
from dproof.questions.ranges import Range


class NoisyCurves:
    """Means or totals of curves from one set of released numbers, a function for each group (see `Measured`)."""

    ways_out = WAYS_OUT

    def __init__(self, measurement: Measurement, released: Released, level: float) -> None:
        assert measurement.curves is not None
        self.lattice, self.rows = measurement.curves.lattice, released.get("rows")
        self.labels, places = measurement.declared_groups()
        self.shown = range(len(self.labels))
        noisy, coins = np.array(released["noisy"], np.float64), Coins(public_seed(released), private=False)
        self.functions = [_function(measurement.curves, noisy[place], self.rows, level, coins) for place in places]

    def cells(self, expression: Expression, groups: Sequence[int]) -> Sequence[Cell]:
        return [self.functions[n].cell() for n in groups]

    def notes(self, groups: Sequence[int]) -> Iterable[str]:
        return basis_notes(self.lattice)


def _function(sums: CurveSums, values: Floats, rows: int | None, level: float, coins: Coins) -> CurveEstimate:
    """The mean or the total, with the first-order effect of the noise on the sums and on the count.

    The band of a mean is as wide as Fieller's set, which is for all orders.
    """
    terms, weight = sums.lattice.terms, sums.weight
    count = max(1.0, rows if rows is not None else values[-1] / weight)
    mean = values[:terms] / count
    factor = np.zeros((terms + 1, terms + (weight > 0)))
    factor[:terms, :terms] = np.eye(terms)
    if weight and sums.is_total:
        factor[terms, terms] = 1 / weight
    elif weight:
        factor[:terms, terms] = -mean / weight
    sigma = float(sums.noise.variance) ** 0.5
    scale, noise = count if sums.is_total else 1.0, factor * sigma / count
    made = CurveEstimate(sums.lattice, mean, noise, 1.0, scale, level, smooth=not sums.is_total)

    def quantile(path: Floats, at_points: bool) -> float:
        return band_quantile(path, sums.noise.law, sigma, level, coins, at_points=at_points)

    made = made.with_band(quantile)
    if not weight or sums.is_total:
        return made
    g = made.quantile * sigma / weight / count
    # Where there may be no rows their mean could be anything.
    return replace(made, quantile=made.quantile * widened(made.loadings(made.times), g) if g < 1 else inf)


def covariances(sums: CurveSums, released: Released, level: float) -> Answer:
    """Cov of the coefficients c_j = scales_j · z_j, entry by entry, with intervals that hold for all at once."""
    lattice, noise, weight = sums.lattice, sums.noise, sums.weight
    values = np.array(released["noisy"][0], np.float64)
    rows = max(2.0, values[-1] / weight if weight else released["rows"])
    mean = values[: lattice.terms] / sums.first / rows
    i, k = np.triu_indices(lattice.terms)
    unit = lattice.scales[i] * lattice.scales[k]
    products = values[lattice.terms : lattice.terms + len(i)]
    estimate = unit * (products - rows * mean[i] * mean[k]) / (rows - 1)
    moved = np.where(i == k, 4 * mean[i] ** 2, mean[i] ** 2 + mean[k] ** 2) / sums.first**2
    if weight:  # one curve more moves the estimate by (mean · mean − covariance) / (rows − 1)
        moved += ((mean[i] * mean[k] - estimate / unit) / weight) ** 2
    sigma = float(noise.variance) ** 0.5
    stderr = unit * sigma * np.sqrt(1 + moved) / (rows - 1)
    half = drawn_quantile(np.eye(len(i)), noise.law, sigma, level, Coins(public_seed(released), private=False)) * stderr
    cells = []
    for a, b, y, h, s in zip(i, k, estimate, half, stderr, strict=True):
        cell = Cell(float(y), float(y - h), float(y + h), float(s), float(y))
        reach = Range(Fraction(0)) if a == b else Range()  # no variance is negative
        cells.append({"i": int(a) + 1, "j": int(b) + 1, "covariance": reach.cut(cell)})
    return Answer(("i", "j", "covariance"), cells, level, tuple(cautions(cells, WAYS_OUT)))

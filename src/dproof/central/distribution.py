"""Quantiles and deviations of a number by its bins, from measured tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dproof.central.question_sums import Weights
from dproof.central.residuals import Estimates
from dproof.central.weights import covariances
from dproof.laws.scores import Array
from dproof.local.estimated import Estimated, Options
from dproof.local.intervals import Value, normal_quantile
from dproof.plans.release_table import Axis
from dproof.questions.answer import Cell

_EVENLY = 12  # the square of a bin's width over the variance of numbers that lie evenly in it


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """A number by its bins in every group: the counts that are asked for, and the axis of the number.

    `estimates` are unbiased, and intervals come from them; `by_method` are the counts that what is shown is made from.
    """

    counts: Weights
    place: int
    axis: Axis
    groups: int
    estimates: Mapping[int | None, Estimates]
    by_method: Estimates

    def quantiles(self, share: float, level: float) -> list[Cell]:
        """The value with this share of the rows at or below it, with the interval of Woodruff 1952."""
        steps = list(self._steps(share))
        fitted, totals, variances = (np.stack(part, axis=1) for part in zip(*steps, strict=True))
        halves = normal_quantile(level) * np.sqrt(np.maximum(variances, 0.0))
        return [self._cell(*group, share, level) for group in zip(fitted, totals, halves, strict=True)]

    def _steps(self, share: float) -> Iterator[tuple[Array, Array, Array]]:
        """For each bin (rows up to its end) − share · (all rows), by group: as shown, unbiased, and its variance."""
        for last in range(len(self._ends())):
            moved = self.counts.up_to(self.place, last, share)
            variance = covariances(self.estimates, [moved], self.groups)[:, 0, 0]
            yield self._total(moved, self.by_method), self._total(moved, self.estimates[None]), variance

    def _total(self, sums: Weights, counts: Estimates) -> Array:
        return np.bincount(sums.groups, sums.weights * counts.table(sums.table).ravel(), self.groups)

    def deviations(self, less: Fraction | None, level: float, sums_of: Estimated, *, squared: bool) -> list[Cell]:
        """The standard deviation of the numbers, or its square.

        A number is the middle of its bin and a rest of at most half the bin's width. The deviation of a sum of two
        numbers is at most the sum and at least the difference of their deviations, so what the middles have is right to
        r = √(mean of width²)/2. The interval is that of the middles, as `sums_of` has it for every variance, with r on
        both sides. The estimate takes numbers to lie evenly within their bins.
        """
        least, most, _ = self._bins()
        middle, width = (least + most) / 2, most - least
        sums = self._weighted(middle, middle**2, width**2)

        def moments(counts: Estimates) -> tuple[Value, Value]:
            """The variance of the middles, and the mean of width²."""
            n, first, second, widths = self._values(sums, counts)
            return (second - first * first / n) / (n - float(less or 0)), widths / n

        with np.errstate(divide="ignore", invalid="ignore"):
            (between, within), (variance, spread) = moments(self.estimates[None]), moments(self.by_method)
            z, middles = normal_quantile(level), self._noise(sums_of, len(sums), level).spread(between.root())
            rest = np.sqrt(np.maximum(within.value + z * np.sqrt(np.maximum(within.variance, 0.0)), 0.0)) / 2
            estimate = np.sqrt(np.maximum(variance.value, 0.0) + np.maximum(spread.value, 0.0) / _EVENLY)
            low = np.minimum(np.maximum(middles.low - rest, 0.0), estimate)
            high = np.maximum(middles.high + rest, estimate)
        if squared:
            estimate, low, high = estimate**2, low**2, high**2
        unsure = middles.unsure | (self._total(sums[0], self.estimates[None]) <= 1)
        return _cells(estimate, low, high, unsure, z)

    def means(self, level: float, sums_of: Estimated) -> list[Cell]:
        """The mean of the numbers: between the mean of the least of their bins and the mean of the greatest.

        The estimate takes the middles of bins.
        """
        least, most, origin = self._bins()
        sums = self._weighted(least, most)
        noise = self._noise(sums_of, len(sums), level)
        with np.errstate(divide="ignore", invalid="ignore"):
            n, below, above = self._values(sums, self.estimates[None])
            lowest, highest = (noise.spread(side / n) for side in (below, above))
            n, below, above = self._values(sums, self.by_method)
            estimate = (below.value + above.value) / (2 * n.value)
            low, high = np.minimum(lowest.low, estimate), np.maximum(highest.high, estimate)
        unsure = lowest.unsure | highest.unsure
        return _cells(estimate + origin, low + origin, high + origin, unsure, normal_quantile(level))

    def _bins(self) -> tuple[Array, Array, float]:
        """The least and the greatest number of the bin of every cell, about an origin among them, and that."""
        ends = np.array([*self._ends(), (0.0, 0.0)])[self.counts.places(self.place)]  # the last, if any, is missing
        used = self.counts.weights != 0
        origin = float(ends[used].mean()) if used.any() else 0.0
        return ends[:, 0] - origin, ends[:, 1] - origin, origin

    def _weighted(self, *numbers: Array) -> list[Weights]:
        """The counts that are asked for, and the sums of some numbers of their bins."""
        return [self.counts, *(replace(self.counts, weights=self.counts.weights * each) for each in numbers)]

    def _values(self, sums: list[Weights], counts: Estimates) -> list[Value]:
        covariance, certain = covariances(self.estimates, sums, self.groups), np.zeros(self.groups, bool)
        slopes = np.broadcast_to(np.eye(len(sums))[:, None], (len(sums), self.groups, len(sums)))
        return [
            Value(self._total(one, counts), slope, covariance, certain, linear=True)
            for one, slope in zip(sums, slopes, strict=True)
        ]

    def _noise(self, sums_of: Estimated, sums: int, level: float) -> Estimated:
        """What makes intervals of so many sums of counts."""
        nothing = np.zeros((self.groups, sums))
        noise = replace(sums_of.estimates, heaviest=nothing, doubts=nothing)
        return replace(sums_of, estimates=noise, options=Options(level))

    def _ends(self) -> list[tuple[float, float]]:
        """The least and the greatest number of each bin."""
        space, bins = self.axis.column.space, self.axis.bins
        stops = [start - 1 for start in (*bins.starts[1:], bins.stop)]
        pairs = [(start, stop) for start, stop in zip(bins.starts, stops, strict=True) if start != space.absent]
        return [tuple(map(float, space.values_of(np.array(pair)))) for pair in pairs]  # type: ignore[misc]

    def _cell(self, fitted: Array, total: Array, half: Array, share: float, level: float) -> Cell:
        rising, ends = np.maximum.accumulate(fitted), self._ends()
        if not (np.abs(total) + half).any() or rising[-1] <= 0:  # perhaps of no rows
            return Cell(None, informative=False) if half.any() else Cell(None)
        middle = int(np.argmax(rising >= 0))
        low = int(np.argmax(total + half >= 0)) if (total + half >= 0).any() else middle
        below = np.flatnonzero(total - half < 0)
        high = min(int(below[-1]) + 1, len(ends) - 1) if len(below) else 0
        low, high = min(low, middle), max(high, middle)
        before = rising[middle - 1] if middle else -share * rising[-1] / (1 - share)
        part = -before / (rising[middle] - before) if rising[middle] > before else 0.5
        estimate = ends[middle][0] + part * (ends[middle][1] - ends[middle][0])
        spread = (ends[high][1] - ends[low][0]) / (2 * normal_quantile(level))
        return Cell(estimate, ends[low][0], ends[high][1], spread, estimate)


def _cells(estimate: Array, low: Array, high: Array, unsure: Array, z: float) -> list[Cell]:
    error = (high - low) / (2 * z)  # bins are part of it, as of a quantile's
    nothing = unsure | ~np.isfinite(error) | ~np.isfinite(estimate)
    cells = zip(*(numbers.tolist() for numbers in (estimate, low, high, error, estimate)), strict=True)
    return [Cell(None, informative=False) if doubt else Cell(*cell) for doubt, cell in zip(nothing, cells, strict=True)]

"""Quantiles from measured tables: where the estimated distribution over the bins of a number passes its mark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dproof.central.residuals import Estimates
from dproof.estimation.central_weights import covariances
from dproof.estimation.intervals import normal_quantile
from dproof.laws.scores import Array
from dproof.plans.central import Axis
from dproof.plans.question_sums import Weights
from dproof.questions.answer import Cell


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """A number by its bins in every group: the counts that are asked for, and the axis of the number."""

    counts: Weights
    place: int
    axis: Axis
    groups: int

    def quantiles(self, estimates: dict[int | None, Estimates], share: float, level: float) -> list[Cell]:
        """The value with this share of the rows at or below it, with the interval of Woodruff 1952."""
        steps = list(self._steps(estimates, share))
        totals, variances = (np.stack(part, axis=1) for part in zip(*steps, strict=True))
        halves = normal_quantile(level) * np.sqrt(np.maximum(variances, 0.0))
        return [self._cell(total, half, share, level) for total, half in zip(totals, halves, strict=True)]

    def _steps(self, estimates: dict[int | None, Estimates], share: float) -> Iterator[tuple[Array, Array]]:
        """Of each bin the estimate of (rows up to its end) − share · (all rows), in every group, and its variance."""
        table = estimates[None].table(self.counts.table).ravel()
        for last in range(len(self._ends())):
            moved = self.counts.up_to(self.place, last, share)
            yield (
                np.bincount(moved.groups, moved.weights * table, self.groups),
                covariances(estimates, [moved], self.groups)[:, 0, 0],
            )

    def _ends(self) -> list[tuple[float, float]]:
        """The least and the greatest number of each bin."""
        space, bins = self.axis.column.space, self.axis.bins
        stops = [start - 1 for start in (*bins.starts[1:], bins.stop)]
        pairs = [(start, stop) for start, stop in zip(bins.starts, stops, strict=True) if start != space.absent]
        return [tuple(map(float, space.values_of(np.array(pair)))) for pair in pairs]  # type: ignore[misc]

    def _cell(self, total: Array, half: Array, share: float, level: float) -> Cell:
        rising, ends = np.maximum.accumulate(total), self._ends()
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

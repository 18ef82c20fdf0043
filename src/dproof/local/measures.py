"""The measures that fit what was counted of a number, and the least and greatest of a sum over them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from dproof.laws.moments import Moments
from dproof.laws.scores import Array, Powers
from dproof.local.contingency import Estimates, Target
from dproof.local.intervals import half_widths
from dproof.local.linear_programme import Constraints

if TYPE_CHECKING:
    from dproof.local.distribution_free import ChosenRows, Condition

NOTHING = -np.inf, np.inf
_WIDER = (1.0, 1.5, 3.0, 10.0)  # factors of the radii, until some measure fits
_ROUNDING = 1e-7  # what the solver may miss, as a part of all rows
Measure: TypeAlias = tuple[int, tuple[Powers, ...]]  # the rows of a part, times powers of other numbers


class Linear(NamedTuple):
    """shift + Σ coefficients · sums."""

    coefficients: Array
    shift: float = 0.0


class Bounds(NamedTuple):
    """Functions of the variables, in rows, and what they are, give or take a radius."""

    matrix: Array
    values: Array
    radii: Array


class Measures:
    """What a group has at each point of a number, as shares of all rows: the variables of a linear programme.

    A part has the measure F of its rows, and for each product z of other numbers, which lie in [−1, 1], that of 1 + z,
    so that both are at least 0 and the second is at most 2F. With `around`, points of the grid, these are counted in
    the place of codes between them: a row between two such points has the law of one that is at either.
    """

    def __init__(
        self,
        condition: Condition,
        group: int,
        parts: list[ChosenRows],
        estimates: Estimates,
        target: Target,
        around: Array | None = None,
    ) -> None:
        self.condition, self.group, self.parts, self.estimates, self.target = condition, group, parts, estimates, target
        self.around = around
        self.rows = max(condition.table.rows, 1)
        self.powers = [wanted.powers[condition.number] for wanted in condition.sums]
        self.others = [condition.other_powers(wanted) for wanted in condition.sums]
        self.plain = condition.plain
        weights = np.concatenate([np.zeros((1, condition.axis.blocks)), *(part.weights for part in parts)])
        jump = np.pad(np.diff(weights[:, condition.points.block], axis=1).any(axis=0), 1)
        self.kept = condition.points.on_grid
        if around is None:
            self.kept = self.kept | jump[1:] | jump[:-1]
        self.measures: list[Measure] = []

    def interval(self, top: Linear, bottom: Linear | None, level: float, *, alone: bool) -> tuple[float, float]:
        """What a linear function of the sums, or a ratio of two of them, can be.

        Without being `alone` the number shares the conditions with others under wide noise.
        """
        if not self.parts:
            return (top.shift, top.shift) if bottom is None else NOTHING
        asked = [top] if bottom is None else [top, bottom]
        used = np.flatnonzero(np.any([linear.coefficients != 0 for linear in asked], axis=0)).tolist()
        if not all(self._is_bounded(place, alone) for place in used):
            return NOTHING
        products = dict.fromkeys([self.plain, *(self.others[j] for j in used)])
        self.measures = [(m, powers) for m in range(len(self.parts)) for powers in products]
        if alone:
            half = (1 + level) / 2
            bounds = [*self._tests(half), self._scores(asked, half)]
        else:
            bounds = list(self._tests(level))
        for factor in _WIDER:
            extremes = self._extremes(bounds, factor, top, bottom)
            if extremes is not None:
                return extremes
        return NOTHING

    def _is_bounded(self, place: int, alone: bool) -> bool:
        """Whether the numbers of a sum are known to lie in [−1, 1]; with other conditions there must be none.

        Those of public columns are not declared.
        """
        powers = self.condition.sums[place].powers
        if not alone:
            return not any(map(any, powers))
        axes = [axis for axis, p in zip(self.condition.table.axes, powers, strict=True) if any(p)]
        return not any(isinstance(axis, Moments) and not axis.is_declared for axis in axes)

    def _spread(self, measure: Measure, values: Array) -> Array:
        """∫ values d(measure) as a function of the variables; values may be several, by columns."""
        kept = values[self.kept].T
        placed = np.zeros((*kept.shape[:-1], len(self.measures), kept.shape[-1]))
        placed[..., self.measures.index(measure), :] = kept
        if measure[1] != self.plain:
            placed[..., self.measures.index((measure[0], self.plain)), :] = -kept
        return placed.reshape(*kept.shape[:-1], -1)

    def _function(self, linear: Linear) -> Array:
        """Σ coefficients · sums as a function of the variables."""
        coefficients = np.zeros(len(self.measures) * int(self.kept.sum()))
        for m, part in enumerate(self.parts):
            for j in np.flatnonzero(linear.coefficients):
                wanted = self.around
                if wanted is None:
                    wanted = self.condition.wanted(part.weights[j], self.powers[j])
                coefficients += linear.coefficients[j] * self._spread((m, self.others[j]), wanted)
        return coefficients

    def _tests(self, level: float) -> Iterator[Bounds]:
        """How many rows of each measure lie below the thresholds."""
        condition, size = self.condition, self.condition.tests.shape[1]
        rows = condition.rows(self.group, size)
        target = condition.noise_target(self.target)
        one_level = 1 - (1 - level) / (len(self.measures) * size)
        for m, powers in self.measures:
            estimates = condition.measured(self.parts[m], powers)
            half = half_widths(estimates.covariance(target, rows)[:, 0, 0], estimates.heaviest[rows, 0], one_level).half
            matrix = self._spread((m, powers), condition.test_means)
            yield Bounds(matrix, estimates.values[rows, 0] / self.rows, half / self.rows + condition.test_gaps)

    def _scores(self, asked: list[Linear], level: float) -> Bounds:
        """The estimates of the functions that are asked for, as they are without what is added for their bias."""
        condition, matrix, gaps = self.condition, [], np.zeros(len(asked))
        for n, linear in enumerate(asked):
            row = np.zeros(len(self.measures) * int(self.kept.sum()))
            for m, part in enumerate(self.parts):
                for j in np.flatnonzero(linear.coefficients):
                    scores = condition.axis.scores(self.powers[j]).of_sum(part.weights[j])
                    means, gap = condition.points.means(scores)
                    row += linear.coefficients[j] * self._spread((m, self.others[j]), means)
                    gaps[n] += abs(linear.coefficients[j]) * gap
            matrix.append(row)
        a = np.stack([linear.coefficients for linear in asked])
        variance = np.einsum(
            "ni,ij,nj->n", a, self.estimates.covariance(self.target, slice(self.group, self.group + 1))[0], a
        )
        heaviest = np.abs(a) @ self.estimates.heaviest[self.group]
        half = half_widths(variance, heaviest, 1 - (1 - level) / len(asked)).half
        return Bounds(np.stack(matrix), a @ self.estimates.values[self.group] / self.rows, half / self.rows + gaps)

    def _extremes(
        self, bounds: list[Bounds], factor: float, top: Linear, bottom: Linear | None
    ) -> tuple[float, float] | None:
        """The least and the greatest, None where no measure fits."""
        matrix, values, radii = (np.concatenate(arrays) for arrays in zip(*bounds, strict=True))
        twice = self._at_most_twice()
        matrix = np.concatenate([matrix, twice])
        lower = np.concatenate([values - factor * radii, np.full(len(twice), -np.inf)])
        upper = np.concatenate([values + factor * radii, np.zeros(len(twice))])
        constraints, function = Constraints(matrix, lower, upper), self._function(top)
        if bottom is None:
            extremes = constraints.range(function)
            return None if extremes is None else _wider(extremes, self.rows, top.shift)
        divisor = self._function(bottom)
        sizes = constraints.range(divisor)
        if sizes is None or _wider(sizes, self.rows, bottom.shift)[0] <= 0:
            return None if sizes is None else NOTHING
        # The ratio is linear in the variables over the divisor, with one more for 1 over it (Charnes, Cooper 1962).
        below, above = np.isfinite(lower), np.isfinite(upper)
        scaled = np.concatenate([
            np.column_stack([matrix[below], -lower[below]]),
            -np.column_stack([matrix[above], -upper[above]]),
            [[*divisor, bottom.shift / self.rows]],
        ])  # fmt: skip
        ends = np.append(np.zeros(len(scaled) - 1), 1.0), np.append(np.full(len(scaled) - 1, np.inf), 1.0)
        extremes = Constraints(scaled, *ends).range(np.append(function, top.shift / self.rows))
        return None if extremes is None else _wider(extremes, 1.0, 0.0)

    def _at_most_twice(self) -> Array:
        """G − 2F ≤ 0 at each point."""
        points = np.eye(int(self.kept.sum()))
        rows = [np.zeros((0, len(self.measures) * len(points)))]
        for n, (m, powers) in enumerate(self.measures):
            if powers != self.plain:
                block = np.zeros((len(points), len(self.measures), len(points)))
                block[:, n], block[:, self.measures.index((m, self.plain))] = points, -2 * points
                rows.append(block.reshape(len(points), -1))
        return np.concatenate(rows)


def _wider(ends: tuple[float, float], unit: float, shift: float) -> tuple[float, float]:
    """Both ends in other units, with what the solver may have missed."""
    return (ends[0] - _ROUNDING) * unit + shift, (ends[1] + _ROUNDING) * unit + shift

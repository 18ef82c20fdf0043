"""Mean curves and totals from measured tables, with bands that hold at every grid point at once.

The coefficients of curves were added up in whole numbers, as the numbers of a column are, and got the same noise. A
mean is their sum over the number of rows. The noise of a sum has the same variance for every coefficient, independent
of each other and of the noise of the counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from dproof.central.estimates import ResidualEstimates
from dproof.central.question_sums import QuestionSums, covariances, measured_sum
from dproof.central.recipe import LEVEL, TableLaw
from dproof.central.workload import laplace_law
from dproof.coins import NOT_PRIVATE, Coins
from dproof.curves.bands import DRAWS, points_quantile, quantile_of_draws, tube_quantile, widened
from dproof.curves.lattice import CurveLattice
from dproof.errors import QuestionError
from dproof.laws.debias import Array
from dproof.questions.curve_estimate import CurveEstimate, MeasuredCurves, basis_notes
from dproof.questions.estimated import Options
from dproof.questions.question import Expression, Question, Schema, aggregates_of
from dproof.questions.sums import centred_terms

CURVES = "sums of measured coefficients; simultaneous bands for the table that was measured (privacy noise only)"
_OF_COUNT = laplace_law(Fraction(1, 64))  # the shape of the noise of a count
_SEED = bytes(32)  # of the noise that the width of a band is read from: public, and the same for every answer


class TableCurves(MeasuredCurves):
    """AVG and SUM of a curve column on the measured tables of a release (see `AnswerSource`)."""

    suggestions = "a release with a larger ε, or fewer tables"

    def __init__(self, release: Any, question: Question, schema: Schema, options: Options) -> None:
        if options.method != "inverse":
            raise QuestionError("mean curves are answered by method = 'inverse' alone: leave the method out")
        if options.target != "table":
            raise QuestionError(
                "the bands of a release of tables are for the table that was measured: leave target out"
            )
        self.release, self.question = release, question
        self.rows, self.private = release.rows, release.private
        self.asked = QuestionSums(question, schema, release.law.axes)
        self.labels = list(product(*(key.labels for key in self.asked.keys)))
        self.level = options.for_each(len(self.labels)).level
        self.place, _ = self.asked.axes[question.aggregates[0].columns[0]]
        self.lattice: CurveLattice = release.law.lattices[self.place]
        self.shown = self.asked.occurring()

    def functions(self, expression: Expression, groups: Sequence[int]) -> Sequence[CurveEstimate | None]:
        """The mean or the total of some groups; None where their number of rows may be 0, so that no mean is known."""
        (aggregate,) = aggregates_of(expression)
        rows, curves = centred_terms(aggregate, self.question.where, self.asked.schema)
        counts, sums = (measured_sum(self.release, self.asked.parts(term)[0]) for term in (rows, curves))
        estimates, every = self.release.estimates, len(self.labels)
        totals = np.zeros((every, self.lattice.terms))
        by_cell = estimates[self.place].table(sums.table).reshape(-1, self.lattice.terms)
        np.add.at(totals, sums.groups, sums.weights[:, None] * by_cell)
        numbers = np.bincount(counts.groups, counts.weights * estimates[None].table(counts.table).ravel(), every)
        spread = np.sqrt(np.maximum(covariances(estimates, [counts, sums], every), 0.0))
        known = [(totals[n], float(numbers[n]), (spread[n, 0, 0], spread[n, 1, 1])) for n in groups]
        law, is_total = self.release.law, aggregate.definition.shape == "linear"
        return [curve_function(law, self.place, *one, self.level, is_total=is_total) for one in known]

    def notes(self, groups: Sequence[int]) -> Iterator[str]:
        yield from basis_notes(self.lattice)
        if not self.private:
            yield NOT_PRIVATE


def curve_function(
    law: TableLaw,
    place: int,
    total: Array,
    count: float,
    deviations: tuple[float, float],
    level: float,
    *,
    is_total: bool = False,
) -> CurveEstimate | None:
    """The mean of so many curves with this sum of coefficients, or their total; None where there may be no curve.

    `deviations` are those of the count and of each coefficient.
    """
    lattice, (of_count, of_sum) = law.lattices[place], deviations
    terms, rows = lattice.terms, max(1.0, count)
    mean = total / rows
    factor = np.zeros((terms + 1, terms + 1))
    factor[:terms, :terms] = np.eye(terms) * of_sum / rows
    if is_total:
        factor[terms, terms] = of_count / rows  # of the public centre, which each row adds
    else:
        factor[:terms, terms] = -mean * of_count / rows
    made = CurveEstimate(lattice, mean, factor, 1.0, rows if is_total else 1.0, level, smooth=not is_total)
    made = made.with_band(lambda path, at_points: _quantile(law, place, path, level, at_points))
    if is_total or not of_count:
        return made
    g = made.quantile * of_count / rows
    return None if g >= 1 else replace(made, quantile=made.quantile * widened(made.loadings(made.times), g))


def mean_of_all(law: TableLaw, estimates: Mapping[int | None, ResidualEstimates], place: int) -> CurveEstimate | None:
    """The mean of all curves of a column; None where there may be none."""
    there, counts = (place,) if law.axes[place].size > 1 else (), estimates[None]
    deviations = counts.cell_variance(there) ** 0.5, estimates[place].cell_variance(()) ** 0.5
    return curve_function(
        law, place, estimates[place].table(()), float(counts.table(there).ravel()[0]), deviations, LEVEL
    )


def _quantile(law: TableLaw, place: int, loadings: Array, level: float, at_points: bool) -> float:
    """How many standard errors hold at every point at once.

    With δ = 0 the noise of one cell is drawn, and what a table tells may be a sum of several cells: that lies between
    one draw and normal noise, of which either may be the wider. One draw of K-norm noise by the sup norm has all its
    numbers in one cube, and none is far beyond the others.
    """
    normal = points_quantile(loadings.shape[1], level) if at_points else tube_quantile(loadings, level)
    if not law.is_pure:
        return normal
    noise = next(law.law_of(one) for one in law.noise if one.number == place)
    return max(normal, quantile_of_draws(_drawn(noise, len(loadings) - 1), loadings, level))


@lru_cache(maxsize=4)  # every group of an answer takes the same draws
def _drawn(noise: Any, terms: int) -> Array:
    """The noise of so many coefficients and of a count, each number with variance 1, again and again."""
    coins, laws = Coins(_SEED, private=False), ((noise, terms), (_OF_COUNT, 1))
    drawn = [law.draw(DRAWS * n, coins).reshape(DRAWS, n) / float(law.variance) ** 0.5 for law, n in laws]
    return np.hstack(drawn)

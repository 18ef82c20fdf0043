"""An estimated curve: a function with a simultaneous band, to be evaluated anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Protocol, Self

import numpy as np

from dproof.arguments import expect, flag
from dproof.coins import NOT_PRIVATE
from dproof.curves.bands import fine, smoothed, widened
from dproof.curves.lattice import CurveLattice, left_out
from dproof.errors import QuestionError
from dproof.questions.answer import Answer, Cell, Range
from dproof.questions.question import Aggregate, Expression, Item, Question, Schema, resolve
from dproof.questions.sql import parse_predicate
from dproof.spaces.space import Floats

_ROUNDING = 0.001  # of the range: what is left out by rounding alone


@dataclass(frozen=True, slots=True, eq=False)
class CurveEstimate:
    """scale · (centre + Σ scales_j · z_j · φ_j), known up to scale · Σ_k ξ_k · loadings_k with ξ of variance 1.

    `factor` has a row for each φ_j and a last one for the centre, and a column for each ξ. `quantile` standard errors
    hold at every point at once, with probability `level`; there are infinitely many where nothing is known. The band
    adds what the basis may leave out of a curve: it is for the curve itself on its grid. Between grid points curves are
    linear, and so is a band of values there.

    A mean of such curves is shown smoothed (see `shrinkage`), inside its band, which is that of the unbiased estimate;
    with `smooth`, which needs that the loadings are those of noise and of nothing else. A total stays unbiased, so that
    the totals of groups add up.
    """

    lattice: CurveLattice
    mean: Floats
    factor: Floats
    quantile: float
    scale: float
    level: float
    smooth: bool
    notes: tuple[str, ...] = ()

    @property
    def times(self) -> Floats:
        """The grid."""
        return self.lattice.space.times

    def evaluate(self, at: Any) -> tuple[Floats, Floats, Floats, Floats]:
        """Estimate, low, high and standard error anywhere between start and stop."""
        times = np.atleast_1d(np.asarray(at, np.float64))
        if self._shows_all:
            estimate, low, high, stderr = (np.interp(times, self.times, values) for values in self._on_grid())
            return estimate, low, high, stderr
        estimate = self.scale * self.lattice.evaluate(self.mean, times)
        stderr = self.scale * np.sqrt((self.loadings(times) ** 2).sum(axis=0))
        half = self.quantile * stderr + self.scale * np.interp(times, self.times, left_out(self.lattice))
        return estimate, estimate - half, estimate + half, stderr

    @property
    def _shows_all(self) -> bool:
        return self.lattice.expansion.shows_all

    def _on_grid(self) -> tuple[Floats, Floats, Floats, Floats]:
        loadings = self.loadings(self.times)
        stderr = self.scale * np.sqrt((loadings**2).sum(axis=0))
        half = self.quantile * stderr + self.scale * left_out(self.lattice)
        unbiased = self.unbiased
        low, high = unbiased - half, unbiased + half
        if not self.smooth:
            return unbiased, low, high, stderr
        centre = self.lattice.centre(self.times)
        found = centre + smoothed(self.lattice.expansion, unbiased - centre, loadings)
        return np.clip(found, low, high), low, high, stderr

    @property
    def unbiased(self) -> Floats:
        """The estimate on the grid that is not smoothed."""
        return self.scale * self.lattice.evaluate(self.mean)

    def loadings(self, times: Floats) -> Floats:
        """What each ξ adds at these points, one row each."""
        parts = self.lattice.scales[:, None] * self.lattice.functions(times)
        return np.asarray(self.factor.T @ np.vstack([parts, self.lattice.centre(times)]))

    def with_band(self, quantile: Callable[[Floats, bool], float]) -> Self:
        """This curve with its band, whose quantile comes from what each ξ adds along the curve.

        That is told at the grid points, where these are enough (then with True), or between them too.
        """
        times = self.times if self._shows_all else fine(self.times[0], self.times[-1], self.times)
        return replace(self, quantile=quantile(self.loadings(times), self._shows_all))

    @property
    def estimate(self) -> Floats:
        return self.evaluate(self.times)[0]

    @property
    def low(self) -> Floats:
        return self.evaluate(self.times)[1]

    @property
    def high(self) -> Floats:
        return self.evaluate(self.times)[2]

    @property
    def stderr(self) -> Floats:
        return self.evaluate(self.times)[3]

    def cell(self) -> Cell:
        """The curve as one cell of an answer: every field is a list over the grid."""
        estimate, low, high, stderr = (values.tolist() for values in self.evaluate(self.times))
        return Cell(estimate, low, high, stderr, self.unbiased.tolist())

    def table(self) -> Answer:
        """The curve as an answer with a row for each grid point."""
        columns = (values.tolist() for values in (self.times, *self.evaluate(self.times)))
        rows = [{"t": t, "value": Range().cut(Cell(y, a, b, s, y))} for t, y, a, b, s in zip(*columns, strict=True)]
        notes = (*self.notes, f"the band holds at all points at once, with probability {self.level:g}")
        return Answer(("t", "value"), rows, self.level, (*notes, *basis_notes(self.lattice)))

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def chart(self, **options: Any) -> Any:
        """A picture: the estimate in its band; `original=` puts a curve of your own beside it."""
        estimate, low, high, _ = self.evaluate(self.times)
        from dproof.plotting import mean_chart

        return mean_chart(self.times, estimate, low, high, **options)

    def covers(self, curve: Any) -> bool:
        """Whether the band holds a curve's values at every grid point."""
        values = np.asarray(curve, np.float64)
        return bool(((self.low <= values) & (values <= self.high)).all())


def noisy_curve(
    lattice: CurveLattice,
    total: Floats,
    count: float,
    deviations: tuple[float, float],
    level: float,
    quantile: Callable[[Floats, bool], float],
    *,
    is_total: bool,
) -> CurveEstimate:
    """The mean of so many curves with this sum of coefficients, or their total, where both have noise.

    `deviations` are those of the count, 0 where it is public, and of each coefficient; see `with_band` for `quantile`.
    The factor has the first-order effect of the noise. The band of a mean is as wide as Fieller's set, which is for all
    orders; where there may be no rows their mean could be anything.
    """
    (of_count, of_sum), terms, rows = deviations, lattice.terms, max(1.0, count)
    mean = total / rows
    factor = np.zeros((terms + 1, terms + (of_count > 0)))
    factor[:terms, :terms] = np.eye(terms) * of_sum / rows
    if of_count and is_total:
        factor[terms, terms] = of_count / rows  # of the public centre, which each row adds
    elif of_count:
        factor[:terms, terms] = -mean * of_count / rows
    made = CurveEstimate(lattice, mean, factor, 1.0, rows if is_total else 1.0, level, smooth=not is_total)
    made = made.with_band(quantile)
    if is_total or not of_count:
        return made
    g = made.quantile * of_count / rows
    return replace(made, quantile=made.quantile * widened(made.loadings(made.times), g) if g < 1 else inf)


def basis_notes(lattice: CurveLattice) -> tuple[str, ...]:
    """What a band says of its basis, where that cannot show every curve on the grid."""
    widest = float(left_out(lattice).max())
    if lattice.expansion.shows_all or widest <= _ROUNDING * float(lattice.space.high - lattice.space.low):
        return ()
    smooth = "a kernel in the plan can say that curves are smooth"
    way = smooth if lattice.expansion.kernel is None else "more `terms` in the plan leave out less"
    missed = f"what {lattice.terms} terms may leave out of a curve, up to {widest:.3g} at a point"
    return (f"the band allows for {missed}; {way}",)


class MeasuredCurves(Protocol):
    """A question about one curve column, once it was measured (see `AnswerSource`)."""

    labels: Sequence[tuple[Any, ...]]
    private: bool  # whether it was drawn with coins that nobody knows
    lattices: Sequence[CurveLattice]  # of the columns that are asked for

    def functions(self, expression: Expression, groups: Sequence[int]) -> Sequence[CurveEstimate | None]:
        """AVG or SUM of the curves of each of some groups; None where there may be none to take a mean of."""
        ...

    def cells(self, expression: Expression, groups: Sequence[int]) -> Sequence[Cell]:
        functions = self.functions(expression, groups)
        return [Cell(None, informative=False) if function is None else function.cell() for function in functions]

    def notes(self, groups: Sequence[int]) -> Iterator[str]:
        for lattice in self.lattices:
            yield from basis_notes(lattice)
        if not self.private:
            yield NOT_PRIVATE


def curve_question(schema: Schema, column: str, where: str | None, total: bool) -> Question:
    """The question for the mean of all curves of a column that a condition chooses, or for their total."""
    expect(column, str, "column", "the name of a curve column")
    if column not in schema.spaces or not schema.spaces[column].holds_curves:
        raise QuestionError(f"column {column!r} holds no sanitised curves")
    asked = Aggregate("sum" if flag(total, "total") else "avg", (column,))
    condition = None if where is None else parse_predicate(where)
    return resolve(Question(schema.table, (Item("curve", asked),), condition), schema)

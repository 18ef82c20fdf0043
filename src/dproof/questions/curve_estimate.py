"""An estimated curve: a function with a simultaneous band, to be evaluated anywhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from dproof.curves.bands import fine
from dproof.curves.bases import Floats
from dproof.curves.expansion import CurveLattice
from dproof.questions.answer import Answer, Cell


@dataclass(frozen=True, slots=True, eq=False)
class CurveEstimate:
    """scale · (centre + Σ scales_j · z_j · φ_j), known up to scale · Σ_k ξ_k · loadings_k with ξ of variance 1.

    `factor` has a row for each φ_j and a last one for the centre, and a column for each ξ. `quantile` standard errors
    hold at every point at once, with probability `level`. The error of the basis, which no noise causes, is not in it.
    """

    lattice: CurveLattice
    mean: Floats
    factor: Floats
    quantile: float
    scale: float
    level: float
    notes: tuple[str, ...] = ()

    @property
    def times(self) -> Floats:
        """The grid."""
        return self.lattice.space.times

    def evaluate(self, at: Any) -> tuple[Floats, Floats, Floats, Floats]:
        """Estimate, low, high and standard error anywhere between start and stop."""
        times = np.atleast_1d(np.asarray(at, np.float64))
        estimate = self.scale * self.lattice.evaluate(self.mean, times)
        stderr = self.scale * np.sqrt((self.loadings(times) ** 2).sum(axis=0))
        half = self.quantile * stderr
        return estimate, estimate - half, estimate + half, stderr

    def loadings(self, times: Floats) -> Floats:
        """What each ξ adds at these points, one row each."""
        parts = self.lattice.scales[:, None] * self.lattice.functions(times)
        return np.asarray(self.factor.T @ np.vstack([parts, self.lattice.centre(times)]))

    def with_band(self, quantile: Callable[[Floats], float]) -> Self:
        """The same with the quantile of a band between grid points too, from what each ξ adds along the curve."""
        path = self.loadings(fine(self.times[0], self.times[-1], self.times))
        return replace(self, quantile=quantile(path))

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
        return Cell(estimate, low, high, stderr, estimate)

    def table(self) -> Answer:
        """The curve as an answer with a row for each grid point."""
        columns = (values.tolist() for values in (self.times, *self.evaluate(self.times)))
        rows = [{"t": t, "value": Cell(y, a, b, s, y)} for t, y, a, b, s in zip(*columns, strict=True)]
        notes = (*self.notes, f"the band holds at all points at once, with probability {self.level:g}")
        return Answer(("t", "value"), rows, self.level, (*notes, *left_out(self.lattice)))

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def chart(self, **options: Any) -> Any:
        """A picture: the estimate in its band; `original=` puts a curve of your own beside it."""
        estimate, low, high, _ = self.evaluate(self.times)
        from dproof.curves.charts import mean_chart

        return mean_chart(self.times, estimate, low, high, **options)

    def covers(self, curve: Any) -> bool:
        """Whether the band holds a curve's values at every grid point."""
        values = np.asarray(curve, np.float64)
        return bool(((self.low <= values) & (values <= self.high)).all())


def left_out(lattice: CurveLattice) -> tuple[str, ...]:
    """What a band does not hold for, where the basis cannot show every curve on the grid."""
    if np.linalg.matrix_rank(lattice.functions(lattice.space.times)) == lattice.space.points:
        return ()
    return (
        f"the band is for the curves as a basis of {lattice.terms} terms shows them: what that leaves out, such as a "
        "sharp peak, is not in the band",
    )

"""Functional data: curves on a public grid. HLM15, Example 2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import choice, listed, named, whole
from dproof.errors import ArgumentError
from dproof.exact import exact, root_above
from dproof.limits import MOST_GRID_POINTS
from dproof.spaces.space import Points, is_arrow

CurveNorm = Literal["sup", "l2"]
PLACES = 1 << 24  # between low and high
_FARTHEST = 1 << 40  # widths of a range from 0: with more, floats would not tell its places apart
_SIZES = Fraction(1, 10**100), Fraction(10**100)  # whose squares floats still hold


def moderate(number: Fraction, name: str) -> Fraction:
    """A number that floats can calculate with, for what is public about curves."""
    if number and not _SIZES[0] <= abs(number) <= _SIZES[1]:
        raise ArgumentError(f"{name} must be from 1e-100 to 1e100 in size: take another unit")
    return number


@dataclass(frozen=True, slots=True, init=False)
class Curves(Points):
    """Functions on [start, stop] with values in [low, high], known at public grid points and linear between them.

    `points` is how many, ends included, or the rising points themselves. Both norms are exact for such functions:
    ‖f‖_∞ is attained at a grid point, and ‖f‖₂² = Σ h (a² + ab + b²)/3 over the pieces. Of a function that is not
    piecewise linear a grid sees a lower bound only. HLM15, Example 2.

    >>> day = Curves(0, 1, 3, low=0, high=5)
    >>> day.distance([0, 1, 2], [0, 3, 1]), day.diameter
    (Fraction(2, 1), Fraction(5, 1))
    """

    grid: tuple[Fraction, ...]
    low: Fraction
    high: Fraction
    norm: CurveNorm

    holds_curves: ClassVar[bool] = True
    is_counted: ClassVar[bool] = False

    @named
    def __init__(
        self, start: Any, stop: Any, points: int | Sequence[Any], low: Any, high: Any, norm: CurveNorm = "sup"
    ) -> None:
        first, last = exact(start, "start"), exact(stop, "stop")
        if isinstance(points, (int, np.integer)):
            many = whole(points, "points, the number of grid points,", 2, MOST_GRID_POINTS)
            grid = tuple(first + (last - first) * n / (many - 1) for n in range(many))
        else:
            given = listed(points, "points", "the number of grid points or a list of them")
            whole(len(given), "the number of grid points", 2, MOST_GRID_POINTS)
            grid = tuple(exact(t, "each of the points") for t in given)
        if any(a >= b for a, b in pairwise(grid)):
            raise ArgumentError("the grid points must rise, each above the one before")
        if (grid[0], grid[-1]) != (first, last):
            raise ArgumentError("the grid must begin at start and end at stop")
        bottom, top = exact(low, "low"), exact(high, "high")
        if bottom >= top:
            raise ArgumentError("low must lie below high")
        for name, a, b in (("from start to stop", first, last), ("from low to high", bottom, top)):
            if max(abs(a), abs(b)) > (b - a) * _FARTHEST:
                raise ArgumentError(
                    f"the range {name} is too narrow so far from 0: subtract a constant from the numbers"
                )
            moderate(max(abs(a), abs(b)), f"the range {name}")
        choice(norm, get_args(CurveNorm), "norm")
        for name, value in {"grid": grid, "low": bottom, "high": top, "norm": norm}.items():
            object.__setattr__(self, name, value)

    @property
    def start(self) -> Fraction:
        """The first grid point."""
        return self.grid[0]

    @property
    def stop(self) -> Fraction:
        """The last grid point."""
        return self.grid[-1]

    @property
    def points(self) -> int:
        """The number of grid points."""
        return len(self.grid)

    @property
    def times(self) -> NDArray[np.float64]:
        """The grid as floats, for looking at and for drawing."""
        return np.array([float(t) for t in self.grid])

    @property
    def diameter(self) -> Fraction:
        """The largest distance between two curves, that of the constants low and high; in L2 rounded up.

        It measures error. It calibrates no noise by itself: that takes coefficients, or the norm of a kernel.
        """
        width = self.high - self.low
        return width if self.norm == "sup" else root_above(width**2 * (self.stop - self.start))

    @property
    def separation(self) -> Fraction:
        """Zero: curves lie arbitrarily close together."""
        return Fraction(0)

    def distance(self, f: Sequence[Any], g: Sequence[Any]) -> Fraction:
        """‖f − g‖, exact in the sup norm and rounded up in L2, where `squared_distance` is exact."""
        if self.norm == "l2":
            return root_above(self.squared_distance(f, g))
        return max(abs(d) for d in self._difference(f, g))

    def squared_distance(self, f: Sequence[Any], g: Sequence[Any]) -> Fraction:
        """∫ (f − g)² of the piecewise linear functions, exactly.

        >>> Curves(0, 1, 2, 0, 1).squared_distance([0, 1], [0, 0])
        Fraction(1, 3)
        """
        d, t = self._difference(f, g), self.grid
        pieces = zip(pairwise(t), pairwise(d), strict=True)
        return sum(((v - u) * (a * a + a * b + b * b) / 3 for (u, v), (a, b) in pieces), Fraction(0))

    def _difference(self, f: Sequence[Any], g: Sequence[Any]) -> list[Fraction]:
        first, second = (listed(given, name, "a list of values") for given, name in ((f, "f"), (g, "g")))
        if len(first) != self.points or len(second) != self.points:
            raise ArgumentError(f"a curve has {self.points} values here, one for each grid point: so must f and g")
        return [exact(x, "a value of f") - exact(y, "a value of g") for x, y in zip(first, second, strict=True)]

    def evaluate(self, curves: Any, at: Any) -> NDArray[np.float64]:
        """The curves between their grid points, by linear interpolation; one row each.

        >>> Curves(0, 2, 2, 0, 4).evaluate([[0, 4]], [0.5, 1]).tolist()
        [[1.0, 2.0]]
        """
        try:
            times = np.atleast_1d(np.asarray(at, np.float64))
        except (TypeError, ValueError, OverflowError):
            raise ArgumentError("at must be a number or a list of numbers, where the curves are evaluated") from None
        if not ((times >= float(self.start)) & (times <= float(self.stop))).all():
            raise ArgumentError("a curve can be evaluated between its first and its last grid point only")
        return np.array([np.interp(times, self.times, row) for row in self.read(curves, outside="keep")])

    def read(self, curves: Any, *, outside: Literal["refuse", "clamp", "keep"] = "refuse") -> NDArray[np.float64]:
        """Curves as a matrix, one row each: from nested lists, NumPy, an Arrow list column or a table of wide columns
        in grid order, or scikit-fda's FDataGrid.

        A curve with another number of points, or with one missing or not finite, is refused and never named.
        """
        rows = self._matrix(curves)
        if not np.isfinite(rows).all():
            raise ArgumentError("a curve has a missing or infinite value; complete the curves, or leave such rows out")
        if outside == "clamp":
            return np.clip(rows, float(self.low), float(self.high))
        if outside == "refuse" and not ((rows >= float(self.low)) & (rows <= float(self.high))).all():
            raise ArgumentError("a curve leaves the declared range from low to high; widen it, or clamp")
        return rows

    def encode(self, curves: Any, *, clamp: bool = False) -> NDArray[np.int64]:
        """Each value by its place between low and high, in 2^24 steps; one row per curve.

        >>> Curves(0, 1, 2, low=-1, high=1).encode([[-1, 0]]).tolist()
        [[0, 8388608]]
        """
        rows = self.read(curves, outside="clamp" if clamp else "refuse")
        place = (rows - float(self.low)) * (PLACES / float(self.high - self.low))
        return np.clip(np.rint(place), 0, PLACES).astype(np.int64)

    def decode(self, codes: NDArray[Any]) -> list[list[float]]:
        """The values at places between low and high."""
        values = float(self.low) + np.asarray(codes) * (float(self.high - self.low) / PLACES)
        return values.tolist()  # type: ignore[no-any-return]

    def _matrix(self, curves: Any) -> NDArray[np.float64]:
        module = type(curves).__module__.partition(".")[0]
        if module == "skfda":
            return self._from_fda(curves)
        if is_arrow(curves):
            columns = curves.columns if hasattr(curves, "columns") else [curves]
            arrays = [c.combine_chunks() if hasattr(c, "combine_chunks") else c for c in columns]
            from dproof.columns.numbers import arrow_rows

            curves = arrow_rows(arrays, self.points)
        elif module == "pandas" and hasattr(curves, "columns"):
            curves = curves.to_numpy()
        try:
            rows = np.asarray(curves, np.float64) if len(curves) else np.empty((0, self.points))
        except (TypeError, ValueError):  # rows of different lengths, or texts
            rows = np.empty(0)
        if rows.ndim != 2 or rows.shape[1] != self.points:
            raise ArgumentError(f"every curve needs {self.points} numbers, one for each grid point")
        return rows

    def _from_fda(self, data: Any) -> NDArray[np.float64]:
        if data.dim_domain != 1 or data.dim_codomain != 1 or len(data.grid_points[0]) != self.points:
            raise ArgumentError(f"the functional data must have one argument, one value and {self.points} grid points")
        if not np.allclose(data.grid_points[0], self.times, rtol=1e-9, atol=0.0):
            raise ArgumentError("the grid of the functional data is not the declared one")
        return np.asarray(data.data_matrix[..., 0], np.float64)

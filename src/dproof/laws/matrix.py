"""Any finite law as a matrix of whole numbers, one row per input, to which numbers may be rounded at random; and the
law of a table, each row of which is sanitised by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from itertools import combinations_with_replacement
from math import comb, lcm, prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins, Guide, guide, uniform_below
from dproof.errors import ArgumentError, TooLarge
from dproof.exact import exact, exp_below
from dproof.laws.debias import DebiasAxes, DenseScores, MatrixAxis, NodePoints, Powers, SeenColumn, solver
from dproof.laws.divergence import Odds, Worst, tight_odds
from dproof.laws.law import (
    SIZE,
    TOTAL,
    WEIGHT,
    Law,
    Span,
    law_from_json,
    listed_sizes,
    nearest_codes,
    presence_alone,
    read_number,
)
from dproof.laws.noise import overlaps
from dproof.spaces.interval import Line, Scale
from dproof.spaces.products import join_codes, one_row_apart, split_code
from dproof.spaces.space import Space, narrowest

_UNIT = 2.0**-53  # relative error of one rounded operation
_BLOCK = 1 << 16  # numbers screened at a time, so that they stay in cache
_LARGEST_INVERTED = 1 << 10  # values of a law that is inverted to see what counts cost
_SINGULAR = 1e-9
_PARTS = 1 << 24  # in which the chance to show a value is written, where values may be missing
_FLOATS = 1 << 500  # totals and odds below this can be screened in floats without overflow


@dataclass(frozen=True, eq=False)
class Matrix(Law):
    """The solution matrix as whole numbers: P(Y_i = j) = rows[i, j] / total. HLM16, Definition 6.

    >>> Matrix(np.array([[3, 1], [1, 3]]), 4).worst(Fraction(1)).value
    Fraction(1, 2)
    """

    kind: ClassVar[str] = "matrix"  # in certificates

    rows: NDArray[Any]  # int64, or Python integers where the total needs more
    total: int
    neighbours: NDArray[np.bool_] | None = None  # which ordered pairs count; all of them by default

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", int(self.total))  # one of NumPy would overflow
        if self.rows.ndim != 2 or 0 in self.rows.shape:
            raise ArgumentError("a matrix law needs at least one row and one column")
        if self.total >= 1 << 62 and self.rows.dtype != object:
            raise ArgumentError("a law whose total is 2^62 or more must hold Python integers")
        if self.neighbours is not None:
            if self.neighbours.shape != (self.inputs, self.inputs):
                raise ArgumentError("the neighbours of a law must be a square matrix over its inputs")
            if (self.neighbours != self.neighbours.T).any():
                raise ArgumentError("the neighbours of a law must be a symmetric matrix: being neighbours is mutual")
        if self.rows.dtype.kind not in "iuO" or (self.rows < 0).any() or (_sums(self.rows) != self.total).any():
            raise ArgumentError("every row of a law must be whole numbers of at least 0 that sum to its total")
        if self.total < 1 << 62:
            object.__setattr__(self, "rows", self.rows.astype(np.int64, copy=False))

    @property
    def inputs(self) -> int:
        return int(self.rows.shape[0])

    @property
    def outputs(self) -> int:
        return int(self.rows.shape[1])

    def weights(self, source: int) -> NDArray[Any]:
        return self.rows[source]  # type: ignore[no-any-return]

    def written_out(self, most: int | None = None) -> tuple[NDArray[Any], int]:
        if most is not None:
            listed_sizes(self, most)
        return self.rows, self.total

    def worst(self, odds: Fraction) -> Worst:
        """Screen all pairs in floats with a proven margin, then decide those near the top in whole numbers."""
        best = Worst(Fraction(0), 0, min(1, self.inputs - 1))
        columns = self._exceeding(odds)
        if not len(columns):
            return best
        rows = np.ascontiguousarray(self.rows[:, columns])
        near = self._counts
        if self.total < _FLOATS and odds < _FLOATS:
            near = _near_the_top(rows.astype(np.float64) / float(self.total), float(odds), near)
        a, b = odds.numerator, odds.denominator
        bounds = _bounds(rows, np.flatnonzero(near.any(axis=0)), odds)
        most, step = 0, max(1, _BLOCK // rows.shape[1])
        for source in np.flatnonzero(near.any(axis=1)):
            law, close = rows[source], np.flatnonzero(near[source])
            for targets in (close[first : first + step] for first in range(0, len(close), step)):
                above = law > bounds[targets]
                own, others = (np.where(above, masses, 0).sum(axis=1) for masses in (law, rows[targets]))
                excess = own.astype(object) * b - others.astype(object) * a
                n = int(excess.argmax())
                if excess[n] > most:
                    most = excess[n]
                    best = Worst(Fraction(most, b * self.total), int(source), int(targets[n]))
        return best

    @cached_property
    def _counts(self) -> NDArray[np.bool_]:
        distinct = ~np.eye(self.inputs, dtype=bool)
        return distinct if self.neighbours is None else distinct & self.neighbours

    def _exceeding(self, odds: Fraction) -> NDArray[np.int64]:
        """The outputs that some pair of inputs holds at more than these odds; no other output ever counts."""
        extremes = zip(self.rows.max(axis=0), self.rows.min(axis=0), strict=True)
        a, b = odds.numerator, odds.denominator
        return np.array([n for n, (most, least) in enumerate(extremes) if int(most) * b > int(least) * a], np.int64)

    def odds(self, delta: Fraction) -> Odds:
        """Raise the odds from the worst pair found to the next, until no pair exceeds δ.

        Each pair's divergence falls as the odds rise; so at the tight odds of the current worst pair, either no
        other pair exceeds δ, and these odds serve all pairs, or one does, and its own are larger, or infinite.
        """
        if delta == 0 and self.neighbours is None:
            return self._pure_odds()
        best = Odds(Fraction(1), 0, min(1, self.inputs - 1))
        while best.value is not None:
            worst = self.worst(best.value)
            if worst.value <= delta:
                break
            value = tight_odds(self.rows[worst.source], self.rows[worst.target], self.total, delta)
            best = Odds(value, worst.source, worst.target)
        return best

    def _pure_odds(self) -> Odds:
        """At δ = 0 the singletons decide: the largest ratio within a column."""
        most, least, source, target = 1, 1, 0, min(1, self.inputs - 1)
        for column in self.rows.T:
            high, low = int(column.argmax()), int(column.argmin())
            p, q = int(column[high]), int(column[low])
            if p * least > most * q:
                most, least, source, target = p, q, high, low
        return Odds(Fraction(most, least) if least else None, source, target)

    @cached_property
    def _guide(self) -> Guide:
        return guide(self.rows, self.total)

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        return self._guide.draw(codes, coins)

    def possible(self) -> NDArray[np.bool_] | None:
        some = np.asarray((self.rows > 0).any(axis=0), bool)
        return None if some.all() else some

    def with_missing(self, epsilon: Fraction, delta: Fraction) -> Matrix:
        """A value is shown with probability p, by its row; a missing one is shown as y with p/e·max_x P(Y_x = y).

        No other row for missing values is shown as seldom: that is what no value exceeds by more than e. It is shown
        with q = p·t/e in all, t = Σ_y max_x P(Y_x = y), and p = (e − 1)/(e − t/e) makes 1 − q = e(1 − p).
        """
        odds, most = exp_below(epsilon), self.rows.astype(object).max(axis=0)
        fall = Fraction(int(most.sum()), self.total) / odds
        share = (odds - 1) / (odds - fall) if fall < 1 < odds else Fraction(1)
        for present in range(int(_PARTS * share), int(_PARTS * share) - 3, -1):  # rounding may take a part or two
            missing = [-(-present * int(weight) * odds.denominator // odds.numerator) for weight in most]
            hidden = _PARTS * self.total - sum(missing), (_PARTS - present) * self.total
            if 0 < hidden[0] <= odds * hidden[1]:
                shown = np.vstack([self.rows.astype(object) * present, missing])
                rows = np.column_stack([shown, [hidden[1]] * self.inputs + [hidden[0]]])
                law = Matrix(rows, _PARTS * self.total)
                if law.worst(odds).value <= delta:
                    return law
        raise ArgumentError(
            "with this mechanism and epsilon a missing value cannot be told from others: use laplace, a larger "
            "epsilon, or another value in the place of a missing one"
        )

    def count_variance(self, space: Space) -> float | None:
        if not self.inputs == self.outputs <= _LARGEST_INVERTED:
            return None
        law = np.asarray(self.rows / self.total, np.float64)
        if np.linalg.svd(law, compute_uv=False)[-1] < _SINGULAR:
            return None
        asked = space.counted()[1]()
        scores = np.linalg.solve(law, asked)
        return float((law @ scores**2 - asked**2).max())

    def mean_variance(self, space: Space) -> float | None:
        if space.present is None or not space.has_numbers or self.inputs > _LARGEST_INVERTED:
            return None
        return self.variance_of_mean(space.present.values_of(np.arange(self.inputs - 1)) - float(space.middle))

    def variance_of_mean(self, numbers: NDArray[Any]) -> float | None:
        """The largest variance of a row for the mean of these numbers, where the last input is a missing one."""
        law = np.asarray(self.rows / self.total, np.float64)
        there, centred = np.append(np.ones(self.inputs - 1), 0.0), np.append(numbers, 0.0)
        scores = solver(law)(np.stack([centred, there], axis=1))
        rows = scores[:, :1] - scores[:, 1:] * centred[:-1]  # of a table in which all numbers are the same
        return None if np.isnan(rows).any() else float(np.einsum("xy,yx->x", law[:-1], rows**2).max())

    def to_json(self) -> Mapping[str, Any]:
        """The record of a certificate."""
        rows = [[str(int(w)) for w in row] for row in self.rows]
        pairs = {} if self.neighbours is None else {"neighbours": np.argwhere(self._counts).tolist()}
        return {"kind": self.kind, "total": str(self.total), "rows": rows, **pairs}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Matrix:
        rows, total = read_number(record, "rows", WEIGHT), read_number(record, "total", TOTAL)
        return cls(np.array(rows, np.int64 if total < 1 << 62 else object), total)


def whole_law(weights: Sequence[Fraction], total: int) -> list[int]:
    """The whole numbers nearest to the weights, as parts of the total; what is left over goes to the largest.

    A weight that is not zero keeps at least one: a zero opposite a non-zero would cost an infinite ε.

    >>> whole_law([Fraction(2), Fraction(1), Fraction(0)], 10)
    [7, 3, 0]
    """
    scale = lcm(*(w.denominator for w in weights))
    parts = [w.numerator * (scale // w.denominator) for w in weights]
    mass = sum(parts)
    whole = [max(1, (2 * part * total + mass) // (2 * mass)) if part else 0 for part in parts]
    largest = max(range(len(whole)), key=whole.__getitem__)
    whole[largest] += total - sum(whole)
    return whole


def _sums(rows: NDArray[Any]) -> NDArray[Any]:
    """The sum of each row as a Python integer; two halves of 32 bits cannot overflow."""
    if rows.dtype == object:
        return np.asarray(rows.sum(axis=1))
    wide = rows.astype(np.int64)
    high, low = wide >> 32, wide & 0xFFFFFFFF
    return np.asarray(high.sum(axis=1).astype(object) * (1 << 32) + low.sum(axis=1).astype(object))


def _near_the_top(laws: NDArray[np.float64], odds: float, counts: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The ordered pairs whose divergence may be the largest of all.

    Σ max(0, P − eQ) = Σ P − Σ min(P, eQ). Each rounded P, eQ and partial sum errs by a few units of at most one,
    J terms by at most J units more, so twice (2J + 16) units separate two computed values whose order is certain.
    """
    count, outputs = laws.shape
    margin = 2 * (2 * outputs + 16) * _UNIT
    masses = laws.sum(axis=1)
    scaled, ones = laws * odds, np.ones(outputs)
    scores = np.empty((count, count))
    step = max(1, _BLOCK // outputs)
    buffer = np.empty((step, outputs))
    for first in range(0, count, step):
        block = scaled[first : first + step]
        for source in range(count):
            shared = np.minimum(laws[source], block, out=buffer[: len(block)])
            scores[source, first : first + step] = masses[source] - shared @ ones
    scores[~counts] = -np.inf
    return np.asarray(counts & (scores >= scores.max() - margin))


def _bounds(rows: NDArray[Any], wanted: NDArray[np.intp], odds: Fraction) -> NDArray[Any]:
    """⌊e·Q⌋ for the wanted rows Q: a whole number exceeds e·Q if and only if it exceeds this."""
    a, b = odds.numerator, odds.denominator
    bounds = rows.copy()
    if a == b:
        return bounds
    some = rows[wanted]
    values, places = np.unique(some, return_inverse=True)
    largest = int(rows.max())
    floors = np.array([min(int(value) * a // b, largest) for value in values], rows.dtype)
    bounds[wanted] = floors[places].reshape(some.shape)
    return bounds


# Numbers that are rounded to the inputs of a matrix at random ---------------------------------------------------------

_MOST_POINTS = 1 << 48  # of an interval
_STEPS = (1, 1 << 12)  # of the coarse lattice
_TABLED = 1 << 16  # codes whose chances are kept
_LARGEST_BIAS = 1e-9  # of half the interval, what the mean of a row may be off by
_SAME_ERROR = 1e-6  # relative, between errors that floats do not put in order


@dataclass(frozen=True, eq=False)
class RoundedLaw(Law):
    """Point c of `size` lies at c·steps/(size − 1) = k + f on a coarse lattice: it becomes k + 1 with probability f,
    else k, and is drawn from that row of the inner law.

    P(Y_c = y) = (1 − f)·P(L_k = y) + f·P(L_{k+1} = y). Inputs after the points, such as a missing value, are inputs of
    the inner law after its coarse points, as they are.

    Why it is private: a mixture of laws of a private family is no farther from another mixture than the worst two
    laws are from each other.

    >>> law = RoundedLaw(5, 1, Matrix(np.array([[3, 1], [1, 3]]), 4))
    >>> [str(law.probability(c, 1)) for c in range(5)], law.odds(Fraction(0)).value
    (['1/4', '3/8', '1/2', '5/8', '3/4'], Fraction(3, 1))
    """

    kind: ClassVar[str] = "rounded"  # in certificates

    size: int
    steps: int
    inner: Matrix

    def __post_init__(self) -> None:
        if not 1 <= self.steps < self.size <= _MOST_POINTS or not 0 <= self._more <= 1:
            raise ArgumentError("a rounded law needs a row for every point of a coarse lattice, with fewer points")

    @property
    def _more(self) -> int:
        """The number of inputs after the points."""
        return self.inner.inputs - self.steps - 1

    @property
    def inputs(self) -> int:
        return self.size + self._more

    @property
    def outputs(self) -> int:
        return self.inner.outputs

    @property
    def total(self) -> int:
        return self.inner.total * (self.size - 1)

    def _place(self, codes: Any) -> tuple[Any, Any]:
        """The coarse point below each code, and how far beyond it the code lies, in parts of size − 1.

        >>> [part.tolist() for part in RoundedLaw(5, 2, Matrix(np.eye(3, dtype=int), 1))._place(np.arange(5))]
        [[0, 0, 1, 1, 2], [0, 2, 0, 2, 0]]
        """
        below, part = np.divmod(np.minimum(codes, self.size - 1) * self.steps, self.size - 1)
        return below + np.maximum(codes - (self.size - 1), 0), part

    def weights(self, source: int) -> NDArray[Any]:
        (below, part), last = self._place(source), self.inner.inputs - 1
        row, after = (self.inner.rows[n].astype(object) for n in (below, min(below + 1, last)))
        return np.asarray(row * (self.size - 1 - int(part)) + after * int(part))

    @cached_property
    def _ends(self) -> tuple[list[int], Matrix]:
        """The codes next to coarse points and those after the points, and their laws. Between two of these in a cell
        the law is linear in the code, so it is a mixture of theirs, and no farther from others."""
        places = np.arange(self.steps + 1, dtype=object) * (self.size - 1)
        near = {*(places // self.steps).tolist(), *(-(-places // self.steps)).tolist()}
        codes = [*sorted(near), *range(self.size, self.inputs)]
        return codes, Matrix(np.array([self.weights(code) for code in codes]), self.total)

    def worst(self, odds: Fraction) -> Worst:
        codes, law = self._ends
        worst = law.worst(odds)
        return Worst(worst.value, codes[worst.source], codes[worst.target])

    def odds(self, delta: Fraction) -> Odds:
        codes, law = self._ends
        odds = law.odds(delta)
        return Odds(odds.value, codes[odds.source], codes[odds.target])

    def maximal_expectation(self, losses: Callable[[int], Any]) -> Fraction:
        """Between two coarse points E|Y_c − c| and E(Y_c − c)² are quadratic in c, as outputs lie on that lattice. So
        three codes tell where the largest lies; floats tell in which cells it may lie, and these are gone through."""
        starts = [-(-k * (self.size - 1) // self.steps) for k in range(self.steps)]
        cells = list(zip(starts, [*(first - 1 for first in starts[1:]), self.size - 1], strict=True))

        def near(code: int) -> float:
            return float(np.asarray(self.weights(code) / self.total, float) @ np.asarray(losses(code), float))

        tried = [_peak(first, last, near) for first, last in cells]
        most = max(top for top, _ in tried)
        codes = {code for top, some in tried if top >= most * (1 - _SAME_ERROR) for code in some}
        codes |= set(range(self.size, self.inputs))
        return max(self.expectation(code, losses(code)) for code in sorted(codes))

    def bias_and_variance(self, true: Line, released: Line) -> tuple[float, float]:
        """Over all numbers of the interval: (1 − f)·a + f·b + f(1 − f)·h² between neighbours with variances a and b."""
        law, points = self.inner.rows / self.inner.total, released.numbers(np.arange(self.outputs)).astype(np.float64)
        width = float(true.step) * (self.size - 1) / self.steps
        means = law @ points
        variances = law @ points**2 - means**2
        a, b = variances[:-1], variances[1:]
        f = np.clip(0.5 + (b - a) / (2 * width**2), 0, 1)
        largest = ((1 - f) * a + f * b + f * (1 - f) * width**2).max()
        return float(np.abs(means - float(true.origin) - width * np.arange(self.steps + 1)).max()), float(largest)

    def mean_variance(self, space: Space) -> float | None:
        if space.present is None:
            return None
        coarse = np.arange(self.steps + 1) * (self.size - 1) / self.steps
        return self.inner.variance_of_mean(space.present.values_of(coarse) - float(space.middle))

    def with_missing(self, epsilon: Fraction, delta: Fraction) -> RoundedLaw:
        return RoundedLaw(self.size, self.steps, self.inner.with_missing(epsilon, delta))

    def debias_axes(self, seen: Sequence[SeenColumn], others: int, name: str) -> DebiasAxes:
        """The coarse points are nodes; a number between two of them has a law between theirs, exactly."""
        (column,) = seen
        matrix = np.asarray(self.inner.rows / self.inner.total, float)
        by_presence = presence_alone(column, matrix, name)
        if by_presence is not None:
            return by_presence
        blocks, scale = column.blocks, column.scale or Scale()
        near = np.arange(self.steps + 1) * (self.size - 1) / self.steps
        coarse = np.unique([np.floor(near), np.ceil(near)]).astype(np.int64)
        codes = np.unique(np.concatenate([coarse, blocks.first, blocks.last, np.arange(self.size, self.inputs)]))
        start, part = self._place(codes)
        share, absent = part / (self.size - 1), np.arange(self.size, self.inputs)
        halves = -(-(2 * np.arange(1, self.steps + 1) - 1) * (self.size - 1) // (2 * self.steps))
        starts = np.concatenate([[0], halves, absent])  # of the codes that are nearest to each node
        stops = np.append(starts[1:], self.inputs)
        member, sizes = overlaps(starts, stops, blocks), stops - starts
        values = np.concatenate([scale.numbers(column.space, near), scale.numbers(column.space, absent)])
        shown = np.eye(blocks.blocks)[blocks.of(nearest_codes(column, self.outputs))]
        released = scale.numbers(column.outputs, np.arange(self.outputs))
        fair = not self._more and np.allclose(matrix @ released, values, rtol=0, atol=_LARGEST_BIAS)
        points = NodePoints(matrix, start, share, blocks.of(codes), scale.numbers(column.space, codes))
        kind = UnbiasedAxis if fair else MatrixAxis
        axis = kind(name, matrix, member, values, shown, released, rough=True, points=points, node_sizes=sizes)
        return DebiasAxes((axis,), lambda released: released[0])

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        below, first, rest = (part.take(codes) for part in self._tabled) if self._tabled else self._chances(codes)
        words = coins.words16(len(codes))
        up = words < first
        (even,) = np.nonzero(words == first)  # where 16 bits do not decide
        up[even] = uniform_below(np.full(len(even), self.size - 1), coins) < rest[even]
        return self.inner.draw(below + up, coins)

    def _chances(self, codes: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.uint16], NDArray[np.int64]]:
        """The coarse point below each code, and how likely it is rounded up: the first 16 bits of that number, and what
        is left of them, in parts of size − 1."""
        below, part = self._place(codes.astype(np.int64))
        first, rest = np.divmod(part.astype(np.uint64) << np.uint64(16), np.uint64(self.size - 1))
        return below, first.astype(np.uint16), rest.astype(np.int64)

    @cached_property
    def _tabled(self) -> tuple[NDArray[Any], ...]:
        """`_chances` of every code; none where there are too many."""
        return self._chances(np.arange(self.inputs)) if self.inputs <= _TABLED else ()

    def to_json(self) -> Mapping[str, Any]:
        """The record of a certificate."""
        return {"kind": self.kind, "size": str(self.size), "steps": self.steps, "law": dict(self.inner.to_json())}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> RoundedLaw:
        size, steps = read_number(record, "size", SIZE), read_number(record, "steps", _STEPS)
        return cls(size, steps, Matrix.from_json(record["law"]))


class UnbiasedAxis(MatrixAxis):
    """Nodes under an unbiased law: a sum of all numbers is the sum of the released ones."""

    def scores(self, powers: Powers) -> DenseScores:
        if self.blocks == 1 and sum(powers) == 1:
            return DenseScores(self.seen_values[:, None])
        return super().scores(powers)


def _peak(first: int, last: int, value: Callable[[int], float]) -> tuple[float, set[int]]:
    """The largest value of a parabola from one code to another, and the codes that may have it."""
    if last - first < 4:
        codes = set(range(first, last + 1))
        return max(map(value, codes)), codes
    middle = (first + last) // 2
    a, b, c = map(value, (first, middle, last))
    rise, fall = (b - a) / (middle - first), (c - b) / (last - middle)
    codes, most = {first, last}, max(a, b, c)
    if fall < rise:
        top = (first + middle - rise * (last - first) / (fall - rise)) / 2
        beside = {int(min(max(top + step, first), last)) for step in (-1, 0, 1, 2)}
        codes, most = codes | beside, max(most, *map(value, beside))
    return most, codes


# Tables, row by row ---------------------------------------------------------------------------------------------------

_MOST_WRITTEN_OUT = 1 << 22  # outputs whose weights are listed
_MOST_TABLES = 1 << 10  # whose errors are compared
_MOST_DIGITS = 1 << 20  # bits of the probability of a table
_MOST_DISTANCES = 1 << 12  # of a table, while rows are added one by one
TABLE_ROWS: Span = (1, 1 << 40)


@dataclass(frozen=True, slots=True, eq=False)
class RowByRow(Law):
    """P(Y_d = y) = Π_i P(Y_{d_i} = y_i) for tables d of so many rows, with the law of one row; nothing is written out.

    Given all other rows, a table is told from its neighbour by one draw of the law of a row. So δ at every ε is that of
    the row, for any number of rows: HLM15, Lemma 3 and Theorem 5; HLM16, Theorem 6 and Corollary 3. Neighbours are
    tables that differ in one row, by a pair that the law of a row counts.

    >>> from dproof.laws.response import KeepOrOther
    >>> law = RowByRow(KeepOrOther(3, 2, 1), 50)
    >>> law.odds(Fraction(0)).value, law.inputs == 3**50, law.probability(0, 0) == Fraction(1, 2) ** 50
    (Fraction(2, 1), True, True)
    """

    kind: ClassVar[str] = "product"  # in certificates

    row: Law
    rows: int

    def _power(self, number: int | None) -> int | None:
        return None if number is None else int(number**self.rows)

    @property
    def inputs(self) -> int | None:
        return self._power(self.row.inputs)

    @property
    def outputs(self) -> int | None:
        return self._power(self.row.outputs)

    @property
    def total(self) -> int | None:
        return self._power(self.row.total)

    @property
    def neighbours(self) -> NDArray[np.bool_]:
        return one_row_apart(self._values, self.rows, self.row.neighbours)

    @property
    def _values(self) -> int:
        assert self.row.inputs is not None
        return self.row.inputs

    @property
    def of_one_row(self) -> Law:
        return self.row.of_one_row

    def worst(self, odds: Fraction) -> Worst:
        worst, first = self.row.worst(odds), self._values ** (self.rows - 1)
        return Worst(worst.value, worst.source * first, worst.target * first)

    def odds(self, delta: Fraction) -> Odds:
        tight, first = self.row.odds(delta), self._values ** (self.rows - 1)
        return Odds(tight.value, tight.source * first, tight.target * first)

    def _digits(self, code: Any, size: int | None) -> Sequence[Any]:
        """The codes of the rows of a table; where outputs have no end, a code is the list of them."""
        return list(code) if size is None else split_code(int(code), size, self.rows)

    def weights(self, source: int) -> NDArray[Any]:
        _, outputs, _ = listed_sizes(self)
        if outputs > _MOST_WRITTEN_OUT:
            raise TooLarge("the law of so many rows is too long to list; ask for single probabilities")
        laws = [np.array(self.row.weights(d), object) for d in self._digits(source, self._values)]
        return reduce(lambda left, right: np.multiply.outer(left, right).reshape(-1), laws)

    def probability(self, source: int, target: Any) -> Fraction:
        rows = Counter(zip(self._digits(source, self._values), self._digits(target, self.row.outputs), strict=True))
        factors = [(self.row.probability(*pair), times) for pair, times in rows.items()]
        if sum(times * one.denominator.bit_length() for one, times in factors) > _MOST_DIGITS:
            raise TooLarge(
                "the probability of a table of so many rows is too long a fraction; ask for those of its rows"
            )
        return prod((one**times for one, times in factors), start=Fraction(1))

    def error(self, source: int, space: Any) -> Fraction:
        return self._error(self._digits(source, self._values), space)

    def maximal_error(self, space: Any) -> Fraction:
        """max_d E ρ(Y_d, d): n times that of a row where ρ is the sum over rows (HLM16, Theorem 9), else the largest
        over tables; rows that see the same distances are alike, and the order of rows does not count."""
        if space.metric == "l1":
            return self.rows * self.row.maximal_error(space.space)
        rows = {tuple(sorted(self._distances(d, space).items())): d for d in range(self._values)}
        if comb(len(rows) + self.rows - 1, self.rows) > _MOST_TABLES:
            raise TooLarge("under this metric too many tables must be compared; take l1, or fewer rows or values")
        return max(self._error(digits, space) for digits in combinations_with_replacement(rows.values(), self.rows))

    def _error(self, digits: Sequence[int], space: Any) -> Fraction:
        if space.metric == "l1":
            return sum((self.row.error(d, space.space) for d in digits), Fraction(0))
        masses: dict[Any, Fraction] = {0: Fraction(1)}
        for d in digits:
            masses = _joined(masses, self._distances(d, space), space.join)
        return sum((space.root(x) * mass for x, mass in masses.items()), Fraction(0))

    def _distances(self, source: int, space: Any) -> dict[Any, Fraction]:
        """How far a row is moved, as the metric adds it up, and with which probability."""
        if self.row.outputs is None:
            raise ArgumentError("the error of noise without an end is known under the l1 metric; clamp it, or take l1")
        _, _, total = listed_sizes(self.row)
        masses: dict[Any, Fraction] = {}
        for distance, weight in zip(space.space.distances(source), self.row.weights(source), strict=True):
            x = space.power(exact(distance))
            masses[x] = masses.get(x, Fraction(0)) + Fraction(int(weight), total)
        return masses

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        inputs, outputs = self._values, self.row.outputs
        digits = split_code(codes.astype(_wide(inputs**self.rows)), inputs, self.rows)
        drawn = self.row.draw(np.stack(digits, axis=1).reshape(-1).astype(narrowest(max(inputs, outputs or 1))), coins)
        drawn = drawn.reshape(len(codes), self.rows, *drawn.shape[1:])
        if outputs is None:
            return drawn
        columns: NDArray[Any] = drawn.astype(_wide(outputs**self.rows)).T
        return np.asarray(join_codes(list(columns), outputs)).astype(narrowest(outputs**self.rows))

    def to_json(self) -> Mapping[str, Any]:
        """The record of a certificate."""
        row: Any = self.row
        rows = self.rows
        while isinstance(row, RowByRow):  # a table of tables is a longer table
            row, rows = row.row, rows * row.rows
        return {"kind": self.kind, "rows": rows, "law": dict(row.to_json())}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> RowByRow:
        return cls(law_from_json(record["law"]), read_number(record, "rows", TABLE_ROWS))


def _wide(size: int) -> type:
    """The kind of number that holds the codes of so many tables."""
    return np.int64 if size < 1 << 62 else object


def _joined(
    masses: Mapping[Any, Fraction], others: Mapping[Any, Fraction], join: Callable[[Any, Any], Any]
) -> dict[Any, Fraction]:
    """The law of two independent numbers joined."""
    joined: dict[Any, Fraction] = {}
    for x, p in masses.items():
        for y, q in others.items():
            joined[join(x, y)] = joined.get(join(x, y), Fraction(0)) + p * q
    if len(joined) > _MOST_DISTANCES:
        raise TooLarge("under this metric tables have too many distances to add up; take l1, or fewer rows or values")
    return joined

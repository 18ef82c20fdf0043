"""Any finite family: a matrix of whole numbers, one row per input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins
from dproof.errors import InputError
from dproof.laws.family import Odds, Worst
from dproof.laws.guide import Guide, guide
from dproof.laws.pair import tight_odds

_UNIT = 2.0**-53  # relative error of one rounded operation
_BLOCK = 1 << 16  # numbers screened at a time, so that they stay in cache


@dataclass(frozen=True, eq=False)
class Matrix:
    """The solution matrix as whole numbers: P(Y_i = j) = rows[i, j] / total. HLM16, Definition 6.

    >>> Matrix(np.array([[3, 1], [1, 3]]), 4).worst(Fraction(1)).value
    Fraction(1, 2)
    """

    rows: NDArray[Any]  # int64, or Python integers when the total needs more
    total: int
    neighbours: NDArray[np.bool_] | None = None  # which ordered pairs count; all of them by default

    def __post_init__(self) -> None:
        if self.rows.ndim != 2 or 0 in self.rows.shape:
            raise InputError("a matrix law needs at least one row and one column")
        if self.total >= 1 << 62 and self.rows.dtype != object:
            raise InputError("a law whose total is 2^62 or more must hold Python integers")
        if self.neighbours is not None and self.neighbours.shape != (self.inputs, self.inputs):
            raise InputError("the neighbours of a law must be a square matrix over its inputs")
        if (self.rows < 0).any() or (self.rows.sum(axis=1) != self.total).any():
            raise InputError("every row of a law must be whole numbers of at least 0 that sum to its total")

    @property
    def inputs(self) -> int:
        return int(self.rows.shape[0])

    @property
    def outputs(self) -> int:
        return int(self.rows.shape[1])

    def weights(self, source: int) -> NDArray[Any]:
        return self.rows[source]  # type: ignore[no-any-return]

    def worst(self, odds: Fraction) -> Worst:
        """Screen all pairs in floats with a proven margin, then decide those near the top in whole numbers."""
        best = Worst(Fraction(0), 0, min(1, self.inputs - 1))
        columns = self._exceeding(odds)
        if not len(columns):
            return best
        rows = np.ascontiguousarray(self.rows[:, columns])
        laws = rows.astype(np.float64) / float(self.total)
        for source, targets in _near_the_top(laws, float(odds), self._counts):
            own, others = _masses(rows[source], rows[targets], odds)
            values = [Fraction(int(p)) - odds * int(q) for p, q in zip(own, others, strict=True)]
            value = max(values)
            if value > best.value * self.total:
                best = Worst(value / self.total, source, int(targets[values.index(value)]))
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
        other pair exceeds δ, and these odds serve all pairs, or one does, and its own tight odds are larger.
        """
        if delta == 0 and self.neighbours is None:
            return self._pure_odds()
        infinite = self._infinite(delta)
        if infinite is not None:
            return infinite
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
        best = Odds(Fraction(1), 0, min(1, self.inputs - 1))
        for column in self.rows.T:
            source, target = int(column.argmax()), int(column.argmin())
            most, least = int(column[source]), int(column[target])
            ratio = Odds(Fraction(most, least) if least else None, source, target)
            if most and ratio.exceeds(best):
                best = ratio
        return best

    def _infinite(self, delta: Fraction) -> Odds | None:
        """A pair with P(Q = 0) > δ, if there is one."""
        absent = self.rows == 0
        for target in np.flatnonzero(absent.any(axis=1)):
            masses = np.where(self._counts[:, target], self.rows[:, absent[target]].sum(axis=1), 0)
            source = int(masses.argmax())
            if int(masses[source]) > delta * self.total:
                return Odds(None, source, int(target))
        return None

    @cached_property
    def _guide(self) -> Guide:
        return guide(self.rows, self.total)

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        return self._guide.draw(codes, coins)

    def record(self) -> Mapping[str, Any]:
        rows = [[str(int(w)) for w in row] for row in self.rows]
        pairs = {} if self.neighbours is None else {"neighbours": np.argwhere(self._counts).tolist()}
        return {"kind": "matrix", "total": str(self.total), "rows": rows, **pairs}


def _near_the_top(
    laws: NDArray[np.float64], odds: float, counts: NDArray[np.bool_]
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Each input with those others against which its divergence may be the largest of all.

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
    near = counts & (scores >= scores.max() - margin)
    for source in np.flatnonzero(near.any(axis=1)):
        yield int(source), np.flatnonzero(near[source])


def _masses(law: NDArray[Any], others: NDArray[Any], odds: Fraction) -> tuple[NDArray[Any], NDArray[Any]]:
    """P(A) and Q(A), as whole numbers, of the worst set A = {P > eQ} against each of the other laws."""
    own, other = law.astype(np.float64), others.astype(np.float64)
    gap = own - other * float(odds)
    above = gap > 0
    a, b = odds.numerator, odds.denominator
    for n, y in np.argwhere(np.abs(gap) <= own * (16 * _UNIT)):  # too close to call in floats
        above[n, y] = int(law[y]) * b > int(others[n, y]) * a
    return np.where(above, law, 0).sum(axis=1), np.where(above, others, 0).sum(axis=1)

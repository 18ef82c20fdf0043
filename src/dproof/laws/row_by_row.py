"""The law of a table: every row by the law of one row, independently. HLM15, equation (7); HLM16, Definition 5."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import combinations_with_replacement
from math import comb, prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins
from dproof.errors import ArgumentError, TooLarge
from dproof.exact import exact
from dproof.laws.divergence import Odds, Worst
from dproof.laws.law import Law, Range, law_from_json, listed, read_number
from dproof.spaces.products import join_codes, one_row_apart, split_code
from dproof.spaces.space import narrowest

_LARGEST = 1 << 22  # outputs whose weights are written out
_MOST_TABLES = 1 << 10  # whose errors are compared
_MOST_DISTANCES = 1 << 12  # of a table, while rows are added one by one
ROWS: Range = (1, 1 << 40)


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
        _, outputs, _ = listed(self)
        if outputs > _LARGEST:
            raise TooLarge("the law of so many rows is too long to list; ask for single probabilities")
        laws = [np.array(self.row.weights(d), object) for d in self._digits(source, self._values)]
        return reduce(lambda left, right: np.multiply.outer(left, right).reshape(-1), laws)

    def probability(self, source: int, target: Any) -> Fraction:
        rows = Counter(zip(self._digits(source, self._values), self._digits(target, self.row.outputs), strict=True))
        return prod((self.row.probability(*pair) ** times for pair, times in rows.items()), start=Fraction(1))

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
        _, _, total = listed(self.row)
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
        return cls(law_from_json(record["law"]), read_number(record, "rows", ROWS))


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

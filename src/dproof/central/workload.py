"""Which residuals are measured, what one row can do to them, and tables as sums of them. No data is needed for it.

A table A of counts is a set of columns. Its residual is what it says beyond all smaller tables: Y_A v_A in whole
numbers, with Y_A = ⊗ (k_i I − 11ᵀ) over its columns. All residuals of the tables that are asked for, measured with
independent noise, tell everything about these tables, and no two of them tell the same. Combined without bias they give
every table again, with the variance of every answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import combinations
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dproof.privacy import Neighbours

Table: TypeAlias = tuple[int, ...]  # columns, by their places, in ascending order
ENUMERATED = 12  # columns of which every set that two rows may differ on is looked at
_LOOKED_AT = 1 << 19  # sets of columns times tables, with more columns that are alike
_FIXED = 1 << 64  # units of the whole numbers in which losses are added up, rounded up


@dataclass(frozen=True, slots=True, order=True)
class Residual:
    """The residual of a table of counts or, with a column of numbers or curves, of their sums by the table's cells.

    Of columns with two values each, the residual has one number but for its sign, their `contrast`: Σ ±v over the
    cells, with one sign where the cell has an even number of second values and the other where it has an odd one.
    """

    table: Table
    number: int | None = None
    contrast: bool = False


@dataclass(frozen=True, slots=True)
class Added:
    """What one row adds to a cell: a vector of whole numbers, of one where rows are counted or numbers added up.

    `square` bounds its squared Euclidean length and `steps` how many steps it is long, for noise that is charged by the
    step. A variance divided by `unit` is in units of the square of half the range: so a count, a number and a curve can
    be weighed together. Where a step costs ε, noise has about the variance 2 · `spread`/ε²; Laplace noise has spread 1.
    """

    terms: int
    square: int
    steps: int
    unit: float
    spread: float = 1.0


@dataclass(frozen=True, slots=True)
class Domain:
    """The columns: how many values each has, for numbers how many steps one lies from the middle at most, and what a
    curve adds to a sum of curves."""

    sizes: tuple[int, ...]
    max_abs: Mapping[int, int]
    curves: Mapping[int, Added] = field(default_factory=dict)

    def added(self, number: int | None) -> Added:
        """What one row adds to a cell of counts, or of the sums of a column.

        >>> Domain((3, 2), {1: 5}).added(1)
        Added(terms=1, square=25, steps=5, unit=25, spread=1.0)
        """
        if number is not None and number in self.curves:
            return self.curves[number]
        size = 1 if number is None else self.max_abs[number]
        return Added(1, size**2, size, size**2)

    def cells(self, table: Table) -> int:
        """How many cells a table has."""
        return prod(self.sizes[i] for i in table)

    def table_shape(self, measurement: Residual) -> tuple[int, ...]:
        """How many numbers a table has along each of its columns and, for curves, along their coefficients."""
        terms = (self.added(measurement.number).terms,) if measurement.number in self.curves else ()
        return (*(self.sizes[i] for i in measurement.table), *terms)

    def shape(self, measurement: Residual) -> tuple[int, ...]:
        """How many numbers are measured, along each column of a table; a contrast is one number."""
        return () if measurement.contrast else self.table_shape(measurement)

    def count(self, measurement: Residual) -> int:
        """How many numbers are measured."""
        return prod(self.shape(measurement))

    def norm(self, residual: Residual) -> int:
        """The squared length of what one row adds to a residual, at most: Π k_i(k_i − 1), times that of one cell.

        >>> Domain((3, 2), {1: 5}).norm(Residual((0, 1))), Domain((3, 2), {1: 5}).norm(Residual((0,), 1))
        (12, 150)
        """
        return self.added(residual.number).square * prod(self.sizes[i] * (self.sizes[i] - 1) for i in residual.table)

    def change(self, table: Table, differing: Iterable[int]) -> int:
        """The squared length of the difference when a row is replaced by one that differs on these columns.

        ‖Y(e_a − e_b)‖² = 2 Π k(k − 1) − 2 Π_{same} k(k − 1) Π_{different} (−k).

        >>> Domain((3, 2), {}).change((0, 1), {0}), Domain((3, 2), {}).change((0, 1), {0, 1})
        (36, 12)
        """
        apart = set(differing)
        inner = prod(-k if i in apart else k * (k - 1) for i, k in ((i, self.sizes[i]) for i in table))
        return 2 * self.norm(Residual(table)) - 2 * inner

    def sensitivity(self, residual: Residual, neighbours: Neighbours) -> int:
        """The squared length of what one row, or the change of one, does to a residual at most."""
        if neighbours == "add-remove":
            return self.norm(residual)
        if residual.number is not None:
            return 4 * self.norm(residual)
        # Each differing column multiplies the second term by −1/(k − 1): it is least with the one of fewest values.
        fewest = min(residual.table, key=lambda i: self.sizes[i], default=None)
        return self.norm(residual) if fewest is None else self.change(residual.table, [fewest])


def parts(tables: Iterable[Table]) -> list[Table]:
    """All tables within these, the smallest first.

    >>> parts([(0, 1), (1, 2)])
    [(), (0,), (1,), (2,), (0, 1), (1, 2)]
    """
    every = {part for table in tables for n in range(len(table) + 1) for part in combinations(table, n)}
    return sorted(every, key=lambda part: (len(part), part))


def cell_shares(sizes: Sequence[int], table: Table) -> dict[Table, float]:
    """The variance of one cell of a table for each unit of the variance of a residual within it.

    >>> cell_shares((2, 3), (0,))
    {(): 0.25, (0,): 0.5}
    """
    return {
        part: prod((sizes[i] - 1) / sizes[i] for i in part) * prod(1 / sizes[j] ** 2 for j in table if j not in part)
        for part in parts([table])
    }


def maximal(tables: Iterable[Table]) -> list[Table]:
    """The tables that are within no other.

    >>> maximal([(), (0,), (1,), (2,), (0, 1)]), maximal([()])
    ([(2,), (0, 1)], [()])
    """
    every = [set(table) for table in dict.fromkeys(tables)]
    return [tuple(sorted(table)) for table in every if not any(table < other for other in every)]


def largest_loss(domain: Domain, precisions: Mapping[Residual, Fraction], neighbours: Neighbours) -> Fraction:
    """max Σ ‖shift‖² · precision over neighbouring tables, or a bound above it; precision is that of one number.

    With precisions 1/γ² this is twice the ρ of concentrated privacy. Each term is rounded up to one part in 2^64, so
    that the sum of many has a short denominator.

    Under change-one it is a maximum over the columns on which the two rows differ. Up to twelve columns every set of
    them is looked at, and more where columns are alike, such as the items of a set: then it only matters how many of
    them there are. Beyond, pairs of columns are bounded as below. Where the number of rows is measured as well, a
    row may also be replaced by none.
    """
    changed = Fraction(0) if neighbours == "add-remove" else _largest_change(domain, precisions)
    if neighbours == "change-one" and Residual(()) not in precisions:
        return changed
    return max(changed, Fraction(sum(_fixed(domain.norm(r), p) for r, p in precisions.items()), _FIXED))


def _largest_change(domain: Domain, precisions: Mapping[Residual, Fraction]) -> Fraction:
    """The largest loss when a row is replaced by another one."""
    sums = Fraction(sum(_fixed(4 * domain.norm(r), p) for r, p in precisions.items() if r.number is not None), _FIXED)
    counts = {r.table: p for r, p in precisions.items() if r.number is None and r.table}
    columns = sorted({i for table in counts for i in table if domain.sizes[i] > 1})
    counts = {table: p for table, p in counts.items() if set(table) <= set(columns)}
    if not columns:
        return sums
    if len(columns) <= ENUMERATED:
        return sums + _enumerated(domain, counts, columns)
    alike = _alike(domain, counts, columns)
    if prod(len(same) + 1 for same in alike) * len(counts) <= _LOOKED_AT:
        return sums + _of_alike(domain, counts, alike)
    return sums + _bounded(domain, counts, columns)


def _fixed(length: Any, precision: Fraction) -> Any:
    """A loss, squared length times precision, in units of 2^-64, rounded up; of an array of lengths likewise."""
    return -(-length * precision.numerator * _FIXED // precision.denominator)


def _alike(domain: Domain, counts: Mapping[Table, Fraction], columns: Sequence[int]) -> list[list[int]]:
    """The columns in groups within which any two can be exchanged, and every table has its precision still.

    With very many groups each column is one.
    """
    around: dict[int, dict[Table, Fraction]] = {column: {} for column in columns}
    for table, precision in counts.items():
        for column in table:
            around[column][table] = precision

    def exchangeable(one: int, other: int) -> bool:
        if domain.sizes[one] != domain.sizes[other] or len(around[one]) != len(around[other]):
            return False
        swap = {one: other, other: one}
        return all(
            around[other].get(tuple(sorted(swap.get(i, i) for i in table))) == p for table, p in around[one].items()
        )

    groups: list[list[int]] = []
    for column in columns:
        if len(counts) << len(groups) > _LOOKED_AT:  # too many sets to look at
            return [[column] for column in columns]
        same = next((group for group in groups if exchangeable(group[0], column)), None)
        if same is None:
            groups.append([column])
        else:
            same.append(column)
    return groups


def _enumerated(domain: Domain, counts: Mapping[Table, Fraction], columns: Sequence[int]) -> Fraction:
    """The maximum over all sets of columns.

    A table and the part of it on which the rows differ are a place with a digit for each column: not in the table, in
    it and the same, in it and different. What the table loses counts for every set with this part, so digit by digit
    what is not in the table is added to both others.
    """
    losses = np.zeros((3,) * len(columns), object)
    for table, precision in counts.items():
        place = tuple(slice(1, 3) if column in table else 0 for column in columns)
        losses[place] = _fixed(_changes(tuple(domain.sizes[i] for i in table)), precision)
    for axis in range(len(columns)):
        absent, present = np.split(losses, [1], axis)
        losses = absent + present
    return Fraction(int(losses.max()), _FIXED)


def _of_alike(domain: Domain, counts: Mapping[Table, Fraction], alike: Sequence[Sequence[int]]) -> Fraction:
    """The maximum over all sets of columns; of those that are alike, the first ones stand for any as many."""
    numbers = np.indices([len(same) + 1 for same in alike]).reshape(len(alike), -1)
    differs = {
        column: (numbers[n] > place).astype(int) for n, same in enumerate(alike) for place, column in enumerate(same)
    }
    total = np.zeros(numbers.shape[1], object)
    for table, precision in counts.items():
        changes = _changes(tuple(domain.sizes[i] for i in table))
        total += _fixed(changes[tuple(differs[column] for column in table)], precision)
    return Fraction(int(total.max(initial=0)), _FIXED)


@lru_cache(maxsize=256)  # many tables have equal sizes, and calibration asks for them again and again
def _changes(sizes: Table) -> NDArray[Any]:
    """The squared length of a change, with an axis for each column of a table: 0 where the rows are the same on it."""
    inner = reduce(np.multiply.outer, (np.array([k * (k - 1), -k], object) for k in sizes))
    return np.asarray(2 * prod(k * (k - 1) for k in sizes) - 2 * inner)


def _bounded(domain: Domain, counts: Mapping[Table, Fraction], columns: Sequence[int]) -> Fraction:
    """An upper bound for any number of columns.

    For tables of one and two columns let x_i say whether the rows differ on column i and s = 1/(precision Πk²) the
    variance of a residual. The loss is 2 Σ x_i L_i − 2 Σ x_i x_j / s_ij with L_i = 1/s_i + Σ_j (1 − 1/k_j)/s_ij, and
    −x_i x_j ≤ 1 − x_i − x_j for both 1 and ≤ 0 else, weighed by λ_ij = 1 where that helps. Larger tables lose at most
    2 Π (1 − 1/k) over all columns but the smallest.
    """
    k = domain.sizes
    weight = {table: precision * prod(k[i] for i in table) ** 2 for table, precision in counts.items()}
    linear = dict.fromkeys(columns, Fraction(0))
    pairs, rest = {}, Fraction(0)
    for table, w in weight.items():
        if len(table) == 1:
            linear[table[0]] += w
        elif len(table) == 2:
            i, j = table
            linear[i] += w * (1 - Fraction(1, k[j]))
            linear[j] += w * (1 - Fraction(1, k[i]))
            pairs[i, j] = w
        else:
            least = min(table, key=lambda i: k[i])
            rest += w * 2 * prod(1 - Fraction(1, k[i]) for i in table if i != least)
    slack = dict(linear)
    for (i, j), w in pairs.items():
        slack[i] -= w
        slack[j] -= w
    with_pairs = sum(pairs.values()) + sum(max(Fraction(0), value) for value in slack.values())
    return Fraction(_fixed(1, rest + 2 * min(with_pairs, sum(linear.values(), Fraction(0)))), _FIXED)


Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def measured(counts: Integers, columns: int | None = None) -> Integers:
    """Y_A v_A: the residual of a table of counts, in whole numbers.

    Of a table of vectors too: its axes are so many columns, and the last one that of the vectors.

    >>> measured(np.array([5, 1, 3])).tolist(), measured(np.array(9)).tolist()
    ([6, -6, 0], 9)
    """
    for axis in range(counts.ndim if columns is None else columns):
        counts = counts * counts.shape[axis] - counts.sum(axis=axis, keepdims=True)
    return counts


def contrast(counts: Integers) -> Integers:
    """Σ ±v over the cells of a table whose columns have two values each.

    >>> contrast(np.array([[5, 1], [2, 4]])).tolist()
    6
    """
    for _ in range(counts.ndim):
        counts = counts[0] - counts[1]
    return np.asarray(counts)


def projected(values: Floats, columns: int) -> Floats:
    """P_A: what is left of a table when the means along each of its columns are taken away."""
    for axis in range(columns):
        values = values - values.mean(axis=axis, keepdims=True)
    return values


@dataclass(frozen=True, slots=True)
class ResidualEstimates:
    """The estimated residuals P_A v_A of counts, or of sums of one column, and the variance s_A of each.

    The covariance of a residual is s_A P_A, and different residuals are independent. What follows from them is the
    best linear unbiased estimate of every table at once, and consistent: two tables agree on what they share.

    Sums of curves have their coefficients along the last axis. Each has the same variances, independent of the others.
    """

    sizes: tuple[int, ...]
    residuals: Mapping[Table, Floats]
    variances: Mapping[Table, float]

    def table(self, columns: Table) -> Floats:
        """The estimated table over these columns.

        v_M = Σ over A within M of P_A v_A, spread evenly over the other columns.
        """
        terms = self.residuals[()].shape
        total = np.zeros((*(self.sizes[i] for i in columns), *terms))
        for part in parts([columns]):
            spread = prod(self.sizes[i] for i in columns if i not in part)
            own = tuple(self.sizes[i] if i in part else 1 for i in columns)
            total += self.residuals[part].reshape((*own, *terms)) / spread
        return total

    def cell_variance(self, columns: Table) -> float:
        """The variance of one cell of a table, the same for each."""
        return float(sum(self.variances[part] * cost for part, cost in cell_shares(self.sizes, columns).items()))


def estimates(
    sizes: Sequence[int],
    noisy: Mapping[Residual, Floats],
    variances: Mapping[Residual, float],
    *,
    number: int | None = None,
    known: int | None = None,
    plain: bool = False,
    tables: Iterable[Table] = (),
) -> ResidualEstimates:
    """The estimates from measured residuals, or from plain tables, with the variance of the noise on each number.

    `number` is the column whose sums are estimated instead of counts: of numbers or of curves. `known` is the number of
    rows where that is public: then the residual of the empty table has no noise. What several plain tables tell of one
    residual is weighed by precision. All of `tables` can be told, with columns that have one value too.
    """
    weighed: dict[Table, Floats] = {}
    precisions: dict[Table, float] = {}
    for measurement, values in noisy.items():
        if measurement.number == number:
            for part, factor in residual_variances(sizes, measurement, plain).items():
                variance = factor * variances[measurement]
                estimate = _part(sizes, measurement, values, part, plain)
                weighed[part] = weighed.get(part, 0.0) + estimate / variance
                precisions[part] = precisions.get(part, 0.0) + 1 / variance
    residuals = {part: total / precisions[part] for part, total in weighed.items()}
    spreads = {part: 1 / precision for part, precision in precisions.items()}
    if known is not None:
        residuals[()], spreads[()] = np.array(float(known)), 0.0
    for table in parts([*residuals, *tables]):
        if table not in residuals:  # that of a column with one value is zero
            terms = residuals[()].shape if table else ()
            residuals[table], spreads[table] = np.zeros((*(sizes[i] for i in table), *terms)), 0.0
    return ResidualEstimates(tuple(sizes), residuals, spreads)


def residual_variances(sizes: Sequence[int], measurement: Residual, plain: bool) -> dict[Table, float]:
    """The residuals that a measurement tells, each with its variance where that of a measured number is 1.

    A plain table M tells the residual of every A within it with covariance v Π k P_A, over the columns outside A.
    """
    table = measurement.table
    if measurement.contrast:
        return {table: 1 / 2 ** len(table)}
    if not plain:
        return {table: 1 / prod(sizes[i] for i in table) ** 2}
    return {part: float(prod(sizes[i] for i in table if i not in part)) for part in parts([table])}


def _part(sizes: Sequence[int], measurement: Residual, values: Floats, part: Table, plain: bool) -> Floats:
    """The residual of a part of a measured table, as this measurement tells it."""
    if measurement.contrast:
        signs = np.array(1.0)
        for _ in part:
            signs = np.multiply.outer(signs, [1.0, -1.0])
        return np.asarray(signs * (float(values) / 2 ** len(part)))
    if not plain:
        return projected(values / prod(sizes[i] for i in part), len(part))
    others = tuple(n for n, i in enumerate(measurement.table) if i not in part)
    return projected(values.sum(axis=others), len(part))

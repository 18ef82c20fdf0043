"""Which residuals are measured, what one row can do to them, and which noise is best. No data is needed for it.

A table A of counts is a set of columns. Its residual is what it says beyond all smaller tables: Y_A v_A in whole
numbers, with Y_A = ⊗ (k_i I − 11ᵀ) over its columns. All residuals of the tables that are asked for, measured with
independent noise, tell everything about these tables, and no two of them tell the same.

The variances of all that is asked are sums over residuals, and the noise is chosen to make them least. With δ > 0
residuals get discrete Gaussian noise; with δ = 0 plain tables of counts, and contrasts, get integer Laplace noise.
Curves are added up as whole numbers and get either, or K-norm noise: the plan alone decides.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, lru_cache, reduce
from itertools import chain, combinations
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dproof.curves.lattice import CurveLattice, Expansion, Split
from dproof.curves.noise import FEW_ROWS, least_noise
from dproof.errors import PlanError
from dproof.exact import exp_above, exp_below, least, least_falling, root_above
from dproof.laws.divergence import normal_delta
from dproof.laws.gaussian import Gaussian, GaussianSum, gaussian_law, gaussian_sum
from dproof.laws.k_norm import MOST_TERMS_L2, KNorm, k_norm
from dproof.laws.laplace import TwoSided, two_sided
from dproof.plans.plan import Objective
from dproof.privacy import Neighbours, Privacy
from dproof.spaces.space import Floats

Table: TypeAlias = tuple[int, ...]  # columns, by their places, in ascending order


class Residual(NamedTuple):
    """A measurement: the residual of a table of counts or, with a column of numbers or curves, of sums by its cells.

    With δ = 0 the plain table is measured instead of its residual (`plain` in the functions that take one).

    Of columns with two values each, the residual has one number but for its sign, their `contrast`: Σ ±v over the
    cells, with one sign where the cell has an even number of second values and the other where it has an odd one.

    The `ladder` of a number counts it by parts of its bins, as they are: a row lies in one of them, so that the counts
    move by 1 where it comes or goes, and by 1 in two of them where it is replaced, whatever the parts are. What is used
    is how the rows of a bin are spread over its parts; how many there are is told by the tables of bins.
    """

    table: Table
    number: int | None = None
    contrast: bool = False
    ladder: bool = False


@dataclass(frozen=True, slots=True)
class RowVector:
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


class WithinBins(NamedTuple):
    """The middles of the bins of a number that is added up about them, in units of half its range, nan where it is
    missing; and half the range in units of what is added up."""

    middles: Floats
    half_range: float

    def weights(self, about: float) -> Floats:
        """The middles about another number; what is missing has the weight 0 still."""
        return np.where(np.isnan(self.middles), 0.0, self.middles - about)


@dataclass(frozen=True, slots=True)
class Domain:
    """The columns that tables are made of, each known by its place."""

    sizes: tuple[int, ...]  # how many values each has
    max_abs: Mapping[int, int]  # of numbers: how many steps one lies from the middle at most
    curves: Mapping[int, RowVector] = field(default_factory=dict)  # of curves: what one adds to their sum
    within: Mapping[int, WithinBins] = field(default_factory=dict)  # of numbers that are added up within bins
    ladders: Mapping[int, tuple[int, ...]] = field(default_factory=dict)  # of numbers: the parts of each bin
    version: int = 4  # of the certificate: in 1 each sum is charged by itself, up to 2 fewer sets of columns looked at

    def added(self, number: int | None) -> RowVector:
        """What one row adds to a cell of counts, or of the sums of a column.

        >>> Domain((3, 2), {1: 5}).added(1)
        RowVector(terms=1, square=25, steps=5, unit=25, spread=1.0)
        """
        if number is not None and number in self.curves:
            return self.curves[number]
        size = 1 if number is None else self.max_abs[number]
        half_range = self.within[number].half_range if number in self.within else size  # type: ignore[index]
        return RowVector(1, size**2, size, half_range**2)

    def cells(self, table: Table) -> int:
        """How many cells a table has."""
        return prod(self.sizes[i] for i in table)

    def table_shape(self, measurement: Residual) -> tuple[int, ...]:
        """How many numbers a table has along each of its columns and, for curves, along their coefficients."""
        if measurement.ladder:
            return (sum(self.ladders[measurement.table[0]]),)
        terms = (self.added(measurement.number).terms,) if measurement.number in self.curves else ()
        return (*(self.sizes[i] for i in measurement.table), *terms)

    def shapes(self, measurements: Iterable[Residual]) -> dict[Residual, tuple[int, ...]]:
        """How many numbers each has, along each column of a table; a contrast is one number."""
        return {one: () if one.contrast else self.table_shape(one) for one in measurements}

    def count(self, measurements: Iterable[Residual]) -> int:
        """How many numbers are measured, all together."""
        return sum(map(prod, self.shapes(measurements).values()))

    def norm(self, residual: Residual) -> int:
        """The squared length of what one row adds to a residual, at most: Π k_i(k_i − 1), times that of one cell.

        >>> Domain((3, 2), {1: 5}).norm(Residual((0, 1))), Domain((3, 2), {1: 5}).norm(Residual((0,), 1))
        (12, 150)
        """
        if residual.ladder:
            return 1
        return self.added(residual.number).square * prod(self.sizes[i] * (self.sizes[i] - 1) for i in residual.table)

    def scale(self, residual: Residual) -> int:
        """The numbers that are measured of a residual, in parts of what it is: Π k_i, and 1 of a ladder."""
        return 1 if residual.ladder else self.cells(residual.table)

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
        if residual.ladder:
            return 2
        if residual.number is not None:
            return 4 * self.norm(residual)
        # Each differing column multiplies the second term by −1/(k − 1): it is least with the one of fewest values.
        fewest = min(residual.table, key=lambda i: self.sizes[i], default=None)
        return self.norm(residual) if fewest is None else self.change(residual.table, [fewest])


def subtables(tables: Iterable[Table]) -> list[Table]:
    """All tables within these, the smallest first.

    >>> subtables([(0, 1), (1, 2)])
    [(), (0,), (1,), (2,), (0, 1), (1, 2)]
    """
    every = {part for table in tables for n in range(len(table) + 1) for part in combinations(table, n)}
    return sorted(every, key=lambda part: (len(part), part))


@lru_cache(maxsize=1024)  # every estimate of every table asks for them
def parts_within(table: Table) -> Sequence[Table]:
    """All tables within one, itself the last."""
    return [part for n in range(len(table) + 1) for part in combinations(table, n)]


def has_many_subtables(
    sizes: Sequence[int], tables: Mapping[int | None, Sequence[Table]], most: int, *, pairs: bool
) -> bool:
    """Whether there are more than `most` tables within some; with `pairs` only columns with two values make them."""
    found = set[tuple[int | None, Table]]()
    for number, some in tables.items():
        for table in some:
            found.update((number, part) for part in parts_within(tuple(i for i in table if not pairs or sizes[i] == 2)))
            if len(found) > most:
                return True
    return False


@lru_cache(maxsize=64)  # every law that is tried, its widths and the page ask for the same tables
def cell_shares(sizes: tuple[int, ...], table: Table) -> Mapping[Table, float]:
    """The variance of one cell of a table for each unit of the variance of a residual within it.

    >>> cell_shares((2, 3), (0,))
    {(): 0.25, (0,): 0.5}
    """
    return dict(zip(parts_within(table), _shares(tuple(sizes[i] for i in table)), strict=True))


@lru_cache(maxsize=1024)
def _shares(sizes: tuple[int, ...]) -> Sequence[float]:
    """What `cell_shares` are for tables whose columns have so many values: most are alike."""
    places = range(len(sizes))
    return [
        prod((sizes[i] - 1) / sizes[i] for i in part) * prod(1 / sizes[j] ** 2 for j in places if j not in part)
        for part in parts_within(tuple(places))
    ]


def maximal(tables: Iterable[Table]) -> list[Table]:
    """The tables that are within no other.

    >>> maximal([(), (0,), (1,), (2,), (0, 1)]), maximal([()])
    ([(2,), (0, 1)], [()])
    """
    every = [frozenset(table) for table in dict.fromkeys(tables)]
    around: dict[int, list[frozenset[int]]] = {}
    for table in every:
        for column in table:
            around.setdefault(column, []).append(table)
    holding = (around[next(iter(table))] if table else every for table in every)  # where one that holds it would be
    return [tuple(sorted(one)) for one, near in zip(every, holding, strict=True) if not any(one < two for two in near)]


# What one row can do to residuals -------------------------------------------------------------------------------------

ENUMERATED = 12  # columns of which every set that two rows may differ on is looked at
STATES = 1 << 18  # sets of columns that are looked at where some are alike, times counts and each number's sums
_LOOKED_AT = 1 << 19  # such sets times tables, up to version 2
_FIXED = 1 << 64  # units of the whole numbers in which losses are added up, rounded up


def largest_loss(domain: Domain, precisions: Mapping[Residual, Fraction], neighbours: Neighbours) -> Fraction:
    """max Σ ‖shift‖² · precision over neighbouring tables, or a bound above it; precision is that of one number.

    With precisions 1/γ² this is twice the ρ of concentrated privacy. Each term is rounded up to one part in 2^64, so
    that the sum of many has a short denominator.

    Under change-one it is a maximum over the columns on which the two rows differ. Every set of them is looked at, up
    to about 17 columns, or more where columns are alike, such as the items of a set: then it only matters how many of
    them there are. Where no table has two of them, all or none is the worst: with the others fixed every table is
    linear in how many there are, and |Σ c| below is convex in it. Beyond, pairs of columns are bounded as below. Where
    the number of rows is measured as well, a row may also be replaced by none.

    Sums: one row adds a vector z to its cell, the other z', each of length √L at most. With N = Π k(k − 1) over the
    columns of a table and c = Π k(k − 1) over those that are the same times Π −k over those that differ, the residuals
    are ‖Y(z ⊗ e − z' ⊗ e')‖² = N(|z|² + |z'|²) − 2⟨z, z'⟩c apart. All tables of one column have the same z and z', so
    that, weighed by precisions, they lose Σ N(|z|² + |z'|²) − 2⟨z, z'⟩ Σ c ≤ 2L(Σ N + |Σ c|), as is reached by z' = ±z.
    Rows that differ everywhere move counts most, and sums by less than 4L Σ N; equal ones move sums alone.
    """
    changed = Fraction(0) if neighbours == "add-remove" else _largest_change(domain, precisions)
    if neighbours == "change-one" and Residual(()) not in precisions:
        return changed
    return max(changed, Fraction(sum(_fixed(domain.norm(r), p) for r, p in precisions.items()), _FIXED))


def _largest_change(domain: Domain, precisions: Mapping[Residual, Fraction]) -> Fraction:
    """The largest loss when a row is replaced by another one."""
    ladders = sum(_fixed(2, p) for r, p in precisions.items() if r.ladder)  # rows of one bin may be in two of its parts
    known = {
        r: p for r, p in precisions.items() if (r.table or r.number is not None) and domain.norm(r) and not r.ladder
    }
    sums, once = [r for r in known if r.number is not None], 4 if domain.version == 1 else 2
    always = Fraction(sum(_fixed(once * domain.norm(r), known[r]) for r in sums) + ladders, _FIXED)
    if domain.version == 1:
        known = {r: p for r, p in known.items() if r.number is None}
    columns = sorted({i for r in known for i in r.table})
    groups, steps = [[column] for column in columns], [1] * len(columns)
    if len(columns) > ENUMERATED:
        few = sum(1 << len(r.table) for r in known) <= STATES
        most = few * STATES // len({r.number for r in known}) if domain.version > 2 else _LOOKED_AT // len(known)
        groups = _alike(domain, known, columns, most)
        steps = [len(same) if domain.version < 3 or _are_paired(known, same) else 1 for same in groups]
        if prod(step + 1 for step in steps) > most:
            return always + _bounded(domain, known, columns)
    return always + _largest_of_groups(domain, known, groups, steps)


def _are_paired(known: Iterable[Residual], alike: Sequence[int]) -> bool:
    """Whether some table has two of these columns."""
    same = set(alike)
    return len(same) > 1 and any(len(same & {*one.table}) > 1 for one in known)


def _fixed(length: Any, precision: Fraction) -> Any:
    """A loss, squared length times precision, in units of 2^-64, rounded up; of an array of lengths likewise."""
    return -(-length * precision.numerator * _FIXED // precision.denominator)


def _alike(domain: Domain, known: Mapping[Residual, Fraction], columns: Sequence[int], most: int) -> list[list[int]]:
    """The columns in groups within which any two can be exchanged, and every table has its precision still.

    With so many groups that more than `most` sets would be looked at each column is one.
    """
    around: dict[int, dict[tuple[Table, int | None], Fraction]] = {column: {} for column in columns}
    for residual, precision in known.items():
        for column in residual.table:
            around[column][residual.table, residual.number] = precision

    def exchangeable(first: int, second: int) -> bool:
        if domain.sizes[first] != domain.sizes[second] or len(around[first]) != len(around[second]):
            return False
        swap = {first: second, second: first}
        return all(
            second in table or around[second].get((tuple(sorted(swap.get(i, i) for i in table)), number)) == p
            for (table, number), p in around[first].items()
        )

    groups: list[list[int]] = []
    for column in columns:
        if 1 << len(groups) > most:
            return [[column] for column in columns]
        same = next((group for group in groups if exchangeable(group[0], column)), None)
        if same is None:
            groups.append([column])
        else:
            same.append(column)
    return groups


def _largest_of_groups(
    domain: Domain, known: Mapping[Residual, Fraction], groups: Sequence[Sequence[int]], steps: Sequence[int]
) -> Fraction:
    """The maximum over all sets of columns, of which the first ones of each group stand for any as many.

    With one step all columns of a group differ, or none.
    """
    columns = [column for same in groups for column in same]
    few = len(columns) == len(groups) <= ENUMERATED

    def added(terms: Mapping[Table, NDArray[Any]]) -> NDArray[Any]:
        return _over_sets(terms, columns) if few else _over_groups(terms, groups, steps)

    losses = added(_terms(domain, {one.table: p for one, p in known.items() if one.number is None}, _changes))
    by_number: dict[int, dict[Table, Fraction]] = {}
    for one, precision in known.items():
        if one.number is not None:
            by_number.setdefault(one.number, {})[one.table] = precision
    for number, sums in by_number.items():  # Σ over columns of 2L|Σ c|
        moved = added(_terms(domain, sums, _inner, 2 * domain.added(number).square))
        losses = losses + np.maximum(moved, len(sums) - moved)  # terms were rounded up, none by a whole unit
    return Fraction(int(np.max(losses)), _FIXED)


def _over_groups(
    terms: Mapping[Table, NDArray[Any]], groups: Sequence[Sequence[int]], steps: Sequence[int]
) -> NDArray[Any]:
    """The sums of the terms of tables for every set of columns: an axis for each group, by how many of it differ.

    What a table loses is written as a sum over sets of its columns of a part that counts where they all differ; these
    are put at the first place where they do, and added up along every group.
    """
    first = {c: (n, place + 1 if steps[n] > 1 else 1) for n, same in enumerate(groups) for place, c in enumerate(same)}
    total, parts_of = np.zeros([step + 1 for step in steps], object), dict[int, NDArray[Any]]()
    for table, term in terms.items():
        if id(term) not in parts_of:
            parts = term
            for axis in range(len(table)):
                same, apart = np.split(parts, 2, axis)
                parts = np.concatenate([same, apart - same], axis)
            parts_of[id(term)] = parts
        for differs, part in np.ndenumerate(parts_of[id(term)]):
            place = [0] * len(steps)
            for column in (c for c, is_apart in zip(table, differs, strict=True) if is_apart):
                group, here = first[column]
                place[group] = here  # of several of a group the last one, as columns ascend
            total[tuple(place)] += part
    for axis in range(len(steps)):
        total = np.add.accumulate(total, axis)
    return total


_LIMB = 32  # bits: so many parts of whole numbers, of all tables that there can be, add up within 64


def _over_sets(terms: Mapping[Table, NDArray[Any]], columns: Sequence[int]) -> NDArray[Any]:
    """The sums of the terms of tables for every set of columns, as they have an axis for each of their own columns.

    A table and the part of it on which the rows differ are a place with a digit for each column: not in the table, in
    it and the same, in it and different. What the table loses counts for every set with this part, so digit by digit
    what is not in the table is added to both others. The numbers are longer than 64 bits, and added up in limbs.
    """
    own = sorted({column for table in terms for column in table})
    distinct = {id(term): term for term in terms.values()}
    limbs = 1 + max((int(np.max(np.abs(term))).bit_length() // _LIMB for term in distinct.values()), default=0)
    found, parts = np.zeros((*(3,) * len(own), limbs), np.int64), dict[int, NDArray[np.int64]]()
    for key, term in distinct.items():
        low = [term >> _LIMB * n & (1 << _LIMB) - 1 for n in range(limbs - 1)]
        parts[key] = np.stack([*low, term >> _LIMB * (limbs - 1)], -1).astype(np.int64)
    for table, term in terms.items():
        found[tuple(slice(1, 3) if column in table else 0 for column in own)] = parts[id(term)]
    for axis in range(len(own)):
        absent, present = np.split(found, [1], axis)
        found = absent + present
    total = sum(found[..., n].astype(object) << _LIMB * n for n in range(limbs))
    return np.asarray(total, object).reshape([2 if column in own else 1 for column in columns])


def _terms(
    domain: Domain, tables: Mapping[Table, Fraction], lengths: Callable[[Table], NDArray[Any]], factor: int = 1
) -> dict[Table, NDArray[Any]]:
    """What tables lose, as their sizes have it and their precisions weigh it: most are alike."""
    alike: dict[tuple[Table, int], NDArray[Any]] = {}
    found = {}
    for table, precision in tables.items():
        key = tuple(domain.sizes[i] for i in table), id(precision)  # a fraction takes long to be told from others
        if key not in alike:
            alike[key] = np.asarray(_fixed(lengths(key[0]) * factor, precision), object)
        found[table] = alike[key]
    return found


@lru_cache(maxsize=256)  # many tables have equal sizes, and calibration asks for them again and again
def _inner(sizes: Table) -> NDArray[Any]:
    """⟨Y e, Y e'⟩ of two rows, with an axis for each column of a table: 0 where the rows are the same on it."""
    factors = (np.array([k * (k - 1), -k], object) for k in sizes)
    return np.asarray(reduce(np.multiply.outer, factors, np.array(1, object)), object)


@lru_cache(maxsize=256)
def _changes(sizes: Table) -> NDArray[Any]:
    """The squared length of a change, with an axis for each column of a table."""
    return np.asarray(2 * prod(k * (k - 1) for k in sizes) - 2 * _inner(sizes))


def _bounded(domain: Domain, known: Mapping[Residual, Fraction], columns: Sequence[int]) -> Fraction:
    """An upper bound for any number of columns.

    For tables of one and two columns let x_i say whether the rows differ on column i and s = 1/(precision Πk²) the
    variance of a residual. The loss is 2 Σ x_i L_i − 2 Σ x_i x_j / s_ij with L_i = 1/s_i + Σ_j (1 − 1/k_j)/s_ij, and
    −x_i x_j ≤ 1 − x_i − x_j for both 1 and ≤ 0 else, weighed by λ_ij = 1 where that helps. Larger tables lose at most
    2 Π (1 − 1/k) over all columns but the smallest. Sums by no column, or by several, lose 4LN at most, and by one
    column 4LN − 2Lk(k − 2)x.
    """
    k = domain.sizes
    # Few tables differ in sizes and precision: what each such kind loses is worked out once, and added so many times.
    alike: dict[tuple[Any, ...], list[Table]] = {}
    for residual, precision in known.items():
        if residual.number is None:
            alike.setdefault((precision, *(k[i] for i in residual.table)), []).append(residual.table)
    linear, slack = dict.fromkeys(columns, Fraction(0)), dict.fromkeys(columns, Fraction(0))
    both, rest = Fraction(0), Fraction(0)
    for (precision, *sizes), tables in alike.items():
        w = precision * prod(sizes) ** 2
        if len(sizes) == 1:
            for (i,) in tables:
                linear[i], slack[i] = linear[i] + w, slack[i] + w
        elif len(sizes) == 2:
            both += len(tables) * w
            for place, size in enumerate(reversed(sizes)):
                for i, times in Counter(table[place] for table in tables).items():
                    linear[i] += times * w * (1 - Fraction(1, size))
                    slack[i] -= times * w * Fraction(1, size)
        else:
            rest += len(tables) * w * 2 * prod((1 - Fraction(1, size) for size in sorted(sizes)[1:]), start=Fraction(1))
    for residual, precision in known.items():
        if residual.number is not None:
            rest += 2 * domain.norm(residual) * precision
            if len(residual.table) == 1:
                (i,) = residual.table
                less = domain.added(residual.number).square * k[i] * (k[i] - 2) * precision
                linear[i], slack[i] = linear[i] - less, slack[i] - less
    with_pairs = both + sum(max(Fraction(0), value) for value in slack.values())
    alone = sum((max(Fraction(0), value) for value in linear.values()), Fraction(0))
    return Fraction(_fixed(1, rest + 2 * min(with_pairs, alone)), _FIXED)


# Which noise is best --------------------------------------------------------------------------------------------------

Costs: TypeAlias = Mapping[Residual, float]  # the variance of an answer for each unit of the variance of a residual
_WEIGHT_ROUNDS = 400  # in which the weights of answers are moved towards those with the largest variances
_LADDER_WEIGHT = 0.25  # of the rows up to a number, beside a cell of counts
_CLOSE_TO_BOUND = 1e-3  # of the largest variance to its lower bound, at which that ends


def cell_costs(domain: Domain, asked: Residual, about: float = 0.0) -> dict[Residual, float]:
    """The costs of one cell of a table of counts or, in units of half the range, of sums by a table.

    The sum of a number within bins is Σ m·count over its bins, m their middles, and the rest that is added up. Within
    one of its own bins it is that of a bin at an end of the range. With `about` it is the sum of x − about.
    """
    unit, number = domain.added(asked.number).unit, asked.number
    shares = cell_shares(domain.sizes, asked.table)
    costs = {Residual(part, number): cost / unit for part, cost in shares.items()}
    if number not in domain.within or number is None:
        return costs
    middles = domain.within[number].weights(about)
    if number in asked.table:
        largest = float(np.abs(middles).max()) ** 2
        return costs | {Residual(part): cost * largest for part, cost in shares.items()}
    mean, around = float(middles.mean()) ** 2, float(((middles - middles.mean()) ** 2).sum())
    for part, cost in shares.items():
        costs[Residual(part)] = cost * mean
        costs[Residual(tuple(sorted((*part, number))))] = cost * around
    return costs


def range_costs(domain: Domain, place: int) -> dict[Residual, float]:
    """The costs of the rows up to a part of a bin on the ladder of a number, on average over all parts.

    Up to part t of w of a bin these are the rows of the bins before it, t/w of its own, and what t parts have beside
    that: t(w − t)/w times the variance of one part.
    """
    parts, k = domain.ladders[place], domain.sizes[place]
    reached = np.array([b + t / w for b, w in enumerate(parts) for t in range(w)])
    inside = [t * (w - t) / w for w in parts for t in range(w)]
    bins = np.floor(reached)
    return {
        Residual(()): float(np.mean(reached**2)) / k**2,
        Residual((place,)): float(np.mean(bins + (reached - bins) ** 2 - reached**2 / k)),
        Residual((place,), ladder=True): float(np.mean(inside)),
    }


@dataclass(frozen=True, slots=True, eq=False)
class WeighedAnswers:
    """Answers with their weights: the weighed variance of each is Σ cost · variance over some residuals."""

    residuals: tuple[Residual, ...]
    answer: NDArray[np.int64]  # the answer, the residual and the cost of every entry
    residual: NDArray[np.int64]
    cost: Floats
    count: int

    @classmethod
    def of(cls, weighed: Iterable[tuple[float, Costs]], residuals: Sequence[Residual]) -> WeighedAnswers:
        """The answers with these weights and costs; what is not among the residuals has no variance."""
        place = {residual: n for n, residual in enumerate(residuals)}
        places, entries, weights = array("q"), array("d"), list[tuple[float, int]]()
        for weight, costs in weighed:
            before = len(places)
            for residual, cost in costs.items():
                known = place.get(residual)
                if known is not None:
                    places.append(known)
                    entries.append(cost)
            weights.append((weight, len(places) - before))
        times = [number for _, number in weights]
        cost = np.array(entries, np.float64) * np.repeat([weight for weight, _ in weights], times)
        answer = np.repeat(np.arange(len(weights)), times)
        return cls(tuple(residuals), answer, np.array(places, np.int64), cost, len(weights))

    @classmethod
    def of_cells(
        cls, domain: Domain, weights: Mapping[Residual, Fraction], residuals: Sequence[Residual], part: Fraction
    ) -> WeighedAnswers:
        """A cell of every table of counts or sums with this part of its weight, and the rows up to a number."""
        cells = ((float(part * weight), cell_costs(domain, key)) for key, weight in weights.items() if weight)
        ranges = ((float(part) * _LADDER_WEIGHT, range_costs(domain, place)) for place in domain.ladders)
        return cls.of(chain(cells, ranges), residuals)

    def and_of(self, other: WeighedAnswers) -> WeighedAnswers:
        """These answers and others, of the same residuals."""
        residual = np.concatenate([self.residual, other.residual])
        answer, cost = np.concatenate([self.answer, other.answer + self.count]), np.concatenate([self.cost, other.cost])
        return WeighedAnswers(self.residuals, answer, residual, cost, self.count + other.count)

    def costs(self, factors: Floats) -> Floats:
        """Of each residual, the costs of all answers, each times its factor."""
        return np.asarray(np.bincount(self.residual, self.cost * factors[self.answer], len(self.residuals)), float)

    def variances(self, residuals: Floats) -> Floats:
        """The weighed variance of each answer."""
        return np.asarray(np.bincount(self.answer, self.cost * residuals[self.residual], self.count), float)

    def value(self, residuals: Floats, objective: Objective) -> float:
        """What shall be least."""
        variances = self.variances(residuals)
        return float(variances.sum() if objective == "total" else variances.max(initial=0.0))


def best(answers: WeighedAnswers, objective: Objective, solve: Callable[[Floats], Floats]) -> Floats:
    """The costs of residuals for which `solve` gives the variances that make the total, or the largest, least.

    `solve` gives the variances of residuals that make Σ cost · variance least at a fixed loss. With f(λ) that least sum
    for the costs Σ λ · cost of the answers, and Σ λ = 1, the least possible largest variance is the greatest f(λ): more
    weight goes to answers whose variance is larger, until the largest is no longer above their mean. With the power 3/2
    of the variance no step makes f smaller, for Gaussian noise (Cauchy) as for Laplace noise (Hölder).
    """
    factors = np.ones(answers.count)
    if objective == "total" or not answers.count:
        return answers.costs(factors)
    factors /= answers.count
    least, chosen = np.inf, answers.costs(factors)
    for _ in range(_WEIGHT_ROUNDS):
        costs = answers.costs(factors)
        variances = answers.variances(solve(costs))
        if variances.max() < least:
            least, chosen = float(variances.max()), costs
        if variances.max() <= (1 + _CLOSE_TO_BOUND) * float(factors @ variances):
            break
        factors = factors * (variances / variances.max()) ** 1.5
        factors /= factors.sum()
    return chosen


def residual_losses(domain: Domain, residuals: Sequence[Residual]) -> Floats:
    """The loss of each residual for each unit of 1/2s: Δ²/Πk² under add-remove."""
    return np.array([domain.norm(one) / domain.scale(one) ** 2 for one in residuals])


def shape(domain: Domain, answers: WeighedAnswers, objective: Objective) -> dict[Residual, float]:
    """The variances of residuals, up to one factor, that make the total or the largest variance of answers least.

    With c the cost of a residual and p its loss for each unit of 1/2s, the least Σ cs at a given Σ p/2s has s = √(p/c).
    Xiao, He, Zhang, Kifer 2023.
    """
    losses = residual_losses(domain, answers.residuals)

    def solve(costs: Floats) -> Floats:
        return np.asarray(np.sqrt(losses / costs) * np.sqrt(losses * costs).sum())  # at Σ p/s = 1

    found = solve(best(answers, objective, solve)) if answers.residuals else np.zeros(0)
    return dict(zip(answers.residuals, found.tolist(), strict=True))


@lru_cache(maxsize=4096)  # every law that is tried, and every estimate, asks for them
def residual_variances(sizes: tuple[int, ...], measurement: Residual, plain: bool) -> Mapping[Residual, float]:
    """The residuals that a measurement tells, each with its variance where that of a measured number is 1.

    A plain table M tells the residual of every A within it with covariance v Π k P_A, over the columns outside A.
    """
    table, number = measurement.table, measurement.number
    if measurement.ladder:
        return {measurement: 1.0}
    if measurement.contrast:
        return {Residual(table): 1 / 2 ** len(table)}
    if not plain:
        return {Residual(table, number): 1 / prod(sizes[i] for i in table) ** 2}
    outside = {part: prod(sizes[i] for i in table if i not in part) for part in parts_within(table)}
    return {Residual(part, number): float(cells) for part, cells in outside.items()}


def told_precisions(
    sizes: tuple[int, ...], variances: Mapping[Residual, float], *, plain: bool
) -> dict[Residual, float]:
    """The precision, one over the variance, of each residual that measurements tell whose numbers have these variances.

    No data change it. What several measurements tell of one residual is weighed by precision, so precisions add up.
    """
    precisions: dict[Residual, float] = {}
    for measurement, variance in variances.items():
        for residual, factor in residual_variances(sizes, measurement, plain).items():
            precisions[residual] = precisions.get(residual, 0.0) + 1 / (factor * variance)
    return precisions


# Discrete Gaussian noise, where δ > 0 ---------------------------------------------------------------------------------

_SMOOTHING_SQUARE = 4  # τ²: of a discrete Gaussian's variance, the part that hides where the lattice lies
# κ ≥ ln((1 + η)/(1 − η)) with η = 2 Σ_j exp(−2π²τ²j²) < 2^-112 at τ = 2, and the ripple of sums of draws.
_RIPPLE = Fraction(1, 1 << 104)
_CUT = Fraction(1, 1 << 64)  # how far what is drawn may lie from the ideal law, in total variation
_LARGEST_EPSILON = Fraction(16)  # ε beyond which its δ is no smaller: e^ε times what is cut off would weigh more
_LEAST_SQUARE = 25  # γ² of what is drawn, below which the lattice shows
_FINE_SQUARE = 400  # γ² of what is drawn, from which the smoothing costs no more than a hundredth of it
_MOST_NUMBER_PARTS = 64  # parts that a whole number is divided into at most
_LARGEST_TABLED = 1 << 18  # γ² up to which one table holds the law
_SQUARE_BITS = 20  # bits of a γ², and of what a step may cost
_LARGEST_FACTOR = Fraction(1 << 90)  # the largest factor of a shape that is tried


@lru_cache(maxsize=1024)
def noise_law(square: Fraction) -> Gaussian | GaussianSum:
    """The law of the noise that is drawn: N_Z(0, γ²) but for what `_RIPPLE` and `_CUT` charge."""
    if square < _LEAST_SQUARE:
        raise PlanError("the noise would be too narrow to be charged as Gaussian noise: ask for a smaller epsilon")
    if square > _LARGEST_TABLED:
        return gaussian_sum(square)
    law = gaussian_law(square)
    if law.unit != 1 or law.distance > _CUT:
        raise AssertionError("a table must hold the discrete Gaussian law itself")
    return law


def parts_of(square: Fraction) -> int:
    """Into how many parts a whole number is divided, so that a lattice of these is fine beside noise with this γ².

    A number v is measured as parts · v with noise of parts² · γ², all in whole numbers.

    >>> parts_of(Fraction(400)), parts_of(Fraction(2))
    (1, 16)
    """
    parts = 1
    while parts < _MOST_NUMBER_PARTS and square * parts**2 < _FINE_SQUARE:
        parts *= 2
    return parts


def delta(
    domain: Domain,
    squares: Mapping[Residual, Fraction],
    epsilon: Fraction,
    neighbours: Neighbours,
    persons_rows: int = 1,
    *,
    in_parts: bool = True,
) -> Fraction:
    """An upper bound of δ at ε, when every number of each residual gets independent noise with that γ².

    N_Z(0, γ²) is, pointwise within a factor e^(±κ), what becomes of N(0, γ² − τ²) when a point c of it is replaced by a
    draw of N_Z(c, τ²): completing the square leaves Σ_j exp(−(j − c)²/2τ²), which by Poisson's summation hardly depends
    on c. So all N numbers together are within e^(±Nκ) of a post-processing of Gaussian noise, whose profile at distance
    μ is exact (Balle and Wang 2018); μ² = max Σ ‖shift‖²/(γ² − τ²). What the tables cut off is charged in full.

    Where a number is measured in parts, as it is unless `in_parts` says otherwise, τ is so many parts of a whole one.
    A person with r rows moves every number r times as far at most.
    """
    return _delta_by_noise(domain, squares, epsilon, neighbours, persons_rows, in_parts)(squares)


def cut_off(numbers: int) -> Fraction:
    """How far so many drawn numbers together may lie from their ideal laws, in total variation, at most."""
    return 4 * numbers * _CUT


def _delta_by_noise(
    domain: Domain,
    residuals: Iterable[Residual],
    epsilon: Fraction,
    neighbours: Neighbours,
    persons_rows: int,
    in_parts: bool,
) -> Callable[[Mapping[Residual, Fraction]], Fraction]:
    """The bound of δ at ε for any γ² of these residuals: what their ripple costs, and what is cut off, is the same."""
    epsilon, numbers = min(epsilon, _LARGEST_EPSILON), domain.count(residuals)
    slack = 2 * numbers * _RIPPLE
    factor, cut = exp_above(slack), (1 + exp_above(epsilon)) * cut_off(numbers)

    def bound(squares: Mapping[Residual, Fraction]) -> Fraction:
        distinct = set(squares.values())
        precisions = {s: 1 / (s - Fraction(_SMOOTHING_SQUARE, parts_of(s) ** 2 if in_parts else 1)) for s in distinct}
        loss = largest_loss(domain, {r: precisions[square] for r, square in squares.items()}, neighbours)
        distance = root_above(loss * persons_rows**2)
        return min(Fraction(1), factor * normal_delta(distance, epsilon - 2 * slack) + cut)

    return bound


def calibrate(
    domain: Domain,
    shape: Mapping[Residual, float],
    privacy: Privacy,
    persons_rows: int = 1,
    *,
    in_parts: bool = True,
) -> dict[Residual, Fraction]:
    """The least noise of this shape that keeps the promise: γ² of each residual, rounded up to 20 bits.

    `shape` has the variances of residuals up to a factor; what is returned has itself been found to do.
    """
    lowest = Fraction(_FINE_SQUARE, _MOST_NUMBER_PARTS**2) if in_parts else Fraction(_LEAST_SQUARE)
    if not privacy.delta:
        raise PlanError("Gaussian noise needs delta above 0")

    wide = {r: Fraction(s) * domain.scale(r) ** 2 for r, s in shape.items()}
    distinct = set(wide.values())  # few, as most tables are alike
    # Factors are 1/μ² by this unit, so where their search begins and ends does not depend on the units of the shape.
    unit = largest_loss(domain, {r: 1 / square for r, square in wide.items()}, privacy.neighbours)

    bound = _delta_by_noise(domain, wide, privacy.epsilon, privacy.neighbours, persons_rows, in_parts)

    def squares(factor: Fraction) -> dict[Residual, Fraction]:
        rounded = {square: -_rounded_down(-max(square * unit * factor, lowest)) for square in distinct}
        return {r: rounded[square] for r, square in wide.items()}

    @cache
    def of_noise(noise: tuple[Fraction, ...]) -> Fraction:
        return bound(dict(zip(wide, noise, strict=True)))

    def delta_of(factor: Fraction) -> Fraction:
        return of_noise(tuple(squares(factor).values()))  # the last factors that are tried round to the same squares

    if delta_of(_LARGEST_FACTOR) > privacy.delta:
        raise PlanError("no noise that can be drawn keeps this promise: allow a larger epsilon or delta")
    return squares(least_falling(delta_of, privacy.delta, Fraction(1)))


def _rounded_down(value: Fraction) -> Fraction:
    """A fraction of 20 bits, not above this one."""
    scale = Fraction(2) ** (_SQUARE_BITS - (value.numerator.bit_length() - value.denominator.bit_length()))
    return Fraction(value * scale // 1) / scale


# Integer Laplace noise, where δ = 0 -----------------------------------------------------------------------------------

_SLACK = Fraction(1, 1 << 40)  # of ε, left for the rounding of the largest change of contrasts
_ROUNDS = 12  # in which the split is improved


@lru_cache(maxsize=1024)
def laplace_law(step: Fraction) -> TwoSided:
    """The law of the noise on each number, of which a shift by one step costs this ε at most."""
    return two_sided(exp_below(step))


def measured_tables(domain: Domain, tables: Sequence[tuple[int, ...]], *, contrasts: bool) -> list[Residual]:
    """What is measured to tell these tables of counts: the largest ones or, of those whose columns all have two values,
    the contrast of every table within them.

    >>> [one.table for one in measured_tables(Domain((2, 2, 3), {}), [(0, 1), (1, 2)], contrasts=True)]
    [(1, 2), (), (0,), (1,), (0, 1)]
    """
    largest = maximal(tables)
    pairs = [table for table in largest if contrasts and table and all(domain.sizes[i] == 2 for i in table)]
    plain = [Residual(table) for table in largest if table not in pairs]
    return [*plain, *(Residual(table, None, True) for table in subtables(pairs))]


def steps(domain: Domain, table: Residual, neighbours: Neighbours, persons_rows: int) -> int:
    """How many steps a person moves a table at most, over all its cells: one for a row that comes or goes.

    >>> steps(Domain((2,), {}), Residual((0,)), "change-one", 3)
    6
    """
    return persons_rows * domain.added(table.number).steps * (1 if neighbours == "add-remove" else 2)


def spent(domain: Domain, costs: Mapping[Residual, Fraction], neighbours: Neighbours, persons_rows: int) -> Fraction:
    """The ε of measurements of which a step costs so much each, for a person.

    A row that comes or goes moves every contrast by one step. One that is replaced by another moves a contrast by two
    if they differ on an odd number of its columns, else not at all: with k = 2 this is Δ²_A(S)/2^(|A|+1). Where the
    number of rows is measured by itself, a row may also be replaced by none.
    """
    added = sum((steps(domain, one, "add-remove", 1) * cost for one, cost in costs.items()), Fraction(0))
    if neighbours == "add-remove":
        return persons_rows * added
    plain = sum((steps(domain, m, neighbours, 1) * cost for m, cost in costs.items() if not m.contrast), Fraction(0))
    contrasts = {Residual(m.table): cost / 2 ** (len(m.table) + 1) for m, cost in costs.items() if m.contrast}
    contrasts.pop(Residual(()), None)
    largest = max(contrasts.values(), default=Fraction(1))  # losses are rounded up to parts of 1, not of a small ε
    changed = plain + largest * largest_loss(domain, {m: c / largest for m, c in contrasts.items()}, neighbours)
    return persons_rows * (max(added, changed) if Residual((), None, True) in costs else changed)


def split_epsilon(
    domain: Domain,
    measurements: Sequence[Residual],
    answers: WeighedAnswers,
    privacy: Privacy,
    persons_rows: int = 1,
    objective: Objective = "total",
) -> dict[Residual, Fraction]:
    """What a step of each measurement may cost, such that all together cost ε, rounded down.

    The total, or the largest, variance of the answers is least, or nearly: the variance of a number is about 2/cost²,
    times the spread of its noise.
    """
    moved = np.array([float(steps(domain, one, privacy.neighbours, 1)) for one in measurements])
    places = {residual: n for n, residual in enumerate(answers.residuals)}
    entries = [
        (n, places[residual], factor * domain.added(measured.number).spread)
        for n, measured in enumerate(measurements)
        for residual, factor in residual_variances(domain.sizes, measured, True).items()
        if residual in places
    ]
    *places_of, factors = np.array(entries, np.float64).reshape(-1, 3).T
    measurement, residual = (column.astype(np.int64) for column in places_of)

    def improved(costs: Floats) -> tuple[Floats, Floats]:
        """What a step of each measurement shall cost for these costs of residuals, and the variances of these.

        At the optimum a step costs ∝ (w/steps)^(1/3), with w the derivative of the total by the measurement's variance.
        """
        shares, least, kept = 1 / (moved * len(moved)), np.inf, (moved, costs)
        for _ in range(_ROUNDS):
            precisions = shares[measurement] ** 2 / (2 * factors)
            variances = 1 / np.bincount(residual, precisions, len(costs))
            if float(costs @ variances) < least:
                least, kept = float(costs @ variances), (shares, variances)
            weights = np.bincount(
                measurement, (costs * variances**2)[residual] * precisions * shares[measurement] ** 2 / 2, len(moved)
            )
            wanted = np.cbrt(weights / moved)
            shares = np.sqrt(shares * wanted / (moved @ wanted))
            shares = shares / (moved @ shares)
        return kept

    shape = improved(best(answers, objective, lambda costs: improved(costs)[1]))[0]
    exact = {measured: Fraction(float(cost)) for measured, cost in zip(measurements, shape, strict=True)}
    unit = privacy.epsilon / spent(domain, exact, privacy.neighbours, persons_rows)
    if any(measured.contrast for measured in measurements):
        unit *= 1 - _SLACK
    return {measured: _rounded_down(cost * unit) for measured, cost in exact.items()}


# Curves, added up as whole numbers ------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def lattice_of(expansion: Expansion, privacy: Privacy) -> CurveLattice:
    """The lattice on which the mean of 1,000 curves would have the least error, were nothing else measured.

    The noise of all measurements is chosen together, and needs to know the lattices first. So of the expansions that
    the plan allows that one is taken which would be best with all of the promise, were there no lattice.
    """
    splits: tuple[Split, ...] = ("gaussian",) if privacy.delta else ("k_norm",)

    def foreseen(lattice: CurveLattice, _: Split) -> _ForeseenNoise:
        added = added_curve(lattice)
        if privacy.delta:
            return _ForeseenNoise(_normal_deviation(privacy) ** 2 * added.square)
        return _ForeseenNoise(2 * added.spread * (added.steps / float(privacy.epsilon)) ** 2)

    return least_noise(expansion.without_missing, splits, foreseen, Fraction(1, FEW_ROWS**2))[0]


class _ForeseenNoise(NamedTuple):
    """The noise that a sum of curves would have with all of the promise."""

    variance: float


@lru_cache(maxsize=64)
def _normal_deviation(privacy: Privacy) -> float:
    """The standard deviation of normal noise that hides a move by 1."""
    return float(least(lambda scale: normal_delta(1 / scale, privacy.epsilon) <= privacy.delta, Fraction(1)))


def has_k_norm(lattice: CurveLattice) -> bool:
    """Whether noise by the norm of the region can be drawn; in a ball of many terms it cannot."""
    return lattice.ball == "linf" or lattice.terms <= MOST_TERMS_L2


def pure_noise(lattice: CurveLattice, cost: Fraction) -> KNorm | TwoSided:
    """The noise with δ = 0 on the vector of each cell: K-norm noise, of which a curve that comes or goes costs so much;
    or Laplace noise on each number, of which a step does."""
    if not has_k_norm(lattice):
        return laplace_law(cost)
    return k_norm(lattice.ball, lattice.terms, lattice.size("linf", "add-remove"), cost)


def added_curve(lattice: CurveLattice) -> RowVector:
    """What a curve adds to a sum: a lattice vector z with |z|² at most that of the region.

    For noise by the norm of the region it is one step, else |z|₁ steps. With T from a gamma law with k + 1 as its shape
    K-norm noise is even on a cube with sides of 2ST/ε, or in a ball with the radius ST/ε; S is that of the region.

    Its unit: the variance of a coefficient at which a grid point, on average over the grid, has the variance of half
    the range from low to high.
    """
    k, size = lattice.terms, lattice.size("linf", "add-remove")
    steps, spread = lattice.size("l1", "add-remove"), 1.0
    if has_k_norm(lattice):
        steps, spread = 1, size**2 * (k + 1) / 2 * ((k + 2) / 3 if lattice.ball == "linf" else 1)
    half = float(lattice.space.high - lattice.space.low) / 2
    unit = half**2 / float(np.mean(variances_at_points(lattice)))
    return RowVector(k, lattice.size("l2", "add-remove"), steps, unit, spread)


def variances_at_points(lattice: CurveLattice) -> Floats:
    """The variance at each grid point of a sum of curves whose coefficients have the variance 1, each by itself."""
    at_points = (lattice.scales[:, None] * lattice.functions(lattice.space.times)) ** 2
    return np.asarray(at_points.sum(axis=0))

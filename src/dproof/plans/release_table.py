"""What a plan of the central model measures: the table [release], and how each column is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import comb
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dproof.columns.column import Column
from dproof.errors import did_you_mean
from dproof.plans.reader import Misplaced, Reader
from dproof.spaces.bins import Bins, default_bins, each_value

Objective: TypeAlias = Literal["total", "largest"]  # of all variances that a plan asks for, which is made least
_USUAL = 2  # columns of a table, where the plan does not say which tables it wants
_MOST_VALUES = 1 << 16  # of a column
_MOST_TABLES = 4096
_LARGEST_WEIGHT = Fraction(10**9)
_SUM_WEIGHT = Fraction(1, 16)  # of a sum beside a cell: twice the noise, for a quarter of what it would cost
Listed: TypeAlias = tuple[tuple[tuple[str, ...], Fraction], ...]  # tables of columns, with their weights
# What a plan can say that changes how rows are drawn one by one, and nothing else.
_ROW_BY_ROW = "belongs to model = 'local', where rows are drawn one by one: leave it out"


@dataclass(frozen=True, slots=True)
class AskedTables:
    """The tables of counts that a release shall answer, and the sums of a number by a table, each with its weight.

    `axes` are the columns of the plan as they are counted, in its order. Where `questions` choose the tables, the
    variance of their answers is made least, else that of the cells: the total one, or the largest. With `rows` there
    are made-up rows too. Curves are added up wherever they stand in a table.
    """

    axes: tuple[TableAxis, ...]
    tables: Listed
    sums: tuple[tuple[tuple[str, ...], str, Fraction], ...]
    rows: bool
    objective: Objective
    questions: bool = False


@dataclass(frozen=True, slots=True)
class TableAxis:
    """A column as it is counted: its values, its bins, whether a set holds one item, or whether a curve is there.

    Numbers in bins may be added up as well, as whole numbers about the middle of their range; where each value is
    counted by itself, its sum follows. Dates have no sums, in bins or not. Curves are added up by their coefficients.
    """

    column: Column
    bins: Bins
    name: str
    size: int
    item: int | None = None
    has_curves: bool = False
    is_binned: bool = False  # whether several values are counted together
    max_abs: int | None = None  # the largest distance from the middle among the whole numbers that are added up
    unit: Fraction = Fraction(1)  # what one of these whole numbers is worth

    @classmethod
    def of_bins(cls, column: Column, bins: Bins) -> TableAxis:
        """The axis of a column whose values, numbers or dates are counted by bins."""
        is_binned = bins.size < bins.stop
        if not is_binned or not column.space.has_sums:
            return cls(column, bins, column.name, bins.size, is_binned=is_binned)
        from dproof.questions.sums import whole_scale  # takes all laws, which few plans need

        scale = whole_scale(column.space, True)
        return cls(column, bins, column.name, bins.size, None, False, True, int(scale.ends[1]), scale.unit)

    @property
    def is_added_up(self) -> bool:
        """Whether sums of the column have to be measured: counts of its values or bins do not tell them."""
        return self.has_curves or self.max_abs is not None

    def of(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        """The place of each code along the axis."""
        if self.has_curves:  # a curve has all its places, or none
            codes = np.where(codes[:, 0] < 0, self.column.space.absent or 0, 0)
        return self.bins.of(codes if self.item is None else codes >> self.item & 1)


def axes_of(column: Column) -> tuple[TableAxis, ...]:
    """Categories by value, numbers and dates by the plan's bins or by default ones; a missing value is one more.

    A set has an axis for each of its items, and one for being missing. Of curves it is counted how many there are.

    >>> from dproof.spaces import Interval, Subsets
    >>> [axis.size for axis in axes_of(Column("age", "interval", ("age",), Interval(0, 100)))]
    [10]
    >>> [axis.name for axis in axes_of(Column("pets", "subsets", ("pets",), Subsets(["cat", "dog"])))]
    ['pets: cat', 'pets: dog']
    """
    space = column.space
    if space.items is not None:
        named = [(f"{column.name}: {item}", place) for place, item in enumerate(space.items)]
        return tuple(TableAxis(column, Bins((0, 1), ("no", "yes"), 2), name, 2, place) for name, place in named)
    if space.holds_curves:
        bins = Bins((0,), ("there",), 1).with_missing(space.absent)
        return (TableAxis(column, bins, column.name, bins.size, has_curves=True),)
    inside = space.present or space
    if inside.line is None:
        if space.size > _MOST_VALUES:
            problem = f"has more than {_MOST_VALUES:,} values: declare fewer, or drop it"
            raise Misplaced(("columns", column.name), problem)
        return (TableAxis.of_bins(column, each_value(space)),)
    return (TableAxis.of_bins(column, (column.bins or default_bins(inside)).with_missing(space.absent)),)


def read_asked(top: Reader, columns: Sequence[Column], model: str) -> AskedTables | None:
    """The [release] of a plan whose model is central; None where the model is local."""
    if model != "central":
        if "release" in top:
            raise Misplaced(("release",), "belongs to model = 'central' under [privacy]: add that, or leave it out")
        return None
    _refuse_row_by_row(top)
    private = [column for column in columns if column.private]
    by_column = {column.name: axes_of(column) for column in private}
    axes = tuple(axis for some in by_column.values() for axis in some)
    release = top.table("release") if "release" in top else Reader({}, ("release",))
    objective: Objective = release.choice("objective", ("total", "largest"), "total")  # type: ignore[assignment]
    if "questions" in top and "tables" not in release:
        for key in ("sums", "rows"):
            if release.flag(key):
                raise release.wrong(key, "needs `tables`: [[questions]] choose only the tables and sums they need")
        release.finish()
        return AskedTables(axes, (), (), False, objective, questions=True)
    tables, rows = _read_tables(release, by_column), release.flag("rows")
    if rows and all(column.space.holds_curves for column in private):
        raise release.wrong("rows", "would be empty: made-up rows leave out curves, and the plan has nothing else")
    asked = AskedTables(axes, _counted(tables, axes), _sums(tables, axes, release.flag("sums")), rows, objective)
    release.finish()
    return asked


def _always_there(axes: Sequence[TableAxis]) -> set[str]:
    """The columns of curves of which none may be missing: they tell no rows apart, so no table is counted by them."""
    return {axis.name for axis in axes if axis.has_curves and axis.size == 1}


def _counted(tables: Listed, axes: Sequence[TableAxis]) -> Listed:
    """The tables of counts; where there are none, all rows are counted, for the mean of the curves."""
    left_out = _always_there(axes)
    weights: dict[tuple[str, ...], Fraction] = {}
    for table, weight in tables:
        weights.setdefault(tuple(name for name in table if name not in left_out), weight)
    if len(weights) > 1 and left_out:
        weights.pop((), None)
    return tuple(weights.items())


def _sums(
    tables: Listed, axes: Sequence[TableAxis], has_numbers: bool
) -> tuple[tuple[tuple[str, ...], str, Fraction], ...]:
    """The curves in each table, and with `has_numbers` the numbers, added up by its other columns."""
    summed = {axis.name for axis in axes if axis.has_curves or (has_numbers and axis.is_added_up)}
    left_out = _always_there(axes)
    found: dict[tuple[tuple[str, ...], str], Fraction] = {}
    for table, weight in tables:
        for column in (name for name in table if name in summed):
            key = tuple(name for name in table if name != column and name not in left_out), column
            found[key] = found.get(key, Fraction(0)) + weight * _SUM_WEIGHT
    return tuple((table, column, weight) for (table, column), weight in found.items())


def _refuse_row_by_row(top: Reader) -> None:
    for key in ("joint", "order"):
        if key in top:
            raise Misplaced((key,), _ROW_BY_ROW)
    columns = top.table("columns")
    for name in columns:
        table = columns.table(name)
        for key in ("share", "mechanism"):
            if key in table:
                raise table.wrong(key, _ROW_BY_ROW)
        if "public" in table:
            raise table.wrong("public", "releases rows as they are, and model = 'central' releases none: drop it")


def _read_tables(release: Reader, by_column: Mapping[str, Sequence[TableAxis]]) -> Listed:
    """All tables of up to so many axes, or those that are listed; axes stand in the plan's order.

    A set in a listed table stands for each of its items, one at a time.
    """
    axes = {column: [axis.name for axis in some] for column, some in by_column.items()}
    names = [name for items in axes.values() for name in items]
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise Misplaced(("columns", twice), "has the name of an item of a set: rename one of them")
    given = release.value("tables", _USUAL)
    if not isinstance(given, list):
        most = release.integer("tables", _USUAL)
        if most < 1:
            raise release.wrong("tables", "must be at least 1: all tables of up to that many columns are measured")
        sizes = range(1, min(most, len(names)) + 1)
        if sum(comb(len(names), size) for size in sizes) > _MOST_TABLES:
            raise release.wrong("tables", f"makes over {_MOST_TABLES:,} tables: list fewer with [[release.tables]]")
        return tuple((table, Fraction(1)) for size in sizes for table in combinations(names, size))
    weights: dict[tuple[str, ...], Fraction] = {}
    for table in release.tables("tables"):
        for name in table.texts("columns"):
            if name not in axes:
                problem = f"names {name!r}, which is not a column that the plan counts{did_you_mean(name, axes)}"
                raise table.wrong("columns", problem)
        weight = table.number("weight", Fraction(1))
        if weight <= 0:
            raise table.wrong("weight", "must be positive: it says how much the table counts beside the others")
        if not 1 / _LARGEST_WEIGHT <= weight <= _LARGEST_WEIGHT:
            raise table.wrong("weight", "must lie between 1e-9 and 1e9: leave out a table that counts for nothing")
        chosen = sorted(table.texts("columns"), key=list(axes).index)
        for key in product(*(axes[name] for name in chosen)):
            if key in weights:
                raise table.wrong("columns", "names a table that is listed already")
            weights[key] = weight
        table.finish()
    if len(weights) > _MOST_TABLES:
        raise release.wrong("tables", f"lists more than {_MOST_TABLES:,} tables")
    if not weights:
        raise release.wrong("tables", "lists no table: write tables = 2 for all tables of up to two columns")
    left = next((name for name, items in axes.items() if not any(items[0] in table for table in weights)), None)
    if left is not None:
        raise release.wrong("tables", f"lists no table with the column {left!r}: add one, or drop the column")
    return tuple(weights.items())

"""The axes that a question needs of a release of rows, and the sanitised rows counted over the states of these."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import compress, product
from math import gcd, inf, isnan, prod
from types import MappingProxyType
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc

from dproof.columns.codec import Column, codec_of, quoted, text_literal
from dproof.columns.values import as_numpy, which_have
from dproof.errors import QuestionError, TooLarge
from dproof.laws.debias import (
    AnswerGroups,
    Array,
    CodeBins,
    Contingency,
    DebiasAxes,
    DebiasAxis,
    MatrixAxis,
    MomentsAxis,
    SeenColumn,
    Sets,
    Sum,
    public,
    tilted,
)
from dproof.laws.law import Law
from dproof.limits import MOST_CELLS
from dproof.local.recipe import JointColumns, RowLaw
from dproof.plans.plan import ASKED
from dproof.questions.measured import Shares, stated_of
from dproof.questions.partition import Bit, combined_places, cut, grouping
from dproof.questions.question import Key, Predicate, condition, leaves, literal, name
from dproof.questions.sums import Term
from dproof.spaces.interval import Bins, Scale, scale_of
from dproof.spaces.space import Partition, along
from dproof.tables.duckdb import CLOSED, Decoder, count_alike, decode_all, expressions, stored_relation
from dproof.tables.source import Parts

_MOST_BINS = 1 << 14  # of a number that SQL brings into bins
_MOST_CHOSEN = 1 << 28  # groups by cells, where they are written out
Combos = list[tuple[Any, ...]]  # the groups of the public keys that rows have, in order


@dataclass(frozen=True, slots=True, eq=False)
class GroupChoice:
    """Groups along one column, or along all public keys: how much of each block a group takes, and its labels.

    `takes` is a matrix of groups by blocks, or has the group of each block. Each group has as many labels as there are
    `places` for them in the labels of an answer's row.
    """

    column: str | None
    labels: Sequence[tuple[Any, ...]]
    places: tuple[int, ...]
    takes: Array

    @property
    def is_block(self) -> bool:
        """Whether every group is a block by itself, in the same order."""
        return np.array_equal(self.takes, np.arange(len(self.labels)))


class QuestionAxes:
    """The axes that the sums and keys of a question need, over the law of a release.

    A sum has a condition, and columns whose numbers it multiplies; `numbers` has the scales of these. The columns in
    `spelled` have a block for every value. `ends` are those of the numbers of public columns, which nobody declared:
    sums are taken about their middle, and no row has more than half of their range.
    """

    def __init__(
        self,
        law: RowLaw,
        needed: Sequence[Term],
        keys: Sequence[Key] = (),
        spelled: Iterable[str] = (),
        ends: Mapping[str, tuple[float, float]] = MappingProxyType({}),
    ) -> None:
        self.schema, self.needed, self.keys = law.schema, list(needed), tuple(keys)
        # The highest power of each number within one sum, and the columns whose values are known as they are.
        degrees = {c: max(other.columns.count(c) for other in needed) for term in needed for c in term.columns}
        known = self.schema.open_columns
        self._public_keys = [key for key in keys if key.column in known]
        self._private_keys = [key for key in keys if key.column not in known]
        self.numbers = {
            c: Scale(sum(end / 2 for end in ends.get(c, ()))) if c in known else scale_of(self.schema.spaces[c])
            for c in degrees
        }
        private = [column for column in degrees if column not in known]
        # A sum under a law that is undone block by block needs the number of each value.
        kept = {c for c in private if law.group_of(c).mechanism.family.is_sharp and not law.plan.column(c).bins}
        self.grid = cut(
            self.schema, [term.where for term in needed], self._private_keys, [*private, *spelled], kept | set(spelled)
        )
        self.cuts = {axis.column: axis for axis in self.grid.axes}
        self.readers = [reader for group in law.groups for reader in readers_of(group, self.cuts, self.numbers)]
        self.readers += self._public_readers(degrees, ends)
        self.axes: list[DebiasAxis] = []
        # The axes that carry the number of each column, and its place among the columns there.
        self._places: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for reader in self.readers:
            for place, column in enumerate(reader.carried):
                self._places[column].append((len(self.axes), place))
            self.axes += reader.axes
        self._order = [list(self.cuts).index(column) for reader in self.readers for column in reader.columns]
        # The groups of public columns, which only the rows know, are a last axis, where there are any.
        self._last = (1,) if self._public_keys or not self.axes else ()
        states = {reader: [axis.states for axis in reader.axes] for reader in self.readers}
        self._blocks, self._states = [axis.blocks for axis in self.axes], [n for some in states.values() for n in some]
        fits(prod(self._states))
        # How many states each of the axes has that are counted.
        self._counted = {r.decoder: some for r, some in states.items() if r.decoder is not None}
        self._weights: dict[Predicate | None, Array] = {}  # of the blocks, for each condition

    def _public_readers(
        self, degrees: Mapping[str, int], ends: Mapping[str, tuple[float, float]]
    ) -> Iterator[AxisReader]:
        """The axes of public columns: of the conditions on each, and of the powers of each number that is summed."""
        for column in sorted(self.schema.open_columns):
            if column in self.cuts:
                blocks = public(self.cuts[column].blocks, columns=1)
                pattern = Decoder([self._pattern(column)], lambda arrays: integers(arrays[0]))
                yield AxisReader((column,), (blocks,), pattern)
            if column in degrees:
                highest, middle = 2 * degrees[column], self.numbers[column].middle
                reach = max((abs(end - middle) for end in ends.get(column, ())), default=inf)
                powers = MomentsAxis(highest + 1, (0.0,) * (highest + 1), reach)
                yield AxisReader((), (powers,), None, (column,), f"({name(column)}::DOUBLE - {middle!r})")

    def _pattern(self, column: str) -> str:
        """Which conditions a public value satisfies, as the bits of a number."""
        terms = [
            f"CASE WHEN {condition(atom)} THEN {1 << region.bit} ELSE 0 END"
            for atom, region in self.grid.regions.items()
            if isinstance(region, Bit) and all(leaf.column == column for leaf in leaves(atom))
        ]
        return " + ".join(terms)

    def sum_of(self, term: Term) -> Sum:
        """A sum over the rows, by the blocks of the axes."""
        powers = [[0] * max(1, len(reader.columns)) for reader in self.readers for _ in reader.axes]
        for column in term.columns:
            for axis, place in self._places[column]:
                powers[axis][place] += 1
        if term.where not in self._weights:
            mask = self.grid.mask(term.where).transpose(self._order).reshape([*self._blocks, *self._last])
            self._weights[term.where] = mask.astype(float)
        return Sum(self._weights[term.where], (*map(tuple, powers), *((),) * len(self._last)))

    @property
    def sums(self) -> list[Sum]:
        """All sums that are needed."""
        return list(map(self.sum_of, self.needed))

    # Rows ----------------------------------------------------------------------------------------------------------

    @property
    def expressions(self) -> list[str]:
        """The SQL expressions that tell which cell of the counted axes a row lies in."""
        return [*expressions(self._counted), *map(_key_expression, self._public_keys)]

    def cells(self, arrays: Sequence[Any], rows: int, combos: Combos | None = None) -> tuple[Array, Combos]:
        """The cell of each row, from the values of the expressions; with the groups of the public keys, found or given.

        The cells are numbered over the states of the counted axes and the groups, the last varying fastest.
        """
        states = zip(decode_all(self._counted, arrays), map(prod, self._counted.values()), strict=True)
        cell = np.zeros(rows, np.int64) + combined_places(states)
        if not self._public_keys:
            return cell, [()]
        values = arrays[len(arrays) - len(self._public_keys) :]
        keys = list(zip(*(map(_hashable, array.to_pylist()) for array in values), strict=True))
        combos = _in_order(set(keys)) if combos is None else combos
        where = {combo: n for n, combo in enumerate(combos)}
        return cell * len(combos) + np.array([where[key] for key in keys], np.int64), combos

    def read(self, stored: StoredRows, combos: Combos | None = None) -> tuple[Contingency, Combos]:
        """Count the stored rows; with the groups of the public keys, those that they have or those given.

        Without data, the mean counts of so many rows whose values are spread evenly over their spaces, but for shares.
        """
        if stored.data is None:
            counts = stored.rows * self._expected(stored.rows, stored.shares)
            return self._table(counts, 1, stored.rows), [("",) * len(self._public_keys)]
        summed = [reader for reader in self.readers if reader.decoder is None]
        sums = _products([(reader.number, reader.axes[0].states) for reader in summed])
        arrays, numbers, totals = stored.count(self.expressions, sums)
        cell, combos = self.cells(arrays, len(numbers), combos)
        shape = (*(states for some in self._counted.values() for states in some), len(combos))
        fits(prod(shape) * (len(sums) + 1))
        tables = [np.bincount(cell, column, prod(shape)) for column in (numbers, *totals)]
        counts = np.stack(tables, axis=-1).reshape(*shape, *(reader.axes[0].states for reader in summed))
        # Counted axes, public groups, powers: put back into the order of the readers, the public groups last.
        first, later = iter(range(len(shape))), iter(range(len(shape), counts.ndim))
        order = [next(first if reader.decoder else later) for reader in self.readers for _ in reader.axes]
        return self._table(counts.transpose([*order, len(shape) - 1]), len(combos), stored.rows), combos

    def _expected(self, rows: int, shares: Shares) -> Array:
        """The shares of the states, for evenly spread values, or those nearest to them that have a share and a mean."""
        even = _outer(np.ones(1) if isinstance(axis, MomentsAxis) else axis.even_nodes() for axis in self.axes)
        even = even.reshape(*even.shape, *(1 for _ in self._last))
        if shares == Shares():
            return self._shown(1.0, even, {})
        some, only_missing = stated_of(self.needed, bool(self.keys))
        part = self._part(list(compress(self.needed, some)))
        whole = self.sum_of(Term((), None)).powers
        for n, axis in enumerate(self.axes):
            if not isinstance(axis, MomentsAxis):
                part = axis.wanted(whole[n]).spread(part, n)
        of_part = float((even * part).sum())
        share = (
            min(shares.factor(of_part * rows, rows, only_missing=only_missing) * of_part, 1.0) if some.any() else 1.0
        )
        moved, moments = even, dict[int, float]()
        if shares.mean is not None or shares.uneven:
            moved, moments = self._tilt(even, part, shares.mean_on)
        # A stated mean is that of the others, too, as nothing else is known of them; at the worst it is not.
        if shares.mean is None:
            others, beside = even, dict[int, float]()
        elif shares.uneven:
            others, beside = self._tilt(even, 1 - part, shares.mean_elsewhere)
        else:
            others, beside = moved, moments
        inside = self._shown(share, moved * part, moments)
        return np.asarray(inside + self._shown(1 - share, others * (1 - part), beside))

    def _shown(self, share: float, nodes: Array, moments: Mapping[int, float]) -> Array:
        """The shares of the states, for a share of rows over the nodes of the axes, and means of what is summed."""
        found = share * nodes / max(nodes.sum(), 1e-300)
        for places in self._places.values():
            for n, axis in ((n, self.axes[n]) for n, _ in places):
                if isinstance(axis, MomentsAxis):
                    powers = along(axis.even_states(moments.get(n, 0.0)), n, found.ndim)
                    for presence in (other for other, _ in places if other != n):  # a missing number is none
                        there = along(np.array([1.0, 0.0]), presence, found.ndim)
                        powers = there * powers + (1 - there) * along(axis.noise_alone, n, found.ndim)
                    found = found * powers
        for n, axis in enumerate(self.axes):
            if not isinstance(axis, MomentsAxis):
                found = axis.law.gather(found, n)
        return np.asarray(found)

    def _part(self, some: Sequence[Term]) -> Array:
        """The blocks of the rows that any of some sums is over: of groups, in the one in the middle."""
        mask = np.any([self.grid.mask(term.where) for term in some], axis=0) if some else self.grid.mask(None)
        part = mask.astype(float)
        for n, key in enumerate(self.keys):
            if key in self._private_keys and some:
                choice, place = self._choice(key, n), self.grid.position(key.column)
                middle = middle_of(len(choice.labels))
                takes = choice.takes == middle if choice.takes.ndim == 1 else choice.takes[middle]
                part = part * along(takes, place, part.ndim)
        return part.transpose(self._order).reshape([*self._blocks, *self._last])

    def _tilt(self, even: Array, part: Array, mean_on: Callable[[Scale], float]) -> tuple[Array, dict[int, float]]:
        """The rows moved so that numbers have their mean in a part; the means of those that are summed by powers."""
        moments, whole = dict[int, float](), self.sum_of(Term((), None)).powers
        for column, scale in self.numbers.items():
            mean, places = mean_on(scale), self._places[column]
            summed = [n for n, _ in places if isinstance(self.axes[n], MomentsAxis)]
            moments |= dict.fromkeys(summed, mean)
            for n, place in () if summed else places:
                axis = self.axes[n]
                assert not isinstance(axis, MomentsAxis)
                powers = tuple(int(other == place) for other in range(len(whole[n])))
                values = axis.wanted(powers).spread(np.ones(axis.blocks), 0)
                rows = (even * part).sum(axis=tuple(other for other in range(even.ndim) if other != n))
                if rows.any():
                    of_part = rows / rows.sum()
                    moved = tilted(values, of_part, mean)
                    times = np.divide(moved, of_part, out=np.ones_like(moved), where=of_part > 0)
                    even = even * along(times, n, even.ndim)
        return even, moments

    def _table(self, counts: Array, combos: int, rows: int) -> Contingency:
        axes = [*self.axes, *(public(combos) for _ in self._last)]
        return Contingency.fitted(axes, counts.reshape([*self._states, *(combos * size for size in self._last)]), rows)

    # Groups --------------------------------------------------------------------------------------------------------

    def groups(self, combos: Combos, takes: Mapping[str, Array] | None = None) -> AnswerGroups:
        """All combinations of the groups of the keys; and last of the rows of `takes`, for the blocks of a column."""
        choices = [self._choice(key, n) for n, key in enumerate(self.keys) if key in self._private_keys]
        for n, (column, matrix) in enumerate((takes or {}).items(), len(self.keys)):
            choices.append(GroupChoice(column, [(row,) for row in range(len(matrix))], (n,), matrix))
        places = tuple(n for n, key in enumerate(self.keys) if key in self._public_keys)
        fixed_choices: list[GroupChoice] = []
        fixed: list[int] = []
        rest: list[str] = []  # the columns of all other axes
        axis = 0
        for reader in self.readers:
            of_reader = [choice for column in reader.columns for choice in choices if choice.column == column]
            if _is_fixed(reader, of_reader):
                fixed_choices += of_reader
                fixed += range(axis, axis + len(reader.axes))
            else:
                rest += reader.columns
            axis += len(reader.axes)
        if self._last:
            fixed_choices.append(GroupChoice(None, combos, places, np.arange(len(combos))))
            fixed.append(axis)
        free = [choice for choice in choices if choice not in fixed_choices]
        # Estimates stand by held and free choices; rows by keys, those of all public keys where the first of them is.
        stand = [*fixed_choices, *free]
        wanted = sorted(stand, key=lambda choice: choice.places[:1])
        sizes = [len(choice.labels) for choice in stand]
        order = np.arange(prod(sizes)).reshape(sizes).transpose([stand.index(choice) for choice in wanted]).reshape(-1)
        spots = np.argsort([place for choice in wanted for place in choice.places]).tolist()
        label_rows = ([label for part in parts for label in part] for parts in product(*(c.labels for c in wanted)))
        labels = [tuple(row[spot] for spot in spots) for row in label_rows]
        return AnswerGroups(labels, order, tuple(fixed), self._sets(free, rest))

    def _choice(self, key: Key, place: int) -> GroupChoice:
        """The declared groups of a key on a private column."""
        groups = grouping(key, self.schema)
        labels = [(label,) for label in groups.labels]
        return GroupChoice(key.column, labels, (place,), groups.of(self.cuts[key.column].samples))

    def _sets(self, choices: Sequence[GroupChoice], columns: Sequence[str]) -> Sets:
        """How much of each cell of some columns every combination of choices takes."""
        sizes = [self.cuts[column].blocks for column in columns]
        along = [[-1 if column == choice.column else 1 for column in columns] for choice in choices]
        pairs = list(zip(choices, along, strict=True))
        if all(choice.takes.ndim == 1 for choice in choices):
            places = [(choice.takes.reshape(shape), len(choice.labels)) for choice, shape in pairs]
            count = prod(size for _, size in places)
            return Sets(count, np.broadcast_to(combined_places(places), sizes).reshape(-1))
        chosen = np.ones((1, *sizes))
        for choice, shape in pairs:
            groups = len(choice.labels)
            takes = Sets(groups, choice.takes).rows(np.arange(groups)).reshape(groups, *shape)
            if chosen.size * groups > _MOST_CHOSEN:
                raise TooLarge("too many groups for columns with so many values together: group by fewer columns")
            chosen = (chosen[:, None] * takes[None]).reshape(-1, *sizes)
        return Sets(len(chosen), chosen.reshape(len(chosen), -1))

    def occurring(
        self, where: Predicate | None, table: Contingency, groups: AnswerGroups, *, by_rows: bool = True
    ) -> Array:
        """The groups that a condition leaves any value for; of public columns those that rows have, if `by_rows`."""
        everything = self.sum_of(Term((), where))
        possible = table.total(np.ones(1), everything, groups) > 0
        if self._public_keys and by_rows:
            possible &= table.estimates([everything], groups).squares[:, 0, 0] > 0
        return np.asarray(possible)


def _outer(vectors: Iterable[Array]) -> Array:
    found = np.ones(())
    for vector in vectors:
        found = np.multiply.outer(found, vector)
    return found


def middle_of(groups: int) -> int:
    """The group that has the share which a question states of one."""
    return groups // 2


def _is_fixed(reader: AxisReader, choices: Sequence[GroupChoice]) -> bool:
    """Whether a group has one block of each of these axes; the bias of a rough one depends on all blocks together."""
    if any(axis.rough for axis in reader.axes):
        return False
    if all(axis.blocks == 1 for axis in reader.axes) and not choices:
        return True
    together = len(reader.columns) == 1 or len(reader.axes) == 1
    return together and reader.columns == tuple(c.column for c in choices) and all(c.is_block for c in choices)


def fits(cells: int) -> None:
    if cells > MOST_CELLS:
        raise TooLarge("the question needs too large a table of counts: ask for fewer columns at once")


def _key_expression(key: Key) -> str:
    if key.width is None:
        return name(key.column)
    return f"floor({name(key.column)}::DOUBLE / ({literal(key.width)})) * ({literal(key.width)})"


def _products(numbers: Sequence[tuple[str, int]]) -> list[str]:
    """All products of powers of the numbers, but for the empty one, the last number's power varying fastest."""
    factors = [["", *(" * ".join([text] * power) for power in range(1, powers))] for text, powers in numbers]
    return [" * ".join(part for part in parts if part) for parts in product(*factors)][1:]


def _in_order(combos: set[tuple[Any, ...]]) -> Combos:
    """Groups in the order of their values, nulls last."""
    try:
        return sorted(combos, key=lambda row: [(value is None, 0 if value is None else value) for value in row])
    except TypeError:
        raise QuestionError("a public column holds values that have no order, so it cannot be grouped by") from None


def _hashable(value: Any) -> Any:
    """A value as a label: a list as a tuple, what is no number as nothing."""
    if isinstance(value, list):
        return tuple(map(_hashable, value))
    return None if isinstance(value, float) and isnan(value) else value


# Stored rows, read by SQL, which is written here and nowhere else -----------------------------------------------------

Counted = tuple[list[Any], Array, list[Array]]  # values of key expressions, how many rows have each, and sums


@dataclass(frozen=True, slots=True, eq=False)
class StoredRows:
    """Stored rows with the law that they were drawn by: those of a release, or the random part asked for one `group`.

    Without data, so many rows whose values are spread evenly, but for `shares`. What is counted once is `counted` for
    all groups.
    """

    law: RowLaw
    data: Any
    rows: int
    release_rows: int
    private: bool
    group: str | None = None
    shares: Shares = Shares()  # noqa: RUF009
    counted: dict[tuple[tuple[str, ...], tuple[str, ...]], Counted] = field(default_factory=dict)

    @contextmanager
    def relation(self) -> Iterator[Any]:
        """The rows as a DuckDB relation, on a connection of their own."""
        with _engine(os.getpid()).cursor() as database:
            rows = stored_relation(database, self.data)
            asked = "" if self.group is None else f"{quoted(ASKED)} = {text_literal(self.group)}"
            yield rows.filter(asked) if asked else rows

    def count(self, keys: Sequence[str], sums: Sequence[str] = ()) -> Counted:
        """The values of the key expressions, how many rows have each, and sums of expressions over these."""
        if self.group is None:
            return count(self.data, keys, sums)
        wanted = tuple(keys), tuple(sums)
        if wanted not in self.counted:
            self.counted[wanted] = count(self.data, [quoted(ASKED), *keys], sums)
        (asked, *values), numbers, totals = self.counted[wanted]
        is_asked = which_have(asked, self.group)
        chosen = as_numpy(is_asked).astype(bool)
        return [array.filter(is_asked) for array in values], numbers[chosen], [total[chosen] for total in totals]


@dataclass(frozen=True, slots=True, eq=False)
class AxisReader:
    """Axes that are read together: the columns cut along them, how their states are decoded, and the columns whose
    numbers the first of them carries.

    Without a decoder `number` is SQL for a number whose powers are summed rather than counted.
    """

    columns: tuple[str, ...]
    axes: tuple[DebiasAxis, ...]
    decoder: Decoder | None
    carried: tuple[str, ...] = ()
    number: str = ""


def all_rows(release: Any) -> StoredRows:
    """The rows of a release in which every row answers for all columns, or of whose public columns alone is asked."""
    if isinstance(release, StoredRows):  # that are expected
        return release
    return StoredRows(release.law, release.data, release.rows, release.rows, release.private)


def rows_that_answer(release: Any, columns: frozenset[str]) -> list[StoredRows]:
    """The parts of a release whose rows answer for all of these columns; the whole of it where each row does."""
    law: RowLaw = release.law
    private = columns & {column.name for column in law.plan.columns if column.private}
    if law.weights is None or not private:
        return [all_rows(release)]
    chances = zip(law.groups, law.chances, strict=True)
    holding = [(group, chance) for group, chance in chances if private <= {column.name for column in group.columns}]
    if not holding:
        together = ", ".join(f'"{column.name}"' for column in law.plan.columns if column.name in private)
        raise QuestionError(
            f"no row was asked for these columns together: declare [[joint]] columns = [{together}] in the plan, or a "
            "question that needs them in [[questions]], and sanitise again"
        )
    rows: dict[str, int] = Counter()
    if release.data is None:
        rows = {group.name: round(release.rows * chance) for group, chance in holding}
    else:
        names, numbers, _ = count(release.data, [quoted(ASKED)])
        for name, number in zip(names[0].to_pylist(), numbers.tolist(), strict=True):
            rows[name] += int(number)
    read = dict[Any, Any]()
    every = all_rows(release)
    return [
        replace(every, law=RowLaw(law.plan, (g,)), rows=rows.get(g.name, 0), group=g.name, counted=read)
        for g, _ in holding
    ]


@cache
def _engine(process: int) -> Any:
    """One DuckDB for all that a process counts: it takes longer to start one than to count a million rows.

    A forked process starts its own, because the threads of the other one are not there.
    """
    return duckdb.connect(config=CLOSED)


def count(data: Any, keys: Sequence[str], sums: Sequence[str] = ()) -> Counted:
    """The values of the key expressions, how many rows have each, and sums of expressions over these.

    Where the rows lie on many machines the same values may come several times.
    """
    named = {f"s{n}": f"coalesce(sum({number}), 0)::DOUBLE" for n, number in enumerate(sums)}
    table = _of_parts(data, keys, named)
    columns = [table.column(n).combine_chunks() for n in range(len(keys))]
    return columns, as_numpy(table.column("n")).astype(float), [as_numpy(table.column(name)) for name in named]


def ends_of(data: Any, columns: Sequence[str]) -> dict[str, tuple[float, float]]:
    """The least and the greatest finite number of each public column, over all stored rows; 0 where there is none."""
    named: dict[str, str] = {}
    for n, column in enumerate(columns):
        number = f"{quoted(column)}::DOUBLE"
        named |= {f"{end}{n}": f"{end}({number}) FILTER (WHERE isfinite({number}))" for end in ("min", "max")}
    table = _of_parts(data, [], named)
    found = {name: pc.min_max(table.column(name)).as_py() for name in named}
    return {c: (found[f"min{n}"]["min"] or 0.0, found[f"max{n}"]["max"] or 0.0) for n, c in enumerate(columns)}


def _of_parts(data: Any, keys: Sequence[str], sums: Mapping[str, str]) -> Any:
    """The rows that are alike, counted together; where they lie on many machines, on each by itself."""
    if isinstance(data, Parts):
        counted = data.each(lambda part: _packed(_counted(part, keys, sums)))
        return pa.concat_tables(pa.ipc.open_stream(part).read_all() for part in counted)
    return _counted(data, keys, sums)


def _counted(data: Any, keys: Sequence[str], sums: Mapping[str, str]) -> Any:
    with _engine(os.getpid()).cursor() as database:
        try:
            return count_alike(stored_relation(database, data), keys, sums)
        except duckdb.Error as error:
            told = str(error).split("\n")[0].removeprefix("Conversion Error: ").removeprefix("Binder Error: ")
            raise QuestionError(f"the question does not fit the stored columns: {told}") from None


def _packed(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def integers(array: Any) -> Array:
    """An Arrow array of whole numbers or flags."""
    return as_numpy(array).astype(np.int64)


def readers_of(group: JointColumns, cuts: Mapping[str, Partition], scales: Mapping[str, Scale]) -> Iterator[AxisReader]:
    """The axes of a mechanism for those of its columns that are cut; `scales` has those whose numbers are summed.

    The first reader has the columns; a number that is counted by one axis and summed along another has two.
    """
    law, every = group.mechanism.family, list(zip(group.columns, group.outputs, strict=True))
    touched = [(column, outputs) for column, outputs in every if column.name in cuts]
    if not touched:
        return
    names = tuple(column.name for column, _ in touched)
    called = f"column {names[0]!r}" if len(names) == 1 else "columns " + ", ".join(map(repr, names))
    needed = every if law.is_coded else touched
    seen = [_seen(c, outputs, cuts.get(c.name), scales.get(c.name)) for c, outputs in needed]
    bins = [c.sanitised_bins if c.name in cuts else None for c, _ in needed]
    others = prod(column.sanitised.size for column in group.columns if column.name not in cuts)
    debias = _debias_bins(law, seen, bins, 1 if law.is_coded else others, called)
    state = debias.state
    if state is not None and debias.bins is not None:
        ((column, outputs),) = touched
        binned = _binned(column, codec_of(outputs, column).number_sql, debias.bins)
        read = Decoder([binned], lambda arrays: state([as_numpy(arrays[0], missing=outputs.absent)]))
        yield AxisReader(names, debias.axes, read, names)
    elif state is not None and debias.by_presence:
        ((column, outputs),) = touched
        there = f"{quoted(column.stored[0])} {f'<> {outputs.absent}' if column.name in group.coded else 'IS NOT NULL'}"
        read = Decoder([there], lambda arrays: state([integers(arrays[0])]))
        yield AxisReader(names, debias.axes, read, names)
    elif state is not None:
        yield _by_codes(names, group, debias, cuts)
    if debias.moments is not None:
        ((column, outputs),), scale = touched, seen[0].scale
        assert scale is not None
        number = f"(({codec_of(outputs, column).number_sql} - {scale.middle!r}) / {scale.unit!r})"
        yield AxisReader(() if state is not None else names, (debias.moments,), None, names, number)


def _seen(column: Column, outputs: Any, cut: Partition | None, scale: Scale | None) -> SeenColumn:
    """A column as a question sees it; one that it does not ask about is one block."""
    if cut is not None:
        return SeenColumn(cut, column.space, outputs, scale)
    first, size = np.zeros(1, np.int64), int(column.sanitised.size)
    everything = Partition(column.name, first, first, size)
    return SeenColumn(everything, column.sanitised, outputs, None, asked=False)


def _by_codes(
    names: tuple[str, ...], group: JointColumns, debias: DebiasAxes, cuts: Mapping[str, Partition]
) -> AxisReader:
    """The axes of columns whose codes are read one by one; one code for all columns is the first one's."""
    state, stored = debias.state, list(zip(group.columns, group.storage, strict=True))
    assert state is not None
    read = stored[:1] if group.mechanism.family.is_coded else [(c, space) for c, space in stored if c.name in cuts]
    decoders = [
        Decoder(*codec_of(space, column).reader(cuts[column.name].bits if debias.by_block else None))
        for column, space in read
    ]
    return AxisReader(names, debias.axes, Decoder.joined(decoders, state), names)


def _binned(column: Column, number: str, bins: CodeBins) -> str:
    """A code in the state of a stored number, in SQL: the low end of a bin, or a cut that it has passed in there."""
    line = column.space.line
    code = f"round(({number} - {float(line.origin)!r}) / {float(line.step)!r})"
    first, last, wide, passed = bins.first, bins.last, gcd(bins.wide, *bins.cuts), ""
    if last - first > _MOST_BINS * wide:  # too many bins if every edge shall be the end of one
        wide, passed = bins.wide, f", {_passed(code, bins)}"
    binned = f"greatest({first}, least({last}, floor({code} / {wide}) * {wide}){passed})::BIGINT"
    return binned if column.space.absent is None else f"CASE WHEN {column.sql} IS NOT NULL THEN {binned} END"


def _passed(code: str, bins: CodeBins) -> str:
    """The last cut that a code has passed, or a number between that and the code; below all cuts `first`; in SQL."""
    cuts, apart = bins.cuts, gcd(*bins.cuts)
    if len(cuts) > 1 and cuts[-1] - cuts[0] < 2 * apart * len(cuts):  # as between groups, of which there may be many
        last = f"least({cuts[-1]}, floor({code} / {apart}) * {apart})"
        return f"CASE WHEN {code} >= {cuts[0]} THEN {last} ELSE {bins.first} END"
    return f"CASE {' '.join(f'WHEN {code} >= {cut} THEN {cut}' for cut in cuts[::-1])} ELSE {bins.first} END"


# Numbers that were sanitised by their bins: what a question sees of these ---------------------------------------------


def _debias_bins(law: Law, seen: list[SeenColumn], bins: list[Bins | None], others: int, name: str) -> DebiasAxes:
    """What undoes the law of some columns, of which those with `bins` were sanitised by them.

    A condition at the edges is a count of bins, and as exact as a condition on categories.
    """
    at_edges = [
        column if edges is None else _at_edges(column, edges, name) for column, edges in zip(seen, bins, strict=True)
    ]
    counted = [column for column in at_edges if column is not None]
    if len(counted) == len(seen):
        return law.debias_axes(counted, others, name)
    (column, *more), (edges, *_) = seen, bins
    if more or others > 1 or edges is None:
        raise QuestionError(
            f"{name}, sanitised in bins together with other columns, can only be counted, at the edges of the bins: "
            "ask for such counts, not for sums or means"
        )
    return _between_edges(law, column, edges, name)


def _at_edges(column: SeenColumn, bins: Bins, name: str) -> SeenColumn | None:
    """The column with bins for values; None where a question tells values of one bin apart, or adds them up."""
    cut = column.blocks
    if column.scale is not None or bins.cut_by(cut.first[1:][np.diff(cut.block) != 0].tolist()):
        return None
    codes, block = np.arange(bins.size), cut.of(np.array(bins.starts))
    blocks, sizes = Partition(name, codes, block, bins.size), np.array(bins.sizes, float)
    return replace(column, blocks=blocks, space=bins.space, sizes=sizes)


def _between_edges(law: Law, column: SeenColumn, bins: Bins, name: str) -> DebiasAxes:
    """Where in its bin a value lies is not told: a node for both ends of each part of a bin, all with the bin's law."""
    whole, total = law.written_out()
    matrix, (inputs, outputs) = np.asarray(whole / total, float), whole.shape
    cut, scale = column.blocks, column.scale or Scale()
    starts = np.unique(np.concatenate([bins.starts, cut.first]))
    codes = np.unique(np.concatenate([starts, np.append(starts[1:], bins.stop) - 1]))
    bin_of, member = bins.of(codes), np.eye(cut.blocks)[cut.of(codes)]
    # Each run of codes is shared by its two ends, or is one code.
    ends = np.stack([starts, np.append(starts[1:], bins.stop) - 1])
    sizes = np.bincount(np.searchsorted(codes, ends).ravel(), np.tile((ends[1] - ends[0] + 1) / 2, 2))
    values = np.where(codes == column.space.absent, 0.0, scale.numbers(column.space, codes))
    share = np.eye(bins.size)[:, bin_of]
    share /= share.sum(axis=1, keepdims=True)
    # A released code that is no bin stands for those that may have given it, as likely as it makes them.
    likely = np.eye(inputs) if inputs == outputs else (matrix / np.maximum(matrix.sum(axis=0), 1e-300)).T
    shown = likely @ share
    numbers = values, shown @ member, shown @ values
    axis = MatrixAxis(name, matrix[bin_of], member, *numbers, rough=True, node_sizes=sizes, between_edges=True)
    return DebiasAxes((axis,), lambda released: released[0])

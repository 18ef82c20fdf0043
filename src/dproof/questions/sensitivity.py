"""Global sensitivity with its evidence: how far one row can move an answer, and the two tables that show it.

Δf = sup over neighbouring tables of ‖f(D₁) − f(D₂)‖. The sheet, sections 2 and 3; HLM15, section 2.2.

The conditions cut the rows that could exist into cells. Inside a cell a sum depends on the summed columns alone, and
linearly, so its extremes lie at the ends of the blocks; where squares or products are summed every code counts.

Nobody can compute the sensitivity of a user's own function; but a declared one that is too small is often found out by
trying. What is not found out is used, and labelled "declared" wherever it shows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain, combinations, islice, product
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import choice, described, expect, listed, whole
from dproof.errors import NotPrivate, QuestionError, TooLarge
from dproof.exact import exact, int_or_float
from dproof.limits import MOST_CONDITION_ITEMS, MOST_ROW_KINDS
from dproof.privacy import Neighbours
from dproof.questions.aggregates import Rank
from dproof.questions.measured import values_of
from dproof.questions.partition import Grid, absent_bit, cut, grouping, items_of
from dproof.questions.question import (
    Aggregate,
    Applied,
    Arithmetic,
    Expression,
    Missing,
    Number,
    Open,
    Predicate,
    Question,
    Schema,
    aggregates_of,
    as_schema,
    atoms,
    both,
    leaves,
    measured_parts,
    resolve,
)
from dproof.questions.sql import Asked, Select, as_question
from dproof.questions.sums import Term, present, terms
from dproof.spaces import Space
from dproof.spaces.interval import whole_scale
from dproof.spaces.space import MISSING, Partition

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TableWitness:
    """Two neighbouring tables and how far apart their answers are."""

    before: tuple[Row, ...]
    after: tuple[Row, ...]
    distance: Fraction


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How far one row can move an answer; None is infinitely far.

    `l1` is Σ|Δ| and `l2_squared` is Σ Δ², each at its largest. `kind` is "exact" with a witness that attains it,
    "bound" where only an upper bound is known, or "declared" where a user said so. An infinite one has witnesses
    whose distance grows without end.
    """

    neighbours: Neighbours
    l1: Fraction | None
    l2_squared: Fraction | None
    kind: Literal["exact", "bound", "declared"]
    witnesses: tuple[TableWitness, ...] = ()

    @property
    def witness(self) -> TableWitness | None:
        return self.witnesses[0] if self.witnesses else None


def sensitivity(
    asked: Asked | Sequence[Asked],
    table: Schema | Mapping[str, Space | Open],
    neighbours: Neighbours = "change-one",
    *,
    rows: int = 1,
) -> Sensitivity:
    """The global sensitivity of one question, or of several that are answered together.

    `rows` matters for a mean alone: the public number of rows (change-one), or the least there can be (add-remove).

    `asked` is SQL or what `Select` built, or a list of them; `table` maps the name of each column to its space;
    `neighbours` says which tables differ in one row.

    >>> from dproof.spaces import Categories
    >>> survey = {"gender": Categories(["Male", "Female"]), "books": Categories(range(8))}
    >>> genders = sensitivity("SELECT gender, count(*) FROM data GROUP BY gender", survey, "add-remove")
    >>> genders.l1, genders.witness.before, genders.witness.after
    (Fraction(1, 1), (), ({'gender': 'Male'},))
    """
    schema = as_schema(table)
    choice(neighbours, get_args(Neighbours), "neighbours")
    whole(rows, "rows", 1)  # the empty table has no mean
    several = [asked] if isinstance(asked, (str, Question, Select)) else listed(asked, "asked", "one or more questions")
    if not several:
        raise QuestionError("asked must be one or more questions, and there is none")
    questions = [resolve(as_question(one, schema.table), schema) for one in several]
    return sensitivity_of(questions, schema, neighbours, rows)


def sensitivity_of(questions: Sequence[Question], schema: Schema, neighbours: Neighbours, rows: int) -> Sensitivity:
    """The global sensitivity of questions that are checked already and are answered together."""
    wholes = [(n, item.expression) for n, question in enumerate(questions) for item in question.select]
    if any(isinstance(expression, Applied) for _, expression in wholes):
        raise QuestionError("ROUND and the like are applied after the noise: ask for the sensitivity of what is inside")
    items = [(n, part) for n, whole in wholes for part in measured_parts(whole, questions[n].unnest)]
    measured = [(n, expression) for n, expression in items if aggregates_of(expression)]
    for part in (part for _, expression in measured for part in aggregates_of(expression)):
        unbounded = [column for column in part.columns if schema.is_open(column) and part.definition.counts != "rows"]
        if unbounded:
            return _infinite(unbounded[0], schema, neighbours)
    if len(measured) == 1 and isinstance(measured[0][1], Aggregate):
        alone = _alone(measured[0][1], questions[0], schema, neighbours, rows)
        if alone is not None:
            return alone
    coordinates = [Coordinate(n, _combination(expression, schema)) for n, expression in measured]
    row_effects = effects(schema, questions, coordinates)
    l1, pair, exact = row_effects.largest(neighbours)
    l2_squared, _, also = row_effects.largest(neighbours, power=2)
    witnesses: tuple[TableWitness, ...] = ()
    if pair is not None:
        before, after = (_row(codes, schema) for codes in pair)
        witnesses = (TableWitness(() if neighbours == "add-remove" else (before,), (after,), l1),)
    return Sensitivity(neighbours, l1, l2_squared, "exact" if exact and also else "bound", witnesses)


def _row(codes: dict[str, int], schema: Schema) -> Row:
    """A row of declared values, None for what is not there, in the order of the table's columns."""
    row: Row = {}
    for column, space in schema.spaces.items():
        if column in codes:
            known = not schema.is_open(column) and codes[column] != MISSING
            curve = space.holds_curves
            row[column] = None if not known else "a curve" if curve else schema.declared(column).label(codes[column])
    return row


def _combination(expression: Expression, schema: Schema) -> tuple[tuple[Fraction, Term], ...]:
    """An expression as Σ coefficient · term; a constant moves nothing."""
    match expression:
        case Aggregate() if expression.definition.sums and expression.definition.shape == "linear":
            return tuple((term.unit(schema), term) for term in terms(expression, schema))
        case Number():
            return ()
        case Arithmetic("+" | "-" as operator, left, right):
            sign = 1 if operator == "+" else -1
            return *_combination(left, schema), *((sign * w, term) for w, term in _combination(right, schema))
        case Arithmetic("*", Number(factor), other) | Arithmetic("*", other, Number(factor)):
            return tuple((factor * weight, term) for weight, term in _combination(other, schema))
        case Arithmetic("/", other, Number(divisor)) if divisor:
            return tuple((weight / divisor, term) for weight, term in _combination(other, schema))
    raise QuestionError(
        "together or in a calculation only counts and sums have a known sensitivity: ask for means, quantiles, "
        "ratios one by one; a curator answers them from counts, sums and ranks"
    )


def _infinite(column: str, schema: Schema, neighbours: Neighbours) -> Sensitivity:
    """Without a bound on the column, one row moves the answer as far as it likes. The sheet, exercise 2.1."""
    low = schema.open_number(column)
    witnesses = []
    for reach in (10, 100, 1000):
        near, far = {column: low}, {column: low + reach}
        after = (near,) if neighbours == "change-one" else (far, near)
        witnesses.append(TableWitness((far,), after, Fraction(reach)))
    return Sensitivity(neighbours, None, None, "exact", tuple(witnesses))


def _alone(
    aggregate: Aggregate, question: Question, schema: Schema, neighbours: Neighbours, rows: int
) -> Sensitivity | None:
    """Statistics that are no sums over rows but have a sensitivity in closed form, when asked alone."""
    definition = aggregate.definition
    if definition.counts == "values":
        groups = max((len(grouping(key, schema).labels) for key in question.group_by), default=1)
        moved = 2 if groups > 1 and neighbours == "change-one" else 1
        held = values_of(aggregate, schema) if definition.of_items else 1
        return Sensitivity(neighbours, Fraction(moved * held), Fraction(moved * held**2), "bound")
    if definition.shape != "mean" and not isinstance(definition.chosen, Rank):
        return None
    if question.group_by:
        raise QuestionError(f"the sensitivity of {aggregate.kind.upper()} is known for one group at a time")
    column = aggregate.columns[0]
    scale = whole_scale(schema.spaces[column], False)
    filtered = question.where is not None or present(aggregate, schema) is not None
    n = rows if definition.chosen is None and not filtered else 1
    share = Fraction(1) if definition.chosen is not None else Fraction(1, n + (neighbours == "add-remove"))
    least, most = map(scale.value, scale.ends)
    distance = (most - least) * share
    bottom, top = {column: int_or_float(least)}, {column: int_or_float(most)}
    before = (bottom,) * n
    after = (*before, top) if neighbours == "add-remove" else (*before[1:], top)
    if aggregate.end == "least":
        before, after = (top,), ((top, bottom) if neighbours == "add-remove" else (bottom,))
    elif definition.chosen is not None and aggregate.end is None:
        return Sensitivity(neighbours, distance, distance**2, "bound")
    return Sensitivity(neighbours, distance, distance**2, "exact", (TableWitness(before, after, distance),))


_MOST_EFFECTS = 1 << 11  # effects of which every pair is looked at
_Largest: TypeAlias = tuple[Fraction, tuple[dict[str, int], dict[str, int]] | None, bool]


@dataclass(frozen=True, slots=True)
class Coordinate:
    """One number of the vector for each group: Σ coefficient · term over the rows that a question is about."""

    question: int  # by its place among those that are answered together
    weights: tuple[tuple[Fraction, Term], ...]


@dataclass(frozen=True, slots=True)
class Effects:
    """The different effects that a row can have, in parts that look at different items of its sets.

    An effect is what a row does to the coordinates of its part; those of other parts are 0 in it. All parts see the
    `rest` of a row, and a row has an effect in each of them. Its items of one part say nothing of those of another, so
    that of all rows with the same rest the largest moves of the parts add up.

    `records` has the codes of one row for each effect; `groups` the group it falls into in each question; `values` what
    it adds to each coordinate there, in whole numbers of the coordinate's unit; `questions` that of each coordinate.
    """

    records: list[dict[str, int]]
    parts: NDArray[np.int64]
    rest: NDArray[np.int64]
    groups: NDArray[np.int64]
    values: NDArray[Any]
    units: tuple[Fraction, ...]
    questions: tuple[int, ...]
    complete: bool
    known: dict[Any, _Largest] = field(default_factory=dict, init=False, repr=False, compare=False)

    def largest(self, neighbours: Neighbours, *, power: int = 1, weights: Sequence[Fraction] | None = None) -> _Largest:
        """max Σ_j (w_j |Δ_j|)^power over neighbours, the pair of rows that attains it, and whether it is exact.

        For add-remove the pair is (the row, itself) and Δ is its effect; for change-one Δ is the difference, in
        which coordinates of a question in which the two rows fall into different groups count twice. It is worked out
        once.
        """
        asked = neighbours, power, None if weights is None else tuple(weights)
        if asked not in self.known:
            self.known[asked] = self._largest(*asked)
        return self.known[asked]

    def _largest(self, neighbours: Neighbours, power: int, weights: Sequence[Fraction] | None) -> _Largest:
        given = self.units if weights is None else [w * unit for w, unit in zip(weights, self.units, strict=True)]
        used = [n for n, weight in enumerate(given) if weight]
        bottom = math.lcm(1, *(weight.denominator for weight in given))
        worth = Fraction(1, bottom) ** power
        scaled = self.values[:, used] * np.array([int(given[n] * bottom) for n in used], object)
        groups = self.groups[:, [self.questions[n] for n in used]]
        moved = np.isin(self.parts, np.unique(self.parts[(scaled != 0).any(axis=1)]))  # others are not asked about
        alone = len(np.unique(self.parts[moved])) <= 1  # then there is nothing that another part must see as well
        rest = np.zeros_like(self.rest) if alone else self.rest
        kinds = [n for n in _different(self.parts, rest, groups, scaled) if moved[n]] or [0]
        scaled, groups = scaled[kinds], groups[kinds]
        parts, rest = (np.unique(one[kinds], return_inverse=True)[1].ravel() for one in (self.parts, rest))
        if int(max(abs(scaled.max(initial=0)), abs(scaled.min(initial=0)))) ** power * 4 * (len(used) + 1) < 1 << 62:
            scaled = scaled.astype(np.int64)
        sizes = np.abs(scaled) ** power
        row_sizes = sizes.sum(axis=1)
        shape = int(rest.max()) + 1, int(parts.max()) + 1
        own = _most(row_sizes, (rest, parts), shape)
        together = own.sum(axis=1)
        top = int(np.argmax(together))
        if neighbours == "add-remove":
            row = self._row(
                next(
                    kinds[n] for n in np.flatnonzero((rest == top) & (parts == part)) if row_sizes[n] == own[top, part]
                )
                for part in range(shape[1])
            )
            return int(together[top]) * worth, (row, row), True
        spread = sum(_spread(scaled[parts == part], power) for part in range(shape[1]))
        bound = _bound(spread, groups, int(together[top]), power)
        if len(row_sizes) > _MOST_EFFECTS or not self.complete:
            return bound * worth, None, False

        def moves(first: int, seconds: NDArray[np.int64]) -> NDArray[Any]:
            """How far it is from one effect to others."""
            apart = np.abs(scaled[seconds] - scaled[first]) ** power
            elsewhere = groups[seconds] != groups[first]
            moved: NDArray[Any] = np.where(elsewhere, sizes[seconds] + sizes[first], apart).sum(axis=1)
            return moved

        beside = [np.flatnonzero(parts == part) for part in range(shape[1])]
        # By the rest of both rows and the part.
        found = np.zeros((shape[0], shape[0], shape[1]), row_sizes.dtype)
        for first in range(len(kinds)):
            seconds, part = beside[parts[first]], parts[first]
            np.maximum.at(found[rest[first], :, part], rest[seconds], moves(first, seconds))
            if alone and found[0, 0, 0] == bound:  # as with the first row, where it holds no item and another holds all
                break
        every = found.sum(axis=2)
        before, after = np.unravel_index(int(np.argmax(every)), every.shape)
        chosen = []
        for part, members in enumerate(beside):
            seconds, far = members[rest[members] == after], found[before, after, part]
            firsts = ((n, np.flatnonzero(moves(n, seconds) == far)) for n in members[rest[members] == before])
            chosen.append(next((kinds[n], kinds[seconds[attained[0]]]) for n, attained in firsts if len(attained)))
        rows = self._row(first for first, _ in chosen), self._row(second for _, second in chosen)
        return int(every[before, after]) * worth, rows, True

    def _row(self, effects: Iterable[int]) -> dict[str, int]:
        """The codes of the row that has one effect in each part: the items of its sets are those of all."""
        row: dict[str, int] = {}
        for n in effects:
            row |= {column: row.get(column, code) | code for column, code in self.records[n].items()}
        return row

    def largest_alone(self, neighbours: Neighbours, *, power: int = 1) -> list[Fraction]:
        """max |Δ_j|^power over neighbours, for each coordinate by itself."""
        alone = np.eye(len(self.units), dtype=int).tolist()
        return [self.largest(neighbours, power=power, weights=list(map(Fraction, row)))[0] for row in alone]

    def with_none(self) -> Effects:
        """The effects with that of no row, which moves nothing; it has the group of another, so that none is added."""
        parts = np.unique(self.parts)
        groups = [self.groups[np.flatnonzero(self.parts == part)[:1]] for part in parts]
        return replace(
            self,
            records=[*self.records, *({} for _ in parts)],
            parts=np.append(self.parts, parts),
            rest=np.append(self.rest, np.full(len(parts), self.rest.max() + 1)),
            groups=np.concatenate([self.groups, *groups]),
            values=np.concatenate([self.values, np.zeros((len(parts), self.values.shape[1]), object)]),
        )


def _different(*of_rows: NDArray[Any]) -> list[int]:
    """One row of every kind."""
    columns = np.concatenate([one.reshape(len(one), -1) for one in of_rows], axis=1)
    return sorted({tuple(row): n for n, row in enumerate(columns.tolist())}.values())


def _most(sizes: NDArray[Any], places: tuple[NDArray[np.int64], ...], shape: tuple[int, ...]) -> NDArray[Any]:
    """The largest size of each place."""
    found = np.zeros(shape, sizes.dtype)
    np.maximum.at(found, places, sizes)
    return found


def _spread(scaled: NDArray[Any], power: int) -> int:
    """The range of every coordinate, together."""
    return int(((scaled.max(axis=0) - scaled.min(axis=0)) ** power).sum())


def _bound(spread: int, groups: NDArray[np.int64], own: int, power: int) -> int:
    """No pair moves further than every coordinate's range, and in different groups than twice the largest effect."""
    if not (groups != groups[0]).any():
        return spread
    one_part = bool((groups == groups[:, :1]).all())
    return max(spread, 2 * own) if one_part or power == 1 else spread + 2 * own


def effects(schema: Schema, questions: Sequence[Question], coordinates: Sequence[Coordinate]) -> Effects:
    """Every different effect of one row on the coordinates of these questions.

    >>> from dproof.questions.sql import Select
    >>> from dproof.spaces import Categories
    >>> table = Schema("data", {"sex": Categories(["f", "m"])})
    >>> by_sex = Select().count().group_by("sex").question()
    >>> found = effects(table, [by_sex], [Coordinate(0, ((Fraction(1), Term((), None)),))])
    >>> found.largest("add-remove")[0], found.largest("change-one")[0]
    (Fraction(1, 1), Fraction(2, 1))
    """
    wheres = {
        (n, term): both(questions[coordinate.question].where, term.where)
        for n, coordinate in enumerate(coordinates)
        for _, term in coordinate.weights
    }
    of_parts, shared = _apart(schema, questions, coordinates, wheres)
    chosen, complete, grids = _candidates(schema, questions, wheres, of_parts, shared)
    units = tuple(Fraction(1, math.lcm(1, *(w.denominator for w, _ in one.weights))) for one in coordinates)
    records: list[dict[str, int]] = []
    found: list[tuple[NDArray[Any], ...]] = []
    numbers: dict[tuple[int, ...], int] = {}  # of what all parts see of a row
    for place, (part, by_column, grid) in enumerate(zip(of_parts, chosen, grids, strict=True)):
        meshed = np.meshgrid(*(np.array(codes) for codes in by_column.values()), indexing="ij")
        codes = {column: mesh.ravel() for column, mesh in zip(by_column, meshed, strict=True)}
        count = math.prod(map(len, by_column.values()))
        blocks = tuple(axis.of(codes[axis.column]) for axis in grid.axes)
        groups = np.zeros((count, len(questions)), np.int64)
        for n, question in enumerate(questions):
            if question.group_by:
                places = np.stack([grouping(key, schema).of(codes[key.column]) for key in question.group_by], axis=1)
                groups[:, n] = np.unique(places, axis=0, return_inverse=True)[1].ravel()
        values = np.zeros((count, len(coordinates)), object)
        for n in part:
            for weight, term in coordinates[n].weights:
                mask = np.broadcast_to(grid.mask(wheres[n, term])[blocks], count).astype(object)
                product = mask * int(weight / units[n])
                for column in term.columns:
                    product = product * term.scale(column, schema).whole(codes[column]).astype(object)
                values[:, n] += product
        rest = np.zeros(count, np.int64)
        if len(of_parts) > 1:
            seen = [
                np.where(codes[c] == MISSING, MISSING, codes[c] & shared[c]) if c in shared else codes[c]
                for c in sorted(codes)
            ]
            rest[:] = [numbers.setdefault(row, len(numbers)) for row in zip(*(s.tolist() for s in seen), strict=True)]
        kept = _different(rest, groups, values)
        records += [{column: int(places[n]) for column, places in codes.items()} for n in kept]
        found.append((np.full(len(kept), place), rest[kept], groups[kept], values[kept]))
    parts, of_rest, of_groups, of_values = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    of_coordinates = tuple(coordinate.question for coordinate in coordinates)
    return Effects(records, parts, of_rest, of_groups, of_values, units, of_coordinates, complete)


def _apart(
    schema: Schema,
    questions: Sequence[Question],
    coordinates: Sequence[Coordinate],
    wheres: Mapping[tuple[int, Term], Predicate | None],
) -> tuple[list[list[int]], dict[str, int]]:
    """Coordinates in parts that look at different items of sets, and in each set the items that all parts see, as bits.

    All see the items in the conditions of whole questions, and whether a set is there; and of a part that would look at
    too many, the items that most of its coordinates look at.
    """
    keyed = {key.column for question in questions for key in question.group_by}

    def looked_at(where: Predicate | None) -> set[tuple[str, int]]:
        return {one for one in items_of(where, schema) if one[0] not in keyed}

    items = [set().union(*(looked_at(wheres[n, term]) for _, term in one.weights)) for n, one in enumerate(coordinates)]
    every = set().union(*items)
    by_all = set().union(*(looked_at(question.where) for question in questions))
    by_all |= {(column, bit) for column, bit in every if bit == absent_bit(schema, column)}
    parts = _joined(items, by_all)
    while (widest := max((held for held, _ in parts), key=len, default=set())) and _is_wide(widest | by_all):
        by_all.add(Counter(one for own in items for one in sorted(own & widest)).most_common(1)[0][0])
        parts = _joined(items, by_all)
    shared = {column: 0 for column, _ in sorted(every | by_all)}
    for column, bit in by_all:
        shared[column] |= 1 << bit
    return [numbers for _, numbers in parts] or [[]], shared


def _is_wide(items: set[tuple[str, int]]) -> bool:
    """Whether one condition could not look at all of these items."""
    return max(Counter(column for column, _ in items).values()) > MOST_CONDITION_ITEMS


def _joined(
    items: Sequence[set[tuple[str, int]]], by_all: set[tuple[str, int]]
) -> list[tuple[set[tuple[str, int]], list[int]]]:
    """Coordinates that look at a common item, but for those that all see, are in one part."""
    parts: list[tuple[set[tuple[str, int]], list[int]]] = []
    for n, own in enumerate(items):
        left = own - by_all
        joined = [part for part in parts if part[0] & left or part[0] == left]
        parts = [part for part in parts if part not in joined]
        members = [number for _, numbers in joined for number in numbers]
        parts.append((left.union(*(held for held, _ in joined)), [*members, n]))
    return parts


def _candidates(
    schema: Schema,
    questions: Sequence[Question],
    wheres: Mapping[tuple[int, Term], Predicate | None],
    parts: Sequence[Sequence[int]],
    shared: Mapping[str, int],
) -> tuple[list[dict[str, Sequence[int]]], bool, list[Grid]]:
    """For each part codes of each column whose combinations show every effect; whether they do, or only all extremes;
    and the grid of the part.

    Too many codes cost time; one that is lacking may make the sensitivity too small.
    """
    used = [term for _, term in wheres]
    summed = {column: [term for term in used if column in term.columns] for term in used for column in term.columns}
    tested = {leaf.column for where in wheres.values() for leaf in leaves(where)}
    keys = tuple(dict.fromkeys(key for question in questions for key in question.group_by))
    by_keys = [key.column for key in keys]
    # Two groups of a column that nothing else looks at stand for all its groups.
    alone = [key for key in keys if key.column not in tested | set(summed) and by_keys.count(key.column) == 1]
    two = {key.column: _first_two(grouping(key, schema)) for key in alone}
    others = [key for key in keys if key not in alone]
    # What all parts see is cut alike in all of them.
    seen = [
        atom
        for where in dict.fromkeys(wheres.values())
        for atom in atoms(where)
        if all(shared.get(column, 0) >> bit & 1 for column, bit in items_of(atom, schema) if column in shared)
    ]
    seen += [Missing(c) for c, bits in shared.items() if (bit := absent_bit(schema, c)) is not None and bits >> bit & 1]
    grids = [
        cut(schema, [*seen, *(where for (n, _), where in wheres.items() if n in part)], others, [*summed, *shared])
        for part in map(set, parts)
    ]
    ends = [{axis.column: _ends(axis, summed.get(axis.column, []), schema) for axis in grid.axes} for grid in grids]
    multiplied = {column for term in used if len(term.columns) > 1 for column in term.columns}
    every = [
        own | {axis.column: _every_code(axis) for axis in grid.axes if axis.column in multiplied}
        for own, grid in zip(ends, grids, strict=True)
    ]
    complete = not multiplied or sum(_kinds(two | codes) for codes in every) <= _MOST_EFFECTS
    chosen = [two | codes for codes in (every if complete else ends)]
    if sum(map(_kinds, chosen)) > MOST_ROW_KINDS:
        raise TooLarge(f"the question cuts the rows into more than {MOST_ROW_KINDS} kinds: ask for less at once")
    return chosen, complete, grids


def _kinds(codes: Mapping[str, Sequence[int]]) -> int:
    return math.prod(map(len, codes.values()))


def _first_two(groups: Partition) -> Sequence[int]:
    """A code of each of two groups, if there are two."""
    return [int(start) for start in groups.samples[:2]]


def _ends(axis: Partition, summed: Sequence[Term], schema: Schema) -> Sequence[int]:
    """Codes of an axis among which the extremes of every coordinate are found, each on its own."""
    if not summed:
        missing = None if schema.is_open(axis.column) else absent_bit(schema, axis.column)
        codes = list(map(int, axis.samples))
        if missing is None:
            return codes
        # Who has no set has no item of it.
        return [code for code in codes if code in (MISSING, 1 << missing) or not code >> missing & 1]
    if schema.spaces[axis.column].line is None:
        return _every_code(axis)  # numbers in any order
    # A product rises or falls on either side of 0: that is the middle of the range for numbers that are centred.
    scales = [term.scale(axis.column, schema) for term in summed if len(term.columns) > 1]
    zeros = {-scale.shift // scale.factor for scale in scales}
    inner = [np.clip(zero + n, axis.first, axis.last) for zero in zeros for n in (0, 1)]
    return list(map(int, np.unique(np.concatenate([axis.first, axis.last, *inner]))))


def _every_code(axis: Partition) -> Sequence[int]:
    """Every code of an axis."""
    return range(int(axis.first[0]), int(axis.last[-1]) + 1)


_MOST_ROWS = 24  # different rows to make tables of
_MOST_TABLES = 400  # that neighbours share


@dataclass(frozen=True, slots=True)
class DeclaredQuery:
    """f: tables → numbers with a declared sensitivity; answers are rounded to whole multiples of `step`.

    `function` gets a list of rows, each a dict of declared values. `name` is what a ledger knows it by.
    """

    name: str
    function: Callable[[Sequence[Row]], Any]
    sensitivity: Fraction
    step: Fraction = Fraction(1)
    neighbours: Neighbours = "change-one"

    @property
    def steps(self) -> int:
        """How many whole steps one row can move the rounded answer."""
        return max(1, math.ceil(self.sensitivity / self.step))

    def value(self, rows: Sequence[Row]) -> Fraction:
        """The answer; whatever goes wrong inside the function counts as 0, so nothing shows outside."""
        try:
            return exact(self.function(list(rows)))
        except Exception:
            return Fraction(0)

    def whole(self, rows: Sequence[Row]) -> int:
        """The answer in whole steps."""
        # Halves go up, all of them: two that differ by a whole number of steps must do so when rounded too.
        return math.floor(self.value(rows) / self.step + Fraction(1, 2))


def declare(
    name: str,
    function: Callable[[Sequence[Row]], Any],
    claimed: Any,
    table: Schema | Mapping[str, Space | Open],
    *,
    neighbours: Neighbours = "change-one",
    step: Any = 1,
) -> tuple[DeclaredQuery, Sensitivity]:
    """A query with a declared sensitivity, once no small pair of neighbouring tables has been found to break it.

    `name` is what the answer calls it; `function` takes the rows; `claimed` is the sensitivity that its author
    claims, for these `neighbours`; `table` maps the name of each column to its space; answers are rounded to
    multiples of `step`.

    >>> from dproof.spaces import Categories
    >>> books = {"books": Categories(range(8))}
    >>> spread = lambda rows: max((r["books"] for r in rows), default=0) - min((r["books"] for r in rows), default=0)
    >>> declare("spread", spread, 7, books)[1].kind
    'declared'
    >>> declare("spread", spread, 3, books)
    Traceback (most recent call last):
    dproof.errors.NotPrivate: the declared sensitivity 3 is too small: two neighbouring tables differ by 7
    """
    schema = as_schema(table)
    expect(name, str, "name", "a text: what a ledger knows the query by")
    choice(neighbours, get_args(Neighbours), "neighbours")
    if not callable(function):
        raise QuestionError(f"function must be a function of a list of rows, not {described(function)}")
    query = DeclaredQuery(name, function, exact(claimed, "claimed"), exact(step, "step"), neighbours)
    if query.sensitivity <= 0 or query.step <= 0 or not name:
        raise QuestionError("a declared query needs a name, a sensitivity above 0 and a step above 0")
    worst = max(_witnesses(query, schema), key=lambda witness: witness.distance)
    if worst.distance > query.sensitivity:
        gaps = any(value is None for row in (*worst.before, *worst.after) for value in row.values())
        raise NotPrivate(
            f"the declared sensitivity {query.sensitivity} is too small: "
            f"two neighbouring tables differ by {worst.distance}"
            + (" (a missing value is None, and a function that fails counts as 0)" if gaps else ""),
            worst,
        )
    return query, Sensitivity(neighbours, query.sensitivity, query.sensitivity**2, "declared")


def _witnesses(query: DeclaredQuery, schema: Schema) -> Iterator[TableWitness]:
    """Pairs of neighbouring tables of up to four rows, made of extreme, middle and missing values."""
    rows = _rows(schema)
    alike = ((row,) * size for size in (1, 3) for row in rows)
    for shared in islice(chain([()], alike, combinations(rows, 2), combinations(rows, 3)), _MOST_TABLES):
        tables = [(*shared, row) for row in rows]
        values = [query.value(table) for table in tables]
        least, most = values.index(min(values)), values.index(max(values))
        if query.neighbours == "change-one":
            yield TableWitness(tables[least], tables[most], values[most] - values[least])
        else:
            without = query.value(shared)
            yield from (TableWitness(shared, tables[n], abs(values[n] - without)) for n in (least, most))


def _rows(schema: Schema) -> list[Row]:
    """Different rows: first those that differ from one row in a single column, so that every column is tried."""
    choices: dict[str, list[Any]] = {}
    for column in schema.spaces:
        if schema.spaces[column].holds_curves:
            continue  # a row has the columns with declared values, and curves have none
        if schema.is_open(column):
            low = schema.open_number(column)
            choices[column] = [low, low + 1, low + 1000]
        else:
            space = schema.declared(column)
            codes = dict.fromkeys([0, space.size - 1, space.size // 2, 1 % space.size])
            gap = [None] if column in schema.nullable else []
            labels = [space.label(code) for code in codes]
            choices[column] = [*labels[:2], *gap, *labels[2:]]
    first = {column: values[0] for column, values in choices.items()}
    longest = max(map(len, choices.values()), default=0)
    single = (first | {c: values[n]} for n in range(1, longest) for c, values in choices.items() if n < len(values))
    every = (dict(zip(choices, values, strict=True)) for values in product(*choices.values()))
    rows: list[Row] = []
    for row in islice(chain([first], single, every), _MOST_ROWS**2):
        if row not in rows and len(rows) < _MOST_ROWS:
            rows.append(row)
    return rows

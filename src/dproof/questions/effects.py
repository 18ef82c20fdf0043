"""What one row can do to a vector of sums, over all rows that could exist.

The conditions cut the rows that could exist into cells. Inside a cell a sum depends on the summed columns alone, and
linearly, so its extremes lie at the ends of the blocks; where squares or products are summed every code counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.errors import TooLarge
from dproof.privacy import Neighbours
from dproof.questions.cells import Cut, Grid, cut
from dproof.questions.predicates import Predicate, both, leaves
from dproof.questions.question import Key
from dproof.questions.regions import Grouping, grouping
from dproof.questions.schema import Schema
from dproof.questions.sums import Term

_MOST_RECORDS = 1 << 18
_MOST_EFFECTS = 1 << 11  # effects of which every pair is looked at


@dataclass(frozen=True, slots=True)
class Coordinate:
    """One number of the vector for each group: Σ coefficient · term over the rows that satisfy the part's condition."""

    part: int
    weights: tuple[tuple[Fraction, Term], ...]


@dataclass(frozen=True, slots=True)
class Grouped:
    """One question of several that are answered together: its condition and its groups."""

    where: Predicate | None
    keys: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Effects:
    """The different effects that a row can have.

    `records` has the codes of one row for each effect; `groups` the group it falls into in each part; `values` what
    it adds to each coordinate there, in whole numbers of the coordinate's unit.
    """

    records: list[dict[str, int]]
    groups: NDArray[np.int64]
    values: NDArray[Any]
    units: tuple[Fraction, ...]
    parts: tuple[int, ...]
    complete: bool

    def largest(
        self, neighbours: Neighbours, *, power: int = 1, weights: Sequence[Fraction] | None = None
    ) -> tuple[Fraction, tuple[int, int] | None, bool]:
        """max Σ_j (w_j |Δ_j|)^power over neighbours, the pair of effects that attains it, and whether it is exact.

        For add-remove the pair is (the row, itself) and Δ is its effect; for change-one Δ is the difference, in
        which coordinates of a part in which the two rows fall into different groups count twice.
        """
        given = self.units if weights is None else [w * unit for w, unit in zip(weights, self.units, strict=True)]
        used = [n for n, weight in enumerate(given) if weight]
        bottom = math.lcm(1, *(weight.denominator for weight in given))
        worth = Fraction(1, bottom)
        scaled = self.values[:, used] * np.array([int(given[n] * bottom) for n in used], object)
        groups = self.groups[:, [self.parts[n] for n in used]]
        kinds = _different(groups, scaled)
        scaled, groups = scaled[kinds], groups[kinds]
        if int(max(abs(scaled.max(initial=0)), abs(scaled.min(initial=0)))) ** power * 4 * (len(used) + 1) < 1 << 62:
            scaled = scaled.astype(np.int64)
        sizes = np.abs(scaled) ** power
        row_sizes = sizes.sum(axis=1)
        top = int(np.argmax(row_sizes))
        if neighbours == "add-remove":
            return int(row_sizes[top]) * worth**power, (kinds[top],) * 2, True
        if len(row_sizes) > _MOST_EFFECTS or not self.complete:
            return _bound(scaled, groups, row_sizes, power) * worth**power, None, False
        most, pair = 0, (0, 0)
        for first in range(len(row_sizes)):
            moved = np.abs(scaled - scaled[first]) ** power
            total = np.where(groups != groups[first], sizes + sizes[first], moved).sum(axis=1)
            second = int(np.argmax(total))
            if total[second] > most:
                most, pair = int(total[second]), (first, second)
        return most * worth**power, (kinds[pair[0]], kinds[pair[1]]), True


def _different(groups: NDArray[np.int64], values: NDArray[Any]) -> list[int]:
    """One row of every kind."""
    return sorted({(*g, *v): n for n, (g, v) in enumerate(zip(groups.tolist(), values.tolist(), strict=True))}.values())


def _bound(scaled: NDArray[Any], groups: NDArray[np.int64], own: NDArray[Any], power: int) -> int:
    """No pair moves further than every coordinate's range, and in different groups than twice the largest effect."""
    spread = int(((scaled.max(axis=0) - scaled.min(axis=0)) ** power).sum())
    if not (groups != groups[0]).any():
        return spread
    one_part = bool((groups == groups[:, :1]).all())
    apart = 2 * int(own.max())
    return max(spread, apart) if one_part or power == 1 else spread + apart


def effects(schema: Schema, parts: Sequence[Grouped], coordinates: Sequence[Coordinate]) -> Effects:
    """Every different effect of one row on the coordinates of these parts.

    >>> from dproof.spaces import Categories
    >>> table = Schema("data", {"sex": Categories(["f", "m"])})
    >>> found = effects(table, [Grouped(None, (Key("sex"),))], [Coordinate(0, ((Fraction(1), Term((), None)),))])
    >>> found.largest("add-remove")[0], found.largest("change-one")[0]
    (Fraction(1, 1), Fraction(2, 1))
    """
    wheres = {
        (n, term): both(parts[coordinate.part].where, term.where)
        for n, coordinate in enumerate(coordinates)
        for _, term in coordinate.weights
    }
    chosen, complete, grid = _candidates(schema, parts, list(wheres.values()), [term for _, term in wheres])
    meshed = np.meshgrid(*(np.array(codes) for codes in chosen.values()), indexing="ij")
    codes = {column: mesh.ravel() for column, mesh in zip(chosen, meshed, strict=True)}
    count = math.prod(map(len, chosen.values()))
    blocks = tuple(axis.of(codes[axis.column]) for axis in grid.axes)
    groups = np.zeros((count, len(parts)), np.int64)
    for n, part in enumerate(parts):
        if part.keys:
            places = np.stack([grouping(key, schema).of(codes[key.column]) for key in part.keys], axis=1)
            groups[:, n] = np.unique(places, axis=0, return_inverse=True)[1].ravel()
    values = np.zeros((count, len(coordinates)), object)
    units = []
    for n, coordinate in enumerate(coordinates):
        bottom = math.lcm(1, *(weight.denominator for weight, _ in coordinate.weights))
        units.append(Fraction(1, bottom))
        for weight, term in coordinate.weights:
            product = np.broadcast_to(grid.mask(wheres[n, term])[blocks], count).astype(object) * int(weight * bottom)
            for column in term.columns:
                product = product * term.scale(column, schema).whole(codes[column]).astype(object)
            values[:, n] += product
    kept = _different(groups, values)
    records = [{column: int(places[n]) for column, places in codes.items()} for n in kept]
    return Effects(records, groups[kept], values[kept], tuple(units), tuple(c.part for c in coordinates), complete)


def _candidates(
    schema: Schema, parts: Sequence[Grouped], wheres: Sequence[Predicate | None], used: Sequence[Term]
) -> tuple[dict[str, Sequence[int]], bool, Grid]:
    """Codes of each column whose combinations show every effect; whether they do, or only all extremes; the grid."""
    summed = {column: [term for term in used if column in term.columns] for term in used for column in term.columns}
    tested = {leaf.column for where in wheres for leaf in leaves(where)}
    keys = tuple(dict.fromkeys(key for part in parts for key in part.keys))
    by_keys = [key.column for key in keys]
    # Two groups of a column that nothing else looks at stand for all its groups.
    alone = [key for key in keys if key.column not in tested | set(summed) and by_keys.count(key.column) == 1]
    grid = cut(schema, wheres, [key for key in keys if key not in alone], summed)
    two = {key.column: _first_two(grouping(key, schema)) for key in alone}
    ends = {axis.column: _ends(axis, summed.get(axis.column, []), schema) for axis in grid.axes}
    multiplied = {column for term in used if len(term.columns) > 1 for column in term.columns}
    every = ends | {axis.column: _all(axis) for axis in grid.axes if axis.column in multiplied}
    complete = not multiplied or math.prod(len(codes) for codes in (two | every).values()) <= _MOST_EFFECTS
    chosen = two | (every if complete else ends)
    if math.prod(len(codes) for codes in chosen.values()) > _MOST_RECORDS:
        raise TooLarge(f"the question cuts the rows into more than {_MOST_RECORDS} kinds: ask for less at once")
    return chosen, complete, grid


def _first_two(groups: Grouping) -> Sequence[int]:
    """A code of each of two groups, if there are two."""
    return [int(start) for start in groups.starts[np.unique(groups.groups, return_index=True)[1]][:2]]


def _ends(axis: Cut, summed: Sequence[Term], schema: Schema) -> Sequence[int]:
    """Codes of an axis among which the extremes of every coordinate are found, each on its own."""
    if not summed:
        return list(map(int, axis.samples))
    if schema.spaces[axis.column].line is None:
        return _all(axis)  # numbers in any order
    # A product rises or falls on either side of 0: that is the middle of the range for numbers that are centred.
    scales = [term.scale(axis.column, schema) for term in summed if len(term.columns) > 1]
    zeros = {-scale.shift // scale.factor for scale in scales}
    inner = [np.clip(zero + n, axis.first, axis.last) for zero in zeros for n in (0, 1)]
    return list(map(int, np.unique(np.concatenate([axis.first, axis.last, *inner]))))


def _all(axis: Cut) -> Sequence[int]:
    """Every code of an axis."""
    return range(int(axis.first[0]), int(axis.last[-1]) + 1)

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
from dproof.queries.cells import Axis, cut
from dproof.queries.linear import Term
from dproof.queries.question import Key, Predicate, both, leaves
from dproof.queries.regions import grouping, key_regions
from dproof.queries.schema import Schema

_MOST_RECORDS = 1 << 18
_MOST_PAIRS = 1 << 22
_MOST_CODES = 1 << 11


@dataclass(frozen=True, slots=True)
class Coordinate:
    """One number of the vector for each group: Σ coefficient · term over the rows that satisfy the part's condition."""

    part: int
    weights: tuple[tuple[Fraction, Term], ...]


@dataclass(frozen=True, slots=True)
class Part:
    """One question of several that are answered together: its condition and its groups."""

    where: Predicate | None
    keys: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Effects:
    """The different effects that a row can have.

    `records` has the codes of one row for each effect; `groups` the group it falls into in each part;
    `values` what it adds to each coordinate there.
    """

    records: list[dict[str, int]]
    groups: NDArray[np.int64]
    values: NDArray[Any]
    parts: tuple[int, ...]
    complete: bool

    def largest(
        self, neighbours: Neighbours, *, power: int = 1, weights: Sequence[Fraction] | None = None
    ) -> tuple[Fraction, tuple[int, int] | None, bool]:
        """max Σ_j (w_j |Δ_j|)^power over neighbours, the pair of effects that attains it, and whether it is exact.

        For add-remove the pair is (the row, itself) and Δ is its effect; for change-one Δ is the difference, in
        which coordinates of a part in which the two rows fall into different groups count twice.
        """
        scaled, worth = _whole(self.values, weights, power)
        own = (np.abs(scaled) ** power).sum(axis=1)
        top = int(np.argmax(own))
        if neighbours == "add-remove":
            return Fraction(int(own[top])) * worth, (top, top), True
        if len(own) ** 2 > _MOST_PAIRS or not self.complete:
            return self._bound(scaled, own, power) * worth, None, False
        most, pair = 0, (0, 0)
        for first in range(len(own)):
            moved = np.abs(scaled - scaled[first]) ** power
            apart = (self.groups != self.groups[first])[:, list(self.parts)]
            both_ = np.abs(scaled) ** power + np.abs(scaled[first]) ** power
            total = np.where(apart, both_, moved).sum(axis=1)
            second = int(np.argmax(total))
            if total[second] > most:
                most, pair = total[second], (first, second)
        return Fraction(int(most)) * worth, pair, True

    def _bound(self, scaled: NDArray[Any], own: NDArray[Any], power: int) -> Fraction:
        """No pair moves further than each coordinate's range, or in different groups than twice the largest effect."""
        spread = ((scaled.max(axis=0) - scaled.min(axis=0)) ** power).sum()
        several = bool((self.groups != self.groups[0]).any())
        return Fraction(int(max(spread, 2 * own.max()) if several else spread))


def _whole(values: NDArray[Any], weights: Sequence[Fraction] | None, power: int) -> tuple[NDArray[Any], Fraction]:
    """Whole numbers v and a worth such that Σ (w |value|)^power = worth · Σ |v|^power."""
    exact = values if weights is None else values * np.array([Fraction(w) for w in weights], object)
    bottom = math.lcm(1, *(Fraction(x).denominator for x in exact.flat))
    whole = np.array([int(x * bottom) for x in exact.flat], object).reshape(exact.shape)
    largest = max((abs(x) for x in whole.flat), default=0)
    if largest**power * 4 * max(1, whole.shape[1]) < 1 << 62:
        whole = whole.astype(np.int64)
    return whole, Fraction(1, bottom) ** power


def effects(schema: Schema, parts: Sequence[Part], coordinates: Sequence[Coordinate]) -> Effects:
    """Every different effect of one row on the coordinates of these parts.

    >>> from dproof.spaces import Categories
    >>> table = Schema("data", {"sex": Categories(["f", "m"])})
    >>> found = effects(table, [Part(None, (Key("sex"),))], [Coordinate(0, ((Fraction(1), Term((), None)),))])
    >>> found.largest("add-remove")[0], found.largest("change-one")[0]
    (Fraction(1, 1), Fraction(2, 1))
    """
    used = [(c.part, weight, term) for c in coordinates for weight, term in c.weights]
    wheres = [both(parts[part].where, term.where) for part, _, term in used]
    tested = {leaf.column for where in wheres for leaf in leaves(where)}
    degrees = {
        column: max(term.columns.count(column) + len(term.columns) - 1 for *_, term in used if column in term.columns)
        for *_, term in used
        for column in term.columns
    }
    keys = tuple(dict.fromkeys(key for part in parts for key in part.keys))
    free = [key for key in keys if key.column not in tested and key.column not in degrees]
    # Two groups of a column that nothing else looks at stand for all its groups.
    single = [key for key in free if [other.column for other in keys].count(key.column) == 1]
    grid = cut(schema, wheres, [key for key in keys if key not in single], degrees)
    candidates = [_candidates(axis, degrees.get(axis.column, 0)) for axis in grid.axes]
    chosen = {axis.column: codes for axis, (codes, _) in zip(grid.axes, candidates, strict=True)}
    for key in single:
        chosen[key.column] = [runs.runs[0][0] for _, runs in key_regions(key, schema)[:2] if runs.runs]
    if math.prod(len(codes) for codes in chosen.values()) > _MOST_RECORDS:
        raise TooLarge(f"the question cuts the rows into more than {_MOST_RECORDS} kinds: ask for less at once")
    rows = [codes.ravel() for codes in np.meshgrid(*(np.array(codes) for codes in chosen.values()), indexing="ij")]
    codes_of = dict(zip(chosen, rows, strict=True)) if rows else {}
    count = len(rows[0]) if rows else 1
    blocks = tuple(axis.of(codes_of[axis.column]) for axis in grid.axes)
    masks = {where: grid.mask(where)[blocks] if grid.axes else np.ones(1, bool) for where in wheres}
    groups = np.zeros((count, len(parts)), np.int64)
    for n, part in enumerate(parts):
        for key in part.keys:
            groups[:, n] = groups[:, n] * 2**20 + grouping(key, schema).of(codes_of[key.column])
    values = np.zeros((count, len(coordinates)), object)
    for n, coordinate in enumerate(coordinates):
        for weight, term in coordinate.weights:
            product = masks[both(parts[coordinate.part].where, term.where)].astype(object)
            for column in term.columns:
                product = product * term.scale(column, schema).whole(codes_of[column]).astype(object)
            values[:, n] += product * weight
    first = {(*g, *v): n for n, (g, v) in reversed(list(enumerate(zip(groups.tolist(), values.tolist(), strict=True))))}
    kept = sorted(first.values())
    records = [{column: int(codes[n]) for column, codes in codes_of.items()} for n in kept]
    complete = all(whole for _, whole in candidates)
    return Effects(records, groups[kept], values[kept], tuple(c.part for c in coordinates), complete)


def _candidates(axis: Axis, degree: int) -> tuple[list[int], bool]:
    """Codes of an axis among which every effect, or the extremes of every coordinate, are found; whether all are."""
    if degree == 0:
        return list(axis.first), True
    if degree == 1:
        return sorted({*axis.first, *axis.last}), True
    if sum(b - a + 1 for a, b in zip(axis.first, axis.last, strict=True)) <= _MOST_CODES:
        return [code for a, b in zip(axis.first, axis.last, strict=True) for code in range(a, b + 1)], True
    # The least square is at the middle of the range, for which numbers are centred.
    middle = max(axis.last) // 2
    inner = [min(max(middle + side, a), b) for a, b in zip(axis.first, axis.last, strict=True) for side in (0, 1)]
    return sorted({*axis.first, *axis.last, *inner}), False

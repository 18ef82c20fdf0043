"""Conditions and groups on one column as sets of its codes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dproof.errors import InputError, TooLarge
from dproof.queries.question import Among, Compare, Contains, Key, Leaf, Missing, Operator, Value
from dproof.queries.schema import Open, Schema, has_numbers
from dproof.queries.schema import plain as plain
from dproof.spaces import Categories, Space, Subsets
from dproof.spaces.interval import Interval

MISSING = -1  # the code of a value that is not there
_MOST_GROUPS = 1 << 17


@dataclass(frozen=True, slots=True)
class Runs:
    """Codes in half-open runs, in order; a run that starts at −1 holds the missing value."""

    runs: tuple[tuple[int, int], ...]

    def holds(self, codes: NDArray[Any]) -> NDArray[np.bool_]:
        """Which codes lie in a run.

        >>> Runs(((0, 2), (5, 6))).holds(np.array([-1, 1, 2, 5]))
        array([False,  True, False,  True])
        """
        ends = np.array([end for run in self.runs for end in run])
        inside: NDArray[np.bool_] = np.searchsorted(ends, codes, side="right") % 2 == 1
        return inside


@dataclass(frozen=True, slots=True)
class Bit:
    """Codes that have a bit set, or with `present=False` those that are there and have it not."""

    bit: int
    present: bool = True

    def holds(self, codes: NDArray[Any]) -> NDArray[np.bool_]:
        there = np.asarray(codes) != MISSING
        found: NDArray[np.bool_] = there & ((np.asarray(codes) >> self.bit & 1 == 1) == self.present)
        return found


Region: TypeAlias = Runs | Bit

_TESTS: dict[Operator, Callable[[Any, Any], bool]] = {
    "=": lambda x, y: bool(x == y),
    "<>": lambda x, y: bool(x != y),
    "<": lambda x, y: bool(x < y),
    "<=": lambda x, y: bool(x <= y),
    ">": lambda x, y: bool(x > y),
    ">=": lambda x, y: bool(x >= y),
}


def region(leaf: Leaf, schema: Schema, *, negated: bool = False) -> Region:
    """The codes of the values that satisfy a checked condition, or its negation; never those missing for both.

    >>> from dproof.queries.question import Among
    >>> table = Schema("data", {"size": Categories(["S", "M", "L"])})
    >>> region(Among("size", ("S", "L")), table), region(Among("size", ("S", "L")), table, negated=True)
    (Runs(runs=((0, 1), (2, 3))), Runs(runs=((1, 2),)))
    """
    space = schema.spaces[leaf.column]
    assert not isinstance(space, Open)  # its conditions are known by their positions, not by codes
    absent = space.values.index(None) if isinstance(space, Categories) and None in space.values else MISSING
    match leaf:
        case Contains(_, item):
            assert isinstance(space, Subsets)
            return Bit(space.values.index(item), not negated)
        case Missing():
            # What nobody declared is not there, also where missing values are a category of their own.
            gaps = Runs(((MISSING, 0),) if absent == MISSING else _joined(((MISSING, 0), (absent, absent + 1))))
            return _without(((0, space.size),), absent) if negated else gaps
        case Among(_, values):
            codes = sorted({_code(space, value) for value in values})
            runs = _joined((code, code + 1) for code in codes)
        case Compare(_, operator, value):
            runs = _compared(space, operator, value)
    return _without(_complement(runs, space.size) if negated else runs, absent)


def _code(space: Space, value: Value) -> int:
    return space.code(int(value) if isinstance(value, Fraction) and value.denominator == 1 else value)


def _compared(space: Space, operator: Operator, value: Value) -> tuple[tuple[int, int], ...]:
    if isinstance(space, Categories):
        test, labels = _TESTS[operator], space.values
        if operator in ("=", "<>") or has_numbers(space):
            chosen = [code for code, label in enumerate(labels) if label is not None and test(label, value)]
        else:
            chosen = [code for code in range(space.size) if test(code, labels.index(value))]
        return _joined((code, code + 1) for code in chosen)
    assert isinstance(value, Fraction)
    low, step = lattice(space)
    place = (value - low) / step  # a code, if it is whole and in range
    below, upto = math.ceil(place), math.floor(place) + 1  # codes with a value < and ≤ this one
    ends = {"<": (0, below), "<=": (0, upto), ">": (upto, space.size), ">=": (below, space.size), "=": (below, upto)}
    if operator == "<>":
        return _complement(_clipped([(below, upto)], space.size), space.size)
    return _clipped([ends[operator]], space.size)


def lattice(space: Space) -> tuple[Fraction, Fraction]:
    """The least value and the step of a space of evenly spaced numbers."""
    assert isinstance(space, Interval)
    return space.low, space.step


def _clipped(runs: Any, size: int) -> tuple[tuple[int, int], ...]:
    cut = ((max(0, start), min(size, stop)) for start, stop in runs)
    return tuple((start, stop) for start, stop in cut if start < stop)


def _joined(runs: Any) -> tuple[tuple[int, int], ...]:
    """Runs in order, with those that touch made one."""
    joined: list[tuple[int, int]] = []
    for start, stop in runs:
        if joined and joined[-1][1] == start:
            joined[-1] = joined[-1][0], stop
        else:
            joined.append((start, stop))
    return tuple(joined)


def _complement(runs: tuple[tuple[int, int], ...], size: int) -> tuple[tuple[int, int], ...]:
    ends = [0, *(end for run in runs for end in run), size]
    return tuple((a, b) for a, b in zip(ends[::2], ends[1::2], strict=True) if a < b)


def _without(runs: tuple[tuple[int, int], ...], code: int) -> Runs:
    pieces = [piece for start, stop in runs for piece in ((start, min(stop, code)), (max(start, code + 1), stop))]
    inside = [(a, b) for a, b in pieces if a < b] if any(a <= code < b for a, b in runs) else runs
    return Runs(_joined(inside))


def key_regions(key: Key, schema: Schema) -> tuple[tuple[Any, Runs], ...]:
    """The declared groups of a key: label and codes. A column with missing values has a group None for them.

    >>> key_regions(Key("size"), Schema("data", {"size": Categories(["S", "M"])}))
    (('S', Runs(runs=((0, 1),))), ('M', Runs(runs=((1, 2),))))
    """
    space = schema.spaces[key.column]
    if isinstance(space, Open):
        raise InputError(f"column {key.column!r} has no declared values to group by: give it a space in the plan")
    if key.width is not None and not isinstance(space, Categories):
        groups = _bins(key, space, key.width)
    else:
        _fits(key, space.size)
        groups = [(space.label(code), Runs(((code, code + 1),))) for code in range(space.size)]
        if key.width is not None:
            groups = _merged(groups, key.width)
    gap = [(None, Runs(((MISSING, 0),)))] if key.column in schema.nullable else []
    return (*groups, *gap)


def _bins(key: Key, space: Space, width: Fraction) -> list[tuple[Any, Runs]]:
    low, step = lattice(space)
    high = low + step * (space.size - 1)
    first, last = math.floor(low / width), math.floor(high / width)
    _fits(key, last - first + 1)
    # Everything in whole numbers of one unit.
    unit = math.lcm(low.denominator, step.denominator, width.denominator)
    bottom, one, wide = int(low * unit), int(step * unit), int(width * unit)
    edges = [-((bottom - n * wide) // one) for n in range(first, last + 2)]  # the first code in each bin
    labels = [plain(n * width) for n in range(first, last + 1)]
    return [(label, Runs(_clipped([run], space.size))) for label, run in zip(labels, pairwise(edges), strict=True)]


def _merged(groups: list[tuple[Any, Runs]], width: Fraction) -> list[tuple[Any, Runs]]:
    """Numbered categories in bins."""
    bins: dict[Any, list[tuple[int, int]]] = {}
    for label, codes in groups:
        edge = None if label is None else plain(math.floor(Fraction(label) / width) * width)
        bins.setdefault(edge, []).extend(codes.runs)
    return [(edge, Runs(_joined(runs))) for edge, runs in bins.items()]


def _fits(key: Key, groups: int) -> None:
    if groups > _MOST_GROUPS:
        advice = f"group by BIN({key.column}, width) instead" if key.width is None else "take a greater width"
        raise TooLarge(f"column {key.column!r} has {groups} groups, more than {_MOST_GROUPS}: {advice}")


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """The declared groups of a key, and the group of every code."""

    labels: tuple[Any, ...]
    _starts: NDArray[np.int64]
    _groups: NDArray[np.int64]

    def of(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        """The group of each code, as its position among the labels."""
        place = np.searchsorted(self._starts, np.asarray(codes).astype(np.int64), side="right") - 1
        return self._groups[place]


def grouping(key: Key, schema: Schema) -> Grouping:
    """The groups of a key as a table over its codes.

    >>> table = Schema("data", {"size": Categories([1, 2, 10])})
    >>> groups = grouping(Key("size", Fraction(5)), table)
    >>> groups.labels, groups.of(np.array([0, 1, 2]))
    ((0, 10), array([0, 0, 1]))
    """
    found = key_regions(key, schema)
    pieces = sorted((run[0], group) for group, (_, codes) in enumerate(found) for run in codes.runs)
    starts, groups = zip(*pieces, strict=True)
    return Grouping(tuple(label for label, _ in found), np.array(starts), np.array(groups))

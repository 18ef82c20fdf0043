"""Categorical data: finitely many labels with a metric. HLM15, Example 1; HLM16, section 2.1."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from numbers import Number
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import COLUMN, listed
from dproof.columns.arrow import as_numpy, from_numpy, from_texts, is_arrow, narrowest
from dproof.columns.column import Column, Draft, Lookup
from dproof.columns.values import (
    MISSING,
    NO,
    OUTSIDE,
    YES,
    is_missing,
    number_of,
    numbered,
    plain,
    text_of,
    truth_of,
    undeclared,
    written,
)
from dproof.errors import InputError, did_you_mean
from dproof.exact import exact, has_shape, whole_numbers
from dproof.spaces.space import COMPARISONS, Space

if TYPE_CHECKING:
    from dproof.plans.reader import Reader

OTHER = "(other)"


@dataclass(frozen=True, init=False, eq=False)
class Categories(Space):
    """A finite set of labels: strings, numbers, booleans or None.

    `metric="discrete"`: ρ(x, y) = 1 for x ≠ y. `metric="ordinal"`: ρ = difference of positions.
    A matrix of distances is checked to be a metric.

    >>> hobbies = Categories(["Sports", "Cars", "Reading"])
    >>> hobbies.size, hobbies.diameter, hobbies.encode(["Cars", "Sports"]).tolist()
    (3, Fraction(1, 1), [1, 0])
    """

    values: tuple[Hashable, ...]
    metric: str
    _matrix: NDArray[Any] | None = field(repr=False)
    _codes: dict[Hashable, int] = field(repr=False)

    def __init__(self, values: Sequence[Hashable], metric: Any = "discrete") -> None:
        labels, codes = numbered(values, "category")
        named = isinstance(metric, str)
        if named and metric not in ("discrete", "ordinal"):
            known = ["discrete", "ordinal"]
            raise InputError(f"metric {metric!r} is not known{did_you_mean(metric, known)}; or give a matrix")
        object.__setattr__(self, "values", labels)
        object.__setattr__(self, "metric", metric if named else "matrix")
        object.__setattr__(self, "_matrix", None if named else metric_matrix(metric, labels))
        object.__setattr__(self, "_codes", codes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Categories):
            return NotImplemented
        if (self.values, self.metric) != (other.values, other.metric):
            return False
        return self._matrix is None or other._matrix is None or bool((self._matrix == other._matrix).all())

    def __hash__(self) -> int:
        return hash((self.values, self.metric))

    @property
    def size(self) -> int:
        return len(self.values)

    @property
    def diameter(self) -> Fraction:
        if self.size == 1:
            return Fraction(0)
        if self._matrix is not None:
            return Fraction(self._matrix.max())
        return Fraction(1 if self.metric == "discrete" else self.size - 1)

    @property
    def separation(self) -> Fraction:
        if self.size == 1:
            return Fraction(0)
        if self._matrix is not None:
            return Fraction(self._matrix[~np.eye(self.size, dtype=bool)].min())
        return Fraction(1)

    @property
    def spacing(self) -> Fraction | None:
        return Fraction(1) if self.metric == "ordinal" else None

    @property
    def labels(self) -> tuple[Hashable, ...]:
        return self.values

    @property
    def absent(self) -> int | None:
        return self.values.index(None) if None in self.values else None

    @property
    def has_numbers(self) -> bool:
        there = [label for label in self.values if label is not None]
        return all(isinstance(label, Number) and not isinstance(label, bool) for label in there)

    @property
    def has_order(self) -> bool:
        return self.has_numbers or self.metric == "ordinal"

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        numbers = [exact(label) for label in self.values if label is not None]
        return min(numbers), max(numbers)

    def refusal(self, value: Any, *, ordered: bool = False) -> str | None:
        a_number = ordered and self.has_numbers and isinstance(value, Fraction)
        return None if a_number else undeclared(value, self.values)

    def selected(self, sign: str, value: Any) -> tuple[int, ...]:
        test = COMPARISONS[sign]
        if sign in ("=", "<>") or self.has_numbers:
            chosen = [n for n, label in enumerate(self.values) if label is not None and test(label, value)]
        else:  # in the order of the plan
            chosen = [n for n in range(self.size) if test(n, self.values.index(value))]
        return tuple(end for n in chosen for end in (n, n + 1))

    def distance(self, x: Hashable, y: Hashable) -> Fraction:
        return exact(plain(self.distances(self.code(x))[self.code(y)]))

    def distances(self, code: int) -> NDArray[Any]:
        if self._matrix is not None:
            return self._matrix[code]  # type: ignore[no-any-return]
        steps = np.abs(np.arange(self.size) - code)
        return steps if self.metric == "ordinal" else (steps > 0).astype(np.int64)

    def code(self, value: Any) -> int:
        try:
            return self._codes[plain(value)]
        except (KeyError, TypeError):
            raise _undeclared(self.size) from None

    def label(self, code: int) -> Hashable:
        return self.values[code]

    def encode(self, values: Any) -> NDArray[Any]:
        """The codes of a column; a value that was not declared is refused without being named."""
        if is_arrow(values):
            codes = self.encode_arrow(values)
            if (codes < 0).any():
                raise _undeclared(self.size)
            return codes.astype(narrowest(self.size))
        return np.array([self.code(value) for value in listed(values, "values", COLUMN)], narrowest(self.size))

    def values_of(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        labels: list[Any] = [0.0 if label is None else label for label in self.values]
        return np.asarray(np.array(labels, np.float64)[codes])

    def decode(self, codes: NDArray[Any]) -> list[Any]:
        return [self.values[code] for code in codes]

    # A column of a plan ----------------------------------------------------------------------------------------------

    outside_ways: ClassVar[tuple[str, ...]] = ("refuse", "category")

    @classmethod
    def column(cls, name: str, kind: str, table: Reader) -> Column:
        """What is outside or missing may become a value of its own: the last ones."""
        labels = _declared_labels(table)
        outside = missing = None
        if table.choice("outside", cls.outside_ways, "refuse") == "category":
            label = table.value("outside_value", OTHER)
            if _sort(label) != _sort(labels[0]):
                raise table.wrong("outside_value", "must be given, and of the same kind as the values")
            labels += [label] if label not in labels else []
            outside = labels.index(label)
        given = table.value("missing", "refuse")
        if given in labels:
            missing = labels.index(given)
        elif given == "category":
            labels.append(None)  # stored as null
            missing = len(labels) - 1
        elif given != "refuse":
            raise table.wrong("missing", 'must be "refuse", "category" or one of the values')
        metric = table.value("metric", "discrete")
        space = table.calling(lambda: cls(labels, metric))
        return Column(name, kind, (name,), space, outside=outside, missing=missing)

    @classmethod
    def draft(cls, kind: Any) -> Draft:
        """Text may be anything, and is drafted as categories."""
        import pyarrow as pa

        truth = pa.types.is_boolean(kind)
        return Draft("truth" if truth else "categories", {"values": [True, False] if truth else []})

    def lookup(self, column: Column) -> Lookup:
        sample = next((label for label in self.values if label is not None), None)
        number = partial(number_of, numerals=column.numerals)
        key: Callable[[Any], Any] = truth_of if isinstance(sample, bool) else text_of
        key = key if isinstance(sample, (bool, str)) else number
        known = {key(label): code for code, label in enumerate(self.values) if label is not None}
        known.pop(None, None)

        def look_up(value: Any) -> int:
            code = known.get(key(value), OUTSIDE) if value is not None else MISSING
            return MISSING if code == OUTSIDE and is_missing(value) else code

        return look_up

    def stored_labels(self) -> Any:
        labels: list[Any] = [label for label in self.values if label is not None]
        if isinstance(labels[0], str):
            return from_texts(labels)
        if isinstance(labels[0], bool):
            return from_numpy(np.array(labels))
        whole = all(isinstance(label, int) for label in labels)
        return from_numpy(np.array(labels, np.int64 if whole else np.float64))

    @property
    def declared(self) -> int:
        return len(self.values)

    def fewer(self, count: int) -> Categories | None:
        return None if self._matrix is not None else Categories(self.values[:count], self.metric)

    @property
    def is_flag(self) -> bool:
        texts = {written(label).casefold() for label in self.values}
        return len(texts) == 2 and any(text in YES for text in texts) and any(text in NO for text in texts)


def _undeclared(size: int) -> InputError:
    return InputError(f"a value is not one of the {size} declared categories; declare it")


def _declared_labels(table: Reader) -> list[Any]:
    """The values that a plan declares, all of one sort."""
    values = table.value("values")
    if not isinstance(values, list) or not values:
        raise table.wrong("values", "must be a list of at least one value")
    if len({_sort(value) for value in values}) > 1 or _sort(values[0]) is None:
        raise table.wrong("values", "must be all texts, all numbers or all true and false")
    return list(values)


def _sort(value: Any) -> str | None:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)) and value == value and abs(value) != float("inf"):
        return "number"
    return "text" if isinstance(value, str) else None


def metric_matrix(distances: Sequence[Sequence[Any]] | NDArray[Any], labels: Sequence[Any]) -> NDArray[Any]:
    """The distances as fractions, refused with the offending points unless they are a metric.

    ρ(x, x) = 0, ρ(x, y) = ρ(y, x) > 0 and ρ(x, z) ≤ ρ(x, y) + ρ(y, z).

    >>> metric_matrix([[0, 1], [1, 0]], "ab")[0, 1]
    Fraction(1, 1)
    """
    k = len(labels)
    if not has_shape(distances, k, k):
        raise InputError(f"the distances must be a {k} by {k} matrix, one row and one column for each value")
    whole, unit = whole_numbers(distances, "a distance")
    if -(1 << 61) < whole.min() <= whole.max() < 1 << 61:
        whole = whole.astype(np.int64)  # exact, and quick for a thousand points
    for i in np.flatnonzero(np.diag(whole))[:1]:
        raise InputError(f"the distance of {labels[i]!r} from itself must be 0")
    for i, j in np.argwhere(whole != whole.T)[:1]:
        raise InputError(f"the distance between {labels[i]!r} and {labels[j]!r} must be the same both ways")
    for i, j in np.argwhere((whole <= 0) & ~np.eye(k, dtype=bool))[:1]:
        raise InputError(f"the distance between {labels[i]!r} and {labels[j]!r} must be positive")
    _check_triangles(whole, unit, labels)
    values, places = np.unique(whole, return_inverse=True)
    return np.array([Fraction(int(value), unit) for value in values], object)[places].reshape(k, k)


def _check_triangles(whole: NDArray[Any], unit: int, labels: Sequence[Any]) -> None:
    for middle in range(len(labels)):
        detour = whole[:, middle, None] + whole[None, middle, :]
        for a, b in np.argwhere(whole > detour)[:1]:
            raise InputError(
                f"the distance from {labels[a]!r} to {labels[b]!r} is longer than the way through "
                f"{labels[middle]!r}; shorten it to at most {Fraction(int(detour[a, b]), unit)}"
            )


@dataclass(frozen=True, slots=True)
class Codes(Space):
    """The numbers 0, 1, …, count − 1 with ρ(x, y) = 1 for x ≠ y: a value is its code, and stored as that.

    >>> Codes(21).encode([3, 20]).tolist(), Codes(21).diameter
    ([3, 20], Fraction(1, 1))
    """

    count: int

    @property
    def size(self) -> int:
        return self.count

    @property
    def diameter(self) -> Fraction:
        return Fraction(min(1, self.count - 1))

    separation = diameter

    def distance(self, x: Any, y: Any) -> Fraction:
        return Fraction(int(self.code(x) != self.code(y)))

    def distances(self, code: int) -> NDArray[Any]:
        return np.asarray(np.arange(self.count) != code).astype(np.int64)

    def distances_from(self, value: Any) -> NDArray[Any]:
        raise InputError("codes have no distance from the values that they were drawn for")

    def code(self, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 0 <= value < self.count:
            raise InputError(f"a value is not a code from 0 to {self.count - 1}")
        return int(value)

    def label(self, code: int) -> int:
        return int(code)

    def encode(self, values: Any) -> NDArray[Any]:
        return np.array([self.code(value) for value in listed(values, "values", COLUMN)], narrowest(self.count))

    def decode(self, codes: NDArray[Any]) -> list[Any]:
        return [int(code) for code in codes]

    def store(self, column: Column, codes: NDArray[Any]) -> list[Any]:
        """32 bits hold every code that can be counted."""
        return [from_numpy(codes.astype(np.int32))]

    def restore(self, column: Column, arrays: Sequence[Any]) -> NDArray[np.int64]:
        return as_numpy(arrays[0], missing=-1).astype(np.int64)

"""Values that are declared one by one: labels with a metric, and all sets of some items; also the codes and the answers
that laws release in their place.

HLM15, Example 1; HLM16, section 2.1.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Number
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import choice, named
from dproof.errors import ArgumentError, TooLarge, did_you_mean
from dproof.exact import exact, has_shape, whole_numbers
from dproof.limits import MOST_ITEMS
from dproof.spaces.space import COMPARISONS, Space, is_arrow, numbered, plain, undeclared


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

    @named
    def __init__(self, values: Sequence[Hashable], metric: Any = "discrete") -> None:
        labels, codes = numbered(values, "category")
        named = isinstance(metric, str)
        if named and metric not in ("discrete", "ordinal"):
            known = ["discrete", "ordinal"]
            raise ArgumentError(f"metric {metric!r} is not known{did_you_mean(metric, known)}; or give a matrix")
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
        return bool(there) and all(isinstance(label, Number) and not isinstance(label, bool) for label in there)

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

    def distances(self, code: int) -> NDArray[Any]:
        if self._matrix is not None:
            return self._matrix[code]  # type: ignore[no-any-return]
        steps = np.abs(np.arange(self.size) - code)
        return steps if self.metric == "ordinal" else (steps > 0).astype(np.int64)

    def code(self, value: Any) -> int:
        try:
            return self._codes[plain(value)]
        except (KeyError, TypeError):
            raise ArgumentError(f"a value is not one of the {self.size} declared categories; declare it") from None

    def label(self, code: int) -> Hashable:
        return self.values[code]

    def values_of(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        labels: list[Any] = [0.0 if label is None else label for label in self.values]
        return np.asarray(np.array(labels, np.float64)[codes])

    def fewer(self, count: int) -> Categories | None:
        return None if self._matrix is not None else Categories(self.values[:count], self.metric)


def metric_matrix(distances: Sequence[Sequence[Any]] | NDArray[Any], labels: Sequence[Any]) -> NDArray[Any]:
    """The distances as fractions, refused with the offending points unless they are a metric.

    ρ(x, x) = 0, ρ(x, y) = ρ(y, x) > 0 and ρ(x, z) ≤ ρ(x, y) + ρ(y, z).

    >>> metric_matrix([[0, 1], [1, 0]], "ab")[0, 1]
    Fraction(1, 1)
    """
    k = len(labels)
    if not has_shape(distances, k, k):
        raise ArgumentError(f"the distances must be a {k} by {k} matrix, one row and one column for each value")
    whole, unit = whole_numbers(distances, "a distance")
    if -(1 << 61) < whole.min() <= whole.max() < 1 << 61:
        whole = whole.astype(np.int64)  # exact, and quick for a thousand points
    for i in np.flatnonzero(np.diag(whole))[:1]:
        raise ArgumentError(f"the distance of {labels[i]!r} from itself must be 0")
    for i, j in np.argwhere(whole != whole.T)[:1]:
        raise ArgumentError(f"the distance between {labels[i]!r} and {labels[j]!r} must be the same both ways")
    for i, j in np.argwhere((whole <= 0) & ~np.eye(k, dtype=bool))[:1]:
        raise ArgumentError(f"the distance between {labels[i]!r} and {labels[j]!r} must be positive")
    for middle in range(k):
        detour = whole[:, middle, None] + whole[None, middle, :]
        for a, b in np.argwhere(whole > detour)[:1]:
            raise ArgumentError(
                f"the distance from {labels[a]!r} to {labels[b]!r} is longer than the way through "
                f"{labels[middle]!r}; shorten it to at most {Fraction(int(detour[a, b]), unit)}"
            )
    values, places = np.unique(whole, return_inverse=True)
    return np.array([Fraction(int(value), unit) for value in values], object)[places].reshape(k, k)


@dataclass(frozen=True, slots=True)
class Codes(Space):
    """The numbers 0, 1, …, count − 1 with ρ(x, y) = 1 for x ≠ y: a value is its code, such as the number of a block.

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

    def distances(self, code: int) -> NDArray[Any]:
        return np.asarray(np.arange(self.count) != code).astype(np.int64)

    def distances_from(self, value: Any) -> NDArray[Any]:
        raise ArgumentError("codes have no distance from the values that they were drawn for")

    def code(self, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 0 <= value < self.count:
            raise ArgumentError(f"a value is not a code from 0 to {self.count - 1}")
        return int(value)

    def label(self, code: int) -> int:
        return int(code)


# Sets of items --------------------------------------------------------------------------------------------------------

WORD = 62  # items of a set that is a mask in one machine word, as sets of a plan are
_MOST_LISTED = 24  # items whose sets are listed one by one
MISSING_ITEM = "(missing)"  # says that a set is missing, where that is kept as a value of its own


@dataclass(frozen=True, init=False)
class Subsets(Space):
    """2^H: every subset of up to 512 items H, coded as a bit mask, bit n for item n; in a plan up to 62.

    `metric="symmetric"`: ρ(A, B) = |A Δ B|. `metric="discrete"`: ρ(A, B) = 1 for A ≠ B.

    >>> interests = Subsets(["Music", "Football", "Chess"])
    >>> interests.size, interests.distance({"Music"}, {"Chess"}), interests.code({"Music", "Chess"})
    (8, Fraction(2, 1), 5)
    """

    values: tuple[Hashable, ...]
    metric: str
    _bits: dict[Hashable, int] = field(repr=False, compare=False)

    def __init__(self, values: Sequence[Hashable], metric: str = "symmetric") -> None:
        items, places = numbered(values, "item")
        if len(items) > MOST_ITEMS:
            raise ArgumentError(f"there are {len(items)} items; a space of subsets takes up to {MOST_ITEMS}")
        choice(metric, ("symmetric", "discrete"), "metric")
        object.__setattr__(self, "values", items)
        object.__setattr__(self, "metric", metric)
        object.__setattr__(self, "_bits", {item: 1 << place for item, place in places.items()})

    @property
    def size(self) -> int:
        return 1 << len(self.values)

    @property
    def diameter(self) -> Fraction:
        return Fraction(len(self.values) if self.metric == "symmetric" else 1)

    @property
    def separation(self) -> Fraction:
        return Fraction(1)

    @property
    def items(self) -> tuple[Hashable, ...]:
        return self.values

    def refusal(self, value: Any, *, ordered: bool = False) -> str | None:
        return undeclared(value, self.without_missing.values)

    def largest_sum(self) -> Fraction:
        return self.size * self.diameter / 2 if self.metric == "symmetric" else Fraction(self.size - 1)

    def by_differences(self) -> list[Fraction]:
        return [Fraction(r if self.metric == "symmetric" else min(r, 1)) for r in range(len(self.values) + 1)]

    def counted(self) -> tuple[int, Any]:
        bits = range(len(self.values))
        return self.size // 2, lambda: (np.arange(self.size)[:, None] >> np.array(bits) & 1).astype(np.float64)

    def distance(self, x: Iterable[Hashable], y: Iterable[Hashable]) -> Fraction:
        differing = (self.code(x) ^ self.code(y)).bit_count()
        return Fraction(differing if self.metric == "symmetric" else int(differing > 0))

    def distances(self, code: int) -> NDArray[Any]:
        if len(self.values) > _MOST_LISTED:
            raise TooLarge(f"the distances to all sets are too many to list for more than {_MOST_LISTED} items")
        differing: NDArray[np.int64] = np.bitwise_count(np.arange(self.size) ^ code).astype(np.int64)
        return differing if self.metric == "symmetric" else (differing > 0).astype(np.int64)

    def code(self, value: Iterable[Hashable]) -> int:
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            raise ArgumentError("a value is not a set; give a set or a list of items, the empty one included")
        mask = 0
        for item in value:
            try:
                mask |= self._bits[plain(item)]
            except (KeyError, TypeError):
                raise ArgumentError(
                    f"a set holds an item that is not one of the {len(self.values)} declared; declare it"
                ) from None
        return mask

    def label(self, code: int) -> frozenset[Hashable]:
        return frozenset(item for n, item in enumerate(self.values) if int(code) >> n & 1)

    def encode(self, values: Any) -> NDArray[Any]:
        return Space.encode(self, values.to_pylist() if is_arrow(values) and len(self.values) > WORD else values)

    def _arrow_codes(self, values: Any, **treatment: Any) -> NDArray[Any]:
        return Space._arrow_codes(self, values, **{"form": "list"} | treatment)

    mechanisms: ClassVar[str] = "subsets"

    def fewer(self, count: int) -> Subsets:
        return Subsets(self.values[:count], self.metric)

    def with_missing(self) -> OptionalSubsets:
        return OptionalSubsets([*self.values, MISSING_ITEM], self.metric)


class OptionalSubsets(Subsets):
    """The subsets of some items and of one more, the last, which says that a set is missing and stands alone.

    A law may show it beside other items; so it is stored as an item, and nothing is lost for an estimate.

    >>> interests = Subsets(["Music", "Chess"]).with_missing()
    >>> interests.values, interests.code(None), interests.label(4), interests.label(1)
    (('Music', 'Chess', '(missing)'), 4, None, frozenset({'Music'}))
    """

    @property
    def without_missing(self) -> Subsets:
        return Subsets(self.values[:-1], self.metric)

    @property
    def absent(self) -> int:
        return 1 << (len(self.values) - 1)

    def code(self, value: Iterable[Hashable] | None) -> int:
        return self.absent if value is None else Subsets.code(self, value)

    def label(self, code: int) -> Any:
        return None if int(code) & self.absent else Subsets.label(self, code)

    def fewer(self, count: int) -> OptionalSubsets:
        return self.without_missing.fewer(count).with_missing()


@dataclass(frozen=True, init=False, eq=False)
class Answers(Categories):
    """The answers "no" and "yes" about each of some items, with the codes 2n and 2n + 1; ρ(x, y) = 1 for x ≠ y.

    >>> Answers(("Music", "Chess")).decode(np.array([1, 2]))
    ['Music: yes', 'Chess: no']
    """

    about: tuple[Hashable, ...]

    def __init__(self, about: tuple[Hashable, ...]) -> None:
        super().__init__([f"{item}: {said}" for item in about for said in ("no", "yes")])
        object.__setattr__(self, "about", about)

    def distances_from(self, value: Any) -> NDArray[Any]:
        raise ArgumentError("an answer about one item has no distance from a set")

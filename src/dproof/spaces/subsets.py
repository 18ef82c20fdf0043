"""Set-valued data: all subsets of a set of items. HLM15, Example 1."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import choice
from dproof.errors import ArgumentError, TooLarge
from dproof.limits import MOST_ITEMS
from dproof.spaces.space import Discrete, Space, is_arrow, numbered, plain, undeclared

WORD = 62  # items of a set that is a mask in one machine word, as sets of a plan are
_MOST_LISTED = 24  # items whose sets are listed one by one
_SAID = ("no", "yes")  # of an item
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
        return undeclared(value, self.values)

    @property
    def candidates(self) -> int:
        return len(self.values)

    def candidate(self, place: int) -> Hashable:
        return self.values[place]

    def tallies(self, histogram: Mapping[int, int]) -> dict[int, int]:
        bits = range(len(self.values))
        return {bit: sum(count for mask, count in histogram.items() if mask >> bit & 1) for bit in bits}

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

    @property
    def declared(self) -> int:
        return len(self.values)

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
        return 1 << self.declared

    @property
    def declared(self) -> int:
        return len(self.values) - 1

    @property
    def candidates(self) -> int:
        return self.declared

    def tallies(self, histogram: Mapping[int, int]) -> dict[int, int]:
        return self.without_missing.tallies(histogram)

    def refusal(self, value: Any, *, ordered: bool = False) -> str | None:
        return undeclared(value, self.values[:-1])

    def code(self, value: Iterable[Hashable] | None) -> int:
        return self.absent if value is None else Subsets.code(self, value)

    def label(self, code: int) -> frozenset[Hashable] | None:  # type: ignore[override]
        return None if int(code) & self.absent else Subsets.label(self, code)

    def fewer(self, count: int) -> OptionalSubsets:
        return self.without_missing.fewer(count).with_missing()


@dataclass(frozen=True, slots=True)
class Answers(Discrete):
    """The answers "no" and "yes" about each of some items, with the codes 2n and 2n + 1; ρ(x, y) = 1 for x ≠ y.

    >>> Answers(("Music", "Chess")).decode(np.array([1, 2]))
    ['Music: yes', 'Chess: no']
    """

    about: tuple[Hashable, ...]

    @property
    def size(self) -> int:
        return 2 * len(self.about)

    def distances_from(self, value: Any) -> NDArray[Any]:
        raise ArgumentError("an answer about one item has no distance from a set")

    def code(self, value: Any) -> int:
        item, _, said = str(value).rpartition(": ")
        names = [str(known) for known in self.about]
        if item not in names or said not in _SAID:
            raise ArgumentError("a value is not an answer about an item")
        return 2 * names.index(item) + _SAID.index(said)

    def label(self, code: int) -> str:
        return f"{self.about[int(code) // 2]}: {_SAID[int(code) % 2]}"

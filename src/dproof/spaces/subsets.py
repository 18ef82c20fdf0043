"""Set-valued data: all subsets of a set of items. HLM15, Example 1."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import COLUMN, choice, listed
from dproof.errors import InputError, TooLarge
from dproof.spaces.arrow import is_arrow
from dproof.spaces.labels import numbered, plain, undeclared
from dproof.spaces.space import Space, narrowest

_MOST_ITEMS = 62  # a set is a mask in one machine word
_MOST_LISTED = 24  # items whose sets are listed one by one


@dataclass(frozen=True, init=False, eq=False)
class Subsets(Space):
    """2^H: every subset of the items H, coded as a bit mask, bit n for item n.

    `metric="symmetric"`: ρ(A, B) = |A Δ B|. `metric="discrete"`: ρ(A, B) = 1 for A ≠ B.

    >>> interests = Subsets(["Music", "Football", "Chess"])
    >>> interests.size, interests.distance({"Music"}, {"Chess"}), interests.code({"Music", "Chess"})
    (8, Fraction(2, 1), 5)
    """

    values: tuple[Hashable, ...]
    metric: str
    _bits: dict[Hashable, int] = field(repr=False)

    def __init__(self, values: Sequence[Hashable], metric: str = "symmetric") -> None:
        items, places = numbered(values, "item")
        if len(items) > _MOST_ITEMS:
            raise InputError(f"there are {len(items)} items; a space of subsets takes up to {_MOST_ITEMS}")
        choice(metric, ("symmetric", "discrete"), "metric")
        object.__setattr__(self, "values", items)
        object.__setattr__(self, "metric", metric)
        object.__setattr__(self, "_bits", {item: 1 << place for item, place in places.items()})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Subsets) and (self.values, self.metric) == (other.values, other.metric)

    def __hash__(self) -> int:
        return hash((self.values, self.metric))

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

    def refusal(self, value: Any) -> str | None:
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
            raise InputError("a value is not a set; give a set or a list of items, the empty one included")
        mask = 0
        for item in value:
            try:
                mask |= self._bits[plain(item)]
            except (KeyError, TypeError):
                raise InputError(
                    f"a set holds an item that is not one of the {len(self.values)} declared; declare it"
                ) from None
        return mask

    def label(self, code: int) -> frozenset[Hashable]:
        return frozenset(item for n, item in enumerate(self.values) if int(code) >> n & 1)

    def encode(self, values: Any) -> NDArray[Any]:
        if is_arrow(values):
            values = values.to_pylist()
        return np.array([self.code(value) for value in listed(values, "values", COLUMN)], narrowest(self.size))

    def decode(self, codes: NDArray[Any]) -> list[frozenset[Hashable]]:
        return [self.label(int(code)) for code in codes]


EXAMPLES = (Subsets(["Music", "Football", "Chess"]), Subsets(["a", "b"], metric="discrete"))

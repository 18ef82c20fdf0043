"""Sets that may be missing: `missing = "category"` in a plan. That a set is missing is one more item."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.spaces.column import Column, Encode, Lookup
from dproof.spaces.set_forms import ENCODERS, joined_lookup
from dproof.spaces.subsets import MISSING_ITEM, Subsets
from dproof.spaces.values import undeclared


class OptionalSubsets(Subsets):
    """The subsets of some items and of one more, the last, which says that a set is missing and stands alone.

    A law may show it beside other items; so it is stored as an item, and nothing is lost for an estimate.

    >>> interests = Subsets(["Music", "Chess"]).with_missing()
    >>> interests.values, interests.code(None), interests.label(4), interests.label(1)
    (('Music', 'Chess', '(missing)'), 4, None, frozenset({'Music'}))
    """

    @property
    def _declared(self) -> tuple[Hashable, ...]:
        return self.values[:-1]

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
        return Subsets(self._declared).tallies(histogram)

    def refusal(self, value: Any, *, ordered: bool = False) -> str | None:
        return undeclared(value, self._declared)

    def code(self, value: Iterable[Hashable] | None) -> int:
        return self.absent if value is None else Subsets.code(self, value)

    def label(self, code: int) -> frozenset[Hashable] | None:  # type: ignore[override]
        return None if int(code) & self.absent else Subsets.label(self, code)

    def fewer(self, count: int) -> OptionalSubsets:
        return OptionalSubsets([*self._declared[:count], MISSING_ITEM], self.metric)

    # A column of a plan: what a source holds are the declared items -------------------------------------------------

    def with_gaps(self, column: Column) -> Column:
        return replace(column, space=Subsets(self._declared, self.metric), missing=None, beside=())

    def stand_in(self, code: int) -> None:  # type: ignore[override]
        return None

    def lookup(self, column: Column) -> Lookup:
        return joined_lookup(self._declared, column)

    def encoder(self, column: Column) -> Encode:
        if column.form in ENCODERS:
            return ENCODERS[column.form](self._declared, column)
        return super().encoder(column)

    def restore(self, column: Column, arrays: Sequence[Any]) -> NDArray[np.int64]:
        return Subsets(self.values, self.metric).restore(column, arrays)

    def flags(self, column: Column) -> list[Column]:
        gaps = self.with_gaps(column)
        return [replace(flag, missing=0) for flag in gaps.space.flags(gaps)]

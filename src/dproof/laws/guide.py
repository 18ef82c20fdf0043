"""Exact sampling from whole numbers at memory speed: a guide table.

A word of `width` bits is cut at the law's cumulative sums, so each outcome owns exactly `weight · scale` words.
The first 16 bits name one of up to 65,536 cells. Nearly every cell lies wholly inside one outcome and is answered
by one look-up; a cell that a boundary cuts draws the rest of its word, and only then. Words beyond the last
boundary belong to nobody and are drawn again, so the total need not be a power of two. No float is involved.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins

_TILE = 1 << 17  # rows per step: words, indices and outcomes stay in cache
Finish = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]
_CELLS = 1 << 22  # look-up entries over all rows of a family


@dataclass(frozen=True, slots=True, eq=False)
class Guide:
    """The sampler of a family of laws: one row of whole numbers per input, one total.

    >>> from dproof.coins import current
    >>> int(guide([[0, 7, 0]], 7).draw(np.zeros(1, np.uint8), current())[0])
    1
    """

    outcomes: int
    bits: int  # of the word that index a row's cells
    width: int  # of the whole word
    table: NDArray[Any]  # outcome of each cell, or `cut`
    cut: int
    starts: tuple[Sequence[Any], ...]  # per row: first word of each slot
    slots: tuple[NDArray[np.int64], ...]  # per row: outcome of each slot; `outcomes` means draw again

    def draw(self, rows: NDArray[Any], coins: Coins, finish: Finish | None = None) -> NDArray[Any]:
        """One outcome for each row number, from fresh words.

        `finish(rows, outcomes)` turns outcomes into what is released, tile by tile while both are in cache.
        """
        drawn = np.empty(len(rows), self.table.dtype if finish is None else rows.dtype)
        single = len(self.starts) == 1
        tile = min(_TILE, len(rows))
        high, outcome = np.empty(tile, np.uint16), np.empty(tile, self.table.dtype)
        cells = np.empty(tile, np.intp)
        left: list[tuple[NDArray[Any], NDArray[np.uint16]]] = []
        for first in range(0, len(rows), _TILE):
            row = rows[first : first + _TILE]
            words, found = high[: len(row)], outcome[: len(row)]
            coins.fill(words)
            cell = cells[: len(row)]
            if single:
                cell[:] = words
            else:
                np.left_shift(row, self.bits, out=cell, dtype=np.intp, casting="unsafe")
                cell |= words >> (16 - self.bits)
            np.take(self.table, cell, out=found, mode="clip")
            drawn[first : first + _TILE] = found if finish is None else finish(row, found)
            cut = np.flatnonzero(found == self.cut)
            if len(cut):
                left.append((cut + first, words[cut]))
        if left:
            positions, tops = (np.concatenate(parts) for parts in zip(*left, strict=True))
            open_rows = rows[positions]
            settled = self._settle(np.zeros_like(positions) if single else open_rows, tops, coins)
            drawn[positions] = settled if finish is None else finish(open_rows, settled.astype(self.table.dtype))
        return drawn

    def _settle(self, rows: NDArray[Any], high: NDArray[np.uint16], coins: Coins) -> NDArray[np.int64]:
        settled = np.empty(len(rows), np.int64)
        waiting = np.arange(len(rows))
        while len(waiting):
            place = self._place_words if self.width <= 64 else self._place_integers
            settled[waiting] = place(rows[waiting], high, coins)
            waiting = waiting[settled[waiting] == self.outcomes]
            high = coins.words16(len(waiting))
        return settled

    def _place_words(self, rows: NDArray[Any], high: NDArray[np.uint16], coins: Coins) -> NDArray[np.int64]:
        rest = self.width - 16
        words = high.astype(np.uint64) << np.uint64(rest)
        if rest:
            words |= coins.words64(len(high)) >> np.uint64(64 - rest)
        placed = np.empty(len(high), np.int64)
        for row, members in _groups(rows):
            slot = np.searchsorted(self.starts[row], words[members], side="right") - 1
            placed[members] = self.slots[row][slot]
        return placed

    def _place_integers(self, rows: NDArray[Any], high: NDArray[np.uint16], coins: Coins) -> NDArray[np.int64]:
        rest = self.width - 16
        parts = coins.words64(len(high) * -(-rest // 64)).reshape(len(high), -1)
        placed = np.empty(len(high), np.int64)
        for n, (row, top, part) in enumerate(zip(rows, high, parts, strict=True)):
            low = int.from_bytes(part.tobytes(), "big") >> (64 * len(part) - rest)
            slot = bisect_right(self.starts[row], (int(top) << rest) | low) - 1
            placed[n] = self.slots[row][slot]
        return placed


def _groups(rows: NDArray[Any]) -> list[tuple[int, Any]]:
    """The positions of each row number."""
    if len(rows) == 0 or rows.min() == rows.max():
        return [(int(rows[0]), slice(None))] if len(rows) else []
    order = np.argsort(rows, kind="stable")
    values, firsts = np.unique(rows[order], return_index=True)
    return [(int(v), part) for v, part in zip(values, np.split(order, firsts[1:]), strict=True)]


def word_width(total: int) -> int:
    """How long a word must be: 64 bits, more when the total would waste them."""
    return 64 if total <= 1 << 62 else -(-(total.bit_length() + 16) // 64) * 64


def guide(rows: Sequence[Sequence[int]] | NDArray[Any], total: int, *, width: int | None = None) -> Guide:
    """Cut the words of `width` bits for a family of laws, each a row of whole numbers that sum to `total`."""
    width = width or word_width(total)
    outcomes = len(rows[0])
    scale = (1 << width) // total
    bits = min(16, max(4, (_CELLS // len(rows)).bit_length() - 1))
    cut = outcomes
    table = np.empty((len(rows), 1 << bits), _smallest_dtype(outcomes))
    cells = np.arange(1 << bits)
    all_starts: list[Sequence[Any]] = []
    all_slots: list[NDArray[np.int64]] = []
    for n, row in enumerate(rows):
        starts, slots = _slots([int(w) for w in row], scale, width)
        shift = width - bits
        # A slot holds a whole cell when it starts at or before the cell and the next starts after it.
        floor = np.array([s >> shift for s in starts])
        ceil = np.array([-(-s >> shift) for s in starts])
        first = np.searchsorted(ceil, cells, side="right") - 1
        last = np.searchsorted(floor, cells, side="right") - 1
        # `outcomes` marks both a cut cell and one that belongs to nobody: each is settled by its whole word.
        table[n] = np.where(first == last, slots[first], cut)
        all_starts.append(np.array(starts, np.uint64) if width <= 64 else starts)
        all_slots.append(slots)
    return Guide(outcomes, bits, width, table.reshape(-1), cut, tuple(all_starts), tuple(all_slots))


def _slots(row: list[int], scale: int, width: int) -> tuple[list[int], NDArray[np.int64]]:
    """First words and outcomes of the slots of one law, the unowned rest of the words last."""
    owned = [(w, outcome) for outcome, w in enumerate(row) if w]
    ends = list(accumulate(w * scale for w, _ in owned))
    starts, slots = [0, *ends[:-1]], [outcome for _, outcome in owned]
    if ends[-1] < 1 << width:
        starts.append(ends[-1])
        slots.append(len(row))
    return starts, np.array(slots, np.int64)


def _smallest_dtype(largest: int) -> type[np.unsignedinteger[Any]]:
    """The narrowest unsigned type that holds the number."""
    for dtype in (np.uint8, np.uint16):
        if largest <= np.iinfo(dtype).max:
            return dtype
    return np.uint32

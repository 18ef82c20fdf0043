"""Randomness: words from AES-256 in counter mode, keyed by the operating system, and exact draws by these.

Every thread has its own stream and a forked child draws a new key, so no two workers ever share a word.
`dproof.testing` alone can put a seeded stream in its place, and whatever is drawn from that is marked not private.

A law of whole numbers is sampled at memory speed, by a guide table. A word of `width` bits is cut at the law's
cumulative sums, so each outcome owns exactly `weight · scale` words. The first 16 bits name one of up to 65,536 cells.
Nearly every cell lies wholly inside one outcome and is answered by one look-up; a cell that a boundary cuts draws the
rest of its word, and only then. Words beyond the last boundary belong to nobody and are drawn again, so the total need
not be a power of two. A word longer than 64 bits is read to its end only where its first 64 are those of a boundary. No
float is involved.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

NOT_PRIVATE = "NOT PRIVATE: drawn with seeded coins"  # said of whatever they drew
_BYTES_AT_A_TIME = 1 << 18  # bytes encrypted at a time: input and output stay in the second-level cache
_ZEROS = bytes(_BYTES_AT_A_TIME)


class Coins:
    """A stream of uniform words: AES-256-CTR over zeros.

    >>> current().words16(3).dtype, current().private
    (dtype('uint16'), True)
    """

    __slots__ = ("_encryptor", "private")

    def __init__(self, key: bytes, *, private: bool = True) -> None:
        # Loaded with the first coins: who only asks a release draws none.
        from cryptography.hazmat.primitives.ciphers import Cipher
        from cryptography.hazmat.primitives.ciphers.algorithms import AES
        from cryptography.hazmat.primitives.ciphers.modes import CTR

        self._encryptor = Cipher(AES(key), CTR(bytes(16))).encryptor()
        self.private = private

    def fill(self, buffer: NDArray[Any]) -> None:
        """Overwrite a contiguous array with uniform bytes."""
        view = buffer.data.cast("B")
        for start in range(0, len(view), _BYTES_AT_A_TIME):
            part = view[start : start + _BYTES_AT_A_TIME]
            self._encryptor.update_into(_ZEROS[: len(part)] if len(part) < _BYTES_AT_A_TIME else _ZEROS, part)

    def _words(self, count: int, dtype: type[np.unsignedinteger[Any]]) -> NDArray[Any]:
        words = np.empty(count, dtype)
        if count:
            self.fill(words)
        return words

    def words16(self, count: int) -> NDArray[np.uint16]:
        return self._words(count, np.uint16)

    def words32(self, count: int) -> NDArray[np.uint32]:
        return self._words(count, np.uint32)

    def words64(self, count: int) -> NDArray[np.uint64]:
        return self._words(count, np.uint64)


_local = threading.local()


def _forget() -> None:
    global _local
    _local = threading.local()


if hasattr(os, "register_at_fork"):  # where processes fork
    os.register_at_fork(after_in_child=_forget)


def fresh_key() -> bytes:
    """A key for new coins, from the operating system; the tests put a seeded one in its place."""
    return os.urandom(32)


def for_rehearsal() -> Coins:
    """Coins of their own for a draw that is thrown away: what is released afterwards has others."""
    return Coins(fresh_key())


def current() -> Coins:
    """The coins of this thread of this process."""
    coins: Coins | None = getattr(_local, "coins", None)
    if coins is None:
        coins = _local.coins = Coins(fresh_key())
    return coins


@contextmanager
def instead(coins: Coins) -> Iterator[Coins]:
    """Use other coins in this thread for a while; for `dproof.testing`."""
    before = getattr(_local, "coins", None)
    _local.coins = coins
    try:
        yield coins
    finally:
        _local.coins = before


# Exact sampling from whole numbers, by a guide table ------------------------------------------------------------------

_TILE = 1 << 17  # rows per step: words, indices and outcomes stay in cache
Finish = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]
_CELLS = 1 << 22  # look-up entries over all rows of a law


@dataclass(frozen=True, slots=True, eq=False)
class Guide:
    """The sampler of a law: one row of whole numbers per input, one total.

    >>> int(guide([[0, 7, 0]], 7).draw(np.zeros(1, np.uint8), current())[0])
    1
    """

    mark: int  # one past all outcomes: in the table a cell that is cut, in the slots words that belong to nobody
    bits: int  # of the word that index a row's cells
    width: int  # of the whole word
    table: NDArray[Any]  # outcome of each cell, or the mark
    starts: tuple[NDArray[np.uint64], ...]  # per row: first word of each slot, its first 64 bits
    tails: tuple[tuple[int, ...], ...]  # per row: the bits after them; empty where words have no more than 64
    slots: tuple[NDArray[np.int64], ...]  # per row: outcome of each slot; at the mark, draw again

    def draw(self, rows: NDArray[Any], coins: Coins, finish: Finish | None = None) -> NDArray[Any]:
        """One outcome for each row number, from fresh words.

        `finish(rows, outcomes)` turns outcomes into what is released, tile by tile while both are in cache.
        """
        drawn = np.empty(len(rows), self.table.dtype if finish is None else rows.dtype)
        single = len(self.starts) == 1
        tile = min(_TILE, len(rows))
        high, buffer = np.empty(tile, np.uint16), np.empty(tile, self.table.dtype)
        cells = np.empty(tile, np.intp)
        left: list[tuple[NDArray[Any], NDArray[np.uint16]]] = []
        for first in range(0, len(rows), _TILE):
            row = rows[first : first + _TILE]
            words = high[: len(row)]
            outcomes = drawn[first : first + _TILE] if finish is None else buffer[: len(row)]
            coins.fill(words)
            cell = cells[: len(row)]
            if single:
                cell[:] = words
            else:
                np.left_shift(row, self.bits, out=cell, dtype=np.intp, casting="unsafe")
                cell |= words >> (16 - self.bits)
            np.take(self.table, cell, out=outcomes, mode="clip")
            if finish is not None:
                drawn[first : first + _TILE] = finish(row, outcomes)
            cut = np.flatnonzero(outcomes == self.mark)
            if len(cut):
                left.append((cut + first, words[cut]))
        if left:
            positions, tops = (np.concatenate(parts) for parts in zip(*left, strict=True))
            open_rows = rows[positions]
            settled = self._settle(np.zeros_like(positions) if single else open_rows, tops, coins)
            drawn[positions] = settled if finish is None else finish(open_rows, settled.astype(self.table.dtype))
        return drawn

    def sample(self, count: int, coins: Coins) -> NDArray[Any]:
        """`count` outcomes of the one law of a guide with a single row."""
        return self.draw(np.broadcast_to(np.uint8(0), count), coins)

    def _settle(self, rows: NDArray[Any], high: NDArray[np.uint16], coins: Coins) -> NDArray[np.int64]:
        settled = np.empty(len(rows), np.int64)
        waiting = np.arange(len(rows))
        while True:
            settled[waiting] = self._place(rows[waiting], high, coins)
            waiting = waiting[settled[waiting] == self.mark]
            if not len(waiting):
                return settled
            high = coins.words16(len(waiting))

    def _place(self, rows: NDArray[Any], high: NDArray[np.uint16], coins: Coins) -> NDArray[np.int64]:
        """The outcome that owns each word, given the first 16 bits; the mark where nobody does."""
        rest = min(self.width, 64) - 16
        words = high.astype(np.uint64) << np.uint64(rest)
        if rest:
            words |= coins.words64(len(high)) >> np.uint64(64 - rest)
        placed = np.empty(len(high), np.int64)
        for row, members in _groups(rows):
            starts, word = self.starts[row], words[members]
            slot = np.searchsorted(starts, word, side="right") - 1
            if self.width > 64:
                for n in np.flatnonzero(starts[slot] == word):
                    slot[n] = self._finer(row, int(slot[n]), coins)
            placed[members] = self.slots[row][slot]
        return placed

    def _finer(self, row: int, slot: int, coins: Coins) -> int:
        """The slot of a word whose first 64 bits are those of this slot's start, from the bits after them."""
        more = self.width - 64
        count = -(-more // 64)
        tail = int.from_bytes(coins.words64(count).tobytes(), "big") >> (64 * count - more)
        starts, tails = self.starts[row], self.tails[row]
        first = starts[slot]
        while starts[slot] == first and tails[slot] > tail:
            slot -= 1
        return slot


def _groups(rows: NDArray[Any]) -> list[tuple[int, Any]]:
    """The positions of each row number."""
    if len(rows) == 0 or rows.min() == rows.max():
        return [(int(rows[0]), slice(None))] if len(rows) else []
    order = np.argsort(rows, kind="stable")
    values, firsts = np.unique(rows[order], return_index=True)
    return [(int(v), places) for v, places in zip(values, np.split(order, firsts[1:]), strict=True)]


def word_width(total: int) -> int:
    """The bits of a word: 64 bits, more when the total would waste them."""
    return 64 if total <= 1 << 62 else -(-(total.bit_length() + 16) // 64) * 64


def guide(
    rows: Sequence[Sequence[int]] | NDArray[Any],
    total: int,
    *,
    width: int | None = None,
    values: NDArray[Any] | None = None,
) -> Guide:
    """Cut the words of `width` bits for laws that are each a row of whole numbers summing to `total`.

    Outcome n is the number n, or `values[n]` in the type of the values, which must hold one more than the largest.
    """
    width = width or word_width(total)
    if values is None:
        values = np.arange(len(rows[0]), dtype=np.min_scalar_type(len(rows[0])))
    mark = int(values.max()) + 1
    outcomes = np.append(values, np.array(mark, values.dtype))
    bits = min(16, max(4, (_CELLS // len(rows)).bit_length() - 1))
    table = np.empty((len(rows), 1 << bits), outcomes.dtype)
    all_starts, all_tails, all_slots = [], [], []
    for n, row in enumerate(rows):
        starts, slots = _slots(row, total, width)
        floor, rest = _split(starts, width - bits)
        begins, inside = floor.astype(np.intp), rest > 0
        # A cell belongs to the last slot that starts at or before it, unless another starts inside: then it is cut.
        # A cut cell and one that belongs to nobody are both settled by their whole word.
        table[n] = np.repeat(outcomes[slots], np.diff(np.minimum(begins + inside, 1 << bits), append=1 << bits))
        table[n, begins[inside]] = mark
        heads, tails = _split(starts, max(0, width - 64))
        all_starts.append(heads.astype(np.uint64))
        all_tails.append(tuple(tails) if width > 64 else ())
        all_slots.append(outcomes[slots].astype(np.int64))
    return Guide(mark, bits, width, table.reshape(-1), tuple(all_starts), tuple(all_tails), tuple(all_slots))


def _slots(row: Any, total: int, width: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """First words and outcomes of the slots of one law, the unowned rest of the words last."""
    kind: Any = np.uint64 if width <= 64 else object
    weights = np.array(row, kind)
    slots = np.flatnonzero(weights)
    scale = (1 << width) // total
    # Every start lies below 2^width; a scale of 2^64 itself belongs to a law with one slot, which starts at 0.
    before = np.concatenate([np.zeros(1, kind), np.cumsum(weights[slots])[:-1]])
    starts = before * (scale if kind is object else np.uint64(min(scale, (1 << 64) - 1)))
    if total * scale < 1 << width:
        starts, slots = np.append(starts, np.array([total * scale], kind)), np.append(slots, len(weights))
    return starts, slots


def _split(words: NDArray[Any], low: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """The words without their lowest bits, and these bits."""
    if words.dtype == object:
        return words >> low, words & ((1 << low) - 1)
    return words >> np.uint64(low), words & np.uint64((1 << low) - 1)


def drawn_again(
    drawn: NDArray[Any], draw: Callable[[NDArray[np.intp]], NDArray[Any]], wrong: Callable[[NDArray[Any]], Any]
) -> NDArray[Any]:
    """The draws, of which those that are wrong are drawn again, by their places, until none is: the law given that."""
    waiting = np.flatnonzero(wrong(drawn))
    while len(waiting):
        drawn[waiting] = again = draw(waiting)
        waiting = waiting[wrong(again)]
    return drawn


def sample_digits(guides: Sequence[Guide], count: int, coins: Coins) -> NDArray[Any]:
    """`count` numbers of which each guide draws the bits that are its own, one guide after the other."""
    top, *lower = guides
    numbers = top.sample(count, coins)
    for digit in lower:
        numbers ^= digit.sample(count, coins)
    return numbers


@lru_cache(maxsize=64)
def coin(zeros: int, ones: int) -> Guide:
    """The sampler of one bit."""
    return guide([[zeros, ones]], zeros + ones)


@lru_cache(maxsize=64)
def uniform(count: int) -> Guide:
    """The sampler of 0, …, count − 1, all as likely."""
    return guide([[1] * count], count)


def uniform_below(bounds: NDArray[Any], coins: Coins) -> NDArray[np.int64]:
    """One number in 0, …, bound − 1 for each bound of at most 2^62, without a table.

    A word of 64 bits is taken modulo the bound; the few words past the last multiple of it are drawn again.

    >>> uniform_below(np.array([1, 1]), current()).tolist()
    [0, 0]
    """
    limits = np.asarray(bounds, np.uint64)
    words = coins.words64(len(limits))
    drawn = words % limits
    # w − (w mod b) is a multiple of b; the last, incomplete run of words starts above 2^64 − b.
    late = np.flatnonzero(words - drawn > np.uint64(0) - limits)
    while len(late):
        words = coins.words64(len(late))
        drawn[late] = again = words % limits[late]
        late = late[words - again > np.uint64(0) - limits[late]]
    return drawn.astype(np.int64)

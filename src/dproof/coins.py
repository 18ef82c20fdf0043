"""Cryptographic randomness: words from AES-256 in counter mode, keyed by the operating system.

Every thread has its own stream and a forked child draws a new key, so no two workers ever share a word.
`dproof.testing` alone can put a seeded stream in its place, and whatever is drawn from that is marked not private.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

NOT_PRIVATE = "NOT PRIVATE: drawn with seeded coins"  # said of whatever they drew
_TILE = 1 << 18  # bytes encrypted at a time: input and output stay in the second-level cache
_ZEROS = bytes(_TILE)


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
        for start in range(0, len(view), _TILE):
            part = view[start : start + _TILE]
            self._encryptor.update_into(_ZEROS[: len(part)] if len(part) < _TILE else _ZEROS, part)

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
    """A key for new coins, from the operating system."""
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

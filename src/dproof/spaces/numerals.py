"""Numbers that are written as texts, a whole column at once, exactly.

A table says what each byte makes of the state in which a text is; it knows the same numbers as `Numerals.plain`. The
few texts that it leaves open are read one by one: those beyond ASCII, longer than 32 bytes, with more than 18 digits or
more than two in the exponent, and words that begin like `inf`, `true` or `false`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.spaces.arrow import buffers
from dproof.spaces.values import Numerals

_LONGEST = 32  # bytes of a text that is read here
_FULL = 10**17  # digits that have come to this take no other one
_BILLION = 10**9
FAR = 1 << 61  # farther than any bound of a lattice that is read here
LARGEST_FACTOR = (1 << 32) - 1  # of `Decimals.floors`
_TEN = 10 ** np.arange(19, dtype=np.int64)

_CLASSES = _OTHER, _DIGIT, _SIGN, _DECIMAL, _MARK, _POWER, _SPACE, _OPEN = range(8)
# What may stand after what: in each state the states that a digit, a sign, … lead to; any other leads to `none`.
# `wholeN` and `groupN` are N digits, `many` more than three without a mark between them.
_STATES = {
    "start": {_DIGIT: "whole1", _SIGN: "signed", _DECIMAL: "point", _SPACE: "start"},
    "signed": {_DIGIT: "whole1", _DECIMAL: "point"},
    "whole1": {_DIGIT: "whole2", _MARK: "mark", _DECIMAL: "part", _POWER: "power", _SPACE: "end"},
    "whole2": {_DIGIT: "whole3", _MARK: "mark", _DECIMAL: "part", _POWER: "power", _SPACE: "end"},
    "whole3": {_DIGIT: "many", _MARK: "mark", _DECIMAL: "part", _POWER: "power", _SPACE: "end"},
    "many": {_DIGIT: "many", _DECIMAL: "part", _POWER: "power", _SPACE: "end"},
    "mark": {_DIGIT: "group1"},
    "group1": {_DIGIT: "group2"},
    "group2": {_DIGIT: "group3"},
    "group3": {_MARK: "mark", _DECIMAL: "part", _POWER: "power", _SPACE: "end"},
    "point": {_DIGIT: "part"},
    "part": {_DIGIT: "part", _POWER: "power", _SPACE: "end"},
    "power": {_DIGIT: "power1", _SIGN: "power0"},
    "power0": {_DIGIT: "power1"},
    "power1": {_DIGIT: "power2", _SPACE: "end"},
    "power2": {_DIGIT: "open", _SPACE: "end"},
    "end": {_SPACE: "end"},
    "none": {},
    "open": {},
}
_NAMES = list(_STATES)
_NONE, _UNREAD, _START = _NAMES.index("none"), _NAMES.index("open"), _NAMES.index("start")
_FINAL = ("whole1", "whole2", "whole3", "many", "group3", "part", "power1", "power2", "end")
_POWERS = ("power", "power0", "power1", "power2")
_COUNT, _PART, _RAISE, _SIGNED, _LESSEN, _PASS = range(6)  # what is done with a byte
_MINUS, _BLANKS = ord("-"), "\t\n\v\f\r\x1c\x1d\x1e\x1f "


@dataclass(frozen=True, slots=True)
class Decimals:
    """Numbers ±digits·10^power, and of each text whether it is one (`known`), or is left `unread`."""

    negative: NDArray[np.bool_]
    digits: NDArray[np.int64]
    power: NDArray[np.int64]
    known: NDArray[np.bool_]
    unread: NDArray[np.bool_]

    def floors(self, factor: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """⌊x·factor⌋ of each number x, and whether x·factor lies above it, for a factor < 2^32.

        What lies 2^61 or farther out is brought to there.
        """
        # |x|·factor = (high + low/10^9)·10^shift, high < 2^63 and low < 10^9
        low = factor * (self.digits % _BILLION)
        high, low, shift = factor * (self.digits // _BILLION) + low // _BILLION, low % _BILLION, self.power + 9
        down = _TEN[np.clip(-shift, 0, 18)]
        floors, above = high // down, (high % down != 0) | (low != 0)
        tiny = shift < -18
        floors, above = np.where(tiny, 0, floors), np.where(tiny, (high != 0) | (low != 0), above)
        up = shift > 0
        part = low * _TEN[np.clip(shift, 0, 9)]  # of 10^9
        large = _raised(high, shift) + np.where(shift > 9, _raised(low, shift - 9), part // _BILLION)
        floors = np.where(up, np.minimum(large, FAR), floors)
        above = np.where(up, (shift < 9) & (part % _BILLION != 0), above)
        return np.where(self.negative, -floors - above, floors), above


def _raised(numbers: NDArray[np.int64], power: NDArray[np.int64]) -> NDArray[np.int64]:
    """numbers·10^power, or 2^61 where it is more."""
    factor = _TEN[np.clip(power, 0, 18)]
    far = (numbers > FAR // factor) | ((power > 18) & (numbers > 0))
    return np.where(far, FAR, numbers * factor)


def read_decimals(texts: Any, numerals: Numerals) -> Decimals:
    """The numbers of an Arrow array of texts or bytes; a null is none.

    >>> import pyarrow
    >>> found = read_decimals(pyarrow.array([" 1,250.5", "-3e2", "12,5", "inf"]), Numerals(thousands=","))
    >>> found.digits[:2], found.power[:2], found.known, found.unread
    (array([12505,     3]), array([-1,  2]), array([ True,  True, False, False]), array([False, False, False,  True]))
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    for mark in numerals.other_marks:  # each means the same as the one of ASCII
        texts = pc.replace_substring(texts.cast(pa.large_binary()), mark.encode(), numerals.thousands.encode())
    data, starts, lengths, _ = buffers(texts)
    count = len(lengths)
    # The longest first, so that those which have a byte at a place come before those which end earlier.
    order = np.argsort(np.maximum(_LONGEST + 1 - lengths, 0).astype(np.uint8), kind="stable")
    starts = starts[order]
    longer = count - np.cumsum(np.bincount(np.minimum(lengths, _LONGEST + 1), minlength=_LONGEST + 2))
    kinds, following, actions = _table(numerals)
    state, digits, decimals, power = (np.full(count, first, np.int64) for first in (_START, 0, 0, 0))
    negative, lessening = np.zeros(count, bool), np.zeros(count, bool)
    for place, some in enumerate(longer[:_LONGEST].tolist()):  # always as many turns, whatever the longest text is
        byte = data[starts[:some] + place]
        step = state[:some] * len(_CLASSES) + kinds[byte]
        action, value = actions[step], byte.astype(np.int64) - 48
        counts, raises, number = action <= _PART, action == _RAISE, digits[:some]
        state[:some] = np.where(counts & (number >= _FULL), _UNREAD, following[step])
        digits[:some] = np.where(counts, 10 * number + value, number)
        decimals[:some] += action == _PART
        power[:some] = np.where(raises, 10 * power[:some] + value, power[:some])
        minus = byte == _MINUS
        negative[:some] |= minus & (action == _SIGNED)
        lessening[:some] |= minus & (action == _LESSEN)
    state[: longer[_LONGEST]] = _UNREAD
    back = np.empty_like(order)
    back[order] = np.arange(count)
    shift = np.where(lessening, -power, power) - decimals
    known = _final(numerals)[state]
    return Decimals(negative[back], digits[back], shift[back], known[back], (state == _UNREAD)[back])


@lru_cache
def _table(numerals: Numerals) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int8]]:
    """The class of each byte, and what follows from a state and a class: the next state, and what is done."""
    kinds = np.full(256, _OTHER, np.uint8)
    kinds[128:] = _OPEN
    given = {_DIGIT: "0123456789", _SIGN: "+-", _POWER: "eE", _SPACE: _BLANKS, _OPEN: "tTfFiI"}
    for kind, characters in (given | {_DECIMAL: numerals.decimal, _MARK: numerals.thousands}).items():
        kinds[list(characters.encode())] = kind
    following = np.full((len(_NAMES), len(_CLASSES)), _NONE)
    actions = np.full(following.shape, _PASS, np.int8)
    for state, name in enumerate(_NAMES):
        ways = _STATES[name]
        if numerals.thousands == " ":  # which ends a number too
            ways = {_MARK: ways.get(_SPACE, "none")} | ways | ({_MARK: "end", _SPACE: "end"} if name == "mark" else {})
        for kind, then in ways.items():
            following[state, kind] = _NAMES.index(then)
        following[state, _OPEN] = _UNREAD
        actions[state, _SIGN] = {"start": _SIGNED, "power": _LESSEN}.get(name, _PASS)
        actions[state, _DIGIT] = _RAISE if name in _POWERS else _PART if name in ("point", "part") else _COUNT
    following[[_NONE, _UNREAD]] = [[_NONE], [_UNREAD]]
    return kinds, following.ravel(), actions.ravel()


def _final(numerals: Numerals) -> NDArray[np.bool_]:
    """Whether a number may end in a state."""
    marks = ("mark",) if numerals.thousands == " " else ()
    return np.array([name in (*_FINAL, *marks) for name in _NAMES])

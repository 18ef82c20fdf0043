"""Single values: how one is read, from itself and the plan alone, and the values that a user declares."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import listed
from dproof.columns.arrow import buffers
from dproof.errors import InputError, did_you_mean
from dproof.exact import exact

OUTSIDE, MISSING = -1, -2  # in the place of a code
_LONGEST_NUMBER = 64  # characters; what is longer is no number that anybody meant
_LONG = 10**60  # from here on a float is written with an exponent; its digits would be no number that anybody meant
YES, NO = ("true", "1", "yes", "y", "x", "t", "✓"), ("false", "0", "no", "n", "f")  # of a box to tick
_INFINITE = {"inf": 1, "+inf": 1, "infinity": 1, "-inf": -1, "-infinity": -1}
_TRUTHS = {"true": True, "false": False, "1": True, "0": False}

# What programs write where a sign of thousands is meant: a plan names one of each kind.
_THOUSANDS = {"": "", ",": ",", ".": r"\.", " ": " \u00a0\u2009\u202f", "'": "'\u2019"}
THOUSANDS = tuple(_THOUSANDS)
DECIMALS = (".", ",")


@dataclass(frozen=True, slots=True)
class Numerals:
    """The signs in numbers that are written as text: the decimal sign, and what groups thousands, if anything does."""

    decimal: str = "."
    thousands: str = ""

    def plain(self, text: str) -> str | None:
        """The number with a decimal point and nothing between its digits; None for a text that is no number.

        Digits are those of ASCII. A group has three of them: what looks like a number of another custom is none, rather
        than another number.

        >>> signs = Numerals(",", ".")
        >>> signs.plain("65.000,5"), signs.plain("65.00"), Numerals(thousands=",").plain("1,5")
        ('65000.5', None, None)
        """
        if text.strip().lstrip("+-").casefold() in ("inf", "infinity"):
            return text
        match = _written(self).fullmatch(text.strip())
        if match is None:
            return None
        sign, whole, part, power = match.group("sign", "whole", "part", "power")
        return f"{sign}{re.sub('[^0-9]', '', whole) or '0'}.{part or '0'}{power or ''}"

    @property
    def other_marks(self) -> list[str]:
        """What else groups thousands, beyond ASCII, where the plan names a mark of its kind."""
        return [mark for mark in _THOUSANDS[self.thousands] if not mark.isascii()]


PLAIN = Numerals()


@lru_cache
def _written(signs: Numerals) -> re.Pattern[str]:
    """A number as these signs write it: thousands are grouped before the decimal sign only."""
    decimal, mark = re.escape(signs.decimal), f"[{_THOUSANDS[signs.thousands]}]"
    grouped = rf"[0-9]{{1,3}}(?:{mark}[0-9]{{3}})+|" if signs.thousands else ""
    whole, part = rf"(?P<whole>{grouped}[0-9]*)", rf"(?:{decimal}(?P<part>[0-9]*))?"
    return re.compile(rf"(?P<sign>[+-]?)(?={decimal}?[0-9]){whole}{part}(?P<power>[eE][+-]?[0-9]+)?")


def written(value: Any) -> str:
    """The text of a value, from nothing but the value: a whole number is written alike in every type.

    pandas makes floats of whole numbers where one of them is missing, so a float is written as they are.

    >>> written(True), written(1.0), written(0.25), written(1e16)
    ('true', '1', '0.25', '10000000000000000')
    """
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, np.timedelta64):  # which is a whole number to NumPy
        return str(value)
    if isinstance(value, (int, np.integer)):
        return int.__repr__(value if isinstance(value, int) else int(value))
    if isinstance(value, Fraction):
        value = float(value)
    if isinstance(value, (float, np.floating)):
        value = float(value)
        # By way of its shortest decimal, which is what a float means.
        return str(int(Decimal(repr(value)))) if value.is_integer() and abs(value) < _LONG else repr(value)
    return str(value)


def is_missing(value: Any) -> bool:
    """A null, a NaN, or an empty text."""
    return value is None or value == "" or value == b"" or (isinstance(value, (float, Decimal)) and value != value)


def text_of(value: Any) -> str | None:
    """The text that a value is written as; None for what has none."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return None
    return written(value) if isinstance(value, (str, bool, float, int, Decimal)) else None


def number_of(value: Any, numerals: Numerals = PLAIN) -> Fraction | None:
    """The number that a value is or is written as, with the signs of the plan's file; None for anything else."""
    if isinstance(value, bool):
        return Fraction(value)
    if isinstance(value, (bytes, str)):
        value = text_of(value)
        if value is None or len(value) > _LONGEST_NUMBER or "/" in value:
            return None
        truth = {"true": "1", "false": "0"}.get(value)  # as where the column is of truth values
        value = numerals.plain(value) if truth is None else truth
        if value is None:
            return None
    try:
        return exact(value)
    except InputError:
        return None


def infinite_sign(value: Any) -> int:
    """The sign of a value that is infinite or written so, else 0."""
    text = repr(value) if isinstance(value, float) else (text_of(value) or "").strip().lower()
    return _INFINITE.get(text, 0)


def truth_of(value: Any) -> bool | None:
    """The truth value that a value is or is written as; None for anything else."""
    if isinstance(value, (str, bytes)):
        return _TRUTHS.get((text_of(value) or "").lower())
    return bool(value) if isinstance(value, (bool, int, float)) and value in (0, 1) else None


# Values that a user declares -----------------------------------------------------------------------------------------


def undeclared(value: Any, labels: Sequence[Any]) -> str | None:
    """Why a value is none of these labels, as the end of a sentence; None where it is one."""
    if any(value == label and isinstance(value, bool) == isinstance(label, bool) for label in labels):
        return None
    shown = repr(value) if isinstance(value, str) else str(value)
    return f"has no value {shown}{did_you_mean(value, [label for label in labels if label is not None])}"


def numbered(values: Iterable[Any], what: str) -> tuple[tuple[Hashable, ...], dict[Hashable, int]]:
    """The labels, each different from the others, and the place of each.

    >>> numbered(["yes", "no"], "category")
    (('yes', 'no'), {'yes': 0, 'no': 1})
    """
    labels = tuple(map(plain, listed(values, "values", f"a list with at least one {what}")))
    if not labels:
        raise InputError(f"values must be a list with at least one {what}")
    try:
        places = {label: place for place, label in enumerate(labels)}
    except TypeError:  # a list, say, cannot be looked up
        raise InputError(f"every {what} must be a text, a number, a boolean or None") from None
    if any(label != label for label in labels):
        raise InputError(f"NaN is not equal to itself, so it cannot be a {what}; declare None for what is missing")
    if len(places) < len(labels):
        twice = next(label for place, label in enumerate(labels) if places[label] != place)
        raise InputError(f"the {what} {twice!r} is listed twice; every {what} needs a name of its own")
    return labels, places


def plain(value: Any) -> Any:
    """A NumPy scalar as the Python value it stands for."""
    return value.item() if isinstance(value, np.generic) else value


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

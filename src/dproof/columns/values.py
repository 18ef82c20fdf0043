"""Single values: how one is read and written, from itself and the plan alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from dproof.errors import InputError
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

"""How a file is written: its encoding, what stands between its fields, and the signs in its numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

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
        found = _written(self).fullmatch(text.strip())
        if found is None:
            return None
        sign, whole, part, power = found.group("sign", "whole", "part", "power")
        return f"{sign}{re.sub('[^0-9]', '', whole) or '0'}.{part or '0'}{power or ''}"


PLAIN = Numerals()


@lru_cache
def _written(signs: Numerals) -> re.Pattern[str]:
    """A number as these signs write it: thousands are grouped before the decimal sign only."""
    decimal, mark = re.escape(signs.decimal), f"[{_THOUSANDS[signs.thousands]}]"
    grouped = rf"[0-9]{{1,3}}(?:{mark}[0-9]{{3}})+|" if signs.thousands else ""
    whole, part = rf"(?P<whole>{grouped}[0-9]*)", rf"(?:{decimal}(?P<part>[0-9]*))?"
    return re.compile(rf"(?P<sign>[+-]?)(?={decimal}?[0-9]){whole}{part}(?P<power>[eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Layout:
    """What a plan says about its file. Whatever does not concern a kind of file is not looked at.

    Without a separator it is the one of the file's ending; without a sheet it is the first of the workbook.
    """

    separator: str | None = None
    encoding: str = "utf-8"
    numerals: Numerals = PLAIN
    sheet: str | None = None


USUAL = Layout()


def ending(path: Path) -> str:
    """What tells the kind of a file: the end of its name, with the one before it where it is packed.

    >>> ending(Path("people.2020.CSV.gz")), ending(Path("people.tsv"))
    ('.csv.gz', '.tsv')
    """
    last = path.suffix.lower()
    return f"{Path(path.stem).suffix.lower()}{last}" if last == ".gz" else last

"""How a file is written: its encoding, what stands between its fields, and the signs in its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dproof.spaces.values import PLAIN, Numerals


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

"""The plan's table [file]: how the file is written that the plan is for."""

from __future__ import annotations

import codecs

from dproof.engines.layout import DECIMALS, THOUSANDS, Layout, Numerals
from dproof.sanitisation.reader import Reader

_ANY = "a,b;1\t2|\n"  # what every text that holds a table is made of


def read_layout(table: Reader) -> Layout:
    """What the table says, with the usual signs for what it does not."""
    separator, encoding = table.text("separator", None), table.text("encoding", "utf-8")
    decimal, thousands = table.text("decimal", "."), table.text("thousands", "")
    sheet = table.text("sheet", None)
    table.finish()
    if separator is not None and (len(separator) != 1 or not separator.isascii() or separator in '"\r\n\0'):
        raise table.wrong("separator", 'must be one ASCII character such as "," ";" or "\\t", and no quote or line end')
    if not _is_encoding(encoding):
        raise table.wrong("encoding", 'is no known encoding: write "utf-8", "cp1252" (Windows), "latin-1" or "utf-16"')
    if decimal not in DECIMALS:
        raise table.wrong("decimal", 'must be "." or ","')
    if thousands not in THOUSANDS:
        raise table.wrong("thousands", 'must be "," "." " " "\'" or nothing, ""')
    if thousands == decimal:
        raise table.wrong("thousands", "must be another sign than the decimal one")
    return Layout(separator, encoding, Numerals(decimal, thousands), sheet)


def _is_encoding(name: str) -> bool:
    """Whether Python knows it, it writes text, and no bytes stop it: some codecs pack bytes, or know no replacement."""
    try:
        written = _ANY.encode(name)
        codecs.getincrementaldecoder(name)("replace").decode(written + bytes(range(256)), True)
        return written.decode(name) == _ANY
    except (LookupError, ValueError, TypeError):
        return False

"""The plan's table [file]: how the file is written that the plan is for."""

from __future__ import annotations

import codecs

from dproof.columns.values import DECIMALS, THOUSANDS, Numerals
from dproof.plans.reader import Reader
from dproof.tables.source import Layout

# Encodings without memory, by the names that Python gives them: what some bytes mean depends on no bytes before. In
# others, such as ISO-2022-JP, UTF-7 or HZ, a few bytes of one cell change how the rest of the file is read.
_UNICODE = frozenset(
    {"utf-8", "utf-8-sig", *(f"utf-{bits}{order}" for bits in (16, 32) for order in ("", "-le", "-be"))}
)
_ONE_BYTE = frozenset(
    {
        *("ascii", "koi8-r", "koi8-t", "koi8-u", "kz1048", "ptcp154", "tis-620", "hp-roman8"),
        *(f"iso8859-{part}" for part in (*range(1, 12), *range(13, 17))),
        *(f"cp125{page}" for page in range(9)),
        *(f"cp{page}" for page in (437, 720, 737, 775, 850, 852, 855, 856, 857, 858, 860, 861, 862, 863, 864, 865)),
        *(f"cp{page}" for page in (866, 869, 874, 1006, 1125)),
        *(f"cp{page}" for page in ("037", 273, 424, 500, 875, 1026, 1140)),
        *(
            f"mac-{kind}"
            for kind in ("croatian", "cyrillic", "greek", "iceland", "latin2", "roman", "romanian", "turkish")
        ),
    }
)
# A first byte without its second spoils its own value only, as long as no separator could be a second one.
_EAST_ASIAN = frozenset(
    {
        *("shift_jis", "shift_jis_2004", "shift_jisx0213", "cp932", "euc_jp", "euc_jis_2004", "euc_jisx0213"),
        *("gb2312", "gbk", "gb18030", "big5", "big5hkscs", "cp950", "euc_kr", "cp949"),
    }
)
ENCODINGS = _UNICODE | _ONE_BYTE | _EAST_ASIAN
_NEVER_SECOND = frozenset("\t ,;:!#$%&'()*+-./<=>?")


def read_layout(table: Reader) -> Layout:
    """What the table says, with the usual signs for what it does not."""
    separator, encoding = table.text("separator", None), table.text("encoding", "utf-8")
    decimal, thousands = table.text("decimal", "."), table.text("thousands", "")
    sheet = table.text("sheet", None)
    table.finish()
    if separator is not None and (len(separator) != 1 or not separator.isascii() or separator in '"\r\n\0'):
        raise table.wrong("separator", 'must be one ASCII character such as "," ";" or "\\t", and no quote or line end')
    known = _encoding(encoding)
    if known not in ENCODINGS:
        raise table.wrong(
            "encoding",
            "is not a known encoding in which every value can be read by itself: write "
            '"utf-8", "cp1252" (Windows), "latin-1" or "utf-16"',
        )
    if known in _EAST_ASIAN and separator is not None and separator not in _NEVER_SECOND:
        raise table.wrong("separator", f'can be half a character in {encoding}: use "," ";" or "\\t", or save as UTF-8')
    if decimal not in DECIMALS:
        raise table.wrong("decimal", 'must be "." or ","')
    if thousands not in THOUSANDS:
        raise table.wrong("thousands", 'must be "," "." " " "\'" or nothing, ""')
    if thousands == decimal:
        raise table.wrong("thousands", "must be another sign than the decimal one")
    return Layout(separator, encoding, Numerals(decimal, thousands), sheet)


def _encoding(name: str) -> str | None:
    """Python's own name of an encoding; None for one that it does not know."""
    try:
        return codecs.lookup(name).name
    except (LookupError, ValueError):
        return None

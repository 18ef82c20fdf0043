"""What `dproof init --look` sees in the first rows of a table: kinds of columns, and how the file is written.

Nothing of a value is kept: only which kind most of a column's values are, and with which signs they are written.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from dproof.spaces.arrow import decoded
from dproof.spaces.values import Numerals
from dproof.tables import Source
from dproof.tables.delimited import unpacked

_SAMPLE = 10_000  # rows
_SAMPLE_BYTES = 1 << 20
_MOST = 0.5  # of the values that are there: people write "n/a" and "none" among numbers
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?([T ]\d\d?:\d\d.*)?|\d\d?([./-])\d\d?\2\d{2,4}( \d\d?:\d\d.*)?|\d{4}/\d\d?/\d\d?")
_TRUTH = {"true", "false"}

Sample = Mapping[str, Sequence[str]]


def seen_encoding(path: Path, encoding: str) -> str:
    """The encoding of the header, or the usual one of Windows where bytes in the first rows are not in it."""
    with unpacked(path) as file:
        start = file.read(_SAMPLE_BYTES)
    try:
        codecs.getincrementaldecoder(encoding)().decode(start)
    except UnicodeDecodeError:
        return "cp1252"
    return encoding


def sample(source: Source) -> dict[str, list[str]]:
    """The texts in the first rows of each column of text; none that are blank."""
    texts: dict[str, list[str]] = {}
    batch = next(iter(source.read(source.names)), None)
    for name, array in () if batch is None else zip(source.names, batch.slice(0, _SAMPLE).columns, strict=True):
        array = decoded(array)
        if pa.types.is_string(array.type) or pa.types.is_large_string(array.type) or pa.types.is_binary(array.type):
            values = array.cast(pa.large_binary()).to_pylist()
            found = (value.decode("utf-8", "replace").strip() for value in values if value is not None)
            texts[name] = [text for text in found if text]
    return texts


def seen_numerals(texts: Sample, separator: str) -> Numerals:
    """The signs with which most values are numbers; the plain ones where others read no more."""
    point, comma = Numerals(".", ","), Numerals(",")
    # 65,000 in quotes among commas has thousands; 1,234 among semicolons has a decimal comma.
    doubtful = [point, comma] if separator == "," else [comma, point]
    signs = [Numerals(), *doubtful, Numerals(",", "."), Numerals(",", " "), Numerals(".", " "), Numerals(".", "'")]
    values = [text for column in texts.values() for text in column]
    return max(signs, key=lambda sign: sum(_is_number(text, sign) for text in values))


def seen_type(texts: Sequence[str], numerals: Numerals) -> Any:
    """The Arrow type of what most of a column's texts are; None where they are just texts."""
    if not texts:
        return None
    if all(text.lower() in _TRUTH for text in texts):
        return pa.bool_()
    if sum(_is_number(text, numerals) for text in texts) >= _MOST * len(texts):
        return pa.float64()
    return pa.date32() if sum(_DATE.fullmatch(text) is not None for text in texts) >= _MOST * len(texts) else None


def _is_number(text: str, numerals: Numerals) -> bool:
    return numerals.plain(text) is not None

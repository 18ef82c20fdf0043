"""What a row of a pandas Categorical means does not depend on the type that all its categories happen to share."""

from __future__ import annotations

import codecs
import datetime as dt
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import dproof as dp
from dproof import InputError
from dproof.columns.values import written
from dproof.plans.reader import _EAST_ASIAN, _NEVER_SECOND, ENCODINGS, Reader, read_column
from dproof.plans.rows import counted_rows
from dproof.tables import open_source
from dproof.tables.source import Layout
from tests.engines.test_objects_alone import READERS
from tests.odd_objects import batches_of

VALUES = [
    *(pandas.Timestamp("2020-01-01"), pandas.Timestamp("2020-01-01 01:02:03.5"), pandas.Timedelta("1D")),
    *(
        pandas.Timestamp("2020-01-01", tz="UTC"),
        dt.date(2020, 1, 1),
        pandas.Period("2020-01"),
        pandas.Interval(0.5, 1.5),
    ),
    *(0.15, 0.7, 1, 10**16, 1e16, 1e23, 1e300, True, False, "a", "0.5", b"a", np.float32(0.1)),
]


def _column(values: list[Any], kind: str | None = "category") -> list[Any]:
    frame = pandas.DataFrame({"x": pandas.Series(values).astype(kind)})
    return [batch.column(0) for batch in open_source(frame).read(["x"])]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{type(value).__name__} {value!a}")
def test_a_category_is_read_alike_whatever_the_others_are(value: Any) -> None:
    for name, read in READERS.items():
        if "list" in name or "curves" in name or name in ("wide", "person"):
            continue  # lists are no categories, truth values no points of curves, and persons only told apart
        found = {read(_column([value] * 3 + others))[0] for others in ([], [None], ["x"], [b"x"], [2.5])}
        assert len(found) == 1, name


@pytest.mark.parametrize("value", [value for value in VALUES if not isinstance(value, bytes)], ids=ascii)
def test_a_category_is_the_text_that_it_is_written_as(value: Any) -> None:
    table = {"space": "categories", "values": [written(value), "zz"], "outside": "category", "missing": "category"}
    treat = read_column("x", Reader(table, ())).encoder()
    for others in ([], [None], ["x"], [b"x"], [2.5]):
        (array,) = _column([value] * 3 + others)
        assert treat([array]).tolist()[:3] == [0] * 3


@pytest.mark.parametrize("number", [0, 7, -3, 10**15, 10**16, -(10**16), 10**19, 3 * 10**22, 10**23])
def test_a_whole_number_is_written_alike_in_every_type(number: int) -> None:
    assert written(number) == written(float(number)) == written(np.float64(number)) == str(number)


def test_a_person_that_is_no_text_changes_nothing_for_the_others() -> None:
    persons = ["p", "q", "p", "r", "\ud800", "q"]
    frame = pandas.DataFrame({"x": pandas.Series(persons, dtype=pandas.StringDtype("python"))})
    with batches_of(3):
        arrays = [batch.column(0) for batch in open_source(frame).read(["x"])]
    assert counted_rows(arrays, 1).sum() == 4


# In every encoding of a file, the bytes of one value change neither the other values nor the number of rows -----------


COLUMN = {"space": "categories", "values": ["a", "b"], "outside": "category", "missing": "category"}


def _plan(**file: Any) -> Any:
    return dp.Plan.from_dict({"privacy": {"epsilon": 1}, "file": file, "columns": {"x": COLUMN}})


@pytest.mark.parametrize("encoding", sorted(ENCODINGS))
def test_python_calls_each_encoding_by_that_name(encoding: str) -> None:
    assert codecs.lookup(encoding).name == encoding
    text = "a,b;1\t2\n"
    assert text.encode(encoding).decode(encoding) == text
    _plan(encoding=encoding)
    _plan(encoding=encoding.upper().replace("-", "_"), separator=";")


def _parts(encoding: str) -> list[bytes]:
    """Bytes that begin a character and do not end it, and some that are none."""
    if encoding.startswith(("utf-16", "utf-32")):
        order = "big" if encoding.endswith("be") else "little"
        wide = 2 if "16" in encoding else 4
        return [n.to_bytes(wide, order) for n in (0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xFFFF, 0xFEFF)]
    alone = [bytes([n]) for n in range(0x80, 0x100)]
    if encoding not in _EAST_ASIAN | {"utf-8", "utf-8-sig"}:
        return [part for part in alone if part.decode(encoding, "replace") not in '\n\r",ab']
    more = [bytes(pair) for pair in product((0x81, 0x8E, 0x8F, 0xA1, 0xE2, 0xFE, 0xFF), repeat=2)]
    return [*alone, *more, b"\x81\x30", b"\x81\x30\x81", b"\xf0\x90\x80"]


@pytest.mark.parametrize("encoding", sorted(ENCODINGS))
def test_bytes_of_one_value_change_no_other(tmp_path: Path, encoding: str) -> None:
    """As the last of a value before a separator, before a line end, and before the end of the file."""
    parts, path = _parts(encoding), tmp_path / "x.csv"

    def text(plain: str) -> bytes:
        return plain.encode(encoding.removesuffix("-sig") if encoding not in ("utf-16", "utf-32") else encoding + "-le")

    lines = [text("a") + part + text(",b\na,b") + part + text("\n") for part in parts]
    begin = codecs.BOM_UTF16_LE if encoding == "utf-16" else codecs.BOM_UTF32_LE if encoding == "utf-32" else b""
    path.write_bytes(begin + text("x,y\n") + b"".join(lines) + text("a,b") + parts[-1])
    source = open_source(path, layout=Layout(encoding=encoding))
    rows = [row for batch in source.read(["x", "y"]) for row in batch.to_pylist()]
    assert len(rows) == 2 * len(parts) + 1
    assert [row["y"] for row in rows[:-1:2]] == [b"b"] * len(parts)
    assert [row["x"] for row in rows[1::2]] == [b"a"] * len(parts)


@pytest.mark.parametrize("encoding", sorted(_EAST_ASIAN))
def test_no_separator_is_half_a_character(encoding: str) -> None:
    for first, separator in product(range(0x80, 0x100), _NEVER_SECOND):
        assert (bytes([first]) + separator.encode() + b"aa").decode(encoding, "replace").endswith(separator + "aa")
    with pytest.raises(InputError, match=r"file.separator can be half a character in"):
        _plan(encoding=encoding, separator="|")


@pytest.mark.parametrize(
    "encoding",
    ["iso2022_jp", "iso2022_kr", "hz", "utf-7", "unicode_escape", "raw_unicode_escape", "punycode", "idna", "johab"],
)
def test_an_encoding_with_a_memory_is_refused(encoding: str) -> None:
    with pytest.raises(
        InputError, match=r"file.encoding is not a known encoding in which every value can be read by itself"
    ):
        _plan(encoding=encoding)

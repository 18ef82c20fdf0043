"""The format of dates in a plan: a closed list of signs, read alike one by one and all at once."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dproof.columns.numbers import DateCodec, written_as
from dproof.columns.values import object_array
from dproof.plans.reader import MisplacedKey, Reader, read_column

FORMATS = ["%d.%m.%Y", "%d%m%Y", "%Y%m%d", "%m/%d/%Y %H:%M", "%d-%b-%Y", "%B %d, %Y", "%Y年%m月%d日", "[%d] (%m) ^%Y$"]


def codec_of(text: str | None, low: str = "0001-01-01", high: str = "9999-12-31", **keys: Any) -> DateCodec:
    table = {"space": "date", "low": low, "high": high, **({} if text is None else {"format": text}), **keys}
    codec = replace(read_column("day", Reader(table, ())), invalid_as_null=True).codec
    assert isinstance(codec, DateCodec)
    return codec


def read(text: str | None, array: Any, **keys: Any) -> list[str | None]:
    codec = codec_of(text, **keys)
    return [None if code < 0 else str(codec.space.label(code)) for code in codec.encode([array]).tolist()]


def written(day: dt.date, text: str) -> str:
    """As C's strftime has it, without its locale; and a year has four digits."""
    month = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][day.month - 1]
    full = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ]
    signs = {"%Y": f"{day.year:04}", "%m": f"{day.month:02}", "%d": f"{day.day:02}", "%b": month}
    for sign, meant in {**signs, "%B": full[day.month - 1], "%H": "23", "%M": "59", "%S": "07"}.items():
        text = text.replace(sign, meant)
    return text


@given(st.dates(), st.sampled_from(FORMATS))
def test_what_is_written_in_a_format_is_read_back(day: dt.date, text: str) -> None:
    assert read(text, pa.array([written(day, text)])) == [str(day)]


TEXTS = st.one_of(
    st.text(alphabet="0123456789.-/ TMayJanſK年\n", max_size=14),
    st.builds(written, st.dates(), st.sampled_from([*FORMATS, "%Y-%m-%d", "%Y-%m-%d %H:%M:%S"])),
    st.builds("{:02}.{:02}.{:04}".format, st.integers(0, 33), st.integers(0, 14), st.integers(0, 2025)),
    st.builds("{}.{}.{}".format, st.integers(0, 33), st.integers(0, 14), st.integers(0, 2025)),
)


@given(st.lists(TEXTS, max_size=8), st.sampled_from(FORMATS), st.booleans())
def test_a_column_at_once_is_read_as_value_by_value(texts: list[str], text: str, as_bytes: bool) -> None:
    codec = codec_of(text, "1900-01-01", "2030-12-31", outside="refuse")
    array = pa.array([word.encode() for word in texts] if as_bytes else texts, pa.binary() if as_bytes else pa.string())
    assert codec.lookups(array).tolist() == [codec.lookup(word) for word in texts]


def test_values_that_do_not_match_are_missing_dates() -> None:
    texts = ["03.04.2024", "3.4.2024", " 03.04.2024 ", "30.02.2024", "3.4.24", "soon", "", "2024-04-05", None]
    april = "2024-04-03"
    assert read("%d.%m.%Y", pa.array(texts)) == [april, april, april, None, None, None, None, "2024-04-05", None]
    assert read("%d.%m.%Y", object_array(texts)) == [april, april, april, None, None, None, None, "2024-04-05", None]
    assert read(None, pa.array(["03.04.2024"])) == [None]
    assert read("%m/%d/%Y", pa.array(["04/03/2024", "13/01/2024"])) == ["2024-04-03", None]


def test_a_text_that_is_no_utf_8_is_a_missing_date() -> None:
    assert read("%d.%m.%Y", pa.array([b"03.04.2024\xff", b"\xff", b"03.04.2024"])) == [None, None, "2024-04-03"]


def test_a_time_must_be_one_and_is_cut_off() -> None:
    times = ["3.4.2024 23:59", "3.4.2024 9:05", "3.4.2024 24:00", "3.4.2024 10:60", "3.4.2024"]
    assert read("%d.%m.%Y %H:%M", pa.array(times)) == ["2024-04-03", "2024-04-03", None, None, None]


def test_months_have_english_names_in_any_case() -> None:
    names = ["3 mar 2024", "3 MAR 2024", "3 Mrz 2024", "3 march 2024"]
    assert read("%d %b %Y", pa.array(names)) == ["2024-03-03", "2024-03-03", None, None]


def test_numbers_and_typed_dates_are_read_too() -> None:
    assert read("%Y%m%d", pa.array([20240403, 20241301])) == ["2024-04-03", None]
    assert read("%d.%m.%Y", pa.array([dt.date(2024, 4, 3)])) == ["2024-04-03"]
    assert read("%d.%m.%Y", object_array([dt.date(2024, 4, 3), "03.04.2024"])) == ["2024-04-03", "2024-04-03"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("%d.%m.%y", "leaves the century open"),
        ("%d.%m", "a year, a month and a day, each once"),
        ("%d.%m.%Y %b", "a year, a month and a day, each once"),
        ("%d.%m.%Y %f", "'%f' is not one of %Y, %m, %b, %B, %d, %H, %I, %M, %S and %p"),
        ("%d.%m.%Y %p", "%I, an hour of twelve, and %p, AM or PM, go together"),
        ("%H:%M", 'for times of day write space = "time"'),
        ("%d.%m.%Y%", "'%' is not one of"),
        ("%%%d.%m.%Y", "'%%' is not one of"),
        ("%d.%m.%Y 00:00", "a digit stands in it"),
        ("%d.%m.%Y %H:%H", "stands in it twice"),
        ("%Y-%d-%m", "would be read as others"),
        ("%Y-%d-%mT%H:%M", "would be read as others"),
        ("%d.%m.%Y" + " " * 60, "more than 64 characters"),
        ("", "a year, a month and a day, each once"),
        (7, "must be text"),
    ],
)
def test_other_formats_are_refused(text: Any, problem: str) -> None:
    with pytest.raises(MisplacedKey) as refused:
        codec_of(text)
    assert refused.value.path[-1] == "format" and problem in str(refused.value)


def test_the_format_does_not_touch_what_is_stored() -> None:
    codec = codec_of("%d.%m.%Y")
    (stored,) = codec.store(codec.encode([pa.array(["03.04.2024"])]))
    assert stored.to_pylist() == [dt.date(2024, 4, 3)] and written_as("%d.%m.%Y").text == "%d.%m.%Y"

"""The rows of a sheet: how many there are, and of which columns, never follows from one person's cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dproof as dp
from dproof import InputError
from dproof.tables import open_source
from tests.workbooks import Fault, Formula, Raw, write_workbook

HEADER, OTHERS = ["x", "y"], [["a", "b"]] * 3
ROWS: dict[str, list[Any]] = {
    "blank": [None, None],
    "empty texts": ["", ""],
    "faults": [Fault("#N/A"), Fault("#N/A")],
    "a formula that nobody worked out": [Formula("A1", None), None],
    "a note beside it": ["a", "a", "note"],
    "a note beside nothing": [None, None, None, "note"],
}


def _read(path: Path, rows: list[list[Any]]) -> tuple[tuple[str, ...], list[dict[str, Any]]]:
    source = open_source(write_workbook(path / "x.xlsx", {"S": rows}, first_row=2))
    return source.names, [row for batch in source.read(source.names) for row in batch.to_pylist()]


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("left", [0, 1])
def test_one_row_changes_neither_their_number_nor_the_others(tmp_path: Path, row: list[Any], left: int) -> None:
    rows = [[None] * left + cells for cells in ([*HEADER], row, *OTHERS)]
    names, found = _read(tmp_path, rows)
    value = b"a" if row[0] == "a" else None
    assert names == ("x", "y")
    assert found == [{"x": value, "y": value}] + [{"x": b"a", "y": b"b"}] * 3


def test_a_cell_to_the_left_of_the_header_is_in_no_column(tmp_path: Path) -> None:
    names, found = _read(tmp_path, [[None, *HEADER], ["note", "a", "b"], [None, "a", "b"]])
    assert names == ("x", "y")
    assert found == [{"x": b"a", "y": b"b"}] * 2


def test_a_last_row_with_a_fault_or_an_empty_text_is_a_row(tmp_path: Path) -> None:
    for row in (["", ""], [Fault("#N/A"), Fault("#N/A")], [None, Fault("#N/A")]):
        assert _read(tmp_path, [HEADER, *OTHERS, row])[1][3:] == [{"x": None, "y": None}]
        assert len(_read(tmp_path, [["x"], ["a"], row[1:]])[1]) == 2


def test_what_remains_blank_rows_below_the_last_cell_in_use_are_no_rows(tmp_path: Path) -> None:
    assert len(_read(tmp_path, [HEADER, *OTHERS, [None, None], [None, None]])[1]) == 3


# Cells ---------------------------------------------------------------------------------------------------------------

_ERRORS = ("#SPILL!", "#CALC!", "#FIELD!", "#GETTING_DATA", "#BLOCKED!", "#CONNECT!", "#BUSY!", "#PYTHON!", "#N/A")
_VALUES = (*_ERRORS, *("1e12", "-1e12", "1e300", "-1e300", "inf", "nan", "60", "0.5", "2958466", "-1", "9" * 5000))


def _number(value: str, style: int) -> Raw:
    return Raw(f'r="{{}}" s="{style}"', f"<v>{value}</v>")


@pytest.mark.parametrize(
    ("cell", "read"),
    [
        *((_number(value, 2), text) for value, text in (("1e12", b"1000000000000"), ("-1e12", b"-1000000000000"))),
        *((_number("1.5", style), b"1 day, 12:00:00") for style in (2, 3)),
        *((_number("43890.75", style), b"2020-02-29T18:00:00") for style in (1, 4, 8)),
        *((_number("43890.75", style), b"43890.75") for style in (0, 5, 6, 7, 9, -1)),
        *(
            (_number(value, 1), text)
            for value, text in (("59", b"1900-02-28"), ("61", b"1900-03-01"), ("0.25", b"06:00:00"))
        ),
        *((_number(value, 1), value.encode()) for value in ("-3", "2958467", "nan")),
        *((Fault(text), None) for text in _ERRORS),
        *((Raw(f'r="{{}}" t="{kind}"', "<v>7777</v>"), b"\xff") for kind in "bs"),
        (
            Raw('r="{}" t="inlineStr"', "<is><r><t>a_x000D_</t></r><rPh><t>read</t></rPh><r><t> b</t></r></is>"),
            b"a\r b",
        ),
        (Raw("", "<f>1+</f><v>2</v>"), b"2"),
    ],
)
def test_a_cell_is_a_text_whatever_it_holds(tmp_path: Path, cell: Any, read: bytes | None) -> None:
    assert _read(tmp_path, [HEADER, [cell, "b"], *OTHERS])[1][0] == {"x": read, "y": b"b"}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=st.sampled_from(["", *(f't="{kind}"' for kind in ("n", "s", "b", "e", "d", "str", "inlineStr", "zz", ""))]),
    style=st.sampled_from(["", *(f's="{n}"' for n in (*range(10), -1, "x"))]),
    place=st.sampled_from(['r="{}"', 'r="A99999999999"', 'r="A0"', 'r=""', ""]),
    content=st.sampled_from(
        ["{}", "<v>{}</v>", "<is><t>{}</t></is>", "<f>{}</f>", "<v>{}<x/></v>", '<f t="shared" si="9"/><v>{}</v>']
    ),
    value=st.one_of(st.sampled_from(_VALUES), st.floats().map(str), st.integers().map(str)),
)
def test_no_cell_stops_the_work(tmp_path: Path, kind: str, style: str, place: str, content: str, value: str) -> None:
    cell = Raw(f"{place} {kind} {style}", content.format(value))
    _names, rows = _read(tmp_path, [HEADER, *OTHERS, [cell, "b"], *OTHERS])
    assert [row["y"] for row in rows] == [b"b"] * 7 and [row["x"] for row in rows[:3] + rows[4:]] == [b"a"] * 6
    plan = {
        "privacy": {"epsilon": 1},
        "columns": {key: {"space": "interval", "low": 0, "high": 9, "missing": 1} for key in "xy"},
    }
    assert dp.sanitise(tmp_path / "x.xlsx", plan).rows == 7


def test_what_could_grow_beyond_all_bounds_is_refused(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "x.xlsx", {"S": [HEADER]})
    kind = b'<!DOCTYPE x [<!ENTITY a "aaaa">]>'
    with ZipFile(path) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    with ZipFile(path, "w") as packed:
        for name, part in parts.items():
            packed.writestr(name, kind + part if "sheet1" in name else part)
    with pytest.raises(InputError, match="is damaged"):
        open_source(path)

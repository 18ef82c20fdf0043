"""The rows of a sheet: how many there are, and of which columns, never follows from one person's cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dproof.tables import open_source
from tests.workbooks import Fault, Formula, write_workbook

pytest.importorskip("python_calamine")

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

"""What a draft tells somebody who has never written a plan."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import dproof as dp

Dproof = Callable[..., Any]


def test_a_draft_says_what_to_leave_out_and_how_boxes_are_ticked(dproof: Dproof, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("id,town\n")
    words = " ".join(dproof("init", tmp_path / "x.csv").out.replace("#", "").split())
    assert "drop = true (left out), which is where ids, names and free text belong" in words
    assert 'columns = ["Sides? - Corn", "Sides? - Peas"] (ticked: the text in values, yes, true, 1, x;' in words


def test_an_interval_is_drafted_with_its_other_keys(dproof: Dproof, tmp_path: Path) -> None:
    pa.parquet.write_table(pa.table({"age": [41]}), tmp_path / "x.parquet")
    draft = dproof("init", tmp_path / "x.parquet").out
    assert 'high = "?"\n# step = 1\n# missing = 0 ' in draft and all(len(line) <= 80 for line in draft.splitlines())
    plan = dp.Plan.parse(draft.replace('"?"', "0", 1).replace('"?"', "99").replace("# step", "step"))
    assert plan.column("age").space.size == 100


@pytest.mark.parametrize(
    ("header", "asked"),
    [("17,3.5,-2", True), ("17,,3", True), ("17,age", True), ("a,2024-01-02", True), ("a,b", False)],
)
def test_a_file_without_a_header_is_asked_about(dproof: Dproof, tmp_path: Path, header: str, asked: bool) -> None:
    (tmp_path / "x.csv").write_text(f"{header}\n1,2,3\n")
    ran = dproof("init", tmp_path / "x.csv")
    assert ran.code == 0
    assert ran.out.startswith("# Is the first line a header?") == asked == ("is the first line a header?" in ran.err)


def test_a_row_in_place_of_a_header_is_told(refused: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("yes,no,yes\nno,no,yes\n")
    said = refused("init", tmp_path / "x.csv")
    assert (
        "columns 1 and 3 share the name 'yes': rename all but one (in a file the first line must be the header;" in said
    )

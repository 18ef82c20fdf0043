"""A set with a column for each item, as surveys have it: the option's text where it is ticked, and else a blank."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dproof as dp
from dproof import InputError
from dproof.columns.codec import Column
from dproof.plans.reader import Reader, read_column

SIDES = ["Side dishes? - Corn", "Side dishes? - Yams/sweet potatoes"]
PLAN: dict[str, Any] = {"space": "subsets", "columns": SIDES, "missing": []}
TICKED = ["true", "TRUE", "1", "yes", "Y", "x", "X ", "✓", "t", "Corn", " corn ", SIDES[0], SIDES[0].upper()]
NOT_TICKED = ["false", "False", "0", "no", "N", " f"]
BLANK = ["", "  ", None]
OUTSIDE = ["Cron", "2", "Yams/sweet potatoes", "-", "yes please", "\ufffd"]


def column(**keys: Any) -> Column:
    return read_column("sides", Reader({**PLAN, **keys}, ()))


def codes(treated: Column, *flags: list[Any]) -> list[int]:
    found: list[int] = treated.encoder()([pa.array(flag) for flag in flags]).tolist()
    return found


@pytest.mark.parametrize("text", TICKED)
def test_ticked(text: str) -> None:
    assert codes(column(), [text], [None]) == [1]


@pytest.mark.parametrize("text", NOT_TICKED)
def test_not_ticked(text: str) -> None:
    assert codes(column(missing=["Side dishes? - Corn"]), [text], [None]) == [0]


@pytest.mark.parametrize("text", OUTSIDE)
def test_anything_else_is_outside(text: str) -> None:
    assert codes(column().with_missing_allowed(), [text], ["x"]) == [-1]
    assert codes(column(outside="clamp"), [text], ["x"]) == [2]
    with pytest.raises(InputError, match="'sides' has a flag that is neither ticked nor unticked") as refused:
        codes(column(), [text], ["x"])
    assert f" {text}:" not in str(refused.value) and "Cron" not in str(refused.value)


@pytest.mark.parametrize("blank", BLANK)
def test_a_row_is_missing_only_where_every_flag_is_blank(blank: str | None) -> None:
    both = column(missing=SIDES)
    assert codes(both, [blank, "x", blank, "no"], [blank, blank, "x", blank]) == [3, 1, 2, 0]
    assert codes(column(missing="refuse").with_missing_allowed(), [blank, "x"], [blank, blank]) == [-1, 1]
    with pytest.raises(InputError, match="'sides' has a missing value"):
        codes(column(missing="refuse"), ["x", blank], ["x", blank])


def test_typed_columns_follow_the_same_rule() -> None:
    both = column(missing=SIDES)
    assert codes(both, [True, False, None, None], [None, None, True, None]) == [1, 0, 2, 3]
    assert codes(both, [1, 0, None, None], [None, None, 1.0, float("nan")]) == [1, 0, 2, 3]


def test_an_item_is_known_by_its_value_too() -> None:
    named = column(values=["maize", "yams"], missing=[])
    assert codes(named, ["Maize", "corn", None], [None, "YAMS", "Yams/Sweet Potatoes"]) == [1, 3, 2]


def test_a_word_that_says_no_is_an_item_only_where_the_plan_or_the_survey_names_it() -> None:
    def flags(*columns: str, **keys: Any) -> Column:
        return read_column("sides", Reader({"space": "subsets", "columns": list(columns), **keys}, ()))

    assert codes(flags("0", "1"), ["0", "1"], ["1", "0"]) == [2, 1], "a table of zeros and ones"
    assert codes(flags("Travel? - No", "Travel? - Far"), ["No", None], [None, "Far"]) == [1, 2]
    assert codes(flags("a", "b", values=["No", "Yes"]), ["No", None], ["no", "Yes"]) == [1, 2]


CELLS = st.sampled_from([*TICKED, *NOT_TICKED, *BLANK, *OUTSIDE])


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=8))
def test_a_row_is_read_as_it_would_be_alone(rows: list[tuple[Any, Any]]) -> None:
    for treated in (column(outside="clamp"), column(missing="refuse").with_missing_allowed()):
        treat = treated.encoder()
        arrays = [pa.array(flag, pa.string()) for flag in zip(*rows, strict=True)]
        alone = [treat([array.slice(n, 1) for array in arrays]).tolist() for n in range(len(rows))]
        assert treat(arrays).tolist() == [code for (code,) in alone]


@pytest.mark.parametrize("flags", [1, 2])
def test_the_curator_counts_the_same_every_way(tmp_path: Path, flags: int) -> None:
    """Through DuckDB's own counting, Arrow's rows and a file of text: one flag is counted by DuckDB itself."""
    cells = [*TICKED, *NOT_TICKED, *BLANK, *OUTSIDE]
    names = SIDES[:flags]
    table = pa.table([pa.array(cells), pa.nulls(len(cells), pa.string())][:flags], names)
    pa.parquet.write_table(table, tmp_path / "x.parquet")
    pa.csv.write_csv(table, tmp_path / "x.csv")
    declared = {"space": "subsets", "columns": names, "values": ["Corn", "Yams"][:flags], "missing": []}
    plan = {"privacy": {"epsilon": 900}, "columns": {"sides": declared}}
    for n, source in enumerate((table, tmp_path / "x.parquet", tmp_path / "x.csv", duckdb.connect().from_arrow(table))):
        curator = dp.Curator(source, plan, budget=dp.Privacy(900), ledger=tmp_path / f"{n}.db")
        there = curator.ask("SELECT count(sides) AS n FROM data", epsilon=100).rows[0]["n"].estimate
        ticked = curator.ask("SELECT count(*) AS n FROM data WHERE list_contains(sides, 'Corn')", epsilon=100)
        assert there == len(TICKED + NOT_TICKED + BLANK), source
        assert ticked.rows[0]["n"].estimate == len(TICKED), source


def test_the_custodian_sees_texts_that_are_neither() -> None:
    table = pa.table({SIDES[0]: ["Corn", "Maize", "Maize", None], SIDES[1]: [None, "Yams", "x", None]})
    for outside in ("refuse", "clamp"):
        found = dp.check(table, {"privacy": {"epsilon": 1}, "columns": {"sides": {**PLAN, "outside": outside}}})
        (sides,) = found.columns
        assert (sides.missing, sides.outside + sides.clamped) == (1, 2)
        assert sides.values == (("Maize", 2), ("Yams", 1))
        (hint,) = found.hints
        assert hint.startswith("Some flags of 'sides' are neither ticked nor unticked: ticked is the item's own text")
        assert "encoding" not in hint and "clamp" not in hint

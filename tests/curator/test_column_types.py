"""Types of Arrow columns: every kind of text is read, and what holds no such values is refused before the debit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp

PLAN: dict[str, Any] = {
    "privacy": {"epsilon": 100, "neighbours": "add-remove", "person": "who", "rows_per_person": 2},
    "columns": {
        "who": {"drop": True},
        "x": {"space": "interval", "low": 0, "high": 10, "step": 1, "missing": 0, "outside": "clamp"},
        "day": {"space": "date", "low": "2020-01-01", "high": "2020-12-31", "missing": "2020-01-01"},
    },
}
QUESTION = "SELECT count(*), avg(x), avg(day) FROM data"
TEXTS = ["string", "large_string", "string_view", "binary", "large_binary", "binary_view"]


def column(values: list[Any], kind: Any, in_dictionary: bool) -> Any:
    array = pa.array(values, kind)
    return pa.DictionaryArray.from_arrays(pa.array(range(len(values))), array) if in_dictionary else array


def table(who: Any = None, x: Any = None) -> Any:
    day = pa.array(["2020-02-03"] * 4)
    return pa.table(
        {"who": ["a", "b", "a", "a"] if who is None else who, "x": [1, 2, 3, 4] if x is None else x, "day": day}
    )


@pytest.mark.parametrize("in_dictionary", [False, True])
@pytest.mark.parametrize("kind", TEXTS)
def test_every_kind_of_text_is_read(kind: str, in_dictionary: bool, tmp_path: Path) -> None:
    as_text = getattr(pa, kind)()
    encoded = [b"a", b"b", b"a", b"a"] if "binary" in kind else ["a", "b", "a", "a"]
    numbers = [b"1", b"inf", b"3", b"x"] if "binary" in kind else ["1", "inf", "3", "x"]
    rows = table(column(encoded, as_text, in_dictionary), column(numbers, as_text, in_dictionary))
    cells = dp.Curator(rows, PLAN, ledger=tmp_path / "b.db").ask(QUESTION, epsilon=99).rows[0]
    assert cells["count(*)"].estimate == 3


ODD = {
    "list": pa.array([[1], [2], [3], [4]]),
    "struct": pa.array([{"a": 1}] * 4),
    "lists in a dictionary": column([[1], [2], [3], [4]], pa.list_(pa.int64()), True),
    "structs in a dictionary": column([{"a": 1}] * 4, pa.struct({"a": pa.int64()}), True),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([4], pa.int32()), pa.array(["a"])),
}


@pytest.mark.parametrize("place", ["who", "x"])
@pytest.mark.parametrize("kind", ODD)
def test_other_types_are_refused_while_nothing_is_spent(kind: str, place: str, tmp_path: Path) -> None:
    curator = dp.Curator(table(**{place: ODD[kind]}), PLAN, ledger=tmp_path / "b.db")
    for asked in (QUESTION, [QUESTION, "SELECT sum(x) FROM data"]):
        with pytest.raises(dp.InputError, match="has the type"):
            curator.ask(asked, epsilon=1)
    assert len(curator.ledger.entries) == 1


def test_what_fails_in_a_column_never_quotes_a_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any) -> Any:
        raise ValueError("somebody's value")

    monkeypatch.setattr("dproof.columns.numbers.read_decimals", broken)
    curator = dp.Curator(table(x=["1", "2", "3", "4"]), PLAN, ledger=tmp_path / "b.db")
    with pytest.raises(dp.InputError, match="column 'x' cannot be read as the plan says"):
        curator.ask(QUESTION, epsilon=1)

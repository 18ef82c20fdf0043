"""`dproof plan` and `dproof sanitise` for plans that say how ε is spread over the columns of a row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

import dproof as dp
from dproof.plans.reader import to_toml

COLUMNS: dict[str, Any] = {
    **{f"c{n}": {"space": "categories", "values": ["a", "b", "c", "d"]} for n in range(4)},
    "age": {"space": "interval", "low": 0, "high": 80, "step": 1, "bins": [0, 20, 40, 60, 80]},
}
COUNT = "SELECT c0, count(*) AS n FROM release GROUP BY c0"
ROWS = 20_000


def written(folder: Path, spread: str | None, **more: Any) -> Path:
    path = folder / f"{spread}.toml"
    promise = {"epsilon": 2} if spread is None else {"epsilon": 2, "spread": spread}
    path.write_text(to_toml({"privacy": promise, "columns": COLUMNS, **more}), "utf-8")
    return path


def test_both_ways_are_shown_side_by_side(tmp_path: Path, dproof: Callable[..., Any]) -> None:
    told = dproof("plan", written(tmp_path, "auto", questions=[{"sql": COUNT}]), "--rows", ROWS, "--json").json
    spread = told["spread"]
    assert (spread["asked"], spread["chosen"]) == ("auto", "sample")
    assert [column["name"] for column in spread["columns"]] == list(COLUMNS)
    assert all(0 < column["sample"] < column["split"] < ROWS for column in spread["columns"])
    (question,) = spread["questions"]
    assert question["sample"] == told["questions"][0]["release"] < question["split"]
    assert sum(column["share"] for column in told["columns"]) == pytest.approx(1)  # of the rows
    assert {column["epsilon"] for column in told["columns"]} == {2.0}
    page = " ".join(dproof("plan", written(tmp_path, "auto", questions=[{"sql": COUNT}]), "--rows", ROWS).out.split())
    assert "Every row answers for one of 5 things" in page and "which has the smaller total variance" in page
    assert "column split sample" in page


def test_the_other_way_is_what_a_plan_with_it_says(tmp_path: Path, dproof: Callable[..., Any]) -> None:
    found = {
        spread: dproof("plan", written(tmp_path, spread, questions=[{"sql": COUNT}]), "--rows", ROWS, "--json").json
        for spread in ("split", "sample")
    }
    assert found["split"]["spread"]["columns"] == found["sample"]["spread"]["columns"]
    assert found["split"]["spread"]["chosen"] == "split" and found["sample"]["spread"]["chosen"] == "sample"


def test_a_plan_without_spread_says_nothing_of_it(tmp_path: Path, dproof: Callable[..., Any]) -> None:
    assert "spread" not in dproof("plan", written(tmp_path, None), "--rows", ROWS, "--json").json


def test_joints_that_share_columns_cannot_be_split(tmp_path: Path, dproof: Callable[..., Any]) -> None:
    joint = [{"columns": ["c0", "c1"]}, {"columns": ["c0", "age"]}]
    told = dproof("plan", written(tmp_path, "sample", joint=joint), "--rows", ROWS, "--json").json["spread"]
    assert all(column["split"] is None and column["sample"] for column in told["columns"])


def test_the_epsilon_for_a_half_width_is_that_of_the_spread(tmp_path: Path, dproof: Callable[..., Any]) -> None:
    plan = written(tmp_path, "sample", questions=[{"sql": COUNT}])
    told = dproof("plan", plan, "--rows", ROWS, "--half-width", 800, "--json").json
    widths = [column["half_width"] for column in told["columns"]]
    assert 790 < max(widths) <= 800 and told["epsilon"] == told["solved_epsilon"]


def test_from_a_file_to_an_answer(tmp_path: Path, dproof: Callable[..., Any]) -> None:
    rows = {name: ["a", "b", "c", "d"] * 500 if name != "age" else [10, 30, 50, 70] * 500 for name in COLUMNS}
    pa.csv.write_csv(pa.table(rows), tmp_path / "people.csv")
    plan = written(tmp_path, "sample")
    assert dproof("sanitise", tmp_path / "people.csv", "--plan", plan, "--out", tmp_path / "out").code == 0
    assert dproof("verify", tmp_path / "out").code == 0
    told = dproof("query", tmp_path / "out", COUNT, "--json").json
    assert len(told["rows"]) == 4 and all(row["n"]["low"] < row["n"]["high"] for row in told["rows"])
    refused = dproof("query", tmp_path / "out", "SELECT count(*) FROM release WHERE c0 = 'a' AND c1 = 'a' AND c2 = 'a'")
    assert refused.code == 2 and "declare [[joint]]" in refused.err
    predicted = dproof("plan", plan, "--rows", 2000, "--question", COUNT, "--json").json["questions"][0]["release"]
    half = [(row["n"]["high"] - row["n"]["low"]) / 2 for row in told["rows"]]
    uncut = [row["n"].stderr * 1.96 for row in dp.load(tmp_path / "out").query(COUNT).rows]
    assert max(half) <= 1.3 * predicted and min(uncut) >= 0.7 * predicted

"""A preview as text: a line for the price, what is left, each mechanism, and each column of the answer."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from dproof import Curator
from dproof.exact import written

PLAN = {
    "privacy": {"epsilon": 2},
    "columns": {
        "x": {"space": "categories", "values": [0, 1, 2]},
        "sex": {"space": "categories", "values": ["f", "m"]},
    },
}
QUESTION = "SELECT mode(x) AS m, avg(x) AS a, count(*) AS n FROM data WHERE sex = 'f'"


@pytest.fixture
def curator(tmp_path: Path) -> Curator:
    return Curator(pa.table({"x": [0, 2], "sex": ["f", "m"]}), PLAN, ledger=tmp_path / "budget.db")


def test_every_column_has_its_line(curator: Curator) -> None:
    seen = curator.preview(QUESTION, epsilon="0.5", level=0.9)
    lines = str(seen).splitlines()
    assert lines[:4] == [
        seen.asked,
        "costs epsilon 0.5 and delta 0",
        "left to spend: epsilon 2 and delta 0",
        "  enough for 4 questions at this price",
    ]
    assert lines[4:8] == [f"mechanism: {text}" for text in seen.mechanisms]
    assert [line.partition(":")[0] for line in lines[8:]] == ["m", "a", "n", "  no information at this ε"]
    assert lines[8].startswith("m: chosen") and lines[9].startswith("a: the interval depends on the data")
    width, error = seen.half_widths["n"], seen.errors["n"]
    assert width is not None and error is not None and width > error > 2
    assert lines[10] == f"n: ± {written(width)} with probability 0.9, {written(error)} off on average"


def test_what_is_free_says_nothing_of_how_often_it_can_be_paid(curator: Curator) -> None:
    assert "enough for 1 question at this price" in str(curator.preview(QUESTION, epsilon=2))
    curator.ask(QUESTION, epsilon=2)
    free = str(curator.preview(QUESTION, epsilon=2)).splitlines()
    assert free[1].startswith("free: it was answered before") and "enough for" not in str(free)


def test_the_band_of_a_curve_is_not_said_to_be_estimated_elsewhere(tmp_path: Path) -> None:
    """`dproof plan` estimates intervals of numbers; a band has no one ±."""
    load = {"space": "curves", "points": 3, "low": 0, "high": 5, "missing": "category"}
    plan = {"privacy": {"epsilon": 1}, "columns": {"load": load}}
    table = pa.table({"load": [[1.0, 2.0, 3.0]] * 50})
    seen = Curator(table, plan, ledger=tmp_path / "budget.db").preview("SELECT avg(load) AS l FROM data", epsilon=1)
    assert seen.half_widths == {"l": None}
    assert "l: the interval depends on the data, so it cannot be previewed" in str(seen)
    assert "dproof plan" not in str(seen)


@pytest.mark.parametrize(("epsilon", "informative"), [("0.1", True), ("0.04", False)])
def test_what_tells_nothing_is_decided_as_in_plans(tmp_path: Path, epsilon: str, informative: bool) -> None:
    plan = {
        "privacy": {"epsilon": 1, "neighbours": "change-one"},
        "columns": {"read": {"space": "categories", "values": ["no", "yes"]}},
    }
    curator = Curator(pa.table({"read": ["no", "yes"] * 50}), plan, ledger=tmp_path / "budget.db")
    told = curator.preview("SELECT count(*) AS n FROM data WHERE read = 'yes'", epsilon=epsilon).to_json()
    assert told["informative"] == {"n": informative} == {"n": told["half_widths"]["n"] < 50}


def test_what_is_done_with_missing_values_is_told_last(tmp_path: Path) -> None:
    age = {"space": "interval", "low": 0, "high": 9, "missing": 4}
    plan = {"privacy": {"epsilon": 2}, "columns": {"age": age}}
    seen = Curator(pa.table({"age": [1, 2]}), plan, ledger=tmp_path / "budget.db").preview(
        "SELECT count(*) AS n FROM data WHERE age < 5", epsilon=1
    )
    (note,) = seen.notes
    assert "age" in note and str(seen).splitlines()[-1] == note


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("SELECT year(day), count(*) FROM data GROUP BY year(day)", "2024-01-01"),
        ("SELECT count(*) FROM data WHERE month(day) = 2", "2024-02-01"),
        ("SELECT sum(part) FROM data", 0),
        ("SELECT unnest(tags) AS tag, count(*) FROM data GROUP BY tag", ["a", "b"]),
    ],
)
def test_the_neighbours_of_a_preview_are_json_whatever_their_values_are(question, value, tmp_path):
    columns = {
        "day": {"space": "date", "low": "2024-01-01", "high": "2025-12-31"},
        "part": {"space": "interval", "low": 0, "high": 1, "step": "1/3"},
        "tags": {"space": "subsets", "values": ["a", "b"]},
    }
    table = pa.table({"day": ["2024-05-01"], "part": [0.0], "tags": [["a"]]})
    curator = Curator(table, {"privacy": {"epsilon": 1}, "columns": columns}, ledger=tmp_path / "budget.db")
    witness = json.loads(json.dumps(curator.preview(question, epsilon=1).to_json()))["sensitivity"]["witness"]
    assert value in [next(iter(one["row"].values())) for rows in witness.values() for one in rows]


def test_a_mean_of_dates_is_told_as_its_interval_is_shown(tmp_path: Path) -> None:
    """Intervals of dates end at whole days: ± 0.06 was told of one that is a day long."""
    since = {"space": "date", "low": "2020-01-01", "high": "2023-12-31", "missing": "2020-01-01"}
    plan = {"privacy": {"epsilon": 1}, "columns": {"since": since}}
    days = pa.array([18262 + n % 1400 for n in range(300_000)], pa.int32()).cast(pa.date32())
    curator = Curator(pa.table({"since": days}), plan, ledger=tmp_path / "budget.db")
    width = curator.preview("SELECT avg(since) AS s FROM data", epsilon="0.5").half_widths["s"]
    assert width == pytest.approx(0.5 + 1460 / 0.5 * 3 / 300_000, rel=0.01)


def test_a_calculation_without_a_value_has_no_width(curator: Curator) -> None:
    for calculation in ("count(*) / 0", "count(*) * 1e300 * 1e300"):
        seen = curator.preview(f"SELECT {calculation} AS n FROM data WHERE sex = 'f'", epsilon=1)
        assert seen.half_widths == seen.errors == {"n": None} and "cannot be previewed" in str(seen)

"""A preview as text: a line for the price, what is left, each mechanism, and each column of the answer."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

from dproof import Cost, Curator
from dproof.curator.preview import Preview
from dproof.questions.ranges import Range

PREVIEW = Preview(
    asked="SELECT mode(x) AS m, avg(x) AS a, count(*) AS n FROM data",
    cost=Cost(Fraction(1, 2)),
    neighbours="change-one",
    free=False,
    remaining=Cost(Fraction(2)),
    times=4,
    sensitivity=None,
    mechanisms=("count: some noise",),
    half_widths={"m": None, "a": None, "n": 3.0},
    errors={"m": None, "a": None, "n": 1.0},
    level=0.9,
    notes=("A note.",),
    ranges={"n": Range(Fraction(0), Fraction(2))},
    chosen=("m",),
)


def test_every_column_has_its_line() -> None:
    lines = str(PREVIEW).splitlines()
    assert lines[:5] == [
        PREVIEW.asked,
        "costs epsilon 0.5 and delta 0",
        "left to spend: epsilon 2 and delta 0",
        "  enough for 4 questions at this price",
        "mechanism: count: some noise",
    ]
    assert [line.partition(":")[0] for line in lines[5:]] == ["m", "a", "n", "  no information at this ε", "A note."]
    assert lines[5].startswith("m: chosen") and lines[6].startswith("a: the interval depends on the data")
    assert lines[7] == "n: ± 3 with probability 0.9, 1 off on average"


def test_what_is_free_says_nothing_of_how_often_it_can_be_paid() -> None:
    free = str(replace(PREVIEW, free=True)).splitlines()
    assert free[1].startswith("free: it was answered before") and "enough for" not in str(free)
    assert "enough for 1 question at this price" in str(replace(PREVIEW, times=1))


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

"""More groups than anybody reads are refused before anything is paid, unless they are asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp

ITEMS = [f"i{n}" for n in range(13)]
PLAN: dict[str, Any] = {
    "privacy": {"epsilon": 5},
    "columns": {
        "likes": {"space": "subsets", "values": ITEMS},
        "place": {"space": "interval", "low": 0, "high": 999, "step": 1},
        "sex": {"space": "categories", "values": ["f", "m"]},
        "load": {"space": "curves", "points": 3, "low": 0, "high": 1, "terms": 1},
    },
}
ROWS = pa.table({"likes": [["i1"]] * 9, "place": [5] * 9, "sex": ["f"] * 9, "load": [[0.1, 0.2, 0.3]] * 9})
MANY = {
    "SELECT likes, count(*) AS n FROM data GROUP BY likes": 8192,
    "SELECT place, sex, count(*) AS n FROM data GROUP BY place, sex": 2000,
    "SELECT place, sex, count(*) AS n FROM data GROUP BY place, sex ORDER BY n DESC LIMIT 3": 2000,
}
CURVES = "SELECT place, sex, avg(load) AS a FROM data GROUP BY place, sex"


@pytest.fixture
def curator(tmp_path: Path) -> dp.Curator:
    return dp.Curator(ROWS, PLAN, ledger=tmp_path / "b.db")


@pytest.mark.parametrize("text", [*MANY, CURVES])
def test_more_than_a_thousand_groups_are_refused_while_nothing_is_spent(text: str, curator: dp.Curator) -> None:
    ways = [curator.ask, curator.preview, *([curator.curves] if text == CURVES else [])]
    for way in ways:
        with pytest.raises(
            dp.InputError, match=rf"has {MANY.get(text, 2000):,} groups.*all_groups=True.*list_contains"
        ):
            way(text, epsilon=1)
    assert curator.remaining().epsilon == 5


@pytest.mark.parametrize("text", MANY)
def test_they_are_answered_where_they_are_asked_for(text: str, curator: dp.Curator) -> None:
    assert curator.preview(text, epsilon=1, all_groups=True).cost.epsilon == 1
    answer = curator.ask(text, epsilon=1, all_groups=True)
    assert len(answer.rows) == (3 if "LIMIT" in text else MANY[text])
    assert curator.remaining().epsilon == 4


def test_curves_in_many_groups_are_priced_where_they_are_asked_for(curator: dp.Curator) -> None:
    assert curator.preview(CURVES, epsilon=1, all_groups=True).cost.epsilon == 1


def test_a_thousand_groups_are_answered(curator: dp.Curator) -> None:
    """The group of the missing values is not shown, and not counted among them."""
    assert len(curator.ask("SELECT place, count(*) AS n FROM data GROUP BY place", epsilon=1).rows) == 1000

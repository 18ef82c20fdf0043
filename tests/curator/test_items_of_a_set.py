"""Items of a large set: all of them are counted at once, and a condition that names too many says the way out."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof.questions import partition

ITEMS = [f"i{n}" for n in range(20)]
COLUMNS = {
    "s": {"space": "subsets", "values": ITEMS},
    "sex": {"space": "categories", "values": ["f", "m"]},
    "age": {"space": "interval", "low": 0, "high": 90},
}
PLAN = {"privacy": {"epsilon": 1000}, "columns": COLUMNS}
HELD = np.random.default_rng(1).random((500, len(ITEMS))) < np.linspace(0.1, 0.9, len(ITEMS))
AGES = np.arange(500) % 91
TABLE = pa.table(
    {
        "s": [[ITEMS[k] for k in np.flatnonzero(row)] for row in HELD],
        "sex": [["f", "m"][n % 2] for n in range(500)],
        "age": AGES,
    }
)


@pytest.mark.parametrize(
    ("where", "chosen"),
    [
        ("", np.full(500, True)),
        (" WHERE sex = 'f'", np.arange(500) % 2 == 0),
        (" WHERE list_contains(s, 'i19') OR age < 30", HELD[:, 19] | (AGES < 30)),
    ],
)
def test_all_items_of_a_large_set_are_counted_in_one_question(tmp_path: Path, where: str, chosen: Any) -> None:
    curator = dp.Curator(TABLE, PLAN, ledger=tmp_path / "budget.db")
    counts = curator.ask(f"SELECT unnest(s) AS i, count(*) AS n FROM data{where} GROUP BY i", epsilon=400).rows
    truth = HELD[chosen].sum(axis=0)
    assert {row["i"]: round(row["n"].estimate) for row in counts} == dict(zip(ITEMS, truth.tolist(), strict=True))
    sums = curator.ask(
        f"SELECT unnest(s) AS i, sum(age) AS n FROM data{where} GROUP BY i", epsilon=400, level=0.999999
    ).rows
    for k, row in enumerate(sums):
        assert row["n"].low <= AGES[chosen & HELD[:, k]].sum() <= row["n"].high


def test_they_cost_what_the_row_that_has_all_of_them_moves(tmp_path: Path) -> None:
    for group, moved in (("", 20), ("sex, ", 40)):
        found = dp.sensitivity(
            f"SELECT {group}unnest(s) AS i, count(*) AS n FROM data GROUP BY {group}i",
            {"s": dp.Subsets(ITEMS), "sex": dp.Categories(["f", "m"])},
        )
        assert (found.l1, found.l2_squared, found.kind) == (moved, moved, "exact")
        assert found.witness is not None and found.witness.distance == moved
    bits = {"s": dp.Subsets(ITEMS), "age": dp.Interval(-3, 90, 1)}
    assert dp.sensitivity("SELECT unnest(s) AS i, sum(age) AS x FROM data GROUP BY i", bits).l1 == Fraction(20 * 93)


@pytest.mark.parametrize("most", [1, 3, 8])
def test_it_is_the_same_however_many_are_counted_at_a_time(
    tmp_path: Path, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partition, "_ITEMS_OF_GRID", most)
    curator = dp.Curator(TABLE, PLAN, ledger=tmp_path / "budget.db")
    asked = "SELECT sex, unnest(s) AS i, count(*) AS n FROM data WHERE NOT list_contains(s, 'i3') GROUP BY sex, i"
    counts = [round(row["n"].estimate) for row in curator.ask(asked, epsilon=900).rows]
    assert counts == [int((HELD[sex::2, k] & ~HELD[sex::2, 3]).sum()) for sex in (0, 1) for k in range(len(ITEMS))]


def test_a_count_of_each_item_may_stand_beside_one_with_a_condition_on_an_item() -> None:
    """All counts look at the item of the condition: with it they looked at more items together than one may."""
    counts = "count(*) AS n, count(*) FILTER (WHERE list_contains(s, 'i3')) AS m"
    found = dp.sensitivity(f"SELECT unnest(s) AS i, {counts} FROM data GROUP BY i", {"s": dp.Subsets(ITEMS)})
    assert (found.l1, found.kind) == (40, "exact") and found.witness is not None and found.witness.distance == 40


def test_a_condition_on_too_many_items_is_refused_with_the_way_out_and_nothing_is_paid(tmp_path: Path) -> None:
    curator = dp.Curator(TABLE, PLAN, ledger=tmp_path / "budget.db")
    before = curator.remaining
    every = " OR ".join(f"list_contains(s, '{item}')" for item in ITEMS)
    with pytest.raises(
        dp.InputError, match=r"look at 20 items together, and 16 are the most: ask about fewer at once, or b"
    ):
        curator.ask(f"SELECT count(*) AS n FROM data WHERE {every}", epsilon=1)
    assert curator.remaining == before


def test_a_preview_of_many_items_can_be_read(tmp_path: Path) -> None:
    curator = dp.Curator(TABLE, PLAN, ledger=tmp_path / "budget.db")
    told = curator.preview("SELECT unnest(s) AS i, count(*) AS n FROM data GROUP BY i", epsilon=1)
    assert len(str(told)) < 2000 and "and 19 more: Laplace noise on whole numbers" in str(told)
    assert "characters)" in str(told) and len(told.mechanisms) == 20  # of which JSON has each

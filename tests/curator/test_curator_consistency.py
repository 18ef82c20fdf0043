"""Tables of counts add up to the public number of rows, and every interval stays what it says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dproof as dp
from dproof import Plan, Privacy
from dproof.curator.answer import adding_up, answer_of
from dproof.curator.recipe import Measurement
from dproof.plans.plan import schema_of
from dproof.privacy import Unit
from dproof.testing import seeded_coins
from tests.makers import measured_for, tallied, with_noise

PLAN: dict[str, Any] = {
    "privacy": {"epsilon": 100},
    "columns": {
        "place": {"space": "interval", "low": 0, "high": 39, "step": 1, "missing": 0},
        "sex": {"space": "categories", "values": ["f", "m"]},  # anything else counts in no group
    },
}
HISTOGRAM = "SELECT place, count(*) AS n FROM data GROUP BY place"


def sparse(rows: int = 300) -> pa.Table:
    """Nearly all rows in one place of forty."""
    places = [7] * (rows - 20) + list(range(20))
    return pa.table({"place": places, "sex": ["f", "m", "?"] * (rows // 3)})


def projected(counts: Sequence[int], total: int) -> list[Fraction]:
    """The nearest table of any numbers from 0 on that adds up, by trying every number of positive cells."""
    ordered = sorted(counts, reverse=True)
    for size in range(len(counts), 0, -1):
        theta = Fraction(sum(ordered[:size]) - total, size)
        if ordered[size - 1] >= theta:
            return [max(Fraction(0), y - theta) for y in counts]
    raise AssertionError


@given(st.lists(st.integers(-4, 6), min_size=1, max_size=4), st.integers(0, 6))
def test_no_whole_table_that_adds_up_is_nearer(counts: list[int], total: int) -> None:
    found = adding_up(counts, total)
    tables = [x for x in product(range(total + 1), repeat=len(counts)) if sum(x) == total]
    assert tuple(found) in tables
    assert math.dist(found, counts) == min(math.dist(x, counts) for x in tables)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(-60, 60)), min_size=1, max_size=30))
def test_the_table_errs_by_no_more_than_what_was_drawn_but_for_whole_numbers(cells: list[tuple[int, int]]) -> None:
    truth, noise = zip(*cells, strict=True)
    drawn = [c + e for c, e in cells]
    exact = projected(drawn, sum(truth))
    assert sum((x - c) ** 2 for x, c in zip(exact, truth, strict=True)) <= sum(e * e for e in noise)
    assert all(abs(x - z) < 1 for x, z in zip(adding_up(drawn, sum(truth)), exact, strict=True))


def measured(text: str, epsilon: Any = 1, **options: Any) -> Measurement:
    plan = Plan.from_dict(PLAN)
    privacy = Privacy(epsilon, neighbours=options.pop("neighbours", "change-one"))
    return measured_for(text, schema_of(plan), privacy, **options)


def answers(text: str, runs: int, table: pa.Table) -> list[Any]:
    measurement = measured(text)
    counted = tallied(table, Plan.from_dict(PLAN), measurement)
    with seeded_coins(3):
        drawn = [with_noise(measurement, counted) for _ in range(runs)]
    return [answer_of(measurement, released, 0.95) for released in drawn]


def test_a_histogram_adds_up_and_errs_less() -> None:
    truth = np.bincount(sparse()["place"].to_numpy(), minlength=40)
    before, after = [], []
    for answer in answers(HISTOGRAM, 60, sparse()):
        cells = [row["n"] for row in answer.rows]
        assert sum(cell.estimate for cell in cells) == 300
        assert all(isinstance(cell.estimate, int) and cell.low <= cell.estimate <= cell.high for cell in cells)
        assert "public number of rows, 300" in " ".join(answer.notes)
        before.append(sum((max(0, cell.raw) - c) ** 2 for cell, c in zip(cells, truth, strict=True)))
        after.append(sum((cell.estimate - c) ** 2 for cell, c in zip(cells, truth, strict=True)))
    assert np.mean(after) < 0.7 * np.mean(before)  # than counts that are only moved to 0


def test_intervals_cover_every_cell_as_often_as_they_say() -> None:
    """The empty ones and the full one, whose count the others' noise pulls down."""
    truth = np.bincount(sparse()["place"].to_numpy(), minlength=40)
    found = answers(HISTOGRAM, 400, sparse())
    for place in (7, 0, 39):
        cells = [answer.rows[place]["n"] for answer in found]
        assert sum(cell.low <= truth[place] <= cell.high for cell in cells) >= 0.93 * len(cells)


def test_an_interval_holds_what_the_others_made_of_its_count() -> None:
    measurement = measured(HISTOGRAM)
    released = {"noisy": [[280] + [10] * 39], "chosen": [], "private": True, "rows": 300}
    full = answer_of(measurement, released, 0.95).rows[0]["n"]
    assert full.estimate < 280 - 6 and (full.low, full.high, full.raw) == (full.estimate, 286, 280)
    beyond = answer_of(measurement, released | {"rows": 283}, 0.95).rows[0]["n"]
    assert (beyond.high, beyond.raw) == (283, 280)  # no count is more than all rows


def test_rows_in_no_declared_group_are_counted_too() -> None:
    shown = [
        [row["n"].estimate for row in answer.rows]
        for answer in answers("SELECT sex, count(*) AS n FROM data GROUP BY sex", 100, sparse())
    ]
    assert all(sum(cells) <= 300 for cells in shown)
    assert abs(np.mean([sum(cells) for cells in shown]) - 200) < 3


def test_what_is_calculated_from_counts_agrees_with_them() -> None:
    text = "SELECT place, 2 * count(*) AS twice, count(*) AS n, count(sex) AS s, avg(place) AS a FROM data"
    text += " GROUP BY place HAVING count(*) > 0 ORDER BY n DESC"
    for answer in answers(text, 10, sparse()):
        shown = [row["n"].estimate for row in answer.rows]
        assert sum(shown) == 300 and shown == sorted(shown, reverse=True) and min(shown) > 0
        assert all(row["twice"].estimate == 2 * row["n"].estimate for row in answer.rows)
        assert all(row["twice"].low <= row["twice"].estimate <= row["twice"].high for row in answer.rows)
        assert all(row["s"].estimate == max(0, row["s"].raw) for row in answer.rows)  # not of all rows


@pytest.mark.parametrize(
    ("measurement", "public"),
    [
        (measured(HISTOGRAM, neighbours="add-remove"), False),
        (measured(HISTOGRAM, unit=Unit(person="id")), False),
        (measured(HISTOGRAM, unit=Unit(rows_per_person=2)), False),
        (measured(HISTOGRAM.replace("GROUP", "WHERE sex = 'f' GROUP")), True),
        (measured(HISTOGRAM.replace("count(*)", "count(sex)")), True),
        (measured("SELECT count(*) AS n FROM data"), True),
    ],
)
def test_where_the_number_of_rows_is_private_it_is_not_told_and_where_not_all_count_nothing_is_adjusted(
    measurement: Measurement, public: bool
) -> None:
    counted = tallied(sparse(), Plan.from_dict(PLAN), measurement)
    released = with_noise(measurement, counted)
    assert released.get("rows") == (300 if public else None)
    answer = answer_of(measurement, released, 0.95)
    assert all(row["n"].estimate == max(0, row["n"].raw) for row in answer.rows)


@pytest.mark.parametrize(
    ("asked", "least", "most"),
    [("avg(place)", 0, 39), ("stddev_pop(place)", 0, 19.5), ("covar_pop(place, place)", -(19.5**2), 19.5**2)],
)
def test_what_is_calculated_stays_in_the_declared_range(asked: str, least: float, most: float, tmp_path: Path) -> None:
    curator = dp.Curator(pa.table({"place": [39, 38], "sex": ["f", "m"]}), PLAN, ledger=tmp_path / "b.db")
    for text in (f"SELECT {asked} AS a FROM data", f"SELECT sex, {asked} AS a FROM data GROUP BY sex"):
        for n in range(1, 9):
            for row in curator.ask(text, epsilon=Fraction(n, 100)).rows:
                estimate = row["a"].estimate if row["a"].informative else row["a"].raw
                assert least <= row["a"].low <= estimate <= row["a"].high <= most

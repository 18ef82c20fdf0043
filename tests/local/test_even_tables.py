"""What a release of rows would tell of an even table, before there is data: each value has as many rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof import expect
from dproof.advice.expect import law_of
from dproof.local import distribution_free
from dproof.plans.questions import planned_question
from dproof.questions.measured import Shares
from dproof.questions.question import resolve
from dproof.testing import seeded_coins
from tests.makers import categories, interval

ROWS = 100_000
YEAR = ["2024-01-01", "2024-06-01", "2024-12-31"]
NUMBER = {"space": "interval", "low": 0, "high": 99, "step": 1}
IN_BINS = {
    "number": {**NUMBER, "bins": [0, 2, 10, 99]},
    "date": {"space": "date", "low": YEAR[0], "high": YEAR[-1], "bins": YEAR},
    "time": {"space": "time", "low": "00:00", "high": "23:59", "bins": ["00:00", "06:00", "08:00", "23:59"]},
}
SHARES = {"number": [2, 8, 90], "date": [152, 214], "time": [360, 120, 960]}
PAIR = {"space": "categories", "values": ["a", "b"]}


def estimates(columns: Mapping[str, Any], sql: str, shares: Shares = Shares(), **more: Any) -> list[float]:  # noqa: B008
    plan = dp.Plan.of({"privacy": {"epsilon": 6}, "columns": columns, **more})
    law, planned = law_of(plan), planned_question(sql, plan.columns)
    question = resolve(replace(planned.question, table=law.schema.table), law.schema)
    source = law.expected_source(question, ROWS, shares, 0.95)
    cells = source.cells(question.select[-1].expression, range(len(source.labels)))
    return [cell.estimate / ROWS for cell in cells]


@pytest.mark.parametrize("mechanism", ["randomised_response", "frequency", "design"])
@pytest.mark.parametrize("kind", IN_BINS)
def test_bins_have_rows_as_they_have_values(kind: str, mechanism: str) -> None:
    sql = "SELECT x, count(*) AS n FROM release GROUP BY x"
    sizes = SHARES[kind]
    assert estimates({"x": {**IN_BINS[kind], "mechanism": mechanism}}, sql) == pytest.approx(
        [size / sum(sizes) for size in sizes], abs=1e-5
    )
    optional = estimates({"x": {**IN_BINS[kind], "mechanism": mechanism, "missing": "category"}}, sql)
    few = min(optional[-1], optional[0])  # the missing ones are one value
    assert few == pytest.approx(1 / (sum(SHARES[kind]) + 1), abs=2e-3)


@pytest.mark.parametrize("mechanism", ["randomised_response", "frequency"])
@pytest.mark.parametrize("spread", [{}, {"spread": "sample"}])
def test_bins_of_joined_columns_have_rows_as_they_have_values(mechanism: str, spread: Mapping[str, Any]) -> None:
    columns = {"g": PAIR, "x": IN_BINS["number"], "y": PAIR}
    joint = [{"columns": ["g", "x"], "mechanism": mechanism}]
    found = estimates(
        columns,
        "SELECT g, x, count(*) AS n FROM release GROUP BY g, x",
        joint=joint,
        privacy={"epsilon": 6, **spread},
    )
    assert found == pytest.approx([0.01, 0.04, 0.45] * 2, abs=1e-3)


@pytest.mark.parametrize("mechanism", ["laplace", "clamped_laplace", "unbiased_design", "auto"])
@pytest.mark.parametrize("high", [99, 99_999])
def test_a_missing_number_is_one_value_among_many(high: int, mechanism: str) -> None:
    number = {**NUMBER, "high": high, "missing": "category", "mechanism": mechanism}
    found = estimates({"x": number, "g": PAIR}, "SELECT count(x) AS n FROM release")
    assert found == pytest.approx([1 - 1 / (high + 2)], abs=1e-4)


def test_at_the_worst_other_rows_lie_far_from_a_stated_mean() -> None:
    """Rows that a condition leaves out add noise by how far their numbers lie from the mean: nobody said how far."""
    columns = {"x": {**NUMBER, "missing": "category"}, "g": PAIR}
    question = {"sql": "SELECT avg(x) AS a FROM data WHERE g = 'a'", "share_of_rows": "0.3", "mean": 10}
    plan = {"privacy": {"epsilon": 8}, "columns": columns, "questions": [question]}
    (told,) = dp.expect(plan, rows=50_000)
    assert told.half_width is not None and told.rare is not None
    draws = []
    for others in ([10], [90], [None], [90, None]):
        x = [10] * 15_000 + (others * 35_000)[:35_000]
        table = pa.table({"x": x, "g": ["a"] * 15_000 + ["b"] * 35_000})
        with seeded_coins(len(draws)):
            (row,) = dp.sanitise(table, plan).query(question["sql"].replace("data", "release")).rows
        draws.append((row["a"].high - row["a"].low) / 2)
    assert draws[0] == pytest.approx(told.half_width, rel=0.05)
    assert 0.95 * told.half_width < min(draws) and 1.3 * told.half_width < max(draws) < told.rare


@pytest.mark.parametrize("joint", [{}, {"joint": [{"columns": ["g", "v"]}]}])
@pytest.mark.parametrize("mechanism", ["auto", "randomised_response"])
def test_a_set_that_is_missing_holds_no_items(mechanism: str, joint: Mapping[str, Any]) -> None:
    """A law may show the mark of a missing set beside items: such codes were counted as sets with these."""
    likes = {"space": "subsets", "values": ["s", "t", "u"], "missing": "category", "mechanism": mechanism}
    for condition, share in {"v IS NULL": 1 / 2, "list_contains(v, 's')": 1 / 4}.items():
        asked = f"SELECT count(*) AS n FROM release WHERE {condition}"
        assert estimates({"g": PAIR, "v": likes}, asked, **joint) == pytest.approx([share])


def test_groups_that_only_a_column_of_alike_values_tells_apart_share_their_programmes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A mean in each of 2 · 4 · 101 groups took half a minute: each had its linear programmes, twice."""
    columns = {"sex": categories("f", "m"), "town": categories(*"abcd"), "age": interval(0, 20)}
    plan, solved = {"privacy": {"epsilon": 12}, "columns": columns}, list[int]()
    constraints = distribution_free.Constraints
    monkeypatch.setattr(
        distribution_free, "Constraints", lambda *arguments: [solved.append(1), constraints(*arguments)][1]
    )

    def widths(by: str, condition: str = "") -> tuple[Any, int]:
        solved.clear()
        asked = f"SELECT {by}, avg(age) AS a FROM data {condition} GROUP BY {by}"
        ((told,), programmes) = expect(plan, rows=400_000, questions=asked), len(solved)
        return told.widths, programmes

    together, programmes = widths("sex, town, age")
    assert 0 < programmes <= 2 * (21 + 1)  # for each age, and for a rare group; a ratio takes two
    with monkeypatch.context() as patch:  # each group by itself
        patch.setattr("dproof.local.answer._alike", lambda law, question: list(range(2 * 4 * 21)))
        each, many = widths("sex, town, age")
        assert many > 4 * programmes and each.typical == pytest.approx(together.typical)
        assert (each.least, each.greatest) == pytest.approx((together.least, together.greatest))


def test_a_condition_on_the_column_tells_its_groups_apart() -> None:
    columns = {"town": categories(*"abc"), "age": interval(0, 20)}
    asked = "SELECT town, sum(age) FILTER (WHERE town <> 'a') AS a FROM data GROUP BY town"
    (told,) = expect({"privacy": {"epsilon": 9}, "columns": columns}, rows=10_000, questions=asked)
    assert told.widths is not None and told.widths.greatest > 2 * told.widths.least

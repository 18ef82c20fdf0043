"""± of rows that noisy values choose, told before there is any data, is that of the answers."""

from __future__ import annotations

from pathlib import Path
from statistics import NormalDist
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof.advice.plan_advice import both_spreads
from dproof.questions.measured import level_of_chosen
from dproof.testing import seeded_coins
from tests.makers import row_law, table_law

COLUMNS: dict[str, Any] = {
    "town": {"space": "categories", "values": ["a", "b", "c", "d", "e"]},
    "age": {"space": "interval", "low": 0, "high": 100, "step": 1},
}
LOCAL = {"privacy": {"epsilon": 6}, "columns": COLUMNS}
ALL = "SELECT town, count(*) AS n FROM release GROUP BY town"
TOP = f"{ALL} ORDER BY n DESC LIMIT 2"
LARGE = f"{ALL} HAVING count(*) > 10"
FIRST = f"{ALL} ORDER BY town LIMIT 2"
MEANS = "SELECT town, avg(age) AS a FROM release GROUP BY town"
OLDEST = f"{MEANS} ORDER BY a DESC LIMIT 2"
ROWS = 100_000


def quantile(level: float) -> float:
    return NormalDist().inv_cdf((1 + level) / 2)


TWO, ONE = (quantile(level_of_chosen(0.95, shown, 5)) / quantile(0.95) for shown in (2, 1))


def central(*questions: str, delta: str = "1e-6") -> dict[str, Any]:
    columns = {**COLUMNS, "age": {**COLUMNS["age"], "bins": [0, 30, 60, 100]}}
    privacy = {"model": "central", "epsilon": 1, "delta": delta, "neighbours": "add-remove"}
    return {"privacy": privacy, "columns": columns, "questions": [{"sql": sql} for sql in questions]}


def table() -> pa.Table:
    return pa.table({"town": [*"aaaabbbccdde"] * 1000, "age": list(range(100)) * 120})


def test_a_release_and_a_curator_are_compared_by_the_rows_that_are_shown(tmp_path: Path) -> None:
    asked = [ALL, TOP, LARGE, FIRST, MEANS, OLDEST]
    every, top, large, first, means, oldest = dp.advise(LOCAL, rows=ROWS, questions=asked).comparisons
    assert every.release is not None and means.ask is not None and means.release is not None
    assert first.release == every.release  # no noise chooses these
    # At a higher level intervals allow for skewed noise, by a part of what one row moves: hardly more at so many rows.
    assert top.release == pytest.approx(TWO * every.release, rel=3e-3) and top.release >= TWO * every.release
    assert large.release == pytest.approx(ONE * every.release, rel=3e-3) and large.release >= ONE * every.release
    # The interval of a ratio is not quite linear in its deviations (Fieller).
    assert oldest.release == pytest.approx(TWO * means.release, rel=5e-3)
    assert means.estimated and oldest.estimated and oldest.ask is not None
    even = pa.table({"town": [*"abcde"] * (ROWS // 5), "age": [n // 5 % 101 for n in range(ROWS)]})
    curator = dp.Curator(even, LOCAL, ledger=tmp_path / "budget.db")
    for sql, told in ((MEANS, means.ask), (OLDEST, oldest.ask)):
        cells = [row["a"] for row in curator.ask(sql.replace("release", "data"), epsilon=3).rows]
        double = dp.expect(LOCAL | {"privacy": {"epsilon": 3}}, rows=ROWS, questions=sql, way="ask")[0].half_width
        assert double is not None and double == pytest.approx(2 * told, rel=0.05)
        assert [(cell.high - cell.low) / 2 for cell in cells] == pytest.approx([double] * len(cells), rel=0.1)


def test_both_spreads_are_told_by_the_rows_that_are_shown() -> None:
    plan = {"privacy": {"epsilon": 2, "spread": "sample"}, "columns": COLUMNS}
    asked = [{"sql": sql} for sql in (ALL, TOP, LARGE)]
    plan["questions"] = asked
    every, top, large = both_spreads(row_law(plan), ROWS)["questions"]
    for spread in ("split", "sample"):
        wanted = TWO * every[spread], ONE * every[spread]
        assert (top[spread], large[spread]) == pytest.approx(wanted, rel=3e-3) and top[spread] >= wanted[0]
    advised = dp.advise(plan, rows=ROWS).comparisons
    assert [one.release for one in advised] == pytest.approx([one["sample"] for one in (every, top, large)])


def test_a_question_about_no_group_has_a_width_all_the_same() -> None:
    nobody = ALL.replace("GROUP", "WHERE town = 'a' AND town = 'b' GROUP") + " HAVING count(*) > 10"
    (compared,) = dp.advise(LOCAL, rows=ROWS, questions=nobody).comparisons
    assert (compared.release, compared.ask) == (0, 0)
    means, of_nobody = dp.expect(central(MEANS, nobody), rows=ROWS)
    assert of_nobody.half_width == 0 < (means.half_width or 0)


@pytest.mark.parametrize("delta", ["1e-6", "0"])
def test_a_central_plan_tells_the_half_widths_of_its_answers(delta: str) -> None:
    plan = central(MEANS, ALL, TOP, LARGE, FIRST, delta=delta)
    law = table_law(plan)
    _, every, top, large, first = (one.widths and one.widths[:2] for one in dp.expect(plan, rows=None))
    assert every and top and large and first == every
    for widths, shown in ((top, 2), (large, 1)):
        wider = law.deviations(level_of_chosen(0.95, shown, 5)) / law.deviations()
        assert widths == pytest.approx([wider * width for width in every]) and wider > 1
    with seeded_coins(1):
        release = dp.sanitise(table(), plan)
    for cell in (row["n"] for row in release.query(TOP).rows):
        assert (cell.high - cell.low) / 2 == pytest.approx(top[1])
    (row,) = release.query(ALL + " HAVING count(*) > 3500").rows
    assert (row["n"].high - row["n"].low) / 2 == pytest.approx(large[1])


def test_dates_are_told_in_whole_days_as_they_are_shown(tmp_path: Path) -> None:
    """An interval of dates ends at whole days: half a day more on either side, on average. ± 0.06 was told of ± 0.5."""
    columns = {"d": {"space": "date", "low": "2020-01-01", "high": "2020-12-31"}}
    plan, sql = {"privacy": {"epsilon": 2}, "columns": columns}, "SELECT avg(d) AS a FROM data"
    (told,) = dp.expect(plan, rows=10_000, questions=sql, way="ask")
    assert told.widths is not None and 0.5 < told.widths.least < 0.6
    days = pa.table({"d": [f"2020-{1 + n % 12:02}-{1 + n % 28:02}" for n in range(10_000)]})
    cell = dp.Curator(days, plan, ledger=tmp_path / "budget.db").ask(sql, epsilon=2)["a"][0]
    assert (cell.high - cell.low).days == 1  # type: ignore[operator, union-attr]

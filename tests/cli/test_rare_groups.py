"""± before spending: for a common and a rare group, or for the share of the rows that the plan states."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof import InputError

ROWS = 20_000
MEAN = "SELECT avg(pay) AS m FROM {} WHERE list_contains(roles, 'manager')"
COLUMNS = {
    "roles": {"space": "subsets", "values": ["manager", "clerk"]},
    "pay": {"space": "interval", "low": 0, "high": 100_000, "step": 1000},
}


def plan(sql: str, share: str | None = None, model: str | None = None, epsilon: int = 1) -> dict[str, Any]:
    privacy = {"epsilon": epsilon, **({"model": model} if model else {})}
    question = {"sql": sql, **({"share_of_rows": share} if share else {})}
    return {"privacy": privacy, "columns": COLUMNS, "questions": [question]}


def table(share: float) -> Any:
    """So many of the rows are those of managers, whose pay is spread evenly."""
    rows = np.arange(ROWS)
    roles = [["manager"] if n < share * ROWS else ["clerk"] for n in rows]
    return pa.table({"roles": roles, "pay": (rows * 7919 % 101 * 1000).tolist()})


def half_width(cell: Any) -> float:
    return float(cell.high - cell.low) / 2


def test_the_mean_of_a_rare_group_is_between_what_a_measured_table_tells_of_a_common_and_a_rare_one() -> None:
    sql = MEAN.format("release")
    (told,) = dp.expect(plan(sql, model="central"), rows=ROWS)
    (stated,) = dp.expect(plan(sql, "0.05", "central"), rows=ROWS)
    assert told.widths is not None and stated.widths is not None and told.rare is not None
    release = dp.sanitise(table(0.06), plan(sql, model="central"))
    found = half_width(release.query(sql).rows[0]["m"])
    assert told.widths.greatest < found < told.rare  # once ± 2,008 was told, and 13,960 found
    assert stated.rare is None and stated.widths.greatest == pytest.approx(found, rel=0.5)
    assert stated.widths.greatest == pytest.approx(told.rare)  # half of the rows, were they spread evenly


def test_so_it_is_from_a_release_of_rows_and_from_asking(tmp_path: Path) -> None:
    found = dp.advise(plan(MEAN.format("data"), epsilon=8), rows=ROWS).comparisons[0]
    stated = dp.advise(plan(MEAN.format("data"), "0.05", epsilon=8), rows=ROWS).comparisons[0]
    assert found.release and found.ask and stated.release and stated.ask
    release = dp.sanitise(table(0.06), plan(MEAN.format("release"), epsilon=8))
    width = half_width(release.query(MEAN.format("release")).rows[0]["m"])
    # The noise of rows outside the group is taken to be that of rows within, which is more.
    assert found.release < width < (found.rare["release"] or np.inf) and width < stated.release
    widths = []
    for n in range(5):
        curator = dp.Curator(table(0.06), plan(MEAN.format("data")), ledger=tmp_path / f"{n}.db")
        widths.append(half_width(curator.ask(MEAN.format("data"), epsilon=1).rows[0]["m"]))
    asked = dp.advise(plan(MEAN.format("data")), rows=ROWS).comparisons[0]
    assert asked.ask and asked.rare["ask"] and asked.ask < median(widths) < asked.rare["ask"]
    assert not stated.rare and stated.share_of_rows is not None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sum(pay) AS s FROM release WHERE list_contains(roles, 'manager')",
        "SELECT avg(pay) AS m, count(*) FILTER (WHERE list_contains(roles, 'clerk')) AS n FROM release",
    ],
)
def test_where_the_rows_of_a_group_do_not_matter_there_is_one_figure(sql: str) -> None:
    told = dp.expect(plan(sql, model="central"), rows=ROWS)
    assert all(one.rare is None and one.widths for one in told)
    rare = dp.compare_ways(plan(sql, model="central"), rows=ROWS)["answers"][0]["rare"]
    assert not rare.keys() & {"central_pure", "central_delta"}


def test_a_rare_group_of_which_nothing_would_be_known_is_said_to_tell_nothing() -> None:
    sql = "SELECT avg(pay) AS m FROM release WHERE list_contains(roles, 'manager')"
    (told,) = dp.expect(plan(sql, model="central"), rows=150)
    assert told.informative and told.rare == float("inf")


def test_the_quantile_of_a_rare_group_is_that_of_fewer_rows() -> None:
    sql = "SELECT median(pay) AS m FROM release WHERE list_contains(roles, 'manager')"
    (few,), (many,) = (dp.expect(plan(sql, model="central"), rows=rows) for rows in (1000, 10_000))
    assert few.informative and many.rare == pytest.approx(few.widths.greatest if few.widths else 0.0)


def test_the_pages_show_both(dproof: Any, tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    for model, key in ((None, "rare"), ("central", "rare_half_width")):
        file.write_text(dp.Plan.of(plan(MEAN.format("release"), model=model, epsilon=8)).text, "utf-8")
        told = dproof("plan", file, "--rows", ROWS, "--json").json["questions"][0]
        assert told[key] and "(rare: a tenth)" in dproof("plan", file, "--rows", ROWS).out
        assert "a tenth of the rows" in " ".join(dproof("plan", file, "--rows", ROWS).out.split())
        file.write_text(dp.Plan.of(plan(MEAN.format("release"), "0.05", model, 8)).text, "utf-8")
        out = " ".join(dproof("plan", file, "--rows", ROWS).out.split())
        assert "(rare" not in out and "has 5% of the rows" in out
    ways = dp.compare_ways(plan(MEAN.format("data"), epsilon=8), rows=ROWS)["answers"][0]["rare"]
    assert set(ways) == {"local", "central_pure", "central_delta", "ask", "ask_shared"}


@pytest.mark.parametrize("share", ["0", "1.1", "-1"])
def test_a_share_that_is_none_is_refused(share: str) -> None:
    with pytest.raises(InputError, match="must lie between 0 and 1"):
        dp.Plan.of(plan(MEAN.format("data"), share))

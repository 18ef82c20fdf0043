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
from dproof.laws.debias import tilted
from dproof.testing import seeded_coins

ROWS = 20_000
MEAN = "SELECT avg(pay) AS m FROM {} WHERE list_contains(roles, 'manager')"
COLUMNS = {
    "roles": {"space": "subsets", "values": ["manager", "clerk"]},
    "pay": {"space": "interval", "low": 0, "high": 100_000, "step": 1000},
}


def plan(
    sql: str, share: str | None = None, model: str | None = None, epsilon: int = 1, mean: int | None = 50_000
) -> dict[str, Any]:
    privacy = {"epsilon": epsilon, **({"model": model} if model else {})}
    question = {"sql": sql, **({"share_of_rows": share, "mean": mean} if share else {})}
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
    # Half of the rows, were they spread evenly; and nine tenths of the way from the middle of the range to its end.
    (uneven,) = dp.expect(plan(sql, "0.05", "central", mean=5000), rows=ROWS)
    assert uneven.rare is None and uneven.widths and uneven.widths.greatest == pytest.approx(told.rare)


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
    # A release of rows has noise of the rows outside the group too, of whose numbers the plan says nothing.
    assert stated.rare.keys() == {"release"} and stated.share_of_rows is not None


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
    # A curator takes values that may be missing, which a release replaces.
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
        assert told[key] and "(uneven)" in dproof("plan", file, "--rows", ROWS).out
        assert "a tenth of an even share of the rows" in " ".join(dproof("plan", file, "--rows", ROWS).out.split())
        file.write_text(dp.Plan.of(plan(MEAN.format("release"), "0.05", model, 8)).text, "utf-8")
        out = dproof("plan", file, "--rows", ROWS).out
        assert "has 5% of the rows" in " ".join(out.split())
        # Rows outside the group have noise of their own, by numbers of which the plan says nothing.
        stated, uneven = (line.split() for line in out.splitlines() if line.startswith(("1. m", "  (uneven)")))
        assert [a == b for a, b in zip(stated[2:], uneven[1:], strict=True)] == [False] * 2 + [True] * 4
    ways = dp.compare_ways(plan(MEAN.format("data"), epsilon=8), rows=ROWS)["answers"][0]["rare"]
    assert set(ways) == {"local", "shuffled", "central_pure", "central_delta", "ask", "ask_shared"}


@pytest.mark.parametrize("share", ["0", "1.1", "-1"])
def test_a_share_that_is_none_is_refused(share: str) -> None:
    with pytest.raises(InputError, match="must lie between 0 and 1"):
        dp.Plan.of(plan(MEAN.format("data"), share))


@pytest.mark.parametrize(
    ("sql", "mean"),
    [
        (MEAN.format("data"), 100_001),
        (MEAN.format("data"), -1),
        ("SELECT count(*) FROM data", 5),
        ("SELECT sum(pay) FROM data", 5),
        ("SELECT stddev(pay) FROM data", 5),
    ],
)
def test_a_mean_that_nobody_asks_for_is_refused(sql: str, mean: int) -> None:
    with pytest.raises(InputError, match=r"questions\.1\.mean must lie in the range of the one number"):
        dp.Plan.of(plan(sql, "0.5", mean=mean))


def test_blanks_and_a_skewed_number_are_told_beside_even_ones(tmp_path: Path) -> None:
    columns = {"pay": {**COLUMNS["pay"], "missing": "category"}}
    sql, rows = "SELECT avg(pay) AS m FROM {}", np.arange(ROWS)
    pay = pa.table({"pay": [None if n % 5 < 2 else n * 7919 % 11 * 1000 for n in rows.tolist()]})  # 0 to 10,000
    for known, is_one in (
        ({}, False),
        ({"share_of_rows": "0.6"}, False),
        ({"share_of_rows": "0.6", "mean": 5000}, True),
    ):
        asked = [{"sql": sql.format("data"), **known}]
        central = {"privacy": {"epsilon": 1, "model": "central"}, "columns": columns, "questions": asked}
        local = {"privacy": {"epsilon": 1}, "columns": columns, "questions": asked}
        with seeded_coins(1):
            got = dp.sanitise(pay, central).query(sql.format("release")).rows[0]["m"]
            ledger = tmp_path / f"{len(known)}.db"
            asking = dp.Curator(pay, local, ledger=ledger).ask(sql.format("data"), epsilon=1).rows[0]["m"]
        for way, cell, plan in (("release", got, central), ("ask", asking, local)):
            (told,) = dp.expect(plan, rows=ROWS, way=way)
            assert told.half_width is not None and (told.rare is None) == is_one
            if is_one:
                assert half_width(cell) == pytest.approx(told.half_width, rel=0.1)
            else:
                assert 1.05 * told.half_width < half_width(cell) < 1.05 * (told.rare or 0.0)


def test_a_ratio_of_sums_hangs_on_the_rows_of_its_group_where_nobody_asks_for_their_number(tmp_path: Path) -> None:
    """A curator measures the two sums alone; ± 1.7 was told of common, rare and stated groups, and 14.7 found."""
    rows = np.arange(ROWS)
    hours = {"space": "interval", "low": 0, "high": 100, "step": 1}
    pay = pa.table({"pay": rows * 7919 % 101 * 1000, "hours": rows * 104729 % 101, "rare": rows % 50 < 3})
    columns = {"pay": COLUMNS["pay"], "hours": hours, "rare": {"space": "categories", "values": [False, True]}}
    asked = {"sql": "SELECT sum(pay) / sum(hours) AS r FROM data WHERE rare"}
    plan: dict[str, Any] = {"privacy": {"epsilon": 1}, "columns": columns, "questions": [asked]}
    stating = {**plan, "questions": [{**asked, "share_of_rows": "0.06"}]}
    with seeded_coins(1):
        found = half_width(dp.Curator(pay, plan, ledger=tmp_path / "b.db").ask(asked["sql"], epsilon=1).rows[0]["r"])
    (told,), (stated,) = (dp.expect(one, rows=ROWS, way="ask") for one in (plan, stating))
    assert told.half_width and stated.half_width
    assert told.rare is not None and told.half_width < found < told.rare
    assert stated.half_width == pytest.approx(found, rel=0.1)


HEAPED = tilted(np.arange(41.0), np.ones(41), 2.0)  # a mean nine tenths of the way from the middle to the end


@pytest.mark.parametrize("sql", ["stddev(age)", "var_pop(age)", "stddev(age) / avg(age)"])
@pytest.mark.parametrize("model", ["sample", "central", "ask"])
def test_a_deviation_is_told_for_numbers_near_an_end_of_their_range_too(model: str, sql: str, tmp_path: Path) -> None:
    """Only ± for evenly spread numbers was told, of which those of numbers that lie close together are many times."""
    privacy = {"sample": {"epsilon": 6, "spread": "sample"}, "central": {"model": "central", "epsilon": 1}}
    age, asked = {"space": "interval", "low": 0, "high": 40, "step": 1}, f"SELECT {sql} AS a FROM data"
    drawn = {"privacy": privacy.get(model, {"epsilon": 1}), "columns": {"age": age}, "questions": [{"sql": asked}]}
    rows, way = np.repeat(np.arange(41), np.rint(9000 * HEAPED).astype(int)), "ask" if model == "ask" else "release"
    (told,) = dp.expect(drawn, rows=len(rows), questions=asked, way="ask" if way == "ask" else "release")
    with seeded_coins(5):
        if model == "ask":
            answer = dp.Curator(pa.table({"age": rows}), drawn, ledger=tmp_path / "budget.db").ask(asked, epsilon=1)
        else:
            answer = dp.sanitise(pa.table({"age": rows}), drawn).query(asked.replace("data", "release"))
    found = half_width(answer["a"][0])
    assert told.half_width and told.rare and found > 1.8 * told.half_width
    # A curator is told for half of the rows, as a number may be missing; releases keep to a plan that refuses those.
    assert found < 1.1 * told.rare and (model == "ask" or found > 0.7 * told.rare)


def test_what_counts_tell_within_a_calculation_is_of_the_share_that_is_stated() -> None:
    """The deviation in it was that of evenly many rows."""
    columns = {
        "g": {"space": "categories", "values": [*"abcd"]},
        "x": {"space": "interval", "low": 0, "high": 40, "step": 1},
    }
    widths = {}
    for sql in ("stddev(x)", "3 * stddev(x)"):
        asked = {"sql": f"SELECT {sql} AS a FROM release WHERE g = 'a'", "share_of_rows": "0.02"}
        drawn = {"privacy": {"model": "central", "epsilon": 1}, "columns": columns, "questions": [asked]}
        (one,) = dp.expect(drawn, rows=ROWS)
        widths[sql] = one.half_width
    assert widths["3 * stddev(x)"] == pytest.approx(3 * (widths["stddev(x)"] or 0), rel=0.01)

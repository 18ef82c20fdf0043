"""Numbers that are added up about the middles of their bins: what a row moves, what answers are, where it is done."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof import InputError, Plan
from dproof.central.recipe import TableLaw, measurements, of_version, table_law, with_noise
from dproof.central.recipe import wanted_answers as answers
from tests.makers import categories, exact_tables, interval
from tests.makers import table_law as certified

NUMBER = interval(0, 11, missing="category", bins=[0, 6, 11])
COLUMNS = {"n": NUMBER, "a": categories("x", "y", "z")}
ROWS = [(n, a) for n in (None, *range(12)) for a in "xyz"]


def described(columns: dict[str, Any] = COLUMNS, **privacy: Any) -> dict[str, Any]:
    promise = {"model": "central", "epsilon": 1, "delta": "1e-6", **privacy}
    return {"privacy": promise, "columns": columns, "release": {"sums": True}}


def gaussian_or_laplace(plan: dict[str, Any]) -> TableLaw:
    """The law with the noise that the promise allows, whichever is better."""
    read = Plan.from_dict(plan)
    law = table_law(read, read.privacy)
    return with_noise(law, measurements(law), answers(law))


def effects(law: TableLaw) -> list[Any]:
    """What each row adds to all measurements, without noise, as the release counts it."""
    found = []
    for number, letter in ROWS:
        _, tables = exact_tables(pa.table({"n": pa.array([number], pa.int64()), "a": [letter]}), law)
        found.append([np.ravel(law._exact(one, tables[one])).astype(object) for one in law.noise])
    return found


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
def test_no_neighbouring_table_loses_more_than_rho_and_some_lose_it_all(neighbours: str) -> None:
    law = gaussian_or_laplace(described(neighbours=neighbours))
    assert law.axes[0].within
    moved, squares = effects(law), list(law.noise.values())
    if neighbours == "add-remove":
        shifts = [list(zip(row, squares, strict=True)) for row in moved]
    else:
        pairs = product(moved, moved)
        shifts = [[(x - y, s) for x, y, s in zip(a, b, squares, strict=True)] for a, b in pairs]
    rho = law.rho()
    assert rho is not None
    losses = [sum(Fraction(int((x**2).sum())) / s for x, s in shift) / 2 for shift in shifts]
    assert max(losses) <= rho <= max(losses) * Fraction(101, 100)


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
def test_the_rows_of_a_person_together_lose_no_more(neighbours: str) -> None:
    law = gaussian_or_laplace(described(neighbours=neighbours, rows_per_person=2))
    rows = np.random.default_rng(1).permutation(len(ROWS))[:12]
    moved, squares = [effects(law)[n] for n in rows], list(law.noise.values())
    nobody = [[0 * part for part in moved[0]]]
    others = moved if neighbours == "change-one" else nobody
    rho = law.rho()
    assert rho is not None
    for a, b in product(moved, moved):
        for c, d in product(others[:5], others[:5]):
            apart = (Fraction(int(((w + x - y - z) ** 2).sum())) for w, x, y, z in zip(a, b, c, d, strict=True))
            assert sum(shift / s for shift, s in zip(apart, squares, strict=True)) / 2 <= rho


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
def test_without_delta_no_neighbouring_table_costs_more_than_epsilon(neighbours: str) -> None:
    law = gaussian_or_laplace(described(neighbours=neighbours, delta="0"))
    moved, costs = effects(law), list(law.noise.values())
    others = moved if neighbours == "change-one" else [[0 * part for part in moved[0]]]
    spent = [
        sum(int(abs(x - y).sum()) * cost for x, y, cost in zip(a, b, costs, strict=True))
        for a, b in product(moved, others)
    ]
    assert max(spent) <= 1 and float(max(spent)) == pytest.approx(1, rel=1e-3)


def test_a_sum_without_noise_is_the_sum() -> None:
    """Σ middle · count and the rest within bins are the sum: by group, of one bin, and where some are missing."""
    table = pa.table({"n": pa.array([0, 2, 2, 3, 9, 10, None, 7, 4, 1], pa.int64()), "a": list("xyzxyzxyzx")})
    release = dp.sanitise(table, described(epsilon=900, delta="0"))
    assert release.law.axes[0].within
    for sql, true in {
        "SELECT sum(n) AS v FROM release": 38,
        "SELECT sum(n) AS v FROM release WHERE a = 'x'": 4,
        "SELECT sum(n) AS v FROM release WHERE n < 6": 12,
        "SELECT sum(n) AS v FROM release WHERE n >= 6": 26,
        "SELECT count(n) AS v FROM release": 9,
    }.items():
        assert release.query(sql).rows[0]["v"].estimate == pytest.approx(true, abs=0.3), sql


BY_BIN = "SELECT n, a, avg(n) AS mean FROM release GROUP BY n, a"


def test_a_question_about_some_bins_makes_the_plan_add_up_within_them() -> None:
    asked = [{"sql": BY_BIN}]
    law = certified({"privacy": described()["privacy"], "columns": COLUMNS, "questions": asked})
    assert law.axes[0].within and law.axes[0].max_abs == 5
    assert {one.table for one in law.noise if one.number == 0} >= {(0, 1)}
    table = pa.table({"n": [1] * 3000 + [9] * 3000, "a": ["x", "y"] * 3000})
    release = dp.sanitise(
        table, {"privacy": {**described()["privacy"], "epsilon": 4}, "columns": COLUMNS, "questions": asked}
    )
    means = {(row["n"], row["a"]): row["mean"] for row in release.query(BY_BIN).rows}
    assert means["[0, 6)", "x"].low <= 1 <= means["[0, 6)", "x"].high
    assert means["[6, 11]", "y"].low <= 9 <= means["[6, 11]", "y"].high
    assert means["[0, 6)", "z"].low is None


def test_a_mean_by_itself_is_added_up_about_the_middle_of_the_range() -> None:
    """Counts by bins that nobody asks for would only add noise: two rows cannot be told by them."""
    columns = {"n": interval(0, 99, bins=[*range(0, 99, 10), 99]), "a": categories("x", "y")}
    asked = [{"sql": "SELECT a, avg(n) AS mean FROM release GROUP BY a"}]
    law = certified({"privacy": described()["privacy"], "columns": columns, "questions": asked})
    assert not law.axes[0].within and (0, 1) not in law.tables
    asked += [{"sql": "SELECT n, a, count(*) AS rows FROM release GROUP BY n, a"}]
    law = certified({"privacy": described()["privacy"], "columns": columns, "questions": asked})
    assert law.axes[0].within and law.axes[0].max_abs == 9


def test_a_wide_bin_is_added_up_about_the_middle_of_the_range() -> None:
    for edge, within in ((33, False), (34, True)):
        columns = {"n": interval(0, 99, bins=[0, edge, 99]), "a": categories("x", "y")}
        assert certified(described(columns)).axes[0].within is within


def test_within_bins_counts_and_sums_have_less_noise() -> None:
    columns = {"n": interval(0, 69, bins=[*range(0, 69, 10), 69]), "a": categories(*"xyz"), "b": categories(*"uvwxyz")}
    for neighbours, counts, sums in (("add-remove", 1.1, 0.8), ("change-one", 1.05, 0.76)):
        alike = {**described(columns, neighbours=neighbours), "release": {"sums": True, "rows": True}}
        new, old = gaussian_or_laplace(alike), before(Plan.from_dict(alike))
        widths = [{one.name: one for one in law.half_widths} for law in (new, old)]
        for name, one in widths[1].items():
            assert widths[0][name].half_width <= (counts if one.sum_of is None else sums) * one.half_width, name


def before(plan: Plan) -> TableLaw:
    """The law of version 1."""
    law = table_law(of_version(plan, 1), plan.privacy)
    return with_noise(law, measurements(law), answers(law))


def test_what_was_not_added_up_by_group_and_bin_says_what_to_do() -> None:
    release = dp.sanitise(pa.table({"n": [1, 9], "a": ["x", "y"]}), described())
    with pytest.raises(InputError, match=r"'n' was not added up by n × a: .* under \[\[questions\]\] next time"):
        release.query("SELECT avg(n) AS v FROM release WHERE n < 6 AND a = 'x'")

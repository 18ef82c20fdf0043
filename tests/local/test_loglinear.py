"""Counts by three columns, shrunk towards what tables of two columns say."""

from __future__ import annotations

from collections import Counter
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof import InputError, TooLarge
from dproof.local.estimate import fit_pairs, widening
from dproof.testing import seeded_coins

ROWS = 2000
NAMES = np.array(list("pqrs"))
BY = "SELECT a, b, c, count(*) AS n FROM release GROUP BY a, b, c"


def columns(interaction: bool) -> dict[str, Any]:
    rng = np.random.default_rng(7)
    a, b, noise = rng.integers(0, 4, ROWS), rng.integers(0, 3, ROWS), rng.integers(0, 4, ROWS)
    c = np.where(rng.random(ROWS) < 0.7, (a + b) % 4 if interaction else a, noise)
    return {"a": NAMES[a], "b": NAMES[b], "c": NAMES[c]}


def released(seed: int, table: dict[str, Any], epsilon: Any) -> Any:
    spaces = {name: {"space": "categories", "values": sorted(set(table[name]))} for name in table}
    with seeded_coins(seed):
        return dp.sanitise(pa.table(table), {"privacy": {"epsilon": epsilon}, "columns": spaces})


def measured(table: dict[str, Any], epsilon: Any, method: str, times: int) -> tuple[float, float, float]:
    """The root mean square error, the share of intervals that cover, and the mean standard error."""
    rows = Counter(zip(*table.values(), strict=True))
    cells, truths = [], []
    for seed in range(times):
        for row in released(seed, table, epsilon).query(BY, method=method).rows:
            cells.append(row["n"])
            truths.append(rows[row["a"], row["b"], row["c"]])
    errors = [cell.estimate - true for cell, true in zip(cells, truths, strict=True)]
    held = [cell.low <= true <= cell.high for cell, true in zip(cells, truths, strict=True)]
    return (
        float(np.sqrt(np.mean(np.square(errors)))),
        float(np.mean(held)),
        float(np.mean([cell.stderr for cell in cells])),
    )


def test_the_error_and_the_interval_fall_where_pairs_tell_all() -> None:
    table = columns(interaction=False)
    unbiased, drawn = (measured(table, 4, method, 6) for method in ("inverse", "loglinear"))
    assert drawn[0] < 0.6 * unbiased[0] and drawn[2] < unbiased[2] and drawn[1] >= 0.93


def test_an_interaction_of_three_columns_is_covered() -> None:
    table = columns(interaction=True)
    for epsilon in (4, 9):
        unbiased, drawn = (measured(table, epsilon, method, 6) for method in ("inverse", "loglinear"))
        assert drawn[0] < 1.1 * unbiased[0] and drawn[1] >= 0.92


def test_tables_of_two_columns_stay_unbiased() -> None:
    release = released(1, columns(interaction=True), 4)
    sql = "SELECT a, c, count(*) AS n, proportion(b = 'p') AS p FROM release GROUP BY a, c"
    plain = "SELECT a, c, count(*) AS n FROM release GROUP BY a, c"
    for one, other in zip(release.query(plain).rows, release.query(plain, method="loglinear").rows, strict=True):
        assert other["n"].estimate == pytest.approx(one["n"].estimate)
        assert other["n"].stderr == pytest.approx(one["n"].stderr, rel=0.05)
    answer = release.query(sql, method="loglinear")
    assert all(row["p"].low is None or row["p"].low <= row["p"].high for row in answer.rows)
    assert "log-linear" in answer.method and "on average over the cells" in answer.method


def test_public_columns_and_populations_are_answered() -> None:
    table = columns(interaction=False)
    spaces = {name: {"space": "categories", "values": sorted(set(table[name]))} for name in "ab"}
    with seeded_coins(1):
        plan = {"privacy": {"epsilon": 3}, "columns": {**spaces, "c": {"public": True}}}
        release = dp.sanitise(pa.table(table), plan)
    rows = [release.query(BY, method="loglinear", target=target).rows for target in ("table", "population")]
    one, other = (np.mean([row["n"].stderr for row in answer]) for answer in rows)
    assert one < other
    assert sum(row["n"].estimate for row in rows[0]) == pytest.approx(ROWS)


def test_what_cannot_be_fitted_is_refused() -> None:
    release = released(1, columns(interaction=False), 3)
    with pytest.raises(InputError, match="on average over the cells"):
        release.query(BY, method="loglinear", simultaneous=True)
    many = released(1, {name: NAMES[np.arange(ROWS) % 4] for name in "abcdef"}, 6)
    with pytest.raises(TooLarge, match="at most 2000 cells"):
        many.query("SELECT a, b, c, d, e, f, count(*) AS n FROM release GROUP BY a, b, c, d, e, f", method="loglinear")


def test_the_fit_keeps_the_tables_of_two_axes() -> None:
    rng = np.random.default_rng(1)
    table = rng.random((3, 4, 2)) * 100
    fit = fit_pairs(table, [(0, 1), (0, 2), (1, 2)])
    for axis in range(3):
        assert fit.sum(axis=axis) == pytest.approx(table.sum(axis=axis), rel=1e-3)


def test_intervals_are_wide_enough_for_every_bias_with_a_mean_square() -> None:
    normal, dice = NormalDist(), np.random.default_rng(2)
    for mean in (0.1, 1.0, 9.0):
        reach = 1.959964 * widening(np.array([mean]), 0.95)[0]
        for part in (0.05, 0.3, 1.0, *dice.random(5)):
            bias = np.sqrt(mean / part)
            missed = normal.cdf(bias - reach) + normal.cdf(-reach - bias)
            assert part * missed + (1 - part) * 2 * normal.cdf(-reach) <= 0.0501

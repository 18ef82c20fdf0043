"""A number with bins is sanitised by its bins, row by row: conditions at their edges are counts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof import InputError
from dproof.certification import verify_certificate
from dproof.testing import seeded_coins

ROWS = 4000
RNG = np.random.default_rng(8)
HOURS = np.where(RNG.random(ROWS) < 0.4, 40, RNG.integers(1, 100, ROWS))
TOWN = np.where(HOURS < 50, RNG.choice(["a", "b"], ROWS), "b")
EDGES = [1, 20, 40, 41, 60, 99]
LABELS = ["[1, 20)", "[20, 40)", "[40, 41)", "[41, 60)", "[60, 99]"]
NUMBER = {"space": "interval", "low": 1, "high": 99, "step": 1, "bins": EDGES}
TOWNS = {"space": "categories", "values": ["a", "b"]}


def released(seed: int = 1, hours: Any = HOURS, number: dict[str, Any] = NUMBER, **tables: Any) -> Any:
    plan = {"privacy": {"epsilon": 4}, "columns": {"hours": number, "town": TOWNS}, **tables}
    with seeded_coins(seed):
        return dp.sanitise(pa.table({"hours": hours, "town": TOWN}), plan)


def one(release: Any, sql: str, **options: Any) -> Any:
    (row,) = release.query(f"SELECT {sql}", **options).rows
    return next(iter(row.values()))


def covers(cell: Any, true: float) -> bool:
    return bool(cell.low <= true <= cell.high)


def test_it_is_the_law_of_a_category_of_bins() -> None:
    """The same rows as if every number had been replaced by the name of its bin before."""
    names = np.array(LABELS)[np.searchsorted(EDGES[1:-1], HOURS, side="right")]
    categories = released(hours=names, number={"space": "categories", "values": LABELS})
    assert released().to_arrow() == categories.to_arrow()


def test_conditions_at_edges_are_counts() -> None:
    hits = []
    for seed in range(10):
        release = released(seed)
        answer = release.query("SELECT count(*) AS n FROM release WHERE hours = 40")
        assert not any("approximate" in note for note in answer.notes) and "(unbiased)" in answer.method
        cell = answer.rows[0]["n"]
        assert cell.high - cell.low < 0.1 * ROWS
        hits.append(covers(cell, (HOURS == 40).sum()))
        young = one(release, "count(*) AS n FROM release WHERE hours >= 60 AND town = 'b'")
        hits.append(covers(young, ((HOURS >= 60) & (TOWN == "b")).sum()))
    assert sum(hits) >= 17


def test_groups_are_the_bins() -> None:
    rows = released().query("SELECT hours, count(*) AS n FROM release GROUP BY hours").rows
    assert [row["hours"] for row in rows] == LABELS
    assert sum(row["n"].estimate for row in rows) == pytest.approx(ROWS)


def test_a_condition_inside_of_a_bin_holds_the_rows_of_that_bin() -> None:
    cut = one(released(), "count(*) AS n FROM release WHERE hours < 50")
    assert covers(cut, (HOURS < 50).sum())
    inside = ((HOURS >= 41) & (HOURS < 60)).sum()
    assert inside <= cut.high - cut.low <= 1.6 * inside


def test_a_mean_holds_the_width_of_the_bins() -> None:
    mean = one(released(), "avg(hours) AS a FROM release")
    starts = np.searchsorted(EDGES[1:-1], HOURS, side="right")
    least, most = np.array([1, 20, 40, 41, 60])[starts].mean(), np.array([19, 39, 40, 59, 99])[starts].mean()
    assert covers(mean, HOURS.mean()) and mean.low < least + 1 and mean.high > most - 1
    assert mean.high - mean.low < 1.3 * (most - least)


def test_quantiles_are_bins() -> None:
    release = released()
    assert covers(one(release, "median(hours) AS m FROM release"), np.median(HOURS))
    last = one(release, "quantile(hours, 0.95) AS q FROM release")
    assert (last.low, last.high) == (60, 99)


def test_missing_numbers_are_one_more_bin() -> None:
    hours = pa.array([None if n % 5 == 0 else int(h) for n, h in enumerate(HOURS)])
    release = released(hours=hours, number=NUMBER | {"missing": "category"})
    there = np.arange(ROWS) % 5 != 0
    assert covers(one(release, "count(*) AS n FROM release WHERE hours IS NULL"), ROWS / 5)
    assert covers(one(release, "count(*) AS n FROM release WHERE hours < 40"), ((HOURS < 40) & there).sum())
    assert covers(one(release, "avg(hours) AS a FROM release"), HOURS[there].mean())
    assert [row["hours"] for row in release.query("SELECT hours, count(*) FROM release GROUP BY hours").rows] == [
        *LABELS,
        None,
    ]


def test_joined_with_others_it_answers_at_edges_alone() -> None:
    release = released(joint=[{"columns": ["hours", "town"]}])
    both = one(release, "count(*) AS n FROM release WHERE hours >= 60 AND town = 'b'")
    assert covers(both, ((HOURS >= 60) & (TOWN == "b")).sum())
    for sql in ("count(*) AS n FROM release WHERE hours < 50", "avg(hours) AS a FROM release"):
        with pytest.raises(InputError, match="at the edges of the bins: ask for such counts"):
            one(release, sql)


def test_the_release_is_verified_by_both_programs(tmp_path: Path) -> None:
    plan = {"privacy": {"epsilon": 4}, "columns": {"hours": NUMBER, "town": TOWNS}}
    dp.sanitise(pa.table({"hours": HOURS, "town": TOWN}), plan, tmp_path / "out")
    dp.verify(tmp_path / "out")
    loaded = dp.load(tmp_path / "out")
    assert covers(one(loaded, "count(*) AS n FROM release", level=0.999), ROWS)
    program = [sys.executable, verify_certificate.__file__, str(tmp_path / "out" / "certificate.json")]
    assert subprocess.run(program, capture_output=True, check=False).returncode == 0


def test_noise_for_numbers_is_none_for_bins() -> None:
    with pytest.raises(InputError, match="column 'hours': the mechanism 'laplace' is not known"):
        released(number=NUMBER | {"mechanism": "laplace"})

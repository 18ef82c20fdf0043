"""Whether tables are released depends on the plan and on nothing in the data that the plan allows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof import InputError
from dproof.central.recipe import TableLaw
from dproof.coins import Coins
from dproof.testing import seeded_coins

COLUMNS: dict[str, Any] = {
    "a": {"space": "categories", "values": ["x", "y"], "outside": "category", "missing": "category"},
    "b": {"space": "categories", "values": ["x", "y"], "missing": "x"},
    "n": {"space": "interval", "low": -5, "high": "1e9", "step": 1, "bins": [-5, 0, "1e9"], "missing": "category"},
    "s": {"space": "subsets", "values": ["u", "v"], "separator": ";", "missing": "category"},
}
ROWS: list[dict[str, Any]] = [
    {"a": "x", "b": "x", "n": 10**9, "s": "u;v"},
    {"a": "nobody declared this", "b": "y", "n": -(10**12), "s": ""},
    {"a": None, "b": None, "n": None, "s": None},
    {"a": "", "b": "x", "n": 0.25, "s": "u"},
]
TABLES = {
    "nobody": [],
    "one person": ROWS[:1],
    "all missing": ROWS[2:3] * 50,
    "all at an end": ROWS[:1] * 700,
    "all outside": ROWS[1:2] * 700,
    "mixed": ROWS * 200,
}


def plan(delta: str, neighbours: str, **release: Any) -> dict[str, Any]:
    privacy = {"model": "central", "epsilon": 1, "delta": delta, "neighbours": neighbours}
    return {"privacy": privacy, "columns": COLUMNS, "release": release}


def table(rows: list[dict[str, Any]]) -> Any:
    kinds = [("a", pa.string()), ("b", pa.string()), ("n", pa.float64()), ("s", pa.string())]
    return pa.Table.from_pylist(rows, schema=pa.schema(kinds))


@pytest.mark.parametrize("rows", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
@pytest.mark.parametrize("delta", ["1e-6", "0"])
def test_no_data_that_the_plan_allows_are_refused(delta: str, neighbours: str, rows: Any, tmp_path: Path) -> None:
    described = plan(delta, neighbours, tables=2, sums=True, objective="largest")
    made = dp.sanitise(table(rows), described, tmp_path / "out")
    assert dp.verify(tmp_path / "out") is not None
    answer = made.query("SELECT a, b, count(*) AS n FROM release GROUP BY a, b")
    assert len(answer.rows) == 8  # every group that the plan knows, whatever there is


@pytest.mark.parametrize("epsilon", ["1/50", "1"])
def test_noise_of_any_size_gives_a_release_with_rows(epsilon: str) -> None:
    """The noisy number of rows may be negative, or far from the true one."""
    described = plan("1e-9", "add-remove", rows=True, tables=1)
    described["privacy"]["epsilon"] = epsilon
    totals = []
    for seed in range(8):
        with seeded_coins(seed):
            release = dp.sanitise(table(ROWS[:1]), described)
        totals.append(release.certificate["release"]["made_up_rows"])
        assert release.to_arrow().num_rows == totals[-1]
    assert 0 in totals and max(totals) > 0


def test_made_up_rows_of_a_number_that_is_not_told_are_refused_with_the_plan() -> None:
    described = plan("0", "add-remove", rows=True)
    described["privacy"]["epsilon"] = "1e-7"
    with pytest.raises(InputError, match="synthetic rows need to know about how many rows there are"):
        dp.sanitise("no such file.csv", described)


def test_the_noise_is_drawn_after_the_last_row_was_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value that the plan refuses stops the work with one sentence, before a coin is drawn from for the release."""
    columns = {"a": {"space": "categories", "values": ["x", "y"]}}
    described = {"privacy": {"model": "central", "epsilon": 1, "delta": "1e-6"}, "columns": columns}
    drawn = []
    real = TableLaw.measure

    def spied(self: Any, tables: Any, coins: Coins) -> Any:
        drawn.append({one: int(counted.sum()) for one, counted in tables.items()})
        return real(self, tables, coins)

    monkeypatch.setattr(TableLaw, "measure", spied)
    for place in (0, 500, 999):
        values = ["x"] * 1000
        values[place] = "secret"
        with pytest.raises(InputError) as refused:
            dp.sanitise(pa.table({"a": values}), described)
        assert "secret" not in str(refused.value) and str(place) not in str(refused.value)
    # The release of nobody is rehearsed each time; no table of the rows was measured.
    assert all(not any(counted.values()) for counted in drawn)

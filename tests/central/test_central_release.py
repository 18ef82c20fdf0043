"""From a plan of the central model to a folder and back: counted exactly, drawn once, opened, asked, verified."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import dproof as dp
from dproof import InputError, Ledger, OverBudget, Plan, ReleasePayment, VerificationFailed
from dproof.central import recipe
from dproof.central.estimates import residual_of
from dproof.central.release import count_tables
from dproof.central.workload import Residual
from dproof.certification.verify_certificate import seal
from dproof.coins import Coins
from dproof.tables import open_source
from dproof.testing import seeded_coins
from tests.makers import exact_tables, table_law

pytestmark = pytest.mark.usefixtures("gaussian")

ROWS = 500


def table() -> Any:
    generator = np.random.default_rng(0)
    age = generator.integers(17, 91, ROWS)
    sex = np.where(age + generator.integers(0, 30, ROWS) > 60, "f", "m")
    town = generator.choice(["Bonn", "Köln", "elsewhere"], ROWS)
    return pa.table({"age": age, "sex": sex, "town": town, "name": [f"p{n}" for n in range(ROWS)]})


def plan(neighbours: str = "add-remove", **privacy: Any) -> dict[str, Any]:
    return {
        "privacy": {"model": "central", "epsilon": 1, "delta": "1e-6", "neighbours": neighbours, **privacy},
        "columns": {
            "age": {"space": "interval", "low": 17, "high": 90, "step": 1, "bins": [17, 25, 45, 90]},
            "sex": {"space": "categories", "values": ["f", "m"]},
            "town": {"space": "categories", "values": ["Bonn", "Köln"], "outside": "category"},
            "name": {"drop": True},
        },
    }


def no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    class Still:
        square = 100

        def draw(self, count: int, coins: Coins) -> Any:
            return np.zeros(count, np.int64)

    monkeypatch.setattr(recipe, "noise_law", lambda square: Still())


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
def test_a_release_is_written_opened_asked_and_verified(neighbours: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    made = dp.sanitise(table(), plan(neighbours), out)
    assert sorted(file.name for file in out.iterdir()) == [
        *("certificate.json", "plan.toml", "report.html", "tables.parquet")
    ]
    again, sql = dp.load(out), "SELECT sex, count(*) AS n FROM release WHERE age < 45 GROUP BY sex"
    assert again.query(sql).rows == made.query(sql).rows
    assert again.rows == (ROWS if neighbours == "change-one" else None)
    checked = dp.verify(out)
    assert checked is not None and checked.unchecked == ("report.html",) and checked.private
    assert "hidden" in (out / "report.html").read_text() or neighbours == "change-one"


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
def test_without_noise_answers_are_the_truth(neighbours: str, monkeypatch: pytest.MonkeyPatch) -> None:
    no_noise(monkeypatch)
    private = table()
    release = dp.sanitise(private, plan(neighbours))
    ages, towns = private["age"].to_numpy(), np.array(private["town"].to_pylist())
    rows = release.query("SELECT age, count(*) AS n FROM release WHERE town = '(other)' GROUP BY age").rows
    expected = np.histogram(ages[towns == "elsewhere"], [17, 25, 45, 91])[0]
    assert [row["age"] for row in rows] == ["[17, 25)", "[25, 45)", "[45, 90]"]
    assert np.allclose([row["n"].estimate for row in rows], expected)
    share = release.query("SELECT 100 * proportion(age >= 25) AS p FROM release WHERE town <> 'Bonn'").rows[0]["p"]
    assert share.estimate == pytest.approx(100 * (ages[towns != "Bonn"] >= 25).mean())


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
def test_a_missing_number_adds_nothing_to_a_sum(neighbours: str, monkeypatch: pytest.MonkeyPatch) -> None:
    no_noise(monkeypatch)
    ages: list[int | None] = [None if n % 7 == 0 else n % 91 for n in range(ROWS)]
    sex = ["f" if n % 3 else "m" for n in range(ROWS)]
    columns = {
        "age": {"space": "interval", "low": 0, "high": 90, "step": 1, "missing": "category"},
        "sex": {"space": "categories", "values": ["f", "m"]},
    }
    described = {**plan(neighbours), "columns": columns, "release": {"sums": True}}
    release = dp.sanitise(pa.table({"age": ages, "sex": sex}), described)
    women = [age for age, who in zip(ages, sex, strict=True) if who == "f" and age is not None]
    asked = release.query("SELECT avg(age) AS m, sum(age) AS s, count(age) AS n FROM release WHERE sex = 'f'").rows[0]
    assert asked["m"].estimate == pytest.approx(np.mean(women)) and asked["s"].estimate == pytest.approx(sum(women))
    assert asked["n"].estimate == pytest.approx(len(women))


def test_under_change_one_the_number_of_rows_is_exact() -> None:
    cell = dp.sanitise(table(), plan("change-one")).query("SELECT count(*) AS n FROM release").rows[0]["n"]
    assert (cell.estimate, cell.low, cell.high, cell.stderr) == (ROWS, ROWS, ROWS, 0.0)
    hidden = dp.sanitise(table(), plan()).query("SELECT count(*) AS n FROM release").rows[0]["n"]
    assert hidden.stderr > 1


def test_a_release_in_memory_can_be_saved(tmp_path: Path) -> None:
    release = dp.sanitise(table(), plan())
    saved = release.save(tmp_path / "out")
    sql = "SELECT town, count(*) AS n FROM release GROUP BY town"
    assert dp.load(tmp_path / "out").query(sql).rows == saved.query(sql).rows == release.query(sql).rows
    assert dp.verify(tmp_path / "out") is not None
    assert "release of 6 tables in memory" in repr(release)


def test_what_is_stored_is_whole_numbers_in_an_order_that_the_plan_gives(tmp_path: Path) -> None:
    with seeded_coins(1):
        dp.sanitise(table(), plan(), tmp_path / "out")
    stored = pa.parquet.read_table(tmp_path / "out" / "tables.parquet")
    assert stored.schema.types == [pa.string(), pa.int64(), pa.int64()]
    law = table_law(plan())
    _, counts = exact_tables(table(), law)
    with seeded_coins(1) as coins:
        expected = law.measure(counts, coins)
    assert stored["measured"].to_pylist() == expected.tolist()
    exact = np.concatenate([residual_of(counts[one]).ravel() for one in law.noise])
    assert (expected != exact).mean() > 0.9


def test_a_release_of_seeded_coins_cannot_be_called_private(tmp_path: Path) -> None:
    with seeded_coins(1):
        dp.sanitise(table(), plan(), tmp_path / "out")
    file = tmp_path / "out" / "certificate.json"
    certificate = json.loads(file.read_text())
    assert certificate.pop("private") is False and dp.verify(tmp_path / "out") is not None
    certificate = {**certificate, "private": True}
    certificate["seal"] = seal({key: value for key, value in certificate.items() if key != "seal"})
    file.write_text(json.dumps(certificate))
    with pytest.raises(VerificationFailed, match="seeded coins"):
        dp.verify(tmp_path / "out")


@pytest.mark.parametrize("form", ["csv", "parquet", "pandas", "polars", "duckdb"])
def test_every_engine_counts_the_same(form: str, tmp_path: Path) -> None:
    private = table()
    law = table_law(plan())
    rows, expected = exact_tables(private, law)
    source: Any = tmp_path / f"people.{form}"
    if form == "csv":
        pa.csv.write_csv(private, source)
    elif form == "parquet":
        pa.parquet.write_table(private, source, row_group_size=50)
    elif form == "duckdb":
        import duckdb

        source = duckdb.from_arrow(private)
    else:
        source = private.to_pandas() if form == "pandas" else pytest.importorskip("polars").from_arrow(private)
    found_rows, found = exact_tables(source, law)
    assert found_rows == rows == ROWS
    assert {t: c.tolist() for t, c in found.items()} == {t: c.tolist() for t, c in expected.items()}


def test_no_person_counts_with_more_rows_than_the_plan_says() -> None:
    repeated = pa.table({"sex": ["f"] * 40 + ["m"] * 5, "who": ["ann"] * 40 + list("abcde")})
    privacy = {"model": "central", "epsilon": 1, "delta": "1e-6", "neighbours": "add-remove", "rows_per_person": 2}
    columns = {"sex": {"space": "categories", "values": ["f", "m"]}, "who": {"drop": True}}
    law = table_law({"privacy": {**privacy, "person": "who"}, "columns": columns})
    rows, counts = exact_tables(repeated, law)
    assert (rows, counts[Residual((0,))].tolist(), int(counts[Residual(())])) == (7, [2, 5], 7)


def test_a_value_that_the_plan_refuses_stops_the_work_before_anything_is_written(tmp_path: Path) -> None:
    odd = table().set_column(1, "sex", pa.array(["x"] * ROWS))
    with pytest.raises(InputError, match="column 'sex' has a value outside its declared space") as refused:
        dp.sanitise(odd, plan(), tmp_path / "out")
    assert "'x'" not in str(refused.value) and list(tmp_path.iterdir()) == []


def test_it_can_be_paid_from_a_ledger_and_costs_the_promise(tmp_path: Path) -> None:
    ledger = tmp_path / "budget.db"
    dp.sanitise(table(), plan(), tmp_path / "one", payment=ReleasePayment(ledger, tmp_path / "one"))
    spent = Ledger(ledger).spent()
    assert (spent.epsilon, spent.delta) == (1, Plan.from_dict(plan()).privacy.delta)
    with pytest.raises(OverBudget):
        dp.sanitise(table(), plan(), tmp_path / "two", payment=ReleasePayment(ledger, tmp_path / "two"))
    assert not (tmp_path / "two").exists()


def test_a_plan_that_must_be_refused_is_refused_before_data_is_opened_or_paid_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="needs epsilon above 0"):
        dp.sanitise(tmp_path / "no-such.csv", plan(epsilon=0, delta=0), tmp_path / "out")
    with pytest.raises(InputError, match="give the name of a folder on a disk"):
        dp.sanitise(tmp_path / "no-such.csv", plan(), "s3a://bucket/out")


def test_there_are_no_rows_to_look_at() -> None:
    release = dp.sanitise(table(), plan())
    for look in (release.to_arrow, release.to_pandas, release.to_polars, lambda: release.raw("SELECT 1")):
        with pytest.raises(InputError, match="has no synthetic rows"):
            look()


def test_the_table_of_nobody_has_a_release() -> None:
    release = dp.sanitise(table().slice(0, 0), plan("change-one"))
    cell = release.query("SELECT count(*) AS n FROM release WHERE sex = 'f'").rows[0]["n"]
    assert release.rows == 0 and cell.low == cell.high == 0


def test_parts_on_many_machines_add_up_and_refuse_with_the_same_sentence() -> None:
    private, law = table(), table_law(plan())

    def spread(columns: Any, work: Any, *, deal: bool = False, bound: Any = None) -> list[bytes]:
        parts = [private.slice(start, 170).select(list(columns)) for start in range(0, ROWS, 170)]
        return [work(iter(part.to_batches())) for part in parts]

    there = replace(open_source(private), spread=spread)
    rows, counts = count_tables(there, law, lambda rows, total: pytest.fail("no bar on another machine"))
    expected = exact_tables(private, law)
    assert rows == expected[0] and {one: c.tolist() for one, c in counts.items()} == {
        one: c.tolist() for one, c in expected[1].items()
    }
    private = private.set_column(1, "sex", pa.array(["x"] * ROWS))
    with pytest.raises(InputError, match="column 'sex' has a value outside its declared space"):
        count_tables(there, law)

"""Made-up rows of a release of tables: marked, of the plan's values, near the tables, and checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import dproof as dp
from dproof import VerificationFailed
from dproof.central.rows import MADE_UP, SEEDED_ROWS
from dproof.certification.verify_certificate import seal
from dproof.storage import PARQUET, digest
from dproof.testing import seeded_coins

ROWS = 1500


def table() -> Any:
    generator = np.random.default_rng(2)
    age = generator.integers(0, 90, ROWS)
    sex = np.where(age > 45, "f", "m")
    day = np.datetime64("2024-01-01") + generator.integers(0, 300, ROWS).astype("timedelta64[D]")
    return pa.table({"age": pa.array(age.tolist()), "sex": sex, "day": pa.array(day)})


def plan(neighbours: str = "change-one", **release: Any) -> dict[str, Any]:
    return {
        "privacy": {"model": "central", "epsilon": 4, "delta": "1e-6", "neighbours": neighbours},
        "release": {"rows": True, **release},
        "columns": {
            "age": {"space": "interval", "low": 0, "high": 90, "step": 1, "missing": "category"},
            "sex": {"space": "categories", "values": ["f", "m"]},
            "day": {"space": "date", "low": "2024-01-01", "high": "2024-12-31"},
        },
    }


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("rows") / "out"
    dp.sanitise(table(), plan(), out)
    return out


def test_rows_are_stored_marked_and_of_the_plans_values(stored: Path) -> None:
    release = dp.load(stored)
    rows = release.to_arrow()
    assert rows.schema.metadata == MADE_UP and rows.num_rows == ROWS
    assert [str(field.type) for field in rows.schema][::2] == ["int64", "date32[day]"]
    ages = rows["age"].drop_null().to_numpy()
    assert ages.min() >= 0 and ages.max() <= 90 and set(rows["sex"].unique().to_pylist()) == {"f", "m"}
    certificate = json.loads((stored / "certificate.json").read_text())
    assert certificate["release"]["made_up_rows"] == ROWS and "rows.parquet" in certificate["release"]["files"]
    assert dp.verify(stored) is not None
    assert "made up" in (stored / "report.html").read_text()


def test_dependence_between_columns_is_kept(stored: Path) -> None:
    frame = dp.load(stored).to_pandas()
    old = frame["age"] >= 60
    assert (frame["sex"][old] == "f").mean() > 0.9 and (frame["sex"][frame["age"] < 40] == "f").mean() < 0.1


def test_sql_on_made_up_rows_says_what_they_are(stored: Path) -> None:
    answer = dp.load(stored).raw("SELECT count(*) AS n FROM release")
    assert answer.rows == [{"n": ROWS}] and answer.method == "synthetic rows" and "synthetic rows" in answer.notes[0]


def test_under_add_remove_their_number_is_the_estimated_one() -> None:
    release = dp.sanitise(table(), plan("add-remove"))
    estimate = release.query("SELECT count(*) AS n FROM release").rows[0]["n"].estimate
    assert release.rows is None and release.to_arrow().num_rows == round(estimate)
    assert release.to_polars().shape[1] == 3


def test_seeded_rows_are_marked(tmp_path: Path) -> None:
    with seeded_coins(3):
        release = dp.sanitise(table(), plan(), tmp_path / "out")
    assert release.to_arrow().schema.metadata == SEEDED_ROWS


def test_a_release_in_memory_is_saved_with_its_rows(tmp_path: Path) -> None:
    release = dp.sanitise(table(), plan())
    saved = release.save(tmp_path / "out")
    assert saved.to_arrow().equals(release.to_arrow()) and dp.verify(tmp_path / "out") is not None


@pytest.mark.parametrize("change", ["mark", "value", "number", "column"])
def test_rows_that_cannot_have_been_made_up_are_refused(change: str, stored: Path, tmp_path: Path) -> None:
    import shutil

    out = tmp_path / "forged"
    shutil.copytree(stored, out)
    rows = pa.parquet.read_table(out / "rows.parquet")
    if change == "mark":
        rows = rows.replace_schema_metadata({b"dproof": b"true rows"})
    elif change == "value":
        rows = rows.set_column(0, "age", pa.array([91] * ROWS, pa.int64()))
    elif change == "number":
        rows = rows.slice(1)
    else:
        rows = rows.rename_columns(["age", "sex", "date"])
    pa.parquet.write_table(rows, out / "rows.parquet", **PARQUET)
    certificate = json.loads((out / "certificate.json").read_text())
    certificate["release"]["files"]["rows.parquet"] = digest(out / "rows.parquet")
    certificate["seal"] = seal({key: value for key, value in certificate.items() if key != "seal"})
    (out / "certificate.json").write_text(json.dumps(certificate))
    with pytest.raises(VerificationFailed):
        dp.verify(out)

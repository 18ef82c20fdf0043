"""The plans in examples/ on the tables they are for; a table that is not at hand skips its test."""

from __future__ import annotations

from pathlib import Path

import pandas
import pytest

import dproof as dp

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
TABLES = {
    "adult": "adult.csv",
    "gss_wages": "gss_wages.csv",
    "thanksgiving": "thanksgiving_2015_sets.csv",
    "star_wars": "star_wars_survey_sets.csv",
}


@pytest.mark.parametrize("name", TABLES)
def test_every_plan_is_certified_without_its_table(name: str) -> None:
    plan = dp.Plan.read(ROOT / "examples" / f"{name}.toml")
    assert plan.privacy.neighbours == "change-one"


@pytest.mark.parametrize("name", TABLES)
def test_a_real_table_is_sanitised_and_verified(name: str, tmp_path: Path) -> None:
    table = DATA / TABLES[name]
    if not table.exists():
        pytest.skip(f"{TABLES[name]} is not at hand")
    release = dp.sanitise(table, ROOT / "examples" / f"{name}.toml", tmp_path / "out")
    assert dp.verify(tmp_path / "out") is not None
    source = pandas.read_csv(table, dtype=str, keep_default_na=False)
    assert release.rows == len(source)
    stored = release.to_pandas()
    assert list(stored.columns) == [n for c in release.plan.columns if c.kind != "drop" for n in c.stored]
    for column in release.plan.columns:
        if column.kind == "categories":
            assert set(stored[column.name].dropna().tolist()) <= set(column.space.values)
            kept = stored[column.name].isna().any()
            assert not kept or None in column.space.values
        if column.kind == "subsets":
            items = {item for cell in stored[column.name] for item in cell.split(";") if item}
            assert items <= set(column.space.values)


def test_where_nothing_is_hidden_everything_is_read(tmp_path: Path) -> None:
    """With an enormous epsilon the release is the table: values, blanks, sets and numbers are all understood."""
    table = DATA / TABLES["star_wars"]
    if not table.exists():
        pytest.skip("star_wars_survey_sets.csv is not at hand")
    text = (ROOT / "examples" / "star_wars.toml").read_text("utf-8")
    plan = dp.Plan.parse(
        text.replace('epsilon = "7"', 'epsilon = "900"').replace("[privacy]", 'order = "keep"\n[privacy]')
    )
    stored = dp.sanitise(table, plan).to_pandas()
    source = pandas.read_csv(table)
    assert stored["films_seen"].tolist() == source["films_seen"].fillna("").tolist()
    assert stored["rank_V"].fillna(0).tolist() == source["rank_V"].fillna(0).tolist()
    assert stored["gender"].astype(object).fillna("").tolist() == source["gender"].fillna("").tolist()

"""`missing = "category"` for numbers, dates and sets: from the plan to a release, its files, checks and answers."""

from __future__ import annotations

import datetime
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import dproof as dp
from dproof import Plan
from dproof.certification.verify_certificate import main
from dproof.local.draw import stored_schema
from dproof.plans.plan import schema_of
from dproof.storage import CERTIFICATE, DATA, PARQUET
from dproof.testing import seeded_coins
from tests.forging import forge
from tests.makers import row_law

N = 900
DICE = np.random.default_rng(4)
WAGE = [None if DICE.random() < 0.3 else int(DICE.integers(0, 1001)) for _ in range(N)]
KIDS = [None if DICE.random() < 0.2 else int(DICE.integers(0, 6)) for _ in range(N)]
DAY = [None if DICE.random() < 0.4 else datetime.date(2024, 1, 1 + int(DICE.integers(0, 31))) for _ in range(N)]
LIKES = [None if DICE.random() < 0.25 else [x for x in ("tea", "milk") if DICE.random() < 0.4] for _ in range(N)]
TABLE = pa.table({"wage": WAGE, "kids": KIDS, "day": DAY, "likes": pa.array(LIKES, pa.list_(pa.string()))})
COLUMNS: dict[str, dict[str, Any]] = {
    "wage": {"space": "interval", "low": 0, "high": 1000, "step": 1, "missing": "category"},
    "kids": {"space": "interval", "low": 0, "high": 5, "step": 1, "missing": "category"},
    "day": {"space": "date", "low": "2024-01-01", "high": "2024-01-31", "missing": "category"},
    "likes": {"space": "subsets", "values": ["tea", "milk"], "missing": "category"},
}
PRECISE = 400  # ε with which a release is as good as the table


def plan_of(*names: str, epsilon: Any = PRECISE, **keys: Any) -> dict[str, Any]:
    return {"privacy": {"epsilon": epsilon}, "columns": {name: {**COLUMNS[name], **keys} for name in names}}


def release_of(*names: str, seed: int = 1, **keys: Any) -> dp.Release:
    with seeded_coins(seed):
        return dp.sanitise(TABLE.select(names), plan_of(*names, **keys))


def asked(release: dp.Release, sql: str) -> list[dict[str, Any]]:
    rows = release.query(sql).rows
    return [{k: getattr(v, "estimate", v) for k, v in row.items()} for row in rows]


def there(values: list[Any]) -> list[Any]:
    return [value for value in values if value is not None]


# With an epsilon that hides nothing the answers are those of the table ---------------------------------------------

MECHANISMS = ["auto", "laplace", "clamped_laplace", "randomised_response"]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_counts_means_and_groups_are_of_the_values_that_are_there(mechanism: str) -> None:
    release = release_of("wage", "kids", mechanism=mechanism, epsilon=1000)
    (row,) = asked(release, "SELECT count(*) AS n, count(wage) AS c, avg(wage) AS a, sum(kids) AS s FROM release")
    wages, kids = there(WAGE), there(KIDS)
    assert row["n"] == N
    assert row["c"] == pytest.approx(len(wages), abs=0.5)
    assert row["a"] == pytest.approx(np.mean(wages), abs=1)
    assert row["s"] == pytest.approx(sum(kids), abs=2)
    (row,) = asked(release, "SELECT count(*) AS n FROM release WHERE wage IS NULL AND kids IS NOT NULL")
    assert row["n"] == pytest.approx(sum(w is None and k is not None for w, k in zip(WAGE, KIDS, strict=True)), abs=1)
    groups = asked(release, "SELECT kids, count(*) AS n FROM release GROUP BY kids")
    assert [row["kids"] for row in groups] == [0, 1, 2, 3, 4, 5, None]
    assert [row["n"] for row in groups] == pytest.approx([KIDS.count(row["kids"]) for row in groups], abs=2)


def test_a_missing_value_satisfies_neither_a_condition_nor_its_negation() -> None:
    release = release_of("wage", mechanism="laplace", epsilon=1000)
    for sql, true in [
        ("wage < 400", sum(w < 400 for w in there(WAGE))),
        ("NOT wage < 400", sum(w >= 400 for w in there(WAGE))),
        ("wage < 400 OR wage IS NULL", sum(w is None or w < 400 for w in WAGE)),
        ("wage BETWEEN 100 AND 300", sum(100 <= w <= 300 for w in there(WAGE))),
    ]:
        (row,) = asked(release, f"SELECT count(*) AS n FROM release WHERE {sql}")
        assert row["n"] == pytest.approx(true, abs=12), sql
    bins = asked(release, "SELECT BIN(wage, 250) AS b, count(*) AS n FROM release GROUP BY BIN(wage, 250)")
    assert [row["b"] for row in bins] == [0, 250, 500, 750, 1000, None]
    assert bins[-1]["n"] == pytest.approx(WAGE.count(None), abs=2)
    (row,) = asked(release, "SELECT median(wage) AS m, max(wage) AS top FROM release")
    assert row["m"] == pytest.approx(np.median(there(WAGE)), abs=20)


def test_two_columns_are_undone_together() -> None:
    release = release_of("wage", "kids", mechanism="laplace", epsilon=1000)
    both = [(w, k) for w, k in zip(WAGE, KIDS, strict=True) if w is not None and k is not None]
    (row,) = asked(release, "SELECT corr(wage, kids) AS c, covar_pop(wage, kids) AS v FROM release")
    assert row["c"] == pytest.approx(np.corrcoef(np.array(both).T)[0, 1], abs=0.01)


def test_dates_stay_dates() -> None:
    release = release_of("day")
    (row,) = asked(release, "SELECT count(day) AS c, avg(day) AS a, min(day) AS first FROM release")
    assert row["c"] == pytest.approx(len(there(DAY)), abs=1)
    true = datetime.date.fromordinal(round(np.mean([day.toordinal() for day in there(DAY)])))
    assert abs((row["a"] - true).days) <= 1 and row["first"] == min(there(DAY))
    assert release.data.schema.field("day").type == pa.date32() and release.data["day"].null_count


@pytest.mark.parametrize("mechanism", ["auto", "itemwise_response", "randomised_response"])
@pytest.mark.parametrize("form", ["list", "joined", "flags"])
def test_of_a_set_missing_is_one_more_item(mechanism: str, form: str) -> None:
    columns = {**COLUMNS["likes"], "mechanism": mechanism}
    if form == "list":
        table = TABLE.select(["likes"])
    elif form == "joined":
        columns["separator"] = ";"
        table = pa.table({"likes": [None if x is None else ";".join(x) for x in LIKES]})
    else:
        columns["columns"] = ["Tea?", "Milk?"]
        flags = {"Tea?": "tea", "Milk?": "milk"}
        table = pa.table(
            {name: [None if x is None else "yes" if item in x else "no" for x in LIKES] for name, item in flags.items()}
        )
    with seeded_coins(2):
        release = dp.sanitise(table, {"privacy": {"epsilon": 120}, "columns": {"likes": columns}})
    stored = release.data.to_pylist()
    if form == "flags":
        assert list(stored[0]) == ["Tea?", "Milk?", "likes (missing)"]
        assert sum(row["likes (missing)"] for row in stored) == LIKES.count(None)
    else:
        shown = [row["likes"] for row in stored]
        assert shown.count("(missing)" if form == "joined" else ["(missing)"]) == LIKES.count(None)
    for sql, true in [
        ("likes IS NULL", LIKES.count(None)),
        ("likes IS NOT NULL", len(there(LIKES))),
        ("list_contains(likes, 'tea')", sum("tea" in x for x in there(LIKES))),
        ("NOT list_contains(likes, 'tea')", sum("tea" not in x for x in there(LIKES))),
    ]:
        (row,) = asked(release, f"SELECT count(*) AS n FROM release WHERE {sql}")
        assert row["n"] == pytest.approx(true, abs=1), sql
    groups = {
        row["likes"]: row["n"] for row in asked(release, "SELECT likes, count(*) AS n FROM release GROUP BY likes")
    }
    assert groups.keys() == {None, frozenset(), frozenset({"tea"}), frozenset({"milk"}), frozenset({"tea", "milk"})}
    assert groups[None] == pytest.approx(LIKES.count(None), abs=1)
    (row,) = asked(release, "SELECT top(likes, 2) AS t FROM release")
    assert set(row["t"]) == {"tea", "milk"}


def test_in_a_joint_a_missing_value_is_one_more_value() -> None:
    plan = plan_of("kids", epsilon=60)
    plan["columns"]["sex"] = {"space": "categories", "values": ["f", "m"]}
    plan["joint"] = [{"columns": ["kids", "sex"]}]
    sex = ["f" if n % 3 else "m" for n in range(N)]
    with seeded_coins(3):
        release = dp.sanitise(pa.table({"kids": KIDS, "sex": sex}), plan)
    rows = asked(release, "SELECT sex, count(kids) AS c, avg(kids) AS a FROM release GROUP BY sex")
    for row in rows:
        own = [k for k, s in zip(KIDS, sex, strict=True) if s == row["sex"] and k is not None]
        assert row["c"] == pytest.approx(len(own), abs=1) and row["a"] == pytest.approx(np.mean(own), abs=0.01)


# What is public follows from the plan alone -------------------------------------------------------------------------


@pytest.mark.parametrize("name", COLUMNS)
def test_the_stored_schema_and_the_type_of_codes_are_the_same_whatever_is_missing(name: str) -> None:
    plan = Plan.of(plan_of(name))
    schema = stored_schema(row_law(plan))
    full, empty = (TABLE.filter(mask) for mask in (TABLE[name].is_valid(), TABLE[name].is_null()))
    kinds = set()
    for table in (full, empty, TABLE):
        with seeded_coins(1):
            assert dp.sanitise(table.select([name]), plan).data.schema.equals(schema, check_metadata=False)
        kinds.add(plan.column(name).encoder()([table[name].combine_chunks()]).dtype)
    assert len(kinds) == 1


def test_a_type_of_codes_that_just_holds_the_values_is_widened() -> None:
    """256 values fit a byte and a missing one beside them does not: the type must not tell that none is missing."""
    column = {"space": "interval", "low": 0, "high": 255, "step": 1, "missing": "category"}
    plan = {"privacy": {"epsilon": 1}, "columns": {"x": {**column, "mechanism": "randomised_response"}}}
    with seeded_coins(5):
        data = dp.sanitise(pa.table({"x": [7] * 4000}), plan).data["x"]
    assert data.null_count > 0 and len(data.unique()) > 200


def test_a_text_that_is_no_number_is_a_missing_one_and_a_text_that_says_missing_is_no_item() -> None:
    plan = Plan.of(plan_of("wage"))
    codes = plan.column("wage").encoder()([pa.array(["7", "", "n/a", None, "2000"])])
    assert codes.tolist() == [7, 1001, 1001, 1001, 1000]
    sets = Plan.of({"privacy": {"epsilon": 1}, "columns": {"likes": {**COLUMNS["likes"], "separator": ";"}}})
    with pytest.raises(dp.InputError, match="outside its declared space"):
        sets.column("likes").encoder()([pa.array(["(missing)"])])


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ({**COLUMNS["wage"], "missing": "categories"}, 'must be a value of the space, "refuse" or "category"'),
        ({**COLUMNS["likes"], "missing": "categories"}, '"category" or a list of values'),
        ({**COLUMNS["likes"], "values": ["tea", "(missing)"]}, "as an item"),
        ({**COLUMNS["likes"], "separator": "ss"}, "as an item"),
        ({"space": "curves", "low": 0, "high": 5, "points": 9, "missing": "mean"}, '"centre" or "category"'),
    ],
)
def test_a_mistake_in_the_plan_is_told_with_its_key(column: dict[str, Any], said: str) -> None:
    with pytest.raises(dp.InputError, match=r"columns\.x\.missing") as refused:
        Plan.from_dict({"privacy": {"epsilon": 1}, "columns": {"x": column}})
    assert said in str(refused.value)


def test_a_column_of_the_name_that_missing_flags_get_is_refused() -> None:
    likes = {**COLUMNS["likes"], "columns": ["Tea?", "Milk?"]}
    plan = {"privacy": {"epsilon": 1}, "columns": {"likes": likes, "likes (missing)": {"public": True}}}
    with pytest.raises(dp.InputError, match="stored under the name of another column"):
        Plan.from_dict(plan)


def test_a_mechanism_that_cannot_is_refused_before_the_data_is_opened() -> None:
    with pytest.raises(dp.InputError, match="column 'wage': with this mechanism"):
        row_law(plan_of("wage", mechanism="staircase", epsilon=1))


# A stored release ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("missing") / "out"
    dp.sanitise(TABLE, plan_of(*COLUMNS, epsilon=4), out)
    return out


def test_both_verifiers_accept_it(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    release = dp.verify(stored)
    assert release is not None and release.rows == N
    assert main([str(stored / CERTIFICATE)]) == 0, capsys.readouterr().out
    kinds = [part["law"]["kind"] for part in json.loads((stored / CERTIFICATE).read_text())["laws"]]
    assert kinds == ["optional", "matrix", "matrix", "keep-or-other"]


def test_it_is_opened_as_it_was_written(stored: Path) -> None:
    opened = dp.load(stored)
    for part, again in zip(json.loads((stored / CERTIFICATE).read_text())["laws"], opened.law.groups, strict=True):
        assert json.loads(json.dumps(again.mechanism.family.to_json())) == part["law"]
    cell = opened.query("SELECT avg(wage) AS a FROM release").rows[0]["a"]
    assert cell.low < np.mean(there(WAGE)) < cell.high


def forged(stored: Path, folder: Path, name: str, values: Any) -> Path:
    """The release with other values in one column, its hash and its seal put right."""
    shutil.copytree(stored, folder)
    table = pa.parquet.read_table(folder / DATA)
    place, field = table.schema.get_field_index(name), table.schema.field(name)
    pa.parquet.write_table(table.set_column(place, field, pa.array(values, field.type)), folder / DATA, **PARQUET)
    forge(folder)
    return folder


def test_what_no_law_gives_is_refused(stored: Path, tmp_path: Path) -> None:
    table = pa.parquet.read_table(stored / DATA)
    kids, likes = table["kids"].to_pylist(), table["likes"].to_pylist()
    dp.verify(forged(stored, tmp_path / "null", "kids", [None, *kids[1:]]))
    with pytest.raises(dp.VerificationFailed):
        dp.verify(forged(stored, tmp_path / "far", "kids", [99, *kids[1:]]))
    with pytest.raises(dp.VerificationFailed):
        dp.verify(forged(stored, tmp_path / "set", "likes", [None, *likes[1:]]))
    dp.verify(forged(stored, tmp_path / "item", "likes", [["tea", "(missing)"], *likes[1:]]))


def test_a_null_where_the_plan_keeps_none_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "plain"
    dp.sanitise(pa.table({"wage": there(WAGE)}), plan_of("wage", epsilon=4, missing="refuse"), out)
    wages = pa.parquet.read_table(out / DATA)["wage"].to_pylist()
    with pytest.raises(dp.VerificationFailed):
        dp.verify(forged(out, tmp_path / "null", "wage", [None, *wages[1:]]))


def test_a_law_of_another_shape_than_the_plan_is_refused(stored: Path, tmp_path: Path) -> None:
    """A plan that keeps nothing missing, with one point more, has as many values; its law is another."""
    folder = forged(stored, tmp_path / "other", "kids", pa.parquet.read_table(stored / DATA)["kids"].to_pylist())
    plan = (folder / "plan.toml").read_text()
    changed = plan.replace("high = 1000", "high = 1001").replace('missing = "category"', 'missing = "refuse"', 1)
    assert changed != plan
    (folder / "plan.toml").write_text(changed)
    with pytest.raises(dp.VerificationFailed):
        dp.load(folder)


# Those who see the true values -------------------------------------------------------------------------------------


def test_for_a_curator_a_missing_value_is_missing(tmp_path: Path) -> None:
    plan = Plan.of(plan_of(*COLUMNS, epsilon=1000))
    assert schema_of(plan).nullable == set(COLUMNS)
    curator = dp.Curator(TABLE, plan, budget=dp.Privacy(1000), ledger=tmp_path / "ledger.db")
    for sql, true in [
        ("count(wage)", len(there(WAGE))),
        ("avg(wage)", np.mean(there(WAGE))),
        ("count(likes)", len(there(LIKES))),
        ("count(day)", len(there(DAY))),
    ]:
        (row,) = curator.ask(f"SELECT {sql} AS v FROM data", epsilon=150).rows
        assert row["v"].estimate == pytest.approx(true, abs=0.1), sql
    (row,) = curator.ask("SELECT count(*) AS n FROM data WHERE kids IS NULL", epsilon=150).rows
    assert row["n"].estimate == KIDS.count(None)


def test_check_counts_what_is_missing() -> None:
    found = {column.name: column.missing for column in dp.check(TABLE, plan_of(*COLUMNS)).columns}
    assert found == {
        "wage": WAGE.count(None),
        "kids": KIDS.count(None),
        "day": DAY.count(None),
        "likes": LIKES.count(None),
    }

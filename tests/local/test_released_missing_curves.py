"""`missing = "category"` for curves: from the plan to a release, its files, checks and figures."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import dproof as dp
from dproof.advice.expect import row_widths, shown_chances
from dproof.certification.verify_certificate import main, seal
from dproof.local.draw import stored_schema
from dproof.plans.plan import schema_of
from dproof.storage import CERTIFICATE, DATA, PARQUET, digest
from dproof.testing import seeded_coins
from tests.makers import row_law

N, POINTS = 400, 6
DICE = np.random.default_rng(5)
LOADS = DICE.uniform(0, 5, (N, POINTS))
GONE = DICE.random(N) < 0.3
NAMES = [f"h{n}" for n in range(POINTS)]
TABLES = {
    "list": pa.table({"load": pa.array([None if g else x.tolist() for g, x in zip(GONE, LOADS, strict=True)])}),
    "wide": pa.table({name: pa.array(LOADS[:, n], mask=GONE) for n, name in enumerate(NAMES)}),
}
FORMS: dict[str, dict[str, Any]] = {"list": {"points": POINTS}, "wide": {"columns": NAMES}}


def plan_of(form: str, **keys: Any) -> dict[str, Any]:
    privacy = {key: keys.pop(key) for key in ("epsilon", "delta") if key in keys}
    load = {"space": "curves", "low": 0, "high": 5, "terms": 3, "missing": "category", **FORMS[form], **keys}
    return {"privacy": {"epsilon": 4, **privacy}, "columns": {"load": load}}


@pytest.mark.parametrize("form", FORMS)
def test_the_stored_schema_is_the_same_whatever_is_missing(form: str) -> None:
    schema = stored_schema(row_law(plan_of(form)))
    for rows in (np.flatnonzero(GONE), np.flatnonzero(~GONE), np.arange(N)):
        with seeded_coins(1):
            data = dp.sanitise(TABLES[form].take(rows), plan_of(form)).data
        assert data.schema.equals(schema, check_metadata=False)
        lacking = [data[name].is_null().to_pylist() for name in data.column_names]
        assert all(row == lacking[0] for row in lacking) and 0 < sum(lacking[0]) < len(rows)


@pytest.mark.parametrize("form", FORMS)
def test_one_row_changes_no_other(form: str) -> None:
    """With the same coins a table in which one more curve is missing differs in that row alone."""
    plan = {"order": "keep", **plan_of(form)}
    lists = TABLES["list"]["load"].to_pylist()
    drawn = []
    for gone in (False, True):
        rows = [None if n == 7 and gone else [2.0] * POINTS if n == 7 else row for n, row in enumerate(lists)]
        table = pa.table({"load": pa.array(rows, pa.list_(pa.float64()))})
        if form == "wide":
            table = pa.table({name: [None if r is None else r[n] for r in rows] for n, name in enumerate(NAMES)})
        with seeded_coins(9):
            drawn.append(dp.sanitise(table, plan).data.to_pylist())
    differing = [n for n, (a, b) in enumerate(zip(*drawn, strict=True)) if a != b]
    assert differing in ([], [7])


@pytest.fixture(scope="module", params=["list", "wide"])
def stored(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("curves") / "out"
    dp.sanitise(TABLES[request.param], plan_of(request.param), out)
    return out


def test_both_verifiers_accept_it(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    release = dp.verify(stored)
    assert release is not None and release.rows == N
    assert main([str(stored / CERTIFICATE)]) == 0, capsys.readouterr().out
    (part,) = json.loads((stored / CERTIFICATE).read_text())["laws"]
    assert part["law"]["kind"] == "optional" and part["law"]["law"]["kind"] == "coefficients"
    assert part["mechanism"] == "K-norm noise on 6 grid values, or missing"


def test_with_gaussian_noise_too(tmp_path: Path) -> None:
    out = tmp_path / "out"
    dp.sanitise(TABLES["list"], plan_of("list", delta="1e-6", mechanism="gaussian"), out)
    assert dp.verify(out) is not None and main([str(out / CERTIFICATE)]) == 0


def test_it_is_opened_as_it_was_written(stored: Path) -> None:
    opened = dp.load(stored)
    (part,), (group,) = json.loads((stored / CERTIFICATE).read_text())["laws"], opened.law.groups
    assert json.loads(json.dumps(group.mechanism.family.to_json())) == part["law"]
    cell = opened.query("SELECT count(load) AS n FROM release", level=1 - 1e-7).rows[0]["n"]
    assert cell.low < N - GONE.sum() < cell.high
    nulls = opened.raw("SELECT count(*) FILTER (WHERE load IS NULL) AS n, max(len(load)) AS m FROM release").rows[0]
    assert 0 < nulls["n"] < N and nulls["m"] == POINTS


def sealed(folder: Path, change: Any) -> Path:
    """The release with another certificate, its hashes and its seal put right."""
    body = json.loads((folder / CERTIFICATE).read_text("utf-8"))
    change(body)
    body["release"]["files"] = {name: digest(folder / name) for name in body["release"]["files"]}
    body = {key: value for key, value in body.items() if key != "seal"}
    (folder / CERTIFICATE).write_text(json.dumps({**body, "seal": seal(body)}), "utf-8")
    return folder


def test_a_curve_of_which_a_part_is_missing_is_refused(stored: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(stored, tmp_path / "forged")
    table = pa.parquet.read_table(folder / DATA)
    rows = table.to_pylist()
    whole = next(n for n, row in enumerate(rows) if row[table.column_names[0]] is not None)
    if len(table.column_names) > 1:
        rows[whole]["h3"] = None
    else:
        rows[whole]["load"][3] = None
    pa.parquet.write_table(pa.Table.from_pylist(rows, table.schema), folder / DATA, **PARQUET)
    with pytest.raises(dp.VerificationFailed, match="that its law cannot give"):
        dp.verify(sealed(folder, lambda body: None))


def test_the_plan_and_the_law_must_agree_on_whether_a_curve_may_be_missing(stored: Path, tmp_path: Path) -> None:
    """In either direction, for both verifiers; a release of the law without missing curves is made here too."""
    text = (stored / "plan.toml").read_text()
    assert 'missing = "category"' in text
    other = shutil.copytree(stored, tmp_path / "plan")
    (other / "plan.toml").write_text(text.replace('missing = "category"', 'missing = "centre"'))
    form = "list" if pa.parquet.read_schema(stored / DATA).names == ["load"] else "wide"
    plain = tmp_path / "plain"
    dp.sanitise(TABLES[form], plan_of(form, missing="centre"), plain)
    (plain / "plan.toml").write_text((plain / "plan.toml").read_text().replace('"centre"', '"category"'))
    for folder in (other, plain):
        sealed(folder, lambda body: None)
        with pytest.raises(dp.VerificationFailed):
            dp.verify(folder)
        with pytest.raises(dp.VerificationFailed):
            dp.load(folder)
        assert main([str(folder / CERTIFICATE)]) == 1


def test_a_null_where_the_plan_keeps_none_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "plain"
    dp.sanitise(TABLES["list"], plan_of("list", missing="centre"), out)
    table = pa.parquet.read_table(out / DATA)
    values = pa.array([None, *table["load"].to_pylist()[1:]], table.schema.field("load").type)
    pa.parquet.write_table(table.set_column(0, table.schema.field("load"), values), out / DATA, **PARQUET)
    with pytest.raises(dp.VerificationFailed, match="cannot give"):
        dp.verify(sealed(out, lambda body: None))


def test_a_plan_tells_what_it_costs() -> None:
    law = row_law(plan_of("list", epsilon=1))
    (shown, missing) = shown_chances(law.groups[0]) or (0, 0)
    family: Any = law.groups[0].mechanism.family
    assert (shown, missing) == (family.shown_chances(0)) and 0.7 < shown < 0.9 and 0.4 < missing < 0.7
    width = row_widths(law, 1000)["load"].missing
    assert width == pytest.approx(1.96 * (1000 * 0.25) ** 0.5 / float(shown - missing), rel=0.02)
    assert law.tight().epsilon == pytest.approx(1, abs=1e-6) and law.tight().epsilon <= 1


def test_what_is_refused_is_refused_before_the_data_is_opened() -> None:
    with pytest.raises(dp.InputError, match="column 'load': with this mechanism and epsilon a missing value"):
        row_law(plan_of("list", epsilon=0, delta="0.1", mechanism="gaussian"))


@pytest.mark.parametrize("form", FORMS)
def test_check_counts_them_as_missing_and_nothing_as_outside(form: str) -> None:
    (found,) = dp.check(TABLES[form], dp.Plan.of(plan_of(form))).columns
    assert (found.missing, found.outside, found.clamped) == (GONE.sum(), 0, 0)


def test_for_a_curator_such_a_curve_is_missing_as_it_is_without_the_key(tmp_path: Path) -> None:
    answers = []
    for n, keys in enumerate([{}, {"missing": "refuse"}]):
        plan = dp.Plan.of(plan_of("list", **keys))
        assert schema_of(plan).nullable == {"load"} and not schema_of(plan).spaces["load"].present
        with seeded_coins(4):
            curator = dp.Curator(TABLES["list"], plan, ledger=tmp_path / f"{n}.db")
            counted = curator.ask("SELECT count(*) AS n FROM data WHERE load IS NULL", epsilon=1).rows
            mean = curator.ask("SELECT avg(load) AS m FROM data", epsilon=2).rows
        answers.append([counted[0]["n"].to_json(), mean[0]["m"].to_json()])
    assert answers[0] == answers[1]
    assert answers[0][0]["estimate"] == pytest.approx(GONE.sum(), abs=12)


def test_a_question_on_missing_curves_is_priced_as_a_query_tells_it(tmp_path: Path) -> None:
    plan = dp.Plan.of(plan_of("list"))
    rows = 100_000  # so many that no interval is widened for a few of them
    found = dp.advise(plan, rows=rows, questions=["SELECT count(load) AS n FROM data", "SELECT avg(load) FROM data"])
    counted, mean = found.comparisons
    shown, missing = map(float, shown_chances(row_law(plan).groups[0]) or ())
    assert counted.release == pytest.approx(1.96 * (rows * shown * (1 - shown)) ** 0.5 / (shown - missing), rel=0.01)
    assert mean.release is None, "± of a band depends on the rows that are drawn"
    (cell,) = (
        dp.Curator(pa.concat_tables([TABLES["list"].slice(0, 100)] * 1000), plan, ledger=tmp_path / "budget.db")
        .ask("SELECT avg(load) AS m FROM data WHERE load IS NOT NULL", epsilon=4)
        .rows
    )
    low, high = np.array(cell["m"].low), np.array(cell["m"].high)
    assert mean.ask == pytest.approx((high - low).mean() / 2, rel=0.5)
    (plain,) = dp.advise(
        plan_of("list", missing="refuse"), rows=N, questions=["SELECT count(load) AS n FROM data"]
    ).comparisons
    assert plain.release is None, "where a curve may not be missing a release does not count them"

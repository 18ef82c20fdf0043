"""Numbers of which conditions and quantiles are asked are released in bins, where the plan leaves the choice."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof import VerificationFailed
from dproof.certification import verify_certificate
from dproof.plans import reader
from dproof.testing import seeded_coins
from tests.forging import forge
from tests.makers import row_law

HOURS = {"space": "interval", "low": 0, "high": 99, "step": 1}
DAY = {"space": "date", "low": "2020-01-01", "high": "2021-12-31"}
SEX = {"space": "categories", "values": ["f", "m"]}
MEDIAN = "SELECT median(x) AS m FROM release"
UPTO = "SELECT count(*) AS n FROM release WHERE x <= 47"


def plan_of(*questions: str, epsilon: Any = 2, spread: str | None = None, **column: Any) -> dict[str, Any]:
    privacy = {"epsilon": epsilon} | ({} if spread is None else {"spread": spread})
    asked = {"questions": [{"sql": sql} for sql in questions]} if questions else {}
    return {"privacy": privacy, "columns": {"x": {**HOURS, **column}}, **asked}


def starts(plan: Any) -> list[int] | None:
    found = dp.Plan.of(plan).chosen_bins.get("x")
    return None if found is None else list(found.starts)


@pytest.mark.parametrize(
    ("questions", "expected"),
    [
        ([], None),
        ([UPTO], [0, 48]),
        (["SELECT sum(CASE WHEN x < 10 THEN 1 ELSE 0 END) AS n FROM release"], [0, 10]),
        ([UPTO, "SELECT count(*) AS n FROM data WHERE x BETWEEN 20 AND 47"], [0, 20, 48]),
        (["SELECT count(*) AS n FROM release WHERE x = 99"], [0, 99]),
        (["SELECT bin(x, 30) AS b, count(*) AS n FROM release GROUP BY bin(x, 30)"], [0, 30, 60, 90]),
        (["SELECT x, count(*) AS n FROM release GROUP BY x"], [*range(100)]),
        ([MEDIAN], [*range(0, 100, 4)]),
        (["SELECT max(x) AS m FROM release"], [*range(0, 100, 4)]),
        ([MEDIAN, "SELECT count(*) AS n FROM release WHERE x <= 48"], sorted([*range(0, 100, 4), 49])),
        (["SELECT avg(x) AS m FROM release"], None),
        ([MEDIAN, "SELECT avg(x) AS m FROM release"], None),
        ([UPTO, "SELECT stddev(x) AS m FROM release"], None),
        (["SELECT avg(x) AS m FROM release WHERE x < 40"], None),
        (["SELECT count(x) AS n FROM release"], None),
    ],
)
def test_bins_serve_what_is_asked(questions: list[str], expected: list[int] | None) -> None:
    assert starts(plan_of(*questions)) == expected


def test_what_the_plan_says_stays() -> None:
    assert starts(plan_of(MEDIAN, mechanism="laplace")) is None
    assert row_law(plan_of(MEDIAN, mechanism="laplace")).groups[0].mechanism.name == "Laplace"
    assert starts(plan_of(MEDIAN, bins=[0, 50, 99])) is None
    joined = {**plan_of(MEDIAN), "joint": [{"columns": ["x", "sex"]}]}
    joined["columns"] = {**joined["columns"], "sex": SEX}
    assert starts(joined) is None
    central = plan_of(MEDIAN)
    assert starts({**central, "privacy": {"epsilon": 2, "model": "central"}}) is None


def test_a_large_epsilon_has_more_bins_and_its_share_counts() -> None:
    assert [len(starts(plan_of(MEDIAN, epsilon=epsilon)) or ()) for epsilon in (1, 4, 8)] == [25, 50, 100]
    both = plan_of(MEDIAN, epsilon=4)
    both["columns"] = {**both["columns"], "y": HOURS}
    assert len(starts(both) or ()) == 25
    assert len(starts({**both, "privacy": {"epsilon": 4, "spread": "sample"}}) or ()) == 50


def test_dates_and_missing_values_have_bins_too() -> None:
    plan = dp.Plan.of({
        "privacy": {"epsilon": 2},
        "columns": {"x": {**DAY, "missing": "category"}},
        "questions": [{"sql": "SELECT count(*) AS n FROM release WHERE x < '2021-01-01'"}],
    })  # fmt: skip
    assert plan.chosen_bins["x"].labels == ("[2020-01-01, 2021-01-01)", "[2021-01-01, 2021-12-31]")
    assert plan.column("x").sanitised.size == 3


def people(rows: int = 3000) -> Any:
    return pa.table({"x": np.clip(np.random.default_rng(5).gamma(6, 7, rows).round(), 0, 99).astype(int)})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("bins") / "out"
    with seeded_coins(3):
        dp.sanitise(people(), plan_of(MEDIAN, UPTO), out)
    return out


def holds_alone(folder: Path) -> bool:
    program = [sys.executable, str(verify_certificate.__file__), str(folder / "certificate.json")]
    return "holds: " in subprocess.run(program, capture_output=True, text=True, check=False).stdout


def test_a_release_says_which_bins_it_chose_and_is_verified(made: Path) -> None:
    release = dp.verify(made)
    assert release is not None
    assert json.loads((made / "certificate.json").read_text())["release"]["bins"] == {"x": [*range(0, 100, 4)]}
    assert holds_alone(made)
    true = people()["x"].to_numpy()
    (row,) = release.query("SELECT median(x) AS m, count(*) FILTER (WHERE x <= 47) AS n FROM release").rows
    assert row["m"].low <= np.median(true) <= row["m"].high and row["m"].high - row["m"].low <= 12
    assert row["n"].low <= (true <= 47).sum() <= row["n"].high and row["n"].high - row["n"].low <= 500


@pytest.mark.parametrize("bins", [{}, {"x": [0, 50]}, {"x": [*range(1, 101, 4)]}, {"x": [0, 4, 4, *range(12, 100, 4)]},
                                  {"y": [*range(0, 100, 4)]}, {"x": [*range(0, 96, 4), 100]}])  # fmt: skip
def test_forged_bins_are_refused(made: Path, tmp_path: Path, bins: dict[str, list[int]]) -> None:
    folder = tmp_path / "out"
    shutil.copytree(made, folder)
    forge(folder, lambda body: body["release"].update(bins=bins))
    with pytest.raises(VerificationFailed):
        dp.verify(folder)
    assert not holds_alone(folder)


def test_releases_of_earlier_versions_of_the_same_plan_open_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(MEDIAN, UPTO)
    with monkeypatch.context() as earlier, seeded_coins(4):
        earlier.setattr(reader, "_with_question_bins", lambda columns, groups, *_: (columns, groups))
        before = dp.sanitise(people(), plan, tmp_path / "out").query(UPTO).rows
    release = dp.verify(tmp_path / "out")
    assert release is not None
    assert release.law.groups[0].mechanism.name == "Laplace" and release.query(UPTO).rows == before
    assert holds_alone(tmp_path / "out")
    assert dp.Plan.read(tmp_path / "out" / "plan.toml").chosen_bins


def test_the_plan_tells_both_ways_where_means_are_asked_too() -> None:
    from dproof.advice.plan_advice import plan_advice

    plan = dp.Plan.of(plan_of(UPTO, "SELECT avg(x) AS a FROM release"))
    (hint,) = [hint for hint in plan_advice(row_law(plan), 3000).hints if hint.kind == "bins"]
    binned = row_law(plan_of(UPTO, "SELECT avg(x) AS a FROM release", bins=[0, 48, 99]))
    plain, other = ([one.half_width for one in dp.expect(law.plan, rows=3000)] for law in (row_law(plan), binned))
    assert (hint.before, hint.after) == (plain[0], other[0]) and (other[1] or 0) > (plain[1] or 0) > 0
    assert hint.text.startswith("bins = [0, 48, 99] in 'x' make n ± ") and ", a ± " in hint.text


def test_the_plan_tells_the_width_of_a_quantile() -> None:
    one, other = (
        dp.expect(plan_of(MEDIAN, **more), rows=3000)[0].half_width for more in ({}, {"mechanism": "laplace"})
    )
    assert one is not None and other is not None and 5 < one < 10 and other > 2 * one


@pytest.mark.slow
@pytest.mark.parametrize("table", ["gamma", "heap", "both ends"])
def test_quantiles_and_conditions_inside_a_bin_hold(table: str) -> None:
    rng = np.random.default_rng(7)
    x = {
        "gamma": np.clip(rng.gamma(6, 7, 1500).round(), 0, 99).astype(int),
        "heap": np.where(rng.random(1500) < 0.5, 46, rng.integers(0, 100, 1500)),
        "both ends": rng.choice([0, 99], 1500),
    }[table]
    shares, held = (0.1, 0.5, 0.9), np.zeros(5, int)
    asked = ", ".join(f"quantile(x, {share}) AS q{n}" for n, share in enumerate(shares))
    true = [*(np.quantile(x, share, method="inverted_cdf") for share in shares), (x <= 46).sum(), x.mean()]
    for seed in range(100):
        with seeded_coins(seed):
            release = dp.sanitise(pa.table({"x": x}), plan_of(MEDIAN))
        (row,) = release.query(f"SELECT {asked}, count(*) FILTER (WHERE x <= 46) AS n, avg(x) AS a FROM release").rows
        told = zip(row.values(), true, strict=True)
        held += [cell.low is not None and cell.low - 1e-6 <= t <= cell.high + 1e-6 for cell, t in told]
    assert held.min() >= 89, held  # of 95, less 3 deviations

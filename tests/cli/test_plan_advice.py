"""`dproof plan`: whether the answers will be of use, what would help, and what questions would give."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import dproof as dp
from dproof.advice.expect import row_widths
from dproof.advice.plan_advice import Prices
from dproof.plans.reader import to_toml
from tests.makers import row_law

SIZES = {"name_of_state": 50, "marital_status": 7, "occupation": 14, "workclass": 8, "relationship": 6, "race": 5}
COLUMNS: dict[str, Any] = {
    name: {"space": "categories", "values": [f"{name[:2]}{n}" for n in range(size)]} for name, size in SIZES.items()
}
COLUMNS["name_of_state"]["mechanism"] = "randomised_response"
FLAGS: dict[str, Any] = {
    name: {"space": "categories", "values": [True, False]} for name in ("owns_a_car", "smoker", "has_children")
}
AGE = {"space": "interval", "low": 0, "high": 110, "step": 1}
COUNT = "SELECT race, count(*) AS n FROM release GROUP BY race"


def plan_of(epsilon: Any, columns: dict[str, Any], **more: Any) -> dp.Plan:
    return dp.Plan.from_dict({"privacy": {"epsilon": epsilon}, "columns": columns, **more})


def counts(law: Any, rows: int) -> dict[str, float | None]:
    return {name: widths.count for name, widths in row_widths(law, rows).items()}


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    path = tmp_path / "wide.toml"
    path.write_text(to_toml({"privacy": {"epsilon": 3}, "columns": {**COLUMNS, **FLAGS, "age": AGE}}))
    return path


def test_useless_counts_are_called_so_first(wide: Path, dproof: Callable[..., Any]) -> None:
    ran = dproof("plan", wide, "--rows", 30_000, "--json").json
    widths = {column["name"]: column["half_width"] for column in ran["columns"]}
    worst = round(widths["name_of_state"])
    assert (
        f"'name_of_state' is known to ± {worst:,} at worst (" in ran["verdict"]
        and "too noisy for most uses" in ran["verdict"]
    )
    page = " ".join(dproof("plan", wide, "--rows", 30_000).out.split())
    assert page.index("too noisy for most uses") < page.index("Recommended") < page.index("What would help")
    assert page.index("What would help") < page.index("column mechanism"), "what is only detail comes last"
    assert 1 <= len(ran["hints"]) <= 5
    gains = [hint["half_width"] / hint["instead_of"] for hint in ran["hints"]]
    assert gains == sorted(gains) and max(gains) <= 0.9, "the best first, and only what helps clearly"
    assert ran["hints"][0]["kind"] == "ask" and "`dproof ask` at the same ε" in ran["hints"][0]["text"]


def test_sharp_counts_need_no_advice(wide: Path, dproof: Callable[..., Any]) -> None:
    ran = dproof("plan", wide, "--rows", 10**9, "--json").json
    assert (ran["verdict"], ran["hints"]) == (None, [])
    assert "What would help" not in dproof("plan", wide).out


@pytest.mark.parametrize("epsilon", [1, 4])
def test_every_change_is_priced_as_the_changed_plan_is(epsilon: int) -> None:
    """The figures are those of a plan that somebody writes with the change."""
    rows, columns = 20_000, {**{n: COLUMNS[n] for n in ("name_of_state", "race")}, **FLAGS}
    prices = Prices(plan_of(epsilon, columns), rows)
    found = {change.kind: change for change in prices.changes()}
    now = counts(row_law(prices.plan), rows)
    assert prices.now == now

    def written(changed: dict[str, Any]) -> dict[str, Any]:
        return counts(row_law(plan_of(epsilon, changed)), rows)

    drop = found["drop"]
    rest = {name: column for name, column in columns.items() if name not in drop.columns}
    assert drop.after == max(written(rest).values())
    assert drop.before == max(width for name, width in now.items() if name not in drop.columns)
    fewer = found["values"]
    assert fewer.columns == ("name_of_state",) and "6 values instead of 50" in fewer.text
    cut = {**columns["name_of_state"], "values": columns["name_of_state"]["values"][:6]}
    assert fewer.after == written({**columns, "name_of_state": cut})["name_of_state"]
    coded = {**columns["name_of_state"], "mechanism": "frequency"}
    assert found["mechanism"].after == written({**columns, "name_of_state": coded})["name_of_state"]
    if epsilon == 4:
        flags = found["flags"]
        joined = {"flags": {"space": "subsets", "columns": list(FLAGS), "share": 3}}
        others = {name: column for name, column in columns.items() if name not in FLAGS}
        assert flags.columns == tuple(FLAGS) and flags.after == written({**others, **joined})["flags"]


def test_keeping_few_of_many_columns_is_priced_too() -> None:
    rows, columns = 20_000, {**COLUMNS, **FLAGS}
    (keep,) = [c for c in Prices(plan_of(2, columns), rows).changes() if c.kind == "keep"]
    kept = counts(row_law(plan_of(2, {name: columns[name] for name in keep.columns})), rows)
    assert len(keep.columns) == 5 and keep.after == max(width for width in kept.values() if width is not None)


def test_the_advice_to_ask_is_what_a_preview_says(wide: Path, tmp_path: Path, dproof: Callable[..., Any]) -> None:
    import pyarrow as pa

    columns = {"race": COLUMNS["race"]}
    path = tmp_path / "one.toml"
    path.write_text(to_toml({"privacy": {"epsilon": "0.5"}, "columns": columns}))
    (hint,) = [h for h in dproof("plan", path, "--rows", 900, "--json").json["hints"] if h["kind"] == "ask"]
    curator = dp.Curator(pa.table({"race": ["ra0"] * 900}), path, ledger=tmp_path / "budget.db")
    seen = curator.preview("SELECT count(*) AS n FROM data WHERE race = 'ra1'", epsilon="0.5")
    assert seen.half_widths["n"] == hint["half_width"]


def test_a_plan_of_numbers_is_judged_by_its_means(tmp_path: Path, dproof: Callable[..., Any]) -> None:
    path = tmp_path / "numbers.toml"
    path.write_text(to_toml({"privacy": {"epsilon": "0.2"}, "columns": {"age": AGE}}))
    ran = dproof("plan", path, "--rows", 100, "--json").json
    assert "the mean of 'age' is known to ±" in ran["verdict"] and ran["hints"][0]["kind"] == "ask"


@pytest.mark.parametrize("width", [120, 80, 60, 50, 40])
def test_names_of_columns_are_never_broken(
    width: int, wide: Path, dproof: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    page = dproof("plan", wide, "--rows", 30_000).out
    assert max(map(len, page.splitlines())) <= width
    figures = {c["name"]: c["half_width"] for c in dproof("plan", wide, "--rows", 30_000, "--json").json["columns"]}
    details = page.partition("What is done to each column")[2]
    for name, figure in figures.items():
        line = next(line for line in details.splitlines() if re.match(rf"{name}\s", line))
        assert figure is None or f"{figure:,.0f} count" in line, "no digit of a figure is cut off"
    words = {"randomised", "response", "Laplace"}
    if "mechanism" in details.partition("─")[0]:
        assert words <= set(page.split()), "no word of a mechanism is broken either"
    else:
        assert "In a wider terminal also: mechanism" in " ".join(page.split())


def test_a_question_is_told_both_ways(wide: Path, dproof: Callable[..., Any]) -> None:
    words = ["plan", wide, "--rows", 5000, "--question", COUNT, "--question", "SELECT median(age) FROM data"]
    ran = dproof(*words, "--json").json
    counted, median = ran["questions"]
    direct = dp.advise(wide, rows=5000, questions=[COUNT, "SELECT median(age) FROM data"]).comparisons[0]
    assert (counted["release"], counted["ask"], counted["ask_shared"]) == (
        direct.release,
        direct.ask,
        direct.ask_shared,
    )
    assert counted["ask"] < counted["ask_shared"] < counted["release"]
    assert median["release"] == 55 and median["ask"] is None  # all of 0 to 110, at this ε: it would tell nothing
    page = dproof(*words).out
    figures = [f"{width:,.3g}" for width in (counted["ask"], counted["ask_shared"])]
    assert next(line for line in page.splitlines() if line.startswith("1. n")).split()[-2:] == figures
    assert next(line for line in page.splitlines() if line.startswith("2.") and "?" in line).split()[-2:] == ["?", "?"]
    flat = " ".join(page.split())
    assert "or 2 share it" in flat and "depends on the data" in flat


def test_the_plans_own_questions_are_shown(wide: Path, dproof: Callable[..., Any]) -> None:
    wide.write_text(wide.read_text() + f'\n[[questions]]\nsql = "{COUNT}"\nweight = "1/2"\n')
    assert "With --rows you see" in dproof("plan", wide).out
    (alone,) = dproof("plan", wide, "--json").json["questions"]
    assert (alone["question"], alone["weight"], alone["release"]) == (COUNT, 0.5, None)
    (asked,) = dproof("plan", wide, "--rows", 5000, "--json").json["questions"]
    assert (asked["question"], asked["weight"], asked["column"]) == (COUNT, 0.5, "n")
    # They change nothing of what is released.
    plan = dp.Plan.read(wide)
    assert row_law(plan).certificate() == row_law(replace(plan, questions=())).certificate()


def test_a_wrong_question_is_one_sentence(wide: Path, refused: Callable[..., str]) -> None:
    assert "did you mean 'race'" in refused("plan", wide, "--rows", 10, "--question", "SELECT count(rase) FROM data")
    assert "--question needs --rows" in refused("plan", wide, "--question", COUNT)
    assert "rows" in refused("plan", wide, "--rows", 0, "--question", COUNT)

"""Joined columns under `mechanism = "frequency"`: one code for all of them, from which every count is undone."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dproof as dp
from dproof import InputError, Plan, TooLarge, VerificationFailed
from dproof.advice.plan_advice import Prices
from dproof.certification import verify_certificate
from dproof.laws import BlockDesign, PlaneDesign, debias
from dproof.local.counts import QuestionAxes
from dproof.local.mechanisms import choose
from dproof.local.recipe import RowLaw
from dproof.local.spread import noise
from dproof.mechanisms.frequency import even_variance
from dproof.plans.questions import planned_question
from dproof.questions.sums import Term
from dproof.spaces.categories import Codes
from dproof.storage import DATA, PARQUET
from dproof.testing import seeded_coins
from tests.forging import forge
from tests.makers import row_law

SEX = {"space": "categories", "values": ["f", "m"]}
TOWN = {"space": "categories", "values": ["n", "s", "w"]}
FLOOR = {"space": "interval", "low": 0, "high": 3, "step": 1}
AGE = {"space": "interval", "low": 0, "high": 90, "step": 1, "bins": [0, 18, 65, 90]}
MANY = {"space": "categories", "values": list(range(16))}
HASHED = {"mechanism": "frequency"}
ROWS = 4000
TOWN_SPACE = dp.Categories(["n", "s", "w"])


def plan_of(columns: dict[str, Any], epsilon: Any = "1/2", spread: str | None = None, **more: Any) -> Plan:
    privacy = {"epsilon": epsilon} | ({} if spread is None else {"spread": spread})
    return Plan.from_dict({"privacy": privacy, "columns": columns, **more})


def joined(*columns: str, **more: Any) -> dict[str, Any]:
    return {"columns": list(columns), **more}


def counting(*columns: str) -> dict[str, Any]:
    names = ", ".join(columns)
    return {"sql": f"SELECT {names}, count(*) FROM release GROUP BY {names}"}


def kinds(law: RowLaw) -> dict[str, bool]:
    """By the name of each group, whether it is released as codes."""
    return {group.name: group.mechanism.family.is_coded for group in law.groups}


# What undoes it ------------------------------------------------------------------------------------------------------

QUESTIONS: list[tuple[str, Callable[..., bool]]] = [
    ("town = 's'", lambda town, floor, age: town == "s"),
    ("floor >= 2", lambda town, floor, age: floor >= 2),
    ("town <> 'n' AND floor = 1", lambda town, floor, age: town != "n" and floor == 1),
    ("age >= 18", lambda town, floor, age: age >= 18),
    ("town = 'w' OR age >= 65", lambda town, floor, age: town == "w" or age >= 65),
]


@pytest.mark.parametrize(("condition", "holds"), QUESTIONS, ids=[sql for sql, _ in QUESTIONS])
@pytest.mark.parametrize("number", [False, True])
def test_every_count_and_sum_is_unbiased_for_every_row(
    condition: str, holds: Callable[..., bool], number: bool
) -> None:
    """E s(Y_x) = f(x) for all 36 values x of three columns, one of them by its bins, whatever columns are asked for."""
    law = row_law(plan_of({"town": TOWN, "floor": FLOOR, "age": AGE}, joint=[joined("town", "floor", "age", **HASHED)]))
    (group,) = law.groups
    family = group.mechanism.family
    assert family.is_coded
    where = planned_question(f"SELECT count(*) FROM release WHERE {condition}", law.plan.columns).question.where
    term = Term(("floor",) if number else (), where)
    asked = QuestionAxes(law, [term])
    (axis,) = asked.axes
    summed = asked.sum_of(term)
    scores = axis.scores(summed.powers[0]).spread(summed.weights.reshape(-1), 0)
    scale = asked.numbers.get("floor")
    for code, (town, floor, age) in enumerate(product("nsw", range(4), (0, 18, 65))):
        found = float((family.weights(code).astype(float) / family.total) @ scores)
        worth = (floor - scale.middle) / scale.unit if number else 1.0
        assert np.isclose(found, worth * holds(town, floor, age)), (town, floor, age)


@pytest.mark.parametrize(
    "law", [BlockDesign(240, 241, 4, 1, 3, 1), PlaneDesign(240, 17, 20, 1)], ids=["classes", "plane"]
)
@pytest.mark.parametrize("held", [1, 4, 16])
def test_the_variance_of_margins_is_nearly_that_of_all_scores(law: Any, held: int) -> None:
    """Σ over cells of Var(s(Y_x)), on average over the values x, by brute force; exact for single values."""
    matrix = np.array([law.weights(x) for x in range(240)]).astype(float) / law.total
    holds = (np.array([law.weights(x) for x in range(240)]) == law.high).astype(float)
    hit, miss = map(float, law.support_probabilities)
    scores = (holds - miss).reshape(240 // held, held, -1).sum(axis=1) / (hit - miss)
    variances = (scores**2) @ matrix.T - (scores @ matrix.T) ** 2
    true = variances.sum(axis=0).mean()
    assert law.cells_variance(240 // held, held) == pytest.approx(true, rel=1e-9 if held == 1 else 0.03)
    if held == 1:
        assert true == pytest.approx(240 * even_variance(law, 240))


# What is chosen ------------------------------------------------------------------------------------------------------


def test_a_joint_gets_it_unless_its_values_must_be_readable() -> None:
    columns, joint = {"a": MANY, "b": MANY, "h": FLOOR}, [joined("a", "b")]
    assert kinds(row_law(plan_of(columns, joint=joint))) == {"a × b": True, "h": False}
    plain = {"mechanism": "randomised_response"}
    assert not any(kinds(row_law(plan_of(columns, joint=[joined("a", "b", **plain)]))).values())
    assert not any(kinds(row_law(plan_of({**columns, "a": {**MANY, **plain}}, joint=joint))).values())
    asked = [counting("a", "b")]
    law = row_law(plan_of(columns, joint=joint, questions=asked))
    assert kinds(law)["a × b"]
    assert law.groups[0].mechanism.family.count_variance(None) < 40 * 4  # where randomised response has 4,800
    sums = [{"sql": "SELECT a, avg(h) FROM release GROUP BY a"}]
    assert kinds(row_law(plan_of(columns, joint=[joined("a", "h")], questions=sums)))["a × h"]
    delta = {"privacy": {"epsilon": "1/2", "delta": "1e-6"}, "columns": columns, "joint": joint, "questions": asked}
    assert kinds(row_law(delta))["a × b"]  # it keeps the promise with a δ too
    assert not kinds(row_law(plan_of({"a": SEX, "b": SEX}, 8, joint=joint, questions=[counting("a", "b")])))["a × b"]


def test_sampled_pairs_get_it_and_a_column_is_stored_in_one_form() -> None:
    """`sex` by itself, joined as values and joined in a code: codes in all three."""
    asked = [counting("sex"), counting("sex", "town"), counting("sex", "a"), counting("a")]
    law = row_law(plan_of({"sex": SEX, "town": TOWN, "a": MANY}, 2, "sample", questions=asked))
    assert kinds(law) == {"sex": False, "sex × town": False, "sex × a": True, "a": True}
    for group in law.groups:
        stored = dict(zip((c.name for c in group.columns), group.storage, strict=True))
        assert isinstance(stored.get("sex", Codes(1)), Codes)
        assert stored.get("town", TOWN_SPACE) == TOWN_SPACE
    assert law.weights is not None


def test_without_questions_sampled_pairs_are_counted_unless_their_values_must_be_readable() -> None:
    columns: dict[str, Any] = {"a": MANY, "b": MANY, "town": TOWN}
    assert kinds(row_law(plan_of(columns, 1, "sample"))) == {"a × b": True, "a × town": True, "b × town": True}
    columns["town"] = {**TOWN, "mechanism": "randomised_response"}
    assert kinds(row_law(plan_of(columns, 1, "sample"))) == {"a × b": True, "a × town": False, "b × town": False}


def test_what_holds_no_code_costs_the_others_nothing() -> None:
    columns = {"a": MANY, "b": MANY, "h": FLAGS}
    assert kinds(row_law(plan_of(columns, 1, "sample"))) == {"a × b": True, "a × h": False, "b × h": False}


@pytest.mark.parametrize("asked", [None, frozenset("a"), frozenset("h")], ids=["both", "values", "mean"])
@pytest.mark.parametrize("epsilon", ["1/2", "1", "2"])
def test_counts_and_means_of_joined_columns_are_sharper_by_codes(asked: frozenset[str] | None, epsilon: str) -> None:
    """The mean of a number that is joined, too: all of a joint is told by counts."""
    group = plan_of({"a": MANY, "h": LINE}, epsilon, joint=[joined("a", "h")]).groups[0]
    laws = [choose(group.space, dp.Privacy(epsilon), name) for name in ("auto", "randomised_response")]
    coded, plain = (noise(group.columns, law, asked) for law in laws)
    assert coded is not None and plain is not None and 13 * coded < plain


LINE = {"space": "interval", "low": 0, "high": 90, "step": 1}
FLAGS = {"space": "subsets", "columns": ["x", "y", "z"]}


@pytest.mark.parametrize(
    ("other", "condition"), [(LINE, "h < 5"), (FLAGS, "list_contains(h, 'x')")], ids=["line", "flags"]
)
def test_what_cannot_be_stored_as_a_code_keeps_its_values_or_is_refused(other: dict[str, Any], condition: str) -> None:
    columns = {"a": MANY, "b": MANY, "h": other}
    aggregate = "avg(h)" if other is LINE else "count(*)"  # a number that is averaged has noise, and no bins
    asked = [{"sql": f"SELECT {keys}{aggregate} FROM release WHERE {condition} {by}"} for keys, by in
             (("", ""), ("a, ", "GROUP BY a"), ("b, ", "GROUP BY b"))]  # fmt: skip
    assert not any(kinds(row_law(plan_of(columns, spread="sample", questions=asked))).values())
    hashed = [joined("a", "h", **HASHED), joined("b", "h", mechanism="randomised_response")]
    with pytest.raises(InputError, match=r"'h'.*: write mechanism = 'randomised_response'"):
        row_law(plan_of(columns, spread="sample", joint=hashed))


def test_the_plan_advises_it_where_it_can_be_stored() -> None:
    def advised(other: dict[str, Any]) -> list[str]:
        readable = joined("a", "b", mechanism="randomised_response")
        prices = Prices(plan_of({"a": MANY, "b": other}, joint=[readable]), 20_000)
        return [hint.text for hint in prices.changes() if hint.kind == "mechanism"]

    (text,) = advised(MANY)
    assert text.startswith("mechanism = \"frequency\" in the [[joint]] of 'a', 'b' makes its counts ± ")
    assert advised(FLAGS) == []


# Releases ------------------------------------------------------------------------------------------------------------


def people() -> Any:
    some = np.random.default_rng(17)
    a = some.integers(0, 16, ROWS) ** 2 // 16
    return pa.table({"a": a, "b": (a + some.integers(0, 3, ROWS)) % 16, "sex": some.choice(["f", "m"], ROWS)})


RELEASES: dict[str, dict[str, Any]] = {
    "split": {
        "privacy": {"epsilon": 4},
        "columns": {"a": MANY, "b": MANY, "sex": SEX},
        "joint": [joined("a", "b", share=3)],
    },
    "sample": {
        "privacy": {"epsilon": 2, "spread": "sample"},
        "columns": {"a": MANY, "b": MANY, "sex": SEX},
        "questions": [counting("a", "b"), counting("a", "sex"), counting("sex")],
    },
}


@pytest.fixture(scope="module", params=RELEASES)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("joint") / "out"
    dp.sanitise(people(), RELEASES[request.param], out)
    return out


def test_a_release_is_verified(made: Path) -> None:
    release = dp.verify(made)
    assert release is not None and any(kinds(release.law).values())
    rows = release.query("SELECT a, b, count(*) AS n FROM release GROUP BY a, b").rows
    assert [(row["a"], row["b"]) for row in rows] == [*product(range(16), repeat=2)]
    alone = [sys.executable, verify_certificate.__file__, str(made / "certificate.json")]
    assert subprocess.run(alone, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("plan", RELEASES.values(), ids=RELEASES)
def test_questions_on_any_of_the_columns_are_answered(plan: dict[str, Any]) -> None:
    table = people()
    with seeded_coins(3):
        release = dp.sanitise(table, plan)
    a, b = (table[name].to_numpy() for name in "ab")
    for sql, true in [
        ("SELECT count(*) AS n FROM release WHERE a = 0 AND b = 1", ((a == 0) & (b == 1)).sum()),
        ("SELECT count(*) AS n FROM release WHERE a < 4", (a < 4).sum()),
        ("SELECT count(*) AS n FROM release WHERE b >= 8", (b >= 8).sum()),
    ]:
        cell = release.query(sql).rows[0]["n"]
        assert abs(cell.estimate - true) < 4 * cell.stderr, sql


@pytest.mark.parametrize("mechanism", ["frequency", "randomised_response"])
def test_groups_are_answered_as_single_questions_are(mechanism: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both columns as keys, in either order, one of them, and one under a condition on the other."""
    plan = {**RELEASES["split"], "joint": [joined("a", "b", mechanism=mechanism)]}
    with seeded_coins(4):
        release = dp.sanitise(people(), plan)
    monkeypatch.setattr(debias, "_PRODUCTS_AT_ONCE", 1)  # the squares of one group at a time
    for keys, more in [("a, b", ""), ("b, a", ""), ("a", ""), ("b", "a < 3")]:
        where = f"WHERE {more}" if more else ""
        rows = release.query(f"SELECT {keys}, count(*) AS n FROM release {where} GROUP BY {keys}").rows
        for row in rows[:: len(rows) // 5]:
            wanted = " AND ".join([*(f"{key} = {row[key]}" for key in keys.split(", ")), *filter(None, [more])])
            single = release.query(f"SELECT count(*) AS n FROM release WHERE {wanted}").rows[0]["n"]
            assert row["n"].estimate == pytest.approx(single.estimate, abs=1e-6), wanted
            assert row["n"].stderr == pytest.approx(single.stderr, rel=1e-6), wanted


@pytest.mark.slow
@pytest.mark.parametrize("plan", [{"joint": [joined("a", "h")]}, {"privacy": {"epsilon": 2, "spread": "sample"}}],
                         ids=["joint", "sample"])  # fmt: skip
def test_answers_from_codes_that_nobody_asked_for_hold(plan: dict[str, Any]) -> None:
    """Counts, means, medians and values of a joint by default, over 200 releases of 300 rows."""
    some = np.random.default_rng(5)
    a, h = some.integers(0, 16, 300) ** 2 // 16, some.integers(0, 21, 300) ** 2 // 10
    table = pa.table({"a": a, "h": h})
    columns = {"a": MANY, "h": {"space": "interval", "low": 0, "high": 40, "step": 1}}
    truths = {
        "count(*) FILTER (WHERE a = 0)": float((a == 0).sum()),
        "count(*) FILTER (WHERE h < 10 AND a > 3)": float(((h < 10) & (a > 3)).sum()),
        "avg(h)": h.mean(),
        "median(h)": float(np.quantile(h, 0.5, method="inverted_cdf")),
        "avg(h) FILTER (WHERE a = 0)": h[a == 0].mean(),
    }
    asked = ", ".join(f"{what} AS q{n}" for n, what in enumerate(truths))
    held = np.zeros(len(truths), int)
    for seed in range(200):
        with seeded_coins(seed):
            release = dp.sanitise(table, {"privacy": {"epsilon": 2}, "columns": columns, **plan})
        assert any(kinds(release.law).values())
        (row,) = release.query(f"SELECT {asked} FROM release").rows
        told = zip(row.values(), truths.values(), strict=True)
        held += [cell.low is None or cell.low <= true <= cell.high for cell, true in told]
    assert held.min() >= 180, dict(zip(truths, held.tolist(), strict=True))  # 190 of 200, less 3 deviations


def test_too_many_groups_of_codes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with seeded_coins(4):
        release = dp.sanitise(people(), RELEASES["split"])
    monkeypatch.setattr(debias, "_MOST_SCORES", 1 << 10)
    monkeypatch.setattr(debias, "_MOST_PRODUCTS", 1 << 10)
    for sql in (
        "SELECT a, count(*) FROM release WHERE b < 3 GROUP BY a",
        "SELECT a, count(*) FROM release GROUP BY a",
    ):
        with pytest.raises(TooLarge, match="too many groups"):
            release.query(sql)


@pytest.mark.parametrize(("column", "value"), [("a", 1 << 20), ("a", -1), ("b", 7)])
def test_a_code_that_no_law_can_give_is_found(made: Path, tmp_path: Path, column: str, value: int) -> None:
    folder = tmp_path / "out"
    shutil.copytree(made, folder)
    table = pq.read_table(folder / DATA)
    values = table[column].to_pylist()
    place = (
        next(n for n, asked in enumerate(table["asked"].to_pylist()) if asked == "a × b")
        if "asked" in table.column_names
        else 0
    )
    values[place] = value
    index = table.column_names.index(column)
    changed = table.set_column(index, table.schema.field(index), pa.array(values, table.schema.field(index).type))
    pq.write_table(changed, folder / DATA, **PARQUET)
    forge(folder)
    with pytest.raises(VerificationFailed, match=f"{column!r} holds a value that its law cannot give"):
        dp.verify(folder)

"""What a plan's questions need of a column chooses its law, where the plan leaves the choice."""

from __future__ import annotations

from typing import Any

import pytest

import dproof as dp
from dproof.advice.plan_advice import plan_advice
from tests.makers import row_law

COLUMNS: dict[str, Any] = {
    "age": {"space": "interval", "low": 0, "high": 110, "step": 1},
    "town": {"space": "categories", "values": [f"town {n}" for n in range(60)]},
    "job": {"space": "categories", "values": [f"job {n}" for n in range(12)]},
    "sex": {"space": "categories", "values": ["f", "m"]},
    "likes": {"space": "subsets", "values": ["Music", "Football", "Chess", "Tea", "Cars"]},
    "owns": {"space": "subsets", "values": ["car", "cat", "dog", "cow"], "missing": "category"},
}
MEAN = "SELECT avg(age) AS m FROM release"
COUNTS = "SELECT town, count(*) AS n FROM release GROUP BY town"
ITEM = "SELECT count(*) AS n FROM release WHERE list_contains(likes, 'Tea')"
OWNED = "SELECT count(*) AS n FROM release WHERE list_contains(owns, 'cat')"


def plan_of(*questions: str, **changes: Any) -> dp.Plan:
    columns = {name: {**column, **changes.get(name, {})} for name, column in COLUMNS.items()}
    asked = {"questions": [{"sql": sql} for sql in questions]} if questions else {}
    return dp.Plan.from_dict({"privacy": {"epsilon": 5}, "columns": columns, **asked})


def laws(plan: dp.Plan) -> dict[str, str]:
    return {group.name: group.mechanism.name for group in row_law(plan).groups}


READABLE = {"town": {"mechanism": "randomised_response"}}
USUAL = laws(plan_of())
UNNESTED = "SELECT unnest({}) AS item, {} AS n FROM release {} GROUP BY item"


@pytest.mark.parametrize(
    ("questions", "changed"),
    [
        ([MEAN], {"age": "unbiased design"}),
        ([f"{MEAN} WHERE sex = 'f'", "SELECT sum(age) AS s FROM data"], {"age": "unbiased design"}),
        (["SELECT stddev(age) AS m FROM release"], {}),
        (["SELECT median(age) AS m FROM release"], {"age": "block design"}),
        (["SELECT median(age) AS m, avg(age) AS a FROM release"], {}),
        ([MEAN, "SELECT count(*) AS n FROM release WHERE age > 40"], {}),
        ([COUNTS], {}),
        (["SELECT avg(age) AS m FROM release WHERE town IN ('town 1')"], {"age": "unbiased design"}),
        (["SELECT count(DISTINCT town) AS n FROM release"], {}),
        ([COUNTS.replace("town", "job")], {"job": "subset selection"}),
        (["SELECT top(job, 3) AS t FROM release"], {"job": "subset selection"}),
        (["SELECT count(DISTINCT job) AS n FROM release"], {}),
        (["SELECT sex, count(*) AS n FROM release GROUP BY sex"], {}),
        ([ITEM, "SELECT count(*) AS n FROM release WHERE NOT list_contains(likes, 'Cars')"], {"likes": "one item"}),
        ([f"{ITEM} AND list_contains(likes, 'Cars')"], {}),
        (["SELECT count(*) AS n FROM release WHERE list_contains(owns, 'cat')"], {"owns": "one item"}),
        (["SELECT count(*) AS n FROM release WHERE NOT list_contains(owns, 'cat')"], {}),
        ([UNNESTED.format("likes", "count(*)", "")], {"likes": "one item"}),
        ([UNNESTED.format("likes", "avg(age)", "WHERE sex = 'f'")], {"likes": "one item", "age": "unbiased design"}),
        ([UNNESTED.format("likes", "count(*)", "WHERE list_contains(likes, 'Tea')")], {}),
        ([UNNESTED.format("owns", "count(*)", "")], {"owns": "one item"}),
        ([UNNESTED.format("owns", "count(owns)", "")], {}),
        (["SELECT top(likes, 2) AS t FROM release"], {"likes": "one item"}),
        (["SELECT top(owns, 2) AS t FROM release"], {}),
        (["SELECT likes, count(*) AS n FROM release GROUP BY likes"], {}),
    ],
)
def test_auto_takes_what_the_questions_need(questions: list[str], changed: dict[str, str]) -> None:
    assert laws(plan_of(*questions)) == {**USUAL, **changed}


def test_a_mechanism_that_is_named_stays() -> None:
    named = {"age": {"mechanism": "laplace"}, **READABLE}
    assert laws(plan_of(MEAN, COUNTS, **named)) == {**USUAL, "town": "randomised response"}


@pytest.mark.parametrize(("values", "law"), [(15, "randomised response"), (16, "block design")])
def test_many_values_are_counted_whatever_will_be_asked(values: int, law: str) -> None:
    town = {"space": "categories", "values": list(range(values))}
    plan = {"privacy": {"epsilon": 1}, "columns": {"town": town}}
    assert laws(dp.Plan.of(plan)) == {"town": law}
    near = {"privacy": {"epsilon": 1}, "columns": {"town": {**town, "metric": "ordinal"}}}
    assert laws(dp.Plan.of(near))["town"] != "block design"  # a value that lies near is to be had


def test_the_plan_tells_the_price_of_rows_that_can_be_read() -> None:
    from dproof.advice.expect import readable_widths, row_widths

    asked = (COUNTS, ITEM)
    readable = row_widths(row_law(plan_of(*asked, likes={"mechanism": "itemwise_response"}, **READABLE)), 20_000)
    prices = readable_widths(row_law(plan_of(*asked)), 20_000)
    assert prices == {name: readable[name].count for name in ("town", "likes")}
    assert readable_widths(row_law(plan_of(**READABLE)), 20_000) == {}


def test_the_plan_tells_which_laws_would_help() -> None:
    """With the ± that a plan with the change has."""
    from dproof.advice.expect import row_widths

    plan = plan_of(**READABLE)
    hints = {hint.columns[0]: hint for hint in plan_advice(row_law(plan), 20_000).hints if hint.kind == "mechanism"}
    assert hints.keys() == {"town", "age"}
    changed = row_law(plan_of(town={"mechanism": "frequency"}, age={"mechanism": "unbiased_design"}))
    assert hints["town"].after == row_widths(changed, 20_000)["town"].count
    assert hints["age"].after == row_widths(changed, 20_000)["age"].mean
    assert hints["town"].text.startswith("mechanism = \"frequency\" in 'town' makes its counts ±")


def test_nothing_is_advised_where_the_law_is_taken_already() -> None:
    asked = (MEAN, COUNTS, COUNTS.replace("town", "job"), ITEM, OWNED)
    hints = plan_advice(row_law(plan_of(*asked)), 20_000).hints
    assert not [hint for hint in hints if hint.kind == "mechanism"]


@pytest.mark.parametrize("epsilon", ["1/100", "1"])
def test_a_number_that_may_be_missing_has_a_law_in_any_case(epsilon: str) -> None:
    """Where the design cannot tell that a number is missing, there is Laplace noise."""
    age = {**COLUMNS["age"], "missing": "category"}
    plan = {"privacy": {"epsilon": epsilon}, "columns": {"age": age}, "questions": [{"sql": MEAN}]}
    (group,) = row_law(plan).groups
    assert group.mechanism.name in ("Laplace, or missing", "unbiased design, or missing")
    assert group.mechanism.epsilon() <= float(dp.Privacy(epsilon).epsilon)

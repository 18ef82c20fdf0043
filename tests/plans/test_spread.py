"""`spread` under [privacy]: ε split over the columns, one thing for each row, or whichever has less variance."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest

from dproof import InputError, Plan
from dproof.exact import exact, exp_below
from dproof.local.recipe import expected_variance
from dproof.local.spread import DRAWN, needs, sample_variance, sampled_groups
from tests.makers import row_law

YES_NO = {"space": "categories", "values": ["yes", "no"]}
EIGHT = {"space": "categories", "values": list(range(8))}
HOURS = {"space": "interval", "low": 0, "high": 100, "step": 1}
LOAD = {"space": "curves", "points": 5, "low": 0, "high": 2, "terms": 3}


def plan_of(spread: str | None, columns: dict[str, Any], epsilon: Any = 2, **more: Any) -> Plan:
    privacy = {"epsilon": epsilon} | ({} if spread is None else {"spread": spread})
    return Plan.from_dict({"privacy": privacy, "columns": columns, **more})


def asked(plan: Plan) -> list[list[str]]:
    return [[column.name for column in thing.columns] for thing in sampled_groups(plan)]


def counting(*columns: str, weight: int = 1) -> dict[str, Any]:
    names = ", ".join(columns)
    return {"sql": f"SELECT {names}, count(*) FROM release GROUP BY {names}", "weight": weight}


def test_without_the_key_shares_are_the_plans() -> None:
    law = row_law(plan_of(None, {"a": YES_NO, "b": {**EIGHT, "share": 3}}))
    assert law.weights is None and [group.privacy.epsilon for group in law.groups] == [Fraction(1, 2), Fraction(3, 2)]
    assert "sample" not in law.certificate().to_json()


def test_without_questions_all_pairs_are_asked_where_they_fit_and_all_columns_elsewhere() -> None:
    assert asked(plan_of("sample", dict.fromkeys("abc", YES_NO))) == [list(pair) for pair in combinations("abc", 2)]
    wide = {"space": "categories", "values": list(range(3000))}
    assert asked(plan_of("sample", {"a": YES_NO, "b": wide, "c": wide})) == [["a"], ["b"], ["c"]]
    assert asked(plan_of("sample", {"a": YES_NO, "load": LOAD})) == [["a"], ["load"]]
    assert asked(plan_of("sample", {f"c{n}": YES_NO for n in range(40)})) == [[f"c{n}"] for n in range(40)]


def test_questions_say_what_is_asked_together_and_every_other_column_by_itself() -> None:
    questions = [{"sql": "SELECT a, avg(hours), count(*) FROM release WHERE b = 'yes' GROUP BY a"}, counting("c")]
    plan = plan_of("sample", {"a": YES_NO, "b": YES_NO, "c": EIGHT, "d": EIGHT, "hours": HOURS}, questions=questions)
    assert asked(plan) == [["a", "b", "hours"], ["a", "b"], ["c"], ["d"]]


def test_a_declared_joint_serves_the_questions_on_its_columns_and_joints_may_share_columns() -> None:
    joint = [{"columns": ["a", "b"]}, {"columns": ["a", "c"]}]
    columns = dict.fromkeys("abcd", YES_NO)
    assert asked(plan_of("sample", columns, joint=joint)) == [["a", "b"], ["a", "c"], ["d"]]
    assert asked(plan_of("sample", columns, joint=joint, questions=[counting("b")])) == [["a", "b"], ["a", "c"], ["d"]]
    with pytest.raises(InputError, match="joins 'a' twice"):
        plan_of("auto", columns, joint=joint)
    with pytest.raises(InputError, match="joins what another"):
        plan_of("sample", columns, joint=[*joint, {"columns": ["b", "a"]}])


def test_every_thing_that_is_declared_or_needed_is_asked_often_enough() -> None:
    """A question on what several joints hold must not leave one of these without rows."""
    joint = [{"columns": ["a", "b"]}, {"columns": ["a", "c"]}]
    law = row_law(plan_of("sample", dict.fromkeys("abc", YES_NO), joint=joint, questions=[counting("a")]))
    assert law.weights is not None and min(law.weights) > DRAWN / 4


@pytest.mark.parametrize("promise", [{"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}])
def test_every_thing_has_the_whole_promise_and_the_row_loses_no_more(promise: dict[str, Any]) -> None:
    law = row_law({"privacy": {**promise, "spread": "sample"}, "columns": {"a": EIGHT, "h": HOURS}})
    assert {group.privacy for group in law.groups} == {law.plan.privacy}
    tight = law.tight()
    assert tight.epsilon == max(part.epsilon for part in law.parts) <= 1 and tight.delta <= law.plan.privacy.delta
    assert law.tight(3).epsilon == pytest.approx(3 * tight.epsilon) and tight.exact == (not law.plan.privacy.delta)


def test_the_tight_values_of_a_row_are_those_of_all_pairs_of_rows_and_all_answers() -> None:
    """P(t, y) = w_t P_t(y): by brute force over rows and answers, at δ = 0 and for δ at the promised ε."""
    columns = {"a": {"space": "categories", "values": [0, 1, 2]}, "b": YES_NO}
    plan = {"privacy": {"epsilon": 1, "delta": "1/100", "spread": "sample"}, "columns": columns}
    law = row_law({**plan, "questions": [counting("a"), counting("b")]})
    spaces = [range(group.mechanism.inputs.size) for group in law.groups]
    rows = [(x, y) for x in spaces[0] for y in spaces[1]]

    def answers(row: tuple[int, ...]) -> list[Fraction]:
        each = zip(law.groups, law.chances, row, strict=True)
        return [
            w * Fraction(int(p), g.mechanism.family.total) for g, w, x in each for p in g.mechanism.family.weights(x)
        ]

    odds = exp_below(Fraction(1))
    worst = max(
        sum((max(Fraction(0), p - odds * q) for p, q in zip(answers(one), answers(other), strict=True)), Fraction(0))
        for one in rows
        for other in rows
    )
    told = exact(law.tight().delta)  # a float means its shortest decimal
    assert worst <= told <= worst * (1 + Fraction(1, 10**9)) and worst <= law.plan.privacy.delta


def test_weights_are_those_of_least_total_variance() -> None:
    plan = plan_of("sample", {"a": YES_NO, "b": EIGHT}, questions=[counting("a"), counting("b", weight=4)])
    law = row_law(plan)
    assert law.weights is not None and sum(law.weights) == DRAWN
    best, wanted = expected_variance(law), needs(plan)
    assert best is not None and [need.weight for need in wanted] == [1, 4]
    laws = [(group.columns, group.mechanism) for group in law.groups]
    for moved in (-2000, -500, 500, 2000):
        other = sample_variance(wanted, laws, [law.weights[0] + moved, law.weights[1] - moved])
        assert other is not None and other > best


def test_split_has_shares_of_less_variance_than_even_ones_and_those_of_the_plan_hold() -> None:
    columns: dict[str, Any] = {"a": YES_NO, "b": EIGHT}
    split, even = (row_law(plan_of(spread, columns)) for spread in ("split", None))
    assert sum(group.privacy.epsilon for group in split.groups) == 2
    assert split.groups[0].privacy.epsilon < 1 < split.groups[1].privacy.epsilon
    before, after = expected_variance(even), expected_variance(split)
    assert before is not None and after is not None and after < before
    given = row_law(plan_of("split", {"a": {**YES_NO, "share": 3}, "b": EIGHT}))
    assert [group.privacy.epsilon for group in given.groups] == [Fraction(3, 2), Fraction(1, 2)]


def test_auto_takes_the_smaller_total_variance() -> None:
    few = {"a": YES_NO, "b": YES_NO}
    ask = [counting("a"), counting("b")]
    laws = {spread: row_law(plan_of(spread, few, 12, questions=ask)) for spread in ("split", "sample", "auto")}
    split, sample = (expected_variance(laws[spread]) for spread in ("split", "sample"))
    assert split is not None and sample is not None and split < sample and laws["auto"].weights is None
    many = row_law(plan_of("auto", {f"c{n}": EIGHT for n in range(6)}, 2))
    assert many.weights is not None and len(many.groups) == 15


def test_auto_splits_where_curves_would_have_to_be_joined() -> None:
    ask = [{"sql": "SELECT avg(load) FROM release WHERE a = 'yes'"}]
    columns = {"a": YES_NO, "load": LOAD}
    assert row_law(plan_of("auto", columns, questions=ask)).weights is None
    with pytest.raises(InputError, match="the curves 'load' cannot be joined"):
        row_law(plan_of("sample", columns, questions=ask))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"privacy": {"epsilon": 1, "spread": "both"}}, "privacy.spread cannot be 'both'"),
        ({"privacy": {"epsilon": 1, "spread": "auto", "model": "central"}}, "spread belongs to model = 'local'"),
        ({"columns": {"Asked": YES_NO, "b": YES_NO}}, "'asked', which a sampled release stores itself"),
    ],
)
def test_what_means_nothing_is_refused(change: dict[str, Any], why: str) -> None:
    good = {"privacy": {"epsilon": 1, "spread": "sample"}, "columns": {"a": YES_NO, "b": YES_NO}}
    with pytest.raises(InputError, match=why):
        Plan.from_dict(good | change)


def test_a_column_may_be_called_asked_where_every_row_answers_for_all() -> None:
    assert plan_of(None, {"asked": YES_NO}).stored == ("asked",)
    assert plan_of("split", {"asked": YES_NO}).stored == ("asked",)

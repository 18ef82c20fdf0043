"""What is known is not worked out again: laws are counted, as time is not looked at in tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import dproof as dp
from dproof.advice import expect
from dproof.central import answer, recipe
from dproof.curator import recipe as curator_recipe
from dproof.local import recipe as local_recipe
from dproof.questions import sensitivity
from dproof.questions.question import Schema
from dproof.questions.sums import Term
from dproof.spaces import Categories

ROWS = 5000
RANK = {"space": "interval", "low": 1, "high": 6, "missing": "category"}
TOWN = {"space": "categories", "values": list("abcdefgh")}
COLUMNS: dict[str, Any] = {**{f"rank_{n}": RANK for n in range(6)}, "town": TOWN}
CENTRAL = {
    "privacy": {"model": "central", "epsilon": 1, "delta": "1e-6"},
    "columns": COLUMNS,
    "release": {"tables": 2, "sums": True},
}
SHUFFLED = {"privacy": {"model": "shuffled", "epsilon": 1, "delta": "1e-6"}, "shuffle": {"rows": ROWS}}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str], Counter[Any]]:
    """What a function is called with, from now on."""

    def counted(module: Any, name: str) -> Counter[Any]:
        made, seen = getattr(module, name), Counter[Any]()

        def counting(*given: Any, **more: Any) -> Any:
            seen[repr(given[1:])] += 1
            return made(*given, **more)

        monkeypatch.setattr(module, name, counting)
        return seen

    expect.law_of.cache_clear()
    return counted


def test_columns_that_are_alike_have_one_law(calls: Callable[[Any, str], Counter[Any]]) -> None:
    made = calls(local_recipe, "_calibrated")
    law = expect.law_of(dp.Plan.from_dict({"privacy": {"epsilon": 3}, "columns": COLUMNS}))
    assert sum(made.values()) == 2
    assert [group.name for group in law.groups] == list(COLUMNS)  # type: ignore[attr-defined]


def test_values_that_are_equal_and_not_the_same_keep_their_own_law() -> None:
    columns = {
        "number": {"space": "categories", "values": [0, 1]},
        "flag": {"space": "categories", "values": [False, True]},
    }
    law = expect.law_of(dp.Plan.from_dict({"privacy": {"epsilon": 3}, "columns": columns}))
    values = {group.name: group.mechanism.inputs.values for group in law.groups}  # type: ignore[attr-defined]
    assert str(values) == "{'number': (0, 1), 'flag': (False, True)}"


def test_a_plan_with_delta_and_one_without_share_the_laws_without(calls: Callable[[Any, str], Counter[Any]]) -> None:
    """One law for each promise, and one whose answers shape the noise of both."""
    made = calls(recipe, "table_law")
    recipe._laws_keeping.cache_clear()
    recipe._answers_at.cache_clear()
    dp.expected_answers(CENTRAL, rows=ROWS)
    assert sum(made.values()) == 3
    pure = dp.Plan.from_dict({**CENTRAL, "privacy": {**CENTRAL["privacy"], "delta": "0"}})  # type: ignore[dict-item]
    law = expect.law_of(pure)
    assert sum(made.values()) == 3 and law.plan is pure


def test_one_even_table_serves_all_questions(calls: Callable[[Any, str], Counter[Any]]) -> None:
    made = calls(answer, "EvenTable")
    answer.even_table.cache_clear()
    assert len(dp.expected_answers(CENTRAL, rows=ROWS)) == len(COLUMNS)
    assert sum(made.values()) == 1


def test_the_epsilon_of_a_row_is_found_by_few_laws(calls: Callable[[Any, str], Counter[Any]]) -> None:
    made = calls(local_recipe, "_certified")
    law = expect.law_of(dp.Plan.from_dict({**SHUFFLED, "columns": COLUMNS}))
    assert sum(made.values()) <= 6 and 1 < law.plan.privacy.epsilon < 12


def test_the_epsilon_of_a_half_width_is_found_by_few_laws(calls: Callable[[Any, str], Counter[Any]]) -> None:
    made = calls(expect, "certify_tables")
    found = dp.least_epsilon(CENTRAL, rows=ROWS, question="", column="town", half_width=20)["epsilon"]["central"]
    assert sum(made.values()) <= 6 and found is not None


HOBBIES = [f"hobby {n}" for n in range(5)]
SETS = {"hobbies": {"space": "subsets", "values": HOBBIES}, "town": TOWN}
BY_HOBBY = "SELECT unnest(hobbies) AS item, count(*) AS n FROM data GROUP BY item"


def test_what_a_row_does_to_the_sums_is_the_same_at_every_price(calls: Callable[[Any, str], Counter[Any]]) -> None:
    made = calls(curator_recipe, "effects")
    expect._asked_of.cache_clear()
    asked = {"privacy": {"epsilon": 1}, "columns": SETS}
    found = dp.least_epsilon(asked, rows=ROWS, question=BY_HOBBY, column="n", half_width=20)["epsilon"]
    assert found["ask"] is not None and sum(made.values()) == 1


def test_a_move_is_worked_out_once(calls: Callable[[Any, str], Counter[Any]]) -> None:
    made = calls(sensitivity, "_different")
    table = Schema("data", {"sex": Categories(["f", "m"])})
    question = dp.Select().count().group_by("sex").question()
    found = sensitivity.effects(table, [question], [sensitivity.Coordinate(0, ((Fraction(1), Term((), None)),))])
    asked = [(power, weights) for power in (1, 2) for weights in (None, (Fraction(1),), (Fraction(3),))]
    first = [found.largest("change-one", power=power, weights=weights) for power, weights in asked]
    counted = sum(made.values())
    again = [found.largest("change-one", power=power, weights=weights) for power, weights in asked]
    assert [size for size, *_ in first] == [2, 2, 6, 2, 2, 18] and again == first
    assert sum(made.values()) == counted


def test_where_no_epsilon_will_do_few_are_tried(calls: Callable[[Any, str], Counter[Any]]) -> None:
    made = calls(expect, "certify_row")
    pay = {"space": "interval", "low": 0, "high": 500_000}
    mean = "SELECT avg(pay) AS a FROM data WHERE town = 'a'"
    asked = {"privacy": {"epsilon": "0.01"}, "columns": {"town": TOWN, "pay": pay}}
    found = dp.least_epsilon(asked, rows=60, question=mean, column="a", half_width=1)["epsilon"]
    assert found["local"] is None and sum(made.values()) <= 4

"""What is known is not worked out again: laws are counted, as time is not looked at in tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import dproof as dp
from dproof.advice import expect
from dproof.central import answer, recipe
from dproof.local import recipe as local_recipe

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
    assert sum(made.values()) <= 10 and 1 < law.plan.privacy.epsilon < 12


def test_the_epsilon_of_a_half_width_is_found_by_few_laws(calls: Callable[[Any, str], Counter[Any]]) -> None:
    made = calls(expect, "certify_tables")
    found = dp.least_epsilon(CENTRAL, rows=ROWS, question="", column="town", half_width=20)["epsilon"]["central"]
    assert sum(made.values()) <= 6 and found is not None

"""Every answer is a refusal in one sentence, or holds the truth: all askers, aggregates, shapes, columns."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from dproof import Answer, Cell, InputError
from tests.contract import matrix
from tests.contract.matrix import ASKERS, CALLS, KINDS, Case, calls, cases, outcome, wrong

KINDS_TRIED, CASES_TRIED = 3, 14  # of each asker, and of each of its kinds


def sample() -> list[Case]:
    """A few cases of each asker, the same in every run."""
    some, chosen = random.Random(28), []
    for asker in ASKERS:
        for kind in some.sample(KINDS, KINDS_TRIED):
            chosen += some.sample(cases(asker, kind), CASES_TRIED)
    return chosen


def test_a_sample_of_all_questions_is_refused_in_a_sentence_or_answered_by_intervals_that_hold() -> None:
    assert [problem for case in sample() if (problem := wrong(case)) is not None] == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("asker", ASKERS)
def test_every_question_is_refused_in_a_sentence_or_answered_by_intervals_that_hold(asker: str, kind: str) -> None:
    assert [problem for case in cases(asker, kind) if (problem := wrong(case)) is not None] == []


@pytest.mark.parametrize("kind", ["number with a heap", "number"])  # which may be negative
@pytest.mark.parametrize("asker", ["local", "sampled"])
def test_numbers_under_wide_noise_hold_under_conditions_on_any_column(asker: str, kind: str) -> None:
    asked = ("count(*)", "sum(v)", "avg(v)", "median(v)")
    shapes = ("where", "where another", "where either", "grouped", "grouped where")
    tried = [Case(asker, call, shape, kind) for call in asked for shape in shapes]
    assert [problem for case in tried if (problem := wrong(case)) is not None] == []


def test_moments_of_dates_in_bins_hold_wherever_the_dates_lie_in_their_bins() -> None:
    calls, shapes = ("avg(v)", "var(v)", "stddev_pop(v)"), ("alone", "filtered", "grouped", "where")
    tried = [Case("central", call, shape, "date") for call in calls for shape in shapes]
    found = {f"{case}, seed {seed}": outcome(case, seed) for case in tried for seed in (1, 2, 3)}
    assert {case: told for case, told in found.items() if told != "held"} == {}


def test_a_deviation_of_numbers_in_bins_may_be_part_of_a_calculation() -> None:
    askers = [asker for asker in ASKERS if asker.startswith("central")]
    shapes, kinds = ("of its mean", "twice", "per row", "last"), ("number in bins", "number, some missing")
    tried = [Case(asker, "stddev(v)", shape, kind) for asker in askers for kind in kinds for shape in shapes]
    found = {str(case): outcome(case) for case in tried}
    assert {case: told for case, told in found.items() if told not in ("refused", "held")} == {}


def test_every_aggregate_is_asked() -> None:
    from dproof.questions.aggregates import AGGREGATES

    assert len(CALLS) == len(list(calls()))  # no two are written alike
    assert {id(definition) for definition in CALLS.values()} == set(map(id, AGGREGATES.values()))


def _moved(answer: Answer) -> Answer:
    """Every interval far beyond where it was."""

    def moved(cell: Any) -> Any:
        has_interval = isinstance(cell, Cell) and cell.low is not None
        return replace(cell, low=cell.low + 1e6, high=cell.high + 1e6) if has_interval else cell

    return replace(answer, rows=[{name: moved(cell) for name, cell in row.items()} for row in answer.rows])


def _failing(error: Exception) -> Callable[[Answer], Answer]:
    def fail(answer: Answer) -> Answer:
        raise error

    return fail


@pytest.mark.parametrize(
    ("spoil", "found"),
    [
        (_moved, "missed"),
        (_failing(KeyError("v")), "an error in dproof itself"),
        (_failing(InputError("one line\nand another")), "a refusal in more than a sentence"),
        (_failing(InputError("")), "a refusal in more than a sentence"),
    ],
)
def test_the_contract_notices_what_breaks_it(spoil: Any, found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case("central", "avg(v)", "grouped", "number")
    assert outcome(case) == "held" and wrong(case) is None
    whole = matrix.asker
    monkeypatch.setattr(matrix, "asker", lambda *named: lambda sql: spoil(whole(*named)(sql)))
    assert outcome(case).startswith(found) and wrong(case) is not None

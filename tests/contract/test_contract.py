"""Every answer is a refusal in one sentence, or holds the truth: all askers, aggregates, shapes, columns."""

from __future__ import annotations

import random

import pytest

from tests.contract.matrix import ASKERS, CALLS, CASES, KINDS, Case, calls, outcome, wrong

KINDS_TRIED, CASES_TRIED = 3, 14  # of each asker, and of each of its kinds


def sample() -> list[Case]:
    """A few cases of each asker, the same in every run."""
    some, chosen = random.Random(28), []
    for asker in ASKERS:
        for kind in some.sample(KINDS, KINDS_TRIED):
            chosen += some.sample([case for case in CASES if (case.asker, case.kind) == (asker, kind)], CASES_TRIED)
    return chosen


def test_a_sample_of_all_questions_is_refused_in_a_sentence_or_answered_by_intervals_that_hold() -> None:
    cases = sample()
    assert [problem for case in cases if (problem := wrong(case)) is not None] == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("asker", ASKERS)
def test_every_question_is_refused_in_a_sentence_or_answered_by_intervals_that_hold(asker: str, kind: str) -> None:
    cases = [case for case in CASES if (case.asker, case.kind) == (asker, kind)]
    assert [problem for case in cases if (problem := wrong(case)) is not None] == []


@pytest.mark.parametrize("call", ["avg(v)", "var(v)", "stddev_pop(v)"])
@pytest.mark.parametrize("shape", ["alone", "filtered", "grouped", "where"])
def test_moments_of_dates_in_bins_hold_wherever_the_dates_lie_in_their_bins(call: str, shape: str) -> None:
    assert {outcome(Case("central", call, shape, "date"), seed) for seed in (1, 2, 3)} == {"held"}


@pytest.mark.parametrize("asker", [asker for asker in ASKERS if asker.startswith("central")])
@pytest.mark.parametrize("shape", ["of its mean", "twice", "per row", "last"])
@pytest.mark.parametrize("kind", ["number in bins", "number, some missing"])
def test_a_deviation_of_numbers_in_bins_may_be_part_of_a_calculation(asker: str, shape: str, kind: str) -> None:
    assert outcome(Case(asker, "stddev(v)", shape, kind)) in ("refused", "held")


def test_every_aggregate_is_asked() -> None:
    from dproof.questions.aggregates import AGGREGATES

    assert len(CALLS) == len(list(calls()))  # no two are written alike
    assert {id(definition) for definition in CALLS.values()} == set(map(id, AGGREGATES.values()))

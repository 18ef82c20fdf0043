"""± that is told before there is data is that of the answers to the same question on an even table, in every model."""

from __future__ import annotations

import random

import pytest

from tests.contract.expected import ASKERS, problem
from tests.contract.matrix import KINDS, Case, cases

CASES_TRIED = 14  # of each asker, all about one kind of column


def sample() -> list[Case]:
    some, chosen = random.Random(30), []
    for asker in ASKERS:
        kind = some.choice(KINDS)
        chosen += some.sample(cases(asker, kind), CASES_TRIED)
    return chosen


def test_a_sample_of_answers_has_the_widths_that_were_told() -> None:
    assert [found for case in sample() if (found := problem(case)) is not None] == []


@pytest.mark.parametrize("shape", ["having twice", "first", "last"])
@pytest.mark.parametrize("asker", ["local", "sampled"])
def test_no_width_is_told_where_what_chooses_rows_is_refused(asker: str, shape: str) -> None:
    """A median cannot be calculated with: this was told of a median that was selected beside 2 * median(v)."""
    for kind in ("numeric category", "number in bins"):
        assert [problem(Case(asker, call, shape, kind)) for call in ("median(v)", "quantile(v, 0.25)")] == [None, None]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("asker", ASKERS)
def test_every_answer_has_the_width_that_was_told(asker: str, kind: str) -> None:
    assert [found for case in cases(asker, kind) if (found := problem(case)) is not None] == []

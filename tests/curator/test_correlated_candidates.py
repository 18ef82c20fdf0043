"""Every candidate for the sums of a correlation is one of which there is a correlation, however few its rows are."""

from __future__ import annotations

import numpy as np
import pytest

from dproof import Plan, Privacy
from dproof.coins import current
from dproof.curator.answer import NoisyCalculation
from dproof.curator.recipe import measure
from dproof.plans.plan import schema_of
from dproof.questions.sums import Term, value_of
from dproof.testing import seeded_coins
from tests.makers import resolved

NUMBERS = {"space": "interval", "low": 0, "high": 10}
PLAN = Plan.from_dict({"privacy": {"epsilon": 10}, "columns": {"x": NUMBERS, "y": NUMBERS}})


@pytest.mark.parametrize("rows", [1, 6])
def test_the_correlation_of_every_candidate_is_between_minus_1_and_1(rows: int) -> None:
    schema = schema_of(PLAN)
    question = resolved("SELECT corr(x, y) AS c FROM data WHERE x > 2", schema)
    (correlation,) = question.aggregates
    noises = {part.statistic: part.noise for part in measure(question, schema, Privacy(1)).noisy if part.noise}
    released = {term: np.array([float(rows if term.columns == () else 0)]) for term in noises}
    with seeded_coins(4):
        drawn = {term: noise.law.draw(400, current()).reshape(400, 1).astype(float) for term, noise in noises.items()}
    with np.errstate(all="ignore"):
        candidates, _ = NoisyCalculation(correlation, noises, schema).candidates_not_ruled_out(released, drawn, 0.95)
    (count,) = [values for term, values in candidates.items() if isinstance(term, Term) and term.columns == ()]
    assert (count < 2).sum() > 50 < (count >= 2).sum()
    value = value_of(correlation, candidates, schema, clip=False)
    assert np.all(np.abs(value) <= 1 + 1e-9) and np.unique(value[count < 2]).size > 10

"""An expression counts as affine where its value is a constant plus a multiple of each noisy number in it."""

from __future__ import annotations

import numpy as np
import pytest

from dproof import Interval
from dproof.curator.answer import is_affine
from dproof.questions.question import Schema, aggregates_of
from dproof.questions.sums import terms, value_of
from tests.makers import resolved

SCHEMA = Schema("data", {"x": Interval(0, 10, step=1)})


@pytest.mark.parametrize(
    "asked",
    [
        "count(*)",
        "3 * count(*) + 2",
        "count(*) * 3 - 1",
        "count(*) / 4 - sum(x)",
        "2 - 3 * sum(x) / 5",
        "count(*) * count(*)",
        "sum(x) * count(*)",
        "5 / count(*)",
        "sum(x) / count(*)",
        "2 * (5 / count(*))",
        "(5 / count(*)) * 2",
        "count(*) + avg(x)",
    ],
)
def test_an_affine_expression_is_halfway_between_its_values(asked: str) -> None:
    expression = resolved(f"SELECT {asked} AS a FROM data", SCHEMA).select[0].expression
    needed = {term: None for aggregate in aggregates_of(expression) for term in terms(aggregate, SCHEMA)}
    ends = [{term: np.array([float(n)]) for n, term in enumerate(needed, start)} for start in (40, 60)]
    middle = {term: (ends[0][term] + ends[1][term]) / 2 for term in needed}
    low, high, between = (value_of(expression, stats, SCHEMA)[0] for stats in (*ends, middle))
    straight = bool(between == pytest.approx((low + high) / 2, rel=1e-9))
    assert is_affine(expression, SCHEMA, lambda term: False) is straight

"""Advice about a sum of a column in which values may be missing."""

from __future__ import annotations

import dproof as dp

KIDS = {"space": "categories", "values": [0, 1, 2, 3], "missing": 0}  # what lies outside of it is missing


def test_a_sum_of_numbers_that_may_be_missing_is_compared() -> None:
    plan = {"privacy": {"epsilon": 4}, "columns": {"kids": KIDS}}
    (found,) = dp.advise(plan, rows=4000, questions="SELECT sum(kids) AS s FROM data").comparisons
    # Laplace noise on whole numbers with a = e^(−4/3), P(|noise| > 2) = 2a³/(1 + a) < 5%.
    assert found.release is not None and found.ask == 2.0 and found.break_even is not None and found.break_even > 1

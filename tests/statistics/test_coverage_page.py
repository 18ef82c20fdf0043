"""The page of coverage is made anew, and every figure on it is as promised."""

from __future__ import annotations

import pytest

from tests.statistics import coverage


@pytest.mark.slow
def test_intervals_cover_as_often_as_they_say() -> None:
    found = coverage.measure_all()
    coverage.PAGE.write_text(coverage.page(found), "utf-8")
    assert coverage.outside(found) == []


def test_a_case_is_measured() -> None:
    found = coverage.measure(("skewed, a fifth missing", 500, 6), times=2)
    assert found["count of a category"].told == 2 and set(found) == set(coverage.QUESTIONS)

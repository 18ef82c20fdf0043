"""The page of coverage is made anew, and every figure on it is as promised."""

from __future__ import annotations

import pytest

from tests.statistics import coverage
from tests.statistics.coverage_cases import SECTIONS, Section


@pytest.mark.slow
def test_intervals_cover_as_often_as_they_say() -> None:
    found = coverage.measure_all()
    coverage.PAGE.write_text(coverage.page(found), "utf-8")
    assert coverage.outside(found) == []


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.title)
def test_a_case_is_measured(section: Section) -> None:
    if section not in coverage.present():
        pytest.skip(f"{section.needs} is not here: set DPROOF_DATA to the folder that has it")
    found = coverage.measure(section, next(iter(section.cases)), range(1))
    assert set(found) == set(section.questions) and all(covered.asked for covered in found.values())

"""What the page says that a person can deny: what the neighbours of the promise are about."""

from __future__ import annotations

from fractions import Fraction
from html import unescape
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof import Privacy
from dproof.meaning import Range, in_words, posterior
from dproof.report.page import deniability_section


@pytest.mark.parametrize(
    ("neighbours", "told"),
    [
        ("change-one", ["which of two things is true of one person", "two equally likely values of a row"]),
        ("add-remove", ["whether one person is in the table, and believes it", "whether a person is in the table"]),
    ],
)
def test_the_page_speaks_of_what_is_protected(neighbours: str, told: list[str]) -> None:
    page = deniability_section(Privacy(1, neighbours=neighbours))  # type: ignore[arg-type]
    assert all(text in page for text in told) and "73.1%" in page and "except" not in page and "Both" not in page


@pytest.mark.parametrize(("delta", "failure"), [("1e-6", "0.00000237"), ("0.05", "0.119"), ("0.3", "0.711")])
def test_with_delta_a_belief_has_exceptions_and_the_page_says_why_both_figures_are_true(
    delta: str, failure: str
) -> None:
    promise = Privacy(1, delta)
    said = f"within this range, except with probability {failure} at most."  # (2 + 1/e)δ, rounded up
    assert said in deniability_section(promise) and "Both figures are true" in deniability_section(promise)
    assert in_words(promise)["belief"].endswith(said) and "except with probability" in in_words(promise)["odds"]


@pytest.mark.parametrize("delta", ["0.5", "1"])
def test_a_delta_that_promises_nothing_about_a_belief_has_no_range(delta: str) -> None:
    promise = Privacy(1, delta)
    assert posterior(promise, "0.5") == Range(Fraction(0), Fraction(1))
    page = deniability_section(promise)
    assert "the belief may be anything" in page and "84.5%" not in page and "0% to 100%" in page
    assert not any("factor of at most" in said for said in in_words(promise).values())


@pytest.mark.parametrize(
    ("privacy", "said"),
    [
        ({}, "if one person's row had been different, everything"),
        ({"neighbours": "add-remove"}, "if one person's row had been absent, everything"),
        ({"rows_per_person": 2}, "if one person's rows had been different, or absent, everything"),
    ],
)
def test_the_page_of_measured_tables_compares_what_its_neighbours_are(privacy: Any, said: str, tmp_path: Path) -> None:
    columns = {"a": {"space": "categories", "values": ["x", "y"]}}
    plan = {"privacy": {"model": "central", "epsilon": 1, **privacy}, "columns": columns}
    dp.sanitise(pa.table({"a": ["x", "y"]}), plan, tmp_path / "out")
    assert said in " ".join(unescape((tmp_path / "out" / "report.html").read_text("utf-8")).split())


def test_a_person_with_several_rows_can_deny_what_all_of_them_leave_open(tmp_path: Path) -> None:
    """A row had ε = 1, and what was told of a person with three was that of a row: 73.1 %."""
    columns = {"a": {"space": "categories", "values": ["x", "y"]}}
    plan = {"privacy": {"epsilon": 1, "delta": "1e-6", "rows_per_person": 3}, "columns": columns}
    dp.sanitise(pa.table({"a": ["x", "y"]}), plan, tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "For the 3 rows together that a person may have, ε is 3 and δ is 0.000003." in page
    assert deniability_section(Privacy(3, "3e-6"), 3) in page and "most 73.1%" not in page
    assert "guessing between two equally likely values of the 3 rows of a person is right at most 95.3%" in page
    assert "(ε × r, δ × r)" in page

"""What the page says that a person can deny: what the neighbours of the promise are about."""

from __future__ import annotations

import pytest

from dproof.privacy import Privacy
from dproof.report.page import denial


@pytest.mark.parametrize(
    ("neighbours", "told"),
    [
        ("change-one", ["which of two things is true of one person", "two equally likely values of a row"]),
        ("add-remove", ["whether one person is in the table, and believes it", "whether a person is in the table"]),
    ],
)
def test_the_page_speaks_of_what_is_protected(neighbours: str, told: list[str]) -> None:
    page = denial(Privacy(1, neighbours=neighbours))  # type: ignore[arg-type]
    assert all(text in page for text in told) and "73.1%" in page

"""A law with a weight below 0 is refused, even where all weights together are a total above 0."""

from __future__ import annotations

import pytest

from dproof import InputError
from dproof.laws import SubsetSelection


@pytest.mark.parametrize(("high", "low"), [(5, -1), (-1, 5)])
def test_subset_selection(high: int, low: int) -> None:
    with pytest.raises(InputError, match="at least 0"):
        SubsetSelection(3, 1, high, low)

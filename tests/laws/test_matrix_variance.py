"""The variance that a matrix law gives a count of one value, and none for a law that cannot be undone."""

from __future__ import annotations

import numpy as np
import pytest

from dproof import Categories
from dproof.laws import Matrix

SPACE = Categories(["a", "b", "c"])


def test_a_singular_law_has_no_variance() -> None:
    """Inputs b and c have the same law: nothing tells them apart, although a is told apart from both."""
    assert Matrix(np.array([[6, 1, 1], [2, 3, 3], [2, 3, 3]]), 8).count_variance(SPACE) is None


def test_a_law_with_fewer_outputs_has_no_variance() -> None:
    assert Matrix(np.array([[6, 2], [2, 6], [4, 4]]), 8).count_variance(SPACE) is None


def test_randomised_response_has_the_variance_of_the_textbook() -> None:
    """A row counts (1{y = v} − q)/(p − q) towards v: the variance is p(1 − p)/(p − q)², or q for p with other rows."""
    p, q = 6 / 8, 1 / 8
    worst = max(p * (1 - p), q * (1 - q)) / (p - q) ** 2
    law = Matrix(np.array([[6, 1, 1], [1, 6, 1], [1, 1, 6]]), 8)
    assert law.count_variance(SPACE) == pytest.approx(worst)

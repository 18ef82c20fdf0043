"""How many numbers a vector of K-norm noise may have: each norm up to its end, and nothing beyond."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dproof import InputError
from dproof.laws.k_norm import KNorm


@pytest.mark.parametrize(("norm", "most"), [("l2", 10), ("linf", 1024)])
def test_a_vector_has_so_many_numbers_and_no_more(norm: Any, most: int) -> None:
    for terms in (1, most):
        assert KNorm(norm, terms, 1, Fraction(1, 2)).terms == terms
    for terms in (0, most + 1):
        with pytest.raises(InputError, match=f"1 to {most} terms"):
            KNorm(norm, terms, 1, Fraction(1, 2))

"""How many scales the table of the top digit has: seven, or three where the last weights would be rounded too much."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dproof.laws.laplace import two_sided


@pytest.mark.parametrize(("power", "scales", "width"), [(46, 7, 16), (48, 3, 64)])
def test_the_widest_noise_has_a_shorter_table(power: int, scales: int, width: int) -> None:
    law = two_sided(1 + Fraction(1, 1 << power))
    assert law.unit == 128**6 and {len(table) for table in law.top} == {scales * width + 3}


def test_no_delta_is_above_1() -> None:
    assert two_sided(Fraction(2)).delta_vector(Fraction(1), 1000, 1000) == 1

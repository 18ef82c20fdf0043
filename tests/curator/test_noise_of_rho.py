"""The Gaussian noise that a price in ρ buys: its table, at the widths where the table changes."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dproof import Cost, TooLarge
from dproof.curator.recipe import _gaussian_table, gaussian_noises

PRICE = Cost(Fraction(1), Fraction("1e-6"), Fraction(1, 2))


@pytest.mark.parametrize(("sigma", "unit"), [(4096, 1), (4097, 3), (8192, 3), (8193, 5), (1 << 50, (1 << 39) - 1)])
def test_a_cell_holds_an_odd_number_of_values_and_the_variance_stays(sigma: int, unit: int) -> None:
    law = _gaussian_table(Fraction(sigma**2))
    assert law.unit == unit and law.square * unit**2 == sigma**2


def test_what_is_wider_than_sums_may_be_is_refused() -> None:
    with pytest.raises(TooLarge, match="too wide"):
        _gaussian_table(Fraction(((1 << 50) + 1) ** 2))


def test_noise_is_as_wide_as_rho_asks_and_a_little_more_where_it_comes_in_cells() -> None:
    """ρ = move²/2σ²: with ρ = 1/2, σ is the move. In cells a number may move by one cell more; σ has 1365."""
    for moved, most in ((100, 1.000001), (10**5, 1365 / 1364)):
        noises, _ = gaussian_noises(PRICE, {0: Fraction(1)}, {0: moved**2}, Fraction(moved**2), 1)
        law = noises[0].law
        sigma = float(law.square) ** 0.5 * law.unit  # type: ignore[union-attr]
        assert moved <= sigma <= most * moved

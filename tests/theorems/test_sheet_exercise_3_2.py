"""The sheet, sections 2 and 3 and Exercise 3.2: Laplace noise by l1 sensitivity, and the noisy histogram.

One record lies in one bin, so under add-remove the histogram has l1 sensitivity 1 and Lap(1/ε) per bin is ε-private.
Under change-one two bins move, by one each: exactly 2ε, and on the real line δ(t) = 1 − e^(−c)(1 + c/2), c = ε − t/2.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp, prod

import pytest

from dproof import Privacy
from dproof.certification.compose import PrivacyLoss, compose_losses
from dproof.exact import exp_below
from dproof.laws import TwoSided
from dproof.laws.laplace import two_sided
from dproof.mechanisms.noise import integer_laplace


def laplace_loss(law: TwoSided, shift: int) -> PrivacyLoss:
    """Lattice Laplace noise under a shift of D: P(s) for s = x cut to [0, D], mirrored for Q.

    P = c·L + (1 − c)·N with the ideal law L, see `TwoSided.delta_vector`; what is not L counts as shown.
    """
    u, v = (1 / law.ratio).as_integer_ratio()
    first, last = v ** (shift + 1), u**shift * v
    ideal = [first, *((v - u) * u**s * v ** (shift - s) for s in range(1, shift)), last]
    total = v**shift * (u + v)
    missing = max(Fraction(0), 1 - law.probability(0) * (1 + law.ratio) / (law.ratio - 1))
    shown = -(-missing * total // 1)
    return PrivacyLoss.of([(shown, 0), *zip(ideal, reversed(ideal), strict=True)], total, tight=False)


def test_the_density_ratio_of_a_histogram_is_at_most_e_to_the_epsilon() -> None:
    noise = integer_laplace(1, Privacy("0.7", neighbours="add-remove"))
    assert noise.epsilon() == pytest.approx(0.7, abs=1e-12)
    before, after = (3, 0, 2), (3, 1, 2)  # one record more, in the second bin
    window = range(-3, 8)

    def density(seen: tuple[int, ...], counts: tuple[int, ...]) -> Fraction:
        return prod((noise.probability(y - c) for y, c in zip(seen, counts, strict=True)), start=Fraction(1))

    ratios = [density(y, after) / density(y, before) for y in product(window, repeat=3)]
    assert 2 < float(max(ratios)) <= exp(0.7)


def test_under_change_one_two_bins_move_and_the_cost_is_exactly_doubled() -> None:
    one_bin = laplace_loss(two_sided(exp_below(Fraction(1, 2))), 1)
    two_bins = compose_losses([one_bin, one_bin])
    assert two_bins.worst(exp_below(Fraction(999, 1000))) > Fraction(1, 10**6)
    assert two_bins.worst(exp_below(Fraction(1))) < Fraction(1, 10**15)
    assert Privacy("0.5", neighbours="add-remove").restated("change-one").epsilon == 1
    for total in (1, 2):  # either way of saying it buys the same noise
        assert integer_laplace(total, Privacy(total)).law.ratio == integer_laplace(1, Privacy(1)).law.ratio


def test_the_profile_of_two_bins_on_the_real_line() -> None:
    """Lap(1), substitution: δ(1) = 0.2418366754, δ(2) = 0; a lattice of 50 steps comes within 1e-5."""
    c = 1 - 1 / 2
    assert 1 - exp(-c) * (1 + c / 2) == pytest.approx(0.2418366754, abs=1e-10)
    bin_ = laplace_loss(integer_laplace(50, Privacy(1)).law, 50)
    assert compose_losses([bin_, bin_]).delta(1) == pytest.approx(0.2418366754, abs=1e-5)
    assert compose_losses([bin_, bin_]).delta(2) < 1e-12


@pytest.mark.parametrize("delta", ["0", "0.01", "0.2"])
def test_a_vector_needs_what_its_l1_norm_needs_in_one_coordinate(delta: str) -> None:
    """The exact scale is Δ₁/(ε − 2 ln(1 − δ)) in any dimension."""
    scalar = integer_laplace(6, Privacy(1, delta), coordinates=1)
    vector = integer_laplace(6, Privacy(1, delta))
    assert vector.absolute == pytest.approx(scalar.absolute, rel=1e-6)
    assert vector.meets(Privacy(1, delta))

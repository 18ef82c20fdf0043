"""The pair of inputs that is named with tight odds is the one that needs them, and not the worst at other odds."""

from __future__ import annotations

from fractions import Fraction

from dproof.laws import Lattice, OptionalLaw
from dproof.laws.laplace import two_sided


def test_the_pair_of_tight_odds_is_that_of_these_odds() -> None:
    law, missing = OptionalLaw(Lattice(3, two_sided(Fraction(2))), 7, 3, 8), 3
    assert law.odds(Fraction(0)).value == 5  # a missing value is shown as missing so many times as often as another
    assert (law.odds(Fraction(0)).source, law.odds(Fraction(0)).target) == (missing, 2)
    assert (law.worst(Fraction(1)).source, law.worst(Fraction(1)).target) == (2, missing)

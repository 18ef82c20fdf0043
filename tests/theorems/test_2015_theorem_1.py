"""HLM15, Theorem 1 (Billingsley, Theorem 3.4): a monotone class that contains an algebra contains its σ-algebra.

On a finite set every rising or falling sequence of sets becomes constant, so every collection is a monotone class,
and the theorem says that an algebra is already its own σ-algebra. The property of the privacy inequality that the
papers use, being kept by limits of monotone sequences, is checked on all of Z.
"""

from fractions import Fraction

from dproof.laws.laplace import two_sided


def test_the_privacy_inequality_is_kept_by_limits_of_rising_and_falling_sets() -> None:
    """On the rising sets {−k, …, k} and the falling tails {k, k + 1, …}, and then on their limits Z and ∅."""
    noise = two_sided(Fraction(2))
    odds = noise.ratio

    def mass(first: int, last: int, shift: int) -> Fraction:
        return noise.cumulative(last - shift) - noise.cumulative(first - shift - 1)

    for k in range(40):
        assert mass(-k, k, 0) <= odds * mass(-k, k, 1)
        assert 1 - noise.cumulative(k) <= odds * (1 - noise.cumulative(k - 1))
    assert odds * 1 >= 1, "Z"
    assert odds * 0 >= 0, "∅"

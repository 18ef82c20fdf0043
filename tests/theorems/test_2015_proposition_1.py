"""HLM15, Proposition 1: μ(A_i) → μ(∪ A_i) for rising sets, and μ(A_i) → μ(∩ A_i) for falling ones.

The falling half needs μ to be finite, which the statement does not say; all measures here are probabilities. Under
the counting measure on the natural numbers A_i = {i, i + 1, …} is infinite for every i, and the intersection is empty.
"""

from fractions import Fraction

from dproof.laws.two_sided import two_sided


def geometric(k: int) -> Fraction:
    return Fraction(1, 2**k)  # on 1, 2, 3, …


def test_rising_sets() -> None:
    gaps = [1 - sum(geometric(k) for k in range(1, i + 1)) for i in range(1, 60)]
    assert gaps == [Fraction(1, 2**i) for i in range(1, 60)], "which falls to 0, and μ of the union is 1"


def test_falling_sets_under_a_finite_measure() -> None:
    tails = [1 - sum(geometric(k) for k in range(1, i)) for i in range(1, 60)]
    assert tails == [Fraction(2, 2**i) for i in range(1, 60)], "which falls to 0, and the intersection is empty"


def test_falling_sets_under_an_infinite_measure_need_not_converge() -> None:
    """Every A_i holds as many numbers as one likes, so μ(A_i) = ∞; no number is in all of them, so μ(∩) = 0."""

    def in_set(n: int, i: int) -> bool:
        return n >= i

    assert all(sum(in_set(n, i) for n in range(2 * i + 1000)) >= 1000 for i in range(50))
    assert not any(all(in_set(n, i) for i in range(n + 2)) for n in range(50))


def test_noise_on_all_integers_has_no_mass_left_at_infinity() -> None:
    noise = two_sided(Fraction(2))
    outside = [1 - noise.cumulative(k) + noise.cumulative(-k - 1) for k in (1, 10, 100)]
    assert outside[0] > outside[1] > outside[2] > 0
    assert outside[2] < Fraction(1, 2**98)

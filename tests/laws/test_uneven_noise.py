"""Tables of noise that are neither symmetric nor near the ideal: what is said of them follows from their masses."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise

import pytest

from dproof import InputError, TooLarge
from dproof.exact import exp_below
from dproof.laws import Stairs, TwoSided
from dproof.laws.laplace import stairs, two_sided
from dproof.testing import seeded_coins

DIGITS = tuple(range(300, 300 - 128, -1))
LAWS = {
    "one digit": TwoSided((), ((9, 4, 2, 1), (5, 3, 1, 1))),
    "two digits": TwoSided((DIGITS,), ((90, 14, 3), (50, 23, 1))),
}
each_law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)


def masses(law: TwoSided) -> dict[int, Fraction]:
    """On ten blocks to each side: less than one in 10^11 lies beyond."""
    return {k: law.probability(k) for k in range(-10 * law.block, 10 * law.block)}


@each_law
def test_moments_and_variance(law: TwoSided) -> None:
    chances = {k: float(mass) for k, mass in masses(law).items()}
    sums = [sum(f(k) * chance for k, chance in chances.items()) for f in (int, abs, lambda k: k * k)]
    assert [float(moment) for moment in law.moments] == pytest.approx(sums, rel=1e-7)
    assert float(law.variance) == pytest.approx(sums[2] - sums[0] ** 2, rel=1e-7)
    assert abs(sums[0]) > 0.1


@each_law
def test_the_ratio_is_the_largest_of_two_neighbours(law: TwoSided) -> None:
    chances = list(masses(law).values())
    assert law.ratio == max(max(p / q, q / p) for p, q in pairwise(chances))


@pytest.mark.parametrize(
    ("lower", "top", "reach"),
    [
        ((DIGITS[1:],), ((9, 1), (9, 1)), None),
        ((), ((9, 1), (9, 1), (9, 1)), None),
        ((), ((9, 2, 1), (9, 1)), None),
        ((), ((9,), (9,)), None),
        ((), ((9, 0), (9, 1)), None),
        (((0, *DIGITS[1:]),), ((9, 1), (9, 1)), None),
        ((), ((9, 1), (9, 1)), -1),
    ],
)
def test_tables_of_another_shape_are_refused(lower: tuple, top: tuple, reach: int | None) -> None:
    with pytest.raises(InputError, match="128 weights"):
        TwoSided(lower, top, reach)


@pytest.mark.parametrize("ratio", [Fraction(1), Fraction(1, 2)])
def test_noise_that_does_not_fall_is_refused(ratio: Fraction) -> None:
    with pytest.raises(TooLarge, match="coarser step"):
        two_sided(ratio)


def test_noise_that_reaches_nowhere_is_no_noise() -> None:
    assert TwoSided((), ((9, 1), (9, 1)), 0).probability(0) == 1


@pytest.mark.parametrize("ratio", [Fraction(200), Fraction(3), Fraction(7, 5), Fraction(1001, 1000)])
def test_almost_no_word_belongs_to_nobody(ratio: Fraction) -> None:
    law = two_sided(ratio)
    for total in (*map(sum, law.lower), sum(map(sum, law.top))):
        assert 0.99 < total / (1 << 62) <= 1


def test_stairs_are_drawn_through_many_blocks() -> None:
    """An escape in eight, and of those one in four escapes again, and again."""
    law, count = Stairs(3, 2, (4, 2, 1, 1), (2, 1, 1)), 1 << 17
    with seeded_coins(1) as coins:
        drawn = Counter(law.draw(count, coins).tolist())
    for k in range(-40, 41):
        chance = float(law.probability(k))
        assert abs(drawn[k] - count * chance) <= 6 * (count * chance) ** 0.5 + 1


def test_stairs_that_rise_from_one_block_to_the_next_are_refused() -> None:
    Stairs(3, 2, (100, 10, 1), (4, 1, 1))
    Stairs(3, 2, (1, 2, 1), (4, 1, 1))  # the first stair has three cells and the second six: they are equally high
    for first, tail in (((100, 10, 1), (4, 1, 8)), ((100, 10, 1), (1, 4, 1)), ((1, 3, 1), (4, 1, 1))):
        with pytest.raises(InputError):
            Stairs(3, 2, first, tail)


def test_stairs_are_refused_from_a_width_of_two_to_the_fifty_over_epsilon_on() -> None:
    assert stairs(exp_below(Fraction(1)), (1 << 50) - (1 << 10)).width == (1 << 50) - (1 << 10)
    with pytest.raises(TooLarge, match="machine word"):
        stairs(exp_below(Fraction(1)), (1 << 50) + (1 << 10))

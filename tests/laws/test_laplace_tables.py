"""How many scales the table of the top digit has: seven, or three where the last weights would be rounded too much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from dproof import InputError, Interval, Privacy, TooLarge, certify, laplace, staircase, truncated_laplace
from dproof.certification.verify_certificate import verify
from dproof.exact import exp_below
from dproof.laws import Stairs, TwoSided
from dproof.laws.laplace import stairs, two_sided
from dproof.testing import seeded_coins
from tests.makers import row_law


@pytest.mark.parametrize(("power", "scales", "width"), [(46, 7, 16), (48, 3, 64)])
def test_the_widest_noise_has_a_shorter_table(power: int, scales: int, width: int) -> None:
    law = two_sided(1 + Fraction(1, 1 << power))
    assert law.unit == 128**6 and {len(table) for table in law.top} == {scales * width + 3}


def test_no_delta_is_above_1() -> None:
    assert two_sided(Fraction(2)).delta_vector(Fraction(1), 1000, 1000) == 1


# The odds that one step of digit noise can cost are the largest of all neighbouring probabilities, up or down ---------


def _quotients(law: TwoSided) -> Iterator[Fraction]:
    """P(k) / P(k − 1) and its inverse, well beyond the first blocks on both sides."""
    reach = 3 * law.block
    probabilities = [law.probability(k) for k in range(-reach, reach + 1)]
    for one, other in pairwise(probabilities):
        yield max(one / other, other / one)


@pytest.mark.parametrize("epsilon", ["3", "1", "1/3", "1/20"])
def test_of_calibrated_noise(epsilon: str) -> None:
    law = two_sided(exp_below(Fraction(epsilon)))
    assert law.ratio == max(_quotients(law)) <= exp_below(Fraction(epsilon))


@pytest.mark.parametrize("seed", range(12))
def test_of_tables_that_fall_and_rise(seed: int) -> None:
    dice = np.random.default_rng(seed)
    positive, negative = (tuple(map(int, dice.integers(1, 60, 2 + seed % 4))) for _ in range(2))
    law = TwoSided((), (positive, negative), None)
    assert law.ratio == max(_quotients(law))


def test_of_a_table_whose_steepest_step_is_a_rise() -> None:
    law = TwoSided((), ((20, 1, 50, 50), (50, 50, 50, 50)), None)
    assert law.ratio == 50 == max(_quotients(law))


# Tables of noise that are neither symmetric nor near the ideal: what is said of them follows from their masses --------


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
    with pytest.raises(TooLarge):
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


# Noise as wide as whole numbers of 62 bits can hold: it keeps its promise, or a sentence says what to change ----------


@pytest.mark.parametrize(
    ("points", "epsilon"), [(10**12, "1/300"), (10**13, "1/30"), (10**14, "1/2"), (2 * 10**14, "1/2"), (10**9, "1/300")]
)
def test_wide_laplace_noise_keeps_its_promise(points: int, epsilon: str) -> None:
    privacy = Privacy(epsilon)
    mechanism = laplace(Interval(0, points - 1, 1), privacy)
    certificate = certify(mechanism, privacy)
    assert 0.99 * float(privacy.epsilon) < certificate.epsilon <= float(privacy.epsilon), (
        "and no more noise than needed"
    )
    verify(certificate.to_json())
    with seeded_coins(3):
        drawn = [abs(x) for x in mechanism.draw([0] * 2000)]
    assert float(sum(drawn)) / 2000 == pytest.approx(points / float(privacy.epsilon), rel=0.1)


def test_every_table_keeps_its_ratio_up_to_the_widest() -> None:
    for scale in (1, 100, 10**6, 10**13, *(10**14 * n for n in range(1, 12)), 2**50 - 1):
        ratio = exp_below(Fraction(1, scale))
        law = two_sided(ratio)
        assert law.ratio <= ratio and sum(map(sum, law.top)) < 1 << 63


@pytest.mark.parametrize("make", [laplace, staircase])
def test_what_is_too_wide_is_refused_with_the_way_out(make) -> None:
    with pytest.raises(TooLarge):
        make(Interval(0, 10**13 - 1, 1), Privacy("1/3000"))


def test_a_plan_with_a_million_million_points() -> None:
    columns = {"assets": {"space": "interval", "low": 0, "high": 10**12, "step": 1, "mechanism": "laplace"}}
    law = row_law({"privacy": {"epsilon": "1/300"}, "columns": columns})
    assert law.tight().epsilon <= 1 / 300


def test_truncated_noise_is_refused_where_it_was() -> None:
    with pytest.raises(TooLarge):
        truncated_laplace(Interval(0, 10**15, 1), Privacy("1/30", "1e-6"))

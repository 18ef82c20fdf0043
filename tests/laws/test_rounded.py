"""Numbers rounded at random to a coarse lattice: the law is the mixture that it says, and nearly the best."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from dproof import Interval, Privacy, certify
from dproof.laws import Matrix, RoundedLaw
from dproof.laws import matrix as module
from dproof.laws.law import law_from_json
from dproof.local.mechanisms import choose
from dproof.optimality.design import rounded_design
from dproof.testing import ScriptedCoins, check_mechanism

INNER = Matrix(np.array([[6, 3, 1], [3, 4, 3], [1, 3, 6]]), 10)
# The least worst-case variance of any unbiased law on [−1, 1], by designs of 100 points.
LEAST = {"0.5": 16.0028, "1": 3.9907, "2": 0.8654, "4": 0.1271, "6": 0.02716, "8": 0.00652}


@pytest.mark.parametrize("size", [3, 4, 5, 8, 11])
def test_every_law_is_the_mixture_of_its_neighbours(size: int) -> None:
    law = RoundedLaw(size, 2, INNER)
    for code in range(size):
        place = Fraction(code * 2, size - 1)
        k, f = place.numerator // place.denominator, place % 1
        for y in range(3):
            upper = Fraction(int(INNER.rows[min(k + 1, 2)][y]), 10)
            assert law.probability(code, y) == (1 - f) * Fraction(int(INNER.rows[k][y]), 10) + f * upper
        assert law.weights(code).sum() == law.total


@pytest.mark.parametrize("size", [3, 4, 8])
@pytest.mark.parametrize("tabled", [True, False])
def test_every_word_rounds_as_the_law_says(size: int, tabled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every word of 16 bits, and with it every number below size − 1 that settles it: as many go up as the code lies
    beyond a coarse point, of (size − 1)·2^16."""
    law, seen = RoundedLaw(size, 2, INNER), []
    if not tabled:
        monkeypatch.setattr(module, "_TABLED", 0)
    monkeypatch.setattr(Matrix, "draw", lambda self, codes, coins: seen.append(codes) or codes)
    for code in range(size):
        counts = np.zeros(4, int)
        for settling in range(size - 1):
            monkeypatch.setattr(module, "uniform_below", lambda bounds, coins, n=settling: np.full(len(bounds), n))
            law.draw(np.full(1 << 16, code, np.uint8), ScriptedCoins(np.arange(1 << 16, dtype=np.uint16)))
            counts += np.bincount(seen.pop(), minlength=4)
        k, part = divmod(code * 2, size - 1)
        expected = np.zeros(4, int)
        expected[[k, k + 1]] = (size - 1 - part) << 16, part << 16
        assert counts.tolist() == expected.tolist()


@pytest.mark.parametrize("points", [10**7, 1 << 48])
def test_the_longest_intervals_are_rounded_as_well(points: int) -> None:
    space, privacy = Interval(0, points - 1, 1), Privacy(1)
    mechanism = rounded_design(space, privacy)
    moments, half = mechanism.bias_and_variance(), (points - 1) / 2
    assert moments is not None and moments.variance / half**2 == pytest.approx(LEAST["1"], rel=0.02)
    assert mechanism.epsilon() <= 1 and law_from_json(mechanism.family.to_json()).inputs == points
    assert choose(space, privacy, uses=frozenset({"sums"})).name == mechanism.name  # and not Laplace noise


def test_no_pair_of_inputs_is_farther_apart_than_rows_are() -> None:
    law = RoundedLaw(11, 2, INNER)
    whole = Matrix(np.array([law.weights(n) for n in range(11)]), law.total)
    for odds in (Fraction(1), Fraction(2), Fraction(5)):
        assert law.worst(odds).value == whole.worst(odds).value
    assert law.odds(Fraction(0)).value == whole.odds(Fraction(0)).value == 6


@pytest.mark.parametrize("epsilon", LEAST)
@pytest.mark.parametrize("interval", [Interval(-1, 1), Interval(0, 110, 1), Interval(-5, 1004, 1)], ids=str)
def test_the_largest_variance_is_within_two_percent_of_the_best(epsilon: str, interval: Interval) -> None:
    if interval.size < 500 and float(epsilon) > 4:
        pytest.skip("so few points are designed themselves")
    made = rounded_design(interval, Privacy(epsilon))
    of = made.bias_and_variance()
    assert of.bias < 1e-9 * float(interval.diameter)
    assert of.variance <= 1.02 * LEAST[epsilon] * (float(interval.diameter) / 2) ** 2
    assert made.epsilon() <= float(epsilon)
    certify(made, Privacy(epsilon))


@pytest.mark.parametrize("high", [60, 61, 97])
def test_bias_variance_and_error_are_those_of_the_matrix(high: int) -> None:
    """Sixty steps are divided by those of the coarse lattice, and 61 and 97 by none."""
    made = rounded_design(Interval(0, high, 1), Privacy(2))
    check_mechanism(made)
    assert made.error == max(made.expected_errors())
    law, points = made.matrix(), made.outputs.numbers(np.arange(made.outputs.size)).astype(float)
    means = law @ points
    of = made.bias_and_variance()
    largest = (law @ points**2 - means**2).max()
    assert np.abs(means - np.arange(high + 1)).max() < 1e-9
    assert largest <= of.variance + 1e-9 and of.variance < 1.003 * largest


def test_the_largest_variance_may_lie_at_a_coarse_point() -> None:
    """0 becomes −10 or 10, and 1 stays 1: in between the variance only falls."""
    law = RoundedLaw(11, 1, Matrix(np.array([[1, 0, 0, 1], [0, 0, 2, 0]]), 2))
    released = SimpleNamespace(numbers=lambda codes: np.array([-10.0, 0.0, 1.0, 10.0])[codes])
    bias, variance = law.bias_and_variance(Interval(0, 1, "0.1").line, released)
    assert (bias, variance) == pytest.approx((0, 100))


def test_it_is_read_back_from_its_record() -> None:
    law = RoundedLaw(8, 2, INNER)
    again = law_from_json(law.to_json())
    assert again.to_json() == law.to_json() and again.weights(3).tolist() == law.weights(3).tolist()


@pytest.mark.parametrize("epsilon", ["1", "3"])
def test_a_missing_number_is_hidden_as_well(epsilon: str) -> None:
    made = rounded_design(Interval(0, 60, 1), Privacy(epsilon)).with_missing(Privacy(epsilon))
    assert made.epsilon() <= float(epsilon) and made.family.inputs == 62
    whole = Matrix(np.array([made.family.weights(n) for n in range(62)]), made.family.total)
    assert whole.odds(Fraction(0)).value == made.family.odds(Fraction(0)).value

"""What is promised of a number plus noise, recomputed from the whole numbers of its record and from nothing else."""

from __future__ import annotations

import copy
from fractions import Fraction
from itertools import accumulate, pairwise
from math import lcm
from typing import Any

import numpy as np
import pytest

from dproof import (
    Categories,
    InputError,
    Interval,
    Mechanism,
    NotPrivate,
    Privacy,
    TooLarge,
    VerificationFailed,
    bounded_laplace,
    certify,
    gaussian,
    laplace,
    staircase,
    subset_selection,
    truncated_laplace,
    unary_encoding,
)
from dproof.certification.verify_certificate import Refused, verify
from dproof.exact import exp_below
from dproof.laws.divergence import profile_odds
from dproof.laws.laplace import stairs, two_sided
from dproof.laws.law import read_number
from dproof.mechanisms.noise import integer_laplace
from dproof.testing import seeded_coins
from tests.brute_force import Chances, noise_chances
from tests.forging import resealed


def whole_numbers(law: Chances) -> tuple[dict[int, int], int]:
    total = lcm(*(p.denominator for p in law.values()))
    return {k: int(p * total) for k, p in law.items()}, total


def divergence(law: dict[int, int], total: int, shift: int, odds: Fraction) -> Fraction:
    """Σ max(0, P(k) − odds·P(k − shift)), over the values that are listed with their partner unless all are listed."""
    a, b = odds.numerator, odds.denominator
    complete = sum(law.values()) == total
    listed = ((p, law.get(k - shift, 0)) for k, p in law.items() if complete or k - shift in law)
    return Fraction(sum(max(0, b * p - a * q) for p, q in listed), b * total)


FINE, LONG = Interval(0, 1, "0.02"), Interval(0, 260, 1)
CASES: list[tuple[Mechanism, Privacy]] = [
    (make(space, privacy), privacy)
    for make, space, privacy in [
        (laplace, Interval(0, 18, 1), Privacy(1)),
        (laplace, Interval(0, 18, 1), Privacy("0.5", "0.05")),
        (laplace, Interval(0, 3, 1), Privacy(50)),
        (laplace, Interval(0, 1, 1), Privacy(0, "0.1")),
        (laplace, LONG, Privacy(2, "0.01")),
        (truncated_laplace, FINE, Privacy(1, "0.01")),
        (truncated_laplace, Interval(0, 1, 1), Privacy("0.1", "0.3")),
        (gaussian, Interval(0, 18, 1), Privacy(1, "1e-6")),
        (gaussian, Interval(0, 3, 1), Privacy(50, "0.2")),
        (gaussian, LONG, Privacy("0.9", "1e-3")),
        (staircase, Interval(0, 18, 1), Privacy("0.7")),
        (staircase, Interval(0, 1, 1), Privacy(2)),
        (staircase, Interval(0, 5, 1), Privacy(40)),
    ]
]


@pytest.mark.parametrize(("mechanism", "privacy"), CASES, ids=lambda x: getattr(x, "name", str(x)))
def test_the_integers_of_the_record_keep_what_is_promised(mechanism: Mechanism, privacy: Privacy) -> None:
    record: Any = mechanism.family.to_json()
    size = int(record["size"])
    law = noise_chances(record["noise"], 20 * size)
    weights, total = whole_numbers(law)
    for odds in (exp_below(privacy.epsilon), exp_below(privacy.epsilon / 2), Fraction(1)):
        claimed = mechanism.family.worst(odds).value
        for shift in {1, size // 2, size - 1}:
            assert max(divergence(weights, total, way, odds) for way in (shift, -shift)) <= claimed
        assert claimed <= divergence(weights, total, size - 1, odds) + 1 - sum(law.values()) + Fraction(1, 10**6)
    assert mechanism.family.worst(exp_below(privacy.epsilon)).value <= privacy.delta
    for k in (0, 1, -1, size, -size):
        assert mechanism.law(mechanism.inputs.label(0))[mechanism.outputs.label(k)] == law.get(k, 0)
    verify(certify(mechanism, privacy).to_json())


@pytest.mark.parametrize("scale", [*range(1, 40), 99, 100, 101])
def test_noise_of_every_narrow_scale_can_be_drawn(scale: int) -> None:
    """Values and the sampler's own mark share a type: at scale 18 the last of them is 128."""
    law = two_sided(exp_below(Fraction(1, scale)))
    with seeded_coins(scale):
        drawn = integer_laplace(scale, Privacy(1)).draw(20_000)
    assert abs(np.abs(drawn).mean() / float(law.moments[1]) - 1) < 0.05


@pytest.mark.parametrize("epsilon", [1, 30, 35, 36, 37, 40, 50, 200, 1000])
@pytest.mark.parametrize("width", [1, 10, 2**40])
def test_no_stair_is_higher_than_the_one_before_it(epsilon: int, width: int) -> None:
    law = stairs(exp_below(Fraction(epsilon)), width)
    starts = accumulate(range(3 * len(law.first)), lambda k, _: k + width, initial=law.inner)
    heights = [law.probability(k) for k in (0, *starts)]
    assert heights == sorted(heights, reverse=True)
    assert all(high <= exp_below(Fraction(epsilon)) * low for high, low in pairwise(heights))


@pytest.mark.parametrize("epsilon", ["1e-7", "1e-20", "1e-60"])
def test_a_staircase_too_flat_to_be_drawn_is_refused(epsilon: str) -> None:
    with pytest.raises(TooLarge, match="Laplace"):
        staircase(Interval(0, 10, 1), Privacy(epsilon))


def test_a_staircase_too_wide_for_a_machine_word_is_refused() -> None:
    with pytest.raises(TooLarge):
        staircase(Interval(0, 2**47, 1), Privacy("0.001"))


def test_a_fraction_of_a_step_reaches_the_next_point() -> None:
    """Two values 2.5 apart may stand for points 3 apart, so these are neighbours too."""
    space = Interval(0, 20, 1)
    assert abs(np.diff(space.encode([0.4, 2.9]).astype(int))) == [3]
    mechanism, third = (bounded_laplace(space, Privacy(1), sensitivity=d) for d in ("2.5", 3))
    assert np.array_equal(mechanism.weights()[0], third.weights()[0])
    rows, _ = mechanism.weights()
    assert max(Fraction(int(a), int(b)) for i in range(18) for a, b in zip(rows[i], rows[i + 3], strict=True)) <= 3
    assert bounded_laplace(space, Privacy(1), sensitivity="0.5").epsilon() <= 1


@pytest.mark.parametrize("sensitivity", [0, -1, 21])
def test_a_sensitivity_lies_within_the_interval(sensitivity: int) -> None:
    with pytest.raises(InputError, match="sensitivity"):
        bounded_laplace(Interval(0, 20, 1), Privacy(1), sensitivity=sensitivity)


def test_a_delta_that_no_table_can_tell_is_refused() -> None:
    with pytest.raises(TooLarge):
        truncated_laplace(Interval(0, 2**40, 1), Privacy(1, "1e-9"))


def test_noise_that_would_be_drawn_again_for_ever_is_refused() -> None:
    with pytest.raises(InputError, match="flat"):
        truncated_laplace(Interval(0, 1, 1), Privacy("1e-9", "0.5"))


def test_profile_odds_have_their_delta_however_small_it_is() -> None:
    law = stairs(exp_below(Fraction(1)), 10)
    tiny = Fraction(1, 10**60)
    odds = profile_odds(lambda at: law.delta(at, 10), law.pure(10), tiny)
    assert odds is not None
    assert law.delta(odds, 10) <= tiny


def test_a_law_without_end_is_not_listed() -> None:
    law = laplace(Interval(0, 3, 1), Privacy(1)).law(2)
    for listed in (len, list, dict):
        with pytest.raises(TooLarge):
            listed(law)


# Numbers of a certificate are read up to the 4300 digits that Python itself reads, and refused beyond -----------------


def test_the_longest_number_is_read_and_no_longer_one() -> None:
    longest = "1" + "0" * 4299
    assert read_number({"n": longest}, "n", (0, 10**4299)) == 10**4299
    assert read_number({"n": f"{longest}/{longest}"}, "n", (1, 1)) == 1
    with pytest.raises(VerificationFailed, match="'n' lies outside its range"):
        read_number({"n": longest + "0"}, "n", (0, 10**4300))


# Certificates of numbers and sets: what certify writes, the stand-alone verifier accepts, and nothing else ------------


THOUSANDTHS = Interval(0, 1, "0.001")
LETTERS = Categories(list("abcdef"))
CERTIFIED: dict[str, tuple[Mechanism, Privacy]] = {
    name: (make(space, privacy), privacy)
    for name, make, space, privacy in [
        ("pure laplace", laplace, THOUSANDTHS, Privacy(1)),
        ("laplace", laplace, THOUSANDTHS, Privacy(1, "0.1")),
        ("laplace at epsilon 0", laplace, THOUSANDTHS, Privacy(0, "0.01")),
        ("laplace on a wide lattice", laplace, Interval(0, 10**7, 1), Privacy("0.1", "0.001")),
        ("laplace on two points", laplace, Interval(0, 1, 1), Privacy(3)),
        ("truncated laplace", truncated_laplace, THOUSANDTHS, Privacy(1, "0.1")),
        ("truncated laplace, small delta", truncated_laplace, Interval(0, 10, 1), Privacy("0.5", "1e-8")),
        ("gaussian", gaussian, Interval(0, 1, "0.01"), Privacy(1, "1e-5")),
        ("gaussian in cells", gaussian, Interval(0, 1, "0.0005"), Privacy("0.5", "1e-6")),
        ("staircase", staircase, THOUSANDTHS, Privacy(1)),
        ("steep staircase", staircase, Interval(0, 9, 1), Privacy(8)),
        ("bounded laplace", bounded_laplace, Interval(0, 10, 1), Privacy(1, "0.01")),
        ("unary encoding", unary_encoding, LETTERS, Privacy(1)),
        ("subset selection", subset_selection, LETTERS, Privacy(1, "0.01")),
    ]
}
each_case = pytest.mark.parametrize("name", CERTIFIED)


def certificate(name: str) -> dict[str, Any]:
    mechanism, privacy = CERTIFIED[name]
    return certify(mechanism, privacy).to_json()


@each_case
def test_the_verifier_accepts_what_certify_writes(name: str) -> None:
    verify(certificate(name))


@pytest.mark.parametrize("make", [laplace, truncated_laplace])
@pytest.mark.parametrize("epsilon", [500, 1000])
def test_the_verifier_is_as_exact_as_the_largest_epsilon_asks(make: Any, epsilon: int) -> None:
    """e^ε times a chance near e^-ε is near 1: the chance needs more bits than ε has."""
    for size, delta in ((10, "1e-9"), (10**6, "0.1")):
        verify(certify(make(Interval(0, size, 1), Privacy(epsilon, delta)), Privacy(epsilon, delta)).to_json())


@each_case
def test_neither_certifies_less_than_the_law_takes(name: str) -> None:
    mechanism, privacy = CERTIFIED[name]
    less = Fraction(999, 1000)
    smaller = Privacy(privacy.epsilon * less, privacy.delta * less)
    with pytest.raises(NotPrivate):
        certify(mechanism, smaller)
    body = certificate(name)
    for record in (body, body["laws"][0]):
        record["epsilon"], record["delta"] = str(smaller.epsilon), str(smaller.delta)
    with pytest.raises(Refused):
        verify(resealed(body))


def numbers(record: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where the whole numbers of a law stand, but for small ones: these are rounded up by more than a little."""
    if isinstance(record, dict):
        return [found for key, value in record.items() for found in numbers(value, (*path, key))]
    if isinstance(record, list):
        return [found for n, value in enumerate(record) for found in numbers(value, (*path, n))]
    return [path] if isinstance(record, str) and record.isdigit() and int(record) > 10**6 else []


# Not weights; and weights that make the law more private when they fall: the first stair, the true value's share.
SPARED = {"size", "whole", "total", "width", "inner", "own", "high"}


@each_case
def test_a_law_with_one_weight_halved_is_refused(name: str) -> None:
    """Halving a weight doubles a ratio somewhere: the law is less private than it says, or no law."""
    original = certificate(name)
    places = [p for p in numbers(original["laws"][0]["law"]) if p[-1] not in SPARED and p[-2:] != ("first", 0)]
    assert places
    for place in places[:: max(1, len(places) // 12)]:
        body = copy.deepcopy(original)
        holder = body["laws"][0]["law"]
        for key in place[:-1]:
            holder = holder[key]
        holder[place[-1]] = str(int(holder[place[-1]]) // 2)
        with pytest.raises(Refused):
            verify(resealed(body))


@pytest.mark.parametrize("name", ["pure laplace", "gaussian", "staircase"])
def test_a_wider_space_needs_more_noise(name: str) -> None:
    body = certificate(name)
    law = body["laws"][0]["law"]
    law["size"] = str(int(law["size"]) * 2)
    with pytest.raises(Refused):
        verify(resealed(body))

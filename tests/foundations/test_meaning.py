"""What a guarantee means: each bound is sound for every law, and attained where it says so."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dproof import InputError, Privacy
from dproof.exact import exp_above, exp_below, log_above
from dproof.meaning import (
    OddsFactor,
    Range,
    advice,
    attack_accuracy,
    event_probability,
    odds_factor,
    posterior,
    utility_change,
)

probabilities = st.fractions(0, 1, max_denominator=1000)
promises = st.builds(Privacy, st.fractions(0, 6, max_denominator=100), st.sampled_from([0, "1e-6", "0.05", "0.5", 1]))


@st.composite
def laws(draw, size=4):
    """Two laws on the same outputs, as fractions."""
    rows = draw(st.lists(st.lists(st.integers(1, 50), min_size=size, max_size=size), min_size=2, max_size=2))
    return [[Fraction(w, sum(row)) for w in row] for row in rows]


def promise_of(laws, epsilon):
    """The least δ at ε for two laws, rounded up: the promise they really keep."""
    odds = exp_below(epsilon)
    sums = (sum(max(Fraction(0), p - odds * q) for p, q in zip(*pair, strict=True)) for pair in (laws, laws[::-1]))
    return Privacy(epsilon, max(sums))


@given(laws(), st.fractions(0, 2, max_denominator=50))
def test_no_pair_of_laws_exceeds_the_bounds(pair, epsilon):
    privacy = promise_of(pair, epsilon)
    p, q = pair
    apart = sum(abs(x - y) for x, y in zip(p, q, strict=True)) / 2
    assert apart <= utility_change(privacy, 1)
    assert Fraction(1, 2) + apart / 2 <= attack_accuracy(privacy)
    for event in ([0], [0, 1], [1, 3]):
        chance = event_probability(privacy, sum(p[y] for y in event))
        assert chance.low <= sum(q[y] for y in event) <= chance.high


@given(laws(), st.fractions(0, 2, max_denominator=50))
def test_the_odds_move_further_only_as_often_as_admitted(pair, epsilon):
    privacy = promise_of(pair, epsilon)
    moved = odds_factor(privacy)
    for p, q in (pair, pair[::-1]):
        beyond = sum(x for x, y in zip(p, q, strict=True) if x > moved.factor * y or y > moved.factor * x)
        assert beyond <= moved.failure


@given(probabilities, promises)
def test_beliefs_and_chances_stay_around_their_start(start, privacy):
    for after in (posterior(privacy, start), event_probability(privacy, start)):
        assert 0 <= after.low <= start <= after.high <= 1


@given(probabilities, promises)
def test_an_event_and_its_opposite_agree(p, privacy):
    chance = event_probability(privacy, p)
    assert event_probability(privacy, 1 - p) == Range(1 - chance.high, 1 - chance.low)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(5)])
def test_randomised_response_on_two_values_attains_the_bounds(epsilon):
    keep = exp_above(epsilon) / (1 + exp_above(epsilon))
    privacy = Privacy(epsilon)
    assert utility_change(privacy, 1) == keep - (1 - keep)
    assert attack_accuracy(privacy) == keep
    assert event_probability(privacy, 1 - keep).high == keep
    assert posterior(privacy, "1/2") == Range(1 - keep, keep)


def test_the_published_values_of_exercise_6_1():
    def worth(*promise):
        return round(float(utility_change(Privacy(*promise), 10_000)), 2)

    assert worth("0.1") == 499.58
    assert worth(log_above(Fraction(2))) == 3333.33
    assert worth(1) == 4621.17
    assert worth(1, "0.05") == 4890.11


def test_the_crude_bound_is_vacuous_from_log_2_on():
    assert round(10_000 * float(exp_above(Fraction(1)) - 1), 2) == 17182.82
    assert utility_change(Privacy(1), 10_000) < 10_000


def test_bounds_are_rounded_up():
    assert odds_factor(Privacy(1)).factor > exp_below(Fraction(1))
    assert odds_factor(Privacy(0)) == OddsFactor(Fraction(1), Fraction(0))
    assert odds_factor(Privacy(0, 1)) == OddsFactor(Fraction(2), Fraction(1))


@pytest.mark.parametrize(
    ("promise", "words"),
    [
        ((5, "1e-6"), []),
        (("5.01",), ["99.3"]),
        ((1, "2e-6"), ["well below"]),
        ((6, 1), ["practically always", "promises nothing"]),
    ],
)
def test_advice(promise, words):
    said = advice(Privacy(*promise))
    assert len(said) == len(words)
    assert all(word in sentence for word, sentence in zip(words, said, strict=True))


@pytest.mark.parametrize("wrong", ["-0.1", "1.1", "nan", None])
def test_what_is_no_probability_is_refused(wrong):
    with pytest.raises(InputError):
        posterior(Privacy(1), wrong)
    with pytest.raises(InputError):
        event_probability(Privacy(1), wrong)

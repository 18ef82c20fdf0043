"""What a guarantee means: each bound is sound for every law, and attained where it says so."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dproof import Privacy
from dproof.errors import InputError
from dproof.exact import exp_above, exp_below, log_above
from dproof.meaning import (
    advice,
    attack_accuracy,
    event_probability,
    group_guarantee,
    odds_factor,
    posterior,
    restate,
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
    assert apart <= utility_change(1, privacy)
    assert Fraction(1, 2) + apart / 2 <= attack_accuracy(privacy)
    for event in ([0], [0, 1], [1, 3]):
        low, high = event_probability(sum(p[y] for y in event), privacy)
        assert low <= sum(q[y] for y in event) <= high


@given(laws(), st.fractions(0, 2, max_denominator=50))
def test_the_odds_move_further_only_as_often_as_admitted(pair, epsilon):
    privacy = promise_of(pair, epsilon)
    factor, failing = odds_factor(privacy)
    for p, q in (pair, pair[::-1]):
        beyond = sum(x for x, y in zip(p, q, strict=True) if x > factor * y or y > factor * x)
        assert beyond <= failing


@given(probabilities, promises)
def test_beliefs_and_chances_stay_around_their_start(start, privacy):
    for low, high in (posterior(start, privacy), event_probability(start, privacy)):
        assert 0 <= low <= start <= high <= 1


@given(probabilities, promises)
def test_an_event_and_its_opposite_agree(p, privacy):
    low, high = event_probability(p, privacy)
    assert event_probability(1 - p, privacy) == (1 - high, 1 - low)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(5)])
def test_randomised_response_on_two_values_attains_the_bounds(epsilon):
    keep = exp_above(epsilon) / (1 + exp_above(epsilon))
    privacy = Privacy(epsilon)
    assert utility_change(1, privacy) == keep - (1 - keep)
    assert attack_accuracy(privacy) == keep
    assert event_probability(1 - keep, privacy)[1] == keep
    assert posterior("1/2", privacy) == (1 - keep, keep)


def test_the_published_values_of_exercise_6_1():
    def worth(*promise):
        return round(float(utility_change(10_000, Privacy(*promise))), 2)

    assert worth("0.1") == 499.58
    assert worth(log_above(Fraction(2))) == 3333.33
    assert worth(1) == 4621.17
    assert worth(1, "0.05") == 4890.11


def test_the_crude_bound_is_vacuous_from_log_2_on():
    assert round(10_000 * float(exp_above(Fraction(1)) - 1), 2) == 17182.82
    assert utility_change(10_000, Privacy(1)) < 10_000


def test_groups():
    assert group_guarantee(1, Privacy("0.4", "0.01")) == (Fraction(2, 5), Fraction(1, 100))
    epsilon, delta = group_guarantee(5, Privacy(1, "1e-6"))
    assert epsilon == 5
    assert float(delta) == pytest.approx(1e-6 * 85.7910248837, rel=1e-9)
    assert group_guarantee(10, Privacy(2, "0.001"))[1] == 1
    with pytest.raises(InputError, match="at least one"):
        group_guarantee(0, Privacy(1))


def test_relations():
    both = restate(Privacy("0.4", "0.01", neighbours="add-remove"), "change-one")
    assert (both.epsilon, both.neighbours) == (Fraction(4, 5), "change-one")
    assert round(float(both.delta), 10) == 0.0249182470
    assert restate(both, "change-one") is both
    with pytest.raises(InputError, match="number of rows is public"):
        restate(both, "add-remove")


def test_bounds_are_rounded_up():
    assert odds_factor(Privacy(1))[0] > exp_below(Fraction(1))
    assert odds_factor(Privacy(0)) == (1, 0)
    assert odds_factor(Privacy(0, 1)) == (2, 1)


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
        posterior(wrong, Privacy(1))
    with pytest.raises(InputError):
        event_probability(wrong, Privacy(1))

"""Certification: decided in whole numbers, with a witness; floats only choose which pairs to look at."""

from __future__ import annotations

from fractions import Fraction
from math import inf, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dproof import (
    Categories,
    InputError,
    NotPrivate,
    Privacy,
    Subsets,
    TooLarge,
    certify,
    discrete_exponential,
    itemwise_response,
    randomised_response,
    response_with,
    solution_matrix,
)
from dproof.certification.certify import decide
from dproof.exact import exp_above, exp_below, log_below
from dproof.laws import Matrix
from dproof.laws.divergence import hockey_stick, tight_odds
from tests import brute_force
from tests.strategies import matrices

HOBBIES = Categories(["Sports", "Cars", "Television", "Computer games", "Reading"])


def dense(size: int, seed: int, total: int = 1 << 40) -> Matrix:
    rng = np.random.default_rng(seed)
    return Matrix(rng.multinomial(total, rng.dirichlet(np.ones(size) * 5), size=size), total)


# Decisions -----------------------------------------------------------------------------------------------------------


def test_a_promise_that_holds_gives_a_certificate() -> None:
    certificate = certify(response_with(HOBBIES, "0.1"), Privacy("1.8"), name="hobby")
    assert certificate.epsilon == pytest.approx(log(6))
    assert certificate.delta == 0
    assert [part.name for part in certificate.parts] == ["hobby"]


def test_a_promise_that_does_not_hold_gives_its_witness() -> None:
    with pytest.raises(NotPrivate, match=r"at epsilon = 1 it takes delta = 0\.328172") as refusal:
        certify(response_with(HOBBIES, "0.1"), Privacy(1))
    witness = refusal.value.witness
    assert (witness.d, witness.d_prime) == ("Sports", "Cars")
    assert witness.outputs == ("Sports",)
    assert (witness.probability, witness.probability_prime) == (Fraction(6, 10), Fraction(1, 10))
    assert str(witness) in str(refusal.value)


@given(matrices(), st.sampled_from(["0", "0.3", "1", "4"]), st.sampled_from(["0", "0.05", "0.5"]))
def test_a_witness_proves_what_it_says(family: Matrix, epsilon: str, delta: str) -> None:
    rows = [[Fraction(int(w), family.total) for w in row] for row in family.rows]
    inputs, outputs = Categories(range(family.inputs)), Categories(range(100, 100 + family.outputs))
    mechanism = solution_matrix(inputs, rows, outputs=outputs)
    promise = Privacy(epsilon, delta)
    try:
        certify(mechanism, promise)
    except NotPrivate as refusal:
        found = refusal.witness
        p, q = (sum((mechanism.law(d)[y] for y in found.outputs), Fraction(0)) for d in (found.d, found.d_prime))
        assert (p, q) == (found.probability, found.probability_prime)
        assert p > exp_above(promise.epsilon) * q + promise.delta
    else:
        assert brute_force.tight_delta(rows, exp_below(promise.epsilon)) <= promise.delta


@pytest.mark.parametrize("digits", [10, 30, 60, 120])
def test_promises_a_hair_from_the_boundary_are_decided(digits: int) -> None:
    """ln 6 cut after many digits: below it is refused, above it is granted."""
    scale = 10**digits
    below = Fraction(int(log_below(Fraction(6), 1024) * scale), scale)
    mechanism = response_with(HOBBIES, "0.1")
    certify(mechanism, Privacy(below + Fraction(1, scale)))
    with pytest.raises(NotPrivate):
        certify(mechanism, Privacy(below))


def test_decisions_that_128_bits_cannot_make_take_more() -> None:
    """keep/other between the two 128-bit bounds of e: more digits place it."""
    low, high = exp_below(Fraction(1), 4000), exp_above(Fraction(1), 4000)
    scale = 1 << 600
    for odds, private in [(Fraction(int(low * scale), scale), True), (Fraction(int(high * scale) + 1, scale), False)]:
        assert exp_below(Fraction(1)) < odds < exp_above(Fraction(1))
        family = Matrix(
            np.array([[odds.numerator, odds.denominator], [odds.denominator, odds.numerator]], object),
            odds.numerator + odds.denominator,
        )
        assert decide(family, Fraction(1), Fraction(0)).holds is private


@pytest.mark.parametrize("promise", [Privacy(0), Privacy(0, 1), Privacy(1000, 0), Privacy(5, "1e-9")])
def test_one_input_tells_nothing(promise: Privacy) -> None:
    one = solution_matrix(Categories(["only"]), [["1/3", "2/3"]], outputs=Categories([0, 1]))
    certificate = certify(one, promise)
    assert (certificate.epsilon, certificate.delta) == (0, 0)


def test_infinite_epsilon() -> None:
    """A zero opposite a non-zero entry: no ε at δ = 0; from the mass of that entry on, some ε."""
    mechanism = solution_matrix(
        Categories([0, 1]), [["0.1", "0.9", 0], [0, "0.9", "0.1"]], outputs=Categories("xyz"[n] for n in range(3))
    )
    assert mechanism.epsilon() == inf
    assert mechanism.epsilon("0.0999999999") == inf
    assert mechanism.epsilon("0.1") == 0
    with pytest.raises(NotPrivate):
        certify(mechanism, Privacy(1000, "0.0999"))
    certificate = certify(mechanism, Privacy(0, "0.1"))
    assert certificate.delta == 0.1


def test_an_output_that_never_happens_costs_nothing() -> None:
    mechanism = solution_matrix(
        Categories([0, 1]), [["1/2", 0, "1/2"], ["1/4", 0, "3/4"]], outputs=Categories([0, 1, 2])
    )
    assert mechanism.family.odds(Fraction(0)).value == 2
    certify(mechanism, Privacy("0.7"))


# Large and adversarial laws ------------------------------------------------------------------------------------------


def test_a_dense_law_of_a_thousand_inputs_at_a_positive_delta() -> None:
    """The reported pair is recomputed exactly, no random pair exceeds it, and the promise is tight."""
    family = dense(1000, 1)
    at = exp_below(Fraction(1, 2))
    worst = family.worst(at)
    assert hockey_stick(family.rows[worst.source], family.rows[worst.target], family.total, at) == worst.value
    rng = np.random.default_rng(3)
    for i, j in rng.integers(0, 1000, (300, 2)):
        assert hockey_stick(family.rows[i], family.rows[j], family.total, at) <= worst.value
    assert decide(family, Fraction(1, 2), worst.value).holds
    assert not decide(family, Fraction(1, 2), worst.value - Fraction(1, 10**20)).holds


@pytest.mark.parametrize("size", [13, 30])
def test_dense_laws_against_every_pair(size: int) -> None:
    family = dense(size, size)
    for at in (Fraction(1), Fraction(11, 10), Fraction(2), Fraction(9)):
        direct = max(
            hockey_stick(family.rows[i], family.rows[j], family.total, at)
            for i in range(size)
            for j in range(size)
            if i != j
        )
        assert family.worst(at).value == direct
    for delta in (Fraction(1, 1000), Fraction(1, 10)):
        direct_odds = max(
            tight_odds(family.rows[i], family.rows[j], family.total, delta) or Fraction(10**9)
            for i in range(size)
            for j in range(size)
            if i != j
        )
        assert family.odds(delta).value == direct_odds


@given(st.integers(2, 40), st.integers(2, 25), st.data())
@settings(max_examples=40)
def test_laws_that_differ_by_one_unit_in_2_to_the_60(inputs: int, outputs: int, data: st.DataObject) -> None:
    """All divergences agree in every digit that a float has; only whole numbers tell which is the largest."""
    total = 1 << 60
    base = np.full(outputs, total // outputs)
    base[0] += total - base.sum()
    rows = np.tile(base, (inputs, 1))
    rows[0, 0] -= total >> 6  # one law far from all the others
    rows[0, 1] += total >> 6
    for i in range(1, inputs):
        step = data.draw(st.integers(-3, 3))
        rows[i, 0] += step
        rows[i, 1] -= step
    family = Matrix(rows, total)
    for at in (Fraction(1), 1 + Fraction(1, 1 << 58), Fraction(8, 7)):
        direct = max(hockey_stick(p, q, total, at) for a, p in enumerate(rows) for b, q in enumerate(rows) if a != b)
        found = family.worst(at)
        assert found.value == direct
        if found.value:
            assert hockey_stick(rows[found.source], rows[found.target], total, at) == direct


@pytest.mark.parametrize("seed", range(10))
def test_sums_that_floats_put_in_the_wrong_order(seed: int) -> None:
    """The same pair of laws with its outputs in many orders, and one unit of 2^60 moved in one of the copies.

    In floats each order of summation rounds differently, by far more than that unit; the copy must still be found.
    """
    rng, total, copies, outputs = np.random.default_rng(seed), 1 << 60, 30, 300
    p, q = (rng.multinomial(total, rng.dirichlet(np.ones(outputs))) for _ in range(2))
    more, less = (int(np.argmax(p - q)), int(np.argmin(p - q)))
    rows, chosen = [], int(rng.integers(copies))
    for copy in range(copies):
        order = rng.permutation(outputs)
        one = p.copy()
        one[more] += copy == chosen
        one[less] -= copy == chosen
        rows += [one[order], q[order]]
    apart = np.kron(np.eye(copies, dtype=bool), np.array([[0, 1], [1, 0]], bool))
    worst = Matrix(np.array(rows), total, apart).worst(Fraction(1))
    assert {worst.source, worst.target} == {2 * chosen, 2 * chosen + 1}
    assert worst.value == hockey_stick(rows[2 * chosen], rows[2 * chosen + 1], total, Fraction(1))
    assert worst.value == hockey_stick(p, q, total, Fraction(1)) + Fraction(1, total)


@pytest.mark.parametrize("size", [30, 200])
@pytest.mark.parametrize("at", [Fraction(1), Fraction(3, 2), Fraction(2), exp_below(Fraction(1))])
def test_circulant_laws_where_all_pairs_tie(size: int, at: Fraction) -> None:
    """Every row is the first one shifted: many pairs are equally bad, and one of them is reported."""
    first = np.zeros(size, np.int64)
    first[[0, 1, size - 1]] = 4, 2, 2
    family = Matrix(np.array([np.roll(first, n) for n in range(size)]), 8)
    direct = max(hockey_stick(family.rows[0], family.rows[j], 8, at) for j in range(1, size))
    assert family.worst(at).value == direct == 1
    assert family.odds(Fraction(99, 100)).value is None
    assert family.odds(Fraction(1)).value == 1


def test_randomised_response_written_out_ties_everywhere() -> None:
    short = response_with(Categories(range(150)), "1/200").family
    long = Matrix(np.array([short.weights(n) for n in range(150)]), short.total)
    for at in (Fraction(1), Fraction(7, 5), exp_below(Fraction(2))):
        assert long.worst(at).value == short.worst(at).value
    assert long.odds(Fraction(1, 10)).value == short.odds(Fraction(1, 10)).value


def test_a_law_with_entries_of_every_size() -> None:
    """From 1 to 2^61 in one row: small entries must not drown."""
    total = 1 << 62
    steps = [1 << n for n in range(0, 61, 4)]
    one = np.array([*steps, total - sum(steps)], object)
    two = np.array([*(s + 1 for s in steps), total - sum(steps) - len(steps)], object)
    family = Matrix(np.array([one, two]), total)
    assert family.odds(Fraction(0)).value == 2, "the entry 1 against 2"
    for at in (Fraction(1), Fraction(3, 2)):
        assert family.worst(at).value == max(hockey_stick(one, two, total, at), hockey_stick(two, one, total, at))


# Metric privacy ------------------------------------------------------------------------------------------------------


def test_the_exponential_mechanism_on_a_line_is_metric_private_at_its_rate() -> None:
    """P_i ≤ e^{ε|i − k|} P_k: with u = −k·ρ the rate is at most 2k, and on long lines near it."""
    line = Categories(range(9), metric="ordinal")
    mechanism = discrete_exponential(line, "0.5")
    certificate = certify(mechanism, Privacy(1), metric_privacy=True)
    part = certificate.parts[0]
    assert part.distances is not None and part.distances[0][8] == "8"
    direct = max(
        log(mechanism.law(i)[y] / mechanism.law(j)[y]) / abs(i - j)
        for i in range(9)
        for j in range(9)
        if i != j
        for y in range(9)
    )
    assert part.epsilon == pytest.approx(direct, rel=1e-12)
    assert part.epsilon >= direct * (1 - 1e-15)
    certify(mechanism, Privacy(part.epsilon), metric_privacy=True)
    with pytest.raises(NotPrivate, match="times the distance"):
        certify(mechanism, Privacy(part.epsilon * 0.999999), metric_privacy=True)


def test_the_geometric_mechanism_on_a_line_is_metric_private_at_exactly_its_rate() -> None:
    """Two-sided geometric noise, clamped to the line: the rate is that of one step. Ghosh et al. 2012."""
    a = Fraction(2, 3)
    rows = []
    for i in range(5):
        inner = [(1 - a) / (1 + a) * a ** abs(i - j) for j in range(5)]
        inner[0], inner[4] = a**i / (1 + a), a ** (4 - i) / (1 + a)
        rows.append(inner)
    mechanism = solution_matrix(Categories(range(5), metric="ordinal"), rows)
    part = certify(mechanism, Privacy("0.4054651081081645"), metric_privacy=True).parts[0]
    assert part.epsilon == pytest.approx(log(1.5), rel=1e-12)
    with pytest.raises(NotPrivate):
        certify(mechanism, Privacy("0.4054651081081643"), metric_privacy=True)


def test_metric_privacy_of_a_space_of_distance_one_is_ordinary_privacy() -> None:
    mechanism = randomised_response(HOBBIES, Privacy(1))
    ordinary, metric = certify(mechanism, Privacy(1)), certify(mechanism, Privacy(1), metric_privacy=True)
    assert ordinary.epsilon == metric.epsilon


def test_flipping_item_by_item_is_metric_private_item_by_item() -> None:
    sets = Subsets(range(4))
    mechanism = itemwise_response(sets, Privacy(2))
    part = certify(mechanism, Privacy("0.5"), metric_privacy=True).parts[0]
    assert part.epsilon == pytest.approx(0.5, abs=1e-9)


def test_metric_privacy_with_delta() -> None:
    line = Categories(range(3), metric="ordinal")
    mechanism = solution_matrix(line, [["0.9", "0.1", 0], ["0.1", "0.8", "0.1"], [0, "0.1", "0.9"]])
    with pytest.raises(NotPrivate):
        certify(mechanism, Privacy(3), metric_privacy=True)
    part = certify(mechanism, Privacy(3, "0.9"), metric_privacy=True).parts[0]
    assert part.delta == 0.9
    assert 0 <= part.epsilon < 3


def test_metric_privacy_is_for_spaces_that_can_be_listed() -> None:
    with pytest.raises(TooLarge, match="pair by pair"):
        certify(randomised_response(Categories(range(1000)), Privacy(1)), Privacy(1), metric_privacy=True)


# Input ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [-1, "nan", "inf", "1e999", None, 1001])
def test_profiles_refuse_what_is_no_epsilon(wrong: object) -> None:
    with pytest.raises(InputError, match="epsilon must"):
        response_with(HOBBIES, "0.1").delta(wrong)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, "nan", None])
def test_profiles_refuse_what_is_no_delta(wrong: object) -> None:
    with pytest.raises(InputError, match="delta must"):
        response_with(HOBBIES, "0.1").epsilon(wrong)

"""Each composition says whether it is tight or an upper bound, and what it calls tight is attained."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, permutations, product
from typing import Any

import numpy as np
import pytest

import dproof as dp
from dproof import Categories, InputError, Interval, Privacy, bounded_laplace, randomised_response, solution_matrix
from dproof.certification.compose import PrivacyLoss, compose_mechanisms, compose_promises, dominating
from dproof.exact import exp_above, exp_below
from dproof.laws.divergence import hockey_stick


@pytest.mark.parametrize(
    ("epsilon", "delta", "rows"), [("0.5", "0", 3), ("0.5", "0.001", 3), (1, "0.02", 2), (2, 0, 4)]
)
def test_a_mechanism_with_two_outputs_attains_the_guarantee_of_a_group(epsilon, delta, rows) -> None:
    """P(first output) is multiplied by e^ε and raised by δ with every row that changes."""
    one, odds = Privacy(epsilon, delta), exp_above(Privacy(epsilon).epsilon)
    chances = [Fraction(0) if one.delta else Fraction(1, 10**6)]
    for _ in range(rows):
        chances.append(odds * chances[-1] + one.delta)
    laws = [(chance, 1 - chance) for chance in chances]
    neighbours = [pair for step in pairwise(laws) for pair in (step, step[::-1])]
    assert max(hockey_stick_of(*pair, odds) for pair in neighbours) <= one.delta  # each row keeps its promise
    group = one.for_group(rows)
    if one.delta:  # at ε of the group the tight δ is that of the group, but for the rounding of e^ε
        apart = hockey_stick_of(laws[-1], laws[0], exp_above(group.epsilon))
        assert float(apart) == pytest.approx(float(group.delta), rel=1e-12) and group.delta <= Fraction(1, 2)
    else:
        assert float(laws[-1][0] / laws[0][0]) == pytest.approx(float(exp_above(group.epsilon)), rel=1e-12)


def hockey_stick_of(p: tuple[Fraction, ...], q: tuple[Fraction, ...], odds: Fraction) -> Fraction:
    total = 10**80
    return hockey_stick([int(x * total) for x in p], [-(-x * total // 1) for x in q], total, odds)


def test_compositions_of_laws_say_whether_they_are_tight() -> None:
    known = randomised_response(Categories(["a", "b", "c"]), Privacy(1))
    assert compose_mechanisms([known] * 3).tight
    # No pair of these inputs is the worst at every ε: every choice of pairs is tried, or, where there are too many, a
    # loss is taken that dominates all of them.
    several = solution_matrix(Categories(list("abc")), [[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
    assert compose_mechanisms([several, known]).tight
    assert not compose_mechanisms([bounded_laplace(Interval(0, 20, 1), Privacy(1))]).tight
    assert compose_promises([Privacy(1), Privacy(1, "0.01")]).tight


@pytest.mark.parametrize("times", [1, 3])
def test_the_largest_losses_of_noise_add_up_exactly(times: int) -> None:
    """A bound by the powers of one ratio may tell no more at δ = 0, nor a δ where the sum of all ε is kept."""
    for mechanism in (dp.laplace(Interval(0, 100, 1), Privacy(1)), dp.staircase(Interval(0, 10, 1), Privacy(1))):
        together = dp.compose([mechanism] * times)
        alone = mechanism.family.odds(Fraction(0)).value
        assert alone and exp_below(Fraction(together.epsilon())) <= exp_above(Fraction(times)) and alone <= exp_above(1)
        assert together.epsilon() == pytest.approx(times, rel=1e-14) and together.epsilon("1e-3") <= together.epsilon()
        assert together.delta(times) == 0 < together.delta(Fraction(times) * Fraction(999, 1000))
    two = dp.compose([dp.laplace(Interval(0, 100, 1), Privacy(1)), dp.staircase(Interval(0, 10, 1), Privacy(2))])
    assert two.epsilon() == pytest.approx(3, rel=1e-14) and two.delta(3) == 0
    cut = [dp.truncated_laplace(Interval(0, 10, 1), Privacy(1, "1e-6"))] * times
    assert dp.compose(cut).delta(times) <= times * 1.0000001e-6, "no more than their promises add up to"
    assert dp.compose(cut).epsilon(Fraction(times, 10**6)) <= times * 1.0000001


def test_a_group_may_exceed_what_a_user_can_ask_for() -> None:
    assert Privacy(1000, "0.1").for_group(10) == Privacy.derived(Fraction(10_000), Fraction(1), "change-one")
    with pytest.raises(InputError, match="rows must be a whole number of at least 1"):
        Privacy(1).for_group(0)
    with pytest.raises(InputError, match="neighbours"):
        Privacy(1).restated("change-two")  # type: ignore[arg-type]


# The δ of advanced composition at the ε that it gives at a δ is that δ again ------------------------------------------


@pytest.mark.parametrize("delta", ["1e-3", "1e-5", "3e-9"])
def test_delta_undoes_epsilon(delta: str) -> None:
    together = dp.compose([dp.Privacy("0.1", "1e-12")] * 50, "advanced")
    epsilon = together.epsilon(delta)
    assert together.delta(epsilon) == pytest.approx(float(delta), rel=1e-4)
    assert together.epsilon(together.delta(epsilon)) <= epsilon


# Small matrices are composed exactly: the largest hockey stick over every choice of a pair of inputs for each ---------


FIRST = dp.solution_matrix(dp.Categories(list("abc")), [[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
SECOND = dp.solution_matrix(
    dp.Categories(list("ab")), [[0.6, 0.2, 0.1, 0.1], [0.3, 0.1, 0.1, 0.5]], outputs=dp.Categories(list("wxyz"))
)
THIRD = dp.solution_matrix(dp.Categories(list("abc")), [[0.8, 0.1, 0.1], [0.3, 0.5, 0.2], [0.2, 0.3, 0.5]])
PAIRED = dp.solution_matrix(
    dp.Categories(list("abc")), [[1, 0, 0], ["1/2", "1/2", 0], [0, "1/2", "1/2"]], neighbours=[("a", "b"), ("b", "c")]
)


def largest_of_products(mechanisms: list[dp.Mechanism], odds: Fraction) -> Fraction:
    """Every choice of pairs, each product of laws written out."""
    most = Fraction(0)
    choices = []
    for m in mechanisms:
        counts = m.family.neighbours
        pairs = permutations(range(m.inputs.size), 2)
        choices.append([pair for pair in pairs if counts is None or counts[pair]])
    for pairs in product(*choices):
        p = q = np.array([1], object)
        total = 1
        for m, (i, k) in zip(mechanisms, pairs, strict=True):
            weights, whole = m.weights()
            p, q, total = np.kron(p, weights[i].astype(object)), np.kron(q, weights[k].astype(object)), total * whole
        most = max(most, hockey_stick([int(x) for x in p], [int(x) for x in q], total, odds))
    return most


@pytest.mark.parametrize("mechanisms", [[FIRST], [FIRST, FIRST], [FIRST, SECOND, FIRST], [PAIRED, SECOND]])
@pytest.mark.parametrize("epsilon", ["0", "0.1", "0.5", "1.3"])
def test_the_composition_of_small_matrices_is_exact(mechanisms: list[Any], epsilon: str) -> None:
    together = dp.compose(mechanisms)
    exact = largest_of_products(mechanisms, exp_below(Fraction(epsilon)))
    assert together.tight and together.delta(epsilon) == pytest.approx(float(exact), rel=1e-12, abs=1e-15)
    assert Fraction(repr(together.delta(epsilon))) >= exact  # a float means its shortest decimal


def test_it_lies_below_the_bound_by_one_dominating_loss() -> None:
    bound = dominating(FIRST.family)
    odds = exp_below(Fraction(1, 10))
    assert largest_of_products([FIRST, FIRST], odds) < (bound * bound).delta(odds)


def test_the_epsilon_at_delta_is_the_least_that_serves_all_choices() -> None:
    together = dp.compose([FIRST, SECOND])
    epsilon = together.epsilon("0.3")
    assert together.delta(str(epsilon)) <= 0.3 < together.delta(str(epsilon - 1e-6))
    assert together.epsilon(0) == pytest.approx(np.log(5 * 5))  # 0.5/0.1 in each
    assert dp.compose([PAIRED]).epsilon(0) == float("inf")


def test_a_loss_that_is_nowhere_above_another_is_dominated() -> None:
    wide, narrow = PrivacyLoss.of([(9, 1), (1, 9)], 10), PrivacyLoss.of([(6, 4), (4, 6)], 10)
    crossing = PrivacyLoss.of([(1, 0), (9, 10)], 10)  # less than `wide` at small odds, more at large ones
    assert wide.dominates(narrow) and not narrow.dominates(wide)
    assert not wide.dominates(crossing) and not crossing.dominates(wide)


@pytest.mark.parametrize("privacy", [dp.Privacy(1), dp.Privacy(0), dp.Privacy("0.3", "0.01"), dp.Privacy(1, 1)])
def test_a_power_by_binomials_is_the_product_of_its_factors(privacy: dp.Privacy) -> None:
    loss = PrivacyLoss.of_privacy(privacy)
    assert loss**0 == PrivacyLoss(((1, 1),), 1)
    assert loss**5 == loss * loss * loss * loss * loss


def test_a_thousand_promises_are_composed_and_too_many_refused() -> None:
    """By the central limit, ε is near kε²/2 + √k·ε·Φ⁻¹(1 − δ) from below."""
    thousand = dp.compose([dp.Privacy("0.01")] * 1000)
    assert 1.1 < thousand.epsilon("1e-5") < 1.2 and thousand.tight and thousand.epsilon(0) == pytest.approx(10)
    with pytest.raises(dp.InputError, match="take rule='advanced' or 'basic'"):
        dp.compose([dp.Privacy("0.01", "1e-9")] * 10**4)


def test_powers_are_written_out_up_to_two_billion_bits() -> None:
    nothing = PrivacyLoss(((1, 1),), 1)
    assert nothing**46_340 == nothing
    with pytest.raises(dp.InputError, match="46,341 promises are too many"):
        _ = nothing**46_341


@pytest.mark.parametrize("mechanisms", [[FIRST, FIRST, FIRST], [FIRST, THIRD], [PAIRED, PAIRED]])
@pytest.mark.parametrize("epsilon", ["0", "0.3", "1"])
def test_answers_about_one_value_take_one_pair_for_all(mechanisms: list[Any], epsilon: str) -> None:
    odds, most = exp_below(Fraction(epsilon)), Fraction(0)
    counts = mechanisms[0].family.neighbours
    for i, k in permutations(range(mechanisms[0].inputs.size), 2):
        if counts is None or counts[i, k]:
            p = q = np.array([1], object)
            total = 1
            for m in mechanisms:
                weights, whole = m.weights()
                p, q = np.kron(p, weights[i].astype(object)), np.kron(q, weights[k].astype(object))
                total *= whole
            most = max(most, hockey_stick([int(x) for x in p], [int(x) for x in q], total, odds))
    same = dp.compose(mechanisms, same_value=True)
    assert same.tight and same.delta(epsilon) == pytest.approx(float(most), rel=1e-12, abs=1e-15)
    assert same.delta(epsilon) <= dp.compose(mechanisms).delta(epsilon)


def test_a_law_of_two_inputs_and_many_outputs_is_exact() -> None:
    weights = [n * n % 37 + 1 for n in range(200)]
    rows = [[Fraction(w, sum(weights)) for w in order] for order in (weights, weights[::-1])]
    many = dp.solution_matrix(dp.Categories(["a", "b"]), rows, outputs=dp.Categories(list(range(200))))
    together = dp.compose([many, many])
    exact = largest_of_products([many, many], exp_below(Fraction(1, 2)))
    assert together.tight and together.delta("0.5") == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize(
    "noise",
    [
        dp.laplace(dp.Interval(0, 4, 1), 1),
        dp.staircase(dp.Interval(0, 4, 1), 1),
        dp.gaussian(dp.Interval(0, 2, 1), dp.Privacy(1, "0.01")),
        dp.truncated_laplace(dp.Interval(0, 4, 1), dp.Privacy(1, "0.05")),
        dp.laplace(dp.Interval(0, 4, 1), 1).with_missing(1),
    ],
    ids=lambda m: m.name,
)
def test_noise_without_ends_is_composed_by_its_law(noise: dp.Mechanism) -> None:
    """From above, and close to the sum over all values that have a probability worth counting."""
    line, last = noise.outputs.line, 4 if noise.inputs.size > 3 else 2
    assert line is not None
    codes = range(-60, 66)
    laws = [noise.law(noise.inputs.label(n)) for n in (0, last)]
    p, q = (np.array([float(law[line.label(k)]) for k in codes]) for law in laws)
    together = dp.compose([noise, noise])
    for epsilon in (0.3, 1.0, 1.7):
        seen = np.maximum(np.multiply.outer(p, p) - np.exp(epsilon) * np.multiply.outer(q, q), 0).sum()
        assert seen - 1e-9 <= together.delta(epsilon)
        assert noise.outputs.absent is not None or together.delta(epsilon) <= seen * 1.03 + 1e-3
    assert not together.tight
    loss = dominating(noise.family)
    assert all(p >= 0 <= q for p, q in loss.atoms) and sum(p for p, _ in loss.atoms) >= loss.total
    if noise.epsilon() < 10:
        assert together.epsilon(0) == pytest.approx(2 * noise.epsilon(), rel=1e-3)

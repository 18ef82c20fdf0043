"""The least error on trees, counts and other spaces; larger spaces of outputs; metric privacy; priors."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest

from dproof import Categories, InputError, Interval, NotPrivate, Privacy, certify, design

pytestmark = pytest.mark.filterwarnings("ignore:this design cannot be inverted")

LEAVES = [[0, 2, 4, 4], [2, 0, 4, 4], [4, 4, 0, 2], [4, 4, 2, 0]]
TREE = [
    [0, 2, 4, 4, 1, 3, 2],
    [2, 0, 4, 4, 1, 3, 2],
    [4, 4, 0, 2, 3, 1, 2],
    [4, 4, 2, 0, 3, 1, 2],
    [1, 1, 3, 3, 0, 2, 1],
    [3, 3, 1, 1, 2, 0, 1],
    [2, 2, 2, 2, 1, 1, 0],
]


def test_a_tree_and_its_inner_nodes() -> None:
    leaves, tree = Categories(list("abcd"), metric=LEAVES), Categories(list("abcdxyr"), metric=TREE)
    assert float(design(leaves, Privacy("0.5")).error) == pytest.approx(2.1326220064, abs=1e-9)
    wider = design(leaves, Privacy("0.5"), outputs=tree)
    assert float(wider.error) == pytest.approx(1.7550813376, abs=5e-9)
    certify(wider, Privacy("0.5"))


@pytest.mark.parametrize(("epsilon", "value"), [("0.5", 1.0089771422), ("1", 0.6375822635)])
def test_counts_with_metric_privacy(epsilon: str, value: float) -> None:
    """A central count 0, …, 4 whose neighbours differ by one: ε times the distance."""
    count = Interval(0, 4, 1)
    best = design(count, Privacy(epsilon), metric_privacy=True)
    assert float(best.error) == pytest.approx(value, rel=1e-8)
    assert best.optimum is not None and best.optimum.gap < Fraction(1, 10**6)
    certify(best, Privacy(epsilon), metric_privacy=True)
    with pytest.raises(NotPrivate):
        certify(best, Privacy(epsilon))


def test_metric_privacy_with_delta() -> None:
    privacy = Privacy("0.5", "0.01")
    best = design(Interval(0, 8, 1), privacy, metric_privacy=True)
    certify(best, privacy, metric_privacy=True)
    assert best.optimum is not None and best.optimum.gap < Fraction(1, 10**6)


def test_squared_loss_and_a_loss_of_ones_own() -> None:
    """A matrix that is the squared distance gives the same optimum as "squared"."""
    levels = Categories([0, 1, 2, 3], metric="ordinal")
    squares = [[(i - j) ** 2 for j in range(4)] for i in range(4)]
    named, given = design(levels, Privacy(1), loss="squared"), design(levels, Privacy(1), loss=squares)
    assert named.optimum is not None and given.optimum is not None
    assert named.optimum.value == given.optimum.value == max(named.expected_errors(squares))
    assert (named.optimum.loss, given.optimum.loss) == ("squared", "matrix")


def test_a_prior_lowers_the_expected_error_below_the_worst_case() -> None:
    levels = Categories([0, 1, 2, 3], metric="ordinal")
    prior = ["1/2", "1/4", "1/8", "1/8"]
    worst, expected = design(levels, Privacy(1)), design(levels, Privacy(1), prior=prior)
    assert expected.optimum is not None
    mean = sum(Fraction(p) * e for p, e in zip(prior, expected.expected_errors(), strict=True))
    assert mean == expected.optimum.value and expected.optimum.gap < Fraction(1, 10**6)
    assert mean < worst.error
    certify(expected, Privacy(1))
    # The least favourable prior makes both problems the same; a uniform one on a pair is least favourable.
    pair = Categories([0, 1], metric=[[0, 3], [3, 0]])
    assert float(design(pair, Privacy(1), prior=[1, 1]).error) == pytest.approx(3 / (1 + exp(1)), rel=1e-8)


def test_a_certain_prior_needs_no_error() -> None:
    levels = Categories([0, 1, 2, 3], metric="ordinal")
    best = design(levels, Privacy(1), prior=[0, 0, 1, 0])
    assert best.optimum is not None and best.optimum.value == 0 == best.optimum.gap
    with pytest.raises(InputError, match="3 probabilities for 4"):
        design(levels, Privacy(1), prior=[1, 1, 1])
    with pytest.raises(InputError, match="negative"):
        design(levels, Privacy(1), prior=[1, 1, 1, -1])


def test_optimal_randomised_response_is_truth_with_probability_delta_else_pure() -> None:
    """kRR(ε, δ) = δ·I + (1 − δ)·kRR(ε): the optimum on the discrete metric, without a solver."""
    space, privacy = Categories(list("abcde")), Privacy(1, "0.1")
    best, pure = design(space, privacy), design(space, Privacy(1))
    assert best.name == "randomised response"
    assert best.matrix() == pytest.approx(0.1 * np.eye(5) + 0.9 * pure.matrix(), abs=1e-12)


def test_a_scaled_discrete_metric_needs_no_solver_either() -> None:
    space = Categories(list("abc"), metric=[[0, 7, 7], [7, 0, 7], [7, 7, 0]])
    best = design(space, Privacy(round(log(4), 12)))
    assert best.name == "randomised response" and float(best.error) == pytest.approx(7 * 2 / 6, abs=1e-9)

"""What people who know the field look for: composition, worst cases, post-processing, scales, estimates."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations, permutations
from math import exp, inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dproof as dp
from dproof.testing import seeded_coins

AB = dp.Categories(["a", "b"])
ABC = dp.Categories(["a", "b", "c"])
COIN = dp.randomised_response(AB, 1)


@st.composite
def matrices(draw: Any) -> dp.Mechanism:
    k, n = draw(st.integers(2, 4)), draw(st.integers(2, 4))
    rows = []
    for _ in range(k):
        cuts = sorted(draw(st.lists(st.integers(0, 12), min_size=n - 1, max_size=n - 1)))
        rows.append([Fraction(b - a, 12) for a, b in zip([0, *cuts], [*cuts, 12], strict=True)])
    return dp.solution_matrix(dp.Categories(list(range(k))), rows, outputs=dp.Categories(list(range(n))))


def subsets(n: int) -> Any:
    return chain.from_iterable(combinations(range(n), size) for size in range(n + 1))


@given(matrices(), st.sampled_from([0, "0.5", 1, 2]))
@settings(max_examples=40, deadline=None)
def test_the_worst_case_is_that_of_brute_force(mechanism: dp.Mechanism, epsilon: Any) -> None:
    law, growth = mechanism.matrix(), exp(float(Fraction(epsilon)))
    found = dp.worst_case(mechanism, epsilon)
    pairs = list(permutations(range(len(law)), 2))
    most = max(law[i, list(a)].sum() - growth * law[j, list(a)].sum() for i, j in pairs for a in subsets(law.shape[1]))
    assert found.delta == pytest.approx(max(0.0, most), abs=1e-12) and found.delta == mechanism.delta(epsilon)
    witness = found.witness
    assert witness.probability is not None and witness.probability_prime is not None
    assert float(witness.probability - growth * Fraction(witness.probability_prime)) == pytest.approx(found.delta)
    assert dp.delta_over(mechanism, epsilon, subsets(law.shape[1])) == pytest.approx(found.delta, abs=1e-15)
    assert dp.delta_over(mechanism, epsilon, [[0]]) <= found.delta


def test_only_pairs_that_count_count() -> None:
    rows = [[1, 0, 0], ["1/2", "1/2", 0], [0, 0, 1]]
    near = dp.solution_matrix(ABC, rows, neighbours=[("a", "b")])
    assert dp.delta_over(near, 0, [["c"]]) == 0 and dp.worst_case(near).delta == 0.5


@given(matrices(), st.sampled_from([0, "0.1"]))
@settings(max_examples=25, deadline=None)
def test_metric_privacy_of_a_mechanism(mechanism: dp.Mechanism, delta: Any) -> None:
    epsilon = dp.metric_epsilon(mechanism, delta)
    if epsilon < inf:
        assert dp.certify(mechanism, dp.Privacy(epsilon, delta), metric_privacy=True)
        if epsilon > 1e-6:
            with pytest.raises(dp.NotPrivate):
                dp.certify(mechanism, dp.Privacy(epsilon * 0.999, delta), metric_privacy=True)


@given(matrices(), st.data())
@settings(max_examples=25, deadline=None)
def test_a_changed_output_has_the_law_of_the_change(mechanism: dp.Mechanism, data: Any) -> None:
    outputs = mechanism.outputs.size
    change = data.draw(st.lists(st.sampled_from("xyz"), min_size=outputs, max_size=outputs))
    changed = mechanism.then(dict(enumerate(change)))
    assert changed.outputs.labels == tuple(dict.fromkeys(change))
    for d in mechanism.inputs.labels:
        before, after = mechanism.law(d), changed.law(d)
        for label in set(change):
            assert after[label] == sum(p for y, p in before.items() if change[y] == label)
    assert changed.epsilon() <= mechanism.epsilon() and changed.delta("0.5") <= mechanism.delta("0.5")
    with pytest.raises(dp.InputError, match="every output"):
        mechanism.then({0: 1})


def test_a_change_can_go_into_a_given_space_and_is_drawn() -> None:
    flipped = COIN.then(lambda label: {"a": "b", "b": "a"}[label], ABC)
    assert flipped.law("a")["c"] == 0 and flipped.law("a")["b"] == COIN.law("a")["a"]
    assert set(flipped.draw(["a"] * 50)) <= {"a", "b"}


@pytest.mark.parametrize(
    "mechanism",
    [
        dp.randomised_response(ABC, 1),
        dp.subset_selection(dp.Categories(list("abcde")), 1),
        dp.unary_encoding(ABC, 1),
        dp.laplace(dp.Interval(0, 4, 1), 2, clamp=True),
    ],
    ids=lambda m: m.name,
)
def test_estimates_are_unbiased_and_their_covariance_is_true(mechanism: dp.Mechanism) -> None:
    made = np.random.default_rng(5)
    true = made.integers(0, mechanism.inputs.size, 2000)
    wanted = np.bincount(true, minlength=mechanism.inputs.size)
    law = mechanism.matrix()
    # The mean of the outputs gives back the counts exactly, for the estimate is linear.
    assert mechanism.estimate(wanted @ law).counts == pytest.approx(wanted)
    found = []
    with seeded_coins(3):
        for _ in range(150):
            drawn = mechanism.draw_codes(true.astype(np.int64))
            found.append(mechanism.estimate(np.bincount(drawn, minlength=law.shape[1])))
    spread = np.cov(np.array([one.counts for one in found]).T)
    stated = np.mean([one.covariance for one in found], axis=0)
    assert np.allclose(np.diag(stated), np.diag(spread), rtol=0.5)
    covered = np.mean([(one.low <= wanted) & (wanted <= one.high) for one in found])
    assert 0.91 < covered < 0.985


def test_counts_by_label_and_refusals() -> None:
    by_label, in_order = COIN.estimate({"a": 60, "b": 40}), COIN.estimate([60, 40])
    assert by_label.counts.tolist() == in_order.counts.tolist() and by_label.labels == ("a", "b")
    for counts, words in (
        ([1], "one count for each of 2"),
        ("x", "one count"),
        ([1, -1], "at least 0"),
        ({"z": 1}, "declared categories"),
    ):
        with pytest.raises(dp.InputError, match=words):
            COIN.estimate(counts)
    with pytest.raises(dp.InputError, match="told apart"):
        dp.randomised_response(AB, 0).estimate([1, 1])
    with pytest.raises(dp.InputError, match="infinitely many outputs"):
        dp.laplace(dp.Interval(0, 4, 1), 1).estimate([1, 1])


def test_rules_of_composition_are_in_order() -> None:
    many = [dp.Privacy("0.1", "1e-8")] * 100
    basic, advanced, optimal = (dp.compose(many, rule) for rule in ("basic", "advanced", "optimal"))
    assert optimal.epsilon("1e-5") < advanced.epsilon("1e-5") < basic.epsilon("1e-5") == 10
    assert (basic.tight, advanced.tight, optimal.tight) == (False, False, True)
    assert basic.epsilon("1e-7") == inf and basic.delta(9) == 1 and basic.delta(10) == pytest.approx(1e-6)
    for epsilon in (5, 6, 8):
        delta = advanced.delta(epsilon)
        assert advanced.epsilon(delta) <= epsilon and optimal.delta(epsilon) <= delta
    assert dp.compose([1, 2], "basic").tight


def test_mechanisms_are_composed_by_their_laws() -> None:
    twice = dp.compose([COIN, COIN])
    assert twice.tight and twice.epsilon() == pytest.approx(2) and twice.delta(2) == 0
    assert twice.delta(0) == pytest.approx(dp.compose([1, 1]).delta(0))
    uneven = dp.solution_matrix(ABC, [["2/3", "1/3", 0], [0, "2/3", "1/3"], ["1/3", 0, "2/3"]])
    assert dp.compose([uneven, dp.solution_matrix(ABC, [[1, 0, 0], ["1/2", "1/2", 0], [0, 0, 1]])]).tight


@pytest.mark.parametrize(
    ("parts", "rule", "words"),
    [
        ([], "optimal", "there is none"),
        ([COIN, 1], "optimal", "give no promises beside"),
        ([COIN], "basic", "by their laws"),
        ([1, 2], "advanced", "equal promises"),
        ([1], "best", "rule 'best' is not known"),
        ([dp.Privacy(1), dp.Privacy(1, neighbours="add-remove")], "optimal", "different neighbours"),
    ],
)
def test_a_composition_that_means_nothing_is_refused(parts: Any, rule: Any, words: str) -> None:
    with pytest.raises(dp.InputError, match=words):
        dp.compose(parts, rule)


def test_noise_by_its_scale() -> None:
    grid = dp.Interval(0, 1, "0.01")
    calibrated = dp.laplace(grid, 2)
    given = dp.laplace(grid, scale="0.5")
    assert given.law(0)[0.25] == calibrated.law(0)[0.25]
    assert dp.gaussian(grid, sigma=2).bias_and_variance().variance == pytest.approx(4, rel=1e-6)  # type: ignore[union-attr]
    wide, narrow = (dp.staircase(grid, 1, gamma=share) for share in (1, "0.1"))
    best = dp.staircase(grid, 1)
    assert best.error < min(wide.error, narrow.error) and max(wide.epsilon(), narrow.epsilon()) <= 1
    for call, words in (
        (lambda: dp.laplace(grid), "give either a promise"),
        (lambda: dp.laplace(grid, 1, scale=1), "give either a promise"),
        (lambda: dp.gaussian(grid, sigma=0), "sigma must be above 0"),
        (lambda: dp.staircase(grid, 1, gamma=2), "gamma"),
    ):
        with pytest.raises(dp.InputError, match=words):
            call()


def test_gaussian_noise_grows_with_the_step_no_faster_than_the_step() -> None:
    """A coarser lattice can only need about as much noise: σ stays within a step of the fine one."""
    spreads = [dp.gaussian(dp.Interval(0, 1, step), dp.Privacy(1, "1e-5")) for step in ("0.01", "0.05", "0.25", 1)]
    variances = [m.bias_and_variance().variance for m in spreads]  # type: ignore[union-attr]
    assert max(variances) / min(variances) < 1.05


def test_the_exponential_mechanism_for_some_pairs() -> None:
    utility = [[0, -1, -2], [-1, 0, -1], [-2, -1, 0]]
    every = dp.exponential(ABC, ABC, utility, epsilon=1)
    near = dp.exponential(ABC, ABC, utility, epsilon=1, neighbours=[("a", "b"), ("b", "c")])
    assert near.epsilon() < every.epsilon()


def test_what_a_guarantee_means_from_python() -> None:
    said = dp.explain(dp.Privacy(1, neighbours="add-remove"), stake=100)
    assert said["utility"]["stake"] == 100 and said["neighbours"] == "add-remove"
    assert dp.explain("0.5")["odds_factor"] == pytest.approx(exp(0.5))

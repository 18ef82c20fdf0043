"""Scores undo laws: on average over the law they are what they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dproof import InputError
from dproof.laws.debias import (
    AnswerGroups,
    Contingency,
    DenseScores,
    DesignAxis,
    MatrixAxis,
    MomentsAxis,
    Sets,
    Sum,
    explain_singular,
    noiseless_powers,
    response_axis,
    solver,
)
from dproof.local.estimate import likelihood, projection, shrinkage
from dproof.questions.estimated import half_widths, simultaneous
from dproof.questions.measured import normal_quantile

COUNTS = np.array([310.0, 150.0, 240.0, 120.0, 180.0])


def alone(groups: int) -> AnswerGroups:
    """Every block of the only axis is a group."""
    return AnswerGroups([(n,) for n in range(groups)], np.arange(groups), (0,), Sets(1, np.ones((1, 1))))


def hobby() -> DesignAxis:
    """HLM15, Example 6 with m = 4 and p = 0.1."""
    return response_axis("column 'hobby'", np.ones(5), 0.6, 0.1, (None,))


def test_frequencies_and_both_standard_errors_of_randomised_response() -> None:
    table = Contingency([hobby()], COUNTS, 1000)
    found = table.estimates([Sum(np.ones(5), ((0,),))], alone(5))
    assert found.values[:, 0] / 1000 == pytest.approx([0.42, 0.10, 0.28, 0.04, 0.16])
    population = np.sqrt(found.covariance("population")[:, 0, 0]) / 1000
    assert population == pytest.approx([0.029251, 0.022583, 0.027011, 0.020552, 0.024298], abs=5e-7)
    # Var given the table: Σ_d Var s(Y_d) = (n q(1−q) + c (p(1−p) − q(1−q))) / (p−q)², for keep p and other q.
    given_table = (1000 * 0.09 + 1000 * np.array([0.42, 0.10, 0.28, 0.04, 0.16]) * (0.24 - 0.09)) / 0.25
    assert found.covariance("table")[:, 0, 0] == pytest.approx(given_table)


@given(st.lists(st.integers(1, 40), min_size=2, max_size=6), st.floats(0.02, 0.98))
def test_a_lumped_keep_or_other_law_is_undone(sizes: list[int], share: float) -> None:
    total = sum(sizes)
    other = (1 - share) / total
    weights = np.array(sizes, float)
    law = share * np.eye(len(sizes)) + other * weights
    scores = response_axis("", weights, share + other, other).scores(())
    assert pytest.approx(np.eye(len(sizes)), abs=1e-8) == scores.spread(np.eye(len(sizes)), 0).T @ law.T


@st.composite
def laws(draw: st.DrawFn) -> np.ndarray:
    inputs = draw(st.integers(2, 5))
    outputs = draw(st.integers(inputs, 8))
    rows = draw(
        st.lists(st.lists(st.integers(1, 20), min_size=outputs, max_size=outputs), min_size=inputs, max_size=inputs)
    )
    matrix = np.array(rows, float) + 30 * np.eye(inputs, outputs)  # well away from singular
    return matrix / matrix.sum(axis=1, keepdims=True)


@given(laws())
def test_a_rectangular_law_is_undone_without_bias(law: np.ndarray) -> None:
    assert law @ solver(law)(np.eye(len(law))) == pytest.approx(np.eye(len(law)), abs=1e-8)


@given(laws())
def test_generalised_least_squares_beats_every_other_unbiased_score(law: np.ndarray) -> None:
    best = solver(law)(np.eye(len(law)))[:, 0]
    _, sizes, right = np.linalg.svd(law)
    unseen = right[len(sizes) :]  # what may be added to a score without changing its mean
    mean = law.mean(axis=0)
    for direction in unseen:
        assert mean @ best**2 <= mean @ (best + 0.1 * direction) ** 2 + 1e-12


def test_a_singular_law_keeps_what_it_can_tell() -> None:
    law = np.array([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    found = solver(law)(np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1.0]]).T)
    assert np.isnan(found[:, 0]).all() and not np.isnan(found[:, 1:]).any()
    assert explain_singular(law, ["tea", "coffee", "milk"]) == (
        "its law treats 'tea' and 'coffee' alike, so only their total can be asked for; 'milk' can be asked for"
    )
    none = np.zeros(3)
    axis = MatrixAxis("column 'drink'", law, np.eye(3), none, np.eye(3), none, ["tea", "coffee", "milk"])
    with pytest.raises(InputError, match="column 'drink' cannot be debiased: its law treats 'tea' and 'coffee' alike"):
        axis.refuse()


def test_a_law_that_tells_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="the same for every value"):
        response_axis("column 'x'", np.ones(3), 1 / 3, 1 / 3, (None,)).scores((0,))


@given(st.floats(-3, 3), st.floats(0.1, 4))
def test_powers_of_a_number_are_unmixed(x: float, b: float) -> None:
    """Two-point noise ±b: E Z = 0, E Z² = b², E Z³ = 0, E Z⁴ = b⁴."""
    for power, q in enumerate(noiseless_powers([0, b**2, 0, b**4], 4)):
        mean = sum(np.polyval(q[::-1], y) for y in (x - b, x + b)) / 2
        assert mean == pytest.approx(x**power, rel=1e-6, abs=1e-6)


def test_a_sum_of_numbers_has_exactly_the_noise_of_its_rows() -> None:
    axis = MomentsAxis(3, (0.0, 7.0), 10.0)
    values = np.array([1.0, -2.0, 4.0])
    table = Contingency([axis], np.array([len(values), values.sum(), (values**2).sum()]), len(values))
    found = table.estimates([Sum(np.ones(1), ((1,),))], alone(1))
    assert found.values[0, 0] == pytest.approx(3) and found.covariance("table")[0, 0, 0] == pytest.approx(21)


def test_likelihood_is_the_inverse_where_that_is_a_distribution() -> None:
    table = Contingency([hobby()], COUNTS, 1000)
    assert likelihood(table) == pytest.approx([420, 100, 280, 40, 160], abs=0.01)


@given(st.lists(st.integers(0, 500), min_size=5, max_size=5).filter(sum))
def test_fitted_counts_are_distributions(counts: list[int]) -> None:
    table = Contingency([hobby()], np.array(counts, float), sum(counts))
    for found in (likelihood(table), projection(table), shrinkage(table)):
        assert (found >= 0).all() and found.sum() == pytest.approx(sum(counts), rel=1e-6)


@given(st.lists(st.integers(0, 500), min_size=5, max_size=5).filter(sum))
def test_no_other_distribution_is_likelier(counts: list[int]) -> None:
    law = 0.5 * np.eye(5) + 0.1
    seen = np.array(counts, float)
    found = likelihood(Contingency([hobby()], seen, sum(counts)))

    def log_likelihood(cells: np.ndarray) -> float:
        return float((seen * np.log(np.maximum(cells @ law, 1e-300))).sum())

    for other in (np.full(5, seen.sum() / 5), *(seen.sum() * np.eye(5))):
        assert log_likelihood(found) >= log_likelihood(0.999 * found + 0.001 * other) - 1e-3 * seen.sum()


def test_many_cells_under_much_noise_are_best_drawn_together() -> None:
    """k = 50, ε = 1, 10,000 rows, Zipf's law: the squared error against the table that was sanitised."""
    k, rows, rng = 50, 10_000, np.random.default_rng(4)
    keep, other = np.e / (np.e + k - 1), 1 / (np.e + k - 1)
    true = rng.multinomial(rows, (1 / np.arange(1, k + 1)) / (1 / np.arange(1, k + 1)).sum())
    law = np.full((k, k), other) + (keep - other) * np.eye(k)
    errors = np.zeros(4)
    for _ in range(6):
        seen = sum(rng.multinomial(n, row) for n, row in zip(true, law, strict=True))
        table = Contingency([response_axis("", np.ones(k), keep, other, (None,))], seen.astype(float), rows)
        unbiased = table.blocks(((0,),))
        clipped = np.maximum(unbiased, 0) * rows / np.maximum(unbiased, 0).sum()  # what peers do
        for n, found in enumerate((shrinkage(table), likelihood(table), clipped, unbiased)):
            errors[n] += ((found - true) ** 2).mean()
    assert errors[0] < 0.9 * errors[1:].min() and errors[1] < errors[3]


def test_scores_gather_and_spread_are_each_others_transpose() -> None:
    rng = np.random.default_rng(3)
    scores = DenseScores(rng.normal(size=(4, 3)))
    counts, weights = rng.normal(size=(2, 4)), rng.normal(size=(2, 3))
    assert (scores.gather(counts, 1) * weights).sum() == pytest.approx((counts * scores.spread(weights, 1)).sum())


def test_intervals_are_walds_bernsteins_or_exact() -> None:
    widths = half_widths(np.array([0.0, 10_000.0, 0.5, -0.1]), np.ones(4), 0.95)
    assert widths.half[0] == 0 and widths.half[1] == pytest.approx(195.9964)
    assert widths.few.tolist() == [False, False, True, True]
    assert widths.half[2] > normal_quantile(0.95) * 0.5**0.5 and widths.half[3] > 1


def test_bernstein_covers_a_handful_of_flips() -> None:
    """Each of 1000 rows turns with probability 1/1000: how often is the count of turns within the half-width?"""
    chances = np.array([float(np.exp(-1) / np.prod(np.arange(1, k + 1))) for k in range(12)])
    half = half_widths(np.array([0.999]), np.array([1.0]), 0.95).half[0]
    assert chances[np.abs(np.arange(12) - 1) <= half].sum() >= 0.95


def test_simultaneous_intervals_are_wider() -> None:
    assert simultaneous(0.95, 1) == pytest.approx(0.95)
    assert simultaneous(0.95, 20) ** 20 == pytest.approx(0.95)

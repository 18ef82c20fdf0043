"""dp.design: formulations agree, every design keeps its promise, and silly requests have answers."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from itertools import pairwise, product
from math import exp
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dproof as dp
from dproof import (
    Categories,
    Curves,
    DproofWarning,
    InputError,
    Interval,
    Privacy,
    Rows,
    Subsets,
    TooLarge,
    certify,
    design,
    design_row,
    laplace,
    response_with,
)
from dproof.exact import exp_above, exp_below
from dproof.laws import Matrix
from dproof.mechanisms.mechanism import losses
from dproof.optimality.programme import (
    WHOLE,
    Programme,
    Symmetry,
    certified_law,
    certified_pairs_law,
    find_symmetry,
    privacy_constraints,
    pure_bound,
    pure_law,
)
from tests import brute_force
from tests.linear_programme import least_error
from tests.strategies import metrics

EPSILONS = st.sampled_from(["0.01", "0.3", "1", "2.5", "7"])

pytestmark = [
    pytest.mark.filterwarnings("ignore:this design cannot be inverted"),
    pytest.mark.filterwarnings("ignore:this design is proven"),
]


def staircase_optimum(rho: list[list[float]], e: float) -> float:
    """The optimum over mixtures of two-level columns 1 + (e − 1)·1_S, one weight for each output and subset S."""
    k = len(rho)
    levels = np.array([[e if inside else 1.0 for inside in s] for s in product([False, True], repeat=k)])
    columns = [(j, level) for j in range(k) for level in levels]
    # min t: Σ w·level_i = 1 and Σ w·level_i·ρ_ij ≤ t for each i; written as a game of one law into the columns.
    import highspy

    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    t, w = solver.addVariable(lb=0), [solver.addVariable(lb=0) for _ in columns]
    for i in range(k):
        solver.addConstr(sum(float(level[i]) * x for x, (_, level) in zip(w, columns, strict=True)) == 1)
        solver.addConstr(
            sum(float(level[i] * rho[i][j]) * x for x, (j, level) in zip(w, columns, strict=True) if rho[i][j]) - t <= 0
        )
    solver.minimize(t)
    return float(solver.val(t))


@settings(max_examples=25, deadline=None)
@given(metrics(most=5), EPSILONS)
def test_all_formulations_agree_on_random_metrics(rho: list[list[Fraction]], epsilon: str) -> None:
    """Column minima, all pairs, staircases, and a programme written apart."""
    assume(len(rho) > 1)
    space, eps, e = Categories(list(range(len(rho))), metric=rho), Fraction(epsilon), exp(float(epsilon))
    costs, floats = losses(space), [[float(x) for x in row] for row in rho]
    law, bound = pure_law(costs, eps, None)
    fold = find_symmetry(space, space, costs, None)
    pairs, pairs_bound = Programme(costs, fold, privacy_constraints(fold, fold.pairs, eps), Fraction(0)).solve(0.0)
    values = [float(((x / x.sum(axis=1, keepdims=True)) * costs.floats).sum(axis=1).max()) for x in (law, pairs)]
    values += [float(bound), float(pairs_bound), staircase_optimum(floats, e)]
    scale = max(map(max, floats))
    assert max(values) - min(values) < 1e-8 * scale, values
    # A solver left to its usual tolerance of 1e-7 on rows that hold e^ε.
    assert least_error(floats, e) == pytest.approx(min(values), abs=1e-7 * e * scale)


@settings(max_examples=25, deadline=None)
@given(metrics(most=4), EPSILONS, st.sampled_from(["0.001", "0.1", "0.6"]))
def test_delta_agrees_on_random_metrics(rho: list[list[Fraction]], epsilon: str, delta: str) -> None:
    space = Categories(list(range(len(rho))), metric=rho)
    best, floats = design(space, Privacy(epsilon, delta)), [[float(x) for x in row] for row in rho]
    scale, e = max(map(max, floats)) or 1, exp(float(epsilon))
    plain = least_error(floats, e, float(delta))
    assert float(best.error) == pytest.approx(plain, abs=1e-7 * e * scale)
    certify(best, Privacy(epsilon, delta))


@settings(max_examples=40, deadline=None)
@given(
    metrics(most=5),
    st.sampled_from(["0", "1e-12", "1e-5", "0.4", "1", "3", "9", "20"]),
    st.sampled_from(["0", "1e-15", "1e-9", "1e-6", "0.05", "0.7", "0.999", "1"]),
)
def test_every_design_keeps_its_promise_and_its_proof(rho: list[list[Fraction]], epsilon: str, delta: str) -> None:
    space, privacy = Categories(list(range(len(rho))), metric=rho), Privacy(epsilon, delta)
    best = design(space, privacy)
    certify(best, privacy)
    assert best.optimum is None or 0 <= best.optimum.lower_bound <= best.optimum.value
    if best.optimum is not None:
        assert best.optimum.value == best.error
        assert best.optimum.gap < Fraction(1, 10**6) or float(epsilon) == 20 or delta == "0.999"


@given(metrics(most=4), st.data())
@settings(max_examples=60, deadline=None)
def test_any_guess_of_the_dual_is_a_lower_bound(rho: list[list[Fraction]], data: st.DataObject) -> None:
    """The proof does not trust the solver: arbitrary multipliers never exceed the error of a certified law."""
    assume(len(rho) > 1)
    space, k = Categories(list(range(len(rho))), metric=rho), len(rho)
    numbers = st.floats(-5, 5, allow_nan=False)
    weights = [Fraction(w) for w in data.draw(st.lists(st.integers(0, 9), min_size=k, max_size=k))]
    assume(sum(weights))
    prices = [w / sum(weights) for w in weights]
    levels = np.array(data.draw(st.lists(numbers, min_size=k, max_size=k)))
    delta = data.draw(st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1, 2)]))
    bound = pure_bound(exp_above(Fraction(1)), losses(space), prices, levels, delta=delta)
    assert bound <= design(space, Privacy(1, delta)).error


def test_the_exact_bound_is_sharp_where_the_dual_solution_is_known() -> None:
    """On the discrete metric λ = 1/K and μ = E/K prove randomised response optimal."""
    space, odds = Categories(list(range(5))), exp_above(Fraction(1))
    optimum = 4 / (4 + odds)
    bound = pure_bound(odds, losses(space), [Fraction(1, 5)] * 5, np.full(5, float(optimum) / 5))
    assert optimum * (1 - Fraction(1, 10**14)) < bound <= optimum


def test_the_bound_pays_for_delta() -> None:
    """The best multipliers at δ = 0 prove less at δ > 0, and never more than a law with that δ attains."""
    space, odds, delta = Categories(list(range(3))), exp_above(Fraction(1)), Fraction(1, 10)
    levels = np.full(3, float(2 / (2 + odds)) / 3)
    bound = pure_bound(odds, losses(space), [Fraction(1, 3)] * 3, levels, delta=delta)
    assert 0 < bound <= design(space, Privacy(1, delta)).error < 2 / (2 + odds)


@pytest.mark.parametrize("violation", [1e-13, 1e-9, 1e-6, 1e-3])
def test_rounding_repairs_what_a_solver_breaks(violation: float) -> None:
    e = exp(1) * (1 + violation)
    law = np.array([[e, 1, 1], [1, e, 1], [1, 1, e]]) / (e + 2)
    family = certified_law(law, Fraction(1), Fraction(0))
    assert family.total == WHOLE and (family.rows.sum(axis=1) == WHOLE).all()
    assert family.worst(exp_below(Fraction(1))).value == 0
    assert np.abs(family.rows / WHOLE - law).max() < 2 * violation + 1e-15


def test_rounding_repairs_delta_too() -> None:
    law = np.array([[0.7, 0.3], [0.3, 0.7]])
    family = certified_law(law, Fraction(0), Fraction(39, 100))
    assert family.worst(Fraction(1)).value <= Fraction(39, 100)


@pytest.mark.parametrize("epsilon", ["30", "60", "1000"])
def test_beyond_the_resolution_of_whole_numbers_the_promise_still_holds(epsilon: str) -> None:
    best = design(Interval(0, 4, 1), Privacy(epsilon))
    certify(best, Privacy(epsilon))
    assert best.error < Fraction(1, 10**9)


def test_nothing_can_be_told_at_epsilon_zero() -> None:
    best = design(Interval(0, 4, 1), Privacy(0))
    assert float(best.error) == pytest.approx(2) and best.epsilon() == 0
    assert best.optimum is not None and best.optimum.gap < Fraction(1, 10**9)
    prior = design(Interval(0, 4, 1), Privacy(0), prior=[9, 1, 1, 1, 1])
    assert prior.law(3)[0] == 1, "the weighted median, always"


@settings(max_examples=25, deadline=None)
@given(metrics(most=4), st.sampled_from(["0", "0.4", "3"]), st.sampled_from(["0", "0.001", "0.2"]), st.data())
def test_a_prior_agrees_on_random_metrics(rho: list[list[Fraction]], epsilon: str, delta: str, data) -> None:
    """What is averaged in the plain programme are the losses, each times how likely its input is."""
    prior = data.draw(st.lists(st.integers(1, 9), min_size=len(rho), max_size=len(rho)))
    space = Categories(list(range(len(rho))), metric=rho)
    best = design(space, Privacy(epsilon, delta), prior=prior)
    weighed = [[float(x * w * len(rho) / sum(prior)) for x in row] for row, w in zip(rho, prior, strict=True)]
    scale, e = max(map(max, weighed)) or 1, exp(float(epsilon))
    assert best.optimum is not None
    assert float(best.optimum.value) == pytest.approx(
        least_error(weighed, e, float(delta), average=True), abs=1e-7 * e * scale
    )
    assert best.optimum.lower_bound <= best.optimum.value
    certify(best, Privacy(epsilon, delta))


def test_a_wide_gap_is_told() -> None:
    with pytest.warns(DproofWarning, match="proven to be within"):
        best = design(Interval(0, 4, 1), Privacy(40))
    certify(best, Privacy(40))


@pytest.mark.parametrize("epsilon", ["1e-12", "0", "50"])
def test_metric_privacy_at_the_edges(epsilon: str) -> None:
    best = design(Interval(0, 4, 1), Privacy(epsilon), metric_privacy=True)
    certify(best, Privacy(epsilon), metric_privacy=True)


def test_curves_are_no_finite_space() -> None:
    with pytest.raises(InputError, match="finitely many"):
        design(Curves(0, 1, 5, 0, 1), Privacy(1))  # type: ignore[arg-type]


def test_a_design_that_cannot_be_debiased_says_so() -> None:
    with pytest.warns(DproofWarning, match="cannot be estimated"):
        design(Interval(0, 20, 1), Privacy("0.1"))


@pytest.mark.filterwarnings("error")
def test_a_design_that_can_is_silent() -> None:
    design(Categories([0, 1, 2], metric="ordinal"), Privacy(1))


@pytest.mark.parametrize(
    ("space", "privacy"),
    [
        (Interval(0, 1), Privacy(1)),
        (Interval(0, 1500, 1), Privacy(1)),
        (Interval(0, 60, 1), Privacy(1, "0.01")),
        (Subsets([str(n) for n in range(30)]), Privacy(1)),
        (Interval(0, 2000, 1), Privacy(1, "0.01")),
    ],
)
def test_too_large_a_problem_is_refused_at_once(space, privacy: Privacy) -> None:
    with pytest.raises(TooLarge, match="fit"):
        design(space, privacy)


def test_mistakes_are_told() -> None:
    levels = Categories([0, 1, 2], metric="ordinal")
    with pytest.raises(InputError, match="did you mean 'squared'"):
        design(levels, Privacy(1), loss="square")
    with pytest.raises(InputError, match="3 inputs by 3 outputs"):
        design(levels, Privacy(1), loss=[[0, 1], [1, 0]])
    with pytest.raises(InputError, match="negative"):
        design(levels, Privacy(1), loss=[[0, 1, -1]] * 3)
    with pytest.raises(InputError, match="no distance from the inputs"):
        design(levels, Privacy(1), outputs=Categories(["x", "y"]))


def test_losses_are_exact() -> None:
    thirds = Interval(0, 1, "1/3")
    assert losses(thirds).unit == 3 and losses(thirds).whole.tolist()[0] == [0, 1, 2, 3]
    assert losses(thirds, loss="squared").unit == 9
    uniform = design(thirds, Privacy(0))
    assert max(uniform.expected_errors()) == uniform.error and uniform.expected_errors([[1] * 4] * 4) == [1, 1, 1, 1]


def test_squared_errors_of_any_mechanism() -> None:
    response = response_with(Categories([0, 1, 2], metric="ordinal"), "1/4")
    assert response.expected_errors("squared") == [Fraction(5, 4), Fraction(1, 2), Fraction(5, 4)]
    plain, clamped = (laplace(Interval(0, 1, "0.01"), Privacy(2), clamp=clamp) for clamp in (False, True))
    assert float(plain.expected_errors("squared")[0]) == pytest.approx(2 / 2**2, rel=1e-3)
    assert max(clamped.expected_errors("squared")) < plain.expected_errors("squared")[0]
    with pytest.raises(InputError, match="did you mean 'squared'"):
        response.expected_errors("square")


def test_outputs_on_another_lattice_have_exact_losses() -> None:
    """Halves into thirds: 1/2 lies 1/6 from its neighbours there."""
    assert losses(Interval(0, 1, "1/2"), Interval(0, 1, "1/3")).floats[1] == pytest.approx([1 / 2, 1 / 6, 1 / 6, 1 / 2])
    wider = design(Interval(0, 1, "1/2"), Privacy(1), outputs=Interval(0, 1, "1/4"))
    assert float(wider.error) == pytest.approx(0.3025146095, abs=1e-9), "on a line finer outputs never help"


def test_orbits_keep_the_losses_and_cover_all_pairs() -> None:
    for space in (
        Interval(0, 4, 1),
        Subsets(list("abc")),
        Categories([0, 1, 2], metric=[[0, 1, 3], [1, 0, 3], [3, 3, 0]]),
    ):
        costs = losses(space)
        fold: Symmetry = find_symmetry(space, space, costs, None)
        for orbit in range(fold.orbits.max() + 1):
            assert len(set(costs.whole[fold.orbits == orbit].tolist())) == 1
        assert sum(fold.shares) == space.size
    skew = find_symmetry(Interval(0, 4, 1), Interval(0, 4, 1), losses(Interval(0, 4, 1)), np.array([1, 2, 3, 4, 5]))
    assert len(skew.inputs) == 5, "a prior that is not symmetric breaks the symmetry"


def test_a_row_splits_its_promise_by_need() -> None:
    row = Rows({"smoker": Categories(["no", "yes"]), "hobby": Categories(list(range(20)))})
    best = design_row(row, Privacy(2))
    assert sum(best.shares.values()) == 1 and best.shares["hobby"] > best.shares["smoker"] > 0
    even = {name: design(space, Privacy(1)) for name, space in row.columns.items()}
    nothing = {name: design(space, Privacy(0)).error for name, space in row.columns.items()}
    assert max(best.errors.values()) < max(even[name].error / nothing[name] for name in even)
    for name, mechanism in best.mechanisms.items():
        certify(mechanism, Privacy(2 * best.shares[name]))


def test_a_row_may_aim_at_the_sum_or_weigh_its_columns() -> None:
    row = Rows({"a": Categories([0, 1]), "b": Categories([0, 1, 2]), "c": Interval(0, 2, 1)})
    largest, least_sum = design_row(row, Privacy(3)), design_row(row, Privacy(3), aim="sum")
    assert sum(least_sum.errors.values()) < sum(largest.errors.values())
    assert max(largest.errors.values()) < max(least_sum.errors.values())
    weighed = design_row(row, Privacy(3), weights={"b": 10})
    assert weighed.shares["b"] > largest.shares["b"]
    with pytest.raises(InputError, match="no column 'd'"):
        design_row(row, Privacy(3), weights={"d": 1})
    with pytest.raises(InputError, match="did you mean 'sum'"):
        design_row(row, Privacy(3), aim="summ")  # type: ignore[arg-type]


def test_a_row_of_one_column_gives_it_all() -> None:
    best = design_row(Rows({"a": Categories([0, 1]), "only": Categories(["x"])}), Privacy(1, "0.1"))
    assert best.shares["a"] == 1
    certify(best.mechanisms["a"], Privacy(1, "0.1"))


# Where the least possible error is 0, a design attains it exactly and says nothing of a gap ---------------------------


THREE = dp.Categories(["a", "b", "c"])
FREE = [[0, 1, 1], [0, 1, 2], [0, 3, 1]]  # the first output costs nothing


@pytest.mark.parametrize(
    ("privacy", "options"),
    [
        (dp.Privacy(1), {"prior": [1, 0, 0]}),
        (dp.Privacy(1), {"prior": [0, 1, 0], "loss": "squared"}),
        (dp.Privacy(1, "0.1"), {"prior": [1, 0, 0]}),
        (dp.Privacy(1), {"loss": FREE}),
        (dp.Privacy(0), {"loss": FREE}),
        (dp.Privacy(1), {"loss": FREE, "metric_privacy": True}),
    ],
)
def test_an_optimum_of_zero_is_attained_without_a_gap(privacy: dp.Privacy, options: dict) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        best = dp.design(THREE, privacy, **options)
    assert best.optimum is not None and best.optimum.value == 0 == best.optimum.lower_bound == best.optimum.gap
    assert not any("of the best" in str(warning.message) for warning in told)
    dp.certify(best, dp.Privacy(0))  # the same answer for every input


def test_an_optimum_that_floats_cannot_tell_from_zero_is_said_to_be_so() -> None:
    with pytest.warns(dp.DproofWarning, match=r"too close to 0 to say more"):
        best = dp.design(dp.Interval(0, 4, 1), 200)
    assert best.optimum is not None and best.optimum.lower_bound == 0 < best.optimum.value < 1e-12


# A design whose promise holds between given neighbours alone: never worse, and proven to be the best ------------------


PAIN = dp.Categories(["none", "mild", "moderate", "severe"], metric="ordinal")
CHAIN = [tuple(pair) for pair in pairwise(["none", "mild", "moderate", "severe"])]


def quietly(*arguments: Any, **options: Any) -> dp.Mechanism:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dp.design(*arguments, **options)


@pytest.mark.parametrize("delta", ["0", "0.05"])
@pytest.mark.parametrize("prior", [None, ["1/2", "1/4", "1/8", "1/8"]])
def test_fewer_pairs_cost_less_and_the_bound_proves_it(delta: str, prior: Any) -> None:
    promise = dp.Privacy(1, delta)
    free, full = (quietly(PAIN, promise, prior=prior, neighbours=pairs) for pairs in (CHAIN, None))
    assert free.optimum is not None and full.optimum is not None
    assert free.optimum.gap < Fraction(1, 10**6) and free.optimum.value < full.optimum.lower_bound
    assert dp.certify(free, promise).epsilon <= 1  # between the neighbours
    assert free.delta(1) <= float(promise.delta)
    everywhere = dp.solution_matrix(PAIN, free.matrix().tolist())
    assert everywhere.delta(1) > float(promise.delta)  # between all pairs it is not kept
    if delta == "0":
        assert everywhere.epsilon() <= 3.001  # a chain of three


def test_all_pairs_given_one_by_one_are_the_design_without_them() -> None:
    every = np.ones((4, 4), bool) & ~np.eye(4, dtype=bool)
    one, other = quietly(PAIN, 1, neighbours=every), quietly(PAIN, 1)
    assert one.optimum is not None and other.optimum is not None
    assert abs(one.optimum.value - other.optimum.value) < Fraction(1, 10**7)


def test_the_optimum_is_that_of_the_linear_programme_written_out() -> None:
    losses = [[abs(i - j) for j in range(4)] for i in range(4)]
    pairs = [(i, k) for i in range(4) for k in range(4) if abs(i - k) == 1]
    value = least_error(losses, math.e, pairs=pairs)
    best = quietly(PAIN, 1, neighbours=CHAIN)
    assert best.optimum is not None and float(best.optimum.value) == pytest.approx(value, rel=1e-6)


def test_without_epsilon_those_that_are_connected_are_answered_alike() -> None:
    pairs = [("none", "mild"), ("moderate", "severe")]
    best = quietly(PAIN, 0, neighbours=pairs)
    law = best.matrix()
    assert (law[0] == law[1]).all() and (law[2] == law[3]).all() and best.delta(0) == 0
    assert best.optimum is not None and best.optimum.value == Fraction(1, 2) == best.optimum.lower_bound


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"neighbours": [("none", "severe")], "metric_privacy": True}, "neighbours and metric_privacy"),
        ({"neighbours": [("none", "huge")]}, "not a pair of declared labels"),
        ({"neighbours": np.eye(3, dtype=bool)}, "4 by 4"),
        ({"neighbours": []}, "at least one pair"),
    ],
)
def test_other_neighbours_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(dp.InputError, match=told):
        dp.design(PAIN, 1, **options)


def test_unbiased_designs_take_no_neighbours() -> None:
    with pytest.raises(dp.InputError, match="neighbours and unbiased"):
        dp.design(dp.Interval(0, 2, 1), 1, unbiased=True, neighbours=[(0, 1)])


# An unbiased design for a prior: exact means, and the least average variance, which a dual bound proves ---------------


TENS = dp.Interval(0, 10, 1)


def unbiased(**options: Any) -> dp.Mechanism:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dp.design(TENS, options.pop("privacy", 1), unbiased=True, **options)


@pytest.mark.parametrize("prior", [[1] * 11, [16, 8, 4, 2, 1, 1, 1, 1, 1, 1, 1], [0] * 5 + [1] + [0] * 5])
@pytest.mark.parametrize("epsilon", ["0.5", "3"])
def test_the_average_variance_is_the_least_and_below_that_of_the_worst_case(epsilon: str, prior: list[int]) -> None:
    own, worst_case = (
        unbiased(privacy=epsilon, prior=prior),
        unbiased(privacy=epsilon),
    )
    assert own.optimum is not None and own.optimum.gap < Fraction(1, 10**6)
    assert own.optimum.loss == "squared, under the prior"
    shares = [Fraction(weight, sum(prior)) for weight in prior]
    averages = [
        sum(p * v for p, v in zip(shares, m.expected_errors("squared"), strict=True)) for m in (own, worst_case)
    ]
    assert averages[0] == own.optimum.value < averages[1]
    means = [sum(Fraction(y) * p for y, p in own.law(x).items()) for x in range(11)]
    assert means == list(range(11))  # exactly, of values that the prior rules out too
    assert own.epsilon() <= float(epsilon)
    dp.certify(own, epsilon)


def test_what_an_unbiased_design_does_not_have_is_refused() -> None:
    with pytest.raises(dp.InputError, match="delta = 0"):
        unbiased(privacy=dp.Privacy(1, "0.1"), prior=[1] * 11)
    with pytest.raises(dp.InputError, match="3 probabilities for 11 values"):
        unbiased(prior=[1, 1, 1])


# From a law in floats to whole numbers: every pair keeps its promise, and nothing moves more than it must -------------


_EDGES = [(0, 1, Fraction(2)), (1, 0, Fraction(2)), (1, 2, Fraction(3, 2)), (2, 1, Fraction(3, 2))]


def _rows(family: Matrix) -> list[list[Fraction]]:
    assert family.total == WHOLE and (family.rows.sum(axis=1) == WHOLE).all()
    return [[Fraction(int(w), WHOLE) for w in row] for row in family.rows]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=3, max_size=3),
    st.sampled_from([Fraction(0), Fraction(1, 20), Fraction(1, 3)]),
)
def test_each_pair_keeps_the_odds_of_its_own(weights: list[list[int]], delta: Fraction) -> None:
    """Any law whatever, far from private: what comes out satisfies every edge, by all subsets of the outputs."""
    family = certified_pairs_law(np.array(weights, float) + 0.5, _EDGES, delta)
    rows = _rows(family)
    for i, k, odds in _EDGES:
        assert brute_force.delta(rows[i], rows[k], odds) <= delta


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=3, max_size=3),
    st.sampled_from([Fraction(0), Fraction(1, 20), Fraction(1, 3)]),
)
def test_all_pairs_keep_the_promise(weights: list[list[int]], delta: Fraction) -> None:
    family = certified_law(np.array(weights, float) + 0.5, Fraction(1), delta)
    assert brute_force.tight_delta(_rows(family), exp_below(Fraction(1))) <= delta


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_a_law_that_only_rounding_breaks_is_lifted_and_not_mixed(epsilon: str) -> None:
    """Randomised response in floats lies on its limit: a unit in the last place decides, and no more is given away."""
    odds = exp_below(Fraction(epsilon))
    law = np.where(np.eye(5, dtype=bool), float(odds / (4 + odds)), float(1 / (4 + odds)))
    family = certified_law(law, Fraction(epsilon), Fraction(0))
    exact = [[(odds if i == j else 1) / (4 + odds) for j in range(5)] for i in range(5)]
    moved = [
        abs(a - b) for row, right in zip(_rows(family), exact, strict=True) for a, b in zip(row, right, strict=True)
    ]
    assert max(moved) < Fraction(1, 2**50)

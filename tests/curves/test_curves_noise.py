"""Noise on the coefficients of a curve: what two curves can be apart, and that the law hides exactly that."""

import itertools
from fractions import Fraction
from functools import cache
from math import exp, isqrt, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dproof import Curves, InputError, Privacy, certify, curve_noise, expand
from dproof.coins import current
from dproof.curves.lattice import Expansion
from dproof.curves.noise import recorded_curve_law, vector_noise
from dproof.exact import exp_below
from dproof.laws import GaussianSum
from dproof.laws.divergence import normal_delta
from dproof.laws.gaussian import gaussian_sum
from dproof.testing import seeded_coins

DAY = Curves(0, 24, 49, 0, 5, norm="l2")
EXPANSIONS = {
    "cosine": {"terms": 9},
    "b-spline": {"basis": "b-spline", "terms": 12, "radius": 3},
    "fourier": {"basis": "fourier", "terms": 5, "box": [10, 4, 4, 1, "0.5"]},
    "matern": {"kernel": "matern-3/2", "length": 4, "radius": 6, "terms": 10},
    "smooth": {"kernel": "squared-exponential", "length": 4, "radius": 4, "terms": 8, "centre": [1] * 49},
}
HEIGHTS = [0.0, 5.0, 2.5, 1e-9, 4.999999]
WILD = st.binary(min_size=49, max_size=49).map(lambda places: [HEIGHTS[place % 5] for place in places])


@cache
def expansion_of(name: str) -> Expansion:
    """Made when a test asks for it: a kernel takes a second, and most runs choose other tests."""
    return expand(DAY, **EXPANSIONS[name])


@given(st.sampled_from(list(EXPANSIONS)), st.sampled_from(["laplace", "gaussian"]), WILD, WILD)
@settings(deadline=None, max_examples=200)
def test_no_two_curves_are_further_apart_than_is_charged(expansion, split, f, g) -> None:
    lattice = expansion_of(expansion).lattice(split)
    x, y = (lattice.coefficients(DAY.encode([curve]))[0].tolist() for curve in (f, g))
    move = [a - b for a, b in zip(x, y, strict=True)]
    assert sum(map(abs, move)) <= lattice.size("l1", "change-one")
    assert sum(d * d for d in move) <= lattice.size("l2", "change-one")
    assert sum(map(abs, x)) <= lattice.size("l1", "add-remove")
    assert sum(d * d for d in x) <= lattice.size("l2", "add-remove")


def test_a_row_of_the_lattice_depends_on_its_own_curve_alone() -> None:
    rows = np.random.default_rng(0).uniform(0, 5, (257, 49))
    lattice = expansion_of("cosine").lattice("gaussian")
    together = lattice.coefficients(DAY.encode(rows))
    alone = np.concatenate([lattice.coefficients(DAY.encode(row[None])) for row in rows])
    assert (together == alone).all()


def test_every_curve_between_low_and_high_is_inside_the_default_region() -> None:
    lattice = expand(DAY, terms=49).lattice("gaussian")
    for curve in ([0.0] * 49, [5.0] * 49, [0.0, 5.0] * 24 + [0.0], [0.0] * 24 + [5.0] * 25):
        kept = lattice.evaluate(lattice.coefficients(DAY.encode([curve])))
        functions = expand(DAY, terms=49).functions()[0]
        ideal = (np.array([curve]) - 2.5) @ functions.analysis(DAY).T @ functions.evaluate(DAY.times) + 2.5
        assert np.abs(kept - ideal).max() < 0.01


def test_the_pair_that_differs_everywhere_costs_the_whole_promise() -> None:
    """The guarantee is that of the whole curve: for the constants low and high it is used up."""
    mechanism = curve_noise(expand(DAY, terms=9), Privacy(1, "1e-6"), noise="gaussian")
    low, high = (mechanism.lattice.coefficients(DAY.encode([curve])) for curve in ([0.0] * 49, [5.0] * 49))
    move = int(((low - high) ** 2).sum())
    assert move > 0.999 * mechanism.lattice.size("l2", "change-one")
    sigma = Fraction(sqrt(float(mechanism.family.noise.variance)))
    assert 0.9e-6 < float(normal_delta(Fraction(isqrt(move)) / sigma, Fraction(1))) <= 1e-6
    pointwise = normal_delta(Fraction(isqrt(move)) / sigma / 7, Fraction(1))  # what one of 49 points would be charged
    assert float(pointwise) < 1e-12


def test_audit_of_the_drawn_curves() -> None:
    """Draws of the two constants satisfy the promise on the most telling half-spaces, and break a smaller one."""
    mechanism = curve_noise(expand(DAY, terms=3), Privacy(1))
    with seeded_coins(3):
        drawn = [mechanism.draw(np.full((40_000, 49), value)).mean(axis=1) for value in (0.0, 5.0)]
    cuts = np.quantile(np.concatenate(drawn), np.linspace(0.02, 0.98, 49))
    shares = [np.array([(side < cut).mean() for cut in cuts]) for side in drawn]
    slack = 5 * sqrt(0.25 / 40_000)
    assert (shares[0] <= exp(1) * shares[1] + slack).all() and (shares[0] > exp(0.4) * shares[1] + slack).any()


@pytest.mark.parametrize("expansion", EXPANSIONS)
@pytest.mark.parametrize("privacy", [Privacy(1), Privacy(2, "1e-6"), Privacy("0.05", "1e-9"), Privacy(8, "1e-5")])
def test_mechanisms_keep_their_promise_and_are_read_back(expansion, privacy) -> None:
    mechanism = curve_noise(expansion_of(expansion), privacy)
    certificate = certify(mechanism, privacy)
    assert mechanism.delta(privacy.epsilon) <= privacy.delta and mechanism.epsilon(privacy.delta) <= privacy.epsilon
    law = certificate.parts[0].law
    again = recorded_curve_law(expansion_of(expansion), law)
    assert again.family.to_json() == mechanism.family.to_json() and again.name == mechanism.name
    assert again.epsilon(privacy.delta) == mechanism.epsilon(privacy.delta)
    assert mechanism.epsilon(privacy.delta) > 0.999 * float(privacy.epsilon)


@pytest.mark.slow
def test_the_noise_is_as_wide_as_is_said() -> None:
    for expansion in EXPANSIONS:
        mechanism = curve_noise(expansion_of(expansion), Privacy(1, "1e-6"))
        with seeded_coins(5):
            noise = mechanism.draw(np.full((20_000, 49), 2.0)) - mechanism.lattice.evaluate(
                mechanism.lattice.coefficients(DAY.encode([[2.0] * 49]))
            )
        assert np.allclose(noise.std(axis=0), mechanism.standard_error(), rtol=0.04)
        assert np.abs(noise.mean(axis=0) / mechanism.standard_error()).max() < 5 / sqrt(20_000)
        squares = np.trapezoid(noise**2, DAY.times, axis=1).mean()
        assert sqrt(squares) == pytest.approx(mechanism.l2_error, rel=0.15)  # a grid's sum for an integral


def test_the_error_bounds_that_of_draws_in_either_norm() -> None:
    for norm in ("sup", "l2"):
        space = Curves(0, 24, 49, 0, 5, norm=norm)
        mechanism = curve_noise(space, Privacy(1))
        with seeded_coins(8):
            noise = mechanism.draw(np.full((4_000, 49), 2.5)) - 2.5
        size = np.abs(noise).max(axis=1) if norm == "sup" else np.sqrt(np.trapezoid(noise**2, space.times, axis=1))
        assert size.mean() <= float(mechanism.error) * 1.05 and float(mechanism.error) < 3 * size.mean()


def test_the_best_split_over_a_box_beats_equal_scales() -> None:
    box = [16, 4, 1, "0.25"]
    split = curve_noise(expand(DAY, terms=4, box=box), Privacy(1))
    sizes = np.array([float(b) for b in map(Fraction, box)])
    assert split.l2_error == pytest.approx(sqrt(2) * 2 * (sizes ** (2 / 3)).sum() ** 1.5, rel=1e-3)
    assert split.l2_error < 0.8 * sqrt(2 * 4) * 2 * sizes.sum()
    normal = curve_noise(expand(DAY, terms=4, box=box), Privacy(1, "1e-6"), noise="gaussian")
    assert normal.l2_error == pytest.approx(4.2247 * 2 * sizes.sum(), rel=1e-3)


def test_gaussian_process_noise_has_the_kernels_covariance() -> None:
    expansion = expand(DAY, kernel="matern-5/2", length=4, radius=6, terms=14)
    mechanism = curve_noise(expansion, Privacy(1, "1e-6"), noise="gaussian")
    sigma = mechanism.standard_error() / np.sqrt(np.diag(expansion.kernel(DAY.times, DAY.times)))
    assert np.allclose(sigma, 4.2247 * 2 * 6, rtol=0.03)  # the cut terms carry the rest
    smooth = np.exp(-(((DAY.times - 12) / 6) ** 2))[None] + 2.5
    assert mechanism.projection_error(smooth)[0] < 0.02


def test_a_curve_outside_the_kernels_ball_is_projected_into_it_first() -> None:
    expansion = expand(DAY, kernel="matern-3/2", length=4, radius="0.5", terms=10)
    lattice = expansion.lattice("gaussian")
    z = lattice.coefficients(DAY.encode([[0.0, 5.0] * 24 + [0.0], [5.0] * 49]))
    lengths = (z * z).sum(axis=1)
    assert (lengths <= lattice.radius**2).all() and (lengths[1:] > 0.99 * lattice.radius**2).all()


def test_functions_can_be_evaluated_anywhere() -> None:
    mechanism = curve_noise(DAY, Privacy(1))
    z = mechanism.draw_codes(DAY.encode([[1.0] * 49]))
    assert mechanism.lattice.evaluate(z, [0.123, 23.9]).shape == (1, 2)
    assert np.allclose(mechanism.lattice.evaluate(z, DAY.times), mechanism.lattice.decode(z))
    one = mechanism.draw([1.0] * 49)
    assert one.shape == (49,)


def test_refusals() -> None:
    with pytest.raises(InputError):
        curve_noise(DAY, Privacy(1), noise="gaussian")
    with pytest.raises(InputError):
        curve_noise(DAY, Privacy(1), noise="uniform")
    for wrong in (
        {"box": [1, 2]},
        {"radius": 0},
        {"radius": 1, "terms": 2, "box": [1, 1]},
        {"kernel": "exponential"},
        {"kernel": "exponential", "length": 1},
        {"length": 1},
        {"centre": [1]},
        {"centre": [9] * 49},
        {"terms": 50},
        {"radius": "0.000001"},
    ):
        with pytest.raises(InputError):
            curve_noise(expand(DAY, **wrong), Privacy(1))


# The law of wide Gaussian noise ---------------------------------------------------------------------------------------


def probability(law: GaussianSum, k: int) -> Fraction:
    """P(X = k), exactly, by the values of all draws but the last."""
    if law.draws == 1:
        return law.table.probability(k)
    rest, reach = GaussianSum(law.table, law.step, law.draws - 1), len(law.table.weights) - 1
    above = range(-((reach - k) // law.step), (reach + k) // law.step + 1)
    return sum((probability(rest, x) * law.table.probability(k - law.step * x) for x in above), Fraction(0))


@pytest.mark.parametrize(("sigma", "draws"), [(120, 2), (1000, 2), (10**5, 3)])
def test_a_sum_of_draws_is_gaussian_to_many_digits(sigma: int, draws: int) -> None:
    law = gaussian_sum(Fraction(sigma**2))
    assert law.draws == draws and float(law.variance) == pytest.approx(sigma**2, rel=1e-9)
    for k in (0, 1, -7, sigma // 3, sigma, -3 * sigma):
        ideal = exp(-k * k / 2 / sigma**2) / (sigma * sqrt(2 * np.pi))
        assert float(probability(law, k)) == pytest.approx(ideal, rel=1e-12)


@pytest.mark.parametrize("shift", [30, 120, 300])
@pytest.mark.parametrize("epsilon", ["0.2", "1", "2"])
def test_the_bound_covers_the_exact_profile_closely(shift: int, epsilon: str) -> None:
    law = gaussian_sum(Fraction(120**2))
    table = np.array(
        [float(law.table.probability(h)) for h in range(-len(law.table.weights) + 1, len(law.table.weights))]
    )
    stretched = np.zeros((len(table) - 1) * law.step + 1)
    stretched[:: law.step] = table
    p = np.convolve(stretched, table)
    q = np.concatenate([np.zeros(shift), p[:-shift]])
    odds = exp_below(Fraction(epsilon))
    exact = np.maximum(p - float(odds) * q, 0).sum()
    bound = float(law.delta_vector(odds, shift**2, 1))
    assert exact <= bound <= exact * 1.05 + 1e-12


def test_the_bound_in_two_dimensions() -> None:
    law = gaussian_sum(Fraction(100**2))
    reach = 700
    p = np.array([float(probability(law, k)) for k in range(-reach, reach + 1)])
    for a, b in ((60, 80), (0, 100), (100, 1)):
        moved = [np.concatenate([np.zeros(d), p[: len(p) - d]]) for d in (a, b)]
        exact = np.maximum(np.multiply.outer(p, p) - exp(1) * np.multiply.outer(*moved), 0).sum()
        assert exact <= float(law.delta_vector(exp_below(Fraction(1)), a * a + b * b, 2)) <= exact * 1.02


def test_draws_follow_the_law() -> None:
    law = gaussian_sum(Fraction(200**2))
    with seeded_coins(11) as seeded:
        drawn = law.draw(400_000, seeded)
    edges = np.arange(-600, 601, 40)
    masses = [sum(float(probability(law, k)) for k in range(a + 1, b + 1)) for a, b in itertools.pairwise(edges)]
    counts = np.histogram(drawn, edges + 0.5)[0]
    expected = np.array(masses) * len(drawn)
    assert ((counts - expected) ** 2 / expected).sum() < 30 + 5 * sqrt(60)
    assert law.draw(3, current()).dtype == np.int64


def test_a_narrow_table_is_refused() -> None:
    law = gaussian_sum(Fraction(10**6))
    with pytest.raises(InputError):
        GaussianSum(law.table, 2 * law.step, 2)
    with pytest.raises(InputError):
        gaussian_sum(Fraction(9))


def test_calibration_is_that_of_the_normal_law() -> None:
    for epsilon, delta, sigma in ((1, "1e-5", 3.7306316348), ("0.1", "0.01", 9.5418230888), (8, "1e-3", 0.4800137525)):
        noise = vector_noise("gaussian", 10**10, 12, Privacy(epsilon, delta))
        assert sqrt(float(noise.variance)) / 1e5 == pytest.approx(sigma, rel=2e-4)
        assert noise.worst(exp_below(Fraction(str(epsilon)))) <= Fraction(delta)


@pytest.mark.parametrize("may_be_missing", [False, True])
def test_curves_have_no_list_of_errors(may_be_missing: bool) -> None:
    mechanism = curve_noise(DAY, Privacy(2, "1e-6"))
    mechanism = mechanism.with_missing(Privacy(2, "1e-6")) if may_be_missing else mechanism
    with pytest.raises(InputError, match="`error` is the largest one"):
        mechanism.expected_errors()

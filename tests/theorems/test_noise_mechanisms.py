"""Noise beyond the papers: Gaussian, staircase, truncated and bounded Laplace, each with its exact profile."""

from __future__ import annotations

from fractions import Fraction
from math import erfc, exp, log, sqrt

import numpy as np
import pytest

from dproof import (
    InputError,
    Interval,
    Privacy,
    bounded_laplace,
    certify,
    gaussian,
    laplace,
    staircase,
    truncated_laplace,
)
from dproof.exact import exp_below
from dproof.laws.divergence import normal_delta
from dproof.laws.gaussian import gaussian_law
from dproof.laws.laplace import stairs, two_sided
from dproof.mechanisms.noise import _bounded_scale, integer_gaussian
from tests.numerical import noise_part, numerical


def normal(x: float) -> float:
    return erfc(-x / sqrt(2)) / 2


def balle_wang(epsilon: float, mu: float) -> float:
    return normal(mu / 2 - epsilon / mu) - exp(epsilon) * normal(-mu / 2 - epsilon / mu)


# Gaussian: Balle and Wang 2018 ---------------------------------------------------------------------------------------

SIGMAS = [("1", "1e-5", 3.7306316348), ("0.1", "0.01", 9.5418230888), ("8", "1e-3", 0.4800137525)]


@pytest.mark.parametrize(("epsilon", "delta", "sigma"), SIGMAS)
def test_gaussian_on_a_fine_lattice_has_the_tight_sigma(epsilon: str, delta: str, sigma: float) -> None:
    assert balle_wang(float(epsilon), 1 / sigma) == pytest.approx(float(delta), rel=1e-6)
    noise = integer_gaussian(400**2, Privacy(epsilon, delta), coordinates=1)
    assert sqrt(noise.variance) / 400 == pytest.approx(sigma, rel=2e-4)
    assert noise.delta(epsilon) <= float(delta)


@pytest.mark.parametrize(
    ("delta", "first_wrong", "wrong_common"), [(0.5, 6.4, 4.5), (0.1, 7.1, 5.8), (0.01, 7.9, 6.8), (1e-5, 9.4, 8.4)]
)
def test_published_constants_fail_for_large_epsilon(delta: float, first_wrong: float, wrong_common: float) -> None:
    """Noise (Δ/ε)√(2 ln(2/δ)), and the common √(2 ln(1.25/δ)), stop being private at some ε; the exact σ does not."""
    for constant, failing in ((2, first_wrong), (1.25, wrong_common)):
        for epsilon, private in ((failing - 0.1, True), (failing + 0.1, False)):
            sigma = sqrt(2 * log(constant / delta)) / epsilon
            exactly = normal_delta(Fraction(1 / sigma), Fraction(epsilon))
            assert (exactly <= delta) == private and float(exactly) == pytest.approx(balle_wang(epsilon, 1 / sigma))


def test_published_constants_waste_noise_below() -> None:
    assert sqrt(2 * log(2 / 1e-5)) == pytest.approx(4.941, abs=1e-3)
    assert sqrt(2 * log(1.25 / 1e-5)) == pytest.approx(4.845, abs=1e-3)
    assert sqrt(integer_gaussian(400**2, Privacy(1, "1e-5"), coordinates=1).variance) / 400 < 3.74


@pytest.mark.parametrize(("sigma", "shift", "epsilon"), [(1.0, 1, 0.5), (3.5, 2, 0.3), (12.0, 5, 1.0)])
def test_profiles_agree_with_dp_accounting(sigma: float, shift: int, epsilon: float) -> None:
    ours = float(gaussian_law(Fraction(sigma) ** 2).delta(exp_below(Fraction(epsilon)), shift))
    theirs = numerical([(noise_part(gaussian_law(Fraction(sigma) ** 2), shift), 1)]).delta(epsilon)
    assert theirs.low - 1e-9 <= ours <= theirs.high + 1e-12
    law = two_sided(exp_below(1 / Fraction(sigma)))
    ours = float(law.delta(exp_below(Fraction(epsilon)), shift))
    theirs = numerical([(noise_part(law, shift), 1)]).delta(epsilon)
    assert theirs.low - 1e-9 <= ours <= theirs.high + 1e-12


def test_gaussian_needs_delta() -> None:
    with pytest.raises(InputError, match="delta above 0"):
        gaussian(Interval(0, 1, "0.1"), Privacy(1))


# Staircase: Geng and Viswanath 2016 ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "error"), [(1, 0.9595173757), (4, 0.1378602824)])
def test_staircase_error(epsilon: int, error: float) -> None:
    """E|X| = D·e^(ε/2)/(e^ε − 1), below Laplace's D/ε."""
    assert exp(epsilon / 2) / (exp(epsilon) - 1) == pytest.approx(error, abs=1e-9)
    mechanism = staircase(Interval(0, 1, "0.0005"), Privacy(epsilon))
    assert float(mechanism.error) == pytest.approx(error, rel=1e-4) and float(mechanism.error) < 1 / epsilon
    certify(mechanism, Privacy(epsilon))


@pytest.mark.parametrize(("design", "epsilon"), [(1.0, 0.0), (1.0, 0.5), (3.0, 1.0)])
def test_staircase_profile(design: float, epsilon: float) -> None:
    """δ(ε) = (1 − e^(ε−ε₀))(1/2 + min(γ, 1−γ)·a), a = (1 − e^(−ε₀))/(2(γ + e^(−ε₀)(1−γ)))."""
    law = stairs(exp_below(Fraction(design)), 4000)
    gamma = law.inner / 4000
    a = (1 - exp(-design)) / (2 * (gamma + exp(-design) * (1 - gamma)))
    expected = (1 - exp(epsilon - design)) * (0.5 + min(gamma, 1 - gamma) * a)
    assert float(law.delta(exp_below(Fraction(epsilon)), 4000)) == pytest.approx(expected, abs=2e-4)


# Truncated Laplace: Geng, Ding, Guo and Kumar 2020 -------------------------------------------------------------------


@pytest.mark.parametrize(("delta", "error"), [("0.1", 0.7368), ("1e-5", 0.99987)])
def test_truncated_laplace(delta: str, error: float) -> None:
    mechanism = truncated_laplace(Interval(0, 1, "0.0005"), Privacy(1, delta))
    assert float(mechanism.error) == pytest.approx(error, abs=2e-4)
    noise = mechanism.family.noise
    assert noise.reach / 2000 == pytest.approx(log(1 + (exp(1) - 1) / (2 * float(delta))), rel=1e-3)
    x = noise.reach / 2000
    assert float(mechanism.error) == pytest.approx(1 - x / (exp(x) - 1), rel=1e-3)
    certify(mechanism, Privacy(1, delta))


def test_who_errs_least_at_delta() -> None:
    """ε = 1, δ = 0.1: truncated Laplace 0.7368, exact Laplace 0.8260, Gaussian 0.8664."""
    space, privacy = Interval(0, 1, "0.001"), Privacy(1, "0.1")
    errors = [float(make(space, privacy).error) for make in (truncated_laplace, laplace, gaussian)]
    assert errors == pytest.approx([0.7368, 0.8260, 0.8664], abs=5e-4)
    assert float(gaussian(space, Privacy(1, "1e-5")).error) == pytest.approx(2.977, abs=1e-3)


# Bounded Laplace: Holohan et al. 2020 --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("width", "sensitivity", "privacy", "scale"),
    [
        (1, 0.2, Privacy(1), 0.3177876213),
        (10, 1, Privacy("0.5"), 3.5278709448),
        (1, 1, Privacy(1, "0.1"), 0.5985253869),
    ],
    ids=str,
)
def test_bounded_laplace_needs_its_own_scale(width: int, sensitivity: float, privacy: Privacy, scale: float) -> None:
    """The plain scale D/ε is not enough when D < u − l; on finer lattices the scale approaches the real line's."""
    errors = []
    for n in (100, 200, 400):
        found = float(_bounded_scale(n, round(n * sensitivity / width), privacy)) * width / n
        errors.append(abs(found / scale - 1))
    assert errors[2] < errors[1] < errors[0] < 0.02 and errors[2] < 0.005
    if privacy.delta == 0:
        assert scale > sensitivity / float(privacy.epsilon) * 1.5


@pytest.mark.parametrize("epsilon", ["0.2", "1"])
@pytest.mark.parametrize("delta", ["0.01", "0.1"])
def test_bounded_laplace_on_the_whole_interval(epsilon: str, delta: str) -> None:
    """δ(ε) = (1 − e^((ε−μ)/2))²/(1 − e^(−μ)); b = −(u−l)/(2 ln x), x = (e^(ε/2) − √(δ(e^ε − 1 + δ)))/(e^ε + δ)."""
    eps, dlt = float(epsilon), float(delta)
    x = (exp(eps / 2) - sqrt(dlt * (exp(eps) - 1 + dlt))) / (exp(eps) + dlt)
    scale = -1 / (2 * log(x))
    mu = 1 / scale
    assert (1 - exp((eps - mu) / 2)) ** 2 / (1 - exp(-mu)) == pytest.approx(dlt, abs=1e-12)
    found = [float(_bounded_scale(n, n, Privacy(epsilon, delta))) / n for n in (100, 400)]
    assert abs(found[1] / scale - 1) < abs(found[0] / scale - 1) < 0.02


def test_the_worst_pair_of_bounded_laplace_lies_inside() -> None:
    """b = 0.5, D = 0.3, ε = 0.2 on [0, 1]: the true δ is 0.16512, the pair at the edge has 0.10853 only."""
    n, reach = 1000, 300
    places = np.arange(n + 1) / n
    laws = np.exp(-np.abs(places[:, None] - places) / 0.5)
    laws /= laws.sum(axis=1, keepdims=True)
    divergences = np.maximum(0, laws[: n + 1 - reach] - exp(0.2) * laws[reach:]).sum(axis=1)
    assert divergences.max() == pytest.approx(0.16512, abs=3e-4)
    edge = np.maximum(0, laws[reach] - exp(0.2) * laws[0]).sum()
    assert max(divergences[0], edge) == pytest.approx(0.10853, abs=5e-4)
    assert 0 < int(divergences.argmax()) < n - reach
    mechanism = bounded_laplace(Interval(0, 1, "0.02"), Privacy("0.2", "0.1"), sensitivity="0.3")
    worst = mechanism.family.worst(exp_below(Fraction(1, 5)))
    assert abs(worst.source - worst.target) == 15 and 0 < min(worst.source, worst.target) < 35


@pytest.mark.parametrize("privacy", [Privacy(1), Privacy("0.5", "0.05"), Privacy(0, "0.1"), Privacy(12)], ids=str)
def test_bounded_laplace_is_certified_and_tight(privacy: Privacy) -> None:
    mechanism = bounded_laplace(Interval(0, 20, 1), privacy, sensitivity=5)
    certify(mechanism, privacy)
    if privacy.epsilon:
        assert mechanism.epsilon(privacy.delta) == pytest.approx(float(privacy.epsilon), rel=1e-3)


@pytest.mark.parametrize(
    ("epsilon", "clamped", "bounded"),
    [("0.1", 0.487706, 0.491668), ("1", 0.393469, 0.418023), ("4", 0.216166, 0.231343)],
)
def test_errors_on_the_unit_interval(epsilon: str, clamped: float, bounded: float) -> None:
    """The maximal expected errors of D = [0, 1] at δ = 0: Laplace 1/ε, clamped and bounded Laplace far less."""
    privacy = Privacy(epsilon)
    assert float(laplace(Interval(0, 1, "0.001"), privacy).error) == pytest.approx(1 / float(epsilon), rel=1e-4)
    fine = Interval(0, 1, "0.005")
    assert float(laplace(fine, privacy, clamp=True).error) == pytest.approx(clamped, rel=1e-3)
    assert float(bounded_laplace(fine, privacy).error) == pytest.approx(bounded, rel=1e-2)

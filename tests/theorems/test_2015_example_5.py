"""HLM15, Example 5: Laplace noise of scale b ≥ diam/(ε − ln(1 − δ)) is (ε, δ)-private.

True but not tight. For P = Lap(0, b) and Q = Lap(D, b) the worst set is a half-line, and δ(ε) = 1 − e^((ε − D/b)/2), so
b ≥ diam/(ε − 2 ln(1 − δ)) is necessary and sufficient; the published scale really has 1 − √(1 − δ), about half.
On the lattice P(k) = (1−a)/(1+a)·a^|k| with a = e^(−1/b), shift D and K = ⌈(D − εb)/2⌉ − 1 the profile is
δ = 1 − a^(K+1)/(1+a) − e^ε a^(D−K)/(1+a) for εb < D, else 0.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, exp, log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dproof import InputError, Interval, NotPrivate, Privacy, certify, laplace
from dproof.exact import exp_below
from dproof.laws.laplace import two_sided
from dproof.mechanisms.noise import integer_laplace, tight_scale


def profile(epsilon: float, shift: float, scale: float) -> float:
    return max(0.0, 1 - exp((epsilon - shift / scale) / 2))


def lattice_profile(epsilon: float, shift: int, scale: float) -> float:
    if epsilon * scale >= shift:
        return 0.0
    a, k = exp(-1 / scale), ceil((shift - epsilon * scale) / 2) - 1
    return 1 - a ** (k + 1) / (1 + a) - exp(epsilon) * a ** (shift - k) / (1 + a)


@pytest.mark.parametrize(
    ("epsilon", "delta", "published", "exact"),
    [
        ("1", "0.1", 0.9046822153, 0.8259541002),
        ("0.1", "0.4", 1.6371284391, 0.8915427163),
        ("0", "0.2", 4.4814201, 2.2407100),
    ],
)
def test_scales(epsilon: str, delta: str, published: float, exact: float) -> None:
    privacy = Privacy(epsilon, delta)
    assert 1 / (float(epsilon) - log(1 - float(delta))) == pytest.approx(published, rel=1e-7)  # as printed
    assert float(tight_scale(Fraction(1), privacy)) == pytest.approx(exact, rel=1e-7)
    assert profile(float(epsilon), 1, exact) == pytest.approx(float(delta), abs=1e-7)
    assert profile(float(epsilon), 1, published) == pytest.approx(1 - sqrt(1 - float(delta)), abs=1e-7)


def test_the_profile_by_quadrature() -> None:
    """max over sets of P(A) − e^ε Q(A), on a fine grid of the densities: the δ to which that scale is the tight one."""
    scale, shift, epsilon = 0.7, 1.0, 0.4
    x, dx = np.linspace(-30, 31, 2_000_001, retstep=True)
    p, q = (np.exp(-abs(x - m) / scale) / (2 * scale) for m in (0, shift))
    delta = np.maximum(0, p - exp(epsilon) * q).sum() * dx
    assert delta == pytest.approx(profile(epsilon, shift, scale), abs=1e-5)
    assert float(tight_scale(Fraction(1), Privacy("0.4", float(delta)))) == pytest.approx(scale, abs=1e-4)


@pytest.mark.parametrize(
    ("shift", "scale", "epsilon", "delta"), [(1, 1, "0.3", 0.3680256323), (3, 2, "0.5", 0.3934693403)]
)
def test_lattice_values(shift: int, scale: int, epsilon: str, delta: float) -> None:
    law = two_sided(exp_below(Fraction(1, scale)))
    assert float(law.delta(exp_below(Fraction(epsilon)), shift)) == pytest.approx(delta, abs=1e-10)
    assert lattice_profile(float(epsilon), shift, scale) == pytest.approx(delta, abs=1e-10)


@settings(max_examples=60)
@given(st.integers(1, 60), st.fractions(Fraction(1, 5), 40), st.fractions(0, 4))
def test_the_lattice_profile_is_the_formula(shift: int, scale: Fraction, epsilon: Fraction) -> None:
    law = two_sided(exp_below(1 / scale))
    found = float(law.delta(exp_below(epsilon), shift))
    assert found == pytest.approx(lattice_profile(float(epsilon), shift, float(scale)), abs=1e-12)
    assert found >= profile(float(epsilon), shift, float(scale)) - 1e-12  # the lattice is never more private


@pytest.mark.parametrize("privacy", [Privacy(1), Privacy(1, "0.1"), Privacy("0.1", "0.4"), Privacy(0, "0.2")], ids=str)
def test_the_mechanism_has_the_tight_scale_and_no_less(privacy: Privacy) -> None:
    """On a fine lattice the mechanism's error is the tight scale; a scale 0.1 % smaller is not private."""
    steps = 2000
    mechanism = laplace(Interval(0, 1, Fraction(1, steps)), privacy)
    certify(mechanism, privacy)
    tight = tight_scale(Fraction(1), privacy)
    assert float(mechanism.error) == pytest.approx(float(tight), rel=2e-4)
    smaller = two_sided(exp_below(1 / (tight * steps * Fraction(999, 1000))))
    assert smaller.delta(exp_below(privacy.epsilon), steps) > privacy.delta
    less = Privacy(privacy.epsilon, privacy.delta * Fraction(999, 1000)) if privacy.delta else Privacy("0.999")
    with pytest.raises(NotPrivate):
        certify(mechanism, less)


@pytest.mark.parametrize("clamp", [False, True])
def test_clamping_keeps_the_profile(clamp: bool) -> None:
    """The worst set is a half-line cut inside the interval, so clamping to the interval hides nothing of it."""
    mechanism = laplace(Interval(0, 10, 1), Privacy(1), clamp=clamp)
    for epsilon in ("0", "0.3", "0.9"):
        free = two_sided(exp_below(Fraction(1, 10))).delta(exp_below(Fraction(epsilon)), 10)
        assert mechanism.delta(epsilon) == pytest.approx(float(free), abs=1e-12)
    if clamp:
        weights, total = mechanism.weights()
        worst = max(int(sum(max(0, int(p) - int(q)) for p, q in zip(weights[0], weights[10], strict=True))), 0)
        assert worst / total == pytest.approx(mechanism.delta(0), abs=1e-12)


def test_the_inverse_profile_is_e_to_d_over_b_plus_twice_the_log() -> None:
    """ε(δ) = max(0, D/b + 2 ln(1 − δ)) on a fine lattice."""
    noise = integer_laplace(2000, Privacy(2), coordinates=1)
    for delta in (0.01, 0.2, 0.5):
        assert noise.epsilon(delta) == pytest.approx(2 + 2 * log(1 - delta), abs=2e-3)
    assert noise.epsilon(0.7) == 0.0 and noise.epsilon() == pytest.approx(2, abs=1e-12)


@pytest.mark.parametrize("privacy", [Privacy(0), Privacy(1, 1)], ids=str)
def test_promises_that_no_noise_or_any_noise_keeps_are_refused(privacy: Privacy) -> None:
    with pytest.raises(InputError):
        laplace(Interval(0, 1, "0.1"), privacy)


def test_one_point_needs_no_noise() -> None:
    mechanism = laplace(Interval(5, 5), Privacy(0))
    assert mechanism.draw([5, 5]) == [5, 5] and mechanism.epsilon() == 0.0

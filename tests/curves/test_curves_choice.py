"""Which noise a curve gets, the region that a certificate may speak of, and integrals of functions with joints."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dproof import Curves, InputError, Privacy, curve_noise, expand
from dproof.curves.bases import basis
from dproof.curves.lattice import measured_expansion
from dproof.curves.noise import recorded_curve_law, vector_noise
from dproof.exact import exp_below

DAY = Curves(0, 24, 25, 0, 5, norm="l2")


@pytest.mark.parametrize("terms", [1, 3, 8, 20])
@pytest.mark.parametrize("privacy", [Privacy(1, "1e-6"), Privacy(5, "1e-9"), Privacy("0.1", "0.01")], ids=str)
def test_auto_takes_the_noise_with_the_lesser_error(terms: int, privacy: Privacy) -> None:
    expansion = expand(DAY, terms=terms)
    kinds: list[Any] = ["laplace", "gaussian", *(["k_norm"] if terms <= 10 else [])]
    made = [curve_noise(expansion, privacy, noise=kind) for kind in kinds]
    chosen = curve_noise(expansion, privacy)
    assert chosen.l2_error == min(mechanism.l2_error for mechanism in made)
    assert chosen.name in [mechanism.name for mechanism in made]


def test_each_kind_of_noise_is_the_better_one_somewhere() -> None:
    regions = [expand(DAY, terms=1), expand(DAY, terms=8), expand(DAY, terms=20)]
    names = [curve_noise(region, Privacy(1, "1e-6")).name.split()[0] for region in regions]
    assert names == ["Laplace", "K-norm", "Gaussian"]


@pytest.mark.parametrize("change", [{"terms": 7}, {"radius": 16383}, {"radius": None, "box": [16384] * 8}, {"box": []}])
def test_a_certificate_of_another_region_is_refused(change: dict[str, Any]) -> None:
    expansion = expand(DAY, terms=8)
    family = curve_noise(expansion, Privacy(1)).family
    record = dict(family.to_json())
    assert recorded_curve_law(expansion, record).family.to_json() == record
    with pytest.raises(ValueError, match="region"):
        recorded_curve_law(expansion, {**record, **change})


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_a_certificate_of_coefficients_is_read_where_all_values_would_be_measured_now(kind: Any) -> None:
    record = dict(curve_noise(expand(DAY, terms=8), Privacy(1, "1e-6"), noise=kind).family.to_json())
    measured = measured_expansion(expand(DAY, terms=8), 8)
    again = recorded_curve_law(measured, record)
    assert again.family.to_json() == record and again.lattice.expansion == measured.by_terms
    assert curve_noise(measured, Privacy(1, "1e-6")).lattice.expansion == measured


def test_the_number_of_terms_of_a_kernel_follows_the_promise() -> None:
    smooth = measured_expansion(expand(DAY, kernel="matern-3/2", length=6, radius=5), None)
    made = [curve_noise(smooth, Privacy(epsilon, "1e-6")) for epsilon in ("0.1", 2, 20, 200)]
    terms = [mechanism.lattice.terms for mechanism in made]
    assert terms == sorted(terms) and terms[0] == 4 and made[-1].lattice.expansion.shows_all
    for mechanism in made:
        record = dict(mechanism.family.to_json())
        assert recorded_curve_law(smooth, record).family.to_json() == record
    whole = next(found for found in smooth.candidates if found.shows_all and found.kernel is not None)
    process = curve_noise(whole, Privacy(1, "1e-6"), noise="gaussian")  # Gaussian process noise, exactly on the grid
    assert np.allclose(process.standard_error(), 4.2247 * 2 * 5, rtol=1e-3)
    fixed = measured_expansion(expand(DAY, kernel="matern-3/2", length=6, radius=5, terms=6), 6)
    assert curve_noise(fixed, Privacy(200)).lattice.terms == 6


@pytest.mark.parametrize("size", [1, 2, 3, 16384**2, 4 * 16384**2])
@pytest.mark.parametrize("terms", [1, 64])
def test_gaussian_noise_keeps_its_promise_by_the_lattices_own_bound(size: int, terms: int) -> None:
    """Where a step is as wide as the noise the normal law alone would promise too much: then none is drawn."""
    kept = 0
    for epsilon, delta in (("0.1", "1e-3"), ("1", "1e-6"), ("8", "1e-2"), ("20", "1e-12")):
        with suppress(InputError):
            noise = vector_noise("gaussian", size, terms, Privacy(epsilon, delta))
            assert noise.worst(exp_below(Fraction(epsilon))) <= Fraction(delta)
            kept += 1
    assert kept or size < 4


@pytest.mark.parametrize("name", ["b-spline", "bernstein", "cosine", "fourier"])
@pytest.mark.parametrize("points", [7, 12])
def test_integrals_see_the_joints_of_the_basis_between_grid_points(name: str, points: int) -> None:
    """∫ f φ_j of a piecewise linear f, against a sum over a quarter of a million points."""
    space = Curves(0, 2, points, 0, 1)
    functions = basis(name, space, 7)
    curve = np.random.default_rng(points).uniform(size=points)
    t = (np.arange(1 << 18) + 0.5) * 2 / (1 << 18)
    expected = (functions.evaluate(t) * np.interp(t, space.times, curve)).mean(axis=1) * 2
    assert np.allclose(functions.analysis(space) @ curve, expected, atol=1e-9)

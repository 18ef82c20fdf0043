"""Gaussian noise on a vector: the library and the stand-alone verifier have the bound of the formula."""

from __future__ import annotations

from fractions import Fraction
from math import erfc, exp, log, sqrt
from typing import Any

import pytest

from dproof import InputError
from dproof.certification.verify_certificate import Refused, coefficients
from dproof.laws import Gaussian, GaussianSum
from dproof.laws.gaussian import gaussian_sum

NARROW = GaussianSum(Gaussian(Fraction(8)), 1, 1)  # for which nothing that is charged is small
WIDER = GaussianSum(Gaussian(Fraction(20)), 2, 3)


def record(law: GaussianSum, terms: int, **region: Any) -> dict[str, Any]:
    noise = {"kind": law.kind, "square": law.table.square, "step": law.step, "draws": law.draws}
    return {"kind": "coefficients", "terms": terms, "radius": None, "box": None, "norm": "l2", "noise": noise} | region


def below(x: float) -> float:
    """The normal distribution function."""
    return erfc(-x / sqrt(2)) / 2


def formula(law: GaussianSum, terms: int, distance: float, odds: float) -> float:
    """Rounding to whole numbers costs e^(1/8σ²) one way and e^(K²/8σ⁴) the other, K = D + 10(σ + 1)."""
    variance = float(law.table.square) * sum(law.step ** (2 * n) for n in range(law.draws))
    sigma = sqrt(variance)
    upper = terms / (8 * variance)
    lower = terms * (distance + 10 * (sigma + 1)) ** 2 / (8 * variance**2)
    epsilon, mu = log(odds) - upper - lower, distance / sigma
    profile = below(mu / 2 - epsilon / mu) - exp(epsilon) * below(-mu / 2 - epsilon / mu)
    return exp(upper) * profile + terms * (2 * exp(-50) + law.draws * (1 + odds) / 2**66)


@pytest.mark.parametrize(("law", "radius", "odds"), [(NARROW, 6, 10**6), (NARROW, 3, 1), (WIDER, 20, 8), (WIDER, 9, 1)])
@pytest.mark.parametrize("terms", [1, 3])
def test_both_have_the_bound_of_the_formula(law: GaussianSum, radius: int, odds: int, terms: int) -> None:
    wanted = formula(law, terms, 2 * radius, odds)
    found = coefficients(record(law, terms, radius=radius), Fraction(odds))
    assert float(found) == pytest.approx(wanted, rel=1e-8)
    assert float(law.delta_vector(Fraction(odds), 4 * radius**2, terms)) == pytest.approx(min(1, wanted), rel=1e-8)
    near = coefficients(record(law, terms, radius=2 * radius), Fraction(odds), nearer=True)
    assert near == found  # the centre and a point twice as far away
    box = [radius, *[0] * (terms - 1)]
    assert coefficients(record(law, terms, box=box), Fraction(odds)) == found


def test_what_fits_neither_is_refused_by_the_verifier() -> None:
    for region in ({}, {"radius": 1, "box": [1, 1]}, {"box": [1]}, {"box": [1, 1, 1]}):
        with pytest.raises(Refused):
            coefficients(record(NARROW, 2, **region), Fraction(2))
    narrower = record(NARROW, 2, radius=1)
    narrower["noise"] = narrower["noise"] | {"square": Fraction(8) - Fraction(1, 10**6)}
    with pytest.raises(Refused, match="too narrow"):
        coefficients(narrower, Fraction(2))


def test_what_fits_neither_is_refused_by_the_library() -> None:
    for table, step, draws in ((Fraction(8) - Fraction(1, 10**6), 1, 1), (Fraction(8), 2, 1), (Fraction(8), 1, 0)):
        with pytest.raises(InputError, match="too narrow"):
            GaussianSum(Gaussian(table), step, draws)
    with pytest.raises(InputError, match="too narrow"):
        GaussianSum(Gaussian(Fraction(100), 3), 1, 1)
    with pytest.raises(InputError, match="several draws"):
        gaussian_sum(Fraction(100**2 - 1))
    assert float(gaussian_sum(Fraction(100**2)).square) == 100**2


def test_vectors_that_do_not_move_are_not_told_apart() -> None:
    assert NARROW.delta_vector(Fraction(1), 0, 2) == 0

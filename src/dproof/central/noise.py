"""Discrete Gaussian noise for residuals, and the (ε, δ) that measuring all of them together costs."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

from dproof.central.workload import Domain, Residual, largest_loss
from dproof.errors import InputError
from dproof.exact import exp_above, least, root_above
from dproof.laws.divergence import normal_delta
from dproof.laws.gaussian import Gaussian, GaussianSum, gaussian, gaussian_sum
from dproof.privacy import Neighbours, Privacy

_SMOOTH = 4  # τ²: of a discrete Gaussian's variance, the part that hides where the lattice lies
# κ ≥ ln((1 + η)/(1 − η)) with η = 2 Σ_j exp(−2π²τ²j²) < 2^-112 at τ = 2, and the ripple of sums of draws.
_RIPPLE = Fraction(1, 1 << 104)
_CUT = Fraction(1, 1 << 64)  # how far what is drawn may lie from the ideal law, in total variation
_LARGEST = Fraction(16)  # ε beyond which its δ is no smaller: e^ε times what is cut off would weigh more
_LEAST = 25  # γ² below which the lattice shows
_TABLE = 1 << 18  # γ² up to which one table holds the law
_DIGITS = 20  # bits of a γ²
_MOST = Fraction(1 << 90)  # the largest factor of a shape that is tried


def noise_law(square: Fraction) -> Gaussian | GaussianSum:
    """The law of the noise on each number of a residual: N_Z(0, γ²) but for what `_RIPPLE` and `_CUT` charge."""
    if square < _LEAST:
        raise InputError("the noise would be too narrow to be charged as Gaussian noise: ask for a smaller epsilon")
    return _law(square)


@lru_cache(maxsize=1024)
def _law(square: Fraction) -> Gaussian | GaussianSum:
    if square > _TABLE:
        return gaussian_sum(square)
    law = gaussian(square)
    if law.unit != 1 or law.distance > _CUT:
        raise AssertionError("a table must hold the discrete Gaussian law itself")
    return law


def delta(
    domain: Domain,
    squares: Mapping[Residual, Fraction],
    epsilon: Fraction,
    neighbours: Neighbours,
    persons_rows: int = 1,
) -> Fraction:
    """An upper bound of δ at ε, when every number of each residual gets independent noise with that γ².

    N_Z(0, γ²) is, pointwise within a factor e^(±κ), what becomes of N(0, γ² − τ²) when a point c of it is replaced by a
    draw of N_Z(c, τ²): completing the square leaves Σ_j exp(−(j − c)²/2τ²), which by Poisson's summation hardly depends
    on c. So all N numbers together are within e^(±Nκ) of a post-processing of Gaussian noise, whose profile at distance
    μ is exact (Balle and Wang 2018); μ² = max Σ ‖shift‖²/(γ² − τ²). What the tables cut off is charged in full.

    A person with r rows moves every number r times as far at most.
    """
    epsilon = min(epsilon, _LARGEST)
    numbers = sum(map(domain.count, squares))
    loss = largest_loss(domain, {r: 1 / (square - _SMOOTH) for r, square in squares.items()}, neighbours)
    loss *= persons_rows**2
    slack = 2 * numbers * _RIPPLE
    cut = 4 * numbers * (1 + exp_above(epsilon)) * _CUT
    return min(Fraction(1), exp_above(slack) * normal_delta(root_above(loss), epsilon - 2 * slack) + cut)


def calibrate(
    domain: Domain,
    shape: Mapping[Residual, float],
    privacy: Privacy,
    persons_rows: int = 1,
) -> dict[Residual, Fraction]:
    """The least noise of this shape that keeps the promise: γ² of each residual, rounded up to 20 bits.

    `shape` has the variances of residuals up to a factor; what is returned has itself been found to do.
    """
    if not privacy.delta:
        raise InputError("Gaussian noise needs delta above 0")

    wide = {r: Fraction(s) * domain.cells(r.table) ** 2 for r, s in shape.items()}
    # Factors are 1/μ² by this unit, so where their search begins and ends does not depend on the units of the shape.
    unit = largest_loss(domain, {r: 1 / square for r, square in wide.items()}, privacy.neighbours)

    def squares(factor: Fraction) -> dict[Residual, Fraction]:
        return {r: _rounded(square * unit * factor) for r, square in wide.items()}

    def good(factor: Fraction) -> bool:
        return delta(domain, squares(factor), privacy.epsilon, privacy.neighbours, persons_rows) <= privacy.delta

    if not good(_MOST):
        raise InputError("no noise that can be drawn keeps this promise: allow a larger epsilon or delta")
    return squares(least(good, Fraction(1)))


def _rounded(square: Fraction) -> Fraction:
    """A fraction of 20 bits, not below this one, and no less than what is charged as Gaussian noise."""
    value = max(square, Fraction(_LEAST))
    places = _DIGITS - (value.numerator.bit_length() - value.denominator.bit_length())
    scale = Fraction(2) ** places
    return Fraction(-(-value * scale // 1)) / scale

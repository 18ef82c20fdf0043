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
_LEAST = 25  # γ² of what is drawn, below which the lattice shows
_FINE = 400  # γ² of what is drawn, from which the smoothing costs no more than a hundredth of it
_FINEST = 64  # parts that a whole number is divided into at most
_TABLE = 1 << 18  # γ² up to which one table holds the law
_DIGITS = 20  # bits of a γ²
_MOST = Fraction(1 << 90)  # the largest factor of a shape that is tried


def noise_law(square: Fraction) -> Gaussian | GaussianSum:
    """The law of the noise that is drawn: N_Z(0, γ²) but for what `_RIPPLE` and `_CUT` charge."""
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


def parts_of(square: Fraction) -> int:
    """Into how many parts a whole number is divided, so that a lattice of these is fine beside noise with this γ².

    A number v is measured as parts · v with noise of parts² · γ², all in whole numbers.

    >>> parts_of(Fraction(400)), parts_of(Fraction(2))
    (1, 16)
    """
    parts = 1
    while parts < _FINEST and square * parts**2 < _FINE:
        parts *= 2
    return parts


def delta(
    domain: Domain,
    squares: Mapping[Residual, Fraction],
    epsilon: Fraction,
    neighbours: Neighbours,
    persons_rows: int = 1,
    *,
    in_parts: bool = True,
) -> Fraction:
    """An upper bound of δ at ε, when every number of each residual gets independent noise with that γ².

    N_Z(0, γ²) is, pointwise within a factor e^(±κ), what becomes of N(0, γ² − τ²) when a point c of it is replaced by a
    draw of N_Z(c, τ²): completing the square leaves Σ_j exp(−(j − c)²/2τ²), which by Poisson's summation hardly depends
    on c. So all N numbers together are within e^(±Nκ) of a post-processing of Gaussian noise, whose profile at distance
    μ is exact (Balle and Wang 2018); μ² = max Σ ‖shift‖²/(γ² − τ²). What the tables cut off is charged in full.

    Where a number is measured in parts, as it is unless `in_parts` says otherwise, τ is so many parts of a whole one.
    A person with r rows moves every number r times as far at most.
    """
    epsilon = min(epsilon, _LARGEST)
    numbers = sum(map(domain.count, squares))
    smooth = {r: Fraction(_SMOOTH, parts_of(s) ** 2 if in_parts else 1) for r, s in squares.items()}
    loss = largest_loss(domain, {r: 1 / (square - smooth[r]) for r, square in squares.items()}, neighbours)
    loss *= persons_rows**2
    slack = 2 * numbers * _RIPPLE
    cut = 4 * numbers * (1 + exp_above(epsilon)) * _CUT
    return min(Fraction(1), exp_above(slack) * normal_delta(root_above(loss), epsilon - 2 * slack) + cut)


def calibrate(
    domain: Domain,
    shape: Mapping[Residual, float],
    privacy: Privacy,
    persons_rows: int = 1,
    *,
    in_parts: bool = True,
) -> dict[Residual, Fraction]:
    """The least noise of this shape that keeps the promise: γ² of each residual, rounded up to 20 bits.

    `shape` has the variances of residuals up to a factor; what is returned has itself been found to do.
    """
    lowest = Fraction(_FINE, _FINEST**2) if in_parts else Fraction(_LEAST)
    if not privacy.delta:
        raise InputError("Gaussian noise needs delta above 0")

    wide = {r: Fraction(s) * domain.cells(r.table) ** 2 for r, s in shape.items()}
    # Factors are 1/μ² by this unit, so where their search begins and ends does not depend on the units of the shape.
    unit = largest_loss(domain, {r: 1 / square for r, square in wide.items()}, privacy.neighbours)

    def squares(factor: Fraction) -> dict[Residual, Fraction]:
        return {r: _rounded_up(max(square * unit * factor, lowest)) for r, square in wide.items()}

    def good(factor: Fraction) -> bool:
        own = squares(factor)
        found = delta(domain, own, privacy.epsilon, privacy.neighbours, persons_rows, in_parts=in_parts)
        return found <= privacy.delta

    if not good(_MOST):
        raise InputError("no noise that can be drawn keeps this promise: allow a larger epsilon or delta")
    return squares(least(good, Fraction(1)))


def _rounded_up(value: Fraction) -> Fraction:
    """A fraction of 20 bits, not below this one."""
    places = _DIGITS - (value.numerator.bit_length() - value.denominator.bit_length())
    scale = Fraction(2) ** places
    return Fraction(-(-value * scale // 1)) / scale

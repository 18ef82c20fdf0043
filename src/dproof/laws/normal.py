"""Two normal laws of one variance, and exactly how far apart they are."""

from __future__ import annotations

from fractions import Fraction

_BITS = 192


def normal_delta(mu: Fraction, epsilon: Fraction) -> Fraction:
    """A fraction at least δ(ε) for means that lie μ standard deviations apart, and within about 2^-150 of it.

    δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), for ε of either sign. Balle and Wang 2018.

    >>> round(float(normal_delta(Fraction(10**10, 37306316348), Fraction(1))), 10)
    1e-05
    """
    if mu <= 0:
        return Fraction(0)
    if epsilon > 40 * mu + mu * mu:  # then δ ≤ Φ(μ/2 − ε/μ) ≤ Φ(−40)
        return Fraction(1, 1 << 1000)
    from flint import arb, ctx, fmpq  # lazy: only Gaussian noise needs it

    before, ctx.prec = ctx.prec, _BITS
    try:
        m, e = (arb(fmpq(x.numerator, x.denominator)) for x in (mu, epsilon))
        own, other = (((e / m + side * m / 2) / arb(2).sqrt()).erfc() / 2 for side in (-1, 1))
        mantissa, exponent = (own - e.exp() * other).upper().man_exp()
    finally:
        ctx.prec = before
    return min(Fraction(1), max(Fraction(0), Fraction(int(mantissa)) * Fraction(2) ** int(exponent)))

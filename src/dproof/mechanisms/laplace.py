"""Laplace noise on numbers: unbounded, clamped to the interval, or cut off at a distance. HLM15, Example 5."""

from __future__ import annotations

from fractions import Fraction

from dproof.errors import InputError, TooLarge
from dproof.exact import exp_below, log_above, log_below
from dproof.laws.family import Family
from dproof.laws.keep_or_other import KeepOrOther
from dproof.laws.lattice import Lattice, NoiseLaw
from dproof.laws.two_sided import two_sided
from dproof.mechanisms.mechanism import Mechanism
from dproof.mechanisms.noise import integer_laplace
from dproof.privacy import Privacy
from dproof.spaces.interval import Interval

_FARTHEST, _FLATTEST = 4096, 1000  # a reach, in scales, and a scale, in reaches, that no useful law has


def laplace(interval: Interval, privacy: Privacy, *, clamp: bool = False) -> Mechanism:
    """The number plus Laplace noise on its lattice: P(Y_d = d + k·step) ∝ e^(−k·step/b).

    b = diam/ε at δ = 0, and about diam/(ε − 2 ln(1 − δ)) with δ, the least scale that the exact lattice profile
    allows; HLM15, Example 5 has diam/(ε − ln(1 − δ)), which is enough but not needed.
    Outputs lie on all of the lattice, or in the interval with `clamp`, which costs no privacy.

    Why it is private: see `integer_laplace`, with the diameter in steps as the sensitivity.

    >>> m = laplace(Interval(0, 1, "0.001"), Privacy(1, "0.1"))
    >>> round(float(m.error), 4), m.delta(1) <= 0.1
    (0.826, True)
    """
    demand_interval(interval)
    if interval.size == 1:
        return on_lattice("Laplace", interval, None, clamp, "HLM15, Example 5")
    noise = integer_laplace(interval.size - 1, privacy, coordinates=1).law
    return on_lattice("clamped Laplace" if clamp else "Laplace", interval, noise, clamp, "HLM15, Example 5")


def truncated_laplace(interval: Interval, privacy: Privacy, *, clamp: bool = False) -> Mechanism:
    """Laplace noise of scale diam/ε, conditioned on |noise| ≤ A; needs δ > 0.

    A is the least reach for which the D lattice points that a shift leaves without a partner weigh at most δ:
    about (diam/ε)·ln(1 + (e^ε − 1)/2δ). Geng, Ding, Guo and Kumar 2020.

    Why it is private: where both laws have mass their ratio is at most e^ε, and the rest weighs at most δ.

    >>> m = truncated_laplace(Interval(0, 1, "0.001"), Privacy(1, "0.1"))
    >>> round(float(m.error), 4), m.delta(1) <= 0.1
    (0.737, True)
    """
    demand_interval(interval)
    if privacy.delta == 0 or privacy.epsilon == 0:
        raise InputError("truncated Laplace noise needs epsilon and delta above 0; without delta use laplace")
    shift = interval.size - 1
    if shift == 0:
        return on_lattice("truncated Laplace", interval, None, clamp, "Geng et al. 2020")
    ratio = exp_below(privacy.epsilon / shift)
    odds = exp_below(privacy.epsilon)
    low, high = -1, 1
    while two_sided(ratio, high).delta(odds, shift) > privacy.delta:
        low, high = high, 2 * high
        if high * privacy.epsilon > _FARTHEST * shift:
            raise TooLarge("delta is smaller than whole numbers can tell on so fine a lattice; use a coarser step")
    while high - low > 1:
        middle = (low + high) // 2
        enough = two_sided(ratio, middle).delta(odds, shift) <= privacy.delta
        low, high = (low, middle) if enough else (middle, high)
    if high * privacy.epsilon * _FLATTEST < shift:  # what lies beyond is drawn again
        raise InputError("delta is so large beside epsilon that this noise would be flat; use laplace, or less delta")
    return on_lattice("truncated Laplace", interval, two_sided(ratio, high), clamp, "Geng et al. 2020")


def published_scale(diameter: Fraction, privacy: Privacy) -> Fraction:
    """diam/(ε − ln(1 − δ)), HLM15, Example 5 as printed: enough, and with δ > 0 more than is needed."""
    return diameter / (privacy.epsilon - log_above(1 - privacy.delta))


def tight_scale(diameter: Fraction, privacy: Privacy) -> Fraction:
    """diam/(ε − 2 ln(1 − δ)): the least scale on the real line, as δ(ε) = 1 − e^((ε − diam/b)/2).

    >>> round(float(tight_scale(Fraction(1), Privacy(1, "0.1"))), 10)
    0.8259541002
    """
    return diameter / (privacy.epsilon - 2 * log_below(1 - privacy.delta))


def on_lattice(name: str, interval: Interval, noise: NoiseLaw | None, clamp: bool, source: str) -> Mechanism:
    """The mechanism that adds this noise; one point alone needs none."""
    if noise is None:
        alone: Family = KeepOrOther(1, 1, 1)
        return Mechanism(name, interval, interval, alone, source)
    outputs = interval if clamp else interval.line
    return Mechanism(name, interval, outputs, Lattice(interval.size, noise, clamp), source)


def demand_interval(space: object) -> None:
    if not isinstance(space, Interval):
        raise InputError("noise is added to numbers: give an Interval")


EXAMPLES = (
    laplace(Interval(0, 110, 1), Privacy(1)),
    laplace(Interval(-1, 1, "0.25"), Privacy("0.5", "0.05"), clamp=True),
    truncated_laplace(Interval(0, 10, 1), Privacy(1, "0.01")),
)

"""Gaussian noise on numbers. Balle and Wang 2018; Canonne, Kamath and Steinke 2020."""

from __future__ import annotations

from dproof.mechanisms.laplace import demand_interval, on_lattice
from dproof.mechanisms.mechanism import Mechanism
from dproof.mechanisms.noise import integer_gaussian
from dproof.privacy import Privacy
from dproof.spaces.interval import Interval


def gaussian(interval: Interval, privacy: Privacy, *, clamp: bool = False) -> Mechanism:
    """The number plus Gaussian noise on its lattice, P(Y_d = d + k·step) ∝ e^(−k²/2σ²), with the least σ; needs δ > 0.

    On a fine lattice σ solves Φ(D/2σ − εσ/D) − e^ε Φ(−D/2σ − εσ/D) = δ with D the diameter.

    Why it is private: see `integer_gaussian`, with the diameter in steps as the sensitivity.

    >>> m = gaussian(Interval(0, 1, "0.01"), Privacy(1, "1e-5"))
    >>> round(float(m.error) / 0.7978845608, 2), m.delta(1) <= 1e-5
    (3.73, True)
    """
    demand_interval(interval)
    source = "Balle and Wang 2018, on the lattice"
    if interval.size == 1:
        return on_lattice("Gaussian", interval, None, clamp, source)
    noise = integer_gaussian((interval.size - 1) ** 2, privacy, coordinates=1).law
    return on_lattice("clamped Gaussian" if clamp else "Gaussian", interval, noise, clamp, source)


EXAMPLES = (gaussian(Interval(0, 10, 1), Privacy(1, "0.01")),)

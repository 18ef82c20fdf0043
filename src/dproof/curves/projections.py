"""Finite projections of a mechanism on functions, and what each can prove. HLM15, Example 4.

A mechanism on C([0, 1]) is (ε, δ)-private if and only if its values at every finite set of points are. For Gaussian
process noise a projection is a Gaussian pair, whose profile is known exactly; it grows under refinement to that of
the whole function. So one grid gives a lower bound of δ, and the norm of the kernel's space gives δ itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from dproof.curves.bases import exponential_norm
from dproof.errors import ArgumentError
from dproof.exact import exact, float_above
from dproof.laws.divergence import normal_delta
from dproof.spaces.space import Floats

__all__ = ["Projection", "exponential_norm", "gaussian_delta", "projected_norm", "refine"]


def gaussian_delta(mu: Any, epsilon: Any) -> float:
    """The exact profile of two Gaussians that lie μ standard deviations apart, rounded up.

    δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ). Balle and Wang 2018.

    >>> round(gaussian_delta(1 / 3.7306316348, 1), 8)
    1e-05
    """
    m, e = exact(mu, "mu"), exact(epsilon, "epsilon")
    if m < 0 or e < 0:
        raise ArgumentError("mu and epsilon must be at least 0")
    return float_above(normal_delta(m, e))


@dataclass(frozen=True, slots=True)
class Projection:
    """A projection on the values at some points: ‖h‖² as these points see it, and δ at the ε that was asked for."""

    points: int
    squared_norm: float
    delta: float


def projected_norm(kernel: Callable[[Any, Any], Floats], h: Any, at: Any) -> float:
    """h_tᵀ K_t⁻¹ h_t ≤ ‖h‖²_H: what the points t see of a difference h between two functions.

    A nearly singular K_t is given a little white noise, which lowers the value: it stays a lower bound.

    >>> from dproof.curves.bases import Kernel
    >>> round(projected_norm(Kernel("exponential", 1), [0, 1], [0, 1]), 6)
    1.156518
    """
    times, values = np.asarray(at, np.float64), np.asarray(h, np.float64)
    gram = kernel(times, times)
    for jitter in (0.0, 1e-12, 1e-10, 1e-8):
        try:
            factor = np.linalg.cholesky(gram + jitter * np.eye(len(times)))
        except np.linalg.LinAlgError:
            continue
        return float((np.linalg.solve(factor, values) ** 2).sum())
    raise ArgumentError("the points lie too close together for this kernel; take fewer")


def refine(
    kernel: Callable[[Any, Any], Floats],
    h: Callable[[Floats], Floats],
    sizes: Sequence[int],
    *,
    start: float = 0.0,
    stop: float = 1.0,
    sigma: Any = 1,
    epsilon: Any = 1,
) -> list[Projection]:
    """The projections on even grids of so many points of [start, stop], each with its exact profile at ε.

    >>> from dproof.curves.bases import Kernel
    >>> for p in refine(Kernel("exponential", 1), lambda t: t, [2, 3, 65]):
    ...     print(p.points, round(p.squared_norm, 6))
    2 1.156518
    3 1.163448
    65 1.166663
    """
    projections = []
    for size in sizes:
        times = np.linspace(start, stop, size)
        square = projected_norm(kernel, h(times), times)
        projections.append(
            Projection(size, square, gaussian_delta(sqrt(square) / float(exact(sigma, "sigma")), epsilon))
        )
    return projections

"""Counts of true values, estimated from counts of what a mechanism made of them: no release is needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dproof.errors import InputError
from dproof.exact import level_of

if TYPE_CHECKING:
    from dproof.mechanisms.mechanism import Mechanism

_SINGULAR = 1e-9
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Unbiased counts of the true values, with the covariance that the randomness of the mechanism gives them.

    `low` and `high` are normal intervals of each count by itself, at the level that was asked for.
    """

    labels: tuple[Any, ...]
    counts: Floats
    covariance: Floats
    level: float

    @property
    def stderr(self) -> Floats:
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    @property
    def low(self) -> Floats:
        return self.counts - self._half

    @property
    def high(self) -> Floats:
        return self.counts + self._half

    @property
    def _half(self) -> Floats:
        return np.asarray(NormalDist().inv_cdf((1 + self.level) / 2) * self.stderr)

    def __str__(self) -> str:
        half = self._half
        return "\n".join(
            f"{label}: {n:.1f} ± {h:.1f}" for label, n, h in zip(self.labels, self.counts, half, strict=True)
        )


def estimate(mechanism: Mechanism, counts: Any, level: float = 0.95) -> Estimate:
    """The least-variance unbiased estimate, best where the values are spread evenly.

    With P the law and W the share of each output, B = W⁻¹ Pᵀ (P W⁻¹ Pᵀ)⁻¹ has P B = I, so that each response y adds
    the row B[y] and the sum is unbiased. Its covariance, given the true values, is Σ_d n_d (Σ_y P(d, y) B[y]ᵀB[y]) −
    diag(n), and Σ_y c_y B[y]ᵀB[y] − diag(estimate) is unbiased for that.
    """
    level, law = level_of(level), mechanism.matrix()
    observed = _observed(mechanism, counts, law.shape[1])
    share = np.maximum(law.mean(axis=0), 1e-300)
    scaled = law / share
    square = scaled @ law.T
    if np.linalg.cond(square) > 1 / _SINGULAR:
        raise InputError("the law is nearly the same for some inputs, so their counts cannot be told apart")
    scores = np.linalg.solve(square, scaled).T
    estimates = observed @ scores
    covariance = scores.T @ (observed[:, None] * scores) - np.diag(estimates)
    return Estimate(tuple(mechanism.inputs.decode(np.arange(mechanism.inputs.size))), estimates, covariance, level)


def _observed(mechanism: Mechanism, counts: Any, outputs: int) -> Floats:
    """How often each output occurred, in the order of the outputs."""
    if isinstance(counts, Mapping):
        given = [0] * outputs
        for label, count in counts.items():
            given[mechanism.outputs.code(label)] = count
        counts = given
    try:
        observed = np.asarray(counts, np.float64)
    except (TypeError, ValueError, OverflowError):
        observed = np.zeros(0)
    if observed.shape != (outputs,):
        raise InputError(f"counts must be a mapping from outputs to counts, or one count for each of {outputs} outputs")
    if not np.isfinite(observed).all() or (observed < 0).any():
        raise InputError("counts must be numbers of at least 0")
    return observed

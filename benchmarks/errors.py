"""Root mean squared errors: exact where the law of the noise is known, else from answers given again and again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.measure import Ratio, number


@dataclass(frozen=True)
class Errors:
    """Mean squared errors, one for each repetition; a single one is exact."""

    squares: NDArray[np.float64]

    @property
    def rmse(self) -> float:
        return float(np.sqrt(self.squares.mean()))

    @property
    def uncertainty(self) -> float:
        """The standard error of the root mean squared error, relative to it: by the delta method."""
        mean = self.squares.mean()
        return float(self.squares.std() / np.sqrt(len(self.squares)) / mean / 2) if mean else 0.0

    @property
    def is_exact(self) -> bool:
        return len(self.squares) == 1

    def __str__(self) -> str:
        return number(self.rmse) if self.is_exact else f"{number(self.rmse)} ± {self.uncertainty:.0%}"


def exact(variance: float) -> Errors:
    """The error of an unbiased answer whose noise has a known law."""
    return Errors(np.array([variance]))


def geometric_variance(scale: float) -> float:
    """The variance of the Laplace law on whole numbers, P(z) ∝ exp(−|z|/scale)."""
    return float(1 / (2 * np.sinh(1 / (2 * scale)) ** 2))


def errors(truth: ArrayLike, answer: Callable[[], Any], repeats: int) -> Errors:
    """How far an answer, one number or a vector of them, is off in each of many repetitions."""
    wanted = np.asarray(truth, float)
    return Errors(np.array([np.mean((np.asarray(answer(), float) - wanted) ** 2) for _ in range(repeats)]))


def against(name: str, ours: Errors, theirs: Errors, *, paired: bool = False) -> Ratio:
    """Our error to theirs, at most 1 is wanted; `paired` where both saw the same noise in each repetition."""
    if theirs.rmse == 0:
        return Ratio(name, 1.0 if ours.rmse == 0 else float("inf"), "at most 1")
    ratio = ours.rmse / theirs.rmse
    apart = float(np.hypot(ours.uncertainty, theirs.uncertainty))
    if paired:
        apart = Errors(1 + ours.squares / ours.squares.mean() - theirs.squares / theirs.squares.mean()).uncertainty
    return Ratio(name, ratio, "at most 1", ratio * apart)

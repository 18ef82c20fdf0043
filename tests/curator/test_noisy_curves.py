"""Standard errors of curves are the first-order effect of the noise on the released sums: checked by differences."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dproof import Curves, Privacy
from dproof.coins import Coins
from dproof.curator.answer import _curve_function, covariance_answer
from dproof.curator.recipe import CurveSums
from dproof.curves.lattice import Expansion
from dproof.curves.noise import vector_noise
from dproof.questions.question import Aggregate

SPACE, SMALL = Curves(0, 24, 9, low=0, high=5), 1e-3


def sums(name: str, weight: int, first: int = 0) -> CurveSums:
    lattice = Expansion(SPACE, "cosine", terms=2).lattice("laplace")
    noise = vector_noise("laplace", 50, 6, Privacy(1))
    columns = ("load", "load") if first else ("load",)
    return CurveSums(Aggregate(name, columns), lattice, noise, weight, first, Fraction(0))


def slopes(made: Any, values: np.ndarray) -> np.ndarray:
    """By how much each estimate moves with each released number."""
    steps = SMALL * np.eye(len(values))
    return np.array([(made(values + step) - made(values - step)) / (2 * SMALL) for step in steps])


@pytest.mark.parametrize("weight", [0, 3])
def test_the_covariance_of_coefficients(weight: int) -> None:
    asked = sums("covar", weight, first=4)
    values = np.array([900.0, -400.0, 5100.0, 1700.0, 2600.0, *[3 * 120.0] * (weight > 0)])

    def cells(numbers: np.ndarray) -> list[Any]:
        answer = covariance_answer(asked, {"noisy": [numbers.tolist()], "rows": 120}, 0.95)
        return [row["covariance"] for row in answer.rows]

    moved = slopes(lambda numbers: np.array([cell.raw for cell in cells(numbers)]), values)
    sigma = float(asked.noise.variance) ** 0.5
    assert [cell.stderr for cell in cells(values)] == pytest.approx(sigma * np.sqrt((moved**2).sum(axis=0)), rel=1e-6)


@pytest.mark.parametrize(("name", "weight"), [("avg", 0), ("avg", 3), ("sum", 0), ("sum", 3)])
def test_means_and_totals(name: str, weight: int) -> None:
    asked = sums(name, weight)
    values = np.array([900.0, -400.0, *[3 * 120.0] * (weight > 0)])

    def curve(numbers: np.ndarray) -> Any:
        return _curve_function(asked, numbers, None if weight else 120, 0.95, Coins(bytes(32), private=False))

    def shown(numbers: np.ndarray) -> np.ndarray:
        made = curve(numbers)
        return np.asarray(replace(made, smooth=False).evaluate(SPACE.times)[0])

    moved = float(asked.noise.variance) ** 0.5 * slopes(shown, values)
    assert curve(values).evaluate(SPACE.times)[3] == pytest.approx(np.sqrt((moved**2).sum(axis=0)), rel=1e-6)

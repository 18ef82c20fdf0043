"""Arguments of the public names that were taken for something else, or refused under another name."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dproof as dp
from dproof import arrays

VALUES = np.arange(100.0)


def test_an_unbiased_design_tells_the_law_of_lattice_points_alone() -> None:
    """A value between two of them is rounded at random when it is drawn: the law of the nearest is not its law."""
    best = dp.design(dp.Interval(0, 1, "1/3"), 1, unbiased=True)
    points = [best.inputs.label(code) for code in range(4)]
    assert [best.inputs.code(point) for point in points] == [0, 1, 2, 3]
    assert float(sum(Fraction(y) * p for y, p in best.law("1/3").items())) == pytest.approx(1 / 3)
    with pytest.raises(dp.InputError, match="between lattice points"):
        best.law("0.5")
    assert len(best.draw(["0.5", Fraction(1, 2), 0.5])) == 3


def test_a_numpy_number_of_bins_is_a_number() -> None:
    cells, edges = arrays.histogram(VALUES, np.int64(2), bounds=(0, 100), epsilon=900)
    assert [float(cell) for cell in cells] == [50, 50] and edges == [0, 50, 100]


@pytest.mark.parametrize("bins", [True, 2.5, np.float64(2), "10", 0])
def test_what_is_no_number_of_bins_is_refused(bins: Any) -> None:
    with pytest.raises(dp.InputError, match="bins must be"):
        arrays.histogram(VALUES, bins, bounds=(0, 100), epsilon=900)


def test_a_complex_value_is_missing_without_a_warning() -> None:
    """A warning would tell that some value is complex."""
    values = np.array([*VALUES.tolist(), np.complex128(1j)], object)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cell = arrays.mean(values, bounds=(0, 100), epsilon=900)
    assert float(cell) == pytest.approx(49.5, abs=0.5)


def test_refusals_name_what_was_given() -> None:
    with pytest.raises(dp.InputError, match="stake is"):
        dp.explain(1, stake=-1)
    with pytest.raises(dp.InputError, match="or clamp"):
        dp.laplace(dp.Interval(0, 9, 1), 1).estimate({1: 3})

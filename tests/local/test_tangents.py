"""Values that are calculated from sums: parabolas, roots, and what they are where the sums are others."""

from __future__ import annotations

import numpy as np

from dproof.questions.estimated import Value, _image, radius

AMOUNTS = np.array([[4.0, 6.0, 20.0]])  # n, Σz, Σz²
N, X, S = (Value(AMOUNTS[:, n], np.eye(3)[n : n + 1], np.eye(3)[None]) for n in range(3))


def test_only_what_is_one_counts_as_a_parabola() -> None:
    comoment = S - X * X / N
    assert comoment.parabola is not None and (comoment * -2.0).parabola.factor == 2.0  # type: ignore[union-attr]
    others = (S, X * X, comoment / N, (S + X * X) / N, (X * X + 1.0) / N, X * S / N, comoment + comoment)
    assert all(value.parabola is None for value in others)


def test_a_root_keeps_its_square_through_factors_and_shifts() -> None:
    moved = 1.0 - 2.0 * (S / N).root()
    root = moved.made_by("√")
    assert root is not None and (root.factor, root.shift) == (-2.0, 1.0)
    assert (moved + X).made_by("√") is None


def test_a_value_is_what_it_would_be_with_other_sums() -> None:
    """Along one axis, by which n, Σz and Σz² grow by 0, 1 and 2."""
    deviation = (S - X * X / N).root() * 2.0 + X / N
    along = deviation.along(np.array([[[0.0], [1.0], [2.0]]]), np.arange(1))
    value, slope = along.at(np.array([[[0.5]], [[1e-6]], [[0.0]]]))
    assert np.isclose(value[0, 0], 2 * np.sqrt(21 - 6.5**2 / 4) + 6.5 / 4)
    assert np.isclose(slope[2, 0, 0], (value[1, 0] - value[2, 0]) / 1e-6, rtol=1e-4)


def test_the_image_of_a_parabola_in_one_dimension_holds_its_top() -> None:
    """Where the delta method has a point: the variance of zeros and ones at a half."""
    share = Value(np.array([0.5]), np.ones((1, 1)), np.full((1, 1, 1), 0.01))
    errors = (share - share * share).along(np.full((1, 1, 1), 0.1), np.arange(1))
    low, high = _image(errors, 2.0, np.array([2.0]))
    assert np.isclose(low[0], 0.25 - 0.04) and np.isclose(high[0], 0.25)


def test_surfaces_that_bend_away_have_larger_balls() -> None:
    """Where x² + y² is small, little lies behind its surface on one side, and more than a normal error says beside."""
    x, y = (Value(np.zeros(1), np.eye(2)[n : n + 1], np.eye(2)[None]) for n in range(2))
    axes, most = np.eye(2)[None], np.array([radius(0.95, 2)])
    low, high = _image((x * x + y * y).along(axes, np.arange(1)), 1.96, most)
    assert np.isclose(high[0], 1.96**2, rtol=0.01) and abs(low[0]) < 1e-9
    low, high = _image(((x + 3.0) * (x + 3.0) + y * y).along(axes, np.arange(1)), 1.96, most)
    assert np.isclose(high[0], (3 + 1.96) ** 2) and (3 - radius(0.95, 2)) ** 2 < low[0] < (3 - 1.96) ** 2 * 0.9


def test_the_square_of_a_root_is_what_it_is_of() -> None:
    comoment = S - X * X / N
    square = (comoment.root() * 2.0) * (comoment.root() * 3.0)
    assert square.made_by("√") is None and np.allclose(square.value, comoment.value * 6)
    assert (comoment.root() * S.root()).made_by("*") is not None

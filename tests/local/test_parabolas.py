"""Values that are parabolas of the sums, and roots."""

from __future__ import annotations

import numpy as np

from dproof.questions.estimated import Value

AMOUNTS = np.array([[4.0, 6.0, 20.0]])  # n, Σz, Σz²
N, X, S = (Value(AMOUNTS[:, n], np.eye(3)[n : n + 1], np.eye(3)[None], linear=True) for n in range(3))


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

"""The sheet, section 4: comparing single outputs is enough for δ = 0 on a finite range, and not beyond."""

from __future__ import annotations

from fractions import Fraction

from dproof import Categories, solution_matrix
from dproof.laws import Matrix

ROWS = [["0.4", "0.1", "0.4", "0.1"], ["0.1", "0.4", "0.1", "0.4"]]


def test_single_outputs_and_intervals_miss_what_a_set_shows() -> None:
    made = solution_matrix(Categories([0, 1]), ROWS, outputs=Categories(range(4)))
    p, q = ([made.law(d)[y] for y in range(4)] for d in (0, 1))
    runs = [range(a, b) for a in range(4) for b in range(a + 1, 5)]
    assert max(sum(p[y] - q[y] for y in run) for run in runs) == Fraction(3, 10)
    assert made.delta(0) == 0.6  # the set {0, 2}


def test_for_delta_zero_single_outputs_decide() -> None:
    law = solution_matrix(Categories([0, 1]), ROWS, outputs=Categories(range(4))).family
    assert isinstance(law, Matrix)
    ratios = [Fraction(int(a), int(b)) for a, b in zip(law.weights(0), law.weights(1), strict=True)]
    assert law.odds(Fraction(0)).value == max(*ratios, *(1 / ratio for ratio in ratios))

"""What hypothesis draws from: laws of whole numbers, families of them, metrics, and numbers near every edge."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from dproof.laws import Matrix

odds = st.one_of(
    st.fractions(min_value=1, max_value=20, max_denominator=50),
    st.sampled_from([Fraction(1), Fraction(2), Fraction(10**6), 1 + Fraction(1, 10**12)]),
)
deltas = st.one_of(
    st.fractions(min_value=0, max_value=1, max_denominator=60),
    st.sampled_from([Fraction(0), Fraction(1), Fraction(1, 10**9)]),
)


@st.composite
def laws(draw: st.DrawFn, outputs: int, total: int) -> list[int]:
    """Whole numbers of at least 0, one for each output, that sum to the total; zeros and ties are common."""
    cuts = sorted(draw(st.lists(st.integers(0, total), min_size=outputs - 1, max_size=outputs - 1)))
    return [b - a for a, b in zip([0, *cuts], [*cuts, total], strict=True)]


@st.composite
def matrices(draw: st.DrawFn, *, most_inputs: int = 4, most_outputs: int = 5, square: bool = False) -> Matrix:
    """A family of laws over totals small, odd and too large for a machine word."""
    inputs = draw(st.integers(1, most_inputs))
    outputs = inputs if square else draw(st.integers(1, most_outputs))
    total = draw(st.sampled_from([1, 2, 7, 60, 1 << 20, (1 << 61) - 1, 10**30]))
    rows = [draw(laws(outputs, total)) for _ in range(inputs)]
    return Matrix(np.array(rows, object if total >= 1 << 62 else np.int64), total)


@st.composite
def metrics(draw: st.DrawFn, most: int = 6) -> list[list[Fraction]]:
    """A metric on up to so many points: the shortest ways through a graph with positive lengths."""
    k = draw(st.integers(1, most))
    length = st.fractions(min_value=Fraction(1, 20), max_value=10, max_denominator=20)
    rho = [[Fraction(0)] * k for _ in range(k)]
    for i in range(k):
        for j in range(i):
            rho[i][j] = rho[j][i] = draw(length)
    for middle in range(k):
        for i in range(k):
            for j in range(k):
                rho[i][j] = min(rho[i][j], rho[i][middle] + rho[middle][j])
    return rho

"""The sheet, exercises 5.1 and 5.2: whatever is done to an output afterwards, rounding included, costs nothing."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dproof import Categories, Interval, Privacy, bounded_laplace, solution_matrix
from dproof.laws import Matrix
from tests.strategies import matrices, odds


def after(law: Matrix, rows: list[list[Fraction]]) -> list[list[Fraction]]:
    """The law of g(Y), where g turns output y into output z with probability rows[y][z]."""
    return [
        [
            sum((Fraction(int(w), law.total) * rows[y][z] for y, w in enumerate(law.weights(d))), Fraction(0))
            for z in range(len(rows[0]))
        ]
        for d in range(law.inputs)
    ]


def worst(rows: list[list[Fraction]], factor: Fraction) -> Fraction:
    return max(
        (sum((max(Fraction(0), p - factor * q) for p, q in zip(a, b, strict=True)), Fraction(0)))
        for a in rows
        for b in rows
    )


@given(matrices(), odds, st.data())
def test_exercise_5_1_a_function_of_the_output_is_as_private(
    law: Matrix, factor: Fraction, data: st.DataObject
) -> None:
    target = data.draw(st.integers(1, 4))
    g = [data.draw(st.integers(0, target - 1)) for _ in range(law.outputs)]
    rows = [[Fraction(int(g[y] == z)) for z in range(target)] for y in range(law.outputs)]
    assert worst(after(law, rows), factor) <= law.worst(factor).value


@given(matrices(), odds, st.data())
def test_a_random_function_with_coins_of_its_own_is_as_private(
    law: Matrix, factor: Fraction, data: st.DataObject
) -> None:
    weights = [[data.draw(st.integers(1, 5)) for _ in range(3)] for _ in range(law.outputs)]
    rows = [[Fraction(w, sum(row)) for w in row] for row in weights]
    assert worst(after(law, rows), factor) <= law.worst(factor).value


@given(matrices(), odds)
def test_renaming_the_outputs_changes_nothing(law: Matrix, factor: Fraction) -> None:
    n = law.outputs
    rows = [[Fraction(int(z == n - 1 - y)) for z in range(n)] for y in range(n)]
    assert worst(after(law, rows), factor) == law.worst(factor).value


def test_exercise_5_2_rounding_keeps_epsilon() -> None:
    noisy = bounded_laplace(Interval(0, 10, 1), Privacy(1))
    weights, total = noisy.weights()
    tens = [5 * round(y / 5) for y in range(11)]
    rounded = [
        [sum(Fraction(int(w), total) for y, w in enumerate(row) if tens[y] == z) for z in (0, 5, 10)] for row in weights
    ]
    made = solution_matrix(Interval(0, 10, 1), rounded, outputs=Categories([0, 5, 10]))
    assert made.epsilon() <= noisy.epsilon() <= 1
    assert all(made.delta(t) <= noisy.delta(t) for t in (0, "0.3", "0.7"))

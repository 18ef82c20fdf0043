"""Functions of an answer, such as ROUND(avg(age), 1): they work on what was told, and tell nothing more of the rows."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dproof.errors import QuestionError
from dproof.questions.aggregates import Frequent
from dproof.questions.answer import Cell
from dproof.questions.question import Applied, Expression, aggregates_of

_Map = Callable[..., float]


def _round(x: float, places: float = 0.0) -> float:
    return float(round(x, int(places)))


_MAPS: dict[str, _Map] = {
    "round": _round, "floor": math.floor, "ceil": math.ceil, "abs": abs, "sqrt": math.sqrt, "power": math.pow,
    "coalesce": lambda x, _: x,
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
}  # fmt: skip
_TAKES = {"power": (1, 1), "coalesce": (1, 1), "round": (0, 1)}  # how many numbers; of the others none
_MOST_PLACES = 15


def check(expression: Expression) -> None:
    """Refuse a function that takes other arguments, or that is put around what is no number."""
    while isinstance(expression, Applied):
        function, numbers = expression.function, expression.numbers
        least, most = _TAKES.get(function, (0, 0)) if function.isalpha() else (1, 1)
        if not least <= len(numbers) <= most:
            raise QuestionError(
                f"{function.upper()} takes {'one number' if least else 'no number'} beside the aggregate"
            )
        if function == "round" and any(n.denominator > 1 or abs(n) > _MOST_PLACES for n in numbers):
            raise QuestionError(f"ROUND takes a whole number of decimals, at most {_MOST_PLACES}")
        expression = expression.inner
        for aggregate in aggregates_of(expression):
            if isinstance(aggregate.definition.chosen, Frequent):
                raise QuestionError("a mode or a top list is not a number to calculate with: ask for it on its own")


def changes_widths(expression: Expression) -> bool:
    """Whether an interval gets wider or narrower by the functions around it, by more than a rounding."""
    while isinstance(expression, Applied):
        if expression.function not in ("round", "floor", "ceil", "coalesce", "abs", "+", "-"):
            return True
        expression = expression.inner
    return False


def apply(expression: Expression, value: Any) -> Any:
    """What an expression makes of the value, or of the cell, that was measured for the inside of its functions.

    >>> from fractions import Fraction
    >>> apply(Applied("round", None, (Fraction(1),)), Cell(2.345, 1.96, 2.73, 0.2, 2.345))
    Cell(estimate=2.3, low=2.0, high=2.7, stderr=None, raw=2.345, informative=True)
    >>> print(apply(Applied("round", None, (Fraction(1),)), Cell(2.345, 1.96, 2.73, 0.2, 2.345)))
    2.3 [2.0, 2.7]
    """
    if not isinstance(expression, Applied):
        return value
    inside = apply(expression.inner, value)
    if not isinstance(inside, Cell):
        return _at(expression, inside)
    if not inside.informative and inside.low is None:
        return inside
    inside = _with_a_root(expression, inside)
    estimate, decimals = _at(expression, inside.estimate) if inside.informative else None, _decimals(expression)
    if inside.low is None or inside.high is None:
        known = estimate is not None
        return replace(inside, estimate=estimate, stderr=None, informative=known, decimals=decimals)
    ends = _image(expression, inside.low, inside.high)
    if ends is None:
        return Cell(None, raw=inside.raw, informative=False)
    return Cell(estimate, *ends, None, inside.raw, inside.informative, decimals)


def _with_a_root(expression: Applied, inside: Cell) -> Cell:
    """What a root is taken of: where it may be 0 or more, an estimate and an end below 0 stand for 0."""
    is_root = expression.function == "sqrt" or (
        expression.function == "power" and expression.numbers[0].denominator > 1
    )
    if not is_root or inside.low is None or inside.high < 0:
        return inside
    estimate = None if inside.estimate is None else max(inside.estimate, 0.0)
    return replace(inside, estimate=estimate, low=max(inside.low, 0.0))


def _decimals(expression: Applied) -> int | None:
    """How many decimals ROUND leaves; None where another function is the outermost."""
    return int(sum(expression.numbers)) if expression.function == "round" else None


def _at(expression: Applied, x: Any) -> Any:
    """The function at a number; None where it has no value."""
    numbers = [float(number) for number in expression.numbers]
    if x is None or x != x:
        return numbers[0] if expression.function == "coalesce" else None
    arguments = [*numbers[: expression.place], float(x), *numbers[expression.place :]]
    try:
        value = float(_MAPS[expression.function](*arguments))
    except (ArithmeticError, ValueError):
        return None
    if not math.isfinite(value):
        return None
    whole = expression.function in ("floor", "ceil") or (expression.function == "round" and not any(numbers))
    return int(value) if whole else value


def _image(expression: Applied, low: float, high: float) -> tuple[float, float] | None:
    """All values between two ends; None where some are infinite. A function here turns at 0, if anywhere."""
    points = [low, high, *([0.0] if low < 0 < high else [])]
    values = [_at(expression, point) for point in points]
    if None in values:
        return None
    return min(values), max(values)

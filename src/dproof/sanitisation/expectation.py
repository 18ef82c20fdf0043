"""What an analyst can expect of a release before there is one: the interval that a count will have."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import sqrt
from statistics import NormalDist
from typing import Any

from dproof.errors import InputError
from dproof.exact import exact
from dproof.privacy import Privacy
from dproof.sanitisation.plan import Plan
from dproof.sanitisation.row_law import RowLaw, certify_row
from dproof.sanitisation.variance import count_variance

_Z = NormalDist().inv_cdf(0.975)
_LARGEST_EPSILON = 100


def half_widths(law: RowLaw, rows: int) -> dict[str, float | None]:
    """For each group, ± at 95% of a debiased count over so many rows, at its worst; None where none can be had.

    For sets it is the count of rows that hold an item.

    >>> columns = {"read": {"space": "categories", "values": [0, 1]}}
    >>> law = certify_row(Plan.from_dict({"privacy": {"epsilon": 1}, "columns": columns}))
    >>> round(half_widths(law, 10_000)["read"], 1)
    188.1
    """
    if rows < 0:
        raise InputError("the number of rows cannot be negative")
    widths: dict[str, float | None] = {}
    for group in law.groups:
        variance = count_variance(group.mechanism.family, group.mechanism.inputs)
        widths[group.name] = None if variance is None else _Z * sqrt(rows * variance)
    return widths


def epsilon_for(plan: Plan, rows: int, half_width: Any) -> Fraction:
    """The least ε, to three digits, with which every count over so many rows is right to ± the half-width.

    The shares, δ and everything else stay as the plan has them.
    """
    wanted = exact(half_width, "the half-width")
    if wanted <= 0 or rows < 1:
        raise InputError("the half-width and the number of rows must be positive")

    def enough(epsilon: Fraction) -> bool:
        promise = Privacy(epsilon, plan.privacy.delta)
        widths = half_widths(certify_row(replace(plan, privacy=promise)), rows).values()
        return all(width is not None and width <= wanted for width in widths)

    low, high = Fraction(0), Fraction(_LARGEST_EPSILON)
    if not enough(high):
        raise InputError(
            f"no epsilon up to {_LARGEST_EPSILON} makes every count over {rows} rows right to ± {half_width}: "
            "ask for less, or give the plan fewer columns"
        )
    while high - low > high / 10_000:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return _three_digits(high)


def _three_digits(value: Fraction) -> Fraction:
    """Rounded up to three significant digits."""
    step = Fraction(1)
    while value / step >= 1000:
        step *= 10
    while value / step < 100:
        step /= 10
    return -(-value // step) * step

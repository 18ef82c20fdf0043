"""± of the counts and means of a local release before there is one, and the ε that a wanted ± needs."""

from __future__ import annotations

from dataclasses import replace
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from math import sqrt
from statistics import NormalDist
from typing import Any

from dproof.errors import ArgumentError
from dproof.exact import bisect, exact
from dproof.local.mechanisms import choose
from dproof.local.recipe import RowLaw, certify_row
from dproof.plans.plan import ColumnGroup, Plan, split
from dproof.privacy import Privacy

_THREE_DIGITS = Context(prec=3, rounding=ROUND_CEILING)
_Z = NormalDist().inv_cdf(0.975)
_LARGEST_EPSILON = 100
_BIAS = 1e-9  # of the interval's length, which rounding floats may feign


def half_widths(law: RowLaw, rows: int) -> dict[str, float | None]:
    """For each group, ± at 95% of a debiased count over `rows` rows, at its worst; None where it cannot be had.

    For sets it is the count of rows that hold an item.

    >>> columns = {"read": {"space": "categories", "values": [0, 1]}}
    >>> from dproof.local.recipe import certify_row
    >>> law = certify_row(Plan.from_dict({"privacy": {"epsilon": 1}, "columns": columns}))
    >>> round(half_widths(law, 10_000)["read"], 1)
    188.1
    """
    if rows < 0:
        raise ArgumentError("the number of rows cannot be negative")
    widths: dict[str, float | None] = {}
    for group, chance in zip(law.groups, law.chances, strict=True):
        variance = group.mechanism.family.count_variance(group.mechanism.inputs)
        widths[group.name] = None if variance is None else _Z * sqrt(rows * _of_part(variance, 0.25, chance))
    return widths


def _of_part(variance: float, sampling: float, chance: Fraction) -> float:
    """The variance for each row of a sum over all rows, from the rows that were asked, each with this chance.

    Sampling is that of the true values, at its worst.
    """
    return variance if chance == 1 else (variance + float(1 - chance) * sampling) / float(chance)


def mean_half_widths(law: RowLaw, rows: int) -> dict[str, float]:
    """For each column of numbers under an unbiased law, ± at 95% of their mean over `rows` rows, at its worst."""
    widths = {}
    for group, chance in zip(law.groups, law.chances, strict=True) if rows > 0 else ():
        released = group.mechanism.bias_and_variance()
        variance = group.mechanism.family.mean_variance(group.mechanism.inputs)
        if released is not None and released.bias <= _BIAS * float(group.mechanism.inputs.diameter):
            variance = released.variance
        if variance is not None:
            sampling = float(group.mechanism.inputs.diameter) ** 2 / 4
            widths[group.name] = _Z * sqrt(_of_part(variance, sampling, chance) / rows)
    return widths


def missing_half_widths(law: RowLaw, rows: int) -> dict[str, float]:
    """For each column that keeps missing values apart, ± at 95% of their debiased count over `rows` rows."""
    widths, asked = {}, {group.name: chance for group, chance in zip(law.groups, law.chances, strict=True)}
    for name, chances in shown_chances(law).items():
        apart = float(chances[0] - chances[1])
        most = _of_part(float(max(chance * (1 - chance) for chance in chances)), apart**2 / 4, asked[name])
        widths[name] = _Z * sqrt(rows * most) / apart
    return widths


def shown_chances(law: RowLaw) -> dict[str, tuple[Fraction, Fraction]]:
    """For each column that keeps missing values apart, how likely a value is shown that is there, and a missing one."""
    found = {}
    for group in law.groups:
        if group.mechanism.inputs.present is not None:
            absent = group.mechanism.outputs.absent
            assert absent is not None
            found[group.name] = group.mechanism.family.shown_chances(absent)
    return found


def count_half_width(group: ColumnGroup, part: Privacy, rows: int) -> float | None:
    """± at 95% of a debiased count over `rows` rows, for columns with this part of the promise; None without one."""
    variance = choose(group.space, part, group.mechanism, group.uses).family.count_variance(group.space)
    return None if variance is None else _Z * sqrt(rows * variance)


def epsilon_for(plan: Plan, rows: int, half_width: Any) -> Fraction:
    """The least ε, to three digits, with which every count over `rows` rows is accurate to ± the half-width.

    Counted are categories, sets and joined columns. The shares, δ and everything else stay as the plan has them.
    """
    wanted = exact(half_width, "the half-width")
    if wanted <= 0 or rows < 1:
        raise ArgumentError("the half-width and the number of rows must be positive")

    if not any(group.space.is_counted for group in plan.groups):
        raise ArgumentError("no column of the plan is counted: choose epsilon by the error of its values instead")

    def enough(epsilon: Fraction) -> bool:
        promise = Privacy(epsilon, plan.privacy.delta)
        if plan.spread is not None:
            law = certify_row(replace(plan, privacy=promise))
            counted = [group.name for group in law.groups if group.mechanism.inputs.is_counted]
            known = half_widths(law, rows)
            return all(width is not None and width <= wanted for width in map(known.__getitem__, counted))
        for group, part in zip(plan.groups, split(promise, plan.groups), strict=True):
            width = count_half_width(group, part, rows) if group.space.is_counted else 0.0
            if width is None or width > wanted:
                return False
        return True

    if not enough(Fraction(_LARGEST_EPSILON)):
        raise ArgumentError(
            f"no epsilon up to {_LARGEST_EPSILON} makes every count over {rows} rows accurate to ± {half_width}: "
            "ask for a larger ±, or give the plan fewer columns"
        )
    least = bisect(enough, Fraction(0), Fraction(_LARGEST_EPSILON), lambda low, high: high - low <= high / 10_000)
    return Fraction(_THREE_DIGITS.divide(least.numerator, least.denominator))

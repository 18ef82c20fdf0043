"""A plan from mappings keeps every number a number, and exact."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dproof import InputError, Plan
from dproof.plans.reader import to_toml


def _plan(**keys: Any) -> Plan:
    return Plan.from_dict({"privacy": {"epsilon": 1}, "columns": {"x": keys}})


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 3],
        (1, 2, 3),
        np.arange(1, 4),
        list(np.arange(1, 4)),
        np.array([1, 2, 3], np.uint8),
        [Fraction(1), Decimal(2), 3],
        range(1, 4),
    ],
    ids=repr,
)
def test_whole_numbers_stay_whole_numbers(values: Any) -> None:
    found = _plan(space="categories", values=list(values) if isinstance(values, range) else values).column("x").space
    assert found.values == (1, 2, 3) and {type(value) for value in found.values} == {int}


@pytest.mark.parametrize(
    ("given", "exact"),
    [
        (0.1, Fraction(1, 10)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.5), Fraction(1, 2)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Fraction(1, 3), Fraction(1, 3)),
        ("1/3", Fraction(1, 3)),
        (Decimal("0.12345678901234567890123"), Fraction("0.12345678901234567890123")),
        (Fraction(10**18 + 1, 10**20), Fraction(10**18 + 1, 10**20)),
        (np.int64(2), Fraction(2)),
    ],
    ids=repr,
)
def test_every_number_is_exact(given: Any, exact: Fraction) -> None:
    plan = Plan.from_dict({"privacy": {"epsilon": given}, "columns": {"x": {"space": "categories", "values": ["a"]}}})
    assert plan.privacy.epsilon == exact
    assert Plan.parse(plan.text).privacy.epsilon == exact


def test_numbers_that_a_float_writes_stay_numbers_among_values() -> None:
    found = _plan(space="categories", values=[Decimal("0.1"), Fraction(1, 4), np.bool_(True) + 1]).column("x").space
    assert found.values == (0.1, 0.25, 2)


def test_what_toml_has_not_is_refused_with_its_place() -> None:
    with pytest.raises(InputError, match=r"columns\.x\.missing must be a text, a number or another value of TOML"):
        _plan(space="categories", values=["a"], missing=None)
    with pytest.raises(InputError, match="each key of a plan must be a text"):
        Plan.from_dict({"privacy": {"epsilon": 1}, "columns": {3: {"drop": True}}})


def test_dates_are_written_as_toml_has_them() -> None:
    assert to_toml({"low": datetime.date(2024, 2, 29)}) == "low = 2024-02-29\n"

"""A product of two estimates that may both be zero holds the products of all that is near to both."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof.testing import seeded_coins

GROUPS = {"space": "categories", "values": ["a", "b", "c"]}
LOCAL = {"privacy": {"epsilon": 2}, "columns": {"g": GROUPS}}
CENTRAL = {
    "privacy": {"model": "central", "epsilon": "0.3", "delta": "1e-6", "neighbours": "add-remove"},
    "columns": {"g": GROUPS},
}
B, C = (f"count(*) FILTER (WHERE g = '{value}')" for value in "bc")


def counted(plan: dict[str, Any], seed: int) -> Any:
    with seeded_coins(seed):
        release = dp.sanitise(pa.table({"g": ["a"] * 190 + ["b"] * 5 + ["c"] * 5}), plan)
    asked = f"{B} AS b, {C} AS c, {B} * {C} AS product, 3 - 2 * {B} * {B} AS square, {B} * {C} / count(*) AS expected"
    return release.query(f"SELECT {asked} FROM release").rows[0]


@pytest.mark.parametrize("plan", [LOCAL, CENTRAL], ids=["local", "central"])
@pytest.mark.parametrize("seed", range(4))
def test_all_products_of_what_is_near_are_possible(plan: dict[str, Any], seed: int) -> None:
    """By the delta method 1 ± 8 has the square 1 ± 16, and not 81."""
    row = counted(plan, seed)
    b, c, product = row["b"], row["c"], row["product"]
    assert product.low <= max(b.low, 0) * max(c.low, 0)
    assert product.high >= product.estimate + 1.96 * product.stderr
    if plan is CENTRAL:  # both noises are independent: as far from both as 1.96 standard errors are together
        assert product.high >= max(b.estimate + 1.385 * b.stderr, 0) * max(c.estimate + 1.385 * c.stderr, 0)
        assert row["expected"].high >= product.high / 230
    assert row["square"].low <= 3 - 2 * b.high**2


def test_a_product_of_what_is_surely_not_zero_is_by_the_delta_method() -> None:
    with seeded_coins(1):
        release = dp.sanitise(pa.table({"g": ["a"] * 3000 + ["b"] * 3000 + ["c"] * 3000}), LOCAL)
    row = release.query(f"SELECT {B} AS b, {C} AS c, {B} * {C} AS product FROM release").rows[0]
    b, c, product = (row[name] for name in ("b", "c", "product"))
    most = b.estimate * c.stderr + c.estimate * b.stderr  # if one moved with the other
    assert (product.high - product.low) / 2 == pytest.approx(1.96 * product.stderr, rel=1e-3)
    assert 0 < product.stderr <= most


def test_a_product_of_estimates_that_are_zero_is_not_exact() -> None:
    plan = {**CENTRAL, "privacy": {"model": "central", "epsilon": 1, "neighbours": "add-remove"}}
    with seeded_coins(1):  # whose noise takes both rows away
        release = dp.sanitise(pa.table({"g": ["a"] * 20 + ["b"] * 2}), plan)
    row = release.query(f"SELECT {B} AS b, {B} * {B} AS square FROM release").rows[0]
    assert row["b"].estimate == row["square"].estimate == 0
    assert row["square"].low <= 4 <= row["square"].high and row["square"].high >= row["b"].high ** 2

"""COUNT(DISTINCT ...): what one person can do to it, over every pair of small tables, is what its noise is made for."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import pytest

from dproof.curation.measurement import measure
from dproof.exact import log_above
from dproof.privacy import Privacy, Unit
from dproof.questions.schema import Schema, resolve
from dproof.questions.sql import parse
from dproof.spaces import Categories

TABLE = Schema("data", {"x": Categories([0, 1, 2]), "g": Categories(["a", "b"])}, frozenset("x"))
ROWS = list(product([0, 1, 2, None], "ab"))


def tables(most: int) -> list[tuple[Any, ...]]:
    return [rows for size in range(most + 1) for rows in combinations_with_replacement(ROWS, size)]


def counted(rows: tuple[Any, ...], grouped: bool) -> list[int]:
    """The number of different values, of all rows or in each group."""
    return [len({x for x, g in rows if g in group and x is not None}) for group in (["a", "b"] if grouped else ["ab"])]


@pytest.mark.parametrize("rows_per_person", [1, 2])
@pytest.mark.parametrize("neighbours", ["change-one", "add-remove"])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("delta", ["0", "1e-3"])
def test_the_noise_is_made_for_what_one_person_can_do(
    grouped: bool, neighbours: Any, rows_per_person: int, delta: str
) -> None:
    privacy = Privacy("0.7", delta, neighbours=neighbours)
    text = f"SELECT count(DISTINCT x) AS n FROM data {'GROUP BY g' if grouped else ''}"
    (noisy,) = measure(
        resolve(parse(text), TABLE), TABLE, privacy, unit=Unit(privacy.neighbours, rows_per_person=rows_per_person)
    ).noisy
    noise, person = noisy.noise, tables(rows_per_person)
    assert noise is not None
    moved, squared, cells = 0, 0, 0
    for shared in tables(1):
        found = [counted((*shared, *rows), grouped) for rows in person]
        others = found if neighbours == "change-one" else [counted(shared, grouped)]
        for a, b in product(found, others):
            steps = [abs(x - y) for x, y in zip(a, b, strict=True)]
            moved, squared = max(moved, sum(steps)), max(squared, sum(step**2 for step in steps))
            cells = max(cells, sum(step > 0 for step in steps))
    assert noisy.sensitivity == moved
    assert noise.size == (moved if noise.name == "Laplace" else squared)
    assert noise.coordinates >= cells and noise.meets(privacy)
    if delta == "0":
        loss = moved * log_above(noise.law.ratio)  # type: ignore[union-attr]
        assert privacy.epsilon * Fraction(99, 100) < loss <= privacy.epsilon


@pytest.mark.parametrize("neighbours", ["change-one", "add-remove"])
def test_two_of_them_share_the_price(neighbours: Any) -> None:
    text = "SELECT g, count(DISTINCT x) AS n, count(DISTINCT x) FILTER (WHERE x > 0) AS m FROM data GROUP BY g"
    found = measure(resolve(parse(text), TABLE), TABLE, Privacy(1, neighbours=neighbours)).noisy
    loss = sum(part.sensitivity * log_above(part.noise.law.ratio) for part in found)  # type: ignore[union-attr]
    assert len(found) == 2 and Fraction(99, 100) < loss <= 1

"""How far a neighbour moves sums of curves, the weight of their count, and what a person with several rows costs."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from dproof import Cost, Curves, Privacy
from dproof.curator.recipe import _curve_cut, _curve_size, curve_sums
from dproof.curves.lattice import Expansion, Split
from dproof.curves.noise import vector_noise
from dproof.privacy import Neighbours, Unit
from dproof.questions.question import Aggregate

MEAN, COVARIANCE = Aggregate("avg", ("load",)), Aggregate("covar", ("load", "load"))


def lattice(one: int, two: int) -> Any:
    """Curves of at most this norm, of which two differ by at most that; squared where the norm is l2."""
    return SimpleNamespace(size=lambda norm, neighbours: one if neighbours == "add-remove" else two)


@pytest.mark.parametrize(
    ("split", "neighbours", "groups", "size", "weight"),
    [
        ("gaussian", "change-one", 1, 400, 17),  # 100 + 17² ≤ 400 < 100 + 18²
        ("gaussian", "change-one", 3, 400, 10),  # 2·(100 + 10²) ≤ 400 < 2·(100 + 11²)
        ("gaussian", "add-remove", 3, 125, 5),
        ("laplace", "change-one", 1, 400, 300),
        ("laplace", "change-one", 3, 400, 12),
        ("laplace", "add-remove", 3, 125, 25),
    ],
)
def test_a_count_weighs_what_costs_nothing_or_little(
    split: Split, neighbours: Neighbours, groups: int, size: int, weight: int
) -> None:
    assert _curve_size(lattice(100, 400), split, neighbours, MEAN, False, groups) == (size, weight, 0)


@pytest.mark.parametrize("split", ["gaussian", "laplace"])
def test_a_public_number_of_rows_is_not_counted(split: Split) -> None:
    assert _curve_size(lattice(100, 400), split, "change-one", MEAN, True, 1) == (400, 0, 0)


@pytest.mark.parametrize(
    ("promise", "split", "power"), [(Privacy(1), "laplace", 1), (Privacy(1, "1e-6"), "gaussian", 2)]
)
def test_a_person_moves_the_sums_once_for_each_row(promise: Privacy, split: Split, power: int) -> None:
    expansion = Expansion(Curves(0, 24, 9, low=0, high=5), "cosine", terms=4)
    one, three = (
        curve_sums(
            COVARIANCE, expansion, Cost.of(promise), unit=Unit(rows_per_person=rows), public=True, groups=1
        ).noise
        for rows in (1, 3)
    )
    assert one.split == three.split == split and three.size == 3**power * one.size


def test_every_table_of_every_number_is_cut() -> None:
    noise = vector_noise("gaussian", 1 << 20, 6, Privacy(1, "1e-6"))
    assert _curve_cut(noise) == 2 * 6 * 9 * Fraction(1, 1 << 65)

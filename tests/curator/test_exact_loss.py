"""What every move of a person costs, computed from the laws that are drawn: groups × rows of a person × relations.

Sums are linear, so what a person's rows add is counted row by row, and every two sets of rows that a person may have
are compared. The loss of such a move is computed from the laws themselves, number by number and vector by vector, and
not from a size that they were made for.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement
from math import isqrt
from typing import Any, get_args

import numpy as np
import pytest

from dproof import Plan, Privacy
from dproof.curator.account import pure_part, rho_for
from dproof.curator.draw import tally_in_batches
from dproof.curator.recipe import Measurement
from dproof.exact import exp_below, log_above, log_below
from dproof.laws import Gaussian, TwoSided
from dproof.laws.k_norm import KNorm
from dproof.plans.plan import schema_of
from dproof.privacy import Neighbours, Unit
from dproof.tables import open_source
from tests.makers import measured_for

pa = pytest.importorskip("pyarrow")

POINTS = 5
UP, DOWN, WAVE = [5.0] * POINTS, [0.0] * POINTS, [5.0, 0.0, 5.0, 0.0, 5.0]
GROUPS = ["a", "b", "c"]
KINDS = [
    *((g, x, curve) for g in GROUPS for x, curve in ((0, UP), (9_999_999, DOWN))),
    ("a", None, None),
    ("a", 7, WAVE),
]
SHAPES: dict[str, dict[str, Any]] = {
    "values": {},
    "ball": {"radius": 6},
    "box": {"box": ["0.2", "3", "1", "0.5"]},
    "kernel": {"kernel": "matern-3/2", "length": 2, "radius": 6},
}
CURVES = [
    "SELECT avg(load) FROM data",
    "SELECT sum(load) FROM data WHERE kind <> 'b'",
    "SELECT kind, avg(load) FROM data GROUP BY kind",
    "SELECT kind, sum(load) FROM data WHERE x < 100 GROUP BY kind",
    "SELECT covar(load, load) FROM data",
]
NUMBERS = [
    "SELECT kind, count(*), sum(x) FROM data GROUP BY kind",
    "SELECT kind, avg(x), count(*) FILTER (WHERE x < 100) FROM data GROUP BY kind",
    "SELECT kind, count(DISTINCT kind) FROM data GROUP BY kind",
    "SELECT unnest(tags) AS tag, count(*), sum(x) FROM data GROUP BY tag",
    "SELECT kind, variance(y) FROM data GROUP BY kind",
]

PRICES = [("0.2", 0), ("1.3", 0), ("0.2", "1e-6"), ("3", "1e-6")]


def measured(sql: str, privacy: Privacy, unit: Unit, load: dict[str, Any], rho: bool) -> tuple[Plan, Measurement]:
    columns = {
        "load": {"space": "curves", "points": POINTS, "low": 0, "high": 5, "terms": 4, **load},
        "kind": {"space": "categories", "values": GROUPS},
        "x": {"space": "interval", "low": 0, "high": 9_999_999, "step": 1},
        "y": {"space": "interval", "low": 0, "high": 99, "step": 1},
        "tags": {"space": "subsets", "values": GROUPS},
    }
    plan = Plan.of({"privacy": {"epsilon": 1, "neighbours": unit.neighbours}, "columns": columns})
    schema, bought = schema_of(plan), rho_for(privacy.epsilon, privacy.delta) if rho else None
    return plan, measured_for(sql, schema, privacy, rho=bought, unit=unit)


def added(plan: Plan, measurement: Measurement) -> list[Any]:
    """What one row of each kind adds: an array of numbers by statistic and group, or for curves by group and place."""
    found = []
    for kind, x, curve in KINDS:
        tags = GROUPS[: GROUPS.index(kind) + 1]
        table = {"load": [curve], "kind": [kind], "x": [x], "y": [x], "tags": [tags]}
        types = {"load": pa.list_(pa.float64()), "kind": pa.string(), "tags": pa.list_(pa.string())}
        rows = pa.table({name: pa.array(values, types.get(name, pa.int64())) for name, values in table.items()})
        counted = tally_in_batches(open_source(rows), plan, measurement)
        if measurement.curves is not None:
            found.append(np.array(counted.vectors, object))
        else:
            counts = {wanted: [len(one) for one in groups] for wanted, groups in counted.histograms.items()}
            found.append(np.array([{**counted.sums, **counts}[n.statistic] for n in measurement.noisy], object))
    return found


ROOT_ABOVE = np.frompyfunc(lambda square: isqrt(square - 1) + 1 if square else 0, 1, 1)


def moves(rows: list[Any], unit: Unit) -> Any:
    """Every difference between two sets of rows that a person may have."""
    counts = range(unit.rows_per_person if unit.rows_are_public else 0, unit.rows_per_person + 1)
    owned = [sum(some, 0 * rows[0]) for n in counts for some in combinations_with_replacement(rows, n)]
    if unit.neighbours == "add-remove":
        return np.array(owned)
    return np.array([a - b for n, a in enumerate(owned) for b in owned[:n]])


def cells(law: KNorm, x: Any) -> Any:
    """⌈‖x‖/s⌉ of each vector along the last axis, in whole numbers."""
    if law.norm == "linf":
        return -(-abs(x).max(axis=-1) // law.cell)
    return -(-ROOT_ABOVE((x**2).sum(axis=-1)) // law.cell)


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_a_vector_of_k_norm_noise_costs_most_from_0_to_the_move(norm: Any) -> None:
    """By enumeration over outputs: no output tells more cells than those of the move."""
    law = KNorm(norm, 2, 3, Fraction(1, 2))
    points = np.stack(np.meshgrid(*[np.arange(-9, 10)] * 2), axis=-1).reshape(-1, 2).astype(object)
    for moved in np.array([[1, 0], [3, 0], [2, 2], [4, 1], [-5, 2]], object):
        assert max(cells(law, points + moved) - cells(law, points)) == cells(law, moved)


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("neighbours", get_args(Neighbours))
@pytest.mark.parametrize("price", PRICES, ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_no_person_moves_curves_at_a_higher_cost(
    shape: str, price: tuple[str, Any], neighbours: Neighbours, rows: int
) -> None:
    unit, privacy = Unit(neighbours, None, rows), Privacy(*price, neighbours=neighbours)
    turn = [*SHAPES].index(shape) + PRICES.index(price) + (rows > 1)
    for sql in CURVES[turn % 2 :: 2]:  # every two of a question, a shape, a price and a number of rows meet
        if "covar" in sql and not unit.rows_are_public:
            continue
        for rho in {False, bool(privacy.delta)}:
            plan, measurement = measured(sql, privacy, unit, SHAPES[shape], rho)
            assert measurement.curves is not None
            noise, differences = measurement.curves.noise, moves(added(plan, measurement), unit)
            if noise.split == "gaussian":
                assert (differences**2).sum(axis=(1, 2)).max() <= noise.size
                assert rho or noise.worst(exp_below(privacy.epsilon)) <= privacy.delta
                assert not rho or noise.size <= 2 * noise.law.square * measurement.price.rho  # type: ignore
                continue
            law, said = noise.law, noise.odds(Fraction(0))
            assert said is not None and isinstance(law, KNorm | TwoSided)
            if isinstance(law, KNorm):  # drawn for each group by itself
                steps, rate = max(cells(law, differences).sum(axis=-1)), 1 / law.fall
            else:
                steps, rate = abs(differences).sum(axis=(1, 2)).max(), law.ratio
            assert steps * log_below(rate) <= pure_part(measurement.price)
            assert steps * log_below(rate) <= log_above(said)  # what the noise says of itself holds too


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("neighbours", get_args(Neighbours))
@pytest.mark.parametrize("price", PRICES, ids=str)
def test_no_person_moves_numbers_at_a_higher_cost(price: tuple[str, Any], neighbours: Neighbours, rows: int) -> None:
    """ε of Laplace noise and ρ of Gaussian noise add up over all numbers; where each has a share of ε and δ, the
    numbers that move are those that its noise was made for."""
    unit, privacy = Unit(neighbours, None, rows), Privacy(*price, neighbours=neighbours)
    for sql in NUMBERS[(PRICES.index(price) + rows) % 2 :: 2]:  # each meets every price, and one row and two
        for rho in {True, rows > 1} if privacy.delta else {False}:
            plan, measurement = measured(sql, privacy, unit, {}, rho)
            differences = np.abs(moves(added(plan, measurement), unit))
            epsilon = concentrated = np.zeros(len(differences), object)
            for n, noise in enumerate(one.noise for one in measurement.noisy):
                moved = differences[:, n]
                if noise is None:
                    assert not moved.any()
                    continue
                power = 2 if isinstance(noise.law, Gaussian) else 1
                assert (moved**power).sum(axis=1).max() <= noise.size
                assert np.count_nonzero(moved, axis=1).max() <= noise.coordinates
                if isinstance(noise.law, TwoSided) and (rho or not privacy.delta):
                    epsilon = epsilon + moved.sum(axis=1) * log_below(noise.law.ratio)
                elif isinstance(noise.law, Gaussian) and rho:  # each by so many cells, of which the last is only begun
                    concentrated = concentrated + ((-(-moved // noise.law.unit)) ** 2).sum(axis=1) / (
                        2 * noise.law.square
                    )
            assert epsilon.max() <= pure_part(measurement.price)
            assert concentrated.max() <= (measurement.price.rho or 0)

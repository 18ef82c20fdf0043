"""A band is for the mean curve itself on its grid: what a basis may leave out of a curve is part of it."""

from __future__ import annotations

from itertools import pairwise
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof import Curves, Plan, Privacy, curve_noise, expand
from dproof.curves.lattice import Expansion, l2_left_out, left_out, measured_expansion
from dproof.testing import seeded_coins

DAY = Curves(0, 24, 25, 0, 5, norm="l2")
SHARP = np.tile(np.where(np.arange(25) == 9, 5.0, 1.0), (400, 1))  # a peak that eight waves cannot show


def plan(**load: Any) -> dict[str, Any]:
    load = {"space": "curves", "points": 25, "stop": 24, "low": 0, "high": 5, **load}
    return {"privacy": {"epsilon": 900}, "columns": {"load": load}}


@pytest.mark.parametrize(
    "load", [{}, {"basis": "fourier", "terms": 9}, {"terms": 2, "box": [30, 30]}, {"terms": 9, "radius": 20}], ids=str
)
def test_a_band_holds_a_peak_that_the_basis_cannot_show(load: dict[str, Any], tmp_path: Path) -> None:
    table = pa.table({"load": SHARP.tolist()})
    with seeded_coins(1):
        release = dp.sanitise(table, plan(**load))
        curator = dp.Curator(table, plan(**load), ledger=tmp_path / "budget.db")
        answers = [
            release.query("SELECT avg(load) AS m FROM release"),
            curator.ask("SELECT avg(load) AS m FROM data", epsilon=800),
        ]
    for answer in answers:
        cell = answer.rows[0]["m"]
        assert (np.array(cell.low) <= SHARP[0]).all() and (np.array(cell.high) >= SHARP[0]).all()
        assert any("leave out" in note for note in answer.notes) == ("box" in load)
        if "box" not in load:
            assert np.abs(np.array(cell.estimate) - SHARP[0]).max() < 0.5  # it is told, and not only allowed for


REGIONS = [
    {"terms": 3},
    {"basis": "fourier", "terms": 9},
    {"terms": 9, "radius": 3},
    {"terms": 4, "box": [9, 3, 1, 1]},
    {"kernel": "matern-3/2", "length": 6, "radius": 5, "terms": 6},
]


@pytest.mark.parametrize("region", REGIONS, ids=str)
def test_no_curve_that_the_plan_allows_is_shown_farther_off_than_is_said(region: dict[str, Any]) -> None:
    expansion = expand(DAY, **region)
    lattice = expansion.lattice("gaussian")
    said = left_out(lattice)
    draw = np.random.default_rng(3)
    curves = draw.choice([0.0, 5.0], (3000, 25))
    curves = np.concatenate([curves, np.cumsum(draw.normal(0, 0.6, (3000, 25)), axis=1) + 2.5])
    if expansion.kernel is not None:
        root = np.linalg.cholesky(expansion.kernel(DAY.times, DAY.times))
        u = draw.normal(size=(6000, 25))
        curves = 2.5 + 0.999 * 5 * (u / np.linalg.norm(u, axis=1, keepdims=True)) @ root.T
    elif expansion.radius is not None:
        weights = np.sqrt([float(DAY.squared_distance(curve, [2.5] * 25)) for curve in curves])
        curves = 2.5 + (curves - 2.5) * np.minimum(1, 0.999 * 3 / weights)[:, None]
    curves = curves[((curves >= 0) & (curves <= 5)).all(axis=1)]
    if expansion.box is not None:
        z = (curves - 2.5) @ expansion.functions()[0].analysis(DAY).T
        curves = curves[(np.abs(z) <= np.array([float(b) for b in expansion.box])).all(axis=1)]
    assert len(curves) > 20
    off = np.abs(lattice.evaluate(lattice.coefficients(DAY.encode(curves))) - curves)
    assert (off <= said + 1e-6).all()
    assert off.max() > 0.25 * said.max()  # and not much less


def test_values_on_the_grid_leave_out_their_rounding_alone() -> None:
    lattice = expand(DAY).lattice("k_norm")
    curves = np.random.default_rng(1).uniform(0, 5, (500, 25))
    off = np.abs(lattice.evaluate(lattice.coefficients(DAY.encode(curves))) - curves)
    assert off.max() <= left_out(lattice).max() + 1e-6 < 1e-4


def test_a_plan_measures_all_of_the_grid_unless_it_says_more_of_the_curves() -> None:
    for load, basis in (({}, "hat"), ({"basis": "fourier", "terms": 9}, "hat"), ({"radius": 3}, "hat")):
        space = Plan.of(plan(**load)).column("load").space
        assert space.basis == basis and space.by_terms is not None and space.shows_all
    for load in ({"terms": 2, "box": [1, 1]}, {"kernel": "matern-3/2", "length": 6, "radius": 5}):
        assert not Plan.of(plan(**load)).column("load").space.shows_all
    long = measured_expansion(expand(Curves(0, 1, 600, 0, 1), terms=4), 4)
    assert not long.shows_all and long.terms == 4


# The L2 norm of what a lattice of curves cannot show ------------------------------------------------------------------


def test_it_is_the_norm_of_what_is_left_out_at_each_point() -> None:
    lattice = expand(Curves(0, 4, 9, 0, 3), terms=3).lattice("gaussian")
    squares = [float(x) ** 2 for x in left_out(lattice)]
    area = sum((a + b) / 2 * 0.5 for a, b in pairwise(squares))  # nine points from 0 to 4
    assert area > 1 and l2_left_out(lattice) == pytest.approx(sqrt(area))


# What is left of a curve before noise: the error is the L2 norm of a function that is linear between grid points ------


def test_the_error_of_a_projection_is_an_integral() -> None:
    space = Curves(0, 2, 6, low=0, high=5)
    mechanism = curve_noise(Expansion(space, "cosine", terms=2), Privacy(1))
    rows = np.array([[0.0, 5.0, 1.0, 4.0, 0.5, 3.0], [1.0, 1.0, 2.0, 2.5, 2.0, 1.0]])
    lattice, fine = mechanism.lattice, np.linspace(0, 2, 40_001)
    left = rows - lattice.evaluate(lattice.coefficients(space.encode(rows, clamp=True)))
    squares = [np.trapezoid(np.interp(fine, space.times, row) ** 2, fine) for row in left]
    assert mechanism.projection_error(rows) == pytest.approx(np.sqrt(squares), rel=1e-6)

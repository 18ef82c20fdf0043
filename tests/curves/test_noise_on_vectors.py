"""Noise on vectors of a grid too large to list: a day of 96 readings, in the l1, l2 and sup metrics."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dproof as dp
from dproof.certification.verify_certificate import Refused, seal
from dproof.certification.verify_certificate import verify as verify_certificate
from dproof.testing import seeded_coins

READING = dp.Interval(0, 5, "0.01")
PROMISE = dp.Privacy(2, "1e-6")


@pytest.mark.parametrize("metric", ["l1", "l2", "sup"])
@pytest.mark.parametrize("noise", ["auto", "laplace", "gaussian", "k_norm"])
def test_a_day_of_96_readings(metric: Any, noise: Any, tmp_path: Path) -> None:
    day = dp.Vectors([READING] * 96, metric=metric)
    assert day.size == 501**96
    assert float(day.diameter) == pytest.approx({"l1": 480, "l2": 5 * 96**0.5, "sup": 5}[metric])
    mechanism = dp.additive_noise(day, PROMISE, noise=noise)
    with seeded_coins(1):
        drawn = mechanism.draw(np.full((400, 96), 1.25)) - 1.25
    norms = {"l1": np.abs(drawn).sum(axis=1), "l2": (drawn**2).sum(axis=1) ** 0.5, "sup": np.abs(drawn).max(axis=1)}
    assert drawn.shape == (400, 96) and abs(drawn.mean()) < 5 * drawn.std() / 400**0.5
    assert norms[metric].mean() < 1.02 * float(mechanism.error), "the error is an upper bound"
    dp.certify(mechanism, PROMISE).write(tmp_path / "certificate.json")
    dp.verify(tmp_path / "certificate.json")


def test_auto_takes_the_noise_of_least_error() -> None:
    for metric in ("l1", "l2", "sup"):
        day = dp.Vectors([READING] * 96, metric=metric)
        found = [dp.additive_noise(day, PROMISE, noise=noise) for noise in ("auto", "laplace", "gaussian", "k_norm")]
        assert found[0].error == min(one.error for one in found[1:])
    assert "Gaussian" not in dp.additive_noise(dp.Vectors([READING] * 3), 1).name, "which needs a δ"


def test_the_claim_is_that_of_the_farthest_corners() -> None:
    """Laplace noise on a small grid: the largest ratio over all pairs of inputs, in a window of outputs."""
    grid = dp.Vectors([dp.Interval(0, 2, 1), dp.Interval(0, 1, 1)])
    mechanism = dp.additive_noise(grid, 1, noise="laplace")
    laws = [mechanism.law(grid.label(code)) for code in range(grid.size)]
    window = list(product(range(-4, 7), range(-4, 6)))
    most = max(p[y] / q[y] for p in laws for q in laws for y in window)
    assert mechanism.epsilon() == pytest.approx(log(most), rel=1e-6) and mechanism.epsilon() <= 1
    assert sum(laws[0][y] for y in window) < 1


def test_vectors_come_one_by_one_or_as_columns() -> None:
    grid = dp.Vectors([dp.Interval(0, 4, 1), dp.Interval(-1, 1, "0.5")])
    mechanism = dp.additive_noise(grid, 1, noise="laplace")
    with seeded_coins(2):
        tuples = mechanism.draw([(1, 0.5), [4, -1]])
    with seeded_coins(2):
        array = mechanism.draw(np.array([[1, 0.5], [4, -1]]))
    with seeded_coins(2):
        codes = mechanism.draw_codes(grid.encode([(1, 0.5), [4, -1]]))
    assert array.tolist() == [list(row) for row in tuples] == [list(row) for row in mechanism.outputs.decode(codes)]
    with seeded_coins(3):
        one = mechanism.draw((1, 0.5))
    with seeded_coins(3):
        assert mechanism.draw(np.array([1, 0.5])).tolist() == list(one)
    assert mechanism.draw([]) == []
    people = dp.product_sanitisation(mechanism, 3)
    table = ((1, 0.5), (4, -1), (0, 0))
    assert people.epsilon() == mechanism.epsilon() and np.shape(people.draw([table])) == (1, 3, 2)
    assert people.law(table)[table] == mechanism.law((0, 0))[0, 0] ** 3


@pytest.mark.parametrize("noise", ["laplace", "gaussian", "k_norm"])
@pytest.mark.parametrize(
    "change", [{"sides": [600] + [500] * 95}, {"sides": [500] * 97}, {"sides": [0] * 96}, {"sides": []}, {"norm": "l3"}]
)
def test_a_certificate_of_a_larger_grid_is_refused(noise: Any, change: dict[str, Any]) -> None:
    mechanism = dp.additive_noise(dp.Vectors([READING] * 96), PROMISE, noise=noise)
    record = json.loads(json.dumps(dp.certify(mechanism, PROMISE).to_json()))
    del record["seal"]
    verify_certificate({**record, "seal": seal(record)})
    record["laws"][0]["law"].update(change)
    with pytest.raises(Refused):
        verify_certificate({**record, "seal": seal(record)})


def test_what_is_no_vector_or_no_noise_is_refused() -> None:
    grid = dp.Vectors([dp.Interval(0, 4, 1)] * 2)
    for make, told in (
        (lambda: dp.additive_noise(dp.Interval(0, 1, 1), 1), "a grid of Vectors"),  # type: ignore[arg-type]
        (lambda: dp.additive_noise(dp.Vectors([dp.Interval(5, 5, 1)]), 1), "nothing to hide"),
        (lambda: dp.additive_noise(dp.Vectors([READING] * 513), 1), "up to 512 coordinates"),
        (lambda: dp.additive_noise(grid, 1, noise="gaussian"), "delta above 0"),
        (lambda: dp.additive_noise(grid, 1).draw([(1, 9)]), "outside"),
        (lambda: dp.additive_noise(grid, 1).draw([(1, 2, 3)]), "2 coordinates here; one has 3"),
        (lambda: dp.additive_noise(grid, PROMISE, noise="k_norm").law((0, 0))[0, 0], "Laplace"),
        (lambda: dp.additive_noise(grid, 1).weights(), "no matrix"),
    ):
        with pytest.raises(dp.InputError, match=told):
            make()


def test_the_error_of_laplace_noise_is_exact_in_l1() -> None:
    grid = dp.Vectors([dp.Interval(0, 4, 1), dp.Interval(0, 1, "0.5")], metric="l1")
    mechanism = dp.additive_noise(grid, 1, noise="laplace")
    single = dp.laplace(dp.Interval(0, 6, 1), 1)  # as many steps as all sides together
    assert mechanism.error == single.error * Fraction(3, 2)

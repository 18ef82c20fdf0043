"""A private mean curve: its band holds for the whole curve, and smooth noise errs less than noise at each point."""

from math import sqrt

import numpy as np
import pytest

from dproof import Plan, Privacy
from dproof.curator.answer import NoisyCurves
from dproof.curator.draw import tally
from dproof.curator.recipe import Measurement
from dproof.curves.noise import vector_noise
from dproof.plans.plan import schema_of
from dproof.tables import open_source
from dproof.testing import seeded_coins
from tests.makers import measured_for, with_noise

pa = pytest.importorskip("pyarrow")

HOUSEHOLDS, POINTS, RUNS = 1000, 49, 200
TIMES = np.linspace(0, 24, POINTS)
PRIVACY = Privacy(1, "1e-6")


def hump(centre: float, width: float) -> np.ndarray:
    return sum(np.exp(-(((TIMES - centre + 24 * k) / width) ** 2)) for k in (-1, 0, 1))


def households(seed: int) -> np.ndarray:
    """Half-hourly loads with a morning and an evening peak, of households of many sizes."""
    rng = np.random.default_rng(seed)
    shape = 0.4 + 0.5 * hump(8, 3) + 0.9 * hump(19, 3.5)
    tilt = 0.15 * rng.normal(size=(HOUSEHOLDS, 1)) * np.sin(2 * np.pi * TIMES / 24)
    rough = rng.normal(0, 0.1, (HOUSEHOLDS, POINTS))
    return np.clip(shape * rng.gamma(8, 1 / 8, (HOUSEHOLDS, 1)) + tilt + rough, 0, 3)


def plan(**load) -> Plan:
    column = {"space": "curves", "points": POINTS, "stop": 24, "low": 0, "high": 3, "basis": "fourier", "terms": 9}
    column["missing"] = "centre"  # then every curve counts, and their number is public
    return Plan.of({"privacy": {"epsilon": 1, "delta": "1e-6"}, "columns": {"load": {**column, **load}}})


def mean_load(asked: Plan, privacy: Privacy) -> Measurement:
    schema = schema_of(asked)
    return measured_for("SELECT avg(load) FROM data", schema, privacy)


def l2(curves: np.ndarray) -> np.ndarray:
    return np.sqrt(np.trapezoid(curves**2, TIMES, axis=-1))


@pytest.mark.parametrize(
    ("how", "most"),
    [
        pytest.param({}, 0.5, marks=pytest.mark.slow),
        (
            {"basis": "cosine", "kernel": "matern-5/2", "length": 4, "radius": 4, "terms": 18, "centre": [1] * POINTS},
            0.4,
        ),
    ],
    ids=["fourier", "gaussian process"],
)
def test_the_band_covers_and_the_error_is_half_that_of_noise_at_each_point(how: dict, most: float) -> None:
    loads = households(7)
    truth = loads.mean(axis=0)
    asked = plan(**how)
    source = open_source(pa.table({"load": loads.tolist()}))
    measurement = mean_load(asked, PRIVACY)
    assert measurement.curves.noise.split == ("gaussian" if how else "k_norm") and not measurement.curves.weight
    counted = tally(source, asked, measurement)
    hits, errors = 0, []
    with seeded_coins(1):
        for _ in range(RUNS):
            released = with_noise(measurement, counted)
            (curve,) = NoisyCurves(measurement, released, 0.95).every
            hits += curve.covers(truth)
            errors.append(curve.estimate - truth)
    assert 0.93 * RUNS <= hits <= (1 if how else 0.99) * RUNS, hits  # a kernel's band allows for what it leaves out
    # One curve moves each of 49 values by up to 3: the l2 sensitivity of the mean at the grid points is 3·√49/n.
    steps = 1 << 14
    noise = vector_noise("gaussian", POINTS * steps**2, POINTS, PRIVACY)
    pointwise = (
        sqrt(float(noise.variance)) / steps * 3 / HOUSEHOLDS * np.random.default_rng(2).normal(size=(RUNS, POINTS))
    )
    assert sqrt((l2(np.array(errors)) ** 2).mean()) <= most * sqrt((l2(pointwise) ** 2).mean())


def test_pure_privacy_has_a_band_too() -> None:
    loads = households(8)
    asked = plan(terms=5)
    source = open_source(pa.table({"load": loads.tolist()}))
    measurement = mean_load(asked, Privacy(1))
    counted, lattice = tally(source, asked, measurement), measurement.curves.lattice
    truth = lattice.evaluate(lattice.coefficients(lattice.space.encode(loads))).mean(axis=0)
    hits = 0
    with seeded_coins(2):
        for _ in range(40):
            released = with_noise(measurement, counted)
            hits += NoisyCurves(measurement, released, 0.9).every[0].covers(truth)
    assert 0.8 * 40 <= hits <= 0.99 * 40

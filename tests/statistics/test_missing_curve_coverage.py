"""Over 150 sanitisations of a small table in which curves are missing, bands and intervals cover as often as said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof.testing import seeded_coins

pytestmark = pytest.mark.slow

TIMES, N, POINTS = 400, 900, 10
DICE = np.random.default_rng(6)
KIND = DICE.choice(["flat", "house"], N)
LOADS = np.clip(1 + 2 * np.sin(np.arange(POINTS)) ** 2 * DICE.gamma(6, 1 / 6, (N, 1)), 0, 5)
LOADS[KIND == "house"] *= 0.5
GONE = DICE.random(N) < np.where(KIND == "house", 0.5, 0.1)
TABLE = pa.table({"kind": KIND, "load": [None if g else x.tolist() for g, x in zip(GONE, LOADS, strict=True)]})


@pytest.mark.parametrize(("mechanism", "epsilon"), [("laplace", 4), ("gaussian", 6)])
def test_bands_and_counts_cover(mechanism: str, epsilon: int) -> None:
    load = {"space": "curves", "low": 0, "high": 5, "points": POINTS, "terms": 4, "missing": "category", "share": 2}
    columns = {"kind": {"space": "categories", "values": ["flat", "house"]}, "load": {**load, "mechanism": mechanism}}
    plan = dp.Plan.from_dict({"privacy": {"epsilon": epsilon, "delta": "1e-6"}, "columns": columns})
    counts = {
        "": (~GONE).sum(),
        " WHERE kind = 'house'": (~GONE & (KIND == "house")).sum(),
    }
    means, numbers, off = [], [], []
    for seed in range(TIMES):
        with seeded_coins(seed):
            release = dp.sanitise(TABLE, plan)
        lattice: Any = release.law.group_of("load").mechanism.lattice  # type: ignore[attr-defined]
        kept = lattice.evaluate(lattice.coefficients(lattice.space.encode(LOADS)))
        for where, chosen in ((None, ~GONE), ("kind = 'house'", ~GONE & (KIND == "house"))):
            found, true = release.mean_curve("load", where=where), kept[chosen].mean(axis=0)
            means.append(found.covers(true))
            off.append((found.estimate - true) / found.stderr)
        for where, true in counts.items():
            cell = release.query(f"SELECT count(load) AS n FROM release{where}").rows[0]["n"]
            numbers.append(cell.low <= true <= cell.high)
    assert 0.92 <= np.mean(numbers) <= 0.98, f"the intervals cover {np.mean(numbers):.3f}"
    # A band also holds between the points, and it takes the spread of the curves for noise.
    assert np.mean(means) >= 0.93, f"the bands cover {np.mean(means):.3f}"
    assert np.abs(np.mean(off, axis=0)).max() < 4.5 / np.sqrt(TIMES) and 0.85 < np.std(off) < 1.15

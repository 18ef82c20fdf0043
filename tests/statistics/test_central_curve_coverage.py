"""Over 400 releases of daily load curves, bands from measured tables hold the true mean as often as they say."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from dproof.central.release import about, release_of
from dproof.testing import seeded_coins
from tests.makers import exact_tables, table_law

pytestmark = pytest.mark.slow

FILE = Path(os.environ.get("DPROOF_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
FILE /= "household_electricity_daily.csv"
TIMES = 400
CURVES: dict[str, dict[str, Any]] = {
    "grid values": {},
    "kernel": {"kernel": "matern-3/2", "length": 6, "radius": 4, "terms": 8},
}


def days() -> tuple[Any, Any, Any]:
    """The table of load curves by kind of day; which days are at weekends; the curves."""
    read = pyarrow.csv.read_csv(FILE)
    weekend = np.isin(read["weekday"].to_numpy(zero_copy_only=False), ["Saturday", "Sunday"])
    hours = np.column_stack([read[name].to_numpy() for name in read.column_names if name.startswith("kwh_")])
    loads = pa.array(np.clip(hours, 0, 4).tolist(), pa.list_(pa.float64()))
    return pa.table({"day": np.where(weekend, "weekend", "week"), "load": loads}), weekend, np.clip(hours, 0, 4)


def covered(curves: dict[str, Any], delta: str, times: int = TIMES) -> dict[str, float]:
    """How often the band of the mean of all days, and of those of the week, holds the true mean at every hour."""
    table, weekend, hours = days()
    columns = {
        "day": {"space": "categories", "values": ["week", "weekend"]},
        "load": {"space": "curves", "points": hours.shape[1], "low": 0, "high": 4, **curves},
    }
    promise = {"model": "central", "epsilon": 4, "delta": delta, "neighbours": "add-remove"}
    law = table_law({"privacy": promise, "columns": columns})
    _, exact = exact_tables(table, law)
    certificate = law.record(about(None, None, {}), private=False)
    truth, hits = {"all": hours.mean(axis=0), "week": hours[~weekend].mean(axis=0)}, dict.fromkeys(("all", "week"), 0)
    with seeded_coins(1) as coins:
        for _ in range(times):
            release = release_of(law, certificate, law.measure(exact, coins))
            for key, where in (("all", None), ("week", "day = 'week'")):
                hits[key] += release.mean_curve("load", where=where).covers(truth[key])
    return {key: count / times for key, count in hits.items()}


@pytest.mark.skipif(not FILE.exists(), reason="the public tables are not at hand")
@pytest.mark.parametrize("delta", ["1e-6", "0"])
@pytest.mark.parametrize("name", CURVES)
def test_bands_cover_the_mean_of_real_curves(name: str, delta: str) -> None:
    # What a basis may leave out makes a band wider than it has to be, and so do sums of noise that is not normal, which
    # is the sharper noise here also where there is a δ.
    for share in covered(CURVES[name], delta).values():
        assert share >= 0.93

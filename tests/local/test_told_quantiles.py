"""Quantiles of small groups: those that are told hold as often as they say, also where most tell nothing."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof.testing import seeded_coins

GROUPS = {"a": 2800, "b": 1900, "c": 1500, "d": 1300, "e": 500}
QUANTILES = {"m": 0.5, "q": 0.9}
PLAN = {
    "privacy": {"epsilon": 2},
    "columns": {
        "g": {"space": "categories", "values": [*GROUPS]},
        "x": {"space": "interval", "low": 0, "high": 99, "step": 1, "bins": [*range(0, 99, 5), 99]},
    },
}


def test_told_quantiles_of_small_groups_hold() -> None:
    """Of the usual intervals that leave something out, 15 of 22 held in the smallest group."""
    rng = np.random.default_rng(11)
    g = np.repeat([*GROUPS], [*GROUPS.values()])
    x = np.clip(np.where(rng.random(len(g)) < 0.6, 0, rng.exponential(20, len(g))), 0, 99).astype(int)
    told, held = dict.fromkeys(GROUPS, 0), dict.fromkeys(GROUPS, 0)
    for seed in range(75):
        with seeded_coins(seed):
            release = dp.sanitise(pa.table({"g": g, "x": x}), PLAN)
        asked = ", ".join(f"quantile(x, {share}) AS {name}" for name, share in QUANTILES.items())
        for row in release.query(f"SELECT g, {asked} FROM release GROUP BY g").rows:
            for name, share in QUANTILES.items():
                if row[name].informative:
                    true = np.quantile(x[g == row["g"]], share, method="inverted_cdf")
                    told[row["g"]] += 1
                    held[row["g"]] += bool(row[name].low <= true <= row[name].high)
    assert told["a"] >= 25, told
    assert all(held[group] >= 0.93 * told[group] for group in GROUPS), (told, held)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95, 0.99])
def test_the_rule_keeps_its_level_among_normal_estimates_that_are_told(level: float) -> None:
    """Z ~ N(μ, 1) with 0 the end of what is possible: told above z, as usual above z + 2 or more, by the exact law."""
    alpha, normal = 1 - level, NormalDist()
    usual, wide = normal.inv_cdf(1 - alpha / 2), normal.inv_cdf(1 - alpha / 100)
    sure = wide + max(2.0, usual)

    def between(low: float, high: float, mean: float) -> float:
        return max(0.0, normal.cdf(high - mean) - normal.cdf(low - mean))

    for mean in np.arange(0, 12, 0.01):
        told = between(wide, np.inf, mean)
        held = between(max(wide, mean - wide), min(sure, mean + wide), mean)
        held += between(max(sure, mean - usual), mean + usual, mean)
        if told >= 0.01:
            assert (told - held) / told <= 1.02 * alpha, mean

"""Quantiles under wide noise that does not reach everywhere: rounding must leave no bin that no law reaches."""

import pyarrow as pa

import dproof as dp
from dproof.testing import seeded_coins

HEAPS = pa.table({"x": [0] * 137 + [20] * 99})
PLAN = {"privacy": {"epsilon": 6}, "columns": {"x": {"space": "interval", "low": 0, "high": 20, "step": 1}}}


def test_a_quantile_of_heaps_is_answered_whatever_is_drawn() -> None:
    for seed in (6, 7):  # draws that reach only some of the bins
        with seeded_coins(seed):
            release = dp.sanitise(HEAPS, PLAN)
        (row,) = release.query("SELECT quantile(x, 0.5) AS q, min(x) AS low, max(x) AS high FROM release").rows
        assert all(0 <= cell.low <= cell.estimate <= cell.high <= 20 for cell in row.values())

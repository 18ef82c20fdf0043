"""Standard errors of sums are those of the law, also where few rows lie close together under an unbiased design."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof.testing import seeded_coins

HIGH = 40


@pytest.mark.parametrize("values", [[3] * 250 + [5] * 250, [20] * 480 + [40] * 20])
def test_stated_variances_are_near_the_exact_one(values: list[int]) -> None:
    columns = {"x": {"space": "interval", "low": 0, "high": HIGH, "step": 1, "missing": 0}}
    table = pa.table({"x": values})
    stated, exact = [], 0.0
    for seed in range(4):
        with seeded_coins(seed):
            release = dp.sanitise(table, {"privacy": {"epsilon": 6}, "columns": columns})
        cell = release.query("SELECT sum(x) AS total FROM release").rows[0]["total"]
        stated.append(cell.stderr**2)
        mechanism = release.law.groups[0].mechanism
        assert mechanism.name == "unbiased design"
        outputs = np.array([float(mechanism.outputs.label(n)) for n in range(mechanism.outputs.size)])
        law = mechanism.matrix()
        variances = law @ outputs**2 - (law @ outputs) ** 2
        exact = float(sum(variances[x] for x in values))
    assert 0.75 <= np.mean(stated) / exact <= 1.3

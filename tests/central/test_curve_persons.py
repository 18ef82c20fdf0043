"""Sums of curves by group where a person has several rows: no two persons lie farther apart than is charged."""

from __future__ import annotations

from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dproof.central.recipe import TableLaw
from tests.makers import exact_tables, table_law

pytestmark = pytest.mark.usefixtures("gaussian")

CURVES: dict[str, dict[str, Any]] = {
    "grid values": {},
    "may be missing": {"missing": "category"},
    "kernel": {"kernel": "matern-3/2", "length": 1, "radius": 1, "terms": 2},
}


def law_of(curves: dict[str, Any], neighbours: str) -> TableLaw:
    columns = {
        "sex": {"space": "categories", "values": ["f", "m"]},
        "load": {"space": "curves", "points": 2, "low": 0, "high": 1, **curves},
    }
    privacy = {"model": "central", "epsilon": 1, "delta": "1e-6", "neighbours": neighbours, "rows_per_person": 2}
    return table_law({"privacy": privacy, "columns": columns})


def weighed(law: TableLaw, sex: str, load: Any) -> Any:
    """What a row adds to all measurements, each in units of its noise."""
    table = pa.table({"sex": [sex], "load": pa.array([load], pa.list_(pa.float64()))})
    _, tables = exact_tables(table, law)
    return np.concatenate([np.ravel(law._exact(one, tables[one])) / float(s) ** 0.5 for one, s in law.noise.items()])


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
@pytest.mark.parametrize("name", CURVES)
def test_no_two_persons_with_two_rows_lose_more_than_rho(name: str, neighbours: str) -> None:
    law = law_of(CURVES[name], neighbours)
    loads: list[Any] = [list(values) for values in product((0.0, 1.0), repeat=2)]
    if law.axes[1].size > 1:
        loads.append(None)
    single = [weighed(law, *row) for row in product(("f", "m"), loads)]
    none = np.zeros_like(single[0])
    # Under change-one a person's rows may be replaced by fewer, down to none: their number is measured.
    persons = np.array([one + other for one, other in combinations_with_replacement([*single, none], 2)])
    others = persons if neighbours == "change-one" else none[None]
    squares = ((persons[:, None, :] - others[None, :, :]) ** 2).sum(axis=2)
    rho = law.rho()
    assert rho is not None and 0 < squares.max() / 2 <= float(rho) * (1 + 1e-9)
    if neighbours == "add-remove" and name != "kernel":  # two equal rows at a corner are as far as can be
        assert squares.max() / 2 == pytest.approx(float(rho), rel=1e-9)

"""A person with several rows under change-one: all of them may be replaced, by as many or by fewer."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dproof as dp
from dproof.central.estimates import contrast, residual_of
from dproof.central.workload import Domain, Residual, largest_loss, measured_tables, spent, subtables
from dproof.certification import verify_central as verifier
from tests.makers import table_law

pytestmark = pytest.mark.usefixtures("gaussian")

PRECISIONS = st.fractions(Fraction(1, 9), 3, max_denominator=9)
SIZES = (2, 3)
ROWS = list(product(*map(range, SIZES)))
PERSONS = [rows for n in range(3) for rows in combinations_with_replacement(ROWS, n)]  # with up to two rows


def counts(rows: Any, table: Any) -> Any:
    found = np.zeros([SIZES[i] for i in table], np.int64)
    for row in rows:
        found[tuple(row[i] for i in table)] += 1
    return found


@given(st.data())
@settings(max_examples=15)
def test_no_two_persons_are_farther_apart_than_is_charged(data: Any) -> None:
    residuals = [Residual(table) for table in subtables([(0, 1)])]
    precisions = {residual: data.draw(PRECISIONS) for residual in residuals}
    shifts = {r: [residual_of(counts(person, r.table)) for person in PERSONS] for r in residuals}
    worst = max(
        sum(int(((shifts[r][a] - shifts[r][b]) ** 2).sum()) * p for r, p in precisions.items())
        for a in range(len(PERSONS))
        for b in range(a)
    )
    bound = largest_loss(Domain(SIZES, {}), precisions, "change-one")
    assert worst <= 4 * bound <= worst * Fraction(21, 20)
    theirs = {(r.table, None, False): p for r, p in precisions.items()}
    assert verifier.largest_loss(list(SIZES), [0, 0], theirs, "change-one") == bound


@given(st.data())
@settings(max_examples=15)
def test_no_two_persons_cost_more_than_is_charged(data: Any) -> None:
    domain = Domain((2, 2), {})
    chosen = measured_tables(domain, [(0, 1)], contrasts=True)
    costs = {one: data.draw(PRECISIONS) for one in chosen}
    rows = list(product(range(2), range(2)))
    persons = [some for n in range(3) for some in combinations_with_replacement(rows, n)]
    shifts = {
        one: [int(sum(contrast(counts_of(row, one.table)) for row in person)) for person in persons] for one in chosen
    }
    worst = max(
        sum(abs(shifts[one][a] - shifts[one][b]) * cost for one, cost in costs.items())
        for a in range(len(persons))
        for b in range(a)
    )
    assert worst <= spent(domain, costs, "change-one", 2)


def counts_of(row: Any, table: Any) -> Any:
    found = np.zeros([2] * len(table), np.int64)
    found[tuple(row[i] for i in table)] = 1
    return found


def plan(neighbours: str, rows: int, delta: str = "1e-6", **more: Any) -> dict[str, Any]:
    privacy = {"model": "central", "epsilon": 1, "delta": delta, "neighbours": neighbours, "rows_per_person": rows}
    columns = {name: {"space": "categories", "values": ["x", "y", "z"]} for name in ("a", "b")}
    return {"privacy": {**privacy, **more}, "columns": columns}


@pytest.mark.parametrize("delta", ["1e-6", "0"])
def test_the_noise_grows_with_the_rows_and_their_number_is_measured(delta: str) -> None:
    one, three = (table_law(plan("change-one", rows, delta)) for rows in (1, 3))
    if delta != "0":
        assert Residual(()) not in one.noise and Residual(()) in three.noise
    ratio = sqrt(three.precisions[None].cell_variance((0, 1)) / one.precisions[None].cell_variance((0, 1)))
    assert 2.9 < ratio < 3.6


@pytest.mark.parametrize("delta", ["1e-6", "0"])
def test_it_is_released_stored_and_verified_without_the_number_of_rows(delta: str, tmp_path: Path) -> None:
    described = plan("change-one", 2, delta, person="id")
    described["columns"]["id"] = {"drop": True}
    rows = 3000
    table = pa.table({"a": ["x", "y", "z"] * 1000, "b": ["x"] * rows, "id": [n // 3 for n in range(rows)]})
    dp.sanitise(table, described, tmp_path / "out")
    release = dp.verify(tmp_path / "out")
    assert release is not None and release.rows is None and release.certificate["rows_per_person"] == 2
    total = release.query("SELECT count(*) AS n FROM release").rows[0]["n"]
    assert total.low < total.high and abs(total.estimate - 2000) < 300  # of three rows of a person two count

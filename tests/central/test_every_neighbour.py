"""The largest loss of a whole release over all neighbouring tables, of plans that are drawn at random: counts, sums
within bins, ladders and questions together lose no more than the ledger is charged, and the stand-alone verifier
agrees."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dproof import Plan
from dproof.central import workload
from dproof.central.recipe import TableLaw, measurements, table_law, wanted_answers, with_noise
from dproof.central.workload import largest_loss
from dproof.certification import verify_central
from tests.makers import exact_tables

LETTERS = list("wxyz")


def numbers(random: Random) -> tuple[dict[str, Any], list[Any], Any]:
    """A number with or without bins and missing values, and values of it: the ends, some inside and one outside."""
    high, step = random.choice([3, 5, 12, 13, 20]), random.choice([1, Fraction(1, 2)])
    column: dict[str, Any] = {"space": "interval", "low": 0, "high": high, "step": str(step), "outside": "clamp"}
    if random.random() < 0.5:
        column["bins"] = [0, *sorted(random.sample(range(1, high), random.randint(1, 2))), high]
    if random.random() < 0.5:
        column["missing"] = "category"
    inside = [float(step * n) for n in range(int(high / step) + 1)]
    values = {0.0, float(high), float(high + 7), *random.sample(inside, 4)}
    return column, [*sorted(values), *([None] if "missing" in column else [])], pa.float64()


def categories(random: Random) -> tuple[dict[str, Any], list[Any], Any]:
    some = LETTERS[: random.randint(1, 4)]
    return {"space": "categories", "values": some}, some, pa.string()


def items(random: Random) -> tuple[dict[str, Any], list[Any], Any]:
    column: dict[str, Any] = {"space": "subsets", "values": ["p", "q"], "separator": ";"}
    if random.random() < 0.4:
        column["missing"] = "category"
    return column, ["", "p", "q", "p;q", *([None] if "missing" in column else [])], pa.string()


def drawn_plan(random: Random) -> tuple[dict[str, Any], list[tuple[Any, ...]], list[Any]]:
    """A plan, rows of its table, and their types."""
    kinds = [numbers, *random.choices([numbers, categories, items], k=random.randint(0, 2))]
    columns, values, types = zip(*(kind(random) for kind in kinds), strict=True)
    privacy = {"model": "central", "epsilon": random.choice(["1/2", "1", "4"]), "delta": random.choice(["0", "1e-6"])}
    privacy |= {"neighbours": random.choice(["change-one", "add-remove"]), "rows_per_person": random.choice([1, 1, 2])}
    named = {f"c{n}": column for n, column in enumerate(columns)}
    plan: dict[str, Any] = {"privacy": privacy, "columns": named, "release": {"sums": True}}
    if random.random() < 0.5:
        plan["release"]["tables"] = random.randint(1, len(columns))
    if random.random() < 0.4:
        by = [f"c{n}" for n, kind in enumerate(kinds) if kind is categories][:1]
        asked = [
            "SELECT median(c0), stddev(c0) FROM release",
            *(f"SELECT {c}, avg(c0) FROM release GROUP BY {c}" for c in by),
        ]
        plan |= {"questions": [{"sql": sql} for sql in asked], "release": {"sums": True, "tables": 1}}
    if random.random() < 0.3:
        plan["release"]["item_pairs"] = True
    rows = list(product(*values))
    return plan, random.sample(rows, min(len(rows), 45)), list(types)


def effects(law: TableLaw, rows: list[tuple[Any, ...]], types: list[Any]) -> list[list[Any]]:
    """What each row adds to every measurement, without noise, as the release counts it."""
    found = []
    for row in rows:
        table = pa.table(
            {f"c{n}": pa.array([value], kind) for n, (value, kind) in enumerate(zip(row, types, strict=True))}
        )
        _, exact = exact_tables(table, law)
        found.append([np.ravel(law._exact(one, exact[one])).astype(object) for one in law.noise])
    return found


@pytest.mark.parametrize("seed", [*range(12), *(pytest.param(n, marks=pytest.mark.slow) for n in range(12, 200))])
def test_no_neighbour_loses_more_than_is_charged(seed: int) -> None:
    check(seed)


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(n, marks=pytest.mark.slow) for n in range(6, 100))])
def test_none_does_where_columns_that_are_alike_are_looked_at_together(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(workload, "ENUMERATED", 0)
    monkeypatch.setattr(verify_central, "ENUMERATED", 0)
    check(seed)


def check(seed: int) -> None:
    plan, rows, types = drawn_plan(Random(seed))
    read = Plan.from_dict(plan)
    law = table_law(read, read.privacy)
    law = with_noise(law, measurements(law), wanted_answers(law))
    about = {"rows": 0 if read.rows_are_public else None, "made_up_rows": None, "files": {}}
    verify_central.verify(law.record(about, private=True))
    alone = effects(law, rows, types)
    shifts = [] if read.privacy.neighbours == "change-one" and read.rows_are_public else alone
    if read.privacy.neighbours == "change-one":
        shifts = [*shifts, *([x - y for x, y in zip(a, b, strict=True)] for a, b in combinations(alone, 2))]
    times, parameters = read.rows_per_person, law.noise
    if law.is_pure:
        for shift in shifts:
            steps = (int(np.abs(moved).sum()) * cost for moved, cost in zip(shift, parameters.values(), strict=True))
            assert times * sum(steps, Fraction(0)) <= law.person.epsilon
        return
    smoothed = {one: 1 / (square - Fraction(4, law.subdivisions[one] ** 2)) for one, square in parameters.items()}
    for precisions in ({one: 1 / square for one, square in parameters.items()}, smoothed):
        most = largest_loss(law.domain, precisions, read.privacy.neighbours)
        for shift in shifts:
            squares = (int((moved**2).sum()) * p for moved, p in zip(shift, precisions.values(), strict=True))
            assert sum(squares, Fraction(0)) <= most
    for place, one in enumerate(parameters):
        farthest = max((int((shift[place] ** 2).sum()) for shift in shifts), default=0)
        assert farthest * law.subdivisions[one] ** 2 <= law._sensitivity(one)

"""What a plan makes public about the columns of a table or of its release."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from dproof.plans.plan import Plan
from dproof.questions.schema import Open, Schema


def schema_of(plan: Plan, table: Literal["data", "release"] = "data") -> Schema:
    """The schema of the private table, called `data`, or of its release.

    A value of the private table is missing where the plan neither moves what lies outside nor says what stands for a
    missing value. Values of public columns are not declared.
    """
    columns = [column for column in plan.columns if column.kind != "drop"]
    if table == "data":
        columns = [column.space.with_gaps(column) if column.private else column for column in columns]
    spaces = {c.name: c.space if c.private else Open() for c in columns}
    gaps = [c.name for c in columns if c.private and c.refuses]
    return Schema(table, spaces, frozenset(gaps if table == "data" else ()))


def stand_ins(plan: Plan, names: Iterable[str]) -> tuple[str, ...]:
    """A sentence for each of these columns in which another value stands for a missing one.

    >>> age = {"space": "interval", "low": 0, "high": 110, "missing": 40}
    >>> plan = Plan.of({"privacy": {"epsilon": 1}, "columns": {"age": age}})
    >>> stand_ins(plan, ["age"])
    ("Where 'age' is missing it counts as 40, as the plan says.",)
    """
    columns = [plan.column(name) for name in dict.fromkeys(names)]
    found = [(c.name, c.space.stand_in(c.missing)) for c in columns if c.missing is not None]
    return tuple(f"Where {name!r} is missing it counts as {what}, as the plan says." for name, what in found if what)

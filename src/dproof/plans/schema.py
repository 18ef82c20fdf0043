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
    kept = plan.kept
    private = {c.name: c.with_missing_allowed() if table == "data" else c for c in kept if c.private}
    spaces = {c.name: private[c.name].space if c.private else Open() for c in kept}
    # Where a missing value is a value of its own that the true table lacks, what is missing is a group there.
    declared = [
        c.name for c in kept if c.private and c.space.absent is not None and private[c.name].space.absent is None
    ]
    may_be_missing = [name for name, column in private.items() if table == "data" and column.refuses]
    bins = {c.name: c.sanitised_bins for c in kept if c.sanitised_bins is not None} if table == "release" else {}
    if plan.asked is not None and table == "release":
        bins = {axis.name: axis.bins for axis in plan.asked.axes if axis.item is None}
    return Schema(table, spaces, frozenset(may_be_missing), frozenset(declared), bins)


def preprocessing_notes(plan: Plan, names: Iterable[str]) -> tuple[str, ...]:
    """What the plan makes of the rows before these columns are counted: an answer is about what it makes of them.

    Of a person with many rows only some count, and another value may stand for a missing one.

    >>> columns = {"who": {"drop": True}, "age": {"space": "interval", "low": 0, "high": 110, "missing": 40}}
    >>> privacy = {"model": "central", "epsilon": 1, "person": "who", "rows_per_person": 3}
    >>> print(*preprocessing_notes(Plan.of({"privacy": privacy, "columns": columns}), ["age"]), sep="\\n")
    Of each person at most 3 rows count, as the plan says: the answer is about these rows.
    Where 'age' is missing it counts as 40, as the plan says.
    """
    most = "1 row counts" if plan.rows_per_person == 1 else f"{plan.rows_per_person:,} rows count"
    persons = f"Of each person at most {most}, as the plan says: the answer is about these rows."
    columns = [plan.column(name) for name in dict.fromkeys(names)]
    found = [(c.name, c.codec.stand_in(c.missing)) for c in columns if c.missing is not None]
    stand_ins = (f"Where {name!r} is missing it counts as {what}, as the plan says." for name, what in found if what)
    return (*(() if plan.person is None else (persons,)), *stand_ins)

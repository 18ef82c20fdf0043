"""What a plan makes public about the columns of a table or of its release."""

from __future__ import annotations

from typing import Literal

from dproof.plans.plan import Plan
from dproof.questions.schema import Open, Schema


def schema_of(plan: Plan, table: Literal["data", "release"] = "data") -> Schema:
    """The schema of the private table, called `data`, or of its release.

    A value of the private table is missing where the plan neither moves what lies outside nor says what stands for a
    missing value. Values of public columns are not declared.
    """
    columns = [column for column in plan.columns if column.kind != "drop"]
    spaces = {c.name: c.space if c.private else Open() for c in columns}
    gaps = [c.name for c in columns if c.private and ((c.outside is None and not c.clamp) or c.missing is None)]
    return Schema(table, spaces, frozenset(gaps if table == "data" else ()))

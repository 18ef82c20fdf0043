"""What a plan makes public about the columns of a table or of its release."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from dproof.exact import exact
from dproof.plans.column import Column
from dproof.plans.plan import Plan
from dproof.questions.schema import Open, Schema, plain


def schema_of(plan: Plan, table: Literal["data", "release"] = "data") -> Schema:
    """The schema of the private table, called `data`, or of its release.

    A value of the private table is missing where the plan neither moves what lies outside nor says what stands for a
    missing value. Values of public columns are not declared.
    """
    columns = [column for column in plan.columns if column.kind != "drop"]
    spaces = {c.name: c.space if c.private else Open() for c in columns}
    gaps = [c.name for c in columns if c.private and ((c.outside is None and not c.clamp) or c.missing is None)]
    return Schema(table, spaces, frozenset(gaps if table == "data" else ()))


def stand_ins(plan: Plan, names: Iterable[str]) -> tuple[str, ...]:
    """A sentence for each of these columns in which another value stands for a missing one.

    >>> age = {"space": "interval", "low": 0, "high": 110, "missing": 40}
    >>> plan = Plan.of({"privacy": {"epsilon": 1}, "columns": {"age": age}})
    >>> stand_ins(plan, ["age"])
    ("Where 'age' is missing it counts as 40, as the plan says.",)
    """
    found = [(column.name, _shown(column)) for column in map(plan.column, dict.fromkeys(names))]
    return tuple(f"Where {name!r} is missing it counts as {what}, as the plan says." for name, what in found if what)


def _shown(column: Column) -> str | None:
    """The stand-in in words; None where missing values are missing, or a category of their own."""
    if column.missing is None:
        return None
    if column.kind == "curves":
        return "the public centre"
    label: Any = column.space.label(column.missing)
    if isinstance(label, frozenset):
        return f"the set of {', '.join(map(repr, sorted(label)))}" if label else "the empty set"
    if isinstance(label, (str, bool)):
        return repr(label)
    return None if label is None else f"{plain(exact(label)):,}"

"""What the plan puts for missing values, said wherever an answer touches the column."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dproof.exact import exact
from dproof.plans.column import Column
from dproof.plans.plan import Plan
from dproof.questions.schema import plain


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

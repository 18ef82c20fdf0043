"""What the plan puts for missing values, said wherever an answer touches the column."""

from __future__ import annotations

from collections.abc import Iterable

from dproof.plans.plan import Plan


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

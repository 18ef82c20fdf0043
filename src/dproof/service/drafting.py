"""A custodian's draft of a plan, and what it would give: ± of a local release, of a central one and of asking."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dproof.errors import InputError
from dproof.meaning import explain
from dproof.plans.expectation import half_widths, mean_half_widths
from dproof.plans.plan import Plan
from dproof.plans.row_law import certify_row
from dproof.plans.table_law import certify_tables
from dproof.report.advise import advise, asked_width
from dproof.report.central_expectation import deviations, question_half_widths

Widths = dict[str, float | None]
_LOCAL_ONLY = ("joint", "order")
_LOCAL_KEYS = ("share", "mechanism")


def expected(draft: Mapping[str, Any], rows: int) -> dict[str, Any]:
    """The plan that a draft makes, and ± of what it would answer about so many rows, each way; no data is opened.

    A way that the plan does not allow has a sentence in `refused`. ± is None where it depends on the data.
    """
    plan = Plan.from_dict(draft)
    refused: dict[str, str] = {}
    nothing: tuple[Widths, dict[tuple[str, str], Any]] = ({}, {})
    local = _tried("local", refused, lambda: _local(_variant(draft, "local"), rows)) or nothing
    central = _tried("central", refused, lambda: _central(_variant(draft, "central"), rows)) or nothing
    names = [column.name for column in plan.columns if column.private]
    asking = Plan.from_dict(_variant(draft, "local"))
    columns = [
        {
            "name": name,
            "local": local[0].get(name),
            "central": central[0].get(name),
            "ask": _tried("ask", refused, lambda name=name: asked_width(asking, rows, name)),  # type: ignore[misc]
        }
        for name in names
    ]
    questions = [
        {"question": sql, "column": column, "local": way, "central": central[1].get((sql, column)), "ask": asked}
        for (sql, column), (way, asked) in local[1].items()
    ]
    return {
        "plan": plan.text,
        "model": plan.model,
        "rows": rows,
        "columns": columns,
        "questions": questions,
        "refused": refused,
        "meaning": explain(plan.privacy),
    }


def _local(draft: Mapping[str, Any], rows: int) -> tuple[Widths, dict[tuple[str, str], tuple[Any, Any]]]:
    """± of a count or a mean by each column, and of each question from a release and from a curator."""
    plan = Plan.from_dict(draft)
    law = certify_row(plan)
    widths: Widths = {**half_widths(law, rows), **mean_half_widths(law, rows)}
    found = advise(plan, rows=rows).comparisons if plan.questions else ()
    return widths, {(one.question, one.column): (one.release, one.ask_shared) for one in found}


def _central(draft: Mapping[str, Any], rows: int) -> tuple[Widths, dict[tuple[str, str], float | None]]:
    law = certify_tables(Plan.from_dict(draft))
    counts = law.precisions[None]
    single: Widths = {
        axis.name: deviations(law) * counts.cell_variance((place,)) ** 0.5 for place, axis in enumerate(law.axes)
    }
    asked = question_half_widths(law, rows) if law.plan.questions else ()
    return single, {(one.question, one.column): (one.half_widths or (None, None))[1] for one in asked}


def _variant(draft: Mapping[str, Any], model: str) -> dict[str, Any]:
    """The same draft for one of the two models, without what belongs to the other."""
    privacy = {key: value for key, value in draft.get("privacy", {}).items() if key not in ("model", "spread")}
    kept = {key: value for key, value in draft.items() if key != "release" and key not in _LOCAL_ONLY}
    columns = {
        name: {key: value for key, value in table.items() if key not in _LOCAL_KEYS}
        for name, table in draft.get("columns", {}).items()
    }
    if model == "local":
        return {**kept, "privacy": {**privacy, "neighbours": "change-one"}}
    hidden = {name: {"drop": True} if table.get("public") else table for name, table in columns.items()}
    return {**kept, "privacy": {**privacy, "model": "central"}, "columns": hidden}


def _tried(way: str, refused: dict[str, str], made: Callable[[], Any]) -> Any:
    try:
        return made()
    except InputError as error:
        refused[way] = str(error)
        return None

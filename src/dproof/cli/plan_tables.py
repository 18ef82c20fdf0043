"""`dproof plan` for the central model: how sharp every table will be, before any data is opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dproof.cli.output import Page, emit, escape
from dproof.errors import InputError
from dproof.exact import float_above, written
from dproof.plans import expectation
from dproof.plans.plan import Plan
from dproof.plans.row_law import certify_row
from dproof.plans.table_law import TableLaw, certify_tables
from dproof.privacy import Privacy
from dproof.report.central_page import half_widths

_LISTED = 12  # tables that are shown one by one


def show_tables(plan: Plan, name: str, rows: int | None, as_json: bool) -> None:
    """Print what the plan measures; with the number of rows, also what rows sanitised one by one would tell."""
    answer = _answer(certify_tables(plan), rows)
    emit(answer, as_json, lambda: _page(answer, name))


def _answer(law: TableLaw, rows: int | None) -> dict[str, Any]:
    plan, privacy = law.plan, law.plan.privacy
    rho, local = law.rho(), {} if rows is None else _local(plan, rows)
    return {
        "model": plan.model,
        "epsilon": float_above(privacy.epsilon),
        "delta": float_above(privacy.delta),
        "neighbours": privacy.neighbours,
        "rows_per_person": plan.rows_per_person,
        "rho": None if rho is None else float_above(rho),
        "tables": [
            {"columns": list(one.columns), "sum_of": one.sum_of, "cells": one.cells, "half_width": one.half_width}
            for one in half_widths(law)
        ],
        "columns": [
            {
                "name": axis.name,
                "values": axis.size,
                "share": share,
                **({} if rows is None else {"local_half_width": local.get(axis.column.name)}),
            }
            for axis, share in zip(law.axes, _shares(law), strict=True)
        ],
        "dropped": plan.named("drop"),
    }


def _local(plan: Plan, rows: int) -> Mapping[str, float | None]:
    """± of a count by each column, were every row sanitised by itself at the same ε."""
    try:
        law = certify_row(replace(plan, asked=None, privacy=Privacy(plan.privacy.epsilon)))
    except InputError:  # the local model has no release for it
        return {}
    return expectation.half_widths(law, rows)


def _shares(law: TableLaw) -> list[float]:
    """The part of the privacy loss that goes to measurements with each column."""
    if law.is_pure:
        losses = {one: float(cost) for one, cost in law.noise.items()}
    else:
        losses = {one: float(law.domain.norm(one) / square) for one, square in law.noise.items()}
    total = sum(losses.values()) or 1.0
    return [
        sum(loss for one, loss in losses.items() if place in (*one.table, one.number)) / total
        for place in range(len(law.axes))
    ]


def _page(answer: dict[str, Any], name: str) -> Page:
    from dproof.cli.fitting import FittingTable  # rich, which --json does not need

    rows = answer["rows_per_person"]
    who = "a person" if rows == 1 else f"a person with up to {rows:,} rows"
    yield (
        f"\n[bold]{escape(name)}[/bold]: {who} may lose [bold]ε = {answer['epsilon']:.6g}, "
        f"δ = {answer['delta']:.6g}[/bold] ({answer['neighbours']}). The whole table is measured once, with noise; "
        "whoever does that sees the true rows.\n"
    )
    yield FittingTable(["table", "cells", "±"], list(_lines(answer["tables"])), left=(0,), spare=(1,))
    yield "\n±: a count, or a sum, of one cell is right to about this, 19 times out of 20, whatever the data.\n"
    columns = sorted(answer["columns"], key=lambda column: -column["share"])
    figures: list[tuple[str, ...]] = [(escape(c["name"]), f"{c['values']:,}", f"{c['share']:.0%}") for c in columns]
    heads, told = ["column", "values", "part of the cost"], "local_half_width" in columns[0]
    if told:
        heads.append("± if local")
        figures = [(*row, _or_nothing(c["local_half_width"])) for row, c in zip(figures, columns, strict=True)]
    yield FittingTable(heads, figures, left=(0,), spare=(1,))
    yield "\npart of the cost: tables with this column; fewer values or bins of the first ones make every ± smaller."
    if told:
        yield "± if local: of a count by this column alone, were every row sanitised by itself at the same ε."
    yield ""
    if answer["dropped"]:
        yield f"Left out: {escape(', '.join(answer['dropped']))}.\n"


def _lines(tables: Sequence[dict[str, Any]]) -> Page:
    """Each table, or how sharp those with equally many columns are; sums of numbers likewise."""
    kinds: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for one in tables:
        by = len(one["columns"]) if len(tables) > _LISTED else tuple(one["columns"])
        kinds.setdefault((one["sum_of"], by), []).append(one)
    for (summed, by), alike in kinds.items():
        name = " × ".join(by) if isinstance(by, tuple) else f"{len(alike):,} of {by} column{'s'[: by != 1]}"
        if summed is not None:
            name = f"sum of {summed}" + (f" by {name}" if by else "")
        cells, widths = [one["cells"] for one in alike], [one["half_width"] for one in alike]
        yield escape(name), _between(min(cells), max(cells)), _between(min(widths), max(widths))


def _or_nothing(half_width: float | None) -> str:
    return "no counts" if half_width is None else written(half_width)


def _between(low: float, high: float) -> str:
    return written(low) if low == high else f"{written(low)} to {written(high)}"

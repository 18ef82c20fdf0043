"""`dproof plan` for the central model: how sharp every table will be, before any data is opened."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dproof.central.expectation import (
    cost_shares,
    half_widths,
    least_half_width,
    mean_half_widths,
    too_noisy_message,
    unused_delta,
)
from dproof.central.recipe import TableLaw, certify_tables
from dproof.central.workload import Residual
from dproof.cli.output import Page, Table, emit, escape, pairs
from dproof.errors import InputError
from dproof.exact import float_above, several, written
from dproof.local.recipe import certify_row
from dproof.local.recipe import half_widths as local_half_widths
from dproof.plans.plan import Plan
from dproof.privacy import Privacy
from dproof.questions.answer import NOTHING, RARELY, rarely, stated
from dproof.questions.measured import A_TENTH

_LISTED = 12  # tables that are shown one by one
_A_TENTH = " (and in a group that has a tenth of that)"


def show_tables(plan: Plan, name: str, rows: int | None, questions: list[str] | None, as_json: bool) -> Privacy:
    """Print what the plan measures; with the number of rows, also what rows sanitised one by one would tell.

    The questions are the plan's own, or those given.

    What a person may lose by it is returned.
    """
    law = certify_tables(plan)
    answer = _answer(law, rows, questions)
    emit(answer, as_json, lambda: _page(answer, name))
    return law.person


def _answer(law: TableLaw, rows: int | None, questions: list[str] | None) -> dict[str, Any]:
    plan, privacy = law.plan, law.person
    widths, keys = half_widths(law), [*map(Residual, law.tables), *law.sums]
    means = {} if rows is None else mean_half_widths(law, rows)
    rho, local = law.rho(), {} if rows is None else _local(plan, rows)
    shares = cost_shares(law, [[place] for place in range(len(law.axes))])
    return {
        "model": plan.model,
        "epsilon": float_above(privacy.epsilon),
        "delta": float_above(privacy.delta),
        "allowed_delta": float_above(plan.privacy.delta),
        "unused_delta": unused_delta(law),
        "neighbours": privacy.neighbours,
        "rows_per_person": plan.rows_per_person,
        "rows": rows,
        "rho": None if rho is None else float_above(rho),
        "least_rows": least_half_width(widths),
        "verdict": None if rows is None else too_noisy_message(widths, rows),
        "tables": [
            {
                "columns": list(one.columns),
                "sum_of": one.sum_of,
                "cells": one.cells,
                "half_width": one.half_width,
                **({} if rows is None or one.sum_of is None else {"mean_half_width": means.get(key)}),
            }
            for key, one in zip(keys, widths, strict=True)
        ],
        "questions": _expected(law, rows, questions) if questions or plan.questions else [],
        "columns": [
            {
                "name": axis.name,
                "values": axis.size,
                "share": share,
                **({"curves": True} if axis.has_curves else {}),
                **({} if rows is None else {"local_half_width": local.get(axis.column.name)}),
            }
            for axis, share in zip(law.axes, shares, strict=True)
        ],
        "dropped": plan.named("drop"),
    }


def _expected(law: TableLaw, rows: int | None, questions: list[str] | None) -> list[dict[str, Any]]:
    """± of each column of the answers: from the release, and where questions are given from `dproof ask` as well."""
    from dproof.advice.expect import Expected, asked_questions, expected_of_asking, expected_of_release

    def told(one: Expected) -> dict[str, Any]:
        found: dict[str, float | None] = {"least_half_width": None, "half_width": None}
        if one.widths is not None:
            found = {"least_half_width": one.widths.least, "half_width": one.widths.greatest}
        if one.rare is not None:
            found["rare_half_width"] = one.rare
        share = None if one.share_of_rows is None else float(one.share_of_rows)
        about = {"question": one.question, "weight": float(one.weight), "share_of_rows": share, "column": one.column}
        finite = {name: width if width is not None and math.isfinite(width) else None for name, width in found.items()}
        return {**about, **finite, "informative": {name: one.possible.is_narrowed_by(w) for name, w in found.items()}}

    answers = []
    for planned in asked_questions(law.plan, questions):
        for one in expected_of_release(law, planned, rows):
            answers.append(told(one))
        if questions:
            asked = expected_of_asking(law.plan, planned, rows, law.plan.privacy)
            for answer, one in zip(answers[-len(asked) :], asked, strict=True):
                answer["ask"] = {"half_width": one.half_width, "estimated": not one.exact}
                answer["informative"]["ask"] = one.informative
    return answers


def _local(plan: Plan, rows: int) -> Mapping[str, float | None]:
    """± of a count by each column, were every row sanitised by itself at the same ε."""
    try:
        law = certify_row(replace(plan, asked=None, privacy=Privacy(plan.privacy.epsilon)))
    except InputError:  # the local model has no release for it
        return {}
    return local_half_widths(law, rows)


def _page(answer: dict[str, Any], name: str) -> Page:
    rows = answer["rows_per_person"]
    who = "a person" if rows == 1 else f"a person with up to {rows:,} rows"
    yield (
        f"\n[bold]{escape(name)}[/bold]: {who} may lose [bold]ε = {answer['epsilon']:.6g}, "
        f"δ = {answer['delta']:.6g}[/bold] ({answer['neighbours']}). The whole table is measured once, with noise; "
        "whoever does that sees the true rows.\n"
    )
    if answer["unused_delta"]:
        yield f"{escape(answer['unused_delta'])}\n"
    yield Table(["table", "cells", "±"], list(_lines(answer["tables"])), left=(0,), spare=(1,))
    yield "\n±: a count, or a sum, of one cell is right to about this, 19 times out of 20, whatever the data.\n"
    if any("curves" in column for column in answer["columns"]):
        yield "For curves: a sum at one grid point; a mean, with --rows, at all grid points at once.\n"
    yield from _worth(answer)
    yield from _questions(answer["questions"], answer["rows"])
    columns = sorted(answer["columns"], key=lambda column: -column["share"])
    figures: list[tuple[str, ...]] = [(escape(c["name"]), f"{c['values']:,}", f"{c['share']:.0%}") for c in columns]
    heads, has_local = ["column", "values", "part of the cost"], "local_half_width" in columns[0]
    if has_local:
        heads.append("± if local")
        figures = [(*row, _or_nothing(c["local_half_width"])) for row, c in zip(figures, columns, strict=True)]
    yield Table(heads, figures, left=(0,), spare=(1,))
    yield "\npart of the cost: of tables with this column. Fewer values or bins in the first rows make every ± smaller."
    if has_local:
        yield "± if local: of a count by this column alone, if every row were sanitised by itself at the same ε."
    yield ""
    if answer["dropped"]:
        yield f"Left out: {escape(', '.join(answer['dropped']))}.\n"


def _worth(answer: dict[str, Any]) -> Page:
    """Whether the counts say anything, and how sharp means are."""
    if answer["verdict"] is not None:
        yield f"[yellow]Take care: {escape(answer['verdict'])}.[/yellow]\n"
    elif answer["least_rows"]:
        yield f"With fewer than {math.ceil(answer['least_rows']):,} rows no count says anything.\n"
    means = [one for one in answer["tables"] if one.get("mean_half_width") is not None]
    if means:
        told = [f"{_named(one)} ± {_mean(one)}" for one in means[:_LISTED]]
        tenth = _A_TENTH if any(one["columns"] for one in means) else ""
        yield f"Means, at most, if the rows are spread evenly{tenth}: {escape('; '.join(told))}.\n"


def _mean(one: dict[str, Any]) -> str:
    """± of a mean, and in a group that has a tenth of the rows; without groups all rows are meant."""
    width = one["mean_half_width"]
    return written(width) + (f" ({written(width / A_TENTH)})" if one["columns"] else "")


def _named(one: dict[str, Any]) -> str:
    return f"{one['sum_of']} by {' × '.join(one['columns'])}" if one["columns"] else str(one["sum_of"])


def _questions(questions: Sequence[dict[str, Any]], rows: int | None) -> Page:
    """± of the answer to each question, one after another: they are too long for a table."""
    last = None
    for asked in questions:
        if asked["question"] != last:
            yield escape(last := asked["question"])
        yield pairs([("•", f"{escape(asked['column'])}: {_width(asked, rows)}{_asking(asked)}")])
    if questions:
        yield "± of means and shares are for rows that are spread evenly; those of counts and sums hold for all data."
        yield f"{RARELY}\n" if any("rare_half_width" in asked for asked in questions) else ""


def _width(asked: dict[str, Any], rows: int | None) -> str:
    """± of a column of an answer over its groups, or that it would tell nothing."""
    if asked["half_width"] is None and asked["informative"]["half_width"]:
        return "± depends on " + ("how many rows there are: say it with --rows" if rows is None else "the data")
    if asked["informative"]["half_width"]:
        rare = rarely(asked["rare_half_width"]) if "rare_half_width" in asked else ""
        rare += stated(asked["share_of_rows"])
        return f"± {_between(asked['least_half_width'], asked['half_width'])}{rare}"
    if not asked["informative"]["least_half_width"]:
        return NOTHING
    return f"± {written(asked['least_half_width'])} or more, and {NOTHING} in some groups"


def _asking(asked: dict[str, Any]) -> str:
    """± from a curator, where questions were given."""
    if "ask" not in asked:
        return ""
    if not asked["informative"]["ask"]:
        return f"; {NOTHING} from `dproof ask` for all of ε"
    width, about = asked["ask"]["half_width"], "about " if asked["ask"]["estimated"] else ""
    told = "± depends on the data" if width is None else f"{about}± {written(width)}"
    return f"; {told} from `dproof ask` for all of ε"


def _lines(tables: Sequence[dict[str, Any]]) -> Page:
    """Each table, or how sharp those with equally many columns are; sums of numbers likewise."""
    kinds: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for one in tables:
        by = len(one["columns"]) if len(tables) > _LISTED else tuple(one["columns"])
        kinds.setdefault((one["sum_of"], by), []).append(one)
    for (summed, by), alike in kinds.items():
        name = " × ".join(by) or "all rows" if isinstance(by, tuple) else f"{len(alike):,} of {several(by, 'column')}"
        if summed is not None:
            name = f"sum of {summed}" + (f" by {name}" if by else "")
        cells, widths = [one["cells"] for one in alike], [one["half_width"] for one in alike]
        yield escape(name), _between(min(cells), max(cells)), _between(min(widths), max(widths))


def _or_nothing(half_width: float | None) -> str:
    return "no counts" if half_width is None else written(half_width)


def _between(low: float, high: float) -> str:
    return written(low) if low == high else f"{written(low)} to {written(high)}"

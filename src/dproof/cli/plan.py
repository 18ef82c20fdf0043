"""`dproof plan`: what a plan will do, before any data is opened."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

from dproof.cli.options import AsJson, argument, option
from dproof.cli.output import Page, advise, emit, escape, table
from dproof.errors import InputError
from dproof.exact import float_above
from dproof.meaning import advice
from dproof.privacy import Privacy
from dproof.sanitisation.expectation import epsilon_for, half_widths, mean_half_widths
from dproof.sanitisation.plan import Plan
from dproof.sanitisation.row_law import RowLaw, certify_row, with_bounds


def plan(
    path: Annotated[Path, argument("PLAN.toml", "The plan.")],
    rows: Annotated[int | None, option("N", "How many rows the table has.")] = None,
    half_width: Annotated[str | None, option("W", "Find the epsilon with which a count is right to ± this.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a plan will do to each column, and what to expect.

    For each column: its mechanism, its part of ε, the expected error of a value and the bound that no mechanism can
    beat; with --rows, ± at 95% of a debiased count or mean. With --half-width too, the least ε for such counts.
    """
    chosen = Plan.read(path)
    solved = None
    if half_width is not None:
        if rows is None:
            raise InputError("--half-width needs --rows: how right a count is depends on how many rows there are")
        solved = epsilon_for(chosen, rows, half_width)
        promise = Privacy(solved, chosen.privacy.delta, neighbours=chosen.privacy.neighbours)
        chosen = replace(chosen, privacy=promise)
    law = with_bounds(certify_row(chosen))
    answer = _answer(law, rows, solved)
    emit(answer, as_json, lambda: _page(answer, path.name))
    for said in advice(chosen.privacy):
        advise(said)


def _answer(law: RowLaw, rows: int | None, solved: Fraction | None) -> dict[str, Any]:
    plan = law.plan
    widths = {} if rows is None else half_widths(law, rows)
    means = {} if rows is None else mean_half_widths(law, rows)
    whole = sum((group.privacy.epsilon for group in law.groups), Fraction(0))
    return {
        "epsilon": float_above(plan.privacy.epsilon),
        "delta": float_above(plan.privacy.delta),
        "neighbours": plan.privacy.neighbours,
        "tight": law.tight().to_json(),
        "person": law.person_to_json(),
        "order": plan.order,
        "rows": rows,
        "solved_epsilon": None if solved is None else float_above(solved),
        "columns": [
            {
                "name": group.name,
                "columns": [column.name for column in group.columns],
                "mechanism": part.mechanism,
                "source": part.source,
                "share": float(group.privacy.epsilon / whole) if whole else None,
                "epsilon": float_above(group.privacy.epsilon),
                "delta": float_above(group.privacy.delta),
                "error": None if part.error is None else float(part.error),
                "lower_bound": None if part.lower_bound is None else float(part.lower_bound),
                "half_width": widths.get(group.name),
                "mean_half_width": means.get(group.name),
            }
            for group, part in zip(law.groups, law.parts, strict=True)
        ],
        "public": plan.named("public"),
        "dropped": plan.named("drop"),
    }


def _page(answer: dict[str, Any], name: str) -> Page:
    yield (
        f"\n[bold]{escape(name)}[/bold]: one row may lose [bold]ε = {answer['epsilon']:.6g}, "
        f"δ = {answer['delta']:.6g}[/bold] ({answer['neighbours']})"
        + (", the least that gives such counts." if answer["solved_epsilon"] else ".")
    )
    person = answer["person"]
    if person["rows"] > 1:
        yield f"A person with {person['rows']} rows: ε = {person['epsilon']:.6g}, δ = {person['delta']:.6g}."
    yield ""
    headings = ["column", "mechanism", "share", "ε", "error", "at best"]
    headings += [] if answer["rows"] is None else [f"± over {answer['rows']:,}"]
    rows = [
        (
            escape(column["name"]),
            column["mechanism"],
            "" if column["share"] is None else f"{column['share']:.0%}",
            f"{column['epsilon']:.3g}",
            _figure(column["error"]),
            _figure(column["lower_bound"]),
            _expected(column),
        )[: len(headings)]
        for column in answer["columns"]
    ]
    yield table(headings, rows, left=(0, 1))
    yield "\nThe error is that of a released value, expected at worst; at best is what no mechanism can go below."
    for word, names in (("Released as they are", answer["public"]), ("Left out", answer["dropped"])):
        if names:
            yield f"\n{word}: {escape(', '.join(names))}."
    yield ""


def _expected(column: dict[str, Any]) -> str:
    if column["half_width"] is not None:
        return f"{column['half_width']:,.0f} count"
    return "–" if column["mean_half_width"] is None else f"{_figure(column['mean_half_width'])} mean"


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"

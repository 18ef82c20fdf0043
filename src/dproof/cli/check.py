"""`dproof check`: exact counts of what a plan does not cover, for the custodian alone."""

from __future__ import annotations

from pathlib import Path

import click

from dproof.cli.command import PATH, command, data_argument, json_option, table_option
from dproof.cli.output import Page, Table, emit, escape, pairs
from dproof.exact import several
from dproof.releases.inspection import CONFIDENTIAL, Inspection
from dproof.releases.inspection import check as inspect


@command
@data_argument
@click.option("--plan", metavar="PLAN.toml", type=PATH, required=True, help="The plan.")
@table_option
@json_option
def check(data: Path, plan: Path, table: str | None, as_json: bool) -> None:
    """Count values that a plan does not cover: confidential.

    For each column: how many values are missing, outside the declared space, not readable as the number or date that
    the plan says, or clamped, and the most frequent values outside; with `person` in the plan, how many rows a person
    has. Use it to find a wrong encoding or a forgotten value. No noise protects these figures: do not pass them on.
    """
    inspection = inspect(data, plan, table=table)
    emit(inspection.to_json(), as_json, lambda: _check_page(inspection, data.name))


def _check_page(inspection: Inspection, name: str) -> Page:
    yield f"[bold red]{CONFIDENTIAL}[/bold red]\n"
    yield f"{escape(name)} has {several(inspection.rows, 'row')}.\n"
    headings = ["column", "", "missing", "outside", "unreadable", "clamped"]
    rows = [
        [
            escape(column.name),
            column.kind,
            *(f"{n:,}" if n else "" for n in (column.missing, column.outside, column.no_number, column.clamped)),
        ]
        for column in inspection.columns
    ]
    yield Table(headings, rows, left=(0, 1))
    strange = [column for column in inspection.columns if column.values]
    if strange:
        yield "\nWhat is outside or unreadable, most frequent first:\n"
    for column in strange:
        yield f"  {escape(column.name)}: " + ", ".join(f"'{escape(value)}' {n:,}" for value, n in column.values)
    if inspection.persons is not None:
        who = inspection.persons
        yield (
            f"\n{escape(repr(who.column))} names {several(who.persons, 'person')}. The most rows of one: "
            f"{who.most_rows:,}. With more than {who.rows_per_person:,} (rows_per_person): {who.above:,}."
        )
    if inspection.hints:
        yield "\nLook at this:\n"
        yield pairs((" -", escape(hint)) for hint in inspection.hints)

"""`dproof init`: a draft plan for a table, or with --ask a finished one, from a dialogue; `dproof check`: exact counts
of what a plan does not cover, for the custodian alone."""

from __future__ import annotations

from pathlib import Path

import click

from dproof.cli.command import PATH, command, data_argument, json_option, shown_name, table_option
from dproof.cli.output import Page, Table, advise, emit, escape, pairs, unbroken
from dproof.exact import several
from dproof.plans.draft import ONE_COLUMN, toml_lines
from dproof.releases.drafting import Model, comment, draft, draft_text
from dproof.releases.inspection import CONFIDENTIAL, Inspection, Suggested
from dproof.releases.inspection import check as inspect
from dproof.storage import check_absent


@command
@data_argument
@table_option
@click.option("--look", is_flag=True, help="Also read some rows, for kinds, date formats, encoding and decimal sign.")
@click.option(
    "--header", metavar="N", type=click.IntRange(1), help="The line, or the row of the sheet, that names the columns."
)
@click.option("--local", is_flag=True, help="Draft for the local model, where nobody is trusted with the table.")
@click.option("--ask", is_flag=True, help="Ask question by question, and write the plan and a notebook.")
@click.option("--out", metavar="PLAN.toml", type=PATH, help="A new file for the draft; plan.toml with --ask.")
@json_option
def init(
    data: Path | str,
    table: str | None,
    look: bool,
    header: int | None,
    local: bool,
    ask: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Draft a plan from the names of a table's columns.

    The draft goes to standard output, or to the file named by --out: `dproof init people.csv --out plan.toml`, then
    fill in what is open. It is made from the header and the types in the file, for whoever is trusted with the
    table. With --look some rows are read too, so that the draft is confidential until you have checked it; no value
    and no bound of the table is copied, but for the two marks of a column of yes and no. A look sees titles above the
    names of the columns; without one --header says where these stand. With --ask a dialogue fills in the rest: it
    ends with a plan, the commands to run next, and a notebook that does the same from Python.
    """
    if ask:
        if as_json:
            raise click.UsageError("--ask is a dialogue, and --json has none: leave one out.")
        if isinstance(data, str):  # the notebook would have its password
            raise click.UsageError("--ask takes a file: write the draft for a database with `dproof init` alone.")
        from dproof.cli.wizard import dialogue

        model: Model | None = "local" if local else None
        dialogue(data, table, look=look, header=header, model=model, out=out or Path("plan.toml"))
        return
    if out is not None:
        check_absent(out)
    drafted = draft(data, table=table, look=look, file=None if header is None else {"header": header})
    text = draft_text(drafted, "local" if local else "central")
    if out is not None:
        from dproof.cli.wizard import write_new

        write_new({out: text})
    if as_json:
        columns = [{"name": one.name, "kind": one.kind, "columns": list(one.sources)} for one in drafted.columns]
        emit({"plan": text, "columns": columns, "confidential": look}, True, list)
        return
    click.echo(text if out is None else f"{out} holds a draft.\n", nl=False)
    advise(
        "fill in what is open in this draft: `dproof check` helps, and then `dproof plan` shows what to expect; "
        "`dproof init --ask` asks for all of it instead"
    )
    if len(drafted.columns) == 1:
        advise(f"the table has {ONE_COLUMN}; `dproof init --header 2` drafts with that")
    if drafted.doubtful:
        advise(
            "is the first line a header? Some of its fields look like values, or stand there twice, and a plan is "
            "public"
        )
    if look:
        advise("the draft was made from rows of the table: keep it to yourself until you have checked it")


_FROM_THE_TABLE = """\
Still open. What follows comes from the table: values, most frequent first, and bounds, rounded outwards. A plan is \
public, so take only what you could have written without seeing it, from a code book, a questionnaire or a law, and \
put values in an order of your own. A value that few persons have, or a bound that only one reaches, stays out.
"""


@command
@data_argument
@click.option("--plan", metavar="PLAN.toml", type=PATH, required=True, help="The plan, or a draft of one.")
@table_option
@json_option
def check(data: Path | str, plan: Path, table: str | None, as_json: bool) -> None:
    """Count values that a plan does not cover: confidential.

    For each column: how many values are missing, outside the declared space, not readable as the number or date that
    the plan says, or clamped, and the most frequent values outside; with `person` in the plan, how many rows a person
    has. Use it to find a wrong encoding or a forgotten value. Of a draft it shows what is still open, with values and
    bounds to choose from, and all mistakes at once; with mistakes it leaves with 1. No noise protects these figures: do
    not pass them on.
    """
    inspection = inspect(data, plan, table=table)
    emit(inspection.to_json(), as_json, lambda: _check_page(inspection, shown_name(data)))
    if inspection.problems:
        raise click.exceptions.Exit(1)


def _check_page(inspection: Inspection, name: str) -> Page:
    yield f"[bold red]{CONFIDENTIAL}[/bold red]\n"
    if inspection.problems:
        yield f"{several(len(inspection.problems), 'mistake')} to mend:\n"
        yield pairs((" -", escape(problem)) for problem in inspection.problems)
        yield ""
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
        yield pairs(
            (" -", f"{escape(column.name)}: " + ", ".join(f"'{escape(value)}' {n:,}" for value, n in column.values))
            for column in strange
        )
    if inspection.persons is not None:
        who = inspection.persons
        yield (
            f"\n{escape(repr(who.column))} names {several(who.persons, 'person')}. The most rows of one: "
            f"{who.most_rows:,}. With more than {who.rows_per_person:,} (rows_per_person): {who.above:,}."
        )
    if inspection.hints:
        yield "\nLook at this:\n"
        yield pairs((" -", escape(hint)) for hint in inspection.hints)
    if inspection.suggestions:
        yield f"\n{_FROM_THE_TABLE}"
        yield from (unbroken(_suggested(one)) for one in inspection.suggestions)


def _suggested(one: Suggested) -> str:
    """What a draft may have for what is open, as TOML."""
    notes = []
    if not one.keys and not one.more:
        notes.append("no value of it could be read: see above")
    if one.more and one.keys:
        notes.append(
            f'{one.more:,} more, rarer or of one row each: outside = "category" counts them as other; of an id or free '
            "text, drop = true"
        )
    elif one.more:
        notes.append(f"all {one.more:,} are of one row each: an id or free text? Then drop = true")
    return toml_lines(one.name, one.keys) + "".join(map(comment, notes))

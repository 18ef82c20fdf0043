"""`dproof init`: a draft plan for a table, or with --ask a finished one, from a dialogue."""

from __future__ import annotations

from pathlib import Path

import click

from dproof.cli.command import PATH, command, data_argument, json_option, table_option
from dproof.cli.output import advise, emit
from dproof.plans.draft import ONE_COLUMN
from dproof.releases.drafting import draft, draft_text
from dproof.storage import check_absent


@command
@data_argument
@table_option
@click.option("--look", is_flag=True, help="Also read some rows, for kinds, date formats, encoding and decimal sign.")
@click.option("--local", is_flag=True, help="Draft for the local model, where nobody is trusted with the table.")
@click.option("--ask", is_flag=True, help="Ask question by question, and write the plan and a notebook.")
@click.option("--out", metavar="PLAN.toml", type=PATH, help="A new file for the draft; plan.toml with --ask.")
@json_option
def init(
    data: Path | str, table: str | None, look: bool, local: bool, ask: bool, out: Path | None, as_json: bool
) -> None:
    """Draft a plan from the names of a table's columns.

    The draft goes to standard output, or to the file named by --out: `dproof init people.csv --out plan.toml`, then
    fill in what is open. It is made from the header and the types in the file, for whoever is trusted with the
    table. With --look some rows are read too, so that the draft is confidential until you have checked it; no value
    and no bound of the table is copied, but for the two marks of a column of yes and no. With --ask a dialogue
    fills in the rest: it ends with a plan, the commands to run next, and a notebook that does the same from Python.
    """
    if ask:
        if as_json:
            raise click.UsageError("--ask is a dialogue, and --json has none: leave one out.")
        if isinstance(data, str):  # the notebook would have its password
            raise click.UsageError("--ask takes a file: write the draft for a database with `dproof init` alone.")
        from dproof.cli.wizard import dialogue

        dialogue(data, table, look=look, model="local" if local else None, out=out or Path("plan.toml"))
        return
    if out is not None:
        check_absent(out)
    drafted = draft(data, table=table, look=look)
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
        advise(f"the table has {ONE_COLUMN}")
    if drafted.doubtful:
        advise("is the first line a header? Some of its fields look like values, and a plan is public")
    if look:
        advise("the draft was made from rows of the table: keep it to yourself until you have checked it")

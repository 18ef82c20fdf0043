"""An answer as a person is shown it, and as a file, by `dproof query` and by `dproof ask`."""

from __future__ import annotations

import click

from dproof.cli.command import PATH
from dproof.cli.output import Page, Table, escape
from dproof.exact import percent
from dproof.questions.answer import SHOWN_ROWS, Answer, Cell, endings

plot_option = click.option("--plot", metavar="FILE", type=PATH, help=f"Draw it into FILE: {endings(pictures=True)}.")
out_option = click.option(
    "--out", metavar="FILE", type=PATH, help=f"Write it to FILE, as the ending says: {endings()}."
)


def answer_page(answer: Answer, every: bool = False) -> Page:
    """The table of an answer, all of it or its first rows, and how and with what care it was made."""
    names = [n for n, key in enumerate(answer.columns) if not any(isinstance(row[key], Cell) for row in answer.rows)]
    most = None if every else SHOWN_ROWS
    yield ""
    yield Table(map(escape, answer.columns), (map(escape, line) for line in answer.texts(most)), left=names)
    if most is not None and len(answer.rows) > most:
        yield f"… {len(answer.rows) - most:,} more (--all)"
    yield ""
    if answer.method != "raw":
        said = [f"{percent(answer.level)} intervals"] * answer.has_intervals + [escape(answer.method)]
        text = "; ".join(said)
        yield f"[dim]{text[:1].upper()}{text[1:]}.[/dim]"
    yield from (f"[yellow]{escape(note)}[/yellow]" for note in answer.notes)

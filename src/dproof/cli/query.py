"""`dproof query`: debiased answers from a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dproof.cli.options import AsJson
from dproof.cli.output import Page, advise, emit, escape, table
from dproof.queries.answer import Answer, Cell
from dproof.sanitisation.release import load


def query(
    release: Annotated[Path, typer.Argument(help="The folder of the release.", metavar="DIR")],
    sql: Annotated[str, typer.Argument(help="One SELECT ... FROM release.", metavar="SQL")],
    as_json: AsJson = False,
    plot: Annotated[Path | None, typer.Option(help="Draw it into FILE: .svg, .png or .html.", metavar="FILE")] = None,
    level: Annotated[float, typer.Option(help="The level of the intervals.", metavar="L")] = 0.95,
    method: Annotated[str, typer.Option(help="inverse, likelihood, projection or shrinkage.", metavar="M")] = "inverse",
    target: Annotated[
        str, typer.Option(help="What the intervals are for: table or population.", metavar="TARGET")
    ] = "table",
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="Intervals that hold all at once, column by column.")
    ] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Ask the sanitised rows as they are, in DuckDB's SQL.")] = False,
) -> None:
    """Ask a release anything: debiased answers with intervals, free.

    SELECT with COUNT, SUM, AVG, VAR, STDDEV, COVAR, CORR, MIN, MAX, MEDIAN, QUANTILE, MODE, TOP, PROPORTION and
    arithmetic of them; FILTER, WHERE with =, <>, <, BETWEEN, IN, AND, OR, NOT, list_contains; GROUP BY columns and
    BIN(column, width); HAVING, ORDER BY, LIMIT. The table is called release.

    With --json: columns, and rows in which an estimate has estimate, low, high, stderr and raw.
    """
    opened = load(release)
    if raw:
        answer: Answer = opened.raw(sql)
    else:
        answer = opened.query(sql, level=level, method=method, target=target, simultaneous=simultaneous)
    if plot is not None:
        answer.plot(plot)
    emit(answer.to_json(), as_json, lambda: _page(answer))
    if plot is not None:
        advise(f"the picture is in {plot}")


def _page(answer: Answer) -> Page:
    names = [n for n, key in enumerate(answer.columns) if not any(isinstance(row[key], Cell) for row in answer.rows)]
    yield ""
    yield table(map(escape, answer.columns), (map(escape, line) for line in answer.texts()), left=names)
    yield ""
    if answer.method != "raw":
        yield f"[dim]{answer.level:.0%} intervals; {escape(answer.method)}.[/dim]"
    yield from (f"[yellow]{escape(note)}[/yellow]" for note in answer.notes)

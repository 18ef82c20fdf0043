"""`dproof query`: debiased answers from a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from dproof.cli.options import AsJson, argument, flag, option
from dproof.cli.output import Page, advise, emit, escape, table
from dproof.queries.answer import Answer, Cell
from dproof.sanitisation.release import load


def query(
    release: Annotated[Path, argument("DIR", "The folder of the release.")],
    sql: Annotated[str, argument("SQL", "One SELECT ... FROM release.")],
    as_json: AsJson = False,
    plot: Annotated[Path | None, option("FILE", "Draw it into FILE: .svg, .png or .html.")] = None,
    level: Annotated[float, option("L", "The level of the intervals.")] = 0.95,
    method: Annotated[str, option("M", "inverse, likelihood, projection or shrinkage.")] = "inverse",
    target: Annotated[str, option("TARGET", "What the intervals are for: table or population.")] = "table",
    simultaneous: Annotated[bool, flag("--simultaneous", "Intervals that hold all at once, column by column.")] = False,
    raw: Annotated[bool, flag("--raw", "Ask the sanitised rows as they are, in DuckDB's SQL.")] = False,
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
    emit(answer.to_json(), as_json, lambda: page(answer))
    if plot is not None:
        advise(f"the picture is in {plot}")


def page(answer: Answer) -> Page:
    """The table of an answer, whoever gave it, and how and with what care it was made."""
    names = [n for n, key in enumerate(answer.columns) if not any(isinstance(row[key], Cell) for row in answer.rows)]
    yield ""
    yield table(map(escape, answer.columns), (map(escape, line) for line in answer.texts()), left=names)
    yield ""
    if answer.method != "raw":
        yield f"[dim]{answer.level:.0%} intervals; {escape(answer.method)}.[/dim]"
    yield from (f"[yellow]{escape(note)}[/yellow]" for note in answer.notes)

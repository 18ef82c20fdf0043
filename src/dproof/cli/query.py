"""`dproof query`: debiased answers from a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from dproof.charts.picture_file import picture_file
from dproof.cli.options import AsJson, EveryRow, Plot, argument, flag, option
from dproof.cli.output import Page, advise, emit, escape, table
from dproof.questions.answer import SHOWN_ROWS, Answer, Cell
from dproof.releases.load import load


def query(
    release: Annotated[Path, argument("DIR", "The folder of the release.")],
    sql: Annotated[str, argument("SQL", "One SELECT ... FROM release.")],
    as_json: AsJson = False,
    plot: Plot = None,
    level: Annotated[float, option("L", "The level of the intervals.")] = 0.95,
    method: Annotated[str, option("M", "inverse, likelihood, projection or shrinkage.")] = "inverse",
    target: Annotated[str, option("TARGET", "What the intervals are for: table or population.")] = "table",
    simultaneous: Annotated[bool, flag("--simultaneous", "Intervals that hold all at once, column by column.")] = False,
    raw: Annotated[bool, flag("--raw", "Ask the sanitised rows as they are, in DuckDB's SQL.")] = False,
    every: EveryRow = False,
) -> None:
    """Ask a release anything: debiased answers with intervals, free.

    SELECT with COUNT, SUM, AVG, VAR, STDDEV, COVAR, CORR, MIN, MAX, MEDIAN, QUANTILE, MODE, TOP, PROPORTION and
    arithmetic of them; FILTER, WHERE with =, <>, <, BETWEEN, IN, AND, OR, NOT, list_contains; GROUP BY columns and
    BIN(column, width); HAVING, ORDER BY, LIMIT. The table is called release.

    With --json: columns, and rows in which an estimate has estimate, low, high, stderr, raw and informative.
    """
    picture = None if plot is None else picture_file(plot)
    opened = load(release)
    if raw:
        answer: Answer = opened.raw(sql)
    else:
        answer = opened.query(sql, level=level, method=method, target=target, simultaneous=simultaneous)
    if picture is not None:
        answer.plot(picture)
    emit(answer.to_json(), as_json, lambda: page(answer, every))
    if picture is not None:
        advise(f"the picture is in {plot}")


def page(answer: Answer, every: bool = False) -> Page:
    """The table of an answer, all of it or its first rows, and how and with what care it was made."""
    names = [n for n, key in enumerate(answer.columns) if not any(isinstance(row[key], Cell) for row in answer.rows)]
    most = None if every else SHOWN_ROWS
    yield ""
    yield table(map(escape, answer.columns), (map(escape, line) for line in answer.texts(most)), left=names)
    if most is not None and len(answer.rows) > most:
        yield f"… {len(answer.rows) - most:,} more (--all)"
    yield ""
    if answer.method != "raw":
        said = [f"{answer.level:.0%} intervals"] * answer.has_intervals + [escape(answer.method)]
        text = "; ".join(said)
        yield f"[dim]{text[:1].upper()}{text[1:]}.[/dim]"
    yield from (f"[yellow]{escape(note)}[/yellow]" for note in answer.notes)

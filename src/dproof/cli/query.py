"""`dproof query`: debiased answers from a release."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from dproof.cli.command import PATH, command, json_option
from dproof.cli.output import Page, Table, advise, as_options, emit, emit_text, escape, naming_options
from dproof.errors import ArgumentError
from dproof.questions.answer import FORMATS, SHOWN_ROWS, Answer, Cell, endings, output_file

plot_option = click.option("--plot", metavar="FILE", type=PATH, help=f"Draw it into FILE: {endings(pictures=True)}.")
out_option = click.option(
    "--out", metavar="FILE", type=PATH, help=f"Write it to FILE, as the ending says: {endings()}."
)
PRINTED = {"csv": ".csv", "markdown": ".md"}  # formats that a terminal or a pipe takes, by the endings of their files
format_option = click.option(
    "--format", "form", type=click.Choice([*PRINTED]), help="Print it so, with every row; --out also writes .xlsx."
)


@command
@click.argument("release", metavar="DIR", type=PATH, help="The folder of the release.")
@click.argument("sql", metavar="SQL", help="One SELECT ... FROM release.")
@json_option
@format_option
@plot_option
@out_option
@click.option("--level", metavar="L", type=float, default=0.95, help="Confidence level of the intervals.")
@click.option(
    "--method",
    metavar="M",
    default="inverse",
    help="inverse, projection, likelihood, shrinkage or loglinear; central: inverse, projection, model.",
)
@click.option(
    "--target", metavar="TARGET", default="table", help="What the intervals cover: the table or the population."
)
@click.option(
    "--assume", metavar="A", default="nothing", help="What to assume of numbers under wide noise: nothing, or smooth."
)
@click.option("--simultaneous", is_flag=True, help="Simultaneous intervals, for each column.")
@click.option("--raw", is_flag=True, help="Query the sanitised rows without debiasing, in DuckDB's SQL.")
@click.option("--all", "every", is_flag=True, help=f"Print every row, not only the first {SHOWN_ROWS}.")
def query(
    release: Path,
    sql: str,
    as_json: bool,
    form: str | None,
    plot: Path | None,
    out: Path | None,
    level: float,
    method: str,
    target: str,
    assume: str,
    simultaneous: bool,
    raw: bool,
    every: bool,
) -> None:
    """Query a release: debiased answers with intervals, at no cost.

    SELECT with COUNT, SUM, AVG, VAR, STDDEV, COVAR, CORR, MIN, MAX, MEDIAN, QUANTILE, MODE, TOP, PROPORTION and
    arithmetic of them, also inside ROUND, ABS, SQRT, POWER or COALESCE; FILTER, WHERE with =, <>, <, BETWEEN, IN, AND,
    OR, NOT, IS NULL, list_contains; YEAR, QUARTER, MONTH and WEEKDAY of dates; GROUP BY columns, BIN(column, width),
    CASE, unnest(set); HAVING, ORDER BY, LIMIT; WITH and subqueries that name columns and choose rows. The table is
    called release.

    With --json: columns, and rows in which an estimate has estimate, low, high, stderr, raw and informative.
    """
    from dproof.releases.load import load  # `dproof ask` prints answers by this file, and opens no release

    check_form(form, as_json)
    files = [output_file(plot, picture=True)] if plot is not None else []
    files += [output_file(out)] if out is not None else []
    opened = load(release)
    chosen = {"level": level, "method": method, "target": target, "assume": assume, "simultaneous": simultaneous}
    with naming_options():
        answer: Answer = opened.raw(sql) if raw else opened.query(sql, **chosen)
    for file in files:
        answer.save(file)
    emit_answer(answer, answer.to_json(), as_json, form, every)
    for file in files:
        advise(f"the {'picture' if file == plot else 'answer'} is in {file}")


def check_form(form: str | None, as_json: bool) -> None:
    """Refuse two forms at once, before anything is asked or paid for."""
    if form is not None and as_json:
        raise ArgumentError("--json and --format both say how the answer is printed: leave one out")


def emit_answer(answer: Answer, told: Mapping[str, Any], as_json: bool, form: str | None, every: bool) -> None:
    """Print an answer: as a page, or in a format; with `as_json` all that is told of it."""
    if form is None:
        emit(told, as_json, lambda: answer_page(answer, every))
    else:
        emit_text(FORMATS[PRINTED[form]].write(answer).decode())


def answer_page(answer: Answer, every: bool = False) -> Page:
    """The table of an answer, all of it or its first rows, and how and with what care it was made."""
    names = [n for n, key in enumerate(answer.columns) if not any(isinstance(row[key], Cell) for row in answer.rows)]
    most = None if every else SHOWN_ROWS
    yield ""
    yield Table(map(escape, answer.columns), (map(escape, line) for line in answer.texts(most)), left=names)
    if most is not None and len(answer.rows) > most:
        yield f"… {len(answer.rows) - most:,} more (--all)"
    yield ""
    if answer.footer:
        yield f"[dim]{escape(answer.footer)}[/dim]"
    yield from (f"[yellow]{escape(as_options(note))}[/yellow]" for note in dict.fromkeys(answer.notes))

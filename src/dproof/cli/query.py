"""`dproof query`: debiased answers from a release."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from dproof.cli.command import PATH, command, json_option
from dproof.cli.output import Page, Table, advise, as_options, emit, emit_text, escape, naming_options
from dproof.errors import ArgumentError
from dproof.questions.answer import FORMATS, SHOWN_ROWS, Answer, Cell, endings, output_file

_PRINTED = {"csv": ".csv", "markdown": ".md"}  # formats that a terminal or a pipe takes, by the endings of their files


@dataclass(frozen=True, slots=True)
class Printing:
    """How an answer is printed, and the files that it is written to, with what each will hold."""

    as_json: bool
    form: str | None
    every: bool
    files: Mapping[Path, str]

    def emit(self, answer: Answer, told: Mapping[str, Any]) -> None:
        """Print an answer: as a page, or in a format; as JSON all that is told of it."""
        if self.form is None:
            emit(told, self.as_json, lambda: answer_page(answer, self.every))
        else:
            emit_text(FORMATS[_PRINTED[self.form]].write(answer).decode())


def printing_options(all_help: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The options of a command that prints an answer; `all_help` says what --all does.

    The command gets them as its `printing`: what cannot be printed so is refused before anything is asked or paid for.
    """
    options = [
        click.option(
            "--format",
            "form",
            type=click.Choice([*_PRINTED]),
            help="Print it so, with every row; --out also writes .xlsx.",
        ),
        click.option("--plot", metavar="FILE", type=PATH, help=f"Draw it into FILE: {endings(pictures=True)}."),
        click.option("--out", metavar="FILE", type=PATH, help=f"Write it to FILE, as the ending says: {endings()}."),
        click.option("--all", "every", is_flag=True, help=all_help),
        json_option,
    ]

    def declared(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def printing(
            *, as_json: bool, form: str | None, plot: Path | None, out: Path | None, every: bool, **others: Any
        ) -> None:
            if form is not None and as_json:
                raise ArgumentError("--json and --format both say how the answer is printed: leave one out")
            files = {} if plot is None else {output_file(plot, picture=True): "picture"}
            files |= {} if out is None else {output_file(out): "answer"}
            function(**others, printing=Printing(as_json, form, every, files))

        for option in reversed(options):
            option(printing)
        return printing

    return declared


@command
@click.argument("release", metavar="DIR", type=PATH, help="The folder of the release.")
@click.argument("sql", metavar="SQL", help="One SELECT ... FROM release.")
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
@printing_options(f"Print every row, not only the first {SHOWN_ROWS}.")
def query(release: Path, sql: str, raw: bool, printing: Printing, **options: Any) -> None:
    """Query a release: debiased answers with intervals, at no cost.

    SELECT with COUNT, SUM, AVG, VAR, STDDEV, COVAR, CORR, MIN, MAX, MEDIAN, QUANTILE, MODE, TOP, PROPORTION and
    arithmetic of them, also inside ROUND, ABS, SQRT, POWER or COALESCE; FILTER, WHERE with =, <>, <, BETWEEN, IN, AND,
    OR, NOT, IS NULL, list_contains; YEAR, QUARTER, MONTH and WEEKDAY of dates, HOUR of times; GROUP BY columns,
    BIN(column, width), CASE, unnest(set); HAVING, ORDER BY, LIMIT; WITH and subqueries that name columns and choose
    rows. The table is called release.

    With --json: columns, and rows in which an estimate has estimate, low, high, stderr, raw and informative.
    """
    from dproof.releases.load import load  # `dproof ask` prints answers by this file, and opens no release

    if any(file.resolve().parent == release.resolve() for file in printing.files):
        raise ArgumentError("--out or --plot is in the release, which is never changed: choose a place outside it")
    opened = load(release)
    with naming_options():
        answer: Answer = opened.raw(sql) if raw else opened.query(sql, **options)
    for file in printing.files:
        answer.save(file)
    printing.emit(answer, answer.to_json())
    for file, what in printing.files.items():
        advise(f"the {what} is in {file}")


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

"""`dproof query`: debiased answers from a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from dproof.cli.options import AsJson, EveryRow, Plot, argument, flag, option
from dproof.cli.output import advise, answer_page, emit
from dproof.questions.answer import Answer
from dproof.questions.output_formats import output_file
from dproof.releases.load import load


def query(
    release: Annotated[Path, argument("DIR", "The folder of the release.")],
    sql: Annotated[str, argument("SQL", "One SELECT ... FROM release.")],
    as_json: AsJson = False,
    plot: Plot = None,
    level: Annotated[float, option("L", "Confidence level of the intervals.")] = 0.95,
    method: Annotated[
        str,
        option(
            "M",
            "inverse, projection, likelihood, shrinkage or loglinear; central: inverse, projection, model.",
        ),
    ] = "inverse",
    target: Annotated[str, option("TARGET", "What the intervals cover: the table or the population.")] = "table",
    assume: Annotated[str, option("A", "What to assume of numbers under wide noise: nothing, or smooth.")] = "nothing",
    simultaneous: Annotated[bool, flag("--simultaneous", "Simultaneous intervals, for each column.")] = False,
    raw: Annotated[bool, flag("--raw", "Query the sanitised rows without debiasing, in DuckDB's SQL.")] = False,
    every: EveryRow = False,
) -> None:
    """Query a release: debiased answers with intervals, at no cost.

    SELECT with COUNT, SUM, AVG, VAR, STDDEV, COVAR, CORR, MIN, MAX, MEDIAN, QUANTILE, MODE, TOP, PROPORTION and
    arithmetic of them, also inside ROUND, ABS, SQRT, POWER or COALESCE; FILTER, WHERE with =, <>, <, BETWEEN, IN, AND,
    OR, NOT, IS NULL, list_contains; GROUP BY columns, BIN(column, width), CASE, unnest(set); HAVING, ORDER BY, LIMIT;
    WITH and subqueries that name columns and choose rows. The table is called release.

    With --json: columns, and rows in which an estimate has estimate, low, high, stderr, raw and informative.
    """
    picture = None if plot is None else output_file(plot, picture=True)
    opened = load(release)
    if raw:
        answer: Answer = opened.raw(sql)
    else:
        chosen = {"level": level, "method": method, "target": target, "assume": assume, "simultaneous": simultaneous}
        answer = opened.query(sql, **chosen)
    if picture is not None:
        answer.plot(picture)
    emit(answer.to_json(), as_json, lambda: answer_page(answer, every))
    if picture is not None:
        advise(f"the picture is in {plot}")

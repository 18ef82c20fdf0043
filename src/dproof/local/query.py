"""SQL on a release: debiased answers with intervals, or any SQL on the sanitised rows as they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import duckdb
from sqlglot import exp

from dproof.coins import NOT_PRIVATE
from dproof.errors import InputError
from dproof.local.curves import ReleaseCurves
from dproof.local.estimated import ROUGH, SMOOTH, options_of
from dproof.local.measured import measured
from dproof.local.stored import CLOSED, relation
from dproof.plans.plan import ASKED
from dproof.questions.answer import Answer
from dproof.questions.canonical import literal, name
from dproof.questions.measured import answer
from dproof.questions.schema import asks_for_curves, resolve
from dproof.questions.sql import Asked, as_question, read_statement
from dproof.tables.source import Parts

_METHODS = {
    "inverse": "inverse law (unbiased)",
    "approximate": "inverse law (some estimates are approximate, see the note)",
    "likelihood": "maximum likelihood (iterative Bayes)",
    "projection": "inverse law, moved to the nearest table without negative counts",
    "shrinkage": "inverse law, counts shrunk towards each other (empirical Bayes)",
    "loglinear": "inverse law, shrunk towards the tables of two columns (log-linear model; the level of the intervals "
    "holds on average over the cells of the table)",
}
_TARGETS = {
    "table": "the table that was sanitised (privacy noise only)",
    "population": "the population that its rows were drawn from (privacy noise and sampling)",
}
_LONGEST = 100_000  # characters of SQL
_MOST_ROWS = 1_000_000
_ROW_MAKERS = (exp.GenerateSeries, exp.Unnest)  # functions that may stand after FROM: they read nothing
_LABEL = "raw: the sanitised rows as they are, so counts and means are biased by their noise; query(...) debiases them"


def query(release: Any, asked: Asked, **options: Any) -> Answer:
    """The debiased answer to a question on a release, with an interval for each estimate.

    `level` of the intervals; `method` "inverse", "likelihood", "projection", "shrinkage" or "loglinear";
    `target` of the intervals, "table" or "population"; `simultaneous=True` for intervals that hold all at once;
    `assume="smooth"` for narrower intervals of conditions on numbers under wide noise, which hold only where the
    numbers are spread smoothly.

    >>> import pyarrow, dproof as dp
    >>> plan = {"privacy": {"epsilon": 1}, "columns": {"read": {"space": "categories", "values": ["yes", "no"]}}}
    >>> release = dp.sanitise(pyarrow.table({"read": ["yes"] * 300 + ["no"] * 700}), plan)
    >>> [row["read"] for row in query(release, "SELECT read, count(*) FROM release GROUP BY read").rows]
    ['yes', 'no']
    """
    chosen = options_of(options)
    if chosen.method == "model":
        raise InputError("method='model' asks made-up rows, and this release has none: leave the method out")
    schema = release.law.schema
    question = resolve(as_question(asked, "release"), schema)
    if asks_for_curves(question, schema):
        method = f"mean of the released curves (unbiased); simultaneous bands for the {chosen.target}"
        return answer(
            question, schema, lambda level: ReleaseCurves(release, question, chosen.at(level)), chosen.level, method
        )
    answered = answer(question, schema, lambda level: measured(release, question, chosen.at(level)), chosen.level)
    rough = chosen.method == "inverse" and not {ROUGH, SMOOTH}.isdisjoint(answered.notes)
    method = _METHODS["approximate" if rough else chosen.method]
    if SMOOTH in answered.notes:
        method += "; assuming smooth distributions"
    return replace(answered, method=f"{method}; intervals for {_TARGETS[chosen.target]}")


def raw(release: Any, sql: str) -> Answer:
    """The answer of DuckDB to one SELECT over the table `release`, labelled as what it is.

    Nothing but the release can be read: files, extensions, settings and the network are closed to the engine.

    >>> import pyarrow, dproof as dp
    >>> plan = {"privacy": {"epsilon": 1}, "columns": {"read": {"space": "categories", "values": ["yes", "no"]}}}
    >>> release = dp.sanitise(pyarrow.table({"read": ["yes"] * 30}), plan)
    >>> raw(release, "SELECT count(*) AS n FROM release").rows
    [{'n': 30}]
    """
    _check(sql)
    with duckdb.connect(config=CLOSED) as database:  # one of its own: it is locked for good before it reads the SQL
        relation(database, release.data).create_view("stored")
        stored = set(release.law.stored)  # made-up rows leave out curves
        kept = [column for column in release.plan.kept if stored.issuperset(column.stored)]
        columns = ", ".join(f"{column.sql} AS {name(column.name)}" for column in kept)
        columns += f", {name(ASKED)}" if ASKED in release.law.stored else ""
        database.execute(f"CREATE VIEW release AS SELECT {columns} FROM stored")
        _lock(database, release.data)
        try:
            result = database.execute(sql)
            names = tuple(str(column[0]) for column in result.description)
            rows = result.fetchmany(_MOST_ROWS + 1)
        except duckdb.Error as error:
            raise InputError(f"DuckDB cannot answer this: {str(error).split(chr(10))[0]}") from None
    if len(rows) > _MOST_ROWS:
        raise InputError(f"the answer has more than {_MOST_ROWS} rows: add a LIMIT, or read the release's own file")
    if len(set(names)) < len(names):
        raise InputError("two columns of the answer have the same name: give one another with AS")
    notes = (_LABEL,) if release.private else (_LABEL, NOT_PRIVATE)
    answer = [dict(zip(names, row, strict=True)) for row in rows]
    return Answer(names, answer, notes=notes, method="raw")


def _lock(database: Any, data: Any) -> None:
    """Close the engine: the stored files stay readable, and nothing can be changed any more."""
    files = data.files() if isinstance(data, Parts) else data
    allowed = ", ".join(literal(str(path)) for path in files) if isinstance(files, tuple) else ""
    database.execute(f"SET allowed_paths = [{allowed}]")
    database.execute("SET enable_external_access = false")
    database.execute("SET lock_configuration = true")


def _check(sql: str) -> None:
    """Refuse everything but one SELECT over `release`, in words of our own; the locked engine would refuse it too."""
    tree = read_statement(sql, "raw takes one SELECT ... FROM release", _LONGEST)
    if not isinstance(tree, exp.Query):
        raise InputError("raw takes one SELECT: nothing can be attached, copied, installed, set or changed")
    if tree.find(exp.Into):
        raise InputError("raw changes nothing: leave INTO out")
    readable = {str(part.alias).casefold() for part in tree.find_all(exp.CTE)} | {"release"}
    for table in tree.find_all(exp.Table):
        if isinstance(table.this, _ROW_MAKERS):
            continue
        if not isinstance(table.this, exp.Identifier) or table.args.get("db") or table.args.get("catalog"):
            raise InputError("only the table release can be read, no files, functions or other tables")
        if table.name.casefold() not in readable:
            raise InputError(f"there is no table {table.name[:60]!r}: ask FROM release")

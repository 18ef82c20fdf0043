"""SQL on the rows of a release as they are, answered by DuckDB, which is closed to everything else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb
from sqlglot import exp

from dproof.coins import NOT_PRIVATE
from dproof.errors import QuestionError
from dproof.limits import LONGEST_RAW_QUESTION, MOST_RAW_ROWS
from dproof.questions.answer import Answer
from dproof.questions.question import literal, name
from dproof.questions.sql import read_statement
from dproof.tables.duckdb import CLOSED, stored_relation
from dproof.tables.source import Parts

_ROW_MAKERS = (exp.GenerateSeries, exp.Unnest)  # functions that may stand after FROM: they read nothing
_LABEL = "raw: the sanitised rows as they are, so counts and means are biased by their noise; query(...) debiases them"


def raw(data: Any, columns: Mapping[str, str], sql: str, *, private: bool) -> Answer:
    """The answer of DuckDB to one SELECT over the table `release`, labelled as what it is.

    `columns` has the SQL of each column over the stored `data`. Nothing but these can be read: files, extensions,
    settings and the network are closed to the engine.
    """
    _check(sql)
    with duckdb.connect(config=CLOSED) as database:  # one of its own: it is locked for good before it reads the SQL
        stored_relation(database, data).create_view("stored")
        listed = ", ".join(f"{text} AS {name(column)}" for column, text in columns.items())
        database.execute(f"CREATE VIEW release AS SELECT {listed} FROM stored")
        _lock(database, data)
        try:
            result = database.execute(sql)
            names = tuple(str(column[0]) for column in result.description)
            rows = result.fetchmany(MOST_RAW_ROWS + 1)
        except duckdb.Error as error:
            raise QuestionError(f"DuckDB cannot answer this: {str(error).split(chr(10))[0]}") from None
    if len(rows) > MOST_RAW_ROWS:
        raise QuestionError(f"the answer has more than {MOST_RAW_ROWS:,} rows: add a LIMIT, or read the release's file")
    if len(set(names)) < len(names):
        raise QuestionError("two columns of the answer have the same name: give one another with AS")
    notes = (_LABEL,) if private else (_LABEL, NOT_PRIVATE)
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
    tree = read_statement(sql, "raw takes one SELECT ... FROM release", LONGEST_RAW_QUESTION)
    if not isinstance(tree, exp.Query):
        raise QuestionError("raw takes one SELECT: nothing can be attached, copied, installed, set or changed")
    if tree.find(exp.Into):
        raise QuestionError("raw changes nothing: leave INTO out")
    readable = {str(part.alias).casefold() for part in tree.find_all(exp.CTE)} | {"release"}
    for table in tree.find_all(exp.Table):
        if isinstance(table.this, _ROW_MAKERS):
            continue
        if not isinstance(table.this, exp.Identifier) or table.args.get("db") or table.args.get("catalog"):
            raise QuestionError("only the table release can be read, no files, functions or other tables")
        if table.name.casefold() not in readable:
            raise QuestionError(f"there is no table {table.name[:60]!r}: ask FROM release")

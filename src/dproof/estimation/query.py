"""SQL on a release: debiased answers with intervals, or any SQL on the sanitised rows as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import duckdb
import numpy as np
from sqlglot import exp

from dproof.errors import InputError
from dproof.estimation.counted import Counting
from dproof.estimation.curves import ReleaseCurves
from dproof.estimation.estimated import ROUGH, SMOOTH, WAYS_OUT, Options, Warnings, estimate, options_of
from dproof.estimation.order_statistics import OrderStatistics
from dproof.estimation.stored import connected
from dproof.plans.schema import schema_of
from dproof.questions.answer import Answer, Cell
from dproof.questions.building import Asked, as_question
from dproof.questions.canonical import literal, name
from dproof.questions.measured import answer
from dproof.questions.question import Aggregate, Expression, Question, aggregates, aggregates_of, expressions
from dproof.questions.regions import grouping
from dproof.questions.schema import Open, Schema, asks_for_curves, resolve
from dproof.questions.sql import read_statement
from dproof.questions.sums import centred_terms
from dproof.tables.source import Parts

_METHODS = {
    "inverse": "inverse law (unbiased)",
    "approximate": "inverse law (some estimates are approximate, see the note)",
    "likelihood": "maximum likelihood (iterative Bayes)",
    "projection": "inverse law, moved to the nearest table without negative counts",
    "shrinkage": "inverse law, counts drawn towards each other (empirical Bayes)",
}
_TARGETS = {
    "table": "the table that was sanitised (privacy noise only)",
    "population": "the population that its rows were drawn from (privacy noise and sampling)",
}
_LONGEST = 100_000  # characters of SQL
_MOST_ROWS = 1_000_000
_MOST_GROUPS = 10_000
_ROW_MAKERS = (exp.GenerateSeries, exp.Unnest)  # functions that may stand after FROM: they read nothing
_LABEL = "raw: the sanitised rows as they are, so counts and means are biased by their noise; query(...) debiases them"


def query(release: Any, asked: Asked, **options: Any) -> Answer:
    """The debiased answer to a question on a release, with an interval for each estimate.

    `level` of the intervals; `method` "inverse", "likelihood", "projection" or "shrinkage"; `target` of the intervals,
    "table" or "population"; `simultaneous=True` for intervals that hold all at once; `assume="smooth"` for narrower
    intervals of conditions on numbers under wide noise, which hold only where the numbers are spread smoothly.

    >>> import pyarrow, dproof as dp
    >>> plan = {"privacy": {"epsilon": 1}, "columns": {"read": {"space": "categories", "values": ["yes", "no"]}}}
    >>> release = dp.sanitise(pyarrow.table({"read": ["yes"] * 300 + ["no"] * 700}), plan)
    >>> [row["read"] for row in query(release, "SELECT read, count(*) FROM release GROUP BY read").rows]
    ['yes', 'no']
    """
    chosen = options_of(options)
    if chosen.method == "model":
        raise InputError("method='model' asks made-up rows, and this release has none: leave the method out")
    schema = schema_of(release.law.plan, "release")
    question = resolve(as_question(asked, "release"), schema)
    if asks_for_curves(question, schema):
        curves = ReleaseCurves(release, question, chosen)
        return answer(question, schema, curves, chosen.level, curves.method)
    answered = answer(question, schema, MeasuredRelease(release, question, chosen), chosen.level)
    rough = chosen.method == "inverse" and not {ROUGH, SMOOTH}.isdisjoint(answered.notes)
    method = _METHODS["approximate" if rough else chosen.method]
    if SMOOTH in answered.notes:
        method += "; assuming smooth distributions"
    return replace(answered, method=f"{method}; intervals for {_TARGETS[chosen.target]}")


class MeasuredRelease:
    """One question on the stored rows of a release: estimated sums, and order statistics (see `Measured`)."""

    ways_out = WAYS_OUT

    def __init__(self, release: Any, question: Question, options: Options) -> None:
        self.question, self.rows, self.private = question, release.rows, release.private
        schema, asked = schema_of(release.law.plan, "release"), aggregates(question)
        _check_groups(question, schema)
        formulas = [a for a in asked if a.definition.formula] or [Aggregate("count")]
        needed = list(dict.fromkeys(term for a in formulas for term in centred_terms(a, question.where, schema)))
        counting = Counting(release.law, needed, question.group_by)
        table, combos = counting.read(release.data, release.rows)
        groups = counting.groups(combos)
        self.labels = groups.labels
        occurs = counting.occurring(question.where, table, groups) if question.group_by else np.ones(1, bool)
        self.shown = np.flatnonzero(occurs).tolist()
        self.estimated = estimate(counting, table, groups, needed, question, options)
        self.statistics = OrderStatistics(release, question, options, groups.labels)
        self.special = {a: self.statistics.cells(a) for a in asked if a.definition.formula is None}
        self.found: dict[Expression, tuple[Sequence[Cell], Warnings]] = {}

    def _found(self, expression: Expression) -> tuple[Sequence[Cell], Warnings]:
        """The cells of all groups, and what to say about them."""
        if expression not in self.found:
            special = [part for part in aggregates_of(expression) if part in self.special]
            if isinstance(expression, Aggregate) and special:
                self.found[expression] = self.special[expression], self.estimated.rough_note(self.statistics.rough)
            elif special:
                raise InputError(f"{special[0].kind.upper()} cannot be calculated with: select it by itself")
            else:
                self.found[expression] = self.estimated.cells(expression)
        return self.found[expression]

    def estimates(self, expression: Expression) -> Sequence[Any]:
        return self._found(expression)[0]

    def cells(self, expression: Expression, groups: Sequence[int]) -> Sequence[Any]:
        cells, _ = self._found(expression)
        return [cells[n] for n in groups]

    def notes(self, groups: Sequence[int]) -> Iterator[str]:
        warnings = [w for part in expressions(self.question) if part in self.found for w in self.found[part][1]]
        yield from (note for n in groups for note, which in warnings if which[n])
        if not self.private:
            yield "NOT PRIVATE: drawn with seeded coins"


def _check_groups(question: Question, schema: Schema) -> None:
    """Refuse more groups than can be told apart in good time; those of public columns are as many as there are."""
    private = (key for key in question.group_by if not isinstance(schema.spaces[key.column], Open))
    groups = prod(len(grouping(key, schema).labels) for key in private)
    if groups > _MOST_GROUPS:
        raise InputError(
            f"the question has {groups:,} groups, and {_MOST_GROUPS:,} are the most: group by fewer columns, by wider "
            "bins such as BIN(age, 10), or ask with WHERE for those that matter"
        )


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
    with connected(release.data, "stored") as database:
        kept = [column for column in release.plan.columns if column.kind != "drop"]
        columns = ", ".join(f"{column.sql} AS {name(column.name)}" for column in kept)
        database.execute(f"CREATE VIEW release AS SELECT {columns} FROM stored")
        _lock(database, release.data)
        try:
            found = database.execute(sql)
            names = tuple(str(column[0]) for column in found.description)
            rows = found.fetchmany(_MOST_ROWS + 1)
        except duckdb.Error as error:
            raise InputError(f"DuckDB cannot answer this: {str(error).split(chr(10))[0]}") from None
    if len(rows) > _MOST_ROWS:
        raise InputError(f"the answer has more than {_MOST_ROWS} rows: add a LIMIT, or read the release's own file")
    if len(set(names)) < len(names):
        raise InputError("two columns of the answer have the same name: give one another with AS")
    notes = (_LABEL,) if release.private else (_LABEL, "NOT PRIVATE: drawn with seeded coins")
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
    own = {str(part.alias).casefold() for part in tree.find_all(exp.CTE)} | {"release"}
    for table in tree.find_all(exp.Table):
        if isinstance(table.this, _ROW_MAKERS):
            continue
        if not isinstance(table.this, exp.Identifier) or table.args.get("db") or table.args.get("catalog"):
            raise InputError("only the table release can be read, no files, functions or other tables")
        if table.name.casefold() not in own:
            raise InputError(f"there is no table {table.name[:60]!r}: ask FROM release")

"""The questions that a plan says will be asked: checked with the plan, before there is any data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from dproof.columns.column import Column
from dproof.errors import InputError
from dproof.plans.reader import Reader
from dproof.questions.question import Question
from dproof.questions.schema import Open, Schema, resolve
from dproof.questions.sql import parse

_TABLES = ("data", "release")  # what the table is called: by a curator, and in a release


@dataclass(frozen=True, slots=True)
class Planned:
    """A question that will be asked, and how much it counts beside the others.

    `share_of_rows` is about what part of the rows a group of it has, or a condition in it: public knowledge, which
    only the ± that is told beforehand depends on.
    """

    sql: str
    weight: Fraction
    share_of_rows: Fraction | None = None


def read_questions(tables: Iterable[Reader], columns: Iterable[Column]) -> tuple[Planned, ...]:
    """The [[questions]] of a plan; each must be one that can be asked about its columns."""
    found = []
    for table in tables:
        sql, weight = table.text("sql"), table.number("weight", Fraction(1))
        if weight <= 0:
            raise table.wrong("weight", "must be positive: it says how much the question counts beside the others")
        share = table.number("share_of_rows") if "share_of_rows" in table else None
        if share is not None and not 0 < share <= 1:
            raise table.wrong("share_of_rows", "must lie between 0 and 1: about what part of the rows a group has")
        try:
            checked_question(sql, columns)
        except InputError as error:
            raise table.wrong("sql", f"is wrong: {error}") from None
        table.finish()
        found.append(Planned(sql, weight, share))
    return tuple(found)


def checked_question(sql: str, columns: Iterable[Column]) -> Question:
    """The question that a text asks about the columns of a plan, of the table or of its release.

    >>> checked_question("SELECT count(*) FROM people", ())
    Traceback (most recent call last):
    dproof.errors.InputError: there is no table 'people': ask FROM data or FROM release
    """
    parsed = parse(sql)
    if parsed.table.casefold() not in _TABLES:
        raise InputError(f"there is no table {parsed.table!r}: ask FROM data or FROM release")
    spaces = {column.name: column.space if column.private else Open() for column in columns if column.kind != "drop"}
    gaps = frozenset(c.name for c in columns if c.private and c.refuses and parsed.table.casefold() == "data")
    return resolve(parsed, Schema(parsed.table, spaces, gaps))

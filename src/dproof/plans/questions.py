"""The questions that a plan says will be asked: checked with the plan, before there is any data.

They say what is needed of each column, by which `mechanism = "auto"` chooses a law, and which bins numbers need.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import exp
from typing import Any, Literal

from dproof.columns.codec import Column
from dproof.errors import InputError, QuestionError
from dproof.plans.plan import ColumnGroup, data_schema, release_schema, true_columns
from dproof.plans.reader import Reader
from dproof.questions.partition import cut
from dproof.questions.question import (
    Aggregate,
    Contains,
    Question,
    Schema,
    atoms,
    leaves,
    resolve,
)
from dproof.questions.sql import parse
from dproof.spaces.interval import bins_from, whole_scale


@dataclass(frozen=True, slots=True)
class PlannedQuestion:
    """A question that will be asked, and how much it counts beside the others.

    `question` is what its text asks about the columns of the plan. `share_of_rows` is about what part of the rows a
    group of it has, or a condition in it, or has a value at all; `mean` is about what the mean that it asks for is:
    public knowledge, which only the ± that is told beforehand depends on. `title` is what the report calls it.
    """

    sql: str
    question: Question = field(repr=False, compare=False)
    weight: Fraction = Fraction(1)
    share_of_rows: Fraction | None = None
    title: str = ""
    mean: Fraction | None = None


def read_questions(tables: Iterable[Reader], columns: Sequence[Column]) -> tuple[PlannedQuestion, ...]:
    """The [[questions]] of a plan; each must be one that can be asked about its columns."""
    found = []
    for table in tables:
        sql, weight = table.text("sql"), table.number("weight", Fraction(1))
        if weight <= 0:
            raise table.wrong("weight", "must be positive: it says how much the question counts beside the others")
        share = table.number("share_of_rows") if "share_of_rows" in table else None
        if share is not None and not 0 < share <= 1:
            raise table.wrong("share_of_rows", "must lie between 0 and 1: about what part of the rows a group has")
        title, mean = table.line("title"), table.number("mean", None)
        try:
            planned = planned_question(sql, columns, weight, share)
        except InputError as error:
            raise table.wrong("sql", f"is wrong: {error}") from None
        if mean is not None and not _can_be_mean(planned.question, mean, columns):
            raise table.wrong(
                "mean", "must lie in the range of the one number whose AVG is asked for: about what it is"
            )
        found.append(replace(planned, title=title, mean=mean))
        table.finish()
    return tuple(found)


def _can_be_mean(question: Question, mean: Fraction, columns: Iterable[Column]) -> bool:
    """Whether a question asks for the mean of one number, in whose range this is."""
    averaged = {name for part in question.aggregates for name in part.columns if part.definition.moment == "mean"}
    space = next((column.space for column in columns if {column.name} == averaged and column.private), None)
    if space is None or not space.has_sums or space.holds_curves:
        return False
    scale = whole_scale(space, True)
    return scale.value(scale.ends[0]) <= mean <= scale.value(scale.ends[1])


def planned_question(
    sql: str, columns: Iterable[Column], weight: Fraction = Fraction(1), share_of_rows: Fraction | None = None
) -> PlannedQuestion:
    """The question that a text asks about the columns of a plan, of the table or of its release.

    >>> planned_question("SELECT count(*) FROM people", ())
    Traceback (most recent call last):
    dproof.errors.QuestionError: there is no table 'people': ask FROM data or FROM release
    """
    # A name after GROUP BY may still stand for what is selected under it: plans of stored releases say it so.
    parsed = replace(parse(sql), named_keys=())
    if parsed.table.casefold() not in ("data", "release"):
        raise QuestionError(f"there is no table {parsed.table!r}: ask FROM data or FROM release")
    is_of_release = parsed.table.casefold() == "release"
    schema = release_schema(columns) if is_of_release else data_schema(columns, true_columns(columns))
    return PlannedQuestion(sql, resolve(parsed, schema), weight, share_of_rows)


Use = Literal["sums", "values", "ranks", "items", "more", "rows"]


def uses(questions: Iterable[PlannedQuestion], columns: Iterable[Column]) -> dict[str, frozenset[Use]]:
    """For each column that some question touches, what is asked of it.

    "sums" of its numbers, as in a mean; its "values" one by one or some together, as in conditions and groups; "ranks",
    as in a quantile; "items" of its sets, one in each question or by `unnest`; "more" is anything else, such as a
    variance, or two items together. "rows" is no question's: each row must hold a value.

    >>> from dproof import Plan
    >>> asked = [{"sql": "SELECT avg(age) FROM release WHERE town = 'Bonn'"}]
    >>> plan = Plan.from_dict({"privacy": {"epsilon": 1}, "questions": asked, "columns": {
    ...     "age": {"space": "interval", "low": 0, "high": 110},
    ...     "town": {"space": "categories", "values": ["Bonn", "Köln"]}}})
    >>> [sorted(group.uses) for group in plan.groups]
    [['sums'], ['values']]
    """
    found = dict[str, set[Use]]()
    private = [column for column in columns if column.private]
    optional = {column.name for column in private if column.space.absent is not None}
    sets = {column.name for column in private if column.space.items is not None}
    for planned in questions:
        for question in planned.question.by_item:
            for name, use in _uses(question, optional, sets):
                found.setdefault(name, set()).add(use)
    return {name: frozenset(some) for name, some in found.items()}


def _uses(question: Question, optional: set[str], sets: set[str]) -> Iterable[tuple[str, Use]]:
    """The columns of one question, each with a use; `optional` columns may have missing values."""
    for key in question.group_by:
        yield key.column, "values"
    for aggregate in question.aggregates:
        for place, column in enumerate(aggregate.columns):
            yield (
                column,
                _use_by(aggregate, place) if column not in sets else _use_of_set(aggregate, column in optional),
            )
    conditions = [atom for where in question.wheres for atom in atoms(where)]
    items = {leaf for atom in conditions for leaf in leaves(atom) if isinstance(leaf, Contains)}
    for atom in conditions:
        for leaf in leaves(atom):
            alone = sum(other.column == leaf.column for other in items) == 1
            if leaf not in items:
                yield leaf.column, "values"
            elif alone and (leaf is atom or leaf.column not in optional):
                yield leaf.column, "items"
            else:  # a set that does not hold an item must be there, which is another item
                yield leaf.column, "more"


def _use_by(aggregate: Aggregate, place: int) -> Use:
    """The use that an aggregate makes of the column in this place of its parentheses."""
    definition = aggregate.definition
    if definition.chosen is not None:
        return "values" if definition.is_by_count else "ranks"
    if definition.formula is None:
        return "more"
    return "sums" if all(term.count(place) <= 1 for term in definition.sums) else "more"


def _use_of_set(aggregate: Aggregate, is_optional: bool) -> Use:
    """The use that an aggregate makes of sets: their most frequent items are counted one by one."""
    return "items" if aggregate.definition.is_by_count and not is_optional else "more"


_MOST_BINS = 128  # of a number, for what is asked
_BINS_OF_RANKS = 25  # for quantiles, where ε is small


def question_bins(group: ColumnGroup, questions: Iterable[PlannedQuestion], schema: Schema, epsilon: Fraction) -> Any:
    """The bins by which a number answers what is asked of it, where that is conditions, groups and quantiles; or None.

    They make every condition a count. For quantiles there are 25, or e^ε, at which most rows still keep their bin.
    Noise on the number itself serves sums and means, so a number of which these are asked has no such bins.
    """
    column, *joined = group.columns
    served = group.uses and group.uses <= {"values", "ranks"}
    if joined or not served or group.mechanism != "auto" or column.bins is not None or column.space.line is None:
        return None
    values = column.space.without_missing
    own = [planned.question for planned in questions if column.name in planned.question.columns]
    starts = _starts(own, column.name, schema)
    if "ranks" in group.uses:
        most = int(min(max(_BINS_OF_RANKS, exp(min(float(epsilon), 700.0))), _MOST_BINS))
        starts |= {*range(0, values.size, -(-values.size // most))}
    return bins_from(values, sorted(starts)) if 1 < len(starts) <= _MOST_BINS else None


def _starts(asked: Iterable[Question], name: str, schema: Schema) -> set[int]:
    """The codes at which some condition or group of a column begins."""
    values = schema.declared(name).without_missing
    starts = {0}
    for question in asked:
        keys = [key for key in question.group_by if key.column == name]
        if any(key.width is None and key.part is None and not key.cases for key in keys):
            return {*range(values.size)} if values.size <= _MOST_BINS else set()
        axis = next((axis for axis in cut(schema, question.wheres, keys, [name]).axes if axis.column == name), None)
        starts |= set() if axis is None else {int(start) for start in axis.first if 0 <= start < values.size}
    return starts

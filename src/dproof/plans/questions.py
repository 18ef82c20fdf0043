"""The questions that a plan says will be asked: checked with the plan, before there is any data.

They say what is needed of each column, by which `mechanism = "auto"` chooses a law, and which bins numbers need.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

from dproof.columns.codec import Column
from dproof.errors import InputError, QuestionError
from dproof.plans.plan import Plan, data_schema, release_schema, schema_of
from dproof.plans.reader import Reader
from dproof.questions.aggregates import Frequent
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
from dproof.spaces.interval import whole_scale


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
    schema = data_schema(columns) if parsed.table.casefold() == "data" else release_schema(columns)
    return PlannedQuestion(sql, resolve(parsed, schema), weight, share_of_rows)


Use = Literal["sums", "values", "items", "more"]


def uses(questions: Iterable[PlannedQuestion], columns: Iterable[Column]) -> dict[str, frozenset[Use]]:
    """For each column that some question touches, what is asked of it.

    "sums" of its numbers, as in a mean; its "values" one by one or some together, as in conditions and groups; "items"
    of its sets, one in each question; "more" is anything else, such as a quantile, a variance, or two items together.

    >>> from dproof import Plan
    >>> asked = [{"sql": "SELECT avg(age) FROM release WHERE town = 'Bonn'"}]
    >>> plan = Plan.from_dict({"privacy": {"epsilon": 1}, "questions": asked, "columns": {
    ...     "age": {"space": "interval", "low": 0, "high": 110},
    ...     "town": {"space": "categories", "values": ["Bonn", "Köln"]}}})
    >>> [sorted(group.uses) for group in plan.groups]
    [['sums'], ['values']]
    """
    found = dict[str, set[Use]]()
    optional = {column.name for column in columns if column.private and column.space.absent is not None}
    for planned in questions:
        for name, use in _uses(planned.question, optional):
            found.setdefault(name, set()).add(use)
    return {name: frozenset(some) for name, some in found.items()}


def _uses(question: Question, optional: set[str]) -> Iterable[tuple[str, Use]]:
    """The columns of one question, each with a use; `optional` columns may have missing values."""
    asked = question.aggregates
    for key in question.group_by:
        yield key.column, "values"
    for aggregate in asked:
        for place, column in enumerate(aggregate.columns):
            yield column, _use_by(aggregate, place)
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
    if isinstance(definition.chosen, Frequent):
        return "values"
    if definition.formula is None:
        return "more"
    return "sums" if all(term.count(place) <= 1 for term in definition.sums) else "more"


_MOST_BINS = 40  # bins; with more of them counts are no sharper than conditions under noise


def question_bins(plan: Plan) -> dict[str, list[Any]]:
    """The edges that make every condition of the questions a count, for each number without bins that has conditions
    and of which no question needs more than counts.

    >>> hours = {"space": "interval", "low": 1, "high": 99, "step": 1}
    >>> asked = [{"sql": "SELECT count(*) FROM release WHERE hours = 40"}]
    >>> plan = Plan.from_dict({"privacy": {"epsilon": 1}, "columns": {"hours": hours}, "questions": asked})
    >>> question_bins(plan)
    {'hours': [1, 40, 41, 99]}
    """
    asked = [planned.question for planned in plan.questions]
    summed = {column for question in asked for aggregate in question.aggregates for column in aggregate.columns}
    found, schema = {}, schema_of(plan, "release")
    for group in plan.groups:
        column, *joined = group.columns
        own = [question for question in asked if column.name in question.columns]
        free = column.bins is None and not joined and group.mechanism == "auto" and column.name not in summed
        if free and own and column.space.line is not None and (edges := _edges(own, column.name, schema)):
            found[column.name] = edges
    return found


def _edges(asked: list[Question], name: str, schema: Schema) -> list[Any]:
    """The edges at which some condition or group of a column begins; none where these are no bins."""
    space = schema.declared(name)
    values = space.without_missing
    starts = {0}
    for question in asked:
        keys = [key for key in question.group_by if key.column == name]
        if any(key.width is None and key.part is None for key in keys):
            return []  # every value by itself
        axis = next(axis for axis in cut(schema, question.wheres, keys, [name]).axes if axis.column == name)
        starts |= {int(start) for start in axis.first if 0 <= start < values.size}
    # The last bin has the high end as its upper edge, so that cannot be the lower edge of another.
    if not 1 < len(starts) <= _MOST_BINS or values.size - 1 in starts:
        return []
    return [values.label(code) for code in (*sorted(starts), values.size - 1)]

"""What the [[questions]] of a plan need of each column: `mechanism = "auto"` chooses a law by it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from dproof.columns.column import Column
from dproof.plans.questions import Planned, checked_question
from dproof.questions.aggregates import Frequent
from dproof.questions.question import Aggregate, Contains, Question, aggregates, atoms, leaves

Use = Literal["sums", "values", "items", "more"]


def uses(questions: Iterable[Planned], columns: Iterable[Column]) -> dict[str, frozenset[Use]]:
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
    known, found = list(columns), dict[str, set[Use]]()
    optional = {column.name for column in known if column.private and column.space.absent is not None}
    for planned in questions:
        for name, use in _uses(checked_question(planned.sql, known), optional):
            found.setdefault(name, set()).add(use)
    return {name: frozenset(some) for name, some in found.items()}


def _uses(question: Question, optional: set[str]) -> Iterable[tuple[str, Use]]:
    asked = aggregates(question)
    for key in question.group_by:
        yield key.column, "values"
    for aggregate in asked:
        for place, column in enumerate(aggregate.columns):
            yield column, _summed(aggregate, place)
    conditions = [atom for where in (question.where, *(a.where for a in asked)) for atom in atoms(where)]
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


def _summed(aggregate: Aggregate, place: int) -> Use:
    definition = aggregate.definition
    if isinstance(definition.chosen, Frequent):
        return "values"
    if definition.formula is None:
        return "more"
    return "sums" if all(term.count(place) <= 1 for term in definition.sums) else "more"

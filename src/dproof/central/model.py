"""Questions that measured tables cannot answer, answered from the made-up rows: by a model, without an interval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from dproof.coins import NOT_PRIVATE
from dproof.columns.column import Column
from dproof.curator.simulate import Statistics, value_of
from dproof.errors import InputError
from dproof.local.estimated import options_of
from dproof.plans.schema import schema_of
from dproof.questions.aggregates import Rank
from dproof.questions.answer import Answer, Cell
from dproof.questions.counting import Counter
from dproof.questions.distinct import number_of_values
from dproof.questions.measured import answer, refuse_calculation
from dproof.questions.partition import grouping
from dproof.questions.question import Aggregate, Expression, Question, aggregates, columns
from dproof.questions.schema import Schema, resolve
from dproof.questions.sql import Asked, as_question
from dproof.questions.sums import Term, terms

_METHOD = "model-based: counted in the made-up rows"
_NOTE = (
    "model-based: made-up rows are near the measured tables, and what goes beyond these is a guess without an interval"
)


def query_model(release: Any, asked: Asked, **options: Any) -> Answer:
    """What the made-up rows of a release say, without intervals: nobody knows how far they are from the truth."""
    if options_of(options).simultaneous:
        raise InputError("answers of method='model' have no intervals: leave simultaneous out")
    schema = schema_of(release.plan, "release")
    question = resolve(as_question(asked, "release"), schema)
    curve = next((name for name in columns(question) if schema.spaces[name].holds_curves), None)
    if curve is not None:
        raise InputError(f"made-up rows leave out curves: ask about {curve!r} without method='model'")
    rows = ModelRows(release, question, schema)
    return answer(question, schema, lambda _: rows, options_of(options).level, _METHOD)


def _codes(column: Column, batch: Any) -> Any:
    """What stored rows hold. A source is read otherwise: a missing set, for one, is stored as an item."""
    return column.space.restore(column, [batch.column(name) for name in column.stored])


class ModelRows:
    """One question on the made-up rows of a release (see `Measured`)."""

    ways_out = "a release with a larger ε"

    def __init__(self, release: Any, question: Question, schema: Schema) -> None:
        self.schema, self.private, self.rows = schema, release.private, None
        wanted = aggregates(question)
        sums = [term for aggregate in wanted for term in terms(aggregate, schema)]
        every, chosen = Term((), None), [aggregate for aggregate in wanted if not terms(aggregate, schema)]
        counter = Counter(schema, question.group_by, question.where, list(dict.fromkeys([every, *sums, *chosen])))
        for batch in release.to_arrow().to_batches():
            counter.add(batch.num_rows, {name: _codes(release.plan.column(name), batch) for name in columns(question)})
        counted = counter.finish()
        self.labels = list(product(*(grouping(key, schema).labels for key in question.group_by)))
        occurs = counted.sums[every]
        self.shown = [n for n, rows in enumerate(occurs) if rows or not question.group_by]
        self.stats: Statistics = {term: np.array(totals, float) for term, totals in counted.sums.items()}
        self.chosen = {one: [self._chosen(one, histogram) for histogram in counted.histograms[one]] for one in chosen}

    def _chosen(self, aggregate: Aggregate, histogram: Mapping[int, int]) -> Any:
        """A quantile, an extreme, the most frequent values, or how many values there are: None of no rows."""
        definition, space = aggregate.definition, self.schema.declared(aggregate.columns[0])
        if definition.counts == "values":
            return number_of_values(aggregate, self.schema, histogram)
        if space.items is not None:
            counts: dict[Any, int] = {
                item: sum(n for code, n in histogram.items() if code >> place & 1)
                for place, item in enumerate(space.items)
            }
        else:
            counts = {space.label(code): n for code, n in histogram.items()}
        if not isinstance(definition.chosen, Rank):
            ranked = sorted((value for value in counts if counts[value]), key=lambda value: -counts[value])
            return ranked[: int(aggregate.argument)] if aggregate.argument else next(iter(ranked), None)
        ordered = sorted(counts)
        if not ordered or definition.chosen.end:
            return (ordered[0] if definition.chosen.end == "least" else ordered[-1]) if ordered else None
        below = np.cumsum([counts[value] for value in ordered])
        return ordered[int(np.argmax(below >= float(aggregate.argument or 0) * below[-1]))]

    def _estimates(self, expression: Expression) -> Sequence[Any]:
        if isinstance(expression, Aggregate) and expression in self.chosen:
            return self.chosen[expression]
        refuse_calculation(expression, self.chosen)
        with np.errstate(all="ignore"):
            found = value_of(expression, self.stats, self.schema, clip=False)
        numbers = np.broadcast_to(found, len(self.labels)).tolist()
        whole = isinstance(expression, Aggregate) and expression.definition.counts
        return [None if not np.isfinite(n) else round(n) if whole else n for n in numbers]

    def cells(self, expression: Expression, groups: Sequence[int]) -> Sequence[Any]:
        estimates = self._estimates(expression)
        return [Cell(estimates[n], raw=estimates[n]) for n in groups]

    def notes(self, groups: Sequence[int]) -> Iterator[str]:
        yield _NOTE
        if not self.private:
            yield NOT_PRIVATE

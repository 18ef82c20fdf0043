"""What an analyst sees before paying: the cost of a question and ± of its answer, from public knowledge alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np

from dproof.curator.account import Released
from dproof.curator.answer import WAYS_TO_ASK, NoisyAnswerSource, NoisyCurves, is_known
from dproof.curator.recipe import Measurement, NoisyStatistic
from dproof.curator.select import promise
from dproof.errors import ArgumentError, InputError, TooLarge
from dproof.exact import int_or_float, least_with, several, written
from dproof.limits import LARGEST_FOUND_EPSILON
from dproof.privacy import Cost
from dproof.questions.answer import Range, plain_json
from dproof.questions.measured import (
    Shares,
    changes_widths,
    interval_widths,
    level_of_shown,
    possible_columns,
    rows_of_group,
    values_of,
)
from dproof.questions.question import (
    Aggregate,
    Contains,
    Key,
    Schema,
    both,
    canonical,
    condition,
    expression,
    in_short,
    measured_parts,
)
from dproof.questions.sensitivity import Sensitivity, sensitivity_of
from dproof.questions.sums import Term, chooses, even_sums, present
from dproof.spaces.interval import Scale

_MOST_ALIKE = 16  # mechanisms with the same noise that are each told
_SEED = bytes(32)  # of simulated noise: one for all tables, so that ± differ by what is asked alone
_DEPENDS = "the interval depends on the data, so it cannot be previewed"
_ESTIMATED = "; `dproof plan` with --rows and --question estimates it for a common and a rare group"


@dataclass(frozen=True, eq=False)  # without slots: what follows from it is worked out once
class Preview:
    """The price, the sensitivity with its evidence, the mechanisms, and the half-width of each interval."""

    measurement: Measurement
    level: float
    free: bool
    remaining: Cost
    times: int  # that the cost may still be paid
    rows: int | None  # where their number is public
    notes: tuple[str, ...]

    @property
    def asked(self) -> str:
        return canonical(self.measurement.question)

    @property
    def cost(self) -> Cost:
        """What a ledger would debit, with the ρ that it buys where that is counted."""
        return self.measurement.price

    @cached_property
    def sensitivity(self) -> Sensitivity | None:
        """How far a row moves the answer; None where that is not known, or not all that a person can do."""
        measurement, unit = self.measurement, self.measurement.unit
        if unit.row_is_person and measurement.curves is None:
            with suppress(InputError):  # a ratio, or several statistics of which one is no sum: its parts have one each
                return sensitivity_of([measurement.question], measurement.schema, unit.neighbours, self.rows or 1)
        return None

    @cached_property
    def mechanisms(self) -> tuple[str, ...]:
        """What is done to each number that leaves the table, in words."""
        measurement, curves = self.measurement, self.measurement.curves
        texts = [_noise_text(noisy, measurement.schema) for noisy in measurement.noisy]
        texts += [] if curves is None else [f"{name}: {curves.method}" for name in self.half_widths]
        for choice in measurement.chosen:
            rate = f"{int_or_float(choice.rate):.6g}"
            texts.append(f"{promise(choice, self.level, measurement.question)} ({choice.mechanism}, rate {rate})")
        return tuple(texts)

    @cached_property
    def _widths(self) -> dict[str, tuple[float | None, float | None]]:
        known = known_widths(self.measurement, self.level, self.rows).items()
        return {name: (None, None) if width == math.inf else (width, error) for name, (width, error) in known}

    @property
    def half_widths(self) -> dict[str, float | None]:
        """± of each column of the answer; None where it depends on the table, and of what is chosen."""
        return {name: width for name, (width, _) in self._widths.items()}

    @property
    def errors(self) -> dict[str, float | None]:
        """The expected absolute error of each column; None where it depends on the table."""
        return {name: error for name, (_, error) in self._widths.items()}

    @cached_property
    def ranges(self) -> dict[str, Range]:
        """What is possible at all where that is narrower than the half-width: such an answer would tell nothing."""
        if self.measurement.curves is not None:  # a band that is too wide at one point may tell something at another
            return {}
        reached = possible_columns(self.measurement.question, self.measurement.schema, self.rows)
        return {name: reach for name, reach in reached.items() if not reach.is_narrowed_by(self.half_widths[name])}

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield in_short(self.asked)
        yield "free: it was answered before, or no row can change it" if self.free else f"costs {self.cost}"
        yield f"left to spend: {self.remaining}"
        if not self.free:
            yield f"  enough for {several(self.times, 'question')} at this price"
        sensitivity = self.sensitivity
        if sensitivity is not None and sensitivity.l1 is not None:
            yield f"sensitivity ({sensitivity.neighbours}, {sensitivity.kind}): {int_or_float(sensitivity.l1)}"
            if sensitivity.witness is not None and sensitivity.l1:
                before, after = (_table_text(rows) for rows in (sensitivity.witness.before, sensitivity.witness.after))
                yield f"  attained by {before} and {after}"
        yield from (f"mechanism: {text}" for text in _alike_once(self.mechanisms))
        chosen = [choice.aggregate for choice in self.measurement.chosen]
        picked = [item.alias for item in self.measurement.question.select if item.expression in chosen]
        for name, (width, error) in self._widths.items():
            if name in picked:
                yield f"{name}: chosen, not measured, so it has no interval; the mechanism above says how good it is"
            elif width is None:
                yield f"{name}: {_DEPENDS}{_ESTIMATED if self.measurement.curves is None else ''}"
            else:
                off = f"{written(error)} off on average"
                yield f"{name}: ± {written(width)} with probability {self.level:g}, {off}"
            if name in self.ranges and width is not None:
                low, high = (written(end) for end in (self.ranges[name].low, self.ranges[name].high))
                anyway = f"{name} lies between {low} and {high} anyway"
                yield f"  no information at this ε: {anyway}. Ways out: {WAYS_TO_ASK}"
        yield from self.notes

    def to_json(self) -> dict[str, Any]:
        """One JSON object."""
        sensitivity, moved = self.sensitivity, None
        if sensitivity is not None and sensitivity.l1 is not None and sensitivity.l2_squared is not None:
            witness = sensitivity.witness
            shown = (
                None if witness is None else {"before": _rows_json(witness.before), "after": _rows_json(witness.after)}
            )
            moved = {
                "l1": int_or_float(sensitivity.l1),
                "l2_squared": int_or_float(sensitivity.l2_squared),
                "kind": sensitivity.kind,
                "witness": shown,
            }
        return {
            "question": self.asked,
            "cost": self.cost.to_json_above(),
            "free": self.free,
            "remaining": self.remaining.to_json(),
            "neighbours": self.measurement.unit.neighbours,
            "sensitivity": moved,
            "mechanisms": list(self.mechanisms),
            "half_widths": self.half_widths,
            "errors": self.errors,
            "informative": {name: name not in self.ranges for name in self.half_widths},
            "level": self.level,
            "notes": list(self.notes),
        }


def known_widths(
    measurement: Measurement, level: float, rows: int | None
) -> dict[str, tuple[float | None, float | None]]:
    """The half-width and the expected absolute error of each column of the answer; None where the table decides.

    They hold for every table (see `is_known`), so they are those of one group of any. Infinite is that of a calculation
    without a value. Where noisy values choose the rows that are shown, the half-width is the largest that it can be.
    """
    question, schema = measurement.question, measurement.schema
    level = level_of_shown(question, level, lambda: len(measurement.declared_groups()[0]) * rows_of_group(question))
    parts = {item: measured_parts(item.expression, question.unnest)[0] for item in question.estimated}
    known = [
        item
        for item, part in parts.items()
        if not changes_widths(item.expression) and is_known(part, measurement, rows_known=rows is not None)
    ]
    found: dict[str, tuple[float | None, float | None]] = {item.alias: (None, None) for item in parts}
    if not known:
        return found
    alone = replace(question, select=tuple(known), group_by=(), having=(), order_by=(), limit=None)
    needed = {s for a in alone.aggregates for s in measurement.sums_of.get(a, (a,))}
    noisy = tuple(one for one in measurement.noisy if one.statistic in needed)
    one_group = replace(measurement, question=alone, keys=(), noisy=noisy, chosen=())
    source = expected_source(one_group, rows or 1, Shares(), level)
    widths = interval_widths(alone, schema, lambda _: source, level)
    for item in known:
        width, error = widths[item.alias], source.absolute_error(parts[item])
        found[item.alias] = (math.inf if width is None or math.isinf(error) else width.greatest), error
    return found


def expected_source(
    measurement: Measurement, rows: int, shares: Shares, level: float
) -> NoisyAnswerSource | NoisyCurves:
    """What would be told of a table of so many rows, with values that are spread evenly, if no noise were drawn."""
    question, schema, keys = measurement.question, measurement.schema, measurement.keys
    public = {"rows": rows} if measurement.unit.rows_are_public else {}
    if (curves := measurement.curves) is not None:
        totals = np.zeros((measurement.groups, curves.size))
        if not curves.weight:
            return NoisyCurves(measurement, {"noisy": totals.tolist(), **public}, level)
        there = Term((), present(curves.aggregate, schema))
        (counts,) = even_sums(schema, keys, question.where, [there], rows).values()
        totals[:, -1] = np.rint(curves.weight * shares.factor(float(counts.mean()), rows) * counts)
        return NoisyCurves(measurement, {"noisy": totals.tolist()}, level)
    linear = [noisy.statistic for noisy in measurement.noisy if isinstance(noisy.statistic, Term)]
    # A sum hangs on how many rows it is of, also where nobody asks for their number.
    needed = list(dict.fromkeys([*linear, *(replace(term, columns=(), centred=False) for term in linear)]))
    sums = even_sums(schema, keys, question.where, needed, rows)
    among = {term: replace(term, where=both(question.where, term.where)) for term in needed}
    some = [term for term in linear if not term.columns and (keys or chooses(among[term]))]
    factor = shares.factor(float(np.mean([sums[term].mean() for term in some])), rows) if some else 1.0
    if linear:
        even = np.stack([sums[term] for term in needed], axis=1)

        def scale(term: Term, column: str) -> Scale:
            return term.scale(column, schema).in_floats()

        sums = dict(zip(needed, shares.of_even([*among.values()], even, rows, bool(keys), scale).T, strict=True))
    noisy: list[Any] = []
    for part in measurement.noisy:
        if isinstance(part.statistic, Term):
            noisy.append([round(value) for value in sums[part.statistic].tolist()])
        else:
            noisy.append(_even_values(measurement, part.statistic, part.values, factor * rows))
    chosen = [[0] * measurement.groups for _ in measurement.chosen]  # any value: it has no interval
    released: Released = {
        "noisy": noisy,
        "chosen": chosen,
        **public,
    }
    source = NoisyAnswerSource(measurement, released, level)
    source.seed = _SEED
    return source


def _even_values(measurement: Measurement, aggregate: Aggregate, by_value: int | None, rows: float) -> list[Any]:
    """The number of values in every group of an even table; or where so many are counted, how many rows have each."""
    schema, question, keys = measurement.schema, measurement.question, measurement.keys
    if by_value is None:
        return [values_of(aggregate, schema)] * measurement.groups
    column, where = aggregate.columns[0], both(question.where, present(aggregate, schema))
    if aggregate.definition.of_items:
        items: Sequence[Any] = (schema.declared(column).items or ())[:by_value]
        terms_of_items = [Term((), Contains(column, item)) for item in items]
        found = np.stack(list(even_sums(schema, keys, where, terms_of_items, rows).values()), axis=1)
    else:
        (by_group,) = even_sums(schema, (*keys, Key(column)), where, [Term((), None)], rows).values()
        found = by_group.reshape(measurement.groups, -1)[:, :by_value]
    counts: list[Any] = np.rint(found).astype(int).tolist()
    return counts


def _alike_once(texts: Sequence[str]) -> Iterator[str]:
    """The mechanisms; of many with the same noise, as of the items of a large set, the first and how many more."""
    alike: dict[str, list[str]] = {}
    for text in texts:
        what, _, noise = text.partition(": ")
        alike.setdefault(noise, []).append(what)
    if max(map(len, alike.values()), default=0) <= _MOST_ALIKE:
        yield from texts
        return
    for noise, named in alike.items():
        few = named if len(named) <= _MOST_ALIKE else [f"{named[0]} and {len(named) - 1} more"]
        yield from (f"{what}: {noise}" for what in few)


def _noise_text(noisy: NoisyStatistic, schema: Schema) -> str:
    statistic = noisy.statistic
    what = expression(statistic) if isinstance(statistic, Aggregate) else _term_text(statistic)
    if noisy.noise is None:
        return f"{what}: exact, no row can change it"
    worth = Fraction(1) if isinstance(statistic, Aggregate) else statistic.unit(schema)
    unit = "" if worth == 1 else f" of {written(worth)}"
    numbers = "whole numbers" if noisy.values is None else f"the count of each of {several(noisy.values, 'value')}"
    return (
        f"{what}: {noisy.noise.name} noise on {numbers}{unit}, sensitivity {noisy.sensitivity}, "
        f"standard deviation {written(noisy.noise.variance**0.5)}"
    )


def _term_text(term: Term) -> str:
    names = " × ".join(f"({column} − middle)" if term.centred else column for column in term.columns)
    what = f"sum of {names}" if names else "count"
    return what if term.where is None else f"{what} where {condition(term.where)}"


def _table_text(rows: tuple[dict[str, Any], ...]) -> str:
    """A table in few words: rows that are alike once, with their number."""
    shown = []
    for row, times in _alike(rows):
        values = ", ".join(f"{k} = {_value_text(v)}" for k, v in row.items())
        shown.append(f"{times:,} × ({values})" if times > 1 else f"({values})")
    return f"the table [{', '.join(shown)}]"


def _alike(rows: tuple[dict[str, Any], ...]) -> list[tuple[dict[str, Any], int]]:
    return [(row, len(list(same))) for row, same in groupby(rows)]


def _value_text(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, frozenset):
        return "{" + ", ".join(sorted(map(str, value))) + "}"
    return str(int_or_float(value)) if isinstance(value, Fraction) else str(value)


def _rows_json(rows: tuple[dict[str, Any], ...]) -> list[dict[str, Any]]:
    """Rows that are alike once, with how many times they are there."""
    return [{"row": plain_json(row), "times": times} for row, times in _alike(rows)]


_LEAST_EPSILON = Fraction(1, 10**8)  # that is tried


def accurate(
    measured: Callable[[Fraction], Measurement], wanted: Fraction, level: float, rows: int | None
) -> Measurement:
    """The measurement at the least ε of three digits, or three decimals, whose intervals are ± `wanted` or better.

    `rows` is their public number, if it is public.
    """

    def widest(epsilon: Fraction) -> float:
        widths = {name: width for name, (width, _) in known_widths(measured(epsilon), level, rows).items()}
        unknown = next((name for name, width in widths.items() if width is None), None)
        if unknown is not None:
            raise ArgumentError(
                f"the width of the interval of {unknown!r} depends on the table, so no price can promise it: give "
                "ε instead of an accuracy; the width is known for counts, sums, and means of a public number of "
                "values (the plan must say what stands for a missing one)"
            )
        return max((width if math.isfinite(width) else math.inf for width in widths.values() if width), default=0.0)

    def known_width(epsilon: Fraction) -> float:
        with suppress(TooLarge):  # the noise would be too wide to be drawn
            return widest(epsilon)
        return math.inf

    most = Fraction(LARGEST_FOUND_EPSILON)
    if wanted <= 0 or widest(most) > wanted:
        raise ArgumentError(f"no epsilon up to {most} gives that accuracy: ask for a larger ±")
    found = least_with(known_width, wanted, Fraction(1), _LEAST_EPSILON, most, 3, 3)
    assert found is not None
    return measured(found)

"""Answers from the noisy numbers that left the private table, which were drawn once and stored.

Intervals, and tables that add up, are post-processing of these numbers: an answer costs nothing beside them. The sheet,
section 5; HLM15, Theorem 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins, for_rehearsal
from dproof.curator.curves import NoisyCurves, covariances
from dproof.curator.draw import draw
from dproof.curator.recipe import Measurement, NoisyStatistic
from dproof.curator.select import promise
from dproof.curator.simulate import SUGGESTIONS, Floats, Released, is_affine, public_seed, simulated_interval
from dproof.exact import int_or_float
from dproof.questions.answer import Answer, Cell
from dproof.questions.measured import (
    answer,
    calculated,
    different,
    level_of_chosen,
    level_of_each,
    possible,
    refuse_calculation,
    told,
)
from dproof.questions.question import Aggregate, Expression, aggregates_of
from dproof.questions.sums import Statistics, Tally, Term, value_of

_AS_DRAWN = "This costs nothing. The numbers as drawn are in the cell's `raw` (on the command line: with --json)."


def has_counts_by_value(released: Released) -> bool:
    """Whether a number of distinct values is told by the counts of all values; earlier versions told the number."""
    return any(isinstance(number, list) for numbers in released["noisy"] for number in numbers)


def adding_up(counts: Sequence[int], total: int) -> list[int]:
    """The whole numbers from 0 on that add up to `total` and are nearest to the given ones, in least squares.

    Each count gives up the same, and what would fall below 0 is 0: x_i = max(0, y_i − θ) has the least Σ(x_i − y_i)²
    among all tables, whole or not, that add up. The true table is one of those, and they are a convex set, so
    Σ(x_i − c_i)² ≤ Σ(y_i − c_i)² for the true c. With θ no whole number, some counts give up ⌊θ⌋ and some, the largest
    first, ⌊θ⌋ + 1: no whole table is nearer, and none of its cells is a whole row off.

    >>> adding_up([7, 4, -2], 10)
    [6, 4, 0]
    """
    order = sorted(range(len(counts)), key=lambda n: -counts[n])
    ordered = [counts[n] for n in order]
    # θ = (y_1 + … + y_k − total)/k for the last k whose own count is still above it.
    surplus = [partial - total for partial in accumulate(ordered)]
    kept = sum(y * k > more for k, (y, more) in enumerate(zip(ordered, surplus, strict=True), 1))
    adjusted = [0] * len(counts)
    if kept:
        less, rest = divmod(surplus[kept - 1], kept)
        for place, n in enumerate(order[:kept]):
            adjusted[n] = counts[n] - less - (place < rest)
    return adjusted


def answer_of(measurement: Measurement, released: Released, level: float) -> Answer:
    """The answer to a question from its released numbers."""
    curves = measurement.curves
    if curves is not None and curves.is_covariance:
        return covariances(curves, released, level)
    measured = NoisyAnswerSource if curves is None else NoisyCurves
    return answer(measurement.question, measurement.schema, partial(measured, measurement, released), level)


def rehearse(measurement: Measurement, tally: Tally, level: float) -> None:
    """Draw all noise for a made-up tally, and tell its first group: what fails whatever the table holds fails here."""
    question, released = measurement.question, draw(measurement, tally, for_rehearsal())
    first: Released = {"noisy": [values[:1] for values in released["noisy"]]}
    first["chosen"] = [codes[:1] for codes in released.get("chosen", ())]
    if measurement.curves is not None:
        first["noisy"] = released["noisy"][:1]
    told = tuple(item for item in question.select if aggregates_of(item.expression))
    if told:
        alone = replace(question, select=told, group_by=(), having=(), order_by=(), limit=None)
        answer_of(replace(measurement, question=alone, keys=()), {**released, **first}, level)


class NoisyAnswerSource:
    """One question on one set of released numbers: noisy sums, and values that were chosen (see `AnswerSource`)."""

    suggestions = SUGGESTIONS

    def __init__(self, measurement: Measurement, released: Released, level: float) -> None:
        self.question, self.schema = measurement.question, measurement.schema
        self.measurement, self.numbers, self.level = measurement, released, level
        self.statistics: dict[Aggregate, tuple[Any, ...]] = {
            a: measurement.sums_of.get(a, (a,)) for a in self.question.aggregates
        }
        self.noise: dict[Any, NoisyStatistic] = {noisy.statistic: noisy for noisy in measurement.noisy}
        self.released = {
            noisy.statistic: np.array(values, object)
            for noisy, values in zip(measurement.noisy, released["noisy"], strict=True)
        }
        # Numbers of distinct values that are told by the counts of all values.
        self.by_value: list[Any] = [noisy.statistic for noisy in measurement.noisy if noisy.values is not None]
        self.chosen = {
            choice.aggregate: self._labels(choice.aggregate, codes)
            for choice, codes in zip(measurement.chosen, released["chosen"], strict=True)
        }
        every, self.rows = measurement.partition, released.get("rows")
        self.consistent: Statistics = {}
        if every is not None and self.rows is not None:
            self.consistent[every] = np.array(adding_up(self.released[every].tolist(), self.rows), float)
        self.labels, self.places = measurement.declared_groups()
        self.shown = range(len(self.labels))
        self.seed = public_seed(released)

    def _labels(self, aggregate: Aggregate, codes: Sequence[Any]) -> list[Any]:
        """The values that were chosen, group by group; a list of them where several were."""
        space = self.schema.declared(aggregate.columns[0])
        return [
            [space.candidate(place) for place in code] if isinstance(code, list) else space.label(code)
            for code in codes
        ]

    def cells(self, expression: Expression, groups: Sequence[int]) -> Sequence[Any]:
        places, parts = self.places[np.array(groups, np.int64)], aggregates_of(expression)
        if not len(places):
            return []
        if isinstance(expression, Aggregate) and expression in self.chosen:
            labels = [self.chosen[expression][place] for place in places]
            return [Cell(label, raw=label) for label in labels]
        if not parts:
            return self._constant(expression, len(places))
        if any(part in self.by_value for part in parts):
            return self._by_value(expression, parts, groups)
        with np.errstate(all="ignore"):
            stats = self._stats(parts, places)
            raw = value_of(expression, stats, self.schema, clip=False)
            estimate = self._estimate(expression, parts, stats, places)
            low, high, spread = self._interval(expression, parts, stats, estimate, raw)
        whole = self._whole(expression, places)
        cells = []
        for n, value in enumerate(estimate.tolist()):
            a, b = (None if np.isnan(end[n]) else float(end[n]) for end in (low, high))
            stderr = float(spread[n]) if np.isfinite(spread[n]) else None
            if whole is None:
                cells.append(Cell(value, a, b, stderr, float(raw[n])))
            else:  # a count that was adjusted, or the sum that was released
                shown = int(value) if parts[0].definition.counts else whole[n]
                cells.append(Cell(shown, a, b, stderr, whole[n]))
        return cells

    def _by_value(self, expression: Expression, parts: Sequence[Aggregate], groups: Sequence[int]) -> list[Cell]:
        """A number of distinct values that is told by noisy counts, or a calculation with it.

        A calculation has the interval that the intervals of its parts make, which hold all at once (Bonferroni).
        """
        if isinstance(expression, Aggregate):
            counts = self.released[expression][self.places[np.array(groups, np.int64)]].astype(float)
            noise = self.noise[expression].noise

            def at(level: float) -> list[Cell]:
                half = 0 if noise is None else noise.quantile(repr(level_of_each(level, counts.shape[1])))
                return different(counts, counts - half, counts + half, counts)

            return [*told(at, possible(expression, self.question, self.schema, self.rows), self.level)]
        if any(part in self.chosen for part in parts):
            refuse_calculation(expression, self.by_value)
        parts = tuple(dict.fromkeys(parts))
        apart = NoisyAnswerSource(self.measurement, self.numbers, level_of_chosen(self.level, 1, len(parts)))
        reach = {part: possible(part, self.question, self.schema, self.rows) for part in parts}
        cells = {part: [reach[part].cut(cell) for cell in apart.cells(part, groups)] for part in parts}
        return [calculated(expression, {part: cells[part][n] for part in parts}) for n in range(len(groups))]

    def notes(self, groups: Sequence[int]) -> list[str]:
        """What was done to the numbers that were drawn, and how far a choice may be from the best."""
        counts = [a for a in self.question.aggregates if a.definition.counts and a not in self.by_value]
        notes = [promise(choice, self.level, self.question) for choice in self.measurement.chosen]
        if any(statistic in self.consistent for a in counts for statistic in self.statistics[a]):
            return [
                f"Counts of all rows are adjusted to add up to the public number of rows, {self.rows:,} (rows in no "
                f"declared group included), and none is below 0. {_AS_DRAWN}",
                *notes,
            ]
        if any(self.noise[statistic].noise for a in counts for statistic in self.statistics[a]):
            return [f"A count below 0 is shown as 0. {_AS_DRAWN}", *notes]
        return notes

    def _constant(self, expression: Expression, groups: int) -> list[int | float]:
        constant = float(value_of(expression, {}, self.schema))
        return [int(constant) if constant.is_integer() else constant] * groups

    def _stats(self, parts: Sequence[Aggregate], places: NDArray[np.int64]) -> Statistics:
        """The released numbers that some aggregates are calculated from, and the chosen ones among these."""
        needed = dict.fromkeys(s for wanted in parts if wanted not in self.chosen for s in self.statistics[wanted])
        fixed = {
            wanted: np.array([float(self.chosen[wanted][place]) for place in places])
            for wanted in parts
            if wanted in self.chosen
        }
        return {s: self.released[s][places].astype(float) for s in needed} | fixed

    def _estimate(
        self, expression: Expression, parts: Sequence[Aggregate], stats: Statistics, places: NDArray[np.int64]
    ) -> Floats:
        """The value of an expression, with counts that add up to the public number of rows.

        What divides a mean is as it was drawn.
        """
        counts = [
            (aggregate, self.statistics[aggregate][0]) for aggregate in parts if aggregate.definition.counts == "rows"
        ]
        adjusted = {aggregate: self.consistent[term][places] for aggregate, term in counts if term in self.consistent}
        return value_of(expression, stats | adjusted, self.schema)

    def _interval(
        self, expression: Expression, parts: Sequence[Aggregate], stats: Statistics, estimate: Floats, raw: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """The ends of the interval in every group, and the standard error; none where a value was chosen."""
        if any(part in self.chosen for part in parts):
            unknown = np.full(len(estimate), np.nan)
            return unknown, unknown, unknown
        noises = {s: noise for s in stats if (noise := self.noise[s].noise) is not None}
        if not noises:
            return estimate, estimate, np.zeros(len(estimate))
        if len(noises) == 1 and is_affine(expression, self.schema, lambda s: self.noise[s].noise is None):
            low, high, spread = self._exactly(expression, stats, next(iter(noises)), raw)
        else:
            coins = Coins(self.seed, private=False)
            reach = possible(expression, self.question, self.schema, self.rows).ends
            low, high, spread = simulated_interval(expression, stats, noises, self.level, self.schema, coins, reach)
        # An interval around what was drawn holds what it was made into too: it only covers more.
        return np.fmin(low, estimate), np.fmax(high, estimate), spread

    def _exactly(self, expression: Expression, stats: Statistics, moving: Any, raw: Floats) -> tuple[Any, Any, Any]:
        """The interval of a multiple of one noisy number, from the law of its noise, moved to values that can be."""
        noise = self.noise[moving].noise
        assert noise is not None
        half = noise.quantile(repr(self.level))
        shifted = stats[moving] + np.array([[-half], [half], [1]])
        *ends, one_more = value_of(expression, stats | {moving: shifted}, self.schema, clip=False)
        # An estimate that cannot be is moved to one that can, and the interval with it: see `questions.ranges`.
        most = np.array(self.rows if moving in self.consistent else np.inf)
        moved = value_of(expression, stats | {moving: np.minimum(stats[moving], most)}, self.schema) - raw
        return np.minimum(*ends) + moved, np.maximum(*ends) + moved, noise.variance**0.5 * np.abs(one_more - raw)

    def _whole(self, expression: Expression, places: NDArray[np.int64]) -> list[int | float] | None:
        """A count or a sum as the exact multiple of its unit that was released."""
        if not isinstance(expression, Aggregate) or expression.definition.shape != "linear":
            return None
        (statistic,) = self.statistics[expression]
        unit = statistic.unit(self.schema) if isinstance(statistic, Term) else Fraction(1)
        return [int_or_float(unit * int(value)) for value in self.released[statistic][places]]

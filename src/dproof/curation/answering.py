"""From released numbers to an answer: arithmetic, intervals, order. Post-processing, so it costs nothing.

The sheet, section 5; HLM15, Theorem 4.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins
from dproof.curation.consistency import adding_up
from dproof.curation.drawing import Released, promise
from dproof.curation.inversion import candidates_not_ruled_out
from dproof.curation.measurement import Measurement, Noisy
from dproof.curation.noisy_sums import Statistics, is_affine, is_curved, is_doubtful, value_of
from dproof.questions.aggregates import Frequent
from dproof.questions.answer import Answer, Cell, arranged, cautions
from dproof.questions.possible import possible
from dproof.questions.question import Aggregate, Expression, Key, aggregates, parts_of
from dproof.questions.regions import grouping
from dproof.questions.schema import Open, plain
from dproof.questions.sums import Term, terms

_DRAWS, _MOST_DRAWS = 4000, 1 << 22
WAYS_OUT = "a larger ε, fewer columns in the question, or coarser conditions"  # of an answer that tells nothing


class Answering:
    """One question on one set of released numbers."""

    def __init__(self, measurement: Measurement, released: Released, level: float) -> None:
        self.question, self.schema = measurement.question, measurement.schema
        self.measurement, self.level = measurement, level
        self.noise: dict[Any, Noisy] = {part.statistic: part for part in measurement.noisy}
        self.released = {
            part.statistic: np.array(values, object)
            for part, values in zip(measurement.noisy, released["noisy"], strict=True)
        }
        self.chosen = {
            choice.aggregate: self._labels(choice.aggregate, codes)
            for choice, codes in zip(measurement.chosen, released["chosen"], strict=True)
        }
        every, self.rows = measurement.partition, released.get("rows")
        self.consistent: Statistics = {}
        if every is not None and self.rows is not None:
            self.consistent[every] = np.array(adding_up(self.released[every].tolist(), self.rows), float)
        self.keys, self.places = self._groups()
        # Intervals are simulated from what was released alone, and the same each time.
        self.seed = hashlib.sha256(json.dumps(released, sort_keys=True).encode()).digest()

    def _labels(self, aggregate: Aggregate, codes: Sequence[Any]) -> list[Any]:
        space = self.schema.spaces[aggregate.columns[0]]
        assert not isinstance(space, Open)
        if _is_list(aggregate):
            return [[space.candidate(place) for place in several] for several in codes]
        return [space.label(code) for code in codes]

    def _groups(self) -> tuple[dict[Key, list[Any]], NDArray[np.int64]]:
        """The labels of every declared group, by key, and the place of each group among the released numbers."""
        groupings = {key: grouping(key, self.schema) for key in self.question.group_by}
        shown = [len(found.labels) - (key.column in self.schema.nullable) for key, found in groupings.items()]
        chosen = dict(zip(groupings, np.indices(shown).reshape(len(shown), math.prod(shown)), strict=True))
        places = np.zeros(math.prod(shown), np.int64)
        for key in self.measurement.keys:
            places = places * len(groupings[key].labels) + chosen[key]
        return {key: [groupings[key].labels[n] for n in found] for key, found in chosen.items()}, places

    def answer(self) -> Answer:
        """The rows that HAVING, ORDER BY and LIMIT leave, with their cells."""
        every = np.arange(len(self.places))
        tested = [side for test in self.question.having for side in (test.left, test.right)]
        tested += [order.expression for order in self.question.order_by]
        with np.errstate(all="ignore"):
            known = {expression: self._column(expression, every, bare=True) for expression in tested}
            kept = np.array(arranged(self.question, known, every.tolist()), np.int64)
            columns = {item.alias: self._column(item.expression, kept) for item in self.question.select}
        rows = [{alias: values[n] for alias, values in columns.items()} for n in range(len(kept))]
        notes = (*cautions(rows, WAYS_OUT), *self._notes())
        return Answer(tuple(columns), rows, self.level, notes)

    def _notes(self) -> Iterator[str]:
        """What was done to the numbers that were drawn, and how far a choice may be from the best."""
        counts = [a for a in aggregates(self.question) if a.definition.counts]
        if any(statistic in self.consistent for a in counts for statistic in self._statistics(a)):
            yield (
                f"Counts of all rows are adjusted to add up to the public number of rows, {self.rows:,} (rows in no "
                "declared group included), and none is below 0. This costs nothing; `raw` has the numbers as drawn."
            )
        elif any(self.noise[statistic].noise for a in counts for statistic in self._statistics(a)):
            yield "A count below 0 is shown as 0. This costs nothing; `raw` has the numbers as drawn."
        yield from (promise(choice, self.level) for choice in self.measurement.chosen)

    def _column(self, expression: Expression, kept: NDArray[np.int64], *, bare: bool = False) -> list[Any]:
        if not len(kept):
            return []
        if isinstance(expression, Key):
            return [self.keys[expression][n] for n in kept]
        places = self.places[kept]
        if expression in self.chosen:
            assert isinstance(expression, Aggregate)
            labels = self.chosen[expression]
            return [Cell(labels[place], raw=labels[place]) for place in places]
        parts = [part for part in parts_of(expression) if isinstance(part, Aggregate)]
        if not parts:
            constant = float(value_of(expression, {}, self.schema))
            return [int(constant) if constant.is_integer() else constant] * len(kept)
        fixed = {part: _numbers(self.chosen[part], places) for part in parts if part in self.chosen}
        needed = list(dict.fromkeys(s for part in parts if part not in fixed for s in self._statistics(part)))
        stats: Statistics = {s: self.released[s][places].astype(float) for s in needed} | fixed
        estimate = value_of(expression, stats | self._adding_up(parts, places), self.schema)
        if bare:
            return list(estimate.tolist())
        raw = value_of(expression, stats, self.schema, clip=False)
        random = [s for s in needed if self.noise[s].noise is not None]
        if fixed:
            low = high = spread = np.full(len(places), np.nan)  # chosen, not measured
        elif not random:
            low, high, spread = estimate, estimate, np.zeros(len(places))
        elif len(random) == 1 and is_affine(expression, self.schema, self._is_exact):
            low, high, spread = self._exactly(expression, stats, random[0], raw)
        else:
            low, high, spread = self._simulated(expression, stats, random)
        if not fixed:  # an interval around what was drawn holds what it was made into too: it only covers more
            low, high = np.fmin(low, estimate), np.fmax(high, estimate)
        whole = self._whole(expression, places)
        reach = possible(expression, self.question, self.schema, self.rows)
        cells = []
        for n, value in enumerate(estimate.tolist()):
            a, b = (None if np.isnan(x[n]) else float(x[n]) for x in (low, high))
            c = float(spread[n]) if np.isfinite(spread[n]) else None
            if whole is None:
                cells.append(Cell(value, a, b, c, float(raw[n])))
            else:
                is_count = parts[0].definition.counts is not None
                cells.append(Cell(int(value) if is_count else whole[n], a, b, c, whole[n]))
        return [reach.cut(cell) for cell in cells]

    def _statistics(self, aggregate: Aggregate) -> tuple[Any, ...]:
        return terms(aggregate, self.schema) or (aggregate,)

    def _is_exact(self, statistic: Any) -> bool:
        return self.noise[statistic].noise is None

    def _adding_up(self, parts: Sequence[Aggregate], places: NDArray[np.int64]) -> Statistics:
        """The counts that were made to add up to the public number of rows; what divides a mean is as it was drawn."""
        counts = [(part, self._statistics(part)[0]) for part in parts if part.definition.counts == "rows"]
        return {part: self.consistent[term][places] for part, term in counts if term in self.consistent}

    def _whole(self, expression: Expression, places: NDArray[np.int64]) -> list[int | float] | None:
        """A count or a sum as the exact multiple of its unit that was released."""
        if not isinstance(expression, Aggregate) or expression.definition.shape != "linear":
            return None
        (statistic,) = self._statistics(expression)
        unit = statistic.unit(self.schema) if isinstance(statistic, Term) else Fraction(1)
        return [plain(unit * int(value)) for value in self.released[statistic][places]]

    def _exactly(
        self, expression: Expression, stats: Statistics, moving: Any, raw: NDArray[Any]
    ) -> tuple[Any, Any, Any]:
        """The interval of a multiple of one noisy number, from the law of its noise, moved to values that can be."""
        noise = self.noise[moving].noise
        assert noise is not None
        half = noise.quantile(repr(self.level))
        most = np.array(self.rows if moving in self.consistent else np.inf)
        moved = [np.minimum(stats[moving] + t, most) for t in (-half, half)]
        ends = [value_of(expression, stats | {moving: end}, self.schema) for end in moved]
        one_more = value_of(expression, stats | {moving: stats[moving] + 1}, self.schema, clip=False)
        return np.minimum(*ends), np.maximum(*ends), noise.variance**0.5 * np.abs(one_more - raw)

    def _simulated(self, expression: Expression, stats: Statistics, random: list[Any]) -> tuple[Any, Any, Any]:
        """The interval of any calculation: what it gives once fresh noise of the same laws is taken away again.

        Quantiles of that, or where it is curved the least and the greatest that no test rules out.
        """
        coins = Coins(self.seed, private=False)
        groups = len(next(iter(stats.values())))
        draws = _DRAWS if groups * _DRAWS <= _MOST_DRAWS else _DRAWS // 4
        doubts, curved = (-1, 1) if is_doubtful(expression) else (0,), is_curved(expression)
        noises = {s: noise for s in random if (noise := self.noise[s].noise) is not None}
        pieces = []
        for start in range(0, groups, _MOST_DRAWS // draws):
            here = {s: values[start : start + _MOST_DRAWS // draws] for s, values in stats.items()}
            size = (draws, len(next(iter(here.values()))))
            drawn: Statistics = {
                s: noise.law.draw(math.prod(size), coins).reshape(size).astype(float) for s, noise in noises.items()
            }
            moved = here | {s: here[s] - fresh for s, fresh in drawn.items()}
            if curved:
                moved, kept = candidates_not_ruled_out(expression, here, drawn, noises, self.level, self.schema)
            ends = [value_of(expression, moved, self.schema, doubt=doubt) for doubt in doubts]
            least, most = np.minimum.reduce(ends), np.maximum.reduce(ends)
            # What cannot be calculated, such as 0/0, could be anything.
            least, most = np.where(np.isnan(least), -np.inf, least), np.where(np.isnan(most), np.inf, most)
            if curved:
                low, high = np.where(kept, least, np.inf).min(0), np.where(kept, most, -np.inf).max(0)
            else:
                tail = (1 - self.level) / 2
                low, high = np.quantile(least, tail, 0, method="lower"), np.quantile(most, 1 - tail, 0, method="higher")
            pieces.append([low, high, np.mean(ends, 0).std(0)])
        low, high, spread = np.hstack(pieces)
        return low, high, spread


def _is_list(aggregate: Aggregate) -> bool:
    return aggregate.definition.chosen == Frequent(several=True)


def _numbers(labels: list[Any], places: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.array([float(labels[place]) for place in places])

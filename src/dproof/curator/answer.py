"""Answers from the noisy numbers that left the private table, which were drawn once and stored.

Intervals, and tables that add up, are post-processing of these numbers: an answer costs nothing beside them. The sheet,
section 5; HLM15, Theorem 4.

The interval of any calculation comes from simulated noise. Released are s = θ + e: sums θ, and noise e of known laws.
Fresh noise of the same laws is taken from s, and the ends are quantiles of what a calculation f then gives. That is
right where f is affine, with its parts as they are: each of several counts moved to 0 at least would make their sum too
large. It is also right where f rises with a ratio r = a/b, b > 0, because a/b ≤ r means a − rb ≤ 0 (this is Fieller's
interval).

Of any other calculation, such as a variance or a difference of two means, the interval holds all values that no test
rules out. For each θ that could be, a test asks whether the noise e = s − θ would be unusual there: whether one of its
parts is beyond its own quantile, or whether |∇f(θ)·e|, how far it moves the calculation f, is beyond what such noise
does at that θ. At the true θ the noise is unusual with probability 1 − level at most, so that the f(θ) of all θ that
are not ruled out cover the truth (test inversion). Fresh noise would not do: where f is curved, −(Σx)²/n, it moves f
once more the way the noise in s has already moved it.

A reader sees those answers alone that tell something, and of few rows large noise has them told. So it matters how
often a table is told of at all. θ is near s if Σ|e/q| ≤ 1 with a far quantile q of each noise (Σe²/q² if it is
Gaussian). An answer is sure to tell if around every θ near s all that is near θ tells something too: such tables are
told of as a rule, and the interval stays as it is. If it is not sure, it holds the f(θ) of all θ near s, or is not
told. A table that is seldom told of is then missed only if it is not near s. The quantile was chosen on small tables,
so that of the answers that are told 93 % hold at a level of 95 %, wherever one in a hundred is told (docs/limits.md).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins, for_rehearsal
from dproof.curator.account import Released
from dproof.curator.draw import draw
from dproof.curator.recipe import CurveSums, Measurement, NoisyStatistic
from dproof.curator.select import promise
from dproof.curves.bands import band_quantile, drawn_quantile
from dproof.exact import exact, int_or_float
from dproof.mechanisms.noise import Noise
from dproof.questions.answer import Answer, Cell, Range, as_cells, cautions
from dproof.questions.curve_estimate import CurveEstimate, MeasuredCurves, noisy_curve
from dproof.questions.measured import (
    answer,
    calculated,
    different,
    level_of_chosen,
    level_of_each,
    level_of_seldom,
    possible,
    refuse_calculation,
    told,
)
from dproof.questions.question import Aggregate, Arithmetic, Expression, Number, Schema, aggregates_of
from dproof.questions.sums import Statistics, Tally, Term, terms, value_of
from dproof.spaces.space import Floats

WAYS_TO_ASK = "a larger ε, fewer columns in the question, or coarser conditions"  # of an answer that tells nothing
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
        return covariance_answer(curves, released, level)
    measured = NoisyAnswerSource if curves is None else NoisyCurves
    return answer(measurement.question, measurement.schema, partial(measured, measurement, released), level)


def rehearse(measurement: Measurement, tally: Tally, level: float) -> None:
    """Draw all noise for a made-up tally, and tell its first group: what fails whatever the table holds fails here."""
    question, released = measurement.question, draw(measurement, tally, for_rehearsal())
    first: Released = {"noisy": [values[:1] for values in released["noisy"]]}
    first["chosen"] = [codes[:1] for codes in released.get("chosen", ())]
    if measurement.curves is not None:
        first["noisy"] = released["noisy"][:1]
    if question.estimated:
        alone = replace(question, select=question.estimated, group_by=(), having=(), order_by=(), limit=None)
        answer_of(replace(measurement, question=alone, keys=()), {**released, **first}, level)


def public_seed(released: Released) -> bytes:
    """The seed of coins that simulate public noise: from what was released alone, and the same each time."""
    return hashlib.sha256(json.dumps(released, sort_keys=True).encode()).digest()


class NoisyAnswerSource:
    """One question on one set of released numbers: noisy sums, and values that were chosen (see `AnswerSource`)."""

    suggestions = WAYS_TO_ASK

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
        shown, drawn, whole = estimate.tolist(), raw.tolist(), self._whole(expression, places)
        if whole is not None:  # a count that was adjusted, or the sum that was released
            shown, drawn = list(map(int, shown)) if parts[0].definition.counts else whole, whole
        return as_cells(shown, low, high, spread, drawn)

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
        cells = {part: reach[part].cut_each(apart.cells(part, groups)) for part in parts}
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
        if _is_multiple(expression, noises, self.schema):
            low, high, spread = self._exactly(expression, stats, next(iter(noises)), raw)
        else:
            coins = Coins(self.seed, private=False)

            def reach() -> tuple[float, float]:
                return possible(expression, self.question, self.schema, self.rows).ends

            calculation = NoisyCalculation(expression, noises, self.schema, reach)
            low, high, spread = calculation.interval(stats, self.level, coins)
        # An interval around what was drawn holds what it was made into too: it only covers more.
        return np.fmin(low, estimate), np.fmax(high, estimate), spread

    def _exactly(self, expression: Expression, stats: Statistics, moving: Any, raw: Floats) -> tuple[Any, Any, Any]:
        """The interval of a multiple of one noisy number, from the law of its noise, moved to values that can be."""
        noise = self.noise[moving].noise
        assert noise is not None
        half = noise.quantile(repr(self.level))
        shifted = stats[moving] + np.array([[-half], [half], [1]])
        *ends, one_more = value_of(expression, stats | {moving: shifted}, self.schema, clip=False)
        # An estimate that cannot be is moved to one that can, and the interval with it: see `Range`.
        most = np.array(self.rows if moving in self.consistent else np.inf)
        moved = value_of(expression, stats | {moving: np.minimum(stats[moving], most)}, self.schema) - raw
        return np.minimum(*ends) + moved, np.maximum(*ends) + moved, noise.variance**0.5 * np.abs(one_more - raw)

    def absolute_error(self, expression: Expression) -> float:
        """The expected absolute error of a multiple of one noisy number; infinite where it has no value."""
        (cell,), parts = self.cells(expression, [0]), aggregates_of(expression)
        noises = [noise for part in parts for s in self.statistics[part] if (noise := self.noise[s].noise) is not None]
        stderr = math.inf if cell.stderr is None else float(cell.stderr)
        return stderr * noises[0].absolute / noises[0].variance ** 0.5 if noises else 0.0

    def _whole(self, expression: Expression, places: NDArray[np.int64]) -> list[int | float] | None:
        """A count or a sum as the exact multiple of its unit that was released."""
        if not isinstance(expression, Aggregate) or expression.definition.shape != "linear":
            return None
        (statistic,) = self.statistics[expression]
        unit = statistic.unit(self.schema) if isinstance(statistic, Term) else Fraction(1)
        return [int_or_float(unit * int(value)) for value in self.released[statistic][places]]


# The interval of any calculation, by simulating its noise -------------------------------------------------------------

_DRAWS, _MOST_DRAWS, _MOST_IN_ALL = 4000, 1 << 22, 1 << 25  # for each group, at a time, and for all groups
_DRAWS_BEYOND = 20  # draws beyond the ends at least: of few shown among many groups the level is high
_ALONE_DIVISOR = 10  # one tenth of what may be missed goes to the test of each noise by itself
_SLOPE_STEP = 1e-5  # of a standard deviation, for slopes
_FAR_SHARE = 0.005  # of what may be missed: noises that are rarer lead further than near
_POINTS = (1024, 64, 256)  # at which what is near is looked at; around so many of them; and at so many there
_DIRECTIONS = 16  # in which the quantile of |∇f·e| is taken; the greatest of them counts


def enough_draws(level: float, groups: int) -> tuple[int, bool]:
    """How many draws are made for each group, and whether they tell quantiles at this level.

    >>> enough_draws(0.95, 10), enough_draws(0.9999999, 10)
    ((4000, True), (4000, False))
    """
    draws, enough = _DRAWS if groups * _DRAWS <= _MOST_DRAWS else _DRAWS // 4, round(_DRAWS_BEYOND / (1 - level))
    telling = enough <= draws or (enough <= _MOST_DRAWS and groups * enough <= _MOST_IN_ALL)
    return max(draws, enough) if telling else draws, telling


@dataclass(frozen=True, slots=True, eq=False)
class NoisyCalculation:
    """A calculation of released sums, the noises of these, and what it can be at all where that has to be known.

    What is drawn from the laws of the noises has a row for each draw and a column for each group; so have candidates
    for the sums θ.
    """

    expression: Expression
    noises: Mapping[Any, Noise]
    schema: Schema
    possible: Callable[[], tuple[float, float]] = lambda: (-np.inf, np.inf)

    def interval(self, released: Statistics, level: float, coins: Coins) -> tuple[Floats, Floats, Floats]:
        """The ends of its interval in every group, and its standard error.

        Quantiles of what it gives once fresh noise is taken away again, at the level of `level_of_seldom` where a
        divisor may be zero. Or the least and the greatest that no test rules out: where it is curved, and where the
        level is so near 1 that the draws do not tell its quantiles.
        """
        if is_curved(self.expression):
            low, high, spread = self._simulated(released, level, coins, curved=True)
            if isinstance(self.expression, Aggregate) and _correlates(self.expression):
                return low, high, spread  # six tests together leave it untold where noise would have it told
            return *self._sure_ends(released, level, (low, high)), spread
        strict = level_of_seldom(level)
        careful = self._unsteady(released, (level, strict), coins)
        ends = np.zeros((3, len(careful)))
        for chosen, at in ((~careful, level), (careful, strict)):
            if chosen.any():
                here = {s: values[chosen] for s, values in released.items()}
                ends[:, chosen] = np.vstack(self._simulated(here, at, coins, curved=False))
        low, high, spread = ends
        return low, high, spread

    def _sure_ends(self, released: Statistics, level: float, found: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        """The ends that were found where they are sure to tell something; elsewhere the ends of all that is near."""
        missed = (1 - exact(repr(level))) * exact(repr(_FAR_SHARE)) / len(self.noises)
        reaches = {s: noise.quantile(1 - missed) for s, noise in self.noises.items()}
        # Laplace noise is p(x) ∝ e^−Σ|x|
        power = 1 if all(noise.name == "Laplace" for noise in self.noises.values()) else 2
        points, possible = _points(self.noises, power), self.possible()

        def tells(low: Floats, high: Floats) -> NDArray[np.bool_]:
            return np.isfinite(low) & np.isfinite(high) & ((low > possible[0]) | (high < possible[1]))

        low, high = found[0].copy(), found[1].copy()
        doubtful = np.flatnonzero(tells(low, high))
        size = _MOST_DRAWS // math.prod(_POINTS[1:])
        for at in (doubtful[start : start + size] for start in range(0, len(doubtful), size)):
            here = {s: values[at] for s, values in released.items()}
            _, _, *ends = self._near(here, reaches, power, points)
            near, is_near, _, _ = self._near(here, reaches, power, points[: _POINTS[1]])
            *_, least, most = self._near(near, reaches, power, points[: _POINTS[2]])
            sure = (tells(least, most) | ~is_near).all(0) & is_near.any(0)
            wider = np.minimum(low[at], ends[0]), np.maximum(high[at], ends[1])
            told = tells(*wider)
            low[at] = np.select([sure, told], [low[at], wider[0]], -np.inf)
            high[at] = np.select([sure, told], [high[at], wider[1]], np.inf)
        return low, high

    def _near(
        self, centre: Statistics, reaches: dict[Any, int], power: int, points: Floats
    ) -> tuple[Statistics, NDArray[np.bool_], Floats, Floats]:
        """Candidates for the sums around some others, which of them are near, and the ends of what these give."""
        steps = {
            s: np.rint(points[:, n] * (reach + 0.4)).reshape(-1, *[1] * centre[s].ndim)
            for n, (s, reach) in enumerate(reaches.items())
        }
        candidates = self._moved(centre | {s: centre[s] + step for s, step in steps.items()})
        moves = [(np.abs(candidates[s] - centre[s]) / max(reach, 1)) ** power for s, reach in reaches.items()]
        is_near = np.sum(moves, 0) <= 1 + 1e-9
        return candidates, is_near, *_ends(*self._values(candidates), is_near)

    def _unsteady(self, released: Statistics, levels: tuple[float, float], coins: Coins) -> NDArray[np.bool_]:
        """In which groups something that is divided by is as near to zero as noise may be, at both levels together."""
        noises, schema, found = self.noises, self.schema, np.zeros(len(next(iter(released.values()))), bool)
        for divisor in dict.fromkeys(divisors(self.expression, schema)):
            needed = [divisor] if divisor in released else [s for s in released if s in _statistics(divisor, schema)]
            moving = [s for s in needed if s in noises]
            if not moving:
                continue
            if divisor in released:
                size, reach = np.abs(released[divisor]), sum(noises[divisor].quantile(repr(level)) for level in levels)
            else:
                draws, _ = enough_draws(levels[1], 1)
                nothing = {s: np.zeros(draws) for s in needed}
                drawn = {s: noises[s].law.draw(draws, coins).astype(float) for s in moving}
                start, end = (value_of(divisor, stats, schema, clip=False) for stats in (nothing, nothing | drawn))
                moved = np.abs(end - start)
                size = np.abs(value_of(divisor, released, schema, clip=False))
                reach = sum(np.quantile(moved, level, method="higher") for level in levels)
            found |= size <= reach
        return found

    def _simulated(
        self, released: Statistics, level: float, coins: Coins, *, curved: bool
    ) -> tuple[Floats, Floats, Floats]:
        """The ends in every group, and the standard error; `curved` is what `is_curved` says."""
        groups = len(next(iter(released.values())))
        draws, telling = enough_draws(level, groups)
        affine = is_affine(self.expression, self.schema, lambda statistic: statistic not in self.noises)
        by_tests = not telling or (curved and not affine)
        pieces = []
        for start in range(0, groups, _MOST_DRAWS // draws):
            here = {s: values[start : start + _MOST_DRAWS // draws] for s, values in released.items()}
            size = (draws, len(next(iter(here.values()))))
            drawn: Statistics = {
                s: noise.law.draw(math.prod(size), coins).reshape(size).astype(float)
                for s, noise in self.noises.items()
            }
            fresh = here | {s: here[s] - noise for s, noise in drawn.items()}
            values = value_of(self.expression, fresh, self.schema, clip=not affine)
            if by_tests:
                moved, kept = self.candidates_not_ruled_out(here, drawn, level, telling=telling)
                low, high = _ends(*self._values(moved, clip=not affine), kept)
            else:
                unknown = np.isnan(values)  # it may be anything, as in `_values`
                low = np.quantile(np.where(unknown, -np.inf, values), (1 - level) / 2, 0, method="lower")
                high = np.quantile(np.where(unknown, np.inf, values), 1 - (1 - level) / 2, 0, method="higher")
            pieces.append([low, high, values.std(0)])
        low, high, spread = np.hstack(pieces)
        return low, high, spread

    def _values(self, sums: Statistics, *, clip: bool = True) -> tuple[Floats, Floats]:
        """The least and the greatest that the calculation may be: anything where it has no value, such as 0/0."""
        doubts = (-1, 1) if is_doubtful(self.expression) else (0,)
        values = [value_of(self.expression, sums, self.schema, clip=clip, doubt=doubt) for doubt in doubts]
        least, most = np.minimum.reduce(values), np.maximum.reduce(values)
        return np.where(np.isnan(least), -np.inf, least), np.where(np.isnan(most), np.inf, most)

    def candidates_not_ruled_out(
        self, released: Statistics, drawn: Statistics, level: float, *, telling: bool = True
    ) -> tuple[Statistics, NDArray[np.bool_]]:
        """Candidates for the sums θ, as far from s as the noises may be; and which of them no test rules out.

        Draws that are not `telling` (see `enough_draws`) are no test of how far noises move the calculation: then each
        noise is tested by itself alone, which rules out less.
        """
        noises, missed = self.noises, (1 - exact(repr(level))) / _ALONE_DIVISOR
        reaches = {s: noise.quantile(1 - missed / len(noises)) for s, noise in noises.items()}
        spread = {s: released[s] - _evenly(drawn[s], reach) for s, reach in reaches.items()}
        candidates = self._moved(released | spread)
        needed = {s: released[s] - candidates[s] for s in noises}  # the noise that would have led from θ to s
        usual = np.all([np.abs(needed[s]) <= reach for s, reach in reaches.items()], 0)
        if not telling:
            return candidates, usual

        def formula(sums: Statistics) -> Floats:
            return value_of(self.expression, sums, self.schema, clip=False)

        # Slopes and noises in standard deviations; f may have any unit, so slopes are made directions of length 1.
        here = formula(candidates)
        deviations = {s: noise.variance**0.5 for s, noise in noises.items()}
        slopes = {s: formula(candidates | {s: candidates[s] + _SLOPE_STEP * d}) - here for s, d in deviations.items()}
        length = np.sqrt(np.sum([slope**2 for slope in slopes.values()], 0))
        direction = {s: slope / length for s, slope in slopes.items()}  # not a number where no noise moves f

        def movement(noise: Statistics, direction: Statistics) -> Floats:
            moves: Floats = np.sum([direction[s] * noise[s] / d for s, d in deviations.items()], 0)
            return np.abs(moves)

        share = float(exact(repr(level)) + missed)
        several = [{s: of[n] for s, of in direction.items()} for n in range(_DIRECTIONS)]
        far = np.fmax.reduce([np.quantile(movement(drawn, one), share, 0, method="higher") for one in several])
        # What is not a number, where no noise moves f, is not far.
        return candidates, usual & ~(movement(needed, direction) > far)

    def _moved(self, sums: Statistics) -> Statistics:
        """The sums with each noisy one moved to what it can be: n to 0 at least, Σx of n numbers in [a, b] to na … nb.

        Where n is not known, Σx is at least 0 if a is. Else next to no candidate would be possible where the noise is
        much wider than that, and (Σx)²/n is far off.
        """
        moved = sums | {s: np.maximum(sums[s], 0) for s in self.noises if isinstance(s, Term) and not s.columns}
        for term in self.noises:
            if isinstance(term, Term) and len(term.columns) == 1:
                low, high = term.scale(term.columns[0], self.schema).ends
                if (rows := Term((), term.where)) in sums:
                    n = np.maximum(sums[rows], 1)
                    moved[term] = np.clip(sums[term], n * float(low), n * float(high))
                else:
                    moved[term] = np.clip(sums[term], 0 if low >= 0 else -np.inf, 0 if high <= 0 else np.inf)
        for part in aggregates_of(self.expression):
            if _correlates(part):
                moved |= _correlated(part, moved, self.noises, self.schema)
        return moved


def _points(noisy: Collection[Any], power: int) -> Floats:
    """Points evenly spread over all with Σ|x|^power ≤ 1, its corners first; in every other one most sums go to an end.

    A whole multiple of the powers of 1/g, with g^(d + 1) = g + 1, modulo 1 is a point of a cube (Roberts 2018, The
    unreasonable effectiveness of quasirandom sequences), and moves into the ball along a ray.
    """
    size, root = len(noisy), 2.0
    for _ in range(64):
        root = (1 + root) ** (1 / (size + 1))
    cube = 2 * (np.outer(np.arange(_POINTS[0] / 2), root ** -np.arange(1.0, size + 1)) % 1) - 1
    ball = cube * np.abs(cube).max(1, keepdims=True) / np.linalg.norm(cube, power, axis=1, keepdims=True)
    has_ends = np.array([isinstance(s, Term) and len(s.columns) == 1 for s in noisy])
    at_ends = np.where(has_ends & (np.abs(cube) > 1 / 3), np.copysign(np.inf, cube), cube * np.abs(cube))
    return np.vstack([np.eye(size), -np.eye(size), np.stack([ball, at_ends], 1).reshape(-1, size)])


def _statistics(expression: Expression, schema: Schema) -> set[Any]:
    return {s for part in aggregates_of(expression) for s in (terms(part, schema) or (part,))}


def _ends(least: Floats, most: Floats, kept: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """The ends of the candidates that are kept; if none is, the noise was most unusual, and nothing is known."""
    low, high = np.where(kept, least, np.inf).min(0), np.where(kept, most, -np.inf).max(0)
    return np.where(kept.any(0), low, -np.inf), np.where(kept.any(0), high, np.inf)


def _evenly(drawn: Floats, reach: int) -> Floats:
    """Numbers from −reach to reach in place of those drawn, in the same order: also far out there are as many."""
    ranks = drawn.argsort(0, kind="stable").argsort(0)
    return np.rint((2 * ranks / (len(drawn) - 1) - 1) * reach)


def _correlates(part: Aggregate) -> bool:
    return {(0, 0), (0, 1), (1, 1)} <= set(part.definition.sums)


def _correlated(correlation: Aggregate, sums: Statistics, noisy: Collection[Any], schema: Schema) -> Statistics:
    """The noisy sums of squares and of products that a correlation is of, moved to where there can be one.

    Numbers that are whole and not all equal have Σ(x − x̄)² ≥ 1 − 1/n ≥ ½, and (Σ(x − x̄)(y − ȳ))² is at most the
    product of two such sums.
    """
    needed = terms(correlation, schema)
    moments = {term.columns: sums[term] for term in needed}
    n, (x, y) = np.maximum(moments[()], 1), correlation.columns
    for column in (x, y):
        moments[column, column] = np.maximum(moments[column, column], moments[column,] ** 2 / n + 0.5)
    if x != y:
        middle = moments[x,] * moments[y,] / n
        most = np.sqrt((moments[x, x] - moments[x,] ** 2 / n) * (moments[y, y] - moments[y,] ** 2 / n))
        moments[x, y] = np.clip(moments[x, y], middle - most, middle + most)
    return {term: moments[term.columns] for term in needed if term in noisy}


def is_doubtful(expression: Expression) -> bool:
    """Whether there are moments in an expression that may say nothing."""
    return any(part.definition.shape == "curved" for part in aggregates_of(expression) if part.definition.sums)


def is_curved(expression: Expression) -> bool:
    """Whether fresh noise tells too little of an expression that is not affine (see above).

    It tells all of a mean, and of a count or a sum over a count of rows. Moments, products, calculations with several
    measured parts, and a divisor that may be of either sign are curved.
    """
    match expression:
        case Arithmetic(_, Number(), part) | Arithmetic(_, part, Number()):
            return is_curved(part)
        case Arithmetic("/", Aggregate() as top, Aggregate() as bottom):
            return top.definition.shape != "linear" or bottom.definition.counts != "rows"
        case Arithmetic():
            return True
        case _:
            return is_doubtful(expression)


def divisors(expression: Expression, schema: Schema) -> Iterator[Any]:
    """What an expression divides by: calculations without a product or a ratio in them, and counts of rows.

    >>> n, table = Aggregate("count"), Schema("data", {})
    >>> list(divisors(Arithmetic("/", n, Arithmetic("*", n, n)), table)) == 2 * [*terms(n, table)]
    True
    """
    match expression:
        case Arithmetic(operator, left, right):
            yield from divisors(left, schema)
            yield from divisors(right, schema)
            if operator == "/":
                yield from _factors(right, schema)
        case Aggregate() if expression.definition.sums and expression.definition.shape != "linear":
            yield terms(expression, schema)[0]


def _factors(expression: Expression, schema: Schema) -> Iterator[Any]:
    match expression:
        case Arithmetic("*" | "/", left, right):
            yield from _factors(left, schema)
            yield from _factors(right, schema)
        case Aggregate() if expression.definition.counts == "rows":
            yield from terms(expression, schema)
        case _:
            yield expression


def is_known(expression: Expression, measurement: Measurement, *, rows_known: bool) -> bool:
    """Whether the interval of a calculation is as long for every table, or for all with as many rows if that is known.

    That of a number is where it is a constant and a multiple of one noisy number, or exact; a curve's where its number
    of rows is public.
    """
    curves, noisy = measurement.curves, {one.statistic: one for one in measurement.noisy}
    if curves is not None:
        return rows_known and not curves.weight and not curves.is_covariance
    needed = {s for part in aggregates_of(expression) for s in measurement.sums_of.get(part, (part,))}
    if any(s not in noisy or noisy[s].values is not None for s in needed):  # chosen, or counted value by value
        return False
    moving = [s for s in needed if noisy[s].noise is not None]
    if len(moving) < len(needed) and not rows_known:  # what no row can change is their number, and what hangs on it
        return False
    return not moving or _is_multiple(expression, moving, measurement.schema)


def _is_multiple(expression: Expression, moving: Collection[Any], schema: Schema) -> bool:
    """Whether a calculation is a constant and a multiple of the one number in it that is noisy."""
    return len(moving) == 1 and is_affine(expression, schema, lambda s: s not in moving)


def is_affine(expression: Expression, schema: Schema, exact: Callable[[Any], bool]) -> bool:
    """Whether an expression is a constant plus a multiple of each noisy number in it."""
    match expression:
        case Number():
            return True
        case Aggregate():
            shape = expression.definition.shape
            return shape == "linear" or (shape == "mean" and exact(terms(expression, schema)[0]))
        case Arithmetic(operator, left, right):
            if operator in ("+", "-"):
                return is_affine(left, schema, exact) and is_affine(right, schema, exact)
            if isinstance(right, Number):
                return is_affine(left, schema, exact)
            return operator == "*" and isinstance(left, Number) and is_affine(right, schema, exact)
        case _:
            return False


# Curves: means and totals have bands, a covariance of coefficients intervals ------------------------------------------


class NoisyCurves(MeasuredCurves):
    """Means or totals of curves from one set of released numbers, a function for each group (see `AnswerSource`)."""

    suggestions, private = WAYS_TO_ASK, True  # what was drawn with seeded coins is told by the receipt

    def __init__(self, measurement: Measurement, released: Released, level: float) -> None:
        assert measurement.curves is not None
        self.lattices, self.rows = (measurement.curves.lattice,), released.get("rows")
        self.labels, places = measurement.declared_groups()
        self.shown = range(len(self.labels))
        noisy, coins = np.array(released["noisy"], np.float64), Coins(public_seed(released), private=False)
        self.every = [_curve_function(measurement.curves, noisy[place], self.rows, level, coins) for place in places]

    def absolute_error(self, expression: Expression) -> float:
        """The root of the mean square error on the grid."""
        return float(np.sqrt((self.every[0].stderr ** 2).mean()))

    def functions(self, expression: Expression, groups: Sequence[int]) -> Sequence[CurveEstimate]:
        return [self.every[n] for n in groups]


def _curve_function(sums: CurveSums, values: Floats, rows: int | None, level: float, coins: Coins) -> CurveEstimate:
    """The mean or the total from the noisy sums of a group."""
    terms, sigma = sums.lattice.terms, float(sums.noise.variance) ** 0.5
    count = rows if rows is not None else values[-1] / sums.weight
    deviations = (sigma / sums.weight if sums.weight else 0.0, sigma)

    def quantile(path: Floats, at_points: bool) -> float:
        return band_quantile(path, sums.noise.law, sigma, level, coins, at_points=at_points)

    return noisy_curve(sums.lattice, values[:terms], count, deviations, level, quantile, is_total=sums.is_total)


def covariance_answer(sums: CurveSums, released: Released, level: float) -> Answer:
    """Cov of the coefficients c_j = scales_j · z_j, entry by entry, with intervals that hold for all at once."""
    lattice, noise, weight = sums.lattice, sums.noise, sums.weight
    values = np.array(released["noisy"][0], np.float64)
    rows = max(2.0, values[-1] / weight if weight else released["rows"])
    mean = values[: lattice.terms] / sums.first / rows
    i, k = np.triu_indices(lattice.terms)
    unit = lattice.scales[i] * lattice.scales[k]
    products = values[lattice.terms : lattice.terms + len(i)]
    estimate = unit * (products - rows * mean[i] * mean[k]) / (rows - 1)
    moved = np.where(i == k, 4 * mean[i] ** 2, mean[i] ** 2 + mean[k] ** 2) / sums.first**2
    if weight:  # one curve more moves the estimate by (mean · mean − covariance) / (rows − 1)
        moved += ((mean[i] * mean[k] - estimate / unit) / weight) ** 2
    sigma = float(noise.variance) ** 0.5
    stderr = unit * sigma * np.sqrt(1 + moved) / (rows - 1)
    half = drawn_quantile(np.eye(len(i)), noise.law, sigma, level, Coins(public_seed(released), private=False)) * stderr
    cells = []
    for a, b, y, h, s in zip(i, k, estimate, half, stderr, strict=True):
        cell = Cell(float(y), float(y - h), float(y + h), float(s), float(y))
        reach = Range(Fraction(0)) if a == b else Range()  # no variance is negative
        cells.append({"i": int(a) + 1, "j": int(b) + 1, "covariance": reach.cut(cell)})
    return Answer(("i", "j", "covariance"), cells, level, tuple(cautions(cells, WAYS_TO_ASK)))

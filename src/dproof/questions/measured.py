"""The last stage, from what was measured to the answer: one way for every asker.

A question needs sums over rows; these are counted, measured under noise, and calculated with. Whoever measures says
what an expression is in every group; HAVING, ORDER BY, LIMIT, possible ranges and cautions are the same for all.

Where HAVING, or ORDER BY and LIMIT, look at noisy values, the rows with large noise are chosen more often, and their
intervals miss more often. Of the k rows shown among m each has then an interval of the level 1 − (1 − level)·k/m, so
that on average the share of those shown that miss is at most 1 − level: for a LIMIT whatever the noise, for HAVING
where that of the groups is independent (Benjamini and Yekutieli 2005, False discovery rate-adjusted multiple confidence
intervals).

How many different values there are follows from intervals of how many rows have each of them: at least as many as
surely some row has, at most as many as some row may have. A value that no row has can only be taken for one that is
there, and one that is there can only be overlooked: one end of each interval can be wrong, and not both. So intervals
of the level 1 − 2·(1 − level)/k for k values, however their noises depend on each other, give an interval of the level
(Bonferroni).
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import inf, nan
from operator import attrgetter
from statistics import NormalDist
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dproof.errors import QuestionError
from dproof.laws.debias import Array, tilted
from dproof.questions.aggregates import Known, Rank
from dproof.questions.answer import Answer, Cell, End, Range, cautions, in_units_of, point
from dproof.questions.question import (
    Aggregate,
    And,
    Applied,
    Arithmetic,
    Expression,
    Key,
    Number,
    Predicate,
    Question,
    Schema,
    Unnest,
    aggregates_of,
    label_of,
    measured_parts,
    shown_as,
)
from dproof.questions.sums import Term, chooses, evaluate, present
from dproof.spaces.interval import Scale
from dproof.spaces.space import COMPARISONS

A_TENTH = 0.1  # of the rows that a group would have were they spread evenly: a rare group
_HALF = 0.5  # of the values of a column are there, if it is uneven
_NUMBERS = 401  # of a range, from end to end, that stand for all
_NEAR_END = 0.9  # of the way from the middle of a range to its end, where the mean is if it is uneven
HIGHEST_LEVEL = 1 - 1e-14  # of a normal interval, that floats tell from 1
_SELDOM = 0.004  # where fewer of all answers are told, those may miss more often than they say
_CHOSEN = (
    "these rows were chosen by noisy values, so their intervals are wider: on average {:.4g}% of the intervals shown "
    "hold the truth"
)
_NAMED = (
    "these rows were chosen by noisy values, and by the true ones others may be: select what chooses them as well, to "
    "see its interval"
)
_LEFT_OUT = "HAVING leaves out groups of which it has no information: whether they belong here is not known"


class AnswerSource(Protocol):
    """What is known of the groups of a question once it was measured."""

    @property
    def labels(self) -> Sequence[tuple[Any, ...]]:
        """The values of the keys in each group, in the order of GROUP BY."""

    @property
    def shown(self) -> Iterable[int]:
        """The groups that belong into the answer, by their places among the labels."""

    @property
    def rows(self) -> int | None:
        """The number of all rows, where it is public."""

    @property
    def suggestions(self) -> str:
        """What to do about an answer that tells nothing."""

    def cells(self, expression: Expression, groups: Sequence[int]) -> Sequence[Any]:
        """An expression with its interval in each of some groups."""

    def notes(self, groups: Sequence[int]) -> Iterable[str]:
        """What is to be said about the cells of these groups."""


def answer(
    question: Question, schema: Schema, measured_at: Callable[[float], AnswerSource], level: float, method: str = ""
) -> Answer:
    """The rows that HAVING, ORDER BY and LIMIT leave, with cells cut to what is possible.

    What is `measured_at` a level has intervals of that level. Groups that are made of the items of sets as well follow
    each other, a group for each item. Of what is not known at the level that is shown, HAVING takes none.
    """
    items = [None] if question.unnest is None else question.unnest.items

    def keys(key: Key | Unnest, rows: Iterable[int]) -> list[Any]:
        if isinstance(key, Unnest):
            return [label_of(items[row % len(items)]) for row in rows]
        place = question.group_by.index(key)
        return [measured.labels[row // len(items)][place] for row in rows]

    def column(expression: Expression, rows: Sequence[int]) -> list[Any]:
        if isinstance(expression, (Key, Unnest)):
            return keys(expression, rows)
        parts, values = measured_parts(expression, question.unnest), dict[int, Any]()
        for item, part in enumerate(parts):
            of_item = [row for row in rows if row % len(items) % len(parts) == item]
            reach, space = possible(part, question, schema, measured.rows), shown_as(part, schema)
            cells = reach.cut_each(measured.cells(part, [row // len(items) for row in of_item]))
            values |= zip(
                of_item, cells if space is None else [in_units_of(cell, space) for cell in cells], strict=True
            )
        return [apply(expression, values[row]) for row in rows]

    ordered = [order.expression for order in question.order_by]
    measured, at, is_doubtful = measured_at(level), level, False
    kept = shown = [n * len(items) + item for n in measured.shown for item in range(len(items))]
    while True:
        looked_at = {part: dict(zip(kept, column(part, kept), strict=True)) for part in (*question.tested, *ordered)}
        tested = [value for side in question.tested for value in looked_at[side].values()]
        is_doubtful |= any(isinstance(value, Cell) and not value.informative for value in tested)
        kept = arranged(question, looked_at, kept)
        chosen = chosen_by_noise(question) and 0 < len(kept) < len(shown)
        needed = level_of_chosen(level, len(kept), len(shown)) if chosen else at
        if needed == at:
            break
        measured, at = measured_at(needed), needed
    columns = {item.alias: column(item.expression, kept) for item in question.select}
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    groups = list(dict.fromkeys(row // len(items) for row in kept))
    notes = dict.fromkeys([*cautions(rows, measured.suggestions), *measured.notes(groups)])
    answered = Answer(tuple(columns), rows, level, method=method)
    if is_doubtful:
        notes[_LEFT_OUT] = None
    if chosen:
        notes[_CHOSEN.format(100 * level) if answered.has_intervals else _NAMED] = None
    return replace(answered, notes=tuple(notes))


def refuse_calculation(expression: Expression, chosen: Container[Aggregate]) -> None:
    """Refuse a calculation with an aggregate that is chosen among values, and so is no formula of sums."""
    for aggregate in aggregates_of(expression):
        if aggregate in chosen:
            name = "COUNT(DISTINCT ...)" if aggregate.definition.counts else aggregate.kind.upper()
            raise QuestionError(f"{name} cannot be calculated with: select it by itself")


def calculated(expression: Expression, parts: Mapping[Aggregate, Cell]) -> Cell:
    """A calculation with the estimates and the intervals of its aggregates, which hold all at once."""
    if not all(part.informative and part.low is not None for part in parts.values()):
        return Cell(None, informative=False)
    estimate, raw = (
        float(evaluate(expression, lambda part, of=of: np.float64(of(parts[part]))))  # type: ignore[misc]
        for of in (attrgetter("estimate"), attrgetter("raw"))
    )
    low, high = evaluate(expression, lambda part: Range(parts[part].low, parts[part].high), point).ends
    return Cell(estimate, low, high, None, raw)


def arranged(question: Question, columns: Mapping[Expression, Mapping[int, Any]], rows: Iterable[int]) -> list[int]:
    """The rows that HAVING, ORDER BY and LIMIT leave, in order; what has no value passes no test and comes last."""
    kept = [n for n in rows if _passes(question, columns, n)]
    for order in reversed(question.order_by):
        values = {n: _rank(columns[order.expression][n], order.descending) for n in kept}
        kept.sort(key=values.__getitem__, reverse=order.descending)
    return kept[: question.limit]


def _passes(question: Question, columns: Mapping[Expression, Mapping[int, Any]], n: int) -> bool:
    for test in question.having:
        left, right = _plain(columns[test.left][n]), _plain(columns[test.right][n])
        try:
            if left is None or right is None or not COMPARISONS[test.operator](left, right):
                return False
        except TypeError:
            problem = "HAVING compares values of different kinds: compare numbers with numbers, texts with texts"
            raise QuestionError(problem) from None
    return True


def _rank(value: Any, descending: bool) -> tuple[bool, Any]:
    """What a value sorts by; sets go by their items."""
    rank = _plain(value)
    if isinstance(rank, (frozenset, list, tuple)):
        rank = sorted(map(str, rank))
    return (rank is None) != descending, 0 if rank is None else rank


def _plain(value: Any) -> Any:
    """An estimate without its interval; None for what could not be calculated."""
    estimate = value.estimate if isinstance(value, Cell) else value
    return None if isinstance(estimate, float) and math.isnan(estimate) else estimate


# ± of an answer before there is any data ------------------------------------------------------------------------------


class Shares(NamedTuple):
    """What part of the rows a group of a question has, or a condition in it, in a table that is not there yet.

    That which is `stated`; else what it has where values are spread evenly, or if `uneven` a tenth of that, and half of
    the values that may be missing. The `mean` of a number is the stated one, of other rows as well unless `uneven`;
    else the middle of its range, or if `uneven` near an end, where the noise of the number of rows weighs most. Around
    such a mean numbers lie as nearly evenly as they can (see `tilted`).
    """

    stated: Fraction | None = None
    uneven: bool = False
    mean: Fraction | None = None

    def factor(self, expected: float, rows: float, *, only_missing: bool = False) -> float:
        """How many times as many rows a group has than the `expected` ones of all, where values are spread evenly."""
        if self.stated is None or not expected > 0:
            return (_HALF if only_missing else A_TENTH) if self.uneven else 1.0
        return float(self.stated) * rows / expected

    def of_even(
        self, needed: Sequence[Term], even: Array, rows: float, grouped: bool, scales: Callable[[Term, str], Scale]
    ) -> Array:
        """The sums of a table of such shares, from those of an even one: group by group, as many columns as sums."""
        some, only_missing = stated_of(needed, grouped)
        counts = even[:, some & [not term.columns for term in needed]]
        if counts.size and counts.mean() > 0:
            even = np.where(some, self.factor(float(counts.mean()), rows, only_missing=only_missing), 1.0) * even
        if self.mean is None and not self.uneven:
            return even
        found = even.copy()
        for n, term in enumerate(needed):
            count = replace(term, columns=(), centred=False)
            if term.columns and count in needed:
                moments = (self._moment(scales(term, name), power) for name, power in Counter(term.columns).items())
                found[:, n] = math.prod(moments) * even[:, needed.index(count)]
        return found

    def _moment(self, scale: Scale, power: int) -> float:
        """The mean of a power of a number, in units about the middle of its scale."""
        mean = self.mean_on(scale)
        if power == 1:
            return mean
        ends = [-scale.half, scale.half]
        if math.isfinite(scale.low):
            ends = [(end - scale.middle) / scale.unit for end in (scale.low, scale.high)]
        numbers = np.linspace(ends[0], ends[1], _NUMBERS)
        return float(tilted(numbers, np.ones(_NUMBERS), mean) @ numbers**power)

    def mean_on(self, scale: Scale) -> float:
        """The mean of a number, where it is not the middle of its range, in units about the middle of its scale."""
        if self.mean is not None:
            return (float(self.mean) - scale.middle) / scale.unit
        if not math.isfinite(scale.low):  # it is about the middle of the range
            return -_NEAR_END * scale.half
        middle = (scale.low + scale.high) / 2
        return (middle - _NEAR_END * (scale.high - middle) - scale.middle) / scale.unit

    def mean_elsewhere(self, scale: Scale) -> float:
        """The mean of the numbers of other rows where it is far from the stated one: near the other end."""
        low = Shares().mean_on(scale)
        high = -low if not math.isfinite(scale.low) else (scale.low + scale.high - 2 * scale.middle) / scale.unit - low
        return high if self.mean_on(scale) < (low + high) / 2 else low


def stated_of(needed: Sequence[Term], grouped: bool) -> tuple[NDArray[np.bool_], bool]:
    """Which sums are over the rows whose share may be stated, and whether these are all those with no value missing."""
    some = np.array([grouped or chooses(term) for term in needed])
    return (some, False) if some.any() else (np.array([term.where is not None for term in needed]), True)


class HalfWidths(NamedTuple):
    """± of one column of an answer over its groups: the least, the greatest and the root of the mean square.

    Infinite where nothing would be known; `error` is the standard error, None where there is none.
    """

    least: float
    greatest: float
    typical: float
    error: float | None = None


def interval_widths(
    question: Question, schema: Schema, measured_at: Callable[[float], AnswerSource], level: float
) -> dict[str, HalfWidths | None]:
    """Half of the length of the intervals in every column of an answer, before they are cut to what is possible.

    All groups count that HAVING or LIMIT could leave, at the level that they then have. None has a column that has no
    interval, or that a function such as SQRT stretches by more or less, as the estimate is.
    """
    measured = measured_at(level)
    groups = list(measured.shown) or list(range(len(measured.labels)))
    at = level_of_shown(question, level, lambda: len(groups) * rows_of_group(question))
    measured, deviations = measured if at == level else measured_at(at), normal_quantile(at)
    found: dict[str, HalfWidths | None] = {}
    for item in question.estimated:
        found[item.alias] = None
        if not changes_widths(item.expression):
            cells = measured.cells(measured_parts(item.expression, question.unnest)[0], groups)
            # Those of order statistics are whole before they are shown.
            ranked = isinstance(item.expression, Aggregate) and isinstance(item.expression.definition.chosen, Rank)
            in_whole = shown_as(item.expression, schema) is not None and not ranked
            found[item.alias] = _widths(cells, deviations, in_whole)
    return found


def _widths(cells: Sequence[Cell], deviations: float, in_whole: bool) -> HalfWidths | None:
    """± over some cells; of a curve where its band is widest.

    `in_whole` values, such as dates, are shown with intervals that end at whole ones: half of one more, on average.
    """
    told = [cell for cell in cells if cell.low is not None or not cell.informative]
    more = 0.5 if in_whole else 0.0
    halves = [half + more if half else half for half in map(_half_width, told)]
    errors = [None if cell.stderr is None else float(np.max(cell.stderr)) for cell in told]
    known = list(zip(halves, errors, strict=True))
    if not known:
        return None
    finite = [(half, stderr) for half, stderr in known if math.isfinite(half)]
    # An interval that is much longer than its standard error explains holds a bias as well.
    errors = [stderr if half <= 2 * deviations * stderr else half / deviations for half, stderr in finite if stderr]
    typical = _mean_square([half for half, _ in finite]) if finite else inf
    return HalfWidths(min(halves), max(halves), typical, _mean_square(errors) if errors else None)


def _half_width(cell: Cell) -> float:
    with np.errstate(invalid="ignore"):
        half = nan if cell.low is None else float(np.max(np.subtract(cell.high, cell.low))) / 2
    return inf if math.isnan(half) else half  # of ends that are both infinite nothing is known, either


def _mean_square(numbers: Sequence[Any]) -> float:
    return float(np.sqrt(np.mean(np.square(np.hstack(numbers)))))


# Rows that noisy values choose ----------------------------------------------------------------------------------------


def chosen_by_noise(question: Question) -> bool:
    """Whether noisy values decide which rows of an answer are shown."""
    ordered = [order.expression for order in question.order_by if question.limit is not None]
    return any(map(aggregates_of, (*question.tested, *ordered)))


def level_of_chosen(level: float, shown: int, groups: int) -> float:
    """The level of each of some intervals that were chosen among those of more groups.

    >>> round(level_of_chosen(0.95, 1, 20), 6)
    0.9975
    """
    return 1 - (1 - level) * shown / groups


# Answers that are told seldom -----------------------------------------------------------------------------------------


@lru_cache(maxsize=64)  # one question asks for those of a few levels, many times
def normal_quantile(level: float) -> float:
    """z with P(|Z| ≤ z) = level for a normal Z; levels near 1, which are split further, stop where floats do.

    >>> round(normal_quantile(0.95), 6), round(normal_quantile(1.0), 2)
    (1.959964, 7.74)
    """
    return NormalDist().inv_cdf((1 + min(level, HIGHEST_LEVEL)) / 2)


def level_of_seldom(level: float) -> float:
    """The level of an interval that may be one of the few that tell something, where most tell nothing.

    Intervals that miss so much less often still hold as often as they say among those that are told, wherever one
    answer in a hundred is.

    >>> round(level_of_seldom(0.95), 6)
    0.9996
    """
    return 1 - 2 * (1 - level) * _SELDOM


class ToldLevels(NamedTuple):
    """The level of an interval that may be told seldom, and that at which one tells which is told as a rule."""

    strict: float
    sure: float


def told_levels(level: float, seldom: Callable[[float], float] = level_of_seldom) -> ToldLevels:
    """What an answer at a level is held against, so that among those that are told as many hold as it says.

    A reader sees answers that tell something. Where most tell nothing, the few that are told are those of the largest
    errors, and more of them would miss. So an answer that tells something has an interval of the strict level, and
    says nothing where that tells nothing, unless it would tell something at the sure level: two standard errors beyond
    the strict one (as many as a usual interval has on each side, where these are more). From a table that is told of
    seldom, noise leads so far beyond still more seldom. `seldom` is the strict level of the noise's law, in normal
    terms.

    >>> [round(normal_quantile(level), 2) for level in told_levels(0.95)]
    [3.54, 5.54]
    """
    strict = seldom(level)
    usual, wide = (normal_quantile(at) for at in (level, strict))
    return ToldLevels(strict, min(math.erf((wide + max(2.0, usual)) / math.sqrt(2)), HIGHEST_LEVEL))


def tells(reach: Range, low: Array, high: Array) -> NDArray[np.bool_]:
    """Which intervals leave out something that is possible, as they are shown."""
    cells = (reach.cut(Cell(None, *ends)) for ends in zip(low.tolist(), high.tolist(), strict=True))
    return np.array([cell.informative and cell.low is not None for cell in cells], bool)


def told(
    at: Callable[[float], Sequence[Cell]],
    reach: Range,
    level: float,
    seldom: Callable[[float], float] = level_of_seldom,
) -> Sequence[Cell]:
    """The cells that are shown of those that there are `at` a level (see `told_levels`)."""

    def telling(cells: Sequence[Cell]) -> NDArray[np.bool_]:
        ends = [(-inf, inf) if cell.low is None else (cell.low, cell.high) for cell in cells]
        return tells(reach, *np.array(ends, float).reshape(-1, 2).T)

    usual, levels = at(level), told_levels(level, seldom)
    if not (some := telling(usual)).any() or not (doubtful := some & ~telling(at(levels.sure))).any():
        return usual
    return [strict if doubt else one for one, strict, doubt in zip(usual, at(levels.strict), doubtful, strict=True)]


def level_of_shown(question: Question, level: float, rows: Callable[[], int]) -> float:
    """The level of each interval in the answer to a question, where noisy values leave the fewest rows that they may.

    `rows` tells how many there are to choose among; it is called only where noisy values choose.
    """
    if not chosen_by_noise(question):
        return level
    all_rows = max(1, rows())
    fewest = 1 if question.having else min(question.limit or all_rows, all_rows)
    return level_of_chosen(level, fewest, all_rows)


def rows_of_group(question: Question) -> int:
    """How many rows of an answer each group has: one, or one for every item of sets."""
    return 1 if question.unnest is None else len(question.unnest.items)


# Aggregates of the rows of each value ---------------------------------------------------------------------------------

_ROUNDING = 1e-6  # of a row


def values_of(aggregate: Aggregate, schema: Schema) -> int:
    """How many different values a column may have, or how many items its sets may hold; missing ones do not count.

    >>> from dproof.spaces import Subsets
    >>> table = Schema("data", {"likes": Subsets(["tea", "milk", "jam"])})
    >>> values_of(Aggregate("distinct", ("likes",)), table), values_of(Aggregate("items", ("likes",)), table)
    (8, 3)
    """
    space = schema.declared(aggregate.columns[0])
    if aggregate.definition.of_items:
        return space.candidates
    return space.candidates if space.items is None else 1 << len(space.items)


def rows_by_value(aggregate: Aggregate, schema: Schema, histogram: Mapping[int, int]) -> list[int]:
    """How many rows have each of these values or items, from how many have each code.

    >>> from dproof.spaces import Subsets
    >>> table = Schema("data", {"likes": Subsets(["tea", "jam"])})
    >>> rows_by_value(Aggregate("items", ("likes",)), table, {0b11: 5, 0b01: 2})
    [7, 5]
    """
    space = schema.declared(aggregate.columns[0])
    if space.items is not None and not aggregate.definition.of_items:
        return [histogram.get(code, 0) for code in range(values_of(aggregate, schema))]
    return list(space.tallies(histogram).values())


def number_of_values(aggregate: Aggregate, schema: Schema, histogram: Mapping[int, int]) -> int:
    """How many of these values or items some row has, in time that the histogram decides: a column may have billions.

    >>> from dproof.spaces import Interval
    >>> number_of_values(Aggregate("distinct", ("x",)), Schema("data", {"x": Interval(0, 10**9, 1)}), {3: 5, 4: 0})
    1
    """
    space = schema.declared(aggregate.columns[0])
    if aggregate.definition.of_items:
        return sum(map(bool, rows_by_value(aggregate, schema, histogram)))
    values = values_of(aggregate, schema) if space.items is not None else space.size
    return sum(rows > 0 and code < values and code != space.absent for code, rows in histogram.items())


def level_of_each(level: float, values: int) -> float:
    """The level of the interval of each value.

    >>> round(level_of_each(0.95, 5), 6)
    0.98
    """
    return min(1 - 2 * (1 - level) / max(values, 2), HIGHEST_LEVEL)


def different(estimates: Array, low: Array, high: Array, drawn: Array, sizes: Array | int = 1) -> list[Cell]:
    """How many different values each group has, from estimated counts: a row for each group, a column for each value.

    A column may stand for several values that were counted together, `sizes`. The noise of a value that no row has is
    above 0 as often as below. So the estimate is the number of positive counts less that of negative ones.

    >>> different(np.array([[20, 3, -2]]), np.array([[12, -5, -10]]), np.array([[28, 11, 6]]), np.array([[20, 3, -2]]))
    [Cell(estimate=1, low=1.0, high=3.0, stderr=None, raw=2, informative=True)]
    """
    surely = (low > _ROUNDING).sum(axis=1)
    perhaps = np.minimum(np.floor(np.maximum(high, 0) + _ROUNDING), sizes).sum(axis=1)
    most = np.maximum(perhaps, surely)
    seen = np.where(np.abs(estimates) > _ROUNDING, np.sign(estimates), 0)
    likely = np.rint((seen * np.minimum(np.maximum(np.abs(estimates), 1), sizes)).sum(axis=1))
    naive = (drawn > _ROUNDING).sum(axis=1).tolist()
    ends = zip(np.clip(likely, surely, most).astype(int).tolist(), surely.tolist(), most.tolist(), naive, strict=True)
    return [Cell(estimate, float(a), float(b), None, raw) for estimate, a, b, raw in ends]


def most_frequent(aggregate: Aggregate, labels: Sequence[Any], counts: Array) -> Any:
    """The value of the largest count, or as many as the aggregate's argument says; None where there is no value.

    >>> most_frequent(Aggregate("mode", ("x",)), ["a", "b", "c"], np.array([3, 7, 7]))
    'b'
    """
    ranked = [labels[n] for n in np.argsort(-counts, kind="stable")]
    return ranked[: int(aggregate.argument)] if aggregate.argument else next(iter(ranked), None)


def passing(rising: Array, least: Array, greatest: Array, mark: float = 0.0) -> tuple[int, int, int]:
    """The step at which a rising distribution passes its mark, and the first and the last at which it may.

    `least` and `greatest` are the bounds of the estimated one at each step (Woodruff 1952); it passes at the last step
    where it does nowhere else.

    >>> passing(np.array([-5, -1, 2, 4]), np.array([-8, -4, -1, 1]), np.array([-2, 2, 5, 7]))
    (2, 1, 3)
    """
    last, below = len(rising) - 1, np.flatnonzero(least < mark)
    middle, low = (int(np.argmax(at >= mark)) if (at >= mark).any() else last for at in (rising, greatest))
    high = min(int(below[-1]) + 1, last) if len(below) else 0
    return middle, min(low, middle), max(high, middle)


NO_ERROR = (0.0,)
EXPECTED_ERRORS = tuple(NormalDist().inv_cdf((2 * n + 1) / 14) for n in range(7))


def over_errors(cell: Callable[[float], Cell], errors: Sequence[float]) -> Cell:
    """The cell with the mean ends of those that it has where the noise is off by so many standard errors.

    An interval that ends at values jumps from one to the next. Without noise it would tell where a table lies between
    two of them: a length of 0, where with noise it is that of one step as often as not.
    """
    cells = [cell(error) for error in errors]
    middle = cells[len(cells) // 2]
    if len(cells) == 1 or any(each.low is None or not each.informative for each in cells):
        return middle
    low, high = (sum(ends) / len(cells) for ends in zip(*((each.low, each.high) for each in cells), strict=True))
    return replace(middle, low=low, high=high)


# Functions of an answer, such as ROUND(avg(age), 1): they tell nothing more of the rows -------------------------------

_Map = Callable[..., float]


def _round(x: float, places: float = 0.0) -> float:
    return float(round(x, int(places)))


_MAPS: dict[str, _Map] = {
    "round": _round, "floor": math.floor, "ceil": math.ceil, "abs": abs, "sqrt": math.sqrt, "power": math.pow,
    "coalesce": lambda x, _: x,
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
}  # fmt: skip


def changes_widths(expression: Expression) -> bool:
    """Whether an interval gets wider or narrower by the functions around it, by more than a rounding."""
    while isinstance(expression, Applied):
        if expression.function not in ("round", "floor", "ceil", "coalesce", "abs", "+", "-"):
            return True
        expression = expression.inner
    return False


def apply(expression: Expression, value: Any) -> Any:
    """What an expression makes of the value, or of the cell, that was measured for the inside of its functions.

    >>> from fractions import Fraction
    >>> apply(Applied("round", None, (Fraction(1),)), Cell(2.345, 1.96, 2.73, 0.2, 2.345))
    Cell(estimate=2.3, low=2.0, high=2.7, stderr=None, raw=2.345, informative=True)
    >>> print(apply(Applied("round", None, (Fraction(1),)), Cell(2.345, 1.96, 2.73, 0.2, 2.345)))
    2.3 [2.0, 2.7]
    """
    if not isinstance(expression, Applied):
        return value
    inside = apply(expression.inner, value)
    if not isinstance(inside, Cell):
        return _at(expression, inside)
    if not inside.informative and inside.low is None:
        return inside
    inside = _with_a_root(expression, inside)
    estimate, decimals = _at(expression, inside.estimate) if inside.informative else None, _decimals(expression)
    if inside.low is None or inside.high is None:
        known = estimate is not None
        return replace(inside, estimate=estimate, stderr=None, informative=known, decimals=decimals)
    ends = _image(expression, inside.low, inside.high)
    if ends is None:
        return Cell(None, raw=inside.raw, informative=False)
    return Cell(estimate, *ends, None, inside.raw, inside.informative, decimals)


def _with_a_root(expression: Applied, inside: Cell) -> Cell:
    """What a root is taken of: where it may be 0 or more, an estimate and an end below 0 stand for 0."""
    is_root = expression.function == "sqrt" or (
        expression.function == "power" and expression.numbers[0].denominator > 1
    )
    if not is_root or inside.low is None or inside.high < 0:
        return inside
    estimate = None if inside.estimate is None else max(inside.estimate, 0.0)
    return replace(inside, estimate=estimate, low=max(inside.low, 0.0))


def _decimals(expression: Applied) -> int | None:
    """How many decimals ROUND leaves; None where another function is the outermost."""
    return int(sum(expression.numbers)) if expression.function == "round" else None


def _at(expression: Applied, x: Any) -> Any:
    """The function at a number; None where it has no value."""
    numbers = [float(number) for number in expression.numbers]
    if x is None or x != x:
        return numbers[0] if expression.function == "coalesce" else None
    arguments = [*numbers[: expression.place], float(x), *numbers[expression.place :]]
    try:
        value = float(_MAPS[expression.function](*arguments))
    except (ArithmeticError, ValueError):
        return None
    if not math.isfinite(value):
        return None
    whole = expression.function in ("floor", "ceil") or (expression.function == "round" and not any(numbers))
    return int(value) if whole else value


def _image(expression: Applied, low: float, high: float) -> tuple[float, float] | None:
    """All values between two ends; None where some are infinite. A function here turns at 0, if anywhere."""
    points = [low, high, *([0.0] if low < 0 < high else [])]
    values = [_at(expression, point) for point in points]
    if None in values:
        return None
    return min(values), max(values)


# What is possible -----------------------------------------------------------------------------------------------------


def possible(expression: Expression, question: Question, schema: Schema, rows: int | None) -> Range:
    """All values that an expression of a question can have; `rows` is the number of all rows where it is public.

    Calculations by interval arithmetic, so that the range may be wider than what can happen, and never narrower. A
    share, or a sum over the number of rows that it is at most a sum of, is a mean; a/(a + b) is a share too.

    >>> from dproof.questions.sql import parse
    >>> from dproof.spaces import Interval
    >>> table = Schema("data", {"age": Interval(0, 110)})
    >>> asked = parse("SELECT sum(age) AS s, 100 * proportion(age < 20) AS p FROM data")
    >>> [possible(item.expression, asked, table, 50) for item in asked.select]
    [Range(low=Fraction(0, 1), high=Fraction(5500, 1)), Range(low=Fraction(0, 1), high=Fraction(100, 1))]
    """
    match expression:
        case Number(value):
            return point(value)
        case Aggregate():
            return _aggregate(expression, schema, _number_of_rows(expression, question, schema, rows))
        case Arithmetic("/", part, Arithmetic("+", a, b)) if part in (a, b) and all(
            possible(side, question, schema, rows).low >= 0 for side in (a, b)
        ):
            return Range(Fraction(0), Fraction(1))
        case Arithmetic(sign, left, right):
            if sign == "/" and (mean := _mean(left, right, schema)) is not None:
                return mean
            x, y = (possible(side, question, schema, rows) for side in (left, right))
            if sign == "/" and isinstance(right, Aggregate) and right.definition.counts:
                y = Range(max(y.low, Fraction(1)), max(y.high, Fraction(1)))  # by no rows nothing is divided
            return x + y if sign == "+" else x - y if sign == "-" else x * y if sign == "*" else x / y
        case _:
            return Range()  # a column of GROUP BY


def possible_columns(question: Question, schema: Schema, rows: int | None) -> dict[str, Range]:
    """All values that each estimated column of an answer can have, before functions such as ROUND are applied."""
    return {
        item.alias: possible(measured_parts(item.expression, question.unnest)[0], question, schema, rows)
        for item in question.estimated
    }


def _aggregate(aggregate: Aggregate, schema: Schema, rows: Range) -> Range:
    """All values that an aggregate of so many rows can have."""
    definition, spaces = aggregate.definition, [schema.spaces[column] for column in aggregate.columns]
    values = tuple(Range(*space.ends) for space in spaces) if definition.accepts == "numbers" else ()
    size: End = inf
    if definition.counts == "values" and not schema.is_open(aggregate.columns[0]):
        size = Fraction(values_of(aggregate, schema))
    return definition.possible(Known(rows, values, size, aggregate.argument))


def _number_of_rows(aggregate: Aggregate, question: Question, schema: Schema, rows: int | None) -> Range:
    """How many rows an aggregate may take: all of them where nothing chooses among them."""
    if rows is None:
        return Range(Fraction(0), inf)
    every = question.where is None and not question.group_by and not _conditions(aggregate, schema)
    return Range(Fraction(rows if every else 0), Fraction(rows))


def _mean(top: Expression, bottom: Expression, schema: Schema) -> Range | None:
    """The range of factor · count(some rows) / count(rows), or of a sum over rows instead; None for anything else."""
    factor, part = _multiple(top)
    if not (isinstance(part, Aggregate) and isinstance(bottom, Aggregate) and bottom.definition.counts == "rows"):
        return None
    some, every = (_conditions(aggregate, schema) for aggregate in (part, bottom))
    if part.definition.formula is None or part.definition.shape != "linear" or not every <= some:
        return None
    values = _aggregate(part, schema, point(1))  # what one row adds
    # Rows that are divided by and not added up add 0.
    mean = values if every == some else Range(min(values.low, Fraction(0)), max(values.high, Fraction(0)))
    return mean * point(factor)


def _multiple(expression: Expression) -> tuple[Fraction, Expression]:
    """A constant factor, and what it multiplies."""
    match expression:
        case Arithmetic("*", Number(value), part) | Arithmetic("*", part, Number(value)):
            factor, inner = _multiple(part)
            return factor * value, inner
        case _:
            return Fraction(1), expression


def _conditions(aggregate: Aggregate, schema: Schema) -> frozenset[Predicate]:
    """What must hold of a row that an aggregate takes; a column that nobody declared may have gaps."""
    where = present(aggregate, schema.with_undeclared_missing)
    if where is None:
        return frozenset()
    return frozenset(where.parts) if isinstance(where, And) else frozenset([where])

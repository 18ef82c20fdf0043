"""The interval of any calculation of noisy numbers, by simulating their noise.

Released are s = θ + e: sums θ, and noise e of known laws. Fresh noise of the same laws is taken from s, and the ends
are quantiles of what a calculation f then gives. That is right where f is affine, with its parts as they are: each of
several counts moved to 0 at least would make their sum too large. It is also right where f rises with a ratio r = a/b,
b > 0, because a/b ≤ r means a − rb ≤ 0 (this is Fieller's interval).

Of any other calculation, such as a variance or a difference of two means, the interval holds all values that no test
rules out. For each θ that could be, a test asks whether the noise e = s − θ would be unusual there: whether one of its
parts is beyond its own quantile, or whether |∇f(θ)·e|, how far it moves the calculation f, is beyond what such noise
does at that θ. At the true θ the noise is unusual with probability 1 − level at most, so that the f(θ) of all θ that
are not ruled out cover the truth (test inversion). Fresh noise would not do: where f is curved, −(Σx)²/n, it moves f
once more the way the noise in s has already moved it.

A reader sees those answers alone that tell something, and of few rows large noise has them told. Noise that goes
beyond a threshold goes beyond it by as much whatever the threshold (Laplace noise has no memory), so that an answer
tells only just what it tells until 7 % of 1 − level would do for telling it. Till then it has to be wider. Where f can
be anything from a to b and noise has ruled out one of the two, it is the widest that tells something, and what that
rules out is halved. Where f has no end it is the widest that tells something, with movements tested at a fifth of
1 − level. Over every outcome of small tables 93 % of the differences of means and the ratios of two sums that are told
hold then, at a level of 95 %. Products of means of rows at the end of their range, and shares Σx/(Σx + Σy), hold less
often: docs/limits.md says how often.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins
from dproof.exact import exact
from dproof.mechanisms.noise import Noise
from dproof.questions.measured import level_of_seldom
from dproof.questions.question import Aggregate, Arithmetic, Expression, Number, Schema, aggregates_of
from dproof.questions.sums import Statistics, Term, terms, value_of

SUGGESTIONS = "a larger ε, fewer columns in the question, or coarser conditions"  # of an answer that tells nothing
Released = dict[str, Any]  # plain JSON: the numbers that leave the table, as a ledger keeps them
Levels = tuple[float, float]  # of the tests of each noise by itself, and of how far all of them move f
_DRAWS, _MOST_DRAWS, _MOST_IN_ALL = 4000, 1 << 22, 1 << 25  # for each group, at a time, and for all groups
_BEYOND = 20  # draws beyond the ends at least: of few shown among many groups the level is high
_SHARE = 10  # one tenth of what may be missed goes to the test of each noise by itself
_STEP = 1e-5  # of a standard deviation, for slopes
_JUST_TOLD = 0.07  # of what may be missed: an answer that would be told at this level too is told for sure
_STEPS = 8  # levels between the two
_WIDER = 0.2  # of what movements may miss, where what has no end is told only just
_DIRECTIONS = 16  # in which the quantile of |∇f·e| is taken; the greatest of them counts


def public_seed(released: Released) -> bytes:
    """The seed of coins that simulate public noise: from what was released alone, and the same each time."""
    return hashlib.sha256(json.dumps(released, sort_keys=True).encode()).digest()


def enough_draws(level: float, groups: int) -> tuple[int, bool]:
    """How many draws are made for each group, and whether they tell quantiles at this level.

    >>> enough_draws(0.95, 10), enough_draws(0.9999999, 10)
    ((4000, True), (4000, False))
    """
    draws, enough = _DRAWS if groups * _DRAWS <= _MOST_DRAWS else _DRAWS // 4, round(_BEYOND / (1 - level))
    telling = enough <= draws or (enough <= _MOST_DRAWS and groups * enough <= _MOST_IN_ALL)
    return max(draws, enough) if telling else draws, telling


def simulated_interval(
    expression: Expression,
    released: Statistics,
    noises: dict[Any, Noise],
    level: float,
    schema: Schema,
    coins: Coins,
    possible: tuple[float, float] = (-np.inf, np.inf),
) -> tuple[Floats, Floats, Floats]:
    """The interval of any calculation in every group, and its standard error; `possible` is what it can be at all.

    Quantiles of what the calculation gives once fresh noise is taken away again, at the level of `level_of_seldom`
    where a divisor may be zero. Or the least and the greatest that no test rules out: where it is curved, and where the
    level is so near 1 that the draws do not tell its quantiles.
    """
    if is_curved(expression):
        low, high, spread = _intervals(expression, released, noises, [(level, level)], schema, coins)
        return *_told_just(expression, released, noises, level, schema, coins, (low[0], high[0]), possible), spread
    strict = level_of_seldom(level)
    careful = _unsteady(expression, released, noises, (level, strict), schema, coins)
    ends = np.zeros((3, len(careful)))
    for chosen, at in ((~careful, level), (careful, strict)):
        if chosen.any():
            here = {s: values[chosen] for s, values in released.items()}
            ends[:, chosen] = np.vstack(_intervals(expression, here, noises, [(at, at)], schema, coins))
    low, high, spread = ends
    return low, high, spread


def _told_just(
    expression: Expression,
    released: Statistics,
    noises: dict[Any, Noise],
    level: float,
    schema: Schema,
    coins: Coins,
    found: tuple[Floats, Floats],
    possible: tuple[float, float],
) -> tuple[Floats, Floats]:
    """The ends that were found, or in groups where these tell something only just, the widest that do."""
    low, high = found
    bounded = bool(np.all(np.isfinite(possible)))

    def tells(low: Floats, high: Floats) -> NDArray[np.bool_]:
        return np.isfinite(low) & np.isfinite(high) & ((low > possible[0]) | (high < possible[1]))

    doubtful = tells(low, high)
    if bounded:
        doubtful &= (low <= possible[0]) | (high >= possible[1])
    if not doubtful.any():
        return found
    here = {s: values[doubtful] for s, values in released.items()}
    levels = [1 - (1 - level) * _JUST_TOLD ** (n / (_STEPS - 1)) for n in range(_STEPS)]
    # What has no end is told where no noise by itself leads there, and movements are tested more strictly than that.
    wider = [min(1 - (1 - each) * _WIDER, 1 - (1 - levels[-1]) / 2) for each in levels]
    tests = [*zip(levels, levels, strict=True), *zip(levels, wider, strict=True)]
    lows, highs, _ = _intervals(expression, here, noises, tests, schema, coins)
    told = tells(lows, highs)[:_STEPS].sum(0)  # at so many levels: each interval lies in the next
    last = (np.maximum(told - 1, 0) + (0 if bounded else _STEPS))[None]
    low_just, high_just = (np.take_along_axis(ends, last, 0)[0] for ends in (lows, highs))
    if bounded:
        low_just, high_just = (low_just + possible[0]) / 2, (high_just + possible[1]) / 2
    low, high = low.copy(), high.copy()
    low[doubtful] = np.select([told == 0, told == _STEPS], [-np.inf, low[doubtful]], low_just)
    high[doubtful] = np.select([told == 0, told == _STEPS], [np.inf, high[doubtful]], high_just)
    return low, high


def _unsteady(
    expression: Expression,
    released: Statistics,
    noises: dict[Any, Noise],
    levels: tuple[float, float],
    schema: Schema,
    coins: Coins,
) -> NDArray[np.bool_]:
    """In which groups something that is divided by is as near to zero as noise may be, at both levels together."""
    found = np.zeros(len(next(iter(released.values()))), bool)
    for divisor in dict.fromkeys(divisors(expression, schema)):
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


def _statistics(expression: Expression, schema: Schema) -> set[Any]:
    return {s for part in aggregates_of(expression) for s in (terms(part, schema) or (part,))}


def _intervals(
    expression: Expression,
    released: Statistics,
    noises: dict[Any, Noise],
    levels: Sequence[Levels],
    schema: Schema,
    coins: Coins,
) -> tuple[Floats, Floats, Floats]:
    """The ends at each of some levels in every group, and the standard error."""
    groups = len(next(iter(released.values())))
    draws, telling = enough_draws(max(level for _, level in levels), groups)
    affine = is_affine(expression, schema, lambda statistic: statistic not in noises)
    doubts = (-1, 1) if is_doubtful(expression) else (0,)
    by_tests = not telling or (not affine and is_curved(expression))
    pieces = []
    for start in range(0, groups, _MOST_DRAWS // draws):
        here = {s: values[start : start + _MOST_DRAWS // draws] for s, values in released.items()}
        size = (draws, len(next(iter(here.values()))))
        drawn: Statistics = {
            s: noise.law.draw(math.prod(size), coins).reshape(size).astype(float) for s, noise in noises.items()
        }
        fresh = here | {s: here[s] - noise for s, noise in drawn.items()}
        moved, kept = (
            candidates_not_ruled_out(expression, here, drawn, noises, levels, schema, telling=telling)
            if by_tests
            else (fresh, None)
        )
        ends = [value_of(expression, moved, schema, clip=not affine, doubt=doubt) for doubt in doubts]
        least, most = np.minimum.reduce(ends), np.maximum.reduce(ends)
        # What cannot be calculated, such as 0/0, could be anything.
        least, most = np.where(np.isnan(least), -np.inf, least), np.where(np.isnan(most), np.inf, most)
        if kept is not None:
            # Where the tests rule out every candidate, the noise was most unusual: then nothing is known.
            low = [np.where(at.any(0), np.where(at, least, np.inf).min(0), -np.inf) for at in kept]
            high = [np.where(at.any(0), np.where(at, most, -np.inf).max(0), np.inf) for at in kept]
        else:
            tails = [(1 - level) / 2 for _, level in levels]
            low = [np.quantile(least, tail, 0, method="lower") for tail in tails]
            high = [np.quantile(most, 1 - tail, 0, method="higher") for tail in tails]
        pieces.append([*low, *high, value_of(expression, fresh, schema, clip=not affine).std(0)])
    *both, spread = np.hstack(pieces)
    return np.array(both[: len(levels)]), np.array(both[len(levels) :]), spread


def candidates_not_ruled_out(
    expression: Expression,
    released: Statistics,
    drawn: Statistics,
    noises: dict[Any, Noise],
    levels: Sequence[Levels],
    schema: Schema,
    *,
    telling: bool = True,
) -> tuple[Statistics, list[NDArray[np.bool_]]]:
    """Candidates for the sums θ, as far from s as the noises may be; and at each level which of them no test rules out.

    Of two levels the first is that of the tests of each noise by itself, the second that of how far f is moved.
    What is `drawn` from the laws of the noises has a row for each draw and a column for each group; so has a candidate.
    Draws that are not `telling` (see `enough_draws`) are no test of how far noises move the calculation: then each
    noise is tested by itself alone, which rules out less.
    """
    missed = [[(1 - exact(repr(level))) / _SHARE for level in pair] for pair in levels]
    reaches = [{s: noise.quantile(1 - share / len(noises)) for s, noise in noises.items()} for share, _ in missed]
    spread = {s: released[s] - _evenly(drawn[s], max(reach[s] for reach in reaches)) for s in noises}
    candidates = _possible(released | spread, noises, schema)
    for part in aggregates_of(expression):
        if {(0, 0), (0, 1), (1, 1)} <= set(part.definition.sums):
            candidates |= _correlated(part, candidates, noises, schema)
    needed = {s: released[s] - candidates[s] for s in noises}  # the noise that would have led from θ to s
    usual = [np.all([np.abs(needed[s]) <= reach for s, reach in widest.items()], 0) for widest in reaches]
    if not telling:
        return candidates, usual

    def formula(sums: Statistics) -> Floats:
        return value_of(expression, sums, schema, clip=False)

    # Slopes and noises in standard deviations; f may have any unit, so slopes are made directions of length 1.
    here = formula(candidates)
    deviations = {s: noise.variance**0.5 for s, noise in noises.items()}
    slopes = {s: formula(candidates | {s: candidates[s] + _STEP * d}) - here for s, d in deviations.items()}
    length = np.sqrt(np.sum([slope**2 for slope in slopes.values()], 0))
    direction = {s: slope / length for s, slope in slopes.items()}  # not a number where no noise moves f

    def movement(noise: Statistics, direction: Statistics) -> Floats:
        moves: Floats = np.sum([direction[s] * noise[s] / d for s, d in deviations.items()], 0)
        return np.abs(moves)

    shares = [float(exact(repr(level)) + share) for (_, level), (_, share) in zip(levels, missed, strict=True)]
    several = [{s: of[n] for s, of in direction.items()} for n in range(_DIRECTIONS)]
    quantiles = np.fmax.reduce([np.quantile(movement(drawn, one), shares, 0, method="higher") for one in several])
    moves = movement(needed, direction)
    # What is not a number, where no noise moves f, is not far.
    return candidates, [near & ~(moves > far) for near, far in zip(usual, quantiles, strict=True)]


def _evenly(drawn: Floats, reach: int) -> Floats:
    """Numbers from −reach to reach in place of those drawn, in the same order: also far out there are as many."""
    ranks = drawn.argsort(0, kind="stable").argsort(0)
    return np.rint((2 * ranks / (len(drawn) - 1) - 1) * reach)


def _possible(sums: Statistics, noises: dict[Any, Noise], schema: Schema) -> Statistics:
    """The sums with each noisy one moved to what it can be: n to 0 at least, Σx of n numbers from a to b to na … nb.

    Else next to no candidate would be possible where the noise is much wider than that, and (Σx)²/n is far off.
    """
    moved = sums | {s: np.maximum(sums[s], 0) for s in noises if isinstance(s, Term) and not s.columns}
    for term in noises:
        if isinstance(term, Term) and len(term.columns) == 1 and Term((), term.where) in sums:
            n = np.maximum(sums[Term((), term.where)], 1)
            low, high = term.scale(term.columns[0], schema).ends
            moved[term] = np.clip(sums[term], n * float(low), n * float(high))
    return moved


def _correlated(correlation: Aggregate, sums: Statistics, noises: dict[Any, Noise], schema: Schema) -> Statistics:
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
    return {term: moments[term.columns] for term in needed if term in noises}


Floats = NDArray[np.float64]


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

"""Aggregates that are chosen among values: at what rate, how, and how far from the best a choice may be.

Quantiles and extremes are chosen by how many rows miss the mark, modes and top lists by how many rows have a value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from dproof.coins import Coins
from dproof.curator.selection import exponential, permute_and_flip, reach
from dproof.errors import InputError, TooLarge
from dproof.exact import exact, several
from dproof.privacy import Privacy
from dproof.questions.aggregates import Frequent, Rank
from dproof.questions.canonical import expression
from dproof.questions.question import Aggregate, Question
from dproof.questions.schema import Schema
from dproof.questions.sums import whole_scale
from dproof.spaces import Space

_MOST_FLIPS = 1 << 20  # candidates up to which permute-and-flip reads a word for each of them
_MOST_WORDS = 1 << 27  # for those of all groups
_MOST_VALUES = 1 << 16  # among which a mode or a top list is chosen
_MOST_SCORES = 1 << 24  # that are compared for those of all groups
_SURE = 3  # e^-3: the chance that a minimum is taken from beyond the rows, about


@dataclass(frozen=True, slots=True)
class Chosen:
    """An aggregate that is chosen among candidates, with the rate t and for extremes the rank that is aimed at."""

    aggregate: Aggregate
    mechanism: Literal["permute-and-flip", "exponential"]
    rate: Fraction
    candidates: int
    rank: int | None = None


def extreme(aggregate: Aggregate) -> Literal["least", "greatest"] | None:
    """Which end an aggregate is that is chosen by its rank, if it is one."""
    chosen = aggregate.definition.chosen
    if not isinstance(chosen, Rank) or aggregate.argument not in (None, 0, 1):
        return None
    return chosen.end if aggregate.argument is None else "greatest" if aggregate.argument else "least"


def choice_of(aggregate: Aggregate, schema: Schema, privacy: Privacy, rows: int, groups: int) -> Chosen:
    """The rate at which a candidate's chance may fall with what it misses, so that one person costs ε at most.

    With several groups a changed row leaves one group and enters another: the costs of the two add up.
    """
    epsilon, changed, several = privacy.epsilon / rows, privacy.neighbours == "change-one", groups > 1
    if not epsilon:
        raise InputError("a quantile, an extreme, a mode or a top list needs epsilon above 0")
    candidates = schema.declared(aggregate.columns[0]).candidates
    chosen = aggregate.definition.chosen
    if isinstance(chosen, Frequent):
        rounds = int(aggregate.argument or 1)
        if candidates > _MOST_VALUES:
            raise TooLarge(f"{candidates} values are too many to choose from: ask for counts by BIN instead")
        if rounds > candidates:
            raise InputError(f"TOP asks for {rounds} values, and the column has {candidates}: ask for fewer")
        if groups * rounds * candidates > _MOST_SCORES:
            raise TooLarge(
                f"{groups * rounds} of {candidates} values would be chosen: ask for fewer, or in fewer groups"
            )
        # An added row raises counts and lowers none, so only then does one step of the score cost t and not 2t.
        return Chosen(aggregate, "permute-and-flip", epsilon / rounds / (2 if changed else 1), candidates)
    mechanism: Literal["permute-and-flip", "exponential"] = (
        "permute-and-flip" if candidates <= min(_MOST_FLIPS, _MOST_WORDS // groups) else "exponential"
    )
    if extreme(aggregate) is not None:
        rate = epsilon / (4 if changed and several else 2)
        rank = math.ceil(Fraction(math.log(candidates) + _SURE) / rate)
        return Chosen(aggregate, mechanism, rate, candidates, rank)
    if chosen is None or aggregate.argument is None:
        raise KeyError(f"{aggregate.kind} is no choice among values")
    a, b = aggregate.argument.numerator, aggregate.argument.denominator
    # A row that comes or goes moves misses by up to max(a, b − a), one that changes by up to b: on one side of the
    # quantile up, on the other down, so that the cost is twice as much.
    moves = b if changed and not several else max(a, b - a) * (2 if changed else 1)
    return Chosen(aggregate, mechanism, epsilon / (2 * moves), candidates)


def choose(choice: Chosen, histogram: Mapping[int, int], schema: Schema, coins: Coins) -> int | list[int]:
    """The code that is chosen, or the codes."""
    space = schema.declared(choice.aggregate.columns[0])
    chosen = choice.aggregate.definition.chosen
    if isinstance(chosen, Frequent):
        rounds = int(choice.aggregate.argument or 1)
        top = _top(choice, space.tallies(histogram), rounds, coins)
        return top if chosen.several else top[0]
    if chosen is None:
        raise KeyError(f"{choice.aggregate.kind} is no choice among values")
    ladder = rungs(space)
    counts = {place: histogram[code] for place, code in enumerate(ladder) if code in histogram} if ladder else histogram
    lengths, misses = _runs(choice, counts, len(ladder) if ladder else space.size)
    draw = exponential if choice.mechanism == "exponential" else permute_and_flip
    place = draw(lengths, misses, choice.rate, coins)
    return ladder[place] if ladder else place


def _top(choice: Chosen, scores: Mapping[int, int], rounds: int, coins: Coins) -> list[int]:
    """The best, then the best of the others, and so on."""
    left = list(scores)
    top = []
    for _ in range(rounds):
        top.append(left.pop(permute_and_flip([1] * len(left), [-scores[code] for code in left], choice.rate, coins)))
    return top


def rungs(space: Space) -> list[int] | None:
    """The codes of a space of numbers from the least to the greatest; None where they are in order already."""
    if space.line is not None:
        return None
    codes = [code for code in range(space.size) if space.label(code) is not None]
    return sorted(codes, key=whole_scale(space, False).whole(np.arange(space.size)).tolist().__getitem__)


def _runs(choice: Chosen, counts: Mapping[int, int], size: int) -> tuple[list[int], list[int]]:
    """Candidates in runs: how long each is, and by how many rows a candidate of it misses the mark."""
    total, below, start = sum(counts.values()), 0, 0
    lengths, misses = [], []
    for place in [*sorted(counts), size]:
        if place > start:
            lengths.append(place - start)
            misses.append(_miss(choice, below, 0, total - below))
        if place < size:
            here = counts[place]
            lengths.append(1)
            misses.append(_miss(choice, below, here, total - below - here))
            below, start = below + here, place + 1
    return lengths, misses


def _miss(choice: Chosen, below: int, here: int, above: int) -> int:
    """How far a candidate with so many rows below, at and above it is from being the quantile or rank wanted."""
    aggregate = choice.aggregate
    if choice.rank is not None:
        beyond = below if extreme(aggregate) == "least" else above
        return max(0, beyond - choice.rank + 1, choice.rank - beyond - here)
    assert aggregate.argument is not None
    a, b, n = aggregate.argument.numerator, aggregate.argument.denominator, below + here + above
    return max(0, b * below - a * n, b * above - (b - a) * n)


def promise(choice: Chosen, level: float, question: Question) -> str:
    """How far a choice may be from the best at this level, whatever the table: what its misses mean in rows.

    >>> from fractions import Fraction
    >>> from dproof.questions.sql import parse
    >>> question = parse("SELECT median(age) FROM data")
    >>> choice = Chosen(question.select[0].expression, "exponential", Fraction(1, 4), 111)
    >>> print(promise(choice, 0.95, question))
    median(age): with probability 0.95 at most 50% of the rows plus 15 are below it, and 50% plus 15 above it.
    """
    aggregate, chosen = choice.aggregate, choice.aggregate.definition.chosen
    rounds = int(aggregate.argument or 1) if isinstance(chosen, Frequent) else 1
    most = reach(choice.mechanism, choice.candidates, choice.rate, exact(repr(level)), rounds)
    if isinstance(chosen, Frequent) and chosen.several:
        text = f"each one listed is in at most {several(most, 'row')} fewer than the most frequent one left out"
    elif isinstance(chosen, Frequent):
        text = f"every other value is in at most {several(most, 'row')} more"
    elif choice.rank is not None:
        side = "below" if extreme(aggregate) == "least" else "above"
        aim = f"the aim is {choice.rank - 1:,}, because the extreme itself is private"
        text = f"it has at most {several(choice.rank - 1 + most, 'row')} {side} it ({aim})"
    else:
        assert aggregate.argument is not None
        low, more = aggregate.argument, -(-most // aggregate.argument.denominator)
        shares = [f"{float(100 * share):g}%" for share in (low, 1 - low)]
        text = f"at most {shares[0]} of the rows plus {more:,} are below it, and {shares[1]} plus {more:,} above it"
    # As its column is headed; what is only tested or sorted by has no column.
    name = next((item.alias for item in question.select if item.expression == aggregate), expression(aggregate))
    return f"{name}: with probability {level:g} {text}."

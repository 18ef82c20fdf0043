"""Aggregates that are chosen among values: at what rate, how, and how far from the best a choice may be.

Quantiles and extremes are chosen by how many rows miss the mark, modes and top lists by how many rows have a value. One
of many is chosen exactly, the likelier the nearer it is to the best.

The exponential mechanism chooses x with P(x) ∝ e^(−t·k(x)), where k(x) ≥ 0 counts by how much x misses the mark
(HLM16, Definition 2). Permute-and-flip (McKenna and Sheldon 2020) takes the candidates in a random order and accepts
each with probability e^(−t·(k − least k)); it keeps the same promise and is never worse on average.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Literal

import numpy as np

from dproof.coins import Coins
from dproof.errors import QuestionError, TooLarge
from dproof.exact import exact, exp_above, exp_below, least_whole, log_above, several
from dproof.limits import MOST_VALUES
from dproof.privacy import Privacy
from dproof.questions.aggregates import Frequent
from dproof.questions.question import Aggregate, Question, Schema, expression
from dproof.spaces import Space
from dproof.spaces.interval import whole_scale

_BITS = 192  # of the first weight
_WORD = 2**64 - 1
_TINY = 0, 1  # what a weight lies between that is too small to be told


def permute_and_flip(lengths: Sequence[int], misses: Sequence[int], rate: Fraction, coins: Coins) -> int:
    """The position of the chosen candidate where candidates come in runs that miss the mark by the same.

    The first to be accepted in a random order is any of all that would be, each as likely: so every coin is flipped at
    once, and one of the accepted is drawn. Why it is private: raising one score by 1 while the others stay multiplies
    its chance by at most e^t (McKenna and Sheldon 2020, Theorem 1), and each coin is decided by as many random bits as
    it needs.

    >>> from dproof.coins import current
    >>> permute_and_flip([5, 1, 5], [9000, 0, 9000], Fraction(1), current())
    5
    """
    least = min(misses)
    beyond = [miss - least for miss in misses]
    ends = {more: [min(end >> _BITS - 64, _WORD) for end in pair] for more, pair in _ends(beyond, rate).items()}
    low, high = np.array([ends.get(more, (0, 0)) for more in beyond], np.uint64).T
    words = coins.words64(sum(lengths))
    accepted = np.repeat([more == 0 for more in beyond], lengths) | (words < np.repeat(low, lengths))
    last = np.cumsum(lengths)
    for place in np.flatnonzero(~accepted & (words <= np.repeat(high, lengths))).tolist():
        exponent = rate * beyond[int(np.searchsorted(last, place, "right"))]
        accepted[place] = _coin(exponent, int(words[place]), 64, coins)
    places = np.flatnonzero(accepted)
    return int(places[uniform_integer_below(len(places), coins)])


def _ends(beyond: Sequence[int], rate: Fraction) -> dict[int, tuple[int, int]]:
    """Whole numbers at or below and at or above 2^192·e^(−t·k), but for k that make it less than 1.

    One follows from the other by whole-number products, rounded down and up; e^(−134) < 2^(−192).
    """
    far, here, low, high = int(134 / rate), 0, 1 << _BITS, 1 << _BITS
    steps: dict[int, tuple[int, int]] = {}
    ends = {0: (low, high)}
    for more in sorted({more for more in beyond if 0 < more <= far}):
        step, here = more - here, more
        if step not in steps:
            below, above = exp_below(-rate * step, _BITS), exp_above(-rate * step, _BITS)
            steps[step] = int(below * 2**_BITS), int(above * 2**_BITS) + 1
        low, high = low * steps[step][0] >> _BITS, (high * steps[step][1] >> _BITS) + 1
        ends[more] = low, high
    return ends


def _coin(exponent: Fraction, number: int, bits: int, coins: Coins) -> bool:
    """True with probability e^(−exponent), exactly: random bits are read after the first ones until they tell."""
    while True:
        if Fraction(number + 1, 1 << bits) <= exp_below(-exponent, bits + 64):
            return True
        if Fraction(number, 1 << bits) >= exp_above(-exponent, bits + 64):
            return False
        number, bits = number << 64 | int(coins.words64(1)[0]), bits + 64


def exponential_choice(lengths: Sequence[int], misses: Sequence[int], rate: Fraction, coins: Coins) -> int:
    """The position of the chosen candidate where candidates come in runs that miss the mark by the same.

    A candidate is drawn by whole numbers just above the weights 2^192·e^(−t·(k − least k)), and drawn again with the
    small probability that makes up for the difference, so that P(x) ∝ e^(−t·k(x)) exactly. Why it is private: when
    every k moves by at most d, each weight and the sum of all weights change by a factor of at most e^(t·d).

    >>> from dproof.coins import current
    >>> exponential_choice([5, 1, 5], [9000, 0, 9000], Fraction(1), current())
    5
    """
    least = min(misses)
    ends = _ends([miss - least for miss in misses], rate)
    weights = [ends.get(miss - least, _TINY)[1] for miss in misses]
    last = list(accumulate(length * weight for length, weight in zip(lengths, weights, strict=True)))
    while True:
        place = uniform_integer_below(last[-1], coins)
        run = bisect_right(last, place)
        more = misses[run] - least
        back, number = divmod(last[run] - 1 - place, weights[run])
        if number < ends.get(more, _TINY)[0] or _coin(rate * more, number, _BITS, coins):
            return sum(lengths[: run + 1]) - 1 - back


def reach(mechanism: str, candidates: int, rate: Fraction, level: Fraction, rounds: int = 1) -> int:
    """The least T such that the chosen candidate misses by at most T more than the best, with at least this level.

    Whatever the table: P(more than T) is greatest where one candidate is best and all m − 1 others miss by T + 1, for
    any other that missed by less would be a better choice, and one that missed by more a rarer one. With
    p = e^(−t·(T + 1)) it is then (m − 1)·p/(1 + (m − 1)·p) for the exponential mechanism, and for permute-and-flip,
    which takes the best as the (j + 1)-th with j uniform on 0, …, m − 1, it is 1 − Σ_j (1 − p)^j/m. In several rounds
    each chooses among fewer, so all of them keep to T with the product of their probabilities at least.

    >>> reach("exponential", 101, Fraction(1, 2), Fraction(19, 20)), reach("permute-and-flip", 101, Fraction(1, 2),
    ...     Fraction(19, 20))
    (15, 13)
    """

    def sure(most: int) -> bool:
        p = exp_above(-rate * (most + 1)) + Fraction(1, 1 << 128)  # no level tells it from a smaller one
        kept = 1 / (1 + (candidates - 1) * p) if mechanism == "exponential" else _flipped(candidates, p)
        return kept**rounds >= level

    return least_whole(sure, 1)


def _flipped(candidates: int, p: Fraction) -> Fraction:
    """(1 − (1 − p)^m)/(m·p), or a little less: Σ_j (1 − p)^j/m."""
    missed = exp_above(max(candidates * log_above(1 - p, 256), Fraction(-99)), 256) if p < 1 else Fraction(0)
    return (1 - missed) / (candidates * p) if candidates > 1 else Fraction(1)


def uniform_integer_below(bound: int, coins: Coins) -> int:
    """A whole number in 0, …, bound − 1, all equally likely, however large the bound.

    `coins.uniform_below` draws many numbers below bounds of 62 bits.

    >>> from dproof.coins import current
    >>> uniform_integer_below(1, current())
    0
    """
    bits = (bound - 1).bit_length()
    while True:
        words = coins.words64(-(-bits // 64)) if bits else np.zeros(0, np.uint64)
        number = int.from_bytes(words.tobytes(), "little") >> (-bits % 64)
        if number < bound:
            return number


_MOST_FLIPS = 1 << 20  # candidates up to which permute-and-flip reads a word for each of them
_MOST_WORDS = 1 << 27  # for those of all groups
_MOST_SCORES = 1 << 24  # that are compared for those of all groups
_SURE = 3  # e^-3: the chance that a minimum is taken from beyond the rows, about


@dataclass(frozen=True, slots=True)
class Choice:
    """An aggregate that is chosen among candidates, with the rate t and for extremes the rank that is aimed at."""

    aggregate: Aggregate
    mechanism: Literal["permute-and-flip", "exponential"]
    rate: Fraction
    candidates: int
    rank: int | None = None


def choice_of(aggregate: Aggregate, schema: Schema, privacy: Privacy, rows: int, groups: int) -> Choice:
    """The rate at which a candidate's chance may fall with what it misses, so that one person costs ε at most.

    With several groups a changed row leaves one group and enters another: the costs of the two add up.
    """
    epsilon, changed, several = privacy.epsilon / rows, privacy.neighbours == "change-one", groups > 1
    if not epsilon:
        raise QuestionError("a quantile, an extreme, a mode or a top list needs epsilon above 0")
    candidates = schema.declared(aggregate.columns[0]).candidates
    chosen = aggregate.definition.chosen
    if isinstance(chosen, Frequent):
        rounds = int(aggregate.argument or 1)
        if candidates > MOST_VALUES:
            raise TooLarge(
                f"{candidates:,} values are more than the {MOST_VALUES:,} to choose from: ask for counts by BIN"
            )
        if rounds > candidates:
            raise QuestionError(f"TOP asks for {rounds} values, and the column has {candidates}: ask for fewer")
        if groups * rounds * candidates > _MOST_SCORES:
            raise TooLarge(
                f"{groups * rounds} of {candidates} values would be chosen: ask for fewer, or in fewer groups"
            )
        # An added row raises counts and lowers none, so only then does one step of the score cost t and not 2t.
        return Choice(aggregate, "permute-and-flip", epsilon / rounds / (2 if changed else 1), candidates)
    mechanism: Literal["permute-and-flip", "exponential"] = (
        "permute-and-flip" if candidates <= min(_MOST_FLIPS, _MOST_WORDS // groups) else "exponential"
    )
    if aggregate.end is not None:
        rate = epsilon / (4 if changed and several else 2)
        rank = math.ceil(Fraction(math.log(candidates) + _SURE) / rate)
        return Choice(aggregate, mechanism, rate, candidates, rank)
    if chosen is None or aggregate.argument is None:
        raise KeyError(f"{aggregate.kind} is no choice among values")
    a, b = aggregate.argument.numerator, aggregate.argument.denominator
    # A row that comes or goes moves misses by up to max(a, b − a), one that changes by up to b: on one side of the
    # quantile up, on the other down, so that the cost is twice as much.
    moves = b if changed and not several else max(a, b - a) * (2 if changed else 1)
    return Choice(aggregate, mechanism, epsilon / (2 * moves), candidates)


def pick(choice: Choice, histogram: Mapping[int, int], schema: Schema, coins: Coins) -> int | list[int]:
    """The code that is chosen, or the codes."""
    space = schema.declared(choice.aggregate.columns[0])
    chosen = choice.aggregate.definition.chosen
    if isinstance(chosen, Frequent):
        rounds = int(choice.aggregate.argument or 1)
        top = _top(choice, space.tallies(histogram), rounds, coins)
        return top if chosen.several else top[0]
    if chosen is None:
        raise KeyError(f"{choice.aggregate.kind} is no choice among values")
    by_value = codes_by_value(space)
    counts = (
        {place: histogram[code] for place, code in enumerate(by_value) if code in histogram} if by_value else histogram
    )
    lengths, misses = _runs(choice, counts, len(by_value) if by_value else space.size)
    draw = exponential_choice if choice.mechanism == "exponential" else permute_and_flip
    place = draw(lengths, misses, choice.rate, coins)
    return by_value[place] if by_value else place


def _top(choice: Choice, scores: Mapping[int, int], rounds: int, coins: Coins) -> list[int]:
    """The best, then the best of the others, and so on."""
    left = list(scores)
    top = []
    for _ in range(rounds):
        top.append(left.pop(permute_and_flip([1] * len(left), [-scores[code] for code in left], choice.rate, coins)))
    return top


def codes_by_value(space: Space) -> list[int] | None:
    """The codes of a space of numbers from the least to the greatest; None where they are in order already."""
    if space.line is not None:
        return None
    codes = [code for code in range(space.size) if space.label(code) is not None]
    return sorted(codes, key=whole_scale(space, False).whole(np.arange(space.size)).tolist().__getitem__)


def _runs(choice: Choice, counts: Mapping[int, int], size: int) -> tuple[list[int], list[int]]:
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


def _miss(choice: Choice, below: int, here: int, above: int) -> int:
    """How far a candidate with so many rows below, at and above it is from being the quantile or rank wanted."""
    aggregate = choice.aggregate
    if choice.rank is not None:
        beyond = below if aggregate.end == "least" else above
        return max(0, beyond - choice.rank + 1, choice.rank - beyond - here)
    assert aggregate.argument is not None
    a, b, n = aggregate.argument.numerator, aggregate.argument.denominator, below + here + above
    return max(0, b * below - a * n, b * above - (b - a) * n)


def promise(choice: Choice, level: float, question: Question) -> str:
    """How far a choice may be from the best at this level, whatever the table: what its misses mean in rows.

    >>> from fractions import Fraction
    >>> from dproof.questions.sql import parse
    >>> question = parse("SELECT median(age) FROM data")
    >>> choice = Choice(question.select[0].expression, "exponential", Fraction(1, 4), 111)
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
        side = "below" if aggregate.end == "least" else "above"
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

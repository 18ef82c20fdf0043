"""The exponential mechanism and permute-and-flip, exactly: one of many, the likelier the nearer it is to the best.

The exponential mechanism chooses x with P(x) ∝ e^(−t·k(x)), where k(x) ≥ 0 counts by how much x misses the mark
(HLM16, Definition 2). Permute-and-flip (McKenna and Sheldon 2020) takes the candidates in a random order and accepts
each with probability e^(−t·(k − least k)); it keeps the same promise and is never worse on average.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

import numpy as np

from dproof.coins import Coins
from dproof.exact import exp_above, exp_below, least_whole, log_above

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
    return int(places[uniform_below(len(places), coins)])


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


def exponential(lengths: Sequence[int], misses: Sequence[int], rate: Fraction, coins: Coins) -> int:
    """The position of the chosen candidate where candidates come in runs that miss the mark by the same.

    A candidate is drawn by whole numbers just above the weights 2^192·e^(−t·(k − least k)), and drawn again with the
    small probability that makes up for the difference, so that P(x) ∝ e^(−t·k(x)) exactly. Why it is private: when
    every k moves by at most d, each weight and the sum of all weights change by a factor of at most e^(t·d).

    >>> from dproof.coins import current
    >>> exponential([5, 1, 5], [9000, 0, 9000], Fraction(1), current())
    5
    """
    least = min(misses)
    ends = _ends([miss - least for miss in misses], rate)
    weights = [ends.get(miss - least, _TINY)[1] for miss in misses]
    last = list(accumulate(length * weight for length, weight in zip(lengths, weights, strict=True)))
    while True:
        place = uniform_below(last[-1], coins)
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


def uniform_below(bound: int, coins: Coins) -> int:
    """A whole number in 0, …, bound − 1, all equally likely, whatever the size of the bound.

    >>> from dproof.coins import current
    >>> uniform_below(1, current())
    0
    """
    bits = (bound - 1).bit_length()
    while True:
        words = coins.words64(-(-bits // 64)) if bits else np.zeros(0, np.uint64)
        number = int.from_bytes(words.tobytes(), "little") >> (-bits % 64)
        if number < bound:
            return number

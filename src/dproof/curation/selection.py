"""Choosing one of many with a probability that falls with its distance from the best: exactly.

The exponential mechanism chooses x with P(x) ∝ e^(−t·k(x)), where k(x) ≥ 0 counts by how much x misses the mark
(HLM16, Definition 2). Permute-and-flip (McKenna and Sheldon 2020) takes the candidates in a random order and accepts
each with probability e^(−t·(k − least k)); it keeps the same promise and is never worse on average.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dproof.coins import Coins
from dproof.exact import exp_above, exp_below, log_above

_BITS = 192  # of the first weight or chance: candidates that miss by more than these can tell weigh at least 1


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
    ends = _ends(beyond, rate)
    low, high = np.array([ends.get(more, (0, 0)) for more in beyond], np.uint64).T
    words = coins.words64(sum(lengths))
    accepted = np.repeat([more == 0 for more in beyond], lengths) | (words < np.repeat(low, lengths))
    last = np.cumsum(lengths)
    for place in np.flatnonzero(~accepted & (words <= np.repeat(high, lengths))).tolist():
        exponent = rate * beyond[int(np.searchsorted(last, place, "right"))]
        accepted[place] = _coin(exponent, int(words[place]), coins)
    places = np.flatnonzero(accepted)
    return int(places[uniform_below(len(places), coins)])


def _ends(beyond: Sequence[int], rate: Fraction) -> dict[int, tuple[int, int]]:
    """A coin of e^(−t·k) is sure below the first of these 64-bit words, and sure not to be above the second.

    Both are 0 where they are not told: e^(−45) < 2^(−64). One follows from the other by whole-number products, rounded
    down and up.
    """
    far, here, low, high = int(45 / rate), 0, 1 << _BITS, 1 << _BITS
    steps: dict[int, tuple[int, int]] = {}
    ends = {}
    for more in sorted({more for more in beyond if 0 < more <= far}):
        step, here = more - here, more
        if step not in steps:
            below, above = exp_below(-rate * step, _BITS), exp_above(-rate * step, _BITS)
            steps[step] = int(below * 2**_BITS), int(above * 2**_BITS) + 1
        low, high = low * steps[step][0] >> _BITS, (high * steps[step][1] >> _BITS) + 1
        ends[more] = low >> _BITS - 64, high >> _BITS - 64
    return ends


def _coin(exponent: Fraction, number: int, coins: Coins) -> bool:
    """True with probability e^(−exponent), exactly: random bits are read after a first word until they tell."""
    bits = 64
    while True:
        if Fraction(number + 1, 1 << bits) <= exp_below(-exponent, bits + 64):
            return True
        if Fraction(number, 1 << bits) >= exp_above(-exponent, bits + 64):
            return False
        number, bits = number << 64 | int(coins.words64(1)[0]), bits + 64


def exponential(lengths: Sequence[int], misses: Sequence[int], rate: Fraction, coins: Coins) -> int:
    """The position of the chosen candidate where candidates come in runs that miss the mark by the same.

    Why it is private: the weights are whole numbers w(0) ≥ w(1) ≥ … with w(k) ≤ e^t·w(k + 1), so when every k moves
    by at most d the weight of a candidate and the sum of all weights each change by a factor of at most e^(t·d).

    >>> from dproof.coins import current
    >>> exponential([5, 1, 5], [9000, 0, 9000], Fraction(1), current())
    5
    """
    weight = _weights(rate, max(misses))
    shares = [length * weight[min(miss, len(weight) - 1)] for length, miss in zip(lengths, misses, strict=True)]
    place = uniform_below(sum(shares), coins)
    start = 0
    for length, share in zip(lengths, shares, strict=True):
        if place < share:
            return start + place * length // share
        place, start = place - share, start + length
    raise AssertionError("the shares add up to their sum")


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
        # The whole-number weights of the exponential mechanism lie above e^(−t·k) by no more than the last summand.
        p = exp_above(-rate * (most + 1)) + Fraction(1, 1 << 96)
        kept = 1 / (1 + (candidates - 1) * p) if mechanism == "exponential" else _flipped(candidates, p)
        return kept**rounds >= level

    high = 1
    while not sure(high):
        high *= 2
    low = -1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if sure(middle) else (middle, high)
    return high


def _flipped(candidates: int, p: Fraction) -> Fraction:
    """(1 − (1 − p)^m)/(m·p), or a little less: Σ_j (1 − p)^j/m."""
    missed = exp_above(max(candidates * log_above(1 - p), Fraction(-99))) if p < 1 else Fraction(0)
    return (1 - missed) / (candidates * p) if candidates > 1 else Fraction(1)


def _weights(rate: Fraction, most: int) -> list[int]:
    """w(0), w(1), …, each at least e^(−t) times the one before, up to where they stay the same."""
    fall = exp_above(-rate, _BITS)
    p, q = fall.numerator, fall.denominator
    weights = [1 << _BITS]
    while len(weights) <= most:
        following = -(-weights[-1] * p // q)
        if following == weights[-1]:
            break
        weights.append(following)
    return weights


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

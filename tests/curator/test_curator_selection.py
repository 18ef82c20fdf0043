"""Choosing among candidates: the law that is drawn is the law that is private."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.medians import chances_of_flips
from dproof.curator.recipe import Choice
from dproof.curator.select import (
    _ends,
    _miss,
    _runs,
    exponential_choice,
    permute_and_flip,
    reach,
    uniform_integer_below,
)
from dproof.exact import exp_above, exp_below
from dproof.questions.question import Aggregate
from dproof.testing import seeded_coins


def law_of_flips(misses: list[int], rate: float) -> list[float]:
    """P(r) = p_r ∫₀¹ ∏_{s≠r} (1 − x·p_s) dx: a candidate comes before another with chance x, given its place x."""
    chances = [math.exp(-rate * (miss - min(misses))) for miss in misses]
    law = []
    for r, p in enumerate(chances):
        polynomial = np.polynomial.Polynomial([1.0])
        for s, q in enumerate(chances):
            if s != r:
                polynomial *= np.polynomial.Polynomial([1.0, -q])
        law.append(p * (polynomial.integ()(1.0) - polynomial.integ()(0.0)))
    return law


def frequencies(draw: object, count: int, size: int) -> np.ndarray:
    assert callable(draw)
    return np.bincount([draw() for _ in range(count)], minlength=size) / count


def agrees(found: np.ndarray, law: list[float], count: int) -> None:
    for seen, p in zip(found, law, strict=True):
        assert abs(seen - p) < 5 * math.sqrt(p * (1 - p) / count) + 1e-12


def test_permute_and_flip_draws_its_law() -> None:
    misses, rate = [4, 0, 1, 3], Fraction(1, 2)
    law = law_of_flips(misses, 0.5)
    assert sum(law) == pytest.approx(1)
    with seeded_coins(1) as coins:
        agrees(frequencies(lambda: permute_and_flip([1] * 4, misses, rate, coins), 20_000, 4), law, 20_000)


@pytest.mark.parametrize("misses", [[7, 0], [2, 2, 2], [0, 0, 9], [40, 1, 7, 0, 2]], ids=str)
def test_what_it_draws_has_the_law_that_benchmarks_write_out(misses: list[int]) -> None:
    law = list(chances_of_flips(np.array(misses), 0.5))
    with seeded_coins(3) as coins:
        draw = partial(permute_and_flip, [1] * len(misses), misses, Fraction(1, 2), coins)
        agrees(frequencies(draw, 4000, len(misses)), law, 4000)


def test_permute_and_flip_draws_its_law_from_runs() -> None:
    lengths, misses = [2, 1, 3], [3, 0, 1]
    law = law_of_flips([3, 3, 0, 1, 1, 1], 0.5)
    with seeded_coins(2) as coins:
        agrees(frequencies(lambda: permute_and_flip(lengths, misses, Fraction(1, 2), coins), 20_000, 6), law, 20_000)


class Told:
    """Coins that fall as they are told."""

    def __init__(self, *words: list[int]) -> None:
        self.words = iter(words)

    def words64(self, count: int) -> np.ndarray:
        found = np.array(next(self.words), np.uint64)
        assert len(found) == count
        return found


@pytest.mark.parametrize("miss", [1, 50])
@pytest.mark.parametrize("accepted", [True, False])
def test_a_coin_that_its_first_word_leaves_open_reads_another(miss: int, accepted: bool) -> None:
    end = int(exp_below(Fraction(-miss)) * 2**64)  # the word in which e^(−t·k) lies, 0 for 50
    # The first words of both coins, the second word of the open one, and what chooses between two accepted ones.
    coins = Told([0, end], [0 if accepted else 2**64 - 1], [2**64 - 1])
    assert permute_and_flip([1, 1], [0, miss], Fraction(1), coins) == int(accepted)  # type: ignore[arg-type]


@pytest.mark.parametrize("accepted", [True, False])
def test_a_weight_that_is_a_little_too_large_is_made_up_for(accepted: bool) -> None:
    # Beside the best with its 2^192 the other has a weight of 1, far above 2^192·e^(−140): it is hardly ever kept.
    best, other = [2**63, 0, 0, 0], [0, 0, 0, 2**63]
    coins = Told(other, [0 if accepted else 2**64 - 1], best)
    assert exponential_choice([1, 1], [7, 147], Fraction(1), coins) == int(accepted)  # type: ignore[arg-type]


@given(st.lists(st.integers(0, 200), min_size=1), st.fractions(Fraction(1, 100), 3))
def test_weights_lie_between_their_ends(beyond: list[int], rate: Fraction) -> None:
    for more, (low, high) in _ends(beyond, rate).items():
        assert Fraction(low, 2**192) <= exp_above(-rate * more, 256) and exp_below(-rate * more, 256) * 2**192 <= high
        assert high - low <= 2 * (len(beyond) + 1)


@pytest.mark.parametrize(("rate", "more"), [(20, 1), (100, 1), (134, 1), (67, 2), (1, 134)])
def test_every_weight_that_can_be_told_has_ends_and_the_first_is_two_below_at_most(rate: int, more: int) -> None:
    low, high = _ends([0, more], Fraction(rate))[more]
    weight = exp_below(Fraction(-rate * more), 256) * 2**192
    assert low <= weight <= high and high - 2 <= weight


@pytest.mark.parametrize("choose", [permute_and_flip, exponential_choice])
@pytest.mark.parametrize("rate", ["1e-300", "1e-60", "1e-9", "1e9", "1e300"])
def test_no_rate_is_too_small_or_too_large(choose: Any, rate: str) -> None:
    # Whether candidates differ at all must not show in a failure, nor in the memory that a choice takes.
    with seeded_coins(1) as coins:
        for misses in ([5, 5, 5], [5, 6, 10**12]):
            found = choose([1, 1, 1], misses, Fraction(rate), coins)
            assert found == 0 if Fraction(rate) > 1 and misses[1] > 5 else found in (0, 1, 2)


def test_the_exponential_mechanism_draws_its_law() -> None:
    lengths, misses = [2, 1, 3], [3, 0, 1]
    weights = [math.exp(-0.5 * miss) for length, miss in zip(lengths, misses, strict=True) for _ in range(length)]
    law = [weight / sum(weights) for weight in weights]
    with seeded_coins(2) as coins:
        agrees(frequencies(lambda: exponential_choice(lengths, misses, Fraction(1, 2), coins), 20_000, 6), law, 20_000)


@pytest.mark.parametrize("rate", [0.3, 1.0])
def test_permute_and_flip_keeps_its_promise_for_every_pair_of_scores(rate: float) -> None:
    scores = list(product(range(4), repeat=3))
    laws = {score: law_of_flips(list(score), rate) for score in scores}
    for a in scores:
        for b in scores:
            reach = max(abs(x - y) for x, y in zip(a, b, strict=True))
            signs = {np.sign(x - y) for x, y in zip(a, b, strict=True)} - {0}
            cost = rate * reach * (2 if len(signs) > 1 else 1)  # scores that move one way cost half
            for p, q in zip(laws[a], laws[b], strict=True):
                assert p <= math.exp(cost) * q * (1 + 1e-9)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("mechanism", ["permute-and-flip", "exponential"])
def test_a_choice_reaches_so_far_and_no_less(mechanism: str, size: int, level: float) -> None:
    def law(missed: list[int]) -> list[float]:
        weights = [math.exp(-0.4 * miss) for miss in missed]
        flips = law_of_flips(missed, 0.4)
        return flips if mechanism == "permute-and-flip" else [weight / sum(weights) for weight in weights]

    def beyond(missed: list[int], most: int) -> float:
        return sum(p for p, miss in zip(law(missed), missed, strict=True) if miss > min(missed) + most)

    most = reach(mechanism, size, Fraction(2, 5), Fraction(str(level)))
    marks = {0, 1, most // 2, max(0, most - 1), most, most + 1, most + 2, most + 5}
    assert max(beyond(list(missed), most) for missed in product(marks, repeat=size)) <= 1 - level + 1e-9
    if most:  # the next smaller one is broken by one candidate that is best among others that all miss it just so
        assert beyond([0] + [most] * (size - 1), most - 1) > 1 - level


def test_two_rounds_reach_further_than_one() -> None:
    most = reach("permute-and-flip", 20, Fraction(1, 20), Fraction(9, 10), 2)
    others = [most + 1] * 18
    assert sum(law_of_flips([0, 0, *others], 0.05)[:2]) * law_of_flips([0, *others], 0.05)[0] >= 0.9


@pytest.mark.parametrize("mechanism", ["permute-and-flip", "exponential"])
@pytest.mark.parametrize("level", [0.5, 1 - 2**-53])
def test_a_reach_is_found_at_every_rate_and_level(mechanism: str, level: float) -> None:
    for candidates in (1, 2, 2**20, 2**52):
        assert reach(mechanism, candidates, Fraction(1000), Fraction(level)) == 0
        assert reach(mechanism, candidates, Fraction("1e-9"), Fraction(level)) < 10**11


def test_the_reach_of_very_many_candidates() -> None:
    for mechanism, most in (
        ("permute-and-flip", 2 * math.log(10**12 / 2 / 0.05)),
        ("exponential", 2 * math.log(19e12)),
    ):
        assert abs(reach(mechanism, 10**12, Fraction(1, 2), Fraction(19, 20)) - most) < 1


@given(st.integers(1, 2**200), st.integers(0, 10**6))
def test_a_uniform_number_is_below_its_bound(bound: int, seed: int) -> None:
    with seeded_coins(seed) as coins:
        assert 0 <= uniform_integer_below(bound, coins) < bound


def test_uniform_numbers_are_uniform() -> None:
    with seeded_coins(3) as coins:
        agrees(frequencies(lambda: uniform_integer_below(7, coins), 14_000, 7), [1 / 7] * 7, 14_000)


COUNTS = st.dictionaries(st.integers(0, 9), st.integers(1, 4), max_size=5)
MARKS = st.sampled_from(
    [
        Choice(Aggregate("quantile", ("x",), Fraction(1, 2)), "exponential", Fraction(1), 10),
        Choice(Aggregate("quantile", ("x",), Fraction(9, 10)), "exponential", Fraction(1), 10),
        Choice(Aggregate("quantile", ("x",), Fraction(0)), "exponential", Fraction(1), 10),
        Choice(Aggregate("min", ("x",)), "exponential", Fraction(1), 10, 3),
        Choice(Aggregate("max", ("x",)), "exponential", Fraction(1), 10, 2),
    ]
)


def misses(choice: Choice, counts: dict[int, int]) -> list[int]:
    lengths, found = _runs(choice, counts, 10)
    assert sum(lengths) == 10
    return [miss for length, miss in zip(lengths, found, strict=True) for _ in range(length)]


@given(MARKS, COUNTS)
def test_some_candidate_is_a_quantile(choice: Choice, counts: dict[int, int]) -> None:
    rows = sorted(x for x, n in counts.items() for _ in range(n))
    found = misses(choice, counts)
    if choice.rank is None and rows:
        q = choice.aggregate.argument
        assert q is not None
        assert min(found) == 0
        for x in range(10):
            right = sum(r < x for r in rows) <= q * len(rows) and sum(r > x for r in rows) <= (1 - q) * len(rows)
            assert (found[x] == 0) == right
    elif choice.rank is not None and choice.rank <= len(rows):
        wanted = rows[choice.rank - 1] if choice.aggregate.kind == "min" else rows[-choice.rank]
        assert found[wanted] == 0 and [x for x in range(10) if found[x] == 0] == [wanted]


@given(MARKS, COUNTS, st.integers(0, 9), st.integers(0, 9))
def test_one_row_moves_every_miss_by_no_more_than_is_charged(
    choice: Choice, counts: dict[int, int], more: int, other: int
) -> None:
    """What `measure` charges: max(a, b − a) for a row more, b for a row changed; 1 for ranks."""
    added = counts | {more: counts.get(more, 0) + 1}
    changed = counts | {other: counts.get(other, 0) + 1}
    q = choice.aggregate.argument
    step, swap = (1, 1) if q is None else (max(q.numerator, q.denominator - q.numerator), q.denominator)
    for before, after, most in ((counts, added, step), (added, changed, swap)):
        assert all(abs(x - y) <= most for x, y in zip(misses(choice, before), misses(choice, after), strict=True))


def test_a_miss_counts_rows() -> None:
    median = Choice(Aggregate("quantile", ("x",), Fraction(1, 2)), "exponential", Fraction(1), 10)
    assert [_miss(median, 0, 1, 4), _miss(median, 2, 1, 2), _miss(median, 5, 0, 0)] == [3, 0, 5]

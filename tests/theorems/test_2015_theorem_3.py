"""HLM15, Theorem 3: an algebra that generates the σ-algebra is sufficient for inequality (5).

What is not an algebra need not be: single points and intervals generate all sets of a finite line, but they are not
closed under unions, and for δ > 0 they miss the worst set. Finite unions of intervals (the slides) are an algebra.
"""

from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dproof as dp
from dproof.exact import exact, exp_below
from dproof.laws.divergence import hockey_stick, worst_set
from tests import brute_force
from tests.strategies import laws, odds

PAIR = st.tuples(laws(4, 20), laws(4, 20))
INTERVALS = [frozenset(range(first, last)) for first in range(4) for last in range(first + 1, 5)]


def unions(sets: list[frozenset[int]]) -> set[frozenset[int]]:
    return {frozenset().union(*some) for size in range(len(sets) + 1) for some in combinations(sets, size)}


@given(PAIR, odds)
def test_on_the_algebra_the_inequality_is_decided(pair: tuple[list[int], list[int]], at: Fraction) -> None:
    p, q = pair
    assert brute_force.delta(p, q, at, unions(INTERVALS)) == hockey_stick(p, q, 1, at)


@given(PAIR, odds)
def test_on_a_coarser_algebra_it_is_decided_for_what_that_can_see(
    pair: tuple[list[int], list[int]], at: Fraction
) -> None:
    """The algebra of {0, 1} and {2, 3}: it decides the σ-algebra that it generates, and no finer one."""
    p, q = pair
    coarse = [(), (0, 1), (2, 3), (0, 1, 2, 3)]
    seen = hockey_stick([p[0] + p[1], p[2] + p[3]], [q[0] + q[1], q[2] + q[3]], 1, at)
    assert brute_force.delta(p, q, at, coarse) == seen <= hockey_stick(p, q, 1, at)


def test_a_generating_family_that_is_no_algebra_misses_the_worst_set() -> None:
    p, q = [4, 1, 4, 1], [1, 4, 1, 4]
    assert brute_force.delta(p, q, Fraction(1), INTERVALS) == 3
    worst = worst_set(p, q, Fraction(1))
    assert frozenset(worst) in unions(INTERVALS) and frozenset(worst) not in INTERVALS
    assert brute_force.excess(p, q, worst, Fraction(1)) == hockey_stick(p, q, 1, Fraction(1)) == 6


NOISY = {
    "Laplace": dp.laplace(dp.Interval(0, 3, "0.5"), 1),
    "clamped Laplace": dp.laplace(dp.Interval(0, 3, "0.5"), 1, clamp=True),
    "truncated Laplace": dp.truncated_laplace(dp.Interval(0, 3, "0.5"), dp.Privacy(1, "0.1")),
    "staircase": dp.staircase(dp.Interval(0, 3, "0.5"), 1),
    "Gaussian": dp.gaussian(dp.Interval(0, 3, "0.5"), dp.Privacy(1, "0.01")),
    "bounded Laplace": dp.bounded_laplace(dp.Interval(0, 3, "0.5"), 1),
    "Laplace, or missing": dp.laplace(dp.Interval(0, 3, "0.5"), 1).with_missing(1),
    "bounded, or missing": dp.bounded_laplace(dp.Interval(0, 3, "0.5"), 1).with_missing(1),
    "days": dp.laplace(dp.Dates("2024-01-01", "2024-01-07"), 1),
}


@pytest.mark.parametrize("name", NOISY)
def test_the_probability_of_a_union_of_intervals_is_the_sum_over_its_points(name: str) -> None:
    """All ends at and between lattice points, open and closed, overlapping or not."""
    m = NOISY[name]
    line = m.outputs.line
    assert line is not None
    last = m.outputs.size - 2 if m.family.outputs and m.outputs.absent is not None else (m.family.outputs or 10**9) - 1
    for value in (m.inputs.label(0), m.inputs.label(3), m.inputs.label(m.inputs.size - 1)):
        law = m.law(value)

        def mass(codes: Iterable[int], of: Any = law) -> Fraction:
            inside = [k for k in codes if m.family.outputs is None or 0 <= k <= last]
            return sum((of[line.label(k)] for k in inside), Fraction(0))

        low, high = line.label(1), line.label(4)
        for inclusive, codes in {"both": range(1, 5), "neither": (2, 3), "left": (1, 2, 3), "right": (2, 3, 4)}.items():
            assert law.probability((low, high), inclusive=inclusive) == mass(codes)
        assert law.probability([(low, high), (line.label(3), line.label(6)), low]) == mass(range(1, 7))
        assert law.probability({low, high}) == mass((1, 4))
        assert law.probability((high, high), inclusive="left") == 0 == law.probability([])
        there = 1 - (law[None] if m.outputs.absent is not None else 0)
        assert law.probability((None, None)) == there
        assert law.probability([(None, low), (high, None)]) == there - mass((2, 3))
        assert law.probability([(None, low), (line.label(5), None)], inclusive="neither") == there - mass(range(1, 6))
        if name != "days":
            middle = exact(low) + Fraction(1, 4)
            assert law.cdf(middle) == law.cdf(low) == law.probability((None, low))
            assert law.probability((middle, high)) == mass((2, 3, 4)) == law.cdf(high) - law.cdf(low)


FINITE = {
    "response": dp.randomised_response(dp.Interval(0, 3, "0.5"), 1),
    "design": dp.design(dp.Interval(0, 3, "0.5"), 1),
    "response, or missing": dp.randomised_response(dp.Interval(0, 3, "0.5"), 1).with_missing(1),
    "clamped, or missing": dp.laplace(dp.Interval(0, 3, "0.5"), 1, clamp=True).with_missing(1),
    **NOISY,
}


@pytest.mark.parametrize("name", [name for name, m in FINITE.items() if m.family.outputs is not None])
@pytest.mark.parametrize("place", [-9, -2, -1, "end", "missing"])
def test_an_interval_in_which_no_output_lies_has_no_probability(name: str, place: Any) -> None:
    """Once what stood at a place counted from the end was told, or an error, or that a value was missing."""
    m = FINITE[name]
    line, size = m.outputs.line, m.family.outputs
    assert line is not None and size is not None
    code = {"end": size, "missing": size - (m.outputs.absent is not None)}.get(place, place)
    law, beyond = m.law(m.inputs.label(1)), exact(line.label(code))
    for inclusive in ("both", "left"):
        assert law.probability((beyond, beyond + Fraction(1, 8)), inclusive=inclusive) == 0
    inside, there = [line.label(k) for k in range(3)], law.probability((None, None))
    assert law.probability([*inside, (beyond, beyond)]) == sum(map(law.__getitem__, inside))
    assert law.cdf(beyond) == (there if code > 0 else 0)


@pytest.mark.parametrize("name", [name for name, m in FINITE.items() if m.outputs.absent is not None])
def test_a_missing_value_counts_beside_any_interval(name: str) -> None:
    m = FINITE[name]
    law, line = m.law(m.inputs.label(1)), m.outputs.line
    assert line is not None and law[None] > 0
    for interval in [(None, None), (None, line.label(2)), (line.label(2), None), (line.label(1), line.label(2))]:
        assert law.probability([None, interval]) == law[None] + law.probability(interval)
        assert law.probability([line.label(2), interval]) == law.probability(interval)
    assert law.probability([None, (None, None)]) == 1


@pytest.mark.parametrize("name", ["Laplace", "staircase", "Gaussian", "truncated Laplace"])
def test_unions_of_intervals_reach_the_tight_delta_of_noise(name: str) -> None:
    """The worst set of noise is a half-line or a union of intervals; its δ over all inputs is the tight one."""
    m, epsilon = NOISY[name], Fraction(1, 2)
    line, shift = m.outputs.line, m.inputs.size - 1
    assert line is not None
    p, q = m.law(m.inputs.label(0)), m.law(m.inputs.label(shift))
    inside = [k for k in range(-40, 60) if p[line.label(k)] > exp_below(epsilon) * q[line.label(k)]]
    worst = [(None if k == -40 else line.label(k), line.label(k)) for k in inside]
    assert dp.delta_over(m, epsilon, [worst]) == pytest.approx(m.delta(epsilon), rel=1e-9)
    assert dp.delta_over(m, epsilon, [[(line.label(k), None)] for k in range(-3, 9)]) <= m.delta(epsilon)


@pytest.mark.parametrize("event", [(1, 0), (0, 1, 2), "text", [(0, "x")], 5])
def test_what_is_no_event_is_refused(event: Any) -> None:
    with pytest.raises(dp.InputError):
        NOISY["Laplace"].law(0).probability(event)


def test_an_interval_of_categories_is_refused() -> None:
    law = dp.randomised_response(dp.Categories(["a", "b"]), 1).law("a")
    with pytest.raises(dp.InputError, match="numbers or dates"):
        law.cdf("a")
    assert law.probability(("a", "b")) == 1

"""Each composition says whether it is tight or an upper bound, and what it calls tight is attained."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

import dproof as dp
from dproof import Categories, InputError, Interval, Privacy, bounded_laplace, randomised_response, solution_matrix
from dproof.certification.compose import compose_mechanisms, compose_promises
from dproof.exact import exp_above
from dproof.laws.divergence import hockey_stick


@pytest.mark.parametrize(
    ("epsilon", "delta", "rows"), [("0.5", "0", 3), ("0.5", "0.001", 3), (1, "0.02", 2), (2, 0, 4)]
)
def test_a_mechanism_with_two_outputs_attains_the_guarantee_of_a_group(epsilon, delta, rows) -> None:
    """P(first output) is multiplied by e^ε and raised by δ with every row that changes."""
    one, odds = Privacy(epsilon, delta), exp_above(Privacy(epsilon).epsilon)
    chances = [Fraction(0) if one.delta else Fraction(1, 10**6)]
    for _ in range(rows):
        chances.append(odds * chances[-1] + one.delta)
    laws = [(chance, 1 - chance) for chance in chances]
    neighbours = [pair for step in pairwise(laws) for pair in (step, step[::-1])]
    assert max(hockey_stick_of(*pair, odds) for pair in neighbours) <= one.delta  # each row keeps its promise
    group = one.for_group(rows)
    if one.delta:  # at ε of the group the tight δ is that of the group, but for the rounding of e^ε
        apart = hockey_stick_of(laws[-1], laws[0], exp_above(group.epsilon))
        assert float(apart) == pytest.approx(float(group.delta), rel=1e-12) and group.delta <= Fraction(1, 2)
    else:
        assert float(laws[-1][0] / laws[0][0]) == pytest.approx(float(exp_above(group.epsilon)), rel=1e-12)


def hockey_stick_of(p: tuple[Fraction, ...], q: tuple[Fraction, ...], odds: Fraction) -> Fraction:
    total = 10**80
    return hockey_stick([int(x * total) for x in p], [-(-x * total // 1) for x in q], total, odds)


def test_compositions_of_laws_say_whether_they_are_tight() -> None:
    known = randomised_response(Categories(["a", "b", "c"]), Privacy(1))
    assert compose_mechanisms([known] * 3).tight
    # No pair of these inputs is the worst at every ε: every choice of pairs is tried, or, where there are too many, a
    # loss is taken that dominates all of them.
    several = solution_matrix(Categories(list("abc")), [[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
    assert compose_mechanisms([several, known]).tight
    assert not compose_mechanisms([bounded_laplace(Interval(0, 20, 1), Privacy(1))]).tight
    assert compose_promises([Privacy(1), Privacy(1, "0.01")]).tight


def test_a_group_may_exceed_what_a_user_can_ask_for() -> None:
    assert Privacy(1000, "0.1").for_group(10) == Privacy.derived(Fraction(10_000), Fraction(1), "change-one")
    with pytest.raises(InputError, match="rows must be a whole number of at least 1"):
        Privacy(1).for_group(0)
    with pytest.raises(InputError, match="neighbours"):
        Privacy(1).restated("change-two")  # type: ignore[arg-type]


# The δ of advanced composition at the ε that it gives at a δ is that δ again ------------------------------------------


@pytest.mark.parametrize("delta", ["1e-3", "1e-5", "3e-9"])
def test_delta_undoes_epsilon(delta: str) -> None:
    together = dp.compose([dp.Privacy("0.1", "1e-12")] * 50, "advanced")
    epsilon = together.epsilon(delta)
    assert together.delta(epsilon) == pytest.approx(float(delta), rel=1e-4)
    assert together.epsilon(together.delta(epsilon)) <= epsilon

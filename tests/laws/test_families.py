"""Families of laws against their definitions: what is claimed is never less than what is there."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dproof import (
    Categories,
    InputError,
    Privacy,
    Subsets,
    certify,
    itemwise_response,
    randomised_response,
    solution_matrix,
)
from dproof.certification.compose import compose_losses, own_worst_pair
from dproof.exact import exact
from dproof.laws import Bits, BlockDesign, KeepOrOther, Law, Matrix, OneItem, PlaneDesign, SubsetSelection, Unary
from dproof.laws.debias import SeenColumn
from dproof.laws.divergence import Odds, hockey_stick, tight_odds, worst_set
from dproof.laws.matrix import whole_law
from dproof.questions.partition import cut
from dproof.questions.question import Schema
from dproof.questions.sql import parse_predicate
from tests import brute_force
from tests.strategies import deltas, laws, matrices, odds

EPSILONS = st.decimals(0, 12, places=3).map(str)
PAIRS = st.integers(1, 6).flatmap(lambda outputs: st.tuples(laws(outputs, 36), laws(outputs, 36)))


def written_out(family: Law) -> Matrix:
    return Matrix(np.array([family.weights(n) for n in range(family.inputs)], object), family.total)


@given(PAIRS, odds)
def test_one_pair_at_given_odds(pair: tuple[list[int], list[int]], at: Fraction) -> None:
    p, q = pair
    value = hockey_stick(p, q, 36, at)
    assert value == brute_force.delta([Fraction(x, 36) for x in p], [Fraction(x, 36) for x in q], at)
    assert value == max(Fraction(0), brute_force.excess(p, q, worst_set(p, q, at), at)) / 36


@given(PAIRS, deltas)
def test_one_pair_at_given_delta(pair: tuple[list[int], list[int]], delta: Fraction) -> None:
    p, q = pair
    found = tight_odds(p, q, 36, delta)
    absent = Fraction(sum(x for x, y in zip(p, q, strict=True) if not y), 36)
    assert (found is None) == (absent > delta)
    if found is not None:
        assert hockey_stick(p, q, 36, found) <= delta
        assert found == 1 or hockey_stick(p, q, 36, max(Fraction(1), found * (1 - Fraction(1, 10**40)))) > delta


@given(matrices(most_inputs=5, most_outputs=6), odds)
def test_the_reported_pair_attains_the_reported_value(family: Matrix, at: Fraction) -> None:
    worst = family.worst(at)
    if worst.value:
        assert hockey_stick(family.rows[worst.source], family.rows[worst.target], family.total, at) == worst.value


@given(matrices(most_inputs=5, most_outputs=6), deltas)
def test_the_reported_pair_attains_the_reported_odds(family: Matrix, delta: Fraction) -> None:
    found = family.odds(delta)
    if found.value != 1:
        assert tight_odds(family.rows[found.source], family.rows[found.target], family.total, delta) == found.value


@given(matrices(), st.data(), odds, deltas)
def test_only_neighbours_count(family: Matrix, data: st.DataObject, at: Fraction, delta: Fraction) -> None:
    k = family.inputs
    apart = np.zeros((k, k), bool)
    for i, j in product(range(k), repeat=2):
        if i < j and data.draw(st.booleans()):
            apart[i, j] = apart[j, i] = True
    some = Matrix(family.rows, family.total, apart)
    pairs = [(i, j) for i, j in product(range(k), repeat=2) if apart[i, j]]
    costs = [hockey_stick(family.rows[i], family.rows[j], family.total, at) for i, j in pairs]
    assert some.worst(at).value == max(costs, default=0)
    needs = [tight_odds(family.rows[i], family.rows[j], family.total, delta) for i, j in pairs]
    assert some.odds(delta).value == (None if None in needs else max(needs, default=1))


@given(st.integers(1, 5), st.integers(0, 6), st.integers(0, 6), odds, deltas)
def test_keep_or_other_in_closed_form(size: int, keep: int, other: int, at: Fraction, delta: Fraction) -> None:
    if keep + (size - 1) * other == 0:
        return
    short = KeepOrOther(size, keep, other)
    long = written_out(short)
    assert short.worst(at).value == long.worst(at).value
    assert short.odds(delta).value == long.odds(delta).value


@given(st.integers(1, 4), st.integers(0, 5), st.integers(0, 5), odds, deltas)
def test_bits_in_closed_form(bits: int, stay: int, flip: int, at: Fraction, delta: Fraction) -> None:
    if stay + flip == 0:
        return
    short = Bits(bits, stay, flip)
    long = written_out(short)
    assert short.worst(at).value == long.worst(at).value
    assert short.odds(delta).value == long.odds(delta).value


@given(st.integers(1, 30), EPSILONS, st.sampled_from(["0", "1e-9", "0.1", "0.999", "1"]))
def test_what_is_claimed_is_certified(size: int, epsilon: str, delta: str) -> None:
    promise = Privacy(epsilon, delta)
    mechanism = randomised_response(Categories(range(size)), promise)
    certificate = certify(mechanism, promise)
    assert certificate.epsilon <= float(exact(epsilon)) or size == 1 or delta == "1"
    assert exact(mechanism.delta(epsilon)) >= mechanism.family.worst(Fraction(10**9)).value


@given(st.integers(1, 8), EPSILONS)
def test_what_is_claimed_item_by_item_is_certified(items: int, epsilon: str) -> None:
    promise = Privacy(epsilon)
    certify(itemwise_response(Subsets(range(items)), promise), promise)


@given(matrices(), odds, deltas)
def test_reported_floats_are_rounded_towards_more_cost(family: Matrix, at: Fraction, delta: Fraction) -> None:
    rows = [[Fraction(int(w), family.total) for w in row] for row in family.rows]
    mechanism = solution_matrix(
        Categories(range(family.inputs)), rows, outputs=Categories(range(100, 100 + family.outputs))
    )
    certify(mechanism, Privacy(0, mechanism.delta(0)))
    epsilon = mechanism.epsilon(delta)
    if epsilon < 1000:
        certify(mechanism, Privacy(epsilon, delta))


@given(st.lists(st.fractions(0, 10, max_denominator=50), min_size=1, max_size=8), st.integers(50, 10**6))
def test_whole_numbers_near_the_weights(weights: list[Fraction], total: int) -> None:
    if not any(weights):
        return
    whole = whole_law(weights, total)
    assert sum(whole) == total
    assert all((w > 0) == (n > 0) for w, n in zip(weights, whole, strict=True)), "zeros and only zeros stay zero"
    for w, n in zip(weights, whole, strict=True):
        assert abs(n - w * total / sum(weights)) <= len(weights)


@pytest.mark.parametrize(
    ("rows", "total"),
    [
        (np.array([[1, 2], [3, 1]]), 3),
        (np.array([[-1, 4], [1, 2]]), 3),
        (np.array([1, 2]), 3),
        (np.empty((0, 2), np.int64), 3),
        (np.array([[0.5, 0.5]]), 1),
        (np.array([[1 << 61, 1 << 61]]), 1 << 62),
        # Sums that wrap round to the total in 64 bits.
        (np.array([[(1 << 62) - 1] * 4 + [7]]), 3),
        (np.array([[(1 << 63) - 1, (1 << 63) - 1, 5]]), 3),
    ],
)
def test_what_is_no_law_is_refused(rows: np.ndarray, total: int) -> None:
    with pytest.raises(InputError):
        Matrix(rows, total)


@pytest.mark.parametrize("neighbours", [np.ones((3, 3), bool), np.array([[0, 1], [0, 0]], bool)])
def test_neighbours_must_be_square_and_mutual(neighbours: np.ndarray) -> None:
    with pytest.raises(InputError, match="neighbours"):
        Matrix(np.array([[1, 2], [2, 1]]), 3, neighbours)


def test_numbers_beyond_all_floats_are_decided_pair_by_pair() -> None:
    big = 10**400
    rows = np.array([[big, 1, big], [big + 1, 2, big - 2], [2 * big, 1, 0]], object)
    family = Matrix(rows, 2 * big + 1)
    for at in (Fraction(1), Fraction(3, 2), Fraction(10**600)):
        exact_rows = [[Fraction(w, family.total) for w in row] for row in rows]
        assert family.worst(at).value == brute_force.tight_delta(exact_rows, at)


@given(st.integers(2, 5))
def test_two_equal_laws_cost_nothing(size: int) -> None:
    family = Matrix(np.full((size, 3), 4), 12)
    assert family.worst(Fraction(1)).value == 0
    assert family.odds(Fraction(0)).value == 1


# The tight odds of a matrix law and the pair of inputs that has them, also where no pair is worse than another --------


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 100)])
@pytest.mark.parametrize(("inputs", "pair"), [(1, (0, 0)), (2, (0, 1)), (4, (0, 1))])
def test_inputs_with_the_same_law_have_odds_of_1_and_the_first_two_are_named(
    inputs: int, pair: tuple[int, int], delta: Fraction
) -> None:
    assert Matrix(np.array([[1, 3]] * inputs), 4).odds(delta) == Odds(Fraction(1), *pair)


def test_the_worst_pair_is_named() -> None:
    law = Matrix(np.array([[5, 5], [5, 5], [8, 2], [2, 8]]), 10)
    assert law.odds(Fraction(0)) == Odds(Fraction(4), 2, 3)
    assert law.odds(Fraction(2, 10)) == Odds(Fraction(3), 2, 3)  # 8/10 − 3 · 2/10 = 2/10


def test_laws_that_differ_by_one_part_in_the_total_are_told_apart() -> None:
    assert Matrix(np.array([[2, 1], [1, 2]]), 3).worst(Fraction(1)).value == Fraction(1, 3)
    assert Matrix(np.array([[1, 0], [0, 1]]), 1).worst(Fraction(1)).value == 1


# What a law that is written out says of missing values, and which state each of its outputs is ------------------------


LAW = Matrix(np.array([[14, 9, 1, 8], [6, 16, 6, 4], [4, 5, 20, 3], [5, 5, 5, 17]]), 32)


def test_a_value_and_a_missing_one_are_shown_as_often_as_they_do_not_look_missing() -> None:
    assert LAW.shown_chances(3) == (Fraction(32 - 8, 32), Fraction(32 - 17, 32))


def test_every_output_is_a_state_of_its_own() -> None:
    space = Categories(["a", "b", "c", "d"])
    grid = cut(Schema("release", {"x": space}), [parse_predicate("x = 'b'")])
    unmixed = LAW.debias_axes([SeenColumn(grid.axes[0], space, space, None)], 1, "x")
    assert unmixed.state is not None and unmixed.state([np.array([2, 0, 3])]).tolist() == [2, 0, 3]


# A law with a weight below 0 is refused, even where all weights together are a total above 0 --------------------------


@pytest.mark.parametrize(("high", "low"), [(5, -1), (-1, 5)])
def test_subset_selection(high: int, low: int) -> None:
    with pytest.raises(InputError, match="at least 0"):
        SubsetSelection(3, 1, high, low)


# The pair that a law names as its worst: complete laws that no pair exceeds, also where two rows are composed ---------


LAWS = [
    KeepOrOther(2, 3, 1),
    KeepOrOther(5, 6, 1),
    Bits(1, 3, 1),
    Bits(3, 2, 1),
    Unary(4, 2, 1, 4),
    Unary(2, 3, 1, 4),
    SubsetSelection(5, 2, 3, 1),
    SubsetSelection(3, 1, 5, 2),
    SubsetSelection(2, 2, 1, 1),
    BlockDesign(3, 3, 2, 1, 3, 1),
    BlockDesign(5, 7, 3, 1, 3, 1),
    PlaneDesign(2, 2, 3, 1),
    PlaneDesign(13, 3, 5, 2),
    OneItem(1, 3, 1),
    OneItem(3, 2, 1),
]
ODDS = [Fraction(1), Fraction(5, 4), Fraction(2), Fraction(7)]
DELTAS = [Fraction(0), Fraction(1, 20), Fraction(1, 3)]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_its_masses_are_those_of_two_complete_laws(law: Law) -> None:
    pair = law.worst_pair()
    assert pair is not None
    assert sum(pair.p) == sum(pair.q) == pair.total


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_no_other_pair_exceeds_it(law: Law) -> None:
    rows = [[int(w) for w in law.weights(n)] for n in range(law.inputs)]
    for e in ODDS:
        assert law.worst(e).value == max(hockey_stick(p, q, law.total, e) for p, q in permutations(rows, 2))
    for d in DELTAS:
        all_odds = [tight_odds(p, q, law.total, d) for p, q in permutations(rows, 2)]
        assert law.odds(d).value == (None if None in all_odds else max(all_odds))


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_two_rows_at_their_worst_are_composed_exactly(law: Law) -> None:
    loss, worst = own_worst_pair(law), law.worst_pair()
    assert loss is not None and worst is not None
    p, q = ([int(w) for w in law.weights(n)] for n in (worst.source, worst.target))
    p2, q2 = (np.multiply.outer(np.array(x, object), np.array(x, object)).ravel() for x in (p, q))
    for e in ODDS:
        assert compose_losses([loss, loss]).worst(e) == hockey_stick(p2, q2, law.total**2, e)


@pytest.mark.parametrize("law", [KeepOrOther(1, 1, 1), Unary(1, 1, 1, 2), SubsetSelection(1, 1, 1, 1)], ids=str)
def test_one_value_alone_has_nothing_to_hide(law: Law) -> None:
    assert law.worst(Fraction(1)).value == 0 and law.odds(Fraction(0)).value == 1


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Unary(0, 1, 1, 2),
        lambda: Unary(3, 3, 1, 2),
        lambda: Unary(3, 1, -1, 2),
        lambda: Unary(3, 0, 0, 0),
        lambda: SubsetSelection(3, 0, 1, 1),
        lambda: SubsetSelection(3, 4, 1, 1),
        lambda: SubsetSelection(3, 1, -1, 2),
        lambda: SubsetSelection(3, 1, 0, 0),
    ],
)
def test_weights_that_are_no_law_are_refused(wrong) -> None:
    with pytest.raises(InputError):
        wrong()

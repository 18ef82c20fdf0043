"""The pair that a law names as its worst: complete laws that no pair exceeds, also where two rows are composed."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from dproof import InputError
from dproof.certification.compose import compose_losses, own_worst_pair
from dproof.laws import Bits, BlockDesign, KeepOrOther, Law, OneItem, PlaneDesign, SubsetSelection, Unary
from dproof.laws.divergence import hockey_stick, tight_odds

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

"""Who is a neighbour: HLM15, section 2.1 changes one row; the sheet, section 1, adds or removes one.

HLM15's introduction speaks of adding a participant, but Definition 1 and all its results change a row of a table of
public size. The sheet writes D1 = D2 ∪ {r}, which must be the union of multisets: as a set, adding a row that is
already there changes nothing. A change is a removal and an addition, so (ε, δ) under add-remove gives
(2ε, (1 + e^ε)δ) under change-one; the converse fails, for change-one says nothing about the number of rows.
"""

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement
from math import exp

import pytest

from dproof import Categories, InputError, Privacy
from dproof.meaning import restate
from dproof.spaces.rows import one_row_apart, table_space


def multisets(values: int, size: int) -> list[tuple[int, ...]]:
    return list(combinations_with_replacement(range(values), size))


def upward(values: int, size: int) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Each multiset with every multiset that has one row more."""
    return {(d, tuple(sorted((*d, r)))) for d in multisets(values, size) for r in range(values)}


def test_change_one_keeps_the_size_and_has_n_m_neighbours() -> None:
    apart = one_row_apart(table_space(Categories([0, 1, 2]), 2))
    assert int(apart.sum()) == 36
    assert set(apart.sum(axis=1).tolist()) == {4}


def test_add_remove_pairs_of_multisets() -> None:
    """Three values, two rows: 18 pairs upward, and the multiset {0, 0} has 3 + 1 neighbours."""
    pairs = upward(3, 2)
    assert len(pairs) == 18
    assert all(len(bigger) - len(smaller) == 1 for smaller, bigger in pairs)
    above = {bigger for smaller, bigger in pairs if smaller == (0, 0)}
    below = {smaller for smaller, bigger in upward(3, 1) if bigger == (0, 0)}
    assert (len(above), len(below)) == (3, 1)


def test_as_sets_adding_a_row_that_is_there_would_change_nothing() -> None:
    assert {0, 1} | {1} == {0, 1}
    assert Counter([0, 1]) + Counter([1]) != Counter([0, 1])


def test_every_change_is_a_removal_and_an_addition() -> None:
    for d in multisets(3, 3):
        for row in range(3):
            for value in range(3):
                changed = tuple(sorted((*d[:row], value, *d[row + 1 :])))
                without = tuple(sorted((*d[:row], *d[row + 1 :])))
                assert {(without, d), (without, changed)} <= upward(3, 2)


def test_restating_a_promise() -> None:
    """(0.4, 0.01) becomes (0.8, 0.0249182470)."""
    changed = restate(Privacy("0.4", "0.01", neighbours="add-remove"), "change-one")
    assert changed.epsilon == Fraction(4, 5)
    assert float(changed.delta) == pytest.approx(0.0249182470, abs=1e-10)
    assert float(changed.delta) == pytest.approx((1 + exp(0.4)) * 0.01, abs=1e-15)
    assert changed.neighbours == "change-one"


def test_change_one_says_nothing_about_add_remove() -> None:
    """Publishing the number of rows is free under change-one and unbounded under add-remove."""
    with pytest.raises(InputError):
        restate(Privacy("0.4"), "add-remove")


def test_a_promise_always_names_its_relation() -> None:
    assert Privacy(1).neighbours == "change-one"
    assert Privacy(1) != Privacy(1, neighbours="add-remove")
    with pytest.raises(InputError, match="did you mean 'add-remove'"):
        Privacy(1, neighbours="addremove")  # type: ignore[arg-type]

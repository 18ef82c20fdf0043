"""Who is a neighbour: HLM15, section 2.1 changes one row; the sheet, section 1, adds or removes one.

HLM15's introduction speaks of adding a participant, but Definition 1 and all its results change a row of a table of
public size. The sheet writes D1 = D2 ∪ {r}, which must be the union of multisets: as a set, adding a row that is
already there changes nothing. A change is a removal and an addition, so (ε, δ) under add-remove gives
(2ε, (1 + e^ε)δ) under change-one; the converse fails, for change-one says nothing about the number of rows.
"""

from collections import Counter
from fractions import Fraction
from math import exp

import pytest

from dproof import Categories, InputError, Interval, Privacy, Table, sensitivity

SCHEMA = {"x": Categories([0, 1, 2]), "n": Interval(0, 5, 1)}


def test_change_one_keeps_the_size_and_has_n_m_neighbours() -> None:
    apart = Table(Categories([0, 1, 2]), 2).neighbours()
    assert int(apart.sum()) == 36
    assert set(apart.sum(axis=1).tolist()) == {4}


@pytest.mark.parametrize("question", ["SELECT count(*) FROM data", "SELECT count(*) FROM data WHERE x = 0"])
def test_add_remove_adds_a_row_to_a_multiset(question: str) -> None:
    """The evidence of a sensitivity is two tables, one with a row more: a multiset inside a larger one."""
    found = sensitivity(question, SCHEMA, "add-remove")
    assert found.l1 == 1 and found.witness is not None
    before, after = (Counter(map(repr, rows)) for rows in (found.witness.before, found.witness.after))
    assert abs(before.total() - after.total()) == 1 and (before < after or after < before)


@pytest.mark.parametrize(
    "question",
    [
        "SELECT count(*) FROM data WHERE x = 0",
        "SELECT x, count(*) FROM data GROUP BY x",
        "SELECT sum(n) FROM data",
        "SELECT count(DISTINCT x) FROM data",
    ],
)
def test_every_change_is_a_removal_and_an_addition(question: str) -> None:
    """So no answer moves more than twice as far under change-one, and a histogram does move that far."""
    added, changed = (sensitivity(question, SCHEMA, relation).l1 for relation in ("add-remove", "change-one"))
    assert added is not None and changed is not None and changed <= 2 * added
    assert ("GROUP BY" in question) == (changed == 2 * added)


def test_restating_a_promise() -> None:
    """(0.4, 0.01) becomes (0.8, 0.0249182470)."""
    changed = Privacy("0.4", "0.01", neighbours="add-remove").restated("change-one")
    assert changed.epsilon == Fraction(4, 5)
    assert float(changed.delta) == pytest.approx(0.0249182470, abs=1e-10)
    assert float(changed.delta) == pytest.approx((1 + exp(0.4)) * 0.01, abs=1e-15)
    assert changed.neighbours == "change-one"


def test_change_one_says_nothing_about_add_remove() -> None:
    """Publishing the number of rows is free under change-one and unbounded under add-remove."""
    with pytest.raises(InputError):
        Privacy("0.4").restated("add-remove")


def test_a_promise_always_names_its_relation() -> None:
    assert Privacy(1).neighbours == "change-one"
    assert Privacy(1) != Privacy(1, neighbours="add-remove")
    with pytest.raises(InputError, match="did you mean 'add-remove'"):
        Privacy(1, neighbours="addremove")  # type: ignore[arg-type]

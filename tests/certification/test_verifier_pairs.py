"""The stand-alone verifier looks at a worst pair: no pair of inputs has a larger divergence, by the definition."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dproof.certification.verify_certificate import (
    LAWS,
    MOST_COMPARISONS,
    MOST_ENTRIES,
    Refused,
    by_kind,
    check_distances,
    check_work,
    exp_below,
    inputs,
    largest,
)
from dproof.laws.keep_or_other import KeepOrOther
from dproof.laws.matrix import Matrix
from dproof.laws.sets import Bits, SubsetSelection, Unary
from tests.brute_force import divergence

ROWS = np.array([[6, 1, 1], [2, 4, 2], [1, 1, 6]])
NEXT = np.array([[False, True, False], [True, False, True], [False, True, False]])
FAMILIES = [
    *(KeepOrOther(size, 5, 1) for size in (1, 2, 4)),
    *(Bits(bits, 3, 1) for bits in (1, 3)),
    *(Unary(size, 3, 1, 4) for size in (1, 2, 3)),
    *(SubsetSelection(size, width, 5, 1) for size, width in ((1, 1), (2, 1), (2, 2), (3, 1), (4, 2))),
    Matrix(ROWS, 8),
    Matrix(ROWS, 8, NEXT),
]


@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1, 2), Fraction(5)])
def test_no_pair_has_a_larger_divergence(family: Any, epsilon: Fraction) -> None:
    law = by_kind(LAWS)(json.loads(json.dumps(family.to_json())), "law")
    rows = [[Fraction(int(w), family.total) for w in family.weights(n)] for n in range(family.inputs)]
    counts = np.ones((len(rows), len(rows)), bool) if family.neighbours is None else family.neighbours
    pairs = [(i, j) for i in range(len(rows)) for j in range(len(rows)) if i != j and counts[i, j]]
    worst = max((divergence(rows[i], rows[j], exp_below(epsilon)) for i, j in pairs), default=Fraction(0))
    found, source, target = largest({"law": law, "delta": Fraction(1)}, epsilon)
    assert found == worst
    assert max(source, target) < max(2, len(rows)) and (not worst or (source, target) in pairs)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_the_number_of_inputs(family: Any) -> None:
    assert inputs(by_kind(LAWS)(json.loads(json.dumps(family.to_json())), "law")) == family.inputs


def square(size: int, delta: int = 0, **more: Any) -> dict[str, Any]:
    """A part with a matrix of so many rows and columns, of which only the sizes are looked at."""
    return {"law": {"kind": "matrix", "rows": [range(size)] * size, **more}, "delta": Fraction(delta)}


def test_so_many_entries_are_gone_through_and_no_more() -> None:
    size = 1 << 11
    assert size**2 == 1 << 22 == MOST_ENTRIES
    check_work([square(size)])
    for parts in ([square(size + 1)], [square(size), square(1)]):
        with pytest.raises(Refused, match="too large"):
            check_work(parts)


def test_so_many_comparisons_are_made_and_no_more() -> None:
    """At δ = 0 no pair need be gone through, and of listed neighbours only those are."""
    size = next(n for n in range(1 << 11) if n * (n - 1) // 2 * n > MOST_COMPARISONS)
    check_work([square(size), square(size - 1)])
    check_work([square(size - 1, delta=1)])
    check_work([square(size, delta=1, neighbours=[(0, 1)] * (MOST_COMPARISONS // size))])
    distances = square(size) | {"distances": []}
    neighbours = square(size, delta=1, neighbours=[(0, 1)] * (MOST_COMPARISONS // size + 1))
    for part in (square(size, delta=1), distances, neighbours):
        with pytest.raises(Refused, match="too large"):
            check_work([part])


def test_distances_are_those_of_a_metric_on_the_inputs() -> None:
    good = [[Fraction(0), Fraction(1)], [Fraction(1), Fraction(0)]]
    check_distances(good, 2)
    one, two, none = Fraction(1), Fraction(2), Fraction(0)
    for wrong in ([[none, one], [two, none]], [[one, one], [one, none]], [[none, none], [none, none]], [[none, one]]):
        with pytest.raises(Refused):
            check_distances(wrong, 2)
    with pytest.raises(Refused):
        check_distances(good, 3)

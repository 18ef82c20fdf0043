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
    PER_PAIR,
    Refused,
    at_most,
    by_kind,
    check_distances,
    check_size,
    exp_below,
    inputs,
    largest,
)
from dproof.laws import Bits, KeepOrOther, Matrix, SubsetSelection, Unary
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


def square(size: int) -> dict[str, Any]:
    """A part with a matrix of so many rows and columns, of which only the sizes are looked at."""
    return {"law": {"kind": "matrix", "rows": [range(size)] * size}}


def test_so_many_entries_are_gone_through_and_no_more() -> None:
    size = 1 << 11
    assert size**2 == 1 << 22 == MOST_ENTRIES
    check_size([square(size)])
    for parts in ([square(size + 1)], [square(size), square(1)]):
        with pytest.raises(Refused, match="too large"):
            check_size(parts)


@pytest.mark.parametrize("kind", ["matrix", "neighbours", "distances", "rounded"])
def test_so_many_comparisons_are_made_and_no_more(kind: str) -> None:
    rows = [[one, 9 - one] for one in (1, 2, 3, 4, 5, 6, 7, 8)]
    law: dict[str, Any] = {"kind": "matrix", "total": 9, "rows": rows}
    part: dict[str, Any] = {"law": law, "delta": Fraction(1)}
    if kind == "neighbours":
        law["neighbours"] = [(0, 1)] * 8
    elif kind == "distances":
        part["distances"] = [[Fraction(abs(i - j)) for j in range(8)] for i in range(8)]
    elif kind == "rounded":
        part["law"] = {"kind": "rounded", "size": 71, "steps": 7, "law": law}
    asked = []
    found = largest(part, Fraction(1, 2), asked.append)
    assert found[0] > 0 and sum(asked) >= 8 * PER_PAIR
    assert largest(part, Fraction(1, 2), at_most(sum(asked))) == found
    with pytest.raises(Refused, match="too large"):
        largest(part, Fraction(1, 2), at_most(sum(asked) - 1))


def test_small_certificates_with_many_inputs_take_no_time() -> None:
    """Two outputs: the rows at both ends are found at once. Hundreds of outputs in no order: refused at once."""
    total = 1 << 20
    rows = [[64 + n, total - 64 - n] for n in range(0, 44_000, 4)]
    part = {"law": {"kind": "matrix", "total": total, "rows": rows}, "delta": Fraction(1)}
    asked: list[int] = []
    found = largest(part, Fraction(1), asked.append)
    ends = [[Fraction(weight, total) for weight in rows[n]] for n in (0, -1)]
    assert found == (divergence(ends[1], ends[0], exp_below(Fraction(1))), 0, len(rows) - 1)
    assert sum(asked) < MOST_COMPARISONS / 8
    rng = np.random.default_rng(1)
    some = rng.integers(1, 100, (3000, 100)).tolist()
    scattered = [[*row, 10_000 - sum(row)] for row in some]
    part = {"law": {"kind": "matrix", "total": 10_000, "rows": scattered}, "delta": Fraction(1)}
    with pytest.raises(Refused, match="too large"):
        largest(part, Fraction(1), at_most(1 << 22))


def test_distances_are_those_of_a_metric_on_the_inputs() -> None:
    good = [[Fraction(0), Fraction(1)], [Fraction(1), Fraction(0)]]
    check_distances(good, 2)
    one, two, none = Fraction(1), Fraction(2), Fraction(0)
    for wrong in ([[none, one], [two, none]], [[one, one], [one, none]], [[none, none], [none, none]], [[none, one]]):
        with pytest.raises(Refused):
            check_distances(wrong, 2)
    with pytest.raises(Refused):
        check_distances(good, 3)

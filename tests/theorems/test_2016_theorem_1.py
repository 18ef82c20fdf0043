"""HLM16, Theorem 1 (HLM15, Theorem 4): what holds for the sanitised table holds for every query on it.

The tight δ never rises when the output goes through a map, and does not change when the map is one-to-one.
"""

from fractions import Fraction
from itertools import product

import pytest

from dproof import Categories, product_sanitisation, response_with
from tests import brute_force

PARENT = response_with(Categories([0, 1, 2]), "0.2")
TABLE = product_sanitisation(PARENT, 2)
LISTED = brute_force.tables([0, 1, 2], 2)
QUERIES = {
    "identity": lambda d: d,
    "renamed": lambda d: f"{d[0]} then {d[1]}",
    "count of 1": lambda d: d.count(1),
    "distinct values": lambda d: len(set(d)),
    "most common, the least on ties": lambda d: max(sorted(set(d)), key=d.count),
    "set of values": frozenset,
    "sum": sum,
    "first row": lambda d: d[0],
    "nothing": lambda d: None,
}


def answered(query) -> list[list[Fraction]]:
    """The law of the answer for each table, over the answers in one order."""
    images = [brute_force.image(row, LISTED, query) for row in brute_force.probabilities(TABLE)]
    answers = sorted({answer for law in images for answer in law}, key=repr)
    return [[law.get(answer, Fraction(0)) for answer in answers] for law in images]


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("odds", [Fraction(1), Fraction(3, 2), Fraction(2), Fraction(5)])
def test_no_query_costs_more_than_the_table(name: str, odds: Fraction) -> None:
    rows = answered(QUERIES[name])
    pairs = brute_force.neighbours(LISTED)
    cost = max(brute_force.divergence(rows[i], rows[j], odds) for i, j in pairs)
    assert cost <= TABLE.family.worst(odds).value
    if name in ("identity", "renamed", "first row"):
        assert cost == TABLE.family.worst(odds).value
    if name == "nothing":
        assert cost == 0


def test_every_query_on_one_row_of_two_answers() -> None:
    """All 2^5 maps of five hobbies into {0, 1}: none tells more than the row."""
    parent = response_with(Categories(range(5)), "0.1")
    rows = brute_force.probabilities(parent)
    for bits in product((0, 1), repeat=5):
        mapped = [[sum(w for w, b in zip(row, bits, strict=True) if b == answer) for answer in (0, 1)] for row in rows]
        for odds in (Fraction(1), Fraction(2), Fraction(6)):
            assert brute_force.tight_delta(mapped, odds) <= parent.family.worst(odds).value

"""HLM16, equation (1) and Definition 1: the Hamming distance, and neighbours as tables that differ in one row.

A table of n rows over m + 1 values has n·m neighbours, so there are n·m·(m+1)^n ordered pairs of them.
"""

from fractions import Fraction

import pytest

from dproof import Categories, Table
from tests.brute_force import hamming, neighbours, tables


def test_hamming_distances_on_two_rows_of_three_values() -> None:
    table = Table(Categories([0, 1, 2]), 2)
    assert (table.size, table.diameter, table.separation) == (9, 2, 1)
    assert sum(int(table.distances(code).sum()) for code in range(9)) == 108


@pytest.mark.parametrize(("values", "rows"), [(2, 1), (2, 3), (3, 2), (4, 2)])
def test_the_metric_of_a_table_is_the_hamming_distance(values: int, rows: int) -> None:
    table = Table(Categories(range(values)), rows)
    listed = tables(range(values), rows)
    for code, d in enumerate(listed):
        assert table.label(code) == d
        assert [Fraction(x) for x in table.distances(code)] == [hamming(d, e) for e in listed]


@pytest.mark.parametrize(("m", "n", "ordered"), [(2, 2, 36), (4, 3, 1500), (1, 3, 24), (3, 1, 12), (3, 2, 96)])
def test_there_are_n_m_times_m_plus_one_to_the_n_ordered_pairs(m: int, n: int, ordered: int) -> None:
    table = Table(Categories(range(m + 1)), n)
    apart = table.neighbours()
    assert int(apart.sum()) == n * m * (m + 1) ** n == ordered
    assert (apart == apart.T).all(), "being neighbours is mutual, so half as many pairs are unordered"
    assert (apart.sum(axis=1) == n * m).all(), "every table has n·m neighbours"
    assert [tuple(pair) for pair in zip(*map(list, apart.nonzero()), strict=True)] == neighbours(
        tables(range(m + 1), n)
    )

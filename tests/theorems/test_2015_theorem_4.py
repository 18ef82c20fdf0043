"""HLM15, Theorem 4: if the sanitisation is (ε, δ)-private, so is the answer to any query on the sanitised table.

Sanitise once, ask anything: the answers Q^(k) = (Q, …, Q) to a query asked k times cost no more than one. (The slides'
"unlimited number of queries" is true of one fixed sanitised table; sanitising the same rows again composes.)
"""

from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dproof import Categories, product_sanitisation, response_with
from dproof.laws import Matrix
from tests import brute_force
from tests.strategies import matrices, odds


def mapped(rows: Sequence[Sequence[Fraction]], answers: Sequence[int]) -> list[list[Fraction]]:
    images = [brute_force.image(row, range(len(row)), lambda y: answers[y]) for row in rows]
    return [[image.get(answer, Fraction(0)) for answer in sorted(set(answers))] for image in images]


@given(matrices(), odds, st.data())
def test_a_map_of_the_outputs_never_raises_delta(family: Matrix, at: Fraction, data: st.DataObject) -> None:
    rows = [[Fraction(int(w), family.total) for w in row] for row in family.rows]
    answers = data.draw(st.lists(st.integers(0, 3), min_size=family.outputs, max_size=family.outputs))
    assert brute_force.tight_delta(mapped(rows, answers), at) <= family.worst(at).value


@given(matrices(), odds, st.data())
def test_a_one_to_one_map_leaves_it(family: Matrix, at: Fraction, data: st.DataObject) -> None:
    rows = [[Fraction(int(w), family.total) for w in row] for row in family.rows]
    answers = data.draw(st.permutations(range(family.outputs)))
    assert brute_force.tight_delta(mapped(rows, answers), at) == family.worst(at).value


@given(matrices(most_outputs=3), odds, st.data())
def test_a_randomised_map_never_raises_it_either(family: Matrix, at: Fraction, data: st.DataObject) -> None:
    """Average over coins that do not look at the table again."""
    rows = [[Fraction(int(w), family.total) for w in row] for row in family.rows]
    one, two = (data.draw(st.lists(st.integers(0, 2), min_size=family.outputs, max_size=family.outputs)) for _ in "ab")
    mixed = []
    for row in rows:
        law = dict.fromkeys(range(3), Fraction(0))
        for answers, share in ((one, Fraction(1, 3)), (two, Fraction(2, 3))):
            for y, mass in enumerate(row):
                law[answers[y]] += share * mass
        mixed.append(list(law.values()))
    assert brute_force.tight_delta(mixed, at) <= family.worst(at).value


@pytest.mark.parametrize("k", [1, 2, 5])
def test_the_same_query_k_times_on_one_sanitised_table_costs_what_one_costs(k: int) -> None:
    table = product_sanitisation(response_with(Categories([0, 1, 2]), "0.2"), 2)
    listed, rows = brute_force.tables(range(3), 2), brute_force.probabilities(table)

    def laws(times: int) -> list[list[Fraction]]:
        images = [brute_force.image(row, listed, lambda d: (d.count(1),) * times) for row in rows]
        return [[image.get((count,) * times, Fraction(0)) for count in range(3)] for image in images]

    for at in (Fraction(1), Fraction(3, 2)):
        costs = [
            max(brute_force.divergence(law[i], law[j], at) for i, j in brute_force.neighbours(listed))
            for law in (laws(1), laws(k))
        ]
        assert costs[0] == costs[1] <= table.family.worst(at).value


def test_sanitising_again_composes() -> None:
    """m = 2, p = 0.2, e^ε = 3/2: one draw needs δ = 0.3, two draws of the same row 0.42."""
    rows = brute_force.probabilities(response_with(Categories([0, 1, 2]), "0.2"))
    twice = [[p * q for p in row for q in row] for row in rows]
    once = max(brute_force.divergence(p, q, Fraction(3, 2)) for p in rows for q in rows)
    again = max(brute_force.divergence(p, q, Fraction(3, 2)) for p in twice for q in twice)
    assert (once, again) == (Fraction(3, 10), Fraction(42, 100))

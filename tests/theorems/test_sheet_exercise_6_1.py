"""The sheet, exercise 6.1: taking part moves an expected salary by at most B·tanh(ε/2), and that is attained."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dproof import Categories, Privacy, randomised_response
from dproof.laws import Matrix
from dproof.meaning import utility_change
from tests.strategies import matrices

MOST = 10_000


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_randomised_response_attains_the_bound(epsilon: str) -> None:
    boss = randomised_response(Categories(["with you", "without you"]), Privacy(epsilon))
    salary = {"with you": MOST, "without you": 0}
    expected = {d: sum(p * salary[y] for y, p in boss.law(d).items()) for d in salary}
    moved = abs(expected["with you"] - expected["without you"])
    bound = utility_change(Privacy(epsilon), MOST)
    assert bound * Fraction(999_999, 1_000_000) < moved <= bound
    assert float(bound) == pytest.approx(MOST * math.tanh(float(epsilon) / 2))


@given(matrices(most_inputs=3), st.data())
def test_no_mechanism_and_no_salary_exceeds_it(law: Matrix, data: st.DataObject) -> None:
    odds = law.odds(Fraction(0)).value
    if odds is None:
        return
    salaries = [data.draw(st.integers(0, MOST)) for _ in range(law.outputs)]
    expected = [
        sum((Fraction(int(w), law.total) * s for w, s in zip(law.weights(d), salaries, strict=True)), Fraction(0))
        for d in range(law.inputs)
    ]
    assert max(expected) - min(expected) <= MOST * (odds - 1) / (odds + 1)
    # and each is within e^ε of the other
    assert all(a <= odds * b for a in expected for b in expected)


def test_the_values_of_the_crude_and_the_sharp_bound() -> None:
    found = [round(float(utility_change(Privacy(e), MOST)), 2) for e in ("0.1", "0.6931471805599453", "1")]
    assert found == [499.58, 3333.33, 4621.17]

"""HLM16, Proposition 1: the normaliser for u = −k·h.

Definition 4 has P(X_d = d') = e^{u(d, d')} / C_d with C_d = Σ e^u, and that sum is (1 + m e^{−k})^{+n}. The paper
prints the exponent −n: the proposition, equation (11) and the proofs after it write P = C·e^u instead, for which
(1 + m e^{−k})^{−n} is right.
"""

from fractions import Fraction
from math import comb, exp, log

import pytest

from dproof import Categories, discrete_exponential
from dproof.spaces.rows import table_space
from tests import brute_force


@pytest.mark.parametrize(
    ("m", "n", "k", "value"),
    [(4, 1, log(6), 1.6666667), (2, 2, 1.0, 3.0128588976), (1, 3, 0.5, 4.1463604628)],
)
def test_the_sum_of_the_exponentials(m: int, n: int, k: float, value: float) -> None:
    listed = brute_force.tables(range(m + 1), n)
    sums = [sum(exp(-k * brute_force.hamming(d, e)) for e in listed) for d in listed]
    assert sums == pytest.approx([value] * len(listed), abs=1e-7), "the same for every table"
    assert value == pytest.approx((1 + m * exp(-k)) ** n, abs=1e-7)
    assert value != pytest.approx((1 + m * exp(-k)) ** -n, abs=1e-1), "not the printed exponent"
    assert value == pytest.approx(sum(comb(n, i) * m**i * exp(-i * k) for i in range(n + 1)), abs=1e-7)


@pytest.mark.parametrize(("m", "n", "k"), [(4, 1, "1.791759469228055"), (2, 2, "1"), (1, 3, "0.5")])
def test_the_mechanism_is_divided_by_it(m: int, n: int, k: str) -> None:
    mechanism = discrete_exponential(table_space(Categories(range(m + 1)), n), k)
    normaliser = (1 + m * exp(-float(k))) ** n
    for row in brute_force.probabilities(mechanism):
        assert float(max(row)) == pytest.approx(1 / normaliser, rel=1e-8)
        assert sum(row) == Fraction(1)

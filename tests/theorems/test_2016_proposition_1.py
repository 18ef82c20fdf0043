"""HLM16, Proposition 1: the normaliser for u = −k·h.

Definition 4 has P(X_d = d') = e^{u(d, d')} / C_d with C_d = Σ e^u, and that sum is (1 + m e^{−k})^{+n}. The paper
prints the exponent −n: the proposition, equation (11) and the proofs after it write P = C·e^u instead, for which
(1 + m e^{−k})^{−n} is right.
"""

from fractions import Fraction
from math import comb, exp

import pytest

from dproof import Categories, Table, discrete_exponential
from tests import brute_force


@pytest.mark.parametrize(
    ("m", "n", "k", "value"),
    [(4, 1, "1.791759469228055", 1.6666667), (2, 2, "1", 3.0128588976), (1, 3, "0.5", 4.1463604628)],
)
def test_the_mechanism_is_divided_by_the_sum_of_the_exponentials(m: int, n: int, k: str, value: float) -> None:
    """A table is kept with probability e^0 / C_d, which is the same for every table; the exponent is +n."""
    x = exp(-float(k))
    assert value == pytest.approx((1 + m * x) ** n, abs=1e-7)
    assert value == pytest.approx(sum(comb(n, i) * m**i * x**i for i in range(n + 1)), abs=1e-7)
    mechanism = discrete_exponential(Table(Categories(range(m + 1)), n), k)
    for d, row in enumerate(brute_force.probabilities(mechanism)):
        assert float(1 / row[d]) == pytest.approx(value, abs=1e-7) and max(row) == row[d]
        assert float(1 / row[d]) != pytest.approx((1 + m * x) ** -n, abs=1e-1), "not the printed exponent"
        assert sum(row) == Fraction(1)

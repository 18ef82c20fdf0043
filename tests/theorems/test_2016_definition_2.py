"""HLM16, Definition 2 and equation (4): the exponential mechanism P(X_d = q) = e^{ε u(d, q)} μ(q) / C_d.

McSherry and Talwar, 2007: it is 2εΔu-private, where Δu is the largest change of u between neighbours. The factor 2
pays for the change of C_d and is not always needed.
"""

from fractions import Fraction
from math import exp, log

import pytest

from dproof import Categories, InputError, Privacy, certify, exponential

INPUTS, OUTPUTS = Categories(["a", "b", "c"]), Categories(["w", "x", "y", "z"])
UTILITY = [[0, -1, -2, -3], [-1, 0, -1, -2], ["-1/2", 0, 0, -2]]
BASE = [1, 2, "1/2", 3]


@pytest.mark.parametrize("epsilon", [0, "0.3", 1, 2])
def test_the_masses_are_those_of_equation_4(epsilon: object) -> None:
    mechanism = exponential(INPUTS, OUTPUTS, UTILITY, epsilon=epsilon, base=BASE)
    for d, row in zip(INPUTS.values, UTILITY, strict=True):
        weights = [
            exp(float(Fraction(str(epsilon))) * float(Fraction(u))) * float(Fraction(b))
            for u, b in zip(row, BASE, strict=True)
        ]
        law = mechanism.law(d)
        for q, weight in zip(OUTPUTS.values, weights, strict=True):
            assert float(law[q]) == pytest.approx(weight / sum(weights), rel=1e-8)


@pytest.mark.parametrize("epsilon", ["0.3", 1, 2])
def test_it_is_private_at_twice_epsilon_times_the_sensitivity(epsilon: object) -> None:
    sensitivity = max(
        abs(Fraction(x) - Fraction(y)) for p in UTILITY for q in UTILITY for x, y in zip(p, q, strict=True)
    )
    mechanism = exponential(INPUTS, OUTPUTS, UTILITY, epsilon=epsilon, base=BASE)
    bound = 2 * Fraction(str(epsilon)) * sensitivity
    certify(mechanism, Privacy(bound))
    assert mechanism.epsilon() < float(bound), "and here strictly below it"


def test_the_factor_two_can_be_attained() -> None:
    """One output rises by Δu, a very likely one falls by Δu: C_d then changes by almost e^{−εΔu}."""
    utility = [[0, 0], [1, -1]]
    mechanism = exponential(Categories([0, 1]), Categories([0, 1]), utility, epsilon=1, base=[1, 10**6])
    assert mechanism.epsilon() == pytest.approx(2, abs=1e-5)


def test_a_constant_utility_leaves_the_base_measure() -> None:
    law = exponential(Categories([0, 1]), OUTPUTS, [[5] * 4, [-5] * 4], epsilon=1, base=[1, 1, 1, 1]).law(0)
    assert set(law.values()) == {Fraction(1, 4)}


def test_a_zero_of_the_base_measure_is_never_drawn() -> None:
    mechanism = exponential(INPUTS, OUTPUTS, UTILITY, epsilon=1, base=[1, 0, 1, 1])
    assert all(mechanism.law(d)["x"] == 0 for d in INPUTS.values)
    assert mechanism.epsilon() < float("inf"), "it is a zero for every input"


@pytest.mark.parametrize(
    "wrong",
    [
        {"utility": [[0, 1]], "epsilon": 1},
        {"utility": UTILITY, "epsilon": -1},
        {"utility": UTILITY, "epsilon": 1, "base": [1, 2]},
        {"utility": UTILITY, "epsilon": 1, "base": [1, -2, 1, 1]},
        {"utility": UTILITY, "epsilon": 1, "base": [0, 0, 0, 0]},
        {"utility": [[0, 1, "nan", 2]] * 3, "epsilon": 1},
    ],
)
def test_what_is_not_an_exponential_mechanism_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        exponential(INPUTS, OUTPUTS, **wrong)  # type: ignore[arg-type]


def test_utilities_far_below_the_best_keep_one_part_of_the_total() -> None:
    mechanism = exponential(Categories([0, 1]), Categories([0, 1]), [[0, "-1e300"], ["-1e300", 0]], epsilon=1)
    weights, total = mechanism.weights()
    assert weights.tolist() == [[total - 1, 1], [1, total - 1]]
    assert mechanism.epsilon() == pytest.approx(log(total - 1))

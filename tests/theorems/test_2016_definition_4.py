"""HLM16, Definition 4 and equation (7): the discrete exponential mechanism P(X_d = d') = e^{u(d, d')} / C_d."""

from fractions import Fraction
from math import exp

import pytest

from dproof import Categories, InputError, Table, discrete_exponential, exponential

POINTS = Categories(["a", "b", "c"])
UTILITY = [[0, -1, -3], ["-1/2", 0, -1], [-2, "-0.25", 0]]


def test_the_masses_are_those_of_equation_7() -> None:
    mechanism = discrete_exponential(POINTS, utility=UTILITY)
    for d, row in zip(POINTS.values, [[0, -1, -3], [-0.5, 0, -1], [-2, -0.25, 0]], strict=True):
        normaliser = sum(map(exp, row))
        for y, u in zip(POINTS.values, row, strict=True):
            assert float(mechanism.law(d)[y]) == pytest.approx(exp(u) / normaliser, rel=1e-8)


def test_only_differences_of_utility_count() -> None:
    one = discrete_exponential(POINTS, utility=UTILITY)
    for shifts in ((7, 7, 7), (0, -(10**6), 10**9)):  # of each input's own row
        shifted = [[Fraction(u) + shift for u in row] for row, shift in zip(UTILITY, shifts, strict=True)]
        assert (discrete_exponential(POINTS, utility=shifted).weights()[0] == one.weights()[0]).all()


def test_it_is_the_exponential_mechanism_with_epsilon_absorbed() -> None:
    doubled = [[2 * Fraction(u) for u in row] for row in UTILITY]
    one = exponential(POINTS, POINTS, UTILITY, epsilon=2)
    assert (one.weights()[0] == discrete_exponential(POINTS, utility=doubled).weights()[0]).all()


@pytest.mark.parametrize("k", [0, "0.5", 1, 3])
def test_minus_k_times_the_distance_is_a_utility(k: object) -> None:
    line = Categories([0, 1, 2, 3], metric="ordinal")
    mechanism = discrete_exponential(line, k)
    for d in range(4):
        weights = [exp(-float(str(k)) * abs(d - y)) for y in range(4)]
        assert [float(p) for p in mechanism.law(d).values()] == pytest.approx(
            [w / sum(weights) for w in weights], rel=1e-8
        )


def test_on_a_table_the_neighbours_differ_in_one_row() -> None:
    mechanism = discrete_exponential(Table(Categories([0, 1]), 2), 1)
    assert mechanism.epsilon() == pytest.approx(1, abs=1e-8), "two rows apart it would be 2"


@pytest.mark.parametrize(
    "wrong",
    [{}, {"k": 1, "utility": UTILITY}, {"k": -1}, {"k": "1e300"}, {"k": "inf"}, {"utility": [[1, 2], [3, 4]]}],
)
def test_what_is_not_a_discrete_exponential_mechanism_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        discrete_exponential(POINTS, **wrong)  # type: ignore[arg-type]

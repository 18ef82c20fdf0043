"""HLM15, Theorem 7: E ≥ (1 − δ) κ m/(m + e^ε) for m + 1 points at least κ apart — if outputs lie in D.

The theorem is stated for outputs in any larger U, and there it fails: three points at mutual distance 1 and a hub at
1/2 from each. What is true of every U is (1 − δ) κ min{1/2, m/(m + e^ε)}, so the theorem stands where e^ε ≥ m as well.
"""

from __future__ import annotations

from fractions import Fraction
from math import exp, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dproof import Categories, InputError, Privacy, design, lower_bound, lower_bounds, randomised_response
from dproof.laws import Matrix
from tests.linear_programme import least_error
from tests.strategies import matrices, metrics, odds

THEOREM, ANYWHERE = "HLM15, Theorem 7", "HLM15, Theorem 7, for outputs anywhere"


def star(leaves: int) -> Categories:
    """Leaves at mutual distance 1 and a hub at 1/2 from each."""
    size = leaves + 1
    rho = [[Fraction(0) if i == j else Fraction(1, 1 + (leaves in (i, j))) for j in range(size)] for i in range(size)]
    return Categories([*range(leaves), "hub"], metric=rho)


def named(space, privacy, **options):
    return {bound.name: bound.value for bound in lower_bounds(space, privacy, **options)}


@pytest.mark.parametrize(("epsilon", "delta", "value"), [("1", "0", 0.5953903248), ("0.5", "0.1", 0.6373123805)])
def test_randomised_response_attains_it(epsilon: str, delta: str, value: float) -> None:
    space, privacy = Categories(list("abcde")), Privacy(epsilon, delta)
    best = lower_bound(space, privacy)
    assert best.name == THEOREM and float(best.value) == pytest.approx(value, abs=1e-10)
    assert best.value <= randomised_response(space, privacy).error <= best.value * (1 + Fraction(1, 10**9))


def test_a_hub_beats_the_theorem_as_stated() -> None:
    """Always answering the hub: ε = 0, δ = 0, E = 1/2, where (21) claims 2/3."""
    leaves, privacy = Categories([0, 1, 2]), Privacy(0)
    with pytest.warns(UserWarning, match="cannot be inverted"):
        hub = design(leaves, privacy, outputs=star(3))
    assert hub.error == Fraction(1, 2) and hub.law(0)["hub"] == 1
    assert named(leaves, privacy)[THEOREM] == Fraction(2, 3)
    anywhere = named(leaves, privacy, outputs="anywhere")
    assert THEOREM not in anywhere and anywhere[ANYWHERE] == Fraction(1, 2)


@pytest.mark.parametrize("m", [2, 3, 4])
@pytest.mark.parametrize("epsilon", ["0", "0.3", "1", "2"])
@pytest.mark.parametrize("delta", ["0", "0.1"])
@pytest.mark.filterwarnings("ignore:this design cannot be inverted")
def test_the_star_attains_the_bound_for_outputs_anywhere(m: int, epsilon: str, delta: str) -> None:
    leaves, privacy = Categories(list(range(m + 1))), Privacy(epsilon, delta)
    e = exp(float(epsilon))
    value = (1 - float(delta)) * min(0.5, m / (m + e))
    assert float(named(leaves, privacy)[ANYWHERE]) == pytest.approx(value, abs=1e-12)
    assert float(design(leaves, privacy, outputs=star(m + 1)).error) == pytest.approx(value, rel=1e-7)
    losses = [[0.5 if j > m else float(i != j) for j in range(m + 2)] for i in range(m + 1)]
    assert least_error(losses, e, float(delta)) == pytest.approx(value, abs=1e-8)


def test_the_theorem_stands_anywhere_once_the_odds_reach_m() -> None:
    space = Categories(list(range(4)))
    for epsilon, stands in ((log(3) - 0.01, False), (log(3) + 0.01, True)):
        assert (THEOREM in named(space, Privacy(round(epsilon, 3)), outputs="anywhere")) is stands


@given(matrices(most_inputs=4, square=True), odds, st.data())
def test_no_law_into_the_space_beats_it(family: Matrix, e: Fraction, data: st.DataObject) -> None:
    rho = data.draw(metrics(most=family.inputs).filter(lambda found: len(found) == family.inputs))
    m, delta = family.inputs - 1, family.worst(e).value
    kappa = min((r for row in rho for r in row if r), default=Fraction(0))
    error = max(
        sum(Fraction(int(w)) * r for w, r in zip(family.rows[i], rho[i], strict=True)) / family.total
        for i in range(m + 1)
    )
    assert error >= (1 - delta) * kappa * m / (m + e)


@pytest.mark.filterwarnings("ignore:this design:dproof.DproofWarning")  # the best may answer some values alike
@settings(max_examples=20, deadline=None)
@given(metrics(most=5), st.sampled_from(["0", "0.5", "1.5"]))
def test_the_tight_span_lies_between_the_packing_bound_and_the_optimum(rho, epsilon: str) -> None:
    """It is the optimum over every space of outputs, so it is at least what packings prove, and at most E* in D."""
    space = Categories(list(range(len(rho))), metric=rho)
    found = named(space, Privacy(epsilon))
    if space.size > 1:
        span = found["tight span, every space of outputs"]
        assert span * (1 + Fraction(1, 10**6)) >= found["packing"] >= found["HLM15, Theorem 6, doubled"]
        assert span <= design(space, Privacy(epsilon)).error


@pytest.mark.parametrize("epsilon", ["0", "0.3", "1"])
def test_the_tight_span_of_a_star_is_found(epsilon: str) -> None:
    """For points at mutual distance 1 the vertices are the points and the hub."""
    m, e = 3, exp(float(epsilon))
    span = named(Categories(list(range(m + 1))), Privacy(epsilon))["tight span, every space of outputs"]
    assert float(span) == pytest.approx(min(0.5, m / (m + e)), rel=1e-7)


def test_unknown_outputs_are_refused() -> None:
    with pytest.raises(InputError, match="did you mean 'inside'"):
        lower_bound(Categories([0, 1]), Privacy(1), outputs="insid")  # type: ignore[arg-type]

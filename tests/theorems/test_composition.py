"""Composition, groups, blocks and the two neighbour relations: every rule with its values and its counterexample."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, exp, log, prod, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dproof import (
    Categories,
    InputError,
    Privacy,
    TooLarge,
    response_with,
    solution_matrix,
    subset_selection,
    unary_encoding,
)
from dproof.certification.compose import PrivacyLoss, compose_losses, compose_mechanisms, compose_promises, dominating
from dproof.composition import advanced, basic, parallel
from dproof.exact import exp_above
from dproof.laws.divergence import hockey_stick
from tests.numerical import gaussian_part, laplace_part, mechanism_part, numerical, promise_part
from tests.strategies import matrices


def loss_of(p: Any, q: Any, total: int) -> PrivacyLoss:
    return PrivacyLoss.of(zip(p, q, strict=True), total)


def kairouz(k: int, epsilon: float, delta: float, t: float) -> float:
    """δ_k(t) = 1 − (1−δ)^k (1 − Σ_l C(k,l)(e^((k−l)ε) − e^(t+lε))₊/(1+e^ε)^k)."""
    terms = (comb(k, n) * max(0.0, exp((k - n) * epsilon) - exp(t + n * epsilon)) for n in range(k + 1))
    return 1 - (1 - delta) ** k * (1 - sum(terms) / (1 + exp(epsilon)) ** k)


def test_basic_is_exact_to_the_last_digit() -> None:
    """Three times 0.1 is 0.3."""
    assert basic([Privacy("0.1")] * 3).epsilon == Fraction(3, 10)
    assert basic([]).epsilon == 0
    assert basic([Privacy(1, "0.7"), Privacy(1, "0.7")]).delta == 1


def test_advanced_value_and_never_worse_than_basic() -> None:
    found = advanced(Privacy("0.1"), 100, "1e-5")
    direct = 0.1 * sqrt(200 * log(1e5)) + 100 * 0.1 * (exp(0.1) - 1)
    assert float(found.epsilon) == pytest.approx(direct, rel=1e-12) == pytest.approx(5.8502, abs=1e-4)
    assert found.delta == Fraction(1, 10**5)
    large = advanced(Privacy(2, "1e-6"), 4, "1e-5")  # the formula exceeds 8: the sums are returned, and their δ
    assert (large.epsilon, large.delta) == (8, Fraction(4, 10**6))


@pytest.mark.parametrize(
    ("epsilon", "delta", "k", "t", "value"),
    [("0.1", "0", 10, "0.5", 0.0099296269), ("0.5", "0.01", 3, "1", 0.1217776322)],
)
def test_optimal_values(epsilon: str, delta: str, k: int, t: str, value: float) -> None:
    found = compose_promises([Privacy(epsilon, delta)] * k).delta(t)
    assert found == pytest.approx(value, abs=1e-10)
    assert found == pytest.approx(kairouz(k, float(epsilon), float(delta), float(t)), abs=1e-13)


@settings(max_examples=40)
@given(
    st.integers(1, 12), st.fractions(0, 2, max_denominator=50), st.sampled_from(["0", "0.01", "0.3"]), st.floats(0, 6)
)
def test_optimal_is_the_formula(k: int, epsilon: Fraction, delta: str, t: float) -> None:
    found = compose_promises([Privacy(epsilon, delta)] * k).delta(round(t, 6))
    assert found == pytest.approx(kairouz(k, float(epsilon), float(delta), round(t, 6)), abs=1e-12)


def test_optimal_epsilon_beats_every_other_rule() -> None:
    """(0.1, 0) a hundred times at 1e-5: 4.3068, against 5.8502 and 10."""
    found = compose_promises([Privacy("0.1")] * 100).epsilon("1e-5")
    assert found == pytest.approx(4.3067913725, abs=1e-9)
    assert found < float(advanced(Privacy("0.1"), 100, "1e-5").epsilon) < 10
    assert compose_promises([Privacy("0.1")] * 100).epsilon() == pytest.approx(10, abs=1e-9)
    assert compose_promises([Privacy("0.1", "0.01")] * 2).epsilon() == float("inf")
    assert compose_promises([Privacy("0.1", "0.01")] * 2).epsilon("0.0199") == pytest.approx(0.2, abs=1e-9)


def test_different_promises_are_composed_exactly() -> None:
    """Murtagh and Vadhan's sum over all subsets, for twelve different ε."""
    epsilons = [Fraction(n + 2, 40) for n in range(12)]
    found = compose_promises([Privacy(e) for e in epsilons])
    floats = np.array([float(e) for e in epsilons])
    signs = np.array(list(product([1, 0], repeat=12)))
    p = np.exp(signs @ floats) / np.prod(1 + np.exp(floats))
    q = np.exp((1 - signs) @ floats) / np.prod(1 + np.exp(floats))
    for t in (0.0, 0.5, 1.7):
        assert found.delta(t) == pytest.approx(np.maximum(0, p - exp(t) * q).sum(), abs=1e-12)
    compose_promises([Privacy(Fraction(n + 5, 100)) for n in range(20)]).delta(1)
    with pytest.raises(TooLarge, match="add up the promises"):
        compose_promises([Privacy(Fraction(n + 5, 100)) for n in range(40)])


@settings(max_examples=60)
@given(matrices(most_inputs=2, most_outputs=4), matrices(most_inputs=2, most_outputs=4), st.fractions(1, 9))
def test_two_pairs_of_laws_are_composed_exactly(first: object, second: object, odds: Fraction) -> None:
    laws = [(m.weights(0), m.weights(m.inputs - 1), m.total) for m in (first, second)]  # type: ignore[attr-defined]
    p, q = ([int(x) * int(y) for x, y in product(laws[0][n], laws[1][n])] for n in (0, 1))
    total = laws[0][2] * laws[1][2]
    composed = compose_losses([loss_of(*law) for law in laws])
    assert composed.worst(odds) == hockey_stick(p, q, total, odds)
    assert (loss_of(*laws[0]) * loss_of(*laws[1])).delta(odds) == composed.worst(odds)


@settings(max_examples=40)
@given(matrices(most_inputs=4, most_outputs=4), st.fractions(1, 9))
def test_one_loss_dominates_every_pair_of_a_family(family: object, odds: Fraction) -> None:
    loss = dominating(family)  # type: ignore[arg-type]
    worst = family.worst(odds).value  # type: ignore[attr-defined]
    assert loss.delta(odds) >= worst
    rows = [family.weights(n) for n in range(family.inputs)]  # type: ignore[attr-defined]
    twice = compose_losses([loss, loss])
    for a, b, c, d in product(range(len(rows)), repeat=4):
        p = [int(x) * int(y) for x, y in product(rows[a], rows[c])]
        q = [int(x) * int(y) for x, y in product(rows[b], rows[d])]
        assert hockey_stick(p, q, family.total**2, odds) <= twice.worst(odds)  # type: ignore[attr-defined]


def test_an_asymmetric_pair_is_dominated_in_both_orders() -> None:
    """From the first input to the second the odds are at most 2; the other way round they are infinite."""
    family = solution_matrix(Categories([0, 1]), [[0, 1], ["1/2", "1/2"]]).family
    assert dominating(family).delta(Fraction(2)) >= family.worst(Fraction(2)).value == Fraction(1, 2)


@pytest.mark.parametrize("encode", [unary_encoding, subset_selection])
def test_laws_in_closed_form_are_dominated_too(encode) -> None:
    family = encode(Categories(range(4)), Privacy(1)).family
    rows = [family.weights(n) for n in range(4)]
    twice = compose_losses([dominating(family)] * 2)
    for odds in (Fraction(1), Fraction(3, 2), Fraction(4)):
        assert dominating(family).delta(odds) >= family.worst(odds).value
        p, q = ([int(x) * int(y) for x, y in product(rows[n], repeat=2)] for n in (0, 1))
        assert twice.worst(odds) >= hockey_stick(p, q, family.total**2, odds)
        assert float(twice.worst(odds)) == pytest.approx(float(hockey_stick(p, q, family.total**2, odds)), abs=1e-9)


def test_the_dominating_loss_is_tight_at_the_ratios_of_the_law() -> None:
    mechanism = solution_matrix(
        Categories(list("abc")), [["0.5", "0.3", "0.2"], ["0.2", "0.5", "0.3"], ["0.1", "0.1", "0.8"]]
    )
    loss = dominating(mechanism.family)
    for odds in (Fraction(1), Fraction(5, 2), Fraction(4), Fraction(5)):
        assert float(loss.delta(odds) - mechanism.family.worst(odds).value) == pytest.approx(0, abs=1e-20)


REPEATED = [0.3979211174, 0.4193974396, 0.5819116073, 0.5950682600, 0.6946263893, 0.7035818596]


@pytest.mark.parametrize("times", range(1, 7))
def test_a_question_asked_again_and_again(times: int) -> None:
    """HLM15, section 4: p = 0.286 at ε = 0.1 is within δ = 0.4 once, and not twice."""
    answers = compose_mechanisms([response_with(Categories([0, 1]), "0.286")] * times)
    assert answers.delta("0.1") == pytest.approx(REPEATED[times - 1], abs=1e-10)
    assert (answers.delta("0.1") <= 0.4) == (times == 1)


def test_groups() -> None:
    """k-ary randomised response, m = 2, p = 0.2, ε = 0.4: one row 0.3016350605, two rows 0.4209810363."""
    mechanism = response_with(Categories(range(3)), "0.2")
    assert mechanism.delta("0.4") == pytest.approx(0.3016350605, abs=1e-10)
    two = compose_mechanisms([mechanism] * 2)
    assert two.delta("0.4") == pytest.approx(0.4209810363, abs=1e-10)
    promise = Privacy("0.2", mechanism.delta("0.2")).for_group(2)
    assert promise.epsilon == Fraction(2, 5) and two.delta("0.4") < float(promise.delta)
    three = Privacy("0.5", "0.001").for_group(3)
    assert float(three.delta) == pytest.approx(0.001 * (1 + exp(0.5) + exp(1)), rel=1e-12)


def test_add_remove_read_as_change_one() -> None:
    """(0.4, 0.01) becomes (0.8, 0.0249182470)."""
    found = Privacy("0.4", "0.01", neighbours="add-remove").restated("change-one")
    assert (found.epsilon, found.neighbours) == (Fraction(4, 5), "change-one")
    assert float(found.delta) == pytest.approx(0.0249182470, abs=1e-10)
    assert found.restated("change-one") is found


def test_blocks() -> None:
    promises = [Privacy("0.1", "0.01"), Privacy("0.5"), Privacy("0.3", "0.02")]
    assert parallel(promises, of="table").epsilon == Fraction(4, 5)  # a changed row leaves one block and enters another
    assert parallel(promises, blocks="position").epsilon == Fraction(1, 2)
    added = [Privacy(p.epsilon, p.delta, neighbours="add-remove") for p in promises]
    assert parallel(added) == Privacy("0.5", "0.02", neighbours="add-remove")
    with pytest.raises(InputError, match="says nothing about a block with a row more or less"):
        parallel(promises)
    with pytest.raises(InputError, match="to other positions"):
        parallel(added, blocks="position")
    with pytest.raises(InputError, match="different neighbours"):
        parallel([promises[0], added[0]])
    with pytest.raises(InputError, match="different neighbours"):
        basic([promises[0], added[0]])


def tight(laws: dict[int, list[Fraction]], pairs: list[tuple[int, int]]) -> Fraction | None:
    """The largest ratio of two laws over the pairs, both ways; None where it is infinite."""
    ratios = [(p, q) for a, b in pairs for x, y in ((a, b), (b, a)) for p, q in zip(laws[x], laws[y], strict=True) if p]
    return None if any(q == 0 for _, q in ratios) else max(p / q for p, q in ratios)


def test_blocks_by_enumeration() -> None:
    """All tables of three rows over two blocks and a third value: what the answers on the blocks show together.

    An answer on a block is a law over the block's count, 0 to 3. One that hides the count by a factor of two a row
    is a promise of the whole table, and two of them cost the sum. One that shows the count, and so is perfectly
    private between blocks of one size, costs without bound: that reading is refused.
    """
    tables = list(product("abc", repeat=3))
    numbered = dict(enumerate(tables))
    changed = [(i, j) for i, x in numbered.items() for j, y in numbered.items() if sum(map(str.__ne__, x, y)) == 1]
    weights = {c: [2 ** (3 - abs(c - y)) for y in range(4)] for c in range(4)}
    hides = {c: [Fraction(w, sum(row)) for w in row] for c, row in weights.items()}
    shows = {c: [Fraction(int(c == y)) for y in range(4)] for c in range(4)}

    def together(law: dict[int, list[Fraction]], blocks: str) -> dict[int, list[Fraction]]:
        """The law of independent answers on these blocks, for each table."""
        answers = {n: product(*(law[x.count(block)] for block in blocks)) for n, x in numbered.items()}
        return {n: [prod(chances) for chances in lists] for n, lists in answers.items()}

    alone = tight(together(hides, "a"), changed)
    both = tight(together(hides, "ab"), changed)
    assert alone is not None and both is not None
    epsilon = Privacy(Fraction(log(alone)))
    assert alone < both <= alone**2 * (1 + Fraction(1, 10**12))
    assert exp(parallel([epsilon, epsilon], of="table").epsilon) == pytest.approx(float(alone**2))
    # The second law looks at a block's size alone: under change-one of the block it is (0, 0)-private.
    assert tight(together(shows, "ab"), changed) is None
    with pytest.raises(InputError, match="says nothing about a block"):
        parallel([Privacy(0), Privacy(0)], of="block")


def test_two_blocks_under_change_one_really_cost_the_sum() -> None:
    """Counts of two blocks, each with noise of scale 1/ε: moving a row changes both, by one each."""
    loss = PrivacyLoss.of_privacy(Privacy(1))  # lattice Laplace noise and a shift of one step are just such a pair
    assert compose_losses([loss, loss]).delta("1.9") > 0.01
    assert compose_losses([loss, loss]).worst(exp_above(Fraction(2)) * (1 + Fraction(1, 10**20))) < Fraction(1, 10**15)


@pytest.mark.parametrize(
    "refused",
    [
        lambda: advanced(Privacy(1), 2, 0),
        lambda: advanced(Privacy(1), -1, "0.1"),
        lambda: Privacy(1).for_group(-1),
        lambda: parallel([Privacy(1)], blocks="row"),  # type: ignore[arg-type]
        lambda: parallel([Privacy(1)], of="rows"),  # type: ignore[arg-type]
        lambda: basic([Privacy(1), Privacy(1, neighbours="add-remove")]),
    ],
)
def test_what_composes_to_nothing_is_refused(refused) -> None:
    with pytest.raises(InputError):
        refused()


# Numerical composition, both sides told ------------------------------------------------------------------------------


def test_three_laplace_answers() -> None:
    """Three Laplace answers with μ = 0.5, ε = 0.4: 0.1854189865."""
    found = numerical([(laplace_part(0.5), 3)]).delta(0.4)
    assert found.low <= 0.1854189865 <= found.high and found.high - found.low < 5e-4


def test_gaussian_answers_add_in_quadrature() -> None:
    apart = numerical([(gaussian_part(0.3), 1), (gaussian_part(0.4), 1)]).delta(0.5)
    together = numerical([(gaussian_part(0.5), 1)]).delta(0.5)
    assert apart.low <= together.high and together.low <= apart.high
    assert apart.high == pytest.approx(together.high, abs=1e-4)


@pytest.mark.parametrize("k", [2, 7])
def test_the_exact_value_lies_between_the_numerical_bounds(k: int) -> None:
    mechanism = response_with(Categories(range(4)), "0.15")
    exact = compose_mechanisms([mechanism] * k)
    found = numerical([(mechanism_part(mechanism), k)])
    for epsilon in (0.3, 1.1):
        bounds = found.delta(epsilon)
        assert bounds.low - 1e-12 <= exact.delta(epsilon) <= bounds.high + 1e-12
    low_high = found.epsilon(0.05)
    assert low_high.low - 1e-9 <= exact.epsilon("0.05") <= low_high.high + 1e-9
    promised = numerical([(promise_part(Privacy("0.5", "0.01")), 3)]).delta(1.0)
    assert promised.high == pytest.approx(0.1217776322, abs=1e-3)
    with pytest.raises(InputError):
        numerical([])

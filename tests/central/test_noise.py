"""What measuring all residuals costs, and the least noise that keeps a promise."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import exp, sqrt
from typing import Any

import numpy as np
import pytest

from dproof import InputError, Plan, Privacy, VerificationFailed
from dproof.central.estimates import ResidualEstimates, residual_of
from dproof.central.recipe import recorded_table_law, table_law, wanted_answers, with_noise
from dproof.central.workload import (
    Domain,
    Residual,
    WeighedAnswers,
    calibrate,
    cell_costs,
    delta,
    largest_loss,
    noise_law,
    parts_of,
    shape,
    subtables,
)
from dproof.certification.verify_central import verify
from dproof.certification.verify_certificate import Refused, seal
from dproof.coins import Coins
from dproof.exact import exp_below


def adult(neighbours: Any) -> tuple[Domain, Any]:
    domain = Domain((15, 7, 16, 7, 14, 6, 5, 2, 10, 2), {})
    tables = subtables(combinations(range(10), 2))
    residuals = [Residual(t) for t in tables if t or neighbours == "add-remove"]
    variances = shape(
        domain, WeighedAnswers.of([(1.0, cell_costs(domain, Residual(t))) for t in tables if t], residuals), "total"
    )
    return domain, calibrate(domain, variances, Privacy(1, "1e-6", neighbours=neighbours))


def test_all_pairs_of_ten_columns_are_as_sharp_as_the_closed_form_and_the_tighter_route() -> None:
    domain, squares = adult("add-remove")
    variances = {r.table: float(s) / domain.cells(r.table) ** 2 for r, s in squares.items()}
    estimates = ResidualEstimates(domain.sizes, {}, variances)
    deviations = [sqrt(estimates.cell_variance(pair)) for pair in combinations(range(10), 2)]
    # 20.9 to 26.9 by concentrated privacy, 6.8 % less by the Gaussian profile.
    assert 19.4 < min(deviations) < 19.6 and 25.0 < max(deviations) < 25.2
    assert delta(domain, squares, Fraction(1), "add-remove") <= Fraction(1, 10**6)


def test_change_one_costs_more_and_keeps_its_promise() -> None:
    domain, squares = adult("change-one")
    assert delta(domain, squares, Fraction(1), "change-one") <= Fraction(1, 10**6)
    assert delta(domain, {r: s * Fraction(99, 100) for r, s in squares.items()}, Fraction(1), "change-one") > Fraction(
        1, 10**6
    )


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
def test_the_bound_holds_for_the_law_that_is_drawn(neighbours: Any) -> None:
    """Two columns of two values: every pair of neighbours, the exact hockey-stick divergence along its shift."""
    domain = Domain((2, 2), {})
    residuals = [Residual(t) for t in subtables([(0, 1)]) if t or neighbours == "add-remove"]
    squares = {r: Fraction(40 + 10 * len(r.table)) for r in residuals}
    odds = exp_below(Fraction(1, 2))
    bound = delta(domain, squares, Fraction(1, 2), neighbours)
    rows = list(product(range(2), range(2)))
    empty = np.zeros((2, 2), np.int64)

    def counts(row: Any) -> Any:
        made = empty.copy()
        made[row] = 1
        return made

    changes = [(counts(a), empty) for a in rows] if neighbours == "add-remove" else []
    changes += [(counts(a), counts(b)) for a, b in product(rows, rows) if a != b and neighbours == "change-one"]
    generator = np.random.default_rng(3)
    for before, after in changes:
        # E max(0, 1 − e^ε p'(x)/p(x)) over draws x: an unbiased estimate of δ.
        losses = np.zeros(10_000)
        for residual, square in squares.items():
            axes = tuple(i for i in range(2) if i not in residual.table)
            shift = (residual_of(before.sum(axis=axes)) - residual_of(after.sum(axis=axes))).ravel()
            law = noise_law(square)
            reach = law.farthest
            logs = np.array([float(np.log(float(law.probability(k)))) for k in range(-reach, reach + 1)])
            for moved in shift.tolist():
                draws = np.clip(np.rint(generator.normal(0, float(square) ** 0.5, len(losses))), -40, 40).astype(int)
                losses += logs[draws + reach] - logs[np.clip(draws + moved, -reach, reach) + reach]
        found = np.maximum(0, 1 - float(odds) * np.exp(-losses))
        assert found.mean() - 4 * found.std() / len(found) ** 0.5 <= float(bound)
        assert found.mean() <= float(bound) * 1.1


def test_concentrated_privacy_gives_no_less_delta() -> None:
    domain, squares = Domain((3, 4), {}), {Residual(t): Fraction(900) for t in subtables([(0, 1)])}
    rho = largest_loss(domain, {r: 1 / s for r, s in squares.items()}, "add-remove") / 2
    for epsilon in (Fraction(1, 2), Fraction(1), Fraction(3)):
        orders = np.geomspace(1.001, 200, 4000)
        exponents = np.minimum((orders - 1) * (orders * float(rho) - float(epsilon)), 100)
        bounds = np.exp(exponents) * (1 - 1 / orders) ** orders
        charged = 1e-15  # what the tables of the noise cut off
        assert float(delta(domain, squares, epsilon, "add-remove")) <= float((bounds / (orders - 1)).min()) + charged


def test_a_person_with_several_rows_costs_as_much_as_noise_so_many_times_narrower() -> None:
    domain, square = Domain((3,), {}), Fraction(90_000)
    own = delta(domain, {Residual((0,)): square}, Fraction(1), "add-remove", 3)
    other = delta(domain, {Residual((0,)): square / 9}, Fraction(1), "add-remove")
    assert float(own) == pytest.approx(float(other), rel=0.02)


@pytest.mark.parametrize("square", [Fraction(25), Fraction(7001, 3)])
def test_narrow_noise_is_a_table_of_the_discrete_gaussian_law(square: Fraction) -> None:
    law = noise_law(square)
    top = law.probability(0)
    for k in (1, 2, int(float(square) ** 0.5)):
        assert float(law.probability(k) / top) == pytest.approx(exp(-(k**2) / (2 * float(square))), rel=1e-12)


@pytest.mark.parametrize("square", [Fraction(25), Fraction(7001, 3), Fraction(10**9), Fraction(10**15)])
def test_noise_of_any_width_has_its_variance(square: Fraction) -> None:
    drawn = noise_law(square).draw(4000, Coins(bytes(16), private=False)).astype(float)
    assert drawn.std() == pytest.approx(float(square) ** 0.5, rel=0.05)


def test_what_cannot_be_kept_is_refused() -> None:
    domain = Domain((2,), {})
    with pytest.raises(InputError, match="delta above 0"):
        calibrate(domain, {Residual((0,)): 1.0}, Privacy(1))
    with pytest.raises(InputError, match="too narrow to be charged"):
        noise_law(Fraction(2))


def test_a_promise_of_next_to_nothing_still_has_noise_that_can_be_drawn() -> None:
    squares = calibrate(Domain((2,), {}), {Residual((0,)): 1.0}, Privacy(1000, "0.999"))
    assert squares == {Residual((0,)): Fraction(25, 256)} and parts_of(Fraction(25, 256)) == 64
    # Releases of earlier versions have noise in whole numbers alone.
    squares = calibrate(Domain((2,), {}), {Residual((0,)): 1.0}, Privacy(1000, "1e-6"), in_parts=False)
    assert squares == {Residual((0,)): Fraction(25)}


@pytest.mark.parametrize("square", [Fraction(2, 5), Fraction(2), Fraction(11), Fraction(90), Fraction(500)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(3)])
def test_noise_in_parts_costs_what_is_drawn_and_hardly_more(square: Fraction, epsilon: Fraction) -> None:
    """How many rows there are, by itself: the tight δ of the noise that is drawn, of a shift by one row."""
    bound = delta(Domain((), {}), {Residual(()): square}, epsilon, "add-remove")
    parts = parts_of(square)
    tight = noise_law(square * parts**2).delta(exp_below(epsilon), parts)  # type: ignore[union-attr]
    assert tight <= bound
    wider = delta(Domain((), {}), {Residual(()): square * Fraction(102, 100)}, epsilon, "add-remove")
    assert wider <= tight or tight < Fraction(1, 10**12)


@pytest.mark.parametrize("parts", [0, "16", None, [16], -16, 17])
def test_a_certificate_with_other_parts_is_refused(parts: Any) -> None:
    column = {"space": "categories", "values": [0, 1]}
    plan = Plan.from_dict(
        {"privacy": {"model": "central", "epsilon": 3, "delta": "1e-3"}, "columns": {"a": column, "b": column}}
    )
    law = table_law(plan, plan.privacy)
    law = with_noise(law, law.residuals, wanted_answers(law))
    certificate = law.record({"rows": 5, "made_up_rows": None, "files": {}}, private=True)
    assert recorded_table_law(plan, certificate).noise == law.noise
    certificate["measurements"][0]["parts"] = parts
    certificate.pop("seal")
    with pytest.raises(VerificationFailed):
        recorded_table_law(plan, certificate)
    with pytest.raises(Refused):
        verify({**certificate, "seal": seal(certificate)})

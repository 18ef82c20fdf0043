"""Bounded Laplace noise without a matrix: the law of numbers with noise, given that they stay inside."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof.certification.verify_certificate import Refused, verify
from dproof.coins import current
from dproof.laws import BoundedLattice, Matrix
from dproof.laws.laplace import two_sided
from dproof.laws.law import law_from_json
from dproof.testing import seeded_coins
from tests.forging import resealed

RATIOS = [Fraction(11, 10), Fraction(2), Fraction(9)]
SIZES = [2, 3, 8, 21]
LONG = dp.Interval(0, 4000, 1)


def chances(law: BoundedLattice) -> list[list[Fraction]]:
    return [[law.probability(p, y) for y in range(law.size)] for p in range(law.size)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("ratio", RATIOS)
def test_it_is_the_noise_given_that_the_number_stays_inside(ratio: Fraction, size: int) -> None:
    noise = two_sided(ratio)
    law = BoundedLattice(size, noise)
    for p, row in enumerate(chances(law)):
        assert sum(row) == 1
        assert row[0] / row[-1] == noise.probability(-p) / noise.probability(size - 1 - p)
        assert [law.cumulative(p, y) for y in range(-1, size + 1)] == [0, *np.cumsum(row), 1]
        assert law.probability(p, -1) == law.probability(p, size) == 0


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("ratio", RATIOS)
def test_no_pair_of_inputs_has_larger_odds_or_a_larger_delta(ratio: Fraction, size: int) -> None:
    law = BoundedLattice(size, two_sided(ratio))
    rows = chances(law)
    pure = law.odds(Fraction(0)).value
    largest = max(p / q for one in rows for other in rows for p, q in zip(one, other, strict=True))
    assert pure is not None and largest <= pure < largest * (1 + Fraction(1, 10**8))
    for odds in (Fraction(1), Fraction(3, 2), ratio ** (size - 1) / 2, pure):
        delta = max(sum(max(Fraction(0), p - odds * q) for p, q in zip(a, b, strict=True)) for a in rows for b in rows)
        assert odds < 1 or delta <= law.worst(odds).value
    tenth = law.odds(Fraction(1, 10)).value
    assert tenth is not None and law.worst(tenth).value <= Fraction(1, 10)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("ratio", RATIOS)
def test_its_error_is_the_largest_of_all_points(ratio: Fraction, size: int) -> None:
    law, space = BoundedLattice(size, two_sided(ratio)), dp.Interval(0, size - 1, 1)
    errors = [sum(abs(y - p) * chance for y, chance in enumerate(row)) for p, row in enumerate(chances(law))]
    assert [law.error(p, space) for p in range(size)] == errors
    assert law.maximal_error(space) == pytest.approx(max(errors), rel=1e-9)


@pytest.mark.parametrize("point", [0, 3, 7])
def test_what_is_drawn_follows_the_law(point: int) -> None:
    law, count = BoundedLattice(8, two_sided(Fraction(5, 4))), 200_000
    with seeded_coins(point):
        drawn = law.draw(np.full(count, point, np.uint8), current())
    assert drawn.min() >= 0 and drawn.max() <= 7
    expected = np.array([float(law.probability(point, y)) for y in range(8)]) * count
    assert ((np.bincount(drawn, minlength=8) - expected) ** 2 / expected).sum() < 30  # χ² of 7 degrees: one in 10^4


def test_where_both_exist_the_matrix_is_the_same_law() -> None:
    interval = dp.Interval(0, 20, 1)
    matrix = dp.bounded_laplace(interval, scale=7)
    law = BoundedLattice(21, two_sided(dp.noise.integer_laplace(1, dp.Privacy("1/7")).law.ratio))
    assert isinstance(matrix.family, Matrix)
    for p in (0, 5, 20):
        for y in (0, 4, 20):
            assert float(law.probability(p, y)) == pytest.approx(float(matrix.family.probability(p, y)), rel=1e-9)


@pytest.mark.parametrize("size", [502, 4001, 1 << 20])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "8"])
def test_long_intervals_are_certified_and_verified(size: int, epsilon: str) -> None:
    mechanism = dp.bounded_laplace(dp.Interval(0, size - 1, 1), dp.Privacy(epsilon))
    assert float(epsilon) * (1 - 1e-6) < mechanism.epsilon() <= float(epsilon)
    certificate = dp.certify(mechanism, epsilon).to_json()
    verify(certificate)
    assert law_from_json(certificate["laws"][0]["law"]).to_json() == mechanism.family.to_json()
    with pytest.raises(dp.NotPrivate):
        dp.certify(mechanism, dp.Privacy(Fraction(epsilon) * Fraction(999, 1000)))


@pytest.mark.parametrize("forged", [{"size": str((1 << 20) + 1)}, {"size": "1"}, {"size": "600"}, {"reach": 5}])
def test_another_size_or_a_reach_is_refused(forged: dict[str, Any]) -> None:
    record = dp.certify(dp.bounded_laplace(dp.Interval(0, 550, 1), 1), 1).to_json()
    law = record["laws"][0]["law"]
    law["noise"] = {**law["noise"], **{key: forged[key] for key in forged if key == "reach"}}
    law.update({key: forged[key] for key in forged if key == "size"})
    with pytest.raises(Refused):
        verify(resealed(record))
    if forged != {"size": "600"}:  # that is another law, which is not private
        with pytest.raises(dp.VerificationFailed):
            law_from_json(law)


@pytest.mark.parametrize("high", [600, 4000])
def test_a_plan_may_name_it_and_its_release_is_stored(high: int, tmp_path: Path) -> None:
    """The plan and the page about a release tell of the law, which is not written out."""
    column = {"space": "interval", "low": 0, "high": high, "step": 1, "mechanism": "bounded_laplace"}
    plan = {"privacy": {"epsilon": 4}, "columns": {"pay": column}}
    dp.sanitise(pa.table({"pay": [7, 120, 599]}), plan, out=tmp_path / "release")
    assert dp.verify(tmp_path / "release").rows == 3
    page = (tmp_path / "release" / "report.html").read_text("utf-8")
    assert f"what becomes of {high // 2}" in page.replace(",", "")


def test_it_is_compared_with_others_where_it_has_no_matrix() -> None:
    found = dp.compare(dp.Interval(0, 600, 1), dp.Privacy(1))
    assert [row.variance for row in found.rows if row.name == "bounded Laplace"] == [None]


def test_a_plan_may_name_it_and_questions_are_answered() -> None:
    column = {"space": "interval", "low": 0, "high": 4000, "step": 1, "mechanism": "bounded_laplace"}
    plan = {"privacy": {"epsilon": 4}, "columns": {"pay": column}}
    pay = np.random.default_rng(1).integers(500, 2500, 20_000)
    with seeded_coins(2):
        release = dp.sanitise(pa.table({"pay": pay}), plan)
    found = release.query("SELECT count(*) AS n FROM release WHERE pay < 1500").rows[0]["n"]
    assert found.low <= (pay < 1500).sum() <= found.high


def test_what_it_does_not_do_is_said() -> None:
    mechanism = dp.bounded_laplace(LONG, dp.Privacy(1, "0.01"))
    assert mechanism.epsilon() <= 1 and mechanism.scale is None and mechanism.bias_and_variance() is None
    for ask, says in [
        (lambda: dp.bounded_laplace(LONG, 1, sensitivity=3), "with a sensitivity"),
        (lambda: dp.bounded_laplace(dp.Interval(0, 1 << 20, 1), 1), "at most 1,048,576"),
        (lambda: dp.bounded_laplace(LONG, "1e-4"), "flat on the interval"),
        (lambda: dp.bounded_laplace(LONG, scale=10**7), "flat on the interval"),
        (lambda: mechanism.with_missing(1), "missing value: use laplace"),
        (mechanism.matrix, "not written out"),
        (lambda: list(mechanism.law(3).items()), "not written out"),
    ]:
        with pytest.raises(dp.InputError, match=says):
            ask()


def test_no_certificate_puts_a_missing_value_beside_it() -> None:
    """The middle and an end differ by more than half as many steps of noise: ε would be told too small."""
    inner = BoundedLattice(600, two_sided(Fraction(601, 600)))
    chances = {"present": "3", "missing": "2", "whole": "4"}
    with pytest.raises(dp.VerificationFailed):
        law_from_json({"kind": "optional", **chances, "law": inner.to_json()})
    with pytest.raises(dp.InputError):
        _ = inner.nearer

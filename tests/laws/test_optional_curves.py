"""Curves that may be missing: the law is what it says, as private as it says, and drawn as it says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dproof import Curves, InputError, NotPrivate, Privacy, certify, curve_noise, expand
from dproof.certification.verify_certificate import LAWS, Refused, by_kind, exp_below, log_below, optional, seal, verify
from dproof.coins import Coins
from dproof.curves.lattice import CurveLattice, Expansion
from dproof.curves.noise import CurveLaw, CurveMechanism, VectorNoise, recorded_curve_law
from dproof.exact import exp_above
from dproof.laws import Gaussian, OptionalLaw, TwoSided
from dproof.laws.laplace import two_sided
from dproof.spaces.space import ABSENT
from dproof.testing import ScriptedCoins, seeded_coins
from tests.brute_force import noise_chances

DAY = Curves(0, 24, 13, low=0, high=5)
ODDS = [Fraction(1), Fraction(5, 4), Fraction(2), Fraction(3), Fraction(10)]
NARROW = TwoSided((), ((9, 4, 2, 1), (5, 3, 1, 1)))  # far from the ideal, and not symmetric


# δ from the definition, on a region of a few points ----------------------------------------------------------------


def small(noise: Any, split: Any, *, radius: int | None = None, box: tuple[int, ...] | None = None) -> CurveLaw:
    """A law on vectors of two numbers in a small ball or box."""
    lattice = CurveLattice(expand(DAY, terms=2), np.ones(2), radius, box, np.ones((2, 13), np.int64), 1, np.zeros(13))
    norm: Any = "l1" if split == "laplace" else "l2"
    return CurveLaw(lattice, VectorNoise(split, noise, lattice.size(norm, "change-one"), 2))


def points(law: CurveLaw) -> Iterator[tuple[int, int]]:
    radius, box = law.lattice.radius, law.lattice.box
    edges = box if box is not None else (radius, radius)
    for z in product(*(range(-edge, edge + 1) for edge in edges)):
        if radius is None or z[0] ** 2 + z[1] ** 2 <= radius**2:
            yield z


def written(law: OptionalLaw, reach: int) -> np.ndarray:
    """P(y | z) for every z of the region and for a missing curve, on the vectors within reach, "missing" last."""
    inner: Any = law.inner
    chances = noise_chances(json.loads(json.dumps(inner.noise.law.to_json())), 2 * reach)

    def row(z: tuple[int, int], shown: float) -> np.ndarray:
        one, two = ([float(chances.get(y - x, 0)) for y in range(-reach, reach + 1)] for x in z)
        return np.append(shown * np.outer(one, two), 1 - shown)

    p, q = law.present / law.whole, law.missing / law.whole
    return np.array([*(row(z, p) for z in points(inner)), row((0, 0), q)])


def brute_delta(law: OptionalLaw, odds: Fraction, reach: int) -> float:
    """The largest Σ max(0, P − e·Q) over pairs of inputs, on these outputs."""
    rows = written(law, reach)
    return max(float(np.maximum(0, a - float(odds) * b).sum()) for a in rows for b in rows)


REGIONS: list[dict[str, Any]] = [{"radius": 2}, {"box": (2, 1)}, {"box": (1, 0)}]


@pytest.mark.parametrize("region", REGIONS, ids=str)
@pytest.mark.parametrize(("present", "missing"), [(3, 1), (3, 2), (3, 3)])
def test_delta_bounds_the_definition_for_gaussian_noise(region: dict[str, Any], present: int, missing: int) -> None:
    law = OptionalLaw(small(Gaussian(Fraction(1, 2)), "gaussian", **region), present, missing, 4)
    for odds in ODDS:
        assert brute_delta(law, odds, 9) <= law.worst(odds).value + 1e-9


@pytest.mark.parametrize("region", REGIONS, ids=str)
@pytest.mark.parametrize("noise", [two_sided(exp_above(Fraction(3, 4))), NARROW], ids=["geometric", "narrow"])
@pytest.mark.parametrize(("present", "missing"), [(7, 5), (5, 5), (7, 1)])
def test_delta_bounds_the_definition_for_laplace_noise(
    region: dict[str, Any], noise: TwoSided, present: int, missing: int
) -> None:
    law = OptionalLaw(small(noise, "laplace", **region), present, missing, 8)
    for odds in ODDS:
        assert brute_delta(law, odds, 25) <= law.worst(odds).value + 1e-9


@pytest.mark.parametrize("region", REGIONS, ids=str)
def test_no_output_exceeds_the_odds_of_delta_0(region: dict[str, Any]) -> None:
    """Every ratio of two probabilities, those of "missing" too; some pair of a box comes to it."""
    law = OptionalLaw(small(two_sided(Fraction(3, 2)), "laplace", **region), 7, 5, 8)
    rows = written(law, 6)
    worst = float((rows.max(axis=0) / rows.min(axis=0)).max())
    found = law.odds(Fraction(0)).value
    assert found is not None and worst <= float(found) * (1 + 1e-12)
    if "box" in region:
        assert worst == pytest.approx(float(found), rel=1e-9)


def test_the_centre_is_at_most_half_as_far_as_two_curves() -> None:
    for region in REGIONS:
        for noise, split, power in ((two_sided(Fraction(2)), "laplace", 1), (Gaussian(Fraction(1)), "gaussian", 2)):
            law = small(noise, split, **region)
            sizes = [sum(abs(x) ** power for x in z) for z in points(law)]
            assert max(sizes) <= law.nearer.noise.size <= law.noise.size


# A promise is kept ---------------------------------------------------------------------------------------------------

EXPANSIONS: dict[str, dict[str, Any]] = {
    "ball": {"terms": 5},
    "box": {"terms": 4, "box": [9, 3, 1, "0.5"]},
    "kernel": {"terms": 5, "kernel": "matern-3/2", "length": 6, "radius": 5},
    "one term": {"terms": 1},
}
PROMISES = {"laplace": Privacy(1), "laplace with delta": Privacy("0.5", "1e-4"), "gaussian": Privacy(2, "1e-6")}
MADE = [(region, kind) for region in EXPANSIONS for kind in PROMISES]


@cache
def expansion_of(region: str) -> Expansion:
    """Made when a test asks for it: a kernel takes a second, and most runs choose other tests."""
    return expand(DAY, **EXPANSIONS[region])


def made(region: str, kind: str) -> tuple[CurveMechanism, Privacy]:
    noise: Any = kind.partition(" ")[0]
    return curve_noise(expansion_of(region), PROMISES[kind], noise=noise).with_missing(PROMISES[kind]), PROMISES[kind]


@pytest.mark.parametrize(("region", "kind"), MADE)
def test_it_keeps_the_promise_and_uses_nearly_all_of_it(region: str, kind: str) -> None:
    mechanism, privacy = made(region, kind)
    verify(json.loads(json.dumps(certify(mechanism, privacy).to_json())))
    assert 0.99 * float(privacy.epsilon) <= mechanism.epsilon(privacy.delta) <= privacy.epsilon
    less = Privacy(privacy.epsilon * Fraction(98, 100), privacy.delta * Fraction(98, 100))
    with pytest.raises(NotPrivate):
        certify(mechanism, less)


@pytest.mark.parametrize(("region", "kind"), MADE)
def test_the_stand_alone_verifier_finds_the_same_delta(region: str, kind: str) -> None:
    mechanism, privacy = made(region, kind)
    record = by_kind(LAWS)(json.loads(json.dumps(mechanism.family.to_json())), "law")
    for part in ("1", "0.9", "0.6"):
        epsilon = privacy.epsilon * Fraction(part)
        assert float(optional(record, exp_below(epsilon))) == pytest.approx(mechanism.delta(epsilon), rel=1e-9)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("promise", [("0.01", "1/2"), ("0.001", "1/1000"), ("3", "1/2"), ("10", "1e-9")], ids=str)
def test_what_is_certified_is_verified_whatever_the_promise(noise: Any, promise: tuple[str, str]) -> None:
    """A large δ lets a missing curve be told as well as a coin allows, with odds of 1 left for what is shown."""
    mechanism = curve_noise(expansion_of("ball"), Privacy(*promise), noise=noise).with_missing(Privacy(*promise))
    verify(json.loads(json.dumps(certify(mechanism, Privacy(*promise)).to_json())))


@pytest.mark.parametrize(("region", "kind"), MADE)
def test_it_is_read_back(region: str, kind: str) -> None:
    mechanism, _ = made(region, kind)
    record = json.loads(json.dumps(mechanism.family.to_json()))
    again = recorded_curve_law(expansion_of(region).with_missing(), record)
    assert json.loads(json.dumps(again.family.to_json())) == record and again.name == mechanism.name
    assert (again.inputs, again.error) == (mechanism.inputs, mechanism.error)
    for space, other in ((expansion_of(region), record), (expansion_of(region).with_missing(), record["law"])):
        with pytest.raises(ValueError, match="may be missing"):
            recorded_curve_law(space, other)


def test_laplace_noise_keeps_all_of_epsilon_and_the_chances_are_the_best_ones() -> None:
    mechanism, privacy = made("box", "laplace")
    law: Any = mechanism.family
    assert law.inner.to_json() == curve_noise(expansion_of("box"), privacy, noise="laplace").family.to_json()
    e, r = np.exp(1.0), np.exp(0.5)
    q = (e - 1) / (e * r - 1)
    assert law.present / law.whole == pytest.approx(r * q, abs=1e-4)  # the l1 norm is a whole number
    assert law.missing / law.whole == pytest.approx(q, abs=1e-4)


def test_the_witness_names_no_curve() -> None:
    mechanism, _ = made("ball", "laplace")
    with pytest.raises(NotPrivate, match=r"inputs (None|'a curve')"):
        certify(mechanism, Privacy("0.9"))
    law: Any = mechanism.family
    with pytest.raises(NotPrivate, match=r"inputs (None and 'a curve'|'a curve' and None)"):
        certify(mechanism.or_missing(OptionalLaw(law.inner, law.present, law.missing // 2, law.whole)), Privacy(1))


def test_without_epsilon_it_is_refused() -> None:
    with pytest.raises(InputError, match="cannot be told from others"):
        curve_noise(DAY, Privacy(0, "0.1"), noise="gaussian").with_missing(Privacy(0, "0.1"))


def test_the_error_counts_a_diameter_for_missing() -> None:
    mechanism, privacy = made("ball", "laplace")
    law: Any = mechanism.family
    p, plain = law.present / law.whole, float(curve_noise(expansion_of("ball"), privacy, noise="laplace").error)
    assert float(mechanism.error) == pytest.approx(p * plain + (1 - p) * float(DAY.diameter))


@settings(max_examples=200, deadline=None)
@given(st.fractions(1, 10**6) | st.floats(0, 700).map(lambda x: exp_below(Fraction(x))))
def test_the_verifiers_logarithm_lies_below_and_close(odds: Fraction) -> None:
    low = log_below(odds)
    assert exp_above(low, 512) <= odds or low == 0
    assert exp_below(low + Fraction(1, 2**118)) > odds * (1 - Fraction(1, 2**200))


# Sampling ------------------------------------------------------------------------------------------------------------

WORDS = np.arange(1 << 16, dtype=np.uint16)  # every word of the first draw: the whole divides 2^16, so no cell is cut


@pytest.mark.parametrize(("curve", "weight"), [([0.0] * 13, 40_000), ([5.0] * 13, 40_000), (None, 9_000)])
def test_every_word_that_decides_what_is_shown_counts_once(curve: Any, weight: int) -> None:
    mechanism, _ = made("ball", "laplace")
    law = OptionalLaw(mechanism.shown, 40_000, 9_000, 1 << 16)
    codes = np.repeat(expansion_of("ball").with_missing().encode([curve]), 1 << 16, axis=0)  # type: ignore[attr-defined]
    drawn = law.draw(codes, ScriptedCoins(WORDS))
    hidden = (drawn == ABSENT).all(axis=1)
    assert (~hidden).sum() == weight and not (drawn[~hidden] == ABSENT).any()


def test_what_is_shown_is_a_draw_of_the_inner_law_and_a_missing_curve_is_the_centre() -> None:
    mechanism, _ = made("kernel", "gaussian")
    curves = [[1.0 + n % 3] * 13 if n % 2 else None for n in range(400)]
    space: Any = expansion_of("kernel").with_missing()
    codes = space.encode(curves)
    before = codes.copy()
    filled = np.where(codes < 0, mechanism.lattice.middle, codes)
    assert not mechanism.lattice.coefficients(filled[::2]).any()
    plain = mechanism.shown.draw(filled, AllShown(first=False))
    shown = OptionalLaw(mechanism.shown, 2, 1, 4).draw(codes, AllShown(first=True))
    assert shown.tolist() == plain.tolist() and (codes == before).all()


class AllShown(Coins):
    """Coins of which the first words are 0, so that every row is shown; or without these words."""

    def __init__(self, first: bool) -> None:
        super().__init__(bytes(32), private=False)
        self.first = first

    def fill(self, buffer: Any) -> None:
        if self.first:
            buffer[:], self.first = 0, False
        else:
            super().fill(buffer)


def test_drawn_curves_are_nan_where_they_are_missing() -> None:
    mechanism, _ = made("ball", "laplace")
    with seeded_coins(2):
        drawn = mechanism.draw([[1.0] * 13, None] * 300)
        one = mechanism.draw([1.0] * 13)
        none = mechanism.draw(None)
    gone = np.isnan(drawn)
    assert (gone.all(axis=1) | ~gone.any(axis=1)).all() and drawn.shape == (600, 13)
    law: Any = mechanism.family
    for rows, shown in ((gone[::2, 0], law.present), (gone[1::2, 0], law.missing)):
        assert rows.mean() == pytest.approx(1 - shown / law.whole, abs=0.1)
    assert one.shape == none.shape == (13,)


# Forgeries -----------------------------------------------------------------------------------------------------------


def forged(mechanism: CurveMechanism, privacy: Privacy, law: dict[str, Any]) -> dict[str, Any]:
    body = json.loads(json.dumps(certify(mechanism, privacy).to_json()))
    body["laws"][0]["law"] |= law
    return {**body, "seal": seal({key: value for key, value in body.items() if key != "seal"})}


@pytest.mark.parametrize(("region", "kind"), MADE)
def test_the_verifier_accepts_no_other_chances_and_no_larger_region(region: str, kind: str) -> None:
    mechanism, privacy = made(region, kind)
    law: Any = mechanism.family
    verify(forged(mechanism, privacy, {}))
    inner = json.loads(json.dumps(law.inner.to_json()))
    wider = {
        "radius": inner["radius"] and inner["radius"] + 200,
        "box": inner["box"] and [b + 200 for b in inner["box"]],
    }
    for changed in (
        {"missing": str(law.missing * 99 // 100)},  # a missing curve is shown less often
        {"present": str(law.present + (law.whole - law.present) // 50)},  # others are shown more often
        {"present": str(law.missing), "missing": str(law.present)},
        {"present": str(law.whole)},
        {"missing": "0"},
        {"law": {**inner, **wider}},
        {"law": {**inner, "norm": "l2" if inner["norm"] == "l1" else "l1"}},
        {"law": {**inner, "kind": "optional"}},
    ):
        with pytest.raises(Refused):
            verify(forged(mechanism, privacy, changed))

"""A value that may be missing: the law is what it says, as private as it says, and drawn as it says."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dproof import (
    Categories,
    InputError,
    Interval,
    Mechanism,
    NotPrivate,
    Privacy,
    Subsets,
    Table,
    VerificationFailed,
    bounded_laplace,
    certify,
    design,
    gaussian,
    laplace,
    randomised_response,
    staircase,
    truncated_laplace,
)
from dproof.certification.verify_certificate import Refused, seal, verify
from dproof.exact import exp_below
from dproof.laws import Gaussian, Lattice, Matrix, OptionalLaw, TwoSided
from dproof.laws.laplace import two_sided
from dproof.laws.law import law_from_json
from dproof.spaces.space import ABSENT
from dproof.testing import ScriptedCoins, check_mechanism, seeded_coins
from tests.brute_force import divergence, noise_chances

ODDS = [Fraction(1), Fraction(5, 4), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(10)]
NARROW = TwoSided((), ((9, 4, 2, 1), (5, 3, 1, 1)))  # far from the ideal, and not symmetric


def rows(law: OptionalLaw, reach: int) -> list[list[Fraction]]:
    """P(y | x) for every input, the missing one last, on the outputs from −reach on, the missing one last."""
    inner: Any = law.inner
    chances = noise_chances(json.loads(json.dumps(inner.noise.to_json())), reach + inner.size)
    p, q = Fraction(law.present, law.whole), Fraction(law.missing, law.whole)

    def shown(code: int, chance: Fraction) -> list[Fraction]:
        outputs = range(-reach, inner.size + reach)
        if inner.clamped:
            folded = dict.fromkeys(range(inner.size), Fraction(0))
            for k, mass in chances.items():
                folded[min(max(code + k, 0), inner.size - 1)] += mass
            outputs, at = range(inner.size), folded
        else:
            at = {code + k: mass for k, mass in chances.items()}
        return [*(chance * at.get(y, Fraction(0)) for y in outputs), 1 - chance]

    return [*(shown(code, p) for code in range(inner.size)), shown((inner.size - 1) // 2, q)]


def brute_delta(law: OptionalLaw, odds: Fraction, reach: int) -> Fraction:
    """The largest Σ max(0, P − e·Q) on these outputs."""
    written = rows(law, reach)
    return max(divergence(p, q, odds) for p in written for q in written if p is not q)


# δ from the definition -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 3, 4, 7])
@pytest.mark.parametrize(("present", "missing"), [(3, 1), (3, 2), (3, 3), (2, 1)])
def test_delta_is_that_of_the_definition_for_finite_noise(size: int, present: int, missing: int) -> None:
    """Gaussian tables end, so every probability is written out and compared exactly."""
    law = OptionalLaw(Lattice(size, Gaussian(Fraction(1, 2))), present, missing, 4)
    for odds in ODDS:
        assert law.worst(odds).value == brute_delta(law, odds, 16)


@pytest.mark.parametrize("noise", [two_sided(exp_below(Fraction(1, 2))), two_sided(Fraction(3, 2), 6)], ids=["", "cut"])
@pytest.mark.parametrize("clamped", [False, True])
@pytest.mark.parametrize(("present", "missing"), [(7, 5), (5, 5), (7, 1), (4, 3)])
def test_delta_bounds_the_definition_closely_for_laplace_noise(
    noise: TwoSided, clamped: bool, present: int, missing: int
) -> None:
    """Laplace noise has a proven bound of δ; what lies beyond the reach weighs less than the bound's slack."""
    law = OptionalLaw(Lattice(5, noise, clamped), present, missing, 8)
    for odds in ODDS:
        least, claimed = brute_delta(law, odds, 60), law.worst(odds).value
        assert least <= claimed + Fraction(1, 10**9)
        if not clamped:  # clamping post-processes, which the bound does not look at
            assert claimed <= least + Fraction(1, 10**6)


@settings(max_examples=40, deadline=None)
@given(
    size=st.integers(2, 6),
    whole=st.integers(3, 50),
    data=st.data(),
    odds=st.fractions(1, 20),
    square=st.fractions(Fraction(1, 8), 4, max_denominator=8),
)
def test_delta_is_that_of_the_definition_whatever_the_numbers(
    size: int, whole: int, data: Any, odds: Fraction, square: Fraction
) -> None:
    present = data.draw(st.integers(1, whole - 1))
    missing = data.draw(st.integers(1, present))
    law = OptionalLaw(Lattice(size, Gaussian(square)), present, missing, whole)
    reach = law.inner.noise.farthest + size  # type: ignore[attr-defined]
    assert law.worst(odds).value == brute_delta(law, odds, reach)
    tight = law.odds(Fraction(1, 10)).value
    if tight is None:
        assert brute_delta(law, Fraction(10) ** 60, reach) > Fraction(1, 10)
        return
    assert brute_delta(law, tight, reach) <= Fraction(1, 10)
    if tight > 1:
        assert brute_delta(law, tight * Fraction(9999, 10_000), reach) > Fraction(1, 10)


def test_pure_odds_are_the_largest_ratio() -> None:
    for present, missing in [(3, 1), (3, 2), (3, 3)]:
        law = OptionalLaw(Lattice(4, NARROW), present, missing, 4)
        written = rows(law, 30)
        largest = max(x / y for p in written for q in written for x, y in zip(p, q, strict=True) if y)
        value = law.odds(Fraction(0)).value
        assert value is not None and largest <= value <= largest * 12  # a step costs at most the largest ratio of one
        assert law.worst(value).value == 0


# What is calibrated --------------------------------------------------------------------------------------------------

MADE: dict[str, tuple[Any, Interval, Privacy]] = {
    "laplace": (laplace, Interval(0, 100, 1), Privacy(1)),
    "laplace on an even number of points": (laplace, Interval(0, 9, 1), Privacy("0.5")),
    "laplace on a wide lattice": (laplace, Interval(0, 10**7, 1), Privacy(2)),
    "laplace with delta": (laplace, Interval(0, 100, 1), Privacy(1, "0.01")),
    "clamped laplace": (lambda s, p: laplace(s, p, clamp=True), Interval(0, 30, 1), Privacy(1)),
    "truncated laplace": (truncated_laplace, Interval(0, 100, 1), Privacy(1, "0.001")),
    "gaussian": (gaussian, Interval(0, 100, 1), Privacy(1, "1e-6")),
    "gaussian in cells": (gaussian, Interval(0, 5000, 1), Privacy("0.5", "1e-6")),
    "bounded laplace": (bounded_laplace, Interval(0, 10, 1), Privacy(1)),
    "unbiased design": (lambda s, p: design(s, p, unbiased=True), Interval(0, 4, 1), Privacy(2)),
    "randomised response": (randomised_response, Interval(0, 4, 1), Privacy(1, "0.01")),
    "one point": (laplace, Interval(5, 5), Privacy(1)),
    "sets": (randomised_response, Subsets(["a", "b"]), Privacy(1)),
    "designed sets": (design, Subsets(["a", "b"]), Privacy(2)),
}


LISTED = ["clamped laplace", "bounded laplace", "unbiased design", "randomised response", "sets", "designed sets"]


def made(name: str) -> tuple[Mechanism, Privacy]:
    make, space, privacy = MADE[name]
    return make(space, privacy).with_missing(privacy), privacy


@pytest.mark.parametrize("name", MADE)
def test_it_keeps_the_promise_and_uses_nearly_all_of_it(name: str) -> None:
    mechanism, privacy = made(name)
    certificate = certify(mechanism, privacy).to_json()
    verify(json.loads(json.dumps(certificate)))
    assert 0.99 * float(privacy.epsilon) <= mechanism.epsilon(privacy.delta) <= privacy.epsilon
    less = Privacy(privacy.epsilon * Fraction(99, 100), privacy.delta * Fraction(99, 100))
    with pytest.raises(NotPrivate):
        certify(mechanism, less)


def test_one_point_that_is_a_list_is_drawn_by_itself() -> None:
    pairs = Table(Interval(0, 2, 1), 2)
    mechanism = randomised_response(pairs, Privacy(9)).with_missing(Privacy(9))
    for value in ([1, 2], [2, 0], None):
        assert mechanism.draw(value) is None or pairs.is_point(mechanism.draw(value))
    assert len(mechanism.draw([[1, 2], None, [0, 0]])) == 3


def test_a_missing_value_is_added_once() -> None:
    with_none = randomised_response(Categories(["a", None]), Privacy(1))
    for mechanism in (with_none, randomised_response(Interval(0, 2, 1), Privacy(1)).with_missing(Privacy(1))):
        with pytest.raises(InputError, match="missing value is one of its values already"):
            mechanism.with_missing(Privacy(1))


@pytest.mark.parametrize("name", MADE)
def test_it_is_read_back(name: str) -> None:
    mechanism, _ = made(name)
    record = json.loads(json.dumps(mechanism.family.to_json()))
    again = law_from_json(record)
    assert json.loads(json.dumps(again.to_json())) == record
    assert again.worst(Fraction(3, 2)) == mechanism.family.worst(Fraction(3, 2))


@pytest.mark.parametrize("name", LISTED)
def test_what_can_be_listed_is_a_law(name: str) -> None:
    mechanism, _ = made(name)
    assert (mechanism.inputs.size, mechanism.outputs.size) == (mechanism.family.inputs, mechanism.family.outputs)
    if name != "clamped laplace":  # of which δ is bounded by that of the noise
        check_mechanism(mechanism)
    weights, total = mechanism.weights()
    same = Matrix(weights, total)
    for odds in ODDS[1:]:
        assert same.worst(odds).value <= mechanism.family.worst(odds).value


def test_laplace_noise_keeps_all_of_epsilon_and_the_chances_are_the_best_ones() -> None:
    mechanism, privacy = made("laplace")
    law: Any = mechanism.family
    assert law.inner.to_json() == laplace(Interval(0, 100, 1), privacy).family.to_json()
    e, r = np.exp(1.0), np.exp(0.5)
    q = (e - 1) / (e * r - 1)
    assert law.present / law.whole == pytest.approx(r * q, abs=1e-9)
    assert law.missing / law.whole == pytest.approx(q, abs=1e-9)


def test_a_table_shows_a_missing_value_as_seldom_as_the_promise_allows() -> None:
    """No row for missing values passes with less to show: some value would exceed it by more than e^ε."""
    table = bounded_laplace(Interval(0, 6, 1), Privacy(1)).family
    law: Any = table.with_missing(Fraction(1), Fraction(0))
    *values, missing = np.array([[Fraction(int(w), law.total) for w in row] for row in law.rows])
    shown = 1 - values[0][-1]
    assert len({row[-1] for row in values}) == 1, "every value is shown as often"
    for y in range(7):
        assert float(max(row[y] for row in values) / missing[y]) == pytest.approx(np.e, rel=1e-6)
    assert float(missing[-1] / (1 - shown)) == pytest.approx(np.e, rel=1e-5)


@pytest.mark.parametrize(
    ("make", "points"), [(staircase, 30), (laplace, 2)], ids=["stairs are as wide as the range", "the middle is an end"]
)
def test_what_cannot_tell_a_missing_value_is_refused_in_a_sentence(make: Any, points: int) -> None:
    with pytest.raises(InputError, match="cannot be told from others"):
        make(Interval(0, points - 1, 1), Privacy(1)).with_missing(Privacy(1))


def test_without_epsilon_it_is_refused() -> None:
    with pytest.raises(InputError, match="cannot be told from others"):
        gaussian(Interval(0, 9, 1), Privacy(0, "0.1")).with_missing(Privacy(0, "0.1"))


@pytest.mark.parametrize("chances", [(1, 2, 3), (3, 1, 3), (1, 0, 3), (4, 1, 3)])
def test_chances_that_are_none_are_refused(chances: tuple[int, int, int]) -> None:
    with pytest.raises(InputError):
        OptionalLaw(Lattice(3, NARROW), *chances)


# Probabilities and errors --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("clamped", [False, True])
def test_probabilities_are_those_of_the_definition(clamped: bool) -> None:
    law = OptionalLaw(Lattice(4, Gaussian(Fraction(1, 2)) if clamped else NARROW, clamped), 3, 2, 4)
    outputs = [*range(4), 4] if clamped else [*range(-20, 24), ABSENT]
    found = [[law.probability(x, y) for y in outputs] for x in range(5)]
    assert found == rows(law, 20)
    if clamped:
        for x in range(5):
            assert [Fraction(int(w), law.total) for w in law.weights(x)] == found[x]


def test_errors_count_a_diameter_for_missing() -> None:
    mechanism, _ = made("clamped laplace")
    weights, total = mechanism.weights()
    for code in (0, 15, 31):
        distances = mechanism.inputs.distances(code)
        expected = sum(Fraction(int(w), total) * d for w, d in zip(weights[code], distances, strict=True))
        assert mechanism.family.error(code, mechanism.inputs) == expected
    assert mechanism.error == max(mechanism.expected_errors())


# Sampling ------------------------------------------------------------------------------------------------------------

WORDS = np.arange(1 << 16, dtype=np.uint16)  # every word of the first draw: the whole divides 2^16, so no cell is cut


@pytest.mark.parametrize("clamped", [False, True])
@pytest.mark.parametrize(("code", "weight", "at"), [(0, 40_000, 0), (4, 40_000, 4), (5, 9_000, 2)])
def test_every_word_that_decides_what_is_shown_counts_once(clamped: bool, code: int, weight: int, at: int) -> None:
    law = OptionalLaw(Lattice(5, NARROW, clamped), 40_000, 9_000, 1 << 16)
    zeros = np.zeros(1 << 16, np.uint16)  # of the noise: its first outcome, no noise
    drawn = law.draw(np.full(1 << 16, code, np.uint8), ScriptedCoins(WORDS, zeros))
    values, counts = np.unique(drawn, return_counts=True)
    missing = 5 if clamped else ABSENT
    assert dict(zip(values.tolist(), counts.tolist(), strict=True)) == {at: weight, missing: (1 << 16) - weight}


def test_what_is_shown_is_a_draw_of_the_inner_law() -> None:
    """Where every first word shows the value, the words after it give what they give the inner law."""
    inner, codes = Lattice(5, NARROW), np.tile(np.arange(6, dtype=np.uint8), 1000)
    words = np.random.default_rng(3).integers(0, 1 << 16, len(codes)).astype(np.uint16)
    plain = inner.draw(np.where(codes == 5, 2, codes), ScriptedCoins(words))
    shown = OptionalLaw(inner, 2, 1, 4).draw(codes, ScriptedCoins(np.zeros(len(codes), np.uint16), words))
    assert shown.tolist() == plain.tolist() and len(set(plain.tolist())) > 5


def test_two_hundred_thousand_draws_fit_the_law() -> None:
    law = OptionalLaw(Lattice(3, two_sided(Fraction(2))), 11, 7, 16)
    for source in range(4):
        with seeded_coins(source) as coins:
            drawn = law.draw(np.full(200_000, source, np.uint8), coins)
        for y in (-1, 0, 1, 2, 3, ABSENT):
            chance = float(law.probability(source, y))
            assert (drawn == y).mean() == pytest.approx(chance, abs=5 * (chance * (1 - chance) / 200_000) ** 0.5)


def test_no_row_changes_what_it_is_given() -> None:
    codes = np.array([0, 5, 2], np.uint8)
    with seeded_coins(1) as coins:
        OptionalLaw(Lattice(5, NARROW), 3, 2, 4).draw(codes, coins)
    assert codes.tolist() == [0, 5, 2]


# Estimation ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("points", [5, 6])
def test_the_scores_of_a_row_are_right_on_average_whatever_it_holds(points: int) -> None:
    """Σ_y P(y) s(y) is x^k where the number x is there and 0 where it is missing, exactly but for floats."""
    from dproof.laws.debias import PresenceAxis, SeenColumn
    from dproof.spaces.interval import Scale
    from dproof.spaces.space import OptionalSpace, Partition

    space = OptionalSpace(Interval(0, points - 1, 1))
    law = laplace(space.present, Privacy(1)).family.with_missing(Fraction(1), Fraction(0))
    middle, unit = float(space.middle), points / 2
    blocks = Partition("x", np.array([0, points]), np.array([0, 1]), points + 1)
    unmixed = law.debias_axes([SeenColumn(blocks, space, space.line, Scale(middle, unit))], 1, "x")
    (shown,), moments = unmixed.axes, unmixed.moments
    assert isinstance(shown, PresenceAxis) and moments is not None
    outputs = range(-200, points + 200)
    for code in range(points + 1):
        chances = np.array([float(law.probability(code, y)) for y in outputs])
        for power in (0, 1, 2):
            polynomial: Any = moments.scores((power,))
            numbers = (np.array(outputs) - middle) / unit
            values = np.polynomial.polynomial.polyval(numbers, polynomial.coefficients)
            scores = shown.scores((power,)).matrix[:, 0]  # for the block of values that are there
            mean = scores[0] * chances @ values + scores[1] * float(law.probability(code, ABSENT))
            wanted = 0.0 if code == points else ((code - middle) / unit) ** power
            assert mean == pytest.approx(wanted, abs=1e-6), (code, power)


# Forgeries -----------------------------------------------------------------------------------------------------------


def forged(name: str, **changed: Any) -> dict[str, Any]:
    mechanism, privacy = made(name)
    body = json.loads(json.dumps(certify(mechanism, privacy).to_json()))
    body["laws"][0]["law"] |= changed
    return {**body, "seal": seal({key: value for key, value in body.items() if key != "seal"})}


TABLES = ("bounded laplace", "unbiased design", "randomised response", "one point", "sets", "designed sets")
OPTIONAL = [name for name in MADE if name not in TABLES]


@pytest.mark.parametrize("name", OPTIONAL)
def test_the_verifier_accepts_no_other_chances(name: str) -> None:
    law: Any = made(name)[0].family
    verify(forged(name))
    for part in (law.present, law.missing):
        assert part * 999 // 1000 > 0
    for changed in (
        {"missing": str(law.missing * 999 // 1000)},  # a missing value is shown less often
        {"present": str(law.present + (law.whole - law.present) // 500)},  # others are shown more often
        {"whole": str(law.whole * 1001 // 1000), "missing": str(law.missing * 998 // 1000)},
        {"present": str(law.whole), "missing": str(law.whole)},
        {"present": str(law.missing), "missing": str(law.present)},
        {"missing": "0"},
        {"missing": "-1"},
        {"whole": "0"},
    ):
        with pytest.raises(Refused):
            verify(forged(name, **changed))


@pytest.mark.parametrize("name", OPTIONAL)
def test_the_verifier_accepts_no_more_points_and_no_less_noise(name: str) -> None:
    law: Any = made(name)[0].family
    record = json.loads(json.dumps(law.inner.to_json()))
    wider = str(int(int(record["size"]) * 1.2) + 1)
    narrower = laplace(Interval(0, law.inner.size // 2, 1), Privacy(1)).family.to_json()["noise"]
    for inner in ({**record, "size": wider}, {**record, "noise": json.loads(json.dumps(narrower))}):
        if name == "laplace on a wide lattice" and inner["size"] != wider:
            continue  # its own epsilon is larger
        with pytest.raises(Refused):
            verify(forged(name, law=inner))


@pytest.mark.parametrize("inner", [{"kind": "optional"}, {"kind": "matrix", "total": "2", "rows": [["1", "1"]]}, {}, 3])
def test_only_noise_stands_inside(inner: Any) -> None:
    with pytest.raises(Refused):
        verify(forged("laplace", law=inner))
    with pytest.raises((VerificationFailed, LookupError, TypeError)):
        law_from_json({"kind": "optional", "present": "2", "missing": "1", "whole": "3", "law": inner})


# The pair of inputs that is named with tight odds is the one that needs them, and not the worst at other odds ---------


def test_the_pair_of_tight_odds_is_that_of_these_odds() -> None:
    law, missing = OptionalLaw(Lattice(3, two_sided(Fraction(2))), 7, 3, 8), 3
    assert law.odds(Fraction(0)).value == 5  # a missing value is shown as missing so many times as often as another
    assert (law.odds(Fraction(0)).source, law.odds(Fraction(0)).target) == (missing, 2)
    assert (law.worst(Fraction(1)).source, law.worst(Fraction(1)).target) == (2, missing)

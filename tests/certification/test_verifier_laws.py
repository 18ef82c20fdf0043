"""The stand-alone verifier looks at a worst pair: no pair of inputs has a larger divergence, by the definition."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise
from math import erfc, exp, log, sqrt
from typing import Any

import numpy as np
import pytest

from dproof import InputError, Interval, Privacy, staircase
from dproof.certification.verify_certificate import (
    LAWS,
    MOST_COMPARISONS,
    MOST_ENTRIES,
    PER_PAIR,
    Refused,
    at_most,
    bits,
    by_kind,
    check_distances,
    check_size,
    coefficients,
    exp_below,
    inputs,
    largest,
    log_below,
    stairs,
    step_odds,
    two_sided,
)
from dproof.laws import (
    Bits,
    BlockDesign,
    Gaussian,
    GaussianSum,
    KeepOrOther,
    Matrix,
    PlaneDesign,
    SubsetSelection,
    Unary,
)
from dproof.laws.gaussian import gaussian_sum
from tests.brute_force import divergence

ROWS = np.array([[6, 1, 1], [2, 4, 2], [1, 1, 6]])
NEXT = np.array([[False, True, False], [True, False, True], [False, True, False]])
FAMILIES = [
    *(KeepOrOther(size, 5, 1) for size in (1, 2, 4)),
    *(Bits(bits, 3, 1) for bits in (1, 3)),
    *(Unary(size, 3, 1, 4) for size in (1, 2, 3)),
    *(SubsetSelection(size, width, 5, 1) for size, width in ((1, 1), (2, 1), (2, 2), (3, 1), (4, 2))),
    Matrix(ROWS, 8),
    Matrix(ROWS, 8, NEXT),
]


@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1, 2), Fraction(5)])
def test_no_pair_has_a_larger_divergence(family: Any, epsilon: Fraction) -> None:
    law = by_kind(LAWS)(json.loads(json.dumps(family.to_json())), "law")
    rows = [[Fraction(int(w), family.total) for w in family.weights(n)] for n in range(family.inputs)]
    counts = np.ones((len(rows), len(rows)), bool) if family.neighbours is None else family.neighbours
    pairs = [(i, j) for i in range(len(rows)) for j in range(len(rows)) if i != j and counts[i, j]]
    worst = max((divergence(rows[i], rows[j], exp_below(epsilon)) for i, j in pairs), default=Fraction(0))
    found, source, target = largest({"law": law, "delta": Fraction(1)}, epsilon)
    assert found == worst
    assert max(source, target) < max(2, len(rows)) and (not worst or (source, target) in pairs)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_the_number_of_inputs(family: Any) -> None:
    assert inputs(by_kind(LAWS)(json.loads(json.dumps(family.to_json())), "law")) == family.inputs


def square(size: int) -> dict[str, Any]:
    """A part with a matrix of so many rows and columns, of which only the sizes are looked at."""
    return {"law": {"kind": "matrix", "rows": [range(size)] * size}}


def test_so_many_entries_are_gone_through_and_no_more() -> None:
    size = 1 << 11
    assert size**2 == 1 << 22 == MOST_ENTRIES
    check_size([square(size)])
    for parts in ([square(size + 1)], [square(size), square(1)]):
        with pytest.raises(Refused, match="too large"):
            check_size(parts)


@pytest.mark.parametrize("kind", ["matrix", "neighbours", "distances", "rounded"])
def test_so_many_comparisons_are_made_and_no_more(kind: str) -> None:
    rows = [[one, 9 - one] for one in (1, 2, 3, 4, 5, 6, 7, 8)]
    law: dict[str, Any] = {"kind": "matrix", "total": 9, "rows": rows}
    part: dict[str, Any] = {"law": law, "delta": Fraction(1)}
    if kind == "neighbours":
        law["neighbours"] = [(0, 1)] * 8
    elif kind == "distances":
        part["distances"] = [[Fraction(abs(i - j)) for j in range(8)] for i in range(8)]
    elif kind == "rounded":
        part["law"] = {"kind": "rounded", "size": 71, "steps": 7, "law": law}
    asked = []
    found = largest(part, Fraction(1, 2), asked.append)
    assert found[0] > 0 and sum(asked) >= 8 * PER_PAIR
    assert largest(part, Fraction(1, 2), at_most(sum(asked))) == found
    with pytest.raises(Refused, match="too large"):
        largest(part, Fraction(1, 2), at_most(sum(asked) - 1))


def test_small_certificates_with_many_inputs_take_no_time() -> None:
    """Two outputs: the rows at both ends are found at once. Hundreds of outputs in no order: refused at once."""
    total = 1 << 20
    rows = [[64 + n, total - 64 - n] for n in range(0, 44_000, 4)]
    part = {"law": {"kind": "matrix", "total": total, "rows": rows}, "delta": Fraction(1)}
    asked: list[int] = []
    found = largest(part, Fraction(1), asked.append)
    ends = [[Fraction(weight, total) for weight in rows[n]] for n in (0, -1)]
    assert found == (divergence(ends[1], ends[0], exp_below(Fraction(1))), 0, len(rows) - 1)
    assert sum(asked) < MOST_COMPARISONS / 8
    rng = np.random.default_rng(1)
    some = rng.integers(1, 100, (3000, 100)).tolist()
    scattered = [[*row, 10_000 - sum(row)] for row in some]
    part = {"law": {"kind": "matrix", "total": 10_000, "rows": scattered}, "delta": Fraction(1)}
    with pytest.raises(Refused, match="too large"):
        largest(part, Fraction(1), at_most(1 << 22))


def test_distances_are_those_of_a_metric_on_the_inputs() -> None:
    good = [[Fraction(0), Fraction(1)], [Fraction(1), Fraction(0)]]
    check_distances(good, 2)
    one, two, none = Fraction(1), Fraction(2), Fraction(0)
    for wrong in ([[none, one], [two, none]], [[one, one], [one, none]], [[none, none], [none, none]], [[none, one]]):
        with pytest.raises(Refused):
            check_distances(wrong, 2)
    with pytest.raises(Refused):
        check_distances(good, 3)


# The stand-alone verifier reads a law of bits with any weights that are not both 0, also one that tells nothing -------


@pytest.mark.parametrize("kind", ["bits", "one-item"])
@pytest.mark.parametrize(("stay", "flip"), [(3, 1), (1, 1), (1, 3), (0, 1), (1, 0)])
def test_weights_that_are_not_both_0_are_read(kind: str, stay: int, flip: int) -> None:
    ((source, target, p, q, total),) = bits({"kind": kind, "bits": 2, "stay": stay, "flip": flip}, Fraction(1))
    assert (source, target) == (0, 3) and p == q[::-1] and sum(p) == total


@pytest.mark.parametrize("kind", ["bits", "one-item"])
def test_a_law_without_weight_is_refused(kind: str) -> None:
    with pytest.raises(Refused, match="has no weight"):
        next(bits({"kind": kind, "bits": 2, "stay": 0, "flip": 0}, Fraction(1)))


# The stand-alone verifier's bounds of δ above 0, worked out once more in another way ----------------------------------


# Value k ≥ 0 has the weight TOP[0][k], and −1 − k has TOP[1][k]; the last cell stands for all that lies beyond.
TOP = [[80, 40, 21, 11, 5, 6], [40, 21, 11, 5, 3, 3]]


def noise(reach: int) -> dict[str, Any]:
    return {"kind": "two-sided", "lower": [], "top": TOP, "reach": reach}


def conditioned(weights: dict[int, Fraction], reach: int) -> dict[int, Fraction]:
    kept = {k: weight for k, weight in weights.items() if abs(k) <= reach}
    return {k: weight / sum(kept.values()) for k, weight in kept.items()}


def delta(law: dict[int, Fraction], shift: int, odds: Fraction) -> Fraction:
    return sum((max(Fraction(0), p - odds * law.get(k - shift, Fraction(0))) for k, p in law.items()), Fraction(0))


@pytest.mark.parametrize("reach", [1, 2, 3, 4])
@pytest.mark.parametrize("shift", [1, 2, 3])
@pytest.mark.parametrize("odds", [Fraction(1), Fraction(3, 2), Fraction(2), Fraction(5)])
def test_noise_that_ends_at_its_reach_is_bounded_by_a_mixture(reach: int, shift: int, odds: Fraction) -> None:
    digits = range(len(TOP[0]) - 1)
    drawn = {k: Fraction(TOP[0][k]) for k in digits} | {-1 - k: Fraction(TOP[1][k]) for k in digits}
    law, fall = conditioned(drawn, reach), 1 / step_odds(noise(reach))
    ideal = conditioned({k: fall ** abs(k) for k in range(-reach, reach + 1)}, reach)
    wanted = min(Fraction(1), delta(ideal, shift, odds) + 1 - law[0] / ideal[0])
    bound = two_sided(noise(reach), shift, odds)
    assert delta(law, shift, odds) <= bound
    assert wanted <= bound <= wanted + Fraction(1, 10**100)


@pytest.mark.parametrize("odds", [Fraction(1), Fraction(3, 2), Fraction(2), Fraction(5, 2)])
@pytest.mark.parametrize("size", [1, 7, 20])
def test_stairs_have_the_delta_that_their_own_law_has(odds: Fraction, size: int) -> None:
    family = staircase(Interval(0, size, 1), Privacy(1)).family
    law = by_kind(LAWS)(dict(family.to_json()), "law")
    assert stairs(law["noise"], size, odds) == family.worst(odds).value > 0


# Gaussian noise on a vector: the library and the stand-alone verifier have the bound of the formula -------------------


NARROW = GaussianSum(Gaussian(Fraction(8)), 1, 1)  # for which nothing that is charged is small
WIDER = GaussianSum(Gaussian(Fraction(20)), 2, 3)


def record(law: GaussianSum, terms: int, **region: Any) -> dict[str, Any]:
    noise = {"kind": law.kind, "square": law.table.square, "step": law.step, "draws": law.draws}
    return {"kind": "coefficients", "terms": terms, "radius": None, "box": None, "norm": "l2", "noise": noise} | region


def below(x: float) -> float:
    """The normal distribution function."""
    return erfc(-x / sqrt(2)) / 2


def formula(law: GaussianSum, terms: int, distance: float, odds: float) -> float:
    """Rounding to whole numbers costs e^(1/8σ²) one way and e^(K²/8σ⁴) the other, K = D + 10(σ + 1)."""
    variance = float(law.table.square) * sum(law.step ** (2 * n) for n in range(law.draws))
    sigma = sqrt(variance)
    upper = terms / (8 * variance)
    lower = terms * (distance + 10 * (sigma + 1)) ** 2 / (8 * variance**2)
    epsilon, mu = log(odds) - upper - lower, distance / sigma
    profile = below(mu / 2 - epsilon / mu) - exp(epsilon) * below(-mu / 2 - epsilon / mu)
    return exp(upper) * profile + terms * (2 * exp(-50) + law.draws * (1 + odds) / 2**66)


@pytest.mark.parametrize(("law", "radius", "odds"), [(NARROW, 6, 10**6), (NARROW, 3, 1), (WIDER, 20, 8), (WIDER, 9, 1)])
@pytest.mark.parametrize("terms", [1, 3])
def test_both_have_the_bound_of_the_formula(law: GaussianSum, radius: int, odds: int, terms: int) -> None:
    wanted = formula(law, terms, 2 * radius, odds)
    found = coefficients(record(law, terms, radius=radius), Fraction(odds))
    assert float(found) == pytest.approx(wanted, rel=1e-8)
    assert float(law.delta_vector(Fraction(odds), 4 * radius**2, terms)) == pytest.approx(min(1, wanted), rel=1e-8)
    near = coefficients(record(law, terms, radius=2 * radius), Fraction(odds), nearer=True)
    assert near == found  # the centre and a point twice as far away
    box = [radius, *[0] * (terms - 1)]
    assert coefficients(record(law, terms, box=box), Fraction(odds)) == found


def test_what_fits_neither_is_refused_by_the_verifier() -> None:
    for region in ({}, {"radius": 1, "box": [1, 1]}, {"box": [1]}, {"box": [1, 1, 1]}):
        with pytest.raises(Refused):
            coefficients(record(NARROW, 2, **region), Fraction(2))
    narrower = record(NARROW, 2, radius=1)
    narrower["noise"] = narrower["noise"] | {"square": Fraction(8) - Fraction(1, 10**6)}
    with pytest.raises(Refused, match="too narrow"):
        coefficients(narrower, Fraction(2))


def test_what_fits_neither_is_refused_by_the_library() -> None:
    for table, step, draws in ((Fraction(8) - Fraction(1, 10**6), 1, 1), (Fraction(8), 2, 1), (Fraction(8), 1, 0)):
        with pytest.raises(InputError, match="too narrow"):
            GaussianSum(Gaussian(table), step, draws)
    with pytest.raises(InputError, match="too narrow"):
        GaussianSum(Gaussian(Fraction(100), 3), 1, 1)
    with pytest.raises(InputError, match="several draws"):
        gaussian_sum(Fraction(100**2 - 1))
    assert float(gaussian_sum(Fraction(100**2)).square) == 100**2


def test_vectors_that_do_not_move_are_not_told_apart() -> None:
    assert NARROW.delta_vector(Fraction(1), 0, 2) == 0


# The stand-alone verifier on noise in several digits, value by value, and its logarithm next to odds of 1 -------------


LOWER = [round(1000 * 0.99**k) for k in range(128)]
DIGIT_TOP = [[80, 22, 6, 2], [79, 22, 6, 2]]
BLOCK = 128 * 3


def in_digits(reach: int | None) -> dict[str, Any]:
    return {"kind": "two-sided", "lower": [LOWER], "top": DIGIT_TOP, "reach": reach}


def mass(k: int) -> float:
    """The top digit with its sign and the lower one are drawn apart; the last cell adds a block, whatever the sign."""
    sign, g = int(k < 0), -1 - k if k < 0 else k
    both = [a + b for a, b in zip(*DIGIT_TOP, strict=True)]
    blocks, digit = divmod(g // 128, 3)
    first = (
        DIGIT_TOP[sign][digit]
        if not blocks
        else DIGIT_TOP[sign][3] * (both[3] / sum(both)) ** (blocks - 1) * both[digit] / sum(both)
    )
    return first / sum(both) * LOWER[g % 128] / sum(LOWER)


def given_it_stays(masses: dict[int, float]) -> dict[int, float]:
    whole = sum(masses.values())
    return {k: weight / whole for k, weight in masses.items()}


@pytest.mark.parametrize("reach", [60, 127, 128, 300, BLOCK, 900, None])
@pytest.mark.parametrize(("shift", "odds"), [(1, Fraction(1)), (40, Fraction(6, 5)), (100, Fraction(1))])
def test_the_bound_is_that_of_the_mixture(reach: int | None, shift: int, odds: Fraction) -> None:
    fall = 1 / float(step_odds(in_digits(reach)))
    values = range(-(reach or 6000), (reach or 6000) + 1)
    law, ideal = (
        given_it_stays({k: mass(k) for k in values}),
        given_it_stays({k: fall ** abs(k) for k in values}),
    )
    told = sum(max(0.0, p - float(odds) * ideal.get(k - shift, 0.0)) for k, p in ideal.items())
    wanted = min(1.0, told + 1 - law[0] / ideal[0])
    assert float(two_sided(in_digits(reach), shift, odds)) == pytest.approx(wanted, rel=1e-9)
    several = min(1.0, told + min(3, shift) * (1 - law[0] / ideal[0]))
    assert float(two_sided(in_digits(reach), shift, odds, 3)) == pytest.approx(several, rel=1e-9)


def test_the_odds_of_a_step_are_the_largest_of_two_neighbours() -> None:
    masses = [mass(k) for k in range(-3 * BLOCK, 3 * BLOCK)]
    most = max(max(p / q, q / p) for p, q in pairwise(masses))
    assert float(step_odds(in_digits(None))) == pytest.approx(most, rel=1e-12)


@pytest.mark.parametrize("power", [60, 1100])
def test_a_logarithm_is_found_next_to_odds_of_one(power: int) -> None:
    odds = Fraction(2**power + 1, 2**power - 2 ** (power - 60))
    more = odds - 1
    assert more - more**2 / 2 - Fraction(1, 2**119) <= log_below(odds) <= more - more**2 / 2 + more**3 / 3


# Noise that falls by exactly a half at every step: the verifier's bound is its δ, to the last digit -------------------


NOISE: dict[str, Any] = {"kind": "two-sided", "lower": [], "top": [[4, 2, 2], [2, 1, 1]], "reach": None}


def upto(k: int) -> Fraction:
    """P(X ≤ k) where P(X = k) = 2^−|k|/3."""
    return Fraction(2, 3) * Fraction(2) ** k if k < 0 else 1 - Fraction(1, 3 << k)


@pytest.mark.parametrize("shift", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("odds", [Fraction(1), Fraction(3, 2), Fraction(3), Fraction(100)])
def test_the_bound_is_the_largest_difference_over_all_half_lines(shift: int, odds: Fraction) -> None:
    """No digit is rounded away here: powers of a half are exact in binary."""
    exact = max(upto(k) - odds * upto(k - shift) for k in range(-2, shift + 3))
    assert two_sided(NOISE, shift, odds) == (exact if odds < 2**shift else 0)


# The numbers of a design in a certificate: each is read up to its ends, and not beyond them ---------------------------


RANGES = [
    *((BlockDesign, name, 1, 1 << 24) for name in ("size", "prime", "classes", "taken")),
    (PlaneDesign, "size", 1, 1 << 24),
    (PlaneDesign, "order", 2, (1 << 12) - 1),
]


@pytest.mark.parametrize(("law", "name", "low", "high"), RANGES)
def test_both_readers_have_the_same_ends(law: type, name: str, low: int, high: int) -> None:
    read = LAWS[law.kind][name]
    assert [read(end, name) for end in (low, high)] == [low, high] and law.ranges[name] == (low, high)
    for beyond in (low - 1, high + 1):
        with pytest.raises(Refused):
            read(beyond, name)

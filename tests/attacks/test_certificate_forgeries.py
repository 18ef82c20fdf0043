"""Forged certificates, each value of each kind of law in turn: what is accepted keeps its claim, by brute force.

Whoever can write a certificate can seal it, so every forgery here has a fresh seal. Two readers must agree on them: the
stand-alone verifier, and dproof's own laws as a release is read. What either accepts is computed again from the
definition, with no formula of theirs.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from math import comb, erfc, exp, lcm, sqrt
from typing import Any

import numpy as np
import pytest

from dproof import (
    Categories,
    DproofError,
    Interval,
    Privacy,
    Subsets,
    Table,
    bounded_laplace,
    certify,
    discrete_exponential,
    gaussian,
    itemwise_response,
    laplace,
    one_item,
    product_sanitisation,
    randomised_response,
    response_with,
    staircase,
    subset_selection,
    truncated_laplace,
    unary_encoding,
)
from dproof.certification.certify import decide
from dproof.certification.verify_certificate import Refused, read, seal, verify
from dproof.curves.noise import VectorNoise, recorded_noise, vector_noise
from dproof.exact import exp_below, float_above
from dproof.laws import LAWS, BlockDesign, Gaussian, Lattice, Matrix, PlaneDesign, RoundedLaw
from tests.brute_force import divergence, noise_chances

Json = dict[str, Any]
LETTERS, LINE = Categories(list("abcd")), Categories(range(3), metric="ordinal")


# One certificate of each shape ---------------------------------------------------------------------------------------


def _of(law: Any, privacy: Privacy, epsilon: float, delta: float) -> Json:
    """A certificate around a law that no mechanism of a few points has."""
    body = certify(randomised_response(LETTERS, Privacy(1)), Privacy(1)).to_json()
    part = body["laws"][0]
    for record in (body, part):
        record |= {"epsilon": str(privacy.epsilon), "delta": str(privacy.delta)}
    part |= {"law": json.loads(json.dumps(law)), "tight": {"epsilon": epsilon, "delta": delta}, "error": None}
    return body


def _cells() -> Json:
    """Gaussian noise in cells; in cells of −1, with negative indices, it would be found private."""
    law, privacy = Lattice(61, Gaussian(Fraction(9), 15)), Privacy(4, "1/100")
    assert decide(law, privacy.epsilon, privacy.delta).holds
    return _of(law.to_json(), privacy, 4.0, 0.01)


def _curves(split: Any, privacy: Privacy, box: list[int] | None = None) -> Json:
    """Noise on two coefficients in a small ball or box."""
    radius = None if box else 40
    sides = [2 * b for b in box or ()]
    square = sum(s * s for s in sides) if box else 80**2
    size = (sum(sides) if box else int(sqrt(2 * square))) if split == "laplace" else square
    noise = vector_noise(split, size, 2, privacy)
    region = {"terms": 2, "radius": radius, "box": box}
    law = {"kind": "coefficients", "norm": "l1" if split == "laplace" else "l2", **region, "noise": noise.law.to_json()}
    return _of(law, privacy, float(privacy.epsilon), float(privacy.delta))


CERTIFICATES: dict[str, Json] = {
    "keep or other": certify(randomised_response(LETTERS, Privacy(1)), Privacy(1)).to_json(),
    "keep or other with delta": certify(randomised_response(LETTERS, Privacy(1, "1/10")), Privacy(1, "1/10")).to_json(),
    "bits": certify(itemwise_response(Subsets(["a", "b", "c"]), Privacy(1)), Privacy(1)).to_json(),
    "matrix": certify(discrete_exponential(LINE, "1"), Privacy(3)).to_json(),
    "matrix with delta": certify(bounded_laplace(Interval(0, 2, 1), Privacy(1, "1/20")), Privacy(1, "1/20")).to_json(),
    "listed pairs": certify(discrete_exponential(Table(Categories([0, 1]), 2, "l2"), 1), Privacy(2)).to_json(),
    "table": certify(product_sanitisation(response_with(Categories([0, 1]), "1/4"), 2), Privacy(2)).to_json(),
    "distances": certify(discrete_exponential(LINE, "0.5"), Privacy(1), metric_privacy=True).to_json(),
    "unary": certify(unary_encoding(LETTERS, Privacy(1)), Privacy(1)).to_json(),
    "subset selection": certify(subset_selection(LETTERS, Privacy(1, "1/100")), Privacy(1, "1/100")).to_json(),
    "block design": _of(BlockDesign(6, 7, 3, 1, 5, 2).to_json(), Privacy(1), 1.0, 0.0),
    "plane design": _of(PlaneDesign(6, 2, 5, 2).to_json(), Privacy(1), 1.0, 0.0),
    "one item": certify(one_item(Subsets(["a", "b", "c"]), Privacy(1, "1/100")), Privacy(1, "1/100")).to_json(),
    "rounded": _of(
        RoundedLaw(6, 2, Matrix(np.array([[5, 3, 2], [3, 4, 3], [2, 3, 5]]), 10)).to_json(), Privacy(1), 1.0, 0.0
    ),
    "laplace": certify(laplace(Interval(0, 6, 1), Privacy(2)), Privacy(2)).to_json(),
    "laplace with delta": certify(laplace(Interval(0, 6, 1), Privacy(2, "1/20")), Privacy(2, "1/20")).to_json(),
    "laplace in digits": certify(laplace(Interval(0, 260, 1), Privacy(2, "1/20")), Privacy(2, "1/20")).to_json(),
    "truncated": certify(truncated_laplace(Interval(0, 3, 1), Privacy(1, "1/50")), Privacy(1, "1/50")).to_json(),
    "gaussian": certify(gaussian(Interval(0, 4, 1), Privacy(2, "1/50")), Privacy(2, "1/50")).to_json(),
    "gaussian in cells": _cells(),
    "stairs": certify(staircase(Interval(0, 5, 1), Privacy(2)), Privacy(2)).to_json(),
    "curves, laplace": _curves("laplace", Privacy(40)),
    "curves, laplace in a box": _curves("laplace", Privacy(40), [20, 20]),
    "curves, gaussian": _curves("gaussian", Privacy(1, "1/1000")),
    "curves, gaussian in a box": _curves("gaussian", Privacy(1, "1/1000"), [40, 30]),
}
REGION = ("norm", "terms", "radius", "box")
# What no column of a release has: only the stand-alone verifier reads it.
ALONE = {"listed pairs", "table", "distances"}


# Forgeries -----------------------------------------------------------------------------------------------------------

HUGE = 10**30


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where every value stands, records and lists included."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths(inner, (*path, key))
    if isinstance(value, list):
        # The first, the second, the middle and the last two of a table stand for all of it.
        for n in sorted({0, 1, len(value) // 2, len(value) - 2, len(value) - 1} & set(range(len(value)))):
            yield from paths(value[n], (*path, n))


def others(value: Any) -> Iterator[Any]:
    """What might be written instead of a value."""
    yield from (
        -1,
        0,
        1,
        2,
        3,
        HUGE,
        1.0,
        0.5,
        -0.0,
        "",
        "-1",
        "0",
        "1",
        "2",
        str(HUGE),
        "1.0",
        "1e0",
        "-0",
        "１",
        " 1",
    )
    yield from ("1/2", "2/4", "1e400000000", "inf", "nan", None, True, False, [], ["1"], {}, {"kind": "bits"})
    if isinstance(value, list):
        yield from (value[:1], value[1:], value[:-1], value[::-1], value + value, [value])
        if all(isinstance(x, int) for x in value):
            yield [-x for x in value]
    elif isinstance(value, dict):
        yield {**value, "extra": 1}
        yield from ({k: v for k, v in value.items() if k != key} for key in value)
    elif isinstance(value, str):
        yield from ("+" + value, value + "0", value + " ", "0" + value)
        if value.isdigit():
            yield from (str(n) for n in (int(value) - 1, int(value) + 1, 2 * int(value), int(value) // 2, -int(value)))
    elif isinstance(value, (int, float)):
        yield from (value - 1, value + 1, 2 * value, value / 2, int(value) // 2, -value, str(value))


def forgeries(body: Json) -> Iterator[tuple[tuple[Any, ...], Any, Json]]:
    """Every value in turn, and each of the others in its place, sealed again."""
    for path in paths({k: v for k, v in body.items() if k != "seal"}):
        at = body
        for key in path[:-1]:
            at = at[key]
        for other in others(at[path[-1]]):
            if type(other) is type(at[path[-1]]) and other == at[path[-1]]:
                continue
            forged = copy.deepcopy(body)
            holder: Any = forged
            for key in path[:-1]:
                holder = holder[key]
            holder[path[-1]] = other
            yield path, other, sealed(forged)


def sealed(body: Json) -> Json:
    rest = {key: value for key, value in body.items() if key != "seal"}
    return {**rest, "seal": seal(rest)}


# Two readers ---------------------------------------------------------------------------------------------------------


def stands(forged: Json) -> bool:
    """What the stand-alone verifier says; it refuses in words, whatever it is given."""
    try:
        verify(read(json.dumps(forged)))
    except Refused as refused:
        assert str(refused)
        return False
    return True


def stands_for_dproof(part: Json, original: Json) -> bool:
    """What dproof's own laws say of one law of a certificate, read as those of a release are."""
    try:
        privacy, law, tight = Privacy(part["epsilon"], part["delta"]), part["law"], part["tight"]
        if law["kind"] == "coefficients":
            noise = recorded_noise(law["noise"])
            if not same({**original["law"], "noise": noise.to_json()}, law):
                return False
            square = sum(4 * b * b for b in law["box"]) if law["box"] else 4 * law["radius"] ** 2
            length = sum(2 * b for b in law["box"]) if law["box"] else int(sqrt(law["terms"] * square))
            split: Any = ("laplace", length) if law["norm"] == "l1" else ("gaussian", square)
            family: Any = VectorNoise(split[0], noise, split[1], law["terms"])
        else:
            family = LAWS[law["kind"]](law)
            if not same(family.to_json(), law):
                return False
        worst, at = (family.worst(exp_below(Privacy(e).epsilon)) for e in (privacy.epsilon, tight["epsilon"]))
        if law["kind"] != "coefficients":
            worst, at = worst.value, at.value
        return worst <= privacy.delta >= at and float_above(worst) <= tight["delta"]
    except (DproofError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        return False


def same(one: Any, other: Any) -> bool:
    """As JSON: true is no 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


# The definition ------------------------------------------------------------------------------------------------------


def laws(law: Json) -> list[list[int]]:
    """The weights of the inputs of a finite law, or of two of them where all are alike."""
    kind = law["kind"]
    if kind == "matrix":
        return [[int(w) for w in row] for row in law["rows"]]
    if kind == "keep-or-other":
        size, keep, other = law["size"], int(law["keep"]), int(law["other"])
        shown = min(size, 6)
        rest = [(size - shown) * other]
        return [[keep if i == j else other for j in range(shown)] + rest for i in range(shown)]
    if kind == "bits":
        h, stay, flip = law["bits"], int(law["stay"]), int(law["flip"])
        if h > 4:  # a set and its complement, by how many bits turned
            turned = [comb(h, r) * stay ** (h - r) * flip**r for r in range(h + 1)]
            return [turned, turned[::-1]]
        return [
            [stay ** (h - (a ^ b).bit_count()) * flip ** (a ^ b).bit_count() for b in range(1 << h)]
            for a in range(1 << h)
        ]
    if kind == "one-item":
        h, stay, flip = law["bits"], int(law["stay"]), int(law["flip"])
        sets_of = range(1 << h) if h <= 4 else (0, (1 << h) - 1)
        return [[stay if a >> n & 1 == said else flip for n in range(h) for said in (0, 1)] for a in sets_of]
    if kind == "rounded":
        rows, last, steps = laws(law["law"]), int(law["size"]) - 1, law["steps"]
        shown = range(min(last + 1, 40))
        mixed = []
        for k, part in (divmod(code * steps, last) for code in shown):
            after = rows[min(k + 1, steps)]
            mixed.append([(last - part) * a + part * b for a, b in zip(rows[k], after, strict=True)])
        return mixed + [[last * a for a in row] for row in rows[steps + 1 :]]
    if kind == "block-design":
        p, m, s, high, low = (int(law[key]) for key in ("prime", "classes", "taken", "high", "low"))
        root = next(g for g in range(1, p) if len({pow(g, n, p) for n in range(p - 1)}) == p - 1)
        logs = {pow(root, n, p): n for n in range(p - 1)}

        def holds(x: int, j: int, y: int) -> bool:
            return x != y and (logs[(y - x) % p] - j) % m < s

        blocks = list(product(range(m), range(p)))
        return [[high if holds(x, *block) else low for block in blocks] for x in range(law["size"])]
    if kind == "plane-design":
        q, high, low = (int(law[key]) for key in ("order", "high", "low"))
        points = [p for p in product(range(q), repeat=3) if next((c for c in p if c), 0) == 1]
        meet = [[sum(a * b for a, b in zip(x, y, strict=True)) % q == 0 for y in points] for x in points]
        return [[high if held else low for held in row] for row in meet[: law["size"]]]
    size = min(law["size"], 5)  # the other values' bits are alike for both inputs
    sets = list(product((0, 1), repeat=size))
    if kind == "unary":
        own, other, whole = int(law["own"]), int(law["other"]), int(law["whole"])

        def chance(source: int, shown: tuple[int, ...]) -> int:
            weight = 1
            for n, bit in enumerate(shown):
                one = own if n == source else other
                weight *= one if bit else whole - one
            return weight

        return [[chance(n, shown) for shown in sets] for n in range(size)]
    width, high, low = law["width"], int(law["high"]), int(law["low"])
    size = law["size"]
    chosen = [set(c) for c in combinations(range(size), width)] if comb(size, width) < 5000 else []
    assert chosen, "a forgery too large to list"
    return [[high if n in s else low for s in chosen] for n in range(min(size, 5))]


def finite_delta(law: Json, odds: Fraction, distances: Any, epsilon: Fraction) -> Fraction:
    of_tables = law["kind"] == "product"
    rows = laws(law["law"] if of_tables else law)
    if of_tables and law["rows"] > 1:  # two rows show as much as more do
        pairs = [(i, j) for i, j in combinations(range(len(rows) ** 2), 2) if (i // len(rows) == j // len(rows))]
        rows = [[x * y for x in one for y in other] for one in rows for other in rows]
    else:
        pairs = law.get("neighbours") or list(combinations(range(len(rows)), 2))
    totals = {sum(row) for row in rows}
    assert len(totals) == 1
    (total,) = totals
    worst = Fraction(0)
    for i, j in [*pairs, *((j, i) for i, j in pairs)]:
        at = exp_below(epsilon * Fraction(distances[i][j])) if distances else odds
        worst = max(worst, divergence([Fraction(w, total) for w in rows[i]], [Fraction(w, total) for w in rows[j]], at))
    return worst


def lattice_delta(law: Json, odds: Fraction) -> Fraction:
    """Over a window: every shift up to the size, or those that the window holds; a lower bound, close."""
    size = min(int(law["size"]), 400)
    chances = noise_chances(law["noise"], 6 * size)
    total = lcm(*(p.denominator for p in chances.values()))
    window = {k: int(p * total) for k, p in chances.items()}
    whole, a, b, most = sum(window.values()) == total, odds.numerator, odds.denominator, 0
    for shift in {1, (size - 1) // 2, size - 1} - {0}:
        for way in (shift, -shift):
            listed = ((p, window.get(k - way, 0)) for k, p in window.items() if whole or k - way in window)
            most = max(most, sum(max(0, p * b - a * q) for p, q in listed))
    return Fraction(most, b * total)


def curve_delta(law: Json, epsilon: Fraction) -> float:
    sides = [2 * b for b in law["box"]] if law["box"] else None
    if law["norm"] == "l2":
        square = sum(s * s for s in sides) if sides else 4 * law["radius"] ** 2
        noise = law["noise"]
        sigma = sqrt(Fraction(noise["square"]) * sum(noise["step"] ** (2 * n) for n in range(noise["draws"])))
        mu, eps = sqrt(square) / sigma, float(epsilon)
        if mu == 0:
            return 0.0

        def below(x: float) -> float:
            return erfc(-x / sqrt(2)) / 2

        return below(mu / 2 - eps / mu) - exp(eps) * below(-mu / 2 - eps / mu)
    # The two points of the region that lie farthest apart along its axes and its diagonal: pure, or not at all.
    radius, terms = law["radius"], law["terms"]
    moves = [sides] if sides else [[2 * radius], [2 * int(radius / sqrt(terms))] * terms]
    window = noise_chances(law["noise"], 400)
    window = {k: p for k, p in window.items() if abs(k) <= 300}
    for move in moves:
        odds = Fraction(1)
        for shift in (min(d, 200) for d in move):
            odds *= max(p / window[k - shift] for k, p in window.items() if k - shift in window)
        if odds > exp_below(epsilon):
            return 1.0
    return 0.0


def true_delta(part: Json, epsilon: Fraction) -> Fraction | float:
    law, odds = part["law"], exp_below(epsilon)
    if law["kind"] == "lattice":
        return lattice_delta(law, odds)
    if law["kind"] == "coefficients":
        return curve_delta(law, epsilon)
    return finite_delta(law, odds, part.get("distances"), epsilon)


def demand_truth(forged: Json, what: str) -> None:
    """The promise of the row, of each law and its tight values, from the definition."""
    for name in ("epsilon", "delta"):
        assert sum(Fraction(part[name]) for part in forged["laws"]) <= Fraction(forged[name]), what
    slack = Fraction(1, 10**9)  # one more digit of e^ε
    for part in forged["laws"]:
        epsilon, delta, tight = Fraction(part["epsilon"]), Fraction(part["delta"]), part["tight"]
        assert true_delta(part, epsilon) <= min(delta, Fraction(repr(tight["delta"]))) * (1 + slack) + slack / 10**6, (
            what
        )
        if tight["epsilon"] != "inf":
            assert true_delta(part, Fraction(repr(tight["epsilon"]))) <= delta * (1 + slack) + slack / 10**6, what


def sweep(name: str, every: int) -> tuple[int, int]:
    """Go through every so-many-th forgery; how many there were, and how many were accepted."""
    count = accepted = 0
    for n, (path, other, forged) in enumerate(forgeries(CERTIFICATES[name])):
        if n % every:
            continue
        what = f"{name}: {'.'.join(map(str, path))} is {str(other)[:60]!r}"
        count += 1
        good = stands(forged)
        if good:
            accepted += 1
            demand_truth(forged, what)
        if name not in ALONE and path[:3] == ("laws", 0, "law"):
            own = stands_for_dproof(forged["laws"][0], CERTIFICATES[name]["laws"][0])
            # A plan determines the region of curves, and a variance the table of Gaussian noise; a table or a region
            # that keeps the same promise is found true by the one and not the plan's by the other.
            freer = (path[3:4] and path[3] in REGION) or (path[4:5] and path[4] in ("weights", "square"))
            assert own == good or (good and freer), what
    return count, accepted


@pytest.mark.parametrize("name", CERTIFICATES)
def test_the_original_holds_for_both_and_by_the_definition(name: str) -> None:
    assert stands(sealed(CERTIFICATES[name]))
    demand_truth(CERTIFICATES[name], name)
    if name not in ALONE:
        assert stands_for_dproof(*(CERTIFICATES[name]["laws"][0],) * 2)


@pytest.mark.parametrize("name", CERTIFICATES)
def test_a_sample_of_forgeries_is_refused_or_true(name: str) -> None:
    count, _ = sweep(name, 13)
    assert count > 40


@pytest.mark.slow
@pytest.mark.parametrize("name", CERTIFICATES)
def test_every_forgery_is_refused_or_true(name: str) -> None:
    count, accepted = sweep(name, 1)
    assert 0 < accepted < count / 5, "names and looser values stand, and little else"


def test_a_box_inside_out_needs_as_much_noise() -> None:
    """Its sides would sum to nothing, and noise for a small box would do for a large one."""
    body = _curves("laplace", Privacy(40), [1, 1])
    assert stands(sealed(body))
    body["laws"][0]["law"]["box"] = [40, -40]
    assert not stands(sealed(body))

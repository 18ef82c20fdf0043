"""K-norm noise: its law by enumeration, what a move costs, and that what is drawn is that law."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb, isqrt
from typing import Any, Literal

import numpy as np
import pytest

from dproof import InputError, TooLarge, VerificationFailed
from dproof.certification.verify_certificate import coefficients as verified
from dproof.coins import guide
from dproof.exact import exp_below
from dproof.laws.k_norm import KNorm, _dilations, k_norm
from dproof.testing import ScriptedCoins, seeded_coins

Norm = Literal["linf", "l2"]
HALF = Fraction(1, 2)


def norm_of(x: tuple[int, ...], norm: Norm) -> int:
    """⌈‖x‖⌉."""
    if norm == "linf":
        return max(map(abs, x))
    square = sum(a * a for a in x)
    return isqrt(square - 1) + 1 if square else 0


def weight(law: KNorm, x: tuple[int, ...]) -> Fraction:
    """c^⌈‖x‖/s⌉; a whole number of steps is in the same cell as what it is rounded up from."""
    return Fraction(law.fall ** -(-norm_of(x, law.norm) // law.cell))


@pytest.mark.parametrize("terms", [1, 2, 3, 7])
@pytest.mark.parametrize("width", [2, 6])
def test_a_dilated_cube_is_counted_by_geometric_numbers_and_one_more(terms: int, width: int) -> None:
    """(width·T + 1)^k is the number of ways to T: h_j ways for j, and C(T − j + k, k) for k + 1 numbers from 0 on."""
    h = _dilations(terms, width)
    assert min(h) >= 0
    for t in range(20):
        assert sum(h[j] * comb(t - j + terms, terms) for j in range(min(t, terms) + 1)) == (width * t + 1) ** terms


@pytest.mark.parametrize(("norm", "terms", "cell"), [("linf", 1, 1), ("linf", 2, 2), ("l2", 2, 1), ("l2", 3, 2)])
def test_cells_and_cubes_make_the_law(norm: Norm, terms: int, cell: int) -> None:
    """Σ_T c^T over all T whose region holds x is proportional to c^⌈‖x‖/s⌉, by enumeration to far out."""
    law, reach = KNorm(norm, terms, cell, HALF), 60
    for x in product(range(-4, 5), repeat=terms):
        radii = [t for t in range(reach) if norm_of(x, norm) <= cell * t]
        assert sum(law.fall**t for t in radii) == 2 * weight(law, x) - 2 * law.fall**reach


@pytest.mark.parametrize(("norm", "cell"), [("linf", 1), ("linf", 3), ("l2", 1), ("l2", 2)])
def test_no_move_costs_more_than_is_said(norm: Norm, cell: int) -> None:
    law = KNorm(norm, 2, cell, Fraction(2, 3))
    points = list(product(range(-7, 8), repeat=2))
    for d in product(range(-3, 4), repeat=2):
        worst = max(weight(law, x) / weight(law, (x[0] + d[0], x[1] + d[1])) for x in points)
        size = norm_of(d, norm)
        assert worst <= law.pure(size)
        if d[1] == 0:  # along an axis the whole move counts
            assert worst == law.pure(size) or size % cell


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_delta_bounds_the_definition(norm: Norm) -> None:
    law, reach = KNorm(norm, 2, 1, Fraction(2, 5)), 16
    points = list(product(range(-reach, reach + 1), repeat=2))
    total = sum(weight(law, x) for x in points)
    for d in ((1, 0), (1, 1), (2, 1)):
        size = norm_of(d, norm)
        for odds in (Fraction(1), Fraction(3, 2), Fraction(4), Fraction(50)):
            excess = (weight(law, x) - odds * weight(law, (x[0] - d[0], x[1] - d[1])) for x in points)
            exact = sum(max(Fraction(0), e) for e in excess) / total
            assert exact <= law.delta_vector(odds, size, 2) + Fraction(1, 10**5)  # what lies farther out
            region = {"radius": size, "box": None} if norm == "l2" else {"radius": None, "box": [size, 0]}
            noise = {"kind": "k-norm", "norm": norm, "terms": 2, "fall": law.fall, "cell": law.cell}
            record = {"norm": norm, "terms": 2, **region, "noise": noise}
            assert verified(record, odds, nearer=True) == pytest.approx(
                float(law.delta_vector(odds, size, 2)), abs=1e-12
            )


# Sampling ------------------------------------------------------------------------------------------------------------


def test_every_word_of_a_geometric_number_counts_once() -> None:
    """With c = ½ a number n < 16 has 2^-(n+1) of all words of 16 bits, and the escape the last one."""
    words = np.arange(1 << 16, dtype=np.uint16)
    digit = KNorm("linf", 2, 1, HALF)._guides[1]
    counts = np.bincount(digit.sample(1 << 16, ScriptedCoins(words)), minlength=17)
    assert counts.tolist() == [1 << (15 - n) for n in range(16)] + [1]


def test_every_word_of_the_first_summand_counts_once() -> None:
    law = KNorm("linf", 3, 1, HALF)
    heads, whole = law._heads, sum(law._heads)
    assert heads == tuple(h << (3 - j) for j, h in enumerate(_dilations(3, 2)))
    drawn: Counter[int] = Counter()
    width = 16
    small = guide([heads], whole, width=width)
    scale = (1 << width) // whole
    words = np.arange(scale * whole, dtype=np.uint16)  # the words beyond belong to nobody
    drawn.update(small.sample(len(words), ScriptedCoins(words)).tolist())
    assert [drawn[j] for j in range(4)] == [scale * head for head in heads]


@pytest.mark.parametrize(("terms", "cell", "fall"), [(1, 1, HALF), (3, 2, Fraction(2, 3)), (4, 1, Fraction(1, 9))])
def test_the_table_has_the_chances_of_the_sums(terms: int, cell: int, fall: Fraction) -> None:
    """P(T = t) of k + 1 geometric numbers and one more, by convolution, is the weight of t in the table."""
    law = KNorm("linf", terms, cell, fall)
    last, table = law._table
    assert table is not None
    whole = sum(law._heads)
    chances = [
        sum(
            Fraction(law._heads[j], whole) * comb(t - j + terms, terms) * (1 - fall) ** (terms + 1) * fall ** (t - j)
            for j in range(min(t, terms) + 1)
        )
        for t in range(last)
    ]
    a, b = fall.numerator, fall.denominator
    weights = [(2 * cell * t + 1) ** terms * a**t * b ** (last - 1 - t) * (b - a) ** (terms + 1) for t in range(last)]
    assert [Fraction(w, whole * b**last) for w in weights] == chances
    assert 0.5 < sum(chances) < 1


def test_what_lies_beyond_the_table_is_drawn_until_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    law = KNorm("linf", 2, 1, HALF)
    last, table = law._table
    assert table is not None
    sums = iter([[last - 1, last + 3, 0], [last, 1], [last + 7]])
    monkeypatch.setattr(type(table), "sample", lambda self, count, coins: np.array([2, last, last, 0, last]))
    monkeypatch.setattr(KNorm, "_summed", lambda self, count, coins: np.array(next(sums)))
    assert law._cells(5, ScriptedCoins()).tolist() == [2, last, last + 3, 0, last + 7]


@pytest.mark.parametrize(("norm", "terms"), [("linf", 1), ("linf", 2), ("l2", 2)])
def test_all_vectors_of_a_cell_are_drawn_evenly(norm: Norm, terms: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """For each T every vector of the cube once, by its words: those outside the ball are drawn again, no others."""
    law = KNorm(norm, terms, 2, HALF)
    for t in range(3):
        reach = 2 * t
        side = 2 * reach + 1
        rows = list(product(range(side), repeat=terms))
        monkeypatch.setattr(KNorm, "_cells", lambda self, count, coins, t=t: np.full(count, t))
        found, (x, far) = Counter[Any](), law._cube(len(rows), ScriptedCoins(np.array(rows, np.uint64).ravel()))
        inside = x if norm == "linf" else x[(x * x).sum(axis=1) <= far * far]
        found.update(map(tuple, inside.tolist()))
        expected = [y for y in product(range(-reach, reach + 1), repeat=terms) if norm_of(y, norm) <= reach]
        assert found == Counter(expected)


@pytest.mark.parametrize(("norm", "terms", "epsilon"), [("linf", 24, 1), ("linf", 3, 6), ("l2", 5, 1), ("l2", 2, 4)])
def test_draws_have_the_variance_and_the_norms_that_are_said(norm: Norm, terms: int, epsilon: int) -> None:
    law = k_norm(norm, terms, 4096, Fraction(epsilon))
    with seeded_coins(4) as coins:
        x = law.draw(20_000 * terms, coins).reshape(-1, terms).astype(float)
    assert x.var() == pytest.approx(float(law.variance), rel=0.03)
    assert np.abs(np.corrcoef(x.T) - np.eye(terms)).max() < 0.04
    ideal = (terms + 1) * (terms + 2) / 3 if norm == "linf" else terms + 1  # without a lattice
    assert float(law.variance) == pytest.approx(ideal * (4096 / epsilon) ** 2, rel=0.01)
    cells = np.ceil((np.abs(x).max(axis=1) if norm == "linf" else np.sqrt((x * x).sum(axis=1))) / law.cell)
    ratio = (cells <= cells.mean()).mean()
    assert 0.4 < ratio < 0.75


def test_frequencies_follow_the_law() -> None:
    for norm in ("linf", "l2"):
        law = KNorm(norm, 2, 1, Fraction(2, 5))
        with seeded_coins(7) as coins:
            drawn = Counter(map(tuple, law.draw(2 * 200_000, coins).reshape(-1, 2).tolist()))
        points = list(product(range(-12, 13), repeat=2))
        total = float(sum(weight(law, x) for x in points))
        for x in product(range(-2, 3), repeat=2):
            share = float(weight(law, x)) / total
            assert drawn[x] / 200_000 == pytest.approx(share, abs=5 * (share / 200_000) ** 0.5)


# Calibration and records ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["0.001", "0.3", "1", "7", "40"])
@pytest.mark.parametrize("size", [1, 3, 32768])
def test_calibration_keeps_epsilon_and_uses_nearly_all_of_it(epsilon: str, size: int) -> None:
    law = k_norm("linf", 5, size, Fraction(epsilon))
    assert law.pure(size) <= exp_below(Fraction(epsilon)) * (1 + Fraction(1, 10**30))
    if size > 3 or epsilon != "40":  # a cell is at most one step of a lattice, or the whole move where that is odd
        assert float(law.pure(size)) >= np.exp(float(epsilon)) * (1 - 1e-5 * max(1, float(epsilon)))
    assert law.delta_vector(exp_below(Fraction(epsilon)), size, 5) == 0


def test_it_is_read_back_and_forgeries_are_not() -> None:
    law = k_norm("l2", 6, 4096, Fraction(1))
    record = json.loads(json.dumps(law.to_json()))
    assert KNorm.from_json(record).to_json() == record
    for wrong in ({"terms": 11}, {"fall": "1"}, {"fall": "0"}, {"cell": 0}, {"norm": "l1"}, {"terms": 0}):
        with pytest.raises(VerificationFailed):
            KNorm.from_json({**record, **wrong})


def test_refusals() -> None:
    with pytest.raises(InputError, match="1 to 10 terms"):
        k_norm("l2", 11, 4096, Fraction(1))
    with pytest.raises(TooLarge):
        k_norm("linf", 24, 1 << 20, Fraction(1, 10**12))
    with pytest.raises(TooLarge):
        k_norm("l2", 8, 1 << 20, Fraction(1, 10**3))
    with pytest.raises(InputError, match="vectors of 3"), seeded_coins(1) as coins:
        k_norm("linf", 3, 8, Fraction(1)).draw(4, coins)


# How many numbers a vector of K-norm noise may have: each norm up to its end, and nothing beyond ----------------------


@pytest.mark.parametrize(("norm", "most"), [("l2", 10), ("linf", 1024)])
def test_a_vector_has_so_many_numbers_and_no_more(norm: Any, most: int) -> None:
    for terms in (1, most):
        assert KNorm(norm, terms, 1, Fraction(1, 2)).terms == terms
    for terms in (0, most + 1):
        with pytest.raises(InputError, match=f"1 to {most} terms"):
            KNorm(norm, terms, 1, Fraction(1, 2))

"""The samplers of lattice noise draw from their tables: proven word by word, and seen on a million draws."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dproof.coins import uniform_below
from dproof.exact import exp_below
from dproof.laws import Gaussian, Lattice, Stairs, SubsetSelection, TwoSided, Unary
from dproof.laws.gaussian import gaussian_law
from dproof.laws.laplace import stairs, two_sided
from dproof.laws.noise import NoiseLaw
from dproof.testing import ScriptedCoins, seeded_coins

WORDS = np.arange(1 << 16, dtype=np.uint16)  # every first word: the totals below divide 2^16, so no cell is cut


def small(seed: int, cells: int, total: int = 1 << 16) -> tuple[int, ...]:
    """Some falling weights with a total that every cell of 16 bits divides."""
    raw = np.sort(np.random.default_rng(seed).integers(1, 2 * total // cells - 2, cells))[::-1]
    weights = [max(1, int(w) * total // (2 * int(raw.sum()))) for w in raw]
    weights[0] += total - sum(weights)
    return tuple(weights)


DIGITS = (small(2, 128), small(3, 128))


def two_signs() -> TwoSided:
    """Four digits and an escape for each sign, over 2^16 in all."""
    weights = small(4, 10)
    return TwoSided(DIGITS, (weights[:5], weights[5:]))


@pytest.mark.parametrize("digits", [(0, 0), (5, 0), (127, 127), (1, 64)])
def test_every_word_of_the_top_digit_counts_once(digits: tuple[int, int]) -> None:
    """The lower digits are held fixed by a word of each; escapes then draw word 0, which is digit 0."""
    law = two_signs()
    fixed = [np.uint16(sum(table[:d])) for table, d in zip(DIGITS, digits, strict=True)]
    escapes = np.zeros(law.top[0][-1] + law.top[1][-1], np.uint16)
    drawn = law.draw(1 << 16, ScriptedCoins(WORDS, *(np.full(1 << 16, f) for f in fixed), escapes))
    low = digits[0] + 128 * digits[1]
    expected = {}
    for sign, table in enumerate(law.top):
        for t, weight in enumerate(table):  # the escape, t = 4, adds a block of four and digit 0
            g = low + 128**2 * t
            expected[-1 - g if sign else g] = weight
    values, counts = np.unique(drawn, return_counts=True)
    assert dict(zip(values.tolist(), counts.tolist(), strict=True)) == expected


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("sign", [0, 1])
def test_every_word_of_a_lower_digit_counts_once(place: int, sign: int) -> None:
    law = two_signs()
    top = np.full(1 << 16, sum(law.top[0]) if sign else 0, np.uint16)
    other = np.zeros(1 << 16, np.uint16)
    words = [WORDS, other] if place == 0 else [other, WORDS]
    drawn = law.draw(1 << 16, ScriptedCoins(top, *words))
    counts = np.bincount((-1 - drawn if sign else drawn) // 128**place, minlength=128)
    assert counts.tolist() == list(DIGITS[place])


def test_every_word_after_an_escape_counts_once_whatever_its_sign() -> None:
    law = two_signs()
    positive, negative = law.top
    escape = np.full(1 << 16, sum(positive[:-1]), np.uint16)
    again = np.full(positive[-1] + negative[-1], positive[0], np.uint16)  # the first word of digit 1
    zeros = np.zeros(1 << 16, np.uint16)
    drawn = law.draw(1 << 16, ScriptedCoins(escape, zeros, zeros, WORDS, again)) // 128**2
    *digits, escapes = (a + b for a, b in zip(positive, negative, strict=True))
    assert np.bincount(drawn).tolist() == [0, 0, 0, 0, *digits, 0, escapes]  # two blocks and digit 1


def test_the_probabilities_are_the_counts() -> None:
    law = two_signs()
    for sign, t, low in [(0, 2, 300), (1, 3, 17), (0, 0, 0), (1, 0, 128 * 128 - 1)]:
        g = low + 128**2 * t
        chance = Fraction(law.top[sign][t] * DIGITS[0][low % 128] * DIGITS[1][low // 128], 1 << 48)
        assert law.probability(-1 - g if sign else g) == chance


def test_every_word_of_a_gaussian_table_counts_once() -> None:
    law = gaussian_law(Fraction(2))
    half = (20000, 12000, 6000, 3000, 1768)
    object.__setattr__(law, "weights", half)
    assert 2 * sum(half) - half[0] == 1 << 16
    drawn = law.draw(1 << 16, ScriptedCoins(WORDS))
    assert np.bincount(drawn + 4).tolist() == [*half[:0:-1], *half]


def test_every_stair_and_every_cell_count_once() -> None:
    law = Stairs(3, 2, (1 << 15, 1 << 14, 1 << 13, 1 << 13), (1 << 15, 1 << 14, 1 << 14))
    cells = 18  # a multiple of the 3 cells of the first stair and of the 6 of the others
    counts: Counter[int] = Counter()
    for word in range(cells):
        later = np.zeros(1 << 13, np.uint16)
        choice = np.full(1 << 16, word, np.uint64)
        counts.update(law.draw(1 << 16, ScriptedCoins(WORDS, later, choice)).tolist())
    assert {k: Fraction(counts[k], cells << 16) for k in range(-7, 8)} == {k: law.probability(k) for k in range(-7, 8)}


def test_uniform_numbers_and_the_words_that_belong_to_nobody() -> None:
    bounds = np.array([3, 3, 3, 7])
    last = np.uint64((1 << 64) - 1)  # 2^64 = 3·q + 1: the last word is nobody's
    words = np.array([0, 5, last, (1 << 64) - 2], np.uint64)
    assert uniform_below(bounds, ScriptedCoins(words, np.array([4, 9], np.uint64))).tolist() == [0, 2, 1, 2]
    assert uniform_below(np.array([4]), ScriptedCoins(np.array([last]))).tolist() == [3]


@pytest.mark.parametrize("shown", ["other", "own"])
def test_every_word_of_a_bit_counts_once(shown: str) -> None:
    """Value 1 of three: each other bit is 1 for `other` words of 2^16, its own for `own` words."""
    law = Unary(3, 40_000, 9_000, 1 << 16)
    codes, zeros = np.ones(1 << 16, np.uint8), np.zeros(1 << 16, np.uint16)  # word 0 leaves a bit 0
    words = [WORDS, zeros, zeros, zeros] if shown == "other" else [zeros, zeros, zeros, WORDS]
    drawn = law.draw(codes, ScriptedCoins(*words))
    bit, weight = (1, 9_000) if shown == "other" else (2, 40_000)
    assert {0: (1 << 16) - weight, bit: weight} == dict(Counter(drawn.tolist()))


@pytest.mark.parametrize("held", [True, False])
def test_every_choice_of_the_other_values_counts_once(held: bool) -> None:
    """Value 2 of four and sets of two: all 3·2·1 choices among the others give every set equally often."""
    law = SubsetSelection(4, 2, 1, 1)  # the value itself is in the set for the upper half of all words
    choices = np.array(list(product(range(3), range(2), range(1))), np.uint64).T
    coin = np.full(6, 0xC000 if held else 0x1000, np.uint16)
    words = [choices[0], choices[1], np.zeros(6, np.uint64), choices[2]]  # the value's own turn is not used
    drawn = law.draw(np.full(6, 2, np.uint8), ScriptedCoins(coin, *words))
    with_it, without = {5: 2, 6: 2, 12: 2}, {3: 2, 9: 2, 10: 2}
    assert dict(Counter(drawn.tolist())) == (with_it if held else without)


LAWS: dict[str, NoiseLaw] = {
    "Laplace 1": two_sided(exp_below(Fraction(1))),
    "Laplace 7": two_sided(exp_below(Fraction(1, 7))),
    "Laplace 100": two_sided(exp_below(Fraction(1, 100))),
    "Laplace 10,000": two_sided(exp_below(Fraction(1, 10_000))),
    "Laplace 10^9": two_sided(exp_below(Fraction(1, 10**9))),
    "truncated": two_sided(exp_below(Fraction(1, 50)), 60),
    "Gaussian 1": gaussian_law(Fraction(1)),
    "Gaussian 300": gaussian_law(Fraction(90_000)),
    "Gaussian 5000": gaussian_law(Fraction(25_000_000)),
    "Gaussian in cells of 3": Gaussian(Fraction(4), 3),
    "stairs": stairs(exp_below(Fraction(1)), 40),
    "stairs of 1": stairs(exp_below(Fraction(1, 3)), 1),
}


def chi_square(counts: np.ndarray, chances: list[float]) -> float:
    """(χ² − f)/√(2f), nearly a standard normal number."""
    expected = counts.sum() * np.array(chances)
    freedom = len(counts) - 1
    return float((((counts - expected) ** 2 / expected).sum() - freedom) / np.sqrt(2 * freedom))


@pytest.mark.parametrize("name", LAWS)
def test_a_million_draws_fit_the_law(name: str) -> None:
    law = LAWS[name]
    with seeded_coins(hash_free(name)) as coins:
        drawn = law.draw(1_000_000, coins)
    # Bins between quantiles, and single values around 0 where they are frequent.
    edges = sorted({*np.quantile(drawn, np.linspace(0.0005, 0.9995, 120)).astype(np.int64).tolist(), -1, 0, 1})
    cumulative = [law.cumulative(int(k)) for k in edges]
    chances = [float(b - a) for a, b in zip([Fraction(0), *cumulative], [*cumulative, Fraction(1)], strict=True)]
    kept = [n for n, p in enumerate(chances) if p > 1e-5]
    counts = np.bincount(np.searchsorted(edges, drawn, side="left"), minlength=len(chances))
    assert counts[[n for n in range(len(chances)) if n not in kept]].sum() < 200
    scale = sum(chances[n] for n in kept)
    assert chi_square(counts[kept], [chances[n] / scale for n in kept]) < 5
    assert drawn.mean() == pytest.approx(0, abs=5 * float(law.moments[2]) ** 0.5 / 1000)
    assert (drawn % 2).mean() == pytest.approx(float(odd_mass(law)), abs=0.0026)


def hash_free(name: str) -> int:
    return sum(map(ord, name))


def odd_mass(law: NoiseLaw) -> Fraction:
    """P(X is odd), or 1/2 where the scale makes it so to four digits."""
    if float(law.moments[1]) > 40:
        return Fraction(1, 2)
    return sum((law.probability(k) for k in range(-301, 302, 2)), Fraction(0))


@pytest.mark.parametrize("family", [Unary(5, 1 << 19, 300_000, 1 << 20), SubsetSelection(6, 2, 5, 2)], ids=str)
def test_sets_are_drawn_as_their_weights_say(family: Unary | SubsetSelection) -> None:
    for source in (0, family.size - 1):
        with seeded_coins(5) as coins:
            drawn = family.draw(np.full(1_000_000, source, np.uint8), coins)
        weights = family.weights(source)
        counts = np.bincount(drawn, minlength=len(weights))
        possible = [n for n, w in enumerate(weights) if w]
        assert counts.sum() == counts[possible].sum()
        assert chi_square(counts[possible], [int(weights[n]) / family.total for n in possible]) < 5


def test_a_family_adds_the_noise_and_clamps() -> None:
    codes = np.array([0, 5, 9] * 1000, np.uint8)
    law = two_sided(exp_below(Fraction(1, 3)))
    with seeded_coins(1) as coins:
        noise = law.draw(3000, coins)
    with seeded_coins(1) as coins:
        plain = Lattice(10, law).draw(codes, coins)
    with seeded_coins(1) as coins:
        clamped = Lattice(10, law, clamped=True).draw(codes, coins)
    assert (plain == codes.astype(int) + noise).all() and plain.dtype == np.int64 and plain.min() < 0
    assert (clamped == plain.clip(0, 9)).all()

"""Each sampler proven: every word of a small size goes through, and the counts are the whole numbers of the law.

A word of w bits is owned by one outcome or, beyond the last boundary, by nobody; then it is drawn again. Scripted
coins show each word once. Where a word is nobody's they show zeros next, and the word of zeros is the first
outcome's, so that outcome is counted once more for every word that is nobody's.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dproof import coins
from dproof.coins import Guide, guide, word_width
from dproof.laws import Bits, KeepOrOther, Law, Matrix
from dproof.laws import response as keep_or_other_module
from dproof.laws.response import _add_modulo, _owners
from dproof.testing import ScriptedCoins, seeded_coins
from tests.strategies import laws

HIGH = np.arange(1 << 16, dtype=np.uint16)


def counts_over_all_words(sampler: Guide, row: int, rows: int) -> np.ndarray:
    """How often each outcome is drawn when every word of the sampler's width is shown once."""
    rest = sampler.width - 16
    counts = np.zeros(sampler.mark, np.int64)
    asked = np.full(len(HIGH), row if rows > 1 else 0, np.int64)
    for low in range(1 << rest):
        # First the 16 bits that name a cell, then the rest of the word of each cell that was cut, then zeros.
        coins = ScriptedCoins(HIGH, *([np.uint64(low << (64 - rest))] if rest else []))
        counts += np.bincount(sampler.draw(asked, coins), minlength=sampler.mark)
    return counts


def expected(row: list[int], total: int, width: int) -> np.ndarray:
    scale = (1 << width) // total
    counts = np.array(row) * scale
    counts[next(n for n, w in enumerate(row) if w)] += (1 << width) - total * scale
    return counts


@pytest.mark.parametrize("width", [16, 17, 20])
@pytest.mark.parametrize(
    "rows",
    [
        [[6, 1, 1, 1, 1]],
        [[1, 1]],
        [[1]],
        [[0, 7, 0]],
        [[0, 3, 0, 4, 0]],
        [[1, 0, 0, 65_535]],
        [[3, 1, 2], [1, 4, 1], [0, 0, 6]],
        [[5, 0], [0, 5]],
        [[997, 2, 1], [1, 998, 1]],
        [[1] * 257],
        [[32_768, 32_767]],
        [[65_521]],
        [[40_000, 3]],
    ],
    ids=str,
)
def test_every_small_word_through_the_guide_table(rows: list[list[int]], width: int) -> None:
    total = sum(rows[0])
    sampler = guide(rows, total, width=width)
    for n, row in enumerate(rows):
        assert counts_over_all_words(sampler, n, len(rows)).tolist() == expected(row, total, width).tolist()


@pytest.mark.parametrize("rows", [[[6, 1, 1, 1, 1]], [[3, 1, 2], [1, 4, 1], [0, 0, 6]], [[12_345, 54_321, 1]]], ids=str)
def test_every_word_of_24_bits_through_the_guide_table(rows: list[list[int]]) -> None:
    total = sum(rows[0])
    sampler = guide(rows, total, width=24)
    for n, row in enumerate(rows):
        assert counts_over_all_words(sampler, n, len(rows)).tolist() == expected(row, total, 24).tolist()


def test_with_many_rows_fewer_bits_name_a_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows share the cells: here 16 of them for each of 4 rows, and the cut ones are settled as before."""
    monkeypatch.setattr(coins, "_CELLS", 64)
    rows = [[6, 1, 1, 1, 1], [2, 2, 2, 2, 2], [10, 0, 0, 0, 0], [1, 2, 3, 4, 0]]
    sampler = guide(rows, 10, width=18)
    assert sampler.bits == 4
    for n, row in enumerate(rows):
        assert counts_over_all_words(sampler, n, 4).tolist() == expected(row, 10, 18).tolist()


def test_tiles_join_without_a_seam(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words are drawn tile by tile, and cut cells are settled at the end: the order of rows is kept."""
    monkeypatch.setattr(coins, "_TILE", 1000)
    rows = [[0, 1], [1, 0], [0, 1]]
    sampler = guide(rows, 1)
    asked = np.array([0, 1, 2, 1, 1] * 777)
    assert (sampler.draw(asked, ScriptedCoins()) == 1 - asked % 2).all()


@pytest.mark.parametrize(
    ("total", "width"), [(1, 64), (1 << 62, 64), ((1 << 62) + 1, 128), (10**30, 128), (1 << 200, 256)]
)
def test_words_are_long_enough(total: int, width: int) -> None:
    assert word_width(total) == width
    assert (1 << width) % total < (1 << width) >> 2, "less than a quarter of the words is nobody's"


class OneWord(ScriptedCoins):
    """Coins that show one word, 16 bits, 48 bits and the rest, and zeros as soon as another word is begun."""

    __slots__ = ("_begun",)

    def __init__(self, word: int, width: int) -> None:
        more = width - 64
        count = -(-more // 64)
        tail = (word & ((1 << more) - 1)) << (64 * count - more)
        super().__init__(
            np.array([word >> (width - 16)], np.uint16),
            np.array([(word >> more) << 16 & ((1 << 64) - 1)], np.uint64),
            np.frombuffer(tail.to_bytes(8 * count, "big"), np.uint64),
        )
        self._begun = False

    def fill(self, buffer: np.ndarray) -> None:
        if buffer.dtype == np.uint16 and self._begun:
            self._script.clear()
        self._begun = True
        super().fill(buffer)


@pytest.mark.parametrize("width", [65, 72, 128, 192])
@pytest.mark.parametrize(
    "rows",
    [
        [[10**18, 1, 0, 10**18 - 7, 3]],
        [[1, 10**19, 2, 1, 1]],
        [[10**18, 5, 10**18], [1, 2 * 10**18 + 3, 1]],
        [[1 << 62, 1 << 62, 1 << 63]],
    ],
    ids=str,
)
def test_words_beyond_64_bits_around_every_boundary(rows: list[list[int]], width: int) -> None:
    """Between two boundaries nothing can change, so the words next to each boundary prove the rest."""
    total = sum(rows[0])
    sampler = guide(rows, total, width=width)
    scale = (1 << width) // total
    for n, row in enumerate(rows):
        ends = np.cumsum(np.array(row, object)) * scale
        around = {0, (1 << width) - 1} | {int(end) + step for end in ends for step in (-1000, -2, -1, 0, 1, 2, 1000)}
        top = [(int(end) >> (width - 64)) << (width - 64) for end in ends]  # the first word with the same 64 bits
        around |= {t + step for t in top for step in (-1, 0, 1)}
        around |= {t + (1 << (width - 64)) + step for t in top for step in (-1, 0, 1)}
        first = next(y for y, w in enumerate(row) if w)
        for word in (w for w in around if 0 <= w < 1 << width):
            owner = next((y for y, end in enumerate(ends) if word < end), first)
            drawn = sampler.draw(np.array([n]), OneWord(word, width))
            assert drawn.tolist() == [owner], (word, ends)


def test_wide_words_in_bulk_follow_the_law() -> None:
    rows = [[2 * 10**30, 10**30, 10**30], [10**30, 10**30, 2 * 10**30]]
    sampler = guide(rows, 4 * 10**30)
    assert sampler.width == 128
    with seeded_coins(11) as coins:
        drawn = sampler.draw(np.repeat([0, 1], 100_000), coins)
    counts = [np.bincount(part, minlength=3) for part in np.split(drawn, 2)]
    assert np.abs(np.array(counts) - [[50_000, 25_000, 25_000], [25_000, 25_000, 50_000]]).max() < 900


# Randomised response -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "keep", "other"),
    [(5, 6, 1), (2, 3, 1), (7, 0, 1), (7, 1, 0), (300, 40, 7), (9, 1, 1), (1, 1, 1), (3, 1, 5)],
)
@pytest.mark.parametrize("width", [16, 18])
def test_every_small_word_through_the_arithmetic_of_large_sizes(size: int, keep: int, other: int, width: int) -> None:
    """Above 4,096 values a shift is found by one division; the same function, with short words, is exhausted here."""
    law = KeepOrOther(size, keep, other)
    scale = (1 << width) // law.total
    counts = np.bincount(
        _owners(np.arange(1 << width, dtype=np.uint64), law, width).astype(np.int64), minlength=size + 1
    )
    assert counts.tolist() == [keep * scale] + [other * scale] * (size - 1) + [(1 << width) - law.total * scale]


@pytest.mark.parametrize(
    ("size", "keep", "other"),
    [
        (5000, 27, 10),
        (5000, 1, 0),
        (5000, 0, 1),
        (10**6, 3 * 10**9, 10**9),
        (1 << 40, 11, 4),
        (4097, (1 << 61) - 4096, 1),
    ],
)
def test_words_of_64_bits_around_every_kind_of_boundary(size: int, keep: int, other: int) -> None:
    law = KeepOrOther(size, keep, other)
    scale = (1 << 64) // law.total
    cut, end = keep * scale, law.total * scale
    starts = [cut + other * scale * shift for shift in {0, 1, 2, size // 2, size - 2, size - 1}] if other else [cut]
    words = sorted({w for s in [0, *starts, end, (1 << 64) - 1] for w in (s - 1, s, s + 1) if 0 <= w < 1 << 64})
    for word, owner in zip(words, _owners(np.array(words, np.uint64), law, 64).tolist(), strict=True):
        if word < cut:
            assert owner == 0
        elif word < end:
            assert owner == 1 + (word - cut) // (other * scale)
        else:
            assert owner == size, "nobody's"


@pytest.mark.parametrize("size", [5000, 70_000, 10**6])
def test_nobodys_words_are_drawn_again(size: int) -> None:
    law = KeepOrOther(size, 2, 1)
    codes = np.arange(100, dtype=np.uint32)
    coins = ScriptedCoins(np.full(100, (1 << 64) - 1, np.uint64), np.full(100, (1 << 64) - 1, np.uint64))
    assert (law.draw(codes, coins) == codes).all(), "zeros keep the value"


@pytest.mark.parametrize("size", [*range(1, 20), 127, 128, 129, 200, 255, 256, 257, 300])
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint16, np.int32, np.int64, np.uint64])
def test_adding_modulo_the_size(size: int, dtype: type[np.integer]) -> None:
    if size - 1 > np.iinfo(dtype).max:
        return
    codes, shifts = (part.ravel() for part in np.meshgrid(np.arange(size), np.arange(size)))
    for shift_dtype in (np.min_scalar_type(size), np.uint32, np.uint64):
        moved = _add_modulo(codes.astype(dtype), shifts.astype(shift_dtype), size)
        assert moved.dtype == dtype
        assert (moved == (codes + shifts) % size).all()


@pytest.mark.parametrize("size", [1 << 15, (1 << 15) + 1, 65_535, 65_536, 65_537, (1 << 31) + 1, 1 << 32, 1 << 47])
def test_adding_modulo_large_sizes(size: int) -> None:
    edge = [0, 1, size // 2, size - 2, size - 1]
    codes, shifts = (np.array(part, np.int64) for part in zip(*((a, b) for a in edge for b in edge), strict=True))
    moved = _add_modulo(codes, shifts.astype(np.uint64), size)
    assert moved.tolist() == [(a + b) % size for a in edge for b in edge]


def test_the_table_and_the_arithmetic_are_the_same_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same 64-bit words give the same shifts on either way."""
    words = np.concatenate([np.arange(1 << 12, dtype=np.uint64) << np.uint64(52), np.full(4, (1 << 64) - 1, np.uint64)])
    law = KeepOrOther(5, 6, 1)
    high, low = (words >> np.uint64(48)).astype(np.uint16), words << np.uint64(16)
    sampler = guide([[6, 1, 1, 1, 1]], 10)
    cut = sampler.table[high] == sampler.mark
    codes = np.zeros(len(words), np.uint8)
    by_table = law.draw(codes, ScriptedCoins(high, low[cut]))
    monkeypatch.setattr(keep_or_other_module, "_TABLED", 0)
    by_arithmetic = law.draw(codes, ScriptedCoins(words))
    assert by_table.tolist() == by_arithmetic.tolist()


def test_a_total_too_wide_for_64_bits_goes_through_the_table() -> None:
    law = KeepOrOther(5000, 10**25, 10**20 + 7)
    codes = np.arange(5000, dtype=np.uint16)
    assert (law.draw(codes, ScriptedCoins()) == codes).all(), "zeros keep the value"
    assert law.draw(codes, ScriptedCoins(np.full(5000, 65_535, np.uint16))).max() < 5000


# Bits and matrices ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bits", "stay", "flip"), [(1, 3, 1), (3, 2, 1), (8, 5, 3), (8, 1, 0), (4, 0, 1)])
def test_each_bit_has_coins_of_its_own(bits: int, stay: int, flip: int) -> None:
    """With all other bits at the word of zeros, which keeps them (or never does), one bit sees every 16-bit cell."""
    law = Bits(bits, stay, flip)
    sampler = guide([[stay, flip]], stay + flip)
    base = np.uint16(0 if stay else (1 << bits) - 1)
    for bit in range(bits):
        script: list[np.ndarray] = []
        for other in range(bits):
            words = HIGH if other == bit else np.zeros(1 << 16, np.uint16)
            script.append(words)
            cut = sampler.table[words] == sampler.mark
            if cut.any():
                script.append(np.zeros(int(cut.sum()), np.uint64))
        drawn = law.draw(np.zeros(1 << 16, np.uint16), ScriptedCoins(*script))
        turned = (drawn ^ base) >> np.uint16(bit) & np.uint16(1)
        assert not ((drawn ^ base) & ~np.uint16(1 << bit)).any(), "the other bits are as they were"
        share = (1 << 16) * (stay if stay == 0 else flip) // (stay + flip)
        assert abs(int(turned.sum()) - (share if stay else 0)) <= 1, "the cell that is cut is settled by zeros"


def test_a_matrix_draws_each_input_by_its_own_row() -> None:
    """Every 16-bit cell for each of 40 inputs of 40 outputs: counts within the cells that are cut."""
    rng = np.random.default_rng(5)
    rows = rng.multinomial(1000, np.ones(40) / 40, size=40)
    law = Matrix(rows, 1000)
    for source in range(40):
        drawn = law.draw(np.full(1 << 16, source, np.uint8), ScriptedCoins(HIGH))
        counts = np.bincount(drawn, minlength=40)
        assert (counts[rows[source] == 0] == 0).all()
        assert np.abs(counts / (1 << 16) - rows[source] / 1000).max() < 3 / (1 << 16)


def test_no_words_for_no_rows() -> None:
    for law in (KeepOrOther(5, 6, 1), KeepOrOther(5000, 2, 1), Bits(3, 2, 1), Matrix(np.array([[1, 1], [0, 2]]), 2)):
        assert law.draw(np.empty(0, np.uint16), ScriptedCoins()).tolist() == []


# A million real draws from each sampler against its law, by Pearson's χ²; by chance it fails once in 10^9 runs --------


DRAWS = 1_000_000
RNG = np.random.default_rng(2016)

FAMILIES: dict[str, Law] = {
    "five values": KeepOrOther(5, 6, 1),
    "a hundred values": KeepOrOther(100, 27_183, 10_000),
    "the largest size with a table": KeepOrOther(4096, 3000, 1),
    "arithmetic": KeepOrOther(5000, 3000, 1),
    "a total wider than a word": KeepOrOther(7, 3 * 10**25, 10**25 + 3),
    "bits": Bits(5, 5, 2),
    "matrix": Matrix(RNG.multinomial(1 << 40, np.ones(30) / 30, size=20), 1 << 40),
    "matrix with zeros": Matrix(np.array([[0, 3, 0, 4], [7, 0, 0, 0], [1, 1, 1, 4]]), 7),
    "matrix of large numbers": Matrix(
        np.array([[10**30, 2 * 10**30, 10**29], [10**30 + 10**29, 10**30, 10**30]], object), 31 * 10**29
    ),
}


def chi_square_limit(freedom: int, deviations: float = 6.0) -> float:
    """The χ² that chance exceeds less than once in 10^9 times (Wilson and Hilferty 1931)."""
    part = 2 / (9 * freedom)
    return float(freedom * (1 - part + deviations * math.sqrt(part)) ** 3)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_million_draws_follow_the_law(name: str) -> None:
    family = FAMILIES[name]
    for source in {0, family.inputs // 2, family.inputs - 1}:
        codes = np.full(DRAWS // 2, source, np.uint16)
        counts = np.bincount(family.draw(codes, coins.current()), minlength=family.outputs)
        expected = np.array([int(w) / family.total for w in family.weights(source)]) * len(codes)
        assert (counts[expected == 0] == 0).all()
        likely = expected > 0
        statistic = float(((counts[likely] - expected[likely]) ** 2 / expected[likely]).sum())
        freedom = int(likely.sum()) - 1
        assert statistic <= (chi_square_limit(freedom) if freedom else 0)


@pytest.mark.parametrize("name", ["five values", "bits", "matrix"])
def test_neighbouring_rows_are_drawn_independently(name: str) -> None:
    """Pairs of consecutive draws from one input follow the product of its law with itself."""
    family = FAMILIES[name]
    drawn = family.draw(np.zeros(DRAWS, np.uint16), coins.current()).astype(np.int64)
    law = np.array([int(w) / family.total for w in family.weights(0)])
    counts = np.bincount(drawn[::2] * family.outputs + drawn[1::2], minlength=family.outputs**2)
    expected = np.outer(law, law).ravel() * (DRAWS // 2)
    statistic = float(((counts - expected) ** 2 / expected).sum())
    assert statistic <= chi_square_limit(len(expected) - 1)


# The guide table: what it is made of. That it samples exactly is proven in tests/laws/test_samplers.py ----------------


@given(st.integers(1, 6).flatmap(lambda outputs: laws(outputs, 1000)))
def test_the_slots_are_the_cumulative_sums(row: list[int]) -> None:
    sampler = guide([row], 1000)
    scale = (1 << 64) // 1000
    starts, slots = sampler.starts[0].tolist(), sampler.slots[0].tolist()
    ends = [*starts[1:], 1 << 64]
    owned = {outcome: end - start for outcome, start, end in zip(slots, starts, ends, strict=True)}
    assert starts[0] == 0
    assert starts == sorted(set(starts))
    assert {y: w * scale for y, w in enumerate(row) if w} == {y: n for y, n in owned.items() if y < len(row)}
    assert owned.get(len(row), 0) == (1 << 64) % 1000


@given(st.integers(1, 6).flatmap(lambda outputs: laws(outputs, 1000)))
def test_only_cells_that_a_boundary_cuts_are_left_open(row: list[int]) -> None:
    sampler = guide([row], 1000)
    assert (sampler.table == sampler.mark).sum() <= len(sampler.starts[0])


def test_a_power_of_two_wastes_no_word() -> None:
    sampler = guide([[3, 1]], 4)
    assert (sampler.table != sampler.mark).all()
    assert np.bincount(sampler.table).tolist() == [3 << 14, 1 << 14]


def test_a_thousand_inputs_of_a_thousand_outputs_share_the_cells() -> None:
    rows = np.full((1000, 1000), 7)
    sampler = guide(rows, 7000)
    assert sampler.bits == 12
    assert len(sampler.table) == 1000 << 12
    assert sampler.table.nbytes <= 1 << 24


@pytest.mark.parametrize(
    ("outcomes", "dtype"), [(255, np.uint8), (256, np.uint16), (65_535, np.uint16), (65_536, np.uint32)]
)
def test_outcomes_come_in_the_narrowest_dtype_with_room_for_the_mark(outcomes: int, dtype: type) -> None:
    assert guide([[1] * outcomes], outcomes).table.dtype == dtype


@given(st.integers(1, 1 << 300))
def test_words_are_a_whole_number_of_machine_words_and_waste_little(total: int) -> None:
    width = word_width(total)
    assert width % 64 == 0
    assert 4 * ((1 << width) % total) <= 3 * (1 << width) and (1 << width) // total >= 4

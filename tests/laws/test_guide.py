"""The guide table: what it is made of. That it samples exactly is proven in tests/laws/test_samplers.py."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dproof.laws.guide import guide, word_width
from tests.strategies import laws


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

"""The ticks in a picture of an answer: the number before correction, where it leaves the intervals their room."""

from __future__ import annotations

import pytest

from dproof import Answer, Cell


@pytest.mark.parametrize(("raw", "is_drawn"), [(30.0, True), (-30.0, True), (-40.0, False), (590.0, False)])
def test_a_tick_far_outside_all_intervals_is_left_out(raw: float, is_drawn: bool) -> None:
    cells = [Cell(39.3, 39.1, 39.5, 0.1, 39.3), Cell(90.0, 27.0, 90.0, 20.0, raw)]
    rows = [{"sex": name, "a": cell} for name, cell in zip("fm", cells, strict=True)]
    drawn = Answer(("sex", "a"), rows, 0.95, ()).plot().to_dict()
    ticks = [{"group": "m", "raw": raw}] if is_drawn else []
    assert ticks in drawn["datasets"].values() and ("grey ticks" in str(drawn)) == is_drawn

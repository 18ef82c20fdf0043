"""A certificate without private columns costs nothing, so it keeps every promise."""

from __future__ import annotations

from dproof import Certificate, Privacy


def test_nothing_costs_nothing() -> None:
    made = Certificate(Privacy(0), ())
    assert (made.epsilon, made.delta) == (0, 0)

"""The numbers of a design in a certificate: each is read up to its ends, and not beyond them."""

from __future__ import annotations

import pytest

from dproof.certification.verify_certificate import LAWS, Refused
from dproof.laws import BlockDesign, PlaneDesign

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

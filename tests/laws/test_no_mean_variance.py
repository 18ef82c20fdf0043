"""Noise that may hide a value has no variance of a mean where no value is missing, or values are not on a line."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dproof import Categories, Interval, Space
from dproof.laws import Lattice, OptionalLaw
from dproof.laws.laplace import two_sided
from dproof.spaces.space import OptionalSpace

LAW = OptionalLaw(Lattice(3, two_sided(Fraction(2))), 3, 1, 8)


@pytest.mark.parametrize("space", [Interval(0, 2), OptionalSpace(Categories(["a", "b", "c"]))])
def test_there_is_none(space: Space) -> None:
    assert LAW.mean_variance(space) is None


def test_it_depends_on_the_spacing() -> None:
    near, far = (LAW.mean_variance(Interval(0, 2 * step, step=step).with_missing()) for step in (1, 3))
    assert near is not None and far == pytest.approx(9 * near)

"""The cumulative law at many places at once is the exact one, rounded once."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dproof.laws.gaussian import Gaussian
from dproof.laws.laplace import two_sided
from dproof.mechanisms.noise import laplace_noise

FAR = np.array([-200_000, -50_001, -16_385, 16_384, 17_000, 65_535, 200_000])
LAWS: dict[str, tuple[Any, int]] = {
    "narrow": (two_sided(Fraction(2)), 1000),
    "digits": (two_sided(Fraction(91, 90)), 20_000),
    "more digits": (two_sided(Fraction(30_001, 30_000)), 200_000),
    "a reach": (laplace_noise(3, 3, Fraction(1), Fraction(1, 1000)).law, 1000),
    "gaussian": (Gaussian(Fraction(50), 1), 1000),
}


@pytest.mark.parametrize("name", LAWS)
def test_many_places_are_each_rounded_once(name: str) -> None:
    law, most = LAWS[name]
    places = np.concatenate([np.arange(-300, 301), FAR[np.abs(FAR) <= most]])
    assert law.cumulatives(places).tolist() == [float(law.cumulative(int(k))) for k in places]

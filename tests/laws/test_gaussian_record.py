"""A record of Gaussian noise with cells of no values, or of too many, is no certificate that can be read."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dproof import VerificationFailed
from dproof.laws import Gaussian


@pytest.mark.parametrize("unit", [0, (1 << 50) + 1])
def test_cells_without_values_or_with_too_many_are_refused(unit: int) -> None:
    record = dict(Gaussian(Fraction(4), 3).to_json())
    assert Gaussian.from_json(record).unit == 3
    with pytest.raises(VerificationFailed, match="cannot be read"):
        Gaussian.from_json({**record, "unit": unit})

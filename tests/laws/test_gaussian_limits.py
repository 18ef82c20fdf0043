"""Where Gaussian noise on vectors cannot be proven, the refusal says which delta can."""

from __future__ import annotations

import pytest

from dproof import InputError, Privacy
from dproof.curves.noise import vector_noise
from dproof.exact import exp_below

SIZE = 4 * 16384**2


def test_a_delta_below_what_the_tables_resolve_is_refused_with_the_least_that_is_not() -> None:
    """What a table cuts off, 2^-66, counts e^ε times: at ε = 20 that is 1.3e-11 for each coordinate."""
    with pytest.raises(
        InputError, match=r"at epsilon 20 Gaussian noise is proven for a delta above 1\.18 × 10⁻¹⁰ only"
    ):
        vector_noise("gaussian", SIZE, 9, Privacy(20, "1e-12"))
    above = Privacy(20, "1.2e-10")
    assert vector_noise("gaussian", SIZE, 9, above).worst(exp_below(above.epsilon)) <= above.delta

"""Stored curves: what noise can give is found possible again, and nothing else is."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from dproof import Curves, expand
from dproof.columns.codec import codec_of

LATTICES = {
    "values": expand(Curves(0, 1, 9, 0, 5)).lattice("gaussian"),
    "functions": expand(Curves(0, 1, 9, 0, 5), terms=4, centre=[1] * 9).lattice("gaussian"),
}


@pytest.mark.parametrize("form", ["list", "wide"])
@pytest.mark.parametrize("lattice", LATTICES.values(), ids=LATTICES)
def test_only_whole_coefficients_within_reach_of_the_noise_are_possible(lattice, form: str) -> None:
    codec = codec_of(lattice, SimpleNamespace(form=form))
    edge, reach = lattice.box[0] if lattice.box else lattice.radius, 100
    z = np.random.default_rng(4).integers(-edge, edge, (5, lattice.terms), endpoint=True)
    z[0, 0] = edge + reach

    def stored(z: np.ndarray, factor: float = 1.0) -> list[pa.Array]:
        arrays = codec.store(z)
        if factor == 1:
            return arrays
        values = np.array([array.to_pylist() for array in arrays]) * factor
        return [pa.array(row.tolist()) for row in values]

    assert codec.possible(stored(z), None, reach) and codec.possible(stored(z), None, None)
    farther = z + (np.arange(5)[:, None] == 0) * (np.arange(lattice.terms) == 0)
    assert not codec.possible(stored(farther), None, reach) and codec.possible(stored(farther), None, None)
    assert not codec.possible(stored(z, 1 + 1e-6), None, None)

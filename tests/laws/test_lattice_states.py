"""States of noisy numbers are as fine as their number allows: one for each code of a short lattice, and whole nodes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dproof.laws import Lattice
from dproof.laws.laplace import two_sided
from dproof.laws.noise import _STATES, NODES, lay_nodes

NO_CUTS = np.array([], np.int64)


@pytest.mark.parametrize("clamped", [True, False])
def test_every_code_of_a_short_lattice_has_its_own_state(clamped: bool) -> None:
    nodes = lay_nodes(Lattice(NODES, two_sided(Fraction(2)), clamped), NO_CUTS)
    assert (nodes.step, nodes.wide) == (1, 1) and np.all(np.diff(nodes.edges) == 1)


@pytest.mark.parametrize("scale", [2, 40, 1000])
@pytest.mark.parametrize("size", [NODES + 1, 1000, 5000])
def test_a_state_is_as_wide_as_some_nodes_and_no_wider_than_it_must_be(size: int, scale: int) -> None:
    nodes = lay_nodes(Lattice(size, two_sided(Fraction(scale))), NO_CUTS)
    length = nodes.edges[-1] - nodes.edges[0]
    assert nodes.wide % nodes.step == 0 and len(nodes.edges) <= _STATES + 3
    assert nodes.wide == nodes.step or length > (nodes.wide - nodes.step) * _STATES

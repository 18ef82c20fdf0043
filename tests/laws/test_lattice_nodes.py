"""How a noisy number is seen for estimates: nodes of true values, states of noisy ones, and the law between them."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dproof.laws import Lattice
from dproof.laws.gaussian import gaussian
from dproof.laws.laplace import two_sided
from dproof.laws.noise import NODES, lay_nodes, membership, node_law

LATTICES = {
    "small": Lattice(7, two_sided(Fraction(2))),
    "clamped": Lattice(7, two_sided(Fraction(2)), clamped=True),
    "wide": Lattice(1000, two_sided(Fraction(11, 10))),
    "wide and clamped": Lattice(1000, gaussian(Fraction(400)), clamped=True),
}


def in_two(size: int) -> Any:
    """Block 0 has the outer thirds of the codes, block 1 the middle."""
    third = size // 3
    first = np.array([0, third, size - third])
    return SimpleNamespace(first=first, last=np.append(first[1:], size) - 1, block=np.array([0, 1, 0]), blocks=2)


@pytest.mark.parametrize("name", LATTICES)
def test_the_states_have_the_chances_of_the_law(name: str) -> None:
    law = LATTICES[name]
    nodes = lay_nodes(law, np.array([law.size // 3]))
    chances = node_law(law, nodes)
    assert chances.shape == (len(nodes.centres), len(nodes.edges) + 1)
    assert chances.sum(axis=1) == pytest.approx(1) and (chances >= 0).all()
    inner = list(zip(nodes.edges, nodes.edges[1:], strict=False))
    for n in (0, len(nodes.centres) // 2, len(nodes.centres) - 1):
        source = int(nodes.centres[n])
        exact = [sum(law.noise.probability(y - source) for y in range(low, high)) for low, high in inner]
        assert chances[n, 1:-1] == pytest.approx(np.array([float(p) for p in exact]))
    if not law.clamped:
        assert chances[:, [0, -1]].max() < 1e-5  # the outermost states are all but never seen


@pytest.mark.parametrize("name", LATTICES)
def test_each_code_belongs_to_the_node_nearest_to_it(name: str) -> None:
    law = LATTICES[name]
    nodes, cut = lay_nodes(law, np.array([law.size // 3])), in_two(law.size)
    shares = membership(nodes, cut)
    assert len(nodes.centres) <= NODES and shares.sum(axis=1) == pytest.approx(1)
    blocks = np.repeat(cut.block, cut.last - cut.first + 1)
    middle = (nodes.step - 1) // 2
    owner = np.minimum((np.arange(law.size) + middle) // nodes.step, len(nodes.centres) - 1)
    counted = [np.bincount(blocks[owner == n], minlength=2) / (owner == n).sum() for n in range(len(shares))]
    assert shares == pytest.approx(np.array(counted))

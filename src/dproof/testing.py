"""For tests: seeded coins, and the laws that every space and mechanism must keep.

Whatever is drawn inside `seeded_coins` is reproducible and therefore not private; a release made there says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof import coins
from dproof.columns.codec import Column
from dproof.exact import whole_numbers
from dproof.laws.divergence import hockey_stick
from dproof.laws.law import listed_sizes
from dproof.mechanisms.mechanism import Mechanism
from dproof.spaces.space import Space

__all__ = ["ScriptedCoins", "check_column", "check_mechanism", "check_metric", "seeded_coins"]


@contextmanager
def seeded_coins(seed: int) -> Iterator[coins.Coins]:
    """Reproducible coins for this thread, marked not private.

    >>> with seeded_coins(1) as first:
    ...     a = first.words16(4).tolist()
    >>> with seeded_coins(1) as second:
    ...     a == second.words16(4).tolist(), second.private
    (True, False)
    """
    key = hashlib.sha256(f"dproof seeded coins {seed}".encode()).digest()
    with coins.instead(coins.Coins(key, private=False)) as seeded:
        yield seeded


class ScriptedCoins(coins.Coins):
    """Coins that show the given words first and then zeros: how a sampler is fed every small word."""

    __slots__ = ("_script",)

    def __init__(self, *words: NDArray[Any]) -> None:
        super().__init__(bytes(32), private=False)
        self._script = list(words)

    def fill(self, buffer: NDArray[Any]) -> None:
        buffer[:] = self._script.pop(0) if self._script else 0


def check_metric(space: Space) -> None:
    """ρ is a metric, the diameter and separation are its extremes, and decode undoes encode."""
    rho, unit = whole_numbers([space.distances(n) for n in range(space.size)])
    apart = ~np.eye(space.size, dtype=bool)
    assert (rho == rho.T).all(), "symmetry"
    assert not rho[~apart].any() and all(x > 0 for x in rho[apart]), "positive off the diagonal"
    for middle in range(space.size):
        assert (rho <= rho[:, middle, None] + rho[None, middle, :]).all(), "triangle"
    assert space.diameter == Fraction(max(rho.flat), unit), "diameter"
    assert space.separation == Fraction(min(rho[apart], default=0), unit), "separation"
    labels = [space.label(n) for n in range(space.size)]
    assert space.encode(labels).tolist() == list(range(space.size)), "encode"
    assert space.decode(np.arange(space.size)) == labels, "decode"


def check_column(column: Column) -> None:
    """Check that what is stored for a code is possible, and read back as that code from a release and from a source."""
    codes = np.arange(column.space.size)
    arrays = column.codec.store(codes)
    assert column.codec.restore(arrays).tolist() == codes.tolist(), "restore undoes store"
    assert column.encoder()(arrays).tolist() == codes.tolist(), "the encoder reads what is stored"
    assert column.codec.possible(arrays, None, None), "what is stored is possible"


def check_mechanism(mechanism: Mechanism) -> None:
    """Rows sum to the total, and the tight values agree with the definition over all pairs."""
    family = mechanism.family
    inputs, _, total = listed_sizes(family)
    laws = [family.weights(n) for n in range(inputs)]
    assert all(sum(map(int, law)) == total and min(law) >= 0 for law in laws), "a law sums to its total"
    neighbours = family.neighbours
    pairs = [
        (p, q)
        for a, p in enumerate(laws)
        for b, q in enumerate(laws)
        if a != b and (neighbours is None or neighbours[a, b])
    ]
    for odds in (Fraction(1), Fraction(5, 4), Fraction(3), Fraction(40)):
        direct = max((hockey_stick(p, q, total, odds) for p, q in pairs), default=Fraction(0))
        assert family.worst(odds).value == direct, "worst is the largest divergence"
    for delta in (Fraction(0), Fraction(1, 100), Fraction(1, 3), Fraction(1)):
        odds_found = family.odds(delta).value
        if odds_found is not None:
            assert family.worst(odds_found).value <= delta, "the tight odds are enough"
            if odds_found > 1:
                assert family.worst(odds_found * Fraction(999999, 1000000)).value > delta, "and no less is"
        else:
            assert family.worst(Fraction(10**30)).value > delta, "infinite odds"

"""A million real draws from each sampler against its law, by Pearson's χ²; by chance it fails once in 10^9 runs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dproof import coins
from dproof.laws import Bits, KeepOrOther, Law, Matrix

DRAWS = 1_000_000
RNG = np.random.default_rng(2016)

FAMILIES: dict[str, Law] = {
    "five values": KeepOrOther(5, 6, 1),
    "a hundred values": KeepOrOther(100, 27_183, 10_000),
    "the largest size with a table": KeepOrOther(4096, 3000, 1),
    "arithmetic": KeepOrOther(5000, 3000, 1),
    "a total wider than a word": KeepOrOther(7, 3 * 10**25, 10**25 + 3),
    "bits": Bits(5, 5, 2),
    "matrix": Matrix(RNG.multinomial(1 << 40, np.ones(30) / 30, size=20), 1 << 40),
    "matrix with zeros": Matrix(np.array([[0, 3, 0, 4], [7, 0, 0, 0], [1, 1, 1, 4]]), 7),
    "matrix of large numbers": Matrix(
        np.array([[10**30, 2 * 10**30, 10**29], [10**30 + 10**29, 10**30, 10**30]], object), 31 * 10**29
    ),
}


def chi_square_limit(freedom: int, deviations: float = 6.0) -> float:
    """The χ² that chance exceeds less than once in 10^9 times (Wilson and Hilferty 1931)."""
    part = 2 / (9 * freedom)
    return float(freedom * (1 - part + deviations * math.sqrt(part)) ** 3)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_million_draws_follow_the_law(name: str) -> None:
    family = FAMILIES[name]
    for source in {0, family.inputs // 2, family.inputs - 1}:
        codes = np.full(DRAWS // 2, source, np.uint16)
        counts = np.bincount(family.draw(codes, coins.current()), minlength=family.outputs)
        expected = np.array([int(w) / family.total for w in family.weights(source)]) * len(codes)
        assert (counts[expected == 0] == 0).all()
        likely = expected > 0
        statistic = float(((counts[likely] - expected[likely]) ** 2 / expected[likely]).sum())
        freedom = int(likely.sum()) - 1
        assert statistic <= (chi_square_limit(freedom) if freedom else 0)


@pytest.mark.parametrize("name", ["five values", "bits", "matrix"])
def test_neighbouring_rows_are_drawn_independently(name: str) -> None:
    """Pairs of consecutive draws from one input follow the product of its law with itself."""
    family = FAMILIES[name]
    drawn = family.draw(np.zeros(DRAWS, np.uint16), coins.current()).astype(np.int64)
    law = np.array([int(w) / family.total for w in family.weights(0)])
    counts = np.bincount(drawn[::2] * family.outputs + drawn[1::2], minlength=family.outputs**2)
    expected = np.outer(law, law).ravel() * (DRAWS // 2)
    statistic = float(((counts - expected) ** 2 / expected).sum())
    assert statistic <= chi_square_limit(len(expected) - 1)

"""Certifying a dense law: all ordered pairs exactly, beside one pair at a time in a peer."""

from __future__ import annotations

import statistics
import time
from fractions import Fraction

import numpy as np

from benchmarks.measure import Line, Section, duration, peer
from dproof.exact import exp_below
from dproof.laws import Matrix

SIZE = 1000


def dense_law(size: int, seed: int = 0) -> Matrix:
    """A made-up law in general position."""
    words = np.random.default_rng(seed).integers(1 << 20, 1 << 21, (size, size))
    total = int(words.sum(axis=1).max())
    words[:, 0] += total - words.sum(axis=1)
    return Matrix(words, total)


def run() -> Section:
    lines = []
    odds = exp_below(Fraction(1, 10))
    for size in (100, 300, SIZE):
        law = dense_law(size)
        lines.append(duration(f"dproof, {size} by {size}: tight delta, all pairs", lambda m=law: m.worst(odds)))
    lines.append(
        duration(
            f"dproof, {SIZE} by {SIZE}: tight epsilon at delta = 0.01", lambda: law.odds(Fraction(1, 100)), repeats=1
        )
    )
    ratios = []
    pair = _accounting_pair(law)
    if pair is not None:
        lines.append(pair)
        all_pairs = pair.value * SIZE * (SIZE - 1)
        ratios.append(
            (
                "dp-accounting for all pairs, from its time for one, to dproof",
                all_pairs / lines[2].value,
                "at least 100",
            )
        )
    how = "Every ordered pair of inputs and the worst set of outputs, decided in whole numbers."
    return Section("Certification", how, tuple(lines), tuple(ratios))


def _accounting_pair(law: Matrix) -> Line | None:
    module = peer("dp_accounting.pld.privacy_loss_distribution")
    if module is None:
        return None
    p, q = law.rows[0] / law.total, law.rows[1] / law.total
    upper = {n: float(np.log(x)) for n, x in enumerate(p)}
    lower = {n: float(np.log(x)) for n, x in enumerate(q)}

    def one() -> float:
        pld = module.from_two_probability_mass_functions(lower, upper)
        return float(pld.get_delta_for_epsilon(0.1))

    one()
    times = []
    for _ in range(5):
        start = time.perf_counter()
        one()
        times.append(time.perf_counter() - start)
    return Line("dp-accounting, one pair of the same law", statistics.median(times), "s")

"""Certifying a dense law: all ordered pairs exactly, beside one pair at a time in a peer."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from benchmarks.measure import Chart, Line, Section, duration, peer
from dproof.exact import exp_below
from dproof.laws import Matrix

SIZES = (30, 100, 300, 1000)


def dense_law(size: int, seed: int = 0) -> Matrix:
    """A made-up law in general position."""
    words = np.random.default_rng(seed).integers(1 << 20, 1 << 21, (size, size))
    total = int(words.sum(axis=1).max())
    words[:, 0] += total - words.sum(axis=1)
    return Matrix(words, total)


def run() -> Section:
    odds = exp_below(Fraction(1, 10))
    laws = {size: dense_law(size) for size in SIZES}
    delta = {
        size: duration(f"dproof, {size:,} by {size:,}: tight delta, all pairs", lambda m=law: m.worst(odds), repeats=5)
        for size, law in laws.items()
    }
    largest = SIZES[-1]
    what = f"dproof, {largest:,} by {largest:,}: tight epsilon at delta = 0.01"
    lines = [*delta.values(), duration(what, lambda: laws[largest].odds(Fraction(1, 100)))]
    points = [("dproof", size, line.value) for size, line in delta.items()]
    ratios = []
    pairs = {size: _accounting_pair(law) for size, law in laws.items()}
    for size, pair in pairs.items():
        if pair is not None:
            all_pairs = pair.value * size * (size - 1)
            points.append(("dp-accounting", size, all_pairs))
            if size == largest:
                lines.append(pair)
                name = "dp-accounting for all pairs, from its time for one, to dproof"
                ratios.append((name, all_pairs / delta[size].value, "at least 100"))
    how = "Every ordered pair of inputs and the worst set of outputs, decided in whole numbers."
    chart = Chart("Certification against size", "inputs and outputs", "seconds for all pairs", tuple(points))
    return Section("Certification", how, tuple(lines), tuple(ratios), charts=(chart,))


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

    return duration("dp-accounting, one pair of the same law", one, repeats=7)

"""Randomised response: rows per second, beside the words it is made of and beside peers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import dproof as dp
from benchmarks.measure import Chart, Line, Section, in_turns, peer, rate, rate_of
from dproof import coins

ROWS = 10_000_000
FEW = 20_000  # for peers that work value by value
VALUES = (2, 5, 20, 100, 1_000, 10_000, 100_000, 1_000_000)


def run() -> Section:
    words = np.empty(ROWS, np.uint32)
    source = coins.current()
    few = VALUES[:4]
    limit, *turns = in_turns(lambda: source.fill(words), *map(_drawing, few), repeats=15)
    aes = rate_of("AES words of 32 bits, the limit", ROWS, limit, unit="words/s")
    ours = {k: rate_of(f"dproof, k = {k:,}", ROWS, times) for k, times in zip(few, turns, strict=True)}
    ours |= {k: rate(f"dproof, k = {k:,}", ROWS, _drawing(k)) for k in VALUES[4:]}
    lines = [aes, *ours.values()]
    ratios = [
        ("k = 5 to AES words", ours[5].value / aes.value, "at least 0.25"),
        ("k = 100 to k = 5", ours[100].value / ours[5].value, "at least 0.5"),
    ]
    ends = VALUES[0], VALUES[-1]
    points = [("dproof", k, line.value) for k, line in ours.items()] + [("AES words", k, aes.value) for k in ends]
    for line, wanted in ((_multi_freq(), "at least 80"), (_pure_ldp(), ""), (_diffprivlib(), "at least 1000")):
        if line is not None:
            lines.append(line)
            ratios.append((f"k = 5 to {line.what}", ours[5].value / line.value, wanted))
            points.append((line.what.split()[0], 5, line.value))
    how = f"Sanitising {ROWS:,} codes of k categories at ε = 1, AES and k ≤ 100 in turns; peers on {FEW:,}, k = 5."
    chart = Chart("Randomised response against k", "k", "rows/s", tuple(points))
    return Section("Randomised response", how, tuple(lines), tuple(ratios), charts=(chart,))


def _drawing(k: int) -> Callable[[], Any]:
    codes = (np.arange(ROWS) % k).astype(np.min_scalar_type(k - 1))
    mechanism = dp.randomised_response(dp.Categories(range(k)), dp.Privacy(1))
    return lambda: mechanism.draw_codes(codes)


def _multi_freq() -> Line | None:
    module = peer("multi_freq_ldpy.pure_frequency_oracles.GRR")
    if module is None:
        return None
    values = [n % 5 for n in range(FEW)]
    return rate("multi-freq-ldpy GRR_Client", FEW, lambda: [module.GRR_Client(v, 5, 1.0) for v in values], repeats=3)


def _diffprivlib() -> Line | None:
    module = peer("diffprivlib.mechanisms")
    if module is None:
        return None
    labels = list("abcde")
    pairs = [[a, b, 1.0] for n, a in enumerate(labels) for b in labels[n + 1 :]]
    mechanism = module.ExponentialCategorical(epsilon=1.0, utility_list=pairs)
    values = [labels[n % 5] for n in range(FEW)]
    return rate("diffprivlib ExponentialCategorical", FEW, lambda: [mechanism.randomise(v) for v in values], repeats=3)


def _pure_ldp() -> Line | None:
    module = peer("pure_ldp.frequency_oracles.direct_encoding.de_client")
    if module is None:
        return None
    client = module.DEClient(epsilon=1, d=5)
    return rate("pure-LDP DEClient", FEW, lambda: [client.privatise(n % 5 + 1) for n in range(FEW)], repeats=3)

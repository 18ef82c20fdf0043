"""Randomised response: rows per second, beside the words it is made of and beside peers."""

from __future__ import annotations

import numpy as np

import dproof as dp
from benchmarks.measure import Line, Section, peer, rate
from dproof import coins

ROWS = 10_000_000
FEW = 20_000  # for peers that work value by value


def run() -> Section:
    words = np.empty(ROWS, np.uint32)
    source = coins.current()
    aes = rate("AES words of 32 bits, the limit", ROWS, lambda: source.fill(words), unit="words/s")
    lines = [aes]
    ours: dict[int, Line] = {}
    for k in (2, 5, 100, 1_000_000):
        codes = (np.arange(ROWS) % k).astype(np.min_scalar_type(k - 1))
        mechanism = dp.randomised_response(dp.Categories(range(k)), dp.Privacy(1))
        ours[k] = rate(f"dproof, k = {k}", ROWS, lambda m=mechanism, c=codes: m.draw_codes(c))
        lines.append(ours[k])
    ratios = [
        ("k = 5 to AES words", ours[5].value / aes.value, "at least 0.25"),
        ("k = 100 to k = 5", ours[100].value / ours[5].value, "at least 0.5"),
    ]
    for line, wanted in ((_multi_freq(), "at least 80"), (_diffprivlib(), "at least 1000"), (_pure_ldp(), "")):
        if line is not None:
            lines.append(line)
            ratios.append((f"k = 5 to {line.what}", ours[5].value / line.value, wanted))
    how = f"Sanitising {ROWS:,} codes of k categories at epsilon = 1; peers on {FEW:,} values, k = 5."
    return Section("Randomised response", how, tuple(lines), tuple(ratios))


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

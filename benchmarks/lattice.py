"""Noise on a lattice: draws per second beside NumPy's float Laplace, measured in turns, and beside peers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from benchmarks.measure import Line, Section, in_turns, peer, rate, rate_of
from dproof import coins
from dproof.exact import exp_below
from dproof.laws.gaussian import gaussian_law
from dproof.laws.laplace import stairs, two_sided

DRAWS = 10_000_000
FEW = 2_000  # for peers that work value by value
WANTED = {1: "at least 2", 100: "at least 2", 10_000: "at least 1"}


def run() -> Section:
    generator = np.random.default_rng(0)
    lines, ratios = [], []
    for scale, wanted in WANTED.items():
        law = two_sided(exp_below(Fraction(1, scale)))
        ours, floats = in_turns(
            lambda n=law: n.draw(DRAWS, coins.current()), lambda b=scale: generator.laplace(0, b, DRAWS)
        )
        lines += [
            rate_of(f"dproof, Laplace noise on Z, scale {scale:,}", DRAWS, ours, unit="draws/s"),
            rate_of(f"NumPy's float Laplace, scale {scale:,}", DRAWS, floats, unit="draws/s", note="not private"),
        ]
        ratios.append((f"dproof to NumPy at scale {scale:,}", lines[-2].value / lines[-1].value, wanted))
    for name, noise in (
        ("Gaussian noise, σ = 100", gaussian_law(Fraction(10_000))),
        ("Gaussian noise, σ = 100,000", gaussian_law(Fraction(10**10))),
        ("staircase noise, width 1,000, ε = 1", stairs(exp_below(Fraction(1)), 1000)),
    ):
        lines.append(rate(f"dproof, {name}", DRAWS, lambda n=noise: n.draw(DRAWS, coins.current()), unit="draws/s"))
    fast = lines[2].value  # at scale 100
    for name, line in (("OpenDP", _opendp()), ("diffprivlib", _diffprivlib()), ("PyDP", _pydp())):
        if line is not None:
            lines.append(line)
            ratios.append((f"dproof to {name} at scale 100", fast / line.value, ""))
    how = (
        f"{DRAWS:,} draws, dproof and NumPy in turns so that both meet the same machine. Draws of dproof are exact and "
        "cryptographic; NumPy's are floats from a generator that is not. Peers draw one value at a time or in a list"
        f"{'; PyDP is not installable here.' if peer('pydp') is None else '.'}"
    )
    return Section("Noise on a lattice", how, tuple(lines), tuple(ratios))


def _opendp() -> Line | None:
    module = peer("opendp.prelude")
    if module is None:
        return None
    module.enable_features("contrib")
    space = module.vector_domain(module.atom_domain(T="i32")), module.l1_distance(T="i32")
    noise = module.m.make_laplace(*space, scale=100.0)
    values = [0] * FEW
    return rate("OpenDP, integer Laplace, scale 100", FEW, lambda: noise(values), unit="draws/s", repeats=3)


def _diffprivlib() -> Line | None:
    module = peer("diffprivlib.mechanisms")
    if module is None:
        return None
    noise = module.Geometric(epsilon=0.01, sensitivity=1)
    return rate("diffprivlib, Geometric, scale 100", FEW, lambda: [noise.randomise(0) for _ in range(FEW)],
                unit="draws/s", repeats=3)  # fmt: skip


def _pydp() -> Line | None:
    module = peer("pydp.algorithms.numerical_mechanisms")
    if module is None:
        return None
    noise = module.LaplaceMechanism(epsilon=0.01, sensitivity=1)
    return rate("PyDP, Laplace, scale 100", FEW, lambda: [noise.add_noise(0.0) for _ in range(FEW)],
                unit="draws/s", repeats=3)  # fmt: skip

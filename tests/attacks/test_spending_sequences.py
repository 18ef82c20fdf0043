"""Random sequences of prices, analysts and releases: what a ledger grants is recomputed by other means."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dproof import Cost, Ledger, OverBudget, Privacy
from dproof.curator.account import rho_for

EPSILONS = st.sampled_from(["0.01", "0.05", "0.1", "0.3", "0.5", "0.9", "1", "2"])
DELTAS = st.sampled_from(["1e-12", "1e-9", "1e-8", "1e-7", "5e-7", "1e-6"])
STEP = st.tuples(st.sampled_from(["count", "pure", "release", "leaking release"]), EPSILONS, DELTAS)
BUDGETS = st.tuples(st.sampled_from(["0.5", "1", "3"]), st.sampled_from(["1e-8", "1e-6", "1e-3"]))


def enough(rho: float, epsilon: float, delta: float) -> bool:
    """Whether ρ gives (ε, δ), by the moments of many orders."""
    orders = (1 + math.exp(n / 100) for n in range(-500, 1200))
    return any(
        (a - 1) * (a * rho - epsilon) + a * math.log1p(-1 / a) - math.log(a - 1) <= math.log(delta) for a in orders
    )


def normal(mu: float, epsilon: float) -> float:
    """δ(ε) of two normal laws μ apart. Balle and Wang 2018."""
    if mu == 0:
        return max(0.0, 1 - math.exp(epsilon))
    tails = (math.erfc((epsilon / mu + side * mu / 2) / math.sqrt(2)) / 2 for side in (-1, 1))
    return next(tails) - math.exp(epsilon) * next(tails)


def together(gaussian: float, promises: list[tuple[float, float]], epsilon: float) -> float:
    """The δ at ε of normal noise with this ρ, and of the worst that each promise allows: all outcomes are summed up.

    The worst that (ε, δ) allows gives everything away with probability δ, and else is randomised response.
    """
    losses, kept = {0.0: 1.0}, math.prod(1 - d for _, d in promises)
    for e, _ in promises:
        keep, after = 1 / (1 + math.exp(-e)), {}
        for loss, p in losses.items():
            for sign, chance in ((1, keep), (-1, 1 - keep)):
                key = round(loss + sign * e, 9)
                after[key] = after.get(key, 0.0) + p * chance
        losses = after
    mu = math.sqrt(2 * gaussian)
    return 1 - kept + kept * sum(p * normal(mu, epsilon - loss) for loss, p in losses.items())


@settings(max_examples=25, deadline=None)
@given(BUDGETS, st.lists(STEP, min_size=1, max_size=10))
def test_what_is_granted_keeps_the_budget(
    tmp_path_factory: pytest.TempPathFactory, budget: tuple[str, str], steps: list[tuple[str, str, str]]
) -> None:
    whole = Privacy(*budget)
    path = tmp_path_factory.mktemp("l") / "b.db"
    ledger = Ledger(path, budget=whole)
    rho, pure = 0.0, []
    for n, (kind, epsilon, delta) in enumerate(steps):
        before = ledger.remaining()
        try:
            granted = spend(ledger, n, kind, epsilon, delta)
        except OverBudget:
            assert ledger.remaining() == before
            continue
        rho, pure = rho + granted[0], [*pure, *granted[1]]
        assert Ledger(path).remaining() == ledger.remaining()
    if rho or pure:
        assert together(rho, pure, float(whole.epsilon)) <= float(whole.delta) * (1 + 1e-6) + 1e-15
    left = ledger.remaining()
    if ledger.counts_rho and left.epsilon and left.delta:  # whatever is told to be left is granted
        ledger.debit("left", Cost(left.epsilon, left.delta, rho_for(left.epsilon, left.delta)))


def spend(ledger: Ledger, n: int, kind: str, epsilon: str, delta: str) -> tuple[float, list[tuple[float, float]]]:
    """Pay, and say what was paid: ρ of Gaussian noise, or a promise."""
    if kind == "count" and ledger.counts_rho:
        rho = rho_for(Fraction(epsilon), Fraction(delta))
        assert enough(float(rho), float(epsilon), float(delta))
        ledger.debit(f"q{n}", Cost(Fraction(epsilon), Fraction(delta), rho))
        return float(rho), []
    cost = Privacy(epsilon, delta if kind in ("count", "leaking release") else 0)
    if kind.endswith("release"):
        ledger.release(cost, f"out {n}")
    else:
        ledger.debit(f"q{n}", cost)
    return 0.0, [(float(cost.epsilon), float(cost.delta))]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(STEP, st.sampled_from(["ann", "bob"])), max_size=12))
def test_no_analyst_gets_more_than_their_own(tmp_path_factory: pytest.TempPathFactory, steps: list[Any]) -> None:
    limits = {"ann": Privacy("0.5", "1e-6"), "bob": Privacy("0.7")}
    ledger = Ledger(tmp_path_factory.mktemp("l") / "b.db", budget=Privacy(2, "1e-5"), analysts=limits)
    spent: dict[str, list[tuple[Fraction, Fraction, Fraction | None]]] = {name: [] for name in limits}
    for n, ((_, epsilon, delta), name) in enumerate(steps):
        e, d = Fraction(epsilon), Fraction(delta) if n % 3 else Fraction(0)
        rho = rho_for(e, d) if d else None
        try:
            ledger.debit(f"q{n}", Cost(e, d, rho), analyst=name)
        except OverBudget:
            continue
        spent[name].append((e, d, rho))
    assert sum(e for e, _, _ in spent["bob"]) <= Fraction("0.7") and not any(d for _, d, _ in spent["bob"])
    noisy = float(sum(rho for _, _, rho in spent["ann"] if rho is not None))
    pure = [(float(e), 0.0) for e, d, _ in spent["ann"] if not d]
    if noisy or pure:
        assert together(noisy, pure, 0.5) <= 1e-6 * (1 + 1e-6)

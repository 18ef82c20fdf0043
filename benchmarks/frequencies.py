"""How far shares are off in the local model: every person answers for themselves, and the answers are debiased."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

import dproof as dp
from benchmarks.errors import Errors, against
from benchmarks.measure import Grid, Ratio, Section, peer

PEOPLE = 10_000
REPEATS = 40
METHODS = ("inverse", "likelihood", "projection", "shrinkage")


def run() -> Section:
    rows: list[tuple[str, ...]] = []
    ratios: list[Ratio] = []
    names: tuple[str, ...] = ()
    for k in (5, 50):
        found = {epsilon: _compare(k, epsilon) for epsilon in (0.5, 1.0, 2.0, 4.0)}
        worst = []
        for epsilon, of in found.items():
            names, (ours, *theirs) = tuple(of), of.values()
            rows.append((f"k = {k}, ε = {epsilon:g}", *map(str, of.values())))
            if theirs:
                best = min(theirs, key=lambda e: e.rmse)
                worst.append(against(f"shares, k = {k}, worst ε: error to the best peer", ours, best, paired=True))
        ratios += [max(worst, key=lambda r: r.value)] if worst else []
    how = (
        f"Root mean squared error of the shares of k values among {PEOPLE:,} made-up people, {REPEATS} sanitisations "
        "by randomised response, each debiased by all from the same responses, so that what differs is the estimator "
        f"and not the luck of the draw. The best of the estimators of each: dproof's {', '.join(METHODS)}; "
        "multi-freq-ldpy's MI and IBU; pure-LDP's one. The promise is the same for all, ε for each person's answer."
    )
    grid = Grid(("", *names), tuple(rows))
    return Section("Accuracy of frequencies, local model", how, ratios=tuple(ratios), grids=(grid,))


def _compare(k: int, epsilon: float) -> dict[str, Errors]:
    truth = 1 / np.arange(1, k + 1)
    truth /= truth.sum()
    codes = np.random.default_rng(k).choice(k, PEOPLE, p=truth)
    shares = np.bincount(codes, minlength=k) / PEOPLE
    labels = [f"v{n:02d}" for n in range(k)]
    plan = {"privacy": {"epsilon": epsilon}, "columns": {"v": {"space": "categories", "values": labels}}}
    table = pa.table({"v": pa.array(labels).take(codes)})
    others = {"multi-freq-ldpy": _multi_freq(k, epsilon), "pure-LDP": _pure_ldp(k, epsilon)}
    squares: dict[str, dict[str, list[float]]] = {"dproof": {}, **{name: {} for name, of in others.items() if of}}
    for _ in range(REPEATS):
        release = dp.sanitise(table, plan)
        drawn = release.to_arrow().column("v").to_pylist()
        reports = [labels.index(v) for v in drawn]
        for method in METHODS:
            answer = release.query("SELECT v, count(*) AS n FROM release GROUP BY v", method=method)
            estimate = np.array([row["n"].estimate for row in answer.rows]) / PEOPLE
            squares["dproof"].setdefault(method, []).append(float(np.mean((estimate - shares) ** 2)))
        for name, estimators in others.items():
            for method, estimator in estimators.items():
                error = float(np.mean((estimator(reports) - shares) ** 2))
                squares[name].setdefault(method, []).append(error)
    return {
        name: min((Errors(np.array(found)) for found in of.values()), key=lambda e: e.rmse)
        for name, of in squares.items()
    }


def _multi_freq(k: int, epsilon: float) -> dict[str, Callable[[Sequence[int]], Any]]:
    grr = peer("multi_freq_ldpy.pure_frequency_oracles.GRR")
    if grr is None:
        return {}
    return {
        "MI": lambda reports: grr.GRR_Aggregator_MI(reports, k, epsilon),
        "IBU": lambda reports: grr.GRR_Aggregator_IBU(reports, k, epsilon, nb_iter=2000, tol=1e-9, err_func="max_abs"),
    }


def _pure_ldp(k: int, epsilon: float) -> dict[str, Callable[[Sequence[int]], Any]]:
    module = peer("pure_ldp.frequency_oracles.direct_encoding.de_server")
    if module is None:
        return {}

    def estimate(reports: Sequence[int]) -> Any:
        server = module.DEServer(epsilon, k, index_mapper=int)
        for report in reports:
            server.aggregate(report)
        return np.array([server.estimate(n, suppress_warnings=True) for n in range(k)]) / len(reports)

    return {"DE": estimate}

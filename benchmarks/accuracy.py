"""How far answers are off at equal epsilon: root mean squared errors beside those of peers, in one run."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import dproof as dp
from benchmarks.measure import Line, Section, peer

PEOPLE = 10_000
REPEATS = 60
ASKED = 200


def run() -> Section:
    lines: list[Line] = []
    ratios: list[tuple[str, float, str]] = []
    for k in (5, 50):
        for epsilon in (0.5, 1.0, 2.0, 4.0):
            _frequencies(k, epsilon, lines, ratios)
    _answers(lines, ratios)
    how = (
        f"Frequencies: {PEOPLE:,} made-up people, {REPEATS} sanitisations. Answers: the same {PEOPLE:,} people asked "
        f"{ASKED} times at epsilon = 1 under add-remove neighbours, ages clamped to [0, 100]."
    )
    return Section("Accuracy", how, tuple(lines), tuple(ratios))


def _frequencies(k: int, epsilon: float, lines: list[Line], ratios: list[tuple[str, float, str]]) -> None:
    """Mean squared error of all k shares, from randomised response, debiased here and by a peer's two estimators."""
    truth = 1 / np.arange(1, k + 1)
    truth /= truth.sum()
    codes = np.random.default_rng(k).choice(k, PEOPLE, p=truth)
    shares = np.bincount(codes, minlength=k) / PEOPLE
    labels = [f"v{n:02d}" for n in range(k)]
    plan = {"privacy": {"epsilon": epsilon}, "columns": {"v": {"space": "categories", "values": labels}}}
    table = pa.table({"v": pa.array(labels).take(codes)})
    sql = "SELECT v, count(*) AS n FROM release GROUP BY v"
    ours: dict[str, list[float]] = {m: [] for m in ("inverse", "likelihood", "projection", "shrinkage")}
    theirs: dict[str, list[float]] = {"MI": [], "IBU": []}
    grr = peer("multi_freq_ldpy.pure_frequency_oracles.GRR")
    for _ in range(REPEATS):
        release = dp.sanitise(table, plan)
        for method, errors in ours.items():
            answer = release.query(sql, method=method)
            estimate = np.array([row["n"].estimate for row in answer.rows]) / PEOPLE
            errors.append(float(np.mean((estimate - shares) ** 2)))
        if grr is not None:
            # The same responses for both: what differs is the estimator and not the luck of the draw.
            drawn = release.to_arrow().column("v").to_pylist()
            reports = [labels.index(v) for v in drawn]
            theirs["MI"].append(float(np.mean((grr.GRR_Aggregator_MI(reports, k, epsilon) - shares) ** 2)))
            ibu = grr.GRR_Aggregator_IBU(reports, k, epsilon, nb_iter=2000, tol=1e-9, err_func="max_abs")
            theirs["IBU"].append(float(np.mean((ibu - shares) ** 2)))
    best = min(float(np.mean(errors)) for errors in ours.values())
    lines.append(Line(f"dproof, share of k = {k} values, ε = {epsilon:g}", best**0.5, "rmse"))
    if grr is not None:
        peer_best = min(float(np.mean(errors)) for errors in theirs.values())
        name = f"mean squared error, k = {k}, ε = {epsilon:g}, to multi-freq-ldpy's best"
        ratios.append((name, best / peer_best, "at most 1"))


def _answers(lines: list[Line], ratios: list[tuple[str, float, str]]) -> None:
    """Count, sum, mean, histogram and median of one column, by the curator and by peers."""
    ages = np.clip(np.random.default_rng(7).normal(40, 14, PEOPLE).round(), 0, 100).astype(int)
    truth = {
        "count": float((ages < 30).sum()),
        "sum": float(ages.sum()),
        "mean": float(ages.mean()),
        "median": float(np.median(ages)),
    }
    ours = _curator(ages)
    peers = {"diffprivlib": _diffprivlib(ages), "OpenDP": _opendp(ages)}
    for what, value in truth.items():
        error = _rmse(ours[what], value)
        lines.append(Line(f"dproof, {what}", error, "rmse"))
        for name, answers in peers.items():
            if what in answers:
                theirs = _rmse(answers[what], value)
                lines.append(Line(f"{name}, {what}", theirs, "rmse"))
                ratios.append((f"{what}: error to {name}", error / theirs, "at most 1, within noise"))


def _rmse(answers: Callable[[], Any], truth: float) -> float:
    return float(np.sqrt(np.mean([(float(answers()) - truth) ** 2 for _ in range(ASKED)])))


def _curator(ages: Any) -> dict[str, Callable[[], Any]]:
    questions = {
        "count": "SELECT count(*) AS x FROM data WHERE age < 30",
        "sum": "SELECT sum(age) AS x FROM data",
        "mean": "SELECT avg(age) AS x FROM data",
        "median": "SELECT median(age) AS x FROM data",
    }
    plan = {
        "privacy": {"epsilon": 1000, "neighbours": "add-remove"},
        "columns": {"age": {"space": "interval", "low": 0, "high": 100, "step": 1}},
    }
    table = pa.table({"age": ages})

    def asking(sql: str) -> Callable[[], Any]:
        def ask() -> Any:
            # A ledger of its own each time: the same question on one ledger is answered once.
            with tempfile.TemporaryDirectory() as folder:
                budget = dp.Privacy(1000, neighbours="add-remove")
                curator = dp.Curator(table, plan, budget=budget, ledger=Path(folder) / "ledger.db")
                return curator.ask(sql, epsilon=1).rows[0]["x"].estimate

        return ask

    return {what: asking(sql) for what, sql in questions.items()}


def _diffprivlib(ages: Any) -> dict[str, Callable[[], Any]]:
    tools = peer("diffprivlib.tools")
    if tools is None:
        return {}
    bounds = {"bounds": (0, 100), "epsilon": 1.0}
    return {
        "count": lambda: tools.count_nonzero(ages < 30, epsilon=1.0),
        "sum": lambda: tools.sum(ages, **bounds),
        "mean": lambda: tools.mean(ages, **bounds),
        "median": lambda: tools.median(ages, **bounds),
    }


def _opendp(ages: Any) -> dict[str, Callable[[], Any]]:
    if peer("opendp.prelude") is None:
        return {}
    import opendp.prelude as odp

    odp.enable_features("contrib")
    space = odp.vector_domain(odp.atom_domain(T=int)), odp.symmetric_distance()
    clamped = space >> odp.t.then_clamp((0, 100))
    count = space >> odp.t.then_count() >> odp.m.then_laplace(scale=1.0)
    total = clamped >> odp.t.then_sum() >> odp.m.then_laplace(scale=100.0)
    young = [int(a) for a in ages[ages < 30]]
    everyone = [int(a) for a in ages]
    return {"count": lambda: count(young), "sum": lambda: total(everyone)}

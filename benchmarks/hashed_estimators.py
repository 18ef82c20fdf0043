"""Shares from hashed responses: our methods beside the post-processing that others propose, on the same responses.

The peers' methods are written here as formulas, from Wang et al. 2020 ("Locally differentially private frequency
estimation with consistency"): they take the unbiased shares and their standard error.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa

import dproof as dp
from benchmarks.census import census
from benchmarks.errors import Errors, against
from benchmarks.measure import Grid, Ratio, Section
from dproof.laws.debias import on_simplex

PEOPLE = 100_000
REPEATS = 10
METHODS = ("inverse", "projection", "shrinkage")


def run() -> Section:
    rows: list[tuple[str, ...]] = []
    ratios: list[Ratio] = []
    names: tuple[str, ...] = ()
    some = np.random.default_rng(1)
    columns = {f"Zipf, k = {k:,}": (some.choice(k, PEOPLE, p=_zipf(k)), k) for k in (64, 1_000)}
    columns["age in the census"] = (np.clip(census().age, 17, 90) - 17, 74)
    for column, (codes, k) in columns.items():
        worst: list[Ratio] = []
        for epsilon in (1, 2, 4):
            found = _compare(codes, k, epsilon)
            names = tuple(" ".join(name) for name in found)
            rows.append((f"{column}, ε = {epsilon}", *map(str, found.values())))
            ours = min((e for (whose, _), e in found.items() if whose == "dproof"), key=lambda e: e.rmse)
            theirs = min((e for (whose, _), e in found.items() if whose != "dproof"), key=lambda e: e.rmse)
            name = f"{column}, worst ε: error of our best method to the peers' best"
            worst.append(against(name, ours, theirs, paired=True))
        ratios.append(max(worst, key=lambda ratio: ratio.value))
    how = (
        f'Root mean squared error of shares from responses under `mechanism = "frequency"`, {REPEATS} sanitisations, '
        "each debiased by all methods from the same responses; the peers' methods as formulas, with the standard error "
        "of a share where they need one. The best on either side is picked after the errors were seen."
    )
    return Section(
        "Estimators of hashed responses", how, ratios=tuple(ratios), grids=(Grid(("", *names), tuple(rows)),)
    )


def _zipf(k: int) -> Any:
    shares = 1 / np.arange(1, k + 1)
    return shares / shares.sum()


def _compare(codes: Any, k: int, epsilon: int) -> dict[tuple[str, str], Errors]:
    """The errors of every method, by whose it is and its name."""
    people, labels = len(codes), [f"v{n}" for n in range(k)]
    shares = np.bincount(codes, minlength=k) / people
    column = {"space": "categories", "values": labels, "mechanism": "frequency"}
    table = pa.table({"v": pa.array(labels).take(pa.array(codes))})
    squares: dict[tuple[str, str], list[float]] = {}
    for _ in range(REPEATS):
        release = dp.sanitise(table, {"privacy": {"epsilon": epsilon}, "columns": {"v": column}})
        answers = {m: release.query("SELECT v, count(*) AS n FROM release GROUP BY v", method=m).rows for m in METHODS}
        cells = {m: [row["n"] for row in rows] for m, rows in answers.items()}
        counts = {m: [cell.estimate if cell.informative else cell.raw for cell in found] for m, found in cells.items()}
        found = {("dproof", m): np.array(estimates) / people for m, estimates in counts.items()}
        error = float(np.median([row["n"].stderr for row in answers["inverse"]])) / people
        found |= {("peers", name): one for name, one in _peers(found["dproof", "inverse"], error).items()}
        for name, estimate in found.items():
            squares.setdefault(name, []).append(float(np.mean((estimate - shares) ** 2)))
    return {name: Errors(np.array(each)) for name, each in squares.items()}


def _peers(unbiased: Any, error: float) -> dict[str, Any]:
    k, positive = len(unbiased), np.maximum(unbiased, 0)
    threshold = NormalDist().inv_cdf(1 - 2 / k) * error
    largest = np.sort(positive)[::-1]
    kept = int(np.searchsorted(np.cumsum(largest), 1.0, side="right"))  # the largest, as many as add up to 1
    return {
        "Base-Pos": positive,
        "Base-Cut": np.where(unbiased >= threshold, unbiased, 0),
        "Norm": unbiased + (1 - unbiased.sum()) / k,
        "Norm-Mul": positive / positive.sum(),
        "Norm-Cut": np.where(positive > largest[kept], positive, 0) if kept < k else positive,
        "Norm-Sub": on_simplex(unbiased[None], np.ones(1))[0],
        "PowerNS": _power(unbiased, error),
    }


def _power(unbiased: Any, error: float) -> Any:
    """Each share becomes its mean given what was seen, where shares follow a power law that is fitted to the largest
    ones; then the nearest shares that add up to 1."""
    large = np.sort(unbiased[unbiased > 3 * error])[::-1]
    fall = -np.polyfit(np.log(np.arange(1, len(large) + 1)), np.log(large), 1)[0] if len(large) > 2 else 1.0
    values = np.geomspace(0.1 / len(unbiased) ** 2, 1, 400)
    weights = values ** (-1 / max(fall, 0.2))  # of the density x^(−1 − 1/fall), on a grid that grows with x
    joint = np.exp(-0.5 * ((unbiased[:, None] - values) / error) ** 2) * weights
    means = joint @ values / np.maximum(joint.sum(axis=1), 1e-300)
    return on_simplex(means[None], np.ones(1))[0]

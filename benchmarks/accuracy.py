"""How far answers on a private table are off at ε = 1: root mean squared errors beside those of peers, in one run."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import dproof as dp
from benchmarks.census import AGES, SCHOOLING, WEIGHTS, Census, census
from benchmarks.errors import Errors, against, errors
from benchmarks.measure import Grid, Ratio, Section, peer

Answers = dict[str, Callable[[], Any]]
REPEATS = {"count": 900, "sum": 900, "mean": 900, "histogram": 200, "median": 200}
QUESTIONS = {
    "count": "SELECT count(*) AS x FROM data WHERE age < 30",
    "sum": "SELECT sum(age) AS x FROM data",
    "mean": "SELECT avg(age) AS x FROM data",
    "histogram": "SELECT schooling, count(*) AS x FROM data GROUP BY schooling",
    "median": "SELECT median(weight) AS x FROM data",
}
HOW = """On {name} at ε = 1, δ = 0, each {few} to {many} times: people under 30; sum and mean of \
the age, clamped to [0, 100]; a histogram of {bins} levels of schooling, error per bin; the median of a weight clamped \
to [0, 400,000], on a grid of step 20. Root mean squared errors, ± their standard errors. Neighbours and bounds are \
equal for all in a table; an empty cell is something that a peer does not promise under these neighbours.

- dproof: one `curator.ask` each time, debited to a ledger. Exact under either relation.
- OpenDP: the chain of its documentation with the scale that its own privacy map allows. A changed row is distance 2 \
between tables of a public size. Without a public size its mean is a noised sum over a noised count, half of ε each.
- diffprivlib: `tools`. Its sum and mean take the number of rows as public. Its histogram is calibrated to an added or \
removed row, so where a row changes it gets half of ε; its median is calibrated to a changed row \
throughout. Its noise is made of floats.
- PyDP: add-remove only; its histogram is one `Count` per bin.

Each ratio is to the peer that did best in this run. Where laws are the same, as those of counts and sums nearly are, \
it is 1 but for luck, on either side.
"""


def run() -> Section:
    data = census()
    ratios: list[Ratio] = []
    grids = []
    for neighbours in ("add-remove", "change-one"):
        grid, found = _compare(data, neighbours)
        grids.append(grid)
        ratios += found
    how = HOW.format(name=data.name, few=min(REPEATS.values()), many=max(REPEATS.values()), bins=SCHOOLING)
    return Section("Accuracy of answers", how, ratios=tuple(ratios), grids=tuple(grids))


def _compare(data: Census, neighbours: str) -> tuple[Grid, list[Ratio]]:
    truth = {
        "count": np.sum(data.age < 30),
        "sum": np.sum(data.age),
        "mean": np.mean(data.age),
        "histogram": np.bincount(data.schooling, minlength=SCHOOLING + 1)[1:],
        "median": np.median(data.weight),
    }
    with tempfile.TemporaryDirectory() as folder:
        everyone = {
            "dproof": _curator(data, neighbours, Path(folder)),
            "OpenDP": _opendp(data, neighbours),
            "diffprivlib": _diffprivlib(data, neighbours),
            "PyDP": _pydp(data, neighbours),
        }
        found: dict[str, dict[str, Errors]] = {
            name: {what: errors(truth[what], answer, REPEATS[what]) for what, answer in answers.items()}
            for name, answers in everyone.items()
            if answers
        }
    rows = [(what, *(str(of.get(what, "")) for of in found.values())) for what in QUESTIONS]
    ratios = []
    for what in QUESTIONS:
        theirs = {name: of[what] for name, of in found.items() if name != "dproof" and what in of}
        if theirs:
            best = min(theirs, key=lambda name: theirs[name].rmse)
            ratios.append(
                against(f"{what}, {neighbours}: error to the best peer's", found["dproof"][what], theirs[best])
            )
    return Grid((neighbours, *found), tuple(rows)), ratios


def _curator(data: Census, neighbours: str, folder: Path) -> Answers:
    low, high, step = WEIGHTS
    plan = {
        "privacy": {"epsilon": 1000, "neighbours": neighbours},  # enough for each of the repetitions on a ledger
        "columns": {
            # A stand-in for missing values makes the number of values public, as it is for the peers.
            "age": {"space": "interval", "low": AGES[0], "high": AGES[1], "step": 1, "missing": AGES[0]},
            "weight": {"space": "interval", "low": low, "high": high, "step": step},
            "schooling": {"space": "categories", "values": list(range(1, SCHOOLING + 1))},
        },
    }

    def asking(what: str, sql: str) -> Callable[[], Any]:
        curator = dp.Curator(data.table(), plan, ledger=folder / f"{what}.db")
        # A question that was answered at this price or a higher one is not answered again: the price climbs to 1 by
        # millionths.
        prices = (Fraction(10**6 - REPEATS[what] + n, 10**6) for n in count(1))
        return lambda: [row["x"].estimate for row in curator.ask(sql, epsilon=next(prices)).rows]

    return {what: asking(what, sql) for what, sql in QUESTIONS.items()}


def _opendp(data: Census, neighbours: str) -> Answers:
    odp = peer("opendp.prelude")
    if odp is None:
        return {}
    odp.enable_features("contrib")
    changed = neighbours == "change-one"
    size, distance = (len(data.age), 2) if changed else (None, 1)

    def rows(**atom: Any) -> Any:
        return odp.vector_domain(odp.atom_domain(**atom), size=size), odp.symmetric_distance()

    def noised(chain: Any, values: Any, epsilon: float = 1.0) -> Callable[[], Any]:
        """The aggregate is made once and noised again and again: the law is that of the whole chain."""
        aggregate = chain(values.tolist())
        space = chain.output_domain, chain.output_metric
        noise = odp.binary_search_chain(lambda s: space >> odp.m.then_laplace(s), chain.map(distance), epsilon)
        return lambda: noise(aggregate)

    total = rows(T=int) >> odp.t.then_clamp(AGES) >> odp.t.then_sum()
    if changed:
        chain = rows(bounds=tuple(map(float, AGES)), nan=False) >> odp.t.then_mean()
        mean = noised(chain, data.age.astype(float))
    else:
        part, people = noised(total, data.age, 0.5), noised(rows(T=int) >> odp.t.then_count(), data.age, 0.5)

        def mean() -> float:
            return float(part() / people())

    low, high, step = WEIGHTS
    grid = list(range(low, high + 1, step))
    weights = data.weight.tolist()
    median = odp.binary_search_chain(
        lambda s: rows(T=int) >> odp.m.then_private_quantile(odp.max_divergence(), grid, 0.5, s), distance, 1.0
    )
    levels = list(range(1, SCHOOLING + 1))
    histogram = rows(T=int) >> odp.t.then_count_by_categories(levels, null_category=False)
    return {
        "count": noised(rows(bounds=(0, 1)) >> odp.t.then_sum(), (data.age < 30).astype(int)),
        "sum": noised(total, data.age),
        "mean": mean,
        "histogram": noised(histogram, data.schooling),
        "median": lambda: median(weights),
    }


def _diffprivlib(data: Census, neighbours: str) -> Answers:
    tools = peer("diffprivlib.tools")
    if tools is None:
        return {}
    changed = neighbours == "change-one"
    bins = {"bins": SCHOOLING, "range": (0.5, SCHOOLING + 0.5)}
    answers = {
        "count": lambda: tools.count_nonzero(data.age < 30, epsilon=1.0),
        "sum": lambda: tools.sum(data.age, bounds=AGES, epsilon=1.0),
        "histogram": lambda: tools.histogram(data.schooling, epsilon=0.5 if changed else 1.0, **bins)[0],
        "median": lambda: tools.median(data.weight, bounds=WEIGHTS[:2], epsilon=1.0),
    }
    return {**answers, "mean": lambda: tools.mean(data.age, bounds=AGES, epsilon=1.0)} if changed else answers


def _pydp(data: Census, neighbours: str) -> Answers:
    laplacian = peer("pydp.algorithms.laplacian") if neighbours == "add-remove" else None
    if laplacian is None:
        return {}
    ages, weights = data.age.tolist(), data.weight.astype(float).tolist()
    young = data.age[data.age < 30].tolist()
    levels = [data.schooling[data.schooling == n].tolist() for n in range(1, SCHOOLING + 1)]

    def bounded(kind: Any, bounds: Any, dtype: str = "int") -> Any:
        return kind(epsilon=1.0, lower_bound=bounds[0], upper_bound=bounds[1], dtype=dtype)

    def counted(rows: list[int]) -> int:
        return int(laplacian.Count(epsilon=1.0, dtype="int").quick_result(rows))

    return {
        "count": lambda: counted(young),
        "sum": lambda: bounded(laplacian.BoundedSum, AGES).quick_result(ages),
        "mean": lambda: bounded(laplacian.BoundedMean, AGES).quick_result(ages),
        "histogram": lambda: [counted(rows) for rows in levels],
        "median": lambda: bounded(laplacian.Median, WEIGHTS[:2], "float").quick_result(weights),
    }

"""How far answers on a private table are off at ε = 1: root mean squared errors beside those of peers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import dproof as dp
from benchmarks.census import AGES, SCHOOLING, WEIGHTS, Census, census
from benchmarks.errors import Errors, against, errors, exact, geometric_variance
from benchmarks.measure import Grid, Ratio, Section, peer
from benchmarks.medians import diffprivlibs, opendps, ours

Answers = dict[str, Errors | Callable[[], Any]]  # the exact error, or a way to see it
REPEATS = 900
CHECKS = 100  # answers beside each law that was written out
STEPS = 1, 5, 20, 100  # between the candidates for a median
OPENDPS = {"add-remove": 1.0, "change-one": 2.0}  # the scales that OpenDP's privacy map allows for a median
QUESTIONS = {
    "count": "SELECT count(*) AS x FROM data WHERE age < 30",
    "sum": "SELECT sum(age) AS x FROM data",
    "mean": "SELECT avg(age) AS x FROM data",
    "histogram": "SELECT schooling, count(*) AS x FROM data GROUP BY schooling",
    "median": "SELECT median(weight) AS x FROM data",
}
HOW = """On {name} at ε = 1, δ = 0: people under 30; sum and mean of \
the age, clamped to [0, 100]; a histogram of {bins} levels of schooling, error per bin; the median of a weight clamped \
to [0, 400,000], any whole number. Root mean squared errors: exact where the law of the noise is known, else from \
{many} answers, ± their standard errors. The laws of the medians are written out for this table, and {checks} answers \
of each are seen to agree with them. Neighbours and bounds are equal for all in a table; an empty cell is \
something that a peer does not promise under these neighbours.

- dproof: `curator.ask`, debited to a ledger; the exact error is the answer's `stderr`. Exact under either relation.
- OpenDP: the chain of its documentation with the scale that its own privacy map allows. A changed row is distance 2 \
between tables of a public size. Without a public size its mean is a noised sum over a noised count, half of ε each.
- diffprivlib: `tools`. Its sum and mean take the number of rows as public. Its histogram is calibrated to an added or \
removed row, so where a row changes it gets half of ε; its median is calibrated to a changed row \
throughout. Its noise is made of floats; the errors are those of the laws that it means to draw from.
- PyDP: add-remove only; its histogram is one `Count` per bin.

Each ratio is to the best of the peers whose error is exact, or to the best in this run where none is. Where the laws \
are the same, it is 1.

The last table has medians among fewer candidates. dproof reads a value to the nearest one and then chooses, OpenDP \
compares candidates with the values as they are: which is nearer hangs on how the grid lies to the median, and neither \
is nearer throughout.
"""


def run() -> Section:
    data = census()
    ratios: list[Ratio] = []
    grids = []
    for neighbours in ("add-remove", "change-one"):
        grid, found = _compare(data, neighbours)
        grids.append(grid)
        ratios += found
    how = HOW.format(name=data.name, many=REPEATS, checks=CHECKS, bins=SCHOOLING)
    return Section("Accuracy of answers", how, ratios=tuple(ratios), grids=(*grids, _steps(data)))


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
            name: {what: _errors(truth[what], answer) for what, answer in answers.items()}
            for name, answers in everyone.items()
            if answers
        }
    rows = [(what, *(str(of.get(what, "")) for of in found.values())) for what in QUESTIONS]
    ratios = []
    for what in QUESTIONS:
        theirs = {name: of[what] for name, of in found.items() if name != "dproof" and what in of}
        if theirs:
            # The least of several simulated errors is too small by chance: an exact one goes first.
            best = min(theirs, key=lambda name: (not theirs[name].is_exact, theirs[name].rmse))
            ratios.append(
                against(f"{what}, {neighbours}: error to the best peer's", found["dproof"][what], theirs[best])
            )
    return Grid((neighbours, *found), tuple(rows)), ratios


def _steps(data: Census) -> Grid:
    """Medians among fewer candidates."""
    rows = []
    for step in STEPS:
        candidates = _candidates(step)
        both = (
            (ours(data.weight, candidates, name), opendps(data.weight, candidates, scale))
            for name, scale in OPENDPS.items()
        )
        rows.append((str(step), *(str(error) for pair in both for error in pair)))
    header = (f"{name}, {neighbours}" for neighbours in OPENDPS for name in ("dproof", "OpenDP"))
    return Grid(("median, step", *header), tuple(rows))


def _errors(truth: Any, answer: Errors | Callable[[], Any]) -> Errors:
    return answer if isinstance(answer, Errors) else errors(truth, answer, REPEATS)


def _checked(law: Errors, truth: Any, answer: Callable[[], Any]) -> Errors:
    """A law that was written out, where the answers agree with it."""
    seen = errors(truth, answer, CHECKS)
    if abs(seen.rmse / law.rmse - 1) > 5 * seen.uncertainty:
        raise AssertionError(f"the error is {law} by the law and {seen} by {CHECKS} answers")
    return law


def _curator(data: Census, neighbours: str, folder: Path) -> Answers:
    plan = {
        "privacy": {"epsilon": 1, "neighbours": neighbours},
        "columns": {
            # A stand-in for missing values makes the number of values public, as it is for the peers.
            "age": {"space": "interval", "low": AGES[0], "high": AGES[1], "step": 1, "missing": AGES[0]},
            "weight": {"space": "interval", "low": WEIGHTS[0], "high": WEIGHTS[1], "step": 1},
            "schooling": {"space": "categories", "values": list(range(1, SCHOOLING + 1))},
        },
    }

    # A mean over a number of rows that is measured too, and a table that is made to add up to the public number of
    # rows, have laws that depend on the table.
    simulated = "mean" if neighbours == "add-remove" else "histogram"

    numbers = count()

    def ask(sql: str) -> list[Any]:
        # A ledger each time: a question that is asked again of the same one gets the same answer.
        curator = dp.Curator(data.table(), plan, ledger=folder / f"{next(numbers)}.db")
        return [row["x"] for row in curator.ask(sql, epsilon=1).rows]

    def asking(what: str, sql: str) -> Errors | Callable[[], Any]:
        def answer() -> list[Any]:
            return [cell.estimate for cell in ask(sql)]

        if what == "median":
            return _checked(ours(data.weight, _candidates(1), neighbours), np.median(data.weight), answer)
        return answer if what == simulated else exact(ask(sql)[0].stderr ** 2)

    return {what: asking(what, sql) for what, sql in QUESTIONS.items()}


def _candidates(step: int) -> Any:
    return np.arange(WEIGHTS[0], WEIGHTS[1] + 1, step)


def _opendp(data: Census, neighbours: str) -> Answers:
    odp = peer("opendp.prelude")
    if odp is None:
        return {}
    odp.enable_features("contrib")
    changed = neighbours == "change-one"
    size, distance = (len(data.age), 2) if changed else (None, 1)

    def rows(**atom: Any) -> Any:
        return odp.vector_domain(odp.atom_domain(**atom), size=size), odp.symmetric_distance()

    def scale(chain: Any, epsilon: float = 1.0) -> float:
        """Of the Laplace noise that the chain needs: the aggregate itself has no error."""
        space = chain.output_domain, chain.output_metric
        made = odp.binary_search_param(lambda s: space >> odp.m.then_laplace(s), chain.map(distance), epsilon)
        return float(made)

    def noised(chain: Any, values: Any, epsilon: float) -> Callable[[], Any]:
        noise = (chain.output_domain, chain.output_metric) >> odp.m.then_laplace(scale(chain, epsilon))
        aggregate = chain(values.tolist())
        return lambda: noise(aggregate)

    def geometric(chain: Any) -> Errors:
        return exact(geometric_variance(scale(chain)))

    total = rows(T=int) >> odp.t.then_clamp(AGES) >> odp.t.then_sum()
    if changed:
        chain = rows(bounds=tuple(map(float, AGES)), nan=False) >> odp.t.then_mean()
        mean: Errors | Callable[[], Any] = exact(2 * scale(chain) ** 2)
    else:
        part, people = noised(total, data.age, 0.5), noised(rows(T=int) >> odp.t.then_count(), data.age, 0.5)

        mean = lambda: float(part() / people())  # noqa: E731

    candidates = _candidates(1)
    weights = data.weight.tolist()
    median = odp.binary_search_chain(
        lambda s: rows(T=int) >> odp.m.then_private_quantile(odp.max_divergence(), candidates.tolist(), 0.5, s),
        distance,
        1.0,
    )
    law = opendps(data.weight, candidates, OPENDPS[neighbours])
    levels = list(range(1, SCHOOLING + 1))
    histogram = rows(T=int) >> odp.t.then_count_by_categories(levels, null_category=False)
    return {
        "count": geometric(rows(bounds=(0, 1)) >> odp.t.then_sum()),
        "sum": geometric(total),
        "mean": mean,
        "histogram": geometric(histogram),
        "median": _checked(law, np.median(data.weight), lambda: median(weights)),
    }


def _diffprivlib(data: Census, neighbours: str) -> Answers:
    tools = peer("diffprivlib.tools")
    if tools is None:
        return {}
    changed, width = neighbours == "change-one", AGES[1] - AGES[0]
    law = diffprivlibs(data.weight, *WEIGHTS)
    median = _checked(law, np.median(data.weight), lambda: tools.median(data.weight, bounds=WEIGHTS, epsilon=1.0))
    answers: Answers = {
        "count": exact(geometric_variance(1)),
        "sum": exact(geometric_variance(width)),
        "histogram": exact(geometric_variance(2 if changed else 1)),
        "median": median,
    }
    return {**answers, "mean": exact(2 * (width / len(data.age)) ** 2)} if changed else answers


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
        "median": lambda: bounded(laplacian.Median, WEIGHTS, "float").quick_result(weights),
    }

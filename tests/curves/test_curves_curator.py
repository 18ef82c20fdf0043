"""Curves through a curator's session: sensitivity of whole rows, groups, repeated questions, hostile tables."""

from dataclasses import replace
from math import isqrt
from pathlib import Path

import numpy as np
import pytest

from dproof import Curator, Curves, InputError, OverBudget, Plan, Privacy, expand, expect
from dproof.columns.codec import Column
from dproof.curator.draw import draw, tally_in_batches
from dproof.curves.bases import basis
from dproof.curves.noise import VectorNoise
from dproof.plans.plan import schema_of
from dproof.tables import open_source
from dproof.testing import seeded_coins
from tests.makers import measured_for

pa = pytest.importorskip("pyarrow")

POINTS = 13
RNG = np.random.default_rng(0)
LOADS = np.clip(2 + np.sin(np.linspace(0, 6, POINTS)) + RNG.normal(0, 0.5, (400, POINTS)), 0, 5)
KIND = RNG.choice(["flat", "house"], 400)


def plan(neighbours: str = "change-one", **load) -> dict:
    column = {"space": "curves", "points": POINTS, "low": 0, "high": 5, "terms": 4, **load}
    return {
        "privacy": {"epsilon": 20, "delta": "1e-4", "neighbours": neighbours},
        "columns": {"load": column, "kind": {"space": "categories", "values": ["flat", "house"]}},
    }


def table(loads: object = LOADS, kinds: object = KIND) -> object:
    rows = loads.tolist() if isinstance(loads, np.ndarray) else loads
    return pa.table({"load": pa.array(rows, pa.list_(pa.float64())), "kind": pa.array(kinds, pa.string())})


class Silent:
    """Noise of zero, to see the exact sums."""

    def draw(self, count: int, coins: object) -> np.ndarray:
        return np.zeros(count, np.int64)


def exact(question: str, neighbours: str, privacy: Privacy, tables: list[object], **load):
    """What is measured, and the sums of each table without noise."""
    made = Plan.of(plan(neighbours, **load))
    schema = schema_of(made)
    measurement = measured_for(question, schema, privacy)
    sums = measurement.curves
    silent = VectorNoise(sums.noise.split, Silent(), sums.noise.size, sums.noise.terms)
    quiet = replace(measurement, curves=replace(sums, noise=silent))
    tallies = [tally_in_batches(open_source(rows), made, quiet) for rows in tables]
    return sums, [np.array(draw(quiet, counted, None_coins())["noisy"], object) for counted in tallies]


class None_coins:
    private = False


QUESTIONS = [
    "SELECT avg(load) FROM data",
    "SELECT sum(load) FROM data WHERE kind = 'flat'",
    "SELECT kind, avg(load) FROM data GROUP BY kind",
    "SELECT covar(load, load) FROM data",
]
CORNERS = [
    np.clip(2.5 + 9 * np.array(signs) @ basis("cosine", Curves(0, 12, POINTS, 0, 5), 4).evaluate(np.arange(13.0)), 0, 5)
    for signs in ([1, 1, 1, 1], [-1, -1, -1, -1], [1, -1, 1, -1])
]
EXTREMES = [
    *(corner.tolist() for corner in CORNERS),
    [0.0] * POINTS,
    [5.0] * POINTS,
    [0.0, 5.0] * 6 + [0.0],
    [5.0] * 6 + [0.0] * 7,
    None,
]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("neighbours", ["change-one", "add-remove"])
@pytest.mark.parametrize("privacy", [(1, 0), (1, "1e-6")])
@pytest.mark.parametrize(
    "load",
    [{}, {"box": ["0.2"] * 4}, {"kernel": "matern-3/2", "length": 4, "radius": 6}, {"radius": 6}],
    ids=["values", "box", "kernel", "ball"],
)
def test_no_neighbour_moves_the_sums_further_than_is_charged(question, neighbours, privacy, load) -> None:
    price = Privacy(*privacy, neighbours=neighbours)
    if "covar" in question and neighbours == "add-remove":
        with pytest.raises(InputError, match="covariance"):
            exact(question, neighbours, price, [table()], **load)
        return
    base = [LOADS[n].tolist() for n in range(3)]
    kinds = ["flat", "house", "flat"]
    groups = ("flat", "house", None) if "kind" in question else ("flat",)
    variants = [(curve, kind) for curve in EXTREMES for kind in groups]
    if neighbours == "change-one":
        tables = [table([*base, curve], [*kinds, kind]) for curve, kind in variants]
    else:
        tables = [table(base, kinds), *(table([*base, curve], [*kinds, kind]) for curve, kind in variants)]
    charged, sums = exact(question, neighbours, price, tables, **load)
    pairs = [
        (a, b) for n, a in enumerate(sums) for b in (sums[n + 1 :] if neighbours == "change-one" or n == 0 else ())
    ]
    moved = [move(charged, a - b) for a, b in pairs]
    assert max(moved) <= charged.noise.size
    least = 0.02 if "covar" in question else 0.95 if "box" in load and charged.noise.split == "laplace" else 0.1
    assert max(moved) >= least * charged.noise.size  # charged, and not wasted


def move(charged, difference: np.ndarray) -> int:
    """How far sums move, a row for each group, as the noise counts it."""
    if charged.noise.split == "k_norm":
        if charged.lattice.ball == "linf":
            return sum(max(abs(int(x)) for x in group) for group in difference)
        return sum(isqrt(max(0, sum(int(x) ** 2 for x in group) - 1)) + any(group) for group in difference)
    power = 1 if charged.noise.split == "laplace" else 2
    return sum(abs(int(x)) ** power for x in difference.ravel())


@pytest.mark.parametrize("missing", ["refuse", "centre"])
def test_a_broken_curve_is_missing_or_counts_as_the_centre(missing: str) -> None:
    rows = [LOADS[0].tolist(), None, [1.0] * 12, [2.0] * 12 + [None]]
    plain = [LOADS[0].tolist(), *([2.5] * POINTS for _ in range(3 if missing == "centre" else 0))]
    for question in QUESTIONS:
        tables = [table(r, ["flat"] * len(r)) for r in (rows, plain)]
        a, b = exact(question, "change-one", Privacy(1), tables, missing=missing)[1]
        assert (a == b).all()


def test_order_of_rows_and_batches_changes_nothing() -> None:
    order = np.random.default_rng(1).permutation(400)
    shuffled = pa.concat_tables([table(LOADS[order[:7]], KIND[order[:7]]), table(LOADS[order[7:]], KIND[order[7:]])])
    a, b = exact(QUESTIONS[2], "add-remove", Privacy(1, neighbours="add-remove"), [table(), shuffled])[1]
    assert (a == b).all()


def test_a_session(tmp_path: Path) -> None:
    with seeded_coins(5):
        curator = Curator(table(), plan(missing="centre"), ledger=tmp_path / "l.db")
        before = curator.preview("SELECT avg(load) FROM data", epsilon=8, delta="1e-6")
        assert not before.free and before.half_widths["avg(load)"] > 0 and "noise" in str(before)
        answer = curator.ask("SELECT avg(load) FROM data", epsilon=8, delta="1e-6")
        again = curator.ask("SELECT AVG(Load) FROM data", epsilon="0.5")
        assert again.rows[0]["avg(Load)"] == answer.rows[0]["avg(load)"] and "free" in again.notes[0]
        assert 12 < curator.remaining().epsilon < 20 and curator.remaining().rho > 0
        cell = answer.rows[0]["avg(load)"]
        assert len(cell.estimate) == POINTS and np.allclose(cell.estimate, LOADS.mean(axis=0), atol=0.6)
        half = (np.array(cell.high) - np.array(cell.low)).max() / 2
        assert half == pytest.approx(before.half_widths["avg(load)"], rel=0.05)
        groups = curator.curves("SELECT kind, avg(load) FROM data GROUP BY kind", epsilon=8)
        assert [labels for labels, _ in groups] == [("flat",), ("house",)]
        assert groups[0][1].evaluate([0.25, 7.75])[0].shape == (2,)
        assert "whole curve" in groups[0][1].notes[-1] and "NOT PRIVATE" in groups[0][1].notes[1]
        with pytest.raises(OverBudget):
            curator.ask("SELECT sum(load) FROM data", epsilon=8)


def test_the_estimates_are_unbiased_in_every_mode(tmp_path: Path) -> None:
    wanted = {
        "SELECT sum(load) FROM data WHERE kind = 'flat'": LOADS[KIND == "flat"].sum(axis=0),
        "SELECT avg(load) FROM data WHERE kind = 'flat'": LOADS[KIND == "flat"].mean(axis=0),
        "SELECT avg(load) FROM data": LOADS.mean(axis=0),
    }
    for neighbours in ("change-one", "add-remove"):
        given = {**plan(neighbours, terms=10), "privacy": {"epsilon": 900, "delta": "1e-4", "neighbours": neighbours}}
        curator = Curator(table(), given, ledger=tmp_path / f"{neighbours}.db")
        for question, truth in wanted.items():
            ((_, curve),) = curator.curves(question, epsilon=200)
            assert np.abs(curve.estimate / truth - 1).max() < 0.12
            assert (curve.stderr > 0).all()


@pytest.mark.parametrize("missing", ["refuse", "centre"])
def test_the_covariance_of_coefficients(missing: str, tmp_path: Path) -> None:
    """Where curves may be missing those that are there are counted with noise, and the missing ones do not matter."""
    given = {**plan(missing=missing), "privacy": {"epsilon": 900}}
    gaps = [None] * 100 if missing == "refuse" else []
    curator = Curator(table([*LOADS.tolist(), *gaps], [*KIND, *gaps]), given, ledger=tmp_path / "l.db")
    answer = curator.ask("SELECT covar(load, load) FROM data", epsilon=800)
    space = Plan.of(given).column("load").space
    coefficients = (LOADS - 2.5) @ space.by_terms.functions()[0].analysis(space.space).T
    truth = np.cov(coefficients.T)
    found = {(row["i"], row["j"]): row["covariance"] for row in answer.rows}
    assert len(found) == 10
    for (i, j), cell in found.items():
        assert cell.low - 0.02 <= truth[i - 1, j - 1] <= cell.high + 0.02
        assert cell.estimate == pytest.approx(truth[i - 1, j - 1], abs=0.4)


@pytest.mark.parametrize("row", [None, [1.0] * 12, [float("nan")] * POINTS, [float("inf")] * POINTS, [1e300] * POINTS])
def test_neighbouring_tables_behave_alike(tmp_path: Path, row: object) -> None:
    """A broken curve stops nothing: it is missing, and the answer has the same shape."""
    for n, curve in enumerate(([1.0] * POINTS, row)):
        rows = [*LOADS[:20].tolist(), curve]
        curator = Curator(table(rows, ["flat"] * 21), plan(outside="refuse"), ledger=tmp_path / f"{n}.db")
        answer = curator.ask("SELECT avg(load) FROM data", epsilon=1)
        assert len(answer.rows[0]["avg(load)"].estimate) == POINTS


def test_refusals_before_anything_is_spent(tmp_path: Path) -> None:
    curator = Curator(table(), plan(), ledger=tmp_path / "l.db")
    for question in (
        "SELECT count(*) FROM data WHERE load = 3",
        "SELECT avg(load), count(*) FROM data",
        "SELECT avg(load), sum(load) FROM data",
        "SELECT median(load) FROM data",
        "SELECT avg(load) / 2 FROM data",
        "SELECT avg(load) FROM release",
        "SELECT avg(load) FROM data LIMIT 1",
        "SELECT covar(load, load) FROM data WHERE kind = 'flat'",
        "SELECT load, count(*) FROM data GROUP BY load",
        "SELECT avg(load) FROM data WHERE knd = 'flat'",
        "SELECT avg(load) FILTER (WHERE kind = 'flat') FROM data",
    ):
        with pytest.raises(InputError):
            curator.ask(question, epsilon=1)
    with pytest.raises(InputError):
        curator.ask("SELECT avg(load) FROM data", accuracy=1)
    with pytest.raises(InputError):
        curator.ask("SELECT avg(load) FROM data", epsilon=0)
    with pytest.raises(InputError):
        curator.curves("SELECT count(*) FROM data", epsilon=1)
    assert curator.remaining().epsilon == 20


@pytest.mark.parametrize(
    "values",
    [pa.array([1, 2**60 + 1]), pa.array([1, 2**64 - 1], pa.uint64()), pa.array([b"1", b"\xff"])],
    ids=["whole numbers that no float is", "the largest", "bytes that are no text"],
)
def test_no_value_of_a_curve_stops_the_work(values) -> None:
    region = expand(Curves(0, 1, 3, 0, 10), terms=3)
    text = [values.view(pa.string()), values.dictionary_encode()] if pa.types.is_binary(values.type) else []
    for array in (values, *text):
        column = Column("load", "curves", ("a", "b", "c"), region, "wide", clamp=True, invalid_as_null=True)
        places = column.encoder()([array] * 3)
        assert places[0].min() > 0 and len(places) == 2


@pytest.mark.parametrize("missing", ["refuse", "centre"])
def test_no_curve_outside_its_range_stops_a_curator(missing: str, tmp_path: Path) -> None:
    broken = [[9.0] * POINTS, [None] * POINTS, [1.0]]
    rows = table([*LOADS.tolist(), *broken], [*KIND, *["flat"] * 3])
    curator = Curator(rows, plan(outside="refuse", missing=missing), ledger=tmp_path / "budget.db")
    (row,) = curator.ask("SELECT avg(load) AS mean FROM data", epsilon=10).rows
    assert np.abs(np.subtract(row["mean"].estimate, LOADS.mean(axis=0))).max() < 1  # the broken ones hardly count


@pytest.mark.parametrize("neighbours", ["change-one", "add-remove"])
@pytest.mark.parametrize("asked", ["avg", "sum"])
def test_the_band_of_groups_is_told_as_it_will_be(tmp_path: Path, neighbours: str, asked: str) -> None:
    """± of curves by groups, whose numbers have noise, was not told before there is data."""
    sql, rows = f"SELECT kind, {asked}(load) AS l FROM data GROUP BY kind", 4_000
    even = table(np.full((rows, POINTS), 2.5), ["flat", "house"] * (rows // 2))
    with seeded_coins(1):
        cells = Curator(even, plan(neighbours), ledger=tmp_path / "budget.db").ask(sql, epsilon=2, delta=0).rows
    had = [float(np.subtract(row["l"].high, row["l"].low).max()) / 2 for row in cells]
    alone = plan(neighbours) | {"privacy": {"epsilon": 2, "neighbours": neighbours}}
    (told,) = expect(alone, rows=rows, questions=sql, way="ask")
    assert told.half_width == pytest.approx(had[0], rel=0.1) and not told.exact

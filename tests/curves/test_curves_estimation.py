"""Mean curves from a release: unbiased, with bands that hold for the whole curve."""

import numpy as np
import pytest

from dproof import Curves, InputError, Privacy, sanitise
from dproof.curves.bands import band_quantile, drawn_quantile, tube_quantile
from dproof.curves.bases import basis
from dproof.curves.noise import vector_noise
from dproof.testing import seeded_coins

pa = pytest.importorskip("pyarrow")

ROWS = 600
TIMES = np.arange(24.0)
RNG = np.random.default_rng(7)
KIND = RNG.choice(["flat", "house"], ROWS)
LOADS = np.clip(
    (1 + 0.6 * np.exp(-(((TIMES - 8) / 3) ** 2)) + np.exp(-(((TIMES - 19) / 3) ** 2)))
    * RNG.gamma(8, 1 / 8, (ROWS, 1))
    * (1 + 0.7 * (KIND == "house")[:, None]),
    0,
    5,
)


def released(seed: int, mechanism: str = "auto", form: str = "list"):
    load = {"space": "curves", "low": 0, "high": 5, "terms": 8, "mechanism": mechanism, "share": 3}
    names = [f"h{n}" for n in range(24)]
    columns = {"load": LOADS.tolist()} if form == "list" else {n: LOADS[:, k] for k, n in enumerate(names)}
    plan = {
        "privacy": {"epsilon": "8", "delta": "1e-6"},
        "columns": {
            "kind": {"space": "categories", "values": ["flat", "house"]},
            "zone": {"public": True},
            "load": {**load, **({"points": 24} if form == "list" else {"columns": names})},
        },
    }
    table = pa.table({"kind": KIND, "zone": ["a", "b"] * (ROWS // 2), **columns})
    with seeded_coins(seed):
        return sanitise(table, plan)


def kept(release) -> np.ndarray:
    lattice = release.law.group_of("load").mechanism.lattice
    return lattice.evaluate(lattice.coefficients(lattice.space.encode(LOADS)))


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_bands_cover_the_whole_curve(mechanism: str) -> None:
    hits = {"all": 0, "public": 0, "private": 0}
    errors = []
    runs = 30
    for seed in range(runs):
        release = released(seed, mechanism)
        truth = kept(release)
        whole = release.mean_curve("load")
        hits["all"] += whole.covers(truth.mean(axis=0))
        hits["public"] += release.mean_curve("load", where="zone = 'b'").covers(truth[1::2].mean(axis=0))
        house = release.mean_curve("load", where="kind = 'house'")
        hits["private"] += house.covers(truth[KIND == "house"].mean(axis=0))
        errors.append((whole.unbiased - truth.mean(axis=0)) / whole.stderr)
    assert all(0.8 * runs <= count <= runs for count in hits.values()), hits
    assert np.abs(np.mean(errors, axis=0)).max() < 4.5 / np.sqrt(runs)
    assert 0.75 < np.std(errors) < 1.25


def test_sql_answers_with_lists_and_refuses_what_it_cannot_tell() -> None:
    release = released(1, form="wide")
    answer = release.query("SELECT kind, avg(load) AS curve FROM release WHERE zone = 'a' GROUP BY kind")
    assert [row["kind"] for row in answer.rows] == ["flat", "house"]
    cell = answer.rows[0]["curve"].to_json()
    assert {len(cell[field]) for field in ("estimate", "low", "high", "stderr")} == {24}
    zones = release.query("SELECT zone, sum(load) AS total FROM release GROUP BY zone").rows
    whole = release.mean_curve("load", total=True)
    assert np.allclose(sum(np.array(row["total"].estimate) for row in zones), whole.estimate)
    assert np.allclose(whole.estimate, ROWS * release.mean_curve("load").unbiased)
    for sql in (
        "SELECT count(*) FROM release WHERE load = 3",
        "SELECT load, count(*) FROM release GROUP BY load",
        "SELECT median(load) FROM release",
        "SELECT avg(load), count(*) FROM release",
        "SELECT avg(load), 7 AS seven FROM release",
        "SELECT 2 * avg(load) FROM release",
        "SELECT sum(load) FROM release WHERE kind = 'flat'",
        "SELECT avg(load) FROM data",
        "SELECT avg(load) FROM release WHERE kind = 'castle'",
        "SELECT avg(load) FROM release LIMIT 1",
    ):
        with pytest.raises(InputError):
            release.query(sql)
    (other,) = release.query("SELECT avg(load) AS curve FROM release WHERE kind <> 'flat' AND zone = 'a'").rows
    assert np.allclose(other["curve"].estimate, answer.rows[1]["curve"].estimate)
    with pytest.raises(InputError, match="no rows"):
        release.mean_curve("load", where="zone = 'nowhere'")
    assert release.query("SELECT avg(load) AS m FROM release WHERE zone = 'nowhere'").rows[0]["m"].estimate is None
    (never,) = release.query("SELECT avg(load) AS m FROM release WHERE kind = 'flat' AND kind = 'house'").rows
    assert never["m"].estimate is None
    assert release.query("SELECT kind, count(*) FROM release GROUP BY kind").rows


def test_an_estimate_is_a_function_with_a_table_and_a_picture() -> None:
    estimate = released(2).mean_curve("load")
    value, low, high, stderr = estimate.evaluate([0.5, 22.25])
    assert (low < value).all() and (value < high).all() and (stderr > 0).all()
    assert len(estimate.table().rows) == 24 and "±" in str(estimate) and "<table>" in estimate._repr_html_()
    chart = estimate.chart(original=LOADS.mean(axis=0), title="mean load")
    assert "layer" in chart.to_dict()
    population = released(2).mean_curve("load", target="population")
    assert (population.stderr > estimate.stderr).mean() > 0.5


def test_the_tube_quantile_covers_a_gaussian_process_closely() -> None:
    loadings = basis("cosine", Curves(0, 1, 200, 0, 1), 9).evaluate(np.linspace(0, 1, 200))
    draws = np.abs(np.random.default_rng(3).normal(size=(20_000, 9)) @ (loadings / np.sqrt((loadings**2).sum(axis=0))))
    for level in (0.8, 0.95, 0.99):
        inside = (draws.max(axis=1) <= tube_quantile(loadings, level)).mean()
        assert level - 0.005 <= inside <= level + 0.03


def test_the_drawn_quantile_agrees_and_is_wider_for_laplace() -> None:
    loadings = basis("cosine", Curves(0, 1, 200, 0, 1), 9).evaluate(np.linspace(0, 1, 200))
    with seeded_coins(1) as coins:
        gauss = vector_noise("gaussian", 10**8, 9, Privacy(1, "1e-6"))
        drawn = drawn_quantile(loadings, gauss.law, float(gauss.variance) ** 0.5, 0.95, coins)
        laplace = vector_noise("laplace", 10**4, 9, Privacy(1))
        heavy = band_quantile(loadings, laplace.law, float(laplace.variance) ** 0.5, 0.95, coins, at_points=False)
    assert drawn == pytest.approx(tube_quantile(loadings, 0.95), rel=0.03)
    assert heavy > drawn

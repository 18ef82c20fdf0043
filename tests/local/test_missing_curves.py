"""What a release tells of curves that may be missing: how many there are, and the mean of those."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof.laws.debias import PresenceAxis
from dproof.questions.question import Missing, Not
from dproof.questions.sums import Term
from dproof.testing import seeded_coins

N, POINTS = 1500, 12
DICE = np.random.default_rng(8)
KIND = DICE.choice(["flat", "house"], N)
ZONE = DICE.choice(["a", "b"], N)
AGE = DICE.integers(0, 100, N)
TIMES = np.arange(POINTS)
LOADS = np.clip(1 + 2 * np.exp(-(((TIMES - 4) / 3) ** 2)) * DICE.gamma(6, 1 / 6, (N, 1)), 0, 5)
LOADS[KIND == "house"] *= 0.6
GONE = DICE.random(N) < np.where(KIND == "house", 0.5, 0.1)
NAMES = [f"h{n}" for n in range(POINTS)]


def released(epsilon: Any, form: str = "list", seed: int = 1, gone: Any = GONE, **load: Any) -> dp.Release:
    keys = {"points": POINTS} if form == "list" else {"columns": NAMES}
    curves = {"space": "curves", "low": 0, "high": 5, "terms": 5, "missing": "category", "share": 4, **keys, **load}
    plan = {
        "privacy": {"epsilon": epsilon},
        "columns": {
            "kind": {"space": "categories", "values": ["flat", "house"]},
            "zone": {"public": True},
            "age": {"space": "interval", "low": 0, "high": 99, "step": 1, "missing": "category"},
            "load": curves,
        },
    }
    lists = [None if g else x.tolist() for g, x in zip(gone, LOADS, strict=True)]
    held: dict[str, Any] = {"load": lists}
    if form == "wide":
        held = {name: pa.array(LOADS[:, n], mask=gone) for n, name in enumerate(NAMES)}
    with seeded_coins(seed):
        return dp.sanitise(pa.table({"kind": KIND, "zone": ZONE, "age": AGE, **held}), plan)


def kept(release: dp.Release) -> np.ndarray:
    """The curves as far as the basis can say them."""
    lattice: Any = release.law.group_of("load").mechanism.lattice  # type: ignore[attr-defined]
    return np.asarray(lattice.evaluate(lattice.coefficients(lattice.space.encode(LOADS))))


@pytest.fixture(scope="module", params=["list", "wide"])
def precise(request: pytest.FixtureRequest) -> dp.Release:
    """With an epsilon that hides nothing the answers are those of the table."""
    return released(1000, request.param)


@pytest.mark.parametrize(
    ("where", "chosen"),
    [
        ("", np.ones(N, bool)),
        ("WHERE kind = 'house'", KIND == "house"),
        ("WHERE zone = 'b'", ZONE == "b"),
        ("WHERE kind = 'flat' AND zone = 'a'", (KIND == "flat") & (ZONE == "a")),
        ("WHERE load IS NOT NULL AND kind = 'flat'", KIND == "flat"),
        ("WHERE kind = 'flat' OR load IS NOT NULL", np.ones(N, bool)),
    ],
)
def test_a_mean_is_of_the_curves_that_are_there(precise: dp.Release, where: str, chosen: np.ndarray) -> None:
    (row,) = precise.query(f"SELECT avg(load) AS m FROM release {where}").rows
    assert row["m"].estimate == pytest.approx(kept(precise)[chosen & ~GONE].mean(axis=0), abs=0.03)
    assert (np.array(row["m"].low) < row["m"].high).all()


def test_means_by_group_and_with_a_filter(precise: dp.Release) -> None:
    rows = precise.query("SELECT kind, zone, avg(load) AS m FROM release GROUP BY kind, zone").rows
    assert [(row["kind"], row["zone"]) for row in rows] == [(k, z) for k in ("flat", "house") for z in "ab"]
    for row in rows:
        chosen = (row["kind"] == KIND) & (row["zone"] == ZONE) & ~GONE
        assert row["m"].estimate == pytest.approx(kept(precise)[chosen].mean(axis=0), abs=0.03)
    (row,) = precise.query("SELECT avg(load) FILTER (WHERE zone = 'a') AS m FROM release").rows
    assert row["m"].estimate == pytest.approx(kept(precise)[(ZONE == "a") & ~GONE].mean(axis=0), abs=0.03)


def test_counts_of_missing_curves(precise: dp.Release) -> None:
    for condition, true in (
        ("load IS NULL", GONE),
        ("load IS NOT NULL", ~GONE),
        ("load IS NULL AND kind = 'house'", GONE & (KIND == "house")),
        ("load IS NULL OR kind = 'house'", GONE | (KIND == "house")),
        ("NOT (load IS NULL OR zone = 'a')", ~GONE & (ZONE == "b")),
        ("load IS NULL AND load IS NOT NULL", np.zeros(N)),
    ):
        (row,) = precise.query(f"SELECT count(*) AS n FROM release WHERE {condition}").rows
        assert row["n"].estimate == pytest.approx(true.sum(), abs=0.5), condition
    rows = precise.query("SELECT kind, count(load) AS n, count(*) AS rows FROM release GROUP BY kind").rows
    assert [row["n"].estimate for row in rows] == pytest.approx(
        [(~GONE & (k == KIND)).sum() for k in ("flat", "house")], abs=0.5
    )
    (row,) = precise.query("SELECT avg(age) AS a FROM release WHERE load IS NULL").rows
    assert row["a"].estimate == pytest.approx(AGE[GONE].mean(), abs=0.5)


def test_what_is_not_told_is_refused_in_a_sentence(precise: dp.Release) -> None:
    for sql, said in (
        ("SELECT sum(load) FROM release", "where no curve may be missing"),
        ("SELECT avg(load) FROM release WHERE age < 30", "numbers under noise"),
        ("SELECT load, count(*) FROM release GROUP BY load", "holds curves"),
        ("SELECT count(*) FROM release WHERE load = 3", "holds curves"),
    ):
        with pytest.raises(dp.InputError, match=said):
            precise.query(sql)
    with pytest.raises(dp.InputError, match="no rows"):
        precise.mean_curve("load", where="load IS NULL")
    assert precise.query("SELECT avg(load) AS m FROM release WHERE load IS NULL").rows[0]["m"].estimate is None
    plain = released(1000, missing="centre")
    with pytest.raises(dp.InputError, match="holds curves"):
        plain.query("SELECT count(*) FROM release WHERE load IS NULL")


def test_a_mean_curve_is_the_answer_in_sql(precise: dp.Release) -> None:
    (row,) = precise.query("SELECT avg(load) AS m FROM release WHERE kind = 'flat'").rows
    found = precise.mean_curve("load", where="kind = 'flat'")
    assert np.allclose(found.estimate, row["m"].estimate) and np.allclose(found.high, row["m"].high)


@pytest.mark.parametrize("missing", [0, N])
def test_where_all_curves_or_none_are_missing(missing: int) -> None:
    release = released(40, gone=np.arange(N) < missing)
    (row,) = release.query("SELECT count(load) AS n FROM release").rows
    assert row["n"].low <= N - missing <= row["n"].high
    if not missing:
        assert release.mean_curve("load").covers(kept(release).mean(axis=0))


def test_scores_are_right_on_average_whatever_a_row_holds() -> None:
    """For the number of curves and for sums over them: Σ over shown and not shown of P·s·z, exactly but for floats."""
    from dproof.local.counts import QuestionAxes

    release = released(4)
    law: Any = release.law.group_of("load").mechanism.family
    there = Not(Missing("load"))
    counting = QuestionAxes(release.law, [Term((), there)])
    (axis,) = counting.axes
    assert isinstance(axis, PresenceAxis)
    p, q = law.present / law.whole, law.missing / law.whole
    for columns, present, missing in (((), 1.0, 0.0), (("load",), 1.0, q / p)):
        sought = counting.sum_of(Term(columns, there))
        shown, hidden = axis.scores(sought.powers[0]).matrix @ sought.weights
        # A missing curve has the middle, z = 0, where it is shown: whatever its score, it adds nothing to a sum.
        assert p * shown + (1 - p) * hidden == pytest.approx(present)
        assert q * shown + (1 - q) * hidden == pytest.approx(missing)

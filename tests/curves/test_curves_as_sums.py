"""AVG and SUM of curves are aggregates like others: one check, one key, one answer, whatever the spelling."""

from pathlib import Path

import numpy as np
import pytest

from dproof import Curator, InputError, Plan, sanitise
from dproof.testing import seeded_coins

pa = pytest.importorskip("pyarrow")

POINTS, ROWS = 7, 300
KIND, ZONE = (np.arange(ROWS) % n for n in (2, 3))
LOADS = 1.0 + KIND[:, None] + ZONE[:, None] / 2 + np.zeros(POINTS)


def plan(questions: tuple[str, ...] = (), **load) -> dict:
    return {
        "privacy": {"epsilon": 900},
        "columns": {
            "load": {"space": "curves", "points": POINTS, "low": 0, "high": 5, "terms": 3, **load},
            "kind": {"space": "categories", "values": ["flat", "house"]},
            "zone": {"space": "categories", "values": ["a", "b", "c"]},
        },
        **({"questions": [{"sql": sql} for sql in questions]} if questions else {}),
    }


def table() -> object:
    kinds, zones = np.array(["flat", "house"])[KIND], np.array(["a", "b", "c"])[ZONE]
    return pa.table({"load": LOADS.tolist(), "kind": kinds, "zone": zones})


def test_the_order_of_groups_is_a_spelling_and_no_group_gets_the_curve_of_another(tmp_path: Path) -> None:
    curator = Curator(table(), plan(missing="centre"), ledger=tmp_path / "budget.db")
    first = curator.ask("SELECT kind, zone, avg(load) AS m FROM data GROUP BY kind, zone", epsilon=400)
    again = curator.ask("SELECT kind, zone, avg(load) AS m FROM data GROUP BY zone, kind", epsilon=400)
    assert curator.remaining().epsilon == 500
    curves = [{(row["kind"], row["zone"]): row["m"] for row in answer.rows} for answer in (first, again)]
    assert curves[0].keys() == curves[1].keys()
    for (kind, zone), cell in curves[1].items():
        truth = 1 + ["flat", "house"].index(kind) + ["a", "b", "c"].index(zone) / 2
        assert cell.estimate == pytest.approx(curves[0][kind, zone].estimate)
        assert cell.estimate == pytest.approx([truth] * POINTS, abs=0.3)
    functions = curator.curves("SELECT zone, kind, avg(load) FROM data GROUP BY zone, kind", epsilon=400)
    assert [labels for labels, _ in functions][:2] == [("a", "flat"), ("a", "house")]
    assert functions[1][1].estimate == pytest.approx([2.0] * POINTS, abs=0.3)


def test_a_covariance_that_was_paid_better_answers_a_cheaper_question(tmp_path: Path) -> None:
    curator = Curator(table(), plan(), ledger=tmp_path / "budget.db")  # a curve may be missing
    sql = "SELECT covar(load, load) FROM data"
    first, again = (curator.ask(sql, epsilon=epsilon) for epsilon in (200, 100))
    assert "free" in again.notes[0] and first.rows == again.rows and curator.remaining().epsilon == 700


def test_a_price_and_an_accuracy_are_not_both_given(tmp_path: Path) -> None:
    curator = Curator(table(), plan(missing="centre"), ledger=tmp_path / "budget.db")
    with pytest.raises(InputError, match="with epsilon, or how good"):
        curator.ask("SELECT avg(load) FROM data", epsilon=1, accuracy=1)
    with pytest.raises(InputError, match="with epsilon what a question about curves"):
        curator.ask("SELECT avg(load) FROM data", accuracy=1)
    assert curator.remaining().epsilon == 900


def test_a_release_shows_the_groups_that_a_filter_leaves_nothing_of() -> None:
    with seeded_coins(3):
        release = sanitise(table(), plan())
    sql = "SELECT kind, avg(load) FILTER (WHERE kind = 'flat') AS flats, avg(load) AS m FROM release GROUP BY kind"
    rows = release.query(sql).rows
    assert [row["kind"] for row in rows] == ["flat", "house"]
    assert rows[0]["flats"] == rows[0]["m"] and rows[1]["flats"].estimate is None
    assert rows[1]["m"].estimate == pytest.approx([2.5] * POINTS, abs=0.3)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT avg(load) FROM data LIMIT 1",
        "SELECT kind, avg(load) FROM release GROUP BY kind HAVING count(*) > 3",
        "SELECT median(load) FROM data",
        "SELECT avg(load), count(*) FROM release",
        "SELECT count(load) FROM release",
    ],
)
def test_a_plan_refuses_a_question_about_curves_that_nobody_can_answer(sql: str) -> None:
    with pytest.raises(InputError, match="curves"):
        Plan.of(plan((sql,)))


def test_a_plan_may_ask_how_many_curves_there_are() -> None:
    asked = (
        "SELECT count(load) FROM data",
        "SELECT count(*) FROM data WHERE load IS NULL",
        "SELECT avg(load) FROM data",
    )
    assert [question.sql for question in Plan.of(plan(asked)).questions] == list(asked)

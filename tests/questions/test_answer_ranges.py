"""Intervals are cut to what is possible, and an answer that tells nothing says so."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow
import pytest

import dproof as dp
from dproof import Answer, Categories, Cell, Interval, Open
from dproof.questions.answer import Range
from dproof.questions.measured import possible
from dproof.questions.question import Schema
from dproof.testing import seeded_coins
from tests.makers import resolved

SCHEMA = Schema(
    "data",
    {
        "sex": Categories(["f", "m"]),
        "age": Interval(-2, 3),
        "size": Categories([1, 4, None]),
        "free": Open(),
    },
)
INF = float("inf")


def reach(sql: str, rows: int | None = 4) -> tuple[float, float]:
    question = resolved(sql, SCHEMA)
    (item,) = question.select
    found = possible(item.expression, question, SCHEMA, rows)
    return float(found.low), float(found.high)


@pytest.mark.parametrize(
    ("sql", "low", "high"),
    [
        ("SELECT count(*) FROM data", 4, 4),
        ("SELECT count(*) FROM data WHERE sex = 'f'", 0, 4),
        ("SELECT count(size) FROM data", 0, 4),
        ("SELECT count(free) FROM data", 0, 4),
        ("SELECT count(free) / count(*) FROM data", 0, 1),
        ("SELECT count(DISTINCT sex) FROM data", 1, 2),
        ("SELECT sum(age) FROM data", -8, 12),
        ("SELECT sum(size) FROM data", 0, 16),
        ("SELECT sum(age) FROM data WHERE sex = 'f'", -8, 12),
        ("SELECT sum(free) FROM data", -INF, INF),
        ("SELECT avg(age) FROM data", -2, 3),
        ("SELECT median(size) FROM data", 1, 4),
        ("SELECT max(age) FROM data", -2, 3),
        ("SELECT var_pop(age) FROM data", 0, 6.25),
        ("SELECT var_samp(age) FROM data", 0, 6.25 * 4 / 3),
        ("SELECT var_samp(age) FROM data WHERE sex = 'f'", 0, 12.5),
        ("SELECT stddev_pop(age) FROM data", 0, 2.5),
        ("SELECT covar_pop(age, size) FROM data", -3.75, 3.75),
        ("SELECT corr(age, size) FROM data", -1, 1),
        ("SELECT proportion(sex = 'f') FROM data", 0, 1),
        ("SELECT 100 * proportion(sex = 'f') FROM data", 0, 100),
        ("SELECT 100.0 * count(*) FILTER (WHERE sex = 'f') / count(*) FROM data", 0, 100),
        ("SELECT sum(age) / count(*) FROM data", -2, 3),
        ("SELECT sum(size) / count(*) FROM data", 0, 4),
        ("SELECT count(*) FILTER (WHERE sex = 'f') / count(*) FILTER (WHERE sex = 'm') FROM data", 0, 4),
        ("SELECT count(*) - 10 FROM data WHERE sex = 'f'", -10, -6),
        ("SELECT avg(age) * avg(age) FROM data", -6, 9),
        ("SELECT 1 / avg(age) FROM data", -INF, INF),
        ("SELECT 1 / avg(size) FROM data", 0.25, 1),
    ],
)
def test_the_range_of_an_expression(sql: str, low: float, high: float) -> None:
    assert reach(sql) == (low, high)


def test_a_private_number_of_rows_bounds_nothing_from_above() -> None:
    assert reach("SELECT count(*) FROM data WHERE sex = 'f'", None) == (0, INF)
    assert reach("SELECT sum(age) FROM data", None) == (-INF, INF)
    assert reach("SELECT sum(size) FROM data", None) == (0, INF)
    assert reach("SELECT avg(age) FROM data", None) == (-2, 3)


def test_no_table_leaves_the_range() -> None:
    """Every table of three rows: whatever is calculated of it lies in the range that was told without it."""
    values = [-2.0, 0.0, 3.0]
    for ages in product(values, repeat=3):
        x = np.array(ages)
        for sql, true in (
            ("SELECT sum(age) FROM data", x.sum()),
            ("SELECT var_pop(age) FROM data", x.var()),
            ("SELECT var_samp(age) FROM data", x.var(ddof=1)),
            ("SELECT stddev_samp(age) FROM data", x.std(ddof=1)),
            ("SELECT var_samp(age) FROM data WHERE sex = 'f'", x[:2].var(ddof=1)),
            ("SELECT sum(age) FROM data WHERE sex = 'f'", x[:1].sum()),
        ):
            low, high = reach(sql, 3)
            assert low - 1e-12 <= true <= high + 1e-12, (sql, ages)


def test_an_estimate_that_is_not_possible_has_the_interval_of_the_nearest_value_that_is() -> None:
    people = Range(Fraction(0), Fraction(50))
    for half in (5.0, 20.0, 30.0, 45.0):
        for middle in (-200.0, -60.0, -3.0, 0.0, 25.0, 49.0, 50.0, 90.0):
            cell = people.cut(Cell(middle, middle - half, middle + half, half / 2, 5))
            moved = min(max(middle, 0), 50)
            assert (cell.low, cell.high) == (max(moved - half, 0), min(moved + half, 50))
        nothing = people.cut(Cell(-70.0, -120.0, -20.0, 25.0, 5))  # far off, and as wide as all that is possible
        assert (nothing.low, nothing.high, nothing.informative) == (0, 50, False)
    assert people.cut(Cell(None, -INF, 30.0)).informative  # a bound on one side


@pytest.mark.parametrize("spread", [0.1, 0.2, 0.27, 0.3, 0.4, 0.5])
def test_answers_that_tell_something_cover_as_often_as_they_say(spread: float) -> None:
    """Exactly, for a normal error: those outside of the range are moved, and those that are wide say nothing."""
    share, errors = Range(Fraction(0), Fraction(1)), spread * np.linspace(-5, 5, 2001)
    weights, half = np.exp(-((errors / spread) ** 2) / 2), 1.96 * spread
    for true in np.linspace(0, 1, 11):
        cells = [share.cut(Cell(true + e, true + e - half, true + e + half)) for e in errors]
        told = np.array([cell.informative for cell in cells])
        held = np.array([cell.low <= true <= cell.high for cell in cells])
        assert weights[held].sum() >= 0.949 * weights.sum()
        assert weights[told & held].sum() >= 0.949 * weights[told].sum()


def test_a_cut_interval() -> None:
    people = Range(Fraction(0), Fraction(50))
    cut = people.cut(Cell(-3.0, -23.0, 17.0, 10.2, 5))
    assert (cut.estimate, cut.low, cut.high, cut.stderr, cut.raw) == (-3.0, 0.0, 20.0, 10.2, 5) and cut.informative
    assert str(cut) == "0 [0, 20]"
    nothing = people.cut(Cell(-2.1e17, -8e17, 6e17, 4e17, 5))
    assert (nothing.estimate, nothing.low, nothing.high) == (None, 0, 50) and not nothing.informative
    assert nothing.raw == -2.1e17
    assert str(nothing) == "no information" and nothing.to_json()["informative"] is False
    unbounded = Cell(3.0, -INF, INF, 1.0, 3.0)
    assert (people.cut(unbounded).low, people.cut(unbounded).high, people.cut(unbounded).informative) == (0, 50, False)
    assert (Range().cut(unbounded).low, Range().cut(unbounded).high, Range().cut(unbounded).informative) == (
        None, None, False,
    )  # fmt: skip
    exact = people.cut(Cell(50, 50.0, 50.0, 0.0, 50))
    assert exact.informative and str(exact) == "50"
    curve = Range(Fraction(0), Fraction(1)).cut(Cell([0.5, 2.0], [-1.0, -1.0], [2.0, 0.5], [1.0, 1.0], [0.5, 2.0]))
    assert (
        curve.low == [0, 0] and curve.high == [1, 0.75] and curve.informative and curve.clamped_estimate == [0.5, 0.75]
    )


PLAN = {
    "privacy": {"epsilon": 1},
    "columns": {
        "likes": {"space": "subsets", "values": list("abcdef"), "separator": ";"},
        "age": {"space": "interval", "low": 0, "high": 100, "step": 1},
        "sex": {"space": "categories", "values": ["f", "m"]},
    },
}
N = 400


def people() -> pyarrow.Table:
    dice = np.random.default_rng(4)
    return pyarrow.table(
        {
            "likes": [";".join(x for x in "abcdef" if dice.random() < 0.4) for _ in range(N)],
            "age": dice.integers(20, 60, N),
            "sex": ["f", "m"] * (N // 2),
        }
    )


@pytest.fixture(scope="module")
def release() -> dp.Release:
    with seeded_coins(5):
        return dp.sanitise(people(), PLAN)


SQL = (
    "SELECT likes, count(*) AS n, avg(age) AS a, stddev(age) AS s, sum(age) AS t, proportion(sex = 'f') AS p, "
    "median(age) AS m FROM release GROUP BY likes"
)
RANGES = {"n": (0, N), "a": (0, 100), "s": (0, 71), "t": (0, 100 * N), "p": (0, 1), "m": (0, 100)}


@pytest.mark.parametrize("method", ["inverse", "likelihood"])
def test_what_a_release_says_is_possible(release: dp.Release, method: str) -> None:
    sql = SQL if method == "inverse" else "SELECT likes, sex, count(*) AS n FROM release GROUP BY likes, sex"
    answer = release.query(sql, method=method)
    for row, (name, (low, high)) in product(answer.rows, RANGES.items()):
        if name in row and row[name].low is not None:
            assert low <= row[name].low <= row[name].high <= high, name
    assert any(not row["n"].informative for row in answer.rows)
    assert any(note.startswith("no information at this ε") and "dproof ask" in note for note in answer.notes)
    if method == "inverse":  # unbiased, and so far off
        assert min(row["n"].raw for row in answer.rows if not row["n"].informative) < 0
        assert max(row["n"].stderr for row in answer.rows) > N
    text = str(answer) + answer._repr_html_()
    assert "no information" in text and "-" not in text.replace("</", "").split("no information at this")[0]


def test_a_root_has_the_interval_of_its_square(release: dp.Release) -> None:
    (row,) = release.query("SELECT stddev(age) AS s, var_samp(age) AS v FROM release").rows
    low, high = (max(0.0, end) ** 0.5 for end in (row["v"].low, row["v"].high))
    assert (row["s"].low, row["s"].high) == pytest.approx((low, min(high, 50 * (N / (N - 1)) ** 0.5)))


@pytest.mark.parametrize("neighbours", ["change-one", "add-remove"])
def test_what_a_curator_says_is_possible(neighbours: str, tmp_path: Path) -> None:
    plan = PLAN | {"privacy": {"epsilon": 1, "neighbours": neighbours}}
    sql = "SELECT sex, count(*) AS n, sum(age) AS t, avg(age) AS a, proportion(age < 30) AS p FROM data GROUP BY sex"
    with seeded_coins(6):
        curator = dp.Curator(people(), plan, ledger=tmp_path / "budget.db")
        answer = curator.ask(sql, epsilon="0.0002")
    for row in answer.rows:
        assert 0 <= row["a"].low <= row["a"].high <= 100 and 0 <= row["p"].low <= row["p"].high <= 1
        assert row["n"].low >= 0 and row["t"].low >= 0
        if neighbours == "change-one":
            assert row["n"].high <= N and row["t"].high <= 100 * N and not row["n"].informative
        else:
            assert row["n"].high > N and row["n"].informative  # the number of rows is private
    assert any(note.startswith("no information at this ε") for note in answer.notes)
    assert "no information" in str(answer)


def test_a_preview_says_that_an_answer_would_tell_nothing(tmp_path: Path) -> None:
    curator = dp.Curator(people(), PLAN, ledger=tmp_path / "budget.db")
    sql = "SELECT count(*) AS n, median(age) AS m FROM data WHERE sex = 'f'"
    poor, good = (curator.preview(sql, epsilon=epsilon) for epsilon in ("0.001", "0.5"))
    assert "no information at this ε: n lies between 0 and 400 anyway" in str(poor) and "no information" not in str(
        good
    )
    assert poor.to_json()["informative"] == {"n": False, "m": True} and good.to_json()["informative"]["n"]
    assert "m: chosen, not measured" in str(poor)


def test_a_cut_interval_covers_as_often(release: dp.Release) -> None:
    """The truth is possible, so that cutting never loses it: every uncut interval that holds it still does."""
    likes = people()["likes"].to_pylist()
    answer = release.query("SELECT likes, count(*) AS n FROM release GROUP BY likes")
    z = 1.959964
    for row in answer.rows:
        true = sum(frozenset(own.split(";")) - {""} == row["likes"] for own in likes)
        cell = row["n"]
        estimate = cell.estimate if cell.informative else cell.raw
        if estimate - z * cell.stderr <= true <= estimate + z * cell.stderr:
            assert cell.low <= true <= cell.high


def test_long_answers_are_printed_in_part() -> None:
    rows = [{"group": n, "n": Cell(float(n), n - 1.0, n + 1.0, 0.5, n)} for n in range(60)]
    answer = Answer(("group", "n"), rows, notes=("a note",))
    text = str(answer)
    assert "… 10 more (all are in .rows)" in text and len(text.splitlines()) == 1 + 50 + 1 + 1 + 1
    assert "… 10 more" in answer._repr_html_() and answer._repr_html_().count("<tr>") == 51
    assert len(answer.to_json()["rows"]) == 60 and json.dumps(answer.to_json())
    assert "more" not in str(Answer(("group", "n"), rows[:50]))


def test_a_square_below_zero_leaves_a_root_with_an_interval() -> None:
    """400 numbers that are all the same: their variance is often estimated to be below zero."""
    table = pyarrow.table({"age": np.full(N, 50)})
    plan = {"privacy": {"epsilon": 8}, "columns": {"age": PLAN["columns"]["age"]}}
    below = 0
    for seed in range(6):
        with seeded_coins(seed):
            release = dp.sanitise(table, plan)
        (row,) = release.query("SELECT stddev_pop(age) AS s, var_pop(age) AS v FROM release", level=0.1).rows
        below += row["v"].estimate < 0
        assert row["s"].high ** 2 == pytest.approx(row["v"].high) and row["v"].high > 0
    assert below

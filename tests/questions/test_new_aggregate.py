"""A new aggregate is one entry of the table: then a release and a curator answer it, with intervals."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof import Curator, Privacy
from dproof.curator.recipe import measure
from dproof.questions.aggregates import AGGREGATES, Definition, deviation, mean, total
from dproof.questions.answer import Range
from dproof.questions.question import Schema
from dproof.testing import seeded_coins
from tests.makers import resolved

AGES = np.random.default_rng(3).integers(18, 90, 4000)
SEX = np.array(["f", "m"])[np.arange(4000) % 2]
TABLE = pa.table({"age": AGES, "sex": SEX})
PLAN: dict[str, Any] = {
    "privacy": {"epsilon": 8},
    "columns": {
        "age": {"space": "interval", "low": 0, "high": 110, "step": 1, "missing": 40},
        "sex": {"space": "categories", "values": ["f", "m"], "missing": "f"},
    },
}
SUM_OF_SQUARES = Definition(
    {"sumsq": None},
    sums=((0, 0),),
    centred=False,
    formula=lambda sums, columns, _: total(sums, *columns, *columns),
    shape="linear",
    possible=lambda known: known.rows * Range(Fraction(0), max(abs(end) for end in known.values[0].ends) ** 2),
)
SUM_OF_CUBES = Definition(
    {"sumcube": None},
    sums=((0, 0, 0),),
    centred=False,
    formula=lambda sums, columns, _: total(sums, *columns * 3),
    shape="linear",
)
VARIATION = Definition(
    {"variation": Fraction(1)},
    sums=((), (0,), (0, 0)),
    formula=lambda sums, columns, less: deviation(sums, columns, less) / mean(sums, *columns),
    possible=lambda known: Range(Fraction(0)),
)
TRUTHS: dict[str, Callable[[Any], float]] = {
    "sumsq(age)": lambda x: float((x**2).sum()),
    "variation(age)": lambda x: float(np.std(x, ddof=1) / np.mean(x)),
}


@pytest.fixture(autouse=True)
def table_of_aggregates(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, entry in (("sumsq", SUM_OF_SQUARES), ("sumcube", SUM_OF_CUBES), ("variation", VARIATION)):
        monkeypatch.setitem(AGGREGATES, kind, entry)


@pytest.mark.parametrize("asked", TRUTHS)
def test_a_release_answers_it_with_an_interval(asked: str) -> None:
    covered = 0
    for seed in range(20):
        with seeded_coins(seed):
            release = dp.sanitise(TABLE, PLAN)
        answer = release.query(f"SELECT {asked} AS a FROM release WHERE sex = 'f'")
        cell = answer.rows[0]["a"]
        truth = TRUTHS[asked](AGES[SEX == "f"])
        assert cell.stderr > 0 and abs(cell.estimate - truth) < 5 * cell.stderr
        covered += cell.low <= truth <= cell.high
    assert covered >= 16  # of twenty at 95%


@pytest.mark.parametrize("asked", TRUTHS)
def test_a_curator_answers_it_with_an_interval(asked: str, tmp_path: Path) -> None:
    curator = Curator(TABLE, PLAN | {"privacy": {"epsilon": 100}}, ledger=tmp_path / "budget.db")
    covered = 0
    for n in range(20):  # a condition that is always true makes it another question each time
        with seeded_coins(n):
            answer = curator.ask(f"SELECT sex, {asked} AS a FROM data WHERE age > -{n + 1} GROUP BY sex", epsilon=1)
        for row in answer.rows:
            cell, truth = row["a"], TRUTHS[asked](AGES[row["sex"] == SEX])
            assert cell.low <= cell.estimate <= cell.high
            assert 0 < cell.high - cell.low < truth
            covered += cell.low <= truth <= cell.high
    assert covered >= 34  # of forty at 95%


def test_its_text_parses_back_and_it_can_be_previewed(tmp_path: Path) -> None:
    curator = Curator(TABLE, PLAN, ledger=tmp_path / "budget.db")
    seen = curator.preview("SELECT sumsq(age) AS s, variation(age) AS v FROM data", epsilon=1)
    assert seen.asked == 'SELECT sumsq("age"), variation("age") FROM data'
    assert seen.half_widths["s"] is not None and seen.half_widths["v"] is None
    assert dp.sensitivity("SELECT sumsq(age) FROM data", {"age": dp.Interval(0, 110)}).l1 == 110**2


def test_advice_knows_it() -> None:
    advice = dp.advise(PLAN, rows=4000, questions=["SELECT sumsq(age) AS s FROM data", "SELECT sum(age) FROM data"])
    for comparison in advice.comparisons:
        assert comparison.break_even is not None and comparison.release is not None and comparison.ask is not None
        assert comparison.release > comparison.ask > 0


@pytest.mark.parametrize("low", [-500, 0, -1000])
def test_its_sensitivity_is_right_where_the_least_square_is_not_in_the_middle(low: int) -> None:
    schema = Schema("data", {"x": dp.Interval(low, 1000, Fraction(1, 4))})  # too many codes to try each
    question = resolved("SELECT sumsq(x) FROM data", schema)
    (noisy,) = measure(question, schema, Privacy(1)).noisy
    assert noisy.sensitivity == 16 * 1000**2


def test_products_of_three_numbers_are_added_up_as_they_are(tmp_path: Path) -> None:
    curator = Curator(TABLE, PLAN | {"privacy": {"epsilon": 900}}, ledger=tmp_path / "budget.db")
    cell = curator.ask("SELECT sumcube(age) AS c FROM data", epsilon=900).rows[0]["c"]
    truth = sum(int(age) ** 3 for age in AGES)
    assert abs(cell.estimate - truth) < 10**6 < truth

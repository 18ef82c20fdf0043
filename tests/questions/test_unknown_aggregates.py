"""An aggregate that is not in the table is never answered: every stage raises."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof import Curator, Privacy, sensitivity
from dproof.curator.draw import draw
from dproof.curator.recipe import Measurement, measure
from dproof.curator.select import Choice, choice_of
from dproof.questions.aggregates import AGGREGATES, Definition
from dproof.questions.measured import possible
from dproof.questions.question import Aggregate, Item, Question, Schema, expression, resolve
from dproof.questions.sums import Tally, Term, centred_terms, terms, value_of
from dproof.testing import seeded_coins

X = {"space": "interval", "low": 0, "high": 9, "step": 1, "missing": 4}
PLAN = {"privacy": {"epsilon": 4}, "columns": {"x": X}}
ROWS = pa.table({"x": [1, 2, 3, 9] * 50})
SCHEMA = Schema("data", {"x": dp.Interval(0, 9, 1)})
PRODUCT = Aggregate("product", ("x",), Fraction(1, 2))
QUESTION = Question("data", (Item("p", PRODUCT),))


@pytest.mark.parametrize("asked", ["product(x)", "product(x) + 1", "count(*), product(x)", "x, product(x)"])
def test_sql_refuses_it_by_its_name_and_spends_nothing(asked: str, tmp_path: Path) -> None:
    curator = Curator(ROWS, PLAN, ledger=tmp_path / "budget.db")
    release = dp.sanitise(ROWS, PLAN)
    sql = f"SELECT {asked} FROM data" + (" GROUP BY x" if asked.startswith("x") else "")
    for way in (curator.ask, curator.preview):
        with pytest.raises(dp.InputError, match="product"):
            way(sql, epsilon=1)
    with pytest.raises(dp.InputError, match="product"):
        release.query(sql.replace("data", "release"))
    assert curator.remaining().epsilon == 4


def _drawn() -> Any:
    choice = Choice(PRODUCT, "permute-and-flip", Fraction(1), 10)
    made = Measurement(QUESTION, (), SCHEMA, Privacy(1), False, (), (choice,))
    with seeded_coins(1) as coins:
        return draw(made, Tally({}, {PRODUCT: [{1: 1}]}, 1), coins)


@pytest.mark.parametrize(
    "stage",
    [
        lambda: resolve(QUESTION, SCHEMA),
        lambda: expression(PRODUCT),
        lambda: terms(PRODUCT, SCHEMA),
        lambda: centred_terms(PRODUCT, None, SCHEMA),
        lambda: possible(PRODUCT, QUESTION, SCHEMA, 200),
        lambda: sensitivity(QUESTION, SCHEMA),
        lambda: measure(QUESTION, SCHEMA, Privacy(1)),
        lambda: value_of(PRODUCT, {Term((), None): np.ones(1)}, SCHEMA),
        lambda: choice_of(PRODUCT, SCHEMA, Privacy(1), 1, 1),
        lambda: choice_of(Aggregate("product", ("x",), Fraction(1)), SCHEMA, Privacy(1), 1, 1),
        _drawn,
    ],
)
def test_every_stage_raises(stage: Callable[[], Any]) -> None:
    with pytest.raises(KeyError, match="product"):
        stage()


def test_a_question_built_in_python_is_not_answered_either(tmp_path: Path) -> None:
    curator = Curator(ROWS, PLAN, ledger=tmp_path / "budget.db")
    for way in (curator.ask, curator.preview):
        with pytest.raises(KeyError, match="product"):
            way(QUESTION, epsilon=1)
    assert curator.remaining().epsilon == 4


@pytest.mark.parametrize("kind", [kind for kind, entry in AGGREGATES.items() if entry.formula is None])
def test_what_is_no_formula_of_sums_is_not_calculated_as_one(kind: str) -> None:
    with pytest.raises(KeyError, match=kind):
        value_of(Aggregate(kind, ("x",)), {Term((), None): np.ones(1)}, SCHEMA)


@pytest.mark.parametrize("kind", [kind for kind, entry in AGGREGATES.items() if entry.formula is not None])
def test_a_formula_of_sums_is_not_chosen_among_values(kind: str) -> None:
    with pytest.raises(KeyError, match=kind):
        choice_of(Aggregate(kind, ("x",), Fraction(1, 2)), SCHEMA, Privacy(1), 1, 1)


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"formula": lambda *_: 1.0},
        {"sums": ((0,),)},
        {"counts": "values", "sums": ((),), "formula": lambda *_: 1.0},
        {"sums": ((), (0,)), "formula": lambda *_: 1.0, "shape": "linear"},
    ],
)
def test_an_entry_that_says_too_little_or_too_much_cannot_be_made(entry: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="aggregate"):
        Definition({"product": None}, **entry)

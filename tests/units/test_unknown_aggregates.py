"""An aggregate that only the grammar knows is never answered: every stage after it raises."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof.curation import answering, formulas, measurement, preview
from dproof.curation.curator import Curator
from dproof.curation.drawing import draw
from dproof.curation.formulas import evaluate
from dproof.curation.measurement import Chosen, Measurement, _choice
from dproof.curation.tally import Tally
from dproof.estimation import expressions, sql
from dproof.privacy import Privacy
from dproof.questions import nodes
from dproof.questions.linear import Term, terms
from dproof.questions.question import Aggregate, Item, Question
from dproof.questions.schema import Schema
from dproof.questions.sensitivity import sensitivity
from dproof.testing import seeded_coins

X = {"space": "interval", "low": 0, "high": 9, "step": 1, "missing": 4}
PLAN = {"privacy": {"epsilon": 4}, "columns": {"x": X}}
ROWS = pa.table({"x": [1, 2, 3, 9] * 50})
FAKE: Any = "product"


@pytest.fixture
def grammar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(nodes._FUNCTIONS, "product", (FAKE, 1, None))


@pytest.mark.usefixtures("grammar")
@pytest.mark.parametrize("asked", ["product(x)", "product(x) + 1", "count(*), product(x)", "x, product(x)"])
def test_a_curator_gives_no_number_and_spends_nothing(asked: str, tmp_path: Path) -> None:
    curator = Curator(ROWS, PLAN, ledger=tmp_path / "budget.db")
    sql = f"SELECT {asked} FROM data" + (" GROUP BY x" if asked.startswith("x") else "")
    for way in (curator.ask, curator.preview):
        with pytest.raises(AssertionError, match="product"):
            way(sql, epsilon=1)
    assert curator.remaining().epsilon == 4


@pytest.mark.usefixtures("grammar")
@pytest.mark.parametrize("asked", ["product(x)", "product(x) + 1", "count(*), product(x)"])
def test_a_release_gives_no_number(asked: str) -> None:
    with pytest.raises(AssertionError, match="product"):
        dp.sanitise(ROWS, PLAN).query(f"SELECT {asked} FROM release")


SCHEMA = Schema("data", {"x": dp.Interval(0, 9, 1)})
PRODUCT = Aggregate(FAKE, ("x",), Fraction(1, 2))
CHOICE = Chosen(PRODUCT, "permute-and-flip", Fraction(1), 10)


def _drawn() -> Any:
    question = Question("data", (Item("p", PRODUCT),))
    made = Measurement(question, (), SCHEMA, Privacy(1), False, (), (CHOICE,))
    with seeded_coins(1) as coins:
        return draw(made, Tally({}, {PRODUCT: [{1: 1}]}, 1), coins)


@pytest.mark.parametrize(
    "stage",
    [
        lambda: terms(PRODUCT, SCHEMA),
        lambda: evaluate(PRODUCT, {Term((), None): np.ones(1)}, SCHEMA),
        lambda: _choice(PRODUCT, SCHEMA, Privacy(1), 1, 1),
        lambda: _choice(Aggregate(FAKE, ("x",), Fraction(1)), SCHEMA, Privacy(1), 1, 1),
        _drawn,
    ],
)
def test_each_stage_of_a_curator_raises(stage: Callable[[], Any]) -> None:
    with pytest.raises((AssertionError, KeyError), match="product"):
        stage()


def test_its_sensitivity_is_refused() -> None:
    with pytest.raises(dp.InputError, match="known sensitivity"):
        sensitivity(Question("data", (Item("p", PRODUCT),)), SCHEMA)


@pytest.mark.usefixtures("grammar")
@pytest.mark.parametrize("as_sums", [True, False])
def test_later_stages_raise_though_the_sums_are_known(
    as_sums: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Somebody added the sums of the new aggregate, or said that it is no sum, and forgot the rest."""

    def known(aggregate: Aggregate, schema: Schema) -> tuple[Term, ...]:
        if aggregate.kind != FAKE:
            return terms(aggregate, schema)
        return (Term((), None), Term(("x",), None, True), Term(("x", "x"), None, True)) if as_sums else ()

    for module in (measurement, formulas, answering, preview, sql, expressions):
        monkeypatch.setattr(module, "terms", known)
    curator = Curator(ROWS, PLAN, ledger=tmp_path / "budget.db")
    with pytest.raises(KeyError, match="product"):
        curator.ask("SELECT product(x) AS p FROM data", epsilon=1)
    with pytest.raises(KeyError, match="product"):
        dp.sanitise(ROWS, PLAN).query("SELECT product(x) AS p FROM release")

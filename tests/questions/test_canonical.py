"""One form for each question: its text is stable, and two questions with one text are one question."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dproof import Categories, Curator, Subsets
from dproof.questions.question import (
    Aggregate,
    Among,
    And,
    Compare,
    Contains,
    Item,
    Missing,
    Not,
    Or,
    Predicate,
    Question,
    Schema,
    canonical,
    condition,
    normalise,
    resolve,
)
from dproof.questions.sql import parse_predicate
from tests.makers import resolved

TABLE = Schema("data", {"x": Categories([0, 1]), "y": Categories([0, 1]), "z": Subsets(["a", "b"])})
NUMBERS = st.sampled_from([Fraction(0), Fraction(1)])
LEAVES: st.SearchStrategy[Predicate] = st.one_of(
    st.builds(Compare, st.sampled_from("xy"), st.sampled_from(["=", "<>", "<", ">="]), NUMBERS),
    st.builds(Among, st.sampled_from("xy"), st.lists(NUMBERS, min_size=1, max_size=3).map(tuple)),
    st.builds(Contains, st.just("z"), st.sampled_from("ab")),
    st.builds(Missing, st.sampled_from("xyz")),
)
# Few leaves and deep trees: parts that are equal, and collapse, are common.
PREDICATES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        inner.map(Not),
        st.lists(inner, min_size=1, max_size=3).map(tuple).map(And),
        st.lists(inner, min_size=1, max_size=3).map(tuple).map(Or),
    ),
    max_leaves=8,
)


@settings(max_examples=400, deadline=None)
@given(PREDICATES)
def test_the_form_of_a_form_is_itself(predicate: Predicate) -> None:
    once = normalise(predicate)
    assert normalise(once) == once
    assert condition(once) == condition(predicate)


@settings(max_examples=400, deadline=None)
@given(PREDICATES)
def test_the_text_reads_back_as_the_same_form(predicate: Predicate) -> None:
    """So the text tells the form: two predicates with one text have one form."""
    assert normalise(parse_predicate(condition(predicate))) == normalise(predicate)


@settings(max_examples=200, deadline=None)
@given(st.lists(PREDICATES, min_size=2, max_size=3), PREDICATES)
def test_a_checked_question_reads_back_as_itself(conditions: list[Predicate], where: Predicate) -> None:
    items = tuple(Item(f"n{n}", Aggregate("count", where=c)) for n, c in enumerate(conditions))
    checked = resolve(Question("data", items, where), TABLE)
    text = canonical(checked)
    again = resolved(text, TABLE)
    assert canonical(again) == text
    assert again.where == checked.where
    assert {i.expression for i in again.select} == {i.expression for i in checked.select}


FORMS = [
    "((x = 1 AND y = 1) OR (y = 1 AND x = 1)) AND list_contains(z, 'a')",
    "list_contains(z, 'a') AND x = 1 AND y = 1",
    "NOT (NOT list_contains(z, 'a') OR NOT (y = 1 AND (x = 1 OR (x = 1 AND x = 1))))",
]


@pytest.mark.parametrize("order", list(permutations(FORMS)))
def test_spellings_of_one_question_are_paid_once_in_any_order(order: tuple[str, ...], tmp_path: Path) -> None:
    plan = {
        "privacy": {"epsilon": 3},
        "columns": {
            "x": {"space": "categories", "values": [0, 1]},
            "y": {"space": "categories", "values": [0, 1]},
            "z": {"space": "subsets", "values": ["a", "b"]},
        },
    }
    rows = pa.table({"x": [0, 1, 1], "y": [1, 1, 0], "z": [["a"], ["a", "b"], []]})
    curator = Curator(rows, plan, ledger=tmp_path / "budget.db")
    found = []
    for form in order:
        for beside in order:
            # Both as conditions of the whole and beside one another: the same text, the same numbers.
            asked = f"SELECT count(*) FILTER (WHERE {form}) AS a, count(*) FILTER (WHERE {beside}) AS b FROM data"
            row = curator.ask(asked, epsilon=1).rows[0]
            assert row["a"] == row["b"]
            found.append(
                (row["a"], curator.ask(f"SELECT count(*) AS n FROM data WHERE {form}", epsilon=1).rows[0]["n"])
            )
    assert found == found[:1] * len(found)
    assert curator.remaining().epsilon == 1

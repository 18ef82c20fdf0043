"""A declared sensitivity that is too small is found out; one that stands is used and labelled."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof import Categories, InputError, NotPrivate, Open, declare
from dproof.questions.question import Schema
from dproof.questions.sensitivity import DeclaredQuery
from dproof.testing import seeded_coins

BOOKS = {"books": Categories(list(range(8))), "sex": Categories(["f", "m"])}


def longest_run(rows: Any) -> int:
    """The number of different values of books: no sum, and no SQL of ours."""
    return len({row["books"] for row in rows})


def total(rows: Any) -> int:
    return sum(row["books"] for row in rows)


@pytest.mark.parametrize("neighbours", ["change-one", "add-remove"])
def test_an_honest_declaration_stands(neighbours: Any) -> None:
    query, found = declare("distinct", longest_run, 1, BOOKS, neighbours=neighbours)
    assert (found.kind, found.l1, query.steps) == ("declared", 1, 1)


@pytest.mark.parametrize("neighbours", ["change-one", "add-remove"])
def test_a_false_declaration_is_refuted_with_two_tables(neighbours: Any) -> None:
    with pytest.raises(NotPrivate) as refused:
        declare("total", total, 5, BOOKS, neighbours=neighbours)
    witness = refused.value.witness
    assert abs(total(witness.before) - total(witness.after)) == witness.distance == 7
    assert abs(len(witness.before) - len(witness.after)) == (neighbours == "add-remove")


def test_every_column_is_tried_and_missing_values_too() -> None:
    many = {f"c{n}": Categories(range(8)) for n in range(12)}
    for column in many:
        with pytest.raises(NotPrivate, match="differ by 7"):
            declare("total", lambda rows, column=column: sum(row[column] for row in rows), 5, many)
    # One value that is missing makes this fail, which counts as 0: far from what the other rows add up to.
    declare("total", total, 7, BOOKS)
    with pytest.raises(NotPrivate, match="a missing value is None") as refused:
        declare("total", total, 7, Schema("data", BOOKS, frozenset(["books"])))
    assert any(row["books"] is None for row in (*refused.value.witness.before, *refused.value.witness.after))


def test_a_declaration_is_tried_on_the_table_that_is_asked(tmp_path: Path) -> None:
    columns = {"books": {"space": "categories", "values": list(range(8))}}
    plan = {"privacy": {"epsilon": 2}, "columns": columns}
    curator = dp.Curator(pa.table({"books": [3, None, 5]}), plan, ledger=tmp_path / "b.db")
    query, _ = declare("total", total, 7, BOOKS)
    with pytest.raises(NotPrivate):
        curator.ask_declared(query, epsilon=1)
    present, _ = declare("total", lambda rows: sum(row["books"] or 0 for row in rows), 7, BOOKS)
    assert curator.remaining().epsilon == 2 and curator.ask_declared(present, epsilon=1).rows


def test_an_unbounded_column_refutes_any_bound_on_a_minimum() -> None:
    with pytest.raises(NotPrivate):
        declare("least", lambda rows: min(row["x"] for row in rows), 100, {"x": Open(Fraction(1))})


def test_a_function_that_fails_shows_nothing() -> None:
    query, _ = declare("broken", lambda rows: 1 / 0, 1, BOOKS)
    assert query.whole([{"books": 3}]) == 0
    strange, _ = declare("strange", lambda rows: float("nan"), 1, BOOKS)
    assert strange.whole([]) == 0


@pytest.mark.parametrize("step", ["1", "0.5", "2/3"])
def test_rounding_moves_no_answer_further_than_is_charged(step: str) -> None:
    """Not even halves: 1/2 and 3/2 are one apart, and so are the whole numbers they become."""
    for quarters in range(1, 9):
        query = DeclaredQuery("x", lambda rows: rows[0], Fraction(quarters, 4), Fraction(step))
        pairs: list[Any] = [(Fraction(n, 4), Fraction(n + quarters, 4)) for n in range(-20, 20)]
        assert max(abs(query.whole([x]) - query.whole([y])) for x, y in pairs) <= query.steps


@pytest.mark.parametrize("claimed", [0, -1, "nan"])
def test_declarations_that_make_no_sense(claimed: Any) -> None:
    with pytest.raises(InputError):
        declare("x", longest_run, claimed, BOOKS)


def test_a_declared_query_is_asked_and_paid_like_any_other(tmp_path: Path) -> None:
    plan = {
        "privacy": {"epsilon": 2},
        "columns": {"books": {"space": "interval", "low": 0, "high": 7, "step": 1}},
    }
    table = pa.table({"books": [0, 3, 3, 7] * 50})
    curator = dp.Curator(table, plan, ledger=tmp_path / "b.db")
    query, _ = declare("distinct", longest_run, 1, curator.schema)
    answer = curator.ask_declared(query, epsilon=1)
    assert abs(answer.rows[0]["distinct"].raw - 3) < 30
    assert "declared" in answer.method
    assert curator.ask_declared(query, epsilon=1).rows == answer.rows
    assert curator.remaining().epsilon == 1
    with pytest.raises(dp.OverBudget):
        curator.ask_declared(query, epsilon="1.5")
    halves, _ = declare("half", lambda rows: len(rows) / 3, "1/3", curator.schema, step="0.5")
    assert curator.ask_declared(halves, epsilon=1).rows[0]["half"].raw % 0.5 == 0
    with seeded_coins(1):
        price = Fraction(1, 10**6)
        other = dp.Curator(table, plan, ledger=tmp_path / "c.db").ask_declared(query, epsilon=price)
    assert "It cost epsilon" in other.notes[0] and "NOT PRIVATE" in other.notes[1]


@pytest.mark.parametrize(
    ("privacy", "right", "size"),
    [
        ({"neighbours": "change-one"}, "change-one", 7),
        ({"neighbours": "add-remove"}, "add-remove", 7),
        ({"neighbours": "add-remove", "person": "id", "rows_per_person": 3}, "add-remove", 21),
        # All rows of a person may go, and as many others come.
        ({"neighbours": "change-one", "person": "id"}, "add-remove", 14),
        ({"neighbours": "change-one", "rows_per_person": 3}, "add-remove", 42),
    ],
)
def test_a_sensitivity_is_used_for_the_neighbours_it_is_declared_for(
    privacy: dict[str, Any], right: Any, size: int, tmp_path: Path
) -> None:
    columns = {"id": {"drop": True}, "books": {"space": "interval", "low": 0, "high": 7, "step": 1, "missing": 3}}
    table = pa.table({"id": range(40), "books": [3] * 40})
    plan = {"privacy": {"epsilon": 9, **privacy}, "columns": columns}
    curator = dp.Curator(table, plan, ledger=tmp_path / "b.db")
    relations: list[Any] = ["change-one", "add-remove"]
    for neighbours in relations:
        query, _ = declare("total", total, 7, curator.schema, neighbours=neighbours)
        if neighbours != right:
            with pytest.raises(InputError, match="declare it for"):
                curator.ask_declared(query, epsilon=1)
        else:
            cell = curator.ask_declared(query, epsilon=1).rows[0]["total"]
            assert cell.stderr == pytest.approx(size * 2**0.5, rel=0.02)
    assert curator.remaining().epsilon == 8


def test_a_table_with_curves_has_rows_without_them(tmp_path: Path) -> None:
    curve = {"space": "curves", "points": 3, "stop": 1, "low": 0, "high": 1, "basis": "fourier", "terms": 1}
    columns = {"load": curve, "sex": {"space": "categories", "values": ["f", "m"]}}
    rows = pa.table({"load": [[0.0, 1.0, 0.0]] * 30, "sex": ["f"] * 30})
    curator = dp.Curator(rows, {"privacy": {"epsilon": 9}, "columns": columns}, ledger=tmp_path / "b.db")
    query, _ = dp.declare("women", lambda rows: sum(row["sex"] == "f" for row in rows), 1, curator.schema)
    assert abs(curator.ask_declared(query, epsilon=9).rows[0]["women"].estimate - 30) < 5

"""A plan of the central model: which tables it asks for, and what means nothing there."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import sqrt
from typing import Any

import pytest

from dproof import DproofError, InputError, Plan, TooLarge, VerificationFailed, advise
from dproof.central.recipe import check_noise, of_version, recorded_table_law
from dproof.plans.plan import AskedTables
from tests.makers import row_law, table_law

pytestmark = pytest.mark.usefixtures("gaussian")

PROMISE = {"model": "central", "epsilon": 1, "delta": "1e-6"}


def category(size: int, **keys: Any) -> dict[str, Any]:
    return {"space": "categories", "values": [f"v{n}" for n in range(size)], **keys}


def tables(columns: dict[str, Any], privacy: Any = PROMISE, **more: Any) -> dict[str, Any]:
    return {"privacy": privacy, "columns": columns, **more}


THREE = {"a": category(2), "b": category(3), "c": category(4)}


def test_without_a_word_all_tables_of_up_to_two_columns_are_asked_for() -> None:
    asked = Plan.from_dict(tables(THREE)).asked
    assert asked is not None and not asked.rows
    every = dict.fromkeys([("a",), ("b",), ("c",), *combinations("abc", 2)], Fraction(1))
    assert dict(asked.tables) == {**every, ("b", "c"): Fraction(2, 3)}
    one = Plan.from_dict(tables(THREE, release={"tables": 1})).asked
    assert one is not None and [names for names, _ in one.tables] == [("a",), ("b",), ("c",)]


def test_tables_weigh_by_what_is_asked_of_them_but_for_rows_and_where_they_are_listed() -> None:
    """A table of several columns weighs 2 / its fewest values, a sum a sixteenth of a cell of counts."""
    number = {"space": "interval", "low": 0, "high": 99, "step": 1}
    columns = {**THREE, "n": number, "one": category(1)}

    def asked(**release: Any) -> AskedTables:
        found = Plan.from_dict(tables(columns, release={"sums": True, **release})).asked
        assert found is not None
        return found

    usual, triples = asked(), asked(tables=3)
    weights = dict(usual.tables)
    assert weights["c", "n"] == Fraction(2, 4) and weights["b", "n"] == weights["b", "c"] == Fraction(2, 3)
    assert weights["a", "n"] == weights["n",] == weights["a", "one"] == 1 and weights["c", "one"] == Fraction(2, 4)
    assert dict(triples.tables)["b", "c", "n"] == Fraction(2, 3) and usual.is_weighed
    assert {weight for *_, weight in usual.sums} == {Fraction(1, 16)}
    alike = [{"columns": list(names)} for names in weights]
    before = usual.of_version(3)
    for other in (asked(rows=True), asked(tables=alike), before):
        assert set(dict(other.tables).values()) == {1} and not other.is_weighed
        assert {weight for *_, weight in other.sums} == {Fraction(1, 4)}
    assert before.version == 3 and usual.of_version(2).tables == before.tables
    assert not asked(tables=1).is_weighed


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
def test_a_release_of_version_3_keeps_its_noise(neighbours: str) -> None:
    plan = Plan.from_dict(tables(THREE, {**PROMISE, "neighbours": neighbours}))
    old, now = table_law(of_version(plan, 3)), table_law(plan)
    assert old.half_widths != now.half_widths
    about = {"rows": None, "made_up_rows": None, "files": {}}
    records = [law.record(about, private=False) for law in (old, now)]
    assert [record["version"] for record in records] == [3, 4]
    for law, record in zip((old, now), records, strict=True):
        stored = recorded_table_law(plan, record)
        check_noise(stored)
        assert stored.half_widths == law.half_widths
    with pytest.raises(VerificationFailed, match="not shared out over the tables as the plan determines"):
        check_noise(recorded_table_law(plan, {**records[0], "version": 4}))


def test_listed_tables_have_weights_and_the_order_of_the_plan() -> None:
    listed = [{"columns": ["c", "a"], "weight": "5/2"}, {"columns": ["b"]}]
    asked = Plan.from_dict(tables(THREE, release={"tables": listed})).asked
    assert asked is not None and dict(asked.tables) == {("a", "c"): Fraction(5, 2), ("b",): Fraction(1)}


def test_a_larger_weight_makes_a_table_sharper() -> None:
    def spread(weight: int) -> float:
        listed = [{"columns": ["a", "b"], "weight": weight}, {"columns": ["b", "c"]}]
        law = table_law(tables(THREE, release={"tables": listed}))
        return law.precisions[None].cell_variance((0, 1))

    assert spread(10) < spread(1) < spread(1) * 1.5 < 3 * spread(10)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"joint": [{"columns": ["a", "b"]}]}, "joint belongs to model = 'local'"),
        ({"order": "keep"}, "order belongs to model = 'local'"),
        ({"columns": {"a": category(2, share=2)}}, r"columns\.a\.share belongs to model = 'local'"),
        ({"columns": {"a": category(2, mechanism="design")}}, "mechanism belongs to model = 'local'"),
        ({"columns": {"a": category(2), "b": {"public": True}}}, r"columns\.b\.public releases rows as they are"),
        (
            {"columns": {"a": {"space": "subsets", "values": ["x", "y"]}, "a: x": category(2)}},
            "has the name of an item of a set",
        ),
        (
            {"columns": {"a": {"space": "curves", "points": 9, "low": 0, "high": 1}}, "release": {"rows": True}},
            "synthetic rows leave out curves, and the plan has nothing else",
        ),
        ({"release": {"tables": 0}}, "must be at least 1"),
        ({"release": {"tables": "two"}}, "must be a whole number"),
        ({"release": {"tables": []}}, "lists no table"),
        ({"release": {"tables": [{"columns": ["a", "b"]}]}}, "lists no table with the column 'c'"),
        ({"release": {"tables": [{"columns": ["a", "zz"]}]}}, "names 'zz', which is not a column"),
        ({"release": {"tables": [{"columns": ["a"]}, {"columns": ["a"]}]}}, "is listed already"),
        ({"release": {"tables": [{"columns": ["a"], "weight": 0}]}}, "must be positive"),
        ({"release": {"row": True}}, r"release\.row is not a known key"),
        ({"privacy": {**PROMISE, "model": "centre"}}, "cannot be 'centre'"),
        ({"privacy": {**PROMISE, "spread": "auto"}}, "spread belongs to model = .local."),
    ],
)
def test_what_means_nothing_there_is_refused_in_one_sentence(change: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why) as refused:
        Plan.from_dict({**tables(THREE), **change})
    assert "\n" not in str(refused.value)


def test_a_release_table_belongs_to_the_central_model() -> None:
    with pytest.raises(InputError, match="release belongs to model = 'central'"):
        Plan.from_dict(tables(THREE, {"epsilon": 1}, release={"tables": 2}))


@pytest.mark.parametrize(
    ("privacy", "why"),
    [
        ({**PROMISE, "epsilon": 0, "delta": 0}, "needs epsilon above 0"),
        ({**PROMISE, "epsilon": 0, "delta": "1e-30"}, "no noise that can be drawn"),
    ],
)
def test_promises_that_cannot_be_kept_are_refused(privacy: Any, why: str) -> None:
    with pytest.raises(DproofError, match=why):
        table_law(tables(THREE, privacy))


def test_too_many_cells_are_refused_with_the_columns_to_blame() -> None:
    wide = {"a": category(4000), "b": category(3000), "c": category(2)}
    with pytest.raises(TooLarge, match=r"'a' \(4,000 values\), 'b' \(3,000 values\): give numbers fewer `bins`"):
        table_law(tables(wide))
    with pytest.raises(InputError, match="makes over 4,096 tables"):
        Plan.from_dict(tables({f"c{n}": category(2) for n in range(40)}, release={"tables": 5}))


def test_rows_are_not_drawn_one_by_one() -> None:
    with pytest.raises(InputError, match="has model = 'central'"):
        row_law(tables(THREE))


def test_a_release_of_tables_is_compared_with_asking() -> None:
    (found,) = advise(tables(THREE), rows=100, questions="SELECT count(*) FROM data WHERE a = 'v1'").comparisons
    assert found.release is not None and found.ask is not None and found.break_even is not None


def test_the_ten_columns_of_adult_are_as_sharp_as_the_closed_form() -> None:
    sizes = (15, 7, 16, 7, 14, 6, 5, 2, 10, 2)
    columns = {f"c{n}": category(size) for n, size in enumerate(sizes)}
    law = table_law(tables(columns, {**PROMISE, "neighbours": "add-remove"}, release={"rows": True}))  # all alike
    deviations = [sqrt(law.precisions[None].cell_variance(table)) for table in law.tables if len(table) == 2]
    # 20.9 to 26.9 by concentrated privacy, 6.8 % less by the profile of the normal law.
    assert 0.98 * 20.9 * 0.932 < min(deviations) < 1.02 * 20.9 * 0.932
    assert 0.98 * 26.9 * 0.932 < max(deviations) < 1.02 * 26.9 * 0.932


def test_several_rows_of_a_person_need_so_many_times_the_noise() -> None:
    one, three = (
        table_law(tables(THREE, {**PROMISE, "neighbours": "add-remove", "rows_per_person": rows})) for rows in (1, 3)
    )
    ratio = sqrt(three.precisions[None].cell_variance((0, 1)) / one.precisions[None].cell_variance((0, 1)))
    assert 2.9 < ratio < 3.05
    assert three.person == three.plan.privacy


def test_a_column_with_one_value_needs_no_measurement() -> None:
    for delta in ("1e-6", "0"):
        law = table_law(tables({"a": category(2), "one": category(1)}, {**PROMISE, "delta": delta}))
        assert [residual.table for residual in law.noise] == [(0,)]
        assert law.precisions[None].cell_variance((0, 1)) == law.precisions[None].cell_variance((0,)) > 0


def test_without_delta_the_largest_tables_are_measured_and_their_weights_count() -> None:
    listed = [{"columns": ["a", "b"], "weight": 8}, {"columns": ["b", "c"]}, {"columns": ["b"]}]
    law = table_law(tables(THREE, {**PROMISE, "delta": 0}, release={"tables": listed}))
    (first, one), (second, other) = law.noise.items()
    assert (first.table, second.table) == ((0, 1), (1, 2)) and float(one / other) == pytest.approx(2, rel=0.05)
    assert law.person.delta == 0 and law.rho() is None


def test_sums_of_numbers_take_a_part_of_the_promise_and_leave_the_rest_to_counts() -> None:
    columns = {**THREE, "age": {"space": "interval", "low": 0, "high": 100}}
    plain, summed = (table_law(tables(columns, release={"sums": on})) for on in (False, True))
    assert {one.number for one in plain.noise} == {None} and {one.number for one in summed.noise} == {None, 3}
    assert [summed.measured_name(one) for one in summed.noise][-3:] == [
        "sum of age by c",
        "sum of age by age",
        "ladder of age",
    ]
    ratio = sqrt(summed.precisions[None].cell_variance((0, 1)) / plain.precisions[None].cell_variance((0, 1)))
    assert 1 < ratio < 1.15

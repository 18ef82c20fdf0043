"""Sensitivities against the definition itself: every pair of small neighbouring tables, answered by brute force."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dproof import Categories, Curves, InputError, Interval, Subsets, expand, sensitivity
from dproof.limits import MOST_CONDITION_ITEMS
from dproof.questions.question import (
    Aggregate,
    Among,
    And,
    Compare,
    Contains,
    Item,
    Key,
    Missing,
    Not,
    Or,
    Predicate,
    Question,
    Schema,
)

SPACES = {
    "sex": Categories(["f", "m", None]),
    "books": Categories([3, -2, 0]),
    "likes": Subsets(["a", "b"]),
}
SCHEMA = Schema("data", SPACES, frozenset({"books"}))
VALUES = {
    "sex": ["f", "m", None],
    "books": [-2, 0, 3, None],
    "likes": [frozenset(), frozenset("a"), frozenset("b"), frozenset("ab")],
}
RECORDS = [dict(zip(VALUES, row, strict=True)) for row in product(*VALUES.values())]

LEAVES: st.SearchStrategy[Predicate] = st.one_of(
    st.builds(Compare, st.just("sex"), st.sampled_from(["=", "<>"]), st.sampled_from(["f", "m"])),
    st.builds(
        Compare,
        st.just("books"),
        st.sampled_from(["=", "<>", "<", "<=", ">", ">="]),
        st.sampled_from([Fraction(-2), Fraction(0), Fraction(3)]),
    ),
    st.builds(Among, st.just("sex"), st.just(("f", "m"))),
    st.builds(Contains, st.just("likes"), st.sampled_from(["a", "b"])),
    st.builds(Missing, st.sampled_from(["sex", "books"])),
)
PREDICATES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        inner.map(Not),
        st.tuples(inner, inner).map(And),
        st.tuples(inner, inner).map(Or),
    ),
    max_leaves=3,
)
WHERE = st.one_of(st.none(), PREDICATES)
AGGREGATES = st.one_of(
    st.builds(Aggregate, st.just("count"), where=WHERE),
    st.builds(Aggregate, st.just("count"), st.just(("books",)), where=WHERE),
    st.builds(Aggregate, st.just("sum"), st.just(("books",)), where=WHERE),
)
KEYS = st.lists(
    st.sampled_from([Key("sex"), Key("books"), Key("likes"), Key("books", Fraction(2))]), max_size=2, unique=True
).map(tuple)
QUESTIONS = st.builds(
    lambda parts, where, keys: Question(
        "data", tuple(Item(f"x{n}", part) for n, part in enumerate(parts)), where, keys
    ),
    st.lists(AGGREGATES, min_size=1, max_size=2),
    WHERE,
    KEYS,
)


def holds(predicate: Predicate | None, row: dict[str, Any]) -> bool | None:
    """SQL's three-valued logic, written out once more."""
    match predicate:
        case None:
            return True
        case Missing(column):
            return row[column] is None
        case Not(part):
            inside = holds(part, row)
            return None if inside is None else not inside
        case And(parts):
            found = [holds(part, row) for part in parts]
            return False if False in found else None if None in found else True
        case Or(parts):
            found = [holds(part, row) for part in parts]
            return True if True in found else None if None in found else False
    value = row[predicate.column]
    if value is None:
        return None
    match predicate:
        case Among(_, values):
            return value in values
        case Contains(_, item):
            return item in value
        case Compare(_, operator, other):
            tests = {"=": value == other, "<>": value != other}
            if isinstance(other, Fraction):
                tests |= {"<": value < other, "<=": value <= other, ">": value > other, ">=": value >= other}
            return tests[operator]
    raise AssertionError


def effect(question: Question, row: dict[str, Any], mark: int) -> dict[Any, Fraction]:
    """What one row adds to the vector of answers, by coordinate; groups are coordinates."""
    if holds(question.where, row) is not True:
        return {}
    group = tuple(
        row[k.column] if k.width is None or row[k.column] is None else row[k.column] // k.width
        for k in question.group_by
    )
    found = {}
    for n, item in enumerate(question.select):
        aggregate = item.expression
        assert isinstance(aggregate, Aggregate)
        there = all(row[column] is not None for column in aggregate.columns)
        if there and holds(aggregate.where, row) is True:
            found[mark, n, group] = Fraction(row[aggregate.columns[0]] if aggregate.kind == "sum" else 1)
    return found


def truth(questions: list[Question], neighbours: str, power: int, records: list[dict[str, Any]]) -> Fraction:
    vectors = [{k: v for mark, q in enumerate(questions) for k, v in effect(q, row, mark).items()} for row in records]
    distinct = [dict(items) for items in {tuple(sorted(v.items(), key=repr)) for v in vectors}]
    if neighbours == "add-remove":
        return max(sum((abs(x) ** power for x in v.values()), Fraction(0)) for v in distinct)
    pairs = combinations_with_replacement(distinct, 2)
    zero = Fraction(0)
    return max(sum((abs(a.get(key, zero) - b.get(key, zero)) ** power for key in {*a, *b}), zero) for a, b in pairs)


@settings(max_examples=150, deadline=None)
@given(st.lists(QUESTIONS, min_size=1, max_size=2), st.sampled_from(["add-remove", "change-one"]))
def test_sensitivity_is_what_the_definition_says(questions: list[Question], neighbours: Any) -> None:
    found = sensitivity(questions, SCHEMA, neighbours)
    assert found.kind == "exact"
    assert found.l1 == truth(questions, neighbours, 1, RECORDS)
    assert found.l2_squared == truth(questions, neighbours, 2, RECORDS)


# Numbers, sets and curves that may be missing. Nothing but whether it is there can be asked of a curve in passing.
GAPS = Schema(
    "data",
    {"hours": Interval(-1, 2, 1), "likes": SPACES["likes"], "load": expand(Curves(0, 1, 3, 0, 1), terms=2)},  # type: ignore[dict-item]
    frozenset({"hours", "likes", "load"}),
)
GAP_VALUES = {"hours": [-1, 0, 1, 2, None], "likes": [*VALUES["likes"], None], "load": ["a curve", None]}
GAP_RECORDS = [dict(zip(GAP_VALUES, row, strict=True)) for row in product(*GAP_VALUES.values())]
GAP_LEAVES: st.SearchStrategy[Predicate] = st.one_of(
    st.builds(
        Compare,
        st.just("hours"),
        st.sampled_from(["=", "<>", "<", "<=", ">", ">="]),
        st.sampled_from([Fraction(-1), Fraction(0), Fraction(2)]),
    ),
    st.builds(Contains, st.just("likes"), st.sampled_from(["a", "b"])),
    st.builds(Missing, st.sampled_from(["hours", "likes", "load"])),
)
GAP_WHERE = st.none() | GAP_LEAVES | GAP_LEAVES.map(Not) | st.tuples(GAP_LEAVES, GAP_LEAVES.map(Not)).map(Or)
GAP_AGGREGATES = st.one_of(
    st.builds(Aggregate, st.just("count"), st.sampled_from([(), ("hours",), ("likes",), ("load",)]), where=GAP_WHERE),
    st.builds(Aggregate, st.just("sum"), st.just(("hours",)), where=GAP_WHERE),
)
GAP_KEYS = st.lists(
    st.sampled_from([Key("hours"), Key("likes"), Key("hours", Fraction(2))]), max_size=2, unique=True
).map(tuple)
GAP_QUESTIONS = st.builds(
    lambda parts, where, keys: Question(
        "data", tuple(Item(f"x{n}", part) for n, part in enumerate(parts)), where, keys
    ),
    st.lists(GAP_AGGREGATES, min_size=1, max_size=2),
    GAP_WHERE,
    GAP_KEYS,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(GAP_QUESTIONS, min_size=1, max_size=2), st.sampled_from(["add-remove", "change-one"]))
def test_a_row_may_change_from_missing_to_present(questions: list[Question], neighbours: Any) -> None:
    found = sensitivity(questions, GAPS, neighbours)
    assert found.kind == "exact" and found.witness is not None
    assert found.l1 == truth(questions, neighbours, 1, GAP_RECORDS)
    assert found.l2_squared == truth(questions, neighbours, 2, GAP_RECORDS)


# Sums over rows with an item, whose moves are found item by item, beside conditions that join items or that all see.
ITEMS = ["a", "b", "c", "d"]
SETS = [frozenset(item for n, item in enumerate(ITEMS) if mask >> n & 1) for mask in range(1 << len(ITEMS))]
ITEM_LEAVES = st.builds(Contains, st.just("likes"), st.sampled_from(ITEMS))
ITEM_WHERE = st.one_of(
    ITEM_LEAVES,
    ITEM_LEAVES,
    ITEM_LEAVES.map(Not),
    st.tuples(ITEM_LEAVES, GAP_LEAVES).map(And),
    st.tuples(ITEM_LEAVES, ITEM_LEAVES.map(Not)).map(Or),
    st.just(Missing("likes")),
    st.none(),
)
ITEM_AGGREGATES = st.one_of(
    st.builds(Aggregate, st.just("count"), where=ITEM_WHERE),
    st.builds(Aggregate, st.just("sum"), st.just(("hours",)), where=ITEM_WHERE),
)
ITEM_QUESTIONS = st.builds(
    lambda parts, where, keys: Question(
        "data", tuple(Item(f"x{n}", part) for n, part in enumerate(parts)), where, keys
    ),
    st.lists(ITEM_AGGREGATES, min_size=2, max_size=5),
    st.none() | ITEM_WHERE,
    st.lists(st.sampled_from([Key("hours", Fraction(2)), Key("likes")]), max_size=1).map(tuple),
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(ITEM_QUESTIONS, min_size=1, max_size=2),
    st.sampled_from(["add-remove", "change-one"]),
    st.sampled_from(["declared", "missing", "a category"]),
    st.sampled_from([MOST_CONDITION_ITEMS, 2, 1]),
)
def test_the_largest_moves_of_items_add_up(questions: list[Question], neighbours: Any, sets: str, most: int) -> None:
    """Also where conditions together look at more items than one may, so that all parts see those of many."""
    likes = Subsets(ITEMS)
    nullable = frozenset({"hours", "likes"} if sets == "missing" else {"hours"})
    space = likes.with_missing() if sets == "a category" else likes
    table = Schema("data", {"hours": Interval(-1, 2, 1), "likes": space, "load": GAPS.spaces["load"]}, nullable)
    values = {"hours": [-1, 0, 1, 2, None], "likes": [*SETS, *([] if sets == "declared" else [None])], "load": [None]}
    rows = [dict(zip(values, row, strict=True)) for row in product(*values.values())]
    tests = [q for q in questions if "load" not in q.columns]
    if not tests:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dproof.questions.sensitivity.MOST_CONDITION_ITEMS", most)
        found = sensitivity(tests, table, neighbours)
    assert found.kind == "exact"
    assert found.l1 == truth(tests, neighbours, 1, rows)
    assert found.l2_squared == truth(tests, neighbours, 2, rows)
    assert found.witness is not None
    before, after = (list(one) for one in (found.witness.before, found.witness.after))
    default = {"hours": 0, "likes": frozenset(), "load": None}
    assert truth_of_pair(tests, [default | row for row in before], [default | row for row in after]) == found.l1


def truth_of_pair(questions: list[Question], before: list[dict[str, Any]], after: list[dict[str, Any]]) -> Fraction:
    moved: dict[Any, Fraction] = {}
    for sign, rows in ((-1, before), (1, after)):
        for row, (mark, question) in product(rows, enumerate(questions)):
            for key, value in effect(question, row, mark).items():
                moved[key] = moved.get(key, Fraction(0)) + sign * value
    return sum(map(abs, moved.values()), Fraction(0))


@settings(max_examples=60, deadline=None)
@given(st.lists(QUESTIONS, min_size=1, max_size=2), st.sampled_from(["add-remove", "change-one"]))
def test_the_witness_attains_it(questions: list[Question], neighbours: Any) -> None:
    found = sensitivity(questions, SCHEMA, neighbours)
    assert found.witness is not None
    default = {"sex": "f", "books": 0, "likes": frozenset()}
    tables = []
    for rows in (found.witness.before, found.witness.after):
        total: dict[Any, Fraction] = {}
        for row in rows:
            for mark, question in enumerate(questions):
                for key, value in effect(question, default | row, mark).items():
                    total[key] = total.get(key, Fraction(0)) + value
        tables.append(total)
    before, after = tables
    distance = sum(
        (abs(before.get(k, Fraction(0)) - after.get(k, Fraction(0))) for k in {*before, *after}), Fraction(0)
    )
    assert distance == found.l1 == found.witness.distance


BOOKS = {"a": Categories([0, 1, 2]), "b": Categories([0, 1])}


@pytest.mark.parametrize(
    ("asked", "neighbours", "l1", "kind"),
    [
        ("sum(a) - 3 * sum(b) / 2 + 1", "change-one", "7/2", "exact"),
        ("sum(a) - 3 * sum(b) / 2 + 1", "add-remove", "2", "exact"),
        ("2 * (count(*) + sum(b) * 2)", "add-remove", "6", "exact"),
        ("count(DISTINCT a)", "change-one", "1", "bound"),
        ("median(a)", "change-one", "2", "bound"),
    ],
)
def test_the_sensitivity_of_calculations(asked: str, neighbours: Any, l1: str, kind: str) -> None:
    found = sensitivity(f"SELECT {asked} AS x FROM data", BOOKS, neighbours)
    assert (found.l1, found.kind) == (Fraction(l1), kind)


@pytest.mark.parametrize("asked", ["avg(a) AS x, count(*) AS n", "count(*) / sum(a) AS x", "1 / count(*) AS x"])
def test_what_has_no_known_sensitivity_is_refused(asked: str) -> None:
    with pytest.raises(InputError, match="only counts and sums have a known sensitivity"):
        sensitivity(f"SELECT {asked} FROM data", BOOKS)
    with pytest.raises(InputError, match="one group at a time"):
        sensitivity("SELECT b, avg(a) AS x FROM data GROUP BY b", BOOKS)
    with pytest.raises(InputError, match="at least 1"):
        sensitivity("SELECT avg(a) AS x FROM data", BOOKS, rows=0)


def test_a_missing_set_that_is_grouped_by_moves_a_sum() -> None:
    hours, likes = Interval(-1, 2, 1), Subsets(["a", "b"])
    table = Schema("data", {"hours": hours, "likes": likes}, frozenset({"likes"}))
    asked = "SELECT likes, sum(hours) AS x FROM data WHERE likes IS NULL GROUP BY likes"
    assert sensitivity(asked, table, "add-remove").l1 == 2


def test_the_search_ends_where_no_pair_can_move_further(monkeypatch: pytest.MonkeyPatch) -> None:
    """Items of a set move one by one: whoever has none of them and whoever has all are as far apart as rows can be."""
    from dproof.questions import sensitivity as module

    asked, where = [], module.np.where
    table = Schema("data", {"likes": Subsets([f"i{n}" for n in range(11)])})
    items = [f"list_contains(likes, 'i{n}')" for n in range(11)]
    wheres = [*items, *(f"{a} AND {b}" for a, b in pairwise(items))]  # no item can be looked at by itself
    counts = ", ".join(f"count(*) FILTER (WHERE {where}) AS n{n}" for n, where in enumerate(wheres))
    monkeypatch.setattr(module.np, "where", lambda *given: [asked.append(1), where(*given)][1])
    assert sensitivity(f"SELECT {counts} FROM data", table, "change-one").l1 == 21
    assert len(asked) < 30  # of 2,048 kinds of rows

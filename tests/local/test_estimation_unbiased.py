"""Unbiased, exactly: every question on every one-row table, averaged over all that the law can do to the row.

Estimates and variance estimates are linear in the counts, so what holds for one row holds for all tables.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from dproof.laws.debias import Contingency
from dproof.local.counts import Counting
from dproof.local.recipe import RowLaw
from dproof.questions.question import Key
from dproof.questions.sql import parse_predicate
from dproof.questions.sums import Term
from tests.makers import row_law

PLAN: dict[str, Any] = {
    "privacy": {"epsilon": 4},
    "columns": {
        "hobby": {"space": "categories", "values": ["Cars", "Chess", "Reading", "Golf"]},
        "kids": {"space": "categories", "values": [0, 1, 5]},
        "sex": {"space": "categories", "values": ["f", "m"]},
        "age": {"space": "categories", "values": ["young", "old"]},
        "likes": {"space": "subsets", "values": ["Music", "Film", "Art"]},
    },
    "joint": [{"columns": ["sex", "age"]}],
}
ROWS = [
    dict(zip(PLAN["columns"], row, strict=True))
    for row in product(
        ["Cars", "Chess", "Reading", "Golf"],
        [0, 1, 5],
        ["f", "m"],
        ["young", "old"],
        [frozenset(), frozenset({"Music"}), frozenset({"Film", "Art"})],
    )
]
CONDITIONS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "hobby = 'Cars'": lambda r: r["hobby"] == "Cars",
    "hobby IN ('Cars', 'Reading') OR sex = 'f'": lambda r: r["hobby"] in ("Cars", "Reading") or r["sex"] == "f",
    "NOT (hobby = 'Golf' AND kids >= 1)": lambda r: not (r["hobby"] == "Golf" and r["kids"] >= 1),
    "age = 'old' AND kids < 5": lambda r: r["age"] == "old" and r["kids"] < 5,
    "list_contains(likes, 'Film')": lambda r: "Film" in r["likes"],
    "list_contains(likes, 'Music') OR NOT list_contains(likes, 'Art')": lambda r: (
        "Music" in r["likes"] or "Art" not in r["likes"]
    ),
    "list_contains(likes, 'Art') AND sex = 'm'": lambda r: "Art" in r["likes"] and r["sex"] == "m",
}
KEYS: list[tuple[str, ...]] = [(), ("hobby",), ("sex",), ("kids", "sex"), ("sex", "age"), ("hobby", "likes")]


def mixed_counts(law: RowLaw, counting: Counting, row: dict[str, Any]) -> np.ndarray:
    """P(state | row), over the states of all axes: the mean counts of a table that has this row alone."""
    counts = np.ones(())
    for reader in counting.readers:
        group = law.group_of(reader.columns[0])
        columns = [c for c in group.columns if c.name in reader.columns]
        blocks = 0
        for column in columns:
            code = np.array([column.space.code(row[column.name])])
            blocks = blocks * counting.cuts[column.name].blocks + int(counting.cuts[column.name].of(code)[0])
        shape = [axis.blocks for axis in reader.axes]
        places = np.unravel_index(blocks, shape)
        for axis, place in zip(reader.axes, places, strict=True):
            counts = np.multiply.outer(counts, axis.law.gather(np.eye(axis.blocks)[place], 0))  # type: ignore[attr-defined]
    return counts


LAW = row_law(PLAN)


@pytest.mark.parametrize("keys", KEYS, ids=" ".join)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_estimates_and_their_variances_are_unbiased(condition: str, keys: tuple[str, ...]) -> None:
    where = parse_predicate(condition)
    counting = Counting(LAW, [Term((), where), Term(("kids",), where)], [Key(key) for key in keys])
    groups = counting.groups([()])
    sums = [counting.sum_of(Term((), where)), counting.sum_of(Term(("kids",), where))]
    axes = counting.axes
    shape = [axis.states for axis in axes]
    states = [
        Contingency(axes, one.reshape(shape), 1).estimates(sums, groups).values for one in np.eye(int(np.prod(shape)))
    ]
    scores = np.stack(states)  # of every state, group and sum
    for row in ROWS[::7]:
        chances = mixed_counts(LAW, counting, row)
        number = (row["kids"] - counting.numbers["kids"].middle) / counting.numbers["kids"].unit
        inside = np.array([labels == tuple(row[key] for key in keys) for labels in groups.labels])
        f = np.outer(inside & CONDITIONS[condition](row), [1.0, number])
        assert np.einsum("y,ygi->gi", chances.reshape(-1), scores) == pytest.approx(f, abs=1e-9)
        variances = np.einsum("y,ygi,ygj->gij", chances.reshape(-1), scores, scores) - f[:, :, None] * f[:, None, :]
        found = Contingency(axes, chances, 1).estimates(sums, groups).covariance("table")
        assert found == pytest.approx(variances, abs=1e-7)

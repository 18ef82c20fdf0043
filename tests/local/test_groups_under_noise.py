"""Many groups of a number under wide noise: blocks of one node share their scores, and groups their estimates."""

from __future__ import annotations

from collections import Counter
from dataclasses import astuple, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof import InputError
from dproof.laws.debias import CodeBins, Contingency, DenseScores, MatrixAxis, Sets
from dproof.local.counts import QuestionAxes, _binned, all_rows
from dproof.questions.sums import centred_terms
from tests.makers import resolved

SIZE = 300  # codes, at nodes of three


@pytest.fixture(scope="module")
def release() -> Any:
    draw = np.random.default_rng(5)
    numbers = np.clip(draw.normal(120, 40, 4000).round(), 0, SIZE - 1).astype(int)
    numbers[:600] = 100
    table = pa.table({"x": numbers, "y": draw.integers(0, 21, 4000), "town": draw.choice(["a", "b", "c"], 4000)})
    number = {"space": "interval", "low": 0, "step": 1, "mechanism": "laplace"}
    columns = {"x": {**number, "high": SIZE - 1}, "y": {**number, "high": 20}}
    columns["town"] = {"space": "categories", "values": ["a", "b", "c"]}
    return dp.sanitise(table, {"privacy": {"epsilon": 6}, "columns": columns})


QUESTIONS = (
    "SELECT x, count(*), sum(x), sum(y) FROM release GROUP BY x",
    "SELECT x, town, count(*), count(*) FILTER (WHERE x < 77) FROM release WHERE x > 30 GROUP BY x, town",
    "SELECT BIN(x, 2) AS two, count(*), sum(x) FROM release GROUP BY two",
)


@pytest.mark.parametrize("sql", QUESTIONS)
def test_what_groups_share_is_what_each_of_them_has_by_itself(release: Any, sql: str) -> None:
    """Against scores that are written out for every block, and every group by itself."""
    question = resolved(sql, release.law.schema)
    terms = [term for a in question.aggregates for term in centred_terms(a, question.where, release.law.schema)]
    needed = list(dict.fromkeys(terms))
    counting = QuestionAxes(release.law, needed, question.group_by)
    table, combos = counting.read(all_rows(release))
    groups, sums = counting.groups(combos), list(map(counting.sum_of, needed))
    shared = table.estimates(sums, groups)
    for n, wanted in enumerate(sums):
        assert np.allclose(shared.values[:, n], table.total(table.blocks(wanted.powers), wanted, groups), rtol=1e-9)

    (number,) = (
        n for n, axis in enumerate(table.axes) if isinstance(axis, MatrixAxis) and axis.blocks > len(axis.matrix)
    )
    axis = table.axes[number]
    assert isinstance(axis, MatrixAxis)
    written = replace(axis, seen=np.eye(axis.blocks)[axis.seen])
    for powers in {wanted.powers[number] for wanted in sums}:
        scores = axis.scores(powers)
        assert scores.kind is not None and scores.matrix.shape[1] < axis.blocks
        written._scores[powers] = DenseScores(scores.matrix[:, scores.kind])
    axes = [*table.axes[:number], written, *table.axes[number + 1 :]]
    every = replace(groups, sets=Sets(groups.sets.count, groups.sets.rows(np.arange(groups.sets.count))))
    alone = Contingency(axes, table.counts, table.rows).estimates(sums, every)
    for one, other in zip(astuple(shared)[:-1], astuple(alone)[:-1], strict=True):
        scale = np.abs(other).max()
        assert np.allclose(one, other, rtol=1e-9, atol=1e-12 * scale, equal_nan=True)


def test_every_group_has_the_rows_that_were_released_there(release: Any) -> None:
    """Codes beyond the ends count there."""
    released = Counter(np.clip(release.to_arrow()["x"].to_numpy(), 0, SIZE - 1).tolist())
    rows = release.query("SELECT x, count(*) AS n FROM release GROUP BY x").rows
    assert [row["n"].raw for row in rows] == [released[row["x"]] for row in rows]
    assert sum(released.values()) == sum(row["n"].raw for row in rows)


@pytest.mark.parametrize("cuts", [range(1, 5000), range(40, 90, 5), (7, 20, 4000), (3,), (2, 4, 6, 7)])
def test_codes_are_put_between_the_same_cuts_by_a_division_as_by_cases(cuts: Any) -> None:
    """Whatever the cuts are, no edge lies between the bin that a code is put into and the code."""
    import duckdb

    plan = dp.Plan.from_dict(
        {"privacy": {"epsilon": 1}, "columns": {"x": {"space": "interval", "low": 0, "high": 9000, "step": 1}}}
    )
    bins = CodeBins(-60_000, 60_000, 100, tuple(cuts))
    codes = np.concatenate([np.arange(-300, 5300), [-70_000, -59_950, 59_999, 60_050, 80_000]])
    edges = np.unique([*range(bins.first, bins.last + 1, bins.wide), *cuts])
    table = duckdb.connect().from_arrow(pa.table({"x": codes}))
    column = plan.column("x")
    binned = table.project(f"{_binned(column, column.codec.number_sql, bins)} AS b").to_arrow_table()["b"].to_numpy()
    inside = np.clip(codes, bins.first, bins.last)
    assert np.array_equal(np.searchsorted(edges, binned, side="right"), np.searchsorted(edges, inside, side="right"))


def test_where_every_group_has_an_interval_of_its_own_there_may_be_fewer() -> None:
    number = {"space": "interval", "low": 0, "high": 2600, "step": 1, "mechanism": "laplace"}
    columns = {"x": number, "y": {**number, "high": 60}, "town": {"space": "categories", "values": ["a", "b", "c"]}}
    table = pa.table({"x": [5] * 9, "y": [3] * 9, "town": ["a"] * 9})
    release = dp.sanitise(table, {"privacy": {"epsilon": 1}, "columns": columns})
    for sql in (
        "SELECT x, avg(y) FROM release GROUP BY x",
        "SELECT x, count(*) FROM release WHERE y > 5 GROUP BY x",
        "SELECT x, count(*) FILTER (WHERE town = 'a') / count(*) FROM release GROUP BY x",
        "SELECT BIN(x, 50) AS wide, y, count(*) FROM release GROUP BY wide, y",
    ):
        with pytest.raises(
            InputError, match="groups of numbers under noise, and 2,500 are the most \\(more where rows"
        ):
            release.query(sql)

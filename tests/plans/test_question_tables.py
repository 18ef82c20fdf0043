"""[[questions]] of the central model: which tables they need, how the noise is shared out, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof import InputError, Plan
from dproof.advice.expect import ExpectedWidth, expected_of_release
from dproof.central.recipe import TableLaw, certify_tables, wanted_answers
from dproof.central.workload import Residual
from dproof.certification import verify_central as verifier
from dproof.testing import seeded_coins
from tests.makers import table_law

pytestmark = pytest.mark.usefixtures("gaussian")

COLUMNS: dict[str, Any] = {
    "sex": {"space": "categories", "values": ["f", "m"]},
    "town": {"space": "categories", "values": ["a", "b", "c"]},
    "age": {"space": "interval", "low": 0, "high": 100, "step": 1, "bins": [0, 30, 60, 100]},
    "pets": {"space": "subsets", "values": ["cat", "dog"]},
}


def planned(*questions: Any, delta: Any = "1e-6", release: Any = None, columns: Any = COLUMNS, **privacy: Any) -> Plan:
    asked = [{"sql": one} if isinstance(one, str) else {"sql": one[0], "weight": one[1]} for one in questions]
    promise = {"model": "central", "epsilon": 1, "delta": delta, **privacy}
    more = {} if release is None else {"release": release}
    used = {name: column for name, column in columns.items() if any(name in one["sql"] for one in asked)}
    return Plan.from_dict({"privacy": promise, "columns": used, "questions": asked, **more})


def law_of(*questions: Any, **more: Any) -> TableLaw:
    return table_law(planned(*questions, **more))


def expected(law: TableLaw, rows: int | None) -> list[ExpectedWidth]:
    return [one for question in law.plan.questions for one in expected_of_release(law, question, rows)]


def test_the_tables_and_sums_that_the_questions_need_are_measured() -> None:
    plan = planned(
        "SELECT sex, town, count(*) FROM data GROUP BY sex, town",
        ("SELECT avg(age) FROM release WHERE sex = 'f'", 3),
        "SELECT count(*) FROM release WHERE list_contains(pets, 'dog') AND age < 30",
    )
    assert plan.asked is not None
    assert dict(plan.asked.tables) == {("sex", "town"): 1, ("sex",): 3, ("age", "pets: dog"): 1}
    assert plan.asked.sums == ((("sex",), "age", Fraction(3)),)
    law = table_law(plan)
    assert Residual((0, 1)) in law.noise and Residual((0,), 2) in law.noise and Residual((1, 2)) not in law.noise


@pytest.mark.parametrize(
    ("sql", "table"),
    [
        ("SELECT sex, stddev(age) FROM release GROUP BY sex", ("sex", "age")),
        ("SELECT mode(town) FROM release WHERE sex = 'f'", ("sex", "town")),
        ("SELECT top(pets, 1) FROM release", ("pets: dog",)),
        ("SELECT median(age) FROM release", ("age",)),
    ],
)
def test_what_the_counts_of_bins_and_items_tell_makes_these_counts_sharp(sql: str, table: Any) -> None:
    plan = planned(sql, neighbours="add-remove")
    assert plan.asked is not None and table in dict(plan.asked.tables)
    counts = "count(*) FROM release" + (" WHERE list_contains(pets, 'dog')" if "pets" in sql else "")
    by = ", ".join(name for name in table if ":" not in name)
    alone = law_of(f"SELECT {counts}" if not by else f"SELECT {by}, {counts} GROUP BY {by}", neighbours="add-remove")
    law, names = table_law(plan), [axis.name for axis in alone.axes]
    cells = [axis.name for axis in law.axes]
    found = law.precisions[None].cell_variance(tuple(map(cells.index, table)))
    assert found < 5 * alone.precisions[None].cell_variance(tuple(map(names.index, table)))


@pytest.mark.parametrize("delta", ["1e-6", "0"])
def test_a_question_by_all_cells_is_a_table_with_that_weight_for_each_cell(delta: str) -> None:
    """Of few rows a small error says as much: squared errors count in parts of the rows of a group."""
    sql = [f"SELECT {a}, {b}, count(*) FROM release GROUP BY {a}, {b}" for a, b in (("sex", "town"), ("town", "age"))]
    asked = law_of((sql[0], 5), sql[1], delta=delta)
    tables = [{"columns": ["sex", "town"], "weight": 5 * 2 * 3}, {"columns": ["town", "age"], "weight": 3 * 3}]
    columns = {name: COLUMNS[name] for name in ("sex", "town", "age")}
    privacy = {"model": "central", "epsilon": 1, "delta": delta}
    listed = Plan.from_dict({"privacy": privacy, "columns": columns, "release": {"tables": tables}})
    expected = table_law(listed)
    assert asked.noise.keys() == expected.noise.keys()
    for one, parameter in asked.noise.items():
        assert float(parameter) == pytest.approx(float(expected.noise[one]), rel=1e-4)


@pytest.mark.parametrize("delta", ["1e-6", "0"])
@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
def test_the_plus_or_minus_of_a_question_is_that_of_its_answers(delta: str, neighbours: str) -> None:
    sql = "SELECT sex, count(*) AS n, sum(age) AS s FROM release GROUP BY sex"
    plan = planned(sql, "SELECT count(*) AS n FROM release WHERE town = 'a'", delta=delta, neighbours=neighbours)
    told = dp.expect(plan, rows=None)
    table = pa.table({"sex": ["f", "m"] * 5000, "town": ["a", "a", "b", "c"] * 2500, "age": list(range(100)) * 100})
    release = dp.sanitise(table, plan)
    for one in told:
        cells = [row[one.column] for row in release.query(one.question).rows]
        for cell in cells:
            assert one.widths is not None
            assert (cell.high - cell.low) / 2 == pytest.approx(one.widths.greatest, rel=0.01)


def test_a_mean_has_a_plus_or_minus_once_the_number_of_rows_is_known() -> None:
    law = law_of("SELECT sex, avg(age) AS m FROM release GROUP BY sex", neighbours="add-remove")
    (unknown,), (known,) = expected(law, None), expected(law, 10_000)
    assert unknown.widths is None and known.widths is not None and 0 < known.widths.greatest < 2


def test_the_plus_or_minus_of_a_deviation_has_the_width_of_the_bins() -> None:
    plan = planned("SELECT stddev(age) AS d, var_pop(age) AS v FROM release")
    with seeded_coins(1):
        release = dp.sanitise(pa.table({"age": list(range(100)) * 100}), plan)
    for one in dp.expect(plan, rows=10_000):
        cell = release.query(one.question).rows[0][one.column]
        assert one.widths is not None
        assert (cell.high - cell.low) / 2 == pytest.approx(one.widths.greatest, rel=0.25), one.column


def error(law: TableLaw, noise: Any, where: list[str]) -> float:
    """The sum of the variances of some answers, by the estimator itself."""
    from dataclasses import replace

    other = replace(law, noise=noise)
    widths = expected(replace(other, plan=law.plan), None)
    return sum(one.widths.greatest**2 for one in widths if one.widths and one.question in where)


def test_no_other_noise_answers_the_questions_better() -> None:
    sql = [
        "SELECT sex, count(*) FROM release WHERE town = 'a' GROUP BY sex",
        "SELECT count(*) FROM release WHERE age < 60 AND sex = 'f'",
    ]
    law = law_of(*sql, neighbours="add-remove")
    least, generator = error(law, law.noise, sql), np.random.default_rng(0)
    precisions = {one: law.domain.norm(one) / float(square) for one, square in law.noise.items()}
    for _ in range(30):
        factors = {one: float(generator.uniform(0.6, 1.6)) for one in law.noise}
        # The same privacy loss: Σ Δ²/γ² stays as it is.
        scale = sum(precisions[one] / factors[one] for one in law.noise) / sum(precisions.values())
        other = {one: square * Fraction(factors[one] * scale) for one, square in law.noise.items()}
        assert error(law, other, sql) >= least * (1 - 1e-3)


def test_the_largest_variance_of_questions_can_be_made_least() -> None:
    sql = [
        "SELECT sex, count(*) FROM release GROUP BY sex",
        "SELECT town, age, count(*) FROM release GROUP BY town, age",
    ]
    total, largest = (law_of(*sql, neighbours="add-remove", release={"objective": o}) for o in ("total", "largest"))
    widths = [[one.widths.greatest for one in expected(law, None) if one.widths] for law in (total, largest)]
    # In parts of the rows of a group, of which there are two and nine.
    assert max(2 * widths[1][0] ** 2, 9 * widths[1][1] ** 2) < max(2 * widths[0][0] ** 2, 9 * widths[0][1] ** 2)


def test_how_few_rows_a_group_has_says_nothing_of_the_tables_beside_questions() -> None:
    law = law_of("SELECT town, count(*) FROM release GROUP BY town", release={"tables": 1})
    assert wanted_answers(law).cost == pytest.approx(wanted_answers(law, alike=True).cost)


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT max(age) FROM release", "MAX is not answered from measured tables"),
        ("SELECT count(*) FROM release WHERE age < 31", "cuts the bin .* declare other `bins`"),
        ("SELECT corr(age, age) FROM release", "squares and products of 'age'"),
        ("SELECT pets, count(*) FROM release GROUP BY pets", "would need all its items at once"),
    ],
)
def test_questions_that_tables_do_not_answer_are_refused_with_their_line(sql: str, why: str) -> None:
    with pytest.raises(InputError, match=rf"plan, line \d+: questions\.1\.sql has no answer from tables: .*{why}"):
        planned(sql)


def test_a_table_that_would_be_too_large_is_refused_without_being_made() -> None:
    wide = {name: {"space": "categories", "values": [f"v{n}" for n in range(1000)]} for name in "abcd"}
    with pytest.raises(InputError, match="has more than 10,000,000 cells: ask about fewer columns"):
        planned("SELECT count(*) FROM release WHERE a = 'v1' AND b = 'v2' AND c = 'v3' AND d = 'v4'", columns=wide)


@pytest.mark.parametrize("neighbours", ["change-one", "add-remove"])
@pytest.mark.parametrize(
    "sql", ["count(*) FROM release", "sex, count(*) FROM release GROUP BY sex", "avg(age) FROM release"]
)
def test_what_no_question_needs_is_left_out(sql: str, neighbours: str, tmp_path: Path) -> None:
    privacy = {"model": "central", "epsilon": 1, "delta": "1e-6", "neighbours": neighbours}
    plan = Plan.from_dict({"privacy": privacy, "columns": COLUMNS, "questions": [{"sql": f"SELECT {sql}"}]})
    assert plan.left_out == [name for name in COLUMNS if name not in sql]
    row = {"town": ["a"], "sex": ["f"], "age": [40], "pets": [["cat"]]}
    release = dp.sanitise(pa.table({name: value * 50 for name, value in row.items()}), plan, tmp_path / "r")
    dp.verify(tmp_path / "r")
    assert release.query(f"SELECT {sql}").rows
    with pytest.raises(dp.NotMeasured):
        release.query("SELECT town, count(*) FROM release GROUP BY town")


def test_rows_and_sums_without_tables_are_refused() -> None:
    asked = [{"sql": "SELECT sex, count(*) FROM release GROUP BY sex"}]
    base = {"privacy": {"model": "central", "epsilon": 1, "delta": "1e-6"}, "columns": COLUMNS, "questions": asked}
    for key in ("rows", "sums"):
        with pytest.raises(InputError, match=rf"release\.{key} needs `tables`"):
            Plan.from_dict({**base, "release": {key: True}})


def test_questions_get_the_tables_and_sums_that_are_not_listed() -> None:
    columns = {name: COLUMNS[name] for name in ("sex", "age")}
    base = {"privacy": {"model": "central", "epsilon": 1, "delta": "1e-6"}, "columns": columns}
    asked = [{"sql": "SELECT count(*) FROM release WHERE sex = 'f' AND age < 30"}]
    asked += [{"sql": "SELECT avg(age) FROM release WHERE sex = 'f'"}]
    one = Plan.from_dict({**base, "release": {"tables": 1}, "questions": asked}).asked
    assert one is not None and dict(one.tables) == {("sex",): 1, ("age",): 1, ("sex", "age"): 0}
    assert one.sums == ((("sex",), "age", Fraction(0)),)
    two = Plan.from_dict({**base, "release": {"tables": 2}, "questions": asked[:1]}).asked
    assert two is not None and len(two.tables) == 3 and not two.sums


def _widths(law: TableLaw, plan: Plan) -> list[float]:
    found = [expected_of_release(law, one, 2000) for one in plan.questions]
    return [one.half_width or 0.0 for each in found for one in each]


@pytest.mark.parametrize("delta", ["1e-6", "0"])
def test_questions_every_column_and_rows_stand_in_one_plan(delta: str, tmp_path: Any) -> None:
    columns = {f"c{n}": {"space": "categories", "values": ["x", "y", "z"]} for n in range(8)}
    sqls = ["SELECT c0, c1, count(*) AS n FROM release GROUP BY c0, c1", "SELECT count(*) AS n FROM release"]
    base = {"privacy": {"model": "central", "epsilon": 2, "delta": delta, "neighbours": "add-remove"}}
    base |= {"columns": columns, "questions": [{"sql": sql} for sql in sqls]}
    mixed = Plan.from_dict({**base, "release": {"tables": 1, "rows": True}})
    law = certify_tables(mixed)
    cells = {one.columns: one.half_width for one in law.half_widths}
    assert len(cells) == 9 and all((f"c{n}",) in cells for n in range(8))
    # What the questions need is sharper than it is among the cells of all tables.
    every = Plan.from_dict({**base, "release": {"tables": 1}})
    assert every.asked is not None
    listed = replace(
        every.asked, tables=tuple((names, Fraction(1)) for names, _ in every.asked.tables), questions=False
    )
    plain = certify_tables(replace(every, asked=listed))
    assert _widths(law, mixed)[0] < 0.93 * _widths(plain, mixed)[0]
    table = pa.table({name: ["x", "y", "z", "x"] * 500 for name in columns})
    with seeded_coins(3):
        dp.sanitise(table, mixed, tmp_path / "out")
    released = dp.verify(tmp_path / "out")
    assert released is not None
    cell = released.query("SELECT count(*) AS n FROM release WHERE c0 = 'x' AND c1 = 'x'").rows[0]["n"]
    assert cell.low <= 1000 <= cell.high and cell.high - cell.low < 200
    assert len(released.query("SELECT c7, count(*) AS n FROM release GROUP BY c7").rows) == 3
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text("utf-8"))
    assert verifier.verify(certificate, tmp_path / "out") == ["report.html"]  # which it does not read


@pytest.mark.parametrize("delta", ["1e-6", "0"])
@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
def test_what_the_questions_chose_is_stored_and_verified(delta: str, neighbours: str, tmp_path: Any) -> None:
    sql = "SELECT sex, avg(age) AS m FROM release GROUP BY sex"
    plan = planned(sql, "SELECT count(*) AS n FROM release WHERE town = 'b'", delta=delta, neighbours=neighbours)
    table = pa.table({"sex": ["f", "m"] * 500, "town": ["a"] * 1000, "age": list(range(100)) * 10})
    dp.sanitise(table, plan, tmp_path / "out")
    checked = dp.verify(tmp_path / "out")
    assert checked is not None
    assert checked.query("SELECT count(*) AS n FROM release WHERE town = 'b'").rows[0]["n"].low < 200
    with pytest.raises(InputError, match="which was not measured"):
        checked.query("SELECT count(*) FROM release WHERE town = 'b' AND sex = 'f'")

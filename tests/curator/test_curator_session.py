"""The curator's session: previews spend nothing, asking debits first, asking again is free."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterator
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest

import dproof as dp
from dproof import Curator, InputError, OverBudget, Plan, QuestionError, Terms
from dproof.curator.curator import NamedTerms
from dproof.curator.ledger import LedgerFile
from dproof.plans.rows import counted_rows, read_codes
from dproof.tables.source import Source
from dproof.testing import seeded_coins
from tests.makers import with_noise

PLAN: dict[str, Any] = {
    "privacy": {"epsilon": 3},
    "columns": {
        "age": {"space": "interval", "low": 0, "high": 110, "step": 1},
        "sex": {"space": "categories", "values": ["f", "m"]},
        "town": {"public": True},
        "name": {"drop": True},
    },
}
ROWS = 2000


def no_gaps() -> dict[str, Any]:
    """The plan with a stand-in for a missing age, so that the number of ages is public."""
    return {**PLAN, "columns": {**PLAN["columns"], "age": {**PLAN["columns"]["age"], "missing": 40}}}


def people(rows: int = ROWS) -> pa.Table:
    made = np.random.default_rng(7)
    return pa.table(
        {
            "age": made.integers(0, 111, rows),
            "sex": made.choice(["f", "m"], rows),
            "town": ["Bern"] * rows,
            "name": ["somebody"] * rows,
        }
    )


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "budget.db"


@pytest.fixture
def curator(ledger: Path) -> dp.Curator:
    return dp.Curator(people(), PLAN, ledger=ledger)


def test_asking_again_is_free_and_byte_equal(curator: dp.Curator) -> None:
    question = "SELECT sex, count(*) AS n, avg(age) AS a FROM data GROUP BY sex"
    first = curator.ask(question, epsilon="0.1")
    assert curator.remaining().epsilon == Fraction(29, 10)
    for _ in range(50):
        again = curator.ask(question, epsilon="0.1")
        assert json.dumps(again.to_json()["rows"]) == json.dumps(first.to_json()["rows"])
    assert curator.remaining().epsilon == Fraction(29, 10)


def test_other_words_for_the_same_measurement_are_free_too(curator: dp.Curator) -> None:
    first = curator.ask("SELECT sex, avg(age) AS a, count(*) AS n FROM data GROUP BY sex", epsilon="0.1")
    other = curator.ask(
        "SELECT 2 * COUNT(*) AS twice, mean(Age) AS m, Sex AS s FROM data GROUP BY s ORDER BY m DESC", epsilon="0.1"
    )
    assert curator.remaining().epsilon == Fraction(29, 10)
    assert {row["s"]: row["m"].estimate for row in other.rows} == {r["sex"]: r["a"].estimate for r in first.rows}
    assert {row["s"]: row["twice"].estimate for row in other.rows} == {
        r["sex"]: 2 * r["n"].estimate for r in first.rows
    }


def test_a_cheaper_repetition_gets_the_better_answer(curator: dp.Curator) -> None:
    good = curator.ask("SELECT count(*) AS n FROM data WHERE sex = 'f'", epsilon=1)
    cheap = curator.ask("SELECT count(*) AS n FROM data WHERE sex = 'f'", epsilon="0.01")
    assert cheap.rows == good.rows and curator.remaining().epsilon == 2
    curator.ask("SELECT count(*) AS n FROM data WHERE sex = 'f'", epsilon="1.5")
    assert curator.remaining().epsilon == Fraction(1, 2)


def test_several_questions_are_paid_for_together_or_not_at_all(curator: dp.Curator) -> None:
    women, men = (f"SELECT count(*) AS n FROM data WHERE sex = '{sex}' AND age < 50" for sex in "fm")
    before = curator.ledger.entries
    for wrong in ([women, "SELECT count(*) FROM data WHERE sex = 'x'"], [women, 3]):
        with pytest.raises(InputError):
            curator.ask(wrong, epsilon=1)  # type: ignore[call-overload]
    with pytest.raises(OverBudget, match="nothing was read and nothing was spent"):
        curator.ask([women, men], epsilon=2)
    assert curator.remaining().epsilon == 3 and curator.ledger.entries == before
    first, second, again, every = curator.ask([women, men, women, "SELECT count(*) AS n FROM data"], epsilon=1)
    assert curator.remaining().epsilon == 1
    assert first.rows == again.rows == curator.ask(women, epsilon=1).rows and first.rows != second.rows
    free = [answer.notes[0].startswith("It was free") for answer in (first, second, again, every)]
    assert free == [False, False, True, True] and every.rows[0]["n"].estimate == ROWS
    assert curator.ask([], epsilon=1) == [] and curator.remaining().epsilon == 1


def test_terms_are_one_object_or_their_names(curator: dp.Curator) -> None:
    assert list(NamedTerms.__annotations__) == [field.name for field in fields(Terms)]
    question, terms = "SELECT count(*) AS n FROM data WHERE sex = 'f'", Terms(epsilon="0.25", level=0.9)
    assert str(curator.preview(question, terms)) == str(curator.preview(question, epsilon="0.25", level=0.9))
    answer = curator.ask(question, terms)
    assert answer.rows == curator.ask(question, terms, level=0.9).rows
    assert curator.stored(question, epsilon="0.25", level=0.9) == curator.stored(question, terms)
    assert curator.ask(question, terms, level=0.5).level == 0.5
    with pytest.raises(InputError, match="terms must be the Terms of a question"):
        curator.ask(question, "0.25")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="epsilom"):
        curator.ask(question, epsilom="0.25")  # type: ignore[call-overload]


def test_what_no_row_can_change_is_free(curator: dp.Curator) -> None:
    assert len(curator.ask("SELECT count(*) FROM data", epsilon=1).notes) == 1  # none of what was drawn
    assert curator.ask("SELECT count(*) AS n FROM data", epsilon=1).rows[0]["n"].estimate == ROWS
    assert curator.remaining().epsilon == 3


def test_under_add_remove_the_number_of_rows_is_private(ledger: Path) -> None:
    plan = PLAN | {"privacy": {"epsilon": 3, "neighbours": "add-remove"}}
    curator = dp.Curator(people(), plan, ledger=ledger)
    with seeded_coins(5):
        answer = curator.ask("SELECT count(*) AS n, avg(age) AS a FROM data", epsilon="0.01")
    assert answer.rows[0]["n"].estimate != ROWS
    assert curator.remaining().epsilon == Fraction(299, 100)
    assert "2000" not in str(curator.preview("SELECT avg(age) FROM data", epsilon=1))


def test_a_preview_spends_nothing_and_reads_nothing(ledger: Path) -> None:
    def forbidden(columns: Any) -> Iterator[Any]:
        raise AssertionError("the table was read")

    curator = dp.Curator(Source(tuple(PLAN["columns"]), forbidden, ROWS), no_gaps(), ledger=ledger)
    seen = curator.preview("SELECT sex, count(*) AS n, avg(age) AS a FROM data GROUP BY sex", epsilon="0.5")
    assert curator.remaining().epsilon == 3 and seen.half_widths["n"] is not None
    assert not seen.free and "costs epsilon 0.5" in str(seen)
    simple = curator.preview("SELECT avg(age) AS a FROM data", epsilon="0.5")
    assert simple.sensitivity is not None and simple.sensitivity.l1 == Fraction(110, ROWS)
    assert simple.half_widths["a"] == pytest.approx(110 / 0.5 * math.log(20) / ROWS, rel=0.01)
    json.dumps(simple.to_json(), allow_nan=False)


def test_a_preview_tells_its_tables_apart_in_few_words(ledger: Path) -> None:
    seen = dp.Curator(people(), no_gaps(), ledger=ledger).preview("SELECT avg(age) AS a FROM data", epsilon=1)
    assert "[2,000 × (age = 0)] and the table [1,999 × (age = 0), (age = 110)]" in str(seen)
    assert seen.to_json()["sensitivity"]["witness"]["before"] == [{"row": {"age": 0}, "times": ROWS}]


def test_the_debit_comes_before_the_reading(ledger: Path) -> None:
    def broken(columns: Any) -> Iterator[Any]:
        raise InputError("the disk is gone")

    curator = dp.Curator(Source(tuple(PLAN["columns"]), broken, ROWS), PLAN, ledger=ledger)
    with pytest.raises(InputError, match="disk"):
        curator.ask("SELECT count(*) FROM data WHERE sex = 'f'", epsilon=1)
    assert curator.remaining().epsilon == 2


def test_over_budget_reads_nothing(ledger: Path) -> None:
    def forbidden(columns: Any) -> Iterator[Any]:
        raise AssertionError("the table was read")

    curator = dp.Curator(Source(tuple(PLAN["columns"]), forbidden, ROWS), PLAN, ledger=ledger)
    with pytest.raises(OverBudget):
        curator.ask("SELECT count(*) FROM data WHERE sex = 'f'", epsilon="3.000001")
    assert curator.remaining().epsilon == 3


def test_an_accuracy_is_met_at_the_least_cost(curator: dp.Curator) -> None:
    question = "SELECT count(*) AS n FROM data WHERE age > 40"
    wanted = curator.preview(question, accuracy=10)
    assert wanted.half_widths["n"] is not None and wanted.half_widths["n"] <= 10
    dearer = curator.preview(question, epsilon=wanted.cost.epsilon * Fraction(95, 100))
    assert dearer.half_widths["n"] is not None and dearer.half_widths["n"] > 10
    assert curator.ask(question, accuracy=10).rows[0]["n"].high is not None
    assert curator.remaining().epsilon == 3 - wanted.cost.epsilon
    grouped = curator.preview("SELECT sex, count(*) AS n FROM data GROUP BY sex", accuracy=10)
    assert grouped.half_widths["n"] is not None and grouped.half_widths["n"] <= 10
    for unknown in ("sex, avg(age) AS a FROM data GROUP BY sex", "median(age) AS a FROM data"):
        with pytest.raises(InputError, match="interval of 'a' depends on the table"):
            curator.ask(f"SELECT {unknown}", accuracy=10)
    with pytest.raises(OverBudget):
        curator.ask(question, accuracy="1e-9")  # exact but for a chance of 5 %, at a price
    with pytest.raises(InputError, match="up to 100"):
        curator.ask(question, accuracy=0)


@pytest.mark.parametrize("epsilon", ["-1", "nan", "inf", "1e999", "many", None])
def test_prices_that_make_no_sense_are_refused(curator: dp.Curator, epsilon: Any) -> None:
    with pytest.raises(InputError):
        curator.ask("SELECT count(*) FROM data WHERE sex = 'f'", epsilon=epsilon)
    assert curator.remaining().epsilon == 3


def test_epsilon_zero_buys_nothing(curator: dp.Curator) -> None:
    for question in ("SELECT count(*) FROM data WHERE sex = 'f'", "SELECT median(age) FROM data"):
        with pytest.raises(InputError, match="epsilon"):
            curator.ask(question, epsilon=0)


@pytest.mark.parametrize("epsilon", ["1e-60", "1e-300", "1e-400"])
def test_a_tiny_epsilon_is_answered_or_refused_before_the_debit(epsilon: str, curator: dp.Curator) -> None:
    with pytest.raises(InputError):
        curator.ask("SELECT count(*) FROM data WHERE sex = 'f'", epsilon=epsilon)
    assert curator.remaining().epsilon == 3
    # A choice is nearly uniform then, and must not fail only where the counts differ.
    for chosen in ("median(age)", "max(age)", "mode(sex)"):
        assert curator.ask(f"SELECT {chosen} AS x FROM data", epsilon=epsilon).rows[0]["x"].estimate is not None


@pytest.mark.parametrize("level", [np.float64(0.9), np.float32(0.5), Fraction(9, 10), "0.9"])
def test_a_level_is_any_number_between_0_and_1(level: Any, curator: dp.Curator) -> None:
    for asked in ("count(*)", "avg(age)", "median(age)"):
        question = f"SELECT {asked} AS x FROM data WHERE sex = 'f'"
        found = curator.ask(question, epsilon="0.1", level=level)
        assert (
            found.level == float(level) and found.rows == curator.ask(question, epsilon="0.1", level=float(level)).rows
        )
    for wrong in (0, 1, "many", float("nan"), None):
        with pytest.raises(InputError, match="level"):
            curator.ask("SELECT max(age) FROM data", epsilon=1, level=wrong)
    assert curator.remaining().epsilon == 3 - Fraction(3, 10)


@pytest.mark.parametrize("column", ["town", "name"])
def test_columns_without_a_space_cannot_be_asked(curator: dp.Curator, column: str) -> None:
    for asked in (f"count(*) FROM data WHERE {column} = 'Bern'", f"{column}, count(*) FROM data GROUP BY {column}"):
        with pytest.raises(QuestionError, match=f"column '{column}'"):
            curator.ask(f"SELECT {asked}", epsilon=1)
    assert curator.remaining().epsilon == 3


def test_sixteen_threads_ask_one_curator(curator: dp.Curator) -> None:
    answers: list[Any] = []

    def ask(n: int) -> None:
        try:
            answers.append(curator.ask(f"SELECT count(*) AS n FROM data WHERE age > {n % 8 + 1}", epsilon="0.5"))
        except OverBudget:
            answers.append(None)

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert curator.remaining().epsilon == 0
    assert sum(answer is not None for answer in answers) >= 6  # six are paid, and repetitions of these are free
    kinds = [entry["kind"] for entry in curator.ledger.entries]
    assert kinds.count("question") == kinds.count("answer") == 6


@pytest.mark.parametrize(
    "question",
    [
        "SELECT sex, age + count(*) AS x FROM data GROUP BY sex, age",
        "SELECT mode(sex) + 1 AS x FROM data",
        "SELECT sex, count(*) AS n FROM data GROUP BY sex HAVING top(age, 2) > 3",
        "SELECT sex, count(*) AS n FROM data GROUP BY sex HAVING sex > 3",
        "SELECT sex, count(*) AS n FROM data GROUP BY sex ORDER BY 2 * mode(sex)",
        "SELECT top(sex, 3) FROM data",
    ],
)
def test_what_cannot_be_calculated_is_refused_before_the_debit(curator: dp.Curator, question: str) -> None:
    with pytest.raises(InputError):
        curator.ask(question, epsilon=1)
    assert curator.remaining().epsilon == 3


def test_what_has_no_value_passes_no_test_and_comes_last(tmp_path: Path) -> None:
    """Nothing that is calculated after the debit may fail: constants, nothing by nothing, the missing category."""
    columns = {"rooms": {"space": "categories", "values": [1, 2], "missing": "category"}}
    plan = {"privacy": {"epsilon": 99}, "columns": columns}
    curator = dp.Curator(pa.table({"rooms": [1, 2, None] * 99}), plan, ledger=tmp_path / "b.db")
    by_rooms = "FROM data GROUP BY rooms"
    for order in ("rooms", "rooms DESC"):
        found = curator.ask(f"SELECT rooms, 1 + 2 AS x, count(*) / 0 AS y {by_rooms} ORDER BY {order}", epsilon=9).rows
        assert found[2]["rooms"] is None and {row["x"] for row in found} == {3}
        assert all(row["y"].low is None for row in found)
    tested = curator.ask(f"SELECT rooms, count(*) AS n {by_rooms} HAVING rooms > 1 AND 1 + 1 > 1", epsilon=9)
    assert [row["rooms"] for row in tested.rows] == [2]
    assert curator.ask("SELECT count(*) AS n FROM data HAVING count(*) / 0 - count(*) / 0 < 1", epsilon=9).rows == []


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("factor", ["* 1e300 * 1e300", "/ 1e-300 / 1e-300", "/ 0", "* 1e-300 * 1e-300"])
def test_a_calculation_that_leaves_the_numbers_says_nothing_on_the_way(factor: str, curator: dp.Curator) -> None:
    told = curator.ask(f"SELECT count(*) {factor} AS x FROM data WHERE sex = 'f'", epsilon=1).to_json()
    assert told["rows"][0]["x"]["estimate"] in (None, 0.0)


@pytest.mark.parametrize("asked", ["avg(age)", "stddev(age)", "count(*)", "median(age)", "max(age) - min(age)"])
@pytest.mark.parametrize("cut", ["HAVING count(*) > 1000000", "LIMIT 0"])
def test_an_answer_without_rows_is_an_answer(asked: str, cut: str, curator: dp.Curator) -> None:
    found = curator.ask(f"SELECT sex, {asked} AS x FROM data GROUP BY sex {cut}", epsilon=1)
    assert (found.columns, found.rows, found.to_json()["rows"]) == (("sex", "x"), [], [])


def test_the_missing_category_is_no_value_to_choose(tmp_path: Path) -> None:
    columns = {"rooms": {"space": "categories", "values": [1, 2], "missing": "category"}}
    plan = {"privacy": {"epsilon": 9}, "columns": columns}
    curator = dp.Curator(pa.table({"rooms": pa.array([None] * 9, pa.int64())}), plan, ledger=tmp_path / "b.db")
    with pytest.raises(InputError, match="TOP asks for 3 values, and the column has 2"):
        curator.ask("SELECT top(rooms, 3) FROM data", epsilon=1)
    for n in range(1, 21):
        row = curator.ask("SELECT mode(rooms) + 1 AS m, top(rooms, 2) AS t FROM data", epsilon=Fraction(n, 100)).rows[0]
        assert row["m"].estimate in (2, 3) and sorted(row["t"].estimate) == [1, 2]


def test_extreme_quantiles_are_extremes(tmp_path: Path) -> None:
    plan = PLAN | {"privacy": {"epsilon": 1000}}
    table = people().set_column(0, "age", pa.array([30, 40, 50, 60] * (ROWS // 4)))
    row = (
        dp.Curator(table, plan, ledger=tmp_path / "b.db")
        .ask("SELECT quantile(age, 0) AS a, quantile(age, 1) AS b, max(age) - min(age) AS r FROM data", epsilon=1000)
        .rows[0]
    )
    assert (row["a"].estimate, row["b"].estimate, row["r"].estimate, row["r"].low) == (30, 60, 30, None)
    with seeded_coins(4):
        answer = dp.Curator(table, plan, ledger=tmp_path / "c.db").ask("SELECT quantile(age, 0) FROM data", epsilon=1)
    assert "it has at most 28 rows below it" in str(answer)


def test_a_mode_among_too_many_is_refused(tmp_path: Path) -> None:
    plan = {"privacy": {"epsilon": 1}, "columns": {"x": {"space": "interval", "low": 0, "high": 10**12, "step": 1}}}
    curator = dp.Curator(pa.table({"x": [1, 2]}), plan, ledger=tmp_path / "b.db")
    with pytest.raises(InputError, match="BIN"):
        curator.ask("SELECT mode(x) FROM data", epsilon=1)
    assert 0 <= curator.ask("SELECT median(x) AS m FROM data", epsilon="0.5").rows[0]["m"].estimate <= 10**12
    for too_large in (
        "SELECT x, count(*) FROM data GROUP BY x",
        "SELECT bin(x, 10000000), median(x) FROM data GROUP BY 1",
    ):
        with pytest.raises(InputError):
            curator.ask(too_large, epsilon="0.1")
    assert curator.remaining().epsilon == Fraction(1, 2)


def test_choices_in_many_groups_are_quick_or_refused(tmp_path: Path) -> None:
    spaces = {
        name: {"space": "interval", "low": 0, "high": high, "step": 1} for name, high in (("v", 60_000), ("g", 999))
    }
    plan = {"privacy": {"epsilon": 1}, "columns": spaces}
    curator = dp.Curator(pa.table({"v": [1, 2], "g": [3, 4]}), plan, ledger=tmp_path / "b.db")
    for asked in ("SELECT bin(v, 50), mode(v) FROM data GROUP BY 1", "SELECT g, top(v, 1) FROM data GROUP BY g"):
        with pytest.raises(InputError, match="fewer groups"):
            curator.ask(asked, epsilon=1, all_groups=True)
    with pytest.raises(InputError, match="fewer groups"):
        curator.ask("SELECT top(v, 300) FROM data", epsilon=1)
    assert "permute-and-flip" in str(curator.preview("SELECT g, median(v) FROM data GROUP BY g", epsilon=1))
    both = "SELECT g, bin(v, 6000), median(v) FROM data GROUP BY 1, 2"
    assert "(exponential, " in str(curator.preview(both, epsilon=1, all_groups=True))
    assert curator.remaining().epsilon == 1


def test_intervals_of_very_many_groups(tmp_path: Path) -> None:
    plan = {
        "privacy": {"epsilon": 10},
        "columns": {
            "x": {"space": "interval", "low": 0, "high": 2999, "step": 1},
            "y": {"space": "interval", "low": 0, "high": 9, "step": 1},
        },
    }
    curator = dp.Curator(pa.table({"x": [1, 2], "y": [3, 4]}), plan, ledger=tmp_path / "b.db")
    asked = "SELECT x, avg(y) AS a FROM data GROUP BY x HAVING x >= 10 ORDER BY a LIMIT 2000"
    answer = curator.ask(asked, epsilon=1, all_groups=True)
    assert len(answer.rows) == 2000 and all(0 <= r["a"].low <= r["a"].high <= 9 for r in answer.rows)


def test_two_sessions_share_one_ledger(ledger: Path) -> None:
    first, second = (dp.Curator(people(), PLAN, ledger=ledger) for _ in range(2))
    question = "SELECT count(*) AS n FROM data WHERE age < 50"
    assert first.ask(question, epsilon=1).rows == second.ask(question, epsilon=1).rows
    assert first.remaining() == second.remaining()
    with pytest.raises(InputError, match="cannot be changed"):
        dp.Curator(people(), PLAN, ledger=ledger, budget=dp.Privacy(30))


def test_what_was_answered_stays_when_the_table_changes(ledger: Path) -> None:
    question = "SELECT sex, count(*) AS n, median(age) AS m FROM data GROUP BY sex"
    first = dp.Curator(people(), PLAN, ledger=ledger).ask(question, epsilon=1)
    changed = dp.Curator(people(ROWS // 2), PLAN, ledger=ledger)
    assert changed.ask(question, epsilon=1).rows == first.rows and changed.remaining().epsilon == 2
    assert sum(row["n"].estimate for row in changed.ask(question, epsilon="1.5").rows) <= ROWS // 2


def test_the_empty_file_of_a_ledger_that_another_process_begins_is_no_obstacle(ledger: Path) -> None:
    ledger.touch()
    dp.Curator(people(), PLAN, ledger=ledger).ask("SELECT count(*) FROM data WHERE sex = 'f'", epsilon=1)
    assert dp.Curator(people(), PLAN, ledger=ledger).remaining().epsilon == 2


def test_another_plan_is_another_question(ledger: Path) -> None:
    narrow = json.loads(json.dumps(PLAN))
    narrow["columns"]["age"]["high"] = 60
    question = "SELECT avg(age) AS a FROM data"
    wide_answer = dp.Curator(people(), PLAN, ledger=ledger).ask(question, epsilon=1)
    narrow_curator = dp.Curator(people(), narrow, ledger=ledger)
    assert narrow_curator.ask(question, epsilon=1).rows != wide_answer.rows
    assert narrow_curator.remaining().epsilon == 1


def test_a_plan_that_allows_less_than_the_ledger_is_a_ceiling(ledger: Path) -> None:
    rich = dp.Curator(people(), PLAN, ledger=ledger, budget=dp.Privacy(9))
    poor = dp.Curator(people(), PLAN, ledger=ledger)
    assert (rich.remaining().epsilon, poor.remaining().epsilon) == (9, 3)
    rich.ask("SELECT count(*) FROM data WHERE age < 50", epsilon=2)
    assert (rich.remaining().epsilon, poor.remaining().epsilon) == (7, 1)
    with pytest.raises(OverBudget):
        poor.ask("SELECT count(*) FROM data WHERE age < 51", epsilon="1.5")
    rich.ask("SELECT count(*) FROM data WHERE age < 51", epsilon=4)
    assert poor.remaining().epsilon == 0
    with pytest.raises(OverBudget):
        poor.ask("SELECT count(*) FROM data WHERE age < 52", epsilon="0.1")


def test_budgets_of_analysts(ledger: Path) -> None:
    limits = {"ann": dp.Privacy(1), "bob": dp.Privacy(1)}
    ann = dp.Curator(people(), PLAN, ledger=ledger, analysts=limits, analyst="ann")
    bob = dp.Curator(people(), PLAN, ledger=ledger, analyst="bob")
    question = "SELECT count(*) AS n FROM data WHERE age < 50"
    seen = ann.ask(question, epsilon=1)
    with pytest.raises(OverBudget):
        ann.ask("SELECT count(*) AS n FROM data WHERE age < 51", epsilon="0.1")
    assert bob.ask(question, epsilon=1).rows == seen.rows  # what is known costs nobody anything
    assert bob.remaining().epsilon == 1


def test_mixed_relations_are_refused(ledger: Path) -> None:
    with pytest.raises(InputError, match="neighbours"):
        dp.Curator(people(), PLAN, ledger=ledger, budget=dp.Privacy(1, neighbours="add-remove"))


@pytest.mark.parametrize("convert", [lambda t: t, lambda t: t.to_pandas(), polars.from_arrow, lambda t: t.to_reader()])
def test_every_kind_of_table(convert: Any, ledger: Path) -> None:
    with seeded_coins(1):
        answer = dp.Curator(convert(people()), PLAN, ledger=ledger).ask(
            "SELECT sex, count(*) AS n FROM data GROUP BY sex", epsilon=1
        )
    sexes = people()["sex"].to_pylist()
    for row in answer.rows:
        assert abs(row["n"].raw - sexes.count(row["sex"])) < 40
    assert "NOT PRIVATE" in str(answer)


def test_a_stream_is_kept_for_the_questions_to_come(ledger: Path) -> None:
    curator = dp.Curator(people().to_reader(), PLAN, ledger=ledger)
    for age in (20, 40):
        cell = curator.ask(f"SELECT count(*) AS n FROM data WHERE age < {age}", epsilon=1).rows[0]["n"]
        assert abs(cell.raw - (people()["age"].to_numpy() < age).sum()) < 40


def test_answers_go_everywhere(curator: dp.Curator) -> None:
    answer = curator.ask("SELECT sex, count(*) AS n, sum(age) AS s, median(age) AS m FROM data GROUP BY sex", epsilon=1)
    assert answer.to_arrow().column_names[:3] == ["sex", "n", "n_low"]
    assert isinstance(answer.to_pandas(), pandas.DataFrame) and isinstance(answer.to_polars(), polars.DataFrame)
    assert "<table>" in answer._repr_html_() and "±" in str(answer)
    json.dumps(answer.to_json(), allow_nan=False)


def test_questions_built_in_python(curator: dp.Curator) -> None:
    built = curator.ask(dp.Select().count().mean("age").where("age >= 18", sex="f"), epsilon="0.5")
    assert list(built.rows[0]) == ["count", "mean_age"]
    curator.ask("SELECT count(*), avg(age) FROM data WHERE sex = 'f' AND age >= 18", epsilon="0.5")
    assert curator.remaining().epsilon == Fraction(5, 2)
    grouped = curator.ask(dp.Select().total("age").group_by("sex", age=50), epsilon="0.5")
    assert [(row["sex"], row["age"]) for row in grouped.rows] == [(s, e) for s in "fm" for e in (0, 50, 100)]


@pytest.mark.parametrize(
    ("question", "truth"),
    [
        ("SELECT count(*) AS x FROM data WHERE age < 30", lambda ages: (ages < 30).sum()),
        ("SELECT avg(age) AS x FROM data", lambda ages: ages.mean()),
        ("SELECT avg(age) AS x FROM data WHERE age < 30", lambda ages: ages[ages < 30].mean()),
        ("SELECT stddev_pop(age) AS x FROM data", lambda ages: ages.std()),
        ("SELECT proportion(age < 30) AS x FROM data WHERE age < 90", lambda ages: (ages[ages < 90] < 30).mean()),
    ],
)
def test_intervals_cover_the_truth_as_often_as_they_say(question: str, truth: Any, tmp_path: Path) -> None:
    from dproof.curator.answer import answer_of
    from dproof.curator.draw import tally

    curator = dp.Curator(people(), PLAN, ledger=tmp_path / "b.db")
    measurement = curator._measurement(question, Terms("0.5", 0, None, 0.95, False))
    counted = tally(curator.source, curator.plan, measurement)
    right, covered, runs = float(truth(people()["age"].to_numpy())), 0, 150
    with seeded_coins(11):
        for _ in range(runs):
            found = answer_of(measurement, with_noise(measurement, counted), 0.95).rows[0]["x"]
            covered += found.low <= right <= found.high
    assert 0.92 * runs <= covered <= 0.99 * runs


@pytest.mark.parametrize(
    "asked",
    [
        "stddev_pop(age)",
        "corr(age, size)",
        *(pytest.param(a, marks=pytest.mark.slow) for a in ("var(age)", "covar(age, size)")),
    ],
)
def test_moments_of_few_rows_have_intervals_that_say_how_little_is_known(asked: str, tmp_path: Path) -> None:
    from dproof.curator.answer import answer_of
    from dproof.curator.draw import tally

    made = np.random.default_rng(3)
    age = made.integers(20, 70, 320)
    rows = pandas.DataFrame({"age": age, "size": age + made.integers(0, 20, 320), "sex": ["f"] * 280 + ["m"] * 40})
    number = {"space": "interval", "low": 0, "high": 110, "step": 1}
    plan = {"privacy": {"epsilon": 1}, "columns": {"age": number, "size": number, "sex": PLAN["columns"]["sex"]}}
    curator = dp.Curator(rows, plan, ledger=tmp_path / "b.db")
    measurement = curator._measurement(
        f"SELECT sex, {asked} AS x FROM data GROUP BY sex", Terms(1, 0, None, 0.9, False)
    )
    counted = tally(curator.source, curator.plan, measurement)
    true = {"var": lambda d: d.age.var(), "std": lambda d: d.age.std(ddof=0), "cov": lambda d: d.age.cov(d["size"])}
    right = [true.get(asked[:3], lambda d: d.age.corr(d["size"]))(rows[rows.sex == sex]) for sex in "fm"]
    with seeded_coins(5):
        found = [answer_of(measurement, with_noise(measurement, counted), 0.9).rows for _ in range(60)]
    for place, value in enumerate(right):
        assert sum(row[place]["x"].low <= value <= row[place]["x"].high for row in found) >= 0.84 * len(found)


def test_a_person_counts_with_so_many_rows_at_most(tmp_path: Path) -> None:
    rows = pa.table({"id": ["ann"] * 500 + [f"p{n}" for n in range(500)], "sex": ["f"] * 500 + ["m"] * 500})
    plan = {
        "privacy": {"epsilon": 1000, "person": "id", "rows_per_person": 3},
        "columns": {"id": {"drop": True}, "sex": {"space": "categories", "values": ["f", "m"]}},
    }
    answer = dp.Curator(rows, plan, ledger=tmp_path / "b.db").ask(
        "SELECT sex, count(*) AS n FROM data GROUP BY sex", epsilon=1000
    )
    assert [row["n"].raw for row in answer.rows] == [3, 500]
    preview = dp.Curator(rows, plan, ledger=tmp_path / "c.db").preview(
        "SELECT count(*) AS n FROM data WHERE sex = 'f'", epsilon=1
    )
    assert "sensitivity 3" in preview.mechanisms[0]


def test_how_many_rows_people_own_is_private(tmp_path: Path) -> None:
    """Under change-one a person may own other rows, fewer, or none: also where one row of each counts."""
    columns = {"id": {"drop": True}, "age": PLAN["columns"]["age"]}
    for rows in (1, 3):
        privacy = {"epsilon": 3, "person": "id", "rows_per_person": rows}
        plan = {"privacy": privacy, "columns": columns}
        table = pa.table({"id": [n // 2 for n in range(ROWS)], "age": people()["age"]})
        curator = dp.Curator(table, plan, ledger=tmp_path / f"{rows}.db")
        answer = curator.ask("SELECT count(*) AS n FROM data", epsilon=1)
        assert curator.remaining().epsilon == 2 and answer.rows[0]["n"].low < answer.rows[0]["n"].high
        assert f"per person ('id') with at most {rows} row" in str(answer)
        seen = curator.preview("SELECT count(*) AS n, avg(age) AS a FROM data", epsilon=1)
        assert f"count: Laplace noise on whole numbers, sensitivity {rows}," in str(seen)
        assert seen.sensitivity is None and seen.half_widths["a"] is None and str(ROWS) not in str(seen)


def test_whose_rows_count_depends_on_nobody_else() -> None:
    made = np.random.default_rng(3)
    ids = made.integers(0, 30, 400).tolist()
    marked = list(enumerate(ids))
    kept = {n for (n, _), keep in zip(marked, counted_rows([pa.array(ids)], 4), strict=True) if keep}
    without = [(n, person) for n, person in marked if person != 7]
    again = counted_rows([pa.array([person for _, person in without])], 4)
    assert {n for (n, _), keep in zip(without, again, strict=True) if keep} == {n for n in kept if ids[n] != 7}
    assert max(np.bincount([ids[n] for n in kept])) <= 4
    assert sum(counted_rows([pa.array([None, None, "a", None])], 1)) == 2


def test_persons_are_the_same_in_every_batch_and_may_be_anything_but_lists() -> None:
    for names in (
        ["a", None, "b", None, "a"],
        [1.5, None, 2.5, None, 1.5],
        [True, None, False, None, True],
        [None] * 5,
    ):
        whole = counted_rows([pa.array(names)], 1)
        kind = pa.array(names).type
        assert counted_rows([pa.array(names[:2], kind), pa.array(names[2:], kind)], 1).tolist() == whole.tolist()
        assert whole.sum() == len(set(names))
    assert counted_rows([pa.array([], pa.string())], 1).tolist() == counted_rows([], 1).tolist() == []
    with pytest.raises(InputError, match="give each a text"):
        counted_rows([pa.array([["a"], ["b"]])], 1)


def test_rows_count_with_their_own_person_whatever_the_order() -> None:
    """A source such as a DuckDB relation may give its rows in another order each time that it is read."""
    table = pa.table({"id": [*range(50), *[50] * 50], "sex": ["f"] * 50 + ["m"] * 50})
    times = iter(range(100))

    def read(columns: Any) -> Iterator[Any]:
        ordered = table if next(times) % 2 else table.take(list(range(99, -1, -1)))
        yield from ordered.select(list(columns)).to_batches(max_chunksize=7)

    columns = {"id": {"drop": True}, "sex": PLAN["columns"]["sex"]}
    plan = Plan.from_dict({"privacy": {"epsilon": 1, "person": "id", "rows_per_person": 2}, "columns": columns})
    for _ in range(2):
        found = [
            codes["sex"].tolist()
            for _, codes in read_codes(Source(("id", "sex"), read), plan, [plan.true_columns["sex"]])
        ]
        assert sum(batch.count(1) for batch in found) == 2 and sum(batch.count(0) for batch in found) == 50


def test_one_condition_in_two_orders_is_one_question(curator: dp.Curator) -> None:
    women = "count(*) FILTER (WHERE sex = 'f' AND age IN (1, 2, 3))"
    again = "count(*) FILTER (WHERE age IN (3, 2, 1, 2) AND sex = 'f' AND sex = 'f')"
    both = curator.ask(f"SELECT {women} AS a, {again} AS b FROM data", epsilon=1).rows[0]
    alone = curator.ask(f"SELECT {women} AS a FROM data", epsilon=1).rows[0]
    assert both["a"] == both["b"] == alone["a"] and curator.remaining().epsilon == 2


def test_an_answer_says_that_some_rows_of_a_person_do_not_count(tmp_path: Path) -> None:
    """Ten rows of one person, of which two count: the interval covers 2, and somebody must say so."""
    plan = {
        "privacy": {"epsilon": 1, "person": "id", "rows_per_person": 2},
        "columns": {"id": {"drop": True}, "x": {"space": "interval", "low": 0, "high": 9, "step": 1}},
    }
    curator = dp.Curator(pa.table({"id": [1] * 10, "x": range(10)}), plan, ledger=tmp_path / "budget.db")
    said = "Of each person at most 2 rows count, as the plan says: the answer is about these rows."
    asked = "SELECT count(*) AS n FROM data"
    assert said in curator.preview(asked, epsilon="0.5").notes and said in curator.ask(asked, epsilon="0.5").notes


@pytest.mark.parametrize("terms", [{"epsilon": "0.1"}, {"epsilon": "0.1", "delta": "1e-8"}, {"accuracy": 50}])
def test_a_question_reads_the_ledger_once_debits_it_once_and_stores_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terms: dict[str, Any]
) -> None:
    plan = {
        "privacy": {"epsilon": 1, "delta": "1e-6"},
        "columns": {"read": {"space": "categories", "values": ["no", "yes"]}},
    }
    curator = Curator(pa.table({"read": ["no", "yes"] * 50}), plan, ledger=tmp_path / "budget.db")
    opened, whole = [], LedgerFile.transaction

    def noted(file: LedgerFile, *, writing: bool, lasting: bool) -> Any:
        opened.append({(False, True): "read", (True, True): "debit", (True, False): "store"}[writing, lasting])
        return whole(file, writing=writing, lasting=lasting)

    monkeypatch.setattr(LedgerFile, "transaction", noted)
    asked = "SELECT count(*) AS n FROM data WHERE read = 'yes'"
    for act, expected in (
        (curator.preview, ["read"]),
        (curator.ask, ["read", "debit", "store"]),
        (curator.ask, ["read"]),
    ):
        opened.clear()
        act(asked, **terms)
        assert opened == expected

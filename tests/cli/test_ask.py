"""`dproof ask` and `dproof budget`: the contract, and the same face for every neighbouring table."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.makers import AGE, SEX, plan_text, subsets

PLAN = plan_text(
    {"age": AGE, "sex": SEX, "likes": subsets("music", "chess", separator=";")}, epsilon="4", neighbours="RELATION"
)
CLEAN = {"age": ["30", "41", "52", "63"], "sex": ["f", "m", "f", "f"], "likes": ["music", "", "chess;music", "chess"]}
QUESTION = (
    "SELECT sex, count(*) AS n, sum(age) AS s, avg(age) AS a, median(age) AS m, max(age) AS x, stddev(age) AS d, "
    "top(likes, 1) AS t, count(*) FILTER (WHERE list_contains(likes, 'music')) AS music FROM data GROUP BY sex"
)
# One row of the clean table replaced by each of these.
ODD_ROWS: dict[str, tuple[Any, str | None, str | None]] = {
    "not a number": ("nan", "f", "music"),
    "infinite": ("inf", "f", "music"),
    "minus infinite": ("-inf", "f", "music"),
    "missing": (None, None, None),
    "minus zero": ("-0.0", "f", "music"),
    "subnormal": ("5e-324", "f", "music"),
    "largest float": ("1.7e308", "f", "music"),
    "largest int": ("9223372036854775807", "f", "music"),
    "least int": ("-9223372036854775808", "f", "music"),
    "a thousand million": ("1000000000", "f", "music"),
    "no number at all": ("forty", "f", "music"),
    "a unique category": ("40", "canary", "music"),
    "an unknown item": ("40", "f", "canary"),
    "a long text": ("4" * 5000, "x" * 5000, "y" * 5000),
}


def write_csv(path: Path, columns: dict[str, list[Any]]) -> None:
    rows = zip(*columns.values(), strict=True)
    lines = [",".join("" if value is None else str(value) for value in row) for row in rows]
    path.write_text("\n".join([",".join(columns), *lines]) + "\n")


def write_floats(path: Path, columns: dict[str, list[Any]]) -> None:
    def number(text: Any) -> float | None:
        try:
            return None if text is None else float(text)
        except ValueError:
            return None

    table = pa.table({**columns, "age": pa.array([number(x) for x in columns["age"]], pa.float64())})
    pyarrow.parquet.write_table(table, path)


def write_ints(path: Path, columns: dict[str, list[Any]]) -> None:
    def number(text: Any) -> int | None:
        try:
            return None if text is None or abs(int(text)) > 2**63 else int(text)
        except ValueError:
            return None

    table = pa.table({**columns, "age": pa.array([number(x) for x in columns["age"]], pa.int64())})
    pyarrow.parquet.write_table(table, path)


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN.replace("RELATION", "change-one"))
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.csv"
    write_csv(path, CLEAN)
    return path


def shape(answer: Any) -> Any:
    """An answer without its numbers and what follows from them: names, groups, and which fields are there."""
    if isinstance(answer, dict):
        if answer.get("informative") is False:  # where noise leaves nothing to tell, what was calculated is in raw
            answer = {**answer, "estimate": answer["raw"]}
        return {key: "told" if key == "informative" else shape(value) for key, value in answer.items()}
    if isinstance(answer, list):
        noisy = "no information"  # said of what the noise made of the numbers
        return [shape(value) for value in answer if not (isinstance(value, str) and value.startswith(noisy))]
    return "number" if isinstance(answer, (int, float)) and not isinstance(answer, bool) else answer


@pytest.mark.parametrize(
    ("write", "ending", "relation"),
    [
        (write_csv, "csv", "change-one"),
        (write_csv, "csv", "add-remove"),
        (write_floats, "parquet", "add-remove"),
        (write_ints, "parquet", "change-one"),
    ],
)
def test_neighbouring_tables_look_the_same_from_outside(
    write: Any, ending: str, relation: str, tmp_path: Path, dproof: Callable[..., Any]
) -> None:
    plan = tmp_path / "plan.toml"
    text = PLAN.replace("RELATION", relation)
    # A plan that refuses values says that there are none; a curator must not tell otherwise.
    plan.write_text(text.replace("step = 1\n", 'step = 1\noutside = "refuse"\n') if relation == "add-remove" else text)
    faces = {}
    tables = {"clean": CLEAN} | {
        name: {column: [odd, *CLEAN[column][1:]] for column, odd in zip(CLEAN, row, strict=True)}
        for name, row in ODD_ROWS.items()
    }
    if relation == "add-remove":
        tables["one row less"] = {column: values[1:] for column, values in CLEAN.items()}
        tables["no row of a group"] = {column: values[:1] + values[2:] for column, values in CLEAN.items()}
    for number, (name, columns) in enumerate(tables.items()):
        path, ledger = tmp_path / f"{number}.{ending}", tmp_path / f"{number}.db"
        write(path, columns)
        path = path.rename(tmp_path / f"data.{ending}")
        code, out, err = dproof("ask", path, "--plan", plan, "--ledger", ledger, "--epsilon", "1", "--json", QUESTION)
        assert "canary" not in out + err and "forty" not in out + err
        answer = json.loads(out)
        for row in answer["rows"]:
            row["t"]["estimate"] = row["t"]["raw"] = "an item"
        faces[name] = (code, err, shape(answer))
    assert faces["clean"][0] == 0
    for name, face in faces.items():
        assert face == faces["clean"], name


def test_the_empty_table_answers_like_any_other(tmp_path: Path, plan: Path, dproof: Callable[..., Any]) -> None:
    plan.write_text(PLAN.replace("RELATION", "add-remove"))
    path = tmp_path / "data.csv"
    write_csv(path, {column: [] for column in CLEAN})
    ran = dproof("ask", path, "--plan", plan, "--ledger", tmp_path / "b.db", "--epsilon", "1", "--json", QUESTION)
    assert (ran.code, ran.err) == (0, "") and [row["sex"] for row in ran.json["rows"]] == ["f", "m"]


def test_ask_then_budget(data: Path, plan: Path, tmp_path: Path, dproof: Callable[..., Any]) -> None:
    ledger = tmp_path / "budget.db"
    arguments = ("ask", data, "--plan", plan, "--ledger", ledger, "--epsilon", "0.1")
    question = "SELECT count(*) AS n FROM data WHERE sex = 'f'"
    first = dproof(*arguments, question, "--json").json
    assert set(first["rows"][0]["n"]) == {"estimate", "low", "high", "stderr", "raw", "informative"}
    assert first["columns"] == ["n"] and first["level"] == 0.95 and first["remaining"]["epsilon"] == 3.9
    assert dproof(*arguments, question, "--json").json["rows"] == first["rows"]
    told = dproof("budget", ledger, "--json").json
    assert told["budget"] == {"epsilon": 4.0, "delta": 0.0}
    assert told["spent"] == {"epsilon": 0.1, "delta": 0.0}
    assert told["remaining"] == {"epsilon": 3.9, "delta": 0.0}
    assert [entry["kind"] for entry in told["entries"]] == ["budget", "question"]
    assert dproof("budget", ledger, "--mark", told["mark"]).code == 0
    other = dproof("budget", ledger, "--mark", "0" * 64)
    assert other.code == 1 and "older copy" in other.err
    assert "SELECT" in dproof("budget", ledger).out


def test_preview_spends_nothing(data: Path, plan: Path, tmp_path: Path, dproof: Callable[..., Any]) -> None:
    ledger = tmp_path / "budget.db"
    arguments = ("ask", data, "--plan", plan, "--ledger", ledger, "--preview")
    question = "SELECT sex, count(*) AS n FROM data GROUP BY sex"
    seen = dproof(*arguments, "--epsilon", "1/3", question, "--json").json
    assert seen["sensitivity"]["l1"] == 2 and seen["sensitivity"]["kind"] == "exact"
    assert seen["sensitivity"]["witness"]["before"] != seen["sensitivity"]["witness"]["after"]
    assert seen["remaining"]["epsilon"] == 4.0 and seen["half_widths"]["n"] > 0
    text = dproof(*arguments, "--accuracy", "5", question).out
    assert "attained by" in text and "± 5" in text


def test_refusals(
    data: Path, plan: Path, tmp_path: Path, dproof: Callable[..., Any], refused: Callable[..., str]
) -> None:
    arguments = ("ask", data, "--plan", plan, "--ledger", tmp_path / "b.db")
    question = "SELECT count(*) FROM data WHERE sex = 'f'"
    assert "epsilon" in refused(*arguments, question)
    assert "'sex'" in refused(*arguments, "--epsilon", "1", "SELECT count(*) FROM data WHERE sexx = 'f'")
    assert "SELECT" in refused(*arguments, "--epsilon", "1", "DROP TABLE data")
    assert "plan" in refused(
        "ask", data, "--plan", tmp_path / "no.toml", "--ledger", tmp_path / "b.db", "--epsilon", "1", question
    )
    over = dproof(*arguments, "--epsilon", "4.1", question)
    assert over.code == 1 and "nothing was spent" in over.err and not over.out
    assert "no ledger" in refused("budget", tmp_path / "none.db")
    (tmp_path / "b.db").write_bytes(b"x" * 5000)
    assert "not a ledger" in refused(*arguments, "--epsilon", "1", question)
    assert "no ledger beside it" in refused("budget", data)


def test_a_changed_ledger_says_no(data: Path, plan: Path, tmp_path: Path, dproof: Callable[..., Any]) -> None:
    ledger = tmp_path / "b.db"
    assert dproof("budget", ledger, "--plan", plan).code == 0
    ledger.write_bytes(ledger.read_bytes().replace(b'"epsilon": "4"', b'"epsilon": "9"'))
    changed = dproof("budget", ledger)
    assert changed.code == 1 and "was changed" in changed.err


def test_plans_that_count_another_unit_do_not_share_a_ledger(
    data: Path, plan: Path, tmp_path: Path, dproof: Callable[..., Any], refused: Callable[..., str]
) -> None:
    ledger, question = tmp_path / "b.db", "SELECT count(*) AS n FROM data WHERE sex = 'f'"
    assert dproof("ask", data, "--plan", plan, "--ledger", ledger, "--epsilon", "1", question).code == 0
    three = plan.with_name("three.toml")
    three.write_text(plan.read_text().replace("[privacy]\n", "[privacy]\nrows_per_person = 3\n"))
    said = refused("ask", data, "--plan", three, "--ledger", ledger, "--epsilon", "1", question)
    assert "per row" in said and "per person with at most 3 rows" in said
    made = dproof("sanitise", data, "--plan", three, "--ledger", ledger, "--out", tmp_path / "out")
    assert made.code == 2 and "add up" in made.err and not (tmp_path / "out").exists()
    assert "add up" in refused("budget", ledger, "--plan", three)
    told = dproof("budget", ledger, "--json").json
    assert (told["spent"]["epsilon"], told["person"], told["rows_per_person"]) == (1, None, 1)


def test_analysts_have_budgets_of_their_own(
    data: Path, plan: Path, tmp_path: Path, dproof: Callable[..., Any], refused: Callable[..., str]
) -> None:
    ledger = tmp_path / "b.db"
    assert "no ledger" in refused("budget", ledger, "--analyst", "ann", "--epsilon", "1")
    assert "go together" in refused("budget", ledger, "--analyst", "ann")
    assert dproof("budget", ledger, "--plan", plan, "--analyst", "ann", "--epsilon", "1").code == 0
    assert dproof("budget", ledger, "--analyst", "bob", "--epsilon", "2").code == 0
    assert "cannot be changed" in refused("budget", ledger, "--analyst", "bob", "--epsilon", "3")

    ask = ("ask", data, "--plan", plan, "--ledger", ledger, "SELECT count(*) AS n FROM data WHERE sex = 'f'")
    assert "no analyst was named" in refused(*ask, "--epsilon", "1")
    assert "did you mean 'ann'" in refused(*ask, "--epsilon", "1", "--analyst", "anne")
    assert dproof(*ask, "--epsilon", "3/4", "--analyst", "ann", "--json").json["remaining"]["epsilon"] == 0.25
    assert dproof(*ask, "--epsilon", "3/2", "--analyst", "ann").code == 1
    told = {one["name"]: one for one in dproof("budget", ledger, "--json").json["analysts"]}
    assert {name: (one["budget"]["epsilon"], one["spent"]["epsilon"]) for name, one in told.items()} == {
        "ann": (1, 0.75),
        "bob": (2, 0),
    }
    assert told["ann"]["remaining"]["epsilon"] == 0.25 and told["bob"]["remaining"]["epsilon"] == 2
    shown = dproof("budget", ledger).out
    assert "ann       1, 0          0.75, 0      0.25, 0" in shown and "an analyst's budget" in shown


def test_bounds_must_be_declared(data: Path, plan: Path, tmp_path: Path, refused: Callable[..., str]) -> None:
    plan.write_text(PLAN.replace("RELATION", "change-one").replace("high = 110\n", ""))
    said = refused(
        "ask", data, "--plan", plan, "--ledger", tmp_path / "b.db", "--epsilon", "1", "SELECT avg(age) FROM data"
    )
    assert "high" in said


def test_killed_between_debit_and_answer(data: Path, plan: Path, tmp_path: Path, dproof: Callable[..., Any]) -> None:
    ledger = tmp_path / "budget.db"
    program = (
        "import os, signal, sys\n"
        "import dproof.curator.curator as curator\n"
        "curator.tally = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "from dproof.cli.app import main\n"
        "main(sys.argv[1:])\n"
    )
    question = "SELECT count(*) FROM data WHERE sex = 'f'"
    words = ["ask", data, "--plan", plan, "--ledger", ledger, "--epsilon", "1", question]
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, words)], capture_output=True, check=False, env={**os.environ}
    )
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, b"")
    assert dproof("budget", ledger, "--json").json["spent"]["epsilon"] == 1.0

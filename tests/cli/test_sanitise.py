"""init, plan, sanitise, verify and demo, as a curator calls them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import dproof as dp
from dproof import Plan
from dproof.certification.verify_certificate import main as stand_alone
from dproof.laws import Matrix
from tests.makers import categories, interval, plan_text

PLAN = plan_text(
    {
        "hobby": categories("Cars", "Chess", outside="category", missing="category"),
        "age": interval(0, 110, missing=40),
        "name": {"drop": True},
    },
    epsilon="2",
)
FREELY = ("--anyway", "--no-ledger")  # of a tiny table, again and again
CANARY = "Zanzibar-1723"
Dproof = Callable[..., Any]


@pytest.fixture
def people(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(f"hobby,age,name\nCars,41,{CANARY}\nChess,20,b\n,,c\n", "utf-8")
    (tmp_path / "plan.toml").write_text(PLAN, "utf-8")
    return tmp_path


def test_init_drafts_names_and_kinds_and_no_value(dproof: Dproof, people: Path) -> None:
    ran = dproof("init", people / "people.csv", "--json")
    assert ran.code == 0 and CANARY not in ran.out and "41" not in ran.json["plan"]
    assert [column["name"] for column in ran.json["columns"]] == ["hobby", "age", "name"]
    typed = pa.table({"flag": [True], "years": [3], "likes": [["a"]], "word": [CANARY]})
    pa.parquet.write_table(typed, people / "typed.parquet")
    ran = dproof("init", people / "typed.parquet", "--json")
    assert [column["kind"] for column in ran.json["columns"]] == ["truth", "interval", "subsets", "categories"]
    text = dproof("init", people / "typed.parquet").out
    assert CANARY not in text and "[columns.likes]" in text
    finished = text.replace("values = []", 'values = ["a", "b"]').replace('"?"', "1", 1).replace('"?"', "9", 1)
    assert len(Plan.parse(finished).columns) == 4


def test_a_draft_that_is_not_finished_is_refused_at_its_line(dproof: Dproof, people: Path, refused: Any) -> None:
    (people / "draft.toml").write_text(dproof("init", people / "people.csv").out, "utf-8")
    said = refused("plan", people / "draft.toml")
    assert "draft.toml, line" in said and "columns.hobby.values is still open, as is something in age: fill in" in said


def test_plan_tells_what_to_expect(dproof: Dproof, people: Path) -> None:
    ran = dproof("plan", people / "plan.toml", "--rows", 10_000, "--json")
    assert ran.code == 0 and ran.json["epsilon"] == 2.0
    hobby, age = ran.json["columns"]
    assert hobby["mechanism"] == "randomised response" and hobby["share"] == 0.5
    assert hobby["lower_bound"] <= hobby["error"] <= hobby["lower_bound"] * 1.0001
    keep, other = math.e / (3 + math.e), 1 / (3 + math.e)  # four values: two declared, what is outside, what is missing
    assert hobby["half_width"] == pytest.approx(1.96 * math.sqrt(10_000 * keep * (1 - keep)) / (keep - other), rel=1e-3)
    assert age["error"] > age["lower_bound"] > 0 and ran.json["dropped"] == ["name"]
    assert age["mean_half_width"] == pytest.approx(1.96 * math.sqrt(2) * 110 / 100, rel=1e-3) and not age["half_width"]
    assert "randomised response" in dproof("plan", people / "plan.toml").out


def test_plan_solves_for_epsilon(dproof: Dproof, people: Path, refused: Any) -> None:
    ran = dproof("plan", people / "plan.toml", "--rows", 10_000, "--half-width", 250, "--json")
    epsilon = ran.json["solved_epsilon"]
    assert ran.json["epsilon"] == epsilon and ran.json["columns"][0]["half_width"] <= 250
    (people / "less.toml").write_text(PLAN.replace('"2"', f'"{epsilon * 0.98}"'), "utf-8")
    less = dproof("plan", people / "less.toml", "--rows", 10_000, "--json")
    assert less.json["columns"][0]["half_width"] > 250
    assert "needs --rows" in refused("plan", people / "plan.toml", "--half-width", 250)
    uncounted = PLAN.partition("[columns.hobby]")[0] + "[columns.age]" + PLAN.partition("[columns.age]")[2]
    (people / "uncounted.toml").write_text(uncounted, "utf-8")
    assert "no column of the plan is counted" in refused(
        "plan", people / "uncounted.toml", "--rows", 10, "--half-width", 5
    )
    assert "no epsilon up to" in refused("plan", people / "plan.toml", "--rows", 10, "--half-width", "1e-9")


def test_sanitise_and_verify(dproof: Dproof, people: Path, refused: Any) -> None:
    arguments = ("sanitise", people / "people.csv", "--plan", people / "plan.toml", "--anyway", "--out", people / "out")
    ran = dproof(*arguments, "--json")
    assert (ran.code, ran.err) == (0, "") and ran.json["rows"] == 3 and ran.json["private"] is True
    assert "never overwritten" in refused(*arguments)
    ran = dproof("verify", people / "out", "--json")
    assert ran.code == 0 and ran.json["holds"] is True and ran.json["epsilon"] == 2
    assert ran.json["release"]["person"]["epsilon"] == dproof("plan", arguments[3], "--json").json["person"]["epsilon"]
    assert dproof("verify", people / "out" / "certificate.json").code == 0
    assert dproof("sanitize", *arguments[1:-1], people / "again", "--no-ledger").code == 0
    everything = b"".join(file.read_bytes() for file in (people / "out").iterdir())
    assert CANARY.encode() not in everything


def test_a_release_is_paid_for_before_the_rows_are_read(dproof: Dproof, people: Path, refused: Any) -> None:
    arguments = ("sanitise", people / "people.csv", "--plan", people / "plan.toml", "--ledger", people / "budget.db")
    arguments = (*arguments, "--anyway")
    (people / "taken").mkdir()
    refused(*arguments, "--out", people / "taken")
    assert not (people / "budget.db").exists()
    assert dproof(*arguments, "--out", people / "out").code == 0
    ran = dproof("budget", people / "budget.db", "--json")
    assert float(ran.json["spent"]["epsilon"]) == 2 and float(ran.json["remaining"]["epsilon"]) == 0
    assert dproof(*arguments, "--out", people / "again").code == 1, "nothing is left"
    assert not (people / "again").exists()


def test_a_release_is_paid_for_by_the_person(dproof: Dproof, people: Path) -> None:
    """Whoever owns three rows loses three times what a row loses, and ledgers count persons."""
    plan = (people / "plan.toml").read_text("utf-8").replace("[privacy]\n", "[privacy]\nrows_per_person = 3\n")
    (people / "plan.toml").write_text(plan, "utf-8")
    arguments = ("sanitise", people / "people.csv", "--plan", people / "plan.toml", "--ledger", people / "budget.db")
    made = dproof(*arguments, "--out", people / "out")
    assert made.code == 0 and "A person with 3 rows: ε = 6, δ = 0." in " ".join(made.out.split())
    assert float(dproof("budget", people / "budget.db", "--json").json["spent"]["epsilon"]) == 6


def test_verify_tells_a_promise_for_listed_pairs(dproof: Dproof, tmp_path: Path) -> None:
    """Such a law may tell other pairs of inputs apart for certain."""
    law = Matrix(np.array([[2, 1, 0], [1, 2, 0], [0, 0, 3]]), 3, np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]], bool))
    space = dp.Categories(["a", "b", "c"])
    dp.certify(dp.Mechanism("mine", space, space, law, ""), dp.Privacy(1)).write(tmp_path / "certificate.json")
    told = dproof("verify", tmp_path / "certificate.json").out
    assert "for the listed pairs of inputs" in " ".join(told.split())  # lines break where the terminal ends
    assert dproof("verify", tmp_path / "certificate.json", "--json").json["pairs"] == "listed"


def test_verify_tells_a_promise_that_grows_with_the_distance(
    dproof: Dproof, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = dp.Interval(0, 1000, 500)
    response = dp.randomised_response(line, dp.Privacy(5))
    dp.certify(response, dp.Privacy("0.01"), metric_privacy=True).write(tmp_path / "certificate.json")
    assert "times the distance" in " ".join(dproof("verify", tmp_path / "certificate.json").out.split())
    assert dproof("verify", tmp_path / "certificate.json", "--json").json["metric_privacy"] is True
    assert stand_alone([str(tmp_path / "certificate.json")]) == 0
    assert "times the distance" in capsys.readouterr().out


def test_verify_says_no(dproof: Dproof, people: Path) -> None:
    dproof("sanitise", people / "people.csv", "--plan", people / "plan.toml", "--out", people / "out", "--anyway")
    with (people / "out" / "release.parquet").open("ab") as file:
        file.write(b"x")
    ran = dproof("verify", people / "out", "--json")
    assert ran.code == 1 and ran.json == {"holds": False, "why": "the file release.parquet has changed"}
    assert "does not hold" in " ".join(dproof("verify", people / "out").out.split())
    certificate = people / "out" / "certificate.json"
    certificate.write_bytes(certificate.read_bytes()[:-9])
    cut = dproof("verify", certificate)
    assert cut.code == 1 and "damaged" in cut.out


def test_what_is_nothing_to_verify_is_refused(people: Path, refused: Any) -> None:
    assert "not a release" in refused("verify", people)
    assert "not a certificate" in refused("verify", people / "people.csv")
    (people / "other.json").write_text("{}")
    assert "not a certificate" in refused("verify", people / "other.json", "--json")
    assert "no file" in refused("verify", people / "absent")


def test_one_row_is_one_row(dproof: Dproof, people: Path) -> None:
    lines = (people / "people.csv").read_text("utf-8").splitlines(keepends=True)
    (people / "people.csv").write_text("".join(lines[:2]), "utf-8")
    done = dproof(
        "sanitise", people / "people.csv", "--plan", people / "plan.toml", "--out", people / "out", "--anyway"
    )
    assert "holds 1 sanitised row. Each" in " ".join(done.out.split())
    assert ", 1 row." in dproof("verify", people / "out").out


ROWS = {
    "clean": "Cars,41,a",
    "another": "Chess,7,b",
    "unknown": f"{CANARY},41,a",
    "blank": ",,",
    "nan": "Cars,nan,a",
    "infinite": "Cars,-inf,a",
    "no number": f"Cars,{CANARY},a",
    "minus zero": "Cars,-0.0,a",
    "subnormal": "Cars,5e-324,a",
    "huge": f"Cars,1e308,{'x' * 100_000}",
    "quoted": '"Ca\nrs","4\n1","""a"',
}


def test_neighbouring_files_behave_the_same_outwardly(dproof: Dproof, people: Path) -> None:
    """Same exit code, same bytes on stderr, same columns, types and certificate, whatever one row holds."""
    seen = set()
    for name, row in ROWS.items():
        file = people / "neighbour.csv"
        file.write_text(f"hobby,age,name\nCars,30,x\n{row}\nChess,50,y\n", "utf-8")
        ran = dproof("sanitise", file, "--plan", people / "plan.toml", "--out", people / name, "--json", *FREELY)
        record = json.loads((people / name / "certificate.json").read_text("utf-8"))
        del record["seal"], record["release"]["files"]
        schema = str(pa.parquet.read_schema(people / name / "release.parquet"))
        answer = {key: value for key, value in ran.json.items() if key not in ("release", "seal")}
        seen.add((ran.code, ran.err, json.dumps(record), schema, json.dumps(answer)))
        assert CANARY not in ran.out + ran.err
    assert len(seen) == 1


def test_a_refusal_says_nothing_of_the_row(people: Path, refused: Any) -> None:
    strict = PLAN.replace('outside = "category"\n', "").replace("missing = 40\n", 'missing = "refuse"\n')
    (people / "strict.toml").write_text(strict, "utf-8")
    said = set()
    for row in (f"{CANARY},1,a", "Golf,1,a"):
        (people / "neighbour.csv").write_text(f"hobby,age,name\nCars,30,x\n{row}\n", "utf-8")
        said.add(
            refused("sanitise", people / "neighbour.csv", "--plan", people / "strict.toml", "--out", people / "out")
        )
    assert len(said) == 1 and CANARY not in said.pop()
    assert not (people / "out").exists()


def test_a_plan_without_bounds_or_with_a_column_too_few_is_refused(people: Path, refused: Any) -> None:
    (people / "open.toml").write_text(PLAN.replace("high = 110\n", ""), "utf-8")
    arguments = ("sanitise", people / "people.csv", "--out", people / "out", "--plan")
    assert "columns.age.high is missing" in refused(*arguments, people / "open.toml")
    (people / "short.toml").write_text(PLAN.partition("[columns.name]")[0], "utf-8")
    assert "'name' that the plan does not mention" in refused(*arguments, people / "short.toml")
    assert "No such file" in refused(*arguments, people / "absent.toml")


def test_the_demo_runs_whole(dproof: Dproof, tmp_path: Path, refused: Any) -> None:
    ran = dproof("demo", "--people", 2000, "--out", tmp_path / "demo", "--json")
    assert ran.code == 0 and len(ran.json["answers"]) == 4
    for asked in ran.json["answers"]:
        for row in asked["rows"]:
            central, local = row["central"], row["local"]
            assert central["low"] <= central["high"] and local["low"] <= local["high"]  # cut to what is possible
            assert central["stderr"] < local["stderr"]
    for model in ran.json["models"]:
        assert dproof("verify", tmp_path / "demo" / model).code == 0
    assert "there already" in refused("demo", "--out", tmp_path / "demo")
    few = dproof("demo", "--people", 1, "--out", tmp_path / "few")
    assert few.code == 0 and "no information" in few.out

"""What is told before anything is spent, and the ledger beside the table: a second release is not overlooked."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof import Ledger
from tests.makers import categories, interval, plan_text

Dproof = Callable[..., Any]
COLUMNS = {"sex": categories("f", "m"), "pay": interval(0, 10), "visitor_id": {"drop": True}}
QUESTION = "SELECT count(*) AS n FROM data WHERE sex = 'f'"


def plan(folder: Path, name: str = "plan", **privacy: Any) -> Path:
    path = folder / f"{name}.toml"
    path.write_text(plan_text(COLUMNS, **{"epsilon": "1", **privacy}))
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "my people.csv").write_text("sex,pay,visitor_id\n" + "f,3,a\nm,7,b\n" * 1500)
    return tmp_path / "my people.csv"


def test_a_second_release_is_paid_for_and_refused(table: Path, tmp_path: Path, dproof: Dproof) -> None:
    words = ("sanitise", table, "--plan", plan(tmp_path), "--out")
    assert dproof(*words, tmp_path / "first").code == 0
    ledger = Ledger(tmp_path / "my people.csv.ledger")
    assert ledger.spent().epsilon == 1
    again = dproof(*words, tmp_path / "second")
    assert again.code == 1 and not (tmp_path / "second").exists()
    assert f"`dproof budget '{table}'` lists what was paid for" in again.err and "--no-ledger" in again.err
    asked = dproof("ask", table, QUESTION, "--plan", plan(tmp_path), "--epsilon", "0.1")
    assert asked.code == 1 and "nothing was spent" in asked.err
    knowingly = dproof(*words, tmp_path / "second", "--no-ledger")
    assert knowingly.code == 0 and "my people.csv.ledger has an account of this table too, with epsilon 1" in (
        knowingly.err
    )
    assert ledger.spent().epsilon == 1
    other = dproof(*words, tmp_path / "third", "--ledger", tmp_path / "other.db")
    assert other.code == 0 and "people lose both" in other.err


@pytest.mark.parametrize("first", ["sanitise", "ask", "budget"])
def test_a_ledger_counts_what_a_person_is_promised(first: str, table: Path, tmp_path: Path, dproof: Dproof) -> None:
    """Rows drawn one by one cost a person three times [privacy]; to questions it is a person's, and they keep to it."""
    several = ("--plan", plan(tmp_path, rows_per_person=3))
    ask = ("ask", table, *several, "--epsilon")
    release = ("sanitise", table, *several, "--out", tmp_path / "out")
    words = {"sanitise": release, "ask": (*ask, "0.5", QUESTION), "budget": ("budget", table, *several)}
    assert dproof(*words[first]).code == 0
    ledger = Ledger(tmp_path / "my people.csv.ledger")
    assert ledger.standing().budget.epsilon == (1 if first == "ask" else 3)
    held = Ledger(ledger.path, ceiling=dp.Privacy(1)).standing()
    assert held.budget.epsilon == (3 if first == "sanitise" else 1), "of what may be spent, where it is kept to"
    if first == "budget":  # which spends nothing
        assert dproof(*ask, "1.5", QUESTION).code == 1 and dproof(*release).code == 0
    assert ledger.spent().epsilon == (0.5 if first == "ask" else 3)
    assert dproof(*ask, "0.6", QUESTION).code == 1, "questions cost a person no more than [privacy] in all"


@pytest.mark.parametrize("command", ["sanitise", "ask", "budget", "explain"])
def test_odd_places_are_told_in_a_sentence(command: str, table: Path, tmp_path: Path, dproof: Dproof) -> None:
    """The root of all folders, which has no name, and a link to itself in the place of the table or its ledger."""
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    (tmp_path / "my people.csv.ledger").symlink_to("my people.csv.ledger")
    more = {"ask": [QUESTION, "--epsilon", "0.1"], "sanitise": ["--out", tmp_path / "out"]}.get(command)
    words = [] if more is None else [*more, "--plan", plan(tmp_path)]
    for place in ("/", tmp_path / "loop.csv", table):
        ran = dproof(command, place, *words)
        assert ran.code == 2 and "an error in dproof itself" not in ran.err


def test_an_answer_does_not_replace_the_table(table: Path, tmp_path: Path, refused: Any) -> None:
    text = table.read_text()
    (tmp_path / "link.csv").symlink_to(table)
    for out in (table, tmp_path / "link.csv"):
        words = ("ask", table, QUESTION, "--plan", plan(tmp_path), "--epsilon", "0.1", "--out", out)
        assert "is the table itself" in refused(*words)
    assert table.read_text() == text and not (tmp_path / "my people.csv.ledger").exists()


def test_a_stopped_release_is_resumed_from_the_ledger_beside_the_table(
    table: Path, tmp_path: Path, dproof: Dproof, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("sanitise", table, "--plan", plan(tmp_path), "--out", tmp_path / "out")
    with monkeypatch.context() as patch:
        patch.setattr("dproof.releases.sanitise.write_whole", lambda *_: (_ for _ in ()).throw(OSError("stopped")))
        assert "it is paid for" in dproof(*words).err
    made = dproof(*words)
    assert made.code == 0 and "nothing was paid twice" in made.err


def test_a_value_outside_the_plan_is_told_with_what_a_second_try_costs(
    table: Path, tmp_path: Path, dproof: Dproof
) -> None:
    narrow = plan(tmp_path)
    whole = narrow.read_text()
    narrow.write_text(whole.replace('"f", "m"', '"f"'))
    assert narrow.read_text() != whole
    words = ("sanitise", table, "--plan", narrow, "--out", tmp_path / "out")
    first = dproof(*words)
    assert first.code == 2 and "mend the table or the plan, and run the same command again" in " ".join(
        first.err.split()
    )
    table.write_text(table.read_text().replace("\nm,", "\nf,"))
    made = dproof(*words)
    assert made.code == 0 and "nothing was paid twice" in made.err
    assert f"dproof budget '{table}'" in " ".join(made.out.split())


def test_a_larger_budget_pays_for_two(table: Path, tmp_path: Path, dproof: Dproof, refused: Any) -> None:
    assert dproof("budget", table, "--plan", plan(tmp_path), "--epsilon", "2").code == 0
    for name in ("first", "second"):
        assert dproof("sanitise", table, "--plan", plan(tmp_path), "--out", tmp_path / name).code == 0
    assert dproof("sanitise", table, "--plan", plan(tmp_path), "--out", tmp_path / "third").code == 1
    assert dproof("budget", table).out.startswith("You have spent ε 2 of 2; nothing is left to spend.\n")
    assert "cannot be changed" in refused("budget", table, "--plan", plan(tmp_path), "--epsilon", "3")
    assert "--plan" in refused("budget", table, "--epsilon", "3")


def test_questions_share_the_ledger_beside_the_table(table: Path, tmp_path: Path, dproof: Dproof) -> None:
    words = ("ask", table, QUESTION, "--plan", plan(tmp_path), "--epsilon", "0.6")
    assert dproof(*words, "--preview").code == 0 and not Ledger.beside(table).exists()
    assert dproof(*words).code == 0 and Ledger(Ledger.beside(table)).spent().epsilon == dp.Privacy("0.6").epsilon
    said = dproof("budget", table).out
    assert said.startswith("You have spent ε 0.6 of 1; that leaves about ") and "ρ" not in said
    over = dproof("ask", table, QUESTION.replace("'f'", "'m'"), *words[3:])
    assert over.code == 1 and "nothing was spent" in over.err
    link = tmp_path / "link.csv"
    link.symlink_to(table)
    assert dproof("ask", link, QUESTION.replace("'f'", "'m'"), *words[3:]).code == 1, "the table itself has it"


def test_a_question_without_a_ledger_leaves_no_file(table: Path, tmp_path: Path, dproof: Dproof, refused: Any) -> None:
    words = ("ask", table, QUESTION, "--plan", plan(tmp_path), "--epsilon", "0.6", "--no-ledger")
    before = sorted(tmp_path.iterdir())
    answer = dproof(*words)
    assert answer.code == 0 and "no ledger is kept" in answer.err and sorted(tmp_path.iterdir()) == before
    assert "exclude each other" in refused(*words, "--ledger", tmp_path / "b.db")
    assert "no ledger beside it" in refused("budget", table)


def test_a_folder_that_cannot_be_written_in(
    table: Path, tmp_path: Path, dproof: Dproof, monkeypatch: pytest.MonkeyPatch, refused: Any
) -> None:
    plan(tmp_path)
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, how: Path(path) != tmp_path and real(path, how))
    made = dproof("sanitise", table, "--plan", tmp_path / "plan.toml", "--out", tmp_path / "out")
    assert made.code == 0 and "no ledger can be kept" in made.err and not Ledger.beside(table).exists()
    words = ("ask", table, QUESTION, "--plan", tmp_path / "plan.toml", "--epsilon", "0.1")
    assert "name one with --ledger" in refused(*words)


def test_python_writes_no_ledger(table: Path, tmp_path: Path) -> None:
    dp.sanitise(table, plan(tmp_path), tmp_path / "out")
    assert not Ledger.beside(table).exists()


@pytest.mark.parametrize(
    ("privacy", "said"),
    [({"epsilon": "100"}, "ε is above 5"), ({"delta": "0.5"}, "δ is 0.5"), ({}, "the same 'visitor_id'")],
)
def test_cautions_come_before_the_table_is_read(
    privacy: dict[str, str], said: str, table: Path, tmp_path: Path, dproof: Dproof
) -> None:
    chosen = plan(tmp_path, **privacy)
    assert said in dproof("plan", chosen).err
    absent = dproof("sanitise", tmp_path / "absent.csv", "--plan", chosen, "--out", tmp_path / "out")
    assert absent.code == 2 and said in absent.err and absent.err.index(said) < absent.err.index("there is no file")
    preview = dproof("ask", table, QUESTION, "--plan", chosen, "--epsilon", "0.1", "--preview")
    assert preview.code == 0 and said in preview.err


@pytest.mark.parametrize("command", ["plan", "sanitise", "collect"])
def test_a_row_that_loses_much_is_warned_of_where_the_order_hides_it(
    command: str, tmp_path: Path, dproof: Dproof
) -> None:
    """Under model = "shuffled" the promise of the plan is that of the published rows, and a row may lose 7.75."""
    plans = tmp_path / "plan.toml"
    for rows, said in ((100, False), (100_000, True)):
        plans.write_text(
            f'[privacy]\nepsilon = "1"\ndelta = "1e-6"\nmodel = "shuffled"\n[shuffle]\nrows = {rows}\n'
            '[columns.a]\nspace = "categories"\nvalues = ["a", "b", "c", "d", "e"]\n'
        )
        words = {"plan": (plans,), "sanitise": (tmp_path / "absent.csv", "--plan", plans), "collect": (plans,)}[command]
        ran = dproof(command, *words, *(() if command == "plan" else ("--out", tmp_path / f"out {rows}")))
        assert ("to whoever learns whose row is whose, ε is above 5: an attacker guessing" in ran.err) is said


def test_declared_persons_are_not_warned_of(tmp_path: Path, dproof: Dproof) -> None:
    assert "visitor_id" not in dproof("plan", plan(tmp_path, rows_per_person=3)).err


@pytest.mark.parametrize("model", ["local", "central"])
def test_a_release_that_tells_nothing_is_refused(model: str, table: Path, tmp_path: Path, dproof: Dproof) -> None:
    chosen = plan(tmp_path, epsilon="0.0001", **({"model": "central"} if model == "central" else {}))
    words = ("sanitise", table, "--plan", chosen, "--out", tmp_path / "out")
    made = dproof(*words)
    assert made.code == 2 and "says anything about 3,000 rows" in made.err and "--anyway makes" in made.err
    assert not (tmp_path / "out").exists() and not Ledger.beside(table).exists()
    assert dproof(*words, "--anyway").code == 0
    with pytest.raises(dp.PlanError, match="anyway=True makes the release"):
        dp.sanitise(table, chosen, anyway=False)
    assert dp.sanitise(table, chosen).rows == 3000


def test_private_numbers_of_rows_are_not_looked_at(tmp_path: Path, dproof: Dproof) -> None:
    """With persons, and with add-remove, how many rows there are is private: tables of any size behave alike."""
    seen = set()
    for rows in (1, 500):
        (tmp_path / "t.csv").write_text("sex,pay,visitor_id\n" + "f,3,a\n" * rows)
        for n, privacy in enumerate(({"neighbours": "add-remove"}, {"rows_per_person": 2})):
            chosen = plan(tmp_path, epsilon="0.001", model="central", **privacy)
            made = dproof(
                "sanitise", tmp_path / "t.csv", "--plan", chosen, "--out", tmp_path / f"{rows}{n}", "--no-ledger"
            )
            seen.add((made.code, made.err))
    assert {code for code, _ in seen} == {0} and len(seen) <= 2


def test_a_release_that_tells_little_is_warned_of(table: Path, tmp_path: Path, dproof: Dproof) -> None:
    made = dproof("sanitise", table, "--plan", plan(tmp_path, epsilon="0.3"), "--out", tmp_path / "out")
    assert made.code == 0 and "too noisy for most uses" in made.err and "--rows 3000" in made.err


def test_one_number_of_tables(table: Path, tmp_path: Path, dproof: Dproof) -> None:
    chosen, out = tmp_path / "tables.toml", tmp_path / "my release"
    columns = {**COLUMNS, "pay": interval(0, 10, bins=[0, 5, 10])}
    chosen.write_text(plan_text(columns, epsilon="1", delta="1e-6", model="central") + "[release]\nsums = true\n")
    tables = len(dproof("plan", chosen, "--json").json["tables"])
    made = dproof("sanitise", table, "--plan", chosen, "--out", out, "--json").json
    assert made["tables"] == tables != made["measurements"]
    assert dproof("verify", out, "--json").json["tables"] == tables
    assert f"{tables} tables together" in " ".join(dproof("verify", out).out.split())
    assert f"{tables} tables" in repr(dp.load(out))
    assert (out / "report.html").read_text("utf-8").count("<td>± ") == tables


def test_hints_can_be_copied(table: Path, tmp_path: Path, dproof: Dproof, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = dproof("sanitise", table, "--plan", plan(tmp_path), "--out", "my release").out
    assert "dproof query 'my release' 'SELECT" in page and "dproof verify 'my release'" in page


def test_progress_says_when_synthetic_rows_are_made(tmp_path: Path) -> None:
    told: list[tuple[int, int | None]] = []
    columns = {"sex": categories("f", "m")}
    people = pa.table({"sex": ["f", "m"] * 50})
    for rows in (True, False):
        made = {"privacy": {"epsilon": 1, "model": "central"}, "release": {"rows": rows}, "columns": columns}
        dp.sanitise(people, made, progress=lambda *one: told.append(one))
    assert told == [(100, 100), (0, 100), (100, 100)]


def test_the_bar_says_that_synthetic_rows_are_made(
    table: Path, tmp_path: Path, dproof: Dproof, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rich.progress import Progress

    shown: list[tuple[str, Any]] = []
    add = Progress.add_task
    monkeypatch.setattr(
        Progress, "add_task", lambda bar, text, total: (shown.append((text, total)), add(bar, text, total=total))[1]
    )
    monkeypatch.setenv("FORCE_COLOR", "1")  # stderr is taken for a terminal
    chosen = plan(tmp_path, model="central")
    for more in ("", "[release]\nrows = true\n"):
        chosen.write_text(chosen.read_text() + more)
        dproof("sanitise", table, "--plan", chosen, "--out", tmp_path / f"out{len(more)}", "--no-ledger")
    reading = ("certifying, drawing charts", None)
    assert shown == [reading, reading, ("making synthetic rows", None)]


def test_explain_takes_a_release_a_plan_a_ledger_or_a_table(
    table: Path, tmp_path: Path, dproof: Dproof, refused: Any
) -> None:
    chosen = plan(tmp_path, epsilon="2")
    dproof("sanitise", table, "--plan", chosen, "--out", tmp_path / "out")
    stated = dproof("explain", "--epsilon", "2", "--json").json
    for path, kind in (
        (tmp_path / "out", "release"),
        (chosen, "plan"),
        (Ledger.beside(table), "ledger"),
        (table, "ledger"),
    ):
        told = dproof("explain", path, "--json").json
        assert told.pop(kind) and (kind != "ledger" or told.pop("spent")["epsilon"] == 2)
        assert ("shuffled" in told) == (kind == "release")
        told.pop("shuffled", None)
        assert told == stated
        assert dproof("explain", path).code == 0
    assert "or state a guarantee" in refused("explain")
    assert "or state a guarantee" in refused("explain", chosen, "--epsilon", "1")
    assert "a file says its own" in refused("explain", chosen, "--delta", "0.1")
    assert "is no release, plan, certificate or ledger" in refused("explain", tmp_path / "nothing")


def test_explain_counts_the_rows_of_a_person(tmp_path: Path, dproof: Dproof) -> None:
    told = dproof("explain", plan(tmp_path, rows_per_person=3), "--json").json
    assert told["epsilon"] == 3 and "the 3 rows of a person" in told["in_words"]["guess"]
    page = " ".join(dproof("explain", plan(tmp_path, rows_per_person=3)).out.split())
    assert "neighbours are two tables of the same, public size that differ in one person's rows, 3 at most." in page


@pytest.fixture
def release(table: Path, tmp_path: Path) -> Path:
    columns = {**COLUMNS, "pay": interval(0, 10, bins=[0, 5, 10])}
    text = plan_text(columns, epsilon="1", delta="1e-6", model="central") + "[release]\nrows = true\ntables = 1\n"
    (tmp_path / "tables.toml").write_text(text)
    dp.sanitise(table, tmp_path / "tables.toml", tmp_path / "tables")
    return tmp_path / "tables"


@pytest.mark.parametrize(
    ("options", "footer"),
    [
        ((), "± covers the privacy noise, 95%; not sampling error."),
        (("--level", "0.9"), "± covers the privacy noise, 90%; not sampling error."),
        (("--method", "projection"), "± covers the privacy noise, 95%; not sampling error. Method: projection."),
    ],
)
def test_the_footer_is_one_line(options: tuple[str, ...], footer: str, release: Path, dproof: Dproof) -> None:
    out = " ".join(
        dproof("query", release, "SELECT sex, count(*) AS n FROM release GROUP BY sex", *options).out.split()
    )
    assert footer in out and out.count("covers") == 1 and "best linear" not in out


def test_a_public_count_has_no_footer(release: Path, dproof: Dproof) -> None:
    assert dproof("query", release, "SELECT count(*) AS n FROM release").out.split() == ["n", "─────", "3,000"]


def test_the_population_has_a_footer_of_its_own(table: Path, tmp_path: Path, dproof: Dproof) -> None:
    dp.sanitise(table, plan(tmp_path), tmp_path / "rows")
    asked = ("query", tmp_path / "rows", "SELECT count(*) AS n FROM release WHERE sex = 'f'")
    out = " ".join(dproof(*asked, "--target", "population").out.split())
    assert "covers the privacy noise and the sampling error, 95%." in out
    by = ("query", tmp_path / "rows", "SELECT sex, count(*) AS n FROM release GROUP BY sex", "--simultaneous")
    assert "covers the privacy noise in all rows at once, 95%; not" in " ".join(dproof(*by).out.split())


def test_options_are_called_as_on_the_command_line(release: Path, refused: Any) -> None:
    both = "SELECT count(*) AS n FROM release WHERE sex = 'f' AND pay < 5"
    assert "--method model" in refused("query", release, both)
    assert "leave --target out" in refused("query", release, both, "--target", "population")
    assert refused("query", release, both, "--target", "pop").startswith("--target 'pop' is not known")


def test_a_plan_that_forgot_a_value_is_mended_at_no_further_cost(dproof: Any, tmp_path: Path) -> None:
    data, plan, out = tmp_path / "people.csv", tmp_path / "plan.toml", tmp_path / "out"
    data.write_text("town\n" + "Bonn\nOslo\n" * 300, "utf-8")
    text = '[privacy]\nmodel = "central"\nepsilon = "{}"\n[columns.town]\nspace = "categories"\nvalues = {}\n'
    plan.write_text(text.format(1, '["Oslo"]'), "utf-8")
    first = dproof("sanitise", data, "--plan", plan, "--out", out)
    assert first.code == 2 and "mend the table or the plan" in " ".join(first.err.split()) and not out.exists()
    plan.write_text(text.format(2, '["Oslo", "Bonn"]'), "utf-8")  # for more than was paid
    assert dproof("sanitise", data, "--plan", plan, "--out", out).code == 1 and not out.exists()
    plan.write_text(text.format(1, '["Oslo", "Bonn"]'), "utf-8")
    second = dproof("sanitise", data, "--plan", plan, "--out", out)
    assert second.code == 0 and "nothing was paid twice" in " ".join(second.err.split())
    assert dproof("budget", data, "--json").json["spent"]["epsilon"] == 1
    assert dproof("sanitise", data, "--plan", plan, "--out", tmp_path / "again").code == 1

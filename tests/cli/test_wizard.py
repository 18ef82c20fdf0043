"""`dproof init --ask`: answers in, by a pipe or in a terminal; a plan, the commands and a notebook out, or nothing."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from select import select
from typing import Any

import pytest

import dproof as dp
from dproof.testing import seeded_coins

Dproof = Callable[..., Any]
DATA = "id,town,age,likes\n" + "".join(f"{n},{'Bonn' if n % 3 else 'Ulm'},{20 + n % 50},{n % 2}\n" for n in range(300))
ANSWERS = {
    "title": "Towns",
    "who": "1",
    "epsilon": "3",
    "public": "y",
    "several": "n",
    "rows": "300",
    "id": "x",
    "town": "c",
    "values": "Bonn, Ulm",
    "town blank": "n",
    "age": "n",
    "low": "0",
    "high": "100",
    "age blank": "n",
    "likes": "",
    "marks": "",
    "likes blank": "",
    "questions": "",
    "write": "y",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "x.csv").write_text(DATA)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def answering(dproof: Dproof, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Dproof:
    def run(answers: dict[str, str], *options: str) -> Any:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{answer}\n" for answer in answers.values())))
        return dproof("init", "x.csv", "--look", "--ask", *options)

    return run


def test_a_dialogue_ends_with_a_plan_the_commands_and_a_notebook(answering: Dproof, folder: Path) -> None:
    ran = answering(ANSWERS)
    assert ran.code == 0 and "the count of one value: ± " in ran.out and "the mean: ± " in ran.out, ran
    plan = dp.Plan.read("plan.toml")
    assert plan.model == "central" and plan.privacy == dp.Privacy(1, "1e-6")
    assert [(c.name, c.kind) for c in plan.columns] == [
        ("id", "drop"),
        ("town", "categories"),
        ("age", "interval"),
        ("likes", "categories"),
    ]
    for line in ("dproof check x.csv --plan plan.toml", "dproof sanitise x.csv --plan plan.toml --out release"):
        assert line in ran.out
    assert "dproof collect" not in ran.out
    assert {path.name for path in folder.iterdir()} == {"x.csv", "plan.toml", "plan.ipynb"}


def test_a_person_who_was_seen_in_several_rows_is_declared_by_enter(answering: Dproof, folder: Path) -> None:
    (folder / "x.csv").write_text("id,town,age,likes\n" + "".join(f"P{n % 9},Bonn,{n},{n % 2}\n" for n in range(99)))
    answers = {**ANSWERS, "several": "\n\n"}  # whether, who, how many
    del answers["id"]
    ran = answering(answers)
    assert ran.code == 0, ran
    plan = dp.Plan.read("plan.toml")
    assert (plan.person, plan.rows_per_person) == ("id", 3)


@pytest.mark.parametrize("who", ["1", "2"])
def test_questions_that_matter_are_in_the_plan(answering: Dproof, who: str) -> None:
    mean = "SELECT town, avg(age) AS mean FROM data GROUP BY town"
    count = "SELECT count(*) AS n FROM data WHERE likes = 1"
    answers = {**ANSWERS, "who": who, "questions": f"SELECT avg(ages) FROM data\n{mean}\n{count}\n"}
    if who == "2":
        del answers["public"]
    ran = answering(answers)
    assert ran.code == 0 and "  there is no column 'ages'; did you mean 'age'?" in ran.out
    assert 'such as SELECT "town", avg("age") AS mean FROM data GROUP BY "town"' in ran.out
    assert "mean: " in ran.out and "n: ± " in ran.out
    plan = dp.Plan.read("plan.toml")
    assert [one.sql for one in plan.questions] == [mean, count]
    assert ("tables = 1" in plan.text) == (who == "1") and "tables = 2" not in plan.text


@pytest.mark.parametrize("is_right", ["y", "n"])
def test_a_title_above_the_names_is_asked_about(answering: Dproof, folder: Path, is_right: str) -> None:
    (folder / "x.csv").write_text("Survey of May\n" + DATA)
    ran = answering({"titled": is_right, **ANSWERS})
    assert "seem to stand in line 2: id, town, age" in ran.out
    if is_right == "y":
        assert ran.code == 0 and dp.Plan.read("plan.toml").file.header == 2
    else:
        assert ran.code == 2 and "--ask --header 3" in ran.err and not (folder / "plan.toml").exists()
        (folder / "x.csv").write_text("Survey of May\nin 2024\n" + DATA)
        assert answering(ANSWERS, "--header", "3").code == 0 and dp.Plan.read("plan.toml").file.header == 3


def test_the_notebook_does_what_the_commands_do(answering: Dproof, folder: Path) -> None:
    answering(ANSWERS)
    book = json.loads((folder / "plan.ipynb").read_text("utf-8"))
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5) and len({cell["id"] for cell in book["cells"]}) == 9
    for cell in book["cells"]:
        keys = {"cell_type", "id", "metadata", "source"}
        assert set(cell) == keys | ({"outputs", "execution_count"} if cell["cell_type"] == "code" else set())
    names: dict[str, Any] = {}
    with seeded_coins(1):
        for cell in book["cells"]:
            if cell["cell_type"] == "code":
                exec("".join(cell["source"]), names)
    assert names["plan"].privacy == dp.Plan.read("plan.toml").privacy and (folder / "release").is_dir()


def test_a_question_mark_shows_the_table_and_an_equals_sign_takes_it(answering: Dproof) -> None:
    answers = {**ANSWERS, "values": "?\n=", "low": "0", "high": "?\n="}
    ran = answering(answers)
    assert ran.code == 0 and "CONFIDENTIAL, from the table" in ran.out
    plan = dp.Plan.read("plan.toml")
    age = plan.column("age").space
    assert plan.column("town").space.values == ("Bonn", "Ulm") and (age.low, age.high) == (0, 70)


def test_what_was_shown_is_taken_for_both_ends_and_shown_when_it_is_taken(answering: Dproof) -> None:
    answers = {**ANSWERS, "values": "=", "low": "=", "rows": ""}
    del answers["high"]
    ran = answering(answers)
    assert "answer with one of" not in ran.out and " in 300 rows." in ran.out  # as many as were seen
    assert ran.code == 0 and ran.out.count("CONFIDENTIAL, from the table") == 2
    age = dp.Plan.read("plan.toml").column("age").space
    assert (age.low, age.high) == (20, 70)


def test_a_column_can_be_left_out_when_it_was_seen(answering: Dproof) -> None:
    answers = {**ANSWERS, "values": "?\nx"}
    del answers["town blank"]
    assert answering(answers).code == 0 and dp.Plan.read("plan.toml").column("town").kind == "drop"


def test_the_title_stands_in_the_report(answering: Dproof) -> None:
    answering(ANSWERS)
    assert dp.Plan.read("plan.toml").about.title == "Towns"


def test_each_answer_is_checked_where_it_is_given(answering: Dproof, folder: Path) -> None:
    ran = answering({**ANSWERS, "low": "none\n0", "high": "1OO\n100"})
    assert ran.code == 0 and ran.out.count("such as 1, 0.5") == 2 and ran.out.count("3 of 4: age") == 1, ran
    assert ran.out.count("(c)ategory, (n)umber") == 4


@pytest.mark.parametrize("look", [True, False])
def test_dates_as_an_office_writes_them(
    dproof: Dproof, folder: Path, monkeypatch: pytest.MonkeyPatch, look: bool
) -> None:
    (folder / "x.csv").write_text("day\n" + "".join(f"{n % 28 + 1:02}.0{n % 9 + 1}.2024\n" for n in range(99)))
    if look:
        answers = ["", "1", "3", "y", "n", "99", "d", "01.01.2024", "?", "=", "n", "", "y"]
    else:
        answers = ["", "1", "3", "y", "n", "99", "d", "31.12.2024", "1.1.2024", "?", "=", "n", "", "y"]
    said = "".join(f"{answer}\n" for answer in (["y"] if look else ["n"]) + answers)
    monkeypatch.setattr("sys.stdin", io.StringIO(said))
    ran = dproof("init", "x.csv", "--ask")
    assert ran.code == 0, ran
    text = (folder / "plan.toml").read_text()
    assert 'format = "%d.%m.%Y"' in text and "low = 2024-01-01\nhigh = 2024-12-31\n" in text
    assert 'bins = "calendar"' in text


def test_no_line_is_broken_inside_a_word(answering: Dproof) -> None:
    ran = answering({**ANSWERS, "high": "9x\n100"})
    said = [line for line in ran.out.partition("± over")[0].splitlines() if ": " not in line]  # that is a question
    assert len(said) > 12 and all(len(line) <= 80 for line in said), said


def test_a_wrong_answer_is_asked_again(answering: Dproof) -> None:
    answers = {**ANSWERS, "epsilon": "many\n3", "rows": "few\n300", "several": "perhaps\ny\nghost\nid\n0\n2"}
    del answers["id"]  # which names the person now
    ran = answering({**answers, "high": "-5\nn\nn\n0\n100"})
    assert ran.code == 0, ran
    plan = dp.Plan.read("plan.toml")
    assert (plan.person, plan.rows_per_person, plan.column("age").space.high) == ("id", 2, 100)


def test_the_local_model_and_another_name(answering: Dproof, folder: Path) -> None:
    answers = {key: answer for key, answer in ANSWERS.items() if key not in ("who", "public")}
    ran = answering(answers, "--local", "--out", "mine.toml")
    assert ran.code == 0 and dp.Plan.read("mine.toml").model == "local" and (folder / "mine.ipynb").exists()
    assert "dproof collect mine.toml --out survey" in ran.out
    assert dp.collect("mine.toml", folder / "survey").key


@pytest.mark.parametrize("given", [0, 1, 9, len(ANSWERS) - 1])
def test_a_dialogue_without_an_answer_writes_nothing(answering: Dproof, folder: Path, given: int) -> None:
    ran = answering(dict(list(ANSWERS.items())[:given]))
    assert ran.code == 2 and ran.err.startswith("dproof: --ask is a dialogue, and no answer came: run it in a terminal")
    assert [path.name for path in folder.iterdir()] == ["x.csv"]


def test_no_is_an_answer(answering: Dproof, folder: Path) -> None:
    ran = answering({**ANSWERS, "write": "n"})
    assert ran.code == 0 and "Nothing was written." in ran.out and [p.name for p in folder.iterdir()] == ["x.csv"]


def test_nothing_is_asked_where_the_plan_is_there_already(answering: Dproof, folder: Path) -> None:
    (folder / "plan.ipynb").write_text("mine")
    ran = answering(ANSWERS)
    assert ran.code == 2 and "'plan.ipynb' is there already" in ran.err and "title" not in ran.out
    assert (folder / "plan.ipynb").read_text() == "mine" and not (folder / "plan.toml").exists()


def test_options_that_do_not_go_together(dproof: Dproof, folder: Path) -> None:
    assert dproof("init", "x.csv", "--ask", "--json").code == 2


@pytest.mark.slow  # what a terminal shows comes in pieces, and a piece may end like a question
@pytest.mark.skipif(sys.platform == "win32", reason="there is no pty")
@pytest.mark.parametrize("leaves", [False, True])
def test_in_a_terminal(folder: Path, leaves: bool) -> None:
    import pty

    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "dproof", "init", "x.csv", "--look", "--ask"]
    environment = {**os.environ, "PYTHONPATH": str(Path(dp.__file__).parent.parent)}
    running = subprocess.Popen(command, env=environment, stdin=follower, stdout=follower, stderr=follower)
    os.close(follower)
    seen, left, tries = b"", [f"{answer}\n".encode() for answer in ANSWERS.values()], 0
    try:
        while tries < 10:
            if not select([leader], [], [], 6 if leaves and not left else 60)[0]:
                if not leaves:
                    break
                # Between its prompt and its wait for a line, readline does not notice a signal: people press again.
                running.send_signal(signal.SIGINT)
                tries += 1
                continue
            if not (piece := os.read(leader, 1 << 12)):
                break
            seen += piece
            if seen.rstrip(b" ").endswith(b":") and left:  # a question: what is printed has no colon at its end
                if leaves and len(left) == 8:
                    running.send_signal(signal.SIGINT)
                    left = []
                    continue
                os.write(leader, left.pop(0))
    except OSError:  # Linux says so when the last writer has gone
        pass
    finally:
        os.close(leader)
    try:
        code, told = running.wait(60), seen.decode()
    except subprocess.TimeoutExpired:  # it waits for an answer that was given too early
        running.kill()
        raise
    assert "Traceback" not in told
    names = {path.name for path in folder.iterdir()}
    if leaves:
        assert code == 130 and "interrupted; nothing was written" in told and names == {"x.csv"}
    else:
        assert code == 0 and names == {"x.csv", "plan.toml", "plan.ipynb"}, told


def test_numbers_as_an_office_writes_them(dproof: Dproof, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "x.csv").write_text("pay;n\n" + "".join(f"{n}.250,5;{n}\n" for n in range(1, 60)))
    answers = ["y", "", "1", "3", "y", "n", "59", "n", "0", "1.000", "1.000,50", "1000.5", "n", "x", "", "y"]
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{answer}\n" for answer in answers)))
    ran = dproof("init", "x.csv", "--ask")
    assert ran.code == 0 and "1.000 may be 1,000 or 1: write it without signs for thousands" in ran.out, ran
    assert dp.Plan.read("plan.toml").column("pay").space.high == Fraction("1000.5")


def test_values_that_are_too_many_to_show_stop_nothing(answering: Dproof, folder: Path) -> None:
    rows = "".join(f"{n},{f'town {n % 43}' if n else 'x'},{20 + n % 50},{n % 2}\n" for n in range(301))
    (folder / "x.csv").write_text(f"id,town,age,likes\n{rows}")
    ran = answering({**ANSWERS, "values": "=", "rows": "", "low": "0"})
    assert ran.code == 0, ran
    assert "# 4 more, rarer or of one row each: of an id or free text, x leaves it out" in ran.out
    assert 'outside = "category"' in (folder / "plan.toml").read_text()
    assert not any("stop `sanitise`" in hint for hint in dp.check("x.csv", "plan.toml").hints)

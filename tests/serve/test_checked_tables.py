"""A table that cannot be read to its end is found by its custodian; what analysts see depends on no row of it."""

import multiprocessing
import os
import threading
import time
from functools import partial

import pytest

import dproof as dp
from dproof import Curator
from dproof.serve import custody
from dproof.serve.custody import apart, check_all, check_table
from dproof.serve.desk import Desk, give_budgets
from tests.serve.server import PLAN, make_folder, send, serving, slow_reading

QUESTION = {"sql": "SELECT count(*) AS n FROM data WHERE sex = 'f'", "epsilon": "0.1"}
ROWS = [f"{'f' if n % 3 else 'm'},{18 + n % 70}" for n in range(50)]
BROKEN = [*ROWS, "f,40,a third field"]


def write(made, rows, name="people"):
    (made.root / "tables" / f"{name}.csv").write_text("\n".join(["sex,age", *rows]) + "\n")


def asked(made, way="ask", token=None, table="people"):
    return send(made, "POST", f"/api/tables/{table}/{way}", QUESTION, token or made.ann)


def test_a_token_comes_at_once_and_the_table_is_read_behind_it(tmp_path, monkeypatch):
    made = make_folder(tmp_path)
    write(made, ROWS, "good")
    write(made, BROKEN, "survey")
    for name in ("good", "survey"):
        (tmp_path / "plans" / f"{name}.toml").write_text(PLAN)
    go_on, begun = threading.Event(), []

    def slow(*arguments):
        begun.append(arguments)
        assert go_on.wait(60)
        return apart(*arguments)

    monkeypatch.setattr("dproof.serve.custody.apart", slow)
    with serving(made):
        body = {"name": "eve", "tables": ["good", "survey"], "epsilon": "1"}
        given = send(made, "POST", "/api/tokens", body, made.carla)
        assert given.status == 201
        assert asked(made, token=given.json["token"], table="good").status == 403
        go_on.set()
        for _ in range(600):
            custody = send(made, "GET", "/custody", token=made.carla).raw.decode()
            if "line 52 has 3 fields" in custody:
                break
            time.sleep(0.1)
        assert "line 52 has 3 fields" in custody and len(begun) == 2
        assert asked(made, token=given.json["token"], table="good").status == 200
        assert asked(made, token=given.json["token"], table="survey").status == 403


def ends(file, plan):
    """A reader that some files end: as a library does that is written in another language, or by a fault."""
    if file.name == "aborts.csv":
        os.abort()
    if file.name == "fails.csv":
        raise ZeroDivisionError("secret")
    if file.name == "leaves.csv":
        raise BaseException("secret")
    return dp.check(file, plan)


def test_whatever_a_table_does_to_its_reader_the_others_go_on(tmp_path, monkeypatch):
    made = make_folder(tmp_path)
    for name in ("aborts", "fails", "leaves", "zz"):
        write(made, ROWS, name)
        (tmp_path / "plans" / f"{name}.toml").write_text(PLAN)
    monkeypatch.setattr("dproof.serve.custody.check", ends)
    wrong = dict(check_all(made.folder, made.folder.tables))
    assert wrong.keys() == {"aborts", "fails", "leaves"} and "secret" not in str(wrong)
    assert "has ended" in wrong["aborts"] and "ZeroDivisionError" in wrong["fails"]


def test_a_changed_table_is_closed_to_analysts_whatever_it_holds_now(tmp_path):
    seen = []
    for name, rows, status in (("good", ROWS, 200), ("broken", BROKEN, 400)):
        (tmp_path / name).mkdir()
        with serving(make_folder(tmp_path / name)) as made:
            assert asked(made, "preview").status == 200
            write(made, rows)
            told = [asked(made, way) for way in ("preview", "ask")]
            assert all(one.status == 403 and "has to check it first" in one.json["error"] for one in told)
            public = send(made, "GET", "/api/tables/people", token=made.ann).json
            seen.append([public, *((one.raw, set(one.headers)) for one in told)])
            assert dp.Ledger(made.folder.ledger("people")).spent().epsilon == 0
            checked = send(made, "GET", "/api/tables/people/check", token=made.carla)
            assert checked.status == status and (status == 200 or "line 52" in checked.json["error"])
            assert asked(made).status == (200 if status == 200 else 403)
    assert seen[0] == seen[1]


def test_a_server_checks_what_is_new_when_it_starts(tmp_path):
    made = make_folder(tmp_path)
    write(made, ROWS)
    write(made, BROKEN, "survey")
    (tmp_path / "plans" / "survey.toml").write_text(PLAN)
    wrong = dict(check_all(made.folder, made.folder.tables))
    assert wrong.keys() == {"survey"} and "line 52" in wrong["survey"]
    with serving(made):
        assert asked(made).status == 200


def test_a_plan_that_was_changed_by_hand_closes_the_table(tmp_path):
    with serving(make_folder(tmp_path)) as made:
        (tmp_path / "plans" / "people.toml").write_text(PLAN + '[file]\nseparator = ";"\n')
        assert asked(made, "preview").status == 403


def test_how_long_a_table_takes_to_open_does_not_show(tmp_path):
    slept, bad = [], {**QUESTION, "sql": "SELECT nothing"}

    async def sleep(seconds):
        slept.append(seconds)

    with serving(make_folder(tmp_path), tick=1.0, clock=lambda: 0.0, sleep=sleep) as made:
        assert send(made, "POST", "/api/tables/people/preview", bad, made.ann).status == 400 and slept == [1.0]
        assert send(made, "POST", "/api/tables/people/preview", bad, made.ann).status == 400 and slept == [1.0]
        assert asked(made, "preview", made.bob).status == 200 and slept == [1.0, 1.0]
        assert asked(made, "preview", made.bob).status == 200 and slept == [1.0, 1.0]


def test_a_table_that_opens_slowly_holds_up_no_other(tmp_path, monkeypatch):
    made = make_folder(tmp_path)
    write(made, ROWS, "slow")
    (tmp_path / "plans" / "slow.toml").write_text(PLAN)
    _, holder = give_budgets(made.folder, made.tokens, "dan", {"slow": dp.Privacy(1), "people": dp.Privacy(1)}, 9)
    check_table(made.folder, "slow")
    opening, go_on = threading.Event(), threading.Event()

    def opened(data, *arguments, **keywords):
        if data.name == "slow.csv":
            opening.set()
            assert go_on.wait(60)
        return Curator(data, *arguments, **keywords)

    monkeypatch.setattr("dproof.serve.desk.Curator", opened)
    desk = Desk(made.folder, made.tokens)
    question = QUESTION["sql"], dp.Terms(epsilon="0.1")
    waiting = threading.Thread(target=lambda: desk.preview(desk.askable(holder, "slow"), *question))
    waiting.start()
    try:
        assert opening.wait(60)
        assert not desk.preview(desk.askable(holder, "people"), *question)["free"]
        assert desk.budget(holder, "slow")["remaining"]["epsilon"] == 1
    finally:
        go_on.set()
        waiting.join(60)


def test_any_number_of_questions_to_a_slow_table_holds_up_no_other(tmp_path, monkeypatch):
    made = make_folder(tmp_path)
    write(made, ROWS, "slow")
    (tmp_path / "plans" / "slow.toml").write_text(PLAN)
    texts = [give_budgets(made.folder, made.tokens, f"a{n}", {"slow": dp.Privacy("0.01")}, 9)[0] for n in range(41)]
    check_table(made.folder, "slow")
    with serving(made):
        asking = [
            partial(send, made, "POST", "/api/tables/slow/ask", {**QUESTION, "epsilon": f"0.00{n + 10}"}, text)
            for n, text in enumerate(texts)
        ]
        other = {"sql": "SELECT sex, count(*) AS n FROM data GROUP BY sex", "epsilon": "0.1"}
        # What is asked of the slow table has a condition.
        with slow_reading(monkeypatch, asking, lambda measurement: measurement.question.where is not None):
            for _ in range(3):  # while they all come in
                assert send(made, "POST", "/api/tables/people/ask", other, made.ann).status == 200


def test_a_preview_that_is_kept_follows_the_ledger(tmp_path):
    with serving(make_folder(tmp_path)) as made:
        first = asked(made, "preview").json
        assert asked(made, "preview").json == first and not first["free"]
        other = {"sql": "SELECT count(*) AS n FROM data WHERE age > 50", "epsilon": "0.25"}
        dp.Curator(
            tmp_path / "tables" / "people.csv",
            tmp_path / "plans" / "people.toml",
            ledger=made.folder.ledger("people"),
            analyst="ann",
        ).ask(other["sql"], epsilon=other["epsilon"])  # as another process would
        assert asked(made, "preview").json["remaining"]["epsilon"] == 0.75
        asked(made, token=made.bob)
        assert asked(made, "preview").json["free"]


def test_what_reads_files_is_loaded_before_somebody_waits_for_it():
    """Where processes are forked from one that has loaded what they need, it runs from the start of the server on."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        pytest.skip("files are read by processes of another kind here")
    from multiprocessing import forkserver

    forkserver._forkserver._stop()
    custody.load_early()
    assert forkserver._forkserver._forkserver_pid is not None
    assert custody.apart(int, "12") == 12

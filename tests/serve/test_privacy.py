"""Neighbouring tables look the same to an analyst, nothing of the data is logged, and nobody overspends."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest

import dproof as dp
from dproof.serve.desk import give_budgets
from tests.serve.server import make_folder, send, serving

ROWS = [f"{'f' if n % 3 else 'm'},{18 + n % 70}" for n in range(300)]
CANARY = "Zanzibar-7731"
QUESTIONS = [
    "SELECT sex, count(*) AS n FROM data GROUP BY sex",
    "SELECT avg(age) AS a FROM data WHERE sex = 'f'",
    "SELECT count(*) AS n FROM data WHERE sex = 'x'",
    "SELECT median(age) AS m FROM data",
    "SELECT nothing FROM data",
    "SELECT count(*) AS n FROM data",
]


def looks(root, rows):
    """What an analyst sees of a table, but for the numbers of the answers."""
    with serving(make_folder(root, rows)) as made:
        found = []
        for sql in QUESTIONS:
            body = {"sql": sql, "epsilon": "0.1"}
            for way in ("preview", "ask", "ask"):
                told = send(made, "POST", f"/api/tables/people/{way}", body, made.ann)
                headers = set(told.headers) - {"content-length"}
                shape = sorted(told.json) if told.status == 200 else told.json["error"]
                found.append((sql, way, told.status, headers, shape, told.json.get("notes")))
        found.append(send(made, "GET", "/api/tables/people", token=made.ann).json)
        return found


def test_neighbouring_tables_look_the_same(tmp_path):
    odd = [*ROWS[:-1], f'"{CANARY}",not a number']
    pages = []
    for name, rows in (("usual", ROWS), ("odd", odd)):
        (tmp_path / name).mkdir()
        pages.append(looks(tmp_path / name, rows))
    assert pages[0] == pages[1]


def test_answers_that_read_rows_leave_at_ticks_and_stored_ones_at_once(tmp_path):
    slept, now = [], [0.0]

    async def sleep(seconds):
        slept.append(seconds)

    with serving(make_folder(tmp_path, ROWS), tick=1.0, clock=lambda: now[0], sleep=sleep) as made:
        body = {"sql": QUESTIONS[1], "epsilon": "0.1"}
        for _ in range(2):
            assert send(made, "POST", "/api/tables/people/ask", body, made.ann).status == 200
        assert slept == [1.0, 1.0]  # the table was opened, and read; the second was stored
        refused = send(made, "POST", "/api/tables/people/ask", {**body, "epsilon": "1.5"}, made.ann)
        assert refused.status == 409 and slept == [1.0, 1.0, 1.0]


def test_what_fails_is_told_without_its_text(tmp_path, monkeypatch, capfd):
    def failing(*_, **__):
        raise RuntimeError(CANARY)

    with serving(make_folder(tmp_path, ROWS)) as made:
        monkeypatch.setattr("dproof.serve.desk.Desk.ask", failing)
        told = send(made, "POST", "/api/tables/people/ask", {"sql": QUESTIONS[0], "epsilon": "0.1"}, made.ann)
    assert told.status == 500 and CANARY not in told.json["error"]
    said = "".join(capfd.readouterr())
    assert "RuntimeError" in said and CANARY not in said and made.ann not in said


def test_no_log_holds_a_cell_an_answer_or_a_token(tmp_path, capfd):
    rows = [*ROWS, f"{CANARY},40"]
    with serving(make_folder(tmp_path, rows)) as made:
        for sql in QUESTIONS:
            send(made, "POST", "/api/tables/people/ask", {"sql": sql, "epsilon": "0.1"}, made.ann)
        send(made, "GET", "/api/tables", token="dproof_wrong")
    said = "".join(capfd.readouterr())
    assert said == ""


def spent_by_many(made, analysts, questions):
    """Every analyst asks so many questions of their own, all at once; how many were answered."""

    def one(who):
        done = 0
        for n in range(questions):
            body = {"sql": f"SELECT count(*) AS n FROM data WHERE age > {20 + n % 60}", "epsilon": f"0.0{who + 1}"}
            told = send(made, "POST", "/api/tables/people/ask", body, made.tokens_of[who])
            assert told.status in (200, 409), told.json
            done += told.status == 200
        return done

    with ThreadPoolExecutor(analysts) as pool:
        return list(pool.map(one, range(analysts)))


def many_analysts(root, count):
    made = make_folder(root, ROWS)
    given = [
        give_budgets(made.folder, made.tokens, f"analyst {n}", {"people": dp.Privacy("0.5")}, 9) for n in range(count)
    ]
    made.tokens_of = [text for text, _ in given]
    return made


@pytest.mark.parametrize(
    ("analysts", "questions"), [(4, 6), pytest.param(8, 1000, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_analysts_at_once_never_overspend_and_lose_no_answer(tmp_path, analysts, questions):
    with serving(many_analysts(tmp_path, analysts), per_second=1e6, at_once=10**6) as made:
        answered = spent_by_many(made, analysts, questions)
    ledger = dp.Ledger(made.folder.ledger("people"))
    assert ledger.spent().epsilon <= 2
    for n in range(analysts):
        assert ledger.spent(f"analyst {n}").epsilon <= Fraction(1, 2)
    paid = [entry for entry in ledger.entries if entry["kind"] == "question"]
    stored = [entry for entry in ledger.entries if entry["kind"] == "answer"]
    assert len(paid) >= len(stored) and sum(answered) >= len(stored) > 0


@pytest.mark.slow
def test_a_killed_server_loses_nothing(tmp_path):
    made = make_folder(tmp_path, ROWS)
    path = Path(sys.executable).parent / "dproof"
    answers = {}
    for n in range(10):
        made.port = 20_000 + os.getpid() % 20_000 + n
        command = [str(path), "serve", str(tmp_path), "--port", str(made.port), "--tick", "0.05"]
        server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            for _ in range(600):
                try:
                    if send(made, "GET", "/sign-in").status == 200:
                        break
                except OSError:
                    time.sleep(0.1)
            with ThreadPoolExecutor(4) as pool:
                body = {"sql": f"SELECT count(*) AS n FROM data WHERE age > {20 + n}", "epsilon": "0.05"}
                asked = pool.submit(send, made, "POST", "/api/tables/people/ask", body, made.ann)
                time.sleep(0.02 * n)
                server.send_signal(signal.SIGKILL)
                try:
                    answers[n] = asked.result().json["rows"]
                except (OSError, Exception):
                    answers[n] = None
        finally:
            server.kill()
            server.wait()
    ledger = dp.Ledger(made.folder.ledger("people"))
    assert ledger.spent("ann").epsilon <= Fraction(1, 2)
    with serving(made):
        for n, rows in answers.items():
            body = {"sql": f"SELECT count(*) AS n FROM data WHERE age > {20 + n}", "epsilon": "0.05"}
            again = send(made, "POST", "/api/tables/people/ask", body, made.ann)
            assert rows is None or again.json["rows"] == rows

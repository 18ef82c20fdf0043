"""Requests that no browser and no client of ours would send: each gets a sentence, and nothing is written for it."""

import json
import socket
import threading
import time

import pytest

import dproof as dp
from dproof.serve.service import Rate
from tests.serve.server import make_folder, send, serving, slow_reading

QUESTION = {"sql": "SELECT count(*) AS n FROM data WHERE sex = 'f'", "epsilon": "0.1"}


def test_an_origin_that_is_no_address_is_another_site(made, capfd):
    told = send(made, "POST", "/api/tables/people/preview", QUESTION, made.ann, Origin="http://[")
    assert told.status == 403 and capfd.readouterr().err == ""


def test_an_origin_that_comes_twice_is_another_site(made):
    lines = ["POST /sign-out HTTP/1.1", f"Host: 127.0.0.1:{made.port}", "Content-Length: 0", "Connection: close"]
    lines += ["Origin: http://evil.example", f"Origin: http://127.0.0.1:{made.port}", "", ""]
    with socket.create_connection(("127.0.0.1", made.port), 60) as connection:
        connection.sendall("\r\n".join(lines).encode())
        assert connection.recv(12) == b"HTTP/1.1 403"


def test_a_body_in_chunks_is_refused_whatever_length_it_names(made):
    body = json.dumps(QUESTION)
    lines = [
        "POST /api/tables/people/preview HTTP/1.1",
        f"Host: 127.0.0.1:{made.port}",
        f"Authorization: Bearer {made.ann}",
        "Content-Length: 5",
        "Transfer-Encoding: chunked",
        "Connection: close",
        "",
        f"{len(body):x}\r\n{body}\r\n0\r\n\r\n",
    ]
    with socket.create_connection(("127.0.0.1", made.port), 60) as connection:
        connection.sendall("\r\n".join(lines).encode())
        assert connection.recv(4096).startswith(b"HTTP/1.1 411")


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [
        ("DELETE", "/api/tokens/99999999999999999999", b"", 400, "no token"),
        ("POST", "/api/drafts/expected", {"plan": {"privacy": {"epsilon": "\ud800"}}}, 422, "not Unicode"),
        ("PUT", "/api/plans/people", {"plan": {"columns": {"\ud800": {}}}}, 422, "not Unicode"),
        ("POST", "/api/drafts/expected", b"{", 422, "not JSON"),
        ("POST", "/api/tables/people/preview", {**QUESTION, "epsilon": "\ud800"}, 422, "not Unicode"),
        ("POST", "/api/tables/people/ask", {**QUESTION, "delta": "\ud800"}, 422, "not Unicode"),
        ("POST", "/api/tokens", {"name": "kim", "tables": ["people"], "epsilon": "\ud800"}, 422, "not Unicode"),
    ],
)
def test_odd_bodies_get_a_sentence(made, method, path, body, status, words):
    told = send(made, method, path, body, made.carla)
    assert told.status == status and words in told.json["error"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"days": 0}, "from 1 to 3650"),
        ({"name": " "}, "needs the name"),
        ({"name": "kim\nroot"}, "printable"),
        ({"tables": ["people", "nothing"]}, "there is no table"),
    ],
)
def test_a_token_that_is_refused_leaves_no_budget_behind(made, given, words):
    wanted = {"name": "kim", "tables": ["people"], "epsilon": "0.1", **given}
    told = send(made, "POST", "/api/tokens", wanted, made.carla)
    assert told.status == 400 and words in told.json["error"]
    assert set(dp.Ledger(made.folder.ledger("people")).analysts) == {"ann", "bob"}


def test_a_budget_that_cannot_be_changed_is_refused_before_any_other_is_written(tmp_path):
    made = make_folder(tmp_path)
    for part, ending in (("tables", "csv"), ("plans", "toml")):
        (tmp_path / part / f"copy.{ending}").write_bytes((tmp_path / part / f"people.{ending}").read_bytes())
    with serving(made):
        wanted = {"name": "ann", "tables": ["copy", "people"], "epsilon": "0.3"}
        told = send(made, "POST", "/api/tokens", wanted, made.carla)
    assert told.status == 400 and "cannot be changed" in told.json["error"]
    assert not made.folder.ledger("copy").exists()


def test_who_has_no_budget_learns_nobodys_name(made):
    stranger, _ = made.tokens.issue("zed", "analyst", ["people"])
    for way in ("preview", "ask"):
        told = send(made, "POST", f"/api/tables/people/{way}", QUESTION, stranger)
        assert told.status == 403 and "ann" not in told.json["error"].replace("analyst", "")
    assert "no budget" in send(made, "GET", "/api/tables", token=stranger).json[0]["error"]


def test_a_custodian_asks_where_analysts_do_as_one_of_them(made):
    told = send(made, "POST", "/api/tables/people/preview", QUESTION, made.carla)
    assert told.status == 403 and "give yourself a budget" in told.json["error"]
    wanted = {"name": "carla", "tables": ["people"], "epsilon": "0.2"}
    own = send(made, "POST", "/api/tokens", wanted, made.carla).json["token"]
    assert send(made, "POST", "/api/tables/people/preview", QUESTION, own).status == 200


def test_threads_that_come_together_are_all_counted():
    inside, together = [0], []

    def clock():
        inside[0] += 1
        together.append(inside[0])
        time.sleep(0.02)  # long enough that another thread would come in, were it let in
        inside[0] -= 1
        return 0.0

    rate, allowed = Rate(1, 1, clock), []
    threads = [threading.Thread(target=lambda: allowed.append(rate.allows("ann"))) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert together == [1] * 5 and allowed.count(True) == 1


def test_a_stored_answer_waits_for_no_question_that_reads_the_table(tmp_path, monkeypatch):
    def ask(body):
        return send(made, "POST", "/api/tables/people/ask", body, made.ann)

    with serving(make_folder(tmp_path)) as made:
        assert ask(QUESTION).status == 200
        other = {**QUESTION, "sql": "SELECT count(*) AS n FROM data WHERE sex = 'm'"}
        told = []
        asking = [lambda n=n: told.append(ask({**other, "epsilon": f"0.00{n}"})) for n in range(1, 6)]
        with slow_reading(monkeypatch, asking):
            assert ask(QUESTION).status == 200 and told == []
    assert {one.status for one in told} == {200}

"""Attacks on a server: forged and smuggled requests, floods, a full disk. Nothing is spent or shown by any."""

import socket

import pytest

import dproof as dp
from dproof.curator.ledger import LedgerFile
from tests.serve.server import make_folder, send, serving

QUESTION = {"sql": "SELECT count(*) AS n FROM data WHERE sex = 'f'", "epsilon": "0.1"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    with serving(make_folder(tmp_path_factory.mktemp("served")), patience=5.0) as made:
        yield made


def exchanged(made, *lines, body=b""):
    """All that a server answers to some lines, until it closes the connection."""
    with socket.create_connection(("127.0.0.1", made.port), 60) as connection:
        head = "\r\n".join([*lines, f"Authorization: Bearer {made.ann}", "Connection: close", "", ""])
        connection.sendall(head.encode("latin-1") + body)
        told = b""
        while part := connection.recv(1 << 16):
            told += part
    return told


def status(told):
    return int(told.split()[1])


def test_no_header_smuggles_a_request_past_the_guard(made):
    here, post = f"Host: 127.0.0.1:{made.port}", "POST /api/tables/people/preview HTTP/1.1"
    assert status(exchanged(made, "GET /api/tables HTTP/1.1", here, "Host: evil.example")) == 400
    assert status(exchanged(made, "GET /api/tables HTTP/1.1", "Host: evil.example")) == 421
    assert status(exchanged(made, "GET /api/tables HTTP/1.0")) == 421
    assert status(exchanged(made, post, here, "Content-Length: 2", "Content-Length: 20", body=b"{}")) == 400
    assert status(exchanged(made, post, here, "Content-Length: +2", body=b"{}")) == 400
    assert status(exchanged(made, post, here, "Content-Length: \xb2", body=b"{}")) == 400
    assert status(exchanged(made, post, here, "Transfer-Encoding : chunked", body=b"0\r\n\r\n")) == 400
    hidden = b"GET /api/releases HTTP/1.1\r\n\r\n"
    told = exchanged(made, "GET /api/tables HTTP/1.1", here, f"Content-Length: {len(hidden)}", body=hidden)
    assert status(told) == 200 and told.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "DELETE", "OPTIONS", "BREW"])
def test_no_method_brings_a_body_that_is_too_large_or_has_no_length(made, method):
    here = (f"{method} /api/tables HTTP/1.1", f"Host: 127.0.0.1:{made.port}")
    assert status(exchanged(made, *here, "Content-Length: 99999999999")) == 413
    assert status(exchanged(made, *here, "Transfer-Encoding: chunked", body=b"0\r\n\r\n")) == 411


def test_a_body_that_never_ends_is_cut_though_it_comes_quickly(tmp_path):
    with serving(make_folder(tmp_path), patience=0.5) as made:
        head = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{made.port}\r\nContent-Length: 99999999999\r\n\r\n"
        with socket.create_connection(("127.0.0.1", made.port), 60) as connection:
            connection.sendall(head.encode())
            with pytest.raises(OSError):
                for _ in range(1_000_000):
                    connection.sendall(b"x" * (1 << 16))


def test_junk_fills_no_log(made, capfd):
    for junk in (b"\x16\x03\x01\x00\xff" * 20, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", made.port), 60) as connection:
            connection.sendall(junk)
            assert connection.recv(4096).startswith(b"HTTP/1.1 4")
    upgrade = ("GET /api/tables HTTP/1.1", f"Host: 127.0.0.1:{made.port}", "Upgrade: websocket")
    exchanged(made, *upgrade)
    assert "".join(capfd.readouterr()) == ""


def test_no_answer_leads_to_another_address(made):
    told = send(made, "GET", "/api/tables/people/", token=made.ann)
    assert told.status == 404 and "location" not in told.headers


@pytest.mark.parametrize(
    "path",
    [
        "/static/..%2f..%2fdesk.py",
        "/static/%2e%2e/desk.py",
        "/api/releases/..%2ftables",
        "/api/releases/%2e%2e",
        "/api/tables/people%00",
        "/api/tables/%ff%fe",
        "/api/files/..%2ftokens.db/columns",
        "/releases/..%2f..%2fledgers/download",
        "/plans/..%2f..%2fetc%2fpasswd",
        "//api/tables",
    ],
)
def test_no_path_leaves_the_folder(made, path):
    told = send(made, "GET", path, token=made.carla)
    assert told.status in (400, 404) and str(made.root).encode() not in told.raw


def test_odd_numbers_and_deep_texts_are_refused_quickly(made):
    count = "SELECT count(*) AS n FROM data"
    deep = b'{"sql": "x", "epsilon": ' + b"[" * 30_000 + b"]" * 30_000 + b"}"
    questions = [{"sql": count, "epsilon": text} for text in ("1e999999999", "1e-999999999", "1/" + "9" * 9000, "nan")]
    questions += [{"sql": f"{count} WHERE {'(' * 4000}age > 1{')' * 4000}", "epsilon": "0.1"}]
    for body in (deep, b'{"sql": "x", "epsilon": ' + b"9" * 5000 + b"}", *questions):
        told = send(made, "POST", "/api/tables/people/preview", body, made.ann)
        assert 400 <= told.status < 500 and told.json["error"]


def test_a_thousand_guesses_slow_down_nobody_else(made):
    told = [send(made, "GET", "/api/tables", token=f"dproof_{n}").status for n in range(100)]
    assert set(told) == {401, 429} and told[:20] == [401] * 20
    assert send(made, "GET", "/api/tables", token=made.ann).status == 200


def test_a_full_disk_is_told_before_anything_is_read(tmp_path, monkeypatch):
    made, opened, read = make_folder(tmp_path), LedgerFile._open, []

    def full(file):
        database = opened(file)
        pages = database.execute("PRAGMA page_count").fetchone()[0]
        database.execute(f"PRAGMA max_page_count = {pages}")  # SQLite then says what it says on a full disk
        return database

    monkeypatch.setattr("dproof.curator.curator.tally", lambda *_: read.append(1))
    body = {**QUESTION, "sql": f"{QUESTION['sql']} OR {' OR '.join(f'age = {n}' for n in range(20, 60))}"}
    monkeypatch.setattr(LedgerFile, "_open", full)
    with serving(made):
        told = [
            send(made, "POST", "/api/tables/people/ask", {**body, "epsilon": f"0.00{n}"}, made.ann) for n in range(1, 9)
        ]
    assert told[-1].status == 400 and "is full" in told[-1].json["error"]
    assert str(tmp_path) not in told[-1].json["error"]
    monkeypatch.setattr(LedgerFile, "_open", opened)
    paid = [one for one in dp.Ledger(made.folder.ledger("people")).entries if one["kind"] == "question"]
    assert len(paid) == len(read)  # nothing was read that was not paid for


def test_the_same_request_again_costs_nothing(made):
    first, again = (send(made, "POST", "/api/tables/people/ask", QUESTION, made.bob) for _ in range(2))
    assert first.json["rows"] == again.json["rows"]
    assert first.json["budget"]["remaining"] == again.json["budget"]["remaining"]

"""Bounds: what anybody can make the server hold, and how large a page can become."""

import http.client
import json
import socket
import time
from urllib.parse import urlencode

import pytest

import dproof as dp
from dproof.serve.limits import MOST_CONNECTIONS
from dproof.serve.plan_form import COLUMN_FIELDS
from tests.serve.server import PLAN, make_folder, send, serving

LARGEST_PAGE = 1 << 20


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    made = make_folder(tmp_path_factory.mktemp("served"))
    write = lambda part, text: (made.root / part).write_text(text)  # noqa: E731
    write("tables/wide.csv", ",".join(f"c{n}" for n in range(100_000)) + "\n" + ",".join(["1"] * 100_000) + "\n")
    dropped = "".join(f"[columns.c{n}]\ndrop = true\n" for n in range(1, 3000))
    write("tables/planned.csv", ",".join(f"c{n}" for n in range(3000)) + "\n" + ",".join(["1"] * 3000) + "\n")
    write("plans/planned.toml", f'[privacy]\nepsilon = "1"\n[columns.c0]\npublic = true\n{dropped}')
    values = json.dumps([f"value {n}" for n in range(20_000)])
    some = json.dumps([f"value {n}" for n in range(901)])
    write("tables/towns.csv", "town\nvalue 1\n")
    write("plans/towns.toml", f'[privacy]\nepsilon = "1"\n[columns.town]\nspace = "categories"\nvalues = {some}\n')
    write("tables/valued.csv", "town\nvalue 1\n")
    write("plans/valued.toml", f'[privacy]\nepsilon = "1"\n[columns.town]\nspace = "categories"\nvalues = {values}\n')
    with serving(made, patience=30.0) as made:
        yield made


PAGES = ["/", "/custody", "/tables/valued", *(f"/plans/{name}" for name in ("wide", "planned", "valued"))]
PAGES += [f"/plans/{name}/{step}" for name in ("planned", "valued") for step in ("columns", "questions", "release")]


@pytest.mark.parametrize("path", PAGES)
def test_no_page_is_larger_than_a_mebibyte(made, path):
    told = send(made, "GET", path, token=made.carla)
    assert told.status == 200 and len(told.raw) < LARGEST_PAGE, len(told.raw)


def test_a_wide_table_is_planned_in_a_file(made):
    told = send(made, "GET", "/plans/wide", token=made.carla).raw.decode()
    assert "100,000 columns" in told and "dproof init tables/wide.csv --look &gt; plans/wide.toml" in told


def test_a_long_answer_shows_its_beginning(made):
    with_groups = {"sql": "SELECT town, count(*) AS n FROM data GROUP BY town", "epsilon": "0.1", "do": "ask"}
    kind = "application/x-www-form-urlencoded"
    told = send(made, "POST", "/tables/towns", urlencode(with_groups).encode(), made.carla, Content_Type=kind)
    assert told.status == 200 and b"401 more are not shown" in told.raw


def test_a_form_with_a_long_plan_is_taken(made):
    values = "\n".join(f"a rather long value {n}" for n in range(6000))
    fields = dict.fromkeys(COLUMN_FIELDS, "") | {"column": "town", "kind": "categories", "values": values}
    fields |= {"taken": "line", "outside": "keep", "missing": "category", "do": "look"}
    (made.root / "tables" / "new.csv").write_text("town\nx\n")
    kind = "application/x-www-form-urlencoded"
    begun = send(made, "POST", "/plans/new", b"do=begin", made.carla, Content_Type=kind)
    assert begun.status == 303 and begun.headers["location"] == "/plans/new/columns"
    told = send(made, "POST", "/plans/new/columns", urlencode(fields).encode(), made.carla, Content_Type=kind)
    assert told.status == 200 and b"a rather long value 5999" in told.raw


def test_a_first_line_of_values_is_asked_about_before_it_is_public(made):
    for text in ("f,34\nm,51\nf,28\n", "f,Bonn\nm,Ulm\nf,Bonn\n", "2020-01-02,x\n2020-01-03,y\n"):
        (made.root / "tables" / "bare.csv").write_text(text)
        first = text.partition("\n")[0].split(",")
        plan = {"privacy": {"epsilon": "1"}, "columns": {name: {"drop": True} for name in first}}
        plan["columns"][first[-1]] = {"space": "interval", "low": 0, "high": 9, "missing": 0}
        found = send(made, "GET", "/api/files/bare/columns", token=made.carla).json
        assert first[0] in found["doubtful"]
        refused = send(made, "PUT", "/api/plans/bare", {"plan": plan}, made.carla)
        assert refused.status == 400 and "look like values" in refused.json["error"]
        assert not (made.root / "plans" / "bare.toml").exists()
        page = send(made, "GET", "/plans/bare", token=made.carla).raw
        assert b"Are these names?" in page and b'name="names_are_public"' in page
    said = send(made, "PUT", "/api/plans/bare", {"plan": plan, "names_are_public": True}, made.carla)
    assert said.status == 200
    assert send(made, "GET", "/api/files/bare/columns", token=made.carla).json["doubtful"] == []
    assert send(made, "GET", "/api/files/people/columns", token=made.carla).json["doubtful"] == []


def test_connections_that_send_nothing_lock_nobody_out(made):
    half = [b"", b"GET / HT", f"POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1:{made.port}\r\n".encode()]
    half.append(half[2] + b"Content-Length: 50\r\n\r\ntoken=")
    waiting = []
    try:
        for n in range(2 * MOST_CONNECTIONS):
            waiting.append(socket.create_connection(("127.0.0.1", made.port), 60))
            waiting[-1].sendall(half[n % 4])
        for _ in range(5):
            assert send(made, "GET", "/api/tables", token=made.ann).status == 200
    finally:
        for one in waiting:
            one.close()


def test_a_table_that_is_being_sent_keeps_its_place(made):
    size = 1 << 20
    sending = http.client.HTTPConnection("127.0.0.1", made.port, timeout=60)
    sending.putrequest("PUT", "/api/files/sent.csv")
    sending.putheader("Authorization", f"Bearer {made.carla}")
    sending.putheader("Content-Length", str(size))
    sending.endheaders(b"x" * (size - 1))
    while not list((made.root / "tables").glob(".upload-*")):
        time.sleep(0.01)
    waiting = [socket.create_connection(("127.0.0.1", made.port), 60) for _ in range(2 * MOST_CONNECTIONS)]
    assert send(made, "GET", "/health").status == 200
    sending.send(b"x")
    assert sending.getresponse().status == 201
    sending.close()
    for one in waiting:
        one.close()


@pytest.mark.parametrize(
    "lengths", [("Content-Length: 6", "Transfer-Encoding: chunked"), ("Transfer-Encoding: chunked",)]
)
def test_after_a_body_with_two_lengths_nothing_is_read(made, lengths):
    lines = ["POST /sign-in HTTP/1.1", f"Host: 127.0.0.1:{made.port}", *lengths, "", ""]
    with socket.create_connection(("127.0.0.1", made.port), 60) as connection:
        hidden = f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{made.port}\r\n\r\n"
        connection.sendall(("\r\n".join(lines) + "0\r\n\r\n" + hidden).encode())
        told = b""
        while part := connection.recv(65536):
            told += part
    assert told.startswith(b"HTTP/1.1 411") and told.count(b"HTTP/1.1") == 1 and b"connection: close" in told.lower()


def test_history_comes_in_pages(tmp_path):
    made = make_folder(tmp_path)
    plan = PLAN.replace('epsilon = "2"', 'epsilon = "9"')
    (tmp_path / "plans" / "long.toml").write_text(plan)
    (tmp_path / "tables" / "long.csv").write_text("sex,age\n" + "f,40\n" * 5)
    curator = dp.Curator(tmp_path / "tables/long.csv", tmp_path / "plans/long.toml", ledger=made.folder.ledger("long"))
    for n in range(120):
        curator.ask(
            f"SELECT count(*) AS n FROM data WHERE age > {18 + n % 60} AND age < {80 + n // 60}", epsilon="0.01"
        )
    with serving(made):
        seen, before = [], ""
        while entries := send(made, "GET", f"/api/tables/long/history?most=50{before}", token=made.carla).json:
            assert len(entries) <= 50
            seen, before = entries + seen, f"&before={entries[0]['number']}"
        assert len(seen) == 120 and len({one["number"] for one in seen}) == 120
        assert len(send(made, "GET", "/api/tables/long/history", token=made.carla).json) == 100
        assert send(made, "GET", "/api/tables/long/history?most=5000", token=made.carla).status == 422
        path, asked = "/tables/long", 0
        while path:
            page = send(made, "GET", path, token=made.carla).raw.decode()
            asked += page.count("ask again</a>")
            link = page.partition('<a href="/tables/long?before=')[2].partition('"')[0]
            path = link and f"/tables/long?before={link.partition('#')[0]}"
        assert asked == 120

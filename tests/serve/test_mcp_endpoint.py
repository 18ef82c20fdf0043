"""Assistants over HTTP: the same tools, tokens, rates, ticks and ledger as for programs."""

import asyncio
import json
from functools import partial

import pytest

import dproof as dp
from tests.serve.server import make_folder, send, serving, slow_reading

pytest.importorskip("mcp", reason="the SDK is not installed")
SQL = "SELECT count(*) AS n FROM data WHERE sex = 'f'"
ACCEPT = "application/json, text/event-stream"


def called(made, token, tool, **arguments):
    """The result of a tool, by one plain request of the protocol."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    told = send(made, "POST", "/mcp", body, token, Accept=ACCEPT)
    assert told.status == 200, told.raw
    return told.json["result"]


def text(result):
    return result["content"][0]["text"]


def test_the_tools_ask_under_the_token_of_who_calls(made):
    assert "private table people: columns sex" in text(called(made, made.ann, "list_tables"))
    assert "costs epsilon 0.1" in text(called(made, made.ann, "preview", table="people", sql=SQL, epsilon="0.1"))
    said = text(called(made, made.ann, "ask", table="people", sql=SQL, epsilon="0.1"))
    assert "It cost epsilon 0.1" in said and "more counts at ±" in said
    ledger = dp.Ledger(made.folder.ledger("people"))
    assert float(ledger.spent("ann").epsilon) == 0.1 and ledger.spent("bob").epsilon == 0
    assert "It was free" in text(called(made, made.bob, "ask", table="people", sql=SQL, epsilon="0.1"))


def test_what_is_refused_is_told_in_a_sentence_and_logged_nowhere(made, capfd):
    refused = called(made, made.bob, "ask", table="people", sql="SELECT avg(age) AS a FROM data", epsilon="1.5")
    assert refused["isError"] and "what is left" in text(refused) and "Traceback" not in text(refused)
    refused = called(made, made.ann, "describe_table", table="../tokens")
    assert refused["isError"] and "not for that table" in text(refused)
    refused = called(made, made.ann, "ask", table="people", sql=7)
    assert refused["isError"] and "Traceback" not in text(refused)
    assert "".join(capfd.readouterr()) == ""


def test_the_calls_of_one_hold_up_no_other(tmp_path, monkeypatch):
    with serving(make_folder(tmp_path)) as made:
        asked = {"table": "people", "sql": SQL}
        asking = [partial(called, made, made.ann, "ask", **asked, epsilon=f"0.0{n}") for n in range(1, 7)]
        with slow_reading(monkeypatch, asking):
            assert "more counts" in text(called(made, made.bob, "budget", table="people"))


def test_without_the_sdk_there_is_no_such_path(tmp_path, monkeypatch):
    monkeypatch.setattr("dproof.serve.app.sdk_is_there", lambda: False)
    with serving(make_folder(tmp_path)) as made:
        told = send(made, "POST", "/mcp", {}, made.ann, Accept=ACCEPT)
        assert told.status == 404 and told.json["error"]


def test_who_has_no_token_or_only_a_session_is_no_assistant(made):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    cookie = send(made, "POST", "/sign-in", f"token={made.ann}".encode()).headers["set-cookie"].partition(";")[0]
    for headers in ({}, {"Cookie": cookie}, {"Authorization": "Bearer dproof_guess"}):
        told = send(made, "POST", "/mcp", body, Accept=ACCEPT, **headers)
        assert told.status == 401 and "token" in told.json["error"]
    revoked, holder = made.tokens.issue("eve", "analyst", ["people"])
    assert send(made, "POST", "/mcp", body, revoked, Accept=ACCEPT).status == 200
    made.tokens.revoke(holder.number)
    assert send(made, "POST", "/mcp", body, revoked, Accept=ACCEPT).status == 401


def test_the_guard_stands_before_it(made):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert send(made, "POST", "/mcp", body, made.ann, Accept=ACCEPT, Origin="http://evil.example").status == 403
    assert send(made, "POST", "/mcp", body, made.ann, Accept=ACCEPT, Host="evil.example").status == 421
    assert send(made, "POST", "/mcp", b"x" * (1 << 17), made.ann, Accept=ACCEPT).status == 413
    assert send(made, "GET", "/mcp", token=made.ann, Accept=ACCEPT).status == 405
    assert send(made, "DELETE", "/mcp", b"", token=made.ann).status == 405
    for junk in (b"", b"{", b"[]", b"\xff", json.dumps([body] * 3).encode()):
        told = send(made, "POST", "/mcp", junk, made.ann, Accept=ACCEPT)
        assert 400 <= told.status < 500 and b"Traceback" not in told.raw


def test_no_request_waits_for_ever(made):
    version, name = "2026-07-28", "io.modelcontextprotocol"
    meta = {f"{name}/protocolVersion": version, f"{name}/clientCapabilities": {}}
    params = {"notifications": {"toolsListChanged": True}, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}
    headers = {"Accept": ACCEPT, "Mcp-Protocol-Version": version, "Mcp-Method": "subscriptions/listen"}
    told = send(made, "POST", "/mcp", body, made.ann, **headers)  # nothing would ever be told of it
    assert told.json["error"]["message"] == "Method not found"


def test_answers_leave_at_ticks_and_come_so_often(tmp_path):
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    few = {"tick": 1.0, "clock": lambda: 0.0, "sleep": sleep, "per_second": 1, "at_once": 4}
    with serving(make_folder(tmp_path), **few) as made:
        asked = {"table": "people", "sql": SQL, "epsilon": "0.1"}
        called(made, made.ann, "ask", **asked)  # three requests: the call, the question and what is left
        assert slept == [1.0, 1.0]  # the table was opened, and read
        refused = called(made, made.ann, "budget", table="people")
        assert refused["isError"] and "too many requests" in text(refused)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_client_of_the_sdk_asks(made, mode):
    import httpx2
    from mcp.client.client import Client
    from mcp.client.streamable_http import streamable_http_client

    async def asked():
        headers = {"Authorization": f"Bearer {made.bob}"}
        async with httpx2.AsyncClient(headers=headers, trust_env=False, timeout=60) as http:
            way = streamable_http_client(f"http://127.0.0.1:{made.port}/mcp", http_client=http)
            async with Client(way, mode=mode) as client:
                listed = {tool.name for tool in (await client.list_tools()).tools}
                found = await asyncio.gather(
                    *(
                        client.call_tool("ask", {"table": "people", "sql": SQL, "epsilon": f"0.0{n}"})
                        for n in range(1, 6)
                    )
                )
                return listed, [one.content[0].text for one in found]

    listed, told = asyncio.run(asked())
    assert listed == {"list_tables", "describe_table", "preview", "ask", "query", "budget"}
    assert all("It cost" in one or "It was free" in one for one in told)

"""The door for assistants, attacked by the client of the SDK: a sentence comes, and nothing is paid twice."""

import asyncio
import json
from contextlib import suppress

import pytest

import dproof as dp
from tests.serve.server import make_folder, send, serving

pytest.importorskip("mcp", reason="the SDK is not installed")
SQL = "SELECT count(*) AS n FROM data WHERE sex = 'f'"
NAMES = [
    "../tokens",
    "people/../people",
    "people/ask",
    "people?rows=1",
    "people#",
    "people%2f..",
    "people\x00",
    "people\r\nHost: evil.example",
    "PEOPLE",
    "",
    " people",
    "p" * 30_000,
    "люди",
]
PRICES = ["-1", "0", "nan", "inf", "1e400", "1/0", "", " ", "0.1; DROP", "0x1", "9" * 5000]
WRONG_TYPES = [None, True, 0.1, 3, ["0.1"], {"epsilon": "0.1"}, [[[[]]]]]
QUESTIONS = [
    "",
    ";",
    "SELECT * FROM data",
    "SELECT count(*) FROM data; DROP TABLE data",
    "SELECT count(*) FROM read_csv('/etc/passwd')",
    "COPY data TO '/tmp/stolen.csv'",
    "SELECT " + "(" * 3000 + "1" + ")" * 3000 + " FROM data",
    "SELECT count(*) FROM data WHERE sex = '\x00'",
    "ATTACH 'x.db'",
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    with serving(make_folder(tmp_path_factory.mktemp("served")), per_second=10_000, at_once=10_000) as made:
        yield made


def by_client(made, token, talk):
    """What a function of a client of the SDK comes to."""
    import httpx2
    from mcp.client.client import Client
    from mcp.client.streamable_http import streamable_http_client

    async def run():
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers, trust_env=False, timeout=60) as http:
            way = streamable_http_client(f"http://127.0.0.1:{made.port}/mcp", http_client=http)
            async with Client(way) as client:
                return await talk(client)

    return asyncio.run(run())


def refusal(result):
    """What a tool refused; it is no traceback, names no place of the machine and quotes no row."""
    text = result.content[0].text
    assert result.is_error and text.strip(), text
    assert "Traceback" not in text and "/tmp/" not in text and 'File "' not in text, text
    return text


async def attempt(client, tool, arguments):
    """A call that must not be answered; the SDK itself may refuse to send it."""
    from mcp import MCPError

    try:
        return refusal(await client.call_tool(tool, arguments))
    except (MCPError, ValueError, UnicodeError) as error:
        return str(error)


def test_odd_names_prices_types_and_questions_get_a_sentence_and_cost_nothing(made, capfd):
    asked = {"table": "people", "sql": SQL, "epsilon": "0.1"}
    attacks = [("describe_table", {"table": name}) for name in NAMES]
    attacks += [("budget", {"table": name}) for name in NAMES]
    attacks += [("query", {"release": name, "sql": SQL}) for name in NAMES]
    attacks += [(tool, {**asked, "table": name}) for name in NAMES for tool in ("ask", "preview")]
    attacks += [(tool, {**asked, "epsilon": price}) for price in PRICES for tool in ("ask", "preview")]
    attacks += [(tool, {**asked, "delta": price}) for price in PRICES[2:] for tool in ("ask", "preview")]
    attacks += [("ask", {**asked, key: value}) for value in WRONG_TYPES for key in ("table", "sql", "epsilon", "delta")]
    attacks += [(tool, {**asked, "sql": sql}) for sql in QUESTIONS for tool in ("ask", "preview")]
    attacks += [("ask", {"table": "people"}), ("no_such_tool", {}), ("ask", {}), ("query", {})]

    async def talk(client):
        return [(tool, arguments, await attempt(client, tool, arguments)) for tool, arguments in attacks]

    for tool, arguments, told in by_client(made, made.ann, talk):
        assert told, (tool, arguments)
    ledger = dp.Ledger(made.folder.ledger("people"))
    assert ledger.spent().epsilon == 0 and ledger.entries[-1]["kind"] == "analyst"
    assert "a request failed" not in capfd.readouterr().err


@pytest.mark.parametrize("key", ["table", "sql", "epsilon", "delta"])
def test_half_a_letter_is_refused(made, key, capfd):
    """The SDK cannot send it, and JSON can."""
    asked = {"table": "people", "sql": SQL, "epsilon": "0.1", "delta": "0", key: "\ud800"}
    params = {"name": "ask", "arguments": asked}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    told = send(made, "POST", "/mcp", body, made.ann, Accept="application/json, text/event-stream")
    assert told.status < 500 and ("error" in told.json or told.json["result"]["isError"]), told.raw
    assert "a request failed" not in capfd.readouterr().err


def test_one_question_asked_at_once_is_paid_once_and_has_one_answer(made):
    asked = {"table": "people", "sql": "SELECT avg(age) AS a FROM data", "epsilon": "0.05"}

    async def talk(client):
        found = await asyncio.gather(*(client.call_tool("ask", asked) for _ in range(12)))
        return [one.content[0].text for one in found]

    before = dp.Ledger(made.folder.ledger("people")).spent("bob").epsilon
    told = by_client(made, made.bob, talk)
    estimates = {text.splitlines()[2] for text in told}
    assert len(estimates) == 1, estimates
    assert dp.Ledger(made.folder.ledger("people")).spent("bob").epsilon - before == dp.Privacy("0.05").epsilon


def test_a_token_that_is_revoked_in_the_middle_ends_the_talk(made):
    text, holder = made.tokens.issue("eve", "analyst", ["people"])

    async def talk(client):
        first = await client.call_tool("list_tables", {})
        made.tokens.revoke(holder.number)
        return first.is_error, await attempt(client, "list_tables", {})

    try:
        is_error, after = by_client(made, text, talk)
    except BaseExceptionGroup as ended:  # the SDK may end the whole talk
        is_error, after = False, str(ended.exceptions)
    assert not is_error and "people" not in after


def test_who_goes_away_while_a_question_is_read_has_paid_for_an_answer_that_is_kept(made):
    asked = {"table": "people", "sql": "SELECT sum(age) AS s FROM data", "epsilon": "0.03"}

    async def talk(client):
        task = asyncio.create_task(client.call_tool("ask", asked))
        await asyncio.sleep(0.02)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    with suppress(BaseExceptionGroup):  # the SDK may end the whole talk
        by_client(made, made.bob, talk)
    answer = send(made, "POST", "/api/tables/people/ask", {**asked, "table": None, "sql": asked["sql"]}, made.bob)
    assert answer.status == 422  # what is not of the form is told
    body = {"sql": asked["sql"], "epsilon": "0.03"}
    assert send(made, "POST", "/api/tables/people/ask", body, made.bob).status == 200
    paid = [one for one in dp.Ledger(made.folder.ledger("people")).questions("bob") if "sum" in one["question"]]
    assert len(paid) == 1 and paid[0]["answered"]


def test_a_flood_of_calls_is_bounded_and_holds_up_nobody(made):
    async def talk(client):
        calls = (client.call_tool("list_tables", {}) for _ in range(120))
        return await asyncio.gather(*calls, return_exceptions=True)

    with suppress(BaseExceptionGroup):  # the SDK may end the whole talk
        by_client(made, made.ann, talk)
    assert send(made, "GET", "/api/tables", token=made.bob).status == 200
    assert send(made, "GET", "/api/tables", token=made.ann).status == 200


@pytest.mark.parametrize(
    "method",
    ["resources/list", "resources/read", "prompts/list", "prompts/get", "completion/complete", "logging/setLevel"],
)
def test_there_is_nothing_besides_the_tools(made, method):
    params = {"uri": "file:///etc/passwd", "name": "x", "level": "debug"}
    params |= {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "x", "value": "y"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    told = send(made, "POST", "/mcp", body, made.ann, Accept="application/json, text/event-stream")
    assert told.status < 500
    found = told.json.get("result", {})
    assert "error" in told.json or not any(found.get(key) for key in ("resources", "prompts", "contents")), told.json
    assert "root:" not in json.dumps(told.json)

"""What an assistant is told: by its tools, and over the protocol itself where the SDK is installed."""

import asyncio
import os
import sys

import pytest

import dproof as dp
from dproof.serve.mcp import tools_of

SQL = "SELECT count(*) AS n FROM data WHERE sex = 'f'"


def test_the_tools_tell_costs_and_intervals_in_words(made):
    server = dp.connect(f"http://127.0.0.1:{made.port}", made.ann)
    tools = {tool.__name__: tool for tool in tools_of(server)}
    assert all(tool.__doc__ for tool in tools.values())
    assert "private table people: columns sex (categories), age (interval)" in tools["list_tables"]()
    assert 'values = ["f", "m"]' in tools["describe_table"]("people")
    assert "costs epsilon 0.1" in tools["preview"]("people", SQL, "0.1")
    said = tools["ask"]("people", SQL, "0.1")
    assert "±" in said and "It cost epsilon 0.1" in said and "more counts at ±" in said
    assert "more counts" in tools["budget"]("people")
    with pytest.raises(dp.OverBudget):
        tools["ask"]("people", "SELECT avg(age) AS a FROM data", "5")
    with pytest.raises(dp.InputError, match="no release"):
        tools["query"]("first", "SELECT count(*) FROM release")


def test_an_assistant_asks_over_the_protocol(made):
    mcp = pytest.importorskip("mcp", reason="the SDK is not installed")

    async def asked():
        environment = {**os.environ, "DPROOF_TOKEN": made.bob}
        words = ["-m", "dproof", "mcp", f"http://127.0.0.1:{made.port}"]
        started = mcp.StdioServerParameters(command=sys.executable, args=words, env=environment)
        async with mcp.stdio_client(started) as streams, mcp.ClientSession(*streams) as session:
            await session.initialize()
            listed = {tool.name for tool in (await session.list_tools()).tools}
            found = await session.call_tool("ask", {"table": "people", "sql": SQL, "epsilon": "0.2"})
            refused = await session.call_tool("ask", {"table": "people", "sql": "SELECT 1", "epsilon": "0.2"})
            return listed, found.content[0].text, refused

    listed, told, refused = asyncio.run(asked())
    assert listed == {"list_tables", "describe_table", "preview", "ask", "query", "budget"}
    assert "It cost epsilon 0.2" in told or "It was free" in told
    assert refused.is_error if hasattr(refused, "is_error") else refused.isError
    assert "Traceback" not in refused.content[0].text

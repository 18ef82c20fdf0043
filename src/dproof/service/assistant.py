"""Tools for an assistant that speaks the Model Context Protocol: it analyses private tables without seeing a row.

The tools come to a running server with a token, as any analyst does: the same ledger, the same refusals. Answers carry
their intervals and costs in plain words.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial, wraps
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from dproof.errors import DproofError
from dproof.service.client import Connection

_SDK = (2, 3)  # its version, at least
INSTRUCTIONS = (
    "Private tables are asked in SQL under a privacy budget that cannot be refilled: preview a question before you ask "
    "it, and ask few. Releases are queried in SQL for nothing. Every estimate has a 95% interval: report it."
)


def tools_of(server: Connection) -> list[Callable[..., Any]]:
    """What an assistant can do, each with a docstring that tells it when."""

    def list_tables() -> str:
        """The private tables that you may ask and the releases that you may query, with their columns and budgets."""
        lines = [f"private table {one['name']}: {_told(one)}" for one in server.tables()]
        lines += [f"release {one['name']}: {_told(one)}" for one in server.releases()]
        return "\n".join(lines) or "There is nothing that this token may ask."

    def describe_table(table: str) -> str:
        """The plan of a private table: the values and bounds of its columns, and what people in it are promised."""
        return str(server.table(table).describe()["plan"])

    def preview(table: str, sql: str, epsilon: str, delta: str = "0") -> str:
        """What a question to a private table would cost and how wide its interval would be. Free: do this first.

        Under a budget with delta, many questions that have one cost less.
        """
        return str(server.table(table).preview(sql, epsilon=epsilon, delta=delta)["text"])

    def ask(table: str, sql: str, epsilon: str, delta: str = "0") -> str:
        """Ask a private table: SELECT … FROM data. The same question again is free.

        It costs epsilon and delta of the budget. Under a budget with delta, many questions that have one cost less.
        """
        found = server.table(table)
        return f"{found.ask(sql, epsilon=epsilon, delta=delta)}\nLeft: {found.remaining()['in_words']}."

    def query(release: str, sql: str) -> str:
        """Query a release: SELECT … FROM release. Every question is free."""
        return str(server.release(release).query(sql))

    def budget(table: str) -> str:
        """What is left to spend on a private table."""
        left = server.table(table).remaining()
        return f"epsilon {left['remaining']['epsilon']:g}, delta {left['remaining']['delta']:g}: {left['in_words']}."

    return [list_tables, describe_table, preview, ask, query, budget]


def _told(one: dict[str, Any]) -> str:
    """The columns of a table or a release and what is left to spend, or why it cannot be used."""
    if "error" in one:
        return f"cannot be used: {one['error']}"
    columns = ", ".join(f"{column['name']} ({column['kind']})" for column in one["columns"])
    return f"columns {columns}" + (f"; left: {one['budget']['in_words']}" if "budget" in one else "")


def sdk_is_there() -> bool:
    """Whether the SDK is installed, in a version that has what is used here."""
    try:
        return tuple(int(part) for part in version("mcp").split(".")[:2]) >= _SDK
    except (PackageNotFoundError, ValueError):
        return False


def protocol_server(server: Connection, threads: Callable[[], Any] = lambda: None) -> Any:
    """The tools as the SDK serves them, whose refusals are one sentence; `threads` limits those of who calls one."""
    from anyio import to_thread
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError

    def plainly(tool: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(tool)
        async def told(*args: Any, **kwargs: Any) -> Any:
            try:
                return await to_thread.run_sync(partial(tool, *args, **kwargs), limiter=threads())
            except DproofError as error:
                raise ToolError(str(error)) from None

        return told

    logging.getLogger("mcp").setLevel(logging.CRITICAL)  # no log holds a question or an answer
    # Tools never change, so nobody waits for that: such a request has no end, and would keep its connection for ever.
    served = MCPServer("dproof", instructions=INSTRUCTIONS, log_level="CRITICAL", subscriptions=False)
    for tool in tools_of(server):
        served.tool()(plainly(tool))
    return served

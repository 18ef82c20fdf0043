"""Tools for an assistant that speaks the Model Context Protocol: it analyses private tables without seeing a row.

The tools come to a running server with a token, as any analyst does: the same ledger, the same refusals. Answers carry
their intervals and costs in plain words.

`dproof mcp` runs them beside an assistant; `/mcp` of a server has them over HTTP, by the official SDK. What a tool asks
there is a request to the same server with the token of whoever called the tool, and passes everything that a program's
request passes: the guard, the rates, the ticks and the ledger.
"""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial, wraps
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from dproof import DproofError
from dproof.serve import limits
from dproof.serve.client import Connection, refusal

if TYPE_CHECKING:  # `dproof mcp` is a client: it runs without what a server needs
    from anyio import CapacityLimiter
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from dproof.serve.service import Service

_SDK = (2, 3)  # its version, at least
INSTRUCTIONS = (
    "Private tables are asked in SQL under a privacy budget that cannot be refilled: preview a question before you ask "
    "it, and ask few. Releases are queried in SQL for nothing. Every estimate has a 95% interval: report it."
)


def tools_of(server: Connection) -> list[Callable[..., Any]]:
    """The tools of an assistant, each with a docstring that says when to use it."""

    def list_tables() -> str:
        """The private tables that you may ask and the releases that you may query, with their columns and budgets."""
        lines = [f"private table {table['name']}: {_described(table)}" for table in server.tables()]
        lines += [f"release {release['name']}: {_described(release)}" for release in server.releases()]
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


def _described(source: dict[str, Any]) -> str:
    """The columns of a table or a release and what is left to spend, or why it cannot be used."""
    if "error" in source:
        return f"cannot be used: {source['error']}"
    columns = ", ".join(f"{column['name']} ({column['kind']})" for column in source["columns"])
    return f"columns {columns}" + (f"; left: {source['budget']['in_words']}" if "budget" in source else "")


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


PATH = "/mcp"
_CALL: ContextVar[Scope] = ContextVar("the request that calls a tool")
_THREADS: ContextVar[CapacityLimiter] = ContextVar("the threads of who calls it")


class McpEndpoint:
    """The protocol at a path of an application, where the SDK is installed."""

    def __init__(self, service: Service, application: Callable[[], ASGIApp]) -> None:
        from anyio import CapacityLimiter
        from mcp.server.transport_security import TransportSecuritySettings

        self._service = service
        self._server = protocol_server(_Inside("", "", application), _THREADS.get)
        self._threads: defaultdict[int, CapacityLimiter] = defaultdict(
            lambda: CapacityLimiter(limits.MOST_TOOL_THREADS)
        )
        # Nothing is kept from one request to the next, and the guard has looked at host and origin.
        trusting = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        self._server.streamable_http_app(json_response=True, stateless_http=True, transport_security=trusting)

    @asynccontextmanager
    async def running(self, _: Any) -> AsyncIterator[None]:
        """Run the session manager as long as the application runs."""
        async with self._server.session_manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from starlette.concurrency import run_in_threadpool
        from starlette.requests import Request

        holder = await run_in_threadpool(self._service.token_holder, Request(scope))
        _CALL.set(scope)
        _THREADS.set(self._threads[holder.number])
        with self._service.tool_calls.counted(holder):
            await self._server.session_manager.handle_request(scope, receive, send)


@dataclass(frozen=True, slots=True)
class _Inside(Connection):
    """The server as its own client, from the thread of a tool."""

    application: Callable[[], ASGIApp] = field(repr=False)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        from anyio import from_thread

        data = b"" if body is None else json.dumps(body).encode()
        status, told = from_thread.run(_requested, self.application(), _CALL.get(), method, path, data)
        if status >= 400:
            raise refusal(status, told)
        return json.loads(told)


async def _requested(app: ASGIApp, call: Scope, method: str, path: str, body: bytes) -> tuple[int, bytes]:
    """Send a request to an application, with the host, the address and the token of another: status and body."""
    kept = [(name, value) for name, value in call["headers"] if name in (b"host", b"authorization")]
    sent = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    scope = {**call, "method": method, "path": path, "raw_path": path.encode(), "headers": [*kept, *sent]}
    scope["query_string"] = b""
    for key in ("app", "router", "endpoint", "route", "path_params", "state"):  # where the other request went
        scope.pop(key, None)
    status, parts = 500, list[bytes]()

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status
        status = message.get("status", status)
        parts.append(message.get("body", b""))

    await app(scope, receive, send)
    return status, b"".join(parts)

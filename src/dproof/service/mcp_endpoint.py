"""`/mcp`: the tools for assistants over HTTP, by the official SDK.

What a tool asks is a request to this same server with the token of whoever called the tool, and passes everything that
a program's request passes: the guard, the rates, the ticks and the ledger.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from anyio import CapacityLimiter, from_thread
from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from dproof.service.assistant import protocol_server
from dproof.service.client import Connection, refusal
from dproof.service.guard import App, Message, Receive, Scope, Send
from dproof.service.state import Service, UnderWay, Unknown

PATH = "/mcp"
_AT_ONCE = 4  # calls of a person; each waits in a thread of its own for what it asks the server
_CALL: ContextVar[Scope] = ContextVar("the request that calls a tool")
_THREADS: ContextVar[CapacityLimiter] = ContextVar("the threads of who calls it")


class McpEndpoint:
    """The protocol at a path of an application, where the SDK is installed."""

    def __init__(self, service: Service, application: Callable[[], App]) -> None:
        from mcp.server.transport_security import TransportSecuritySettings

        self._service, self._under_way = service, UnderWay()  # calls; what they ask is counted by the service
        self._server = protocol_server(_Inside("", "", application), _THREADS.get)
        self._threads: defaultdict[int, CapacityLimiter] = defaultdict(lambda: CapacityLimiter(_AT_ONCE))
        # Nothing is kept from one request to the next, and the guard has looked at host and origin.
        trusting = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        self._server.streamable_http_app(json_response=True, stateless_http=True, transport_security=trusting)

    @asynccontextmanager
    async def running(self, _: FastAPI) -> AsyncIterator[None]:
        """What has to run as long as the application does."""
        async with self._server.session_manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        if "authorization" not in request.headers:  # who is signed in at the page is no assistant
            raise Unknown
        holder = await run_in_threadpool(self._service.holder, request)
        _CALL.set(scope)
        _THREADS.set(self._threads[holder.number])
        with self._under_way.counted(holder):
            await self._server.session_manager.handle_request(scope, receive, send)


@dataclass(frozen=True, slots=True)
class _Inside(Connection):
    """The server as its own client, from the thread of a tool."""

    application: Callable[[], App] = field(repr=False)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        data = b"" if body is None else json.dumps(body).encode()
        status, told = from_thread.run(_requested, self.application(), _CALL.get(), method, path, data)
        if status >= 400:
            raise refusal(status, told)
        return json.loads(told)


async def _requested(app: App, call: Scope, method: str, path: str, body: bytes) -> tuple[int, bytes]:
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

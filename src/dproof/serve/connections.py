"""How a server listens: no log, no header that tells of it or that a client could forge, and slow connections are cut.

Whoever sends or reads too slowly holds a place that others need. Uvicorn's own protocol speaks HTTP; a plain asyncio
protocol stands in front of it, counts and times the connection, and passes on what comes. Where a request begins and
ends it learns from the application, which both sides know by the address of the client.
"""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dproof.serve import limits

KNOWN = "dproof.known"  # what a request's scope has where its token is good
_State = Literal["idle", "sending", "answering", "answered early"]  # "sending": a request is awaited, or the rest of it


@dataclass(slots=True)
class Places:
    """The connections that there are: so many places, and how long each may keep one without going on."""

    patience: float = limits.PATIENCE
    connections: set[TimedConnection] = field(default_factory=set)
    by_client: dict[tuple[str, int], TimedConnection] = field(default_factory=dict)

    def make_room(self, newcomer: TimedConnection) -> None:
        """Where all places are taken, cut one that waits for a request, for the rest of one, or for its end.

        First those whose token nobody has seen, and of these the one that has been slow for longest: this cuts neither
        a table that is being sent, nor who has just come.
        """
        idle = [one for one in self.connections if one is not newcomer and one.is_idle]
        if len(self.connections) >= limits.MOST_CONNECTIONS and idle:
            min(idle, key=lambda one: (one.is_known, one.due)).cut()


class TimedConnection(asyncio.Protocol):
    """A connection with a deadline for each request, from its first byte (or the connection) to the end of its body.

    With a TLS context it shakes hands first, under the same deadline and in the same place: the event loop's own TLS
    counts no connection before that, and waits a minute for each.
    """

    def __init__(self, http: Any, places: Places, tls: ssl.SSLContext | None, **given: Any) -> None:
        self._http: asyncio.Protocol | None = None
        self._make_http, self._places, self._tls = partial(http, **given), places, tls
        self._told_of_the_end: set[Any] = given["server_state"].connections  # by the server, when it ends
        self._loop = asyncio.get_running_loop()
        self._state: _State = "idle"
        self._scope: Scope | None = None  # of the request that is being sent or answered
        self._sending: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None
        self._early, self._is_lost = b"", False
        self.due = 0.0

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered: none has come, or not all of it."""
        return self._state != "answering"

    @property
    def is_known(self) -> bool:
        """Whether what is being sent comes with a good token."""
        return self._scope is not None and KNOWN in self._scope

    # What asyncio calls ----------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._places.connections.add(self)
        self._wait()
        self._places.make_room(self)
        if self._tls is None:
            self._speak_http()
        else:
            self._transport.pause_reading()  # until there is who reads
            self._told_of_the_end.add(self)
            self._shaking = self._loop.create_task(self._shake_hands(self._tls))

    def data_received(self, data: bytes) -> None:
        if self._http is None:
            self._early += data
            return
        if self._state == "idle":
            self._wait()
        if self._state == "sending":  # what comes after an early answer is read by nobody
            self.due += len(data) / limits.SLOWEST
        self._http.data_received(data)

    def eof_received(self) -> bool | None:
        return None if self._http is None else self._http.eof_received()

    def pause_writing(self) -> None:
        self._reading = self._loop.call_later(self._places.patience, self._transport.abort)
        if self._http is not None:
            self._http.pause_writing()

    def resume_writing(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        if self._http is not None:
            self._http.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_lost = True
        self._leave()
        if self._http is not None:
            self._http.connection_lost(exc)

    # What the application tells --------------------------------------------------------------------------------------

    def request_begins(self, scope: Scope) -> None:
        """The head of a request has come; if one was answered early, its body has come after all."""
        if self._state != "sending":
            self._wait()
        self._scope = scope
        names = {name for name, value in scope["headers"] if value != b"0"}
        if names.isdisjoint({b"content-length", b"transfer-encoding"}):
            self.request_is_whole(scope)

    def request_is_whole(self, scope: Scope) -> None:
        """The end of a request has come: how long its answer takes is not up to the client."""
        if self._scope is scope:
            self._state = "answering"
            self._stop_waiting()

    def request_ends(self, scope: Scope) -> None:
        """The end of an answer is sent; where the request has not come to its own, the deadline stays."""
        if self._scope is not scope:
            return
        self._scope = None
        self._state = "answered early" if self._state == "sending" else "idle"

    # Places and deadlines --------------------------------------------------------------------------------------------

    def cut(self) -> None:
        """End the connection without a word."""
        self._leave()
        self._transport.abort()

    shutdown = cut  # what the server calls when it ends, where no HTTP is spoken yet

    def _leave(self) -> None:
        self._stop_waiting()
        if self._reading is not None:
            self._reading.cancel()
        self._places.connections.discard(self)
        self._told_of_the_end.discard(self)
        client = self._client()
        if self._places.by_client.get(client) is self:
            del self._places.by_client[client]

    def _client(self) -> tuple[str, int]:
        host, port = self._transport.get_extra_info("peername", ("", 0))[:2]
        return str(host), int(port)

    def _wait(self) -> None:
        """Wait for a request, as long as patience lasts."""
        self._state, self.due = "sending", self._loop.time() + self._places.patience
        if self._sending is None:
            self._sending = self._loop.call_at(self.due, self._cut_if_late)

    def _stop_waiting(self) -> None:
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None

    def _cut_if_late(self) -> None:
        if self._loop.time() >= self.due:
            self.cut()
        else:  # more has come meanwhile
            self._sending = self._loop.call_at(self.due, self._cut_if_late)

    # From a connection to HTTP ---------------------------------------------------------------------------------------

    async def _shake_hands(self, tls: ssl.SSLContext) -> None:
        patience = self._places.patience
        try:
            secure = await self._loop.start_tls(
                self._transport,
                self,
                tls,
                server_side=True,
                ssl_handshake_timeout=patience,
                ssl_shutdown_timeout=patience,
            )
        except (OSError, RuntimeError):  # it failed or took too long, or the connection was cut meanwhile
            secure = None
        self._told_of_the_end.discard(self)
        if secure is None or self._is_lost:
            self.cut()
            return
        self._transport = secure
        self._wait()
        self._speak_http()
        if self._early:
            self.data_received(self._early)

    def _speak_http(self) -> None:
        self._places.by_client[self._client()] = self
        self._http = self._make_http()
        self._http.connection_made(self._transport)


@dataclass(frozen=True, slots=True)
class TimedRequests:
    """An application that tells a connection where its requests begin and end."""

    app: ASGIApp
    places: Places

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client")
        connection = None if client is None else self.places.by_client.get((client[0], client[1]))
        if connection is None:
            await self.app(scope, receive, send)
            return

        async def timed_receive() -> Message:
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body", False):
                connection.request_is_whole(scope)
            return message

        async def timed_send(message: Message) -> None:
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                connection.request_ends(scope)

        connection.request_begins(scope)
        try:
            await self.app(scope, timed_receive, timed_send)
        finally:
            connection.request_ends(scope)


def listening(
    app: ASGIApp, certificate: Path | None = None, key: Path | None = None, patience: float = limits.PATIENCE
) -> uvicorn.Config:
    """The configuration under which an application is served, by TLS where there is a certificate."""
    places, tls = Places(patience), None
    if certificate is not None:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(certificate, key)
    spoken = uvicorn.Config(app, http="h11", log_config=None)
    spoken.load()
    http: Any = partial(TimedConnection, spoken.http_protocol_class, places, tls)
    return uvicorn.Config(
        TimedRequests(app, places),
        http=http,
        ws="none",
        log_config=None,  # no log holds a question, an answer or a token
        log_level="critical",  # nor can whoever sends junk fill one
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,  # whoever comes could write them
        limit_concurrency=limits.MOST_CONNECTIONS,
        timeout_keep_alive=5,
    )

"""How a server listens: no log, no header that tells of it or that a client could forge, and slow connections are cut.

Whoever sends or reads too slowly holds a place that others need.
"""

from __future__ import annotations

import asyncio
import ssl
from functools import partial
from pathlib import Path
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

KNOWN = "dproof.known"  # what a request's scope has where its token is good
_MOST_CONNECTIONS = 256
_PATIENCE = 10.0  # seconds for a request, and that a response may lie unread
_SLOWEST = 1 << 16  # bytes a second; a longer request may take so much longer


class _Place:
    """What a connection takes from others: one of so many places."""

    transport: Any
    connections: set[Any]
    due = 0.0
    is_cut = False
    is_idle = True  # no request is being answered
    is_known = False  # what is being sent comes with a good token

    def make_room(self) -> None:
        """Where all places are taken, cut one that waits for a request, for the rest of one, or for its end.

        First those whose token nobody has seen, and of these the one that has been slow for longest: this cuts neither
        a table that is being sent, nor who has just come.
        """
        still = [one for one in self.connections if isinstance(one, _Place) and not one.is_cut]
        idle = [one for one in still if one is not self and one.is_idle]
        if len(still) >= _MOST_CONNECTIONS and idle:
            chosen = min(idle, key=lambda one: (one.is_known, one.due))
            chosen.is_cut = True
            chosen.transport.abort()


class PunctualProtocol(_Place, H11Protocol):
    """HTTP with a deadline for each request, from its first byte (or the connection) to the end of its body."""

    patience = _PATIENCE

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._sending: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._begin()
        self.make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._sending, self._reading):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._sending is None:
            self._begin()
        if self.conn.our_state is not h11.DONE:  # what comes after the response is read by nobody
            self.due += len(data) / _SLOWEST
        super().data_received(data)
        if self._sending is not None and self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):  # all has come
            self._sending.cancel()
            self._sending = None

    @property
    def is_idle(self) -> bool:  # type: ignore[override]
        """Whether no request is being answered: none has come, or not all of it."""
        return self._sending is not None or self.cycle is None or self.cycle.response_complete

    @property
    def is_known(self) -> bool:  # type: ignore[override]
        """Whether what is being sent comes with a good token."""
        return self.cycle is not None and not self.cycle.response_complete and KNOWN in self.cycle.scope

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reading = self.loop.call_later(self.patience, self.transport.abort)

    def resume_writing(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        super().resume_writing()

    def _begin(self) -> None:
        self.due = self.loop.time() + self.patience
        self._sending = self.loop.call_at(self.due, self._cut_if_late)

    def _cut_if_late(self) -> None:
        if self.loop.time() >= self.due:
            self.transport.abort()
        else:  # more has come meanwhile
            self._sending = self.loop.call_at(self.due, self._cut_if_late)


class _Handshake(_Place, asyncio.Protocol):
    """TLS before HTTP: until its handshake is done a connection has a place and a deadline as any other has.

    The event loop's own TLS counts no connection before that, and waits a minute for each.
    """

    def __init__(self, http: type[PunctualProtocol], context: ssl.SSLContext, **given: Any) -> None:
        self._http, self._context = partial(http, **given), context
        self._patience, self._early, self._is_lost = http.patience, b"", False
        self.connections = given["server_state"].connections

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport, loop = transport, asyncio.get_running_loop()
        self.due = loop.time() + self._patience
        self.transport.pause_reading()  # until there is who reads
        self.connections.add(self)
        self.make_room()
        self._task = loop.create_task(self._shake(loop))

    def data_received(self, data: bytes) -> None:
        self._early += data

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_lost = True

    def shutdown(self) -> None:
        """The server ends."""
        self.transport.abort()

    async def _shake(self, loop: asyncio.AbstractEventLoop) -> None:
        patience = self._patience
        try:
            secure: Any = await loop.start_tls(
                self.transport,
                self,
                self._context,
                server_side=True,
                ssl_handshake_timeout=patience,
                ssl_shutdown_timeout=patience,
            )
        except (OSError, RuntimeError):  # it failed or took too long, or the connection was cut meanwhile
            self.transport.abort()
            return
        finally:
            self.connections.discard(self)
        if secure is None or self._is_lost:
            self.transport.abort()
            return
        http = self._http()
        secure.set_protocol(http)
        http.connection_made(secure)
        if self._early:
            http.data_received(self._early)


def listening(
    app: Any,
    certificate: Path | None = None,
    key: Path | None = None,
    protocol: type[PunctualProtocol] = PunctualProtocol,
) -> uvicorn.Config:
    """How an application is served, by TLS where there is a certificate."""
    http: Any = protocol
    if certificate is not None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate, key)
        http = partial(_Handshake, protocol, context)
    return uvicorn.Config(
        app,
        http=http,
        ws="none",
        log_config=None,  # no log holds a question, an answer or a token
        log_level="critical",  # nor can whoever sends junk fill one
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,  # whoever comes could write them
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_keep_alive=5,
    )

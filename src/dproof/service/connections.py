"""How a server listens: no log, no header that tells of it or that a client could forge, and slow connections are cut.

Whoever sends or reads too slowly holds a place that others need.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

KNOWN = "dproof.known"  # what a request's scope has where its token is good
_MOST_CONNECTIONS = 256
_PATIENCE = 10.0  # seconds for a request, and that a response may lie unread
_SLOWEST = 1 << 16  # bytes a second; a longer request may take so much longer


class PunctualProtocol(H11Protocol):
    """HTTP with a deadline for each request, from its first byte (or the connection) to the end of its body."""

    patience = _PATIENCE

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._due = 0.0
        self._sending: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._begin()
        self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._sending, self._reading):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._sending is None:
            self._begin()
        if self.conn.our_state is not h11.DONE:  # what comes after the response is read by nobody
            self._due += len(data) / _SLOWEST
        super().data_received(data)
        if self._sending is not None and self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):  # all has come
            self._sending.cancel()
            self._sending = None

    def _make_room(self) -> None:
        """Where all places are taken, cut one that waits for a request, or for the rest of one.

        First those whose token nobody has seen, and of these the one that has been slow for longest: this cuts neither
        a table that is being sent, nor who has just come.
        """
        ours = (one for one in self.connections if isinstance(one, PunctualProtocol))
        still = [one for one in ours if not one.transport.is_closing()]
        idle = [one for one in still if one is not self and one.is_idle]
        if len(still) >= _MOST_CONNECTIONS and idle:
            min(idle, key=lambda one: (one.is_known, one._due)).transport.abort()

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered: none has come, or not all of it."""
        return self._sending is not None or self.cycle is None or self.cycle.response_complete

    @property
    def is_known(self) -> bool:
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
        self._due = self.loop.time() + self.patience
        self._sending = self.loop.call_at(self._due, self._cut_if_late)

    def _cut_if_late(self) -> None:
        if self.loop.time() >= self._due:
            self.transport.abort()
        else:  # more has come meanwhile
            self._sending = self.loop.call_at(self._due, self._cut_if_late)


def listening(
    app: Any, certificate: Path | None = None, key: Path | None = None, protocol: type[H11Protocol] = PunctualProtocol
) -> uvicorn.Config:
    """How an application is served, by TLS where there is a certificate."""
    return uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        ssl_certfile=certificate,
        ssl_keyfile=key,
        log_config=None,  # no log holds a question, an answer or a token
        log_level="critical",  # nor can whoever sends junk fill one
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,  # whoever comes could write them
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_keep_alive=5,
    )

"""What a server keeps from one request to the next, and who sends a request."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, Request
from starlette.exceptions import HTTPException

from dproof.service.desk import Desk, need_custodian
from dproof.service.pace import Rate, until_tick
from dproof.service.sessions import COOKIE, Sessions
from dproof.service.tokens import Holder

_Read = TypeVar("_Read")
_READERS = 4  # questions that read a table at once


class Unknown(Exception):
    """No token, or none that is good."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How the server behaves: the tick at which answers leave, and how often somebody may come."""

    tick: float = 1.0
    per_second: float = 100.0
    at_once: int = 200
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    secure: bool = False  # whether people come by TLS, so that the cookie goes no other way


@dataclass(slots=True)
class Leaving:
    """When an answer leaves: at once, or at a tick, so that it shows to nobody how long a table was read."""

    at_tick: bool = False


class Service:
    """The desk, who is signed in, and how often somebody comes."""

    def __init__(self, desk: Desk, settings: Settings) -> None:
        self.desk, self.settings, self.sessions = desk, settings, Sessions()
        self._requests = Rate(settings.per_second, settings.at_once, settings.clock)
        self._guesses = Rate(1.0, 20, settings.clock)  # of tokens, for each address
        self._turns: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._readers: defaultdict[str, CapacityLimiter] = defaultdict(lambda: CapacityLimiter(_READERS))

    async def reading(self, holder: Holder, table: str, read: Callable[[], _Read]) -> _Read:
        """Read a table in a thread: one question of a person at a time, and of each table so many.

        Who asks many at once waits, and so do those who ask a slow table; the threads that serve others stay free.
        """
        async with self._turns[holder.number]:
            return await to_thread.run_sync(read, limiter=self._readers[table])

    @asynccontextmanager
    async def leaving(self) -> AsyncIterator[Leaving]:
        """What comes of a question leaves when it may, be it an answer or a refusal."""
        came, found = self.settings.clock(), Leaving()
        try:
            yield found
        finally:
            if found.at_tick:
                await self.settings.sleep(until_tick(self.settings.clock() - came, self.settings.tick))

    def known(self, request: Request, token: str) -> Holder | None:
        """Who holds a token; an address that guesses is slowed down."""
        address = request.client.host if request.client else ""
        found = self.desk.tokens.holder(token)
        if found is None and not self._guesses.allows(address):
            raise HTTPException(429, "too many unknown tokens: wait a moment")
        return found

    def holder(self, request: Request) -> Holder:
        """Who sends a request: by a token in its header, or signed in at the page."""
        header = request.headers.get("authorization")
        if header is not None:
            found = self.known(request, header.removeprefix("Bearer ").strip())
        else:
            number = self.sessions.number(request.cookies.get(COOKIE))
            found = None if number is None else self.desk.tokens.by_number(number)
        if found is None:
            raise Unknown
        if not self._requests.allows(str(found.number)):
            raise HTTPException(429, "too many requests: wait a moment")
        return found


# A function that is not asynchronous is called in a thread, as it should be where it reads a file, and not elsewhere.


async def service_of(request: Request) -> Service:
    """The service that an application was made with."""
    found: Service = request.app.state.service
    return found


async def desk_of(request: Request) -> Desk:
    return (await service_of(request)).desk


def holder_of(request: Request) -> Holder:
    service: Service = request.app.state.service
    return service.holder(request)


async def custodian_of(who: Annotated[Holder, Depends(holder_of)]) -> Holder:
    """Who sends a request that only custodians may send."""
    need_custodian(who)
    return who


TheService = Annotated[Service, Depends(service_of)]
TheDesk = Annotated[Desk, Depends(desk_of)]
Known = Annotated[Holder, Depends(holder_of)]
Custodian = Annotated[Holder, Depends(custodian_of)]

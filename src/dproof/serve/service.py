"""What a server keeps from one request to the next: who comes, how often, whose turn it is, and when answers leave.

Neither when an answer leaves nor whether one may come tells anything about the data.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import Counter, OrderedDict, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from anyio import CancelScope, CapacityLimiter, to_thread
from fastapi import Depends, Request, Security
from fastapi.security import APIKeyCookie, HTTPBearer
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from dproof import Answer
from dproof.serve import limits
from dproof.serve.connections import KNOWN
from dproof.serve.desk import Desk, NotAllowed, PendingAnswer
from dproof.serve.folder import Table
from dproof.serve.tokens import COOKIE, Holder, Sessions

_Done = TypeVar("_Done")


class UnknownToken(Exception):
    """No token, or none that is good."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a server: the tick at which answers leave, and how often somebody may come."""

    tick: float = 1.0
    per_second: float = limits.REQUESTS_PER_SECOND
    at_once: int = limits.REQUESTS_AT_ONCE
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    secure: bool = False  # whether people come by TLS, so that the cookie goes no other way


class UnderWay:
    """The number of requests of each token that are under way or wait: each keeps a connection from others."""

    def __init__(self) -> None:
        self._count: Counter[int] = Counter()

    @contextmanager
    def counted(self, holder: Holder) -> Iterator[None]:
        """Count one more request for as long as this lasts; refuse it where there are many already."""
        if self._count[holder.number] >= limits.MOST_UNDER_WAY:
            raise HTTPException(429, "too many requests at once: wait for their answers")
        self._count[holder.number] += 1
        try:
            yield
        finally:
            self._count[holder.number] -= 1


class Service:
    """The desk, who is signed in, and how often somebody comes."""

    def __init__(self, desk: Desk, settings: Settings) -> None:
        self.desk, self.settings, self.sessions = desk, settings, Sessions()
        self._requests = Rate(settings.per_second, settings.at_once, settings.clock)
        # For each address, in memory: guesses of tokens, and answers to surveys.
        self._guesses = Rate(limits.GUESSES_PER_SECOND, limits.GUESSES_AT_ONCE, settings.clock)
        self._answers = Rate(limits.ANSWERS_PER_SECOND, limits.ANSWERS_AT_ONCE, settings.clock)
        self.under_way, self.tool_calls = UnderWay(), UnderWay()  # what a tool asks is counted as a request too
        self._workers: defaultdict[int, CapacityLimiter] = defaultdict(lambda: CapacityLimiter(limits.MOST_WORKERS))
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._readers: defaultdict[str, CapacityLimiter] = defaultdict(lambda: CapacityLimiter(limits.MOST_READERS))
        self._reading = CapacityLimiter(math.inf)  # threads: as many as have a turn
        self._keeping = CapacityLimiter(1)
        self._opened: dict[tuple[str, str | None], Any] = {}  # in which state a table is known to be open to somebody

    async def working(self, holder: Holder, work: Callable[[], _Done]) -> _Done:
        """Do something for a person that reads no private row: a few of these at a time, and no thread of others."""
        return await to_thread.run_sync(work, limiter=self._workers[holder.number])

    async def keeping(self, keep: Callable[[], _Done]) -> _Done:
        """Keep an answer to a survey: one after the other, for all wait for the disk, and no thread of others does."""
        return await to_thread.run_sync(keep, limiter=self._keeping)

    async def reading(self, holder: Holder, table: str, read: Callable[[], PendingAnswer]) -> Answer:
        """Read a table, and answer at a tick."""
        async with self._turn(holder, table):
            with CancelScope(shield=True):  # what is paid for is stored, also where who asked has gone meanwhile
                async with self._whole_ticks():
                    store = await to_thread.run_sync(read, limiter=self._reading)
                tell = await run_in_threadpool(store)
        return await self.working(holder, tell)

    async def opened(self, holder: Holder, name: str) -> Table:
        """A table for somebody to ask. Where it has to be opened, that takes whole ticks for all who wait for it."""
        table = await run_in_threadpool(self.desk.askable, holder, name)
        if not self._is_open(table):
            async with self._turn(holder, name):
                if not self._is_open(table):
                    async with self._whole_ticks():
                        await to_thread.run_sync(self.desk.open, table, limiter=self._reading)
                    self._opened[name, table.spender] = table.state
        return table

    @asynccontextmanager
    async def _turn(self, holder: Holder, table: str) -> AsyncIterator[None]:
        """Wait for a turn: one question of a person, and a few of each table, which keep their turns until they leave.

        If a turn ended when its question is read, who asks many at once would see how many are read in a tick.
        """
        async with self._turns[holder.name], self._readers[table]:
            yield

    def _is_open(self, table: Table) -> bool:
        known = self._opened.get((table.name, table.spender))
        return known == table.state and self.desk.is_open(table)

    @asynccontextmanager
    async def _whole_ticks(self) -> AsyncIterator[None]:
        """Make what is done in here take a whole number of ticks, be it done or refused."""
        began = self.settings.clock()
        try:
            yield
        finally:
            await self.settings.sleep(until_tick(self.settings.clock() - began, self.settings.tick))

    def known(self, request: Request, token: str) -> Holder | None:
        """The holder of a token; an address that guesses is slowed down."""
        found = self.desk.tokens.holder(token)
        if found is None and not self._guesses.allows(_address(request)):
            raise HTTPException(429, "too many unknown tokens: wait a moment")
        return self._paced(found)

    def pace_answers(self, request: Request) -> None:
        """Slow down an address from which many answers to surveys come."""
        if not self._answers.allows(_address(request)):
            raise HTTPException(429, "too many answers from one place: wait a moment")

    def holder(self, request: Request) -> Holder:
        """The sender of a request: by a token in its header, or signed in at the page."""
        header = request.headers.get("authorization")
        if header is not None:
            found = self.known(request, header.removeprefix("Bearer ").strip())
        else:
            number = self.sessions.number(request.cookies.get(COOKIE))
            found = None if number is None else self._paced(self.desk.tokens.by_number(number))
        if found is None:
            raise UnknownToken
        request.scope[KNOWN] = True
        return found

    def token_holder(self, request: Request) -> Holder:
        """The holder of the token in a request's header: whoever is signed in at the page is no assistant."""
        if "authorization" not in request.headers:
            raise UnknownToken
        return self.holder(request)

    def _paced(self, holder: Holder | None) -> Holder | None:
        """Somebody who does not come too often."""
        if holder is not None and not self._requests.allows(str(holder.number)):
            raise HTTPException(429, "too many requests: wait a moment")
        return holder


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


# A function that is not asynchronous is called in a thread, as it should be where it reads a file, and not elsewhere.


async def service_of(request: Request) -> Service:
    """The service that an application was made with."""
    found: Service = request.app.state.service
    return found


async def desk_of(request: Request) -> Desk:
    return (await service_of(request)).desk


# What /openapi.json says of it; who comes is found out by `Service.holder`.
_BEARER = HTTPBearer(auto_error=False, scheme_name="token", description="The token that a custodian gave.")
_SESSION = APIKeyCookie(name=COOKIE, auto_error=False, scheme_name="session", description="Signed in at the page.")


def holder_of(request: Request, _: Annotated[Any, Security(_BEARER)], __: Annotated[Any, Security(_SESSION)]) -> Holder:
    service: Service = request.app.state.service
    return service.holder(request)


async def custodian_of(who: Annotated[Holder, Depends(holder_of)]) -> Holder:
    """The custodian who sends a request; anybody else is refused."""
    if not who.is_custodian:
        raise NotAllowed("this is for custodians")
    return who


TheService = Annotated[Service, Depends(service_of)]
TheDesk = Annotated[Desk, Depends(desk_of)]
Known = Annotated[Holder, Depends(holder_of)]
Custodian = Annotated[Holder, Depends(custodian_of)]


def until_tick(spent: float, tick: float) -> float:
    """The seconds that an answer still waits: it leaves a whole number of ticks after the question came.

    So the time that reading took shows only where it passes a tick, and the tick is far longer than that.

    >>> until_tick(0.3, 1), until_tick(1.25, 1), until_tick(1, 1), until_tick(0, 0.5)
    (0.7, 0.75, 0, 0.5)
    """
    ticks = max(1, math.ceil(spent / tick))
    return round(ticks * tick - spent, 9)


class Rate:
    """A limit of `per_second` requests for each key, and of `at_once` in a burst.

    >>> rate = Rate(per_second=1, at_once=2, clock=lambda: 0.0)
    >>> [rate.allows("ann"), rate.allows("ann"), rate.allows("ann"), rate.allows("bob")]
    [True, True, False, True]
    """

    def __init__(self, per_second: float, at_once: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second, self._at_once, self._clock = per_second, at_once, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # how many, and when that was
        self._lock = threading.Lock()

    def allows(self, key: str) -> bool:
        """Whether one more request may come now; if so it is counted."""
        with self._lock:
            now = self._clock()
            left, at = self._left.pop(key, (float(self._at_once), now))
            left = min(float(self._at_once), left + (now - at) * self._per_second)
            self._left[key] = (left - 1 if left >= 1 else left), now
            while len(self._left) > limits.MOST_RATES:
                self._left.popitem(last=False)
            return left >= 1

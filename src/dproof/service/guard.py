"""What every request must pass, and what every response carries: host, origin, size, headers that browsers obey.

Written on the plain interface between server and application, so that nothing is answered past it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from starlette.responses import JSONResponse

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})


@dataclass(frozen=True, slots=True)
class Guard:
    """An application behind the checks.

    A page of another site can make a browser send requests here, with the cookie that lies in it. So the host must be
    one of ours (against names that are bound anew), and where a browser names the origin of a change, or of a request
    to the programs' interface, it must be ours. A cookie goes to all ports of a host: servers there are other sites.
    """

    app: App
    hosts: frozenset[str]
    largest: Callable[[str, str], int]  # bytes of a body, by method and path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers: dict[str, str] = {}
        for name, value in scope["headers"]:  # one that comes twice is neither of both
            key, text = name.decode("latin-1").lower(), value.decode("latin-1")
            headers[key] = f"{headers[key]}, {text}" if key in headers else text
        refused = self._refused(scope["method"], scope["path"], headers)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                more = ((n.encode(), v.encode()) for n, v in _HEADERS.items() if n.encode() not in given)
                message["headers"] = [*message["headers"], *more]
            await send(message)

        if refused is None:
            with suppress(Exception):  # it is told already; what it says could quote the data, and would be logged
                await self.app(scope, receive, send_with_headers)
        else:
            # Where a body ends that has two lengths or none, a proxy may see otherwise: no request comes after it.
            close = {"connection": "close"} if refused[0] == 411 else None
            await JSONResponse({"error": refused[1]}, refused[0], close)(scope, receive, send_with_headers)

    def _refused(self, method: str, path: str, headers: dict[str, str]) -> tuple[int, str] | None:
        if headers.get("host", "") not in self.hosts:
            return 421, "this server is not asked by that name: use the address that it printed"
        if method in _CHANGING or path.startswith("/api/"):  # programs' addresses are no places to follow a link to
            origin = headers.get("origin")
            if origin is not None and origin.partition("://")[2] not in self.hosts:
                return 403, "a page of another site may not do this"
            if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
                return 403, "a page of another site may not do this"
        length = headers.get("content-length", "" if method in _CHANGING - {"DELETE"} else "0")
        if not length.isdecimal() or "transfer-encoding" in headers:  # beside that, a length says nothing
            return 411, "say how long the body is, in Content-Length"
        if int(length) > (largest := self.largest(method, path)):
            return 413, f"the body is too large: {largest:,} bytes are the most"
        return None


def hosts_of(addresses: Sequence[str], port: int, names: Sequence[str] = ()) -> frozenset[str]:
    """What a browser may call a server: its addresses with its port, and the names that its operator gave.

    A name counts with any port in front of the server, so it stands for itself: nobody else can be reached by it.

    >>> sorted(hosts_of(["127.0.0.1"], 8722, ["data.example.org"]))
    ['127.0.0.1:8722', 'data.example.org', 'data.example.org:8722']
    """
    listened = {f"{address}:{port}" for address in (*addresses, *names)}
    return frozenset({*listened, *names, *(addresses if port in (80, 443) else ())})

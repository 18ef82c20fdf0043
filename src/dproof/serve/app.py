"""The application: what programs and people are served, what becomes of an error, and what every request must pass.

The guard is written on the plain interface between server and application, so that nothing is answered past it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from traceback import extract_tb

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dproof import DproofError, InputError, OverBudget, __version__
from dproof.errors import with_notes
from dproof.serve import api, limits, pages
from dproof.serve.bodies import first_fault
from dproof.serve.desk import Desk, NotAllowed
from dproof.serve.mcp import PATH, McpEndpoint, sdk_is_there
from dproof.serve.service import Service, Settings, UnknownToken, desk_of

_STATUS: dict[type[DproofError], int] = {NotAllowed: 403, OverBudget: 409, InputError: 400}  # the first that fits


def application(desk: Desk, hosts: frozenset[str], settings: Settings | None = None) -> Guard:
    """The server's application, behind its guard."""
    service = Service(desk, settings or Settings())
    assistants = McpEndpoint(service, lambda: guarded) if sdk_is_there() else None  # what a tool asks must pass it too
    app = FastAPI(
        title="dproof",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # a proxy ends TLS, so the address here would lead out of it, token and all
        lifespan=None if assistants is None else assistants.running,
    )
    app.state.service = service
    for router in (api.health_router, api.router, pages.page_router(), api.survey_router):
        app.include_router(router)
    if assistants is not None:
        app.router.routes.append(Route(PATH, assistants, methods=["POST"]))
    _errors(app)
    guarded = Guard(app, hosts, _largest)
    return guarded


def _largest(method: str, path: str) -> int:
    """The most bytes that a body may have."""
    if method == "PUT" and path.startswith(f"{api.router.prefix}/files/"):
        return limits.LARGEST_UPLOAD
    planned = ("/plans/", *(f"{api.router.prefix}/{part}/" for part in ("plans", "drafts")))
    return limits.LARGEST_PLAN if path.startswith(planned) else limits.LARGEST_BODY


def _errors(app: FastAPI) -> None:
    """Answer every error by one sentence, with nothing of the data in it."""

    async def told(request: Request, error: Exception) -> Response:
        status, said = _said(error)
        sentence = (await desk_of(request)).folder.hide(said)
        if request.url.path.startswith(("/api/", "/health", PATH)):
            code = {"code": error.code} if isinstance(error, DproofError) else {}
            return JSONResponse({"error": sentence, **code}, status)
        return pages.error_page(status, sentence)

    for kind in (DproofError, HTTPException, RequestValidationError, UnknownToken, Exception):
        app.add_exception_handler(kind, told)


def _said(error: Exception) -> tuple[int, str]:
    match error:
        case UnknownToken():
            return 401, "sign in with a token: it is unknown, revoked or over"
        case DproofError():
            status = next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 500)
            return status, with_notes(error)
        case ClientDisconnect():
            return 400, "the request did not come to its end"
        case HTTPException():
            return error.status_code, str(error.detail)
        case RequestValidationError():
            first = error.errors()[0]
            if first["type"] == "json_invalid":
                return 422, "the body is not JSON"
            return 422, first_fault(error.errors())
        case _:
            # Its text may quote the data: it is told by its kind and place, and to the operator alone.
            place = extract_tb(error.__traceback__)[-1] if error.__traceback__ else None
            where = "" if place is None else f" at {place.filename.rpartition('/')[2]}, line {place.lineno}"
            print(f"dproof: a request failed: {type(error).__name__}{where}", file=sys.stderr, flush=True)
            return 500, "the server could not do this; its operator can see why"


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

    app: ASGIApp
    hosts: frozenset[str]
    largest: Callable[[str, str], int]  # bytes of a body, by method and path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        given = Headers(scope=scope)
        headers = {name: ", ".join(given.getlist(name)) for name in given}  # one that comes twice is neither of both
        refused = self._refused(scope["method"], scope["path"], headers)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                for name, text in _HEADERS.items():
                    MutableHeaders(scope=message).setdefault(name, text)
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
        own = method in _CHANGING and not path.startswith(api.SURVEYS)  # surveys are answered from pages anywhere
        if own or path.startswith("/api/"):  # programs' addresses are no places to follow a link to
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
    """The hosts that a browser may ask for: its addresses with its port, and the names that its operator gave.

    A name counts with any port in front of the server, so it stands for itself: nobody else can be reached by it.

    >>> sorted(hosts_of(["127.0.0.1"], 8722, ["data.example.org"]))
    ['127.0.0.1:8722', 'data.example.org', 'data.example.org:8722']
    """
    listened = {f"{address}:{port}" for address in (*addresses, *names)}
    return frozenset({*listened, *names, *(addresses if port in (80, 443) else ())})

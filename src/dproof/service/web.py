"""The application: what programs and people are served, and what becomes of an error."""

from __future__ import annotations

import sys
from traceback import extract_tb

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Route

from dproof import __version__
from dproof.errors import DproofError, InputError, OverBudget
from dproof.service import api, pages
from dproof.service.assistant import sdk_is_there
from dproof.service.desk import Desk, NotAllowed
from dproof.service.guard import Guard
from dproof.service.mcp_endpoint import PATH, McpEndpoint
from dproof.service.requests import first_fault
from dproof.service.state import Service, Settings, Unknown, desk_of
from dproof.service.uploads import LARGEST_UPLOAD

LARGEST_BODY, LARGEST_PLAN = 1 << 16, 1 << 20
_STATUS: dict[type[DproofError], int] = {NotAllowed: 403, OverBudget: 409, InputError: 400}  # the first that fits


def application(desk: Desk, hosts: frozenset[str], settings: Settings | None = None) -> Guard:
    """The server's application, behind its guard."""
    service = Service(desk, settings or Settings())
    assistants = McpEndpoint(service, lambda: guarded) if sdk_is_there() else None
    app = FastAPI(
        title="dproof",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # a proxy ends TLS, so the address here would lead out of it, token and all
        lifespan=None if assistants is None else assistants.running,
    )
    app.state.service = service
    app.include_router(api.health_router)
    app.include_router(api.router)
    app.include_router(pages.router)
    if assistants is not None:
        app.router.routes.append(Route(PATH, assistants, methods=["POST"]))
    _errors(app)
    guarded = Guard(app, hosts, _largest)
    return guarded


def _largest(method: str, path: str) -> int:
    """How many bytes a body may have."""
    if method == "PUT" and path.startswith(f"{api.router.prefix}/files/"):
        return LARGEST_UPLOAD
    planned = ("/plans/", *(f"{api.router.prefix}/{part}/" for part in ("plans", "drafts")))
    return LARGEST_PLAN if path.startswith(planned) else LARGEST_BODY


def _errors(app: FastAPI) -> None:
    """What becomes of an error: one sentence, and nothing of the data in it."""

    async def told(request: Request, error: Exception) -> Response:
        status, said = _said(error)
        sentence = (await desk_of(request)).folder.hide(said)
        if request.url.path.startswith(("/api/", "/health", PATH)):
            return JSONResponse({"error": sentence}, status)
        return pages.error_page(status, sentence)

    for kind in (DproofError, HTTPException, RequestValidationError, Unknown, Exception):
        app.add_exception_handler(kind, told)


def _said(error: Exception) -> tuple[int, str]:
    match error:
        case Unknown():
            return 401, "sign in with a token: it is unknown, revoked or over"
        case DproofError():
            status = next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 500)
            return status, "; ".join([str(error), *getattr(error, "__notes__", ())])
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

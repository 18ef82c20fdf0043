"""Signing in and out, and the first page: what there is to ask."""

from __future__ import annotations

from importlib.resources import files

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.concurrency import run_in_threadpool

from dproof.serve.pages import Link, Sent, page
from dproof.serve.service import Known, TheDesk, TheService
from dproof.serve.tokens import COOKIE

router = APIRouter(include_in_schema=False)
LINK = Link("/", "Tables and releases")
_OWN = files("dproof.serve") / "static"
_STATIC = {  # a kind, and the files that make it: the colours are those of reports too
    "style.css": ("text/css", (files("dproof.report") / "templates" / "palette.css", _OWN / "style.css")),
    "page.js": ("text/javascript", (_OWN / "page.js",)),
}


@router.get("/static/{name}")
def static(name: str) -> Response:
    if name not in _STATIC:
        return Response(status_code=404)
    kind, parts = _STATIC[name]
    text = "".join(part.read_text("utf-8") for part in parts)
    return Response(text, media_type=kind, headers={"cache-control": "max-age=3600"})


@router.get("/sign-in")
def sign_in() -> HTMLResponse:
    return page("sign_in.html", "Sign in", None, is_unknown=False)


@router.post("/sign-in")
async def signed_in(request: Request, service: TheService, form: Sent) -> Response:
    holder = await run_in_threadpool(service.known, request, form.get("token", "").strip())
    if holder is None:
        return page("sign_in.html", "Sign in", None, status=401, is_unknown=True)
    response = RedirectResponse("/", 303)
    session, is_secure = service.sessions.begin(holder), service.settings.secure
    response.set_cookie(COOKIE, session, httponly=True, samesite="strict", secure=is_secure)
    return response


@router.post("/sign-out")
async def sign_out(request: Request, service: TheService) -> Response:
    service.sessions.end(request.cookies.get(COOKIE))
    response = RedirectResponse("/sign-in", 303)
    response.delete_cookie(COOKIE)
    return response


@router.get("/")
def home(desk: TheDesk, who: Known) -> Response:
    return page("home.html", "Tables and releases", who, tables=desk.tables(who), releases=desk.releases())

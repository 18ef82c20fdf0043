"""Signing in and out, and the first page: what there is to ask."""

from __future__ import annotations

from importlib.resources import files
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.concurrency import run_in_threadpool

from dproof.serve.desk import Desk
from dproof.serve.pages.forms import Fields
from dproof.serve.pages.layout import copied, enumerated, field, link, listed, page
from dproof.serve.pages.markup import Markup, joined, tag
from dproof.serve.pages.texts import TEXTS, budget_left, promise_of
from dproof.serve.service import TheService, Unknown
from dproof.serve.tokens import COOKIE, Holder

router = APIRouter(include_in_schema=False)
_OWN = files("dproof.serve") / "static"
_STATIC = {  # a kind, and the files that make it: the colours are those of reports too
    "style.css": ("text/css", (files("dproof.report") / "templates" / "palette.css", _OWN / "style.css")),
    "page.js": ("text/javascript", (_OWN / "page.js",)),
}


@router.get("/static/{name}")
async def static(name: str) -> Response:
    if name not in _STATIC:
        return Response(status_code=404)
    kind, parts = _STATIC[name]
    text = "".join(part.read_text("utf-8") for part in parts)
    return Response(text, media_type=kind, headers={"cache-control": "max-age=3600"})


@router.get("/sign-in")
async def sign_in() -> HTMLResponse:
    return _sign_in()


@router.post("/sign-in")
async def signed_in(request: Request, service: TheService) -> Response:
    form = await Fields.of(request)
    found = await run_in_threadpool(service.known, request, form.text("token").strip())
    if found is None:
        return _sign_in(TEXTS["unknown"], 401)
    response = RedirectResponse("/", 303)
    response.set_cookie(
        COOKIE, service.sessions.begin(found), httponly=True, samesite="strict", secure=service.settings.secure
    )
    return response


@router.post("/sign-out")
async def sign_out(request: Request, service: TheService) -> Response:
    service.sessions.end(request.cookies.get(COOKIE))
    response = RedirectResponse("/sign-in", 303)
    response.delete_cookie(COOKIE)
    return response


@router.get("/")
async def home(request: Request, service: TheService) -> Response:
    try:
        who = await run_in_threadpool(service.holder, request)
    except Unknown:
        return RedirectResponse("/sign-in", 303)
    return page("Tables and releases", await run_in_threadpool(_home, service.desk, who), who)


def _sign_in(sentence: str | None = None, status: int = 200) -> HTMLResponse:
    token = field(
        "Token",
        "token",
        type="password",
        autocomplete="current-password",
        required=True,
        size=50,
        aria_describedby="token-error",
    )
    alert = tag("p", sentence, id="token-error", role="alert", class_="error")
    form = tag("form", token, alert, tag("button", "Sign in", class_="main"), method="post", action="/sign-in")
    first = copied("dproof token FOLDER --custodian NAME", TEXTS["first_token"])
    return page("Sign in", joined(tag("p", TEXTS["sign_in"]), form, first), None, status=status)


def _home(desk: Desk, who: Holder) -> Markup:
    tables = (_entry("tables", one, _of_table) for one in desk.tables(who))
    releases = (_entry("releases", one, _of_release) for one in desk.releases())
    nothing = TEXTS["no_tables"]
    if who.is_custodian:
        nothing = joined(TEXTS["no_plans"], " ", link("/custody", "Plans and tokens"))
    return joined(
        tag("section", tag("h2", "Private tables"), tag("p", TEXTS["tables"]), listed(tables, nothing)),
        tag("section", tag("h2", "Releases"), tag("p", TEXTS["releases"]), listed(releases, TEXTS["no_releases"])),
    )


def _entry(place: str, told: dict[str, Any], more: Any) -> Markup:
    """One line of a list; what cannot be used says why."""
    return joined(link(f"/{place}/{quote(told['name'])}", told["name"]), tag("span", told.get("error") or more(told)))


def _of_table(told: dict[str, Any]) -> str:
    return f"{_names(told)}. {budget_left(told['budget'])}"


def _of_release(told: dict[str, Any]) -> str:
    return f"{promise_of(told)}: {_names(told)}"


def _names(told: dict[str, Any]) -> str:
    return enumerated([one["name"] for one in told["columns"]])

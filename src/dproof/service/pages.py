"""The pages for people: rendered here, with one small script that calls the same interface as programs do."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs, quote

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.concurrency import run_in_threadpool

from dproof.errors import InputError
from dproof.html import table as html_table
from dproof.meaning import GUESSED
from dproof.releases.release import REPORT
from dproof.service.desk import Desk
from dproof.service.sessions import COOKIE
from dproof.service.state import Custodian, Known, TheDesk, TheService, Unknown
from dproof.service.tokens import Holder

router = APIRouter(include_in_schema=False)

_STATIC = {"style.css": "text/css", "page.js": "text/javascript"}
# The report has its style and pictures in itself, and runs nothing.
_REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'none'"
_KINDS = ("categories", "interval", "date", "subsets", "drop", "public")
_TEXTS = {
    "sign_in": "Sign in with the token that you were given. It stays in this browser until you sign out.",
    "unknown": "This token is unknown, revoked or over.",
    "tables": "Private tables: questions are answered with noise, and each costs a part of your budget. "
    "The same question asked again is free.",
    "releases": "Releases: sanitised once, so every question is free.",
    "no_tables": "There is no table that you may ask.",
    "no_releases": "There is no release yet.",
    "ask": "Write one SELECT … FROM data. Preview it first: that is free and tells what it costs and how good it is.",
    "query": "Write one SELECT … FROM release. Every question is free.",
    "plan": "Declare what you know about the table without having seen it: a plan is public. Names of columns come "
    "from the header of the file. Nothing else of the file is read here.",
    "give": "The token is shown once. An analyst spends a share under the promise to the people in the table.",
    "check": "CONFIDENTIAL: no noise protects these figures. They are for you, and for nobody else.",
}


def page(title: str, body: str, holder: Holder | None, *, script: bool = True) -> HTMLResponse:
    """A whole page."""
    ways = [("/", "Tables and releases")]
    if holder is not None and holder.is_custodian:
        ways += [("/custody", "Plans and tokens")]
    links = "".join(f'<a href="{href}">{escape(text)}</a>' for href, text in ways) if holder is not None else ""
    out = (
        f'<form method="post" action="/sign-out"><span>{escape(holder.name)}</span> <button>Sign out</button></form>'
        if holder is not None
        else ""
    )
    script_tag = '<script src="/static/page.js" defer></script>' if script else ""
    return HTMLResponse(
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)} · dproof</title><link rel="icon" href="data:,">'
        f'<link rel="stylesheet" href="/static/style.css">{script_tag}</head>'
        f'<body><a class="skip" href="#main">Skip to the content</a><header><strong>dproof</strong><nav>{links}</nav>'
        f'{out}</header><main id="main"><h1>{escape(title)}</h1>{body}</main></body></html>'
    )


def error_page(status: int, sentence: str) -> Response:
    """What a person is shown instead of a page; who is not signed in is asked to."""
    if status == 401:
        return RedirectResponse("/sign-in", 303)
    body = f'<p class="error">{escape(sentence)}</p><p><a href="/">To the tables and releases</a></p>'
    response = page("This cannot be shown", body, None, script=False)
    response.status_code = status
    return response


@router.get("/static/{name}")
async def static(name: str) -> Response:
    if name not in _STATIC:
        return Response(status_code=404)
    text = (files("dproof.service") / "static" / name).read_text("utf-8")
    return Response(text, media_type=_STATIC[name], headers={"cache-control": "max-age=3600"})


@router.get("/sign-in")
async def sign_in() -> HTMLResponse:
    return _sign_in()


@router.post("/sign-in")
async def signed_in(request: Request, service: TheService) -> Response:
    form = parse_qs((await request.body()).decode("utf-8", "replace"))
    found = await run_in_threadpool(service.known, request, form.get("token", [""])[0].strip())
    if found is None:
        return _sign_in(_TEXTS["unknown"], 401)
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


@router.get("/tables/{name}")
async def table(name: str, desk: TheDesk, who: Known) -> HTMLResponse:
    return page(f"Ask {name}", await run_in_threadpool(_table, desk, who, name), who)


@router.get("/releases/{name}")
async def release(name: str, desk: TheDesk, who: Known) -> HTMLResponse:
    told = await run_in_threadpool(desk.release, name)
    return page(f"Query {name}", _release(told), who)


@router.get("/releases/{name}/report")
async def report(name: str, desk: TheDesk, who: Known) -> Response:
    file = desk.folder.release(name) / REPORT
    if not file.is_file():
        raise InputError(f"the release {name!r} has no report: `dproof report releases/{name}` writes one")
    return HTMLResponse(file.read_text("utf-8"), headers={"content-security-policy": _REPORT_POLICY})


@router.get("/releases/{name}/download")
async def download(name: str, desk: TheDesk, who: Known) -> Response:
    packed = await run_in_threadpool(_packed, desk, name)
    headers = {"content-disposition": f'attachment; filename="{name}.zip"'}
    return Response(packed, media_type="application/zip", headers=headers)


@router.get("/custody")
async def custody(desk: TheDesk, who: Custodian) -> HTMLResponse:
    return page("Plans and tokens", await run_in_threadpool(_custody, desk), who)


@router.get("/plans/{name}")
async def plan(name: str, desk: TheDesk, who: Custodian) -> HTMLResponse:
    return page(f"Plan for {name}", await run_in_threadpool(_plan, desk, name), who)


def _sign_in(said: str = "", status: int = 200) -> HTMLResponse:
    alert = f'<p role="alert" class="error">{escape(said)}</p>' if said else ""
    body = (
        f"<p>{escape(_TEXTS['sign_in'])}</p>{alert}"
        '<form method="post" action="/sign-in"><label>Token '
        '<input name="token" type="password" autocomplete="current-password" required size="50"></label> '
        "<button>Sign in</button></form>"
    )
    response = page("Sign in", body, None, script=False)
    response.status_code = status
    return response


def _home(desk: Desk, who: Holder) -> str:
    tables = [
        _link(f"/tables/{quote(one['name'])}", one["name"], one.get("error") or _told_of_table(one))
        for one in desk.tables(who)
    ]
    releases = [
        _link(f"/releases/{quote(one['name'])}", one["name"], one.get("error") or _told_of_release(one))
        for one in desk.releases()
    ]
    return (
        f"<section><h2>Private tables</h2><p>{escape(_TEXTS['tables'])}</p>"
        f"{_list(tables, _TEXTS['no_tables'])}</section>"
        f"<section><h2>Releases</h2><p>{escape(_TEXTS['releases'])}</p>"
        f"{_list(releases, _TEXTS['no_releases'])}</section>"
    )


def _told_of_table(told: dict[str, Any]) -> str:
    return f"{_names(told['columns'])}. {_left(told['budget'])}"


def _told_of_release(told: dict[str, Any]) -> str:
    return f"{told['model']} model, ε = {told['epsilon']}, δ = {told['delta']}: {_names(told['columns'])}"


def _table(desk: Desk, who: Holder, name: str) -> str:
    told, history = desk.table(who, name), desk.history(who, name)
    rows = [(_date(one["at"]), one["question"], f"{one['epsilon']:.6g}") for one in reversed(history)]
    asked = _scrolled(("when (UTC)", "question", "ε"), rows) if rows else "<p>Nothing yet.</p>"
    return (
        f'<p class="budget" id="left">{escape(_left(told["budget"]))}</p>'
        f"<p>{escape(_TEXTS['ask'])}</p>{_form('/api/tables/' + quote(name), told['columns'], 'data', priced=True)}"
        f"{_meaning(told['meaning'])}"
        f"<details><summary>What is in the table: its plan</summary><pre>{escape(told['plan'])}</pre>"
        f'<p><a href="/api/tables/{quote(name)}/dummy">100 dummy rows</a>, made up from the plan alone.</p></details>'
        f"<details open><summary>What was asked</summary>{asked}</details>"
    )


def _release(told: dict[str, Any]) -> str:
    name = quote(told["name"])
    ways = (
        f'<a href="/releases/{name}/report">report</a>, <a href="/releases/{name}/download">download</a>; '
        f"verify it with <code>dproof verify {escape(told['name'])}</code>"
    )
    return (
        f"<p>{escape(_TEXTS['query'])} {ways}.</p>"
        f"{_form('/api/releases/' + name, told['columns'], 'release', priced=False)}"
    )


def _form(action: str, columns: Iterable[dict[str, str]], table: str, *, priced: bool) -> str:
    """The question, written or put together by clicking, and the answer below."""
    names = [one["name"] for one in columns if one["kind"] != "public"]
    options = "".join(f"<option>{escape(name)}</option>" for name in names)
    numbers = "".join(
        f"<option>{escape(one['name'])}</option>" for one in columns if one["kind"] in ("interval", "curves")
    )
    price = (
        '<label>ε that it may cost <input name="epsilon" inputmode="decimal" value="0.1" size="8"></label>'
        '<label>or ± wanted <input name="accuracy" inputmode="decimal" size="8"></label>'
        '<label>δ <input name="delta" inputmode="decimal" value="0" size="8"></label>'
        '<button type="button" data-do="preview">Preview</button><button data-do="ask">Ask</button>'
        if priced
        else '<button data-do="query">Query</button>'
    )
    return (
        f'<form class="question" data-action="{escape(action)}" data-names="{escape(" ".join(names))}">'
        "<fieldset><legend>Put a question together</legend>"
        f'<label>What <select name="what"><option value="count">count of rows</option>'
        f'<option value="avg">mean</option><option value="sum">sum</option></select></label>'
        f'<label>of <select name="number"><option></option>{numbers}</select></label>'
        f'<label>by <select name="by"><option></option>{options}</select></label>'
        f'<button type="button" data-do="build" data-table="{table}">Write it</button></fieldset>'
        f'<label for="sql">Question</label><textarea id="sql" name="sql" rows="3" spellcheck="false" required>'
        f"SELECT count(*) AS n FROM {table}</textarea>"
        f'<p class="hint" id="completion" aria-live="polite"></p>'
        f'<p class="row">{price}</p></form><div id="answer" aria-live="polite"></div>'
    )


def _custody(desk: Desk) -> str:
    files = [
        _link(
            f"/plans/{quote(one['name'])}",
            one["name"],
            "has a plan" if one["plan"] else "has no plan yet: nobody can ask it",
        )
        for one in desk.custody.files()
    ]
    tables = "".join(f"<option>{escape(name)}</option>" for name in desk.folder.tables)
    holders = [
        (one.number, one.name, one.role, ", ".join(one.tables), _date(one.ends), _date(one.revoked or ""))
        for one in desk.tokens.holders
    ]
    give = (
        '<form id="give"><label>Name <input name="name" required maxlength="64"></label>'
        f'<label>Tables <select name="tables" multiple required>{tables}</select></label>'
        '<label>ε <input name="epsilon" value="0.5" required size="8"></label>'
        '<label>δ <input name="delta" value="0" size="8"></label>'
        '<label>days <input name="days" type="number" value="90" min="1" max="3650"></label>'
        '<button>Give a token</button></form><div id="given" aria-live="polite"></div>'
    )
    revoke = (
        '<form id="revoke"><label>Number <input name="number" type="number" min="1" required></label> '
        "<button>Revoke</button></form>"
    )
    heads = ("number", "name", "role", "tables", "ends", "revoked")
    return (
        f"<section><h2>Tables</h2>{_list(files, 'Put a table into the folder tables/.')}</section>"
        f"<section><h2>Tokens</h2><p>{escape(_TEXTS['give'])}</p>{give}{_scrolled(heads, holders)}{revoke}</section>"
    )


def _plan(desk: Desk, name: str) -> str:
    found = desk.custody.columns(name)
    kinds = "".join(f'<option value="{kind}">{kind}</option>' for kind in _KINDS)
    rows = "".join(
        f'<tr data-column="{escape(column)}"><th scope="row">{escape(column)}</th>'
        f'<td><select name="kind" aria-label="kind of {escape(column)}">{kinds}</select></td>'
        f'<td><textarea name="values" rows="2" aria-label="values of {escape(column)}" '
        'placeholder="one value a line"></textarea></td>'
        + "".join(
            f'<td><input name="{key}" size="6" aria-label="{key} of {escape(column)}"></td>'
            for key in ("low", "high", "step")
        )
        + f'<td><input name="bins" size="16" aria-label="bins of {escape(column)}" placeholder="0, 20, 40"></td></tr>'
        for column in found["columns"]
    )
    heads = "".join(
        f'<th scope="col">{text}</th>' for text in ("column", "kind", "values", "low", "high", "step", "bins")
    )
    columns = "".join(f"<option>{escape(column)}</option>" for column in found["columns"])
    saved = (
        ""
        if found["plan"] is None
        else f"<details><summary>The plan that is saved</summary><pre>{escape(found['plan'])}</pre></details>"
    )
    wrong = "" if found["wrong"] is None else f'<p class="error">{escape(desk.folder.hide(found["wrong"]))}</p>'
    commands = "\n".join(desk.custody.commands(name))
    return (
        f"<p>{escape(_TEXTS['plan'])}</p>{wrong}{saved}"
        f'<form id="plan" data-name="{escape(name)}"><div class="wide"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
        '<p class="row"><label>Who is trusted <select name="model"><option value="central">central: the holder of the '
        'table</option><option value="local">local: nobody</option></select></label>'
        '<label>ε <input name="epsilon" value="1" size="6"></label><label>δ <input name="delta" value="1e-6" size="8">'
        '</label><label>Neighbours <select name="neighbours"><option>change-one</option><option>add-remove</option>'
        '</select></label><label>A person is named by <select name="person"><option value="">each row</option>'
        f"{columns}</select></label>"
        '<label>rows of a person, at most <input name="rows_per_person" value="1" size="4"></label>'
        '<label>rows of the table, about <input name="rows" value="10000" size="9"></label></p>'
        '<label>Questions that matter, one a line <textarea name="questions" rows="3" spellcheck="false" '
        'placeholder="SELECT sex, count(*) AS n FROM data GROUP BY sex"></textarea></label>'
        '<p class="row"><button type="button" data-do="expect">What it would give</button>'
        '<button type="button" data-do="save">Save the plan</button>'
        '<button type="button" data-do="check">Confidential look</button>'
        f'<label>release <input name="release" value="{escape(name)}" size="16"></label>'
        '<button type="button" data-do="sanitise">Sanitise</button></p></form>'
        '<div id="expected" aria-live="polite"></div>'
        f"<p>The same by commands, in this folder:</p><pre>{escape(commands)}</pre>"
    )


def _meaning(meaning: dict[str, Any]) -> str:
    """What the promise means to a person, in a sentence and a picture of two bars."""
    right = meaning["attack_accuracy"]
    about = GUESSED[meaning["neighbours"]]
    sentence = (
        f"Whatever is asked within the whole budget (ε = {meaning['epsilon']:.6g}, δ = {meaning['delta']:.6g}): an "
        f"attacker guessing {about} is right at most {right:.1%} of the time; a coin is right 50%."
    )
    bars = "".join(
        f'<tr><th scope="row">{name}</th><td><meter min="0" max="1" value="{value}">{value:.0%}</meter></td>'
        f"<td>{value:.1%}</td></tr>"
        for name, value in (("a coin", 0.5), ("an attacker, at most", right))
    )
    summary = "<summary>What the promise means to a person</summary>"
    return f"<details>{summary}<p>{escape(sentence)}</p><table>{bars}</table></details>"


def _packed(desk: Desk, name: str) -> bytes:
    """A release as one file."""
    folder, sink = desk.folder.release(name).resolve(), io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.resolve().is_relative_to(folder):  # a link could lead to a private table
                packed.write(path, f"{name}/{path.relative_to(folder)}")
    return sink.getvalue()


def _scrolled(head: Sequence[Any], rows: Iterable[Sequence[Any]]) -> str:
    """A table that scrolls by itself where the window is narrow."""
    return f'<div class="wide">{html_table(head, rows)}</div>'


def _link(href: str, name: str, text: str) -> str:
    return f'<li><a href="{escape(href)}">{escape(name)}</a> <span>{escape(text)}</span></li>'


def _list(items: Iterable[str], nothing: str) -> str:
    joined = "".join(items)
    return f"<ul>{joined}</ul>" if joined else f"<p>{escape(nothing)}</p>"


def _names(columns: Iterable[dict[str, str]]) -> str:
    return ", ".join(one["name"] for one in columns)


def _left(budget: dict[str, Any]) -> str:
    left = budget["remaining"]
    return f"Left to spend: ε = {left['epsilon']:.6g}, δ = {left['delta']:.6g}; {budget['in_words']}."


def _date(text: str) -> str:
    return text[:16].replace("T", " ")

"""The HTTP interface for programs: JSON or Arrow, documented by /openapi.json. What it does is in `desk` and `custody`.

Surveys are here too: their pages, and what these send. Whoever has the address may answer; nobody needs a token. A page
may lie elsewhere, so answers are taken from any site: they carry no cookie, and tell nothing that was not drawn.

Tables that a custodian sends are streamed into the folder, under a name of one part, and never opened on the way.
"""

from __future__ import annotations

import os
import secrets
import shlex
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import pyarrow as pa
from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.encoders import jsonable_encoder
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from dproof import Answer, ArgumentError, DproofError, FileError, Inbox, InputError, Privacy, TicketRefused, __version__
from dproof.serve import bodies, limits
from dproof.serve.bodies import AskRequest, DraftRequest, HalfWidthRequest, QueryRequest, ReleaseRequest, TokenRequest
from dproof.serve.desk import Desk
from dproof.serve.folder import UNFINISHED, Folder, checked_name
from dproof.serve.service import Custodian, Known, TheDesk, TheService
from dproof.serve.tokens import Holder

INTERFACE = 1  # its version: another one may refuse or answer otherwise what this one took
ARROW = "application/vnd.apache.arrow.stream"
_ANY_BYTES = {
    "requestBody": {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
}
Most = Annotated[int, Query(ge=1, le=limits.MOST_ENTRIES, description="At most so many.")]
_REFUSED = {
    400: "It cannot be done as it was asked.",
    401: "The token is unknown, revoked or over.",
    403: "The token is not for this.",
    409: "The budget does not allow it.",
    411: "The length of the body is not said.",
    413: "The body is too large.",
    421: "The server is not asked by that name.",
    422: "The request is not of this form.",
    429: "Too many requests.",
}
router = APIRouter(
    prefix="/api",
    responses={status: {"model": bodies.Refusal, "description": why} for status, why in _REFUSED.items()},
)


def _documented(model: Any, status: int = 200, *, arrow: bool = False) -> dict[int | str, dict[str, Any]]:
    """The entry of an answer in /openapi.json. It changes no answer: a test holds the answers to their models."""
    content = {"content": {ARROW: {"schema": {"type": "string", "format": "binary"}}}} if arrow else {}
    return {status: {"model": model, "description": "Done.", **content}}


health_router = APIRouter()


@health_router.get("/health", responses=_documented(bodies.Health) | _documented(bodies.Health, 503), tags=["health"])
def health(desk: TheDesk) -> Response:
    """Whether the server works: it can read its tokens. For anybody; nothing of a table is told."""
    status = "ok"
    try:
        _ = desk.tokens.holders
    except DproofError:
        status = "failing"
    told = {"status": status, "version": __version__, "interface": INTERFACE}
    return JSONResponse(told, 200 if status == "ok" else 503)


@router.get("/tables", responses=_documented(list[bodies.ListedTable]))
def tables(desk: TheDesk, who: Known) -> list[dict[str, Any]]:
    """The tables that you may ask, with your budget on each."""
    return desk.tables(who)


@router.get("/tables/{name}", responses=_documented(bodies.Table))
def table(name: str, desk: TheDesk, who: Known) -> dict[str, Any]:
    """All that is public about a table: its plan, and what its promise means to a person."""
    return desk.table(who, name)


@router.post("/tables/{name}/preview", responses=_documented(bodies.Preview))
async def preview(name: str, asked: AskRequest, service: TheService, who: Known) -> Response:
    """Preview the cost of a question and the accuracy of its answer: free, and no row is read."""
    with service.under_way.counted(who):
        table = await service.opened(who, name)
        told = await service.working(who, partial(service.desk.preview, table, asked.sql, asked.terms))
    return JSONResponse(told)


@router.post("/tables/{name}/ask", responses=_documented(bodies.PaidAnswer, arrow=True))
async def ask(
    name: str, asked: AskRequest, service: TheService, who: Known, accept: Annotated[str, Header()] = ""
) -> Response:
    """Answer a question: it is paid for first. Asked again it is free, and the answer is the same."""
    desk = service.desk
    with service.under_way.counted(who):
        table = await service.opened(who, name)
        answer = await service.working(who, partial(desk.stored, table, asked.sql, asked.terms))
        if answer is None:
            answer = await service.reading(who, name, partial(desk.ask, table, asked.sql, asked.terms))
        left = await run_in_threadpool(desk.budget, who, name)
        more = {"budget": left, "command": _ask_command(name, asked, who)}
        return await service.working(who, partial(_answered, answer, accept, asked.chart, more))


@router.get("/tables/{name}/budget", responses=_documented(bodies.Budget))
def budget(name: str, desk: TheDesk, who: Known) -> dict[str, Any]:
    """The budget that you have left, as numbers and in words."""
    return desk.budget(who, name)


@router.get("/tables/{name}/history", responses=_documented(list[bodies.Question]))
def history(name: str, desk: TheDesk, who: Known, before: int | None = None, most: Most = 100) -> list[dict[str, Any]]:
    """Your questions with their costs, oldest first: the latest, or those before the entry of a number."""
    return desk.history(who, name, before=before, most=most)


@router.get("/tables/{name}/dummy", responses=_documented(bodies.Rows, arrow=True))
async def dummy(
    name: str, service: TheService, who: Known, rows: int = 100, accept: Annotated[str, Header()] = ""
) -> Response:
    """Made-up rows of the declared spaces, to try things on."""
    with service.under_way.counted(who):
        return await service.working(who, partial(_dummy, service.desk, who, name, rows, accept))


@router.get("/releases", responses=_documented(list[bodies.ListedRelease]))
def releases(desk: TheDesk, who: Known) -> list[dict[str, Any]]:
    """All releases: ask them without limit."""
    return desk.releases()


@router.get("/releases/{name}", responses=_documented(bodies.ListedRelease))
def release(name: str, desk: TheDesk, who: Known) -> dict[str, Any]:
    """Model, rows, columns, promise and seal of a release."""
    return desk.release(name)


@router.post("/releases/{name}/query", responses=_documented(bodies.QueryAnswer, arrow=True))
async def query(
    name: str, asked: QueryRequest, service: TheService, who: Known, accept: Annotated[str, Header()] = ""
) -> Response:
    """Ask a release, at no cost."""
    options = asked.model_dump(exclude={"sql", "chart"})
    more = {"command": f"dproof query releases/{name} {shlex.quote(asked.sql)}"}
    with service.under_way.counted(who):
        answer = await service.working(who, lambda: service.desk.open_release(name).query(asked.sql, **options))
        return await service.working(who, partial(_answered, answer, accept, asked.chart, more))


SURVEYS = "/collect/"
survey_router = APIRouter(prefix=SURVEYS.rstrip("/"), include_in_schema=False)
# The page has a policy of its own, stricter than that of the others; what a page cannot say itself is said here.
_SURVEY_HEADERS = {"content-security-policy": "frame-ancestors 'none'", "referrer-policy": "no-referrer"}
_TOLD_ANYWHERE = {"access-control-allow-origin": "*"}  # answers come from pages of any site


def _inbox(desk: Desk, name: str) -> Inbox:
    found = desk.inbox(name)
    if found is None:
        raise HTTPException(404, "there is no such survey")
    return found


@survey_router.get("/{name}")
def survey(name: str, desk: TheDesk) -> Response:
    """The page of a survey."""
    return Response(_inbox(desk, name).page, media_type="text/html", headers=_SURVEY_HEADERS)


@survey_router.post("/{name}", status_code=204)
async def receive(name: str, request: Request, service: TheService) -> Response:
    """Keep an answer."""
    service.pace_answers(request)
    line = await request.body()
    try:
        await service.keeping(lambda: _inbox(service.desk, name).receive(line))
    except TicketRefused as refused:  # the page tells it from what may be sent again
        return JSONResponse({"error": str(refused)}, 403, _TOLD_ANYWHERE)
    return Response(status_code=204, headers=_TOLD_ANYWHERE)


# For custodians ------------------------------------------------------------------------------------------------------


@router.get("/files", responses=_documented(list[bodies.File]))
def files(desk: TheDesk, who: Custodian) -> list[dict[str, Any]]:
    """For custodians: every table in the folder, and whether it has a plan."""
    return desk.custody.files()


@router.get("/files/{name}/columns", responses=_documented(bodies.Columns))
def columns(name: str, desk: TheDesk, who: Custodian) -> dict[str, Any]:
    """For custodians: the names of a table's columns, and its plan."""
    return desk.custody.columns(name)


@router.put("/files/{file}", status_code=201, openapi_extra=_ANY_BYTES, responses=_documented(bodies.SentTable, 201))
async def upload(file: str, request: Request, desk: TheDesk, who: Custodian, replace: bool = False) -> dict[str, Any]:
    """For custodians: send a table, as the bytes of a file, under its name with its ending, such as people.csv.

    With `replace` it takes the place of the one that is there, as long as nothing is paid for that.
    """
    saved = await save_upload(desk.folder, file, request.stream(), replacing=replace)
    did = "replaced a table" if replace else "sent a table"
    await run_in_threadpool(partial(desk.record.add, who, did, file=f"tables/{saved.name}"))
    return {"name": saved.name.partition(".")[0], "file": f"tables/{saved.name}"}


@router.delete("/files/{name}", status_code=204)
def remove(name: str, desk: TheDesk, who: Custodian) -> None:
    """For custodians: remove a table and its plan, as long as nothing is paid for it."""
    desk.custody.remove(who, name)


@router.post("/drafts/expected", responses=_documented(bodies.Expectation))
def expected(draft: DraftRequest, desk: TheDesk, who: Custodian) -> dict[str, Any]:
    """For custodians: what a draft of a plan would give; no data is opened."""
    return desk.custody.expected(draft.plan, draft.rows)


@router.post("/drafts/epsilon", responses=_documented(bodies.Epsilons))
def epsilon(wanted: HalfWidthRequest, desk: TheDesk, who: Custodian) -> dict[str, Any]:
    """For custodians: the least ε that gives a wanted ±, from a local release, a central one and asking."""
    options = wanted.model_dump(include={"rows", "question", "column", "half_width"})
    return desk.custody.epsilon(wanted.plan, **options)


@router.put("/plans/{name}", responses=_documented(bodies.SavedPlan))
def save(name: str, draft: DraftRequest, desk: TheDesk, who: Custodian) -> dict[str, Any]:
    """For custodians: save a draft as the plan of a table."""
    return desk.custody.save(who, name, draft.plan, names_are_public=draft.names_are_public)


@router.get("/tables/{name}/check", responses=_documented(bodies.Inspection))
def check(name: str, desk: TheDesk, who: Custodian) -> dict[str, Any]:
    """For custodians, and CONFIDENTIAL: how many values the plan does not cover."""
    return desk.custody.check(who, name)


@router.post("/releases", status_code=202, responses=_documented(bodies.StartedJob, 202))
def sanitise(wanted: ReleaseRequest, desk: TheDesk, who: Custodian) -> dict[str, Any]:
    """For custodians: sanitise a table, paid from its ledger; the name of the job that does it."""
    return {"job": desk.custody.sanitise(who, wanted.table, wanted.name)}


@router.get("/jobs/{name}", responses=_documented(bodies.Job))
async def job(name: str, desk: TheDesk, who: Custodian) -> dict[str, Any]:
    """For custodians: how far a job is."""
    return desk.custody.job(name)


@router.get("/tables/{name}/account", responses=_documented(bodies.Account))
def account(name: str, desk: TheDesk, who: Custodian) -> dict[str, Any]:
    """For custodians: the whole account of a table."""
    return desk.account(name)


@router.get("/tokens", responses=_documented(list[bodies.Holder]))
def tokens(desk: TheDesk, who: Custodian) -> list[dict[str, Any]]:
    """For custodians: everybody who was given a token."""
    return [one.to_json() for one in desk.tokens.holders]


@router.post("/tokens", status_code=201, responses=_documented(bodies.Token, 201))
def give(given: TokenRequest, desk: TheDesk, who: Custodian) -> dict[str, Any]:
    """For custodians: a token for an analyst, shown this once, and a budget on each of the tables."""
    budgets = dict.fromkeys(given.tables, Privacy(given.epsilon, given.delta))
    text, holder = desk.give(who, given.name, budgets, given.days)
    tables = " ".join(f"--table {name}" for name in given.tables)
    price = f"--epsilon {given.epsilon} --delta {given.delta} --days {given.days}"
    command = f"dproof token . --analyst {shlex.quote(given.name)} {tables} {price}"
    return {"token": text, "command": command, **holder.to_json()}


@router.get("/record", responses=_documented(list[bodies.Deed]))
def record(desk: TheDesk, who: Custodian, before: int | None = None, most: Most = 100) -> list[dict[str, Any]]:
    """For custodians: what custodians did, oldest first: the latest, or what was before the line of a number."""
    return desk.record.latest(most, before)


@router.delete("/tokens/{number}", status_code=204)
def revoke(number: int, desk: TheDesk, who: Custodian) -> None:
    """For custodians: end a token now."""
    desk.revoke(who, number)


def _ask_command(name: str, asked: AskRequest, who: Holder) -> str:
    """The command that asks the same, in the folder that is served."""
    price = f"--epsilon {asked.epsilon}" if asked.accuracy is None else f"--accuracy {asked.accuracy}"
    delta = "" if asked.delta == "0" else f" --delta {asked.delta}"
    analyst = "" if who.is_custodian else f" --analyst {shlex.quote(who.name)}"
    paths = f"--plan plans/{name}.toml --ledger ledgers/{name}.db"
    return f"dproof ask tables/{name}.* {shlex.quote(asked.sql)} {paths} {price}{delta}{analyst}"


def _answered(answer: Answer, accept: str, chart: bool, more: dict[str, Any]) -> Response:
    """An answer as JSON, with its table in texts and maybe a picture; or its table as an Arrow stream."""
    if ARROW in accept:
        return _arrow(answer.to_arrow())
    picture = None
    if chart:
        with suppress(InputError):  # some answers have nothing to draw
            picture = answer.to_svg()
    return JSONResponse({**answer.to_json(), "texts": answer.texts(), "chart": picture, **more})


def _dummy(desk: Desk, who: Holder, name: str, rows: int, accept: str) -> Response:
    table = desk.dummy(who, name, rows)
    if ARROW in accept:
        return _arrow(table)
    return JSONResponse(jsonable_encoder({"columns": table.column_names, "rows": table.to_pylist()}))


def _arrow(table: Any) -> Response:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return Response(sink.getvalue().to_pybytes(), media_type=ARROW)


ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".xlsx", ".parquet", ".arrow", ".feather", ".ipc")
_NAMING = threading.Lock()


async def save_upload(folder: Folder, file: str, chunks: AsyncIterator[bytes], *, replacing: bool = False) -> Path:
    """Save a table, whole or not at all; one that something is paid for is never replaced: its ledger counts for it."""
    name, dot, ending = file.partition(".")
    if dot + ending not in ENDINGS:
        raise ArgumentError(f"a table is sent under a name that ends in {', '.join(ENDINGS)}")
    place = await run_in_threadpool(
        partial(folder.place_of_new_table, checked_name(name, "table"), dot + ending, replacing=replacing)
    )
    part = place.with_name(f"{UNFINISHED}{secrets.token_hex(8)}")
    try:
        with await run_in_threadpool(_created, part) as sink:
            async for chunk in chunks:
                await run_in_threadpool(sink.write, chunk)
        await run_in_threadpool(_named, folder, name, part, place, replacing)
    except OSError as error:
        raise FileError(f"the table cannot be saved: {error.strerror}") from None
    finally:
        part.unlink(missing_ok=True)
    return place


def _created(part: Path) -> BinaryIO:
    return os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _named(folder: Folder, name: str, part: Path, place: Path, replacing: bool) -> None:
    with _NAMING:  # another may have come meanwhile
        folder.place_of_new_table(name, "", replacing=replacing)
        before = folder.files.get(name, [])
        os.replace(part, place)
        for other in before if replacing else ():  # of another kind
            if other != place:
                other.unlink()

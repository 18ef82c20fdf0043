"""The pages of a private table and of a release: a question, its preview, its answer, and what was asked before; the
report of a release, and its download as one file."""

from __future__ import annotations

import io
import json
import re
import tomllib
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pyarrow as pa
import pyarrow.csv
from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, StreamingResponse
from starlette.concurrency import run_in_threadpool

from dproof import DproofError, FileError, Plan, QuestionError
from dproof.errors import with_notes
from dproof.serve import api, limits
from dproof.serve.bodies import AskRequest, QueryRequest
from dproof.serve.desk import Desk
from dproof.serve.folder import REPORT
from dproof.serve.pages import Sent, address, checked, page
from dproof.serve.service import Known, Service, TheDesk, TheService
from dproof.serve.tokens import Holder

router = APIRouter(include_in_schema=False)
_KEYWORDS = ("SELECT", "count(*)", "avg(", "sum(", "median(", "FROM", "WHERE", "GROUP BY", "ORDER BY", "AND", "BETWEEN")
_CHOSEN = dict.fromkeys(("what", "number", "by", "where", "comparison", "value"), "")
PRICED = {"sql": "SELECT count(*) AS n FROM data", "epsilon": "0.1", "accuracy": "", "delta": "0", **_CHOSEN}
_FREE = {"sql": "SELECT count(*) AS n FROM release", **_CHOSEN}
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOST_LISTED_VALUES = 200  # of a column, that are listed
_GROUPS = 10  # of a number without bins
_MOST_GROUPS = 100  # single numbers or days
_PART = 1 << 20  # bytes of a release that are read at a time
# The report has its style and pictures in itself, and runs nothing.
_REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'none'"
_PERIODS = {"years": ("year",), "quarters": ("year", "quarter"), "months": ("year", "month")}


@router.get("/tables/{name}")
def shown_table(name: str, request: Request, desk: TheDesk, who: Known) -> HTMLResponse:
    given = dict(request.query_params)
    before = given.pop("before", "")
    earlier = int(before) if before.isdecimal() and len(before) < 19 else None
    return _table_page(desk, who, name, {**PRICED, **given}, before=earlier)


@router.post("/tables/{name}")
async def asked_table(name: str, request: Request, service: TheService, who: Known, form: Sent) -> HTMLResponse:
    desk = service.desk
    typed = {key: form.get(key, "") for key in PRICED}
    shown: dict[str, Any] = {}
    try:
        if form.get("do", "") == "build":
            plan = Plan.parse((await run_in_threadpool(desk.table, who, name))["plan"])
            typed["sql"] = built(columns_of(plan), "data", typed, asking=True)
        else:
            shown = await _answered(name, form.get("do", ""), typed, request, service, who)
    except DproofError as error:
        shown["error"] = desk.folder.hide(with_notes(error))
    return await run_in_threadpool(lambda: _table_page(desk, who, name, typed, **shown))


@router.get("/tables/{name}/dummy.csv")
async def dummy(name: str, service: TheService, who: Known, rows: int = 100) -> Response:
    """Dummy rows as a file; lists have their items joined by a semicolon."""
    with service.under_way.counted(who):
        made = await service.working(who, lambda: _as_csv(service.desk.dummy(who, name, rows)))
    headers = {"content-disposition": f'attachment; filename="{name}-dummy.csv"'}
    return Response(made, media_type="text/csv; charset=utf-8", headers=headers)


@router.get("/releases/{name}")
def shown_release(name: str, desk: TheDesk, who: Known) -> HTMLResponse:
    return _release_page(desk, who, name, _FREE)


@router.post("/releases/{name}")
async def queried_release(name: str, request: Request, service: TheService, who: Known, form: Sent) -> HTMLResponse:
    desk = service.desk
    typed = {key: form.get(key, "") for key in _FREE}
    shown: dict[str, Any] = {}
    try:
        if form.get("do", "") == "build":
            typed["sql"] = built(await run_in_threadpool(_release_columns, desk, name), "release", typed)
        else:
            response = await api.query(name, checked(QueryRequest, sql=typed["sql"], chart=True), service, who)
            call = f'.release("{name}").query({json.dumps(typed["sql"], ensure_ascii=False)})'
            shown = {"answer": json.loads(bytes(response.body)), "python": _python(request, call)}
    except DproofError as error:
        shown["error"] = desk.folder.hide(with_notes(error))
    return await run_in_threadpool(lambda: _release_page(desk, who, name, typed, **shown))


@router.get("/releases/{name}/report")
def report(name: str, desk: TheDesk, who: Known) -> Response:
    file = desk.folder.release(name) / REPORT
    if not file.is_file():
        raise FileError(f"the release {name!r} has no report: `dproof report releases/{name}` writes one")
    return HTMLResponse(file.read_text("utf-8"), headers={"content-security-policy": _REPORT_POLICY})


@router.get("/releases/{name}/download")
def download(name: str, desk: TheDesk, who: Known) -> Response:
    folder = desk.folder.release(name).resolve()
    headers = {"content-disposition": f'attachment; filename="{name}.zip"'}
    return StreamingResponse(_packed(folder, name), media_type="application/zip", headers=headers)


async def _answered(
    name: str, do: str, typed: Mapping[str, str], request: Request, service: Service, who: Holder
) -> dict[str, Any]:
    """A preview, or an answer: by the functions that programs call, so that it leaves at the same ticks."""
    limit = {"accuracy": typed["accuracy"]} if typed["accuracy"].strip() else {"epsilon": typed["epsilon"]}
    question = checked(AskRequest, sql=typed["sql"], delta=typed["delta"].strip() or "0", chart=do == "ask", **limit)
    given = ", ".join(f'{key}="{value}"' for key, value in {**limit, "delta": question.delta}.items() if value != "0")
    call = f'.table("{name}").{do}({json.dumps(typed["sql"], ensure_ascii=False)}, {given})'
    kind, way = ("answer", api.ask) if do == "ask" else ("preview", api.preview)
    response = await way(name, question, service, who)
    return {kind: json.loads(bytes(response.body)), "python": _python(request, call)}


def _table_page(
    desk: Desk,
    who: Holder,
    name: str,
    typed: Mapping[str, str],
    error: str | None = None,
    before: int | None = None,
    **shown: Any,
) -> HTMLResponse:
    most, path = limits.MOST_SHOWN_HISTORY, f"/tables/{quote(name)}"
    table, history = desk.table(who, name), desk.history(who, name, before=before, most=most + 1)
    entries = [{**entry, "again": _again(path, entry)} for entry in reversed(history[-most:])]
    columns = columns_of(Plan.parse(table["plan"]))
    context = {
        "table": table,
        "columns": columns,
        "ask": question_form(path, columns, "data", typed, error),
        "history": entries,
        "earlier": f"{path}?before={history[1]['number']}#history" if len(history) > most else None,
        "is_over_budget": "preview" in shown and _is_over(shown["preview"]),
        "preview": None,
        "answer": None,
        "python": None,
        **shown,
    }
    return page("table.html", f"Ask {name}", who, status=200 if error is None else 400, **context)


def _again(path: str, entry: Mapping[str, Any]) -> str:
    paid = {key: f"{entry[key]:.12g}" for key in ("epsilon", "delta")}
    return f"{path}?{urlencode({'sql': entry['question'], **paid})}"


def _is_over(preview: Mapping[str, Any]) -> bool:
    """Whether a question costs more than is left; a ledger that counts ρ compares that."""
    cost, left = preview["cost"], preview["remaining"]
    if preview["free"] or left is None:
        return False
    keys = ("rho",) if "rho" in cost and "rho" in left else ("epsilon", "delta")
    return any(cost[key] > left[key] for key in keys)


def _release_page(
    desk: Desk, who: Holder, name: str, typed: Mapping[str, str], error: str | None = None, **shown: Any
) -> HTMLResponse:
    release, columns = desk.release(name), _release_columns(desk, name)
    context = {
        "release": release,
        "columns": columns,
        "ask": question_form(f"/releases/{quote(name)}", columns, "release", typed, error),
        "answer": None,
        "python": None,
        **shown,
    }
    return page("release.html", f"Query {name}", who, status=200 if error is None else 400, **context)


def _release_columns(desk: Desk, name: str) -> list[AskableColumn]:
    return columns_of(desk.open_release(name).plan)


def _python(request: Request, call: str) -> str:
    return f'dp.connect("{address(request)}", token){call}'


def _as_csv(made: pa.Table) -> bytes:
    def plain(column: Any) -> Any:
        if not pa.types.is_nested(column.type):
            return column
        return pa.array([None if v is None else ";".join(map(str, v)) for v in column.to_pylist()], pa.string())

    sink = io.BytesIO()
    pyarrow.csv.write_csv(pa.table({name: plain(made[name]) for name in made.column_names}), sink)
    return sink.getvalue()


class _ChunkSink(io.RawIOBase):
    """A file in memory that keeps what is written to it until it is taken."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, part: Any) -> int:
        self._parts.append(bytes(part))
        return len(self._parts[-1])

    def taken(self) -> bytes:
        taken, self._parts = b"".join(self._parts), []
        return taken


def _packed(folder: Path, name: str) -> Iterator[bytes]:
    """A release as one file, part by part: it may be larger than the memory. What is large in it is packed already."""
    sink = _ChunkSink()
    with zipfile.ZipFile(sink, "w") as packed:
        for path in sorted(folder.rglob("*")):
            if not path.is_file() or not path.resolve().is_relative_to(folder):  # a link could lead to a private table
                continue
            entry = zipfile.ZipInfo.from_file(path, f"{name}/{path.relative_to(folder)}", strict_timestamps=False)
            with path.open("rb") as source, packed.open(entry, "w") as target:
                while part := source.read(_PART):
                    target.write(part)
                    yield sink.taken()
    yield sink.taken()


# What may be asked about the columns of a plan -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AskableColumn:
    """A column as an analyst needs to know it: its values or bounds, and what may be asked about it."""

    name: str
    kind: str
    values: tuple[str, ...]  # that a condition may name
    described: str
    is_set: bool
    is_number: bool  # that has a mean
    is_text: bool  # whose values are texts in SQL
    edges: tuple[str, ...] = ()  # of the groups that a question by it has, as SQL has them
    periods: tuple[str, ...] = ()  # of the calendar, by which dates are counted
    has_bins: bool = False  # which the plan declares
    has_many: bool = False  # more values than anybody reads groups of

    @property
    def sql(self) -> str:
        """Its name as a question writes it."""
        return self.name if _PLAIN.fullmatch(self.name) else '"' + self.name.replace('"', '""') + '"'

    @property
    def answers(self) -> str:
        """The questions that may be asked about the column, in words."""
        if self.kind == "public":
            return ""
        if self.is_number:
            return "mean, sum, median; conditions"
        return "counts of its items; list_contains" if self.is_set else "counts by it; conditions"


def columns_of(plan: Plan) -> list[AskableColumn]:
    """The columns of a plan that are not left out.

    >>> age = {"space": "interval", "low": 0, "high": 9}
    >>> [(one.name, one.described) for one in columns_of(Plan.of({"privacy": {"epsilon": 1}, "columns": {"age": age}}))]
    [('age', '0 to 9')]
    """
    tables = tomllib.loads(plan.text)["columns"]
    return [_askable(column, tables[column.name]) for column in plan.kept]


def _askable(column: Any, table: Mapping[str, Any]) -> AskableColumn:
    space = column.space
    is_set = column.private and space.items is not None
    is_number = column.private and not space.is_counted and not space.holds_curves
    given = table.get("values") or (table.get("columns") if is_set or space.holds_curves else ()) or ()
    values = tuple(str(value) for value in given[:_MOST_LISTED_VALUES])
    ends = f"{table['low']} to {table['high']}" if "low" in table and "high" in table else ""
    steps = f" in steps of {table['step']}" if "step" in table else ""
    edges = table.get("bins", ())
    bins = f", in {edges}" if isinstance(edges, str) else f", in bins at {', '.join(map(str, edges))}" if edges else ""
    listed = ", ".join(values) + (" …" if len(given) > len(values) else "")
    is_text = all(isinstance(value, str) for value in given) and (not column.private or column.codec.noun != "number")
    described = f"{ends}{steps}{bins}" or listed
    groups = _groups(table) if "low" in table and column.private and not space.holds_curves else ((), ())
    kinds = is_set, is_number, is_text
    sizes = bool(table.get("bins")), column.private and (space.size or 0) > _MOST_GROUPS  # curves have no size
    return AskableColumn(column.name, column.kind, values, described, *kinds, *groups, *sizes)


def _groups(table: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The edges of the groups of a number or a date, or the periods of the calendar."""
    bins, low, high = table.get("bins", ()), table["low"], table["high"]
    if table["space"] == "date":
        years = int(str(high)[:4]) - int(str(low)[:4])
        if isinstance(bins, list) and bins:
            return tuple(text_literal(str(edge)) for edge in bins), ()
        return (), _PERIODS.get(str(bins), ("year",) if years > 2 else ("year", "month"))
    if table["space"] == "time":
        return (tuple(text_literal(str(edge)) for edge in bins), ()) if isinstance(bins, list) else ((), ("hour",))
    if not bins:
        low, high = Fraction(str(low)), Fraction(str(high))
        bins = [float(low + (high - low) * n / _GROUPS) for n in range(_GROUPS + 1)]
    return tuple(f"{float(edge):g}" if float(edge) < 1e15 else str(edge) for edge in bins), ()


def built(
    columns: Sequence[AskableColumn],
    table: str,
    chosen: Mapping[str, str],
    *,
    asking: bool = False,
    of_rows: bool = False,
) -> str:
    """The question that was chosen: what, of which number, by which column, where a column has a value.

    By a number or a date it has the groups that are declared; `asking` the private table it has some in any case.
    Planning a release `of_rows`, which has no bins of its own as a central one has, it has some where there are very
    many values.

    >>> sex = AskableColumn("sex", "categories", ("f", "m"), "f, m", False, False, True)
    >>> built([sex], "data", {"what": "count", "by": "sex", "where": "sex", "comparison": "=", "value": "f"})
    "SELECT sex, count(*) AS n FROM data WHERE sex = 'f' GROUP BY sex"
    """
    known = {one.name: one for one in columns}
    number, by, where = (known.get(chosen.get(key, "")) for key in ("number", "by", "where"))
    function, value = chosen.get("what", "count"), chosen.get("value", "").strip()
    if function != "count" and number is None:
        raise QuestionError("choose the number that it is of")
    if (where is None) != (not value):
        raise QuestionError("a condition needs both: the column after “where”, and a value")
    what = "count(*) AS n"
    if number is not None and function != "count":
        what = f"{function}({number.sql}) AS {function}_{re.sub(r'[^A-Za-z0-9_]', '_', number.name)}"
    condition = "" if where is None else f" WHERE {_condition(where, chosen)}"
    if by is None:
        return f"SELECT {what} FROM {table}{condition}"
    grouped = asking or by.has_bins or (of_rows and by.has_many)
    if by.periods and grouped:
        keys = ", ".join(f"{period}({by.sql}) AS {period}" for period in by.periods)
        return f"SELECT {keys}, {what} FROM {table}{condition} GROUP BY {', '.join(by.periods)}"
    if len(by.edges) > 2 and grouped:
        name = f"{re.sub(r'[^A-Za-z0-9_]', '_', by.name)}_group"
        return f"SELECT {_cases(by)} AS {name}, {what} FROM {table}{condition} GROUP BY {name}"
    if by.is_set:
        return f"SELECT unnest({by.sql}) AS item, {what} FROM {table}{condition} GROUP BY item"
    return f"SELECT {by.sql}, {what} FROM {table}{condition} GROUP BY {by.sql}"


def _cases(by: AskableColumn) -> str:
    """The group of a number: which edges it lies between."""
    plain = [edge.strip("'") for edge in by.edges]
    named = [text_literal(f"{low} to {high}") for low, high in pairwise(plain)]
    whens = (f"WHEN {by.sql} < {edge} THEN {name}" for edge, name in zip(by.edges[1:-1], named, strict=False))
    return f"CASE {' '.join(whens)} ELSE {named[-1]} END"


def _condition(where: AskableColumn, chosen: Mapping[str, str]) -> str:
    value = chosen["value"].strip()
    literal = text_literal(value) if where.is_text or not _is_number(value) else value
    if where.is_set:
        negated = "NOT " if chosen.get("comparison") == "<>" else ""
        return f"{negated}list_contains({where.sql}, {literal})"
    return f"{where.sql} {chosen.get('comparison', '=')} {literal}"


def text_literal(text: str) -> str:
    """A text as SQL has it.

    >>> text_literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?", text) is not None


def question_form(
    path: str, columns: Sequence[AskableColumn], table_name: str, typed: Mapping[str, str], error: str | None
) -> dict[str, Any]:
    """The form of a question: its fields, the columns to choose from, and the words that are completed."""
    is_private = table_name == "data"
    open_columns = [column for column in columns if column.kind != "public" or not is_private][: limits.MOST_SHOWN]
    most = 4 * limits.MOST_SHOWN
    literals = [text_literal(value) for column in open_columns if column.is_text for value in column.values][:most]
    words = [*(column.sql for column in open_columns), *_KEYWORDS, table_name, *dict.fromkeys(literals)]
    return {
        "path": path,
        "typed": typed,
        "error": error,
        "default": "preview" if is_private else "query",
        "names": {"": "–", **{column.name: column.name for column in open_columns}},
        "numbers": {"": "–", **{column.name: column.name for column in open_columns if column.is_number}},
        "literals": list(dict.fromkeys([value for column in open_columns for value in column.values][:most])),
        "words": json.dumps(words),
    }

"""The pages of a private table and of a release: a question, its preview, its answer, and what was asked before."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse
from starlette.concurrency import run_in_threadpool

from dproof.columns.column import text_literal
from dproof.errors import DproofError
from dproof.local.release import PLAN
from dproof.plans.plan import Plan
from dproof.serve import api
from dproof.serve.bodies import AskRequest, QueryRequest
from dproof.serve.desk import Desk
from dproof.serve.pages.forms import Fields, checked, refusal
from dproof.serve.pages.layout import (
    MOST_SHOWN,
    address,
    area,
    button,
    choice,
    copied,
    field,
    figure,
    folded,
    link,
    minute,
    page,
    said,
    table,
    verbatim,
)
from dproof.serve.pages.markup import Markup, joined, tag
from dproof.serve.pages.questions import Asked, built, columns_of
from dproof.serve.pages.texts import AGGREGATES, COLUMN_KINDS, COMPARISONS, TEXTS, budget_left, price, promise_of
from dproof.serve.service import Known, TheDesk, TheService
from dproof.serve.tokens import Holder

router = APIRouter(include_in_schema=False)
_KEYWORDS = ("SELECT", "count(*)", "avg(", "sum(", "median(", "FROM", "WHERE", "GROUP BY", "ORDER BY", "AND", "BETWEEN")
_PRICE = {"epsilon": "0.1", "accuracy": "", "delta": "0"}
_MOST_HISTORY = 50  # questions on a page
_CHOSEN = ("what", "number", "by", "where", "comparison", "value")


@router.get("/tables/{name}")
async def shown_table(name: str, request: Request, desk: TheDesk, who: Known) -> HTMLResponse:
    given = dict(request.query_params)
    before = given.pop("before", "")
    asked = {"sql": "SELECT count(*) AS n FROM data", **_PRICE, **given}
    earlier = int(before) if before.isdecimal() and len(before) < 19 else None
    return page(f"Ask {name}", await run_in_threadpool(_table, desk, who, name, asked, before=earlier), who)


@router.post("/tables/{name}")
async def asked_table(name: str, request: Request, service: TheService, who: Known) -> HTMLResponse:
    desk, form = service.desk, await Fields.of(request)
    asked = {key: form.text(key) for key in ("sql", *_PRICE, *_CHOSEN)}
    answer, error = None, None
    try:
        if form.text("do") == "build":
            asked["sql"] = built(columns_of(await run_in_threadpool(_plan, desk, who, name)), "data", asked)
        else:
            answer = await _answered(name, form.text("do"), asked, request, service, who)
    except DproofError as refused:
        error = desk.folder.hide(refusal(refused))
    body = await run_in_threadpool(_table, desk, who, name, asked, answer, error)
    return page(f"Ask {name}", body, who, status=200 if error is None else 400)


@router.get("/tables/{name}/dummy.csv")
async def dummy(name: str, service: TheService, who: Known, rows: int = 100) -> Response:
    """Dummy rows as a file; lists have their items joined by a semicolon."""
    with service.under_way.counted(who):
        made = await service.working(who, lambda: _csv(service.desk.dummy(who, name, rows)))
    headers = {"content-disposition": f'attachment; filename="{name}-dummy.csv"'}
    return Response(made, media_type="text/csv; charset=utf-8", headers=headers)


@router.get("/releases/{name}")
async def shown_release(name: str, desk: TheDesk, who: Known) -> HTMLResponse:
    asked = {"sql": "SELECT count(*) AS n FROM release"}
    return page(f"Query {name}", await run_in_threadpool(_release, desk, name, asked), who)


@router.post("/releases/{name}")
async def queried_release(name: str, request: Request, service: TheService, who: Known) -> HTMLResponse:
    desk, form = service.desk, await Fields.of(request)
    asked = {key: form.text(key) for key in ("sql", *_CHOSEN)}
    answer, error = None, None
    try:
        if form.text("do") == "build":
            asked["sql"] = built(await run_in_threadpool(_release_columns, desk, name), "release", asked)
        else:
            response = await api.query(name, checked(QueryRequest, sql=asked["sql"], chart=True), service, who)
            call = f'.release("{name}").query({json.dumps(asked["sql"], ensure_ascii=False)})'
            answer = _answer(json.loads(bytes(response.body)), _python(request, call), with_command=True)
    except DproofError as refused:
        error = desk.folder.hide(refusal(refused))
    body = await run_in_threadpool(_release, desk, name, asked, answer, error)
    return page(f"Query {name}", body, who, status=200 if error is None else 400)


async def _answered(
    name: str, do: str, asked: Mapping[str, str], request: Request, service: TheService, who: Holder
) -> Markup:
    """A preview, or an answer: by the same functions as programs, so that it leaves at the same ticks."""
    limit = {"accuracy": asked["accuracy"]} if asked["accuracy"].strip() else {"epsilon": asked["epsilon"]}
    question = checked(AskRequest, sql=asked["sql"], delta=asked["delta"].strip() or "0", chart=do == "ask", **limit)
    given = ", ".join(f'{key}="{value}"' for key, value in {**limit, "delta": question.delta}.items() if value != "0")
    call = f'.table("{name}").{do}({json.dumps(asked["sql"], ensure_ascii=False)}, {given})'
    if do != "ask":
        response = await api.preview(name, question, service, who)
        return _preview(json.loads(bytes(response.body)), _python(request, call))
    response = await api.ask(name, question, service, who)
    return _answer(json.loads(bytes(response.body)), _python(request, call), with_command=who.is_custodian)


# The page of a private table -----------------------------------------------------------------------------------------


def _plan(desk: Desk, who: Holder, name: str) -> Plan:
    return Plan.parse(desk.table(who, name)["plan"])


def _table(
    desk: Desk,
    who: Holder,
    name: str,
    asked: Mapping[str, str],
    answer: Markup | None = None,
    error: str | None = None,
    before: int | None = None,
) -> Markup:
    told, history = desk.table(who, name), desk.history(who, name, before=before, most=_MOST_HISTORY + 1)
    columns = columns_of(Plan.parse(told["plan"]))
    path = f"/tables/{quote(name)}"
    prices = tag(
        "div",
        field(
            "ε that it may cost",
            "epsilon",
            asked["epsilon"],
            inputmode="decimal",
            size=8,
            aria_describedby="question-error",
        ),
        field("or ± wanted", "accuracy", asked["accuracy"], inputmode="decimal", size=8),
        field("δ", "delta", asked["delta"], inputmode="decimal", size=8),
        button("Preview", "preview"),
        button("Ask", "ask", main=True),
        class_="row",
    )
    more = joined(tag("p", TEXTS["price"], class_="hint"), prices)
    return joined(
        tag("p", budget_left(told["budget"]), id="left", class_="budget", data_part=True),
        tag("p", TEXTS["ask"]),
        _question(path, columns, "data", asked, more, error),
        tag("section", answer, id="answer", data_part=True),
        folded("What may be asked", _facts(columns, private=True), is_open=answer is None),
        _meaning(told["meaning"]),
        folded("The plan", verbatim(told["plan"])),
        tag("section", tag("h2", "What was asked"), _history(path, history), id="history", data_part=True),
        _dummy(path),
    )


def _history(path: str, history: Sequence[dict[str, Any]]) -> Markup:
    if not history:
        return tag("p", TEXTS["nothing_asked"])
    rows = [
        (
            one["question"],
            f"{one['epsilon']:.6g}",
            joined(minute(one["at"]), not one["answered"] and tag("p", TEXTS["unanswered"], class_="note")),
            link(_again(path, one), "ask again"),
        )
        for one in reversed(history[-_MOST_HISTORY:])
    ]
    is_more = len(history) > _MOST_HISTORY
    return joined(
        tag("p", TEXTS["history"], class_="hint"),
        table(("question", "ε", "when (UTC)", ""), rows, "History"),
        is_more and tag("p", link(f"{path}?before={history[1]['number']}#history", TEXTS["earlier"])),
    )


def _again(path: str, one: Mapping[str, Any]) -> str:
    paid = {key: f"{one[key]:.12g}" for key in ("epsilon", "delta")}
    return f"{path}?{urlencode({'sql': one['question'], **paid})}"


def _meaning(meaning: Mapping[str, Any]) -> Markup:
    """What the promise means to a person, in a sentence and a picture of two bars."""
    right, said = meaning["attack_accuracy"], meaning["in_words"]["guess"]
    sentence = f"Whatever is asked within the whole budget ({price(meaning)}): {said[0].lower()}{said[1:]}"
    bars = [
        (name, tag("meter", f"{value:.0%}", min=0, max=1, value=value, aria_label=name), f"{value:.1%}")
        for name, value in (("a coin", 0.5), ("an attacker, at most", right))
    ]
    return folded("What the promise means to a person", tag("p", sentence), table(("who", "", "right"), bars))


def _dummy(path: str) -> Markup:
    rows = field("Rows", "rows", "100", type="number", min=1, max=10000)
    form = tag("form", rows, tag("button", "Download dummy rows"), action=f"{path}/dummy.csv", class_="row")
    return tag("section", tag("h2", "Dummy rows"), tag("p", TEXTS["dummy"]), form)


# The page of a release -----------------------------------------------------------------------------------------------


def _release_columns(desk: Desk, name: str) -> list[Asked]:
    return columns_of(Plan.read(desk.folder.release(name) / PLAN))


def _release(
    desk: Desk, name: str, asked: Mapping[str, str], answer: Markup | None = None, error: str | None = None
) -> Markup:
    told, columns = desk.release(name), _release_columns(desk, name)
    path = f"/releases/{quote(name)}"
    ways = tag("p", link(f"{path}/report", "Read the report"), " · ", link(f"{path}/download", "Download the release"))
    return joined(
        tag("p", f"{promise_of(told)}, {told['neighbours']} neighbours", class_="budget"),
        ways,
        tag("p", TEXTS["query"]),
        _question(path, columns, "release", asked, tag("p", button("Query", "query", main=True)), error),
        tag("section", answer, id="answer", data_part=True),
        folded("What may be asked", _facts(columns, private=False), is_open=answer is None),
        copied(f"dproof verify releases/{name}", TEXTS["verify"]),
    )


# A question and its answer -------------------------------------------------------------------------------------------


def _question(
    path: str, columns: Sequence[Asked], table_name: str, asked: Mapping[str, str], more: Markup, error: str | None
) -> Markup:
    """The question, written or chosen."""
    open_columns = [one for one in columns if one.kind != "public" or table_name == "release"][:MOST_SHOWN]
    names = {"": "–", **{one.name: one.name for one in open_columns}}
    numbers = {"": "–", **{one.name: one.name for one in open_columns if one.is_number}}
    values = [value for one in open_columns for value in one.values][: 4 * MOST_SHOWN]
    default = tag("button", name="do", value="preview" if table_name == "data" else "query", **_UNSEEN)
    chosen = tag(
        "fieldset",
        tag("legend", "Choose a question"),
        choice("What", "what", asked.get("what", ""), AGGREGATES),
        choice("of", "number", asked.get("number", ""), numbers),
        choice("by", "by", asked.get("by", ""), names),
        choice("where", "where", asked.get("where", ""), names),
        choice("comparison", "comparison", asked.get("comparison", ""), COMPARISONS),
        field("value", "value", asked.get("value", ""), list="values", size=14),
        tag("datalist", (tag("option", value=value) for value in dict.fromkeys(values)), id="values"),
        button("Write it", "build"),
        class_="row",
    )
    literals = [text_literal(value) for one in open_columns if one.is_text for value in one.values][: 4 * MOST_SHOWN]
    words = [*(one.sql for one in open_columns), *_KEYWORDS, table_name, *dict.fromkeys(literals)]
    written = area(
        "Question",
        "sql",
        asked["sql"],
        rows=3,
        required=True,
        data_words=json.dumps(words),
        aria_describedby="question-error",
    )
    return tag(
        "form",
        default,
        chosen,
        tag("div", written, id="question", data_part=True),
        tag("div", id="completion", class_="row"),
        tag("p", TEXTS["completion"], class_="hint script"),
        said(error, "question-error"),
        more,
        method="post",
        action=path,
        data_swap=True,
    )


_UNSEEN = {"class_": "hidden", "tabindex": "-1", "aria_hidden": "true"}  # what the Enter key presses


def _facts(columns: Sequence[Asked], *, private: bool) -> Markup:
    rows = [
        (
            one.name,
            COLUMN_KINDS.get(one.kind, one.kind),
            one.described,
            one.answers or (TEXTS["public_column"] if private else "counts by it"),
        )
        for one in columns
    ]
    return table(("column", "kind", "values or bounds", "what may be asked"), rows, "Columns")


def _preview(told: Mapping[str, Any], python: Markup) -> Markup:
    cost = told["cost"]
    sentence = TEXTS["free"] if told["free"] else f"It costs {price(cost)}."
    rows = [
        (name, TEXTS["depends"] if width is None else f"± {figure(width)}", _use(told, name))
        for name, width in told["half_widths"].items()
    ]
    return joined(
        tag("h2", "Preview"),
        tag("p", sentence, class_="budget"),
        _is_over(told) and tag("p", TEXTS["over_budget"], class_="error"),
        not told["free"] and table(("column", f"± at {told['level']:.0%}", ""), rows, "How good the answer would be"),
        folded("All of the preview", tag("pre", told["text"])),
        python,
    )


def _is_over(told: Mapping[str, Any]) -> bool:
    """Whether a question costs more than is left; a ledger that counts ρ compares that."""
    cost, left = told["cost"], told["remaining"]
    if told["free"] or left is None:
        return False
    keys = ("rho",) if "rho" in cost and "rho" in left else ("epsilon", "delta")
    return any(cost[key] > left[key] for key in keys)


def _use(told: Mapping[str, Any], name: str) -> str:
    return "" if told["informative"].get(name, True) else TEXTS["uninformative"]


def _answer(told: Mapping[str, Any], python: Markup, *, with_command: bool) -> Markup:
    picture = told["chart"] and tag(
        "img",
        class_="chart",
        alt=TEXTS["chart"],
        src=f"data:image/svg+xml;charset=utf-8,{quote(told['chart'])}",
    )
    return joined(
        tag("h2", "Answer"),
        table(told["columns"], told["texts"], "The answer, with 95% intervals"),
        picture,
        (tag("p", note, class_="note") for note in told["notes"]),
        python,
        with_command and copied(told["command"], TEXTS["in_folder"]),
    )


def _python(request: Request, call: str) -> Markup:
    return copied(f'dp.connect("{address(request)}", token){call}', TEXTS["in_python"])


def _csv(made: Any) -> bytes:
    import pyarrow as pa
    import pyarrow.csv

    def plain(column: Any) -> Any:
        if not pa.types.is_nested(column.type):
            return column
        return pa.array([None if v is None else ";".join(map(str, v)) for v in column.to_pylist()], pa.string())

    sink = BytesIO()
    pyarrow.csv.write_csv(pa.table({name: plain(made[name]) for name in made.column_names}), sink)
    return sink.getvalue()

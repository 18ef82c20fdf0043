"""The guided plan: a form for what a custodian knows about a table, and beside it what such a plan would give."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from starlette.concurrency import run_in_threadpool

from dproof.curator.ledger_file import is_begun
from dproof.errors import InputError
from dproof.serve.desk import Desk
from dproof.serve.pages import plan_fields
from dproof.serve.pages.expectation import answer_label, expectation, found_epsilons, meaning_of
from dproof.serve.pages.forms import Fields, refusal
from dproof.serve.pages.layout import (
    MOST_SHOWN,
    button,
    copied,
    enumerated,
    field,
    folded,
    link,
    page,
    said,
    table,
    ticked,
    verbatim,
)
from dproof.serve.pages.markup import Markup, joined, tag
from dproof.serve.pages.texts import TEXTS
from dproof.serve.plan_form import AS_SAVED, PlanForm, drafted, filled
from dproof.serve.service import Custodian, TheDesk
from dproof.serve.tokens import Holder

router = APIRouter(include_in_schema=False)
_ROWS = "10000"  # where the person has not said how many there are


@dataclass(frozen=True, slots=True)
class Typed:
    """What stands in the form: the plan, and what the ± are wanted for."""

    form: PlanForm
    rows: str = _ROWS
    target: str = ""  # a question and a column of its answer, as JSON
    half_width: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """What is told beside the form: a sentence, an error with the path of its key, ± and ε."""

    sentence: str | None = None
    error: InputError | None = None
    expected: Mapping[str, Any] | None = None
    epsilons: Mapping[str, Any] | None = None
    epsilon_error: str | None = None


@router.get("/plans/{name}")
async def shown(name: str, desk: TheDesk, who: Custodian) -> HTMLResponse:
    return page(f"Plan for {name}", await run_in_threadpool(_first, desk, name), who)


@router.post("/plans/{name}")
async def changed(name: str, request: Request, desk: TheDesk, who: Custodian) -> HTMLResponse:
    """Tell what the plan in the form would give; save it; or look for an ε."""
    form = await Fields.of(request)
    body, status = await run_in_threadpool(_changed, desk, who, name, form)
    return page(f"Plan for {name}", body, who, status=status)


@router.post("/plans/{name}/check")
async def check(name: str, desk: TheDesk, who: Custodian) -> HTMLResponse:
    """The confidential look."""
    told = await run_in_threadpool(desk.custody.check, who, name)
    heads = ("column", "missing", "outside", "not a number", "clamped", "most frequent values outside")
    rows = [
        (
            one["name"],
            *(one[key] for key in ("missing", "outside", "no_number", "clamped")),
            ", ".join(f"{value['value']} ({value['rows']:,})" for value in one["values"]),
        )
        for one in told["columns"]
    ]
    body = joined(
        tag("p", told["confidential"], class_="error confidential"),
        tag("p", f"{told['rows']:,} rows"),
        table(heads, rows, "What the plan does not cover"),
        tag("p", TEXTS["checked"], class_="hint"),
        (tag("p", hint, class_="note") for hint in told["hints"]),
        copied(desk.custody.commands(name)[0], TEXTS["in_folder"]),
        tag("p", link(f"/plans/{quote(name)}", f"Back to the plan for {name}")),
    )
    return page(f"Confidential look at {name}", body, who)


def _first(desk: Desk, name: str) -> Markup:
    """The form with the saved plan in it."""
    columns, saved, _ = _opened(desk, name)
    typed = Typed(filled(saved, columns))
    return _page(desk, name, typed, _expected(desk, typed, saved) if saved else Told())


def _changed(desk: Desk, who: Holder, name: str, form: Fields) -> tuple[Markup, int]:
    columns, saved, _ = _opened(desk, name)
    typed = _typed(form, saved, columns)
    if form.text("take"):
        typed = replace(typed, form=replace(typed.form, fields={**typed.form.fields, "epsilon": form.text("take")}))
    told = _expected(desk, typed, saved)
    if form.text("do") == "save" and told.error is None:
        try:
            are_names = form.text("names_are_public") == "true"
            file = desk.custody.save(who, name, drafted(typed.form, saved), names_are_public=are_names)["file"]
            columns, saved, _ = _opened(desk, name)
            typed = replace(typed, form=filled(saved, columns))
            told = replace(told, sentence=TEXTS["saved"].format(file))
        except InputError as error:
            told = replace(told, error=error)
    if form.text("do") == "epsilon" and told.error is None:
        told = _with_epsilons(desk, told, typed, saved)
    is_refused = told.error is not None and form.text("do") != "look"  # who is still typing has done nothing wrong
    return _page(desk, name, typed, told), 400 if is_refused else 200


def _opened(desk: Desk, name: str) -> tuple[list[str], dict[str, Any], str | None]:
    """The columns of a table, its saved plan as nested mappings, and what is wrong with it."""
    found = desk.custody.columns(name)
    try:
        saved = tomllib.loads(found["plan"] or "")
    except tomllib.TOMLDecodeError:
        saved = {}
    return found["columns"], saved, found["wrong"]


def _typed(form: Fields, saved: Mapping[str, Any], columns: list[str]) -> Typed:
    """What came with the form; a column has its fields at the same place of every list."""
    empty = filled(saved, columns)
    fields = {key: form.text(key) for key in empty.fields}
    names = form.all("column")
    lists = {key: form.all(key) for key in plan_fields.OF_COLUMN}
    if any(len(texts) != len(names) for texts in lists.values()):
        raise InputError("the form is not complete: load the page again")
    typed = {name: {key: texts[place] for key, texts in lists.items()} for place, name in enumerate(names)}
    known = {name: typed.get(name, before) for name, before in empty.columns.items()}
    if any(one["kind"] == AS_SAVED != empty.columns[name]["kind"] for name, one in known.items()):
        raise InputError("the form is not complete: load the page again")
    kept = tuple(path for path in empty.kept if json.dumps(path) in form.all("keep"))
    made = PlanForm(fields, known, kept, empty.parts)
    return Typed(made, form.text("row_count", _ROWS), form.text("target"), form.text("half_width"))


def _expected(desk: Desk, typed: Typed, saved: Mapping[str, Any]) -> Told:
    """What the plan in the form would give."""
    if all(one["kind"] in ("drop", "public") for one in typed.form.columns.values()):
        return Told()
    try:
        return Told(expected=desk.custody.expected(drafted(typed.form, saved), _whole(typed.rows)))
    except InputError as error:
        return Told(error=error)


def _with_epsilons(desk: Desk, told: Told, typed: Typed, saved: Mapping[str, Any]) -> Told:
    try:
        question, column = json.loads(typed.target or '["", ""]')
        draft, wanted = drafted(typed.form, saved), typed.half_width or "0"
        return replace(told, epsilons=desk.custody.epsilon(draft, _whole(typed.rows), question, column, wanted))
    except (InputError, ValueError) as error:
        return replace(told, epsilon_error=refusal(error))


def _whole(text: str) -> int:
    plain = text.strip().replace(",", "").replace(" ", "")
    return int(plain) if plain.isdecimal() and len(plain) <= 12 else 0


def _page(desk: Desk, name: str, typed: Typed, told: Told) -> Markup:
    found = desk.custody.columns(name)
    commands = desk.custody.commands(name)
    begun, is_saved = is_begun(desk.folder.ledger(name)), found["plan"] is not None
    if len(found["columns"]) > MOST_SHOWN:
        wide = tag("p", TEXTS["wide"].format(len(found["columns"]), MOST_SHOWN, name), class_="error")
        return joined(
            _notes(desk, found, begun),
            wide,
            copied(commands[3], TEXTS["in_folder"]),
            _next(desk, name, is_saved, commands),
        )
    priced = f"dproof plan plans/{name}.toml --rows {_whole(typed.rows)}"
    places = plan_fields.error_places(told.error, typed.form)
    form = tag(
        "form",
        tag(
            "div",
            _doubtful(found),
            plan_fields.columns(typed.form, places),
            plan_fields.promise(typed.form, typed.rows, places),
            plan_fields.kept(typed.form, places),
            plan_fields.said_at(places, "plan"),
            tag(
                "p",
                button("Show what it gives", "look"),
                button("Save the plan", "save", main=True, disabled=begun),
                class_="row",
            ),
            tag("p", told.sentence, id="saved", class_="budget", data_part=True),
        ),
        tag(
            "aside",
            tag("div", expectation(told.expected, told.error), id="expected", data_part=True),
            _wanted(typed, told),
            tag("div", told.expected and meaning_of(told.expected, priced), id="meaning", data_part=True),
            aria_label="What the plan would give",
        ),
        class_="beside",
        method="post",
        action=f"/plans/{quote(name)}",
        data_swap=True,
        data_live=True,
    )
    return joined(_notes(desk, found, begun), form, _next(desk, name, is_saved, commands))


def _notes(desk: Desk, found: Mapping[str, Any], begun: bool) -> Markup:
    """Where the form comes from."""
    text = found["plan"]
    state = TEXTS["plan_new"] if text is None else TEXTS["plan_saved"]
    wrong = found["wrong"] and tag("p", TEXTS["plan_wrong"], desk.folder.hide(found["wrong"]), class_="error")
    comments = text is not None and not begun and any(line.lstrip().startswith("#") for line in text.splitlines())
    return tag(
        "div",
        tag("p", TEXTS["plan"]),
        tag("p", state, " ", TEXTS["plan_comments"] if comments else None, " ", TEXTS["plan_fixed"] if begun else None),
        wrong,
        text is not None and folded("The file", verbatim(text)),
        id="notes",
        data_part=True,
    )


def _doubtful(found: Mapping[str, Any]) -> Markup | None:
    """Where names look like values, the custodian says that they are names before they become public."""
    doubtful = found["doubtful"]
    if not doubtful:
        return None
    sentence = TEXTS["names"].format(len(doubtful), len(found["columns"]), enumerated(doubtful, 5))
    box = ticked(TEXTS["names_public"], "names_are_public", "true", False)
    return tag("fieldset", tag("legend", "The first line"), tag("p", sentence, class_="error"), box)


def _wanted(typed: Typed, told: Told) -> Markup:
    """Which ε gives a ± that is wanted."""
    answers = [] if told.expected is None else [*told.expected["questions"], *told.expected["columns"]]
    options = []
    for one in answers:
        key = json.dumps([one.get("question", ""), one.get("column", one.get("name"))])
        options.append(tag("option", answer_label(one), value=key, selected=key == typed.target))
    target = tag("label", tag("span", "of"), tag("select", options, name="target"), id="target", data_part=True)
    return tag(
        "section",
        tag("h2", "ε from a ±"),
        tag("p", TEXTS["wanted"], class_="hint"),
        tag(
            "div",
            field(
                "± wanted",
                "half_width",
                typed.half_width,
                inputmode="decimal",
                size=8,
                aria_describedby="epsilon-error",
            ),
            target,
            button("Find ε", "epsilon"),
            class_="row",
        ),
        said(told.epsilon_error, "epsilon-error"),
        tag("div", told.epsilons and found_epsilons(told.epsilons), id="epsilons", data_part=True),
    )


def _next(desk: Desk, name: str, is_saved: bool, commands: list[str]) -> Markup:
    """What comes after the plan: the confidential look, a release, tokens."""
    unfinished = desk.unfinished(name) if is_saved else []
    paid = unfinished and tag("p", TEXTS["unfinished"].format(enumerated(unfinished)), class_="budget", id="unfinished")
    looked = tag("form", tag("button", "Confidential look"), method="post", action=f"/plans/{quote(name)}/check")
    made = tag(
        "form",
        field("Name of the release", "release", (unfinished or [name])[0], required=True, size=16, maxlength=64),
        tag("button", "Sanitise", class_="main"),
        method="post",
        action=f"/plans/{quote(name)}/sanitise",
        class_="row",
    )
    steps = joined(
        tag("section", tag("h2", "Look at what the plan misses"), tag("p", TEXTS["check"]), looked),
        copied(commands[0], TEXTS["in_folder"]),
        tag("section", tag("h2", "Make a release"), tag("p", TEXTS["sanitise"]), paid, made),
        copied(commands[2], TEXTS["in_folder"]),
        tag(
            "section",
            tag("h2", "Let analysts ask"),
            tag("p", TEXTS["ask_instead"]),
            tag("p", link("/custody", TEXTS["to_tokens"])),
        ),
    )
    return tag("div", steps if is_saved else tag("p", TEXTS["check_first"]), id="next", data_part=True)

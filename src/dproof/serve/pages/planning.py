"""The guided plan, step by step: the table, its columns, whom to trust, questions, what it gives, and the release.

Every step shows the draft that is kept (`dproof.serve.custody`), and what is typed is kept at once, mistakes and all.
All that is wrong is told beside its field, on the step that has it, and is counted at the top of every step.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.exceptions import HTTPException

from dproof import (
    ArgumentError,
    Cost,
    DproofError,
    InputError,
    Ledger,
    Plan,
    PlanError,
    Privacy,
    QuestionError,
    SourceError,
    WrongKey,
    explain,
    notebook,
    plan_problems,
    shown_ways,
    warnings_before,
)
from dproof.errors import with_notes
from dproof.serve import limits, plan_form
from dproof.serve.custody import CHANGED, Draft, edition_of
from dproof.serve.desk import Desk
from dproof.serve.pages import Fields, Sent, page
from dproof.serve.pages.asking import built, columns_of, question_form
from dproof.serve.plan_form import ABOUT, AS_SAVED, COLUMN_FIELDS, FILE, PROMISE, RELEASE
from dproof.serve.service import Custodian, TheDesk
from dproof.serve.tokens import Holder

router = APIRouter(include_in_schema=False)
STEPS = {
    "table": "Table",
    "columns": "Columns",
    "trust": "Whom to trust",
    "questions": "Questions",
    "gives": "What it gives",
    "release": "Release",
}
_ORDER = list(STEPS)
_PARTS = {"file": "table", "columns": "columns", "privacy": "trust", "about": "trust"}
_PARTS |= {"questions": "questions", "release": "questions"}
_EPSILONS = ("0.1", "0.5", "1", "3")
_CHOSEN = {"what": "count", "number": "", "by": "", "where": "", "comparison": "=", "value": ""}


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong: on which step, beside which of its fields, and what to do."""

    step: str
    place: str  # of its error on the page
    key: str | None  # the field that is wrong
    sentence: str
    of: str = ""  # the column or question that it is about


@dataclass(frozen=True, slots=True)
class Planning:
    """A table whose plan is being written: the draft, the names in its header, and all that is wrong.

    `fault` is why the table cannot be read, and `is_paid` whether the plan has to stay as it is.
    """

    name: str
    draft: Draft
    names: Sequence[str]
    doubtful: Sequence[str]
    fault: str | None
    is_paid: bool
    problems: Sequence[Problem]
    edition: str  # of the draft that is kept

    @property
    def plan(self) -> Mapping[str, Any]:
        return self.draft.plan

    @property
    def is_saved(self) -> bool:
        """Whether the plan's file says what the draft does."""
        try:
            return self.draft.saved is not None and _plain(tomllib.loads(self.draft.saved)) == _plain(self.plan)
        except tomllib.TOMLDecodeError:
            return False

    @property
    def is_central(self) -> bool:
        return bool(self.plan.get("privacy", {}).get("model") == "central")

    def of(self, step: str) -> list[Problem]:
        return [one for one in self.problems if one.step == step]


def _plain(tables: Mapping[str, Any]) -> Any:
    """A plan as JSON has it: dates are kept as texts in a draft."""
    return json.loads(json.dumps(tables, default=str))


def planning(desk: Desk, name: str, draft: Draft | None = None) -> Planning:
    """The table whose plan is being written, with the draft that is kept or another one."""
    desk.folder.file(name)  # says so where there is none
    draft = desk.custody.draft(name) if draft is None else draft
    edition = draft.edition
    names, doubtful, fault = list[str](), list[str](), None
    try:
        found = desk.custody.header(name, draft)
        names, doubtful = list(found.names), desk.custody.doubtful(name, found)
    except InputError as error:
        fault = plan_form.fault_in_words(desk.folder.hide(str(error)))
    is_paid = desk.folder.is_paid(name)
    if draft.names_are_public and not set(doubtful) <= set(draft.public_names):  # the table is another one
        draft = replace(draft, names_are_public=False)
    if names and draft.plan and not is_paid:
        draft = replace(draft, plan=plan_form.matched(draft.plan, names))
    wrong = [] if is_paid or not draft.plan else plan_problems(draft.plan)
    problems = [_placed(one, draft.plan) for one in wrong] + list(_unsaid(draft, doubtful, fault, is_paid))
    return Planning(name, draft, names, doubtful, fault, is_paid, problems, edition)


def _placed(error: WrongKey, plan: Mapping[str, Any]) -> Problem:
    """Where a mistake is told, in the words of the form: beside its column or part of the form."""
    part, *more = error.path or ("plan",)
    key, sentence = plan_form.in_words(error.path or ("plan",), error.sentence)
    columns = list(plan.get("columns", {}))
    if part == "columns" and more and more[0] in columns:
        return Problem("columns", f"column-{columns.index(more[0])}", key or "kind", sentence, more[0])
    if part == "questions" and more and more[0].isdecimal():
        return Problem("questions", f"question-{int(more[0]) - 1}", key or "sql", sentence, f"question {more[0]}")
    if part == "shuffle":
        return Problem("trust", "rows", "row_count", sentence)
    step = _PARTS.get(part, "release")
    return Problem(step, part if part in _PARTS else "plan", key if more or part in _PARTS else None, sentence)


def _said(error: InputError, plan: Mapping[str, Any]) -> str:
    """What is wrong, in the words of the form where it has a field for it."""
    if not isinstance(error, WrongKey):
        return str(error)
    told = _placed(error, plan)
    return f"{told.of}: {told.sentence}" if told.of else told.sentence


def _unsaid(draft: Draft, doubtful: Sequence[str], fault: str | None, is_paid: bool) -> list[Problem]:
    """What a custodian has to say before a plan is public."""
    found = []
    if fault is not None:
        found.append(Problem("table", "fault", None, f"the table cannot be read: {fault}"))
    if doubtful and not is_paid and not draft.names_are_public:
        found.append(
            Problem(
                "table",
                "names",
                "names_are_public",
                "names in the first line look like values, or stand there twice: say what they are",
            )
        )
    if draft.seen and not is_paid:
        text = f"values of {len(draft.seen)} columns come from the table, and a plan is public: read them through"
        found.append(Problem("columns", "seen", "read_through", text))
    if not 1 <= draft.row_count <= limits.MOST_EXPECTED_ROWS:
        most = f"say about how many rows the table has, from 1 to {limits.MOST_EXPECTED_ROWS:,}"
        found.append(Problem("trust", "rows", "row_count", most))
    if not draft.plan and fault is None:
        found.append(Problem("table", "begin", None, "nothing is planned yet: look at the table, or begin by hand"))
    return found


def _shown_before(desk: Desk, who: Holder, name: str, sent: Fields) -> Planning:
    """The table whose plan is being written, unless a form shows what another has changed since.

    Who goes back to an earlier page of their own may send that.
    """
    now, edition = planning(desk, name), sent.get("edition", "")
    if edition and edition != now.edition and now.draft.by != who.number:
        raise PlanError(CHANGED)
    return now


# The steps -----------------------------------------------------------------------------------------------------------


@router.get("/plans/{name}")
def first_step(name: str, desk: TheDesk, who: Custodian) -> Response:
    return shown_step(name, "table", desk, who)


@router.post("/plans/{name}")
def changed_first_step(name: str, desk: TheDesk, who: Custodian, sent: Sent) -> Response:
    return changed_step(name, "table", desk, who, sent)


@router.get("/plans/{name}/notebook.ipynb")
def notebook_file(name: str, desk: TheDesk, who: Custodian) -> Response:
    """The notebook that does what the pages did."""
    file, plan, draft = desk.folder.file(name).name, desk.folder.plan(name), desk.custody.draft(name)
    made = notebook(
        f"tables/{file}",
        plan,
        rows=draft.row_count or 1,
        out=f"releases/{name}",
        ledger=f"ledgers/{name}.db",
        title=plan_form.fields_of(tomllib.loads(plan.text), "about", ABOUT)["title"],
    )
    return _download(json.dumps(made, indent=1, ensure_ascii=False), f"{name}.ipynb", "application/x-ipynb+json")


@router.get("/plans/{name}/commands.sh")
def commands_file(name: str, desk: TheDesk, who: Custodian) -> Response:
    """The commands that do what the pages did."""
    desk.folder.plan(name)
    told = desk.custody.commands(name, rows=desk.custody.draft(name).row_count)
    lines = ["# In the folder that is served.", *(told[key] for key in ("check", "plan", "sanitise", "verify"))]
    return _download("\n".join([*lines, ""]), f"{name}.sh", "text/x-shellscript")


@router.get("/plans/{name}/plan.toml")
def plan_file(name: str, desk: TheDesk, who: Custodian) -> Response:
    return _download(desk.folder.plan(name).text, f"{name}.toml", "application/toml")


def _download(text: str, name: str, kind: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=f"{kind}; charset=utf-8", headers=headers)


@router.get("/plans/{name}/{step}")
def shown_step(name: str, step: str, desk: TheDesk, who: Custodian) -> Response:
    if step not in STEPS:
        raise HTTPException(404)
    return _step_page(desk, who, planning(desk, name), step)


@router.post("/plans/{name}/check")
def check(name: str, desk: TheDesk, who: Custodian, sent: Sent) -> HTMLResponse:
    """The confidential look, at what the plan that is written does not cover."""
    _save(desk, who, _shown_before(desk, who, name, sent))
    found, command = desk.custody.check(who, name), desk.custody.commands(name)["check"]
    return page("check.html", f"Confidential look at {name}", who, found=found, name=name, command=command)


@router.post("/plans/{name}/sanitise")
def sanitise(name: str, desk: TheDesk, who: Custodian, sent: Sent) -> Response:
    """Say what a release costs, and make it when that is answered."""
    release, error = sent.get("release", "").strip(), None
    if sent.get("sure", "") == "yes":
        if sent.get("shown", "") not in ("", edition_of(desk.folder.state(name))):
            raise PlanError(
                "the plan or the table was changed since you were asked, so nothing was spent: look at it again"
            )
        job = desk.custody.sanitise(who, name, release, anyway=sent.get("anyway", "") == "true")
        return RedirectResponse(f"/jobs/{job}?release={quote(release)}", 303)
    _save(desk, who, _shown_before(desk, who, name, sent))
    desk.folder.new_release(release)  # refused before anything is asked
    shown = edition_of(desk.folder.state(name))  # as old as what is shown, or older
    plan, unfinished = desk.folder.plan(name), release in desk.unfinished(name)
    cost = Cost.of(plan.promise(plan.rows_per_person)).to_json()
    # The first release begins the ledger with what it costs.
    left = desk.budget(who, name) if Ledger.is_begun(desk.folder.ledger(name)) else None
    if left and not unfinished and any(cost[key] > left["remaining"][key] for key in ("epsilon", "delta")):
        error = "What is left does not pay for it: it would be refused, and nothing would be spent."
    context: dict[str, Any] = {
        "name": name,
        "release": release,
        "shown": shown,
        "cost": cost,
        "left": left,
        "warnings": warnings_before(plan),
        "unfinished": unfinished,
        "error": error,
        "command": desk.custody.commands(name, release=release)["sanitise"],
    }
    return page("confirm.html", f"Make the release {release}?", who, **context)


@router.post("/plans/{name}/remove")
def remove(name: str, desk: TheDesk, who: Custodian, sent: Sent) -> Response:
    """Remove a table that nothing is paid for, with its plan, when the question whether that is meant is answered."""
    if sent.get("sure", "") != "yes":
        raise ArgumentError("tick that the table and its plan shall be removed")
    desk.custody.remove(who, name)
    return RedirectResponse("/custody", 303)


@router.post("/plans/{name}/{step}")
def changed_step(name: str, step: str, desk: TheDesk, who: Custodian, sent: Sent) -> Response:
    """Keep what was typed on a step; then go on to the next, or show what else was asked for."""
    if step not in STEPS:
        raise HTTPException(404)
    now, do = _shown_before(desk, who, name, sent), sent.get("do", "")
    shown: dict[str, Any] = {}
    draft = _TYPED[step](desk, who, now, sent, shown)
    if draft is not now.draft:
        with desk.custody.unchanged(name, now.edition):
            desk.custody.store_draft(who, name, draft)
        now = planning(desk, name)
    if do == "save":
        shown["saved_as"] = _save(desk, who, now)
        now = planning(desk, name)
    begun = step == "table" and do in ("fill", "begin")
    if step != _ORDER[-1] and (begun or (do == "next" and not now.of(step))) and "error" not in shown:
        return RedirectResponse(_path(name, _ORDER[_ORDER.index(step) + 1]), 303)
    is_wrong = (do == "next" and now.of(step)) or "error" in shown
    return _step_page(desk, who, now, step, status=400 if is_wrong else 200, **shown)


def _save(desk: Desk, who: Holder, now: Planning) -> str:
    """Write the draft as the plan of the table, unless it says what the file does."""
    if now.is_saved or (now.is_paid and not now.problems):
        return f"plans/{now.name}.toml"
    if now.problems:
        first = now.problems[0]
        raise PlanError(f"the plan is not finished: {STEPS[first.step]}: {first.sentence}")
    public = now.draft.names_are_public
    with desk.custody.unchanged(now.name, now.edition):
        saved = desk.custody.save(who, now.name, now.plan, names_are_public=public)
        desk.custody.store_draft(who, now.name, replace(now.draft, saved=saved["plan"]))
    return str(saved["file"])


def _path(name: str, step: str) -> str:
    return f"/plans/{quote(name)}" if step == "table" else f"/plans/{quote(name)}/{step}"


# What was typed ------------------------------------------------------------------------------------------------------


def _typed_table(desk: Desk, who: Holder, now: Planning, sent: Fields, shown: dict[str, Any]) -> Draft:
    file = {key: sent.get(key, "") for key in FILE}
    are_public = sent.get("names_are_public", "") == edition_of(now.doubtful)  # those that were shown
    draft = replace(
        now.draft,
        plan=plan_form.with_fields(now.plan, "file", file) if any(file.values()) or now.plan.get("file") else now.plan,
        names_are_public=now.draft.names_are_public or are_public,
        public_names=tuple(now.doubtful) if are_public else now.draft.public_names,
    )
    if sent.get("do", "") in ("fill", "begin"):
        if len(now.names) > limits.MOST_SHOWN:
            raise ArgumentError(f"a table of more than {limits.MOST_SHOWN} columns is planned in a file")
        try:
            draft = desk.custody.first_draft(who, now.name, draft, look=sent.get("do", "") == "fill")
        except SourceError as error:  # the fields that say how the file is written are on this step
            shown["error"] = plan_form.fault_in_words(desk.folder.hide(str(error)))
    return draft


def _typed_columns(desk: Desk, who: Holder, now: Planning, sent: Fields, shown: dict[str, Any]) -> Draft:
    """A column has its fields at the same place of every list."""
    names = sent.getlist("column")
    lists = {key: sent.getlist(key) for key in COLUMN_FIELDS}
    known = now.plan.get("columns", {})
    if any(len(texts) != len(names) for texts in lists.values()) or not set(names) <= known.keys():
        raise ArgumentError("the form is not complete: load the page again")
    typed = {name: {key: texts[place] for key, texts in lists.items()} for place, name in enumerate(names)}
    every = sent.get("all_missing", "")
    if every:
        typed = {name: {**one, "missing": every} if one["missing"] != "value" else one for name, one in typed.items()}
    seen = () if sent.get("read_through", "") == "true" else now.draft.seen
    return replace(now.draft, plan=plan_form.with_columns(now.plan, typed), seen=seen)


def _typed_trust(desk: Desk, who: Holder, now: Planning, sent: Fields, shown: dict[str, Any]) -> Draft:
    plan = plan_form.with_fields(now.plan, "privacy", {key: sent.get(key, "") for key in PROMISE})
    if now.plan.get("about") or any(sent.get(key, "").strip() for key in ABOUT):
        plan = plan_form.with_fields(plan, "about", {key: sent.get(key, "") for key in ABOUT})
    draft = replace(now.draft, rows=sent.get("row_count", now.draft.rows))
    if plan["privacy"].get("model") == "shuffled":
        plan["shuffle"] = {**plan.get("shuffle", {}), "rows": draft.row_count}
    elif "rows" in plan.get("shuffle", {}):
        plan["shuffle"] = _without(plan["shuffle"], "rows")
    if not plan.get("shuffle", True):
        del plan["shuffle"]
    if plan["privacy"].get("model") != "central":
        plan.pop("release", None)
    elif "release" not in plan and not plan.get("questions"):
        plan["release"] = {"tables": 2, "sums": True}  # without sums no mean of a number can be told
    person = plan["privacy"].get("person")
    if person in plan.get("columns", {}):
        plan["columns"][person] = {"drop": True}
    return replace(draft, plan=plan)


def _typed_questions(desk: Desk, who: Holder, now: Planning, sent: Fields, shown: dict[str, Any]) -> Draft:
    asked = list(zip(sent.getlist("sql"), sent.getlist("share"), strict=False))
    chosen = {key: sent.get(key, "") for key in _CHOSEN}
    shown["chosen"] = chosen
    if sent.get("do", "") == "build":
        try:
            of_rows = now.plan.get("privacy", {}).get("model") != "central"
            asked.append((built(_askable(now.plan), "data", chosen, of_rows=of_rows), ""))
            shown["chosen"] = _CHOSEN
        except QuestionError as error:
            shown["error"] = str(error)
    if (gone := sent.get("remove", "")).isdecimal():
        asked = [one for place, one in enumerate(asked) if place != int(gone)]
    plan = plan_form.with_questions(now.plan, asked)
    plan = plan_form.with_release(plan, {key: sent.get(f"measured_{key}", "") for key in RELEASE})
    if sent.get("do", "") == "only":
        try:
            plan = _only_asked(plan)
        except InputError as error:
            shown["error"] = _said(error, plan)
    return replace(now.draft, plan=plan)


def _only_asked(plan: Mapping[str, Any]) -> dict[str, Any]:
    """A central plan that measures what its questions need and nothing else: other columns are left out."""
    plain = {"privacy": {"epsilon": 1}, "questions": plan.get("questions", []), "columns": plan.get("columns", {})}
    asked = Plan.from_dict(plain).questions
    if not asked:
        raise PlanError("write a question first: only what questions need would be measured")
    needed = {name for one in asked for name in one.question.columns}
    columns = {name: table if name in needed else _dropped(table) for name, table in plain["columns"].items()}
    kept = {key: value for key, value in plan.get("release", {}).items() if key not in ("tables", "sums")}
    return {**_without(plan, "release"), **({"release": kept} if kept else {}), "columns": columns}


def _with(part: str, key: str, value: Any) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    return lambda plan: {**plan, part: {**plan.get(part, {}), key: value}}


_HELP: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {  # what a button beside a hint does to the plan
    "tables": _with("release", "tables", 1),
    "sums": _with("release", "sums", True),
    "delta": _with("privacy", "delta", "1e-6"),
    "neighbours": _with("privacy", "neighbours", "add-remove"),
    "rows": _with("privacy", "rows_per_person", 1),
    "questions": _only_asked,
}


def _dropped(table: Mapping[str, Any]) -> dict[str, Any]:
    return {"drop": True, **({"columns": table["columns"]} if "columns" in table else {})}


def _typed_gives(desk: Desk, who: Holder, now: Planning, sent: Fields, shown: dict[str, Any]) -> Draft:
    draft = replace(now.draft, rows=sent.get("row_count", now.draft.rows))
    shown |= {key: sent.get(key, "") for key in ("target", "half_width")}
    plan = dict(draft.plan)
    if epsilon := sent.get("take", ""):  # one that was found
        plan["privacy"] = {**plan.get("privacy", {}), "epsilon": epsilon}
    if (kind := sent.get("help", "")) in _HELP:
        try:
            plan = _HELP[kind](plan)
        except InputError as refused:
            shown["error"] = _said(refused, plan)
    if sent.get("do", "") == "epsilon":
        try:
            question, column = json.loads(shown["target"] or '["", ""]')
            wanted = shown["half_width"] or "0"
            shown["epsilons"] = desk.custody.epsilon(plan, draft.row_count, question, column, wanted)
        except (InputError, ValueError) as refused:
            shown["epsilon_error"] = with_notes(refused)
    return replace(draft, plan=plan)


def _typed_release(desk: Desk, who: Holder, now: Planning, sent: Fields, shown: dict[str, Any]) -> Draft:
    if sent.get("do", "") != "text":
        return now.draft
    try:
        plan = tomllib.loads(sent.get("text", ""))
        plan_form.check_shape(plan)
        return replace(now.draft, plan=plan)
    except tomllib.TOMLDecodeError as error:
        shown |= {"error": f"that is no TOML: {error}", "text": sent.get("text", "")}
    except PlanError as error:
        shown |= {"error": str(error), "text": sent.get("text", "")}
    return now.draft


_TYPED: Mapping[str, Callable[[Desk, Holder, Planning, Fields, dict[str, Any]], Draft]] = {
    "table": _typed_table,
    "columns": _typed_columns,
    "trust": _typed_trust,
    "questions": _typed_questions,
    "gives": _typed_gives,
    "release": _typed_release,
}


# What is shown -------------------------------------------------------------------------------------------------------


def _step_page(
    desk: Desk, who: Holder, now: Planning, step: str, *, status: int = 200, error: str | None = None, **shown: Any
) -> HTMLResponse:
    at = _ORDER.index(step)
    steps = [
        {"path": _path(now.name, key), "title": title, "here": key == step, "problems": len(now.of(key))}
        for key, title in STEPS.items()
    ]
    places: dict[str, tuple[str, str | None]] = {}
    for one in now.of(step):
        places.setdefault(one.place, (one.sentence, one.key))
    context = {
        "now": now,
        "name": now.name,
        "step": step,
        "steps": steps,
        "after": STEPS[_ORDER[at + 1]] if at + 1 < len(_ORDER) else None,
        "path": _path(now.name, step),
        "errors": places,
        "error": error,
        "saved_as": None,
        **_SHOWN[step](desk, now, shown),
        **shown,
    }
    title = f"{STEPS[step]}: {now.name}"
    return page(f"step_{step}.html", title, who, status=status, **context)


def _widths(desk: Desk, now: Planning) -> dict[str, Any]:
    """± in the plan's own way, or why nothing can be told yet; neither while every column is left out."""
    columns = now.plan.get("columns", {}).values()
    if not any(isinstance(one, Mapping) and "space" in one for one in columns):
        return {"widths": None, "incomplete": None}
    try:
        return {"widths": desk.custody.widths(now.plan, now.draft.row_count), "incomplete": None}
    except InputError as error:
        return {"widths": None, "incomplete": _said(error, now.plan)}


def _shown_table(desk: Desk, now: Planning, shown: Mapping[str, Any]) -> dict[str, Any]:
    from dproof.serve.api import ENDINGS

    fields = plan_form.fields_of(now.plan, "file", FILE)
    told = {"fields": fields, "endings": ENDINGS, "commands": desk.custody.commands(now.name)}
    return {**told, "names": edition_of(now.doubtful)}


def _shown_columns(desk: Desk, now: Planning, shown: Mapping[str, Any]) -> dict[str, Any]:
    tables = now.plan.get("columns", {})
    typed = plan_form.columns_of(now.plan)
    books = {key for key, one in typed.items() if plan_form.looks_like_code_book(one["values"])}
    return {
        "columns": typed,
        "kinds": {name: plan_form.kinds_of(table) for name, table in tables.items()},
        "summaries": {name: plan_form.summary(table) for name, table in tables.items()},
        "code_books": books,
        "as_saved": AS_SAVED,
        **_widths(desk, now),
    }


def _shown_trust(desk: Desk, now: Planning, shown: Mapping[str, Any]) -> dict[str, Any]:
    meaning = None
    try:
        plan = Plan.from_dict(now.plan)
        if plan.shuffle.rows is None:  # what a row loses whatever its order is only known from its law
            meaning = {
                "model": plan.model,
                "rows_per_person": plan.rows_per_person,
                "meaning": explain(plan.promise(plan.rows_per_person), rows_per_person=plan.rows_per_person),
            }
    except DproofError:
        pass
    single = [name for name, table in now.plan.get("columns", {}).items() if "columns" not in table]
    return {
        "fields": plan_form.fields_of(now.plan, "privacy", PROMISE),
        "about": plan_form.fields_of(now.plan, "about", ABOUT),
        "persons": {"": "each row is a person", **{name: name for name in single}},
        "epsilons": {one: explain(Privacy(one))["attack_accuracy"] for one in _EPSILONS},
        "meaning": meaning,
        **_widths(desk, now),
    }


def _shown_questions(desk: Desk, now: Planning, shown: Mapping[str, Any]) -> dict[str, Any]:
    chosen = shown.get("chosen", _CHOSEN)
    return {
        "questions": plan_form.questions_of(now.plan),
        "fields": plan_form.fields_of(now.plan, "release", RELEASE),
        "ask": question_form("", _askable(now.plan), "data", chosen, None),
        "chosen": chosen,
        **_widths(desk, now),
    }


def _askable(plan: Mapping[str, Any]) -> list[Any]:
    """The columns that a question can be chosen of, as far as the plan can be read."""
    try:
        return columns_of(Plan.from_dict(_without(plan, "questions", "release", "joint")))
    except DproofError:
        return []


def _without(plan: Mapping[str, Any], *parts: str) -> dict[str, Any]:
    return {key: value for key, value in plan.items() if key not in parts}


def _shown_gives(desk: Desk, now: Planning, shown: Mapping[str, Any]) -> dict[str, Any]:
    new = {"target": "", "half_width": "", "epsilons": None, "epsilon_error": None, "help": _HELP}
    none: dict[str, Any] = {
        "expected": None,
        "shown": None,
        "incomplete": None,
        "titles": [],
        "targets": {},
        "costliest": None,
    }
    if not now.plan:
        return {**none, **new}
    try:
        expected = desk.custody.expected(now.plan, now.draft.row_count)
    except InputError as error:
        return {**none, **new, "incomplete": _said(error, now.plan)}
    return {**none, **new, **expectation(expected)}


def expectation(expected: Mapping[str, Any]) -> dict[str, Any]:
    """± each way, of which ε can be found for some, and the column that costs most."""
    ways, targets = shown_ways(expected), dict[str, str]()
    for one, row in zip(expected["answers"], ways.answers, strict=True):
        targets.setdefault(json.dumps([one["question"], one["column"]]), row.label)
    return {
        "expected": expected,
        "shown": ways,
        "titles": [_way_title(way) for way in expected["ways"]],
        "targets": targets,
        "costliest": _costliest(expected["shares"]),
    }


def _way_title(way: Mapping[str, Any]) -> str:
    title = str(way["title"]).replace("δ=", "δ = ")
    if way["model"] == "ask":
        title = "asking one question" if way["questions"] == 1 else f"asking {way['questions']} questions"
    return f"{title} (this plan)" if way["own"] else title


def _costliest(given: Mapping[str, float]) -> dict[str, Any]:
    """The column that takes the largest share of the privacy loss; none of fewer than two, nor of equal shares."""
    shares = {name: share for name, share in given.items() if share}
    if len(shares) < 2:
        return {"name": None, "is_even": False}
    name = max(shares, key=shares.__getitem__)
    is_even = max(shares.values()) - min(shares.values()) < 0.005
    return {"name": name, "is_even": is_even, "share": f"{shares[name]:.0%}"}


def _shown_release(desk: Desk, now: Planning, shown: Mapping[str, Any]) -> dict[str, Any]:
    has_plan = now.draft.saved is not None
    text = now.draft.saved or ""
    if not now.is_saved and not now.problems:
        text = Plan.from_dict(now.plan).text
    listed = [{"path": _path(now.name, one.step), "step": STEPS[one.step], "problem": one} for one in now.problems]
    return {
        "listed": listed,
        "has_plan": has_plan,
        "text": text,
        "unfinished": desk.unfinished(now.name) if has_plan else [],
        "commands": desk.custody.commands(now.name, rows=now.draft.row_count),
    }


_SHOWN: Mapping[str, Callable[[Desk, Planning, Mapping[str, Any]], dict[str, Any]]] = {
    "table": _shown_table,
    "columns": _shown_columns,
    "trust": _shown_trust,
    "questions": _shown_questions,
    "gives": _shown_gives,
    "release": _shown_release,
}

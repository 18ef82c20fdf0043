"""The guided plan: a form for what a custodian knows about a table, and beside it what such a plan would give."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from dproof import ArgumentError, InputError, Ledger, WrongKey
from dproof.errors import with_notes
from dproof.serve import limits
from dproof.serve.desk import Desk
from dproof.serve.pages import Fields, Sent, page
from dproof.serve.plan_form import AS_SAVED, COLUMN_FIELDS, KINDS, PlanForm, drafted, filled, looks_like_code_book
from dproof.serve.service import Custodian, TheDesk
from dproof.serve.tokens import Holder

router = APIRouter(include_in_schema=False)
_ROWS = "10000"  # where the person has not said how many there are


@router.post("/plans/{name}/check")
def check(name: str, desk: TheDesk, who: Custodian) -> HTMLResponse:
    """The confidential look."""
    found, command = desk.custody.check(who, name), desk.custody.commands(name)["check"]
    return page("check.html", f"Confidential look at {name}", who, found=found, name=name, command=command)


@router.get("/plans/{name}")
def shown_plan(name: str, desk: TheDesk, who: Custodian) -> HTMLResponse:
    """The form with the saved plan in it."""
    found = desk.custody.columns(name)
    saved, is_wide = _tables_of(found["plan"]), len(found["columns"]) > limits.MOST_SHOWN
    form = filled(saved, [] if is_wide else found["columns"])  # one that is too wide for a form is not shown in it
    expected, error = _expected(desk, form, saved, _ROWS) if saved and not is_wide else (None, None)
    return _plan_page(desk, who, name, found, form, expected=expected, error=error)


@router.post("/plans/{name}")
def changed_plan(name: str, desk: TheDesk, who: Custodian, sent: Sent) -> HTMLResponse:
    """Tell what the plan in the form would give; save it; or look for an ε."""
    found = desk.custody.columns(name)
    saved, do = _tables_of(found["plan"]), sent.get("do", "")
    form, rows = _typed(sent, saved, found["columns"]), sent.get("row_count", _ROWS)
    shown: dict[str, Any] = {"row_count": rows, **{key: sent.get(key, "") for key in ("target", "half_width")}}
    expected, error = _expected(desk, form, saved, rows)
    if do == "save" and error is None:
        try:
            are_names = sent.get("names_are_public", "") == "true"
            shown["saved_as"] = desk.custody.save(who, name, drafted(form, saved), names_are_public=are_names)["file"]
            found = desk.custody.columns(name)
            form = filled(_tables_of(found["plan"]), found["columns"])
        except InputError as refused:
            error = refused
    if do == "epsilon" and error is None:
        try:
            question, column = json.loads(shown["target"] or '["", ""]')
            draft, wanted = drafted(form, saved), shown["half_width"] or "0"
            shown["epsilons"] = desk.custody.epsilon(draft, _whole(rows), question, column, wanted)
        except (InputError, ValueError) as refused:
            shown["epsilon_error"] = with_notes(refused)
    status = 200 if error is None or do == "look" else 400  # who is still typing has done nothing wrong
    return _plan_page(desk, who, name, found, form, expected=expected, error=error, status=status, **shown)


def _tables_of(plan: str | None) -> dict[str, Any]:
    """A saved plan as nested mappings; one that is no TOML is as none."""
    try:
        return tomllib.loads(plan or "")
    except tomllib.TOMLDecodeError:
        return {}


def _typed(sent: Fields, saved: Mapping[str, Any], columns: list[str]) -> PlanForm:
    """What came with the form; a column has its fields at the same place of every list."""
    empty = filled(saved, columns)
    fields = {key: sent.get(key, "") for key in empty.fields}
    if sent.get("take", ""):  # an ε that was found
        fields["epsilon"] = sent.get("take", "")
    names = sent.getlist("column")
    lists = {key: sent.getlist(key) for key in COLUMN_FIELDS}
    if any(len(texts) != len(names) for texts in lists.values()):
        raise ArgumentError("the form is not complete: load the page again")
    typed = {name: {key: texts[place] for key, texts in lists.items()} for place, name in enumerate(names)}
    known = {name: typed.get(name, before) for name, before in empty.columns.items()}
    if any(one["kind"] == AS_SAVED != empty.columns[name]["kind"] for name, one in known.items()):
        raise ArgumentError("the form is not complete: load the page again")
    kept = tuple(path for path in empty.kept if json.dumps(path) in sent.getlist("keep"))
    return PlanForm(fields, known, kept, empty.parts)


def _expected(
    desk: Desk, form: PlanForm, saved: Mapping[str, Any], rows: str
) -> tuple[dict[str, Any] | None, InputError | None]:
    """What the plan in the form would give, or what is wrong with it; neither while no column has a kind."""
    if all(one["kind"] in ("drop", "public") for one in form.columns.values()):
        return None, None
    try:
        return desk.custody.expected(drafted(form, saved), _whole(rows)), None
    except InputError as error:
        return None, error


def _whole(text: str) -> int:
    plain = text.strip().replace(",", "").replace(" ", "")
    return int(plain) if plain.isdecimal() and len(plain) <= 12 else 0


def _plan_page(
    desk: Desk,
    who: Holder,
    name: str,
    found: dict[str, Any],
    form: PlanForm,
    *,
    expected: Mapping[str, Any] | None,
    error: InputError | None,
    status: int = 200,
    **shown: Any,
) -> HTMLResponse:
    text, has_ledger = found["plan"], Ledger.is_begun(desk.folder.ledger(name))
    has_comments = text is not None and any(line.lstrip().startswith("#") for line in text.splitlines())
    rows = shown.get("row_count", _ROWS)
    typed = form.columns.items()
    context = {
        "found": found | {"wrong": found["wrong"] and desk.folder.hide(found["wrong"])},
        "has_comments": has_comments and not has_ledger,
        "has_ledger": has_ledger,
        "commands": desk.custody.commands(name, rows=_whole(rows)),
        "kinds": KINDS,
        "code_books": {key for key, one in typed if one["taken"] == "line" and looks_like_code_book(one["values"])},
        "persons": {"": "each row is a person", **{column: column for column in form.columns}},
        "kept": {json.dumps(path): _label(path) for path in form.kept},
        "errors": error_places(error, form),
        "unfinished": [] if text is None else desk.unfinished(name),
        **expectation(expected, error),
    }
    new = {"row_count": rows, "target": "", "half_width": "", "saved_as": None, "epsilons": None, "epsilon_error": None}
    return page(
        "plan.html", f"Plan for {name}", who, status=status, name=name, form=form, **context, **{**new, **shown}
    )


def expectation(expected: Mapping[str, Any] | None, error: InputError | None) -> dict[str, Any]:
    """What the part beside the form shows: ± each way, the column that costs most, and why nothing can be told."""
    incomplete = error.sentence if isinstance(error, WrongKey) else error and str(error)
    answers = [] if expected is None else [*expected["questions"], *expected["columns"]]
    keys = (json.dumps([one.get("question", ""), one.get("column", one.get("name"))]) for one in answers)
    return {
        "expected": expected,
        "incomplete": incomplete,
        "answers": dict(zip(keys, answers, strict=True)),
        "costliest": {"name": None, "is_even": False} if expected is None else _costliest(expected["columns"]),
    }


def _costliest(columns: list[dict[str, Any]]) -> dict[str, Any]:
    """The column that takes the largest share of the privacy loss; none of fewer than two, nor of equal shares."""
    shares = {one["name"]: one["share"] for one in columns if one["share"]}
    if len(shares) < 2:
        return {"name": None, "is_even": False}
    name = max(shares, key=shares.__getitem__)
    is_even = max(shares.values()) - min(shares.values()) < 0.005
    return {"name": name, "is_even": is_even, "share": f"{shares[name]:.0%}"}


def error_places(error: Exception | None, form: PlanForm) -> dict[str, tuple[str, str | None]]:
    """Where an error is told, with its field: beside its column or part of the form, or below the form."""
    if error is None:
        return {}
    if not isinstance(error, WrongKey):
        return {"plan": (str(error), None)}
    part, *more = error.path or ("plan",)
    key = error.path[-1] if more else None
    if part == "columns" and more and more[0] in form.columns:
        place = f"column-{list(form.columns).index(more[0])}"
        if len(more) > 1:
            return {place: (error.sentence.removeprefix(f"columns.{more[0]}."), key)}
        return {place: (error.sentence.removeprefix("columns."), "kind")}
    if part in ("privacy", "questions", "release"):
        return {part: (error.sentence, key)}
    return {"kept" if part in ("joint", "order", "file") else "plan": (error.sentence, None)}


def _label(path: tuple[str, ...]) -> str:
    return f"[[{path[0]}]]" if path == ("joint",) else f"[{path[0]}]" if path == ("file",) else ".".join(path)

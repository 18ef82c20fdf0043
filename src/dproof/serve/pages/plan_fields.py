"""The fields of the guided plan, and where an error in it is told."""

from __future__ import annotations

import json
from collections.abc import Mapping

from dproof.plans.reader import WrongKey
from dproof.serve.pages import texts
from dproof.serve.pages.layout import area, choice, field, said, ticked
from dproof.serve.pages.markup import Markup, joined, tag
from dproof.serve.pages.texts import TEXTS
from dproof.serve.plan_form import AS_SAVED, PlanForm, looks_like_code_book

OF_COLUMN = (
    *("kind", "values", "taken", "separator", "low", "high", "step", "bins"),
    *("outside", "outside_value", "missing", "stand_in"),
)
Places = Mapping[str, tuple[str, str | None]]  # where a sentence is told, with the name of the field that is wrong


def error_places(error: Exception | None, form: PlanForm) -> Places:
    """Where an error is told: beside its column or its part of the form, or else below the form."""
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


def said_at(places: Places, place: str) -> Markup:
    """The place of an error of the form."""
    sentence, key = places.get(place, (None, None))
    return said(sentence, f"error-{place}", key)


def columns(form: PlanForm, places: Places) -> Markup:
    """A box for each column of the table."""
    boxes = [_column(place, name, typed, places) for place, (name, typed) in enumerate(form.columns.items())]
    parts = [
        tag("fieldset", tag("legend", name), tag("p", TEXTS["part_of"].format(whole)), class_="column")
        for name, whole in form.parts.items()
    ]
    return tag("section", tag("h2", "Columns"), boxes, parts)


def _column(place: int, name: str, typed: Mapping[str, str], places: Places) -> Markup:
    error = f"column-{place}"
    kinds = {**({AS_SAVED: "as the plan has it"} if typed["kind"] == AS_SAVED else {}), **texts.KINDS}
    described = {"aria_describedby": f"error-{error}"}

    def one(key: str, label: str, size: int = 7) -> Markup:
        return field(label, key, typed[key], size=size, **described)

    hint = looks_like_code_book(typed["values"]) and typed["taken"] == "line"
    values = joined(
        area(TEXTS["values"], "values", typed["values"], rows=3, **described),
        choice("Of each line take", "taken", typed["taken"], texts.TAKEN),
        tag("p", TEXTS["code_book"] if hint else None, id=f"hint-{place}", class_="note", data_part=True),
    )
    bounds = joined(one("low", "Low"), one("high", "High"), one("step", TEXTS["step"]))
    treated = joined(
        choice("Values outside", "outside", typed["outside"], texts.OUTSIDE),
        tag("span", one("outside_value", TEXTS["outside_value"]), class_="of-other"),
        choice("Missing values", "missing", typed["missing"], texts.MISSING),
        tag("span", one("stand_in", "Missing values count as"), class_="of-value"),
    )
    return tag(
        "fieldset",
        tag("legend", name),
        tag("input", type="hidden", name="column", value=name),
        choice("Kind", "kind", typed["kind"], kinds, aria_label=f"Kind of {name}", **described),
        typed["kind"] == AS_SAVED and tag("p", TEXTS["as_saved"], class_="note of-saved"),
        tag("div", values, class_="of-values"),
        tag("div", one("separator", "Items are separated by", 3), class_="of-subsets"),
        tag("div", bounds, one("bins", TEXTS["bins"], 24), class_="of-number"),
        tag("div", treated, class_="of-private"),
        said_at(places, error),
        class_="column",
    )


def promise(form: PlanForm, rows: str, places: Places) -> Markup:
    """What people are promised, who is trusted, and what will be asked."""
    fields = form.fields
    persons = {"": "each row is a person", **{name: name for name in form.columns}}
    described = {"aria_describedby": "error-privacy"}
    return joined(
        tag(
            "fieldset",
            tag("legend", "The promise to a person"),
            tag("p", TEXTS["promise"], class_="hint"),
            choice("Who is trusted", "model", fields["model"], texts.MODELS),
            field("ε", "epsilon", fields["epsilon"], size=6, inputmode="decimal", **described),
            field("δ", "delta", fields["delta"], size=8, inputmode="decimal", **described),
            choice("Neighbours", "neighbours", fields["neighbours"], texts.NEIGHBOURS),
            choice("A person is named by", "person", fields["person"], persons),
            field("Rows of a person, at most", "rows_per_person", fields["rows_per_person"], size=4, **described),
            field(TEXTS["rows"], "row_count", rows, size=10, inputmode="numeric"),
            said_at(places, "privacy"),
        ),
        tag(
            "fieldset",
            tag("legend", "What will be asked"),
            area(
                TEXTS["questions"],
                "questions",
                fields["questions"],
                rows=3,
                placeholder="SELECT sex, count(*) AS n FROM data GROUP BY sex",
                aria_describedby="error-questions",
            ),
            said_at(places, "questions"),
            tag("p", TEXTS["questions_central"], class_="hint of-central"),
            tag("div", _release(fields), said_at(places, "release"), class_="of-central"),
        ),
    )


def _release(fields: Mapping[str, str]) -> Markup:
    options = texts.TABLES if fields["tables"] in texts.TABLES else {**texts.TABLES, fields["tables"]: fields["tables"]}
    return joined(
        choice(TEXTS["release_tables"], "tables", fields["tables"], options),
        ticked(TEXTS["release_sums"], "sums", "true", fields["sums"] == "true"),
        ticked(TEXTS["release_rows"], "rows", "true", fields["rows"] == "true"),
    )


def kept(form: PlanForm, places: Places) -> Markup:
    """What the saved plan has and the form has no field for."""
    known = form.kept
    boxes = [ticked(_label(path), "keep", json.dumps(path), True) for path in known]
    body = known and joined(tag("legend", "Kept from the saved plan"), tag("p", TEXTS["kept"]), boxes)
    return joined(
        tag("fieldset", body, id="kept") if known else None,
        said_at(places, "kept"),
    )


def _label(path: tuple[str, ...]) -> str:
    return f"[[{path[0]}]]" if path == ("joint",) else f"[{path[0]}]" if path == ("file",) else ".".join(path)

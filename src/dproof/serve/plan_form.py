"""A plan as the fields of a form, and the fields as a plan.

A field that was not changed leaves its key in the plan as it is. What the form has no field for is kept, and listed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from dproof import plan_keys

_SPACES = {  # that the form has fields for, in the words of its page
    "categories": "categories: one of some values",
    "interval": "a number",
    "date": "a date",
    "subsets": "a set of items",
}
KINDS = {"drop": "leave it out", **_SPACES, "public": "public: released as it is"}
Tables = Mapping[str, Any]
Path = tuple[str, ...]
AS_SAVED = "as saved"  # the kind of a column that the form cannot show
_PROMISE = ("model", "epsilon", "delta", "neighbours", "person", "rows_per_person")
_USUAL = {
    "model": "local",
    "epsilon": "",
    "delta": "0",
    "neighbours": "change-one",
    "person": "",
    "rows_per_person": "1",
}
_NEW = {**_USUAL, "model": "central", "epsilon": "1", "delta": "1e-6"}
_NEW_RELEASE = {"sums": True}  # without them no mean of a number can be told
_RELEASE = ("tables", "sums", "rows")
_FIELDS = ("values", "low", "high", "step", "bins", "separator", "outside", "outside_value", "missing")
COLUMN_FIELDS = ("kind", "taken", "stand_in", *_FIELDS)
_KEYS = {  # of a column, that the form has fields for
    "drop": (),
    "public": (),
    **{kind: tuple(key.name for key in plan_keys(kind) if key.name in _FIELDS) for kind in _SPACES},
}
_CODE = re.compile(r"\s*(?:=|:|\t|;|,|\s-\s|\s–\s)\s*")  # between the code and the label of a line of a code book


@dataclass(frozen=True, slots=True)
class PlanForm:
    """The fields of a form: those of the plan, those of each column of the table, and the keys that are kept."""

    fields: Mapping[str, str]
    columns: Mapping[str, Mapping[str, str]]
    kept: tuple[Path, ...] = ()
    parts: Mapping[str, str] = field(default_factory=dict)  # of the columns that are a part of another: of which


def filled(saved: Tables, names: Sequence[str]) -> PlanForm:
    """The form for a table with these columns, with what its saved plan has in it; {} where it has none.

    >>> age = {"space": "interval", "low": 0, "high": 9}
    >>> form = filled({"privacy": {"epsilon": 2}, "columns": {"age": age}}, ["age"])
    >>> form.fields["epsilon"], form.columns["age"]["high"], form.columns["age"]["missing"]
    ('2', '9', 'refuse')
    """
    promise, release = _subtable(saved, "privacy"), _subtable(saved, "release") if saved else _NEW_RELEASE
    fields = {key: _text(promise.get(key, (_USUAL if saved else _NEW)[key])) for key in _PROMISE}
    fields |= {key: "" if isinstance(release.get(key), list) else _text(release.get(key, "")) for key in _RELEASE}
    fields["questions"] = "\n".join(_one_line(one) for one in _sublist(saved, "questions"))
    columns = _subtable(saved, "columns")
    parts = {
        source: name
        for name, table in columns.items()
        if isinstance(table, Mapping)
        for source in (table.get("columns") or ())
        if source != name
    }
    shown = {name: _column_fields(columns.get(name)) for name in names if name not in parts}
    return PlanForm(fields, shown, tuple(_unknown(saved)), parts)


def drafted(form: PlanForm, saved: Tables) -> dict[str, Any]:
    """The plan that a form makes of the saved one, as nested mappings.

    >>> saved = {"privacy": {"epsilon": 2}, "columns": {"sex": {"space": "categories", "values": [0, 1], "share": 2}}}
    >>> drafted(filled(saved, ["sex"]), saved) == saved
    True
    """
    tables: dict[str, Any] = deepcopy(dict(saved))
    for path in set(_unknown(saved)) - set(form.kept):
        _remove(tables, path)
    before = filled(saved, list(form.columns)) if saved else PlanForm({}, {})
    promise = tables.setdefault("privacy", {})
    for key in _PROMISE:
        default = "" if key in ("person", "rows_per_person") else None  # one row of a person is nothing to say
        text = "" if key == "rows_per_person" and form.fields[key] == "1" else form.fields[key]
        _set(promise, key, form.fields[key], before.fields.get(key), None if text == default else _promised(key, text))
    _set_release(tables, form.fields, before.fields)
    _set_questions(tables, form.fields["questions"], before.fields.get("questions"))
    columns = tables.setdefault("columns", {})
    for name, typed in form.columns.items():
        _set_column(columns, name, typed, before.columns.get(name))
    return tables


def values_of(text: str, taken: str = "line") -> list[str]:
    """The values in what was typed or pasted: whole lines, one part of each, or what stands between commas.

    >>> values_of("1 = male\\n2 = female", "code"), values_of("a, b", "commas")
    (['1', '2'], ['a', 'b'])
    """
    lines = [line.strip() for line in text.replace(";", ",").split(",")] if taken == "commas" else text.splitlines()
    place = {"code": 0, "label": -1}.get(taken)
    found = [line.strip() if place is None else _CODE.split(line.strip(), maxsplit=1)[place] for line in lines]
    return list(dict.fromkeys(value.strip().strip('"') for value in found if value.strip()))


def looks_like_code_book(text: str) -> bool:
    """Whether every line has a code and a label.

    >>> looks_like_code_book("1 = male\\n2 = female"), looks_like_code_book("Bonn\\nKöln: left bank")
    (True, False)
    """
    lines = [line for line in text.splitlines() if line.strip()]
    return len(lines) > 1 and all(len(_CODE.split(line.strip(), maxsplit=1)) == 2 for line in lines)


# From a plan to fields -----------------------------------------------------------------------------------------------


def _column_fields(table: Any) -> dict[str, str]:
    """The fields of a column, empty where the plan has none; None is a column of a new plan."""
    given = table if isinstance(table, Mapping) else {}
    kind = next((flag for flag in ("drop", "public") if given.get(flag)), _text(given.get("space", "drop")))
    if kind not in _KEYS or "columns" in given:
        kind = AS_SAVED
    values, bins = given.get("values", ()), given.get("bins", ())
    fields = {key: _text(given.get(key, "")) for key in ("low", "high", "step", "separator", "outside_value")}
    fields |= {
        "kind": kind,
        "taken": "line",
        "values": "\n".join(map(_text, values)),
        "bins": bins if isinstance(bins, str) else ", ".join(map(_text, bins)),
    }
    if kind not in _SPACES or not isinstance(table, Mapping):  # a new column: nothing stops the work
        return fields | {
            "outside": "keep",
            "missing": "category",
            "stand_in": "",
            "separator": fields["separator"] or ";",
        }
    missing = given.get("missing", "refuse")
    ways = ("refuse", "category")
    fields["outside"] = "refuse" if given.get("outside", _outside_ways(kind)[0]) == "refuse" else "keep"
    fields["missing"] = missing if missing in ways else "value"
    fields["stand_in"] = "" if missing in ways else _joined(missing, fields["separator"])
    return fields


def _joined(value: Any, separator: str) -> str:
    return (separator or ";").join(map(_text, value)) if isinstance(value, list) else _text(value)


def _unknown(saved: Tables) -> list[Path]:
    """The keys of a plan that the form has no field for."""
    found: list[Path] = [(key,) for key in saved if key not in ("privacy", "columns", "questions", "release")]
    found += [("privacy", key) for key in _subtable(saved, "privacy") if key not in _PROMISE]
    release = _subtable(saved, "release")
    found += [("release", key) for key in release if key not in _RELEASE or isinstance(release[key], list)]
    for name, table in _subtable(saved, "columns").items():
        kind = _column_fields(table)["kind"]
        if kind != AS_SAVED and isinstance(table, Mapping):
            found += [("columns", name, key) for key in table if key not in ("space", "drop", "public", *_KEYS[kind])]
    if any(set(one) - {"sql"} for one in _sublist(saved, "questions") if isinstance(one, Mapping)):
        found.append(("questions", "weight"))
    return found


def _remove(tables: dict[str, Any], path: Path) -> None:
    if path == ("questions", "weight"):
        tables["questions"] = [{"sql": one["sql"]} for one in tables["questions"]]
        return
    for key in path[:-1]:
        tables = tables[key]
    tables.pop(path[-1], None)


def _one_line(question: Any) -> str:
    return " ".join(str(question.get("sql", "")).split()) if isinstance(question, Mapping) else ""


def _subtable(tables: Tables, key: str) -> Tables:
    found = tables.get(key)
    return found if isinstance(found, Mapping) else {}


def _sublist(tables: Tables, key: str) -> list[Any]:
    found = tables.get(key)
    return found if isinstance(found, list) else []


def _text(value: Any) -> str:
    return ("true" if value else "") if isinstance(value, bool) else str(value)


# From fields to a plan -----------------------------------------------------------------------------------------------


def _set(table: dict[str, Any], key: str, typed: str, before: str | None, value: Any) -> None:
    """Put a value under a key, or nothing where it is None; what was not changed stays as it is."""
    if typed == before:
        return
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value


def _promised(key: str, text: str) -> Any:
    return _number(text) if key == "rows_per_person" else text


def _set_release(tables: dict[str, Any], typed: Mapping[str, str], before: Mapping[str, str]) -> None:
    if typed["model"] != "central":
        tables.pop("release", None)
        return
    release = tables.setdefault("release", {})
    chosen_by_questions = not typed["tables"] and typed["questions"].strip()
    for key in _RELEASE:
        if key == "sums" and chosen_by_questions:
            release.pop(key, None)
            continue
        value = _number(typed[key]) if key == "tables" else typed[key] == "true"
        _set(release, key, typed[key], before.get(key), value if typed[key] else None)
    if not release:
        del tables["release"]


def _set_questions(tables: dict[str, Any], typed: str, before: str | None) -> None:
    if typed.split() == (before or "").split():
        return
    known = {_one_line(one): one for one in _sublist(tables, "questions")}
    lines = [" ".join(line.split()) for line in typed.splitlines() if line.strip()]
    tables["questions"] = [known.get(line, {"sql": line}) for line in lines]
    if not lines:
        del tables["questions"]


def _set_column(columns: dict[str, Any], name: str, typed: Mapping[str, str], before: Mapping[str, str] | None) -> None:
    kind = typed["kind"]
    if kind == AS_SAVED:
        return
    if name not in columns or before is None or kind != before["kind"]:
        columns[name] = {kind: True} if kind in ("drop", "public") else {"space": kind}
        before = None
    for key in _KEYS[kind]:
        used = _USED.get(key, (key,))
        was = None if before is None else "\0".join(before[part] for part in used)
        _set(columns[name], key, "\0".join(typed[part] for part in used), was, _VALUES.get(key, _plain)(key, typed))


def _plain(key: str, typed: Mapping[str, str]) -> Any:
    text = typed[key].strip()
    if not text:
        return None
    return _number(text) if _form_of(typed["kind"], key) in ("number", "whole number") else text


def _values(key: str, typed: Mapping[str, str]) -> list[Any]:
    """Numbers where all of them are written as numbers usually are: 007 is a text."""
    texts = values_of(typed["values"], typed["taken"])
    numbers = [_number(text) for text in texts]
    are_numbers = not _holds_items(typed) and all(str(n) == text for n, text in zip(numbers, texts, strict=True))
    return numbers if are_numbers and not any(isinstance(n, str) for n in numbers) else list(texts)


def _bins(key: str, typed: Mapping[str, str]) -> list[Any] | str | None:
    """Edges, or the name of periods of the calendar."""
    edges = [edge.strip() for edge in typed["bins"].replace(";", ",").split(",") if edge.strip()]
    if len(edges) == 1 and edges[0].isalpha():
        return edges[0]
    return [_number(edge) if _has_numbers(typed) else edge for edge in edges] or None


def _outside_ways(kind: str) -> tuple[str, ...]:
    """The ways in which a plan treats a value outside; first the usual."""
    return next(key.options for key in plan_keys(kind) if key.name == "outside")


def _outside(key: str, typed: Mapping[str, str]) -> str:
    ways = _outside_ways(typed["kind"])
    return "refuse" if typed["outside"] == "refuse" else next(way for way in ways if way != "refuse")


def _outside_value(key: str, typed: Mapping[str, str]) -> Any:
    text = typed[key].strip()
    if not text or typed["outside"] == "refuse":
        return None
    return _number(text) if _has_numbers(typed) else text


def _has_numbers(typed: Mapping[str, str]) -> bool:
    is_interval = _form_of(typed["kind"], "low") == "number"
    return is_interval or any(not isinstance(value, str) for value in _values("values", typed))


def _holds_items(typed: Mapping[str, str]) -> bool:
    return _form_of(typed["kind"], "values") == "texts"


def _form_of(kind: str, name: str) -> str | None:
    """The form of what stands under a key of a space, if it has the key."""
    return next((key.form for key in plan_keys(kind) if key.name == name), None)


def _missing(key: str, typed: Mapping[str, str]) -> Any:
    text = typed["stand_in"].strip()
    if typed["missing"] != "value":
        return typed["missing"]
    if _holds_items(typed):
        return [part.strip() for part in text.split(typed["separator"] or ";") if part.strip()]
    return _number(text) if _has_numbers(typed) else text


def _number(text: str) -> Any:
    """A number as TOML writes it, or the text where it is none: then the plan says what is wrong."""
    for kind in (int, float):
        try:
            return kind(text.strip())
        except ValueError:
            continue
    return text.strip()


_USED = {  # the fields that make a key
    "values": ("values", "taken"),
    "missing": ("missing", "stand_in"),
    "outside_value": ("outside_value", "outside"),
}
_VALUES: dict[str, Callable[[str, Mapping[str, str]], Any]] = {
    "values": _values,
    "bins": _bins,
    "outside": _outside,
    "outside_value": _outside_value,
    "missing": _missing,
}

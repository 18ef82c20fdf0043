"""A plan as the fields of forms, and the fields as a plan.

A field that was not changed leaves its key in the plan as it is; what no form has a field for stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from dproof import PlanError, plan_keys

_SPACES = {  # that the form has fields for, in the words of its page
    "categories": "categories: one of some values",
    "interval": "a number",
    "date": "a date",
    "time": "a time of day",
    "subsets": "a set of items",
}
_KINDS = {"drop": "leave it out", **_SPACES, "public": "public: released as it is"}
Tables = Mapping[str, Any]
Fields = Mapping[str, str]
AS_SAVED, APART = "as saved", "apart"  # the kind of a column that the form cannot show, and of several that are one
_SAID = {AS_SAVED: "as the plan has it", "curves": "one curve", "drop": "leave them out", APART: "each by itself"}
PROMISE = ("model", "epsilon", "delta", "neighbours", "person", "rows_per_person")
_USUAL = {
    "model": "local",
    "epsilon": "",
    "delta": "0",
    "neighbours": "change-one",
    "person": "",
    "rows_per_person": "1",
}
ABOUT = ("title", "custodian", "contact", "purpose")
FILE = ("separator", "encoding", "decimal", "thousands", "units", "sheet", "header")
RELEASE = ("tables", "sums", "rows")
_FIELDS = ("values", "low", "high", "step", "bins", "format", "separator", "outside", "outside_value", "missing")
_SURVEY = ("question", "help")  # what a survey shows of a column
COLUMN_FIELDS = ("kind", "taken", "stand_in", *_FIELDS, *_SURVEY)
_KEYS = {  # of a column, that the form has fields for
    "drop": (),
    "public": (),
    "curves": ("low", "high"),
    **{kind: (*(key.name for key in plan_keys(kind) if key.name in _FIELDS), *_SURVEY) for kind in _SPACES},
}
_PARTS = ("privacy", "file", "about", "release", "shuffle")  # of a plan, which are tables
_SHAPES: Mapping[str, tuple[type, ...]] = {"space": (str,), "columns": (list,), "bins": (str, list)}  # of a column
_NAMED: Mapping[type, str] = {str: "a text", list: "a list"}
_CODE = re.compile(r"\s*(?:=|:|\t|;|,|\s-\s|\s–\s)\s*")  # between the code and the label of a line of a code book


_LABELS: Mapping[str, Mapping[str, str]] = {  # with which the label of a key's field begins
    "columns": {
        "space": "Kind",
        "values": "Values",
        "separator": "Items are separated by",
        "low": "Low",
        "high": "High",
        "step": "Step",
        "bins": "Groups to ask about",
        "format": "Written as",
        "outside": "Values outside",
        "outside_value": "Label of other",
        "missing": "Missing values count as",
        "question": "In a survey",
        "help": "What helps to answer it",
    },
    "privacy": {
        "model": "Who is trusted",
        "epsilon": "ε",
        "delta": "δ",
        "neighbours": "Neighbours",
        "person": "A person is named by",
        "rows_per_person": "Rows of a person, at most",
    },
    "file": {
        "separator": "Between columns",
        "decimal": "Decimal sign",
        "thousands": "Between thousands",
        "units": "Beside numbers",
        "encoding": "Encoding",
        "header": "Line with the names",
        "sheet": "Sheet of a workbook",
    },
    "about": {"title": "Title", "custodian": "Custodian", "contact": "Contact", "purpose": "Purpose"},
    "questions": {"share_of_rows": "Part of the rows that it is about"},
    "shuffle": {"rows": "Rows of the table, about"},
}
_OF_A_NEW_PLAN = ", and for a new plan `dproof init --header 2`"  # a command, where the page has a field
_NAMES = {("columns", "missing"): "stand_in", ("questions", "share_of_rows"): "share"}  # of fields, not as their keys
_NO_NUMBER = re.compile(r"the number must be a finite number such as .*, not (.*)", re.DOTALL)
_IN_WORDS = [  # what a plan is told of its keys, and what a form says in its place
    (r"is still open: fill in what you know", "is empty: fill in what you know"),
    (r"is missing: write epsilon = .*", "is empty: 1 is usual"),
    (r"must be a list of edges (of the same kind as low and high)?(?:, such as .*)?(.*)", r"must be edges \1\2"),
    (r"edges from low to high, such as \[(.*)\]", r"edges from low to high with commas between, such as \1"),
    (r"^from (.*) is not a", r"step: from \1 is not a"),
    (r"end (?:at|on) (\S+) or ([^\s,]+)", r"let high be \1 or \2"),
    (r"leave the step out", "leave step empty"),
    (r"must be \"refuse\", \"category\" or one of the values", "must be one of the values"),
    (r"must be a value of the space, \"refuse\" or \"category\"", "must be a value that the column can have"),
    (r"names the person of each row, so it must have drop = true", "it names the person of each row: leave it out"),
    (
        r"are all dropped or public.*",
        "every column is left out or public, so nothing would be released: give one a kind",
    ),
    (r"must be one ASCII character such as .*", "must be one sign, such as , or ; or the word tab"),
    (r"must be \",\" \"\.\" \" \" \"'\" or nothing, \"\"", "must be one of , . ' or a blank; empty: nothing"),
    (r"(must be signs beside numbers, .*), such as \"€ %\"(.*)", r"\1, such as € %\2"),
    (r"belongs to model = 'central'.*", "what is measured is for a central plan: choose whom to trust anew"),
]
_STARTS = re.compile(r"(must|is|has|have|cannot|stands|names|takes) ")  # of a text that a label stands before


def in_words(path: Sequence[str], sentence: str) -> tuple[str | None, str]:
    """What is wrong with a plan in the words of its form, and the field that is meant.

    >>> in_words(("columns", "age"), "columns.age is wrong: low must not lie above high; exchange them")
    ('low', '“Low” must not lie above “High”; exchange them')
    """
    part, key = path[0], path[-1] if path[0] != "columns" or len(path) > 2 else None
    labels, text = _LABELS.get(part, {}), sentence.removeprefix(".".join(path)).lstrip(". ")
    is_said = text.startswith(("is wrong: ", "has no answer from tables: "))
    text = text.partition(": ")[2] if is_said else text
    if found := _NO_NUMBER.fullmatch(text):
        comma = re.fullmatch(r"\s*([-+]?\d+),(\d+)\s*", found[1])
        text = f"must be a number such as 1 or 0.5, not {found[1]}"
        text += f": write {comma[1]}.{comma[2]}, with a point" if comma else ""
    for pattern, said in _IN_WORDS:
        text = re.sub(pattern, said, text)
    named = re.compile(rf"(?<![\w'])({'|'.join(labels)})(?![\w'])") if labels and part != "questions" else None
    if key is not None and key in labels:
        text = f"“{labels[key]}” {text}" if _STARTS.match(text) else text
    elif named is not None and (first := named.search(text)):
        key = first[1]
        text = named.sub(lambda one: f"“{labels[one[1]]}”", text)
    return _NAMES.get((part, key or ""), key), text


_HINTS_IN_WORDS = [  # what would help a plan, and what a form says in its place
    (r"^tables = 1 under \[release\]", "measuring every column by itself"),
    (r"^rows_per_person = 1 under \[privacy\]", "counting one row of each person"),
    (r'^neighbours = "add-remove"', "protecting the number of rows too (add-remove)"),
    (r'^delta = "(.*)" under \[privacy\]', r"a δ of \1"),
    (r"sums = true under \[release\] gives", "“with sums of numbers” gives"),
    (
        r"^(declaring your questions under \[\[questions\]\]|leaving out .* under \[release\])",
        "measuring what the questions need only",
    ),
    (r"\[\[questions\]\] for", "questions for"),
    (r'^mechanism = "unbiased_design" in', "in a plan's file, an unbiased design for"),
    (r" in the \[\[joint\]\] of", " in what joins"),
    (r" \(`dproof ask`\)", ""),
    (r"`dproof ask` at", "asking the table at"),
    (r"under this plan use `dproof ask`", "by this plan the table can be asked"),
    (r"neighbours = '(.*?)'", r"neighbours: \1"),
    (r"privacy\.rows_per_person must be 1 with model = 'shuffled'", "a person must have one row"),
]


def hint_in_words(text: str) -> str:
    """What would help, in the words of the form.

    >>> hint_in_words("tables = 1 under [release], if no question is about two columns at once")
    'measuring every column by itself, if no question is about two columns at once'
    """
    for pattern, said in _HINTS_IN_WORDS:
        text = re.sub(pattern, said, text)
    return text


_FILE_KEY = re.compile(rf'({"|".join(_LABELS["file"])}) = "?(.+?)"?(?=[ ,;]|$)')


def fault_in_words(text: str) -> str:
    """Why a table cannot be read, in the words of the form.

    >>> fault_in_words('it is UTF-16 text: write encoding = "utf-16" under [file] in the plan')
    'it is UTF-16 text: write utf-16 in “Encoding”'
    """
    text = re.sub(r",? under \[file\]( in the plan)?", "", text.replace(_OF_A_NEW_PLAN, ""))
    return _FILE_KEY.sub(lambda found: f"{found[2]} in “{_LABELS['file'][found[1]]}”", text)


def check_shape(plan: Tables) -> None:
    """Refuse what no form could show: a part of a plan that is no table, or what should be a text or a list.

    >>> check_shape({"columns": {"age": 5}})
    Traceback (most recent call last):
    dproof.errors.PlanError: columns.age must be a table
    """
    columns = plan.get("columns", {})
    tables = {part: plan.get(part, {}) for part in ("columns", *_PARTS)}
    if isinstance(columns, Mapping):
        tables |= {f"columns.{name}": table for name, table in columns.items()}
    questions = plan.get("questions", [])
    tables |= {f"questions.{n}": one for n, one in enumerate(questions if isinstance(questions, list) else [0], 1)}
    for where, table in tables.items():
        if not isinstance(table, Mapping):
            raise PlanError(f"{where} must be a table")
        if where.startswith("columns."):
            for key, kinds in _SHAPES.items():
                if not isinstance(table.get(key, kinds[0]()), kinds):
                    raise PlanError(f"{where}.{key} must be {' or '.join(_NAMED[kind] for kind in kinds)}")


def fields_of(plan: Tables, part: str, names: Sequence[str]) -> dict[str, str]:
    """The fields of a part of a plan, such as [privacy], as a form shows them.

    >>> fields_of({"privacy": {"epsilon": 2}}, "privacy", PROMISE)["epsilon"]
    '2'
    """
    given, usual = _subtable(plan, part), _USUAL if part == "privacy" else {}
    given = {key: "tab" if value == "\t" else value for key, value in given.items()}  # which no field can show
    return {key: "" if isinstance(given.get(key), list) else _text(given.get(key, usual.get(key, ""))) for key in names}


def columns_of(plan: Tables) -> dict[str, dict[str, str]]:
    """The fields of each column of a plan, by its name."""
    return {name: _column_fields(table) for name, table in _subtable(plan, "columns").items()}


def kinds_of(table: Any) -> dict[str, str]:
    """The kinds that a column can be given, with what the form calls them; of several columns that are one, fewer."""
    kind, several = _column_fields(table)["kind"], _sources(table)
    if len(several) == 1:  # of dates with times, which another column is made of as well
        return {AS_SAVED: _SAID[AS_SAVED]}
    if several:
        return {key: f"{_SAID[key]} of {len(several)} columns" for key in dict.fromkeys((kind, "drop", APART))}
    return {AS_SAVED: _SAID[AS_SAVED], **_KINDS} if kind == AS_SAVED else _KINDS


def questions_of(plan: Tables) -> list[dict[str, str]]:
    """The questions of a plan, each with the share of the rows that it is about."""
    asked = [one for one in _sublist(plan, "questions") if isinstance(one, Mapping)]
    return [{"sql": _one_line(one), "share": _text(one.get("share_of_rows", ""))} for one in asked]


def summary(table: Any) -> str:
    """What a plan says of a column, in few words.

    >>> summary({"space": "categories", "values": ["f", "m"], "missing": "category"}), summary({"drop": True})
    ('categories: f, m; may be missing', 'left out')
    >>> summary({"values": ["a, b", "c"]}), summary({"space": "time", "bins": "hours", "low": 0, "high": 9})
    (': a, b; c', 'time: 0 to 9, by hours')
    """
    given = table if isinstance(table, Mapping) else {}
    if given.get("drop") or given.get("public"):
        return "left out" if given.get("drop") else "public: released as it is"
    kind = {"interval": "number", "subsets": "set"}.get(given.get("space", ""), given.get("space", ""))
    values = given.get("values") or given.get("columns") or ()
    shown = [_text(value) for value in values[:6]] if isinstance(values, list) else []
    sign = "; " if any("," in text for text in shown) else ", "
    listed = sign.join(text if text == text.strip() else f"“{text}”" for text in shown)
    listed += f" and {len(values) - 6} more" if len(values) > 6 else ""
    ends = f"{given.get('low')} to {given.get('high')}" if "low" in given else ""
    bins = f", {_periods(given['bins'])}" if given.get("bins") else ""
    missing = "; may be missing" if given.get("missing", "refuse") != "refuse" and "columns" not in given else ""
    told = f"{ends}{bins}" if ends else listed
    return f"{kind}{': ' if told else ''}{told}{missing}"


def _periods(bins: Any) -> str:
    """How the numbers or dates of a column are counted together."""
    return "in bins" if not isinstance(bins, str) else "by the calendar" if bins == "calendar" else f"by {bins}"


# From fields to a plan -----------------------------------------------------------------------------------------------


def with_columns(plan: Tables, typed: Mapping[str, Fields]) -> dict[str, Any]:
    """The plan with what was typed about some of its columns.

    >>> plan = {"columns": {"age": {"space": "interval", "low": 0, "high": 9, "share": 2}}}
    >>> with_columns(plan, {"age": columns_of(plan)["age"]}) == plan
    True
    """
    tables: dict[str, Any] = deepcopy(dict(plan))
    columns = tables.setdefault("columns", {})
    for name, one in typed.items():
        _set_column(columns, name, one)
    return tables


def with_fields(plan: Tables, part: str, typed: Fields) -> dict[str, Any]:
    """The plan with what was typed about one of its parts: [privacy], [file] or [about]."""
    tables: dict[str, Any] = deepcopy(dict(plan))
    given, before = tables.setdefault(part, {}), fields_of(plan, part, tuple(typed))
    for key, text in typed.items():
        usual = "1" if key == "rows_per_person" else ""  # one row of a person is nothing to say
        kept = text if key in ("separator", "thousands") else text.strip()  # a blank is a sign, too
        kept = "\t" if key == "separator" and kept.strip().lower() in ("tab", "\\t") else kept
        value = None if kept == usual else _number(kept) if key in ("rows_per_person", "header") else kept
        _set(given, key, text, before[key], value)
    if not given:
        del tables[part]
    return tables


def with_release(plan: Tables, typed: Fields) -> dict[str, Any]:
    """The plan with what was typed about what a central release measures."""
    tables: dict[str, Any] = deepcopy(dict(plan))
    if _subtable(plan, "privacy").get("model") != "central":
        tables.pop("release", None)
        return tables
    release, before = tables.setdefault("release", {}), fields_of(plan, "release", RELEASE)
    for key in RELEASE:
        text = "" if key == "sums" and not typed["tables"] and tables.get("questions") else typed[key]
        value = _number(text) if key == "tables" else text == "true"
        _set(release, key, text, before[key], value if text else None)
    if not release:
        del tables["release"]
    return tables


def with_questions(plan: Tables, typed: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The plan with these questions, each with a share of the rows; one that was there keeps its weight."""
    tables: dict[str, Any] = deepcopy(dict(plan))
    known = {_one_line(question): question for question in _sublist(plan, "questions") if isinstance(question, Mapping)}
    asked = []
    for sql, share in ((" ".join(sql.split()), share.strip()) for sql, share in typed):
        if sql:
            question = dict(known.get(sql, {"sql": sql}))
            _set(question, "share_of_rows", share, _text(question.get("share_of_rows", "")), share or None)
            asked.append(question)
    tables["questions"] = asked
    if not asked:
        del tables["questions"]
    return tables


def matched(plan: Tables, names: Sequence[str]) -> dict[str, Any]:
    """The plan for a table with these columns: those that are gone are forgotten, and new ones are left out.

    >>> matched({"columns": {"a": {"public": True}, "b": {"drop": True}}}, ["b", "c"])["columns"]
    {'b': {'drop': True}, 'c': {'drop': True}}
    """
    columns = _subtable(plan, "columns")
    kept = {name: table for name, table in columns.items() if set(_sources(table) or [name]) <= set(names)}
    known = {source for name, table in kept.items() for source in (_sources(table) or [name])}
    return {**plan, "columns": kept | {name: {"drop": True} for name in names if name not in known}}


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
    """The fields of a column, empty where the plan has none."""
    given = table if isinstance(table, Mapping) else {}
    kind = next((flag for flag in ("drop", "public") if given.get(flag)), _text(given.get("space", "drop")))
    if kind not in _KEYS or (_sources(table) and kind not in ("drop", "curves")) or (kind == "curves" != _curve(given)):
        kind = AS_SAVED
    values, bins = given.get("values", ()), given.get("bins", ())
    plain = ("low", "high", "step", "format", "separator", "outside_value", *_SURVEY)
    fields = {key: "" if given.get(key) == "?" else _text(given.get(key, "")) for key in plain}
    fields |= {
        "kind": kind,
        "taken": "line",
        "values": "\n".join(map(_text, values)) if isinstance(values, list) else "",
        "bins": bins if isinstance(bins, str) else ", ".join(map(_text, bins)),
    }
    if kind not in _SPACES:  # a new column: nothing stops the work
        return fields | {"outside": "keep", "missing": "category", "stand_in": "", "separator": ";"}
    missing = given.get("missing", "refuse")
    ways = ("refuse", "category")
    fields["outside"] = "refuse" if given.get("outside", _outside_ways(kind)[0]) == "refuse" else "keep"
    fields["missing"] = missing if missing in ways else "value"
    fields["stand_in"] = "" if missing in ways else _joined(missing, fields["separator"])
    return fields


def _curve(given: Tables) -> str:
    return "curves" if given.get("space") == "curves" and _sources(given) else ""


def _sources(table: Any) -> list[str]:
    """The columns of the table that are one in the plan; none where it is one by itself."""
    several = table.get("columns") if isinstance(table, Mapping) else None
    return [str(one) for one in several] if isinstance(several, list) else []


def _joined(value: Any, separator: str) -> str:
    return (separator or ";").join(map(_text, value)) if isinstance(value, list) else _text(value)


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


# What a field makes of its key ---------------------------------------------------------------------------------------


def _set(table: dict[str, Any], key: str, typed: str, before: str | None, value: Any) -> None:
    """Put a value under a key, or nothing where it is None; what was not changed stays as it is."""
    if typed == before:
        return
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value


def _set_column(columns: dict[str, Any], name: str, typed: Fields) -> None:
    kind, table = typed["kind"], columns.get(name)
    before: Fields | None = _column_fields(table)
    several = _sources(table)
    if kind == AS_SAVED or kind not in {*_KEYS, APART} or (several and kind not in kinds_of(table)):
        return
    if kind == APART:
        del columns[name]
        columns |= {source: {"space": "categories", "values": []} for source in several}
        return
    if before is None or kind != before["kind"]:
        columns[name] = {kind: True} if kind in ("drop", "public") else {"space": kind}
        columns[name] |= {"columns": several} if several else {}
        before = None
    for key in _KEYS[kind]:
        used = _USED.get(key, (key,))
        was = None if before is None else "\0".join(before[part] for part in used)
        _set(columns[name], key, "\0".join(typed[part] for part in used), was, _VALUES.get(key, _plain)(key, typed))


def _plain(key: str, typed: Fields) -> Any:
    text = typed[key].strip()
    if not text:
        return "?" if key in ("low", "high") else None  # which is still open
    return _number(text) if _form_of(typed["kind"], key) in ("number", "whole number") else text


def _values(key: str, typed: Fields) -> list[Any]:
    """Numbers where all of them are written as numbers usually are: 007 is a text."""
    texts = values_of(typed["values"], typed["taken"])
    numbers = [_number(text) for text in texts]
    are_numbers = not _holds_items(typed) and all(str(n) == text for n, text in zip(numbers, texts, strict=True))
    return numbers if are_numbers and not any(isinstance(n, str) for n in numbers) else list(texts)


def _bins(key: str, typed: Fields) -> list[Any] | str | None:
    """Edges, or the name of periods of the calendar."""
    edges = [edge.strip() for edge in typed["bins"].replace(";", ",").split(",") if edge.strip()]
    if len(edges) == 1 and edges[0].isalpha():
        return edges[0]
    return [_number(edge) if _has_numbers(typed) else edge for edge in edges] or None


def _outside_ways(kind: str) -> tuple[str, ...]:
    """The ways in which a plan treats a value outside; first the usual."""
    return next(key.options for key in plan_keys(kind) if key.name == "outside")


def _outside(key: str, typed: Fields) -> str:
    ways = _outside_ways(typed["kind"])
    return "refuse" if typed["outside"] == "refuse" else next(way for way in ways if way != "refuse")


def _outside_value(key: str, typed: Fields) -> Any:
    """What stands for other values. Numbers need another number for them: the first that is not among them."""
    text = typed[key].strip()
    if typed["outside"] == "refuse":
        return None
    if text:
        return _number(text) if _has_numbers(typed) else text
    values = _values("values", typed)
    if not values or any(isinstance(value, str) for value in values):
        return None
    return next(number for number in (-1, 9, 99, 999, max(values) + 1) if number not in values)


def _has_numbers(typed: Fields) -> bool:
    is_interval = _form_of(typed["kind"], "low") == "number"
    return is_interval or any(not isinstance(value, str) for value in _values("values", typed))


def _holds_items(typed: Fields) -> bool:
    return _form_of(typed["kind"], "values") == "texts"


def _form_of(kind: str, name: str) -> str | None:
    """The form of what stands under a key of a space, if it has the key."""
    return next((key.form for key in plan_keys(kind) if key.name == name), None)


def _missing(key: str, typed: Fields) -> Any:
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
    "outside_value": ("outside_value", "outside", "values"),
}
_VALUES: dict[str, Callable[[str, Fields], Any]] = {
    "values": _values,
    "bins": _bins,
    "outside": _outside,
    "outside_value": _outside_value,
    "missing": _missing,
}

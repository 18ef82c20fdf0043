"""A plan that is not finished: what is still to be filled in, and all its mistakes at once."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dproof.arguments import mapping
from dproof.columns.codec import Column, codec_class
from dproof.errors import nearest
from dproof.plans.plan import Plan
from dproof.plans.reader import (
    SPACES,
    MisplacedKey,
    Reader,
    WrongKey,
    line_of,
    open_keys,
    read_column,
    read_layout,
    read_plan,
    read_toml,
    to_toml,
)
from dproof.tables.source import USUAL, Layout

_MOST_PROBLEMS = 50
LINE_WIDTH = 79  # of a draft
_STAND_IN = "\0"  # the name of a column that no table has
_ANY_QUESTION = {"sql": "SELECT count(*) FROM data"}
_BY_COLUMNS = ("questions", "joint", "release")  # what speaks of columns, which may not be readable yet
# What a central release measures where nobody says: counts by each two columns, and sums, so that means can be asked.
USUAL_TABLES: Mapping[str, Any] = {"tables": 2, "sums": True}


@dataclass(frozen=True, slots=True)
class DraftPlan:
    """What can be read of a plan: its columns, with those that are `open`, whose keys are filled for the while.

    `problems` are its mistakes, each with its line. `plan` is the plan itself where there are none.
    """

    columns: tuple[Column, ...]
    open: Mapping[str, tuple[str, ...]]
    problems: tuple[WrongKey, ...]
    file: Layout = USUAL
    person: str | None = None
    rows_per_person: int = 1
    plan: Plan | None = None

    @classmethod
    def of(cls, plan: Plan) -> DraftPlan:
        """A plan that is finished."""
        return cls(plan.columns, {}, (), plan.file, plan.person, plan.rows_per_person, plan)


def read_draft(text: str, name: str = "plan") -> DraftPlan:
    """What can be read of the TOML text of a plan; only a text that is no TOML is refused."""
    tables: dict[str, Any] = dict(read_toml(text, name, lambda top: tomllib.loads(text)))
    problems: dict[str, WrongKey] = {}

    def note(error: MisplacedKey) -> None:
        line = line_of(text, error.path)
        sentence = f"{name}{f', line {line}' if line else ''}: {error}"
        problems[sentence] = WrongKey(sentence, error)

    given = tables.get("columns")
    given = given if isinstance(given, Mapping) else {}
    left_open = {column: keys for column, table in given.items() if (keys := open_keys(table))}
    columns: list[Column] = []
    dropped: list[Column] = []  # that cannot be read, or not yet
    for column, table in given.items():
        sources = _sources(column, table)
        try:
            columns.append(read_column(column, Reader(_filled(table, left_open.get(column, ())), ("columns", column))))
            dropped += [Column(column, "drop", sources)] if column in left_open else []
        except MisplacedKey as error:
            note(error)
            dropped.append(Column(column, "drop", sources))
            columns.append(dropped[-1])
    rest = _rest(tables, dropped)
    plan = None
    while plan is None and len(problems) < _MOST_PROBLEMS:
        try:
            plan = read_plan(Reader(rest, ()), "")
        except MisplacedKey as error:
            note(error)
            if not _set_aside(rest, error.path):
                break
    if plan is None:
        return DraftPlan(tuple(columns), left_open, tuple(problems.values()), _layout(tables.get("file")))
    return DraftPlan(tuple(columns), left_open, tuple(problems.values()), plan.file, plan.person, plan.rows_per_person)


def plan_problems(plan: Mapping[str, Any]) -> tuple[WrongKey, ...]:
    """All mistakes of a plan that is being written, and what is still open in it; each with the path of its key.

    `plan` is a plan as nested mappings, finished or not.

    >>> age, sex = {"space": "interval", "low": 9, "high": 0}, {"space": "categories", "values": []}
    >>> draft = {"privacy": {"epsilon": "x"}, "columns": {"age": age, "sex": sex}}
    >>> [".".join(wrong.path) for wrong in plan_problems(draft)]
    ['columns.age', 'privacy.epsilon', 'columns.sex.values']
    """
    found = read_draft(to_toml(mapping(plan, "plan", "a plan as nested mappings")))
    left = [("columns", name, key) for name, keys in found.open.items() for key in keys]
    is_open = (MisplacedKey(path, "is still open: fill in what you know") for path in left)
    return (*found.problems, *(WrongKey(str(one), one) for one in is_open))


def _layout(table: Any) -> Layout:
    """How the file is written, where nothing else of a plan can be read: else the table could not be opened."""
    try:
        return read_layout(Reader(table, ("file",))) if isinstance(table, Mapping) else USUAL
    except MisplacedKey:  # which is among the problems
        return USUAL


def _filled(table: Any, keys: Sequence[str]) -> Any:
    """The table of a column with something in the place of what is open, and without what depends on it."""
    if not keys:
        return table
    closing = codec_class(SPACES[table["space"]]).closing
    return {
        key: closing.get(key, given) if key in keys else given
        for key, given in table.items()
        if key not in ("bins", "step")
    }


def _sources(name: str, table: Any) -> tuple[str, ...]:
    """The columns of the source that a column's table names, or the one of its name."""
    several = table.get("columns") if isinstance(table, Mapping) else None
    named = isinstance(several, list) and several and all(isinstance(one, str) for one in several)
    return tuple(dict.fromkeys(several)) if named and several else (name,)


def _rest(tables: Mapping[str, Any], dropped: Sequence[Column]) -> dict[str, Any]:
    """What of a plan can be read where some columns cannot: these are dropped, and a stand-in takes their place."""
    rest = {key: dict(given) if isinstance(given, Mapping) else given for key, given in tables.items()}
    if not dropped:
        return rest
    rest["columns"] |= {one.name: {"drop": True, "columns": list(one.sources)} for one in dropped}
    rest["columns"][_STAND_IN] = {"space": "categories", "values": ["a", "b"]}
    return {key: given for key, given in rest.items() if key not in _BY_COLUMNS}


def _set_aside(tables: dict[str, Any], path: Sequence[str]) -> bool:
    """Take what is wrong out of the tables, or put something right there, so that reading comes to the next mistake.

    False where nothing could be changed.
    """
    if tuple(path) in (("privacy", "epsilon"), ("privacy",)):
        before = dict(tables.get("privacy", {})) if isinstance(tables.get("privacy"), Mapping) else {}
        # What else the plan says depends on its model.
        model = {key: before[key] for key in ("model",) if before.get(key) == "central"}
        kept = before if path[1:] else model if before != {"epsilon": "1", **model} else {}
        tables["privacy"] = {**kept, "epsilon": "1"}
        return bool(tables["privacy"] != before)
    if tuple(path) == ("columns",) and isinstance(columns := tables.get("columns"), Mapping):
        tables["columns"] = {**columns, _STAND_IN: {"space": "categories", "values": ["a", "b"]}}
        if isinstance(privacy := tables.get("privacy"), Mapping):  # which may name a column that was taken out
            tables["privacy"] = {key: given for key, given in privacy.items() if key != "person"}
        return _STAND_IN not in columns
    inner: Any = tables
    if path[:1] == ("questions",) and len(path) > 1 and isinstance(asked := tables["questions"], list):
        # Another question in its place, so that those after it keep their numbers.
        wrong = int(path[1]) - 1
        tables["questions"] = [_ANY_QUESTION if n == wrong else one for n, one in enumerate(asked)]
        return asked[wrong] is not _ANY_QUESTION
    for key in path[:-1]:
        if not isinstance(inner, dict) or key not in inner:
            return tables.pop(path[0], None) is not None
        if isinstance(inner[key], Mapping):
            inner[key] = dict(inner[key])
        inner = inner[key]
    if not isinstance(inner, dict) or not path or path[-1] not in inner:
        return bool(path) and path[0] not in ("privacy", "columns") and tables.pop(path[0], None) is not None
    del inner[path[-1]]
    return True


ONE_COLUMN = (
    "one column alone: where titles stand above the names of its columns, write in which line or row these are under "
    "[file], such as header = 2"
)


def name_problems(columns: Iterable[Column], names: Sequence[str]) -> list[str]:
    """What differs between the columns of a plan and those of a table, each in a sentence."""
    known = {name for column in columns for name in column.sources}
    unknown = [name for name in names if name not in known]
    absent = sorted(known - set(names))
    problems = []
    if len(names) == 1 and len(absent) > 1:
        problems.append(f"The table has {ONE_COLUMN}.")
    for name in unknown:
        blank = next((other for other in absent if other.strip() == name.strip()), None)
        meant = nearest(name, absent)
        if blank is not None:
            where = "before" if name != name.lstrip() else "after" if name != name.rstrip() else "too many around"
            problems.append(
                f"The table has a blank {where} the name {blank!r}: write {name!r} in the plan, or mend the file."
            )
            absent.remove(blank)
        elif meant is not None:
            problems.append(
                f"The table has a column {name!r}, and the plan has {meant!r} instead: write it as the file does."
            )
            absent.remove(meant)
        else:
            table = to_toml({"columns": {name: {}}}).strip()
            problems.append(
                f"The table has a column {name!r} that the plan does not mention: add {table} with its space, or with "
                "drop = true."
            )
    problems += [f"The table has no column {name!r}, which the plan mentions." for name in absent]
    return problems


# Writing -------------------------------------------------------------------------------------------------------------


def toml_lines(name: str, keys: Mapping[str, Any], *, bare: bool = False) -> str:
    """The table of a column as a person would write it, with lists in as few lines as they need; `bare` a value alone.

    >>> print(toml_lines("town", {"space": "categories", "values": ["Bonn", "Köln"]}))
    [columns.town]
    space = "categories"
    values = ["Bonn", "Köln"]
    <BLANKLINE>
    """
    if bare:
        return _value("", next(iter(keys.values())))
    head = to_toml({"columns": {name: {}}}).strip()
    return "".join(
        f"{line}\n" for line in [head, *(f"{key} = {_value(f'{key} = ', given)}" for key, given in keys.items())]
    )


def _value(before: str, given: Any) -> str:
    if not isinstance(given, (list, tuple)):
        return _text(given) if isinstance(given, str) else to_toml({"x": given}).strip().removeprefix("x = ")
    items = [_value("", item) for item in given]
    whole = f"[{', '.join(items)}]"
    if len(before) + len(whole) <= LINE_WIDTH:
        return whole
    lines: list[str] = []
    line = ""
    for item in items:
        if line and 4 + len(line) + len(item) + 2 > LINE_WIDTH:
            lines, line = [*lines, line], ""
        line += f"{' ' if line else ''}{item},"
    return "\n".join(["[", *(f"    {each}" for each in [*lines, line]), "]"])


def _text(text: str) -> str:
    """A text of TOML that any terminal can show."""
    shown = (
        sign if sign.isprintable() else f"\\u{ord(sign):04x}" if ord(sign) < 1 << 16 else f"\\U{ord(sign):08x}"
        for sign in text
    )
    return '"' + "".join(json.dumps(sign)[1:-1] if sign in '"\\' else sign for sign in shown) + '"'

"""What may be asked about the columns of a plan, and a question put together from choices."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dproof.columns.column import Column, quoted, text_literal
from dproof.errors import InputError
from dproof.plans.plan import Plan

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOST_VALUES = 200  # of a column, that are listed


@dataclass(frozen=True, slots=True)
class Asked:
    """One column, as an analyst needs to know it: its values or bounds, and what may be asked about it."""

    name: str
    kind: str
    values: tuple[str, ...]  # that a condition may name
    described: str
    is_set: bool
    is_number: bool  # that has a mean
    is_text: bool  # whose values are texts in SQL

    @property
    def sql(self) -> str:
        """Its name as a question writes it."""
        return self.name if _PLAIN.fullmatch(self.name) else quoted(self.name)

    @property
    def answers(self) -> str:
        """What may be asked, in words."""
        if self.kind == "public":
            return ""
        if self.is_number:
            return "mean, sum, median; conditions"
        return "counts of its items; list_contains" if self.is_set else "counts by it; conditions"


def columns_of(plan: Plan) -> list[Asked]:
    """The columns of a plan that are not left out.

    >>> age = {"space": "interval", "low": 0, "high": 9}
    >>> [(one.name, one.described) for one in columns_of(Plan.of({"privacy": {"epsilon": 1}, "columns": {"age": age}}))]
    [('age', '0 to 9')]
    """
    tables = tomllib.loads(plan.text)["columns"]
    return [_asked(column, tables[column.name]) for column in plan.kept]


def _asked(column: Column, table: Mapping[str, Any]) -> Asked:
    space = column.space
    is_set = column.private and space.items is not None
    is_number = column.private and not space.is_counted and not space.holds_curves
    given = table.get("values") or table.get("columns") or ()
    values = tuple(str(value) for value in given[:_MOST_VALUES])
    ends = f"{table['low']} to {table['high']}" if "low" in table and "high" in table else ""
    steps = f" in steps of {table['step']}" if "step" in table else ""
    bins = f", in bins at {', '.join(map(str, table['bins']))}" if "bins" in table else ""
    listed = ", ".join(values) + (" …" if len(given) > len(values) else "")
    is_text = all(isinstance(value, str) for value in given) and (not column.private or space.noun != "number")
    return Asked(column.name, column.kind, values, f"{ends}{steps}{bins}" or listed, is_set, is_number, is_text)


def built(columns: Sequence[Asked], table: str, chosen: Mapping[str, str]) -> str:
    """The question that was chosen: what, of which number, by which column, where a column has a value.

    >>> sex = Asked("sex", "categories", ("f", "m"), "f, m", False, False, True)
    >>> built([sex], "data", {"what": "count", "by": "sex", "where": "sex", "comparison": "=", "value": "f"})
    "SELECT sex, count(*) AS n FROM data WHERE sex = 'f' GROUP BY sex"
    """
    known = {one.name: one for one in columns}
    number, by, where = (known.get(chosen.get(key, "")) for key in ("number", "by", "where"))
    function, value = chosen.get("what", "count"), chosen.get("value", "").strip()
    if function != "count" and number is None:
        raise InputError("choose the number that it is of")
    if (where is None) != (not value):
        raise InputError("a condition needs both: the column after “where”, and a value")
    what = "count(*) AS n"
    if number is not None and function != "count":
        what = f"{function}({number.sql}) AS {function}_{re.sub(r'[^A-Za-z0-9_]', '_', number.name)}"
    condition = "" if where is None else f" WHERE {_condition(where, chosen)}"
    if by is None:
        return f"SELECT {what} FROM {table}{condition}"
    if by.is_set:
        return f"SELECT unnest({by.sql}) AS item, {what} FROM {table}{condition} GROUP BY item"
    return f"SELECT {by.sql}, {what} FROM {table}{condition} GROUP BY {by.sql}"


def _condition(where: Asked, chosen: Mapping[str, str]) -> str:
    value = chosen["value"].strip()
    literal = text_literal(value) if where.is_text or not _is_number(value) else value
    if where.is_set:
        negated = "NOT " if chosen.get("comparison") == "<>" else ""
        return f"{negated}list_contains({where.sql}, {literal})"
    return f"{where.sql} {chosen.get('comparison', '=')} {literal}"


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?", text) is not None

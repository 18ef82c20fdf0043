"""The contract of every answer: a refusal in one sentence, or an interval that holds what the private table says.

A case is an asker × an aggregate × a shape of the question × a kind of column. Aggregates come from the table
`AGGREGATES`, so that a new one joins by itself.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

import duckdb
import numpy as np
import pyarrow as pa

import dproof as dp
from dproof import Answer, Cell, DproofError
from dproof.questions.aggregates import AGGREGATES, GIVEN, Definition, Frequent, Rank
from dproof.testing import seeded_coins

ROWS = 3001
LEVEL = 0.999
FIRST = date(2024, 1, 1)
EDGES = (date(2024, 1, 11), date(2024, 1, 21))
ARGUMENTS = (Fraction(1, 4), Fraction(2))  # one of them suits whatever takes an argument
SPACES: dict[str, dict[str, Any]] = {
    "category": {"space": "categories", "values": ["p", "q", "r"]},
    "numeric category": {"space": "categories", "values": [1, 2, 4, 8]},
    "number": {"space": "interval", "low": -10, "high": 14, "step": 1},
    "number with a heap": {"space": "interval", "low": 0, "high": 24, "step": 1},
    "number in bins": {"space": "interval", "low": 0, "high": 30, "step": 1, "bins": [0, 8, 20, 30]},
    "date": {
        "space": "date",
        "low": FIRST,
        "high": FIRST + timedelta(39),
        "bins": [FIRST, *EDGES, FIRST + timedelta(39)],
    },
    "set": {"space": "subsets", "values": ["s", "t", "u"]},
}
KINDS = (*SPACES, *(f"{kind}, some missing" for kind in SPACES))
CONDITIONS = {  # at edges of bins
    "category": "v <> 'p'", "numeric category": "v >= 2", "number": "v >= 0", "number with a heap": "v = 10",
    "number in bins": "v >= 20",
    "date": "v >= DATE '2024-01-21'", "set": "list_contains(v, 's')",
}  # fmt: skip
SHAPES = {
    "alone": "SELECT {} AS a FROM {}",
    "twice": "SELECT 2 * {} AS a FROM {}",
    "taken away": "SELECT 5 - 2 * {} AS a FROM {}",
    "per row": "SELECT {} / count(*) AS a FROM {}",
    "and a mean": "SELECT {} + avg(x) AS a FROM {}",
    "of its mean": "SELECT {} / avg(v) AS a FROM {}",
    "rounded": "SELECT round({}, 1) AS a FROM {}",
    "rooted": "SELECT sqrt({} + 1) AS a FROM {}",
    "filtered": "SELECT {} FILTER (WHERE g = 'a') AS a FROM {}",
    "where": "SELECT {} AS a FROM {} WHERE {where}",
    "where another": "SELECT {} AS a FROM {} WHERE x >= 20",
    "where either": "SELECT {} AS a FROM {} WHERE {where} OR g = 'a'",
    "grouped": "SELECT g, {} AS a FROM {} GROUP BY g",
    "grouped where": "SELECT g, {} AS a FROM {} WHERE {where} GROUP BY g",
    "by itself": "SELECT v, {} AS a FROM {} GROUP BY v",
    "having": "SELECT g, {0} AS a FROM {1} GROUP BY g HAVING {0} > 2",
    "having twice": "SELECT g, {0} AS a FROM {1} GROUP BY g HAVING 2 * {0} > 4 AND count(*) > 0",
    "first": "SELECT g, {0} AS a FROM {1} GROUP BY g ORDER BY {0} DESC LIMIT 2",
    "last": "SELECT g, {0} AS a FROM {1} GROUP BY g ORDER BY 2 * {0} LIMIT 2",
}


def private_table(kind: str) -> Any:
    """A group g, a number x, and the column v of some kind; nobody has the group d."""
    some, base = np.random.default_rng(7), kind.removesuffix(", some missing")
    g = some.choice(["a", "b", "c"], ROWS, p=[0.5, 0.35, 0.15])
    x = np.clip(some.normal(20, 6, ROWS) + 8 * (g == "a"), 0, 40).round().astype(int)
    codes = some.integers(0, 1000, ROWS) * some.integers(1, 1000, ROWS) // 1000  # skewed
    v: list[Any]
    if base == "category":
        v = [SPACES[base]["values"][code // 334] for code in codes]
    elif base == "numeric category":
        v = [SPACES[base]["values"][code // 250] for code in codes]
    elif base == "set":
        v = [[item for place, item in enumerate("stu") if code >> place & 1] for code in codes]
    elif base == "date":
        v = [FIRST + timedelta(int(code * 39 // 999)) for code in codes]
    else:
        low, high = SPACES[base]["low"], SPACES[base]["high"]
        v = [int(low + code * (high - low) // 999) for code in codes]
        if "heap" in base:
            v = [10 if n % 2 else value for n, value in enumerate(v)]
    if kind != base:
        v = [None if gone else value for value, gone in zip(v, some.random(ROWS) < 0.15, strict=True)]
    return pa.table({"g": g, "x": x, "v": v})


def plan_of(kind: str, privacy: dict[str, Any], **more: Any) -> dict[str, Any]:
    base = kind.removesuffix(", some missing")
    v = SPACES[base] if kind == base else {**SPACES[base], "missing": "category"}
    columns = {
        "g": {"space": "categories", "values": ["a", "b", "c", "d"]},
        "x": {"space": "interval", "low": 0, "high": 40, "step": 1},
        "v": v,
    }
    return {"privacy": privacy, "columns": columns, **more}


CENTRAL = {"model": "central", "epsilon": 2, "delta": "1e-6"}
RELEASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {  # the promise, and what else the plan has
    "local": ({"epsilon": 9}, {}),
    "sampled": ({"epsilon": 6, "spread": "sample"}, {}),
    "central": (CENTRAL, {"release": {"tables": 3, "sums": True}}),
    "central, delta 0": ({**CENTRAL, "delta": 0}, {"release": {"tables": 3}}),
    "central, add-remove": ({**CENTRAL, "neighbours": "add-remove"}, {"release": {"tables": 3, "sums": True}}),
    "model": (CENTRAL, {"release": {"tables": 3, "rows": True}}),
}
ASKERS = (*RELEASES, "ask")


@cache
def asker(name: str, kind: str, seed: int) -> Callable[[str], Answer]:
    """Who answers SQL about the table of a kind, with coins of this seed."""
    table = private_table(kind)
    if name == "ask":
        folder = TemporaryDirectory()
        curator = dp.Curator(table, plan_of(kind, {"epsilon": 1000}), ledger=Path(folder.name) / "budget.db")

        def ask(sql: str) -> Answer:
            with seeded_coins(seed + crc32(sql.encode())):
                return curator.ask(sql, epsilon=2, level=LEVEL)

        ask.folder = folder  # it goes when the curator does
        return ask
    privacy, more = RELEASES[name]
    if name == "sampled" and ("categor" in kind or "set" in kind):
        more = {"joint": [{"columns": ["g", "v"]}]}
    with seeded_coins(seed):
        release = dp.sanitise(table, plan_of(kind, privacy, **more))
    options = {"method": "model"} if name == "model" else {}
    return lambda sql: release.query(sql, level=LEVEL, **options)


def calls() -> Iterator[tuple[str, Definition]]:
    """Every aggregate as it is written, by each of the arguments that its names stand for."""
    yield "count(*)", AGGREGATES["count"]
    for kind, definition in AGGREGATES.items():
        columns = ", ".join(["v", "x"][: definition.columns])
        columns = {"distinct": "DISTINCT v", "items": "DISTINCT unnest(v)"}.get(kind, columns)
        seen = set()
        for name, argument in definition.names.items():
            if argument in seen:
                continue
            seen.add(argument)
            given = ""
            if argument is GIVEN:
                assert definition.argument_rule is not None
                given = f", {float(next(one for one in ARGUMENTS if definition.argument_rule[0](one))):g}"
            yield f"{name}({columns}{given})", definition


CALLS = dict(calls())
ITEMS = re.compile(r"count\(DISTINCT unnest\(v\)\)( FILTER \([^)]*\))?")  # DuckDB cannot count what it unnests


@dataclass(frozen=True)
class Case:
    asker: str
    call: str
    shape: str
    kind: str

    def __str__(self) -> str:
        return f"{self.asker}: {self.sql('t')} ({self.kind})"

    def sql(self, table: str, call: str = "") -> str:
        where = CONDITIONS[self.kind.removesuffix(", some missing")]
        return SHAPES[self.shape].format(call or self.call, table, where=where)


def cases(asker: str, kind: str) -> list[Case]:
    return [Case(asker, call, shape, kind) for call in CALLS for shape in SHAPES]


@cache
def _duckdb(kind: str) -> Any:
    database, private = duckdb.connect(), private_table(kind)
    database.register("private", private)
    days = "v - DATE '0001-01-01'" if pa.types.is_date(private.schema.field("v").type) else "v"
    database.execute(f"CREATE TABLE t AS SELECT g, x, {days} AS v FROM private")
    return database


@cache
def _known() -> set[str]:
    """The functions of DuckDB."""
    return {name for (name,) in duckdb.execute("SELECT DISTINCT function_name FROM duckdb_functions()").fetchall()}


def truths(case: Case) -> dict[Any, list[Any]]:
    """What the private table says, by the group: the quantile between two values may be either, or between them."""
    definition, (name, rest) = CALLS[case.call], case.call.split("(", 1)
    same = (other for other, argument in definition.names.items() if argument == definition.names[name])
    written = [f"{next(other for other in same if other in _known())}({rest}"]
    if isinstance(definition.chosen, Rank) and definition.chosen.end is None:
        share = case.call.partition(", ")[2].rstrip(")") or "0.5"
        written = [f"quantile_{way}(v, {share})" for way in ("disc", "cont")]
    found: dict[Any, list[Any]] = {}
    for call in written:
        sql = case.sql("t", call).partition(" HAVING")[0].partition(" ORDER")[0]
        if case.kind.startswith("date"):
            sql = sql.replace("v >= DATE '2024-01-21'", "v >= DATE '2024-01-21' - DATE '0001-01-01'")
        sql = ITEMS.sub(r"len(list_distinct(flatten(coalesce(list(coalesce(v, []))\1, []))))", sql)
        for *group, value in _duckdb(case.kind).execute(sql).fetchall():
            found.setdefault(str(group[0]) if group else None, []).append(value)
    return found


def number(value: Any) -> Any:
    """A date as the number of days that the true table has."""
    if isinstance(value, str):
        try:
            value = date.fromisoformat(value)
        except ValueError:
            return value
    return value.toordinal() - 1 if isinstance(value, date) else value


FINE = ("refused", "nothing", "chosen", "held")


def outcome(case: Case, seed: int = 1) -> str:
    """Of `FINE`: refused, no information, no interval (a choice, a model), intervals that hold; else what is wrong."""
    try:
        answer = asker(case.asker, case.kind, seed)(case.sql("data" if case.asker == "ask" else "release"))
    except DproofError as refused:
        text = str(refused)
        return "refused" if text and "\n" not in text else f"a refusal in more than a sentence: {text!r}"
    except Exception as error:
        return f"an error in dproof itself: {error!r}"
    assert json.dumps(answer.to_json(), allow_nan=False) and str(answer)
    assert answer.to_arrow().num_rows == len(answer.rows)
    cells = [row["a"] for row in answer.rows]
    unknown = [not cell.informative for cell in cells if isinstance(cell, Cell)]
    if any(cell.to_json()["estimate"] is not None for cell in cells if isinstance(cell, Cell) and not cell.informative):
        return "a number where nothing is known"
    if case.shape in ("first", "last") and unknown != sorted(unknown):
        return "what tells nothing does not come last"
    if case.shape in ("having", "having twice") and any(unknown):
        return "HAVING selects what tells nothing"
    if isinstance(CALLS[case.call].chosen, Frequent):
        return "chosen"
    return _checked(case, answer)


def _checked(case: Case, answer: Answer) -> str:
    true, outcomes = truths(case), set()
    for row in answer.rows:
        cell, group = row["a"], next((str(row[key]) for key in ("g", "v") if key in row), None)
        if not isinstance(cell, Cell):
            cell = Cell(cell, cell, cell)
        if not cell.informative or cell.estimate is None:
            outcomes.add("nothing")
        elif cell.low is None:
            outcomes.add("chosen")
        elif case.shape == "by itself" and group not in true:
            outcomes.add("held")  # a bin, or a value that nobody has
        else:
            values = [n for n in true.get(group, []) if n is not None and math.isfinite(n)]
            low, high = number(cell.low), number(cell.high)
            slack = 1e-7 * (1 + abs(low) + abs(high))
            if values and not min(values) <= high + slack:
                return f"missed {min(values)} by {cell!r} in {group}"
            if values and not max(values) >= low - slack:
                return f"missed {max(values)} by {cell!r} in {group}"
            outcomes.add("held")
    return next((one for one in ("held", "chosen", "nothing") if one in outcomes), "nothing")


def wrong(case: Case) -> str | None:
    """What is wrong with the answer; an interval that misses by chance does so with one seed in a thousand."""
    found = [outcome(case)]
    if found[0].startswith("missed"):
        found += [outcome(case, seed) for seed in (2, 3)]
    bad = [one for one in found if one not in FINE]
    return f"{case}: {bad}" if len(bad) > (len(found) > 1) else None

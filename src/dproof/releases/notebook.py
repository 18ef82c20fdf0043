"""A notebook that does with Python what the commands, or the pages of a server, did."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pprint import pformat
from typing import Any

from dproof.arguments import as_path, expect, whole
from dproof.columns.codec import quoted
from dproof.limits import MOST_EXPECTED_ROWS
from dproof.plans.plan import Plan


def notebook(
    data: str | os.PathLike[str],
    plan: Plan | str | os.PathLike[str] | Mapping[str, Any],
    *,
    rows: int,
    table: str | None = None,
    title: str = "",
    out: str = "release",
    ledger: str | None = None,
) -> dict[str, Any]:
    """A notebook, as Jupyter stores it in JSON: the plan, what to expect, a look, the release and a first question.

    `data` and `out` are the paths that it will have in it, of the table and of the release; `ledger` that of the ledger
    that pays for it, beside the table where none is given. `table` names the table inside a DuckDB file. `plan` is a
    Plan, its path or a mapping, `rows` about how many there are, and `title` stands at the top.

    >>> plan = {"privacy": {"epsilon": 1}, "columns": {"sex": {"space": "categories", "values": ["f", "m"]}}}
    >>> [cell["cell_type"] for cell in notebook("people.csv", plan, rows=1000)["cells"]][:3]
    ['markdown', 'code', 'markdown']
    """
    path, tables = as_path(data, "data"), tomllib.loads(Plan.of(plan).text)
    rows = whole(rows, "rows", 1, MOST_EXPECTED_ROWS)
    for given, name in ((table, "table"), (title, "title"), (out, "out"), (ledger, "ledger")):
        expect("" if given is None else given, str, name, "a text")
    option = "" if table is None else f", table={table!r}"
    paid = repr(ledger) if ledger is not None else f"dp.Ledger.beside({str(path)!r})"
    literal = pformat(tables, sort_dicts=False, width=100)
    imports = "import datetime\n\nimport dproof as dp" if "datetime." in literal else "import dproof as dp"
    cells = [
        ("markdown", f"# {title or path.name}\n\nA release of `{path.name}` under differential privacy."),
        ("code", f"{imports}\n\nPLAN = {literal}\nplan = dp.Plan.from_dict(PLAN)\nplan"),
        ("markdown", f"What to expect of {rows:,} rows: ± of each answer, each way, and which way to take."),
        (
            "code",
            f"found = dp.compare_ways(PLAN, rows={rows})\nprint(found['recommended']['reason'])\nfound['answers']",
        ),
        ("markdown", "What the plan does not foresee. **Confidential**: clear the output before you share this."),
        ("code", f"dp.check({str(path)!r}, plan{option})"),
        ("markdown", f"The release. It spends ε = {tables['privacy']['epsilon']}: run this cell once."),
        (
            "code",
            f"payment = dp.ReleasePayment({paid}, {out!r})\n"
            f"release = dp.sanitise({str(path)!r}, plan, {out!r}{option}, payment=payment)",
        ),
        ("code", f"dp.load({out!r}).query({first_question(tables['columns'])!r})"),
    ]
    return {
        "cells": [_cell(n, kind, source) for n, (kind, source) in enumerate(cells)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def first_question(columns: Mapping[str, Any]) -> str:
    """A question to begin with: the count by the first column of categories."""
    name = next((name for name, keys in columns.items() if keys.get("space") == "categories"), None)
    if name is None:
        return "SELECT count(*) AS n FROM release"
    return f"SELECT {quoted(name)}, count(*) AS n FROM release GROUP BY {quoted(name)}"


def _cell(number: int, kind: str, source: str) -> dict[str, Any]:
    code: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {
        "cell_type": kind,
        "id": f"cell-{number}",
        "metadata": {},
        **code,
        "source": source.splitlines(keepends=True),
    }

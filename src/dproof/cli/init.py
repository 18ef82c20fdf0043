"""`dproof init`: a draft plan for a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dproof.cli.options import AsJson, argument, option
from dproof.cli.output import advise, emit
from dproof.engines import Source, open_source
from dproof.sanitisation.toml import to_toml

Data = Annotated[Path, argument("DATA", "A .csv, .parquet, .arrow or .duckdb file, or a folder of files.")]
Table = Annotated[str | None, option("NAME", "The table inside a DuckDB file.")]

_HEAD = """\
# A draft: the names of the columns and nothing of their values. Everything in
# a plan is public knowledge, so declare from what you know, not from the data.
# A column's space is one of
#   categories   values = ["a", "b"]; outside = "refuse" or "category";
#                missing = "refuse" or "category"
#   interval     low = 0, high = 100, step = 1; outside = "clamp" or "refuse";
#                missing = a number
#   subsets      values = ["a", "b"] and separator = ";", or
#                columns = ["flag_a", "flag_b"]; missing = []
#   curves       low = 0, high = 5, and columns = ["h00", "h01"] or one column
#                of lists
# or write public = true (released as it is) or drop = true (left out).
# share = 2 doubles a column's part of epsilon.

"""


def init(data: Data, table: Table = None, as_json: AsJson = False) -> None:
    """Draft a plan from the names of a table's columns.

    The draft goes to standard output: `dproof init people.csv > plan.toml`, then declare the spaces. No value of the
    table is copied.
    """
    source = open_source(data, table)
    kinds = _kinds(source)
    columns = {name: _DRAFTS[kinds[name]] for name in source.names}
    text = _HEAD + to_toml({"privacy": {"epsilon": "1", "delta": "0", "neighbours": "change-one"}, "columns": columns})
    answer = {"plan": text, "columns": [{"name": name, "kind": kinds[name]} for name in source.names]}
    if as_json:
        emit(answer, True, list)
    else:
        typer.echo(text, nl=False)
        advise("declare the values and bounds in this draft, then look at it with `dproof plan`")


_DRAFTS: dict[str, dict[str, Any]] = {
    "categories": {"space": "categories", "values": []},
    "truth": {"space": "categories", "values": [True, False]},
    "interval": {"space": "interval", "low": "?", "high": "?"},
    "subsets": {"space": "subsets", "values": []},
}


def _kinds(source: Source) -> dict[str, str]:
    """The kind that each column's type suggests; text may be anything, and is drafted as categories."""
    import pyarrow as pa

    first = next(iter(source.read(source.names)), None)
    kinds = dict.fromkeys(source.names, "categories")
    for field in () if first is None else first.schema:
        if pa.types.is_boolean(field.type):
            kinds[field.name] = "truth"
        elif pa.types.is_integer(field.type) or pa.types.is_floating(field.type) or pa.types.is_decimal(field.type):
            kinds[field.name] = "interval"
        elif pa.types.is_list(field.type) or pa.types.is_large_list(field.type):
            kinds[field.name] = "subsets"
    return kinds

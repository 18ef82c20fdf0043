"""One way to open every kind of source."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from dproof.arguments import as_path, described, expect
from dproof.errors import InputError
from dproof.tables.layout import USUAL, Layout
from dproof.tables.source import Source

# The package that an object comes from, and the module here that reads it. Each has `open_(thing, table)`. These know
# more than Arrow tells, such as the objects of a frame one by one; what is of another package is read by `_OTHERS`.
ENGINES = {
    "pyarrow": "dproof.tables.arrow",
    "pandas": "dproof.tables.pandas",
    "polars": "dproof.tables.polars",
    "duckdb": "dproof.tables.duckdb",
    "_duckdb": "dproof.tables.duckdb",
    "numpy": "dproof.tables.numpy",
    "pyspark": "dproof.tables.spark",
}
_OTHERS = "dproof.tables.stream"


def open_source(thing: Any, table: str | None = None, layout: Layout = USUAL) -> Source:
    """Open a path, a frame, a relation, an array, or anything that hands out an Arrow stream.

    `table` names the table inside a DuckDB file, or the sheet of a workbook; `layout` is how a plan says that its file
    is written.

    >>> import pyarrow
    >>> open_source(pyarrow.table({"age": [41]})).names
    ('age',)
    """
    if isinstance(thing, Source):
        return thing
    from dproof.tables.files import NO_TABLES, open_file  # Parquet, which frames do not need

    if table is not None:
        expect(table, str, "table", "the name of a table inside a DuckDB file, or of a sheet")
    if isinstance(thing, (str, os.PathLike)):
        path = as_path(thing, "source")
        if not path.exists():
            raise InputError(f"there is no file or folder {str(path)!r}")
        return open_file(path, table, layout)
    engine = _engine(thing)
    if engine is None:
        raise InputError(
            f"source must be a path, or a table of {', '.join(k for k in ENGINES if k[0] != '_')} or of any class "
            f"that has __arrow_c_stream__; not {described(thing)}"
        )
    if table is not None:
        raise InputError(NO_TABLES)
    if layout.numerals != USUAL.numerals:
        # Among mixed objects a number is read by its text, so the signs of a file would decide how it is read by what
        # the other rows hold.
        raise InputError(
            f"the plan reads numbers with decimal = {layout.numerals.decimal!r} and thousands = "
            f"{layout.numerals.thousands!r}, which is for files: give the file's path, or turn texts of the frame into "
            "numbers and leave both out"
        )
    source: Source = import_module(engine).open_(thing, table)
    return source


def _engine(thing: Any) -> str | None:
    """The module that reads an object; a subclass is read as what it is a subclass of."""
    for kind in type(thing).__mro__:
        engine = ENGINES.get(kind.__module__.split(".")[0])
        if engine is not None:
            return engine
    return _OTHERS if hasattr(thing, "__arrow_c_stream__") and not isinstance(thing, type) else None


def readable_again(thing: Any) -> Any:
    """The same source where it can be read as often as one likes; a stream is read into memory."""
    if hasattr(thing, "read_all") or _engine(thing) == _OTHERS:
        return import_module(_OTHERS).in_memory(thing)
    return thing

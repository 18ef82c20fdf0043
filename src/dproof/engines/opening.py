"""One way to open every kind of source."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from dproof.arguments import as_path, described, expect
from dproof.engines.source import Source
from dproof.errors import InputError

# The package that an object comes from, and the module here that reads it. Each has `open_(thing, table)`.
ENGINES = {
    "pyarrow": "dproof.engines.arrow",
    "pandas": "dproof.engines.pandas",
    "polars": "dproof.engines.polars",
    "duckdb": "dproof.engines.duckdb",
    "_duckdb": "dproof.engines.duckdb",
    "numpy": "dproof.engines.numpy",
    "pyspark": "dproof.engines.spark",
}

# The ending of a file, and the module here that reads it.
FILES = {
    ".csv": "dproof.engines.files",
    ".parquet": "dproof.engines.files",
    ".arrow": "dproof.engines.files",
    ".feather": "dproof.engines.files",
    ".ipc": "dproof.engines.files",
    ".duckdb": "dproof.engines.duckdb",
    ".db": "dproof.engines.duckdb",
}


def open_source(thing: Any, table: str | None = None) -> Source:
    """Open a path, a frame, a relation or an array; `table` names the table inside a DuckDB file.

    >>> import pyarrow
    >>> open_source(pyarrow.table({"age": [41]})).names
    ('age',)
    """
    if isinstance(thing, Source):
        return thing
    if table is not None:
        expect(table, str, "table", "the name of a table inside a DuckDB file")
    if isinstance(thing, (str, os.PathLike)):
        path = as_path(thing, "source")
        if not path.exists():
            raise InputError(f"there is no file or folder {str(path)!r}")
        engine = "dproof.engines.files" if path.is_dir() else FILES.get(path.suffix.lower())
        if engine is None:
            raise InputError(f"{path.name!r} ends in no known way: expected one of {', '.join(FILES)}, or a folder")
        thing = path
    else:
        engine = ENGINES.get(type(thing).__module__.split(".")[0])
        if engine is None:
            raise InputError(
                f"source must be a path, or a table of {', '.join(k for k in ENGINES if k[0] != '_')}; "
                f"not {described(thing)}"
            )
    if table is not None and engine != "dproof.engines.duckdb":
        raise InputError("only a DuckDB file holds tables to choose from: leave `table` out")
    source: Source = import_module(engine).open_(thing, table)
    return source

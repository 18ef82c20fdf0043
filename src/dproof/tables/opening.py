"""One way to open every kind of source."""

from __future__ import annotations

import os
from typing import Any

from dproof.arguments import as_path, described, expect
from dproof.errors import InputError
from dproof.tables.layout import USUAL, Layout
from dproof.tables.source import Source


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
    from dproof.tables.files import NO_TABLES, open_file
    from dproof.tables.frames import ENGINES, engine_of

    if table is not None:
        expect(table, str, "table", "the name of a table inside a DuckDB file, or of a sheet")
    if isinstance(thing, (str, os.PathLike)):
        path = as_path(thing, "source")
        if not path.exists():
            raise InputError(f"there is no file or folder {str(path)!r}")
        return open_file(path, table, layout)
    engine = engine_of(thing)
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
    return engine(thing)


def readable_again(thing: Any) -> Any:
    """The source in a form that can be read as often as one likes: a stream is read into memory."""
    from dproof.tables.frames import engine_of, in_memory, open_stream

    return in_memory(thing) if hasattr(thing, "read_all") or engine_of(thing) is open_stream else thing

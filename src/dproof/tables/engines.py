"""What opens a table: by its package in memory (Arrow, pandas, Polars, NumPy, any stream), in a file by its ending.

A column of Python objects has no type of its own: each object is read by itself (`dproof.columns.values`), so that no
row decides how another is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from dproof.columns.values import object_array
from dproof.errors import SourceError
from dproof.limits import LARGEST_CHUNK
from dproof.tables.database import open_database, open_relation
from dproof.tables.delimited import open_delimited
from dproof.tables.duckdb import in_duckdb
from dproof.tables.source import BATCH_ROWS, Layout, Source, ending, refusing
from dproof.tables.workbook import open_workbook

# Categories of these types in pandas are read as objects of their kind are, each by itself.
_TELLING_NOTHING = (
    *(pa.types.is_integer, pa.types.is_float64, pa.types.is_boolean),
    *(pa.types.is_string, pa.types.is_large_string, pa.types.is_binary),
)
_NO_TYPE = (pa.ArrowException, TypeError, ValueError, OverflowError)  # what Arrow raises where it has no type


def open_arrow(thing: Any) -> Source:
    """Open a table, a record batch, or a reader, which can be read once."""
    if isinstance(thing, pa.RecordBatch):
        thing = pa.Table.from_batches([thing])
    if isinstance(thing, pa.Table):
        relation = cache(lambda: in_duckdb(thing, thing.schema))
        names, rows = tuple(thing.schema.names), thing.num_rows
        return Source(names, lambda columns: iter(thing.to_batches()), rows, [thing.schema], relation=relation)
    if isinstance(thing, pa.RecordBatchReader):
        return _open_reader(thing, "the reader")
    raise SourceError(f"an Arrow source is a Table, a RecordBatch or a RecordBatchReader, not a {type(thing).__name__}")


def open_stream(thing: Any) -> Source:
    """Open a table with the method `__arrow_c_stream__`, which is then read once, in bounded memory.

    A frame would give its rows again when it is asked again, but a stream would give none, and nothing tells them
    apart: so the method is called once.
    """
    return _open_reader(_reader(thing), "the Arrow stream")


def _open_reader(reader: Any, what: str) -> Source:
    return Source(tuple(reader.schema.names), lambda columns: reader, types=[reader.schema], what=what)


def in_memory(thing: Any) -> Any:
    """A stream as an Arrow table, which can be read again."""
    reader = thing if hasattr(thing, "read_all") else _reader(thing)
    with refusing("the Arrow stream cannot be read"):
        return reader.read_all()


def _reader(thing: Any) -> Any:
    why = "its __arrow_c_stream__ gives no stream of columns"
    with refusing(f"the source of the class {type(thing).__name__} cannot be read", why):
        return pa.RecordBatchReader.from_stream(thing)


def open_numpy(thing: Any) -> Source:
    """Open a one-dimensional array with named fields."""
    names = getattr(getattr(thing, "dtype", None), "names", None)
    if not isinstance(thing, np.ndarray) or thing.ndim != 1 or not names:
        raise SourceError("a NumPy source is a one-dimensional structured array, whose fields have names")
    return _open_sliced(thing, names, lambda start, stop: thing[start:stop], numpy_column)


def open_pandas(thing: Any) -> Source:
    """Open a DataFrame; its index is never read."""
    import pandas

    if not isinstance(thing, pandas.DataFrame):
        raise SourceError(f"a pandas source is a DataFrame, not a {type(thing).__name__}")
    if not all(isinstance(name, str) for name in thing.columns):
        raise SourceError("every column of the frame needs a name that is text: rename the columns")
    return _open_sliced(thing, thing.columns, lambda start, stop: thing.iloc[start:stop], pandas_column)


def _open_sliced(
    thing: Any, names: Sequence[str], rows: Callable[[int, int], Any], as_arrow: Callable[[Any], Any]
) -> Source:
    def batch(part: Any, columns: Sequence[str]) -> Any:
        return pa.RecordBatch.from_arrays([as_arrow(part[name]) for name in columns], names=list(columns))

    def read(columns: Sequence[str]) -> Iterator[Any]:
        for start in range(0, len(thing) if columns else 0, BATCH_ROWS):
            yield batch(rows(start, start + BATCH_ROWS), columns)

    return Source(tuple(names), read, len(thing), [batch(rows(0, 0), names).schema])


def numpy_column(column: Any) -> Any:
    """One column as Arrow; objects, and what Arrow has no type for, one by one."""
    hidden = None
    if isinstance(column, np.ma.MaskedArray):  # what lies under a mask is missing
        hidden, column = np.ma.getmaskarray(column), column.data
    if column.dtype != object and column.ndim == 1:
        try:
            return pa.array(np.ascontiguousarray(column), mask=hidden)
        except UnicodeError:  # texts with half a surrogate pair: still a column of texts
            texts = [text.encode("utf-8", "surrogatepass") for text in column.tolist()]
            return pa.array(texts, pa.binary(), mask=hidden)
        except _NO_TYPE:
            pass
    return object_array(column if hidden is None else _shown(column, hidden))


def _shown(column: Any, hidden: Any) -> list[Any]:
    """The objects that no mask hides; of an array within a row every element is hidden by itself."""
    return [np.ma.array(x, mask=m) if np.ndim(m) else None if m else x for x, m in zip(column, hidden, strict=True)]


def pandas_column(series: Any) -> Any:
    """One column as Arrow; objects, and what Arrow has no type for, one by one."""
    import pandas

    if isinstance(series.dtype, pandas.CategoricalDtype):
        # Which type the categories share follows from the rows, so only where it tells nothing is it kept.
        known = pandas_column(pandas.Series(series.cat.categories, dtype=series.cat.categories.dtype))
        if not any(check(known.type) for check in _TELLING_NOTHING):
            return object_array(series.astype(object))
        return pa.DictionaryArray.from_arrays(pa.array(series.cat.codes, mask=series.isna()), known)
    # Durations one by one, too: a text among them makes objects of all, and the rows choose the unit of their type.
    if pandas.api.types.is_object_dtype(series.dtype) or series.dtype.kind == "m":
        return object_array(series.astype(object))
    try:
        array = pa.array(series, from_pandas=True)
    except UnicodeError:  # texts with half a surrogate pair: still a column of texts
        return pa.array([None if x is pandas.NA or x != x else x.encode("utf-8", "surrogatepass") for x in series])
    except _NO_TYPE:
        return object_array(series)
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    return object_array(series) if isinstance(array.type, pa.BaseExtensionType) else array


def open_polars(thing: Any) -> Source:
    """Open a DataFrame, or a LazyFrame, which is streamed in batches."""
    import polars

    if isinstance(thing, polars.DataFrame):

        def read(columns: Sequence[str]) -> Iterator[Any]:
            for part in thing.select(columns).iter_slices(BATCH_ROWS):
                yield from polars_table(part).to_batches()

        return Source(tuple(thing.columns), read, thing.height, [polars_table(thing.head(0)).schema], what="the frame")
    if isinstance(thing, polars.LazyFrame):

        def read(columns: Sequence[str]) -> Iterator[Any]:
            # Order is kept so that `order = "keep"` means what it says.
            for part in thing.select(columns).collect_batches(chunk_size=BATCH_ROWS, maintain_order=True):
                yield from polars_table(part).to_batches()

        with refusing("the lazy frame cannot be read"):
            empty = thing.collect_schema().to_frame()
            return Source(tuple(empty.columns), read, types=[polars_table(empty).schema], what="the lazy frame")
    raise SourceError(f"a Polars source is a DataFrame or a LazyFrame, not a {type(thing).__name__}")


def polars_table(frame: Any) -> Any:
    """A frame as Arrow; of objects Polars would hand over where they lie in memory, so they are read one by one."""
    import polars

    typed = {name for name, kind in frame.schema.items() if kind != polars.Object}
    known = frame.select(column for column in frame.columns if column in typed).to_arrow()
    return pa.table(
        [known[name] if name in typed else object_array(frame[name]) for name in frame.columns], frame.columns
    )


def _open_spark(thing: Any) -> Source:
    from dproof.tables.spark import open_spark

    return open_spark(thing)


# By the package that an object comes from. These know more than Arrow tells, such as the objects of a frame one by one;
# a table of any other package is read as a stream.
ENGINES: dict[str, Callable[[Any], Source]] = {
    "pyarrow": open_arrow,
    "pandas": open_pandas,
    "polars": open_polars,
    "duckdb": open_relation,
    "_duckdb": open_relation,
    "numpy": open_numpy,
    "pyspark": _open_spark,
}


def engine_of(thing: Any) -> Callable[[Any], Source] | None:
    """What opens an object; a subclass is opened as what it is a subclass of."""
    for kind in type(thing).__mro__:
        engine = ENGINES.get(kind.__module__.split(".")[0])
        if engine is not None:
            return engine
    return open_stream if hasattr(thing, "__arrow_c_stream__") and not isinstance(thing, type) else None


# Files by their endings, and folders of files of one kind -------------------------------------------------------------

_SQLITE = (".sqlite", ".sqlite3")
_DATABASES = (".duckdb", ".db", *_SQLITE)
_WITH_TABLES = (*_DATABASES, ".xlsx")
_IN_A_RELEASE = "certificate.json"  # as `storage` calls it, which stands above
NO_TABLES = "only a database holds tables, and a workbook sheets, to choose from: leave `table` out"


def open_file(path: Path, table: str | None, layout: Layout) -> Source:
    """Open one file by its ending, or a folder of files of one kind; `table` is one in a database, or a sheet."""
    if path.is_dir():
        if (path / _IN_A_RELEASE).is_file():
            raise SourceError(f"{str(path)!r} is a release, and no table of private rows: ask it with `dproof query`")
        return _open_folder(path, layout)
    if ending(path) not in FILES:
        raise SourceError(f"{path.name!r} is not of a known file type: expected one of {', '.join(FILES)}, or a folder")
    if table is not None and ending(path) not in _WITH_TABLES:
        raise SourceError(NO_TABLES)
    with refusing(f"{path.name!r} cannot be opened"):
        return FILES[ending(path)](path, table, layout)


def _open_parquet(path: Path, table: str | None, layout: Layout) -> Source:
    from pyarrow.parquet import ParquetFile  # lazy: it loads Arrow's file systems too, which a text file does not need

    with ParquetFile(path) as file:
        schema, rows = file.schema_arrow, file.metadata.num_rows
    texts = [f.name for f in schema if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)]
    relation = cache(lambda: in_duckdb((path,), schema))

    def read(columns: Sequence[str]) -> Iterator[Any]:
        with ParquetFile(path) as plain:
            for group in map(plain.metadata.row_group, range(plain.metadata.num_row_groups)):
                if any(group.column(n).total_uncompressed_size > LARGEST_CHUNK for n in range(group.num_columns)):
                    raise SourceError(f"{path.name!r} has a row group that is too large to read: write smaller ones")
        # Without buffering ahead, which would keep all of the file in memory.
        with ParquetFile(path, read_dictionary=texts, pre_buffer=False) as file:
            yield from file.iter_batches(BATCH_ROWS, columns=list(columns))

    return Source(tuple(schema.names), read, rows, [schema], relation=relation, what=f"{path.name!r}")


def _open_ipc(path: Path, table: str | None, layout: Layout) -> Source:
    def reader() -> Any:
        try:
            return pa.ipc.open_file(pa.memory_map(str(path)))
        except pa.ArrowInvalid:
            return pa.ipc.open_stream(pa.memory_map(str(path)))

    def read(columns: Sequence[str]) -> Iterator[Any]:
        with reader() as opened:
            is_file = isinstance(opened, pa.ipc.RecordBatchFileReader)
            for batch in map(opened.get_batch, range(opened.num_record_batches)) if is_file else opened:
                batch.validate(full=True)  # every offset: a hostile one could point outside the file
                yield batch

    with reader() as opened:
        schema = opened.schema
    return Source(tuple(schema.names), read, types=[schema], what=f"{path.name!r}")


FILES: dict[str, Callable[[Path, str | None, Layout], Source]] = {
    **dict.fromkeys((".csv", ".csv.gz", ".tsv", ".tsv.gz"), lambda path, table, layout: open_delimited(path, layout)),
    ".xlsx": lambda path, table, layout: open_workbook(path, table or layout.sheet, layout),
    ".parquet": _open_parquet,
    **dict.fromkeys((".arrow", ".feather", ".ipc"), _open_ipc),
    **dict.fromkeys(_DATABASES, lambda path, table, layout: open_database(path, table)),
}


def files_of(folder: Path) -> list[Path]:
    """The files of a folder, which are of one kind, in the order of their names."""
    kinds = [kind for kind in FILES if kind not in _DATABASES]
    paths = sorted(p for p in folder.iterdir() if ending(p) in kinds and p.name[0] not in "._")
    if len({ending(p) for p in paths}) != 1:
        raise SourceError(f"the folder {str(folder)!r} must hold files of one kind: {', '.join(kinds)}")
    return paths


def _open_folder(folder: Path, layout: Layout) -> Source:
    """Files of one kind and the same columns."""
    paths = files_of(folder)
    parts = [open_file(path, None, layout) for path in paths]
    for path, part in zip(paths, parts, strict=True):
        if set(part.names) != set(parts[0].names):
            raise SourceError(f"{path.name!r} has other columns than {paths[0].name!r}: a folder is one table")
    rows = [part.rows for part in parts if part.rows is not None]

    def start() -> None:
        for part in parts:
            part.start()

    return Source(
        parts[0].names,
        lambda columns: (batch for part in parts for batch in part.read(columns)),
        sum(rows) if len(rows) == len(parts) else None,
        list(dict.fromkeys(types for part in parts for types in part.types)),
        typed=any(part.typed for part in parts),
        start=start,
        fault=lambda: next(filter(None, (part.fault() for part in parts)), None),
    )

"""Files that Arrow reads: CSV, Parquet, IPC, and folders of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from dproof.engines.arrow import batches
from dproof.engines.source import BATCH_ROWS, Source, refusing
from dproof.errors import InputError

_LONGEST_LINE = 1 << 23  # bytes of CSV read at a time; a longer line is refused
_LARGEST_CHUNK = 1 << 32  # bytes that one column of one row group may unpack to
_BROKEN = (pa.ArrowException, OSError, UnicodeError)
_CSV = "CSV is UTF-8 with commas between fields, and each line has as many as the first"
_SPLIT_BY = {b";": "semicolons", b"\t": "tabs"}
# Text is taken as it stands: what it means is the plan's business, and no type is ever guessed from the data.
_TEXT = pa.dictionary(pa.int32(), pa.binary())


def open_(path: Path, table: str | None = None) -> Source:
    """Open one file by its ending, or a folder of files of one kind."""
    if path.is_dir():
        return _open_folder(path)
    with refusing(f"{path.name!r} cannot be opened", *_BROKEN):
        return _OPENERS[path.suffix.lower()](path)


def _open_parquet(path: Path) -> Source:
    file = pa.parquet.ParquetFile(path)
    names, rows = tuple(file.schema_arrow.names), file.metadata.num_rows
    file.close()
    return Source(names, lambda columns: _read_parquet(path, columns), rows)


def _read_parquet(path: Path, columns: Sequence[str]) -> Iterator[Any]:
    what = f"{path.name!r} cannot be read"
    with refusing(what, *_BROKEN), pa.parquet.ParquetFile(path) as plain:
        texts = [f.name for f in plain.schema_arrow if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)]
        for group in range(plain.metadata.num_row_groups):
            chunks = plain.metadata.row_group(group)
            if any(chunks.column(c).total_uncompressed_size > _LARGEST_CHUNK for c in range(chunks.num_columns)):
                raise InputError(f"{path.name!r} has a row group that is too large to read: write smaller ones")
        # Without buffering ahead, which would keep all of the file in memory.
        with pa.parquet.ParquetFile(path, read_dictionary=texts, pre_buffer=False) as file:
            stream = file.iter_batches(BATCH_ROWS, columns=list(columns))
            yield from batches(stream, columns, what)


def _open_csv(path: Path) -> Source:
    with path.open("rb") as file:
        head = file.readline(_LONGEST_LINE)
    for sign, name in _SPLIT_BY.items():
        if sign in head and b"," not in head:  # as spreadsheets write it where the comma is in the numbers
            raise InputError(f"{path.name!r} has {name} between its fields: save it with commas, and 1.5 for 1,5")
    with refusing(f"{path.name!r} cannot be opened", *_BROKEN, why=_CSV):
        reader = _csv_reader(path, [])
    names = tuple(reader.schema.names)
    reader.close()
    return Source(names, lambda columns: _read_csv(path, columns, len(names)))


def _read_csv(path: Path, columns: Sequence[str], width: int) -> Iterator[Any]:
    with refusing(f"{path.name!r} cannot be read", *_BROKEN, why=_CSV):
        # A blank line is a row with a missing value where there is one column, and nothing where there are more.
        yield from batches(_csv_reader(path, columns, blank_lines=width == 1), columns, f"{path.name!r}")


def _csv_reader(path: Path, columns: Sequence[str], *, blank_lines: bool = False) -> Any:
    return pa.csv.open_csv(
        path,
        read_options=pa.csv.ReadOptions(block_size=_LONGEST_LINE),
        parse_options=pa.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=not blank_lines),
        convert_options=pa.csv.ConvertOptions(
            column_types=dict.fromkeys(columns, _TEXT), include_columns=list(columns), check_utf8=False
        ),
    )


def _open_ipc(path: Path) -> Source:
    with _ipc_reader(path) as reader:
        names = tuple(reader.schema.names)
    return Source(names, lambda columns: _read_ipc(path, columns))


def _read_ipc(path: Path, columns: Sequence[str]) -> Iterator[Any]:
    what = f"{path.name!r} cannot be read"
    with refusing(what, *_BROKEN), _ipc_reader(path) as reader:
        yield from batches((_checked(batch) for batch in _each(reader)), columns, what)


def _ipc_reader(path: Path) -> Any:
    source = pa.memory_map(str(path))
    try:
        return pa.ipc.open_file(source)
    except pa.ArrowInvalid:
        return pa.ipc.open_stream(pa.memory_map(str(path)))


def _each(reader: Any) -> Iterator[Any]:
    if isinstance(reader, pa.ipc.RecordBatchFileReader):
        return (reader.get_batch(n) for n in range(reader.num_record_batches))
    return iter(reader)


def _checked(batch: Any) -> Any:
    """A batch whose every offset has been looked at: a hostile one could point outside the file."""
    batch.validate(full=True)
    return batch


_OPENERS = {
    ".parquet": _open_parquet,
    ".csv": _open_csv,
    ".arrow": _open_ipc,
    ".feather": _open_ipc,
    ".ipc": _open_ipc,
}


def _open_folder(folder: Path) -> Source:
    """Files of one kind and the same columns, in the order of their names."""
    paths = sorted(p for p in folder.iterdir() if p.suffix.lower() in _OPENERS and p.name[0] not in "._")
    if len({p.suffix.lower() for p in paths}) != 1:
        raise InputError(f"the folder {folder.name!r} must hold files of one kind: {', '.join(_OPENERS)}")
    parts = [open_(path) for path in paths]
    for path, part in zip(paths, parts, strict=True):
        if set(part.names) != set(parts[0].names):
            raise InputError(f"{path.name!r} has other columns than {paths[0].name!r}: a folder is one table")
    rows = [part.rows for part in parts if part.rows is not None]
    return Source(
        parts[0].names,
        lambda columns: (batch for part in parts for batch in part.read(columns)),
        sum(rows) if len(rows) == len(parts) else None,
    )

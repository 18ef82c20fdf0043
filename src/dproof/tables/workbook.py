"""Sheets of .xlsx workbooks, each cell read by itself as the text that a file of fields would have for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, time
from itertools import dropwhile
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import pyarrow as pa

from dproof.errors import InputError, did_you_mean
from dproof.spaces.values import Numerals, written
from dproof.tables.source import BATCH_ROWS, Source, refusing

_LARGEST = 1 << 30  # bytes that a workbook may unpack to
_MOST_CELLS = 1 << 26  # of a sheet, whose cells are held in memory, the empty ones between others too
_CHUNK = 1 << 22
_COLUMNS, _ROWS = re.compile(rb' r="([A-Z]{1,3})[0-9]'), re.compile(rb'row [^>]{0,200}?r="([0-9]{1,9})"')


def open_workbook(path: Path, sheet: str | None, numerals: Numerals) -> Source:
    """Open one sheet, the first unless it is named; its first row names the columns.

    A formula is the value that it had when the workbook was saved; an error in a cell is a missing value.
    """
    try:
        import python_calamine as calamine
    except ImportError:
        raise InputError(
            f"reading {path.name!r} needs the extra excel: `python -m pip install 'dproof[excel]'`; or save it as .csv"
        ) from None
    broken = (calamine.CalamineError, BadZipFile, OSError, NotImplementedError, RuntimeError)
    why = "it is damaged, has a password, or is no .xlsx workbook"
    with refusing(f"{path.name!r} cannot be opened", *broken, why=why):
        _check_size(path)
        workbook = calamine.CalamineWorkbook.from_path(path)
        known = list(workbook.sheet_names)
        if sheet is not None and sheet not in known:
            raise InputError(f"{path.name!r} has no sheet {sheet!r}{did_you_mean(sheet, known)}")
        cells = workbook.get_sheet_by_name(known[0] if sheet is None else sheet)
        header = next(_rows(cells), None)
    if header is None:
        raise InputError(f"the sheet {cells.name!r} of {path.name!r} is empty: it needs a header line")
    used = [place for place, cell in enumerate(header) if cell != ""]
    first, end = used[0], used[-1] + 1  # cells to the left and the right of the header belong to no column
    names = tuple((_text(cell, numerals) or b"").decode() for cell in header[first:end])

    def read(columns: Sequence[str]) -> Iterator[Any]:
        places = [first + names.index(column) for column in columns]
        waiting: list[list[bytes | None]] = []
        rows = _rows(cells)
        next(rows)
        for row in rows:
            waiting.append([_text(row[place], numerals) for place in places])
            if len(waiting) == BATCH_ROWS:
                yield _batch(waiting, columns)
                waiting = []
        if waiting:
            yield _batch(waiting, columns)

    return Source(names, read, typed=False)


def _rows(cells: Any) -> Iterator[list[Any]]:
    """The rows from the header to the last row with a cell in use; a blank one between them has missing values."""
    return dropwhile(_is_blank, cells.iter_rows())


def _is_blank(row: list[Any]) -> bool:
    return all(cell == "" for cell in row)


def _text(cell: Any, numerals: Numerals) -> bytes | None:
    """A cell as the text that the plan's signs make of it again; None for an empty one."""
    if isinstance(cell, str):
        return cell.encode("utf-8", "surrogatepass") or None
    if isinstance(cell, (date, time)):
        return cell.isoformat().encode()
    if isinstance(cell, float):
        return written(cell).replace(".", numerals.decimal).encode()
    return written(cell).encode()


def _batch(rows: Sequence[Sequence[bytes | None]], columns: Sequence[str]) -> Any:
    arrays = [pa.array(column, pa.binary()) for column in zip(*rows, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _check_size(path: Path) -> None:
    """Refuse what would not fit into memory: too much text, or a sheet with cells far apart."""
    with ZipFile(path) as packed:
        members = packed.infolist()
        if sum(member.file_size for member in members) > _LARGEST:
            raise InputError(f"{path.name!r} unpacks to more than a gigabyte: save the sheet as .csv")
        for member in members:
            wide, long, kept = {b"A"}, 1, b""
            with packed.open(member) as file:  # to the end, where its size and sum are checked
                while chunk := file.read(_CHUNK):
                    part, kept = kept + chunk, chunk[-300:]
                    if member.filename.startswith("xl/worksheets/"):
                        wide.update(_COLUMNS.findall(part))
                        long = max(long, *map(int, _ROWS.findall(part)), 1)
            if long * max(map(_place, wide)) > _MOST_CELLS:
                raise InputError(f"a sheet of {path.name!r} has cells too far apart: save the table as .csv")


def _place(letters: bytes) -> int:
    """The number of a column from its letters: A is 1, Z is 26, AA is 27."""
    place = 0
    for letter in letters:
        place = 26 * place + letter - 64
    return place

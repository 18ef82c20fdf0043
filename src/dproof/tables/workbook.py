"""Sheets of .xlsx workbooks: each cell read by itself as the text that a file of fields would have for it, and written.

A workbook is a ZIP file of XML: the names of its sheets, the texts that cells share, the formats that make a date of a
number, and the cells of each sheet. A sheet is read when it is opened, so that nothing in it can fail later.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import lru_cache
from io import BytesIO
from itertools import islice, takewhile
from pathlib import Path
from typing import Any
from xml.parsers import expat
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import pyarrow as pa

from dproof.columns.values import NO_TEXT, Numerals, written
from dproof.errors import SourceError, TooLarge, did_you_mean
from dproof.limits import LARGEST_WORKBOOK, MOST_SHEET_CELLS
from dproof.tables.source import BATCH_ROWS, MOST_TITLES, USUAL, Layout, Source, names_apart, refusing

_MOST_ROWS = 1 << 20  # of any sheet
_AT_A_TIME = 1 << 22  # bytes that are parsed together, and cells that wait for their batch
_LETTERS, _ESCAPED = re.compile("[A-Z]{1,3}"), re.compile("_x([0-9A-Fa-f]{4})_")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_TRUTHS = {"1": b"true", "true": b"true", "0": b"false", "false": b"false", "": None}
# In a format: signs of elapsed time, and what is shown as it stands, a colour or a language.
_ELAPSED, _NO_SIGN = re.compile(r"\[(?:h+|m+|s+)\]"), re.compile(r'"[^"]*"|[\\_*].|\[[^\]]*\]')
_DATES, _ELAPSED_TIME = {*range(14, 23), *range(27, 37), 45, 47, *range(50, 59)}, 46  # formats that need no code
_LAST_DAY = 2_958_465  # 9999-12-31
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"  # the usual namespace of elements
Row = dict[int, bytes | None]
Cell = Callable[[Mapping[str, str], str], bytes | None]
Format = Callable[[float], str]
Ended = Callable[[dict[str, str], str | None], None]  # an element with its attributes and the text of its value


def open_workbook(path: Path, sheet: str | None, layout: Layout = USUAL) -> Source:
    """Open one sheet, the first unless it is named; its first row from the header on names the columns.

    A formula is the value that it had when the workbook was saved, an error in a cell is a missing value, and a cell
    that cannot be read is a value that no plan declares.
    """
    with _opened_sheet(path, sheet, layout) as (chosen, rows):
        named = ((number, row) for number, row in rows if number >= layout.header and any(row.values()))
        start, header = next(named, (0, {}))
        if not header:
            where = "is empty" if layout.header == 1 else f"has nothing from row {layout.header:,} on"
            raise SourceError(f"the sheet {chosen!r} of {path.name!r} {where}: it needs a header line")
        used = [place for place, text in header.items() if text]
        places = range(min(used), max(used) + 1)  # cells to the left and the right of the header are in no column
        batches = [*_batches(rows, start, places, path.name)]
    names, repeated = names_apart([(header.get(place) or b"").decode("utf-8", "replace") for place in places])

    def read(columns: Sequence[str]) -> Iterator[Any]:
        for batch in batches:
            yield pa.RecordBatch.from_arrays([batch[names.index(column)] for column in columns], list(columns))

    return Source(names, read, typed=False, what=f"{path.name!r}", repeated=repeated)


@contextmanager
def _opened_sheet(path: Path, sheet: str | None, layout: Layout) -> Iterator[tuple[str, Iterator[tuple[int, Row]]]]:
    """The name of a sheet and its rows, while the workbook is open."""
    why = "it is damaged, has a password, or is no .xlsx workbook"
    with refusing(f"{path.name!r} cannot be opened", why), ZipFile(path) as packed:
        if sum(member.file_size for member in packed.infolist()) > LARGEST_WORKBOOK:
            raise SourceError(
                f"{path.name!r} unpacks to more than {LARGEST_WORKBOOK >> 20:,} MiB: save the sheet as .csv"
            )
        (book,) = _related(packed, "", "officeDocument").values()
        sheets, cell = _contents(packed, book, layout.numerals)
        if sheet is not None and sheet not in sheets:
            raise SourceError(f"{path.name!r} has no sheet {sheet!r}{did_you_mean(sheet, sheets)}")
        chosen = next(iter(sheets)) if sheet is None else sheet
        yield chosen, _rows(packed, sheets[chosen], cell)


def titles_of_sheet(path: Path, layout: Layout) -> int:
    """How many rows stand above the names of the columns of a sheet: titles have few cells, at most half as many as the
    row that has most.

    Only whoever may look at rows may ask: where no row has the names, it may be one of these.
    """
    with _opened_sheet(path, layout.sheet, layout) as (_, rows):
        counts = ((number, sum(map(bool, row.values()))) for number, row in islice(rows, MOST_TITLES))
        used = [(number, cells) for number, cells in counts if cells]
    most = max((cells for _, cells in used), default=0)
    above = [number for number, _ in takewhile(lambda row: 2 * row[1] <= most, used)]
    return above[-1] if above else 0


def _batches(rows: Iterator[tuple[int, Row]], start: int, places: range, name: str) -> Iterator[list[Any]]:
    """The columns of the rows below the header, in batches; a blank row between others has missing values."""
    most = min(BATCH_ROWS, _AT_A_TIME // len(places) + 1)
    last, waiting = start, list[Row]()

    def batch() -> list[Any]:
        return [pa.array([row.get(place) for row in waiting], pa.binary()) for place in places]

    for number, row in rows:
        if (number - start) * len(places) > MOST_SHEET_CELLS:
            raise SourceError(f"a sheet of {name!r} is too large, or has cells too far apart: save the table as .csv")
        for between in range(last + 1, number + 1):
            waiting.append(row if between == number else {})
            if len(waiting) == most:
                yield batch()
                waiting.clear()
        last = number
    if waiting:
        yield batch()


def _rows(packed: ZipFile, part: str, cell: Cell) -> Iterator[tuple[int, Row]]:
    """The number of each row that has a cell in use, and the texts of its cells by their places."""
    number, place, row, ended = 0, -1, Row(), list[tuple[int, Row]]()

    def end_cell(attributes: dict[str, str], text: str | None) -> None:
        nonlocal place
        letters = _LETTERS.match(attributes.get("r", ""))
        place = place + 1 if letters is None else _place(letters[0])
        if text is not None:
            row[place] = cell(attributes, text)

    def end_row(attributes: dict[str, str], text: str | None) -> None:
        nonlocal number, place, row
        last, number = number, int(attributes.get("r", number + 1))
        if not last < number <= _MOST_ROWS:
            raise ValueError("rows in no order")
        if row:
            ended.append((number, row))
        place, row = -1, {}

    for _ in _parsed(packed, part, {"c": end_cell, "row": end_row}):
        yield from ended
        ended.clear()


@lru_cache(1 << 15)
def _place(letters: str) -> int:
    """The place of a column from its letters: A is 0, Z is 25, AA is 26."""
    place = 0
    for letter in letters:
        place = 26 * place + ord(letter) - 64
    return place - 1


def _contents(packed: ZipFile, book: str, numerals: Numerals) -> tuple[dict[str, str], Cell]:
    """Where each sheet is, and what reads a cell from its attributes and its text."""
    parts = _related(packed, book, "worksheet")
    sheets, first_day = dict[str, str](), datetime(1899, 12, 30)
    for name, attributes, _ in _elements(packed, book, "sheet", "workbookPr"):
        if name == "workbookPr" and attributes.get("date1904") in ("1", "true"):
            first_day = datetime(1904, 1, 1)
        link = next((value for key, value in attributes.items() if key.endswith(" id")), "")
        if name == "sheet" and link in parts:  # others have charts
            sheets[attributes["name"]] = parts[link]
    shared = [
        _encoded(text or "")
        for part in _related(packed, book, "sharedStrings").values()
        for _, _, text in _elements(packed, part, "si")
    ]
    formats = _formats(packed, book, first_day)

    def cell(attributes: Mapping[str, str], text: str) -> bytes | None:
        kind = attributes.get("t", "n")
        if kind == "e" or not text:
            return None
        if kind == "s":
            known = text.isascii() and text.isdecimal() and len(text) < 10 and int(text) < len(shared)
            return shared[int(text)] if known else NO_TEXT
        if kind == "b":
            return _TRUTHS.get(text, NO_TEXT)
        if kind in ("str", "inlineStr", "d") or not _NUMBER.fullmatch(text):
            return _encoded(text)
        number, shown = float(text), formats.get(attributes.get("s", ""))
        try:
            if shown is not None:
                return shown(number).encode()
        except (OverflowError, ValueError):
            pass  # no such moment: the number as it is
        return written(number).replace(".", numerals.decimal).encode()

    return sheets, cell


def _encoded(text: str) -> bytes | None:
    """A text with the characters that XML cannot have, which are written as _x000D_."""
    if "_x" in text:
        text = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
    return text.encode("utf-8", "surrogatepass") or None


def _formats(packed: ZipFile, book: str, first_day: datetime) -> dict[str, Format]:
    """What shows a number as a date or as a duration, by the style of a cell."""

    def moment(number: float) -> str:
        if not 0 <= number <= _LAST_DAY + 1:
            raise OverflowError("no date")
        # In 1900, which had no 29 February, the days before March are counted from one day later.
        shifted = 1 if first_day.year < 1900 and number < 60 else 0
        date = first_day + timedelta(days=shifted, milliseconds=round(number * 86_400_000))
        if number < 1:
            return date.time().isoformat()
        return date.isoformat().removesuffix("T00:00:00")

    def duration(number: float) -> str:
        return str(timedelta(milliseconds=round(number * 86_400_000)))

    codes, styles = dict[str, str](), list[str]()
    for part in _related(packed, book, "styles").values():
        for name, attributes, _ in _elements(packed, part, "numFmt", "xf", "cellStyleXfs"):
            if name == "numFmt":
                codes[attributes.get("numFmtId", "")] = attributes.get("formatCode", "")
            elif name == "xf":
                styles.append(attributes.get("numFmtId", ""))
            else:
                styles.clear()  # those of cells come after
    shows: dict[str, Format] = {f"{_ELAPSED_TIME}": duration}
    shows.update((f"{number}", moment) for number in _DATES)
    for number, code in codes.items():
        signs = code.lower().split(";")[0]
        if _ELAPSED.search(signs):
            shows[number] = duration
        elif re.search("[dmyhs]", _NO_SIGN.sub("", signs)):
            shows[number] = moment
    return {f"{style}": shows[number] for style, number in enumerate(styles) if number in shows}


# The file -------------------------------------------------------------------------------------------------------------


def _related(packed: ZipFile, part: str, kind: str) -> dict[str, str]:
    """The parts of some kind that a part of the file links to, by the names of the links."""
    folder, name = posixpath.split(part)
    links = _elements(packed, posixpath.join(folder, "_rels", f"{name}.rels"), "Relationship")
    return {
        link["Id"]: posixpath.normpath(posixpath.join("/", folder, link["Target"])).strip("/")
        for _, link, _ in links
        if link["Type"].endswith(f"/{kind}")
    }


def _elements(packed: ZipFile, part: str, *wanted: str) -> Iterator[tuple[str, dict[str, str], str | None]]:
    """The elements of these names as they end: name, attributes, and the text of the value inside, None without one."""
    ended = list[tuple[str, dict[str, str], str | None]]()

    def keep(name: str) -> Ended:
        return lambda attributes, text: ended.append((name, attributes, text))

    for _ in _parsed(packed, part, {name: keep(name) for name in wanted}):
        yield from ended
        ended.clear()


def _parsed(packed: ZipFile, part: str, wanted: Mapping[str, Ended]) -> Iterator[None]:
    """Parse a part of the file, piece by piece, and tell of each wanted element as it ends.

    Signs that tell how a text is read aloud are no part of it.
    """
    begun, texts = list[dict[str, str]](), list[str]()
    is_used = is_value = is_aloud = False
    local = {f"{_MAIN} {name}": name for name in (*wanted, "v", "t", "is", "f", "rPh")}

    def begin(name: str, attributes: dict[str, str]) -> None:
        nonlocal is_used, is_value, is_aloud
        name = local.get(name) or name.rpartition(" ")[2]
        if name in wanted:
            is_used = is_value = False
            begun.append(attributes)
            texts.clear()
            return
        is_used = True
        is_value = (name == "v" or name == "t") and not is_aloud
        if name == "rPh":
            is_aloud = True

    def end(name: str) -> None:
        nonlocal is_used, is_value, is_aloud
        name = local.get(name) or name.rpartition(" ")[2]
        is_value = False
        if name in wanted:
            wanted[name](begun.pop(), "".join(texts) if is_used else None)
            is_used = False
        elif name == "rPh":
            is_aloud = False

    def say(text: str) -> None:
        if is_value:
            texts.append(text)

    def refuse(*_: Any) -> None:
        raise ValueError("a document type, whose entities could grow beyond all bounds")

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = say, refuse
    with packed.open(part) as file:
        while chunk := file.read(_AT_A_TIME):
            parser.Parse(chunk)
            yield
    parser.Parse(b"", True)
    yield


# A workbook of plain tables, written ----------------------------------------------------------------------------------

_LONGEST_CELL = 32_767  # characters that a spreadsheet takes
_LARGEST_WHOLE = 10**15  # above it a spreadsheet drops digits
_WRITTEN_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
# What XML cannot have, and what would be read as a sign for it.
_TO_ESCAPE = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
_MARKUP = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}


def workbook(sheets: Mapping[str, Sequence[Sequence[Any]]]) -> bytes:
    """The bytes of a workbook of sheets by their names, each a list of rows; the same for the same sheets.

    Numbers are numbers and None is an empty cell. A text is a text, also where it looks like a formula; a list is its
    JSON.

    >>> workbook({"answer": [["n"], [52]]})[:2]
    b'PK'
    """
    parts = {f"xl/worksheets/sheet{n}.xml": _sheet(rows) for n, rows in enumerate(sheets.values(), 1)}
    numbers = range(1, len(sheets) + 1)
    types = "".join(f'<Override PartName="/{name}" ContentType="{_OFFICE}.worksheet+xml"/>' for name in parts)
    named = "".join(
        f'<sheet name="{_text(name)}" sheetId="{n}" r:id="r{n}"/>' for n, name in zip(numbers, sheets, strict=True)
    )
    links = "".join(
        f'<Relationship Id="r{n}" Type="{_LINKS}/worksheet" Target="worksheets/sheet{n}.xml"/>' for n in numbers
    )
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_OFFICE}.sheet.main+xml"/>{types}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="r1" Type="{_LINKS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook {_WRITTEN_MAIN} xmlns:r="{_LINKS}"><sheets>{named}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{links}</Relationships>',
        **parts,
    }
    written = BytesIO()
    with ZipFile(written, "w", ZIP_DEFLATED) as packed:
        for name, text in parts.items():
            about = ZipInfo(name)  # of 1980: the bytes depend on nothing but the sheets
            about.compress_type = ZIP_DEFLATED
            packed.writestr(about, '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n' + text)
    return written.getvalue()


def _sheet(rows: Sequence[Sequence[Any]]) -> str:
    lines = [
        f'<row r="{n}">{"".join(_cell(f"{_letters(place)}{n}", value) for place, value in enumerate(row))}</row>'
        for n, row in enumerate(rows, 1)
    ]
    return f"<worksheet {_WRITTEN_MAIN}><sheetData>{''.join(lines)}</sheetData></worksheet>"


def _letters(place: int) -> str:
    """What a spreadsheet calls a column: 0 is A, 25 is Z, 26 is AA."""
    before, last = divmod(place, 26)
    return (_letters(before - 1) if before else "") + chr(ord("A") + last)


def _cell(place: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, float) or (isinstance(value, int) and abs(value) < _LARGEST_WHOLE):
        return f'<c r="{place}"><v>{value!r}</v></c>'
    text = value if isinstance(value, str) else json.dumps(value)
    if len(text) > _LONGEST_CELL:
        raise TooLarge(f"a cell has more than {_LONGEST_CELL:,} characters, too many for .xlsx: write .csv or .json")
    return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{_text(text)}</t></is></c>'


def _text(text: str) -> str:
    """A text in XML."""
    plain = _TO_ESCAPE.sub(lambda found: f"_x{ord(found[0]):04X}_", text)
    return "".join(_MARKUP.get(sign, sign) for sign in plain)

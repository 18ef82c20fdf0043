"""A workbook .xlsx of plain tables, written by hand as `tables.workbook` reads one: a ZIP file of XML."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from dproof.errors import TooLarge

_LONGEST_CELL = 32_767  # characters that a spreadsheet takes
_LARGEST_WHOLE = 10**15  # above it a spreadsheet drops digits
_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
# What XML cannot have, and what would be read as a sign for it.
_ESCAPED = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
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
        "xl/workbook.xml": f'<workbook {_MAIN} xmlns:r="{_LINKS}"><sheets>{named}</sheets></workbook>',
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
    return f"<worksheet {_MAIN}><sheetData>{''.join(lines)}</sheetData></worksheet>"


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
    plain = _ESCAPED.sub(lambda found: f"_x{ord(found[0]):04X}_", text)
    return "".join(_MARKUP.get(sign, sign) for sign in plain)

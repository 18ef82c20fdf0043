"""Small .xlsx workbooks written by hand, as spreadsheets write them: shared texts, styles, cached formulas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, ZipFile

_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_CODES = ("[hh]:mm:ss.000", "[$-409]yyyy", '0.0" days"', "[Red]0;[h]:mm", "General", "d mmm")
_STYLES = (
    f"<styleSheet {_MAIN}><numFmts>"
    + "".join(
        f'<numFmt numFmtId="{n}" formatCode="{escape(code, {chr(34): "&quot;"})}"/>'
        for n, code in enumerate(_CODES, 164)
    )
    + '</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs>'
    + "".join(f'<xf numFmtId="{n}"/>' for n in (0, 14, 46, *range(164, 164 + len(_CODES))))
    + "</cellXfs></styleSheet>"
)


class Formula(NamedTuple):
    """A formula, and the value that it had when the workbook was saved; None where nobody worked it out."""

    text: str
    value: float | None


class Fault(NamedTuple):
    """A cell with an error such as #N/A."""

    text: str


class Raw(NamedTuple):
    """A cell with these attributes and this content, whatever they are."""

    attributes: str
    content: str


def write_workbook(path: Path, sheets: Mapping[str, Sequence[Sequence[Any]]], *, first_row: int = 1) -> Path:
    """Write rows of texts, numbers, truth values, dates, formulas, faults and None, for an empty cell."""
    texts: list[str] = []
    pages = [_sheet(rows, texts, first_row) for rows in sheets.values()]
    names = "".join(f'<sheet name="{escape(name)}" sheetId="{n}" r:id="r{n}"/>' for n, name in enumerate(sheets, 1))
    links = "".join(
        f'<Relationship Id="r{n}" Type="{_LINKS}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n in range(1, len(pages) + 1)
    )
    links += f'<Relationship Id="s" Type="{_LINKS}/sharedStrings" Target="sharedStrings.xml"/>'
    links += f'<Relationship Id="t" Type="{_LINKS}/styles" Target="styles.xml"/>'
    shared = "".join(f'<si><t xml:space="preserve">{escape(text)}</t></si>' for text in texts)
    root = f'<Relationship Id="w" Type="{_LINKS}/officeDocument" Target="xl/workbook.xml"/>'
    with ZipFile(path, "w", ZIP_DEFLATED) as file:
        file.writestr("[Content_Types].xml", f'<Types xmlns="{_PACKAGE}/content-types"/>')
        file.writestr("_rels/.rels", f'<Relationships xmlns="{_PACKAGE}/relationships">{root}</Relationships>')
        file.writestr("xl/workbook.xml", f'<workbook {_MAIN} xmlns:r="{_LINKS}"><sheets>{names}</sheets></workbook>')
        file.writestr(
            "xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{_PACKAGE}/relationships">{links}</Relationships>'
        )
        file.writestr("xl/styles.xml", _STYLES)
        file.writestr("xl/sharedStrings.xml", f"<sst {_MAIN}>{shared}</sst>")
        for n, page in enumerate(pages, 1):
            file.writestr(f"xl/worksheets/sheet{n}.xml", page)
    return path


def _sheet(rows: Sequence[Sequence[Any]], texts: list[str], first_row: int) -> str:
    lines = []
    for n, row in enumerate(rows, first_row):
        cells = [_cell(f"{chr(65 + m)}{n}", value, texts) for m, value in enumerate(row) if value is not None]
        lines.append(f'<row r="{n}">{"".join(cells)}</row>')
    return f"<worksheet {_MAIN}><sheetData>{''.join(lines)}</sheetData></worksheet>"


def _cell(place: str, value: Any, texts: list[str]) -> str:
    if isinstance(value, str):
        texts.append(value)
        return f'<c r="{place}" t="s"><v>{len(texts) - 1}</v></c>'
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, date):
        return f'<c r="{place}" s="1"><v>{(value - date(1899, 12, 30)).days}</v></c>'
    if isinstance(value, Formula):
        cached = "" if value.value is None else f"<v>{value.value}</v>"
        return f'<c r="{place}"><f>{escape(value.text)}</f>{cached}</c>'
    if isinstance(value, Raw):
        return f"<c {value.attributes.format(place)}>{value.content}</c>"
    if isinstance(value, Fault):
        return f'<c r="{place}" t="e"><v>{value.text}</v></c>'
    return f'<c r="{place}"><v>{value}</v></c>'

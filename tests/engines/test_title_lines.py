"""Lines of titles above the header, which `header` under [file] numbers: in text files and workbooks."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from dproof.errors import SourceError
from dproof.plans.reader import MisplacedKey, Reader, read_layout
from dproof.tables import Source, open_source
from dproof.tables.source import Layout
from tests.workbooks import write_workbook

TEXT = 'Umfrage 2024, "Stand Mai\n\ntown,age\nKöln,41\n\nBonn,7\n'


def rows(source: Source) -> list[dict[str, Any]]:
    found = [row for batch in source.read(source.names) for row in batch.to_pylist()]
    return [{name: None if value is None else bytes(value).decode() for name, value in row.items()} for row in found]


@pytest.mark.parametrize("header", [2, 3])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "gz"])
def test_titles_above_the_header_are_not_read(tmp_path: Path, encoding: str, header: int) -> None:
    path, kind = tmp_path / "x.csv", "utf-8" if encoding == "gz" else encoding
    path.write_bytes(TEXT.encode(kind))
    if encoding == "gz":
        path = tmp_path / "x.csv.gz"
        path.write_bytes(gzip.compress(TEXT.encode()))
    source = open_source(path, layout=Layout(encoding=kind, header=header))
    source.start()
    assert source.names == ("town", "age")
    assert rows(source) == [{"town": "Köln", "age": "41"}, {"town": "Bonn", "age": "7"}]


def test_a_file_with_nothing_but_titles_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(TEXT)
    with pytest.raises(SourceError, match=r"'x\.csv' has nothing from line 7 on: it needs a header line"):
        open_source(tmp_path / "x.csv", layout=Layout(header=7))
    write_workbook(tmp_path / "x.xlsx", {"a": [["title"], ["town"], ["Ulm"]]})
    with pytest.raises(SourceError, match="has nothing from row 4 on"):
        open_source(tmp_path / "x.xlsx", layout=Layout(header=4))


def test_a_header_without_rows_is_a_table_without_rows(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("title\ntown,age")
    source = open_source(tmp_path / "x.csv", layout=Layout(header=2))
    assert source.names == ("town", "age") and rows(source) == []


def test_a_fault_is_told_with_its_line_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("title\ntown,age\nUlm,3\nBonn\n")
    fault = open_source(tmp_path / "x.csv", layout=Layout(header=2)).fault()
    assert fault is not None and "line 4 has 1 field and the header 2" in fault


def test_a_title_longer_than_a_header_may_be(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("x" * (9 << 20) + "\ntown\nUlm\n")
    assert rows(open_source(tmp_path / "x.csv", layout=Layout(header=2))) == [{"town": "Ulm"}]


@pytest.mark.parametrize("header", [2, 3, 4])
def test_titles_of_a_sheet_are_not_read(tmp_path: Path, header: int) -> None:
    table = [["Umfrage 2024"], [], ["", "town", "age"], ["", "Ulm", 7], ["", "Bonn", 41]]
    write_workbook(tmp_path / "x.xlsx", {"a": table})
    source = open_source(tmp_path / "x.xlsx", layout=Layout(header=header))
    if header == 4:
        assert source.names == ("Ulm", "7")
    else:
        assert rows(source) == [{"town": "Ulm", "age": "7"}, {"town": "Bonn", "age": "41"}]


@pytest.mark.parametrize("header", [0, -1, 1001, "3", True, 1.0])
def test_other_numbers_of_the_line_are_refused(header: Any) -> None:
    with pytest.raises(MisplacedKey, match=r"file\.header must be"):
        read_layout(Reader({"header": header}, ("file",)))
    assert read_layout(Reader({"header": 3}, ("file",))).header == 3

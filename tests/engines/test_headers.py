"""The names of columns: from the header of a file alone, and each fault among them told at once."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dproof import InputError, SourceError
from dproof.plans.reader import MisplacedKey, Reader, read_layout
from dproof.tables import Source, open_source
from dproof.tables.source import Layout
from tests.workbooks import write_workbook


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["a", "b", "a"], "columns 1 and 3 share the name 'a': rename all but one"),
        (["a", "b", "a", "b", "a"], "columns 1, 3 and 5 share the name 'a', 2 and 4 the name 'b': rename all but one"),
        (["", "a", ""], "columns 1 and 3 have no name: name all but one"),
        (["", "a", "a", ""], "columns 1 and 4 have no name: name all but one; where titles"),
        (["", "a", "a", ""], "`dproof init --header 2`; columns 2 and 3 share the name 'a'"),
        (["x" * 41] * 2, f"columns 1 and 2 share the name '{'x' * 39}…'"),
        ([""] * 30, "columns 1, 2, 3, 4, 5 and 25 more have no name"),
        ([*"abcdefg"] * 2, "5 and 12 the name 'e', and 2 more: rename all but one"),
        ([*"abcde"] * 2, "5 and 10 the name 'e': rename all but one"),
    ],
)
def test_every_fault_is_told_with_its_places(names: list[str], said: str) -> None:
    with pytest.raises(InputError) as refused:
        open_source(pa.table([[1]] * len(names), names))
    assert said in str(refused.value)


@pytest.mark.parametrize("header", ["a,b,a\n", '"a","b",a\r\n', '\ufeffa,b,"a"\n', "\n\r\na,b,a\n", '"a",b,a\r'])
@pytest.mark.parametrize("rows", ["", "1,2,3\n4,5,6\n", "1,2,3\n" * 5000 + '4,"5\n5",6\n', "\n1,2,3\n\n4,5,6"])
def test_a_name_that_stands_twice_is_numbered_and_no_row_is_lost(tmp_path: Path, header: str, rows: str) -> None:
    text = header + (rows.replace("\n", "\r") if header.endswith("\r") else rows)
    (tmp_path / "x.csv").write_bytes(text.encode())
    (tmp_path / "y.csv.gz").write_bytes(gzip.compress(("title;;\n" + text).encode()))
    (tmp_path / "z.csv").write_bytes(text.lstrip("\ufeff").encode("utf-16"))
    layouts = [("x.csv", Layout()), ("y.csv.gz", Layout(header=2)), ("z.csv", Layout(encoding="utf-16"))]
    if header.startswith("\ufeff"):
        layouts = layouts[:1]  # the mark of a file stands at its start
    if header.endswith("\r"):
        layouts = layouts[:1]  # a title ends with \n
    for name, layout in layouts:
        source = open_source(tmp_path / name, None, layout)
        assert source.names == ("a", "b", "a (2)") and source.repeated == ("a", "a (2)")
        read = [row for batch in source.read(["a (2)", "a"]) for row in batch.to_pylist()]
        expected = {"": [], "1": [("3", "1"), ("6", "4")]}["1" if rows else ""]
        many = len(rows) > 100
        assert len(read) == (5001 if many else len(expected))
        shown = [tuple(value.decode() for value in row.values()) for row in (read[:1] + read[-1:] if many else read)]
        assert shown == expected


@pytest.mark.parametrize("title", ["Survey 2024,,,", "Who,,,What", ",,,"])
def test_a_title_above_the_header_is_told_with_the_way_out(tmp_path: Path, title: str) -> None:
    (tmp_path / "x.csv").write_text(f"{title}\na,b,c,c\n1,2,3,4\n")
    with pytest.raises(InputError, match=r"have no name: .* write header = 2, say, under \[file\]"):
        open_source(tmp_path / "x.csv")
    assert open_source(tmp_path / "x.csv", None, Layout(header=2)).names == ("a", "b", "c", "c (2)")


def test_a_workbook_has_them_too(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "x.xlsx", {"one": [["a", "", "a", ""], ["1", "2", "3", "4"], ["5", "", "6", "7"]]})
    source = open_source(path)
    assert source.names == ("a", "", "a (2)")
    assert [row["a (2)"] for batch in source.read(["a (2)"]) for row in batch.to_pylist()] == [b"3", b"6"]


ROWS = [
    b"",
    b"1,2\n",
    b"1,2\n" * 5000 + b"1,2,3\n",
    b'1,"2\n' * 5,
    b"1\n",
    b"\xff\n",
    b"1," + b"x" * (1 << 23) + b"\n",
    b"\n\n",
    b"1,2\r\n",
]


@pytest.mark.parametrize("header", [b"a,b\n", b'"a","b"\n', b'\xef\xbb\xbf"a",b\r\n', b"\n\r\na,b\n"])
def test_no_row_decides_what_the_columns_are_called(tmp_path: Path, header: bytes) -> None:
    for rows in ROWS:
        (tmp_path / "x.csv").write_bytes(header + rows)
        (tmp_path / "x.csv.gz").write_bytes(gzip.compress(header + rows))
        assert open_source(tmp_path / "x.csv").names == open_source(tmp_path / "x.csv.gz").names == ("a", "b")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_a_name_in_quotes_may_have_a_line_break(tmp_path: Path, end: str, encoding: str) -> None:
    lines = ['"town', 'or ""city"""', 'ä"b"']
    (tmp_path / "x.csv").write_bytes((end.join(lines[:2]) + f",{lines[2]}{end}x,1{end}y,2").encode(encoding))
    source = open_source(tmp_path / "x.csv")
    assert source.names == (f'town{end}or "city"', 'ä"b"')
    (batch,) = source.read(source.names)
    assert batch.column(1).to_pylist() == [b"1", b"2"]


@pytest.mark.parametrize("content", [b'a,"b\n1,2\n', b'a,"b', b'a,"b' + b"1,2\n" * 50_000, b"a," * (1 << 22)])
def test_a_header_that_does_not_end_is_refused_without_a_row(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.csv").write_bytes(content)
    with pytest.raises(InputError, match=r"the header of 'x\.csv' (has|is)") as refused:
        open_source(tmp_path / "x.csv")
    assert "1,2" not in str(refused.value)


# Lines of titles above the header, which `header` under [file] numbers: in text files and workbooks -------------------


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

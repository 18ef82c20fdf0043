"""The names of columns: from the header of a file alone, and each fault among them told at once."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pytest

from dproof import InputError
from dproof.tables import open_source


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["a", "b", "a"], "columns 1 and 3 share the name 'a': rename all but one"),
        (["a", "b", "a", "b", "a"], "columns 1, 3 and 5 share the name 'a', 2 and 4 the name 'b': rename all but one"),
        (["", "a", ""], "columns 1 and 3 have no name: name all but one"),
        (["", "a", "a", ""], "columns 1 and 4 have no name: name all but one; columns 2 and 3 share the name 'a'"),
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

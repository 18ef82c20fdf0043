"""An answer as a file: every format of the one table, by its ending, from Python and from the command line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree
from zipfile import ZipFile

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import dproof as dp
from dproof import Answer, Cell
from dproof.questions.answer import FORMATS, Format, endings, output_file
from dproof.tables import open_source

ROWS = [
    {"sex": "f, or <x>", "n": Cell(52.0, 40.0, 64.0, 6.0, 80)},
    {"sex": None, "n": Cell(None, 0.0, 100.0, 60.0, -3.0, informative=False)},
]
ANSWER = Answer(("sex", "n"), ROWS, 0.95, ("a note",), "inverse")
FIELDS = ["sex", "n", "n_low", "n_high", "n_stderr", "n_raw", "n_informative"]


def written(ending: str, folder: Path) -> bytes:
    ANSWER.save(folder / f"answer{ending}")
    return (folder / f"answer{ending}").read_bytes()


def test_json_and_csv_have_every_field_and_no_value_where_nothing_is_known(tmp_path: Path) -> None:
    assert json.loads(written(".json", tmp_path)) == ANSWER.to_json()
    head, first, second = csv.reader(io.StringIO(written(".csv", tmp_path).decode(), newline=""))
    assert head == FIELDS and first == ["f, or <x>", "52.0", "40.0", "64.0", "6.0", "80", "True"]
    assert second[:2] == ["", ""] and second[-1] == "False"


AWKWARD = Answer(
    ("a|b", "t", "n", "ok"),
    [
        {"a|b": "=1+1 | <&>\n_x0041_", "t": [1, 2], "n": Cell(1.5, 1.0, 2.0, 0.3, 9), "ok": True},
        {"a|b": "\x00 Köln ", "t": None, "n": Cell(None, 0.0, 100.0, 60.0, -3.0, informative=False), "ok": 10**20},
    ],
    notes=("a note",),
    method="inverse",
)


def test_a_workbook_has_every_field_and_a_sheet_of_notes(tmp_path: Path) -> None:
    AWKWARD.save(tmp_path / "a.xlsx")
    source = open_source(tmp_path / "a.xlsx")
    fields = ("a|b", "t", "n", "n_low", "n_high", "n_stderr", "n_raw", "n_informative", "ok")
    assert source.names == fields
    (batch,) = source.read(fields)
    first, second = ([None if v is None else v.decode() for v in row.values()] for row in batch.to_pylist())
    assert first == ["=1+1 | <&>\n_x0041_", "[1, 2]", "1.5", "1", "2", "0.3", "9", "true", "true"]
    assert second == ["\x00 Köln ", None, None, "0", "100", "60", "-3", "false", f"{10**20}"]
    notes = open_source(tmp_path / "a.xlsx", "notes")
    assert notes.names == ("level", "0.95")
    with ZipFile(tmp_path / "a.xlsx") as packed:
        for name in packed.namelist():
            ElementTree.fromstring(packed.read(name))
        assert b'<c r="A2" t="inlineStr">' in packed.read("xl/worksheets/sheet1.xml")  # and no formula
    with pytest.raises(dp.InputError, match="more than 32,767 characters"):
        Answer(("t",), [{"t": "x" * 40_000}]).save(tmp_path / "b.xlsx")


def test_columns_beyond_z_have_two_letters(tmp_path: Path) -> None:
    names = tuple(f"c{n}" for n in range(60))
    Answer(names, [dict.fromkeys(names, 7)]).save(tmp_path / "a.xlsx")
    assert open_source(tmp_path / "a.xlsx").names == names


def test_markdown_has_intervals_and_escapes(tmp_path: Path) -> None:
    AWKWARD.save(tmp_path / "a.md")
    lines = (tmp_path / "a.md").read_text("utf-8").splitlines()
    assert lines[:2] == ["| a\\|b | t | n | ok |", "| --- | --- | ---: | --- |"]
    assert lines[2] == "| =1+1 \\| \\<&> \\_x0041\\_ | [1, 2] | 1.50 ± 0.50 | True |"
    assert lines[4:] == ["", "95% intervals.", "", "a note"] and "no information" in lines[3]


def test_a_column_has_one_number_of_digits() -> None:
    cells = [Cell(510.0, 486.1, 502.0, 5.0, 1), Cell(498.0, 482.0, 514.0, 8.0, 1), Cell(0.0, 0.0, 15.9, 5.0, 1)]
    shown = [line[0] for line in Answer(("n",), [{"n": cell} for cell in cells]).texts()]
    assert shown == ["502 [486, 502]", "498 ± 16", "0 [0, 16]"]
    one = Answer(("n",), [{"n": cells[0]}])
    assert one.texts() == [["502.0 [486.1, 502.0]"]] and str(cells[0]) == "502.0 [486.1, 502.0]"
    narrow = [Cell(0.5, 0.4982, 0.5018, 0.001, 1), Cell(0.25, 0.05, 0.45, 0.1, 1)]
    shown = [line[0] for line in Answer(("m",), [{"m": cell} for cell in narrow]).texts()]
    assert shown == ["0.500 ± 0.002", "0.250 ± 0.200"]


def test_a_key_is_shown_as_a_condition_has_it() -> None:
    assert Answer(("y", "n"), [{"y": 2024, "n": Cell(5000, 4000, 6000, 1.0)}]).texts() == [["2024", "5,000 ± 1,000"]]


def test_a_list_is_json_in_csv(tmp_path: Path) -> None:
    Answer(("t", "mean"), [{"t": [1, 2], "mean": 3}]).save(tmp_path / "a.CSV")
    assert (tmp_path / "a.CSV").read_text("utf-8").splitlines()[1] == '"[1, 2]",3'


@pytest.mark.parametrize(
    ("label", "cell"),
    [
        ('=HYPERLINK("http://x")', '\'=HYPERLINK("http://x")'),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("-2+3+cmd|' /C calc'!A0", "'-2+3+cmd|' /C calc'!A0"),
        ("+A1", "'+A1"),
        ("\t=1", "'\t=1"),
        (" =1", "' =1"),
        ("\u3000＝1", "'\u3000＝1"),
        ("＠SUM(A1)", "'＠SUM(A1)"),
        (" - 5", " - 5"),
        ("-5", "-5"),
        ("+1.5 %", "+1.5 %"),
        ("a=b", "a=b"),
        (-5, "-5"),
    ],
)
def test_no_text_of_csv_is_a_formula(label: object, cell: str, tmp_path: Path) -> None:
    Answer((f"{label}", "n"), [{f"{label}": label, "n": -3}]).save(tmp_path / "a.csv")
    head, row = csv.reader(io.StringIO((tmp_path / "a.csv").read_text("utf-8"), newline=""))
    assert (head[0], row) == (cell, [cell, "-3"])


@pytest.mark.parametrize(("ending", "read"), [(".parquet", pa.parquet.read_table), (".arrow", pa.feather.read_table)])
def test_tables_of_arrow(ending: str, read: Callable[[str], pa.Table], tmp_path: Path) -> None:
    written(ending, tmp_path)
    assert read(str(tmp_path / f"answer{ending}")).equals(ANSWER.to_arrow())


def test_pictures_and_a_page_with_the_table(tmp_path: Path) -> None:
    assert written(".svg", tmp_path).startswith(b"<svg") and written(".png", tmp_path).startswith(b"\x89PNG")
    page = written(".html", tmp_path).decode()
    assert "<svg" in page and "<table>" in page and "or &lt;x&gt;" in page and "<x>" not in page


def test_a_file_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    with pytest.raises(dp.InputError, match=f"ends in {endings()}, not 'answer.gif'"):
        ANSWER.save(tmp_path / "answer.gif")
    with pytest.raises(dp.InputError, match="a picture is written to a file that ends in"):
        ANSWER.plot(tmp_path / "answer.csv")
    with pytest.raises(dp.InputError, match="is not there: make it first"):
        output_file(tmp_path / "none" / "answer.csv")
    assert not list(tmp_path.iterdir())


def test_a_new_format_is_one_entry_of_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files, help and refusals follow: nothing else names the formats."""
    monkeypatch.setitem(FORMATS, ".txt", Format(lambda answer: str(answer).encode(), "text/plain"))
    assert written(".txt", tmp_path).decode() == str(ANSWER) and ".txt" in endings()

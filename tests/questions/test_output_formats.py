"""An answer as a file: every format of the one table, by its ending, from Python and from the command line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import dproof as dp
from dproof import Answer, Cell
from dproof.questions.answer import FORMATS, Format, endings, output_file

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


def test_a_list_is_json_in_csv(tmp_path: Path) -> None:
    Answer(("t", "mean"), [{"t": [1, 2], "mean": 3}]).save(tmp_path / "a.CSV")
    assert (tmp_path / "a.CSV").read_text("utf-8").splitlines()[1] == '"[1, 2]",3'


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

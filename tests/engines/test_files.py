"""Files as people have them: other separators, encodings and signs of numbers, packed files, workbooks, views."""

from __future__ import annotations

import gzip
from datetime import date
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dproof as dp
from dproof import InputError, Privacy
from dproof.columns.values import Numerals
from dproof.curator.draw import tally
from dproof.curator.recipe import measure
from dproof.plans.plan import schema_of
from dproof.tables import open_source
from dproof.tables.delimited import _CHUNK
from dproof.tables.source import Layout
from tests.makers import resolved
from tests.workbooks import Fault, Formula, write_workbook

SIGHTED = {"epsilon": 600}  # so large that nothing is changed: what comes out is what was read
COLUMNS: dict[str, Any] = {
    "town": {"space": "categories", "values": ["Köln", "Straßburg"], "outside": "category", "missing": "category"},
    "height": {"space": "interval", "low": 0, "high": 3, "step": "0.01", "missing": 3},
    "salary": {"space": "interval", "low": 0, "high": 100_000, "step": 1, "missing": 7},
}
SURVEY = [
    ("town", "height", "salary"),
    ("Köln", "1,75", "65.000"),
    ("Straßburg", "1,6", "1.234"),
    ("Berlin", "", ""),
    ("", "2", "800"),
    ("Köln", "1.75", "65,000"),  # by the other custom: no numbers
]
READ = [
    {"town": "Köln", "height": 1.75, "salary": 65000},
    {"town": "Straßburg", "height": 1.6, "salary": 1234},
    {"town": "(other)", "height": 3.0, "salary": 7},
    {"town": None, "height": 2.0, "salary": 800},
    {"town": "Köln", "height": 3.0, "salary": 65},
]
FILE = {"separator": ";", "decimal": ",", "thousands": "."}


def plan(**file: str) -> dict[str, Any]:
    return {"privacy": SIGHTED, "order": "keep", "file": file, "columns": COLUMNS}


def lines(between: str = ";", end: str = "\n") -> str:
    return "".join(between.join(row) + end for row in SURVEY)


def read(source: Any, file: dict[str, str]) -> list[dict[str, Any]]:
    """What a plan makes of the rows, before any noise."""
    chosen = dp.Plan.from_dict(plan(**file))
    opened = open_source(source, layout=chosen.file)
    rows: list[dict[str, Any]] = []
    for batch in opened.read(chosen.sources):
        found = [column.space.decode(column.encoder()([batch.column(column.name)])) for column in chosen.columns]
        rows += [dict(zip(chosen.sources, row, strict=True)) for row in zip(*found, strict=True)]
    return rows


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "latin-1", "utf-16", "utf-16-le", "cp437"])
def test_a_survey_is_read_in_its_own_encoding_and_signs(tmp_path: Path, encoding: str) -> None:
    for end in ("\n", "\r\n", "\r"):
        (tmp_path / "survey.csv").write_bytes(lines(end=end).encode(encoding))
        assert read(tmp_path / "survey.csv", FILE | {"encoding": encoding}) == READ


@pytest.mark.parametrize(
    ("name", "between", "file"),
    [
        ("survey.tsv", "\t", {}),
        ("SURVEY.TSV.GZ", "\t", {}),
        ("survey.2020.csv.gz", ";", {"separator": ";"}),
        ("survey.tsv", "|", {"separator": "|"}),
    ],
)
def test_tabs_and_packed_files(tmp_path: Path, name: str, between: str, file: dict[str, str]) -> None:
    for encoding in ("utf-8", "cp1252"):
        content = lines(between).encode(encoding)
        content = gzip.compress(content[:40]) + gzip.compress(content[40:]) if name.lower().endswith("gz") else content
        (tmp_path / name).write_bytes(content)
        assert read(tmp_path / name, FILE | {"separator": between, "encoding": encoding} | file) == READ
    signs = {key: value for key, value in FILE.items() if key != "separator"}
    if not file:
        assert read(tmp_path / name, signs | {"encoding": "cp1252"}) == READ, "a .tsv has tabs unless told otherwise"


def test_a_packed_file_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    packed = gzip.compress(lines().encode())
    for encoding in ("utf-8", "cp1252"):
        for content in (packed[:-12], packed[:8], b"no gzip"):
            (tmp_path / "survey.csv.gz").write_bytes(content)
            with pytest.raises(InputError, match="survey"):
                read(tmp_path / "survey.csv.gz", FILE | {"encoding": encoding})


def test_one_value_that_cannot_be_decoded_is_a_value_outside(tmp_path: Path) -> None:
    """Neighbouring files are both read, and the other rows are read alike."""
    for encoding, bad in (("utf-8", b"\xff"), ("cp1252", b"\x81"), ("ascii", b"\xe4"), ("shift_jis", b"\x80")):
        (tmp_path / "survey.csv").write_bytes(b"town;height;salary\nK" + bad + b"ln;1,5;5\nSt;2;6\n")
        found = read(tmp_path / "survey.csv", FILE | {"encoding": encoding})
        assert [row["town"] for row in found] == ["(other)", "(other)"]
        assert [row["height"] for row in found] == [1.5, 2.0]


def test_a_long_file_in_another_encoding_is_a_stream(tmp_path: Path) -> None:
    """Letters of two bytes lie across the ends of what is read at a time."""
    count = 3 * _CHUNK // 10
    (tmp_path / "survey.csv").write_bytes(("xtown;height;salary\n" + "Köln;1,75;65.000\n" * count)[1:].encode("utf-16"))
    source = open_source(tmp_path / "survey.csv", layout=Layout(encoding="utf-16", separator=";"))
    batches = [batch.column("town").cast(pa.binary()) for batch in source.read(["town"])]
    assert set(pa.chunked_array(batches).to_pylist()) == {"Köln".encode()}
    assert sum(map(len, batches)) == count


@given(st.text(st.sampled_from("0123456789,. '-+e\u202f"), max_size=12))
def test_signs_of_numbers_are_strict(text: str) -> None:
    """What is read as a number has three digits in every group, and is the number without them."""
    for signs in (Numerals(","), Numerals(",", "."), Numerals(".", ","), Numerals(",", " "), Numerals(".", "'")):
        found = signs.plain(text)
        if found is None:
            continue
        whole, _, part = text.strip().lower().partition("e")[0].partition(signs.decimal)
        groups = whole.lstrip("+-").replace("\u202f", " ").split(signs.thousands or "_")
        assert len(groups) == 1 or (1 <= len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:]))
        assert part.isdigit() or not part
        number = "".join(groups) or "0"
        assert float(found) == float(f"{'-' if text.strip()[0] == '-' else ''}{number}.{part or 0}e{_power(text)}")


def _power(text: str) -> str:
    return text.strip().lower().partition("e")[2] or "0"


def test_signs_hold_for_categories_of_numbers_and_for_curves(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("dose;a;b\n0,5;1,5;-,5\n1;x;1\n", "utf-8")
    columns = {
        "dose": {"space": "categories", "values": [0.5, 1]},
        "load": {
            "space": "curves",
            "columns": ["a", "b"],
            "low": -1,
            "high": 2,
            "missing": "centre",
            "basis": "cosine",
        },
    }
    given = {"privacy": {"epsilon": 600}, "order": "keep", "file": {"separator": ";", "decimal": ","}}
    found = dp.sanitise(tmp_path / "x.csv", given | {"columns": columns}).to_arrow()
    assert found["dose"].to_pylist() == [0.5, 1]
    assert found["a"].to_pylist() == pytest.approx([1.5, 0.5], abs=0.3)


def test_texts_of_a_parquet_file_are_counted_as_the_plan_reads_them(tmp_path: Path) -> None:
    table = pa.table({"town": ["Köln"] * 4, "height": ["1,75", "1.75", None, "2"], "salary": ["65.000", "1", "x", ""]})
    pa.parquet.write_table(table, tmp_path / "x.parquet")
    chosen = dp.Plan.from_dict(plan(**FILE))
    (tmp_path / "x.csv").write_text("town;height;salary\nKöln;1,75;65.000\nKöln;1.75;1\nKöln;;x\nKöln;2;\n", "utf-8")
    question = resolved("SELECT avg(height), sum(salary) FROM data WHERE height > 1.7", schema_of(chosen))
    measurement = measure(question, schema_of(chosen), Privacy(1))
    files = (open_source(tmp_path / name, layout=chosen.file) for name in ("x.parquet", "x.csv"))
    stored, written = (tally(file, chosen, measurement) for file in files)
    assert stored == written


def test_a_frame_has_numbers_of_its_own(tmp_path: Path) -> None:
    """What says how a file is written concerns no frame; signs of numbers would, and are refused."""
    table = pa.table({"town": ["Köln"], "height": [1.75], "salary": [3]})
    file = {"separator": ";", "encoding": "cp1252", "sheet": "x"}
    assert read(table, file) == [{"town": "Köln", "height": 1.75, "salary": 3}]
    assert dp.sanitise(table, plan(**file)).rows == 1
    with pytest.raises(InputError, match="decimal = ',', thousands = '' and units = '', which are for files"):
        dp.sanitise(table, plan(decimal=","))
    with pytest.raises(InputError, match="which are for files"):
        dp.Curator(table, plan(thousands=","), ledger=tmp_path / "budget.db")


def test_a_corrected_plan_asks_anew(tmp_path: Path) -> None:
    """The answer that was paid for is one to a table that was read otherwise."""
    (tmp_path / "x.csv").write_bytes("town,height,salary\nKöln,1.75,3\n".encode("cp1252"))
    keys = set()
    for encoding in ("utf-8", "cp1252", "cp1252"):
        curator = dp.Curator(tmp_path / "x.csv", plan(encoding=encoding), ledger=tmp_path / "budget.db")
        keys.add(curator._key_of("SELECT 1", ["town"]))
        curator.ledger.close()
    assert len(keys) == 2


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ({"separator": ";;"}, "plan, line 4: file.separator must be one ASCII character"),
        ({"separator": '"'}, "file.separator must be one ASCII character"),
        ({"separator": "ä"}, "file.separator must be one ASCII character"),
        ({"encoding": "utf-99"}, "file.encoding is not a known encoding"),
        ({"encoding": "hex"}, "file.encoding is not a known encoding"),
        ({"encoding": "idna"}, "file.encoding is not a known encoding"),
        ({"encoding": "\0"}, "file.encoding is not a known encoding"),
        ({"decimal": ";"}, 'file.decimal must be "." or ","'),
        ({"thousands": "x"}, "file.thousands must be"),
        ({"thousands": "."}, "file.thousands must be another sign than the decimal one"),
        ({"units": "5"}, "file.units must be signs beside numbers"),
        ({"units": "€ ."}, "file.units must be signs beside numbers"),
        ({"decimals": ","}, "file.decimals is not a known key; did you mean 'decimal'"),
        ({"sheet": 3}, "file.sheet must be text"),
    ],
)
def test_a_mistake_in_the_table_is_told_with_its_place(file: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        dp.Plan.from_dict({"order": "keep", "privacy": SIGHTED} | {"file": file, "columns": COLUMNS})
    assert said.partition(": ")[2] in str(refused.value) or said in str(refused.value)


# Headers -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "names"),
    [
        (b"\xef\xbb\xbftown,age\nx,1\n", ("town", "age")),
        (b'"town","age, years"\r\nx,1\r\n', ("town", "age, years")),
        (b"\r\n\r\ntown,age\r\n", ("town", "age")),
        (b"town,age", ("town", "age")),
        (b"town ,,age\nx,,1\n", ("town ", "", "age")),
        (b"town", ("town",)),
    ],
)
def test_headers(tmp_path: Path, content: bytes, names: tuple[str, ...]) -> None:
    (tmp_path / "x.csv").write_bytes(content)
    source = open_source(tmp_path / "x.csv")
    assert source.names == names
    assert sum(batch.num_rows for batch in source.read(names)) == (b"x" in content)


def test_a_folder_without_a_table_is_named_as_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was called '' where it is the folder that one stands in."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"the folder '\.' must hold files of one kind: \.csv"):
        open_source(".")


def test_a_column_without_a_name_can_be_dropped(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("height,\n1.5,\n")
    given = {"privacy": SIGHTED, "columns": {"height": COLUMNS["height"]}}
    with pytest.raises(InputError, match=r"a column '' that the plan does not mention: add \[columns\.\"\"\]"):
        dp.sanitise(tmp_path / "x.csv", given)
    given["columns"][""] = {"drop": True}
    assert dp.sanitise(tmp_path / "x.csv", given).rows == 1


@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("place", [0, 3, 50_000])
def test_one_long_field_stops_nothing(tmp_path: Path, place: int, quote: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dproof.tables.delimited._BLOCKS", (1 << 15, 1 << 17, 1 << 22))
    rows = [f"{n},a\n" for n in range(60_000)]
    rows[place] = f"{place},{quote}{'long ' * 100_000}{quote}\n"
    (tmp_path / "x.csv").write_text("n,note\n" + "".join(rows))
    source = open_source(tmp_path / "x.csv")
    source.start()
    found = [int(n) for batch in source.read(["n"]) for n in batch.column(0).to_pylist()]
    assert found == [*range(60_000)]
    lengths = [len(text) for batch in source.read(["note"]) for text in batch.column(0).to_pylist()]
    assert lengths.pop(place) == 500_000 and {*lengths} == {1}


# Workbooks -----------------------------------------------------------------------------------------------------------

SHEET: list[list[Any]] = [
    ["town", "height", "salary", "day"],
    ["Köln", 1.75, 65000, date(2020, 2, 29)],
    ["Straßburg", "1,6", Formula("2*617", 1234), "soon"],
    ["Berlin", None, Fault("#N/A"), None],
    [None, 2, "800", date(1999, 12, 31)],
    ["Köln", "1.75", Formula("A1", None), True],
]


def test_a_workbook_is_read_cell_by_cell(tmp_path: Path) -> None:
    write_workbook(tmp_path / "x.xlsx", {"Notes": [["nothing"]], "People": SHEET}, first_row=3)
    salaries = [65000, 1234, 7, 800, 7]
    found = read(tmp_path / "x.xlsx", {"decimal": ",", "sheet": "People"})
    assert found == [row | {"salary": salary} for row, salary in zip(READ, salaries, strict=True)]
    (batch,) = open_source(tmp_path / "x.xlsx", "People").read(["day"])
    assert batch.column(0).to_pylist() == [b"2020-02-29", b"soon", None, b"1999-12-31", b"true"]
    with pytest.raises(InputError, match="no sheet 'Poeple'; did you mean 'People'"):
        dp.sanitise(tmp_path / "x.xlsx", plan(sheet="Poeple"))
    assert open_source(tmp_path / "x.xlsx").names == ("nothing",)
    assert open_source(tmp_path / "x.xlsx", "People").names == ("town", "height", "salary", "day")


def test_one_column_keeps_its_empty_cells(tmp_path: Path) -> None:
    write_workbook(tmp_path / "x.xlsx", {"One": [["town"], ["a"], [None], ["b"]]}, first_row=3)
    (batch,) = open_source(tmp_path / "x.xlsx").read(["town"])
    assert batch.column(0).to_pylist() == [b"a", None, b"b"]


def test_a_workbook_that_is_none_is_refused(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "x.xlsx", {"Empty": []})
    with pytest.raises(InputError, match=r"the sheet 'Empty' of 'x.xlsx' is empty: it needs a header line"):
        open_source(path)
    whole = write_workbook(path, {"People": SHEET}).read_bytes()
    for content in (b"", whole[:-30], whole[:500], b"PK\x03\x04", whole.replace(b"PK", b"QK")):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"it is damaged, has a password, or is no .xlsx workbook"):
            open_source(path)


def test_a_workbook_that_would_fill_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_workbook(tmp_path / "x.xlsx", {"People": SHEET})
    ends = [b'<c r="XFD3" t="str"><v>x</v></c></row>', b'<row r="1048576"><c r="A9"><v>1</v></c></row></sheetData>']
    with ZipFile(path) as near, ZipFile(tmp_path / "far.xlsx", "w") as file:
        for name in near.namelist():
            wide = near.read(name).replace(b"</row>", ends[0], 1).replace(b"</sheetData>", ends[1])
            file.writestr(name, wide)
    with pytest.raises(InputError, match="cells too far apart"):
        open_source(tmp_path / "far.xlsx")
    monkeypatch.setattr("dproof.tables.workbook.LARGEST_WORKBOOK", 1000)
    with pytest.raises(InputError, match="unpacks to more than"):
        open_source(path)


# Databases -----------------------------------------------------------------------------------------------------------


def test_a_view_of_another_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("read\n1\n")
    pa.parquet.write_table(pa.table({"read": [1]}), tmp_path / "secret.parquet")
    with duckdb.connect(str(tmp_path / "people.duckdb")) as database:
        database.execute("CREATE TABLE kept AS SELECT 1 AS read; CREATE VIEW within AS SELECT read FROM kept")
        database.execute(f"CREATE VIEW followed AS SELECT * FROM read_csv('{tmp_path / 'secret.csv'}')")
        database.execute(f"CREATE VIEW named AS SELECT * FROM '{tmp_path / 'secret.parquet'}'")
    given = {"privacy": SIGHTED, "columns": {"read": {"space": "categories", "values": [0, 1]}}}
    for name in ("kept", "within"):
        assert dp.sanitise(tmp_path / "people.duckdb", given, table=name).rows == 1
    for name in ("followed", "named"):
        with pytest.raises(
            InputError, match=f"the view '{name}' of 'people.duckdb' cannot be read: it needs something"
        ):
            dp.sanitise(tmp_path / "people.duckdb", given, table=name)
        with pytest.raises(InputError, match="outside the file, which is not followed"):
            dp.Curator(tmp_path / "people.duckdb", given, table=name, ledger=tmp_path / "budget.db")
    assert not (tmp_path / "budget.db").exists()

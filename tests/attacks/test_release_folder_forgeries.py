"""Forged folders: files that no certificate names, texts beside the rows, and laws for fewer values than declared."""

from __future__ import annotations

import base64
import datetime
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dproof as dp
from dproof import VerificationFailed, storage
from dproof.certification import verify_certificate
from dproof.certification.verify_certificate import declared
from dproof.plans.reader import Reader, read_column
from dproof.storage import CERTIFICATE, DATA, PARQUET, PLAN, REPORT, digest
from tests.forging import forge

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")

ANN = "Ann Smith HIV+"
PLAN_OF: dict[str, Any] = {
    "privacy": {"epsilon": "2"},
    "columns": {
        "x": {"space": "categories", "values": ["a", "b"], "outside": "category", "missing": "category"},
        "likes": {"space": "subsets", "values": ["p", "q"]},
        "age": {"space": "interval", "low": 0, "high": 9, "step": 1},
        "load": {"space": "curves", "points": 3, "low": 0, "high": 1, "terms": 2},
        "town": {"space": "categories", "values": ["n", "s"]},
        "job": {"space": "categories", "values": ["k", "l", "m"]},
    },
    "joint": [{"columns": ["town", "job"]}],
}
TABLE = pa.table(
    {
        "x": ["a", "b"] * 20,
        "likes": [["p"], []] * 20,
        "age": [3, 4] * 20,
        "load": [[0.1, 0.2, 0.3]] * 40,
        "town": ["n", "s"] * 20,
        "job": ["k", "l"] * 20,
    }
)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("releases") / "out"
    dp.sanitise(TABLE, PLAN_OF, out)
    return out


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "out"))


def refused_by_both(folder: Path, capsys: pytest.CaptureFixture[str], why: str) -> None:
    with pytest.raises(VerificationFailed, match=why):
        dp.verify(folder)
    assert verify_certificate.main([str(folder / CERTIFICATE)]) == 1
    assert re.search(why, capsys.readouterr().out)


def test_what_was_released_is_accepted_by_both(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forge(folder)
    release = dp.verify(folder)
    assert release is not None and release.unchecked == (REPORT,)
    assert verify_certificate.main([str(folder / CERTIFICATE)]) == 0
    assert "not checked here: what the stored files hold, report.html" in capsys.readouterr().out


# Files ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plan", ["as it was", "of another epsilon"])
def test_a_plan_that_is_not_named_is_refused(folder: Path, plan: str, capsys: pytest.CaptureFixture[str]) -> None:
    if plan == "of another epsilon":
        text = (folder / PLAN).read_text("utf-8")
        (folder / PLAN).write_text(text.replace('epsilon = "2"', 'epsilon = "0.01"'), "utf-8")
    forge(folder, lambda body: body["release"]["files"].pop(PLAN))
    refused_by_both(folder, capsys, "must name the plan and the stored table")


def test_a_release_without_a_stored_table_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forge(folder, lambda body: body["release"]["files"].pop(DATA))
    refused_by_both(folder, capsys, "must name the plan and the stored table")


EXTRA = ["part-000007.parquet", "secret.csv", ".secret", "_secret", ".secret.csv.crc", "certificate.json.bak"]


@pytest.mark.parametrize("name", EXTRA)
def test_a_file_that_is_no_part_of_the_release_is_refused(
    folder: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / name).write_text(ANN, "utf-8")
    refused_by_both(folder, capsys, f"'{re.escape(name)}' is in the folder and is not part of the release")


@pytest.mark.parametrize("name", ["more", "_SUCCESS", f".{DATA}.crc"])
def test_a_folder_in_the_folder_is_refused(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / name).mkdir()
    refused_by_both(folder, capsys, f"'{re.escape(name)}' is in the folder")
    with pytest.raises(VerificationFailed, match="is in the folder"):
        dp.verify(folder.as_uri())


def test_a_file_of_another_name_is_refused_although_it_is_listed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "secret.csv").write_text(ANN, "utf-8")
    forge(folder, lambda body: body["release"]["files"].update({"secret.csv": digest(folder / "secret.csv")}))
    refused_by_both(folder, capsys, "names a file that is not part of a release")


def test_what_is_not_checked_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / REPORT).write_text(ANN, "utf-8")
    for name in (".DS_Store", "_SUCCESS", f".{DATA}.crc"):
        (folder / name).write_text("", "utf-8")
    release, names = dp.verify(folder), [".DS_Store", "_SUCCESS", "report.html", "Hadoop's .crc files"]
    assert release is not None and list(release.unchecked) == names
    assert verify_certificate.main([str(folder / CERTIFICATE)]) == 0
    assert ", ".join(names) in capsys.readouterr().out


# Laws for fewer values than the plan declares -------------------------------------------------------------------------

ONE: dict[str, Any] = {"kind": "keep-or-other", "size": 1, "keep": "1", "other": "0"}
POINT: dict[str, Any] = {"kind": "coefficients", "norm": "linf", "radius": None}


OTHER_LAWS = [(name, ONE) for name in ("x", "likes", "age", "load", "town × job")]


@pytest.mark.parametrize(("name", "law"), [*OTHER_LAWS, ("x", POINT), ("age", POINT)])
def test_a_law_for_another_number_of_values_is_refused(
    folder: Path, name: str, law: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Else the law of one value keeps every promise, and raw data passes. The noise of a curve of one point too."""

    def change(body: dict[str, Any]) -> None:
        noise = next(part["law"]["noise"] for part in body["laws"] if part["name"] == "load")
        part = next(part for part in body["laws"] if part["name"] == name)
        point = {**law, "terms": noise["terms"], "box": [0] * noise["terms"], "noise": noise} if law is POINT else law
        part.update(law=point, tight={"epsilon": 0.0, "delta": 0.0})

    forge(folder, change)
    refused_by_both(folder, capsys, "another number of values than the plan declares")


COLUMNS: list[dict[str, Any]] = [
    {"space": "categories", "values": ["a", "b"]},
    {"space": "categories", "values": ["a", "b"], "outside": "category"},
    {"space": "categories", "values": ["a", "(other)"], "outside": "category"},
    {"space": "categories", "values": [1, 2], "outside": "category", "outside_value": 2},
    {"space": "categories", "values": [1, 2], "outside": "category", "outside_value": 3, "missing": "category"},
    {"space": "categories", "values": ["a", "category"], "missing": "category"},
    {"space": "categories", "values": ["a", "b"], "missing": "b"},
    {"space": "categories", "values": [True, False], "missing": "category"},
    {"space": "subsets", "values": ["a", "b", "c"]},
    {"space": "subsets", "columns": ["a", "b"]},
    {"space": "subsets", "columns": ["a", "b"], "values": ["x", "y"]},
    {"space": "interval", "low": -3, "high": 7, "step": "1/2"},
    {"space": "interval", "low": "1_000", "high": 2e3, "step": 0.1},
    {"space": "interval", "low": 5, "high": 5},
    *({"space": "interval", "low": low, "high": high} for low in (0, -7, "0.3", "1/3") for high in (1, 12, 110, 4999)),
    {"space": "interval", "low": 0, "high": "1e-30"},
    {"space": "interval", "low": 0, "high": 500_000},
    {"space": "date", "low": "2024-02-01", "high": "2024-03-01"},
    {"space": "date", "low": datetime.date(1900, 1, 1), "high": "2024-12-31", "step": 9131},
    {"space": "date", "low": "2024-02-29", "high": "2024-02-29"},
]


@pytest.mark.parametrize("column", COLUMNS, ids=str)
def test_the_stand_alone_verifier_counts_the_values_of_a_column_as_dproof_does(column: dict[str, Any]) -> None:
    assert declared(column, {}) == read_column("x", Reader(column, ())).space.size


# Texts beside the rows ------------------------------------------------------------------------------------------------


def noted(table: Any) -> Any:
    return table.cast(table.schema.set(0, table.schema.field(0).with_metadata({"who": ANN})))


def noted_inside(table: Any) -> Any:
    items = pa.list_(pa.field("item", pa.string(), metadata={"who": ANN}))
    return table.set_column(1, pa.field("likes", items), table["likes"].combine_chunks().cast(items))


BESIDE: dict[str, Callable[[Any], Any]] = {
    "a text of the table": lambda table: table.replace_schema_metadata({"raw": ANN}),
    "another text under a known name": lambda table: table.replace_schema_metadata({"dproof": ANN}),
    "a text of a column": noted,
    "a text of a list's items": noted_inside,
    "a schema of Spark's": lambda table: table.replace_schema_metadata({storage._FIELDS.decode(): ANN}),
    "a version of Spark's": lambda table: table.replace_schema_metadata({storage._SPARK.decode(): ANN}),
}


@pytest.mark.parametrize("name", BESIDE)
def test_a_text_beside_the_rows_is_refused_and_not_told(folder: Path, name: str) -> None:
    pa.parquet.write_table(BESIDE[name](pa.parquet.read_table(folder / DATA)), folder / DATA, **PARQUET)
    forge(folder)
    with pytest.raises(VerificationFailed) as refused:
        dp.verify(folder)
    assert "Ann" not in str(refused.value)


def test_statistics_that_arrow_did_not_write_for_dproof_are_refused(folder: Path) -> None:
    table = pa.parquet.read_table(folder / DATA)
    pa.parquet.write_table(table, folder / DATA, **{**PARQUET, "write_statistics": True})
    forge(folder)
    with pytest.raises(VerificationFailed, match="beside its rows"):
        dp.verify(folder)


@pytest.mark.parametrize("where", ["a text of the table", "a text of a column"])
def test_a_text_in_arrows_own_entry_is_refused_although_the_reader_does_not_show_it(folder: Path, where: str) -> None:
    """Arrow keeps a schema of its own beside Parquet's; one that fits nothing is not shown."""
    table = pa.parquet.read_table(folder / DATA)
    hidden = BESIDE[where](table).schema.remove(1)
    entry = base64.b64encode(hidden.serialize().to_pybytes())
    with pa.parquet.ParquetWriter(folder / DATA, table.schema, store_schema=False, **_settings()) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({"ARROW:schema": entry.decode()})
    forge(folder)
    with pytest.raises(VerificationFailed):
        dp.verify(folder)


def _settings() -> dict[str, Any]:
    return {key: value for key, value in PARQUET.items() if key != "row_group_size"}


def test_another_writer_is_refused(folder: Path) -> None:
    """The name of the writer is a text too."""
    name = pa.parquet.read_metadata(folder / DATA).created_by.encode()
    data = (folder / DATA).read_bytes()
    assert data.count(name) == 1
    (folder / DATA).write_bytes(data.replace(name, ANN.encode().ljust(len(name))))
    forge(folder)
    with pytest.raises(VerificationFailed, match="beside its rows"):
        dp.verify(folder)


SPARK: dict[str, Any] = {
    "type": "struct",
    "fields": [
        {"name": "x", "type": "string", "nullable": True, "metadata": {}},
        {
            "name": "likes",
            "type": {"type": "array", "elementType": "string", "containsNull": True},
            "nullable": True,
            "metadata": {},
        },
        {"name": "town", "type": "integer", "nullable": True, "metadata": {}},
    ],
}


def said_by_spark(said: dict[str, Any], **more: str) -> None:
    schema = pa.schema({"x": pa.string(), "likes": pa.list_(pa.string()), "town": pa.int32()})
    text = json.dumps(said, separators=(",", ":"))
    noted = {storage._SPARK.decode(): "4.3.0", storage._FIELDS.decode(): text}
    noted |= {f"org.apache.spark.{key}": value for key, value in more.items()}
    storage._check_spark({key.encode(): value.encode() for key, value in noted.items()}, schema, ["town"])


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Etc/UTC", "+05:30"])
def test_what_spark_says_of_itself_is_accepted(zone: str) -> None:
    said_by_spark(SPARK)
    said_by_spark(SPARK, legacyDateTime="", legacyINT96="", timeZone=zone)


@pytest.mark.parametrize("key", ["legacyDateTime", "legacyINT96", "timeZone", "version", "note"])
def test_another_text_where_spark_says_how_it_writes_is_refused(key: str) -> None:
    with pytest.raises(VerificationFailed):
        said_by_spark(SPARK, **{key: ANN})


@pytest.mark.parametrize(
    "kind", ["interval day to second", "variant", "geometry(EPSG:3857)", "geography(OGC:CRS84, SPHERICAL)"]
)
def test_types_that_only_public_columns_have_are_accepted_there_alone(kind: str) -> None:
    said = json.loads(json.dumps(SPARK))
    said["fields"][2]["type"] = kind
    said_by_spark(said)
    said["fields"][0]["type"] = kind
    with pytest.raises(VerificationFailed):
        said_by_spark(said)


@pytest.mark.parametrize(
    "change",
    [
        lambda said: said.update(note=ANN),
        lambda said: said["fields"][0]["metadata"].update(note=ANN),
        lambda said: said["fields"][0].update(note=ANN),
        lambda said: said["fields"][0].update(type=ANN),
        lambda said: said["fields"][0].update(type={"type": "struct", "fields": [{**said["fields"][0], "name": ANN}]}),
        lambda said: said["fields"][2].update(type=ANN),
        lambda said: said["fields"][0].update(name=ANN),
        lambda said: said["fields"][1]["type"].update(note=ANN),
        lambda said: said["fields"].append(said["fields"][0]),
    ],
)
def test_what_spark_would_not_say_of_a_schema_is_refused(change: Callable[[Any], object]) -> None:
    said = json.loads(json.dumps(SPARK))
    change(said)
    with pytest.raises(VerificationFailed):
        said_by_spark(said)

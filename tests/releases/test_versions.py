"""What was written stays readable, and what was paid stays paid: files of version 1, as they were first written."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof import InputError, VerificationFailed
from dproof.certification import verify_central, verify_certificate

HERE = Path(__file__).parents[1] / "fixtures" / "version-1"
ANSWERS = json.loads((HERE / "answers.json").read_text("utf-8"))
TABLES = HERE.with_name("version-1-tables")  # a release of tables, with synthetic rows
TABLES_ANSWERS = json.loads((TABLES / "answers.json").read_text("utf-8"))
SUMS = HERE.with_name("version-1-sums")  # numbers and curves, added up about the middle of their range
SUMS_ANSWERS = {file.stem: json.loads(file.read_text("utf-8")) for file in sorted(SUMS.glob("*.json"))}
SETS = HERE.with_name("version-2-sets")  # items of one set counted by each other, and many columns under change-one
SETS_ANSWERS = {file.stem: json.loads(file.read_text("utf-8")) for file in sorted(SETS.glob("*.json"))}
# Items apart, a ladder, hours of the day; and rows that were shuffled together.
ALIKE = HERE.with_name("version-3")
ALIKE_ANSWERS = {file.stem: json.loads(file.read_text("utf-8")) for file in sorted(ALIKE.glob("*.json"))}
# Today's: tables that weigh by their fewest values.
NOW = HERE.with_name("version-4")
NOW_ANSWERS = {file.stem: json.loads(file.read_text("utf-8")) for file in sorted(NOW.glob("*.json"))}
STORED = {1: (SUMS, SUMS_ANSWERS), 2: (SETS, SETS_ANSWERS), 3: (ALIKE, ALIKE_ANSWERS), 4: (NOW, NOW_ANSWERS)}
EMPTY = pa.table(
    {"hobby": pa.array([], pa.string()), "age": pa.array([], pa.int64()), "born": pa.array([], pa.date32())}
    | {"interests": pa.array([], pa.string())}
)


def figures(answer: Any) -> list[list[Any]]:
    """The estimates of an answer with their intervals, none where nothing is told, and its other values."""
    cells = [cell for row in answer["rows"] for cell in row.values()]
    told = [cell if not isinstance(cell, dict) or cell["informative"] else {**cell, "estimate": None} for cell in cells]
    return [[cell[k] for k in ("estimate", "low", "high")] if isinstance(cell, dict) else [cell] for cell in told]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    return Path(shutil.copytree(HERE, tmp_path / "files"))


def test_a_release_still_verifies_with_both_verifiers(files: Path) -> None:
    release = dp.verify(files / "release")
    assert release is not None and release.rows == 60
    alone = [sys.executable, verify_certificate.__file__, str(files / "release" / "certificate.json")]
    said = subprocess.run(alone, capture_output=True, check=False, text=True).stdout
    assert "holds" in said and "does not hold" not in said  # it was drawn with seeded coins, which it also says


@pytest.mark.parametrize("sql", ANSWERS["queried"])
def test_a_release_still_answers_the_same(files: Path, sql: str) -> None:
    now = json.loads(json.dumps(dp.load(files / "release").query(sql).to_json(), default=str))
    for then, found in zip(figures(ANSWERS["queried"][sql]), figures(now), strict=True):
        assert found == [pytest.approx(x) if isinstance(x, float) else x for x in then]


def test_a_release_of_tables_still_verifies_and_says_the_same(tmp_path: Path) -> None:
    release = dp.verify(shutil.copytree(TABLES / "release", tmp_path / "release"))
    assert release is not None and release.rows == 600 and release.to_arrow().num_rows == 600
    assert release.law.record(release.certificate["release"], private=False) == release.certificate


@pytest.mark.parametrize(
    ("method", "sql"), [(method, sql) for method, answers in TABLES_ANSWERS.items() for sql in answers]
)
def test_a_release_of_tables_still_answers_the_same(method: str, sql: str) -> None:
    answer = dp.load(TABLES / "release").query(sql, method="inverse" if method == "queried" else method)
    now = json.loads(json.dumps(answer.to_json(), default=str))
    for then, found in zip(figures(TABLES_ANSWERS[method][sql]), figures(now), strict=True):
        assert found == [pytest.approx(x) if isinstance(x, float) else x for x in then]


@pytest.mark.parametrize(
    ("version", "name"), [(version, name) for version, (_, answers) in STORED.items() for name in answers]
)
def test_releases_of_every_version_verify_with_both_verifiers_and_answer_the_same(
    version: int, name: str, tmp_path: Path
) -> None:
    stored, answers = STORED[version]
    release = dp.verify(shutil.copytree(stored / name, tmp_path / "release"))
    assert release is not None
    is_central = release.plan.model == "central"
    assert release.certificate["version"] == (version if is_central else 1)
    assert release.law.record(release.certificate["release"], private=False) == release.certificate
    verifier = verify_central if is_central else verify_certificate
    alone = [sys.executable, verifier.__file__, str(tmp_path / "release" / "certificate.json")]
    said = subprocess.run(alone, capture_output=True, check=False, text=True).stdout
    assert "holds" in said and "does not hold" not in said  # it was drawn with seeded coins, which it also says
    for sql, answer in answers[name].items():
        now = json.loads(json.dumps(release.query(sql).to_json(), default=str))
        for then, found in zip(figures(answer), figures(now), strict=True):
            assert found == [pytest.approx(x) if isinstance(x, float) else x for x in then]


@pytest.mark.parametrize("sql", ANSWERS["asked"])
def test_what_was_paid_stays_paid(files: Path, sql: str) -> None:
    curator = dp.Curator(EMPTY, files / "plan.toml", ledger=files / "ledger.db")
    before = curator.remaining()
    answer = curator.ask(sql, epsilon="0.25")
    assert curator.remaining() == before and any("free" in note for note in answer.notes)
    now = json.loads(json.dumps(answer.to_json(), default=str))
    for then, found in zip(figures(ANSWERS["asked"][sql]), figures(now), strict=True):
        assert found == [pytest.approx(x) if isinstance(x, float) else x for x in then]


def test_how_a_plan_is_read_has_one_text() -> None:
    """A ledger knows a question by a digest of this text: it must not change while plans have version 1."""
    plan = dp.Plan.read(HERE / "plan.toml")
    assert plan.reading(["hobby", "age"]) == (
        '{"columns": {"age": {"high": 90, "low": 0, "missing": 40, "space": "interval", "step": 1}, '
        '"hobby": {"missing": "category", "space": "categories", "values": ["Cars", "Chess", "Music"]}}, '
        '"file": {}, "person": null, "rows_per_person": 1}'
    )


def test_what_only_a_release_needs_is_no_part_of_it() -> None:
    text = (HERE / "plan.toml").read_text("utf-8")
    other = text.replace("[columns.age]", '[columns.age]\nshare = 3\nmechanism = "laplace"').replace('"2"', '"5"')
    assert dp.Plan.parse(other).reading(["age"]) == dp.Plan.parse(text).reading(["age"])
    assert dp.Plan.parse(text.replace("= 40", "= 41")).reading(["age"]) != dp.Plan.parse(text).reading(["age"])


def test_a_plan_of_another_version_is_refused() -> None:
    text = (HERE / "plan.toml").read_text("utf-8").replace("version = 1", "version = 2")
    with pytest.raises(InputError, match=r"plan, line 1: version is 2, and this dproof reads plans of version 1"):
        dp.Plan.parse(text)


def test_a_certificate_of_another_version_is_refused(files: Path) -> None:
    file = files / "release" / "certificate.json"
    file.write_text(file.read_text("utf-8").replace('"version": 1', '"version": 7'), "utf-8")
    with pytest.raises(VerificationFailed, match="has version 7, and this verifier knows version 1"):
        dp.verify(files / "release")


def test_a_ledger_of_another_version_is_refused(files: Path) -> None:
    database = sqlite3.connect(files / "ledger.db")
    database.execute("PRAGMA user_version = 3")
    database.close()
    with pytest.raises(InputError, match="is a ledger of version 3, and this dproof knows version 1"):
        dp.Curator(EMPTY, files / "plan.toml", ledger=files / "ledger.db")

"""`values_file`: the values of a column from a code book beside the plan, written into the plan that is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import dproof as dp
from dproof import InputError, Plan
from dproof.certification import verify_central, verify_certificate

COLUMN = '[columns.code]\nspace = "categories"\nvalues_file = "{}"  # of the hospital\nmissing = "category"\n'
TABLE = pa.table({"code": ["A01", "B02", None] * 400})


def plan_file(folder: Path, *, book: str = "books/codes.csv", model: str = "local") -> Path:
    (folder / "books").mkdir(exist_ok=True)
    (folder / "books" / "codes.csv").write_text('code,meaning\nA01,"a, b"\n007,c\nB02,d\n', "utf-8")
    path = folder / "plan.toml"
    path.write_text(f'[privacy]\nepsilon = 4\nmodel = "{model}"\n\n{COLUMN.format(book)}', "utf-8")
    return path


@pytest.mark.parametrize("model", ["local", "central"])
def test_a_release_needs_no_code_book(model: str, tmp_path: Path) -> None:
    file = plan_file(tmp_path, model=model)
    plan = Plan.read(file)
    assert plan.column("code").space.labels[:3] == ("A01", "007", "B02")  # texts, as they are written
    dp.sanitise(TABLE, file, tmp_path / "out")
    (tmp_path / "books" / "codes.csv").unlink()
    assert "values = [" in (tmp_path / "out" / "plan.toml").read_text("utf-8")
    released = dp.verify(tmp_path / "out")
    assert released is not None
    cell = released.query("SELECT count(*) AS n FROM release WHERE code = '007'").rows[0]["n"]
    assert cell.low <= 0 <= cell.high
    verifier: Any = verify_central if model == "central" else verify_certificate
    certificate = verify_certificate.read((tmp_path / "out" / "certificate.json").read_text("utf-8"))
    assert verifier.verify(certificate, tmp_path / "out") == ["report.html"]


def test_it_is_checked_and_asked_by(tmp_path: Path) -> None:
    file = plan_file(tmp_path)
    assert dp.check(TABLE, file).columns[0].missing == 400
    curator = dp.Curator(TABLE, file, ledger=tmp_path / "budget.db")
    assert curator.ask("SELECT count(*) AS n FROM data WHERE code = 'A01'", epsilon=4).rows[0]["n"].estimate > 380
    # The question of before is known, whatever the file of the same values is called.
    pa.parquet.write_table(pa.table({"c": ["A01", "007", "B02"]}), tmp_path / "other.parquet")
    again = dp.Curator(TABLE, plan_file(tmp_path, book="other.parquet"), ledger=tmp_path / "budget.db")
    assert again.stored("SELECT count(*) AS n FROM data WHERE code = 'A01'", epsilon=4) is not None


@pytest.mark.parametrize(
    ("book", "message"),
    [
        ("none.csv", r"plan\.toml, line 7: columns\.code\.values_file: there is no file or folder"),
        ("empty.csv", "lists no value in its first column"),
        ("twice.csv", "lists 'a' twice in its first column"),
        ("many.csv", "lists 3 values, and 2 are the most"),
    ],
)
def test_a_book_that_cannot_be_read_is_told(
    book: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dproof.plans.reader.MOST_LISTED_VALUES", 2)
    for name, lines in (("empty.csv", "x\n"), ("twice.csv", "x\na\na\n"), ("many.csv", "x\na\nb\nc\n")):
        (tmp_path / name).write_text(lines, "utf-8")
    with pytest.raises(InputError, match=message):
        Plan.read(plan_file(tmp_path, book=book))


def test_a_book_stands_alone_and_in_a_file(tmp_path: Path) -> None:
    file = plan_file(tmp_path)
    file.write_text(file.read_text("utf-8") + 'values = ["a"]\n', "utf-8")
    with pytest.raises(InputError, match="stands instead of `values`"):
        Plan.read(file)
    file.write_text(
        '[privacy]\nepsilon = 1\n[columns]\ncode = {space = "categories", values_file = "x.csv"}\n', "utf-8"
    )
    with pytest.raises(InputError, match="must stand on a line of its own"):
        Plan.read(file)
    with pytest.raises(InputError, match="is read with the file of a plan"):
        Plan.from_dict(
            {"privacy": {"epsilon": 1}, "columns": {"code": {"space": "categories", "values_file": "x.csv"}}}
        )


def test_the_plan_of_a_release_opens_no_file_of_whoever_reads_it(tmp_path: Path) -> None:
    dp.sanitise(TABLE, plan_file(tmp_path), tmp_path / "out")
    stored = tmp_path / "out" / "plan.toml"
    (tmp_path / "secret.csv").write_text("x\nA01\n007\nB02\n", "utf-8")
    lines = [f'values_file = "{tmp_path}/secret.csv"' if line.startswith("values") else line
             for line in stored.read_text("utf-8").splitlines()]  # fmt: skip
    stored.write_text("\n".join(lines), "utf-8")
    with pytest.raises(InputError, match="is read with the file of a plan"):
        dp.load(tmp_path / "out")

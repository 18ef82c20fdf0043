"""Forged releases in which every row answers for one thing: weights, laws and rows that do not fit each other."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dproof as dp
from dproof import VerificationFailed
from dproof.certification import verify_certificate
from dproof.laws.response import response_law
from dproof.storage import CERTIFICATE, DATA, PARQUET, PLAN
from tests.forging import forge

FEW = {"space": "categories", "values": ["a", "b", "c"]}
PLAN_OF = {
    "privacy": {"epsilon": 2, "spread": "sample"},
    "columns": {"x": FEW, "y": FEW, "mood": {**FEW, "missing": "category"}},
    "joint": [{"columns": ["x", "y"]}],
}
ROWS = 400


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sampled") / "out"
    values = ["a", "b", "c", "c"] * (ROWS // 4)
    dp.sanitise(pa.table({"x": values, "y": values, "mood": [None, *values[1:]]}), PLAN_OF, out)
    return out


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "out")
    return tmp_path / "out"


def more_of(body: dict[str, Any], place: int, epsilon: str) -> None:
    """A law with a larger ε than the row, with the values that would be right for it."""
    from fractions import Fraction

    law = body["laws"][place]
    size = law["law"]["size"]
    law["law"] = dict(response_law(size, Fraction(epsilon), Fraction(0)).to_json())
    law["epsilon"], law["tight"]["epsilon"] = epsilon, float(Fraction(epsilon))


def weights(*given: int) -> Callable[[dict[str, Any]], None]:
    def change(body: dict[str, Any]) -> None:
        for entry, weight in zip(body["sample"], given, strict=True):
            entry["weight"] = weight

    return change


FORGED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "weights that sum to less": weights(1000, 2000),
    "weights that sum to more": weights(65536, 65536),
    "no weight": weights(65536, 0),
    "a weight of another kind": lambda body: body["sample"][0].update(weight=1.0),
    "a weight too few": lambda body: body["sample"].pop(),
    "no weights at all": lambda body: body.pop("sample"),
    "other columns": lambda body: body["sample"][0].update(columns=["x", "mood"]),
    "the same columns in another order": lambda body: body["sample"][0].update(columns=["y", "x"]),
    "more beside a weight": lambda body: body["sample"][0].update(note="a"),
    "a law with a larger epsilon": lambda body: more_of(body, 0, "4"),
    "a law that keeps more than it says": lambda body: body["laws"][1]["law"].update(keep=str(1 << 60)),
    "a law with a smaller epsilon": lambda body: more_of(body, 1, "1"),
    "other weights than the rows show": weights(1, 65535),
    "a smaller tight value": lambda body: body["release"]["tight"].update(epsilon=0.5),
    "a smaller tight value of a person": lambda body: body["release"]["person"]["tight"].update(epsilon=1.9),
}
# The stand-alone verifier looks into no table, and takes the plan's word for what rows are asked.
UNSEEN = {"a law with a smaller epsilon"}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_claim_is_refused_by_both(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    forge(folder, FORGED[name])
    with pytest.raises(VerificationFailed):
        dp.verify(folder)
    assert (verify_certificate.main([str(folder / CERTIFICATE)]) == 1) == (name not in UNSEEN)


def test_the_release_as_it_was_made_holds(folder: Path) -> None:
    assert dp.verify(folder) is not None and verify_certificate.main([str(folder / CERTIFICATE)]) == 0


@pytest.mark.parametrize("spread", ['spread = "split"', ""])
def test_a_plan_that_spreads_in_another_way_is_refused(folder: Path, spread: str) -> None:
    """Else laws that each have all of ε could pass for one row's answers to all of them."""
    plan = (folder / PLAN).read_text("utf-8")
    (folder / PLAN).write_text(plan.replace('spread = "sample"', spread), "utf-8")
    forge(folder)
    with pytest.raises(VerificationFailed, match="`spread`"):
        dp.verify(folder)
    assert verify_certificate.main([str(folder / CERTIFICATE)]) == 1


def test_a_split_certificate_under_a_plan_that_samples_is_refused(tmp_path: Path) -> None:
    plan = {**PLAN_OF, "privacy": {"epsilon": 2, "spread": "split"}}
    values = ["a", "b"] * 20
    dp.sanitise(pa.table(dict.fromkeys(("x", "y", "mood"), values)), plan, tmp_path / "out")
    file = tmp_path / "out" / PLAN
    file.write_text(file.read_text("utf-8").replace('"split"', '"sample"'), "utf-8")
    forge(tmp_path / "out")
    with pytest.raises(VerificationFailed, match="`spread`"):
        dp.verify(tmp_path / "out")
    assert verify_certificate.main([str(tmp_path / "out" / CERTIFICATE)]) == 1


def both_answered(rows: list[dict[str, Any]]) -> None:
    next(row for row in rows if row["asked"] == "mood")["x"] = "a"


def renamed(rows: list[dict[str, Any]]) -> None:
    next(row for row in rows if row["asked"] == "mood")["asked"] = "x"


def said_nothing(rows: list[dict[str, Any]]) -> None:
    rows[0]["asked"] = None


def asked_otherwise(rows: list[dict[str, Any]]) -> None:
    """The row says that it was asked for what it does not hold."""
    next(row for row in rows if row["asked"] == "x × y")["asked"] = "mood"


def not_answered(rows: list[dict[str, Any]]) -> None:
    next(row for row in rows if row["asked"] == "x × y")["x"] = None


def undeclared(rows: list[dict[str, Any]]) -> None:
    next(row for row in rows if row["asked"] == "x × y")["x"] = "z"


CHANGES = (both_answered, renamed, said_nothing, asked_otherwise, not_answered, undeclared)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_rows_that_contradict_what_they_were_asked_are_refused(
    folder: Path, change: Callable[[list[dict[str, Any]]], None]
) -> None:
    table = pq.read_table(folder / DATA)
    rows = table.to_pylist()
    change(rows)
    dictionary = {name: pa.array([row[name] for row in rows], pa.string()) for name in table.column_names}
    arrays = [dictionary[field.name].dictionary_encode().cast(field.type) for field in table.schema]
    pq.write_table(pa.Table.from_arrays(arrays, schema=table.schema), folder / DATA, **PARQUET)
    forge(folder)
    with pytest.raises(VerificationFailed, match="the stored column"):
        dp.verify(folder)


def test_the_certificate_names_the_columns_and_weights(folder: Path) -> None:
    body = json.loads((folder / CERTIFICATE).read_text("utf-8"))
    assert [entry["columns"] for entry in body["sample"]] == [["x", "y"], ["mood"]]
    assert sum(entry["weight"] for entry in body["sample"]) == 1 << 16
    assert body["release"]["columns"] == ["x", "y", "mood", "asked"]
    assert [law["epsilon"] for law in body["laws"]] == ["2", "2"] and body["release"]["tight"]["epsilon"] <= 2

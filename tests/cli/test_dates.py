"""Dates from the draft of a plan to answers, as a user types it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import dproof.certification.verify_certificate as verifier
from dproof.testing import seeded_coins

Dproof = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    days = [f"2024-{1 + n % 12:02}-{1 + n % 28:02}" for n in range(1200)]
    (tmp_path / "visits.csv").write_text(
        "visit,ward\n" + "".join(f"{day},{'ab'[n % 2]}\n" for n, day in enumerate(days))
    )
    return tmp_path


def test_dates_go_all_the_way(folder: Path, dproof: Dproof) -> None:
    data, plan = folder / "visits.csv", folder / "plan.toml"
    draft = dproof("init", data, "--look", "--local").out
    assert '[columns.visit]\nspace = "date"\nlow = "?"\nhigh = "?"\n' in draft
    assert "columns.visit.low is still open, as is something in ward" in dproof("plan", _written(plan, draft)).err
    never = draft.replace('low = "?"', 'low = "never"').replace('high = "?"', "high = 2024-12-30")
    said = dproof("plan", _written(plan, never.replace("values = []", 'values = ["a", "b"]'))).err
    assert "must be a date such as 2024-01-31" in said
    text = draft.replace('low = "?"\nhigh = "?"', "low = 2024-01-01\nhigh = 2024-12-30\nstep = 7")
    _written(plan, text.replace("values = []", 'values = ["a", "b"]').replace('epsilon = "1"', 'epsilon = "20"'))
    (day, _) = dproof("plan", plan, "--rows", 1200, "--json").json["columns"]
    assert day["name"] == "visit" and day["mean_half_width"] > 0
    with data.open("a") as file:
        file.write("soon,a\n29.2.2024,b\n2031-01-01,a\n")
    looked = dproof("check", data, "--plan", plan, "--json").json
    assert (looked["columns"][0]["no_number"], looked["columns"][0]["clamped"]) == (2, 1)
    assert any("are not dates: write them in ISO 8601" in hint for hint in looked["hints"])
    _written(plan, plan.read_text().replace("\nstep = 7\n", "\nstep = 7\nmissing = 2024-01-01\n"))
    with seeded_coins(1):
        assert dproof("sanitise", data, "--plan", plan, "--out", folder / "out").code == 0
    assert pa.parquet.read_schema(folder / "out" / "release.parquet").field("visit").type == pa.date32()
    asked = "SELECT ward, count(*) AS n, avg(visit) AS v FROM {} WHERE visit >= '2024-06-03' GROUP BY ward"
    rows = dproof("query", folder / "out", asked.format("release"), "--json").json["rows"]
    assert [row["v"]["low"] < row["v"]["estimate"] < row["v"]["high"] for row in rows] == [True, True]
    assert all(row["v"]["estimate"].startswith("2024-") for row in rows)
    ask = ("ask", data, "--plan", plan, "--ledger", folder / "budget.db", "--epsilon", 5)
    with seeded_coins(1):
        found = dproof(*ask, asked.format("data"), "--json").json["rows"]
        printed = dproof(*ask, "SELECT median(visit) AS m FROM data").out
    assert [row["ward"] for row in found] == ["a", "b"] and all("2024-" in row["v"]["estimate"] for row in found)
    assert "2024-" in printed
    assert dproof("report", folder / "out").code == 0
    assert dproof("verify", folder / "out").code == 1  # it holds, but it was drawn with seeded coins


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_the_program_without_dependencies_counts_days(folder: Path, dproof: Dproof) -> None:
    plan = '[privacy]\nepsilon = "1"\n[columns.visit]\nspace = "date"\nlow = 2024-01-01\nhigh = "2024-12-31"\n'
    _written(folder / "plan.toml", plan + '[columns.ward]\nspace = "categories"\nvalues = ["a", "b"]\n')
    dproof("sanitise", folder / "visits.csv", "--plan", folder / "plan.toml", "--out", folder / "out")
    ran = subprocess.run(
        [sys.executable, verifier.__file__, folder / "out" / "certificate.json"], capture_output=True, text=True
    )
    assert (ran.returncode, ran.stderr) == (0, "") and ran.stdout.startswith("holds: ")
    laws = json.loads((folder / "out" / "certificate.json").read_text())["laws"]
    assert int(laws[0]["law"]["size"]) == 366


GERMAN = """
[file]
separator = ";"
[privacy]
epsilon = "20"
model = "central"
[columns.visit]
space = "date"
format = "%d.%m.%Y"
low = 2024-01-01
high = 2024-12-31
missing = "category"
[columns.ward]
space = "categories"
values = ["a", "b"]
"""


def test_dates_in_the_format_of_the_plan_go_all_the_way(tmp_path: Path, dproof: Dproof) -> None:
    data, plan = tmp_path / "visits.csv", _written(tmp_path / "plan.toml", GERMAN)
    days = [f"{1 + n % 28}.{1 + n % 12:02}.2024" for n in range(1200)]
    data.write_text("visit;ward\n" + "".join(f"{day};{'ab'[n % 2]}\n" for n, day in enumerate([*days, "soon"])))
    looked = dproof("check", data, "--plan", plan, "--json").json
    assert [column["no_number"] for column in looked["columns"]] == [1, 0]
    printed = " ".join(dproof("check", data, "--plan", plan).out.split())
    assert "unreadable" in printed and "no number" not in printed and 'format = "%d.%m.%Y"' in printed
    ask = ("ask", data, "--plan", plan, "--ledger", tmp_path / "budget.db", "--epsilon", 5)
    with seeded_coins(1):
        (row,) = dproof(*ask, "SELECT count(*) AS n FROM data WHERE visit >= '2024-07-01'", "--json").json["rows"]
        assert dproof("sanitise", data, "--plan", plan, "--out", tmp_path / "out").code == 0
    assert row["n"]["low"] <= 600 <= row["n"]["high"]
    assert dproof("verify", tmp_path / "out").code == 1  # it holds, but it was drawn with seeded coins


def test_a_format_that_is_none_is_refused_with_its_line(tmp_path: Path, dproof: Dproof) -> None:
    plan = _written(tmp_path / "plan.toml", GERMAN.replace("%Y", "%y"))
    refused = dproof("plan", plan)
    assert (
        refused.code == 2 and "line 9: columns.visit.format cannot be read: %y leaves the century open" in refused.err
    )


@pytest.mark.parametrize("model", ["central", "local"])
def test_bins_of_the_calendar_are_released_verified_and_asked(tmp_path: Path, dproof: Dproof, model: str) -> None:
    text = GERMAN.replace('"central"', f'"{model}"').replace('\nmissing = "category"', '\nbins = "calendar"')
    data, plan = tmp_path / "visits.csv", _written(tmp_path / "plan.toml", text)
    days = [f"{1 + n % 28}.{1 + n % 12:02}.2024" for n in range(1200)]
    data.write_text("visit;ward\n" + "".join(f"{day};{'ab'[n % 2]}\n" for n, day in enumerate(days)))
    assert dproof("sanitise", data, "--plan", plan, "--out", tmp_path / "out").code == 0
    assert dproof("verify", tmp_path / "out").code == 0
    alone = "verify_central" if model == "central" else "verify_certificate"
    program = Path(verifier.__file__).with_name(f"{alone}.py")
    certificate = tmp_path / "out" / "certificate.json"
    assert subprocess.run([sys.executable, "-S", program, certificate], capture_output=True).returncode == 0
    asked = "SELECT visit, count(*) AS n FROM release WHERE visit >= '2024-07-01' GROUP BY visit"
    rows = dproof("query", tmp_path / "out", asked, "--json").json["rows"]
    assert [row["visit"] for row in rows][:2] == ["[2024-07-01, 2024-08-01)", "[2024-08-01, 2024-09-01)"]
    assert len(rows) == 6 and sum(row["n"]["low"] <= 100 <= row["n"]["high"] for row in rows) >= 5

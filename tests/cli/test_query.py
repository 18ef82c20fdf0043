"""query, as an analyst calls it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof.testing import seeded_coins

Dproof = Callable[..., Any]
COUNTS = "SELECT hobby, count(*) AS n FROM release GROUP BY hobby ORDER BY n DESC"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    plan = {
        "privacy": {"epsilon": 3},
        "columns": {
            "hobby": {"space": "categories", "values": ["Cars", "Chess", "Golf"]},
            "day": {"public": True},
        },
    }
    table = pa.table({"hobby": ["Cars", "Cars", "Chess"] * 300, "day": pa.array([0, 1, 2] * 300, pa.date32())})
    out = tmp_path_factory.mktemp("query") / "out"
    with seeded_coins(8):
        dp.sanitise(table, plan, out)
    return out


def test_a_table_for_a_person(dproof: Dproof, folder: Path) -> None:
    ran = dproof("query", folder, COUNTS)
    assert (
        ran.code == 0
        and "±" in ran.out
        and "± covers the privacy noise, 95%; not sampling error." in ran.out
        and "NOT PRIVATE" in ran.out
    )
    assert ran.out.index("Cars") < ran.out.index("Chess") < ran.out.index("Golf")


def test_one_json_object(dproof: Dproof, folder: Path) -> None:
    found = dproof("query", folder, COUNTS, "--json", "--level", "0.9").json
    assert found["columns"] == ["hobby", "n"] and found["level"] == 0.9
    assert [row["hobby"] for row in found["rows"]] == ["Cars", "Chess", "Golf"]
    for row in found["rows"]:
        assert set(row["n"]) == {"estimate", "low", "high", "stderr", "raw", "informative"}
        assert 0 <= row["n"]["low"] <= max(row["n"]["estimate"], 0) < row["n"]["high"]


def test_the_options_reach_the_answer(dproof: Dproof, folder: Path) -> None:
    plain = dproof("query", folder, COUNTS, "--json").json
    for option, value in (("--target", "population"), ("--method", "projection"), ("--simultaneous", None)):
        other = dproof("query", folder, COUNTS, "--json", option, *([] if value is None else [value])).json
        assert other != plain


def test_public_dates_are_groups(dproof: Dproof, folder: Path) -> None:
    found = dproof("query", folder, "SELECT day, count(*) AS n FROM release GROUP BY day", "--json").json
    assert [row["day"] for row in found["rows"]] == ["1970-01-01", "1970-01-02", "1970-01-03"]
    assert dproof("query", folder, "SELECT day, count(*) AS n FROM release GROUP BY day").code == 0


def test_raw_rows_are_labelled(dproof: Dproof, folder: Path) -> None:
    sql = "SELECT hobby, count(*) AS n, max(day) AS d FROM release GROUP BY hobby ORDER BY hobby"
    ran = dproof("query", folder, sql, "--raw", "--json")
    assert ran.json["method"] == "raw" and sum(row["n"] for row in ran.json["rows"]) == 900
    assert "biased" in dproof("query", folder, sql, "--raw").out


@pytest.mark.parametrize(("name", "start"), [("p.svg", b"<svg"), ("p.png", b"\x89PNG"), ("p.html", b"<!doctype html>")])
def test_a_picture(dproof: Dproof, folder: Path, tmp_path: Path, name: str, start: bytes) -> None:
    ran = dproof("query", folder, COUNTS, "--json", "--plot", tmp_path / name)
    assert ran.code == 0 and ran.json["columns"] == ["hobby", "n"] and name in ran.err
    assert (tmp_path / name).read_bytes().startswith(start)
    assert b"http://" not in (tmp_path / name).read_bytes().replace(b"http://www.w3.org", b"")


def test_mistakes_are_one_sentence(refused: Callable[..., str], folder: Path, tmp_path: Path) -> None:
    assert "did you mean 'hobby'" in refused("query", folder, "SELECT hoby, count(*) FROM release GROUP BY hoby")
    assert "is not a release" in refused("query", tmp_path, COUNTS)
    assert ".svg, .png or .html" in refused("query", folder, COUNTS, "--plot", tmp_path / "p.jpg")
    assert "level must" in refused("query", folder, COUNTS, "--level", "2")
    assert "did you mean" in refused("query", folder, COUNTS, "--method", "inverze")
    assert "files" in refused("query", folder, "SELECT * FROM read_csv('/etc/passwd')", "--raw")
    assert "nothing to draw" in refused(
        "query", folder, "SELECT mode(hobby) AS m FROM release", "--plot", tmp_path / "p.svg"
    )

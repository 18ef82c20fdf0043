"""What a person reads of an answer: no absurd number, no endless table, no interval that is not there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import dproof as dp
from dproof.testing import seeded_coins
from tests.makers import interval, plan_text, subsets

Dproof = Callable[..., Any]
ITEMS = [f"item {n}" for n in range(7)]
PLAN = plan_text(
    {
        "likes": subsets("item 0", "item 1", "item 2", "item 3", "item 4", "item 5", "item 6", share=3),
        "age": interval(0, 100),
        "load": {"space": "curves", "points": 5, "low": 0, "high": 1050000, "share": 17},
    },
    epsilon="1",
    delta="1e-5",
)
SETS = "SELECT likes, count(*) AS n FROM release GROUP BY likes"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    (folder / "plan.toml").write_text(PLAN)
    dice = np.random.default_rng(2)
    table = pa.table(
        {
            "likes": [[x for x in ITEMS if dice.random() < 0.3] for _ in range(300)],
            "age": dice.integers(20, 60, 300),
            "load": [[1000.0 * n for n in range(5)]] * 300,
        }
    )
    pyarrow.parquet.write_table(table, folder / "people.parquet")
    with seeded_coins(3):
        dp.sanitise(folder / "people.parquet", folder / "plan.toml", folder / "out")
    return folder


def test_no_count_of_people_is_negative_or_above_all_of_them(dproof: Dproof, home: Path) -> None:
    ran = dproof("query", home / "out", SETS, "--all")
    table = ran.out.split(" covers the")[0]
    assert "no information" in table and "-" not in table and len(table) > 128
    assert "no information at this ε" in ran.out and "`dproof ask`" in " ".join(ran.out.split())
    found = dproof("query", home / "out", SETS, "--json").json["rows"]
    assert len(found) == 128 and min(row["n"]["raw"] for row in found if not row["n"]["informative"]) < 0  # uncut
    assert all(0 <= row["n"]["low"] <= row["n"]["high"] <= 300 for row in found)
    assert not all(row["n"]["informative"] for row in found)


def test_a_table_is_printed_to_its_fiftieth_row(dproof: Dproof, home: Path, tmp_path: Path) -> None:
    ran = dproof("query", home / "out", SETS)
    assert "… 78 more (--all)" in ran.out and "more (--all)" not in dproof("query", home / "out", SETS, "--all").out
    assert len(ran.out.splitlines()) < 70 < len(dproof("query", home / "out", SETS, "--all").out.splitlines())
    asked = ("ask", home / "people.parquet", "--plan", home / "plan.toml", "--ledger", tmp_path / "b.db")
    asked = (*asked, "--epsilon", "1", SETS.replace("release", "data"))
    assert "… 78 more (--all)" in dproof(*asked).out and "more (--all)" not in dproof(*asked, "--all").out
    assert len(dproof(*asked, "--json").json["rows"]) == 128


def test_intervals_are_named_where_there_are_some(dproof: Dproof, home: Path, tmp_path: Path) -> None:
    asked = ("ask", home / "people.parquet", "--plan", home / "plan.toml", "--ledger", tmp_path / "b.db")
    alone = dproof(*asked, "--epsilon", "0.2", "SELECT median(age) AS m FROM data").out
    assert "covers" not in alone
    both = dproof(*asked, "--epsilon", "0.2", "SELECT median(age) AS m, count(*) AS n FROM data WHERE age > 30").out
    assert "covers the privacy noise, 95%; not sampling error." in both


@pytest.mark.parametrize("ending", ["svg", "png", "html"])
def test_a_curve_is_drawn(ending: str, dproof: Dproof, home: Path, tmp_path: Path) -> None:
    picture = tmp_path / f"curve.{ending}"
    assert dproof("query", home / "out", "SELECT avg(load) AS load FROM release", "--plot", picture).code == 0
    assert picture.stat().st_size > 1000
    picture.unlink()
    asked = ("ask", home / "people.parquet", "--plan", home / "plan.toml", "--ledger", tmp_path / "b.db")
    ran = dproof(*asked, "--epsilon", "0.5", "SELECT avg(load) AS load FROM data", "--plot", picture)
    assert ran.code == 0 and "the picture is in" in ran.err and picture.stat().st_size > 1000
    if ending == "svg":
        assert "band for the whole curve" in picture.read_text("utf-8")  # the legend


def test_a_picture_that_cannot_be_written_is_refused_before_anything_is_paid(
    dproof: Dproof, refused: Callable[..., str], home: Path, tmp_path: Path
) -> None:
    ledger = tmp_path / "b.db"
    asked = ("ask", home / "people.parquet", "--plan", home / "plan.toml", "--ledger", ledger, "--epsilon", "0.2")
    for path in (tmp_path / "x.gif", tmp_path / "nowhere" / "x.svg"):
        refused(*asked, "SELECT count(*) AS n FROM data WHERE age > 30", "--plot", path)
    assert not ledger.exists()
    # What has no picture is still answered: it is paid for.
    ran = dproof(*asked, "SELECT median(age) AS m FROM data", "--plot", tmp_path / "m.svg")
    assert ran.code == 0 and "no picture: " in ran.err and "m" in ran.out


def test_groups_of_the_same_name_keep_their_lines(dproof: Dproof, home: Path, tmp_path: Path) -> None:
    sql = "SELECT count(*) AS n FROM release GROUP BY likes LIMIT 3"
    assert dproof("query", home / "out", sql, "--plot", tmp_path / "x.svg").code == 0
    text = (tmp_path / "x.svg").read_text("utf-8")
    assert all(f"({n})" in text for n in (1, 2, 3))


def test_a_report_writes_numbers_as_people_do(home: Path) -> None:
    text = (home / "out" / "report.html").read_text("utf-8")
    assert "e+0" not in text and "e-0" not in text and "ε = 1/21" not in text and "ε = 0.0476" in text
    assert "no information at this ε: ± " in text  # of a count of sets among 300 people
    assert "0.00001" in text and "the true curve" in text
    assert "covered as many times" not in text and "(ε × r, δ × r)" in text


@pytest.mark.parametrize(("level", "said"), [("0.5", "50%"), ("0.999", "99.9%"), ("0.9999", "99.99%")])
def test_a_level_is_told_with_its_digits(level: str, said: str, home: Path, dproof: Dproof, tmp_path: Path) -> None:
    asked = ("ask", home / "people.parquet", "--plan", home / "plan.toml", "--ledger", tmp_path / "b.db")
    out = dproof(*asked, "--epsilon", "1", "--level", level, "SELECT count(*) AS n FROM data WHERE age > 30").out
    assert f"covers the privacy noise, {said}; not" in out

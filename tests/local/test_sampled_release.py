"""A release in which every row answers for one thing: what is drawn, what is stored, and that it is checked."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof import InputError, Sanitiser
from dproof.certification import verify_certificate
from dproof.coins import Coins
from dproof.local.draw import answers, asking
from dproof.local.mechanisms import MECHANISMS
from dproof.testing import seeded_coins
from tests.makers import row_law

ROWS = 3000
MOOD = {"space": "categories", "values": ["low", "high"], "missing": "category"}
PLAN: dict[str, Any] = {
    "privacy": {"epsilon": 3, "spread": "sample"},
    "columns": {
        "town": {"space": "categories", "values": ["n", "s", "w"]},
        "mood": MOOD,
        "age": {"space": "interval", "low": 0, "high": 90, "step": 1},
        "floor": {"space": "interval", "low": 0, "high": 4, "step": 1, "mechanism": "unbiased_design"},
        "likes": {"space": "subsets", "values": ["x", "y", "z"], "separator": ";"},
        "owns": {"space": "subsets", "columns": ["car", "boat"]},
        "load": {"space": "curves", "points": 4, "low": 0, "high": 5, "terms": 3},
        "note": {"public": True},
        "name": {"drop": True},
    },
    "joint": [{"columns": ["town", "mood"]}, {"columns": ["town", "floor"]}],
    "questions": [
        {"sql": "SELECT floor, count(*) FROM release GROUP BY floor"},
        {"sql": "SELECT avg(age) FROM release"},
    ],
}


def people(rows: int = ROWS) -> Any:
    some = np.random.default_rng(17)
    return pa.table(
        {
            "town": some.choice(["n", "s", "w"], rows),
            "mood": [None if x == 0 else "low" if x < 4 else "high" for x in some.integers(0, 9, rows)],
            "age": some.integers(0, 91, rows),
            "floor": some.integers(0, 5, rows),
            "likes": some.choice(["", "x", "x;z", "y"], rows),
            "car": some.integers(0, 2, rows).astype(bool),
            "boat": some.integers(0, 2, rows).astype(bool),
            "load": [[1.0, 2.0, 3.0, 2.0]] * rows,
            "note": [f"row {n}" for n in range(rows)],
            "name": ["somebody"] * rows,
        }
    )


@pytest.fixture(scope="module")
def release() -> Any:
    with seeded_coins(17):
        return dp.sanitise(people(), PLAN)


class AllWords(Coins):
    """Every word of 16 bits once."""

    def fill(self, buffer: Any) -> None:
        assert buffer.dtype == np.uint16
        buffer[:] = np.arange(len(buffer))


def test_every_word_asks_for_one_thing_and_each_thing_owns_as_many_as_its_weight() -> None:
    law = row_law(PLAN)
    assert law.weights is not None
    drawn = asking(law.weights).sample(1 << 16, AllWords(bytes(32)))
    assert tuple(np.bincount(drawn, minlength=len(law.groups)).tolist()) == law.weights


def test_what_a_row_is_asked_does_not_depend_on_what_it_holds() -> None:
    law = row_law(PLAN)
    private = [column for column in law.plan.columns if column.private]
    asked = []
    for value in (0, 1):
        codes = {c.name: np.full((500, *c.sanitised.code_shape), value, np.int64) for c in private}
        with seeded_coins(5) as coins:
            asked.append(answers(law, codes, None, coins)["asked"].to_pylist())
    assert asked[0] == asked[1] and len(set(asked[0])) == len(law.groups)


def test_a_row_holds_what_it_was_asked_for_and_nothing_else(release: Any) -> None:
    table = release.to_arrow()
    assert table.column_names[-1] == "asked" and table.num_rows == ROWS
    assert sorted(table["note"].to_pylist()) == sorted(people()["note"].to_pylist())
    held = {group.name: {name for column in group.columns for name in column.stored} for group in release.law.groups}
    assert list(held) == ["town × mood", "town × floor", "age", "likes", "owns", "load"]
    for row in table.to_pylist():
        shown = {name for name, value in row.items() if value is not None} - {"asked", "note"}
        assert shown <= held[row["asked"]] and held[row["asked"]] - shown <= {"mood"}
    missing = [row for row in table.to_pylist() if row["asked"] == "town × mood" and row["mood"] is None]
    assert missing  # a missing mood is an answer


def test_a_number_is_stored_with_decimals_where_one_of_its_laws_needs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By itself the number is released on a finer lattice than its own, joined on its own."""

    def halves(space: Any, privacy: dp.Privacy) -> Any:
        return replace(dp.randomised_response(space, privacy), outputs=dp.Interval(0, 1, "1/2"))

    monkeypatch.setitem(MECHANISMS["interval"], "halves", halves)
    number = {"space": "interval", "low": 0, "high": 2, "step": 1, "mechanism": "halves"}
    columns = {"a": {"space": "categories", "values": [0, 1]}, "x": number}
    asked = [("", ""), ("a,", "GROUP BY a")]
    questions = [{"sql": f"SELECT {key} avg(x) FROM release {group}"} for key, group in asked]
    plan = {"privacy": {"epsilon": 1, "spread": "sample"}, "columns": columns, "questions": questions}
    table = pa.table({"a": [0, 1] * 50, "x": [0, 1, 2, 1] * 25})
    found = dp.sanitise(table, plan, tmp_path / "out")
    assert {group.name for group in found.law.groups} == {"x", "a × x"}
    assert found.to_arrow().schema.field("x").type == pa.float64()
    assert dp.verify(tmp_path / "out") is not None


def test_a_stored_release_verifies_and_answers_as_it_did(tmp_path: Path) -> None:
    made = dp.sanitise(people(), PLAN, tmp_path / "out")
    checked = dp.verify(tmp_path / "out")
    assert checked is not None and checked.law.weights == made.law.weights
    ran = subprocess.run(
        [sys.executable, verify_certificate.__file__, str(tmp_path / "out" / "certificate.json")],
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0 and "6 law(s)" in ran.stdout
    sql = "SELECT town, count(*) AS n FROM release GROUP BY town"
    assert dp.load(tmp_path / "out").query(sql).rows == made.query(sql).rows
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "one of the 6 things below" in page and "does not mean that they are missing" in page


def test_a_release_held_in_memory_can_be_saved(release: Any, tmp_path: Path) -> None:
    release.save(tmp_path / "out")
    assert dp.verify(tmp_path / "out") is not None


def test_raw_and_frames_show_what_was_asked(release: Any) -> None:
    rows = release.raw("SELECT asked, count(*) AS n FROM release GROUP BY asked").rows
    assert sum(row["n"] for row in rows) == ROWS and len(rows) == 6
    assert list(release.to_pandas().columns)[-1] == "asked"


def test_a_table_of_nobody_and_of_one() -> None:
    with pytest.warns(dp.DproofWarning, match="no rows"):
        nobody = dp.sanitise(people(0), PLAN)
    assert nobody.query("SELECT town, count(*) AS n FROM release GROUP BY town").rows[0]["n"].estimate == 0
    one = dp.sanitise(people(1), PLAN)
    for row in one.query("SELECT town, count(*) AS n FROM release GROUP BY town").rows:
        assert (row["n"].low, row["n"].high) == (0, 1)  # nothing is known of one row


def test_the_same_columns_are_read_whatever_a_row_is_asked() -> None:
    """A value that the plan refuses is refused in every row, so that the refusal does not depend on the draw."""
    table = people(40).set_column(0, "town", pa.array(["elsewhere"] + ["n"] * 39))
    for seed in range(8):
        with seeded_coins(seed), pytest.raises(InputError, match="column 'town' has a value"):
            dp.sanitise(table, PLAN)


def test_a_sanitiser_of_scikit_learn_names_what_was_asked() -> None:
    plan = {key: PLAN[key] for key in ("privacy",)} | {"columns": {"mood": MOOD, "town": PLAN["columns"]["town"]}}
    frame = people(50).select(["mood", "town"]).to_pandas()
    fitted = Sanitiser(plan).fit(frame)
    assert fitted.get_feature_names_out().tolist() == ["mood", "town", "asked"]
    assert fitted.transform(frame).shape == (50, 3)

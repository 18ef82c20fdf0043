"""A space in a module of one's own goes all the way: from the draft of a plan to answers and a verified release."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof import InputError, VerificationFailed
from dproof.plans.reader import SPACES, Reader, read_column
from dproof.testing import check_column, check_metric, seeded_coins

MODULE = '''
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa

import dproof as dp
from dproof.columns.codec import Codec, Draft


@dataclass(frozen=True)
class Postcodes(dp.Space):
    """Postcodes by their region, the first digits: 53113 is in the region 53."""

    regions: tuple[str, ...]

    @classmethod
    def from_plan(cls, table):
        return cls(table.texts("regions"))

    @property
    def size(self):
        return len(self.regions)

    @property
    def diameter(self):
        return Fraction(min(1, self.size - 1))

    separation = diameter

    def distance(self, x, y):
        return Fraction(int(self.code(x) != self.code(y)))

    def distances(self, code):
        return (np.arange(self.size) != code).astype(np.int64)

    def code(self, value):
        found = [n for n, region in enumerate(self.regions) if str(value).startswith(region)]
        if len(found) != 1:
            raise dp.InputError("a value is in none of the regions")
        return found[0]

    def label(self, code):
        return self.regions[code]

    def encode(self, values):
        return np.array([self.code(value) for value in values], np.uint8)

    def decode(self, codes):
        return [self.regions[code] for code in codes]


class PostcodeCodec(Codec):
    @classmethod
    def draft(cls, kind):
        return Draft("postcodes", {"regions": []}) if pa.types.is_fixed_size_binary(kind) else None


dp.add_space("postcodes", Postcodes, PostcodeCodec)
'''
TABLE: dict[str, Any] = {"space": "postcodes", "regions": ["10", "53", "80"], "missing": "10"}
PLAN = {"privacy": {"epsilon": 6}, "columns": {"home": TABLE, "n": {"space": "interval", "low": 0, "high": 9}}}


@pytest.fixture
def postcodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    (tmp_path / "own_postcodes.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(SPACES, "postcodes", dp.Categories)  # so that it is gone afterwards
    del SPACES["postcodes"]
    yield importlib.import_module("own_postcodes").Postcodes
    del sys.modules["own_postcodes"]


def table() -> Any:
    homes = ["53113", "53225", "10115", "80331", None]
    return pa.table({"home": [homes[k % 5] for k in range(2000)], "n": [k % 10 for k in range(2000)]})


def test_it_keeps_the_laws_of_every_space(postcodes: Any) -> None:
    check_metric(postcodes(("10", "53")))
    check_column(read_column("home", Reader(TABLE, ())))


def test_it_is_sanitised_verified_and_asked_about(postcodes: Any, tmp_path: Path) -> None:
    with seeded_coins(1):
        dp.sanitise(table(), PLAN, tmp_path / "out")
    release = dp.verify(tmp_path / "out")
    assert release is not None and set(release.to_arrow()["home"].to_pylist()) == {"10", "53", "80"}
    asked = "SELECT home, count(*) AS n, avg(n) AS m FROM {} WHERE home <> '80' GROUP BY home"
    found = {row["home"]: row["n"] for row in release.query(asked.format("release")).rows}
    assert found.keys() == {"10", "53"} and found["53"].low < 800 < found["53"].high
    curator = dp.Curator(table(), PLAN, budget=dp.Privacy(9), ledger=tmp_path / "budget.db")
    with seeded_coins(1):
        rows = curator.ask(asked.format("data"), epsilon=4).rows
        mode = curator.ask("SELECT mode(home) AS m FROM data", epsilon=4).rows[0]["m"]
    assert [row["home"] for row in rows] == ["10", "53", "80"] and abs(rows[1]["n"].estimate - 800) < 20
    assert mode.estimate in ("10", "53")
    with pytest.raises(InputError, match="column 'home' has no value '99'"):
        release.query("SELECT count(*) AS n FROM release WHERE home = '99'")
    with pytest.raises(InputError, match="the values of column 'home' have no order"):
        release.query("SELECT count(*) AS n FROM release WHERE home < '53'")
    assert "postcodes" in (tmp_path / "out" / "plan.toml").read_text()
    assert "home" in (tmp_path / "out" / "report.html").read_text()
    advice = dp.advise(PLAN, rows=2000, questions=asked.format("data"))
    assert all(found.release and found.ask for found in advice.comparisons[:1])


def test_what_it_does_not_hold_is_told_and_refused(postcodes: Any) -> None:
    strange = pa.table({"home": ["53113", "99999", None], "n": [1, 2, 3]})
    found = dp.check(strange, PLAN).columns[0]
    assert (found.outside, found.missing, found.values) == (1, 1, (("99999", 1),))
    with pytest.raises(InputError, match="column 'home' has a value outside its declared space") as refused:
        dp.sanitise(strange, PLAN)
    assert "99999" not in str(refused.value)


def test_a_plan_names_its_mistakes(postcodes: Any) -> None:
    for keys, problem in (({"regions": [1]}, "must be a list of texts"), ({"missing": "99"}, "must be a value of")):
        with pytest.raises(InputError, match=f"columns.home.*{problem}"):
            dp.Plan.from_dict({**PLAN, "columns": {"home": {**TABLE, **keys}}})


def test_a_draft_knows_it(postcodes: Any, tmp_path: Path, dproof: Any) -> None:
    pa.parquet.write_table(pa.table({"home": pa.array([b"53113"], pa.binary(5))}), tmp_path / "x.parquet")
    ran = dproof("init", tmp_path / "x.parquet")
    assert ran.code == 0 and '[columns.home]\nspace = "postcodes"\nregions = []\n' in ran.out


def test_the_commands_know_it(postcodes: Any, tmp_path: Path, dproof: Any) -> None:
    def run(*command: Any) -> Any:
        ran = dproof(*command, "--json")
        assert ran.code == 0
        return ran.json

    plan, data, out = tmp_path / "plan.toml", tmp_path / "x.parquet", tmp_path / "out"
    plan.write_text(dp.Plan.of(PLAN).text)
    pa.parquet.write_table(table(), data)
    assert run("plan", plan, "--rows", 2000)["columns"]
    run("sanitise", data, "--plan", plan, "--out", out)
    run("verify", out)
    run("report", out)
    rows = run("query", out, "SELECT home, count(*) AS n FROM release GROUP BY home")["rows"]
    assert [row["home"] for row in rows] == ["10", "53", "80"]
    asked = "SELECT count(*) AS n FROM data WHERE home = '53'"
    answer = run("ask", data, "--plan", plan, "--ledger", tmp_path / "budget.db", "--epsilon", 4, asked)
    assert abs(answer["rows"][0]["n"]["estimate"] - 800) < 20


def test_without_its_module_a_release_is_not_taken_for_another(postcodes: Any, tmp_path: Path) -> None:
    dp.sanitise(table(), PLAN, tmp_path / "out")
    del SPACES["postcodes"]
    with pytest.raises(VerificationFailed, match="a space that is not known"):
        dp.verify(tmp_path / "out")

"""A mechanism with a law of a new shape, in a module of one's own, goes all the way: from a plan to answers."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof import InputError, NotPrivate, VerificationFailed
from dproof.certification import verify_certificate
from dproof.laws import LAWS
from dproof.local.mechanisms import MECHANISMS, _AddedMechanism, unbiased_design
from dproof.testing import check_mechanism, seeded_coins
from tests.forging import resealed

MODULE = '''
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import dproof as dp
from dproof.exact import exp_below
from dproof.laws.divergence import Pair
from dproof.coins import uniform_below
from dproof.laws.law import LAWS, SIZE, WEIGHT, Law


@dataclass(frozen=True, slots=True)
class Forget(Law):
    """The value with `keep` more weight than each value has anyway, which is 1."""

    kind: ClassVar[str] = "forget"
    ranges: ClassVar = {"size": SIZE, "keep": WEIGHT}

    size: int
    keep: int

    @property
    def inputs(self):
        return self.size

    outputs = inputs

    @property
    def total(self):
        return self.size + self.keep

    def weights(self, source):
        return 1 + self.keep * (np.arange(self.size) == source)

    def worst_pair(self):
        rest = self.size - 2
        return Pair([1 + self.keep, 1, rest], [1, 1 + self.keep, rest], self.total)

    def draw(self, codes, coins):
        drawn = uniform_below(np.full(len(codes), self.total), coins)
        return np.where(drawn < self.size, drawn, codes).astype(codes.dtype)

    def to_json(self):
        return {"kind": self.kind, "size": self.size, "keep": str(self.keep)}


def forget(space, privacy):
    """The value, or with equal weights any value; why it is private: the odds are 1 + keep, at most e^ε."""
    if space.items is not None:
        raise dp.InputError("forget is not for sets")
    return dp.Mechanism("forget", space, space, Forget(space.size, int(exp_below(privacy.epsilon)) - 1), "a test")


LAWS[Forget.kind] = Forget.from_json
dp.add_mechanism("forget", forget)
'''
PLAN: dict[str, Any] = {
    "privacy": {"epsilon": 6},
    "columns": {
        "home": {"space": "categories", "values": ["Bonn", "Ulm", "Jena"], "missing": "Ulm", "mechanism": "forget"},
        "n": {"space": "interval", "low": 0, "high": 9, "step": 1, "mechanism": "forget"},
    },
}
TABLE = pa.table(
    {"home": [["Bonn", "Bonn", "Jena", None][k % 4] for k in range(4000)], "n": [k % 10 for k in range(4000)]}
)


@pytest.fixture(autouse=True)
def registries(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test adds is gone after it, and what others added is not there."""
    for kind, known in MECHANISMS.items():
        usual = {name: function for name, function in known.items() if not isinstance(function, _AddedMechanism)}
        monkeypatch.setitem(MECHANISMS, kind, usual)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    (tmp_path / "own_mechanism.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("own_mechanism")
    del sys.modules["own_mechanism"]
    LAWS.pop("forget", None)


@pytest.fixture
def out(own: Any, tmp_path: Path) -> Path:
    with seeded_coins(1):
        dp.sanitise(TABLE, PLAN, tmp_path / "out")
    return tmp_path / "out"


def test_it_is_what_it_says(own: Any) -> None:
    check_mechanism(own.forget(dp.Categories(["a", "b", "c"]), dp.Privacy(2)))


def test_it_is_planned_sanitised_verified_and_asked_about(out: Path) -> None:
    release = dp.verify(out)
    assert release is not None and [group.mechanism.name for group in release.law.groups] == ["forget"] * 2
    asked = "SELECT home, count(*) AS n, avg(n) AS m FROM release WHERE n < 5 GROUP BY home"
    truth = {"Bonn": 1000, "Ulm": 500, "Jena": 500}
    for row in release.query(asked).rows:
        assert abs(row["n"].estimate - truth[row["home"]]) < 5 * row["n"].stderr < 500
        assert row["n"].low < row["n"].estimate < row["n"].high and abs(row["m"].estimate - 2) < 5 * row["m"].stderr
    assert "forget" in (out / "report.html").read_text()
    certificate = json.loads((out / "certificate.json").read_text())
    assert certificate["laws"][0]["law"] == {"kind": "forget", "size": 3, "keep": "19"}
    assert dp.advise(PLAN, rows=4000, questions=asked.replace("release", "data")).comparisons


def test_the_commands_know_it(own: Any, out: Path, tmp_path: Path, dproof: Any) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(dp.Plan.of(PLAN).text)
    for command in (["plan", plan, "--rows", 100], ["query", out, "SELECT count(*) AS n FROM release WHERE n = 3"]):
        ran = dproof(*command, "--json")
        assert ran.code == 0 and ran.json
    assert dproof("report", out).code == 0


def test_a_law_that_breaks_its_promise_is_not_verified(out: Path) -> None:
    file = out / "certificate.json"
    certificate = json.loads(file.read_text())
    certificate["laws"][0]["law"]["keep"] = "20"  # e³ = 20.08, and the odds are 21
    file.write_text(json.dumps(resealed(certificate)))
    with pytest.raises(VerificationFailed, match=r"'home' is not .*-private: inputs 0 and 1 show it"):
        dp.verify(file)


def test_the_program_that_stands_alone_refuses_its_kind(out: Path) -> None:
    program = [sys.executable, verify_certificate.__file__, str(out / "certificate.json")]
    told = subprocess.run(program, capture_output=True, text=True)
    assert told.returncode == 1 and "does not hold:" in told.stdout and "a kind that is not known" in told.stdout


def test_without_its_module_a_release_is_not_opened(out: Path) -> None:
    del LAWS["forget"]
    with pytest.raises(VerificationFailed, match="law of the kind 'forget', which is not known: import the module"):
        dp.load(out)
    with pytest.raises(VerificationFailed, match="a kind that is not known"):
        dp.verify(out)


def plan_with(name: str, **column: Any) -> dict[str, Any]:
    usual = {"space": "categories", "values": ["a", "b"]}
    return {"privacy": {"epsilon": 1}, "columns": {"c": {**usual, **column, "mechanism": name}}}


LETTERS = pa.table({"c": ["a", "b"] * 5})


def test_an_unknown_name_is_refused_with_those_that_there_are(own: Any) -> None:
    with pytest.raises(InputError, match=r"'zzz' is not known .*; known are auto, .*, frequency, design, forget"):
        dp.sanitise(LETTERS, plan_with("zzz"))
    with pytest.raises(InputError, match="column 'c': forget is not for sets"):
        dp.sanitise(LETTERS, plan_with("forget", space="subsets"))


def wrong(space: Any, privacy: Any) -> Any:
    return None


def elsewhere(space: Any, privacy: Any) -> Any:
    return dp.randomised_response(dp.Categories(["x", "y"]), privacy)


def sets(space: Any, privacy: Any) -> Any:
    return dp.unary_encoding(space, privacy)


def some_pairs(space: Any, privacy: Any) -> Any:
    return dp.solution_matrix(space, [["0.5", "0.5"]] * 2, neighbours=[("a", "b")])


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (wrong, "column 'c': the mechanism 'own' must give a Mechanism, not None"),
        (elsewhere, "column 'c': the mechanism 'own' gives a law for another space"),
        (sets, "column 'c': the mechanism 'own' must release values of the column's space"),
        (some_pairs, "column 'c': the mechanism 'own' must be private for every pair of values"),
    ],
)
def test_what_no_release_can_be_made_of_is_refused(function: Any, problem: str) -> None:
    dp.add_mechanism("own", function)
    with pytest.raises(InputError, match=problem):
        dp.sanitise(LETTERS, plan_with("own"))


def test_a_law_that_could_not_be_opened_again_is_refused_first(own: Any) -> None:
    del LAWS["forget"]
    with pytest.raises(InputError, match="column 'c': the mechanism 'forget' has a law of the kind 'forget', which"):
        dp.sanitise(LETTERS, plan_with("forget"))


def test_a_mechanism_that_is_not_private_enough_is_refused_with_its_column() -> None:
    dp.add_mechanism("own", lambda space, privacy: dp.randomised_response(space, dp.Privacy(2)))
    with pytest.raises(NotPrivate, match=r"column 'c': not \(1, 0\)-private: inputs 'a' and 'b'") as refused:
        dp.sanitise(LETTERS, plan_with("own"))
    assert refused.value.witness.d == "a"


@pytest.mark.parametrize("function", [dp.laplace, unbiased_design])
def test_numbers_may_be_released_beyond_the_interval(function: Any, tmp_path: Path) -> None:
    dp.add_mechanism("own", function)
    column = {"space": "interval", "low": 0, "high": 9, "step": 1, "mechanism": "own"}
    table = pa.table({"c": [k % 10 for k in range(1000)]})
    dp.sanitise(table, {"privacy": {"epsilon": 2}, "columns": {"c": column}}, tmp_path / "out")
    release = dp.verify(tmp_path / "out")
    assert release is not None and max(release.to_arrow()["c"].to_pylist()) > 9
    cell = release.query("SELECT avg(c) AS m FROM release").rows[0]["m"]
    assert abs(cell.estimate - 4.5) < 6 * cell.stderr


def test_a_name_is_one_mechanism() -> None:
    dp.add_mechanism("own", wrong)
    dp.add_mechanism("own", wrong)  # the same again: a module may be loaded twice
    for name in ("own", "auto", "laplace", "itemwise_response"):
        with pytest.raises(InputError, match=f"there is a mechanism called '{name}' already"):
            dp.add_mechanism(name, sets)
    with pytest.raises(InputError, match="function must be a function of a space and a Privacy, not an int"):
        dp.add_mechanism("number", 3)  # type: ignore[arg-type]


def test_joined_columns_keep_randomised_response(own: Any) -> None:
    plan = plan_with("auto")
    plan["columns"]["d"] = dict(plan["columns"]["c"])
    plan["joint"] = [{"columns": ["c", "d"], "mechanism": "forget"}]
    with pytest.raises(InputError, match="'forget' is not known for joint; known are auto, randomised_response"):
        dp.sanitise(pa.table({"c": ["a"], "d": ["b"]}), plan)

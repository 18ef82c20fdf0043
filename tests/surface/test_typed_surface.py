"""What a user's type checker sees: real types, and no name that is not there."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import dproof as dp

GOOD = """
from fractions import Fraction

import dproof as dp

space = dp.Categories(["yes", "no"])
mechanism: dp.Mechanism = dp.randomised_response(space, dp.Privacy(1))
error: Fraction = mechanism.error
certificate: dp.Certificate = dp.certify(mechanism, 1)
plan = dp.Plan.read("plan.toml")
release: dp.Release = dp.sanitise("people.csv", plan, "out")
rows: list[dict[str, object]] = release.query("SELECT count(*) AS n FROM release").rows
cell: dp.Cell = release.query("SELECT count(*) AS n FROM release")["n"][0]
told: bool = cell.informative
drawn: list[str] = mechanism.draw(["yes", "no"])
curator = dp.Curator("people.csv", plan, ledger="budget.db")
level: float = curator.ask("SELECT count(*) FROM data", epsilon="0.1").level
"""
WRONG = """
import dproof as dp

dp.no_such_name(1)
number: int = dp.Privacy(1)
text: str = dp.load("out").query("SELECT count(*) FROM release")
dp.load("out").query("SELECT count(*) AS n FROM release")["n"][0].lo
number = dp.randomised_response(dp.Categories(["yes", "no"]), 1).draw(["yes", "no"])
dp.Privacy(eps=1)
"""


def test_tools_see_the_names_that_there_are() -> None:
    source = Path(dp.__file__ or "").read_text("utf-8")
    seen = {
        alias.asname: node.module
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dproof.")
        for alias in node.names
    }
    groups = {name: path.rpartition(".")[0] for name, path in dp._MODULES.items() if path.count(".") > 1}
    assert seen == dp._PUBLIC | groups


def test_a_users_script_is_typed(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(GOOD, "utf-8")
    (tmp_path / "wrong.py").write_text(WRONG, "utf-8")
    # With the project's own settings, so that what its check found a moment ago need not be found again.
    command = [sys.executable, "-m", "mypy", "--strict", str(tmp_path / "good.py"), str(tmp_path / "wrong.py")]
    root = Path(dp.__file__ or "").parents[2]
    ran = subprocess.run(command, cwd=root, capture_output=True, text=True)
    told = [line.partition(": error: ")[0] for line in ran.stdout.splitlines() if ": error: " in line]
    assert [Path(line).name for line in told] == [f"wrong.py:{line}" for line in range(4, 10)], ran.stdout

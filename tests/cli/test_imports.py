"""A command imports what it needs: a cold start is most of what a person waits for."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.makers import categories, interval, plan_text, subsets

COLUMNS = {
    "hobby": categories("Cars", "Chess", missing="category"),
    "likes": subsets("Music", "Football", separator=";"),
    "age": interval(0, 110, missing=40),
}
PLANS = {
    "release": plan_text(COLUMNS, epsilon="2"),
    "sampled": plan_text(COLUMNS, epsilon="2", spread="sample"),
    "central": plan_text(COLUMNS, model="central", epsilon="2", delta="1e-6") + "[release]\ntables = 2\nsums = true\n",
}
RUN = """
import sys
from dproof.cli.app import main
try:
    main(sys.argv[2:])
except SystemExit as left:
    assert not left.code, left.code
print("loaded:", *sorted(set(sys.argv[1].split(",")) & set(sys.modules)))
"""
HEAVY = ["pandas", "polars", "altair", "vl_convert", "scipy", "dp_accounting", "highspy", "IPython", "sklearn"]
QUERY = ["dproof.curator", "dproof.report", "dproof.optimality", "dproof.releases.sanitise", "dproof.local.draw"]
MODELS = ["dproof.releases", "dproof.local", "dproof.central"]
QUESTION = "SELECT hobby, count(*) AS n, avg(age) AS a FROM {} WHERE list_contains(likes, 'Music') GROUP BY hobby"
ASKED = [
    "ask",
    "people.csv",
    "--plan",
    "release.toml",
    "--ledger",
    "budget.db",
    "--epsilon",
    "1",
    QUESTION.format("data"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import dproof as dp

    made = tmp_path_factory.mktemp("imports")
    (made / "people.csv").write_text("hobby,likes,age\n" + "Cars,Music;Football,41\nChess,,20\n,Music,\n" * 30, "utf-8")
    for name, text in PLANS.items():
        (made / f"{name}.toml").write_text(text, "utf-8")
        dp.sanitise(made / "people.csv", made / f"{name}.toml", made / name)
    return made


@pytest.fixture
def loaded(folder: Path) -> Callable[..., list[str]]:
    """Which of these packages a command loads."""

    def run(packages: list[str], *words: str) -> list[str]:
        ran: Any = subprocess.run(
            [sys.executable, "-c", RUN, ",".join(packages), *words], cwd=folder, capture_output=True, text=True
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.rpartition("loaded:")[2].split()

    return run


@pytest.mark.parametrize(
    ("words", "more"),
    [
        (["query", "release", QUESTION.format("release")], [*QUERY, "cryptography", "pyarrow.fs", "flint", "sqlite3"]),
        (
            ["verify", "release"],
            ["duckdb", "sqlglot", "cryptography", "sqlite3", "dproof.optimality.design", "dproof.survey.page"],
        ),
        (
            ["query", "central", "SELECT hobby, count(*), avg(age) FROM release GROUP BY hobby"],
            ["duckdb", "cryptography", "sqlite3"],
        ),
        (["verify", "central"], ["duckdb", "sqlglot", "cryptography", "sqlite3", "dproof.survey.page"]),
        (["verify", "sampled"], ["duckdb", "sqlglot", "cryptography", "sqlite3", "dproof.survey.page"]),
        (ASKED, ["duckdb", "pyarrow.parquet", *MODELS, "dproof.optimality.design"]),
        (["--help"], ["numpy", "pyarrow", "duckdb", "rich", "pydantic", "sqlglot"]),
    ],
    ids=["query", "verify", "query central", "verify central", "verify sampled", "ask", "help"],
)
def test_a_command_loads_no_more_than_it_needs(loaded: Any, words: list[str], more: list[str]) -> None:
    assert loaded([*HEAVY, *more], *words) == []


@pytest.mark.parametrize("name", PLANS)
def test_sanitising_and_its_report_load_neither_charts_nor_pandas(loaded: Any, name: str) -> None:
    words = ["sanitise", "people.csv", "--plan", f"{name}.toml", "--out", f"another-{name}", "--no-ledger"]
    assert loaded(["pandas", "polars", "altair", "vl_convert", "scipy", "dp_accounting"], *words) == []

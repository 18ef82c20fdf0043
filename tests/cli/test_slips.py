"""Slips of a first day, each told with the way out: a wrong name, file, order or quoting."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dproof as dp
from dproof.testing import seeded_coins

Dproof = Callable[..., Any]
PLAN = """\
[privacy]
model = "central"
epsilon = "1"
delta = "1e-6"
[columns.town]
space = "categories"
values = ["Bonn", "Ulm"]
[columns.owns]
space = "subsets"
columns = ["owns_car", "owns_bike"]
"""
DATA = "town,owns_car,owns_bike\n" + "Bonn,1,0\nUlm,0,1\n" * 100


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("slips")
    (folder / "x.csv").write_text(DATA)
    (folder / "plan.toml").write_text(PLAN)
    with seeded_coins(1):
        dp.sanitise(folder / "x.csv", folder / "plan.toml", folder / "release")
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["sanitze", "x.csv"], "No such command 'sanitze'; did you mean 'sanitise'?"),
        (["plann", "plan.toml"], "No such command 'plann'; did you mean 'plan'?"),
        (["frobnicate"], "No such command 'frobnicate'."),
        (
            ["query", "release", "SELECT", "count(*)"],
            "Got unexpected extra argument (count(*)): quote what has blanks",
        ),
    ],
)
def test_wrong_words(dproof: Dproof, folder: Path, words: list[str], told: str) -> None:
    ran = dproof(*words)
    assert ran.code == 2 and told in " ".join(ran.err.split()), ran


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["check", "release", "--plan", "plan.toml"], "'release' is a release, and no table of private rows: ask it"),
        (["init", "release"], "'release' is a release, and no table of private rows: ask it with `dproof query`"),
        (["check", "-", "--plan", "plan.toml"], "there is no file or folder '-': standard input is not read"),
        (
            ["init", "https://a.example/x.csv"],
            "an address that dproof reads: postgresql://HOST/NAME; download the file",
        ),
        (["explain", "x.csv"], "'x.csv' is no release, plan, certificate or ledger, and no ledger lies beside it"),
        (["explain", "1"], "no ledger lies beside it; a number goes with --epsilon"),
        (["explain", "release/report.html"], "is no release, plan, certificate or ledger"),
        (["budget", "plan.toml"], "'plan.toml' is not a ledger: that is a file which `dproof sanitise`, `ask` or"),
        (["budget", "no.db"], "there is no ledger 'no.db'"),
        (
            ["query", "release", "SELECT count(*) FROM release WHERE owns_car = 1"],
            "an item of 'owns': ask list_contains",
        ),
        (["query", "release", "SELECT count(*) FROM release", "--out", "release/plan.toml.csv"], "is in the release"),
        (["ask", "x.csv", "--plan", "plan.toml", "SELECT 1", "--epsilon", "1", "--accuracy", "2"], "and not both"),
    ],
)
def test_wrong_things(refused: Callable[..., str], folder: Path, words: list[str], told: str) -> None:
    assert told in refused(*words)


def test_a_budget_that_is_begun_is_told_in_words(refused: Callable[..., str], dproof: Dproof, folder: Path) -> None:
    assert dproof("budget", "x.csv", "--plan", "plan.toml").code == 0
    told = refused("budget", "x.csv", "--plan", "plan.toml", "--epsilon", "5")
    assert "begun with epsilon 1 and delta 0.000001, and that cannot be changed to epsilon 5 and delta 0" in told


def test_what_is_too_dear_by_epsilon_is_not_told_to_take_a_delta(dproof: Dproof, folder: Path) -> None:
    asked = "SELECT count(*) FROM data WHERE town = 'Bonn'"
    ran = dproof("ask", "x.csv", "--plan", "plan.toml", asked, "--epsilon", "2")
    assert ran.code == 1 and "what is left is epsilon 1 and delta 0.000001 (rho 0.0242146): nothing" in ran.err
    assert "delta above 0" not in ran.err


def test_a_certificate_is_explained_as_its_release_is(dproof: Dproof, folder: Path) -> None:
    whole, alone = dproof("explain", "release", "--json"), dproof("explain", "release/certificate.json", "--json")
    assert alone.code == 0, alone
    assert {k: v for k, v in alone.json.items() if k != "certificate"} == {
        k: v for k, v in whole.json.items() if k != "release"
    }
    (folder / "release/certificate.json").write_text("{}")
    assert "is not a certificate" in dproof("explain", "release/certificate.json").err


def test_a_changed_table_is_told_with_the_command_that_finds_it(dproof: Dproof, folder: Path) -> None:
    with (folder / "release/tables.parquet").open("ab") as file:
        file.write(b"x")
    ran = dproof("query", "release", "SELECT count(*) FROM release")
    assert ran.code == 1 and "the stored tables cannot be read: `dproof verify` says which file has changed" in ran.err


def test_help_and_a_draft_say_where_to_begin(dproof: Dproof, folder: Path) -> None:
    told = " ".join(dproof("--help").out.split())
    assert "Publish statistics about people" in told and "Begin with `dproof init DATA --ask`" in told
    assert "`dproof init --ask` asks for all of it instead" in dproof("init", "x.csv").err


def test_a_title_above_the_names(dproof: Dproof, refused: Callable[..., str], folder: Path) -> None:
    (folder / "t.csv").write_text("Survey of May\n" + DATA)
    told = refused("check", "t.csv", "--plan", "plan.toml")
    assert "line 2 has 3 fields and the header 1; is that a title? Then header = 2 under [file]" in told
    blind = dproof("init", "t.csv")
    assert "one column alone" in blind.err and "`dproof init --header 2` drafts with that" in blind.err
    drafts = [dproof("init", "t.csv", *options).out for options in (["--look"], ["--header", "2"])]
    assert all("\n[file]\nheader = 2\n" in text and "[columns.town]" in text for text in drafts)


@pytest.mark.parametrize("ending", ["HAVING count(*) > 100", "ORDER BY count(*) DESC LIMIT 1"])
def test_names_that_noise_chose_are_told(dproof: Dproof, folder: Path, ending: str) -> None:
    ran = dproof("query", "release", f"SELECT town FROM release GROUP BY town {ending}")
    assert ran.code == 0 and "chosen by noisy values, and by the true ones others may be" in " ".join(ran.out.split())


def test_a_column_that_was_not_measured(refused: Callable[..., str], folder: Path) -> None:
    (folder / "q.toml").write_text(PLAN + '[[questions]]\nsql = "SELECT town, count(*) FROM data GROUP BY town"\n')
    dp.sanitise(folder / "x.csv", folder / "q.toml", folder / "q")
    told = refused("query", "q", "SELECT unnest(owns) AS o, count(*) FROM release GROUP BY o")
    assert (
        'which was not measured: declare [[release.tables]] with columns = ["owns"] next' in told
        and "fewer" not in told
    )


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("SELECT median(Alter) FROM release", 'Alter is a word of SQL: if a column is called so, write "Alter"'),
        (
            "SELECT count(*) FROM release WHERE drop = 3",
            'drop is a word of SQL: if a column is called so, write "drop"',
        ),
        ("SELECT count(*) FROM release WHERE town = 'Alter' AND", "this is not SQL that can be read"),
        ("SELECT count(*) FROM release WHERE town = ‘Bonn’", "write a text in straight single quotes, as in 'Bonn'"),
        ("SELECT town, count(*) FROM release", "'town' is neither in an aggregate nor in GROUP BY: add GROUP BY town"),
        ("SELECT count(*) FROM release ORDER BY 3", "position 3 is no column of the answer, which has 1 column"),
    ],
)
def test_a_question_is_mended_by_what_is_told(
    refused: Callable[..., str], made: Path, question: str, told: str
) -> None:
    assert told in refused("query", made / "release", question)


def test_a_statement_that_is_no_question_is_told_once(made: Path) -> None:
    """sqlglot warns of it on stderr, where nobody has set up its logger: in a process of its own."""
    words = [sys.executable, "-m", "dproof", "query", str(made / "release"), "EXPLAIN SELECT count(*) FROM release"]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "dproof: EXPLAIN is not supported: a question is one SELECT ... FROM ...\n"


@pytest.mark.parametrize("name", ["check", "sanitise", "ask"])
def test_who_has_no_plan_yet_is_told_how_to_get_one(dproof: Dproof, made: Path, name: str) -> None:
    ran = dproof(name, made / "x.csv", *(["SELECT count(*) FROM data"] if name == "ask" else []))
    assert ran.code == 2 and "Missing option '--plan'. `dproof init DATA` drafts a plan" in " ".join(ran.err.split())


def test_groups_of_a_set_are_asked_item_by_item(made: Path, dproof: Dproof) -> None:
    refused = dproof("query", made / "release", "SELECT owns, count(*) AS n FROM release GROUP BY owns")
    assert refused.code == 2 and 'SELECT unnest("owns") AS item, count(*), and GROUP BY item' in refused.err
    asked = "SELECT unnest(owns) AS item, count(*) FROM release GROUP BY item"
    assert [row["item"] for row in dproof("query", made / "release", asked, "--json").json["rows"]] == [
        "owns_car",
        "owns_bike",
    ]

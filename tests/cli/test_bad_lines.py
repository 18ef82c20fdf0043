"""A line of a text file with too many or too few fields: the custodian learns which, and nobody else does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PLAN = '[privacy]\nepsilon = "1"\n[columns.a]\nspace = "categories"\nvalues = ["x", "y"]\n[columns.b]\ndrop = true\n'
GOOD = "x,1\n" * 50_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (f"a,b\n{GOOD}x,1,Zanzibar\n{GOOD}", "line 50,002 has 3 fields and the header 2"),
        (f"a,b\n{GOOD}Zanzibar\n", "line 50,002 has 1 field and the header 2"),
        ('\n"a",b\n"x\ny",1\n\nx,1,Zanzibar\n', "line 6 has 3 fields and the header 2"),
        (
            f'a,b\nx,1\nx,"Zanzibar\n{GOOD}",2\n',
            "line 3 has a field that goes on over 50,002 lines: is a quote left open?",
        ),
    ],
)
def test_only_check_tells_the_line(folder: Path, refused: Callable[..., str], content: str, said: str) -> None:
    data, plan = folder / "x.csv", ("--plan", folder / "plan.toml")
    data.write_text(content)
    found = refused("check", data, *plan)
    assert said in found and "Zanzibar" not in found
    ask = ("ask", data, *plan, "--ledger", folder / "b.db", "--epsilon", "1", "SELECT count(*) AS n FROM data")
    for command in (("sanitise", data, *plan, "--out", folder / "out"), ask):
        found = refused(*command)
        assert "each line needs as many fields as the first" in found and "`dproof check` shows which" in found
        assert "line 5" not in found and "Zanzibar" not in found and "paid" not in found
    assert not (folder / "b.db").exists() and not (folder / "out").exists()


def test_a_draft_needs_no_good_line(folder: Path, dproof: Callable[..., Any]) -> None:
    drafts = set()
    for rows in ("", GOOD, f"{GOOD}x,1,2\n", 'x,"1\n'):
        (folder / "x.csv").write_text(f"a,b\n{rows}")
        ran = dproof("init", folder / "x.csv")
        assert ran.code == 0
        drafts.add(ran.out)
    assert len(drafts) == 1


def test_check_names_the_file_of_a_folder(folder: Path, refused: Callable[..., str]) -> None:
    (folder / "data").mkdir()
    (folder / "data" / "1.csv").write_text("a,b\nx,1\n")
    (folder / "data" / "2.csv").write_text("a,b\nx,1\nx\n")
    assert "'2.csv' cannot be read: line 3 has 1 field" in refused(
        "check", folder / "data", "--plan", folder / "plan.toml"
    )

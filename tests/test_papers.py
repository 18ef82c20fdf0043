"""The page that maps the papers to the code names every test of a statement; a new one needs a line there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_every_statement_with_a_test_is_on_the_page() -> None:
    page = (ROOT / "docs" / "papers.md").read_text("utf-8")
    named = set(re.findall(r"`tests/theorems/(test_\w+)\.py`", page))
    assert named == {file.stem for file in (ROOT / "tests" / "theorems").glob("test_*.py")}


def test_every_statement_of_the_2016_paper_is_on_the_page() -> None:
    page = (ROOT / "docs" / "papers.md").read_text("utf-8")
    kinds = {"definition": 6, "theorem": 10, "corollary": 3, "proposition": 1, "example": 3}
    wanted = {f"test_2016_{kind}_{n}" for kind, last in kinds.items() for n in range(1, last + 1)}
    assert wanted <= set(re.findall(r"`tests/theorems/(test_\w+)\.py`", page))


def test_each_paper_has_a_page_that_walks_through_all_its_statements() -> None:
    for year in ("2015", "2016"):
        page = (ROOT / "docs" / "papers" / f"{year}.md").read_text("utf-8")
        named = set(re.findall(r"`tests/theorems/(test_\w+)\.py`", page))
        assert {file.stem for file in (ROOT / "tests" / "theorems").glob(f"test_{year}_*.py")} <= named


def test_every_erratum_is_listed_and_stands_in_its_place() -> None:
    listed = (ROOT / "docs" / "papers.md").read_text("utf-8").partition("## Errata")[2]
    numbers = {int(number) for number in re.findall(r"^\| (\d+) \|", listed, flags=re.MULTILINE)}
    assert numbers == set(range(1, 22))
    walks = [*(ROOT / "docs" / "papers").glob("*.md"), ROOT / "docs" / "tutorials" / "exercise-sheet.md"]
    told = re.findall(r"[Ee]rratum (\d+)", "".join(page.read_text("utf-8") for page in walks))
    assert set(map(int, told)) == numbers


def test_the_errata_are_of_the_kinds_that_the_page_counts() -> None:
    told = " ".join((ROOT / "docs" / "papers.md").read_text("utf-8").partition("## Errata")[2].split())
    kinds: dict[str, set[int]] = {}
    for number, kind in re.findall(r"\| (\d+) \| ([a-z ]+) \|", told):
        kinds.setdefault(kind, set()).add(int(number))
    assert kinds == {
        "error": {1, 2, 5, 12, 13, 14, 16, 17, 20},
        "sharper": {3, 6, 8, 10, 11},
        "caution": {4, 7, 9},
        "loose words": {15, 18, 19},
        "another paper": {21},
    }
    counts = [len(kinds[kind]) for kind in ("error", "sharper", "caution", "loose words")]
    assert "notes {} are errors, {} are sharper results than the printed ones, {} are cautions".format(*counts) in told
    assert f"{counts[3]} are loose words, and one is about another paper" in told

"""What the documentation names must be there: test files, test functions and modules."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [
    page
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
    if page.exists()
]


def missing(text: str) -> list[str]:
    """The tests and modules that a page names and the project does not have."""
    absent = []
    for path, name in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text):
        file = ROOT / path
        if not file.exists() or (name and f"def {name}(" not in file.read_text(encoding="utf-8")):
            absent.append(f"{path}::{name}" if name else path)
    for module in re.findall(r"`((?:src/dproof|dproof)/[\w/]+\.py)`", text):
        if not (ROOT / "src" / module.removeprefix("src/")).exists():
            absent.append(module)
    return absent


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_named_test_and_module_exists(page: Path) -> None:
    assert missing(page.read_text(encoding="utf-8")) == []


def test_the_check_itself() -> None:
    assert missing("`tests/test_docs_references.py::test_the_check_itself` and `dproof/exact.py`") == []
    assert missing("`tests/test_docs_references.py::test_that_is_not_there`, `tests/no.py`, `dproof/no.py`") != []


def test_every_promise_names_what_holds_it_up() -> None:
    for page in ("limits.md", "cluster.md"):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        tables = re.findall(r"^\| promise \| test \|\n\|.*\n((?:\|.*\n)+)", text, flags=re.MULTILINE)
        rows = [row for table in tables for row in table.splitlines()]
        assert rows and all("`tests/" in row or "`pyproject.toml`" in row for row in rows)

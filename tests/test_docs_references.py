"""What the documentation and the source name must be there: test files, test functions, modules and their names."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from pkgutil import resolve_name

import pytest

from dproof.cli.app import COMMANDS

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
    for dotted in re.findall(r"`(dproof(?:\.\w+)+)(?:\(.*?\))?`", text):
        try:
            resolve_name(dotted)
        except (ImportError, AttributeError):
            absent.append(dotted)
    return absent


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_named_test_and_module_exists(page: Path) -> None:
    assert missing(page.read_text(encoding="utf-8")) == []


def test_what_the_source_names_exists() -> None:
    for file in (ROOT / "src").rglob("*.py"):
        assert missing(file.read_text(encoding="utf-8")) == [], file


def test_the_check_itself() -> None:
    assert missing("`tests/test_docs_references.py::test_the_check_itself`, `dproof/exact.py`") == []
    assert missing("`tests/test_docs_references.py::test_that_is_not_there`, `tests/no.py`, `dproof/no.py`") != []
    assert missing("`dproof.exact.exact` and `dproof.exact.no`") == ["dproof.exact.no"]


def test_no_page_and_no_message_recommends_a_package_that_is_not_there() -> None:
    """dproof is in no package index yet: a checkout or the file of a wheel is installed."""
    folders = [("docs", "*.md"), ("src", "*.py"), ("examples", "*.ipynb")]
    texts = [*ROOT.glob("*.md"), *(path for folder, kind in folders for path in (ROOT / folder).rglob(kind))]
    named = re.compile(r"pip install (-\S+ )*'?dproof\b")
    wrong = [path.name for path in texts if named.search(path.read_text("utf-8"))]
    assert wrong == []


def test_the_drawing_is_the_house() -> None:
    layers, rooms = re.findall(r"```text\n(cli.*?)```", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), flags=re.DOTALL)
    kept = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"][0]["layers"]
    written = [{name.strip() for name in layer.split(",")} for layer in layers.split(">")]
    assert written == [set(re.findall(r"\w+", layer)) for layer in kept]
    drawn = dict(re.findall(r"^(\w+/|\w+\.py) +((?:.+\n?)(?: +.+\n)*)", rooms, flags=re.MULTILINE))
    assert {name.removesuffix("/").removesuffix(".py") for name in drawn} == set().union(*written)
    for name in (name for name in drawn if name.endswith("/")):
        modules = {file.stem for file in (ROOT / "src" / "dproof" / name).glob("*.py")} - {"__init__"}
        if name == "cli/":
            modules -= COMMANDS.keys()
        listed = re.sub(r"\(.*?\)|[:;].*", "", drawn[name])
        assert set(re.findall(r"\w+", listed.replace(" and ", ", "))) == modules, name


def test_every_promise_names_what_holds_it_up() -> None:
    for page in ("limits.md", "cluster.md"):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        tables = re.findall(r"^\| promise \| test \|\n\|.*\n((?:\|.*\n)+)", text, flags=re.MULTILINE)
        rows = [row for table in tables for row in table.splitlines()]
        assert rows and all("`tests/" in row or "`pyproject.toml`" in row for row in rows)

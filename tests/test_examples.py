"""What examples and benchmarks import is there, and examples import public names alone."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import dproof as dp

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted(path for ending in ("*.py", "*.ipynb") for path in (ROOT / "examples").glob(ending))
BENCHMARKS = sorted((ROOT / "benchmarks").glob("*.py"))
PUBLIC_MODULES = {"dproof", "dproof.plotting", "dproof.sklearn", *(f"dproof.{name}" for name in dp._MODULES)}


def imports(path: Path) -> Iterator[tuple[str, str | None]]:
    """Modules of this project that a file names, anywhere in it, with what is taken from each."""
    text = path.read_text("utf-8")
    if path.suffix == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        text = "\n".join("".join(cell["source"]) for cell in cells)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names if alias.name.split(".")[0] == "dproof")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("dproof", "benchmarks"):
            yield from ((node.module or "", alias.name) for alias in node.names)


def missing(path: Path) -> list[str]:
    """Names that are not there."""
    return [f"{module}.{name}" for module, name in imports(path) if name and not has(import_module(module), name)]


def has(module: ModuleType, name: str) -> bool:
    if hasattr(module, name):
        return True
    try:
        return import_module(f"{module.__name__}.{name}") is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_imports_public_names_alone(path: Path) -> None:
    assert {module for module, _ in imports(path)} <= PUBLIC_MODULES
    taken = {name for module, name in imports(path) if module == "dproof" and name is not None}
    assert taken <= {*dp.__all__, *dp._MODULES}
    assert missing(path) == []


def test_what_benchmarks_import_is_there() -> None:
    """Their peers need not be: those are imported where they are measured."""
    assert len(BENCHMARKS) > 20
    for path in BENCHMARKS:
        if path.stem != "__main__":
            import_module(f"benchmarks.{path.stem}")
    assert {path.name: names for path in BENCHMARKS if (names := missing(path))} == {}


def test_a_name_that_is_gone_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("def f():\n    from dproof.laws import Matrix, Gone\n    from dproof import coins\n")
    assert missing(tmp_path / "x.py") == ["dproof.laws.Gone"]
    assert {module for module, _ in imports(tmp_path / "x.py")} - PUBLIC_MODULES == {"dproof.laws"}

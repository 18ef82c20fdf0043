"""Every notebook runs from top to bottom, and shows what it is stored with."""

import ast
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
SHOWN = ("_repr_mimebundle_", "_repr_html_")


def shown(source: str, names: dict) -> object:
    """Run a cell as a notebook does: the value of its last expression is what it shows."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # noqa: S307


def test_there_are_notebooks():
    assert {book.stem for book in NOTEBOOKS} >= {"survey", "curves"}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("book", NOTEBOOKS, ids=lambda book: book.stem)
def test_a_notebook_runs(book, tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    cells = [cell for cell in json.loads(book.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
    for cell in cells:
        value = shown("".join(cell["source"]), names)
        stored = [kind for output in cell["outputs"] for kind in output.get("data", ())]
        assert (value is not None) == bool(stored)
        assert any(hasattr(value, way) for way in SHOWN) == any(kind != "text/plain" for kind in stored)

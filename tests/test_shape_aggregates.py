"""Which aggregate it is, is asked of the table of aggregates and nowhere else."""

from __future__ import annotations

import ast
from pathlib import Path

from dproof.questions.aggregates import AGGREGATES

SOURCE = Path(__file__).parent.parent / "src" / "dproof"


def _kinds_tested(path: Path) -> list[tuple[int, str]]:
    """The lines that compare a `.kind` with the name of an aggregate, by == or in or match."""
    found = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, (ast.Compare, ast.Match)):
            subject = node.left if isinstance(node, ast.Compare) else node.subject
            if isinstance(subject, ast.Attribute) and subject.attr == "kind":
                texts = {part.value for part in ast.walk(node) if isinstance(part, ast.Constant)}
                found += [(node.lineno, str(text)) for text in texts & AGGREGATES.keys()]
    return found


def test_nobody_asks_which_aggregate_it_is() -> None:
    asked = [
        f"{path.relative_to(SOURCE)}:{line} asks for {kind}"
        for path in SOURCE.rglob("*.py")
        for line, kind in _kinds_tested(path)
    ]
    assert asked == []

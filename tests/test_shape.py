"""No decision is made twice: which space or law it is, is asked in the folders that hold them and nowhere else."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "dproof"


def _classes(folder: str) -> set[str]:
    trees = (ast.parse(path.read_text("utf-8")) for path in (SOURCE / folder).glob("*.py"))
    return {node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)}


def _tests(path: Path) -> list[tuple[int, set[str]]]:
    """The lines with `isinstance`, and the names that they ask for."""
    found = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            kinds = ast.walk(node.args[1])
            found.append((node.lineno, {part.id for part in kinds if isinstance(part, ast.Name)}))
    return found


@pytest.mark.parametrize(
    ("folder", "others"),
    [
        # A Space or a Line is what a mechanism's outputs are: with an end, or without one.
        ("spaces", {"Space"}),
        # An axis is what a law gives to be counted along, and not a law.
        ("laws", {"MatrixAxis", "MomentsAxis"}),
        ("curves", set()),
    ],
)
def test_nobody_asks_which_one_it_is(folder: str, others: set[str]) -> None:
    known = _classes(folder) - others
    asked = [
        f"{path.relative_to(SOURCE)}:{line} asks for {', '.join(sorted(names & known))}"
        for path in SOURCE.rglob("*.py")
        if path.relative_to(SOURCE).parts[0] != folder
        for line, names in _tests(path)
        if names & known
    ]
    assert asked == []


def test_a_schema_alone_asks_which_columns_have_no_declared_values() -> None:
    asked = [path for path in SOURCE.rglob("*.py") if any("Open" in names for _, names in _tests(path))]
    assert [path.relative_to(SOURCE).as_posix() for path in asked] == ["questions/question.py"]


def test_nobody_asks_for_the_name_of_a_space_or_a_form() -> None:
    """`column.kind == "interval"` would be the same question in other words."""
    from dproof.plans.reader import SPACES

    names: dict[str, set[str]] = {"kind": set(SPACES), "form": {"plain", "joined", "list", "flags", "wide"}}
    asked = []
    for path in SOURCE.rglob("*.py"):
        if path.relative_to(SOURCE).parts[0] in ("columns", "spaces", "curves"):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute):
                constants = {part.value for other in node.comparators for part in ast.walk(other) if _is_text(part)}
                if constants & names.get(node.left.attr, set()):
                    asked.append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    assert asked == []


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def test_no_name_of_a_module_has_two_values() -> None:
    """Where several things share a file, a constant of the one would change what another one does."""
    found = []
    for path in SOURCE.rglob("*.py"):
        given: list[str] = []
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, (ast.Assign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                given += [target.id for target in targets if isinstance(target, ast.Name)]
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef)) and "overload" not in map(
                ast.unparse, node.decorator_list
            ):
                given.append(node.name)
        found += [f"{path.relative_to(SOURCE)}: {name}" for name in {name for name in given if given.count(name) > 1}]
    assert found == []


def test_every_docstring_stands_alone() -> None:
    """`help()` shows one docstring at a time: one that begins with "The same" needs another."""
    found = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            has_docstring = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            if has_docstring and (ast.get_docstring(node) or "").startswith(("The same", "Likewise", "As above")):
                found.append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    assert found == []


def test_what_is_written_into_a_certificate_says_so() -> None:
    """A change there changes stored files: who reads such a line must see it."""
    makers = [*(SOURCE / "laws").glob("*.py"), SOURCE / "curves" / "noise.py", SOURCE / "certification" / "certify.py"]
    written = [
        (f"{path.name}:{node.lineno}", ast.get_docstring(node) or "")
        for path in makers
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name == "to_json"
    ]
    assert len(written) > 10
    assert [place for place, text in written if "certificate" not in text] == []

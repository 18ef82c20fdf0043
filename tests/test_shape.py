"""No decision is made twice: which space or law it is, is asked in the folders that hold them and nowhere else."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import dproof
from dproof.questions.aggregates import AGGREGATES

SOURCE, TESTS = Path(__file__).parent.parent / "src" / "dproof", Path(__file__).parent
Trees = dict[str, ast.Module]


@pytest.fixture(scope="module")
def trees() -> Trees:
    """What every file of the source says, by its path."""
    return {
        path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.py"))
    }


def _room(path: str) -> str:
    return path.partition("/")[0]


def _classes(trees: Trees, folder: str) -> set[str]:
    inside = (tree for path, tree in trees.items() if _room(path) == folder)
    return {node.name for tree in inside for node in tree.body if isinstance(node, ast.ClassDef)}


def _tests(tree: ast.Module) -> list[tuple[int, set[str]]]:
    """The lines with `isinstance`, and the names that they ask for."""
    found = []
    for node in ast.walk(tree):
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
def test_nobody_asks_which_one_it_is(trees: Trees, folder: str, others: set[str]) -> None:
    known = _classes(trees, folder) - others
    assert known
    asked = [
        f"{path}:{line} asks for {', '.join(sorted(names & known))}"
        for path, tree in trees.items()
        if _room(path) != folder
        for line, names in _tests(tree)
        if names & known
    ]
    assert asked == []


def test_a_schema_alone_asks_which_columns_have_no_declared_values(trees: Trees) -> None:
    asked = [path for path, tree in trees.items() if any("Open" in names for _, names in _tests(tree))]
    assert asked == ["questions/question.py"]


def test_nobody_asks_which_aggregate_it_is(trees: Trees) -> None:
    """By ==, in or match on a `.kind`: it is asked of the table of aggregates."""
    asked = []
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, (ast.Compare, ast.Match)):
                subject = node.left if isinstance(node, ast.Compare) else node.subject
                if isinstance(subject, ast.Attribute) and subject.attr == "kind":
                    texts = {part.value for part in ast.walk(node) if isinstance(part, ast.Constant)}
                    asked += [f"{path}:{node.lineno} asks for {text}" for text in texts & AGGREGATES.keys()]
    assert asked == []


def test_nobody_asks_for_the_name_of_a_space_or_a_form(trees: Trees) -> None:
    """`column.kind == "interval"` would be the same question in other words."""
    from dproof.plans.reader import SPACES

    names: dict[str, set[str]] = {"kind": set(SPACES), "form": {"plain", "joined", "list", "flags", "wide"}}
    asked = []
    for path, tree in trees.items():
        if _room(path) in ("columns", "spaces", "curves"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute):
                constants = {part.value for other in node.comparators for part in ast.walk(other) if _is_text(part)}
                if constants & names.get(node.left.attr, set()):
                    asked.append(f"{path}:{node.lineno}")
    assert asked == []


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def test_no_name_of_a_module_has_two_values(trees: Trees) -> None:
    """Where several things share a file, a constant of the one would change what another one does."""
    found = []
    for path, tree in trees.items():
        given: list[str] = []
        for node in tree.body:
            if isinstance(node, (ast.Assign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                given += [target.id for target in targets if isinstance(target, ast.Name)]
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef)) and "overload" not in map(
                ast.unparse, node.decorator_list
            ):
                given.append(node.name)
        found += [f"{path}: {name}" for name in {name for name in given if given.count(name) > 1}]
    assert found == []


def test_every_docstring_stands_alone(trees: Trees) -> None:
    """`help()` shows one docstring at a time: one that begins with "The same" needs another."""
    found = []
    for path, tree in trees.items():
        for node in ast.walk(tree):
            has_docstring = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            if has_docstring and (ast.get_docstring(node) or "").startswith(("The same", "Likewise", "As above")):
                found.append(f"{path}:{node.lineno}")
    assert found == []


def test_what_is_written_into_a_certificate_says_so(trees: Trees) -> None:
    """A change there changes stored files: who reads such a line must see it."""
    makers = ("curves/noise.py", "certification/certify.py")
    written = [
        (f"{path}:{node.lineno}", ast.get_docstring(node) or "")
        for path, tree in trees.items()
        if _room(path) == "laws" or path in makers
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == "to_json"
    ]
    assert len(written) > 10
    assert [place for place, text in written if "certificate" not in text] == []


def test_tests_import_public_names_from_the_package() -> None:
    """Whoever moves a function into another file has no test to change."""
    found = []
    for path in TESTS.rglob("*.py"):
        for module, several, one in re.findall(
            r"^ *from (dproof\.[\w.]+) import (?:\(([^)]*)\)|(.*))$", path.read_text("utf-8"), flags=re.MULTILINE
        ):
            names = {name.split()[0] for name in (several or one).split(",") if name.strip()}
            found += [f"{path.name}: {name}" for name in names if dproof._PUBLIC.get(name) == module]
    assert found == []

"""Which functions a test reaches: each tells its name when it is called, in any thread, which costs next to nothing."""

from __future__ import annotations

import ast
import builtins
import sys
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

from tests.mutants.sampling import modules

EVERYTHING = "*"  # reached by a test that starts a process
TELL = "__reached__"
LIBRARY = (sys.prefix, sys.base_prefix)


class Reached:
    """The functions of the source that were called since they were last taken."""

    def __init__(self, source: Path) -> None:
        self.names = {Path(module).name for module in modules(source)}
        self.functions: set[str] = set()

    def follow(self) -> None:
        """From here on modules are imported so that their functions tell."""
        setattr(builtins, TELL, self.functions.add)
        sys.addaudithook(self._heed)
        as_written = SourceFileLoader.get_code

        def get_code(loader: SourceFileLoader, fullname: str) -> CodeType | None:
            path = Path(loader.path)
            if path.name not in self.names or loader.path.startswith(LIBRARY):
                return as_written(loader, fullname)
            return telling(path, path.read_bytes())

        SourceFileLoader.get_code = get_code

    def take(self) -> list[str]:
        functions = sorted(self.functions)
        self.functions.clear()
        return functions

    def _heed(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Hear of a process that a test starts, in which it may reach any function."""
        if event == "subprocess.Popen":
            self.functions.add(EVERYTHING)


@cache
def telling(path: Path, text: bytes) -> CodeType:
    """The code of a module whose functions tell. What was made before a process forks is at hand in it."""
    tree = _Telling(path.name).visit(ast.parse(text))
    return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


class _Telling(ast.NodeTransformer):
    """Puts into each function a first statement that tells its name."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.outer: list[str] = []

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._inside(node, [node.name])

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        name = name_of(self.module, ".".join([*self.outer, node.name]))
        self._inside(node, [node.name, "<locals>"])
        tell = ast.Expr(ast.Call(ast.Name(TELL, ast.Load()), [ast.Constant(name)], []))
        node.body.insert(ast.get_docstring(node) is not None, ast.copy_location(tell, node.body[0]))
        return node

    def _inside(self, node: ast.AST, names: list[str]) -> ast.AST:
        self.outer += names
        self.generic_visit(node)
        del self.outer[-len(names) :]
        return node


def name_of(module: str, function: str) -> str:
    """How a function is called here. Without folders: a release has a copy of the verifier."""
    return f"{Path(module).name}:{function}"

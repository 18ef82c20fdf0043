"""Whether two texts are the same program: what only a reader looks at does not decide whether a test fails."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from hashlib import sha256
from symtable import symtable


def program_hash(text: str) -> str:
    """A hash that stays when comments, docstrings, messages of errors or names of local variables change.

    >>> program_hash("def f(x): y = x; return y") == program_hash("def f(x): z = x; return z  # the same")
    True
    >>> program_hash("def f(x): y = x; return y") == program_hash("def f(x): z = x; return x")
    False
    """
    tree = _WithoutMessages().visit(ast.parse(text))
    known = {*symtable(text, "", "exec").get_identifiers(), *dir(builtins)}
    for function in _functions(tree):
        _number_variables(function, known)
    return sha256(ast.dump(tree).encode()).hexdigest()


def _functions(node: ast.AST) -> Iterator[ast.FunctionDef]:
    """The outermost functions: what they define inside may use their variables."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            yield child
        else:
            yield from _functions(child)


def _number_variables(function: ast.FunctionDef, known: set[str]) -> None:
    """Give numbers to variables for their names, but not to parameters, which a caller may name."""
    kept = known | {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id not in kept]
    stored = dict.fromkeys(node.id for node in names if isinstance(node.ctx, ast.Store))
    numbers = {name: str(number) for number, name in enumerate(stored)}
    for node in names:
        node.id = numbers.get(node.id, node.id)


class _WithoutMessages(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        return ast.Raise(node.exc.func if isinstance(node.exc, ast.Call) else node.exc)

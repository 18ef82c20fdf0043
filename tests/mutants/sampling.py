"""A seeded sample of mutants: one small change of the source each, which some test should notice."""

from __future__ import annotations

import ast
import difflib
from collections import defaultdict
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from tests.mutants.same_program import program_hash

SCOPE = ("laws", "certification", "curator", "curves")  # the verifier lies in certification/
PICTURES = {"plotting.py"}  # nothing but the look of a chart
_RULES = sha256(Path(__file__).read_bytes() + Path(__file__).with_name("same_program.py").read_bytes()).hexdigest()

# Replacements that could be a slip of the hand. cosmic-ray has more, such as + to <<, which any test notices.
OPERATORS = (
    *(f"ReplaceBinaryOperator_{pair}" for pair in ("Add_Sub", "Sub_Add", "Mul_Add", "Mul_FloorDiv", "Div_Mul")),
    *(f"ReplaceBinaryOperator_{pair}" for pair in ("FloorDiv_Mul", "Mod_FloorDiv", "Pow_Mul", "RShift_LShift")),
    *(f"ReplaceBinaryOperator_{pair}" for pair in ("LShift_RShift", "BitOr_BitAnd", "BitAnd_BitOr", "BitXor_BitOr")),
    *(f"ReplaceComparisonOperator_{pair}" for pair in ("Lt_LtE", "Lt_GtE", "LtE_Lt", "LtE_Gt", "Gt_GtE", "Gt_LtE")),
    *(
        f"ReplaceComparisonOperator_{pair}"
        for pair in ("GtE_Gt", "GtE_Lt", "Eq_NotEq", "NotEq_Eq", "Is_IsNot", "IsNot_Is")
    ),
    *(f"ReplaceUnaryOperator_{pair}" for pair in ("USub_UAdd", "Delete_Invert", "Delete_Not")),
    *("AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd"),
    *("ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "ExceptionReplacer", "NumberReplacer"),
    "ZeroIterationForLoop",
)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one module, given by its path below src/dproof."""

    module: str
    operator: str
    before: str  # the module's text
    after: str
    program: str  # what `program_hash` says of it

    @property
    def change(self) -> tuple[str, str]:
        """The changed lines without their indentation, by which an equivalent mutant is known."""
        lines = self._unified(context=0)[2:]
        old, new = (" ".join(line[1:].strip() for line in lines if line[0] == sign) for sign in "-+")
        return old, new

    @property
    def diff(self) -> str:
        return "\n".join(self._unified(context=2))

    @property
    def function(self) -> str | None:
        """The qualified name of the innermost function with the change, or None outside of functions."""
        pairs = zip(self.before.splitlines(), self.after.splitlines(), strict=False)
        line = next(number for number, (old, new) in enumerate(pairs, 1) if old != new)
        return _function(ast.parse(self.before), line)

    def _unified(self, context: int) -> list[str]:
        texts = self.before.splitlines(), self.after.splitlines()
        return list(difflib.unified_diff(*texts, self.module, self.module, n=context, lineterm=""))


def _function(tree: ast.AST, line: int, prefix: str = "") -> str | None:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            if isinstance(node, ast.FunctionDef):
                name = f"{prefix}{node.name}"
                return _function(node, line, f"{name}.<locals>.") or name
            return _function(node, line, f"{prefix}{node.name}." if isinstance(node, ast.ClassDef) else prefix)
    return None


def sample(source: Path, seed: int, known: MutableMapping[str, Any]) -> Iterator[Mutant]:
    """All mutants that count, in an order given by the seed: at each place of the source one at most.

    The rank of a place depends on its line alone, so a change elsewhere leaves the sample as it is, and what an earlier
    run showed stays known. To parse a module takes long, so what follows from its text is kept in `known`.
    """
    texts = {module: (source / module).read_text("utf-8") for module in modules(source)}
    ranked = [
        (f"{seed}\n{module}\n{place}", module, ways)
        for module, text in texts.items()
        for place, ways in _remembered(known, _places, text)
    ]
    for place, module, ways in sorted(ranked, key=lambda entry: sha256(entry[0].encode()).digest()):
        operator, occurrence = Random(place).choice(ways)
        after = _remembered(known, _mutate, texts[module], module, operator, occurrence)
        if after is not None:
            yield Mutant(module, operator, texts[module], after, _remembered(known, program_hash, after))


def _remembered(known: MutableMapping[str, Any], function: Callable[..., Any], *arguments: str | int) -> Any:
    """What the function gives: computed anew when an argument or the rules have changed."""
    key = sha256(repr((_RULES, function.__name__, arguments)).encode()).hexdigest()
    if key not in known:
        known[key] = function(*arguments)
    return known[key]


def modules(source: Path) -> list[str]:
    paths = (path for folder in SCOPE for path in (source / folder).glob("*.py"))
    return sorted({path.relative_to(source).as_posix() for path in paths} - PICTURES)


def _places(text: str) -> list[tuple[str, list[tuple[str, int]]]]:
    """Each place that can be changed: its line cut in two, and how many such lines stand before it.

    With it the ways to change it: an operator and the number of its occurrence.
    """
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator

    nodes = list(ast_nodes(get_ast(text)))
    ways = defaultdict(list)
    for name in OPERATORS:
        operator = get_operator(f"core/{name}")()
        starts = (start for node in nodes for start, _ in operator.mutation_positions(node))
        for occurrence, start in enumerate(starts):
            ways[start].append((name, occurrence))
    lines = text.splitlines()
    places = []
    for line, column in sorted(ways):
        before, after = lines[line - 1][:column].lstrip(), lines[line - 1][column:]
        earlier = lines[: line - 1].count(lines[line - 1])
        places.append((f"{earlier}\n{before}\n{after}", ways[line, column]))
    return places


def _mutate(before: str, module: str, operator: str, occurrence: int) -> str | None:
    """The text of the mutant, or None if it is no Python or changes nothing that a test should notice."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    after: str = mutate_code(before, get_operator(f"core/{operator}")(), occurrence)
    try:
        unchanged = _behaviour(before, module) == _behaviour(after, module)
    except SyntaxError:
        return None
    return None if unchanged else after


@lru_cache(maxsize=64)
def _behaviour(text: str, module: str) -> str:
    """The syntax tree without what only a reader, a type checker or a test looks at."""
    return ast.dump(_WithoutWords(sql=module == "curator/tally.py").visit(ast.parse(text)))


class _WithoutWords(ast.NodeTransformer):
    def __init__(self, sql: bool) -> None:
        self.sql = sql  # here f-strings are not messages

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns, node.decorator_list = None, []
        if node.name in ("__repr__", "__str__", "_repr_html_", "__rich__"):
            node.body = [ast.Pass()]
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.decorator_list = []
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        unseen = all(isinstance(target, ast.Name) and _is_unseen(target.id) for target in node.targets)
        return None if unseen else self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        node.annotation = ast.Constant(None)
        return None if isinstance(node.target, ast.Name) and _is_unseen(node.target.id) else self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST | None:
        names = {part.id for part in ast.walk(node.test) if isinstance(part, ast.Name)}
        return None if names & {"TYPE_CHECKING", "__name__"} else self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        return ast.Raise(node.exc.func if isinstance(node.exc, ast.Call) else node.exc)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return self.generic_visit(node) if self.sql else ast.Constant("")

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        return ast.keyword("strict", ast.Constant(True)) if node.arg == "strict" else self.generic_visit(node)


def _is_unseen(name: str) -> bool:
    return name in ("__slots__", "__all__", "EXAMPLES")

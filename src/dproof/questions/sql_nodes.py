"""The words of the closed grammar: what a node of sqlglot's tree says, and how one that is not in it is refused.

Names, values and conditions; aggregates and calculations are read in `sql`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NoReturn, TypeAlias

from sqlglot import exp

from dproof.errors import InputError
from dproof.exact import exact
from dproof.questions.predicates import Among, And, Compare, Contains, Missing, Not, Operator, Or, Predicate, Value

Node: TypeAlias = Any  # sqlglot's classes carry no useful static types
COMPARISONS: dict[type, Operator] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip
_MIRRORED: dict[Operator, Operator] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def refuse(node: Node, advice: str) -> NoReturn:
    called = "" if node is None else f"the function {function_name(node)[:40]}" if function_name(node) else kind(node)
    raise InputError(f"{called} is not supported: {advice}" if called else advice)


def function_name(node: Node) -> str:
    """The name of a function, as the user wrote it or as sqlglot calls it; nothing for other nodes."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).casefold()
    return node.sql_name().lower() if isinstance(node, exp.Func) else ""


def kind(node: Node) -> str:
    return type(node).__name__.upper()


def only(node: Node, *allowed: str) -> None:
    """Refuse a node that carries anything but what the grammar reads from it."""
    for key, value in node.args.items():
        if value not in (None, False, []) and key not in allowed:
            clause = key.rstrip("_").replace("_", " ").upper()
            raise InputError(f"{clause} in {kind(node)} is not supported: leave it out")


def constant_of(node: Node) -> Fraction | None:
    """A number written out: 3, -0.5, 1/3."""
    if isinstance(node, exp.Literal) and not node.is_string:
        return exact(node.this, "a number")
    if isinstance(node, (exp.Neg, exp.Paren)):
        inside = constant_of(node.this)
        return inside if inside is None or isinstance(node, exp.Paren) else -inside
    if isinstance(node, exp.Div):
        top, bottom = constant_of(node.this), constant_of(node.expression)
        if top is not None and bottom == 0:
            raise InputError("a number is divided by zero: correct the question")
        return top / bottom if top is not None and bottom else None
    return None


def column_of(node: Node) -> str:
    if not isinstance(node, exp.Column):
        refuse(node, "the name of a column was expected here, without a calculation")
    only(node, "this")
    if not isinstance(node.this, exp.Identifier):
        refuse(node.this, "name the column")
    return str(node.this.this)


def arguments_of(node: Node) -> list[Node]:
    if isinstance(node, exp.Anonymous):
        only(node, "this", "expressions")
        return list(node.expressions)
    given = [node.this, node.args.get("expression") or node.args.get("quantile"), *(node.expressions or ())]
    only(node, "this", "expression", "quantile", "expressions", "big_int")
    return [argument for argument in given if argument is not None]


def is_date(node: Node) -> bool:
    """DATE '2024-01-31', which says no more than the text alone."""
    if type(node) is not exp.Cast or not node.to.is_type("date"):
        return False
    return isinstance(node.this, exp.Literal) and bool(node.this.is_string)


def value_of(node: Node) -> Value:
    constant = constant_of(node)
    if constant is not None:
        return constant
    if isinstance(node, exp.Literal):
        return str(node.this)
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if is_date(node):
        only(node, "this", "to")
        return str(node.this.this)
    if isinstance(node, exp.Column):
        advice = f"write a text in single quotes, as in '{column_of(node)}'"
        raise InputError(f"a value was expected and the name {column_of(node)!r} was found: {advice}")
    refuse(node, "a value is a number, a text or date in single quotes, TRUE or FALSE")


def predicate_of(node: Node) -> Predicate:
    """A condition after WHERE, FILTER or WHEN, which compares a column with values."""
    if isinstance(node, exp.Paren):
        return predicate_of(node.this)
    if isinstance(node, exp.Not):
        return Not(predicate_of(node.this))
    if isinstance(node, (exp.And, exp.Or)):
        parts = (predicate_of(node.this), predicate_of(node.expression))
        return And(parts) if isinstance(node, exp.And) else Or(parts)
    if type(node) in COMPARISONS:
        operator = COMPARISONS[type(node)]
        value_first = is_date(node.this) or not isinstance(node.this, (exp.Column, exp.Func))
        if isinstance(node.expression, exp.Column) and value_first:
            return Compare(column_of(node.expression), _MIRRORED[operator], value_of(node.this))
        return Compare(column_of(node.this), operator, value_of(node.expression))
    if isinstance(node, exp.Between):
        only(node, "this", "low", "high")
        column, low, high = column_of(node.this), value_of(node.args["low"]), value_of(node.args["high"])
        return And((Compare(column, ">=", low), Compare(column, "<=", high)))
    if isinstance(node, exp.In):
        only(node, "this", "expressions")
        return Among(column_of(node.this), tuple(value_of(value) for value in node.expressions))
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        return Missing(column_of(node.this))
    if isinstance(node, exp.ArrayContains) or function_name(node) == "list_has":
        arguments = arguments_of(node)
        if len(arguments) == 2:
            return Contains(column_of(arguments[0]), value_of(arguments[1]))
    if isinstance(node, exp.Column):
        return Compare(column_of(node), "=", True)
    refuse(node, "a condition compares a column with values: =, <>, <, BETWEEN, IN, IS NULL, list_contains")

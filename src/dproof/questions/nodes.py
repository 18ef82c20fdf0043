"""The pieces of a parsed SQL text that the closed grammar knows: values, conditions, aggregates, arithmetic.

Every node is matched against a literal list; whatever is not on it is refused by name.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NoReturn, TypeAlias

from sqlglot import exp

from dproof.errors import InputError, did_you_mean
from dproof.exact import exact
from dproof.questions.aggregates import AGGREGATES, GIVEN, named
from dproof.questions.predicates import (
    Among,
    And,
    Compare,
    Contains,
    Missing,
    Not,
    Operator,
    Or,
    Predicate,
    Value,
    both,
)
from dproof.questions.question import Aggregate, Arithmetic, Expression, Key, Number

Node: TypeAlias = Any  # sqlglot's classes carry no useful static types

_ARITHMETIC: dict[type, Any] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}
COMPARISONS: dict[type, Operator] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip
_MIRRORED: dict[Operator, Operator] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def refuse(node: Node, advice: str) -> NoReturn:
    called = "" if node is None else f"the function {_function(node)[:40]}" if _function(node) else _kind(node)
    raise InputError(f"{called} cannot be asked: {advice}" if called else advice)


def _function(node: Node) -> str:
    """The name of a function, as the user wrote it or as sqlglot calls it; nothing for other nodes."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).casefold()
    return node.sql_name().lower() if isinstance(node, exp.Func) else ""


def _kind(node: Node) -> str:
    return type(node).__name__.upper()


def only(node: Node, *allowed: str) -> None:
    """Refuse a node that carries anything but what the grammar reads from it."""
    for key, value in node.args.items():
        if value not in (None, False, []) and key not in allowed:
            clause = key.rstrip("_").replace("_", " ").upper()
            raise InputError(f"{clause} in {_kind(node)} cannot be asked: leave it out")


def read_expression(node: Node, aliases: dict[str, Expression]) -> Expression:
    constant = read_constant(node)
    if constant is not None:
        return Number(constant)
    if isinstance(node, exp.Paren):
        return read_expression(node.this, aliases)
    if isinstance(node, exp.Neg):
        return Arithmetic("-", Number(Fraction(0)), read_expression(node.this, aliases))
    if type(node) in _ARITHMETIC:
        left, right = read_expression(node.this, aliases), read_expression(node.expression, aliases)
        return Arithmetic(_ARITHMETIC[type(node)], left, right)
    if isinstance(node, exp.Column):
        column = read_column(node)
        return aliases.get(column.casefold(), Key(column))
    if _function(node) == "bin":
        return _bin(node)
    return _aggregate(node)


def read_constant(node: Node) -> Fraction | None:
    """A number written out: 3, -0.5, 1/3."""
    if isinstance(node, exp.Literal) and not node.is_string:
        return exact(node.this, "a number")
    if isinstance(node, (exp.Neg, exp.Paren)):
        inside = read_constant(node.this)
        return inside if inside is None or isinstance(node, exp.Paren) else -inside
    if isinstance(node, exp.Div):
        top, bottom = read_constant(node.this), read_constant(node.expression)
        if top is not None and bottom == 0:
            raise InputError("a number is divided by zero: correct the question")
        return top / bottom if top is not None and bottom else None
    return None


def read_column(node: Node) -> str:
    if not isinstance(node, exp.Column):
        refuse(node, "the name of a column was expected here, without a calculation")
    only(node, "this")
    if not isinstance(node.this, exp.Identifier):
        refuse(node.this, "name the column")
    return str(node.this.this)


def _arguments(node: Node) -> list[Node]:
    if isinstance(node, exp.Anonymous):
        only(node, "this", "expressions")
        return list(node.expressions)
    given = [node.this, node.args.get("expression") or node.args.get("quantile"), *(node.expressions or ())]
    only(node, "this", "expression", "quantile", "expressions", "big_int")
    return [argument for argument in given if argument is not None]


def _bin(node: Node) -> Key:
    arguments = _arguments(node)
    width = read_constant(arguments[1]) if len(arguments) == 2 else None
    if width is None or width <= 0:
        raise InputError("BIN takes a column and a positive width, as in BIN(age, 10)")
    return Key(read_column(arguments[0]), width)


def _aggregate(node: Node) -> Expression:
    where: Predicate | None = None
    if isinstance(node, exp.Filter):
        where = read_predicate(node.expression.this)
        node = node.this
    called = _function(node)
    if called == "count":
        return _count(node, where)
    if called == "proportion":
        arguments = _arguments(node)
        if len(arguments) != 1:
            raise InputError("PROPORTION takes one condition, as in PROPORTION(hobby = 'Cars')")
        chosen = Aggregate("count", where=both(where, read_predicate(arguments[0])))
        return Arithmetic("/", chosen, Aggregate("count", where=where))
    found = named(called)
    if found is None:
        known = ("count", "proportion", *(name for each in AGGREGATES.values() for name in each.names))
        advice = did_you_mean(called or _kind(node).casefold(), dict.fromkeys(known))
        refuse(node, f"only aggregates of columns can{advice}")
    (kind, argument), arguments = found, _arguments(node)
    columns = AGGREGATES[kind].columns
    takes = columns + (argument is GIVEN)
    if len(arguments) != takes:
        raise InputError(f"{called.upper()} takes {takes} argument{'s'[: takes - 1]}, and got {len(arguments)}")
    if argument is GIVEN:
        argument = read_constant(arguments[-1])
        if argument is None:
            raise InputError(f"the last argument of {called.upper()} must be a number written out")
    return Aggregate(kind, tuple(read_column(node) for node in arguments[:columns]), argument, where)


def _count(node: Node, where: Predicate | None) -> Aggregate:
    only(node, "this", "big_int")
    if node.this is None or isinstance(node.this, exp.Star):
        return Aggregate("count", where=where)
    if isinstance(node.this, exp.Distinct):
        only(node.this, "expressions")
        if len(node.this.expressions) != 1:
            raise InputError("COUNT(DISTINCT ...) takes one column")
        return Aggregate("distinct", (read_column(node.this.expressions[0]),), where=where)
    if read_constant(node.this) is not None:
        return Aggregate("count", where=where)
    return Aggregate("count", (read_column(node.this),), where=where)


def read_predicate(node: Node) -> Predicate:
    if isinstance(node, exp.Paren):
        return read_predicate(node.this)
    if isinstance(node, exp.Not):
        return Not(read_predicate(node.this))
    if isinstance(node, (exp.And, exp.Or)):
        parts = (read_predicate(node.this), read_predicate(node.expression))
        return And(parts) if isinstance(node, exp.And) else Or(parts)
    if type(node) in COMPARISONS:
        operator = COMPARISONS[type(node)]
        if isinstance(node.expression, exp.Column) and not isinstance(node.this, (exp.Column, exp.Func)):
            return Compare(read_column(node.expression), _MIRRORED[operator], _value(node.this))
        return Compare(read_column(node.this), operator, _value(node.expression))
    if isinstance(node, exp.Between):
        only(node, "this", "low", "high")
        column, low, high = read_column(node.this), _value(node.args["low"]), _value(node.args["high"])
        return And((Compare(column, ">=", low), Compare(column, "<=", high)))
    if isinstance(node, exp.In):
        only(node, "this", "expressions")
        return Among(read_column(node.this), tuple(_value(value) for value in node.expressions))
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        return Missing(read_column(node.this))
    if isinstance(node, exp.ArrayContains) or _function(node) == "list_has":
        arguments = _arguments(node)
        if len(arguments) == 2:
            return Contains(read_column(arguments[0]), _value(arguments[1]))
    if isinstance(node, exp.Column):
        return Compare(read_column(node), "=", True)
    refuse(node, "a condition compares a column with values: =, <>, <, BETWEEN, IN, IS NULL, list_contains")


def _value(node: Node) -> Value:
    constant = read_constant(node)
    if constant is not None:
        return constant
    if isinstance(node, exp.Literal):
        return str(node.this)
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Column):
        advice = f"write a text in single quotes, as in '{read_column(node)}'"
        raise InputError(f"a value was expected and the name {read_column(node)!r} was found: {advice}")
    refuse(node, "a value is a number, a text in single quotes, TRUE or FALSE")

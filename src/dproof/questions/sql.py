"""SQL into a question: sqlglot reads it, and only what the closed grammar knows gets through.

Every node is matched against a literal list; whatever is not on it is refused by name. The text goes no further than
this module: what comes out is a value of our own classes, or a refusal before any data is opened.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any, NoReturn, TypeAlias

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from dproof.arguments import expect
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
)  # fmt: skip
from dproof.questions.question import Aggregate, Arithmetic, Expression, Item, Key, Number, Order, Question, Test

Node: TypeAlias = Any  # sqlglot's classes carry no useful static types

_ARITHMETIC: dict[type, Any] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}
_COMPARISONS: dict[type, Operator] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip
_MIRRORED: dict[Operator, Operator] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_LONGEST = 20_000  # characters: far beyond any question, short of any trouble
_DEEPEST = 100


def parse(text: str) -> Question:
    """One SELECT as a question; names and values are still to be checked against a schema (`resolve`).

    >>> parse("SELECT count(*) AS n FROM data WHERE age >= 18").where
    Compare(column='age', operator='>=', value=Fraction(18, 1))
    """
    select = read_statement(text, "SELECT ... FROM ...")
    if max((_depth(node) for node in select.find_all(exp.Literal, exp.Column, exp.Star)), default=0) > _DEEPEST:
        raise InputError(f"the question is nested more than {_DEEPEST} deep: simplify it")
    if not isinstance(select, exp.Select):
        # A lone word or sum is a statement to the parser; only a true one, such as DROP, is worth its name.
        _refuse(
            None if isinstance(select, (exp.Condition, exp.Alias)) else select, "a question is one SELECT ... FROM ..."
        )
    _only(select, "expressions", "from_", "from", "where", "group", "having", "order", "limit")
    group, order = select.args.get("group"), select.args.get("order")
    for clause in (group, order):
        if clause is not None:
            _only(clause, "expressions")
    named = [_item(node) for node in select.expressions]
    items = tuple(item for item, _ in named)
    aliases = {item.alias.casefold(): item.expression for item, given in named if given}
    where = select.args.get("where")
    having = select.args.get("having")
    return Question(
        _table(select.args.get("from_") or select.args.get("from")),
        items,
        None if where is None else _predicate(where.this),
        tuple(_group(node, items, aliases) for node in (group.expressions if group else ())),
        () if having is None else tuple(_tests(having.this, aliases)),
        tuple(_order(node, items, aliases) for node in (order.expressions if order else ())),
        _limit(select.args.get("limit")),
    )


def parse_predicate(text: str) -> Predicate:
    """A condition alone, as after WHERE.

    >>> parse_predicate("sex = 'female'")
    Compare(column='sex', operator='=', value='female')
    """
    expect(text, str, "a condition", "a text, as after WHERE")
    asked = parse(f"SELECT count(*) FROM data WHERE {text}")
    if asked.where is None or asked != Question("data", asked.select, asked.where):
        raise InputError("a condition alone was expected, as after WHERE")
    return asked.where


def read_statement(text: str, wanted: str, longest: int = _LONGEST) -> Node:
    """The one statement that a text holds."""
    if not isinstance(text, str) or len(text) > longest:
        raise InputError(f"a question is a text of at most {longest} characters: {wanted}")
    try:
        trees = [tree for tree in sqlglot.parse(text, dialect="duckdb") if tree is not None]
    except (SqlglotError, RecursionError) as error:
        first = str(error).splitlines()[0].split(". Line")[0] if isinstance(error, SqlglotError) else "too deep"
        first = re.sub(r"Required keyword: .*\.(\w+)'>", lambda part: f"{part[1].upper()} lacks something", first)
        read = [place["start_context"].strip()[-40:] for place in getattr(error, "errors", ())]
        place = f" after {read[0]!r}" if read and read[0] else ""
        raise InputError(f"this is not SQL that can be read{place} ({first}): {wanted}") from None
    if len(trees) != 1:
        raise InputError(f"one statement at a time, and {len(trees)} were given: {wanted}")
    return trees[0]


def _depth(node: Node) -> int:
    depth = 0
    while node is not None:
        node, depth = node.parent, depth + 1
    return depth


def _table(source: Node) -> str:
    if source is None:
        raise InputError("the question names no table: add FROM and the table's name")
    _only(source, "this")
    table = source.this
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        named = table.this if isinstance(table, exp.Table) else table
        _refuse(named, "ask FROM one table by its name, without subqueries, functions or files")
    _only(table, "this")
    return str(table.this.this)


def _item(node: Node) -> tuple[Item, bool]:
    if isinstance(node, exp.Star):
        raise InputError("SELECT * asks for rows: ask for aggregates such as COUNT(*) instead")
    if isinstance(node, exp.Alias):
        _only(node, "this", "alias")
        return Item(node.alias, _expression(node.this, {})), True
    expression = _expression(node, {})
    text = node.sql(dialect="duckdb", normalize_functions="lower")
    if isinstance(expression, Key) and expression.width is None:
        text = expression.column
    return Item(text, expression), False


def _tests(node: Node, aliases: dict[str, Expression]) -> list[Test]:
    if isinstance(node, exp.Paren):
        return _tests(node.this, aliases)
    if isinstance(node, exp.And):
        return _tests(node.this, aliases) + _tests(node.expression, aliases)
    if type(node) not in _COMPARISONS:
        _refuse(node, "HAVING takes comparisons of aggregates joined by AND")
    left, right = _expression(node.this, aliases), _expression(node.expression, aliases)
    return [Test(left, _COMPARISONS[type(node)], right)]


def _position(node: Node, items: tuple[Item, ...]) -> Expression | None:
    if not (isinstance(node, exp.Literal) and not node.is_string):
        return None
    place = _constant(node)
    if place is None or place.denominator != 1 or not 1 <= place <= len(items):
        raise InputError(f"position {node.this} is not one of the {len(items)} columns of the answer")
    return items[int(place) - 1].expression


def _group(node: Node, items: tuple[Item, ...], aliases: dict[str, Expression]) -> Key:
    key = _position(node, items) or _expression(node, {})
    if isinstance(key, Key) and key.width is None:
        meant = aliases.get(key.column.casefold(), key)
        key = meant if isinstance(meant, Key) else key
    if not isinstance(key, Key):
        raise InputError("GROUP BY takes columns and BIN(column, width), not calculations")
    return key


def _order(node: Node, items: tuple[Item, ...], aliases: dict[str, Expression]) -> Order:
    _only(node, "this", "desc", "nulls_first")
    return Order(_position(node.this, items) or _expression(node.this, aliases), bool(node.args.get("desc")))


def _limit(node: Node) -> int | None:
    if node is None:
        return None
    _only(node, "expression")
    count = _constant(node.expression)
    if count is None or count.denominator != 1 or count < 0:
        raise InputError("LIMIT takes a whole number")
    return int(count)


def _refuse(node: Node, advice: str) -> NoReturn:
    called = "" if node is None else f"the function {_function(node)[:40]}" if _function(node) else _kind(node)
    raise InputError(f"{called} cannot be asked: {advice}" if called else advice)


def _function(node: Node) -> str:
    """The name of a function, as the user wrote it or as sqlglot calls it; nothing for other nodes."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).casefold()
    return node.sql_name().lower() if isinstance(node, exp.Func) else ""


def _kind(node: Node) -> str:
    return type(node).__name__.upper()


def _only(node: Node, *allowed: str) -> None:
    """Refuse a node that carries anything but what the grammar reads from it."""
    for key, value in node.args.items():
        if value not in (None, False, []) and key not in allowed:
            clause = key.rstrip("_").replace("_", " ").upper()
            raise InputError(f"{clause} in {_kind(node)} cannot be asked: leave it out")


def _expression(node: Node, aliases: dict[str, Expression]) -> Expression:
    constant = _constant(node)
    if constant is not None:
        return Number(constant)
    if isinstance(node, exp.Paren):
        return _expression(node.this, aliases)
    if isinstance(node, exp.Neg):
        return Arithmetic("-", Number(Fraction(0)), _expression(node.this, aliases))
    if type(node) in _ARITHMETIC:
        left, right = _expression(node.this, aliases), _expression(node.expression, aliases)
        return Arithmetic(_ARITHMETIC[type(node)], left, right)
    if isinstance(node, exp.Column):
        column = _column(node)
        return aliases.get(column.casefold(), Key(column))
    if _function(node) == "bin":
        return _bin(node)
    if isinstance(node, exp.Literal) or _is_date(node):
        raise InputError(
            "a text or date cannot be selected or compared in HAVING: compare it with a column after WHERE"
        )
    return _aggregate(node)


def _constant(node: Node) -> Fraction | None:
    """A number written out: 3, -0.5, 1/3."""
    if isinstance(node, exp.Literal) and not node.is_string:
        return exact(node.this, "a number")
    if isinstance(node, (exp.Neg, exp.Paren)):
        inside = _constant(node.this)
        return inside if inside is None or isinstance(node, exp.Paren) else -inside
    if isinstance(node, exp.Div):
        top, bottom = _constant(node.this), _constant(node.expression)
        if top is not None and bottom == 0:
            raise InputError("a number is divided by zero: correct the question")
        return top / bottom if top is not None and bottom else None
    return None


def _column(node: Node) -> str:
    if not isinstance(node, exp.Column):
        _refuse(node, "the name of a column was expected here, without a calculation")
    _only(node, "this")
    if not isinstance(node.this, exp.Identifier):
        _refuse(node.this, "name the column")
    return str(node.this.this)


def _arguments(node: Node) -> list[Node]:
    if isinstance(node, exp.Anonymous):
        _only(node, "this", "expressions")
        return list(node.expressions)
    given = [node.this, node.args.get("expression") or node.args.get("quantile"), *(node.expressions or ())]
    _only(node, "this", "expression", "quantile", "expressions", "big_int")
    return [argument for argument in given if argument is not None]


def _bin(node: Node) -> Key:
    arguments = _arguments(node)
    width = _constant(arguments[1]) if len(arguments) == 2 else None
    if width is None or width <= 0:
        raise InputError("BIN takes a column and a positive width, as in BIN(age, 10)")
    return Key(_column(arguments[0]), width)


def _aggregate(node: Node) -> Expression:
    where: Predicate | None = None
    if isinstance(node, exp.Filter):
        where = _predicate(node.expression.this)
        node = node.this
    called = _function(node)
    if called == "count":
        return _count(node, where)
    if called == "proportion":
        arguments = _arguments(node)
        if len(arguments) != 1:
            raise InputError("PROPORTION takes one condition, as in PROPORTION(hobby = 'Cars')")
        chosen = Aggregate("count", where=both(where, _predicate(arguments[0])))
        return Arithmetic("/", chosen, Aggregate("count", where=where))
    found = named(called)
    if found is None:
        known = ("count", "proportion", *(name for each in AGGREGATES.values() for name in each.names))
        advice = did_you_mean(called or _kind(node).casefold(), dict.fromkeys(known))
        _refuse(node, f"only aggregates of columns can{advice}")
    (kind, argument), arguments = found, _arguments(node)
    columns = AGGREGATES[kind].columns
    takes = columns + (argument is GIVEN)
    if len(arguments) != takes:
        raise InputError(f"{called.upper()} takes {takes} argument{'s'[: takes - 1]}, and got {len(arguments)}")
    if argument is GIVEN:
        argument = _constant(arguments[-1])
        if argument is None:
            raise InputError(f"the last argument of {called.upper()} must be a number written out")
    return Aggregate(kind, tuple(_column(node) for node in arguments[:columns]), argument, where)


def _count(node: Node, where: Predicate | None) -> Aggregate:
    _only(node, "this", "big_int")
    if node.this is None or isinstance(node.this, exp.Star):
        return Aggregate("count", where=where)
    if isinstance(node.this, exp.Distinct):
        _only(node.this, "expressions")
        if len(node.this.expressions) != 1:
            raise InputError("COUNT(DISTINCT ...) takes one column")
        return Aggregate("distinct", (_column(node.this.expressions[0]),), where=where)
    if _constant(node.this) is not None:
        return Aggregate("count", where=where)
    return Aggregate("count", (_column(node.this),), where=where)


def _predicate(node: Node) -> Predicate:
    if isinstance(node, exp.Paren):
        return _predicate(node.this)
    if isinstance(node, exp.Not):
        return Not(_predicate(node.this))
    if isinstance(node, (exp.And, exp.Or)):
        parts = (_predicate(node.this), _predicate(node.expression))
        return And(parts) if isinstance(node, exp.And) else Or(parts)
    if type(node) in _COMPARISONS:
        operator = _COMPARISONS[type(node)]
        value_first = _is_date(node.this) or not isinstance(node.this, (exp.Column, exp.Func))
        if isinstance(node.expression, exp.Column) and value_first:
            return Compare(_column(node.expression), _MIRRORED[operator], _value(node.this))
        return Compare(_column(node.this), operator, _value(node.expression))
    if isinstance(node, exp.Between):
        _only(node, "this", "low", "high")
        column, low, high = _column(node.this), _value(node.args["low"]), _value(node.args["high"])
        return And((Compare(column, ">=", low), Compare(column, "<=", high)))
    if isinstance(node, exp.In):
        _only(node, "this", "expressions")
        return Among(_column(node.this), tuple(_value(value) for value in node.expressions))
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        return Missing(_column(node.this))
    if isinstance(node, exp.ArrayContains) or _function(node) == "list_has":
        arguments = _arguments(node)
        if len(arguments) == 2:
            return Contains(_column(arguments[0]), _value(arguments[1]))
    if isinstance(node, exp.Column):
        return Compare(_column(node), "=", True)
    _refuse(node, "a condition compares a column with values: =, <>, <, BETWEEN, IN, IS NULL, list_contains")


def _is_date(node: Node) -> bool:
    """DATE '2024-01-31', which says no more than the text alone."""
    return (
        type(node) is exp.Cast
        and node.to.is_type("date")
        and isinstance(node.this, exp.Literal)
        and node.this.is_string
    )


def _value(node: Node) -> Value:
    constant = _constant(node)
    if constant is not None:
        return constant
    if isinstance(node, exp.Literal):
        return str(node.this)
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if _is_date(node):
        _only(node, "this", "to")
        return str(node.this.this)
    if isinstance(node, exp.Column):
        advice = f"write a text in single quotes, as in '{_column(node)}'"
        raise InputError(f"a value was expected and the name {_column(node)!r} was found: {advice}")
    _refuse(node, "a value is a number, a text or date in single quotes, TRUE or FALSE")

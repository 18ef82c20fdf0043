"""SQL into a question: sqlglot reads it, and only what the closed grammar knows gets through.

The text goes no further than this module: what comes out is a value of our own classes, or a refusal before
any data is opened.
"""

from __future__ import annotations

import re

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from dproof.arguments import expect
from dproof.errors import InputError
from dproof.questions.nodes import (
    COMPARISONS,
    Node,
    only,
    read_constant,
    read_expression,
    read_predicate,
    refuse,
)
from dproof.questions.predicates import Predicate
from dproof.questions.question import Expression, Item, Key, Order, Question, Test

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
        refuse(
            None if isinstance(select, (exp.Condition, exp.Alias)) else select, "a question is one SELECT ... FROM ..."
        )
    only(select, "expressions", "from_", "from", "where", "group", "having", "order", "limit")
    group, order = select.args.get("group"), select.args.get("order")
    for clause in (group, order):
        if clause is not None:
            only(clause, "expressions")
    named = [_item(node) for node in select.expressions]
    items = tuple(item for item, _ in named)
    aliases = {item.alias.casefold(): item.expression for item, given in named if given}
    where = select.args.get("where")
    having = select.args.get("having")
    return Question(
        _table(select.args.get("from_") or select.args.get("from")),
        items,
        None if where is None else read_predicate(where.this),
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
    only(source, "this")
    table = source.this
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        named = table.this if isinstance(table, exp.Table) else table
        refuse(named, "ask FROM one table by its name, without subqueries, functions or files")
    only(table, "this")
    return str(table.this.this)


def _item(node: Node) -> tuple[Item, bool]:
    if isinstance(node, exp.Star):
        raise InputError("SELECT * asks for rows: ask for aggregates such as COUNT(*) instead")
    if isinstance(node, exp.Alias):
        only(node, "this", "alias")
        return Item(node.alias, read_expression(node.this, {})), True
    expression = read_expression(node, {})
    text = node.sql(dialect="duckdb", normalize_functions="lower")
    if isinstance(expression, Key) and expression.width is None:
        text = expression.column
    return Item(text, expression), False


def _tests(node: Node, aliases: dict[str, Expression]) -> list[Test]:
    if isinstance(node, exp.Paren):
        return _tests(node.this, aliases)
    if isinstance(node, exp.And):
        return _tests(node.this, aliases) + _tests(node.expression, aliases)
    if type(node) not in COMPARISONS:
        refuse(node, "HAVING takes comparisons of aggregates joined by AND")
    left, right = read_expression(node.this, aliases), read_expression(node.expression, aliases)
    return [Test(left, COMPARISONS[type(node)], right)]


def _position(node: Node, items: tuple[Item, ...]) -> Expression | None:
    if not (isinstance(node, exp.Literal) and not node.is_string):
        return None
    place = read_constant(node)
    if place is None or place.denominator != 1 or not 1 <= place <= len(items):
        raise InputError(f"position {node.this} is not one of the {len(items)} columns of the answer")
    return items[int(place) - 1].expression


def _group(node: Node, items: tuple[Item, ...], aliases: dict[str, Expression]) -> Key:
    key = _position(node, items) or read_expression(node, {})
    if isinstance(key, Key) and key.width is None:
        meant = aliases.get(key.column.casefold(), key)
        key = meant if isinstance(meant, Key) else key
    if not isinstance(key, Key):
        raise InputError("GROUP BY takes columns and BIN(column, width), not calculations")
    return key


def _order(node: Node, items: tuple[Item, ...], aliases: dict[str, Expression]) -> Order:
    only(node, "this", "desc", "nulls_first")
    return Order(_position(node.this, items) or read_expression(node.this, aliases), bool(node.args.get("desc")))


def _limit(node: Node) -> int | None:
    if node is None:
        return None
    only(node, "expression")
    count = read_constant(node.expression)
    if count is None or count.denominator != 1 or count < 0:
        raise InputError("LIMIT takes a whole number")
    return int(count)

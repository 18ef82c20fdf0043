"""WHERE, FILTER and WHEN: conditions that compare a column with values."""

from __future__ import annotations

from sqlglot import exp

from dproof.questions.predicates import Among, And, Compare, Contains, Missing, Not, Operator, Or, Predicate
from dproof.questions.sql_nodes import Node, arguments_of, column_of, function_name, is_date, only, refuse, value_of

COMPARISONS: dict[type, Operator] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip
_MIRRORED: dict[Operator, Operator] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def predicate_of(node: Node) -> Predicate:
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

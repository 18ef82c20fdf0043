"""Questions as users write them: SQL that sqlglot reads, or `Select` step by step in Python.

Every node is matched against a literal list; whatever is not on it is refused by name. The text goes no further than
this module: what comes out is a value of our own classes, or a refusal before any data is opened. FROM names one table,
also behind an alias, a subquery or WITH that only rename columns and choose rows.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from typing import Any, NoReturn, TypeAlias

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from dproof.arguments import expect, whole
from dproof.errors import QuestionError, did_you_mean
from dproof.exact import exact, several
from dproof.limits import DEEPEST_QUESTION, LONGEST_QUESTION
from dproof.questions.aggregates import AGGREGATES, GIVEN, aggregate_named
from dproof.questions.question import (
    DATE_PARTS,
    Aggregate,
    Among,
    And,
    Applied,
    Arithmetic,
    Case,
    Compare,
    Contains,
    DatePart,
    Expression,
    Item,
    Key,
    Missing,
    Not,
    Number,
    Operator,
    Or,
    Order,
    Predicate,
    Question,
    Test,
    Unnest,
    Value,
    both,
    leaves,
    normal,
)

# Words that sqlglot takes for no name, and that no question has a use for: a table may have them.
_TAKEN = {
    "ALTER", "CREATE", "CROSS", "CUBE", "DROP", "FETCH", "FOR", "FORCE", "GLOB", "GRANT", "INNER", "INSERT", "INSTALL",
    "INTO", "LATERAL", "LOCK", "MAP", "ONLY", "OUTER", "REGEXP", "REVOKE", "ROLLBACK", "ROLLUP", "SUMMARIZE", "WINDOW",
}  # fmt: skip
_IN_QUOTES = r"'[^']*'|\"[^\"]*\""
logging.getLogger("sqlglot").addHandler(logging.NullHandler())  # what is wrong with a question is told by us

_ARITHMETIC: dict[type, Any] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}
FUNCTIONS: dict[type, str] = {
    exp.Round: "round", exp.Abs: "abs", exp.Sqrt: "sqrt", exp.Pow: "power", exp.Floor: "floor", exp.Ceil: "ceil",
    exp.Coalesce: "coalesce",
}  # fmt: skip


def parse(text: str) -> Question:
    """One SELECT as a question; names and values are still to be checked against a schema (`resolve`).

    >>> parse("SELECT count(*) AS n FROM data WHERE age >= 18").where
    Compare(column='age', operator='>=', value=Fraction(18, 1), part=None)
    """
    select = read_statement(text, "SELECT ... FROM ...")
    if max((_depth(node) for node in select.find_all(exp.Literal, exp.Column, exp.Star)), default=0) > DEEPEST_QUESTION:
        raise QuestionError(f"the question is nested more than {DEEPEST_QUESTION} deep: simplify it")
    if not isinstance(select, exp.Select):
        # A lone word or sum is a statement to the parser; only a true one, such as DROP, is worth its name.
        refuse(
            None if isinstance(select, (exp.Condition, exp.Alias)) else select, "a question is one SELECT ... FROM ..."
        )
    # It is rewritten so that it names the columns of the table itself.
    table = _written_out(select, _with(select, {})).table
    only(select, "expressions", "from_", "from", "where", "group", "having", "order", "limit", "distinct")
    group, order = select.args.get("group"), select.args.get("order")
    for clause in (group, order):
        if clause is not None:
            only(clause, "expressions")
    named = [_item(node) for node in select.expressions]
    items = tuple(item for item, _ in named)
    aliases = {item.alias.casefold(): item.expression for item, given in named if given}
    where = select.args.get("where")
    having = select.args.get("having")
    by = group.expressions if group else []
    keys = [_group(node, items, aliases) for node in by]
    named_keys = [column_of(node) for node, key in zip(by, keys, strict=True) if _is_renamed(node, key)]
    if select.args.get("distinct") is not None:
        keys = _distinct(select.args["distinct"], items, keys)
    unnests = list(dict.fromkeys(key for key in keys if isinstance(key, Unnest)))
    if len(unnests) > 1:
        raise QuestionError("the items of one column of sets can be grouped by at a time")
    return Question(
        table,
        items,
        None if where is None else predicate_of(where.this),
        tuple(key for key in keys if isinstance(key, Key)),
        () if having is None else tuple(_tests(having.this, aliases)),
        tuple(_order(node, items, aliases) for node in (order.expressions if order else ())),
        _limit(select.args.get("limit")),
        unnests[0] if unnests else None,
        tuple(named_keys),
    )


def parse_predicate(text: str) -> Predicate:
    """A condition alone, as after WHERE, in its normal form.

    >>> parse_predicate("sex = 'female'")
    Compare(column='sex', operator='=', value='female', part=None)
    """
    expect(text, str, "a condition", "a text, as after WHERE")
    asked = parse(f"SELECT count(*) FROM data WHERE {text}")
    if asked.where is None or asked != Question("data", asked.select, asked.where):
        raise QuestionError("a condition alone was expected, as after WHERE")
    return normal(asked.where)


def read_statement(text: str, wanted: str, longest: int = LONGEST_QUESTION) -> Node:
    """The one statement that a text holds."""
    if not isinstance(text, str) or len(text) > longest:
        raise QuestionError(f"a question is a text of at most {longest} characters: {wanted}")
    if re.match(r"\s*select\s+top\s*\(?\s*\d+\s", text, flags=re.IGNORECASE):
        raise QuestionError("SELECT TOP n is not supported: write LIMIT n at the end of the question")
    try:
        trees = _read(text)
    except (SqlglotError, RecursionError) as error:
        word = _taken_word(text)
        if word is not None:
            raise QuestionError(f'{word} is a word of SQL: if a column is called so, write "{word}"') from None
        first = str(error).splitlines()[0].split(". Line")[0] if isinstance(error, SqlglotError) else "too deep"
        first = re.sub(r"Required keyword: .*\.(\w+)'>", lambda part: f"{part[1].upper()} lacks something", first)
        read = [place["start_context"].strip()[-40:] for place in getattr(error, "errors", ())]
        place = f" after {read[0]!r}" if read and read[0] else ""
        raise QuestionError(f"this is not SQL that can be read{place} ({first}): {wanted}") from None
    if len(trees) != 1:
        given = f"and {len(trees)} were given" if trees else "and there is none"
        raise QuestionError(f"one statement at a time, {given}: {wanted}")
    if isinstance(trees[0], exp.Command):  # what sqlglot has no grammar for
        raise QuestionError(f"{trees[0].name.upper()} is not supported: a question is one {wanted}")
    return trees[0]


def _read(text: str) -> list[Node]:
    return [tree for tree in sqlglot.parse(text, dialect="duckdb") if tree is not None]


def _taken_word(text: str) -> str | None:
    """The word without which a text could be read, were it in quotes: SQL has it, and so may a table, as `Alter`.

    >>> _taken_word("SELECT median(Alter) FROM data"), _taken_word("SELECT median( FROM data")
    ('Alter', None)
    """
    words = re.findall(rf"{_IN_QUOTES}|(\w+)", text)
    for word in dict.fromkeys(word for word in words if word.upper() in _TAKEN):
        found = re.compile(rf"{_IN_QUOTES}|\b({word})\b")
        quoted = found.sub(lambda match: f'"{match[1]}"' if match[1] else match[0], text)
        try:
            read = _read(quoted)
        except (SqlglotError, RecursionError):
            continue
        if len(read) == 1 and isinstance(read[0], exp.Query):
            return str(word)
    return None


def _depth(node: Node) -> int:
    depth = 0
    while node is not None:
        node, depth = node.parent, depth + 1
    return depth


def _item(node: Node) -> tuple[Item, bool]:
    if isinstance(node, exp.Star):
        raise QuestionError("SELECT * asks for rows: ask for aggregates such as COUNT(*) instead")
    if isinstance(node, exp.Alias):
        only(node, "this", "alias")
        return Item(node.alias, _expression(node.this, {})), True
    expression = _expression(node, {})
    if isinstance(expression, Key) and expression.width is None and expression.part is None:
        return Item(expression.column, expression), False
    return Item(node.sql("duckdb", normalize_functions="lower"), expression), False


def _tests(node: Node, aliases: dict[str, Expression]) -> list[Test]:
    if isinstance(node, exp.Paren):
        return _tests(node.this, aliases)
    if isinstance(node, exp.And):
        return _tests(node.this, aliases) + _tests(node.expression, aliases)
    if type(node) not in _COMPARISONS:
        refuse(node, "HAVING takes comparisons of aggregates joined by AND")
    left, right = _expression(node.this, aliases), _expression(node.expression, aliases)
    return [Test(left, _COMPARISONS[type(node)], right)]


def _position(node: Node, items: tuple[Item, ...]) -> Expression | None:
    if not (isinstance(node, exp.Literal) and not node.is_string):
        return None
    place = constant_of(node)
    if place is None or place.denominator != 1 or not 1 <= place <= len(items):
        raise QuestionError(
            f"position {node.this} is no column of the answer, which has {several(len(items), 'column')}: write a name"
        )
    return items[int(place) - 1].expression


def _group(node: Node, items: tuple[Item, ...], aliases: dict[str, Expression]) -> Key | Unnest:
    key = _position(node, items) or _expression(node, {})
    if isinstance(key, Key) and key == Key(key.column):
        meant = aliases.get(key.column.casefold(), key)
        key = meant if isinstance(meant, (Key, Unnest)) else key
    if not isinstance(key, (Key, Unnest)):
        raise QuestionError(
            "GROUP BY takes columns, BIN(column, width), YEAR(day) MONTH(day), CASE, unnest(column), not calculations"
        )
    return key


def _is_renamed(node: Node, key: Key | Unnest) -> bool:
    """Whether a name after GROUP BY was taken for something else that is selected under it."""
    return isinstance(node, exp.Column) and key != Key(column_of(node))


def _distinct(node: Node, items: tuple[Item, ...], keys: list[Key | Unnest]) -> list[Key | Unnest]:
    """SELECT DISTINCT keys says the same as SELECT keys .. GROUP BY keys."""
    only(node)
    selected = [item.expression for item in items if isinstance(item.expression, (Key, Unnest))]
    if keys or len(selected) < len(items):
        raise QuestionError("DISTINCT goes with columns alone: leave it out, or ask COUNT(DISTINCT column)")
    return selected


def _order(node: Node, items: tuple[Item, ...], aliases: dict[str, Expression]) -> Order:
    only(node, "this", "desc", "nulls_first")
    return Order(_position(node.this, items) or _expression(node.this, aliases), bool(node.args.get("desc")))


def _limit(node: Node) -> int | None:
    if node is None:
        return None
    only(node, "expression")
    count = constant_of(node.expression)
    if count is None or count.denominator != 1 or count < 0:
        raise QuestionError("LIMIT takes a whole number")
    return int(count)


def _expression(node: Node, aliases: dict[str, Expression]) -> Expression:
    constant = constant_of(node)
    if constant is not None:
        return Number(constant)
    if isinstance(node, exp.Paren):
        return _expression(node.this, aliases)
    if isinstance(node, exp.Neg):
        return _calculated("-", Number(Fraction(0)), _expression(node.this, aliases))
    if type(node) in _ARITHMETIC:
        left, right = _expression(node.this, aliases), _expression(node.expression, aliases)
        return _calculated(_ARITHMETIC[type(node)], left, right)
    if isinstance(node, exp.Column):
        column = column_of(node)
        return aliases.get(column.casefold(), Key(column))
    if function_name(node) == "bin":
        return _bin(node)
    if _date_part(node) is not None:
        column, part = _column_and_part(node)
        return Key(column, part=part)
    if isinstance(node, exp.Explode):
        only(node, "this")
        return Unnest(column_of(node.this))
    if isinstance(node, exp.Case):
        return _case(node)
    if type(node) in FUNCTIONS:
        return _applied(node, aliases)
    if isinstance(node, exp.Literal) or is_date(node):
        raise QuestionError(
            "a text or date cannot be selected or compared in HAVING: compare it with a column after WHERE"
        )
    return _aggregate(node)


def _calculated(sign: Any, left: Expression, right: Expression) -> Expression:
    """A calculation of what was measured; or around a function of it, with a number."""
    if isinstance(left, Applied) and isinstance(right, Number):
        return Applied(sign, left, (right.value,))
    if isinstance(right, Applied) and isinstance(left, Number):
        return Applied(sign, right, (left.value,), place=1)
    if isinstance(left, Applied) or isinstance(right, Applied):
        raise QuestionError(
            "a function such as ROUND goes around a whole calculation, or is calculated with numbers alone: "
            "write ROUND(a + b) for ROUND(a) + ROUND(b), or select both"
        )
    return Arithmetic(sign, left, right)


def _applied(node: Node, aliases: dict[str, Expression]) -> Applied:
    """ROUND, ABS, SQRT, POWER, FLOOR, CEIL and COALESCE of an answer."""
    only(node, "this", "decimals", "expression", "expressions")
    others = [node.args.get("decimals"), node.args.get("expression"), *(node.expressions or ())]
    numbers = [constant_of(other) for other in others if other is not None]
    inner, name = _expression(node.this, aliases), function_name(node).upper()
    if isinstance(inner, (Key, Unnest, Number)) or None in numbers or len(numbers) > 1:
        raise QuestionError(f"{name} takes an aggregate, and beside it one number at most that is written out")
    return Applied(FUNCTIONS[type(node)], inner, tuple(number for number in numbers if number is not None))


def _case(node: Node) -> Key:
    """CASE as a key: the conditions of one column, and the label of each."""
    cases = [Case(_when(node, part), _label(part.args["true"])) for part in node.args["ifs"]]
    default = node.args.get("default")
    cases.append(Case(None, None if default is None else _label(default)))
    columns = {leaf.column.casefold(): leaf.column for case in cases for leaf in leaves(case.where)}
    if len(columns) != 1:
        raise QuestionError("CASE takes conditions on one column: for two, group by both")
    return Key(next(iter(columns.values())), cases=tuple(cases))


def _when(node: Node, part: Node) -> Predicate:
    only(node, "this", "ifs", "default")
    if node.this is None:
        return predicate_of(part.this)
    column, date_part = _column_and_part(node.this)
    return Compare(column, "=", value_of(part.this), date_part)


def _label(node: Node) -> Value | None:
    return None if isinstance(node, exp.Null) else value_of(node)


def _bin(node: Node) -> Key:
    arguments = arguments_of(node)
    width = constant_of(arguments[1]) if len(arguments) == 2 else None
    if width is None or width <= 0:
        raise QuestionError("BIN takes a column and a positive width, as in BIN(age, 10)")
    return Key(column_of(arguments[0]), width)


def _aggregate(node: Node) -> Expression:
    where: Predicate | None = None
    if isinstance(node, exp.Filter):
        where = predicate_of(node.expression.this)
        node = node.this
    called = function_name(node)
    if called in ("count", "sum", "avg") and isinstance(node.this, exp.Case):
        return _conditional(called, node.this, where)
    if called == "count":
        return _count(node, where)
    if called == "proportion":
        arguments = arguments_of(node)
        if len(arguments) != 1:
            raise QuestionError("PROPORTION takes one condition, as in PROPORTION(hobby = 'Cars')")
        chosen = Aggregate("count", where=both(where, predicate_of(arguments[0])))
        return Arithmetic("/", chosen, Aggregate("count", where=where))
    entry = aggregate_named(called)
    if entry is None:
        known = ("count", "proportion", *(name for definition in AGGREGATES.values() for name in definition.names))
        advice = did_you_mean(called or kind(node).casefold(), dict.fromkeys(known))
        refuse(node, f"only aggregates of columns are{advice}")
    (aggregate, argument), arguments = entry, arguments_of(node)
    columns = AGGREGATES[aggregate].columns
    takes = columns + (argument is GIVEN)
    if len(arguments) != takes:
        raise QuestionError(f"{called.upper()} takes {several(takes, 'argument')}, and got {len(arguments)}")
    if argument is GIVEN:
        argument = constant_of(arguments[-1])
        if argument is None:
            raise QuestionError(f"the last argument of {called.upper()} must be a number written out")
    return Aggregate(aggregate, tuple(column_of(node) for node in arguments[:columns]), argument, where)


def _conditional(called: str, node: Node, where: Predicate | None) -> Expression:
    """SUM, COUNT or AVG of CASE WHEN condition THEN 1 or a column, ELSE nothing or 0: those rows, counted or summed."""
    advice = f"{called.upper()} of a CASE takes one WHEN, THEN 1 or a column, and ELSE 0 or nothing: or use FILTER"
    branch, default = node.args["ifs"][0], node.args.get("default")
    nothing = default is None or isinstance(default, exp.Null)
    value, otherwise = constant_of(branch.args["true"]), None if nothing else constant_of(default)
    chosen = both(where, _when(node, branch))
    is_column = isinstance(branch.args["true"], exp.Column)
    if len(node.args["ifs"]) > 1 or not (is_column or value == 1) or not (nothing or otherwise == 0):
        raise QuestionError(advice)
    columns = (column_of(branch.args["true"]),) if is_column else ()
    if called == "count" and nothing:
        return Aggregate("count", columns, where=chosen)
    if called == "sum":
        return Aggregate("sum" if columns else "count", columns, where=chosen)
    if called == "avg" and is_column and nothing:
        return Aggregate("avg", columns, where=chosen)
    if called == "avg" and not columns and not nothing:
        return Arithmetic("/", Aggregate("count", where=chosen), Aggregate("count", where=where))
    raise QuestionError(advice)


def _count(node: Node, where: Predicate | None) -> Aggregate:
    only(node, "this", "big_int")
    if node.this is None or isinstance(node.this, exp.Star):
        return Aggregate("count", where=where)
    if isinstance(node.this, exp.Distinct):
        only(node.this, "expressions")
        if len(node.this.expressions) != 1:
            raise QuestionError("COUNT(DISTINCT ...) takes one column")
        (counted,) = node.this.expressions
        if isinstance(counted, exp.Explode):
            return Aggregate("items", (column_of(counted.this),), where=where)
        return Aggregate("distinct", (column_of(counted),), where=where)
    if constant_of(node.this) is not None:
        return Aggregate("count", where=where)
    if isinstance(node.this, exp.Predicate):  # which counts all rows in SQL, where it is not missing
        raise QuestionError(f"COUNT takes a column or *: for a condition count(*) FILTER (WHERE {node.this.sql()})")
    return Aggregate("count", (column_of(node.this),), where=where)


Node: TypeAlias = Any  # sqlglot's classes carry no useful static types
_COMPARISONS: dict[type, Operator] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip
_MIRRORED: dict[Operator, Operator] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def refuse(node: Node, advice: str) -> NoReturn:
    called = "" if node is None else f"the function {function_name(node)[:40]}" if function_name(node) else kind(node)
    raise QuestionError(f"{called} is not supported: {advice}" if called else advice)


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
            raise QuestionError(f"{clause} in {kind(node)} is not supported: leave it out")


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
            raise QuestionError("a number is divided by zero: correct the question")
        return top / bottom if top is not None and bottom else None
    return None


def column_of(node: Node) -> str:
    if not isinstance(node, exp.Column):
        refuse(node, "the name of a column was expected here, without a calculation")
    only(node, "this")
    if not isinstance(node.this, exp.Identifier):
        refuse(node.this, "name the column")
    return str(node.this.this)


def _date_part(node: Node) -> DatePart | None:
    """The part of a date that a function tells: YEAR(day), or EXTRACT(YEAR FROM day); None for anything else."""
    called = str(node.this).casefold() if isinstance(node, exp.Extract) else function_name(node)
    called = {"dow": "weekday", "dayofweek": "weekday", "day_of_week": "weekday"}.get(called, called)
    return next((part for part in DATE_PARTS if part == called), None)


def _column_and_part(node: Node) -> tuple[str, DatePart | None]:
    """A column that is compared, or a part of its dates."""
    part = _date_part(node)
    if part is None:
        return column_of(node), None
    (argument, *others) = [node.expression] if isinstance(node, exp.Extract) else arguments_of(node) or [None]
    if others:
        raise QuestionError(f"{part.upper()} takes one column")
    return column_of(argument), part


def arguments_of(node: Node) -> list[Node]:
    if isinstance(node, exp.Anonymous):
        only(node, "this", "expressions")
        return list(node.expressions)
    given = [node.this, node.args.get("expression") or node.args.get("quantile"), *(node.expressions or ())]
    only(node, "this", "expression", "quantile", "expressions", "big_int")
    return [argument for argument in given if argument is not None]


def is_date(node: Node) -> bool:
    """DATE '2024-01-31' or TIME '08:30', which say no more than the text alone."""
    if type(node) is not exp.Cast or not node.to.is_type("date", "time"):
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
    if isinstance(node, exp.Null):
        raise QuestionError("nothing compares with NULL: ask IS NULL or IS NOT NULL")
    if isinstance(node, exp.Column):
        name = column_of(node)
        bare = name.strip("‘’‚‛“”„‟«»‹›`´")
        straight = "straight single quotes" if bare != name else "single quotes"  # a word processor bends them
        advice = f"write a text in {straight}, as in '{bare}'"
        raise QuestionError(f"a value was expected and the name {name!r} was found: {advice}")
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
    if type(node) in _COMPARISONS:
        operator = _COMPARISONS[type(node)]
        value_first = is_date(node.this) or not isinstance(node.this, (exp.Column, exp.Func))
        compared, value = node.this, node.expression
        if value_first and (isinstance(value, exp.Column) or _date_part(value) is not None):
            compared, value, operator = value, compared, _MIRRORED[operator]
        column, part = _column_and_part(compared)
        return Compare(column, operator, value_of(value), part)
    if isinstance(node, exp.Between):
        only(node, "this", "low", "high")
        (column, part), low, high = _column_and_part(node.this), value_of(node.args["low"]), value_of(node.args["high"])
        return And((Compare(column, ">=", low, part), Compare(column, "<=", high, part)))
    if isinstance(node, exp.In):
        field = node.args.get("field")
        if isinstance(field, exp.Column):
            of_a_set = f"list_contains({column_of(node.args['field'])}, {node.this.sql()})"
            raise QuestionError(f"IN takes values in brackets; of a set ask {of_a_set}")
        if field is not None:
            raise QuestionError(f"IN takes values in brackets, such as IN ({field.sql()})")
        only(node, "this", "expressions")
        column, part = _column_and_part(node.this)
        return Among(column, tuple(value_of(value) for value in node.expressions), part)
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        return Missing(column_of(node.this))
    if isinstance(node, exp.ArrayContains) or function_name(node) == "list_has":
        arguments = arguments_of(node)
        if len(arguments) == 2:
            return Contains(column_of(arguments[0]), value_of(arguments[1]))
    if isinstance(node, exp.Column):
        return Compare(column_of(node), "=", True)
    refuse(node, "a condition compares a column with values: =, <>, <, BETWEEN, IN, IS NULL, list_contains")


_ONE_TABLE = "ask FROM one table by its name, without joins, functions or files"
_PLAIN = "a subquery may only name columns and choose rows with WHERE"


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a table: the columns by the names they have here (None: all, by their own), and what holds of them."""

    table: str
    columns: Mapping[str, str] | None = None
    conditions: tuple[Node, ...] = ()


def _with(select: Node, known: Mapping[str, Rows]) -> dict[str, Rows]:
    """What WITH names, each from those before it."""
    sources, clause = dict(known), select.args.get("with_") or select.args.get("with")
    if clause is not None:
        only(clause, "expressions")
        for common in clause.expressions:
            only(common, "this", "alias")
            sources[_alias(common).casefold()] = _subquery(common.this, sources)
        select.set("with_", None)
        select.set("with", None)
    return sources


def _subquery(select: Node, known: Mapping[str, Rows]) -> Rows:
    """The rows that an inner SELECT of columns gives."""
    if not isinstance(select, exp.Select):
        refuse(select, _PLAIN)
    for clause, value in select.args.items():
        if value and clause not in ("expressions", "from_", "from", "where", "with_", "with"):
            raise QuestionError(f"{clause.rstrip('_').upper()} in a subquery is not supported: {_PLAIN}")
    inside = _written_out(select, _with(select, known))
    where = select.args.get("where")
    conditions = () if where is None else (where.this,)
    if len(select.expressions) == 1 and isinstance(select.expressions[0], exp.Star):
        only(select.expressions[0])
        return Rows(inside.table, inside.columns, conditions)
    columns: dict[str, str] = {}
    for node in select.expressions:
        column = node.this if isinstance(node, exp.Alias) else node
        if not isinstance(column, exp.Column):
            refuse(column, _PLAIN)
        columns[(node.alias or column_of(column)).casefold()] = column_of(column)
    if len(columns) < len(select.expressions):
        raise QuestionError("two columns of a subquery have the same name: give one another name with AS")
    return Rows(inside.table, columns, conditions)


def _written_out(select: Node, known: Mapping[str, Rows]) -> Rows:
    """The rows a SELECT asks; its columns become those of the table, and what holds of the rows joins its WHERE."""
    source = select.args.get("from_") or select.args.get("from")
    if source is None:
        raise QuestionError("the question names no table: add FROM and the table's name")
    only(source, "this")
    for join in select.args.get("joins") or ():  # before its columns, whose tables would be unknown
        refuse(join, _ONE_TABLE)
    node = source.this
    if isinstance(node, exp.Subquery):
        only(node, "this", "alias")
        rows, names = _subquery(node.this, known), {_alias(node).casefold()}
    elif isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
        only(node, "this", "alias")
        table = str(node.this.this)
        rows, names = known.get(table.casefold(), Rows(table)), {table.casefold(), _alias(node).casefold()}
    else:
        refuse(node.this if isinstance(node, exp.Table) else node, _ONE_TABLE)
    for column in _columns(select):
        table_name = column.args.get("table")
        if table_name is not None:
            if str(table_name.this).casefold() not in names:
                raise QuestionError(f"there is no table {str(table_name.this)!r} after FROM")
            column.set("table", None)
    if rows.columns is not None:
        _rename(select, rows.columns)
    if rows.conditions:
        where = select.args.get("where")
        conditions = [part.copy() for part in rows.conditions] + ([] if where is None else [where.this])
        select.set("where", exp.Where(this=exp.and_(*conditions)))
    return rows


def _rename(select: Node, columns: Mapping[str, str]) -> None:
    """Put the table's names for those that a subquery gave; what is selected keeps the name that was written."""
    aliases = {node.alias.casefold() for node in select.expressions if isinstance(node, exp.Alias)}
    for place, node in enumerate(select.expressions):
        if not isinstance(node, (exp.Alias, exp.Star)):
            is_column = isinstance(node, exp.Column)
            written = column_of(node) if is_column else node.sql("duckdb", normalize_functions="lower")
            select.expressions[place].replace(exp.alias_(node.copy(), written, quoted=True))
    for column in list(_columns(select)):
        name = column_of(column)
        clause = column.find_ancestor(exp.Group, exp.Having, exp.Order)
        if clause is not None and clause.parent is select and name.casefold() in aliases:
            continue
        if name.casefold() not in columns:
            raise QuestionError(f"the subquery gives no column {name!r}{did_you_mean(name, columns)}")
        column.set("this", exp.to_identifier(columns[name.casefold()], quoted=True))


def _columns(select: Node) -> Iterator[Node]:
    """The columns that a SELECT names, but for those inside its source."""
    for clause, value in select.args.items():
        if clause not in ("from_", "from", "with_", "with"):
            for node in value if isinstance(value, list) else [value]:
                if isinstance(node, exp.Expression):
                    yield from node.find_all(exp.Column)


def _alias(node: Node) -> str:
    alias = node.args.get("alias")
    if alias is None:
        return ""
    only(alias, "this")
    return str(alias.this.this) if alias.this is not None else ""


@dataclass(frozen=True, slots=True)
class Select:
    """A question for a release or a curator, built step by step; every step gives a new one.

    >>> Select().mean("age").where(sex="f").question().select[0].alias
    'mean_age'
    """

    aggregates: tuple[tuple[str, Aggregate], ...] = ()
    condition: Predicate | None = None
    keys: tuple[Key, ...] = ()

    def count(self) -> Select:
        """Ask for the number of rows."""
        return self._with("count", Aggregate("count"))

    def total(self, column: str) -> Select:
        """Ask for the sum of a column."""
        return self._with(f"total_{_column(column)}", Aggregate("sum", (column,)))

    def mean(self, column: str) -> Select:
        """Ask for the mean of a column."""
        return self._with(f"mean_{_column(column)}", Aggregate("avg", (column,)))

    def quantile(self, column: str, probability: Any = Fraction(1, 2)) -> Select:
        """Ask for a quantile of a column; its median unless told otherwise."""
        given = exact(probability, "probability")
        return self._with(f"quantile_{_column(column)}", Aggregate("quantile", (column,), given))

    def top(self, column: str, number: int = 1) -> Select:
        """Ask for the values, or the items of sets, that occur most often."""
        given = Fraction(whole(number, "number", 1))
        return self._with(f"top_{_column(column)}", Aggregate("top", (column,), given))

    def where(self, /, *conditions: str, **values: Any) -> Select:
        """Only rows that satisfy these conditions, written as after WHERE, and have these values."""
        condition = self.condition
        for text in conditions:
            condition = both(condition, parse_predicate(text))
        for column, value in values.items():
            condition = both(condition, Compare(column, "=", _value(value)))
        return replace(self, condition=condition)

    def group_by(self, *columns: str, **widths: Any) -> Select:
        """One answer for each value of these columns, or bins of these widths: group_by("sex", age=10)."""
        bins = tuple(Key(column, exact(width, "a width")) for column, width in widths.items())
        return replace(self, keys=self.keys + tuple(Key(_column(column)) for column in columns) + bins)

    def question(self, table: str = "data") -> Question:
        """The finished question."""
        if not self.aggregates:
            raise QuestionError("the question asks for nothing yet: add .count(), .mean(column) or another")
        keys = [Item(key.column, key) for key in self.keys]
        return Question(table, (*keys, *(Item(*pair) for pair in self.aggregates)), self.condition, self.keys)

    def _with(self, alias: str, aggregate: Aggregate) -> Select:
        return replace(self, aggregates=(*self.aggregates, (alias, aggregate)))


Asked: TypeAlias = str | Question | Select


def as_question(asked: Asked, table: str = "data") -> Question:
    """SQL, or what was built, as a question.

    >>> as_question(Select().count()) == as_question('SELECT count(*) AS "count" FROM data')
    True
    """
    if isinstance(asked, str):
        return parse(asked)
    if isinstance(asked, Select):
        return asked.question(table)
    return expect(asked, Question, "a question", "SQL in a text, or built with Select()")


def _column(name: Any) -> str:
    return expect(name, str, "column", "the name of a column")


def _value(value: Any) -> Value:
    if isinstance(value, date):
        return str(value)
    return value if isinstance(value, (str, bool)) else exact(value, "a value")

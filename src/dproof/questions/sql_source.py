"""FROM: one table by its name, also behind an alias, a subquery or WITH that only rename columns and choose rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from dproof.errors import InputError, did_you_mean
from dproof.questions.sql_nodes import Node, column_of, only, refuse

_ONE_TABLE = "ask FROM one table by its name, without joins, functions or files"
_PLAIN = "a subquery may only name columns and choose rows with WHERE"


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a table: the columns by the names they have here (None: all, by their own), and what holds of them."""

    table: str
    columns: Mapping[str, str] | None = None
    conditions: tuple[Node, ...] = ()


def one_table(select: Node) -> str:
    """The table that a SELECT asks; the SELECT itself is rewritten so that it names this table's columns."""
    rows = _written_out(select, _with(select, {}))
    return rows.table


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
            raise InputError(f"{clause.rstrip('_').upper()} in a subquery is not supported: {_PLAIN}")
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
        raise InputError("two columns of a subquery have the same name: give one another name with AS")
    return Rows(inside.table, columns, conditions)


def _written_out(select: Node, known: Mapping[str, Rows]) -> Rows:
    """The rows a SELECT asks; its columns become those of the table, and what holds of the rows joins its WHERE."""
    source = select.args.get("from_") or select.args.get("from")
    if source is None:
        raise InputError("the question names no table: add FROM and the table's name")
    only(source, "this")
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
                raise InputError(f"there is no table {str(table_name.this)!r} after FROM")
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
            written = (
                column_of(node) if isinstance(node, exp.Column) else node.sql("duckdb", normalize_functions="lower")
            )
            select.expressions[place].replace(exp.alias_(node.copy(), written, quoted=True))
    for column in list(_columns(select)):
        name = column_of(column)
        clause = column.find_ancestor(exp.Group, exp.Having, exp.Order)
        if clause is not None and clause.parent is select and name.casefold() in aliases:
            continue
        if name.casefold() not in columns:
            raise InputError(f"the subquery gives no column {name!r}{did_you_mean(name, columns)}")
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

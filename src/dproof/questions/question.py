"""A question on a table: the one closed grammar that a curator and a release both answer, its check, and its text.

A question is a value, not a text. What is not in these classes cannot be asked, so nothing that a user writes ever
reaches an engine that holds rows. HLM15, section 2.2.

First conditions on rows: comparisons of columns with values, joined by AND, OR and NOT; then what is asked of them;
then what is publicly known about a table, and the check against it; then the text that a ledger keeps, a cache compares
and a person reads. It is SQL of the grammar itself, so it parses back to the same question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Any, Literal, TypeAlias, get_args, overload

from dproof.arguments import expect, mapping
from dproof.columns.codec import quoted, text_literal
from dproof.columns.values import PLAIN
from dproof.errors import InputError, QuestionError, did_you_mean
from dproof.exact import decimals, exact, int_or_float
from dproof.limits import MOST_DECIMALS
from dproof.questions.aggregates import AGGREGATES, Definition, Rank
from dproof.spaces import Space
from dproof.spaces.interval import Bins
from dproof.spaces.space import as_space

Value: TypeAlias = str | bool | Fraction
Operator = Literal["=", "<>", "<", "<=", ">", ">="]
DatePart = Literal["year", "quarter", "month", "weekday", "hour"]
DATE_PARTS: tuple[DatePart, ...] = get_args(DatePart)


@dataclass(frozen=True, slots=True)
class Compare:
    """column operator value; a missing value satisfies no comparison. With a `part` it is that part of a date."""

    column: str
    operator: Operator
    value: Value
    part: DatePart | None = None


@dataclass(frozen=True, slots=True)
class Among:
    """column IN (values), or that part of a date."""

    column: str
    values: tuple[Value, ...]
    part: DatePart | None = None


@dataclass(frozen=True, slots=True)
class Contains:
    """list_contains(column, item): the set of this row has the item."""

    column: str
    item: Value


@dataclass(frozen=True, slots=True)
class Missing:
    """column IS NULL."""

    column: str


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: Predicate


Leaf: TypeAlias = Compare | Among | Contains | Missing
Atom: TypeAlias = Leaf | Not  # in the normal form
Predicate: TypeAlias = Leaf | And | Or | Not


# What is asked of the rows --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Number:
    value: Fraction


@dataclass(frozen=True, slots=True)
class Case:
    """One WHEN .. THEN .. of a CASE; without a condition its ELSE."""

    where: Predicate | None
    label: Value | None


@dataclass(frozen=True, slots=True)
class Key:
    """What groups are made of: the value of a column, or with a width its bin [k·width, (k+1)·width).

    With `cases` it is the label of the first one whose condition on the column holds; the last has none. With a `part`
    it is that part of a date.
    """

    column: str
    width: Fraction | None = None
    cases: tuple[Case, ...] = ()
    part: DatePart | None = None


@dataclass(frozen=True, slots=True)
class Unnest:
    """The items of a column of sets: a row belongs to the group of each item that its set has."""

    column: str
    items: tuple[Value, ...] = ()  # as declared


@dataclass(frozen=True)  # without slots: its entry is looked up once
class Aggregate:
    """One statistic of the rows of a group that satisfy `where`; `kind` is its name in the table of aggregates.

    `columns` is empty for COUNT(*) and has two names for covar and corr. `argument` is q for a quantile (a
    median is q = 1/2), k for top, and for var, stddev and covar what is taken from n in the divisor: 1 for a
    sample, 0 for a population.
    """

    kind: str
    columns: tuple[str, ...] = ()
    argument: Fraction | None = None
    where: Predicate | None = None

    @cached_property
    def definition(self) -> Definition:
        """Its entry in the table of aggregates."""
        return AGGREGATES[self.kind]

    @property
    def end(self) -> Literal["least", "greatest"] | None:
        """The end of a distribution that is asked for: by MIN and MAX, and by a quantile at 0 or 1; else None.

        >>> Aggregate("max", ("age",)).end, Aggregate("quantile", ("age",), Fraction(0)).end
        ('greatest', 'least')
        """
        chosen = self.definition.chosen
        if not isinstance(chosen, Rank) or self.argument not in (None, 0, 1):
            return None
        return chosen.end if self.argument is None else "greatest" if self.argument else "least"

    def __reduce__(self) -> tuple[Any, ...]:
        """Goes to another process without its entry: a formula does not."""
        return Aggregate, (self.kind, self.columns, self.argument, self.where)


@dataclass(frozen=True, slots=True)
class Arithmetic:
    operator: Literal["+", "-", "*", "/"]
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Applied:
    """A function of what was answered, such as ROUND(.., 2); also + − × ÷ with a number, around such a function.

    `place` is where the answer stands among the arguments, and `numbers` are the others.
    """

    function: str
    inner: Expression
    numbers: tuple[Fraction, ...] = ()
    place: int = 0


Part: TypeAlias = Number | Key | Unnest | Aggregate
Expression: TypeAlias = Part | Arithmetic | Applied


@overload
def leaves(tree: Predicate | None) -> tuple[Leaf, ...]: ...
@overload
def leaves(tree: Expression) -> tuple[Part, ...]: ...
def leaves(tree: Any) -> Any:
    """The conditions that a predicate joins, or the numbers, keys and aggregates of an expression, left to right."""
    match tree:
        case And(parts) | Or(parts):
            return tuple(leaf for part in parts for leaf in leaves(part))
        case Not(part) | Applied(inner=part):
            return leaves(part)
        case Arithmetic(_, left, right):
            return leaves(left) + leaves(right)
        case _:
            return () if tree is None else (tree,)


def mapped(tree: Any, change: Callable[[Any], Any]) -> Any:
    """A predicate or an expression with each of its leaves changed."""
    match tree:
        case And(parts) | Or(parts):
            return type(tree)(tuple(mapped(part, change) for part in parts))
        case Not(part):
            return Not(mapped(part, change))
        case Arithmetic(sign, left, right):
            return Arithmetic(sign, mapped(left, change), mapped(right, change))
        case Applied(inner=inner):
            return replace(tree, inner=mapped(inner, change))
        case _:
            return change(tree)


_OPPOSITE: dict[Operator, Operator] = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def normal(predicate: Predicate, *, negated: bool = False) -> Predicate:
    """A predicate in normal form: NOT only on IN, list_contains and IS NULL, and nested AND and OR made flat.

    A comparison and its negation are false of a missing value: this form keeps SQL's three-valued meaning.

    >>> normal(Not(And((Compare("age", "<", Fraction(3)), Missing("sex")))))
    Or(parts=(Compare(column='age', operator='>=', value=Fraction(3, 1), part=None), Not(part=Missing(column='sex'))))
    """
    match predicate:
        case Compare(operator=operator):
            return replace(predicate, operator=_OPPOSITE[operator]) if negated else predicate
        case Not(part):
            return normal(part, negated=not negated)
        case And(parts) | Or(parts):
            joiner = Or if isinstance(predicate, And) == negated else And
            flat: list[Predicate] = []
            for part in parts:
                reduced = normal(part, negated=negated)
                flat.extend(reduced.parts if isinstance(reduced, joiner) else [reduced])
            return flat[0] if len(flat) == 1 else joiner(tuple(flat))
        case _:
            return Not(predicate) if negated else predicate


def both(left: Predicate | None, right: Predicate | None) -> Predicate | None:
    """The conjunction, where None is no condition at all."""
    if left is None or right is None:
        return right if left is None else left
    return normal(And((left, right)))


def atoms(predicate: Predicate | None) -> tuple[Atom, ...]:
    """What a predicate joins by AND and OR, from left to right."""
    if isinstance(predicate, (And, Or)):
        return tuple(atom for part in predicate.parts for atom in atoms(part))
    return () if predicate is None else (predicate,)


# The question itself --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Item:
    """One column of the answer."""

    alias: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class Test:
    """left operator right, of a whole group: one comparison of HAVING."""

    left: Expression
    operator: Operator
    right: Expression


@dataclass(frozen=True, slots=True)
class Order:
    expression: Expression
    descending: bool = False


@dataclass(frozen=True)  # without slots: what follows from it is worked out once
class Question:
    """SELECT .. FROM .. WHERE .. GROUP BY .. HAVING (all of the tests) ORDER BY .. LIMIT ..

    `unnest` has the items that rows are grouped by as well, if they are. `named_keys` are the names after GROUP BY that
    were taken for something else that is selected under them: SQL takes them for columns, where there are such.
    """

    table: str
    select: tuple[Item, ...]
    where: Predicate | None = None
    group_by: tuple[Key, ...] = ()
    having: tuple[Test, ...] = ()
    order_by: tuple[Order, ...] = ()
    limit: int | None = None
    unnest: Unnest | None = None
    named_keys: tuple[str, ...] = ()

    @cached_property
    def tested(self) -> tuple[Expression, ...]:
        """Both sides of every comparison of HAVING."""
        return tuple(side for test in self.having for side in (test.left, test.right))

    @cached_property
    def expressions(self) -> tuple[Expression, ...]:
        """Every expression that is measured: of what is selected, tested and ordered by; for each item by itself."""
        wholes = *(item.expression for item in self.select), *self.tested, *(o.expression for o in self.order_by)
        return tuple(part for whole in wholes for part in measured_parts(whole, self.unnest))

    @cached_property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """The distinct aggregates that a question needs, in order of appearance.

        >>> n = Aggregate("count")
        >>> Question("data", (Item("a", n), Item("b", Arithmetic("*", n, Number(Fraction(2)))))).aggregates
        (Aggregate(kind='count', columns=(), argument=None, where=None),)
        """
        return tuple(dict.fromkeys(part for expression in self.expressions for part in aggregates_of(expression)))

    @cached_property
    def estimated(self) -> tuple[Item, ...]:
        """The columns of the answer that are calculated from aggregates."""
        return tuple(item for item in self.select if aggregates_of(item.expression))

    @cached_property
    def by_text(self) -> tuple[dict[str, Key], dict[str, Aggregate]]:
        """The keys and the aggregates by their texts, in the order of these: one for all spellings of a question."""
        keys = {expression(key): key for key in self.group_by}
        measured = {expression(aggregate): aggregate for aggregate in self.aggregates}
        return dict(sorted(keys.items())), dict(sorted(measured.items()))

    @cached_property
    def wheres(self) -> tuple[Predicate | None, ...]:
        """The condition on all rows, and those of the aggregates."""
        return self.where, *(aggregate.where for aggregate in self.aggregates)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Every column that a question touches, in order of appearance."""
        names = [leaf.column for leaf in leaves(self.where)] + [key.column for key in self.group_by]
        for aggregate in self.aggregates:
            names += [*aggregate.columns, *(leaf.column for leaf in leaves(aggregate.where))]
        return tuple(dict.fromkeys(names))

    @property
    def by_item(self) -> list[Question]:
        """The questions about each item by itself, where rows are grouped by items; else this one."""
        unnest = self.unnest
        return [self] if unnest is None else [replace(self, unnest=replace(unnest, items=(i,))) for i in unnest.items]

    def only(self, expressions: Sequence[Expression]) -> Question:
        """The question with some of its expressions alone, whatever its rows are chosen and sorted by."""
        alone = tuple(Item("", part) for part in expressions)
        return replace(self, select=alone, having=(), order_by=(), limit=None, unnest=None)

    @property
    def columns_needed(self) -> list[frozenset[str]]:
        """For each expression with an aggregate, the columns that it needs together: its own, conditions and groups.

        >>> Question("data", (Item("a", Aggregate("avg", ("age",))), Item("n", Aggregate("count")))).columns_needed
        [frozenset({'age'}), frozenset()]
        """
        alone = (self.only([part]) for part in self.expressions if aggregates_of(part))
        return list(dict.fromkeys(frozenset(one.columns) for one in alone)) or [frozenset(self.columns)]


def aggregates_of(expression: Expression) -> tuple[Aggregate, ...]:
    """The aggregates of an expression, from left to right."""
    return tuple(part for part in leaves(expression) if isinstance(part, Aggregate))


def measured_parts(expression: Expression, unnest: Unnest | None) -> list[Expression]:
    """What is measured to tell an expression: without functions around it, and once for each item of sets."""
    while isinstance(expression, Applied):
        expression = expression.inner
    if unnest is None or not aggregates_of(expression):
        return [expression]
    return [_of_item(expression, Contains(unnest.column, item)) for item in unnest.items]


def _of_item(expression: Expression, has: Contains) -> Any:
    def limited(part: Part) -> Part:
        return replace(part, where=both(part.where, has)) if isinstance(part, Aggregate) else part

    return mapped(expression, limited)


# What is publicly known about a table, and the check of a question against it ----------------------------------------

_ALONE = "column {0!r} holds curves: ask for AVG({0}) or SUM({0}) by itself"
_TAKES = {"power": (1, 1), "coalesce": (1, 1), "round": (0, 1)}  # how many numbers; of other functions none


@dataclass(frozen=True, slots=True)
class Open:
    """A column whose values nobody declared: a public one, or numbers without bounds (but for `low`).

    A question may ask anything of it. Whether it has an answer is decided where its values would be needed.
    """

    low: Fraction | None = None
    line = items = absent = None
    holds_curves = False
    has_numbers = has_order = has_sums = True

    def __post_init__(self) -> None:
        if self.low is not None:
            object.__setattr__(self, "low", exact(self.low, "low"))

    @property
    def ends(self) -> tuple[Fraction | float, float]:
        """The least and the greatest number."""
        return -inf if self.low is None else self.low, inf

    def refusal(self, value: Any, *, ordered: bool = False) -> None:
        """Why a value cannot be asked about: nothing forbids it."""
        return None


@dataclass(frozen=True)  # without slots: what follows from it is worked out once
class Schema:
    """What is public about a table that is asked about: its name, and the space of each column.

    The `nullable` columns have rows with the code `MISSING`, those of the true table that the plan has nothing for;
    `null_groups` are those of them whose missing values the plan declares, so that they are a group of the answer. A
    release has none: a missing value is `absent` there, a value of its own. Either is NULL to a question.
    Where values were counted in bins, `bins` has these, and a key without a width groups by them.

    >>> from dproof.spaces import Categories
    >>> Schema("data", {"hobby": Categories(["Cars", "Reading"])}).find("HOBBY")
    'hobby'
    """

    table: str
    spaces: Mapping[str, Space | Open]
    nullable: frozenset[str] = frozenset()
    null_groups: frozenset[str] = frozenset()
    bins: Mapping[str, Bins] = field(default_factory=dict)
    # Groups, regions, cuts and terms, worked out once for each question; `resolve` forgets those of the one before.
    cache: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def is_open(self, column: str) -> bool:
        """Whether nobody declared the values of a column."""
        return column in self.open_columns

    @cached_property
    def open_columns(self) -> frozenset[str]:
        """The columns whose values nobody declared."""
        return frozenset(column for column, space in self.spaces.items() if isinstance(space, Open))

    @cached_property
    def may_be_missing(self) -> frozenset[str]:
        """The columns of which a value may be missing: not there, or a value of its own."""
        return self.nullable | {column for column, space in self.spaces.items() if space.absent is not None}

    @cached_property
    def with_undeclared_missing(self) -> Schema:
        """The schema in which any value of a column that nobody declared may be missing too."""
        return replace(self, nullable=self.nullable | self.open_columns) if self.open_columns else self

    def open_number(self, column: str) -> Fraction:
        """A number that an open column may have, as it may have any that is greater."""
        space = self.spaces[column]
        assert isinstance(space, Open)
        return space.low or Fraction(0)

    def declared(self, column: str) -> Space:
        """The space of a column whose values are declared."""
        space = self.spaces[column]
        assert not isinstance(space, Open)
        return space

    def find(self, column: str, *, missing: bool = False, curves: bool = False) -> str:
        """The declared column of that name; case matters only where two names differ by nothing else.

        A column of curves is found only by what asks for `curves`, or for those that are `missing`, where some may be.
        """
        same = [known for known in self.spaces if known.casefold() == column.casefold()]
        if column not in self.spaces and len(same) != 1:
            holder = self._item_called(column)
            if holder is None:
                raise QuestionError(f"there is no column {column!r}{did_you_mean(column, self.spaces)}")
            written = holder[0] if holder[0].isidentifier() else quoted(holder[0])
            asked = f"list_contains({written}, {text_literal(holder[1])})"
            raise QuestionError(f"{column!r} is no column, but an item of {holder[0]!r}: ask {asked}")
        name = column if column in self.spaces else same[0]
        if self.spaces[name].holds_curves and not curves and not (missing and name in self.may_be_missing):
            raise QuestionError(_ALONE.format(name))
        return name

    def _item_called(self, name: str) -> tuple[str, str] | None:
        """The column of sets, and the item of it, that a name means: a box is called by the item, or by both."""
        for column, space in self.spaces.items():
            for item in () if isinstance(space, Open) else map(str, space.items or ()):
                if name == item or (name.startswith(column) and name.endswith(item)):
                    return column, item
        return None


def as_schema(table: Any) -> Schema:
    """A schema as it is, or from a mapping of each column to its space."""
    if isinstance(table, Schema):
        return table
    columns = mapping(table, "table", "a mapping from each column to its space")
    for column, space in columns.items():
        expect(column, str, "each column of the table", "a name")
        if not isinstance(space, Open) and not getattr(space, "holds_curves", False):
            as_space(space, f"the space of column {column[:40]!r} of the table")
    return Schema("data", columns)


def shown_as(expression: Expression, schema: Schema) -> Space | None:
    """The space whose values an expression has, where these are shown otherwise than as numbers."""
    if not isinstance(expression, Aggregate) or not expression.definition.is_value:
        return None
    space = schema.spaces[expression.columns[0]]
    return schema.declared(expression.columns[0]) if space.has_numbers and not space.has_sums else None


def is_curve(expression: Expression, schema: Schema) -> bool:
    """Whether an expression is an aggregate of curves; how many curves there are is a count like any other."""
    if not isinstance(expression, Aggregate) or expression.definition.counts:
        return False
    return any(schema.spaces[column].holds_curves for column in expression.columns)


def asks_for_curves(question: Question, schema: Schema) -> bool:
    """Whether a checked question asks for curves: then for those of one column, and for nothing else."""
    return any(is_curve(aggregate, schema) for aggregate in question.aggregates)


def resolve(question: Question, schema: Schema) -> Question:
    """The question with every name and value checked and spelt as declared.

    >>> from dproof.questions.sql import parse
    >>> from dproof.spaces import Categories
    >>> hobbies = Schema("data", {"hobby": Categories(["Cars", "Reading"])})
    >>> resolve(parse("SELECT count(*) FROM data WHERE hobby = 'Car'"), hobbies)
    Traceback (most recent call last):
    dproof.errors.QuestionError: column 'hobby' has no value 'Car'; did you mean 'Cars'?
    """
    if question.table.casefold() != schema.table.casefold():
        raise QuestionError(f"there is no table {question.table!r}: ask FROM {schema.table}")

    schema.cache.clear()
    for alias in question.named_keys:
        if any(known.casefold() == alias.casefold() for known in schema.spaces):
            raise QuestionError(
                f"GROUP BY {alias} means the column of that name, and something else is selected AS {alias}: choose "
                "another name for it"
            )

    def checked(expression: Any) -> Any:
        return mapped(expression, lambda part: _CHECKS[type(part)](part, schema))

    found = replace(
        question,
        table=schema.table,
        select=tuple(replace(item, expression=checked(item.expression)) for item in question.select),
        where=_predicate(question.where, schema),
        group_by=tuple(dict.fromkeys(map(checked, question.group_by))),
        having=tuple(replace(test, left=checked(test.left), right=checked(test.right)) for test in question.having),
        order_by=tuple(replace(order, expression=checked(order.expression)) for order in question.order_by),
        unnest=None if question.unnest is None else _unnest(question.unnest, schema),
        named_keys=(),
    )
    _check_groups(found)
    _check_curves(found, schema)
    shown = [item.expression for item in found.select] + [order.expression for order in found.order_by]
    for whole in (*shown, *found.tested):
        _check_functions(whole)
    inside = [part for whole in (*shown, *found.expressions) for part in leaves(whole) if part is not whole]
    if any(shown_as(expression, schema) is not None for expression in (*found.tested, *inside)):
        raise QuestionError(
            "dates and times of day cannot be used in calculations or in HAVING: select them by themselves"
        )
    aliases = [item.alias for item in found.select]
    for alias in aliases:
        if aliases.count(alias) > 1:
            raise QuestionError(f"two columns of the answer are called {alias!r}: give one another name with AS")
    return found


def _check_groups(question: Question) -> None:
    """Refuse a question for rows, and columns that are neither grouped by nor in an aggregate."""
    keys = (*question.group_by, *([] if question.unnest is None else [question.unnest]))
    if question.unnest is not None and not question.aggregates:
        raise QuestionError(f"select an aggregate beside unnest({question.unnest.column}), such as COUNT(*)")
    if not question.aggregates and not keys:
        raise QuestionError("a question asks for aggregates such as COUNT(*) or AVG(age), not for rows")
    for part in (part for expression in question.expressions for part in leaves(expression)):
        if isinstance(part, (Key, Unnest)) and part not in keys:
            raise QuestionError(
                f"column {part.column!r} is neither in an aggregate nor in GROUP BY: add GROUP BY {part.column}"
            )


def _check_curves(question: Question, schema: Schema) -> None:
    curves = [aggregate for aggregate in question.aggregates if is_curve(aggregate, schema)]
    if not curves:
        return
    if question.having or question.order_by or question.limit is not None:
        raise QuestionError("HAVING, ORDER BY and LIMIT do not go with curves: leave them out")
    beside = [i for i in question.select if not isinstance(i.expression, Key) and not is_curve(i.expression, schema)]
    columns = sorted({column for aggregate in curves for column in aggregate.columns})
    if beside or len(columns) > 1:
        raise QuestionError(_ALONE.format(next(column for column in columns if schema.spaces[column].holds_curves)))


def _check_functions(expression: Expression) -> None:
    """Refuse a function that takes other arguments, or that is put around what is no number."""
    while isinstance(expression, Applied):
        function, numbers = expression.function, expression.numbers
        least, most = _TAKES.get(function, (0, 0)) if function.isalpha() else (1, 1)
        if not least <= len(numbers) <= most:
            raise QuestionError(
                f"{function.upper()} takes {'one number' if least else 'no number'} beside the aggregate"
            )
        if function == "round" and any(n.denominator > 1 or abs(n) > MOST_DECIMALS for n in numbers):
            raise QuestionError(f"ROUND takes a whole number of decimals, at most {MOST_DECIMALS}")
        expression = expression.inner
        if any(aggregate.definition.is_by_count for aggregate in aggregates_of(expression)):
            raise QuestionError("a mode or a top list is not a number to calculate with: ask for it on its own")


def _key(key: Key, schema: Schema) -> Key:
    column = schema.find(key.column)
    if key.width is not None and not (key.width > 0 and schema.spaces[column].has_numbers):
        raise QuestionError(f"BIN needs a column of numbers and a positive width: BIN({column}, {key.width})")
    cases = tuple(replace(case, where=_predicate(case.where, schema)) for case in key.cases)
    if cases and schema.is_open(column):
        raise QuestionError(f"column {column!r} has no declared values, so CASE cannot group by it")
    if key.part is not None:
        _check_part(key.part, column, schema)
    return Key(column, key.width, cases, key.part)


def _unnest(unnest: Unnest, schema: Schema) -> Unnest:
    column = schema.find(unnest.column)
    space = schema.spaces[column]
    if space.items is None:
        raise QuestionError(f"unnest takes a column of sets, and {column!r} is none: group by the column itself")
    items = space.items[: schema.declared(column).candidates]
    return Unnest(column, tuple(item if isinstance(item, (str, bool)) else exact(item) for item in items))


def _aggregate(aggregate: Aggregate, schema: Schema) -> Aggregate:
    definition, argument = aggregate.definition, aggregate.argument
    wanted = {"missing": definition.counts == "rows", "curves": definition.of_curves}
    columns = tuple(schema.find(column, **wanted) for column in aggregate.columns)
    for column in columns:
        space = schema.spaces[column]
        if definition.accepts == "numbers" and not (space.has_numbers or space.holds_curves):
            raise QuestionError(f"{aggregate.kind.upper()} needs numbers, and column {column!r} has none: COUNT it")
        if definition.shape == "linear" and not definition.counts and not space.has_sums:
            raise QuestionError(f"the values of column {column!r} have no sum: ask for AVG({column})")
        if definition.accepts == "values" and space.items is not None:
            raise QuestionError(f"column {column!r} holds sets: ask TOP({column}, 1)")
        if definition.accepts == "sets" and space.items is None:
            raise QuestionError(f"column {column!r} does not hold sets: ask COUNT(DISTINCT {column})")
    if definition.argument_rule is not None:
        holds, advice = definition.argument_rule
        if argument is None or not holds(argument):
            raise QuestionError(advice)
    return replace(aggregate, columns=columns, where=_predicate(aggregate.where, schema))


_CHECKS: dict[type, Callable[[Any, Schema], Part]] = {
    Key: _key, Unnest: _unnest, Aggregate: _aggregate, Number: lambda number, _: number,
}  # fmt: skip


def _predicate(predicate: Predicate | None, schema: Schema) -> Predicate | None:
    """The condition with every name and value checked, in its one form: two spellings are one question to pay for."""
    return None if predicate is None else normalise(mapped(predicate, lambda leaf: _condition(leaf, schema)))


def _condition(leaf: Leaf, schema: Schema) -> Leaf:
    column = schema.find(leaf.column, missing=isinstance(leaf, Missing))
    space = schema.spaces[column]
    leaf = _cast(leaf, space)
    match leaf:
        case Contains(_, item):
            if space.items is None and not schema.is_open(column):
                raise QuestionError(f"column {column!r} does not hold sets: compare it with =")
            _check_value(item, column, space)
        case Among(values=values, part=part) | Compare(value=values, part=part) if part is not None:
            _check_part(part, column, schema)
            for value in values if isinstance(values, tuple) else (values,):
                if not isinstance(value, Fraction):
                    raise QuestionError(f"{part.upper()}({column}) is a number, and {str(value)!r} is none")
        case Among(_, values):
            for value in values:
                _check_compared(value, "=", column, space)
        case Compare(_, operator, value):
            _check_compared(value, operator, column, space)
    return replace(leaf, column=column)


def _cast(leaf: Leaf, space: Space | Open) -> Leaf:
    """The condition as SQL casts it: with the text of a number that is declared as one, or the number of a text."""
    match leaf:
        case Contains(_, item):
            return replace(leaf, item=_declared_as(item, space))
        case Among(_, values, None):
            return replace(leaf, values=tuple(_declared_as(value, space) for value in values))
        case Compare(_, _, value, None):
            return replace(leaf, value=_declared_as(value, space))
    return leaf


def _declared_as(value: Value, space: Space | Open) -> Value:
    """The text that alone stands for a number, where values are texts; the number of a text, where they are numbers.

    >>> from dproof.spaces import Categories
    >>> _declared_as(Fraction(1), Categories(["0", "1"])), _declared_as("01", Categories([0, 1]))
    ('1', Fraction(1, 1))
    """
    if isinstance(space, Open) or isinstance(value, bool):
        return value
    if isinstance(value, str):
        number = _number_in(value) if space.has_numbers and space.has_sums else None
        return value if number is None else number
    labels = space.items or space.labels or ()
    texts = [label for label in labels if isinstance(label, str) and _number_in(label) == value]
    return texts[0] if len(texts) == 1 else value


def _number_in(text: str) -> Fraction | None:
    """The number that a text is, and nothing else."""
    try:
        return exact(PLAIN.plain(text) or "")
    except InputError:
        return None


def _check_part(part: DatePart, column: str, schema: Schema) -> None:
    if schema.is_open(column) or schema.declared(column).date_part(part) is None:
        needed, space = ("times of day", "time") if part == "hour" else ("dates", "date")
        advice = f"declare it with space = '{space}'" if schema.is_open(column) else f"it takes a column of {needed}"
        raise QuestionError(
            f"{part.upper()} needs {needed}, and column {column!r} has none that are declared: {advice}"
        )


def _check_compared(value: Value, operator: Operator, column: str, space: Space | Open) -> None:
    """Refuse to compare with a value that is no declared one, nor any number where the order of numbers matters."""
    if space.items is not None:
        raise QuestionError(f"column {column!r} holds sets: ask list_contains({column}, {str(value)!r})")
    ordered = operator not in ("=", "<>")
    if ordered and not space.has_order:
        raise QuestionError(f"the values of column {column!r} have no order: compare them with =, <> or IN")
    _check_value(value, column, space, ordered=ordered)


def _check_value(value: Value, column: str, space: Space | Open, *, ordered: bool = False) -> None:
    """Refuse a value that the column does not have, nor where its order matters one between them."""
    why = space.refusal(value, ordered=ordered)
    if why is not None:
        raise QuestionError(f"column {column!r} {why}")


# The text of a question ----------------------------------------------------------------------------------------------

name = quoted  # an identifier


def literal(value: Value | None) -> str:
    """A value as SQL: a string in quotes, a number in decimals where it has finitely many.

    >>> literal("it's"), literal(Fraction(-1, 8)), literal(Fraction(1, 3)), literal(True)
    ("'it''s'", '-0.125', '1/3', 'TRUE')
    """
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return text_literal(value)
    return "NULL" if value is None else decimals(value)


def label_of(value: Value | None) -> Any:
    """A value as people are shown it."""
    return int_or_float(value) if isinstance(value, Fraction) else value


def normalise(predicate: Predicate) -> Predicate:
    """The one form of a predicate: flat, the parts of AND and OR in alphabetical order, none twice.

    It is made from the inside out, so that what collapses to a single part is flat where it then stands. The form of a
    form is itself, and two forms are equal where their texts are: a ledger may know a question by its text.

    >>> x, y, z = (Compare(column, "=", Fraction(1)) for column in "xyz")
    >>> normalise(And((Or((And((x, y)), And((y, x)))), z))) == normalise(And((z, y, x))) == And((x, y, z))
    True
    """
    return _ordered(normal(predicate))


def _ordered(predicate: Predicate) -> Predicate:
    match predicate:
        case Among(values=values):
            ordered_values = tuple(value for _, value in sorted({literal(v): v for v in values}.items()))
            return replace(predicate, values=ordered_values)
        case Not(part):
            return Not(_ordered(part))
        case And(parts) | Or(parts):
            joiner = type(predicate)
            by_text: dict[str, Predicate] = {}
            for part in map(_ordered, parts):
                for piece in part.parts if isinstance(part, joiner) else (part,):
                    by_text[_written(piece)] = piece
            ordered = tuple(by_text[text] for text in sorted(by_text))
            return ordered[0] if len(ordered) == 1 else joiner(ordered)
        case _:
            return predicate


def condition(predicate: Predicate) -> str:
    """A predicate as text, in its one form."""
    return _written(normalise(predicate))


def _written(predicate: Predicate) -> str:
    match predicate:
        case Compare(column, operator, value, part):
            return f"{_part_name(column, part)} {operator} {literal(value)}"
        case Among(column, values, part):
            return f"{_part_name(column, part)} IN ({', '.join(map(literal, values))})"
        case Contains(column, item):
            return f"list_contains({name(column)}, {literal(item)})"
        case Missing(column):
            return f"{name(column)} IS NULL"
        case Not(part):
            return f"NOT {_written(part)}"
        case And(parts) | Or(parts):
            return f"({(' AND ' if isinstance(predicate, And) else ' OR ').join(map(_written, parts))})"


def _part_name(column: str, part: DatePart | None) -> str:
    return name(column) if part is None else f"{part}({name(column)})"


def expression(part: Expression) -> str:
    """An expression in full parentheses."""
    match part:
        case Number(value):
            return literal(value)
        case Key(column, None, (), date_part):
            return _part_name(column, date_part)
        case Key(cases=(*cases, default)):
            whens = " ".join(f"WHEN {condition(case.where)} THEN {literal(case.label)}" for case in cases if case.where)
            return f"CASE {whens} ELSE {literal(default.label)} END"
        case Key(column, width):
            assert width is not None
            return f"bin({name(column)}, {literal(width)})"
        case Arithmetic(operator, left, right):
            return f"({expression(left)} {operator} {expression(right)})"
        case Aggregate(_, columns, argument, where):
            definition = part.definition
            function, is_written = definition.name_of(argument)
            inside = ", ".join(name(column) for column in columns) or "*"
            inside = f"unnest({inside})" if definition.of_items else inside
            if is_written and argument is not None:
                inside += f", {literal(argument)}"
            text = f"{function}({'DISTINCT ' if definition.counts == 'values' else ''}{inside})"
            return text if where is None else f"{text} FILTER (WHERE {condition(where)})"
        case Unnest() | Applied():
            raise AssertionError("items and functions are not measured: see `measured_parts`")


def canonical(question: Question) -> str:
    """What a question measures on the rows, whatever it then computes, tests, sorts or cuts off from that.

    Two questions with one canonical form are answered by the same numbers: aliases, arithmetic, HAVING,
    ORDER BY and LIMIT only work on what was measured, which costs nothing more (the sheet, post-processing).

    >>> from dproof.questions.sql import parse
    >>> canonical(parse("SELECT count(*) / 2 AS half FROM data WHERE NOT age < 3 GROUP BY sex LIMIT 1"))
    'SELECT "sex", count(*) FROM data WHERE "age" >= 3 GROUP BY "sex"'
    """
    keys, measured = question.by_text
    text = f"SELECT {', '.join([*keys, *measured])} FROM {question.table}"
    if question.where is not None:
        text += f" WHERE {condition(question.where)}"
    return f"{text} GROUP BY {', '.join(keys)}" if keys else text


_LONG = 600  # characters of a question, more than anybody reads


def in_short(text: str) -> str:
    """The text of a question where a person reads it: of a very long one the beginning.

    >>> in_short("SELECT " + "count(*), " * 1000)[-22:]
    'u… (10,007 characters)'
    """
    return text if len(text) <= _LONG else f"{text[:_LONG]}… ({len(text):,} characters)"

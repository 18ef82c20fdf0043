"""A query of the user's own: any function of the rows, with the sensitivity that its author declares.

Nobody can compute the sensitivity of an arbitrary function; but a declared one that is too small is often found out by
trying. What is not found out is used, and labelled "declared" wherever it shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations, islice, product
from typing import Any, get_args

from dproof.arguments import choice, described, expect
from dproof.errors import InputError, NotPrivate
from dproof.exact import exact
from dproof.privacy import Neighbours
from dproof.questions.schema import Open, Schema, as_schema
from dproof.questions.sensitivity import Row, Sensitivity, Witness
from dproof.spaces import Space

_MOST_ROWS = 24  # different rows to make tables of
_MOST_TABLES = 400  # that neighbours share


@dataclass(frozen=True, slots=True)
class Declared:
    """f: tables → numbers with a declared sensitivity; answers are rounded to whole multiples of `step`.

    `function` gets a list of rows, each a dict of declared values. `name` is what a ledger knows it by.
    """

    name: str
    function: Callable[[Sequence[Row]], Any]
    sensitivity: Fraction
    step: Fraction = Fraction(1)
    neighbours: Neighbours = "change-one"

    @property
    def steps(self) -> int:
        """How many whole steps one row can move the rounded answer."""
        return max(1, math.ceil(self.sensitivity / self.step))

    def whole(self, rows: Sequence[Row]) -> int:
        """The answer in whole steps; whatever goes wrong inside the function counts as 0, so nothing shows outside."""
        try:
            # Halves go up, all of them: two that differ by a whole number of steps must do so when rounded too.
            return math.floor(exact(self.function(rows)) / self.step + Fraction(1, 2))
        except Exception:
            return 0


def declare(
    name: str,
    function: Callable[[Sequence[Row]], Any],
    claimed: Any,
    table: Schema | Mapping[str, Space | Open],
    *,
    neighbours: Neighbours = "change-one",
    step: Any = 1,
) -> tuple[Declared, Sensitivity]:
    """A query with a declared sensitivity, once no small pair of neighbouring tables has been found to break it.

    >>> from dproof.spaces import Categories
    >>> books = {"books": Categories(range(8))}
    >>> spread = lambda rows: max((r["books"] for r in rows), default=0) - min((r["books"] for r in rows), default=0)
    >>> declare("spread", spread, 7, books)[1].kind
    'declared'
    >>> declare("spread", spread, 3, books)
    Traceback (most recent call last):
    dproof.errors.NotPrivate: the declared sensitivity 3 is too small: two neighbouring tables differ by 7
    """
    schema = as_schema(table)
    expect(name, str, "name", "a text: what a ledger knows the query by")
    choice(neighbours, get_args(Neighbours), "neighbours")
    if not callable(function):
        raise InputError(f"function must be a function of a list of rows, not {described(function)}")
    query = Declared(name, function, exact(claimed, "claimed"), exact(step, "step"), neighbours)
    if query.sensitivity <= 0 or query.step <= 0 or not name:
        raise InputError("a declared query needs a name, a sensitivity above 0 and a step above 0")
    worst = max(_witnesses(query, schema), key=lambda witness: witness.distance)
    if worst.distance > query.sensitivity:
        gaps = any(value is None for row in (*worst.before, *worst.after) for value in row.values())
        raise NotPrivate(
            f"the declared sensitivity {query.sensitivity} is too small: "
            f"two neighbouring tables differ by {worst.distance}"
            + (" (a missing value is None, and a function that fails counts as 0)" if gaps else ""),
            worst,
        )
    return query, Sensitivity(neighbours, query.sensitivity, query.sensitivity**2, "declared")


def _value(query: Declared, rows: tuple[Row, ...]) -> Fraction:
    try:
        return exact(query.function(list(rows)))
    except Exception:
        return Fraction(0)


def _witnesses(query: Declared, schema: Schema) -> Iterator[Witness]:
    """Pairs of neighbouring tables of up to four rows, made of extreme, middle and missing values."""
    rows = _rows(schema)
    alike = ((row,) * size for size in (1, 3) for row in rows)
    for shared in islice(chain([()], alike, combinations(rows, 2), combinations(rows, 3)), _MOST_TABLES):
        tables = [(*shared, row) for row in rows]
        values = [_value(query, table) for table in tables]
        least, most = values.index(min(values)), values.index(max(values))
        if query.neighbours == "change-one":
            yield Witness(tables[least], tables[most], values[most] - values[least])
        else:
            without = _value(query, shared)
            yield from (Witness(shared, tables[n], abs(values[n] - without)) for n in (least, most))


def _rows(schema: Schema) -> list[Row]:
    """Different rows: first those that differ from one row in a single column, so that every column is tried."""
    choices: dict[str, list[Any]] = {}
    for column in schema.spaces:
        if schema.spaces[column].holds_curves:
            continue  # a row has the columns with declared values, and curves have none
        if schema.is_open(column):
            low = schema.open_number(column)
            choices[column] = [low, low + 1, low + 1000]
        else:
            space = schema.declared(column)
            codes = dict.fromkeys([0, space.size - 1, space.size // 2, 1 % space.size])
            gap = [None] if column in schema.nullable else []
            labels = [space.label(code) for code in codes]
            choices[column] = [*labels[:2], *gap, *labels[2:]]
    first = {column: values[0] for column, values in choices.items()}
    longest = max(map(len, choices.values()), default=0)
    single = (first | {c: values[n]} for n in range(1, longest) for c, values in choices.items() if n < len(values))
    every = (dict(zip(choices, values, strict=True)) for values in product(*choices.values()))
    rows: list[Row] = []
    for row in islice(chain([first], single, every), _MOST_ROWS**2):
        if row not in rows and len(rows) < _MOST_ROWS:
            rows.append(row)
    return rows

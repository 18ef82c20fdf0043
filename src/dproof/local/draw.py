"""Product sanitisation of a table: every row drawn from the law of its values, with coins of its own.

HLM15, equation (7): Y_d = (X_{d_1}, …, X_{d_n}), independent; the table costs what one row costs (Theorem 5). A row is
drawn and stored with all its columns, or with those of the one group that it answers for.

A row that answers for one group has nulls in all other columns, which mean "not asked"; the column `asked` tells them
from missing values. Which group it is was drawn whatever the row holds, by words of 16 bits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dproof.arguments import whole
from dproof.coins import Coins, current
from dproof.columns import codec_of
from dproof.columns.arrow import from_numpy
from dproof.columns.column import Column, Encode
from dproof.columns.values import texts
from dproof.errors import SourceError
from dproof.laws.guide import Guide, guide, uniform_below
from dproof.local.recipe import JointColumns, RowLaw
from dproof.plans.plan import ASKED, Plan
from dproof.tables.source import Source

_MOST_DUMMY_ROWS = 10**7
ASKED_TYPE = pa.dictionary(pa.int32(), pa.string())


def stored_draws(group: JointColumns, codes: NDArray[Any], coins: Coins) -> dict[str, Any]:
    """The stored columns of a group, drawn from the law of its codes."""
    drawn = group.split(group.mechanism.family.draw(codes, coins))
    arrays: dict[str, Any] = {}
    for column, space, part in zip(group.columns, group.storage, drawn, strict=True):
        arrays |= zip(column.stored, codec_of(space, column).store(part), strict=True)
    return arrays


def first_codes(space: Any, count: int) -> NDArray[np.int64]:
    """`count` codes of the first value of a space."""
    return np.zeros((count, *space.code_shape), np.int64)


def dummy_rows(plan: Plan | str | os.PathLike[str] | Mapping[str, Any], rows: int) -> Any:
    """Rows drawn evenly from the spaces that a plan declares, as an Arrow table: to try things on. They tell nothing.

    Curves are flat, and public columns are empty.

    >>> plan = {"privacy": {"epsilon": 1}, "columns": {"age": {"space": "interval", "low": 0, "high": 9}}}
    >>> dummy_rows(plan, 3).num_rows
    3
    """
    arrays: dict[str, Any] = {}
    rows = whole(rows, "rows", 0, _MOST_DUMMY_ROWS)
    for column in Plan.of(plan).columns:
        if column.kind == "public":
            arrays[column.name] = pa.nulls(rows, pa.string())
        elif column.private:
            space, codes = column.space, first_codes(column.space, rows)
            if not space.holds_curves:
                codes = uniform_below(np.full(rows, space.size, np.uint64), current()).astype(np.int64)
            arrays |= zip(column.stored, codec_of(space, column).store(codes), strict=True)
    return pa.table(arrays)


def stored_types(groups: Iterable[JointColumns]) -> dict[str, Any]:
    """The type of every stored column; one that several groups store as whole numbers and as others has decimals."""
    types: dict[str, Any] = {}
    for group in groups:
        for column, space in zip(group.columns, group.storage, strict=True):
            for name, array in zip(column.stored, codec_of(space, column).store(first_codes(space, 0)), strict=True):
                types[name] = array.type if types.get(name, array.type) == array.type else pa.float64()
    return types


@lru_cache(maxsize=8)
def asking(weights: tuple[int, ...]) -> Guide:
    """The sampler of what a row is asked: each group owns as many words as its weight says."""
    return guide([weights], sum(weights))


def answers(
    law: RowLaw, codes: Mapping[str, NDArray[Any]], order: NDArray[np.int64] | None, coins: Coins
) -> dict[str, Any]:
    """The stored columns of rows that answer for one group each, and which; `codes` has every private column.

    The rows come in this `order`. Only the codes that a row is asked for are moved.
    """
    assert law.weights is not None
    rows = len(next(iter(codes.values())))
    asked = asking(law.weights).sample(rows, coins)
    together = np.argsort(asked, kind="stable")  # the rows of each group
    counts = np.bincount(asked, minlength=len(law.groups))
    types = stored_types(law.groups)
    pieces: dict[str, list[Any]] = {name: [] for name in types}
    last = dict.fromkeys(types, 0)  # how many values were drawn
    places = {name: np.full(rows, rows, np.int32) for name in types}  # of each row's value among those
    for group, chosen in zip(law.groups, np.split(together, np.cumsum(counts)[:-1]), strict=True):
        true = chosen if order is None else order.take(chosen)
        own = group.joined([codes[column.name].take(true, axis=0) for column in group.columns])
        for name, array in stored_draws(group, own, coins).items():
            places[name][chosen] = np.arange(last[name], last[name] + len(chosen), dtype=np.int32)
            last[name] += len(chosen)
            pieces[name].append(array if array.type == types[name] else array.cast(types[name]))
    arrays = {name: _spread_out(pieces[name], places[name], last[name]) for name in types}
    names = pa.array([group.name for group in law.groups], pa.string())
    return arrays | {ASKED: pa.DictionaryArray.from_arrays(pa.array(asked.astype(np.int32)), names)}


def _spread_out(pieces: list[Any], places: NDArray[np.int32], drawn: int) -> Any:
    """The values in the places of their rows; all other rows have the null that stands behind the values."""
    values = pa.concat_arrays([*pieces, pa.nulls(1, pieces[0].type)])
    return values.take(from_numpy(np.minimum(places, drawn, out=places)))


REACH = 1 << 20  # rows that are shuffled together; a table up to this size is shuffled as a whole
Progress = Callable[[int, int | None], None]  # rows that were read, and how many there are where that is known
_Rows = list[Any]  # as they were read: an array of codes for each reading, and Arrow's for each public column


@dataclass(frozen=True, slots=True, eq=False)
class _Reading:
    """Columns that are read as one code."""

    columns: Sequence[Column]
    encoders: Sequence[Encode]
    joined: Callable[[Sequence[NDArray[Any]]], NDArray[Any]]


def _readings(law: RowLaw) -> list[_Reading]:
    """A code for each group; where a row answers for one of several groups that share columns, for each column."""
    if law.weights is None:
        together = [(group.columns, group.joined) for group in law.groups]
    else:
        together = [((column,), _only) for column in law.plan.columns if column.private]
    return [_Reading(columns, [c.sanitised_encoder() for c in columns], joined) for columns, joined in together]


def _only(codes: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return codes[0]


def sanitised_blocks(source: Source, law: RowLaw, coins: Coins, progress: Progress | None = None) -> Iterator[Any]:
    """The sanitised table as record batches of up to `REACH` rows, each batch in an order of its own."""
    waiting: list[_Rows] = []
    rows, types = 0, None
    readings = _readings(law)
    for batch in source.read(law.plan.sources):
        waiting.append(_read(batch, law, readings))
        public_types = [column.type for column in waiting[-1][len(readings) :]]
        if public_types != (types := types or public_types):
            raise SourceError("a public column has one type in some rows and another in others: cast it to one")
        rows += batch.num_rows
        while rows >= REACH:
            whole = _joined(waiting)
            yield _sanitised([column[:REACH] for column in whole], law, coins)
            waiting, rows = [[column[REACH:] for column in whole]], rows - REACH
        if progress is not None:
            progress(batch.num_rows, source.rows)
    if rows:
        yield _sanitised(_joined(waiting), law, coins)


def _read(batch: Any, law: RowLaw, readings: Sequence[_Reading]) -> _Rows:
    """A code for each reading, and the public columns as they are."""
    codes = [
        reading.joined(
            [
                encode([batch.column(name) for name in c.sources])
                for c, encode in zip(reading.columns, reading.encoders, strict=True)
            ]
        )
        for reading in readings
    ]
    return [*codes, *(_plain(name, batch.column(name)) for name in law.plan.named("public"))]


def _joined(pieces: list[_Rows]) -> _Rows:
    if len(pieces) == 1:
        return pieces[0]
    joined = zip(*pieces, strict=True)
    return [np.concatenate(c) if isinstance(c[0], np.ndarray) else pa.concat_arrays(c) for c in joined]


def _sanitised(rows: _Rows, law: RowLaw, coins: Coins) -> Any:
    """The rows as they are stored: in a fresh order unless the plan keeps it, and drawn.

    Rows are drawn independently, so it is all one whether they are shuffled before or after; codes are narrow
    before, and quick to move.
    """
    order = permutation(len(rows[0]), coins) if law.plan.order == "shuffle" else None
    names = law.plan.named("public")
    codes, public = rows[: len(rows) - len(names)], rows[len(rows) - len(names) :]
    if order is not None:
        places = from_numpy(order)
        public = [column.take(places) for column in public]
    arrays: dict[str, Any] = dict(zip(names, public, strict=True))
    if law.weights is None:
        for group, group_codes in zip(law.groups, codes, strict=True):
            arrays |= stored_draws(group, group_codes if order is None else group_codes.take(order, axis=0), coins)
    else:
        private = [column.name for column in law.plan.columns if column.private]
        arrays |= answers(law, dict(zip(private, codes, strict=True)), order, coins)
    return pa.RecordBatch.from_pydict({name: arrays[name] for name in law.stored})


def made_up_rows(law: RowLaw, count: int, coins: Coins) -> Any:
    """Sanitised rows of a table that does not exist: every value is the first of its space."""
    codes = [reading.joined([first_codes(c.space, count) for c in reading.columns]) for reading in _readings(law)]
    return _sanitised([*codes, *(pa.nulls(count, pa.string()) for _ in law.plan.named("public"))], law, coins)


def _plain(name: str, array: Any) -> Any:
    """A public column row by row, without what lies beside the rows: values that only a dictionary has, and notes."""
    array = texts(array)
    try:
        kind = public_type(array.type)
        array = array.storage if isinstance(array.type, pa.BaseExtensionType) else array
        return (
            array.dictionary.cast(kind).take(array.indices) if pa.types.is_dictionary(array.type) else array.cast(kind)
        )
    except (NotImplementedError, TypeError):
        raise SourceError(
            f"the public column {name!r} has the type {array.type}, which is not stored: cast it first"
        ) from None
    except pa.ArrowException:
        raise SourceError(f"the public column {name!r} holds bytes that are not UTF-8: drop it, or mend them") from None


def public_type(kind: Any, *, inside: bool = False) -> Any:
    """The type that a public column of some type is stored in, with nothing of its own to tell.

    It has no dictionary, no note on a field and no extension; every kind of text is one, and bytes are a text but
    inside of lists and the like. What Parquet cannot hold raises a TypeError.
    """
    types = pa.types

    def field(of: Any) -> Any:
        return pa.field(of.name, public_type(of.type, inside=True), of.nullable)

    if isinstance(kind, pa.BaseExtensionType):
        return public_type(kind.storage_type, inside=inside)
    if types.is_dictionary(kind):
        return public_type(kind.value_type, inside=inside)
    if any(check(kind) for check in (types.is_binary, types.is_large_binary, types.is_binary_view)):
        return pa.binary() if inside else pa.string()
    if any(check(kind) for check in (types.is_string, types.is_large_string, types.is_string_view, types.is_null)):
        return pa.string()
    if types.is_list(kind) or types.is_list_view(kind):
        return pa.list_(field(kind.value_field))
    if types.is_large_list(kind) or types.is_large_list_view(kind):
        return pa.large_list(field(kind.value_field))
    if types.is_fixed_size_list(kind):
        return pa.list_(field(kind.value_field), kind.list_size)
    if types.is_struct(kind):
        return pa.struct([field(of) for of in kind])
    if types.is_map(kind):
        return pa.map_(field(kind.key_field), field(kind.item_field))
    if types.is_nested(kind) or types.is_interval(kind) or types.is_run_end_encoded(kind):
        raise TypeError(kind)
    return kind


def stored_schema(law: RowLaw) -> Any:
    """The schema of the sanitised columns, from the plan alone; public columns have the source's types."""
    types = stored_types(law.groups) | ({} if law.weights is None else {ASKED: ASKED_TYPE})
    return pa.schema([(name, types[name]) for name in law.stored if name in types])


def permutation(count: int, coins: Coins) -> NDArray[np.int64]:
    """A uniform order of 0, 1, …, count − 1: the order of as many random words.

    Each word carries its place in its low bits, so that sorting the words sorts the places. Equal words would be
    ordered by place, so then all are drawn again: given that the words differ, every order is equally likely.

    >>> from dproof.coins import current
    >>> sorted(permutation(4, current()).tolist())
    [0, 1, 2, 3]
    """
    low = np.uint64((1 << max(1, (count - 1).bit_length())) - 1)
    while True:
        words = coins.words64(count)
        words &= ~low
        words |= np.arange(count, dtype=np.uint64)
        words.sort()
        if (words[1:] ^ words[:-1] > low).all():
            words &= low
            return words.view(np.int64)

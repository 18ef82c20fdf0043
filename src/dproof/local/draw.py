"""Product sanitisation of a table: every row drawn from the law of its values, with coins of its own.

HLM15, equation (7): Y_d = (X_{d_1}, …, X_{d_n}), independent; the table costs what one row costs (Theorem 5). A row is
drawn and stored with all its columns, or with those of the one group that it answers for.

A row that answers for one group has nulls in all other columns, which mean "not asked"; the column `asked` tells them
from missing values. Which group it is was drawn whatever the row holds, by words of 16 bits.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from dproof.arguments import whole
from dproof.coins import Coins, Guide, current, for_rehearsal, guide, uniform_below
from dproof.columns.codec import Column, Encode, codec_of
from dproof.columns.values import from_numpy, from_texts, texts
from dproof.errors import DproofError, InputError, SourceError
from dproof.limits import MOST_DUMMY_ROWS, SHUFFLED_TOGETHER
from dproof.local.recipe import JointColumns, RowLaw
from dproof.plans.plan import ASKED, Plan
from dproof.storage import DATA, PARQUET, SEEDED, digest
from dproof.tables.source import Progress, Source, Spread, Written

ASKED_TYPE = pa.dictionary(pa.int32(), pa.string())


def stored_draws(group: JointColumns, codes: NDArray[Any], coins: Coins) -> dict[str, Any]:
    """The stored columns of a group, drawn from the law of its codes."""
    return stored_codes(group, group.mechanism.family.draw(codes, coins))


def stored_codes(group: JointColumns, drawn: NDArray[Any]) -> dict[str, Any]:
    """The stored columns of a group, from the codes that were drawn for it."""
    arrays: dict[str, Any] = {}
    for column, space, part in zip(group.columns, group.storage, group.split(drawn), strict=True):
        arrays |= zip(column.stored, codec_of(space, column).store(part), strict=True)
    return arrays


def first_codes(space: Any, count: int) -> NDArray[np.int64]:
    """`count` codes of the first value of a space."""
    return np.zeros((count, *space.code_shape), np.int64)


def dummy_rows(plan: Plan | str | os.PathLike[str] | Mapping[str, Any], rows: int) -> Any:
    """Rows drawn evenly from the spaces that a plan declares, as an Arrow table: to try things on. They tell nothing.

    Curves are flat, and public columns are empty.

    `plan` is a Plan, its path or a mapping; `rows` is their number.

    >>> plan = {"privacy": {"epsilon": 1}, "columns": {"age": {"space": "interval", "low": 0, "high": 9}}}
    >>> dummy_rows(plan, 3).num_rows
    3
    """
    arrays: dict[str, Any] = {}
    rows = whole(rows, "rows", 0, MOST_DUMMY_ROWS)
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
    asked = asking(law.weights).sample(len(next(iter(codes.values()))), coins)

    def drawn(group: JointColumns, chosen: NDArray[np.int64]) -> dict[str, Any]:
        true = chosen if order is None else order.take(chosen)
        own = group.joined([codes[column.name].take(true, axis=0) for column in group.columns])
        return stored_draws(group, own, coins)

    return answered(law, asked, drawn)


def answered(
    law: RowLaw, asked: NDArray[Any], drawn: Callable[[JointColumns, NDArray[np.int64]], dict[str, Any]]
) -> dict[str, Any]:
    """The stored columns of rows that were asked for one group each, from what was `drawn` for some rows of a group."""
    rows = len(asked)
    together = np.argsort(asked, kind="stable")  # the rows of each group
    counts = np.bincount(asked, minlength=len(law.groups))
    types = stored_types(law.groups)
    pieces: dict[str, list[Any]] = {name: [] for name in types}
    last = dict.fromkeys(types, 0)  # how many values there are
    places = {name: np.full(rows, rows, np.int32) for name in types}  # of each row's value among those
    for group, chosen in zip(law.groups, np.split(together, np.cumsum(counts)[:-1]), strict=True):
        for name, array in drawn(group, chosen).items():
            places[name][chosen] = np.arange(last[name], last[name] + len(chosen), dtype=np.int32)
            last[name] += len(chosen)
            pieces[name].append(array if array.type == types[name] else array.cast(types[name]))
    arrays = {name: _spread_out(pieces[name], places[name], last[name]) for name in types}
    names = from_texts([group.name for group in law.groups])
    return arrays | {ASKED: pa.DictionaryArray.from_arrays(from_numpy(asked.astype(np.int32)), names)}


def _spread_out(pieces: list[Any], places: NDArray[np.int32], drawn: int) -> Any:
    """The values in the places of their rows; all other rows have the null that stands behind the values."""
    values = pa.concat_arrays([*pieces, pa.nulls(1, pieces[0].type)])
    return values.take(from_numpy(np.minimum(places, drawn, out=places)))


REACH = SHUFFLED_TOGETHER  # at least; a table of less than twice as many rows is shuffled as a whole
_Rows = list[Any]  # as they were read: an array of codes for each reader, and Arrow's for each public column


@dataclass(frozen=True, slots=True, eq=False)
class _CodeReader:
    """Columns that are read as one code."""

    columns: Sequence[Column]
    encoders: Sequence[Encode]
    joined: Callable[[Sequence[NDArray[Any]]], NDArray[Any]]


def _code_readers(law: RowLaw) -> list[_CodeReader]:
    """A code for each group; where a row answers for one of several groups that share columns, for each column."""
    if law.weights is None:
        together = [(group.columns, group.joined) for group in law.groups]
    else:
        together = [((column,), _only) for column in law.plan.columns if column.private]
    return [_CodeReader(columns, [c.sanitised_encoder() for c in columns], joined) for columns, joined in together]


def _only(codes: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return codes[0]


def sanitised_blocks(source: Source, law: RowLaw, coins: Coins, progress: Progress | None = None) -> Iterator[Any]:
    """The sanitised table as record batches, each in an order of its own: of `REACH` rows, and the last one of more, so
    that no row is shuffled among fewer."""
    waiting: list[_Rows] = []
    rows, types = 0, None
    readers = _code_readers(law)
    for batch in source.read(law.plan.sources):
        waiting.append(_read_batch(batch, law, readers))
        public_types = [column.type for column in waiting[-1][len(readers) :]]
        if public_types != (types := types or public_types):
            raise SourceError("a public column has one type in some rows and another in others: cast it to one")
        rows += batch.num_rows
        while rows >= 2 * REACH:
            whole = _joined(waiting)
            yield _sanitised([column[:REACH] for column in whole], law, coins)
            waiting, rows = [[column[REACH:] for column in whole]], rows - REACH
        if progress is not None:
            progress(batch.num_rows, source.rows)
    if rows:
        yield _sanitised(_joined(waiting), law, coins)


def _read_batch(batch: Any, law: RowLaw, readers: Sequence[_CodeReader]) -> _Rows:
    """A code for each reader, and the public columns as they are."""
    codes = [
        reader.joined(
            [
                encode([batch.column(name) for name in c.sources])
                for c, encode in zip(reader.columns, reader.encoders, strict=True)
            ]
        )
        for reader in readers
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


def rehearsal_rows(law: RowLaw, count: int, coins: Coins) -> Any:
    """Sanitised rows of a table that does not exist: every value is the first of its space."""
    codes = [reader.joined([first_codes(c.space, count) for c in reader.columns]) for reader in _code_readers(law)]
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


# Written as one file, or in parts where the rows are ------------------------------------------------------------------

_REHEARSAL_ROWS = 1 << 12
_BYTES_MARGIN = 1.25  # of the bytes of a row in a rehearsal: those of other rows may take more


def write_whole(blocks: Iterator[Any], folder: Path) -> Written:
    """Write aligned blocks as the one file of a release."""
    rows = _write(blocks, folder / DATA)
    return rows, {DATA: digest(folder / DATA)}, REACH


def rehearse(law: RowLaw) -> float:
    """Draw and write rows of a table that does not exist, in memory; the bytes that a row takes, and some more.

    What fails in drawing and writing without any data fails here. A public column counts as empty.
    """
    sink, coins = pa.BufferOutputStream(), for_rehearsal()
    block = rehearsal_rows(law, _REHEARSAL_ROWS, coins)
    pa.parquet.write_table(pa.Table.from_batches([block]), sink, **PARQUET)
    return float(_BYTES_MARGIN * sink.tell() / _REHEARSAL_ROWS)


def write_parts(spread: Spread, law: RowLaw, folder: Path) -> Written:
    """Draw the rows where they are, and make those attempts the release that the engine's answers name.

    An engine may try a part again, or twice at once, and every attempt draws afresh; all write under names of their
    own into a folder aside. The engine has one answer for each part, and only the file in that answer moves into the
    release; the others are deleted before the release appears, and whoever still writes finds the folder gone.
    """
    attempts, rest = folder / "attempts", folder / "rest"
    attempts.mkdir()
    answers = spread(law.plan.sources, partial(_attempt, law, attempts), deal=law.plan.order == "shuffle")
    rows, files, within = 0, dict[str, str](), REACH
    for answer in map(json.loads, answers):
        if "refused" in answer:
            raise SourceError(answer["refused"])
        if answer["rows"]:
            part = f"part-{len(files):06d}.parquet"
            _move_into_release(attempts / answer["name"], folder / part)
            rows, files[part], within = rows + answer["rows"], answer["hash"], min(within, answer["rows"])
    attempts.rename(rest)
    shutil.rmtree(rest)
    return (rows, files, within) if files else write_whole(aligned(iter(()), law, current().private), folder)


def drawn_rows(law: RowLaw, batches: Iterator[Any]) -> Iterator[Any]:
    """The sanitised blocks of some batches of rows, drawn where these are."""
    return sanitised_blocks(Source(law.plan.sources, lambda columns: _of_engine(batches)), law, current())


def drawn_types(law: RowLaw, given: Any) -> Any:
    """The schema of what is drawn from rows of a schema, without dictionaries."""
    schema = next(aligned(iter(()), law, True))
    for place, field in enumerate(schema):
        if field.name in stored_schema(law).names:
            kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        else:
            kind = public_type(given.field(field.name).type)
        schema = schema.set(place, pa.field(field.name, kind))
    return schema


def _move_into_release(file: Path, place: Path) -> None:
    """Move a part that an engine's worker wrote to its place; refused where the driver does not see the file."""
    try:
        file.rename(place)
    except FileNotFoundError:
        raise SourceError(
            "a part of the release is not where the driver looks: the workers must see its folder under the same "
            "name, on a disk they all share"
        ) from None


def _attempt(law: RowLaw, attempts: Path, batches: Iterator[Any]) -> bytes:
    """Draw one part with the coins of this process; JSON that names the file, or says why there can be no release."""
    file, refused = attempts / f"{secrets.token_hex(16)}.parquet", attempts / "refused"
    source, coins = Source(law.plan.sources, lambda columns: _until(refused, batches)), current()
    try:
        rows = _write(aligned(sanitised_blocks(source, law, coins), law, coins.private), file)
    except InputError as error:
        file.write_text(str(error), "utf-8")
        file.rename(refused)
        return json.dumps({"refused": str(error)}).encode()
    with file.open("rb") as written:
        os.fsync(written.fileno())
    return json.dumps({"name": file.name, "rows": rows, "hash": digest(file)}).encode()


def _until(refused: Path, batches: Iterator[Any]) -> Iterator[Any]:
    """The batches, as long as no other part is refused: then there is no release, and no need to go on."""
    for batch in _of_engine(batches):
        if refused.exists():
            raise SourceError(refused.read_text("utf-8"))
        yield batch


class EngineFailed(DproofError, code="engine-failed"):
    """A task of the engine ended half-way: it says nothing about the table, and the engine tries the part again."""


def _of_engine(batches: Iterator[Any]) -> Iterator[Any]:
    """The batches of a part; where the engine itself fails, that is not taken for a table that cannot be read."""
    try:
        yield from batches
    except Exception:
        raise EngineFailed("the engine did not finish the work on a part") from None


def _write(blocks: Iterator[Any], file: Path) -> int:
    """Write one block while the next is drawn; how many rows there were."""
    rows, before = 0, None
    settings = {key: value for key, value in PARQUET.items() if key != "row_group_size"}
    with pa.parquet.ParquetWriter(file, next(blocks), **settings) as writer, ThreadPoolExecutor(1) as beside:
        for block in blocks:
            if before is not None:
                before.result()
            before = beside.submit(writer.write_batch, block)
            rows += block.num_rows
        if before is not None:
            before.result()
    return rows


def aligned(blocks: Iterator[Any], law: RowLaw, private: bool) -> Iterator[Any]:
    """The schema first, then the blocks in it; an empty table has public columns of text.

    What seeded coins drew carries it in its schema, wherever the rows go.
    """
    first = next(blocks, None)
    known = {field.name: field for field in (stored_schema(law) if first is None else first.schema)}
    schema = pa.schema([known.get(name, pa.field(name, pa.string())) for name in law.stored])
    schema = schema if private else schema.with_metadata(SEEDED)
    yield schema
    for block in blocks if first is None else chain([first], blocks):
        yield block if block.schema == schema else block.cast(schema)

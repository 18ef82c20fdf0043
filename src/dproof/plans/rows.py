"""The private rows as codes of their declared spaces: read as the plan says, in batches, by every engine.

No value can stop the work or show in a message, unless the plan refuses it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dproof.columns.codec import Column
from dproof.columns.values import as_numpy, decoded, is_text, stored, texts
from dproof.errors import DproofError, SourceError
from dproof.plans.plan import Plan
from dproof.questions.sums import CodesByColumn
from dproof.tables import Source
from dproof.tables.source import Bound


def check_types(source: Source, plan: Plan, columns: Iterable[Column]) -> None:
    """Refuse columns whose types hold nothing that the plan can read, where the types are known without a row."""
    read = [(column.sources, column.encoder()) for column in columns]
    if plan.person is not None:
        read.append(((plan.person,), lambda arrays: counted_rows(arrays, plan.rows_per_person)))
    for types, (names, encode) in product(source.types, read):
        encode([pa.nulls(0, types.field(name).type) for name in names])


def read_codes(source: Source, plan: Plan, columns: Sequence[Column]) -> Iterator[tuple[int, CodesByColumn]]:
    """The codes of some columns, batch by batch, with the number of rows that count.

    Which rows of a person count is known when all have been seen; so that every row is taken with its own person the
    table is read once, for a source may give its rows in another order the next time, and the codes are kept till then.
    """
    wanted, treat = _sources(plan, columns), [(column.name, column.sources, column.encoder()) for column in columns]
    persons, waiting = [], []
    for batch in source.read(wanted if plan.person is None else [*wanted, plan.person]):
        codes = {name: treated([batch.column(part) for part in parts]) for name, parts, treated in treat}
        if plan.person is None:
            yield batch.num_rows, codes
        else:
            persons.append(batch.column(plan.person))
            waiting.append(codes)
    kept = counted_rows(persons, plan.rows_per_person)
    start = 0
    for array, codes in zip(persons, waiting, strict=True):
        rows = kept[start : start + len(array)]
        start += len(array)
        yield int(rows.sum()), {name: column[rows] for name, column in codes.items()}


def _sources(plan: Plan, columns: Iterable[Column]) -> list[str]:
    """The columns of the source that hold some columns of the plan, or any one of them."""
    return list(dict.fromkeys(part for column in columns for part in column.sources)) or [plan.sources[0]]


def counted_rows(arrays: Iterable[Any], rows_per_person: int) -> NDArray[np.bool_]:
    """Which rows count, given the column that names the person of each; rows that name nobody are one person's.

    Which of a person's rows count depends on that person's rows alone, so another person's coming or going changes
    nothing for them, and no question can see more than `rows_per_person` rows of anyone.

    >>> counted_rows([pa.array(["ann", "bob", "ann", "ann"])], 2).sum()
    np.int64(3)
    """
    named = [stored(texts(array)) for array in arrays]
    if not named:
        return np.ones(0, bool)
    try:
        plain = [decoded(array) for array in named]
        # As bytes: a text that is no UTF-8 comes as bytes, and a batch of them would differ from the others in type.
        chunks = [array.cast(pa.large_binary()) if is_text(array.type) else array for array in plain]
        coded = pa.chunked_array(chunks).dictionary_encode(null_encoding="encode").combine_chunks()
    except pa.ArrowException:
        kinds = " and ".join(dict.fromkeys(str(array.type) for array in named))
        raise SourceError(
            f"the column that names persons has the type {kinds}: give each a text, or each a number"
        ) from None
    persons = as_numpy(coded.indices).astype(np.int64)
    order = np.argsort(persons, kind="stable")
    first = np.flatnonzero(np.diff(persons[order], prepend=-1))
    start = np.repeat(first, np.diff(first, append=len(order)))
    turn = np.empty(len(order), np.int64)
    turn[order] = np.arange(len(order)) - start  # 0, 1, … over the rows of each person
    by_mix = np.lexsort((_mixed(turn), persons))
    kept = np.empty(len(order), bool)
    kept[by_mix] = np.arange(len(order)) - start < rows_per_person
    return kept


def _mixed(numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A fixed scrambling, so that it is not always the first rows that count (splitmix64)."""
    x = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


class RowCounter(Protocol):
    """Exact counts of rows that come in batches, as codes; what was `counted` is numbers, in lists, dicts or arrays."""

    def add(self, rows: int, codes: CodesByColumn, /) -> None: ...
    def counted(self) -> Any: ...


def count_rows(source: Source, plan: Plan, columns: Sequence[Column], counter: Callable[[], RowCounter]) -> list[Any]:
    """What is counted of the codes of some columns: of all rows, or of each part where they lie on many machines.

    A value that the plan refuses stops the work, in every engine with the same sentence.
    """

    def counted(part: Source, plan: Plan) -> Any:
        own = counter()
        try:
            for rows, codes in read_codes(part, plan, columns):
                own.add(rows, codes)
        except DproofError:
            raise
        except Exception:  # its text may quote a value
            problem = "a column cannot be read as the plan says: look at the types of the columns"
            raise SourceError(problem) from None
        return own.counted()

    if source.spread is None:
        return [counted(source, plan)]
    bound = None if plan.person is None else Bound(plan.person, plan.rows_per_person, plan.sources)
    alone = replace(plan, person=None)

    def work(batches: Iterator[Any]) -> bytes:
        try:
            found = {"counted": counted(Source(plan.sources, lambda columns: batches), alone)}
        except DproofError as refused:  # told by the machine that asked: another's errors are wrapped in its engine's
            found = {"refused": str(refused)}
        return json.dumps(found, default=np.ndarray.tolist).encode()

    parts = [json.loads(part) for part in source.spread(_sources(plan, columns), work, bound=bound)]
    for part in parts:
        if "refused" in part:
            raise SourceError(part["refused"])
    return [part["counted"] for part in parts]

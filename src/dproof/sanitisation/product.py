"""Product sanitisation of a table: every row drawn from the law of its values, with coins of its own.

HLM15, equation (7): Y_d = (X_{d_1}, …, X_{d_n}), independent; the table costs what one row costs (Theorem 5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dproof.coins import Coins
from dproof.engines.source import Source
from dproof.errors import DproofError, InputError
from dproof.sanitisation.row_law import RowLaw
from dproof.sanitisation.storage import column_codes, group_codes, output_spaces, stored_arrays, stored_types
from dproof.sanitisation.treatment import Treatment, treatment

REACH = 1 << 20  # rows that are shuffled together; a table up to this size is shuffled as a whole
Progress = Callable[[int], None]
_Treatments = list[list[tuple[tuple[str, ...], Treatment]]]


def sanitised_blocks(source: Source, law: RowLaw, coins: Coins, progress: Progress | None = None) -> Iterator[Any]:
    """The sanitised table as record batches of up to `REACH` rows, each batch in an order of its own."""
    waiting: list[_Rows] = []
    rows = 0
    treatments = [[(column.sources, treatment(column)) for column in group.columns] for group in law.groups]
    for batch in source.read(law.plan.sources):
        waiting.append(_Rows.from_batch(batch, law, treatments))
        rows += batch.num_rows
        while rows >= REACH:
            block, rest = _Rows.joined(waiting).cut(REACH)
            yield block.sanitised(law, coins)
            waiting, rows = [rest], rows - REACH
        if progress is not None:
            progress(batch.num_rows)
    if rows:
        yield _Rows.joined(waiting).sanitised(law, coins)


class _Rows:
    """Rows as they were read: a code for each group, and the public columns as they are."""

    __slots__ = ("codes", "public")

    def __init__(self, codes: list[NDArray[Any]], public: list[Any]) -> None:
        self.codes, self.public = codes, public

    @classmethod
    def from_batch(cls, batch: Any, law: RowLaw, treatments: _Treatments) -> _Rows:
        codes = []
        for group, columns in zip(law.groups, treatments, strict=True):
            codes.append(group_codes(group, [_treated(batch, names, treat) for names, treat in columns]))
        return cls(codes, [_plain(batch.column(name)) for name in law.plan.named("public")])

    @classmethod
    def joined(cls, pieces: list[_Rows]) -> _Rows:
        if len(pieces) == 1:
            return pieces[0]
        codes = [np.concatenate(parts) for parts in zip(*(p.codes for p in pieces), strict=True)]
        return cls(codes, [pa.concat_arrays(parts) for parts in zip(*(p.public for p in pieces), strict=True)])

    def cut(self, rows: int) -> tuple[_Rows, _Rows]:
        first = _Rows([c[:rows] for c in self.codes], [a.slice(0, rows) for a in self.public])
        return first, _Rows([c[rows:] for c in self.codes], [a.slice(rows) for a in self.public])

    def shuffled(self, coins: Coins) -> _Rows:
        order = permutation(len(self.codes[0]), coins)
        return _Rows([c.take(order, axis=0) for c in self.codes], [a.take(pa.array(order)) for a in self.public])

    def sanitised(self, law: RowLaw, coins: Coins) -> Any:
        """The rows as they are stored: in a fresh order unless the plan keeps it, and drawn.

        Rows are drawn independently, so it is all one whether they are shuffled before or after; codes are narrow
        before, and quick to move.
        """
        rows = self.shuffled(coins) if law.plan.order == "shuffle" else self
        arrays: dict[str, Any] = dict(zip(law.plan.named("public"), rows.public, strict=True))
        for group, codes in zip(law.groups, rows.codes, strict=True):
            parts = column_codes(group, group.mechanism.family.draw(codes, coins))
            for column, space, part in zip(group.columns, output_spaces(group), parts, strict=True):
                arrays |= zip(column.stored, stored_arrays(column, space, part), strict=True)
        return pa.RecordBatch.from_pydict({name: arrays[name] for name in law.plan.stored})


def _treated(batch: Any, names: tuple[str, ...], treat: Treatment) -> NDArray[Any]:
    """The codes of one column; an error that nobody foresaw is told without its text, which may quote a value."""
    try:
        return treat([batch.column(name) for name in names])
    except DproofError:
        raise
    except Exception:
        raise InputError(f"column {names[0]!r} cannot be read as the plan says: look at its type") from None


def _plain(array: Any) -> Any:
    """A public column without a dictionary, which could hold values that no row has; every kind of text as one."""
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    texts = (pa.types.is_binary, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    return array.cast(pa.string()) if any(check(array.type) for check in texts) else array


def stored_schema(law: RowLaw) -> Any:
    """The schema of the sanitised columns, from the plan alone; public columns have the source's types."""
    types: dict[str, Any] = {}
    for group in law.groups:
        for column, space in zip(group.columns, output_spaces(group), strict=True):
            types |= zip(column.stored, stored_types(column, space), strict=True)
    return pa.schema([(name, types[name]) for name in law.plan.stored if name in types])


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

"""Rows drawn and stored: all columns of a row, or the columns of the one group that it answers for.

A row that answers for one group has nulls in all other columns, which mean "not asked"; the column `asked` tells them
from missing values. Which group it is was drawn whatever the row holds, by words of 16 bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dproof.coins import Coins
from dproof.columns.arrow import from_numpy
from dproof.laws.guide import Guide, guide
from dproof.local.law import Group, RowLaw
from dproof.plans.plan import ASKED

ASKED_TYPE = pa.dictionary(pa.int32(), pa.string())


def stored_draws(group: Group, codes: NDArray[Any], coins: Coins) -> dict[str, Any]:
    """The stored columns of a group, drawn from the law of its codes."""
    drawn = group.split(group.mechanism.family.draw(codes, coins))
    arrays: dict[str, Any] = {}
    for column, space, part in zip(group.columns, group.storage, drawn, strict=True):
        arrays |= zip(column.stored, space.store(column, part), strict=True)
    return arrays


def first_codes(space: Any, count: int) -> NDArray[np.int64]:
    """`count` codes of the first value of a space."""
    return np.zeros((count, *space.code_shape), np.int64)


def stored_types(groups: Iterable[Group]) -> dict[str, Any]:
    """The type of every stored column; one that several groups store as whole numbers and as others has decimals."""
    types: dict[str, Any] = {}
    for group in groups:
        for column, space in zip(group.columns, group.storage, strict=True):
            for name, array in zip(column.stored, space.store(column, first_codes(space, 0)), strict=True):
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

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
from dproof.errors import InputError
from dproof.laws.guide import Guide, guide
from dproof.plans.plan import ASKED
from dproof.plans.row_law import Group, RowLaw

ASKED_TYPE = pa.dictionary(pa.int32(), pa.string())


def stored_draws(group: Group, codes: NDArray[Any], coins: Coins) -> dict[str, Any]:
    """The stored columns of a group, drawn from the law of its codes."""
    drawn = group.split(group.mechanism.family.draw(codes, coins))
    arrays: dict[str, Any] = {}
    for column, space, part in zip(group.columns, group.outputs, drawn, strict=True):
        arrays |= zip(column.stored, space.store(column, part), strict=True)
    return arrays


def first_codes(space: Any, count: int) -> NDArray[np.int64]:
    """So many codes of the first value of a space."""
    return np.zeros((count, *space.code_shape), np.int64)


def stored_types(groups: Iterable[Group]) -> dict[str, Any]:
    """The type of every stored column; one that several groups store as whole numbers and as others has decimals."""
    types: dict[str, Any] = {}
    for group in groups:
        for column, space in zip(group.columns, group.outputs, strict=True):
            for name, array in zip(column.stored, space.store(column, first_codes(space, 0)), strict=True):
                types[name] = _common(name, types.get(name, array.type), array.type)
    return types


def _common(name: str, one: Any, other: Any) -> Any:
    if one == other:
        return one
    if {one, other} <= {pa.int64(), pa.float64()}:
        return pa.float64()
    raise InputError(
        f"column {name!r} would be stored in two forms, by itself and joined: give it a mechanism that stores its "
        "values, or join it everywhere"
    )


@lru_cache(maxsize=8)
def asking(weights: tuple[int, ...]) -> Guide:
    """The sampler of what a row is asked: each group owns as many words as its weight says."""
    return guide([weights], sum(weights))


def answers(law: RowLaw, codes: Mapping[str, NDArray[Any]], coins: Coins) -> dict[str, Any]:
    """The stored columns of rows that answer for one group each, and which; `codes` has every private column."""
    assert law.weights is not None
    rows = len(next(iter(codes.values())))
    asked = asking(law.weights).sample(rows, coins)
    order = np.argsort(asked, kind="stable")
    ends = np.cumsum(np.bincount(asked, minlength=len(law.groups)))
    types = stored_types(law.groups)
    pieces: dict[str, list[Any]] = {name: [] for name in types}
    places = {name: np.full(rows, -1) for name in types}  # of each row among the values that were drawn
    for group, chosen in zip(law.groups, np.split(order, ends[:-1]), strict=True):
        own = group.joined([codes[column.name].take(chosen, axis=0) for column in group.columns])
        for name, array in stored_draws(group, own, coins).items():
            places[name][chosen] = np.arange(len(chosen)) + sum(map(len, pieces[name]))
            pieces[name].append(array if array.type == types[name] else array.cast(types[name]))
    arrays = {name: pa.concat_arrays(drawn).take(_places(places[name])) for name, drawn in pieces.items()}
    names = pa.array([group.name for group in law.groups], pa.string())
    return arrays | {ASKED: pa.DictionaryArray.from_arrays(pa.array(asked.astype(np.int32)), names)}


def _places(places: NDArray[np.int64]) -> Any:
    return pa.array(places, mask=places < 0)

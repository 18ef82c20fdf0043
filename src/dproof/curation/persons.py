"""A person who owns several rows: only so many of them count, always the same ones.

Which of a person's rows count depends on that person's rows alone, so another person's coming or going changes nothing
for them, and no question can see more than `rows_per_person` rows of anyone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dproof.errors import InputError
from dproof.spaces.arrow import as_numpy
from dproof.spaces.objects import texts


def counted_rows(arrays: Iterable[Any], rows_per_person: int) -> NDArray[np.bool_]:
    """Which rows count, given the column that names the person of each; rows that name nobody are one person's.

    >>> counted_rows([pa.array(["ann", "bob", "ann", "ann"])], 2).sum()
    np.int64(3)
    """
    found = [texts(array) for array in arrays]
    plain = [array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array for array in found]
    # As bytes: a text that is no UTF-8 comes as bytes, and would make a batch of them differ from the others in type.
    chunks = [array.cast(pa.large_binary()) if _is_text(array.type) else array for array in plain]
    if not chunks:
        return np.ones(0, bool)
    try:
        coded = pa.chunked_array(chunks).dictionary_encode(null_encoding="encode").combine_chunks()
    except pa.ArrowException:
        kinds = " and ".join(dict.fromkeys(str(chunk.type) for chunk in plain))
        raise InputError(
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


def _is_text(kind: Any) -> bool:
    texts_and_bytes = ("is_string", "is_large_string", "is_string_view", "is_binary", "is_binary_view")
    return any(getattr(pa.types, check)(kind) for check in texts_and_bytes)


def _mixed(numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A fixed scrambling, so that it is not always the first rows that count (splitmix64)."""
    x = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))

"""Codes of Arrow columns; Arrow itself is loaded only when a column comes in as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.errors import InputError


def is_arrow(values: Any) -> bool:
    """Whether a column is an Arrow array, told without loading Arrow."""
    return type(values).__module__.partition(".")[0] == "pyarrow"


def as_numpy(column: Any) -> NDArray[Any]:
    """An Arrow array or a chunked one as NumPy has it."""
    return np.asarray(column.to_numpy(**({} if hasattr(column, "chunks") else {"zero_copy_only": False})))


def arrow_codes(column: Any, labels: Sequence[Any]) -> NDArray[np.int64]:
    """The position of each value of an Arrow column among the labels; an undeclared one is refused."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        positions = pc.index_in(column, value_set=pa.array(labels, type=column.type))
    except pa.ArrowException:
        raise InputError(f"a column of type {column.type} does not hold the declared values; cast it first") from None
    if positions.null_count:
        raise InputError(f"a value is not one of the {len(labels)} declared categories; declare it")
    return np.asarray(positions).astype(np.int64)

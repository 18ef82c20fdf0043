"""Checking stored rows that answer for one group each: they hold what they were asked, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from math import log, sqrt
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dproof.errors import VerificationFailed
from dproof.plans.plan import ASKED
from dproof.plans.row_law import Group, RowLaw
from dproof.releases.drawing import stored_types

_UNLIKELY = 60 * log(2)  # an honest draw lies farther out with a chance of 2^-59 at most


def check_asked(law: RowLaw, batch: Any) -> NDArray[np.int64]:
    """How many rows were asked for each group; refused where a row holds a value that it was not asked for."""
    array = batch.column(ASKED)
    array = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    places = {group.name: place for place, group in enumerate(law.groups)}
    known = np.array([places.get(name, -1) for name in array.dictionary.to_pylist()], np.int64)
    if array.null_count or (known < 0).any():
        raise VerificationFailed(f"the stored column {ASKED!r} holds something that no row is asked")
    asked = known[array.indices.to_numpy(zero_copy_only=False)]
    for name in stored_types(law.groups):
        holds = np.array([any(name in column.stored for column in group.columns) for group in law.groups])
        there = batch.column(name).is_valid().to_numpy(zero_copy_only=False)
        if (there & ~holds[asked]).any():
            raise VerificationFailed(f"the stored column {name!r} holds a value in a row that was not asked for it")
    return np.bincount(asked, minlength=len(law.groups))


def answering(group: Group, batch: Any) -> Any:
    """The rows that were asked for a group, each column as the group stores it."""
    rows = batch.filter(pc.equal(batch.column(ASKED).cast(pa.string()), group.name))
    types = stored_types([group])
    arrays: Mapping[str, Any] = {name: rows.column(name) for name in types}
    plain = (pa.int64(), pa.float64())
    return pa.RecordBatch.from_pydict({
        name: array.cast(types[name], safe=True) if array.type in plain and array.type != types[name] else array
        for name, array in arrays.items()
    })  # fmt: skip


def check_weights(law: RowLaw, counts: NDArray[np.int64]) -> None:
    """Refuse numbers of rows that the weights do not give, but for a chance of 2^-59 (Bernstein's inequality)."""
    rows = int(counts.sum())
    for group, chance, count in zip(law.groups, law.chances, counts.tolist(), strict=True):
        variance = float(rows * chance * (1 - chance))
        if abs(count - float(rows * chance)) > sqrt(2 * variance * _UNLIKELY) + 2 * _UNLIKELY / 3:
            raise VerificationFailed(
                f"the number of rows that were asked for {group.name!r} does not fit its weight in the certificate"
            )

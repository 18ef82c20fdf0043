"""Made-up rows of a release of tables: for tools that want rows. Post-processing, so they cost nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from dproof.central.law import TableLaw
from dproof.central.residuals import Estimates
from dproof.central.rows import made_up_rows
from dproof.central.workload import parts
from dproof.coins import NOT_PRIVATE, Coins
from dproof.errors import VerificationFailed
from dproof.laws.guide import uniform_below
from dproof.laws.simplex import on_simplex
from dproof.plans.release_table import Axis
from dproof.storage.metadata import check_metadata

ROWS = "rows.parquet"
MADE_UP = {b"dproof": b"MADE-UP ROWS: drawn from measured tables, no row is a person's"}
SEEDED_ROWS = {b"dproof": f"MADE-UP ROWS, {NOT_PRIVATE}".encode()}


def made_up_table(law: TableLaw, estimates: Estimates, coins: Coins) -> Any:
    """As many rows as were counted or are estimated, whose tables are near the estimated ones.

    A number is drawn from its bin, every value of it as likely as any other. Curves are left out.
    """
    count, curves = row_count(estimates), set(law.lattices)
    tables = {tuple(place for place in table if place not in curves) for table in law.tables}
    wanted = [table for table in parts(tables) if len(table) == 1 or (table and table in tables)]
    targets = {}
    for table in wanted:
        cells = estimates.table(table)
        targets[table] = on_simplex(cells.reshape(1, -1), np.array([float(count)])).reshape(cells.shape)
    deviations = {table: estimates.cell_variance(table) ** 0.5 for table in wanted}
    places = made_up_rows(law.domain.sizes, targets, deviations, count, coins)
    arrays: dict[str, Any] = {}
    codes: dict[str, Any] = {}
    for n, axis in ((n, axis) for n, axis in enumerate(law.axes) if n not in curves):
        codes[axis.column.name] = codes.get(axis.column.name, 0) + _codes(axis, places[:, n], coins)
    for name, drawn in codes.items():
        column = law.plan.column(name)
        if column.space.items is not None and column.space.absent is not None:
            drawn = np.where(drawn & column.space.absent, column.space.absent, drawn)  # a missing set holds nothing
        arrays |= zip(column.stored, column.space.store(column, drawn), strict=True)
    made = pa.table({name: arrays[name] for name in law.stored})
    return made.replace_schema_metadata(MADE_UP if coins.private else SEEDED_ROWS)


def row_count(found: Estimates) -> int:
    """How many rows are made up: as many as were counted or are estimated."""
    return max(0, round(float(found.table(()))))


def _codes(axis: Axis, places: Any, coins: Coins) -> Any:
    """A code for each place on an axis; for an item of a set, its bit."""
    if axis.item is not None:
        return places << axis.item
    starts = np.array(axis.bins.starts)
    widths = np.diff(starts, append=axis.bins.stop)
    return starts[places] + uniform_below(widths[places], coins)


def check_rows(file: Path, law: TableLaw, count: int, private: bool) -> None:
    """Refuse rows that cannot have been made up from these tables: other columns, values, marks or another number."""
    marks = (MADE_UP, SEEDED_ROWS)
    try:
        with pa.parquet.ParquetFile(file) as stored:
            check_metadata(stored, [], (marks[not private],))
            if stored.schema_arrow.names != list(law.stored) or stored.metadata.num_rows != count:
                raise VerificationFailed(
                    "the made-up rows have other columns or another number than the certificate says"
                )
            rows = stored.read()
    except (pa.ArrowException, OSError, ValueError):
        raise VerificationFailed("the made-up rows cannot be read, or are not marked as made up") from None
    batch = rows.combine_chunks()
    for column in (column for column in law.plan.columns if column.private and not column.space.holds_curves):
        arrays = [batch.column(name).combine_chunks() for name in column.stored]
        same = [array.type for array in column.space.store(column, np.zeros(0, np.int64))]
        if [array.type for array in arrays] != same or not column.space.possible(column, arrays, None, 0):
            raise VerificationFailed(f"the made-up rows hold a value of {column.name!r} that the plan does not declare")

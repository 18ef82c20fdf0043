"""Made-up rows whose tables are near the measured ones, for tools that want rows. Post-processing, so they are free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from dproof.central.estimates import ResidualEstimates, shrunk
from dproof.central.recipe import TableLaw
from dproof.central.workload import Table, subtables
from dproof.coins import NOT_PRIVATE, Coins, uniform_below
from dproof.errors import VerificationFailed
from dproof.laws.debias import on_simplex
from dproof.plans.plan import TableAxis
from dproof.spaces.space import Floats, Integers
from dproof.storage import check_metadata

RowCodes = NDArray[np.unsignedinteger[Any]]  # a row of them for each column
_ROUNDS = 20
_FIRST_STEP, _LAST_STEP = 1.0, 0.1  # how much of the difference to a table is made up for in the first and last round
_CHANGES = 400  # times that each column is changed in some rows
_BATCH = 1 / 200  # the part of the rows that is looked at; all of them may be changed at first, and one at last


def made_up_rows(
    sizes: Sequence[int], targets: Mapping[Table, Floats], deviations: Mapping[Table, float], rows: int, coins: Coins
) -> Integers:
    """Rows of codes, one column for each size, whose tables come near the targets.

    `deviations` are those of the noise on a cell of each target. A difference within one of them says little, and rows
    that follow it would repeat the noise: they follow what lies beyond. So columns stay independent of each other
    where the tables do not say otherwise.

    The columns are drawn independently from their own tables first. Then, table by table and again, rows in cells that
    have too many are moved to cells that have too few: half of them take over the whole row of one that is there
    already, which keeps what the other tables say, the others change only the table's own columns (the gradual update
    of PrivSyn: Zhang et al. 2021). At last single values are changed wherever that brings all tables together nearer
    to their targets. Steps and batches grow smaller, so that the tables settle between each other.
    """
    # Column by column in narrow numbers: a table is counted along columns, all rows again and again.
    made = np.empty((len(sizes), rows), np.min_scalar_type(max(sizes)))
    for column, size in enumerate(sizes):
        chances = np.full(size, 1.0) if (column,) not in targets else np.maximum(targets[column,], 0.0)
        chances = chances if chances.sum() > 0 else np.full(size, 1.0)
        made[column] = _codes_by_chance(chances, rows, coins)
    larger = {table: target for table, target in targets.items() if len(table) > 1}
    if not rows or not larger:
        return made.T.astype(np.int64)
    scaled = {table: target * (rows / max(target.sum(), 1e-300)) for table, target in larger.items()}
    for step in np.geomspace(_FIRST_STEP, _LAST_STEP, _ROUNDS):
        # So that whichever rows of a cell come first are taken at random.
        made = made.take(_shuffled(rows, coins), axis=1)
        for n in _shuffled(len(scaled), coins):
            table = list(scaled)[n]
            _move(made, table, scaled[table], deviations[table], sizes, step, coins)
    _settle(made, scaled, deviations, sizes, coins)
    return made.T.astype(np.int64)


def _codes_by_chance(chances: Floats, rows: int, coins: Coins) -> Integers:
    """Codes in random order, each about as often as its chance says: counts are rounded, not drawn."""
    edges = np.rint(np.cumsum(chances) * (rows / chances.sum())).astype(np.int64)
    codes = np.repeat(np.arange(len(chances)), np.diff(edges, prepend=0))
    return codes[_shuffled(rows, coins)]


def _move(
    made: RowCodes, table: Table, target: Floats, noise: float, sizes: Sequence[int], step: float, coins: Coins
) -> None:
    """Move rows from cells that have too many to cells that have too few, a part `step` of what exceeds the noise."""
    shape = tuple(sizes[i] for i in table)
    cells = _cells(made, table, sizes)
    counts = np.bincount(cells, minlength=target.size)
    difference = target.ravel() - counts
    difference = np.sign(difference) * np.maximum(np.abs(difference) - noise, 0.0) * step
    change = np.floor(difference + _uniform(len(difference), coins)).astype(np.int64)
    surplus, deficit = np.maximum(-change, 0), np.maximum(change, 0)
    moved = int(min(surplus.sum(), deficit.sum()))
    if not moved:
        return
    changing = np.flatnonzero((change != 0).take(cells))  # rows of cells that others leave or join; by cell:
    ranked = changing[np.argsort(cells.take(changing).astype(np.min_scalar_type(target.size)), kind="stable")]
    there = np.where(change != 0, counts, 0)
    starts = np.concatenate([[0], np.cumsum(there)])
    gone = np.minimum(surplus, there)  # the first ones of each cell
    leaving = ranked[np.repeat(starts[:-1] - np.cumsum(gone) + gone, gone) + np.arange(gone.sum())]
    arriving = np.repeat(np.arange(len(deficit)), deficit)
    moved = min(moved, len(leaving))
    leaving = leaving[_shuffled(len(leaving), coins)[:moved]]
    arriving = arriving[_shuffled(len(arriving), coins)[:moved]]
    copied = (there[arriving] > 0) & (np.arange(moved) % 2 == 0)
    # A row that is there already, at random among those of its cell.
    places = starts[arriving[copied]] + (_uniform(int(copied.sum()), coins) * there[arriving[copied]]).astype(int)
    made[:, leaving[copied]] = made.take(ranked[places], axis=1)
    for column, codes in zip(table, np.unravel_index(arriving[~copied], shape), strict=True):
        made[column, leaving[~copied]] = codes


def _settle(
    made: RowCodes,
    targets: Mapping[Table, Floats],
    deviations: Mapping[Table, float],
    sizes: Sequence[int],
    coins: Coins,
) -> None:
    """Change single values where that lessens Σ (count − target)² over all tables, by more than the noise would.

    A row that moves from one cell to another changes a table's sum by 2·(excess there − excess here) + 2. A batch of
    rows is looked at together, and fewer and fewer of them are changed: what moves together must be small against what
    a cell has too many.
    """
    columns, rows = made.shape
    # The excess of all cells of all tables, one after another; a cell is a table's start and a step for each value.
    starts = np.cumsum([0, *(target.size for target in targets.values())])
    counts = (np.bincount(_cells(made, t, sizes), minlength=target.size) for t, target in targets.items())
    excess = np.concatenate([count - target.ravel() for count, target in zip(counts, targets.values(), strict=True)])
    steps = np.zeros((len(targets), columns), np.int64)
    for n, table in enumerate(targets):
        for place, column in enumerate(table):
            steps[n, column] = prod(sizes[i] for i in table[place + 1 :])
    within = {i: [n for n, table in enumerate(targets) if i in table] for i in range(columns) if sizes[i] > 1}
    # A row's cell with the value 0 of a column is at first + others · values, and with its other values up the ladder.
    looked_at: dict[int, tuple[Integers, Floats, Integers]] = {}
    for i, tables in ((i, tables) for i, tables in within.items() if tables):
        others = steps[tables].astype(np.float64)  # whole numbers: a product of floats is quicker
        others[:, i] = 0
        ladder = np.multiply.outer(steps[tables, i], np.arange(sizes[i]))
        looked_at[i] = starts[tables][:, None], others, ladder[:, :, None]
    noise = {i: sqrt(sum(deviations[table] ** 2 for table in targets if i in table)) for i in looked_at}
    turns, together = [*looked_at] * _CHANGES, max(int(rows * _BATCH), 1)
    for turn, most in zip(turns, np.geomspace(together, 1, len(turns)).astype(np.int64).tolist(), strict=True):
        first, others, ladder = looked_at[turn]
        batch = (_uniform(together, coins) * rows).astype(np.int64)
        values = made[:, batch]
        first, now = first + (others @ values).astype(np.int64), values[turn]
        # Tables, then values, then rows: sums over tables run along rows.
        cost = excess.take(first[:, None, :] + ladder).sum(axis=0)
        best, every = cost.argmin(axis=0), np.arange(len(batch))
        better = np.flatnonzero(cost[now, every] - cost[best, every] > len(first) + noise[turn])[:most]
        if len(better):
            _, once = np.unique(batch[better], return_index=True)  # a row may be there twice
            better = better[once]
            first, now, best = first[:, better], now[better], best[better]
            np.subtract.at(excess, first + ladder[:, now, 0], 1)
            np.add.at(excess, first + ladder[:, best, 0], 1)
            made[turn, batch[better]] = best


def _cells(made: RowCodes, table: Table, sizes: Sequence[int]) -> NDArray[np.int32]:
    """The cell of a table that each row is in."""
    cells = made[table[0]].astype(np.int32)
    for column in table[1:]:
        cells *= sizes[column]
        cells += made[column]
    return np.asarray(cells, np.int32)


def _uniform(count: int, coins: Coins) -> Floats:
    """Numbers in [0, 1)."""
    return np.asarray(coins.words64(count) * 2.0**-64 * (1 - 2.0**-53), np.float64)


def _shuffled(count: int, coins: Coins) -> Integers:
    """The numbers from 0 in random order."""
    return np.argsort(coins.words64(count))


ROWS = "rows.parquet"
MADE_UP = {b"dproof": b"MADE-UP ROWS: drawn from measured tables, no row is a person's"}
SEEDED_ROWS = {b"dproof": f"MADE-UP ROWS, {NOT_PRIVATE}".encode()}


def made_up_table(law: TableLaw, estimates: ResidualEstimates, coins: Coins) -> Any:
    """As many rows as were counted or are estimated, whose tables are near the estimated ones, with less noise.

    A number is drawn from its bin, every value of it as likely as any other. Curves are left out.
    """
    count, curves = row_count(estimates), set(law.lattices)
    tables = {tuple(place for place in table if place not in curves) for table in law.tables}
    wanted = [table for table in subtables(tables) if len(table) == 1 or (table and table in tables)]
    targets, likely = {}, shrunk(estimates, wanted)
    for table in wanted:
        cells = likely.table(table)
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
        arrays |= zip(column.stored, column.codec.store(drawn), strict=True)
    made = pa.table({name: arrays[name] for name in law.stored})
    return made.replace_schema_metadata(MADE_UP if coins.private else SEEDED_ROWS)


def row_count(found: ResidualEstimates) -> int:
    """How many rows are made up: as many as were counted or are estimated."""
    return max(0, round(float(found.table(()))))


def _codes(axis: TableAxis, places: Any, coins: Coins) -> Any:
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
                    "the synthetic rows have other columns or another number than the certificate says"
                )
            rows = stored.read()
    except (pa.ArrowException, OSError, ValueError):
        raise VerificationFailed("the synthetic rows cannot be read, or are not marked as made up") from None
    batch = rows.combine_chunks()
    for column in (column for column in law.plan.columns if column.private and not column.space.holds_curves):
        arrays = [batch.column(name).combine_chunks() for name in column.stored]
        same = [array.type for array in column.codec.store(np.zeros(0, np.int64))]
        if [array.type for array in arrays] != same or not column.codec.possible(arrays, None, 0):
            raise VerificationFailed(
                f"the synthetic rows hold a value of {column.name!r} that the plan does not declare"
            )

"""The exact tables of counts of a private table: one pass over its rows, in bounded memory, with every engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.central.workload import Table
from dproof.curation.tally import counted_in_parts
from dproof.errors import DproofError, InputError
from dproof.plans.table_law import TableLaw
from dproof.questions.counting import Codes
from dproof.tables.source import Source

Progress = Callable[[int, int | None], None]
Counts = dict[Table, NDArray[np.int64]]


def count_tables(source: Source, law: TableLaw, progress: Progress | None = None) -> tuple[int, Counts]:
    """How many rows there are, and the counts of every table that is measured.

    A value that the plan refuses stops the work, in every engine with the same sentence.
    """
    largest = maximal(residual.table for residual in law.squares)
    names = [axis.name for axis in law.axes]

    def count(batches: Iterator[tuple[int, Codes]]) -> Any:
        try:
            rows, tables = _counted(batches, law, largest, None if progress is None else (progress, source.rows))
        except DproofError as refused:
            return {"refused": str(refused)}
        except Exception:  # its text may quote a value
            return {"refused": "a column cannot be read as the plan says: look at the types of the columns"}
        return {"rows": rows, "tables": [table.tolist() for table in tables]}

    rows, sums = 0, [np.zeros(prod(law.axes[n].size for n in table), np.int64) for table in largest]
    for part in counted_in_parts(source, law.plan, names, count, treatment=lambda column: column):
        if "refused" in part:
            raise InputError(part["refused"])
        rows += part["rows"]
        sums = [total + np.array(more, np.int64) for total, more in zip(sums, part["tables"], strict=True)]
    shaped = {
        table: total.reshape([law.axes[n].size for n in table]) for table, total in zip(largest, sums, strict=True)
    }
    return rows, {residual.table: _margin(shaped, residual.table, rows) for residual in law.squares}


def maximal(tables: Iterable[Table]) -> list[Table]:
    """The tables that are within no other.

    >>> maximal([(), (0,), (1,), (2,), (0, 1)])
    [(2,), (0, 1)]
    """
    every = [set(table) for table in dict.fromkeys(tables)]
    return [tuple(sorted(table)) for table in every if table and not any(table < other for other in every)]


def _counted(
    batches: Iterator[tuple[int, Codes]], law: TableLaw, tables: list[Table], told: tuple[Progress, int | None] | None
) -> tuple[int, list[NDArray[np.int64]]]:
    rows, counts = 0, [np.zeros(prod(law.axes[n].size for n in table), np.int64) for table in tables]
    for more, codes in batches:
        rows += more
        places = [axis.of(codes[axis.name]) for axis in law.axes]
        for table, total in zip(tables, counts, strict=True):
            cells = np.ravel_multi_index([places[n] for n in table], [law.axes[n].size for n in table])
            total += np.bincount(cells, minlength=len(total))
        if told is not None:
            progress, expected = told
            progress(more, expected)
    return rows, counts


def _margin(tables: Counts, wanted: Table, rows: int) -> NDArray[np.int64]:
    """The table of some columns, from one that has them all."""
    if not wanted:
        return np.array(rows, np.int64)
    table = next(table for table in tables if set(wanted) <= set(table))
    return np.asarray(tables[table].sum(axis=tuple(n for n, i in enumerate(table) if i not in wanted)))

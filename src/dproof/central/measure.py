"""Measuring a private table: its exact tables from one pass over the rows, with every engine, and then the noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.central.recipe import TableLaw
from dproof.central.release import CentralRelease, about, release_of
from dproof.central.rows import made_up_table
from dproof.central.workload import Residual, maximal
from dproof.coins import Coins
from dproof.plans.rows import count_rows
from dproof.questions.partition import numbered
from dproof.questions.sums import CellSums, Codes
from dproof.tables.source import Source

Progress = Callable[[int, int | None], None]
Exact = dict[Residual, NDArray[np.int64]]


def measure(source: Source, law: TableLaw, coins: Coins, progress: Progress | None = None) -> CentralRelease:
    """The measured tables of a source, held in memory, with made-up rows if the plan wants them.

    The noise is drawn once, after the last row was counted.
    """
    rows, tables = count_tables(source, law, progress)
    known = rows if law.plan.rows_are_public else None
    certificate = law.record(about(known, None, {}), private=coins.private)
    release = release_of(law, certificate, law.measure(tables, coins))
    if not law.asked.rows:
        return release
    table = made_up_table(law, release.estimates[None], coins)
    certificate = law.record(about(known, table.num_rows, {}), private=coins.private)
    return replace(release, certificate=certificate, table=table)


def count_tables(source: Source, law: TableLaw, progress: Progress | None = None) -> tuple[int, Exact]:
    """How many rows there are, and every table of counts or sums that is measured."""
    largest = [
        Residual(table, number)
        for number in dict.fromkeys(measurement.number for measurement in law.noise)
        for table in maximal(measurement.table for measurement in law.noise if measurement.number == number)
    ]
    names = list(dict.fromkeys(axis.column.name for axis in law.axes))
    # What workers on other machines are sent must hold neither the source nor a bar on a terminal.
    report = None if progress is None or source.spread is not None else partial(_report, progress, source.rows)
    parts = count_rows(source, law.plan, names, lambda: TableCounter(law, largest, report), lambda column: column)
    exact = {
        one: np.sum([np.array(tables[n], np.int64) for _, tables in parts], axis=0).reshape(law.domain.table_shape(one))
        for n, one in enumerate(largest)
    }
    return sum(rows for rows, _ in parts), {measurement: _margin(exact, measurement) for measurement in law.noise}


def _report(progress: Progress, expected: int | None, rows: int) -> None:
    progress(rows, expected)


class TableCounter:
    """The running counts of some tables: for each of its cells the rows, or sums of whole numbers over them."""

    def __init__(self, law: TableLaw, tables: list[Residual], report: Callable[[int], None] | None) -> None:
        self.law, self.report, self.rows = law, report, 0
        self.sums: dict[Residual, list[CellSums]] = {}
        for one in tables:
            cells, added = law.domain.cells(one.table), law.domain.added(one.number)
            self.sums[one] = [CellSums(cells, isqrt(added.square)) for _ in range(added.terms)]

    def add(self, rows: int, codes: Codes) -> None:
        """Count a batch of rows."""
        self.rows += rows
        axes = self.law.axes
        places = [axis.of(codes[axis.column.name]) for axis in axes]
        summed = dict.fromkeys(one.number for one in self.sums if one.number is not None)
        wholes = {n: self.law.wholes(n, codes[axes[n].column.name]).reshape(rows, -1) for n in summed}
        for one, sums in self.sums.items():
            cells = np.zeros(rows, np.int64) + numbered((places[n], axes[n].size) for n in one.table)
            for term, total in enumerate(sums):
                total.add(cells, None if one.number is None else wholes[one.number][:, term])
        if self.report is not None:
            self.report(rows)

    def counted(self) -> tuple[int, list[NDArray[Any]]]:
        """How many rows there are, and the numbers of each table, a row of them for each of its cells."""
        return self.rows, [np.stack([total.totals() for total in sums], axis=1) for sums in self.sums.values()]


def _margin(tables: Exact, wanted: Residual) -> NDArray[np.int64]:
    """The table of some columns, from one that has them all."""
    one = next(t for t in tables if t.number == wanted.number and set(wanted.table) <= set(t.table))
    outside = tuple(n for n, i in enumerate(one.table) if i not in wanted.table)
    return np.asarray(tables[one].sum(axis=outside))

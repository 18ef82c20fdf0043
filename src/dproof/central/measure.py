"""Measuring a private table: its exact tables from one pass over the rows, with every engine, and then the noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.central.recipe import TableLaw
from dproof.central.release import CentralRelease, about, release_of
from dproof.central.rows import made_up_table
from dproof.central.workload import Residual, maximal
from dproof.coins import Coins
from dproof.errors import DproofError, SourceError
from dproof.plans.rows import counted_in_parts
from dproof.questions.counting import Codes
from dproof.questions.partition import numbered
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
    """How many rows there are, and every table of counts or sums that is measured.

    A value that the plan refuses stops the work, in every engine with the same sentence.
    """
    largest = [
        Residual(table, number)
        for number in dict.fromkeys(measurement.number for measurement in law.noise)
        for table in maximal(measurement.table for measurement in law.noise if measurement.number == number)
    ]
    names = list(dict.fromkeys(axis.column.name for axis in law.axes))
    # What workers on other machines are sent must hold neither the source nor a bar on a terminal.
    elsewhere = source.spread is not None
    report = None if progress is None or elsewhere else (progress, source.rows)

    def count(batches: Iterator[tuple[int, Codes]]) -> Any:
        try:
            rows, tables = _counted(batches, law, largest, report)
        except DproofError as refused:
            return {"refused": str(refused)}
        except Exception:  # its text may quote a value
            return {"refused": "a column cannot be read as the plan says: look at the types of the columns"}
        return {"rows": rows, "tables": [table.tolist() for table in tables] if elsewhere else tables}

    domain = law.domain
    rows, sums = 0, [np.zeros(domain.table_shape(one), np.int64) for one in largest]
    for part in counted_in_parts(source, law.plan, names, count, treatment=lambda column: column):
        if "refused" in part:
            raise SourceError(part["refused"])
        rows += part["rows"]
        counted = zip(sums, part["tables"], strict=True)
        sums = [total + np.array(more, np.int64).reshape(total.shape) for total, more in counted]
    exact = dict(zip(largest, sums, strict=True))
    return rows, {measurement: _margin(exact, measurement) for measurement in law.noise}


def _counted(
    batches: Iterator[tuple[int, Codes]],
    law: TableLaw,
    tables: list[Residual],
    report: tuple[Progress, int | None] | None,
) -> tuple[int, list[NDArray[np.int64]]]:
    """How many rows there are, and the numbers of each table, a row of them for each of its cells."""
    domain, rows = law.domain, 0
    totals = [np.zeros((domain.cells(one.table), domain.added(one.number).terms), np.int64) for one in tables]
    summed = dict.fromkeys(one.number for one in tables if one.number is not None)
    for more, codes in batches:
        rows += more
        places = [axis.of(codes[axis.column.name]) for axis in law.axes]
        wholes = {n: law.wholes(n, codes[law.axes[n].column.name]).reshape(more, -1) for n in summed}
        for one, total in zip(tables, totals, strict=True):
            cells = np.zeros(more, np.int64) + numbered((places[n], law.axes[n].size) for n in one.table)
            if one.number is None:
                total[:, 0] += np.bincount(cells, minlength=len(total))
            else:
                for term, numbers in enumerate(wholes[one.number].T):
                    np.add.at(total[:, term], cells, numbers)
        if report is not None:
            progress, expected = report
            progress(more, expected)
    return rows, totals


def _margin(tables: Exact, wanted: Residual) -> NDArray[np.int64]:
    """The table of some columns, from one that has them all."""
    one = next(t for t in tables if t.number == wanted.number and set(wanted.table) <= set(t.table))
    outside = tuple(n for n, i in enumerate(one.table) if i not in wanted.table)
    return np.asarray(tables[one].sum(axis=outside))

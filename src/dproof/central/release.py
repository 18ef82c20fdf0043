"""A release of the central model: tables measured once with noise, and every answer that follows from them.

HLM15, section 2.3: a sanitisation may depend on the whole table. What is asked of the measured tables afterwards is
post-processing, and free (Theorem 4).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import isqrt, prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from dproof.arguments import as_path
from dproof.central.estimates import ResidualEstimates
from dproof.central.recipe import TableLaw, recorded_table_law
from dproof.central.rows import ROWS, made_up_table
from dproof.central.workload import Residual, maximal
from dproof.certification.certify import write_certificate
from dproof.coins import Coins, for_rehearsal
from dproof.columns.values import as_numpy, from_numpy, from_texts
from dproof.errors import ArgumentError, VerificationFailed
from dproof.exact import several
from dproof.plans.plan import Plan
from dproof.plans.rows import count_rows
from dproof.privacy import Privacy
from dproof.questions.partition import combined_places
from dproof.questions.sums import CellSums, CodesByColumn
from dproof.recipe import Release
from dproof.storage import CERTIFICATE, PARQUET, PLAN, REPORT, SEEDED, appearing, check_metadata, digest
from dproof.tables.source import Progress, Source

if TYPE_CHECKING:
    from dproof.questions.answer import Answer
    from dproof.questions.estimated import Options
    from dproof.questions.question import Question

TABLES = "tables.parquet"
_NO_ROWS = "this release of tables has no synthetic rows: ask query(...), or declare rows = true under [release]"
_MADE_UP = "synthetic rows: near the measured tables, and a guess in all else; query(...) has intervals"
_MODEL = "; or ask with method = 'model' for what the synthetic rows say, without an interval"
_NO_MODEL = "; or declare rows = true under [release] next time, and ask with method = 'model'"
_SCHEMA = pa.schema([("table", pa.string()), ("cell", pa.int64()), ("measured", pa.int64())])
Exact = dict[Residual, NDArray[np.int64]]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CentralRelease(Release):
    """Tables of counts with noise, whose answers are unbiased and agree with each other; asking is free, for ever."""

    law: TableLaw
    certificate: Mapping[str, Any]
    measured: NDArray[np.int64]  # all measurements, one after another
    estimates: Mapping[int | None, ResidualEstimates]  # of counts, and of the sums of each column
    folder: Path | None = None
    table: Any = None  # of synthetic rows
    unchecked: tuple[str, ...] = ()

    @property
    def privacy(self) -> Privacy:
        """What it promises: what the plan has under [privacy], or the same with δ = 0."""
        return self.law.person

    @property
    def data(self) -> Any:
        """The synthetic rows: the path of their file, or the table."""
        if self.certificate["release"]["made_up_rows"] is None:
            raise ArgumentError(_NO_ROWS)
        return self.table if self.folder is None else (self.folder / ROWS,)

    @property
    def _content(self) -> str:
        return several(self.law.table_count, "table")

    def _repr_html_(self) -> str:
        """The release as a notebook shows it."""
        from dproof.html import paragraph

        return paragraph(repr(self).strip("<>"))

    def to_arrow(self) -> Any:
        """The synthetic rows as an Arrow table."""
        data = self.data
        return pa.parquet.read_table(data[0]) if isinstance(data, tuple) else data

    @property
    def way_out(self) -> str:
        """What to do about a question that its tables do not answer, as the end of a sentence."""
        return _NO_MODEL if self.certificate["release"]["made_up_rows"] is None else _MODEL

    def _described(self, answer: Answer, question: Question, options: Options) -> Answer:
        from dproof.central.answer import described

        return described(self, answer, question, options)

    def raw(self, sql: str) -> Answer:
        """The answer to SQL on the synthetic rows."""
        answer = Release.raw(self, sql)
        return replace(answer, notes=(_MADE_UP, *answer.notes[1:]), method="synthetic rows")

    def on(self, session: Any) -> Release:
        """Refused: there are no rows to count."""
        raise ArgumentError("a release of tables is small and needs no Spark: ask it as it is")

    def save(self, out: str | os.PathLike[str]) -> CentralRelease:
        """Store a release that is held in memory, in a new folder."""
        with appearing(as_path(out, "out")) as folder:
            certificate = write(folder, self)
        return replace(self, certificate=certificate, folder=Path(out), table=None)


# Measured from the private rows, in one pass over them with every engine ----------------------------------------------


def measure_tables(source: Source, law: TableLaw, coins: Coins, progress: Progress | None = None) -> CentralRelease:
    """The measured tables of a source, held in memory, with synthetic rows if the plan wants them.

    The noise is drawn once, after the last row was counted.
    """
    rows, tables = count_tables(source, law, progress)
    known = rows if law.plan.rows_are_public else None
    certificate = law.record(about(known, None, {}), private=coins.private)
    release = release_of(law, certificate, law.measure(tables, coins))
    if not law.asked.rows:
        return release
    if progress is not None:
        progress(0, known)  # all rows are read: from here on synthetic ones are made
    table = made_up_table(law, release.estimates[None], coins)
    certificate = law.record(about(known, table.num_rows, {}), private=coins.private)
    return replace(release, certificate=certificate, table=table)


def count_tables(source: Source, law: TableLaw, progress: Progress | None = None) -> tuple[int, Exact]:
    """How many rows there are, and every table of counts or sums that is measured."""
    largest = [
        Residual(table, number)
        for number in dict.fromkeys(measurement.number for measurement in law.noise if not measurement.ladder)
        for table in maximal(m.table for m in law.noise if m.number == number and not m.ladder)
    ]
    largest += [measurement for measurement in law.noise if measurement.ladder]
    columns = list({axis.column.name: axis.column for axis in law.axes}.values())
    # What workers on other machines are sent must hold neither the source nor a bar on a terminal.
    report = None if progress is None or source.spread is not None else partial(_report, progress, source.rows)
    parts = count_rows(source, law.plan, columns, lambda: TableCounter(law, largest, report))
    exact = {
        wanted: np.sum([np.array(tables[n], np.int64) for _, tables in parts], axis=0).reshape(
            law.domain.table_shape(wanted)
        )
        for n, wanted in enumerate(largest)
    }
    return sum(rows for rows, _ in parts), {measurement: _margin(exact, measurement) for measurement in law.noise}


def _report(progress: Progress, expected: int | None, rows: int) -> None:
    progress(rows, expected)


class TableCounter:
    """The running counts of some tables: for each of its cells the rows, or sums of whole numbers over them."""

    def __init__(self, law: TableLaw, tables: list[Residual], report: Callable[[int], None] | None) -> None:
        self.law, self.report, self.rows = law, report, 0
        self.sums: dict[Residual, list[CellSums]] = {}
        for measured in tables:
            added = law.domain.added(measured.number)
            cells = prod(law.domain.table_shape(measured)) // added.terms
            self.sums[measured] = [CellSums(cells, isqrt(added.square)) for _ in range(added.terms)]

    def add(self, rows: int, codes: CodesByColumn) -> None:
        """Count a batch of rows."""
        self.rows += rows
        axes = self.law.axes
        places = [axis.of(codes[axis.column.name]) for axis in axes]
        summed = dict.fromkeys(measured.number for measured in self.sums if measured.number is not None)
        wholes = {n: self.law.wholes(n, codes[axes[n].column.name], places[n]).reshape(rows, -1) for n in summed}
        for measured, sums in self.sums.items():
            counted = combined_places((places[n], axes[n].size) for n in measured.table)
            if measured.ladder:
                counted = axes[measured.table[0]].ladder.of(codes[axes[measured.table[0]].column.name])
            cells = np.zeros(rows, np.int64) + counted
            for term, total in enumerate(sums):
                total.add(cells, None if measured.number is None else wholes[measured.number][:, term])
        if self.report is not None:
            self.report(rows)

    def counted(self) -> tuple[int, list[NDArray[Any]]]:
        """How many rows there are, and the numbers of each table, a row of them for each of its cells."""
        return self.rows, [np.stack([total.totals() for total in sums], axis=1) for sums in self.sums.values()]


def _margin(tables: Exact, wanted: Residual) -> NDArray[np.int64]:
    """The table of some columns, from one that has them all."""
    if wanted.ladder:
        return tables[wanted]
    one = next(t for t in tables if t.number == wanted.number and not t.ladder and set(wanted.table) <= set(t.table))
    outside = tuple(n for n, i in enumerate(one.table) if i not in wanted.table)
    return np.asarray(tables[one].sum(axis=outside))


# Rehearsed, stored and opened -----------------------------------------------------------------------------------------


def release_of(
    law: TableLaw, certificate: Mapping[str, Any], numbers: NDArray[np.int64], folder: Path | None = None
) -> CentralRelease:
    """The release with these measured numbers, and what follows from them."""
    found = law.estimates(numbers, certificate["release"]["rows"])
    return CentralRelease(law, certificate, numbers, found, folder)


def about(rows: int | None, made_up: int | None, files: Mapping[str, str]) -> dict[str, Any]:
    """What a certificate records about a release of tables."""
    return {"rows": rows, "made_up_rows": made_up, "files": dict(files)}


def rehearse(law: TableLaw) -> float:
    """Make the release of nobody, in memory: what fails without any data fails here. The bytes that it takes."""
    from dproof.report.page import release_page

    coins = for_rehearsal()
    empty = {one: np.zeros(law.domain.table_shape(one), np.int64) for one in law.noise}
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(_stored(law, law.measure(empty, coins), None, True), sink, **PARQUET)
    certificate = law.record(about(0 if law.plan.rows_are_public else None, None, {}), private=True)
    release_page(CentralRelease(law, certificate, np.zeros(0, np.int64), law.precisions))
    if law.asked.rows:
        rows = made_up_table(law, law.precisions[None], coins)
        pa.parquet.write_table(rows, pa.BufferOutputStream(), **PARQUET)
    return float(sink.tell())


def write(folder: Path, release: CentralRelease) -> dict[str, Any]:
    """Write the measured tables, synthetic rows, the plan, the certificate and the page; returns the certificate."""
    from dproof.report.page import release_page

    law = release.law
    pa.parquet.write_table(_stored(law, release.measured, release.rows, release.private), folder / TABLES, **PARQUET)
    (folder / PLAN).write_text(law.plan.text, "utf-8")
    made_up = release.certificate["release"]["made_up_rows"]
    if made_up is not None:
        pa.parquet.write_table(release.to_arrow(), folder / ROWS, **PARQUET)
    names = (TABLES, PLAN, *([ROWS] if made_up is not None else []))
    files = {name: digest(folder / name) for name in names}
    certificate = law.record(about(release.rows, made_up, files), private=release.private)
    (folder / REPORT).write_text(release_page(replace(release, certificate=certificate)), "utf-8")
    write_certificate(certificate, folder / CERTIFICATE)
    return certificate


def _stored(law: TableLaw, numbers: NDArray[np.int64], rows: int | None, private: bool) -> Any:
    """The file of the measured numbers: the columns of each table, the cell, the last column varying fastest.

    Sums of curves have as many numbers in each cell as a curve has coefficients.

    The table of no columns is the number of rows: measured, or as it is where it is public.
    """
    sizes, names = list(map(prod, law.shapes.values())), law.measured_names
    if rows is not None:
        sizes, names, numbers = [1, *sizes], ["", *names], np.append(rows, numbers)
    tables = from_texts(names).take(from_numpy(np.repeat(np.arange(len(sizes)), sizes)))
    cells = np.concatenate([np.zeros(0, np.int64), *map(np.arange, sizes)])
    schema = _SCHEMA if private else _SCHEMA.with_metadata(SEEDED)
    return pa.Table.from_arrays([tables, from_numpy(cells), from_numpy(numbers)], schema=schema)


def opened_tables(folder: Path, plan: Plan, certificate: Mapping[str, Any]) -> CentralRelease:
    """The release of tables in a folder."""
    law, made_up = recorded_table_law(plan, certificate), certificate["release"]["made_up_rows"]
    if (made_up is not None) != law.asked.rows:
        raise VerificationFailed("the certificate and the plan disagree on whether there are synthetic rows")
    rows = certificate["release"]["rows"]
    return release_of(
        law, certificate, _read_measured(folder / TABLES, law, rows, bool(certificate["private"])), folder
    )


def _read_measured(file: Path, law: TableLaw, rows: int | None, private: bool) -> NDArray[np.int64]:
    """The measured numbers of a file that is written as dproof writes it."""
    try:
        with pa.parquet.ParquetFile(file, read_dictionary=["table"]) as stored:  # a name is kept once, however long
            check_metadata(stored, [])
            if stored.metadata.num_rows != sum(map(prod, law.shapes.values())) + (rows is not None):
                raise VerificationFailed("the stored tables have other cells than the certificate")
            table = stored.read()
        kept = table.schema.names == _SCHEMA.names and table["table"].type == pa.dictionary(pa.int32(), pa.string())
        names = {"", *law.measured_names}
        if not kept or any(not names.issuperset(part.dictionary.to_pylist()) for part in table["table"].chunks):
            raise VerificationFailed("the stored tables are not as the plan determines them")
        table = table.set_column(0, "table", table["table"].cast(pa.string()))
    except (pa.ArrowException, OSError, ValueError):
        raise VerificationFailed(
            "the stored tables cannot be read: `dproof verify` says which file has changed"
        ) from None
    if private and (table.schema.metadata or {}).keys() & SEEDED.keys():
        raise VerificationFailed("the stored tables were drawn with seeded coins, and the certificate does not say so")
    if table.schema.names != _SCHEMA.names or table.schema.types != _SCHEMA.types or table["measured"].null_count:
        raise VerificationFailed("the stored tables are not as the plan determines them")
    numbers = as_numpy(table["measured"])
    if rows is not None:
        if not len(numbers) or numbers[0] != rows:
            raise VerificationFailed("the stored tables have another number of rows than the certificate")
        numbers = numbers[1:]
    if not _stored(law, numbers, rows, True).equals(table.replace_schema_metadata(None)):
        raise VerificationFailed("the stored tables are not in the order that the plan determines")
    return np.asarray(numbers)

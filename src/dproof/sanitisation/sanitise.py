"""Sanitise a table once; afterwards anything may be asked of it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from dproof.coins import current
from dproof.engines import Source, open_source
from dproof.errors import DproofWarning
from dproof.sanitisation.folder import appearing, check_absent
from dproof.sanitisation.plan import Plan
from dproof.sanitisation.product import Progress, sanitised_blocks, stored_schema
from dproof.sanitisation.release import DATA, PARQUET, Release, about, finish
from dproof.sanitisation.row_law import RowLaw, certify_row

_RARE = 1 / 100  # expected number of rows published as they are, from which a curator is warned


def sanitise(
    source: Any,
    plan: Plan | str | os.PathLike[str] | Mapping[str, Any],
    out: str | os.PathLike[str] | None = None,
    *,
    table: str | None = None,
    progress: Progress | None = None,
) -> Release:
    """The sanitised table of a path, a frame, a relation or an array: stored in the folder `out`, or held in memory.

    The law of a row is certified before any data is opened. Then every row is drawn from the law of its own values,
    independently (product sanitisation, HLM15, equation (7)), and the table costs what one row costs (Theorem 5).

    >>> import pyarrow
    >>> plan = {"privacy": {"epsilon": 1}, "columns": {"read": {"space": "categories", "values": [0, 1]}}}
    >>> sanitise(pyarrow.table({"read": [0, 1, 1]}), plan).rows
    3
    """
    law = certify_row(Plan.of(plan))
    if out is not None:
        check_absent(Path(out))
    opened = open_source(source, table)
    law.plan.check_names(opened.names)
    coins = current()
    blocks = _aligned(sanitised_blocks(opened, law, coins, progress), opened, law)
    if out is None:
        schema, batches = next(blocks), list(blocks)
        held = pa.Table.from_batches(batches, schema)
        certificate = law.certificate(about(law, held.num_rows, {}), private=coins.private).to_json()
        release = Release(law, certificate, table=held)
    else:
        release = _store(blocks, law, Path(out), coins.private)
    _warn(release)
    return release


def _store(blocks: Iterator[Any], law: RowLaw, out: Path, private: bool) -> Release:
    with appearing(out) as folder:
        schema, rows = next(blocks), 0
        settings = {key: value for key, value in PARQUET.items() if key != "row_group_size"}
        with pa.parquet.ParquetWriter(folder / DATA, schema, **settings) as writer:
            for block in blocks:
                writer.write_batch(block)
                rows += block.num_rows
        certificate = finish(folder, law, rows, private)
    return Release(law, certificate, out)


def _aligned(blocks: Iterator[Any], source: Source, law: RowLaw) -> Iterator[Any]:
    """The schema first, then the blocks in it; an empty table has public columns of text."""
    first = next(blocks, None)
    private = stored_schema(law)
    names = [name for column in law.plan.columns if column.kind != "drop" for name in column.stored]
    known = {field.name: field for field in (private if first is None else first.schema)}
    schema = pa.schema([known.get(name, pa.field(name, pa.string())) for name in names])
    yield schema
    if first is not None:
        yield first
    for block in blocks:
        yield block if block.schema == schema else block.cast(schema)


def _warn(release: Release) -> None:
    expected = float(release.rows * release.plan.privacy.delta)
    if expected > _RARE:
        warnings.warn(
            f"with delta > 0 a law may publish a true value with probability delta: over {release.rows} rows that is "
            f"{expected:.3g} on average; choose delta well below one over the number of rows",
            DproofWarning,
            stacklevel=3,
        )

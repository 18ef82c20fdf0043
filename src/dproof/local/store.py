"""Writing the sanitised table of a release: once, as one file, or in parts where the rows are (`stored` reads it)."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from dproof.coins import current, for_rehearsal
from dproof.errors import InputError, SourceError
from dproof.local.draw import made_up_rows, public_type, sanitised_blocks, stored_schema
from dproof.local.recipe import RowLaw
from dproof.storage.folder import DATA, PARQUET, digest
from dproof.storage.metadata import SEEDED
from dproof.tables.source import Source, Spread

_REHEARSED, _MARGIN = 1 << 12, 1.25  # rows; of how much they say about more of them
Written = tuple[int, dict[str, str]]  # how many rows, and the hash of each file


def write_whole(blocks: Iterator[Any], folder: Path) -> Written:
    """Write aligned blocks as the one file of a release."""
    rows = _write(blocks, folder / DATA)
    return rows, {DATA: digest(folder / DATA)}


def rehearse(law: RowLaw) -> float:
    """Draw and write rows of a table that does not exist, in memory; the bytes that a row takes, and some more.

    What fails in drawing and writing without any data fails here. A public column counts as empty.
    """
    sink, coins = pa.BufferOutputStream(), for_rehearsal()
    block = made_up_rows(law, _REHEARSED, coins)
    pa.parquet.write_table(pa.Table.from_batches([block]), sink, **PARQUET)
    return float(_MARGIN * sink.tell() / _REHEARSED)


def write_parts(spread: Spread, law: RowLaw, folder: Path) -> Written:
    """Draw the rows where they are, and make those attempts the release that the engine's answers name.

    An engine may try a part again, or twice at once, and every attempt draws afresh; all write under names of their
    own into a folder aside. The engine has one answer for each part, and only the file in that answer moves into the
    release; the others are deleted before the release appears, and whoever still writes finds the folder gone.
    """
    attempts, rest = folder / "attempts", folder / "rest"
    attempts.mkdir()
    answers = spread(law.plan.sources, partial(_attempt, law, attempts), deal=law.plan.order == "shuffle")
    rows, files = 0, dict[str, str]()
    for answer in map(json.loads, answers):
        if "refused" in answer:
            raise SourceError(answer["refused"])
        if answer["rows"]:
            part = f"part-{len(files):06d}.parquet"
            _take(attempts / answer["name"], folder / part)
            rows, files[part] = rows + answer["rows"], answer["hash"]
    attempts.rename(rest)
    shutil.rmtree(rest)
    return (rows, files) if files else write_whole(aligned(iter(()), law, current().private), folder)


def drawn_rows(law: RowLaw, batches: Iterator[Any]) -> Iterator[Any]:
    """The sanitised blocks of some batches of rows, drawn where these are."""
    return sanitised_blocks(Source(law.plan.sources, lambda columns: batches), law, current())


def drawn_types(law: RowLaw, given: Any) -> Any:
    """The schema of what is drawn from rows of a schema, without dictionaries."""
    schema = next(aligned(iter(()), law, True))
    for place, field in enumerate(schema):
        if field.name in stored_schema(law).names:
            kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        else:
            kind = public_type(given.field(field.name).type)
        schema = schema.set(place, pa.field(field.name, kind))
    return schema


def _take(file: Path, place: Path) -> None:
    try:
        file.rename(place)
    except FileNotFoundError:
        raise SourceError(
            "a part of the release is not where the driver looks: the workers must see its folder under the same "
            "name, on a disk they all share"
        ) from None


def _attempt(law: RowLaw, attempts: Path, batches: Iterator[Any]) -> bytes:
    """Draw one part with the coins of this process; JSON that names the file, or says why there can be no release."""
    file, refused = attempts / f"{secrets.token_hex(16)}.parquet", attempts / "refused"
    source, coins = Source(law.plan.sources, lambda columns: _until(refused, batches)), current()
    try:
        rows = _write(aligned(sanitised_blocks(source, law, coins), law, coins.private), file)
    except InputError as error:
        file.write_text(str(error), "utf-8")
        file.rename(refused)
        return json.dumps({"refused": str(error)}).encode()
    with file.open("rb") as written:
        os.fsync(written.fileno())
    return json.dumps({"name": file.name, "rows": rows, "hash": digest(file)}).encode()


def _until(refused: Path, batches: Iterator[Any]) -> Iterator[Any]:
    """The batches, as long as no other part is refused: then there is no release, and no need to go on."""
    for batch in batches:
        if refused.exists():
            raise SourceError(refused.read_text("utf-8"))
        yield batch


def _write(blocks: Iterator[Any], file: Path) -> int:
    """Write one block while the next is drawn; how many rows there were."""
    rows, before = 0, None
    settings = {key: value for key, value in PARQUET.items() if key != "row_group_size"}
    with pa.parquet.ParquetWriter(file, next(blocks), **settings) as writer, ThreadPoolExecutor(1) as beside:
        for block in blocks:
            if before is not None:
                before.result()
            before = beside.submit(writer.write_batch, block)
            rows += block.num_rows
        if before is not None:
            before.result()
    return rows


def aligned(blocks: Iterator[Any], law: RowLaw, private: bool) -> Iterator[Any]:
    """The schema first, then the blocks in it; an empty table has public columns of text.

    What seeded coins drew carries it in its schema, wherever the rows go.
    """
    first = next(blocks, None)
    known = {field.name: field for field in (stored_schema(law) if first is None else first.schema)}
    schema = pa.schema([known.get(name, pa.field(name, pa.string())) for name in law.stored])
    schema = schema if private else schema.with_metadata(SEEDED)
    yield schema
    for block in blocks if first is None else chain([first], blocks):
        yield block if block.schema == schema else block.cast(schema)

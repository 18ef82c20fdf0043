"""Tables that a custodian sends: streamed into the folder, under a name of one part, and never opened on the way."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO

from starlette.concurrency import run_in_threadpool

from dproof.errors import InputError
from dproof.service.folder import UNFINISHED, Folder, checked_name

LARGEST_UPLOAD = 1 << 30
ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".xlsx", ".parquet", ".arrow", ".feather", ".ipc")
_NAMING = threading.Lock()


async def save_upload(folder: Folder, file: str, chunks: AsyncIterator[bytes]) -> Path:
    """Save a new table, whole or not at all; one that is there is never replaced: its ledger counts for its rows."""
    name, dot, ending = file.partition(".")
    if dot + ending not in ENDINGS:
        raise InputError(f"a table is sent under a name that ends in {', '.join(ENDINGS)}")
    place = folder.new_table(checked_name(name, "table"), dot + ending)
    part = place.with_name(f"{UNFINISHED}{secrets.token_hex(8)}")
    try:
        with await run_in_threadpool(_created, part) as sink:
            async for chunk in chunks:
                await run_in_threadpool(sink.write, chunk)
        await run_in_threadpool(_named, folder, name, part, place)
    except OSError as error:
        raise InputError(f"the table cannot be saved: {error.strerror}") from None
    finally:
        part.unlink(missing_ok=True)
    return place


def _created(part: Path) -> BinaryIO:
    return os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _named(folder: Folder, name: str, part: Path, place: Path) -> None:
    with _NAMING:  # another may have come meanwhile
        folder.new_table(name, "")
        os.replace(part, place)

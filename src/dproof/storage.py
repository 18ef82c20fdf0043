"""The folder of a release: it appears whole or not at all, here or on a file system elsewhere (hdfs://, s3a://).

An object store cannot rename a folder, so nothing appears there at once: the certificate is written last, and a folder
without one is no release. A stored Parquet file says nothing beside its rows but what its writer, Arrow or Spark, says
of itself: a reader of the file sees such texts, and no law gives them, so they may be somebody's data.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from typing import Any, TypeGuard

import pyarrow as pa
import pyarrow.ipc

from dproof.coins import NOT_PRIVATE
from dproof.errors import FileError, VerificationFailed

DATA, PARTS = "release.parquet", "part-*.parquet"  # one file, or as many as there are
PLAN, CERTIFICATE, REPORT = "plan.toml", "certificate.json", "report.html"
SURVEY = "survey.html"  # in the folder of a survey, which has no table
UNFINISHED = ".unfinished-"


def check_absent(target: Path) -> None:
    """Refuse a name that is taken: a release is never overwritten."""
    if target.exists() or target.is_symlink():
        raise FileError(f"{str(target)!r} is there already: it is never overwritten, so choose another name")
    if not target.absolute().parent.is_dir():
        raise FileError(f"the folder {str(target.absolute().parent)!r} is not there: make it first")


def check_room(folder: Path, size: float) -> None:
    """Refuse to begin what the disk has no room for."""
    free = shutil.disk_usage(folder).free
    if free < size:
        raise FileError(
            f"the release needs about {size / 1e6:,.0f} MB, and its disk has {free / 1e6:,.0f} MB left: make room, or "
            "choose a folder on another disk"
        )


def is_unfinished(folder: Path) -> bool:
    """Whether a folder is what an interrupted run left behind."""
    return UNFINISHED in folder.absolute().name


@contextmanager
def appearing(
    target: Path,
    publish: Callable[[], None] = lambda: None,
    published: Callable[[Path], bool] = lambda sibling: False,
) -> Iterator[Path]:
    """A temporary sibling to write into, which takes the target's name once everything in it is on the disk.

    Whatever stops the work before that deletes the sibling. Only a process that is killed leaves it, under a name that
    says that it is unfinished; the next run with this target deletes it. `publish` is called at the last moment at
    which nobody can have seen anything. What stops the work after it leaves the sibling for `finish_earlier`: it asks
    `published`, because an interrupt inside `publish` may come before or after the deed.
    """
    check_absent(target)
    place = target.absolute()
    _sweep(place, published)
    sibling, held = _begun(place)
    try:
        yield sibling
        for file in sorted(sibling.iterdir()):
            _flush(file)
        _flush(sibling)
        check_absent(target)
        publish()
        _name(sibling, target)
        _sweep(place, published)  # what was killed while this one was at work
    except BaseException as error:
        if published(sibling) or (place.exists() and not sibling.exists()):
            _note(error, sibling, target)
        else:
            shutil.rmtree(sibling, ignore_errors=True)
        raise
    finally:
        os.close(held)


def finish_earlier(target: Path, published: Callable[[Path], bool]) -> bool:
    """Give the target's name to what an earlier run published and could not name any more, if there is such a thing."""
    for left in _left(target.absolute()):
        if published(left):
            lock = _hold(left)
            if lock is None:
                raise FileError(f"another run is just finishing {str(target)!r}: nothing was spent")
            try:
                _name(left, target)
            except BaseException as error:
                _note(error, left, target)
                raise
            finally:
                os.close(lock)
            return True
    return False


def _name(sibling: Path, target: Path) -> None:
    """Let others see a sibling that is on the disk and published, under the target's name."""
    place = target.absolute()
    sibling.chmod(0o777 & ~_umask())
    try:
        sibling.rename(place)
    except OSError:
        check_absent(target)  # somebody was quicker
        raise
    _flush(place.parent)


def _note(error: BaseException, sibling: Path, target: Path) -> None:
    """Say, with what stopped the work after `publish`, where the release is."""
    error.add_note(
        f"the release is finished and paid for, and waits as {sibling.name!r}: while nothing else is called "
        f"{target.name!r}, the same command gives it that name at no further cost"
        if sibling.exists()
        else f"the release is made, in {str(target)!r}"
    )


def _begun(place: Path) -> tuple[Path, int]:
    """A new sibling, and the open file by which this process holds it."""
    while True:
        sibling = place.parent / f".{place.name}{UNFINISHED}{secrets.token_hex(8)}"
        try:
            sibling.mkdir(mode=0o700)
        except OSError as error:
            raise FileError(f"nothing can be written in {str(place.parent)!r}: {error.strerror}") from None
        lock = _hold(sibling)
        if lock is not None:  # else another run, which sweeps, came in between
            return sibling, lock


def _sweep(place: Path, published: Callable[[Path], bool]) -> None:
    """Delete what earlier runs with this target left when they were killed, but not what one is still at work in.

    It was never published, and must not be: beside the release that appears, it would be a second draw. One that was
    published is paid for, and stays: the command that made it can still name it.
    """
    for left in _left(place):
        lock = _hold(left)
        if lock is not None:
            if not published(left):
                shutil.rmtree(left, ignore_errors=True)
            os.close(lock)


def _left(place: Path) -> Iterator[Path]:
    return place.parent.glob(f".{escape(place.name)}{UNFINISHED}*")


def _hold(folder: Path) -> int | None:
    """Hold a folder as long as the returned file is open and this process lives; None where another one does."""
    from fcntl import LOCK_EX, LOCK_NB, flock

    try:
        lock = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    try:
        flock(lock, LOCK_EX | LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# A file system elsewhere ----------------------------------------------------------------------------------------------

_ALSO = {"s3a": "s3", "s3n": "s3"}  # Hadoop's names for what Arrow calls otherwise


def is_remote(place: Any) -> TypeGuard[str]:
    """Whether a place is a URI and not a path.

    >>> is_remote("s3a://bucket/release"), is_remote("release")
    (True, False)
    """
    return isinstance(place, str) and "://" in place


def fetch(uri: str, folder: Path, names: Sequence[str] = ()) -> None:
    """Copy these files of a remote folder into one here, or all of them; a folder in it is made here, empty."""
    with _reached(uri) as (system, root):
        if not names:
            names, folders = _listed(system, root)
            for name in folders:
                (folder / name).mkdir()
        for name in names:
            with system.open_input_stream(f"{root}/{name}") as stream, (folder / name).open("wb") as here:
                shutil.copyfileobj(stream, here)


def remote_table(uri: str) -> Any:
    """The rows of a remote folder, as an Arrow dataset that is read when it is asked."""
    from pyarrow.dataset import dataset  # slow: it loads pandas

    with _reached(uri) as (system, root):
        names, _ = _listed(system, root)
        files = [f"{root}/{name}" for name in names if name.endswith(".parquet") and name[0] not in "._"]
        return dataset(files, filesystem=system, format="parquet")


def _listed(system: Any, root: str) -> tuple[list[str], list[str]]:
    """The names of the files in a folder, and of whatever else is in it."""
    from pyarrow.fs import FileSelector

    entries = sorted(system.get_file_info(FileSelector(root)), key=lambda entry: entry.base_name)
    return [e.base_name for e in entries if e.is_file], [e.base_name for e in entries if not e.is_file]


@contextmanager
def _reached(uri: str) -> Iterator[tuple[Any, str]]:
    from pyarrow.fs import FileSystem

    scheme, _, rest = uri.partition("://")
    try:
        yield FileSystem.from_uri(f"{_ALSO.get(scheme, scheme)}://{rest.rstrip('/')}")
    except FileNotFoundError:
        raise FileError(f"{uri!r} is not a release: a release is a folder with a certificate, written last") from None
    except (pa.ArrowException, OSError):
        raise FileError(
            f"{scheme}:// cannot be read from here: copy the folder to a disk, or ask what dp.sanitise returned, "
            "with .on(spark)"
        ) from None


# The stored table -----------------------------------------------------------------------------------------------------

# What the stored file looks like follows from the plan: fixed settings, no metadata of the source, no index.
PARQUET: dict[str, Any] = {
    "compression": "snappy",
    "version": "2.6",
    "write_statistics": False,
    "write_batch_size": 1 << 16,  # rows encoded at a time: they stay in cache
    "row_group_size": 1 << 20,
}


def digest(file: Path) -> str:
    """The SHA-256 of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


SEEDED = {b"dproof": NOT_PRIVATE.encode()}

_ARROW = b"ARROW:schema"
_SPARK, _FIELDS = b"org.apache.spark.version", b"org.apache.spark.sql.parquet.row.metadata"
# With spark.sql.parquet.datetimeRebaseModeInWrite = LEGACY the file says so, and names the session's time zone.
_LEGACY, _ZONE = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"), b"org.apache.spark.timeZone"
_VERSION = r"[0-9]{1,4}(\.[0-9]{1,4}){1,3}(-[A-Za-z0-9.-]{1,24})?"  # those who build Spark themselves add a word
_BY_ARROW = f"parquet-cpp-arrow version {_VERSION}"
_BY_SPARK = f"parquet-mr version {_VERSION}( \\(build [0-9a-f]{{1,40}}\\))?"
_SPARK_TYPES = (
    r"string|boolean|byte|short|integer|long|float|double|date|timestamp|timestamp_ntz|binary|decimal\([0-9]+,[0-9]+\)"
    r"|interval day to second|variant|geo(metry|graphy)\([A-Z]{1,5}:[A-Z0-9]{1,8}(, SPHERICAL)?\)"
)
_SANITISED = {pa.string(): "string", pa.bool_(): "boolean", pa.int64(): "long", pa.float64(): "double"}


def check_metadata(stored: Any, public: list[str], marks: Sequence[dict[bytes, bytes]] = ({}, SEEDED)) -> None:
    """Refuse a Parquet file that carries a text of its own beside the rows; what the text says is not told.

    It may carry one of the `marks` that dproof sets. The types of public columns are the source's, with whatever names
    stand inside them, but without dictionaries: these could list values that no row has.
    """
    about = stored.metadata
    noted = dict(about.metadata or {})
    by_arrow = re.fullmatch(_BY_ARROW, about.created_by) is not None
    _require(by_arrow or re.fullmatch(_BY_SPARK, about.created_by) is not None)
    schemas = [stored.schema_arrow]
    if by_arrow and _ARROW in noted:
        schemas.append(pa.ipc.read_schema(pa.py_buffer(base64.b64decode(noted.pop(_ARROW), validate=True))))
    for schema in schemas:
        _require(schema.names == stored.schema_arrow.names)
        _require((schema.metadata or {}).items() <= noted.items())
        for field in schema:
            _require(not field.metadata and not _noted(field.type))
            _require(field.name not in public or not _has_dictionary(field.type))
    if by_arrow:
        _require(noted in marks)
    else:
        _check_spark(noted, stored.schema_arrow, public)
    for place in range(about.num_row_groups):
        group = about.row_group(place)
        for chunk in map(group.column, range(group.num_columns)):
            # dproof has Arrow write no statistics; Spark always does.
            _require(not getattr(chunk, "metadata", None) and not (by_arrow and chunk.is_stats_set))
            # Others could unpack to a thousand times their size.
            _require(not by_arrow or chunk.compression in ("SNAPPY", "UNCOMPRESSED"))


def _require(condition: bool) -> None:
    if not condition:
        raise VerificationFailed("a stored file carries something beside its rows that dproof did not write")


def _noted(kind: Any) -> bool:
    """Whether a field inside a type, such as the items of a list, carries a note."""
    inside = [kind.field(place) for place in range(kind.num_fields)]
    return any(field.metadata or _noted(field.type) for field in inside)


def _has_dictionary(kind: Any) -> bool:
    """Whether a type has a dictionary anywhere in it."""
    return pa.types.is_dictionary(kind) or any(
        _has_dictionary(kind.field(place).type) for place in range(kind.num_fields)
    )


def _check_spark(noted: dict[bytes, bytes], schema: Any, public: list[str]) -> None:
    """What Spark says of itself: its version, its schema, and how it writes dates."""
    if zone := noted.pop(_ZONE, b"").decode():
        from zoneinfo import available_timezones  # looks through a folder

        _require(re.fullmatch("[+-][0-9]{2}:[0-9]{2}", zone) is not None or zone in available_timezones())
    _require(not any(noted.pop(key, b"") for key in _LEGACY))
    _require(noted.keys() == {_SPARK, _FIELDS} and re.fullmatch(_VERSION, noted[_SPARK].decode()) is not None)
    _check_spark_schema(noted[_FIELDS].decode(), schema, public)


def _check_spark_schema(text: str, schema: Any, public: list[str]) -> None:
    """Spark's own schema, in JSON: the columns, with the types of the file, or for public ones types that are known."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        _require(len(dict(pairs)) == len(pairs))
        return dict(pairs)

    def known(kind: Any) -> bool:
        if isinstance(kind, str):
            return re.fullmatch(_SPARK_TYPES, kind) is not None
        match kind:
            case {"type": "array", "elementType": item, "containsNull": bool(), **rest}:
                return not rest and known(item)
            case {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": bool(), **rest}:
                return not rest and known(key) and known(value)
            case {"type": "struct", "fields": [*fields], **rest}:
                return not rest and all(map(plain, fields))
        return False

    def plain(field: Any) -> bool:
        match field:
            case {"name": str(), "type": kind, "nullable": bool(), "metadata": dict() as notes, **rest}:
                return not rest and not notes and known(kind)
        return False

    def sanitised(kind: Any) -> Any:
        if not pa.types.is_list(kind):
            return _SANITISED.get(kind)
        return {"type": "array", "elementType": sanitised(kind.value_type), "containsNull": kind.value_field.nullable}

    said = json.loads(text, object_pairs_hook=once)
    _require(known(said) and isinstance(said, dict) and said["type"] == "struct")
    _require([field["name"] for field in said["fields"]] == schema.names and len(text) <= len(json.dumps(said)))
    for field in said["fields"]:
        _require(field["name"] in public or field["type"] == sanitised(schema.field(field["name"]).type))

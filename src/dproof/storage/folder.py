"""A folder that appears whole or not at all, here; or on a file system that is no disk of this machine: hdfs://, s3a://.

An object store cannot rename a folder, so nothing appears there at once: the certificate is written last, and a folder
without one is no release.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from typing import Any, TypeGuard

import pyarrow as pa

from dproof.errors import FileError

DATA, PARTS = "release.parquet", "part-*.parquet"  # one file, or as many as there are
PLAN, CERTIFICATE, REPORT = "plan.toml", "certificate.json", "report.html"
UNFINISHED = ".unfinished-"


def check_absent(target: Path) -> None:
    """Refuse a name that is taken: a release is never overwritten."""
    if target.exists() or target.is_symlink():
        raise FileError(f"{str(target)!r} is there already: a release is never overwritten, so choose another name")
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
    _sweep(place)
    sibling, held = _begun(place)
    try:
        yield sibling
        for file in sorted(sibling.iterdir()):
            _flush(file)
        _flush(sibling)
        check_absent(target)
        publish()
        _name(sibling, target)
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


def _sweep(place: Path) -> None:
    """Delete what earlier runs with this target left when they were killed, but not what one is still at work in.

    It was never published, and must not be: beside the release that appears, it would be a second draw.
    """
    for left in _left(place):
        lock = _hold(left)
        if lock is not None:
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
                while part := stream.read(1 << 20):
                    here.write(part)


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

"""A folder that appears whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path

from dproof.errors import InputError

UNFINISHED = ".unfinished-"


def check_absent(target: Path) -> None:
    """Refuse a name that is taken: a release is never overwritten."""
    if target.exists() or target.is_symlink():
        raise InputError(f"{str(target)!r} is there already: a release is never overwritten, so choose another name")
    if not target.absolute().parent.is_dir():
        raise InputError(f"the folder {str(target.absolute().parent)!r} is not there: make it first")


def check_room(folder: Path, size: float) -> None:
    """Refuse to begin what the disk has no room for."""
    free = shutil.disk_usage(folder).free
    if free < size:
        raise InputError(
            f"the release needs about {size / 1e6:,.0f} MB, and its disk has {free / 1e6:,.0f} MB left: make room, or "
            "choose a folder on another disk"
        )


def is_unfinished(folder: Path) -> bool:
    """Whether a folder is what an interrupted run left behind."""
    return UNFINISHED in folder.absolute().name


@contextmanager
def appearing(target: Path, publish: Callable[[], None] = lambda: None) -> Iterator[Path]:
    """A temporary sibling to write into, which takes the target's name once everything in it is on the disk.

    Whatever stops the work before that deletes the sibling. Only a process that is killed leaves it, under a name that
    says that it is unfinished; the next run with this target deletes it. `publish` is called at the last moment at
    which nobody can have seen anything.
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
        sibling.chmod(0o777 & ~_umask())
        publish()
        try:
            sibling.rename(place)
        except OSError:
            check_absent(target)  # somebody was quicker
            raise
        _flush(place.parent)
    except BaseException:
        shutil.rmtree(sibling, ignore_errors=True)
        raise
    finally:
        os.close(held)


def _begun(place: Path) -> tuple[Path, int]:
    """A new sibling, and the open file by which this process holds it."""
    while True:
        sibling = place.parent / f".{place.name}{UNFINISHED}{secrets.token_hex(8)}"
        try:
            sibling.mkdir(mode=0o700)
        except OSError as error:
            raise InputError(f"nothing can be written in {str(place.parent)!r}: {error.strerror}") from None
        held = _hold(sibling)
        if held is not None:  # else another run, which sweeps, came in between
            return sibling, held


def _sweep(place: Path) -> None:
    """Delete what earlier runs with this target left when they were killed, but not what one is still at work in.

    It was never published, and must not be: beside the release that appears, it would be a second draw.
    """
    for left in place.parent.glob(f".{escape(place.name)}{UNFINISHED}*"):
        held = _hold(left)
        if held is not None:
            shutil.rmtree(left, ignore_errors=True)
            os.close(held)


def _hold(folder: Path) -> int | None:
    """Hold a folder as long as the returned file is open and this process lives; None where another one does."""
    from fcntl import LOCK_EX, LOCK_NB, flock

    try:
        held = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    try:
        flock(held, LOCK_EX | LOCK_NB)
    except OSError:
        os.close(held)
        return None
    return held


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

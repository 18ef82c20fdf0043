"""A folder that appears whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dproof.errors import InputError

UNFINISHED = ".unfinished-"


def check_absent(target: Path) -> None:
    """Refuse a name that is taken: a release is never overwritten."""
    if target.exists() or target.is_symlink():
        raise InputError(f"{str(target)!r} is there already: a release is never overwritten, so choose another name")
    if not target.absolute().parent.is_dir():
        raise InputError(f"the folder {str(target.absolute().parent)!r} is not there: make it first")


def is_unfinished(folder: Path) -> bool:
    """Whether a folder is what an interrupted run left behind."""
    return UNFINISHED in folder.absolute().name


@contextmanager
def appearing(target: Path) -> Iterator[Path]:
    """A temporary sibling to write into, which takes the target's name once everything in it is on the disk.

    Whatever stops the work before that leaves at most the sibling, whose name says that it is unfinished.
    """
    check_absent(target)
    place = target.absolute()
    sibling = place.parent / f".{place.name}{UNFINISHED}{secrets.token_hex(8)}"
    sibling.mkdir(mode=0o700)
    try:
        yield sibling
        for file in sorted(sibling.iterdir()):
            _flush(file)
        _flush(sibling)
        check_absent(target)
        sibling.chmod(0o777 & ~_umask())
        try:
            sibling.rename(place)
        except OSError:
            check_absent(target)  # somebody was quicker
            raise
        _flush(place.parent)
    except BaseException:
        shutil.rmtree(sibling, ignore_errors=True)
        raise


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

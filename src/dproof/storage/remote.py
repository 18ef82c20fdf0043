"""A release on a file system that is no disk of this machine: hdfs://, s3a:// and the like.

An object store cannot rename a folder, so nothing appears there at once: the certificate is written last, and a folder
without one is no release.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeGuard

import pyarrow as pa

from dproof.errors import InputError

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
        raise InputError(f"{uri!r} is not a release: a release is a folder with a certificate, written last") from None
    except (pa.ArrowException, OSError):
        raise InputError(
            f"{scheme}:// cannot be read from here: copy the folder to a disk, or ask what dp.sanitise returned, "
            "with .on(spark)"
        ) from None

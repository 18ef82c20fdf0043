"""The SQLite file of a ledger: one writer at a time, over threads, processes and forks, and debits that last.

A table of entries is only ever added to, and the head of their chain is kept beside it. While the file is open, its
latest entries lie in a file beside it, which ends in `-wal`; closing brings them into the one file.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from weakref import WeakSet, finalize

from dproof.errors import DproofError, FileError, VerificationFailed

BASIC, CONCENTRATED = 1, 2  # versions of the file: its tables, its chain, the keys of questions in it, how it accounts
_Files = tuple[tuple[int, int] | None, tuple[int, int] | None]
_PATIENCE = 120  # seconds that a process waits for the others
_KIND = 1146114674
_TABLES = """
CREATE TABLE entries (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, body TEXT NOT NULL, hash TEXT NOT NULL);
CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER NOT NULL, hash TEXT NOT NULL);
CREATE TRIGGER no_change BEFORE UPDATE ON entries BEGIN SELECT raise(ABORT, 'a ledger is only added to'); END;
CREATE TRIGGER no_loss BEFORE DELETE ON entries BEGIN SELECT raise(ABORT, 'a ledger is only added to'); END;
PRAGMA application_id = {kind};
PRAGMA user_version = {version};
"""


class LedgerFile:
    """A connection that is kept from one transaction to the next, and opened anew where the file is another one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._place = path.resolve()  # SQLite keeps the journal beside the file itself, not beside a link to it
        self.database: sqlite3.Connection | None = None
        self._journal = ""
        self._files: _Files | None = None

    @contextmanager
    def transaction(self, *, writing: bool, lasting: bool) -> Iterator[tuple[sqlite3.Connection, int]]:
        """The connection, and the version of the file, 0 where it is empty: one writer at a time over all processes.

        What was written is on the disk afterwards, or if it need not be `lasting`, together with the next that is.
        """
        with LOCK:
            try:
                database = self._open()
                lazily = self._journal == "wal" and not lasting
                database.execute(f"PRAGMA synchronous = {'NORMAL' if lazily else 'FULL'}")
                database.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
                made = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
                self._files = self._files or self._beside()
                yield database, database.execute("PRAGMA user_version").fetchone()[0] if made else 0
                database.execute("COMMIT")
            except BaseException as error:
                if isinstance(error, sqlite3.Error):
                    self.close()
                    raise _said(error, self.path) from None
                if self.database is not None:
                    self.database.rollback()
                raise

    def _open(self) -> sqlite3.Connection:
        if self.database is not None and self._files == self._beside():
            return self.database
        self.close()
        place = self._place.as_uri()
        fixed = self._place.exists() and not all(os.access(path, os.W_OK) for path in (self._place, self._place.parent))
        if fixed:  # nothing can be spent from it, but it can be looked at
            place += "?mode=ro" if self._beside()[1] else "?immutable=1"
        database = sqlite3.connect(place, uri=True, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        self.database, self._files, self._closing = database, None, finalize(self, database.close)
        _OPEN.add(self)
        made = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if made and database.execute("PRAGMA application_id").fetchone()[0] != _KIND:
            raise FileError(f"{self.path.name!r} is not a ledger")
        version = database.execute("PRAGMA user_version").fetchone()[0]
        if made and version not in (BASIC, CONCENTRATED):
            raise FileError(
                f"{self.path.name!r} is a ledger of version {version}, and this dproof knows version {BASIC} and "
                f"{CONCENTRATED}: use the dproof that wrote it"
            )
        if made and not fixed:
            # With the journal ahead of the file, a debit waits for the disk once. A new file has no journal yet, and
            # one that another process is reading just now keeps the journal that it has.
            with suppress(sqlite3.OperationalError):
                database.execute("PRAGMA journal_mode = WAL")
        self._journal = database.execute("PRAGMA journal_mode").fetchone()[0]
        return database

    def _beside(self) -> _Files:
        """Which files lie at the ledger's place and at that of its journal."""
        return _identity(self._place), _identity(f"{self._place}-wal")

    def close(self) -> None:
        """Bring everything into the one file and let go of it; whatever comes next opens it again."""
        with LOCK:
            if self.database is not None:
                self.database = None
                self._closing()


# SQLite's locks do not survive a fork: every ledger is closed before one, and no other thread may open it meanwhile.
LOCK = threading.RLock()
_OPEN: WeakSet[LedgerFile] = WeakSet()


def _before_fork() -> None:
    LOCK.acquire()
    for file in list(_OPEN):
        file.close()


if hasattr(os, "register_at_fork"):  # where processes fork
    os.register_at_fork(before=_before_fork, after_in_parent=LOCK.release, after_in_child=LOCK.release)


def make_tables(database: sqlite3.Connection, version: int) -> None:
    """Begin an empty file."""
    for statement in _TABLES.format(kind=_KIND, version=version).strip().split(";\n"):
        database.execute(statement)


def is_begun(path: str | os.PathLike[str]) -> bool:
    """Whether a file is there, and not only the empty one with which another process is about to begin."""
    return Path(path).exists() and Path(path).stat().st_size > 0


def _identity(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _said(error: sqlite3.Error, path: Path) -> DproofError:
    """What SQLite's trouble means to a person."""
    code = getattr(error, "sqlite_errorname", "")
    for start, sentence in _TROUBLES.items():
        if code.startswith(start):
            return FileError(sentence.format(repr(str(path))))
    return VerificationFailed(f"{path.name!r} is damaged: what was spent is not known ({error})")


_TROUBLES = {
    "SQLITE_NOTADB": "{} is not a ledger",
    "SQLITE_BUSY": "the ledger {} is held by another process: try again",
    "SQLITE_CANTOPEN": "the ledger {} cannot be opened: is it a file, in a folder that you may write in?",
    "SQLITE_READONLY": "the ledger {} cannot be written to, so nothing can be paid from it",
    "SQLITE_FULL": "the disk of the ledger {} is full, so nothing can be paid from it",
    "SQLITE_IOERR": "the ledger {} cannot be read or written: its disk fails",
}

"""Who may do what: tokens are random, shown once, kept as hashes, and end by themselves or when they are revoked.

Who is signed in at the page has a cookie that names a session of a token; the token itself is not kept. Sessions are
known to the server alone, and not signed into the cookie: so one that was signed out is over, wherever it was copied.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, get_args

from dproof import ArgumentError, FileError
from dproof.serve import limits

Role = Literal["custodian", "analyst"]
_PREFIX = "dproof_"  # so that a token is known for what it is where it does not belong
_TABLES = """
CREATE TABLE IF NOT EXISTS tokens (
  number INTEGER PRIMARY KEY, hash TEXT NOT NULL, name TEXT NOT NULL, role TEXT NOT NULL, tables TEXT NOT NULL,
  made TEXT NOT NULL, ends TEXT NOT NULL, revoked TEXT)
"""


def now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a token: a custodian may do everything, an analyst may ask these tables under a budget."""

    number: int
    name: str
    role: Role
    tables: tuple[str, ...]
    made: str
    ends: str
    revoked: str | None = None

    @property
    def is_custodian(self) -> bool:
        return self.role == "custodian"

    def may_ask(self, table: str) -> bool:
        return self.is_custodian or table in self.tables

    def to_json(self) -> dict[str, Any]:
        fields = ("number", "name", "role", "made", "ends", "revoked")
        return {field: getattr(self, field) for field in fields} | {"tables": list(self.tables)}


class Tokens:
    """The tokens of a folder, in an SQLite file that nobody but its owner may read.

    >>> import tempfile
    >>> tokens = Tokens(Path(tempfile.mkdtemp(), "tokens.db"))
    >>> text, ann = tokens.issue("ann", "analyst", ["census"], days=30)
    >>> tokens.holder(text) == ann, tokens.holder("dproof_guess"), ann.may_ask("census"), ann.may_ask("pay")
    (True, None, True, False)
    """

    def __init__(self, path: Path, clock: Callable[[], datetime] = now) -> None:
        self._path, self._clock = path, clock
        self._lock = threading.Lock()
        self._reading: tuple[tuple[int, int], sqlite3.Connection] | None = None  # which file is open
        self._known: tuple[int, list[tuple[str, Holder]]] | None = None  # what it holds, in which version
        try:
            path.touch(0o600)
            os.chmod(path, 0o600)
        except OSError as error:
            raise FileError(f"the tokens in {path.name!r} cannot be kept: {error.strerror}") from None
        with self._database() as database:
            database.execute(_TABLES)

    def issue(self, name: str, role: str, tables: Sequence[str] = (), *, days: int = 90) -> tuple[str, Holder]:
        """A new token, which is nowhere else to be seen, and who holds it."""
        check_request(name, role, tables, days)
        text, made = _PREFIX + secrets.token_urlsafe(32), self._clock()
        told = (_hash(text), name, role, json.dumps(list(tables)), _time(made), _time(made + timedelta(days=days)))
        with self._database() as database:
            added = database.execute(
                "INSERT INTO tokens (hash, name, role, tables, made, ends) VALUES (?, ?, ?, ?, ?, ?)", told
            )
            number = added.lastrowid
        return text, next(holder for holder in self.holders if holder.number == number)

    def holder(self, text: str) -> Holder | None:
        """Who holds a token that is still good; every stored hash is compared, and in constant time."""
        given, found = _hash(text), None
        for stored, holder in self._rows():
            if hmac.compare_digest(given, stored):
                found = holder
        return found if found is not None and self.is_good(found) else None

    def is_good(self, holder: Holder) -> bool:
        """Whether a token is neither revoked nor over."""
        return holder.revoked is None and _time(self._clock()) < holder.ends

    def by_number(self, number: int) -> Holder | None:
        """Who holds a token that is still good, by its number."""
        return next((one for one in self.holders if one.number == number and self.is_good(one)), None)

    @property
    def holders(self) -> list[Holder]:
        """Everybody who was given a token, in order."""
        return [holder for _, holder in self._rows()]

    def revoke(self, number: int) -> None:
        """End a token now."""
        if not any(holder.number == number and holder.revoked is None for holder in self.holders):
            raise ArgumentError(f"there is no token {number} that could be revoked")
        with self._database() as database:
            database.execute("UPDATE tokens SET revoked = ? WHERE number = ?", (_time(self._clock()), number))

    def _rows(self) -> list[tuple[str, Holder]]:
        """Every token, read again where the file has changed.

        SQLite counts the changes in the file itself, and compares that at every look: so what another connection or
        process wrote is seen at once, however quickly one change follows another.
        """
        with self._lock, self._sentences():
            found = os.stat(self._path)
            if self._reading is None or self._reading[0] != (found.st_dev, found.st_ino):  # another file is there now
                if self._reading is not None:
                    self._reading[1].close()
                database = sqlite3.connect(self._path, check_same_thread=False, isolation_level=None)
                self._reading, self._known = ((found.st_dev, found.st_ino), database), None
            database = self._reading[1]
            version = database.execute("PRAGMA data_version").fetchone()[0]
            if self._known is None or self._known[0] != version:
                columns = "hash, number, name, role, tables, made, ends, revoked"
                rows = database.execute(f"SELECT {columns} FROM tokens ORDER BY number").fetchall()
                self._known = version, [(stored, _holder(*fields)) for stored, *fields in rows]
            return self._known[1]

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        with self._sentences(), closing(sqlite3.connect(self._path)) as database, database:
            yield database

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise FileError(f"the tokens in {self._path.name!r} cannot be read or written: {error}") from None


def check_request(name: str, role: str, tables: Sequence[str], days: int) -> None:
    """Refuse a token that cannot be issued, before anything is written for it."""
    if not name.strip() or len(name) > limits.LONGEST_NAME or not name.isprintable():
        raise ArgumentError(
            f"a token needs the name of who will hold it, at most {limits.LONGEST_NAME} printable characters"
        )
    if role not in get_args(Role):
        raise ArgumentError(f"a token is for a custodian or an analyst, not for {role[:40]!r}")
    if isinstance(days, bool) or not isinstance(days, int) or not 1 <= days <= limits.MOST_TOKEN_DAYS:
        raise ArgumentError(f"days must be a whole number from 1 to {limits.MOST_TOKEN_DAYS}")
    if role == "analyst" and not tables:
        raise ArgumentError("an analyst's token names the tables that may be asked")


def _holder(number: int, name: str, role: Role, tables: str, *times: str) -> Holder:
    return Holder(number, name, role, tuple(json.loads(tables)), *times)


def _hash(text: str) -> str:
    """Tokens are 256 random bits: a plain hash of one tells nothing and cannot be searched."""
    return hashlib.sha256(text.encode()).hexdigest()


def _time(when: datetime) -> str:
    return when.isoformat(timespec="seconds")


COOKIE = "dproof_session"


class Sessions:
    """Names of sessions, and the number of the token of each. They end with the server, or with the token."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def begin(self, holder: Holder) -> str:
        name = secrets.token_urlsafe(32)
        self._numbers[name] = holder.number
        begun = [one for one, number in self._numbers.items() if number == holder.number]
        for oldest in begun[: -limits.MOST_SESSIONS]:
            del self._numbers[oldest]
        return name

    def number(self, name: str | None) -> int | None:
        """The number of the token that began a session."""
        return self._numbers.get(name or "")

    def end(self, name: str | None) -> None:
        self._numbers.pop(name or "", None)

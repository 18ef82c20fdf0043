"""Receiving the answers of a survey: what a page sends is checked and kept, and nothing else is."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from pathlib import Path

from dproof.arguments import as_path, expect
from dproof.errors import FileError, SourceError
from dproof.limits import MOST_ANSWERS
from dproof.releases.adopt import survey_law
from dproof.storage import SURVEY
from dproof.survey.answers import ANSWERS, AnswerReader


class Inbox:
    """The answers that come in to a survey, kept in a file of SQLite, which `adopt` reads.

    Kept are the id, which is random, and the row as it was drawn: no order, no time, no address. An answer is on the
    disk when `receive` returns; the first of an id counts.

    `survey` is the folder of a survey, which is verified first; `store` is the file, which is begun if there is none.
    """

    def __init__(self, survey: str | os.PathLike[str], store: str | os.PathLike[str]) -> None:
        folder, file = as_path(survey, "survey"), as_path(store, "store")
        if not (folder / SURVEY).is_file():
            raise FileError(f"{str(folder)!r} is not a survey: a survey is a folder that `dproof collect` made")
        self._reader, self.page = AnswerReader(survey_law(folder)), (folder / SURVEY).read_bytes()
        self._lock = threading.Lock()
        self._store = _opened(file)
        self._count = int(self._store.execute("SELECT count(*) FROM answers").fetchone()[0])

    def receive(self, line: bytes) -> None:
        """Keep an answer, a line of JSON; one that no page of this survey sends is refused."""
        found = self._reader.read(expect(line, bytes, "line", "the bytes of a line of JSON"))
        if found is None:
            raise SourceError("this is no answer to the survey: nothing was kept")
        own, row = found
        kept = json.dumps({"survey": self._reader.key, "id": own, "row": row}, separators=(",", ":")).encode()
        try:
            with self._lock:
                if self._count >= MOST_ANSWERS:
                    raise FileError(f"the survey has {MOST_ANSWERS:,} answers, which is the most: no more is kept")
                with self._store:
                    added = self._store.execute("INSERT OR IGNORE INTO answers VALUES (?, ?)", (own, kept)).rowcount
                self._count += added
        except sqlite3.Error:
            raise FileError("the answer cannot be kept: its sender may try again") from None

    def __len__(self) -> int:
        """How many answers there are."""
        return self._count

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._store.close()


def _opened(file: Path) -> sqlite3.Connection:
    try:
        if not file.exists():
            os.close(os.open(file, os.O_CREAT | os.O_WRONLY, 0o600))
        store = sqlite3.connect(file, check_same_thread=False)
        store.execute("PRAGMA journal_mode = DELETE")
        store.execute("PRAGMA synchronous = FULL")
        store.execute("PRAGMA secure_delete = ON")
        store.execute(ANSWERS)
        store.execute(
            "VACUUM"
        )  # the pages of SQLite tell in which order their few entries came, until they are written anew
    except (OSError, sqlite3.Error) as error:
        raise FileError(f"the answers {str(file)!r} cannot be opened: {error}") from None
    return store

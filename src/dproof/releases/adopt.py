"""Answers that were sanitised elsewhere, on respondents' devices, by an app or with dice: kept, read, made a release.

An answer is one line of JSON:

    {"survey": "<64 hexadecimal digits>", "id": "<random>", "row": {"smokes": 1, "age": 37}}

`survey` says to which plan and laws it belongs, `id` whose it is: the same one counts once. `row` has the code that was
drawn for each column, or for each group of joined columns; where a row answers for one thing, for that one only. What
no law can give, or only with a chance of 2⁻¹⁰⁰, is counted and left out: anybody may write to whoever receives answers.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dproof.arguments import as_path, expect, listed, named
from dproof.certification.certify import read_certificate
from dproof.coins import current
from dproof.errors import FileError, SourceError
from dproof.laws.law import Law
from dproof.limits import MOST_ANSWERS
from dproof.local.draw import aligned, answered, permutation, stored_codes, write_whole
from dproof.local.recipe import JointColumns, RowLaw, certify_row, recorded_row_law
from dproof.local.release import COINS_ELSEWHERE, LocalRelease, check_enough, finish, prepare
from dproof.plans.plan import Plan
from dproof.releases.verify import check, verify
from dproof.storage import CERTIFICATE, PLAN, SURVEY, appearing, check_absent
from dproof.survey.form import check_asked, survey_key

_LONGEST_ANSWER = 1 << 16  # bytes of a line
_LONGEST_ID = 64  # characters
_NEVER = Fraction(1, 1 << 100)  # the chance of an answer that nobody drew
# What was received is kept by the ids, which are random, and without a number or a time: no query tells in which order
# it came.
_ANSWERS = "CREATE TABLE IF NOT EXISTS answers (id TEXT PRIMARY KEY, line BLOB NOT NULL) WITHOUT ROWID"
_SQLITE = b"SQLite format 3\0"


@named
def adopt(
    answers: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    plan: Plan | str | os.PathLike[str] | Mapping[str, Any],
    out: str | os.PathLike[str],
) -> LocalRelease:
    """Make a release of answers that were drawn elsewhere by the laws of a plan.

    The certificate and the page say that dproof did not see the coins. Answers that no law can give are counted and
    left out, and several with one id count once.

    `answers` is a file with a line of JSON for each, or several such files. `plan` is the folder of a survey, or a
    Plan, its path or a mapping; `out` is the folder to make.
    """
    check_absent(as_path(out, "out"))
    law = survey_law(plan)
    check_asked(law)
    one = isinstance(answers, (str, os.PathLike))
    given = [answers] if one else listed(answers, "answers", "a file with lines of JSON, or a list of such files")
    received = read_answers([as_path(path, "answers") for path in given], law)
    if not received.rows:
        raise SourceError(
            f"there is no answer to this survey among the lines ({received.left_out:,} cannot be one): is it the right "
            "file, and the right plan?"
        )
    check_enough(law, received.rows)
    coins, prepared = current(), prepare(law)
    order = permutation(received.rows, coins) if law.plan.order == "shuffle" else np.arange(received.rows)
    adopted = {"coins": COINS_ELSEWHERE, "repeated": received.repeated, "left_out": received.left_out}
    with appearing(Path(out)) as folder:
        blocks = aligned(iter([_stored(received, law, order)]), law, coins.private)
        rows, files = write_whole(blocks, folder)
        certificate = finish(folder, prepared, rows, files, coins.private, adopted)
        check(folder)
    return LocalRelease(prepared[0], certificate, Path(out))


def survey_law(plan: Plan | str | os.PathLike[str] | Mapping[str, Any]) -> RowLaw:
    """The law that a survey's page draws from, as its certificate has it; of a plan alone, the one that it gets."""
    if isinstance(plan, (str, os.PathLike)) and (Path(plan) / SURVEY).is_file():
        verify(plan)
        return recorded_row_law(Plan.read(Path(plan) / PLAN), read_certificate(Path(plan) / CERTIFICATE))
    return certify_row(Plan.of(plan))


def _stored(received: Received, law: RowLaw, order: NDArray[np.int64]) -> Any:
    """The rows as they are stored, row n at the place order[n]."""
    if law.weights is None:
        arrays: dict[str, Any] = {}
        for group, codes in zip(law.groups, received.codes, strict=True):
            arrays |= stored_codes(group, codes[order])
    else:
        asked, every = np.empty(received.rows, np.int64), np.empty(received.rows, np.int64)
        for place, (codes, rows) in enumerate(zip(received.codes, received.places, strict=True)):
            asked[rows], every[rows] = place, codes
        every = every[order]

        def drawn(group: JointColumns, chosen: NDArray[np.int64]) -> dict[str, Any]:
            return stored_codes(group, every[chosen])

        arrays = answered(law, asked[order], drawn)
    return pa.RecordBatch.from_pydict({name: arrays[name] for name in law.stored})


# Reading answers ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Received:
    """The answers that count: for each group the codes that were drawn for it, and the rows that have them.

    `repeated` lines have an id that was read before, and `left_out` ones no law can give.
    """

    rows: int
    codes: tuple[NDArray[np.int64], ...]
    places: tuple[NDArray[np.int64], ...]
    repeated: int
    left_out: int


class AnswerReader:
    """What reads answers to the survey of a law, line by line."""

    def __init__(self, law: RowLaw) -> None:
        self.key, self._sampled = survey_key(law), law.weights is not None
        self._fits = {group.name: _fits(group) for group in law.groups}

    def read(self, line: bytes) -> tuple[str, dict[str, int | None]] | None:
        """The id and the row of an answer; None for what no law can give. An answer to another survey is refused."""
        found = _parsed(line)
        if isinstance(found.get("survey"), str) and found["survey"] != self.key:
            raise SourceError("an answer is to another survey than this plan's, or to another version of it")
        row: Any = found.get("row")
        own: Any = found.get("id")
        whole = isinstance(row, dict) and (len(row) == 1 if self._sampled else row.keys() == self._fits.keys())
        named = isinstance(own, str) and 0 < len(own) <= _LONGEST_ID and own.isprintable() and "survey" in found
        if not whole or not named or found["survey"] != self.key:
            return None
        possible = all(name in self._fits and self._fits[name](code) for name, code in row.items())
        return (own, row) if possible else None


def read_answers(paths: Iterable[Path], law: RowLaw) -> Received:
    """The answers in some files; those to another survey are refused."""
    reader, places = AnswerReader(law), {group.name: place for place, group in enumerate(law.groups)}
    absent = [group.mechanism.family.absent for group in law.groups]
    codes: list[list[Any]] = [[] for _ in law.groups]
    rows: list[list[int]] = [[] for _ in law.groups]
    ids: set[str] = set()
    repeated = left_out = 0
    for name, number, line in _lines(paths):
        try:
            found = reader.read(line)
        except SourceError as error:
            raise SourceError(
                f"line {number} of {name!r}: {error}; keep the answers of each in files of its own"
            ) from None
        if found is None:
            left_out += 1
        elif found[0] in ids:
            repeated += 1
        else:
            for part, code in found[1].items():
                place = places[part]
                codes[place].append(absent[place] if code is None else code)
                rows[place].append(len(ids))
            ids.add(found[0])
    drawn, their = (tuple(np.array(numbers, np.int64) for numbers in some) for some in (codes, rows))
    return Received(len(ids), drawn, their, repeated, left_out)


def _lines(paths: Iterable[Path]) -> Iterator[tuple[str, int, bytes]]:
    """The name of the file, the number and the bytes of every line that is not blank."""
    for path in paths:
        try:
            with path.open("rb") as file:
                is_store = file.read(len(_SQLITE)) == _SQLITE
                file.seek(0)
                for number, line in enumerate(_stored_lines(path) if is_store else file, 1):
                    if line.strip():
                        yield path.name, number, line
        except OSError as error:
            raise FileError(f"the answers {str(path)!r} cannot be read: {error.strerror}") from None


def _stored_lines(path: Path) -> Iterator[bytes]:
    """The lines that an `Inbox` keeps."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as store:
            yield from (line for (line,) in store.execute("SELECT line FROM answers ORDER BY id"))
    except sqlite3.Error as error:
        raise FileError(f"the answers {str(path)!r} cannot be read: {error}") from None


def _parsed(line: bytes) -> dict[str, Any]:
    """What a line says; nothing where it is no object of JSON."""
    try:
        found = json.loads(line) if len(line) <= _LONGEST_ANSWER else None
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _fits(group: JointColumns) -> Callable[[Any], bool]:
    """Whether a law can give a code; null stands for a missing number that it may give beside others."""
    family = group.mechanism.family
    possible, hidden = family.possible(), family.absent is not None
    if family.outputs is not None:
        low, high = 0, family.outputs - 1
    else:
        reach = _farthest_drawn(family) if family.farthest is None else family.farthest
        low, high = -reach, group.columns[0].space.candidates - 1 + reach

    def fits(code: Any) -> bool:
        if code is None:
            return hidden
        return type(code) is int and low <= code <= high and (possible is None or bool(possible[code]))

    return fits


def _farthest_drawn(family: Law) -> int:
    """How far noise without an end moves a number, but for a chance of next to nothing.

    Further off an answer was made up, and one alone would hide the mean of all others.
    """
    reach = 1
    while family.cumulative(0, -reach) > _NEVER:
        reach *= 2
    return reach


# Receiving them -------------------------------------------------------------------------------------------------------


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
        store.execute(_ANSWERS)
        # The pages of SQLite tell in which order their few entries came, until they are written anew.
        store.execute("VACUUM")
    except (OSError, sqlite3.Error) as error:
        raise FileError(f"the answers {str(file)!r} cannot be opened: {error}") from None
    return store

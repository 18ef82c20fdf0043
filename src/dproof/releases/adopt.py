"""Answers that were sanitised elsewhere, on respondents' devices, by an app or with dice: kept, read, made a release.

An answer is one line of JSON:

    {"survey": "<64 hexadecimal digits>", "id": "<random>", "row": {"smokes": 1, "age": 37}}

`survey` says to which plan and laws it belongs, `id` whose it is: the same one counts once. `row` has the code that was
drawn for each column, or for each group of joined columns; where a row answers for one thing, for that one only. What
no law can give, or only with a chance of 2⁻¹⁰⁰, is counted and left out: anybody may write to whoever receives answers.

Where the plan has tickets, a line also has the "ticket" that its sender was given, and each is good for one answer to
one survey. A store keeps the hashes of tickets in one table and answers in another, and nothing says which came with
which.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dproof.arguments import as_path, expect, flag, listed, named, whole
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
from dproof.tables.database import is_sqlite

_LONGEST_ANSWER = 1 << 16  # bytes of a line
_LONGEST_ID = 64  # characters
_NEVER = Fraction(1, 1 << 100)  # the chance of an answer that nobody drew
_TICKET = "abcdefghjkmnpqrstuvwxyz23456789", 20  # signs that are not taken for each other, and how many: 99 bits
# What was received is kept by the ids, which are random, and without a number or a time: no query tells in which order
# it came. A ticket that is spent stays where it lies, so the bytes of the file are the same whichever answer it came
# with.
_TABLES = """
CREATE TABLE IF NOT EXISTS survey (key TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS answers (id TEXT PRIMARY KEY, line BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tickets (hash BLOB PRIMARY KEY, spent INTEGER NOT NULL) WITHOUT ROWID;
"""


class TicketRefused(SourceError, code="ticket"):
    """An answer came without a ticket of its survey, or with one that was used before."""


@named
def adopt(
    answers: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    plan: Plan | str | os.PathLike[str] | Mapping[str, Any],
    out: str | os.PathLike[str],
) -> LocalRelease:
    """Make a release of answers that were drawn elsewhere by the laws of a plan.

    The certificate and the page say that dproof did not see the coins. Answers that no law can give are counted and
    left out, and several with one id or one ticket count once.

    `answers` is a file with a line of JSON for each, or several such files; that of an `Inbox` has the tickets too,
    which lines of other files need where the plan has tickets. `plan` is the folder of a survey, or a Plan, its path or
    a mapping; `out` is the folder to make.
    """
    check_absent(as_path(out, "out"))
    law = survey_law(plan)
    check_asked(law)
    one = isinstance(answers, (str, os.PathLike))
    given = [answers] if one else listed(answers, "answers", "a file with lines of JSON, or a list of such files")
    received = read_answers([as_path(path, "answers") for path in given], law)
    if not received.rows:
        lost = f"{received.left_out:,} cannot be one{' or have no ticket of it' if law.plan.tickets else ''}"
        raise SourceError(
            f"there is no answer to this survey among the lines ({lost}): is it the right file, and the right plan?"
        )
    check_enough(
        law, received.rows, f"{received.rows} count, so wait for more, for a smaller rows makes another survey"
    )
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

    `repeated` lines have an id or a ticket that was read before, and `left_out` ones no law can give, or they have no
    ticket of the survey.
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

    def read(self, line: bytes) -> tuple[str, bytes | None, dict[str, int | None]] | None:
        """The id, the hash of the ticket and the row of an answer; None for what no law can give. An answer to another
        survey is refused."""
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
        return (own, self.hashed(found.get("ticket")), row) if possible else None

    def hashed(self, ticket: Any) -> bytes | None:
        """What is kept of a ticket, which no other survey knows; None where there is none."""
        if not isinstance(ticket, str) or not ticket:
            return None
        return hashlib.sha256(f"{self.key} {ticket}".encode("utf-8", "replace")).digest()


def read_answers(paths: Iterable[Path], law: RowLaw) -> Received:
    """The answers in some files; those to another survey are refused.

    A ticket is asked of every line but those in a store, which asked for it when they came. A store does not say with
    which ticket, so all that can be told of two copies is whether they have more answers than tickets that were used.
    """
    reader, places = AnswerReader(law), {group.name: place for place, group in enumerate(law.groups)}
    absent = [group.mechanism.family.absent for group in law.groups]
    codes: list[list[Any]] = [[] for _ in law.groups]
    rows: list[list[int]] = [[] for _ in law.groups]
    ids: set[str] = set()
    files = {path: _is_store(path) for path in paths}
    spent = _tickets(files, reader.key) if law.plan.tickets else {}
    repeated = left_out = 0
    for path, number, line in _lines(files):
        try:
            found = reader.read(line)
        except SourceError as error:
            raise SourceError(
                f"line {number} of {path.name!r}: {error}; keep the answers of each in files of its own"
            ) from None
        needs = law.plan.tickets and not files[path]
        if found is None or (needs and found[1] not in spent):
            left_out += 1
        elif found[0] in ids or (needs and spent[found[1]]):
            repeated += 1
        else:
            own, ticket, row = found
            for part, code in row.items():
                place = places[part]
                codes[place].append(absent[place] if code is None else code)
                rows[place].append(len(ids))
            ids.add(own)
            if needs:
                spent[ticket] = True
    used = sum(spent.values())
    if law.plan.tickets and len(ids) > used:
        raise SourceError(
            f"there are {len(ids):,} answers and {used:,} tickets that were used: two copies of one file both received "
            "answers, and nobody can tell which came twice; give one of them"
        )
    drawn, their = (tuple(np.array(numbers, np.int64) for numbers in some) for some in (codes, rows))
    return Received(len(ids), drawn, their, repeated, left_out)


def _is_store(path: Path) -> bool:
    """Whether a file is one that an `Inbox` keeps."""
    try:
        return is_sqlite(path)
    except OSError as error:
        raise FileError(f"the answers {str(path)!r} cannot be read: {error.strerror}") from None


def _tickets(files: Mapping[Path, bool], key: str) -> dict[bytes | None, bool]:
    """The hashes of the tickets in some files, and whether each is spent in any of them."""
    stores = [path for path, is_store in files.items() if is_store]
    spent: dict[bytes | None, bool] = {}
    for path in stores:
        if list(_stored_rows(path, "SELECT key FROM survey")) != [(key,)]:
            raise SourceError(f"the tickets in {path.name!r} are not those of this survey, or of another version of it")
        for ticket, used in _stored_rows(path, "SELECT hash, spent FROM tickets"):
            spent[ticket] = spent.get(ticket, False) or bool(used)  # which a copy from before does not know
    if not stores:
        raise SourceError(
            "the plan has tickets, so lines need the file that `dproof tickets` made: give it beside them"
        )
    return spent


def _lines(files: Mapping[Path, bool]) -> Iterator[tuple[Path, int, bytes]]:
    """The file, the number and the bytes of every line that is not blank."""
    for path, is_store in files.items():
        try:
            with path.open("rb") as file:
                stored = (line for (line,) in _stored_rows(path, "SELECT CAST(line AS BLOB) FROM answers ORDER BY id"))
                for number, line in enumerate(stored if is_store else _bounded(file), 1):
                    if line.strip():
                        yield path, number, line
        except OSError as error:
            raise FileError(f"the answers {str(path)!r} cannot be read: {error.strerror}") from None


def _bounded(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file; of one that is too long for an answer, no more than shows that it is."""
    while line := file.readline(_LONGEST_ANSWER + 2):
        rest = line
        while len(rest) > _LONGEST_ANSWER and not rest.endswith(b"\n"):
            rest = file.readline(_LONGEST_ANSWER + 2)
        yield line


def _stored_rows(path: Path, query: str) -> Iterator[Any]:
    """What an `Inbox` keeps in a file; a change that a kill cut short is undone first, so it may be written to."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)) as store:
            yield from store.execute(query)
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

    Where the plan has tickets, an answer needs one that `issue` gave out and that was not used before. Kept is whether
    a ticket was used, and not with which answer: whoever reads the file later cannot tell. Whoever sees answers come in
    can, and so can who compares the file with an earlier state of it.

    `survey` is the folder of a survey, which is verified first; `store` is the file, which is begun if there is none,
    and belongs to that survey from then on. With `tickets`, a survey that has none is refused, and no file is begun.
    """

    def __init__(self, survey: str | os.PathLike[str], store: str | os.PathLike[str], *, tickets: bool = False) -> None:
        folder, file = as_path(survey, "survey"), as_path(store, "store")
        if not (folder / SURVEY).is_file():
            raise FileError(f"{str(folder)!r} is not a survey: a survey is a folder that `dproof collect` made")
        law = survey_law(folder)
        self._plan, self._reader, self.page = law.plan, AnswerReader(law), (folder / SURVEY).read_bytes()
        if flag(tickets, "tickets"):
            self._check_tickets()
        self._lock = threading.Lock()
        self._store = _opened(file, self._reader.key)
        self._count = int(self._store.execute("SELECT count(*) FROM answers").fetchone()[0])

    def issue(self, count: int) -> list[str]:
        """So many new tickets, each good for one answer: only hashes of them are kept."""
        self._check_tickets()
        signs, length = _TICKET
        count = whole(count, "count", 1, MOST_ANSWERS)
        made = ["".join(secrets.choice(signs) for _ in range(length)) for _ in range(count)]
        with self._lock, self._writing() as store:
            store.executemany("INSERT INTO tickets VALUES (?, 0)", sorted((self._reader.hashed(one),) for one in made))
        return made

    def _check_tickets(self) -> None:
        if not self._plan.tickets:
            raise SourceError(
                "the plan of this survey has no tickets: write tickets = true at its top, and make the survey anew"
            )

    def receive(self, line: bytes) -> None:
        """Keep an answer, a line of JSON; one that no page of this survey sends is refused."""
        found = self._reader.read(expect(line, bytes, "line", "the bytes of a line of JSON"))
        if found is None:
            raise SourceError("this is no answer to the survey: nothing was kept")
        own, ticket, row = found
        kept = json.dumps({"survey": self._reader.key, "id": own, "row": row}, separators=(",", ":")).encode()
        with self._lock:
            if self._count >= MOST_ANSWERS:
                raise FileError(f"the survey has {MOST_ANSWERS:,} answers, which is the most: no more is kept")
            with self._writing() as store:
                added = store.execute("INSERT OR IGNORE INTO answers VALUES (?, ?)", (own, kept)).rowcount
                if added and self._plan.tickets:  # an answer that comes again has spent its ticket
                    _spend(store, ticket)
            self._count += added

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """The store, for a change that is made as a whole or not at all."""
        try:
            with self._store:
                yield self._store
        except sqlite3.Error:
            raise FileError("the answers cannot be written now: try again") from None

    def __len__(self) -> int:
        """How many answers there are."""
        return self._count

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._store.close()


def _spend(store: sqlite3.Connection, ticket: bytes | None) -> None:
    if ticket is None:
        raise TicketRefused("an answer to this survey needs a ticket: nothing was kept")
    if not store.execute("UPDATE tickets SET spent = 1 WHERE hash = ? AND spent = 0", (ticket,)).rowcount:
        known = store.execute("SELECT count(*) FROM tickets WHERE hash = ?", (ticket,)).fetchone()[0]
        why = "was used before" if known else "is not one of this survey"
        raise TicketRefused(f"the ticket {why}: nothing was kept")


def _opened(file: Path, survey: str) -> sqlite3.Connection:
    """The store of a survey, which is begun if there is none; that of another is refused."""
    try:
        if not file.exists():
            os.close(os.open(file, os.O_CREAT | os.O_WRONLY, 0o600))
        store = sqlite3.connect(file, check_same_thread=False)
        held = {name for (name,) in store.execute("SELECT name FROM sqlite_master")}
        if not held <= {"survey", "answers", "tickets"}:
            store.close()
            raise FileError(f"{str(file)!r} holds something else than answers: choose another name")
        if "survey" in held and store.execute("SELECT count(*) FROM survey WHERE key <> ?", (survey,)).fetchone()[0]:
            store.close()
            raise FileError(
                f"{file.name!r} holds answers to another survey, or to another version of it: move it away, or choose "
                "another name"
            )
        store.execute("PRAGMA journal_mode = DELETE")
        store.execute("PRAGMA synchronous = FULL")
        store.execute("PRAGMA secure_delete = ON")
        store.executescript(_TABLES)
        with store:
            store.execute("INSERT OR IGNORE INTO survey VALUES (?)", (survey,))
        # The pages of SQLite tell in which order their few entries came, until they are written anew.
        store.execute("VACUUM")
    except (OSError, sqlite3.Error) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise FileError(f"the answers {str(file)!r} cannot be opened: {why}") from None
    return store

"""Answers that were drawn elsewhere, read from files: one line of JSON for each respondent.

    {"survey": "<64 hexadecimal digits>", "id": "<random>", "row": {"smokes": 1, "age": 37}}

`survey` says to which plan and laws it belongs, `id` whose it is: the same one counts once. `row` has the code that was
drawn for each column, or for each group of joined columns; where a row answers for one thing, for that one only. What
no law can give is counted and left out, whatever it is: anybody may write to whoever receives answers.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.errors import FileError, SourceError
from dproof.local.recipe import JointColumns, RowLaw
from dproof.survey.form import survey_key

_LONGEST_ANSWER = 1 << 16  # bytes of a line
_LONGEST_ID = 64  # characters
_FARTHEST = 1 << 62  # steps that noise without an end moves a number: what is stored ends there


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


# What was received is kept by the ids, which are random, and without a number or a time: no query tells in which order
# it came.
ANSWERS = "CREATE TABLE IF NOT EXISTS answers (id TEXT PRIMARY KEY, line BLOB NOT NULL) WITHOUT ROWID"
_SQLITE = b"SQLite format 3\0"


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
        reach = _FARTHEST if family.farthest is None else family.farthest
        low, high = -reach, group.columns[0].space.candidates - 1 + reach

    def fits(code: Any) -> bool:
        if code is None:
            return hidden
        return type(code) is int and low <= code <= high and (possible is None or bool(possible[code]))

    return fits

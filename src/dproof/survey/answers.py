"""Answers that were drawn elsewhere, read from files: one line of JSON for each respondent.

    {"survey": "<64 hexadecimal digits>", "id": "<random>", "row": {"smokes": 1, "age": 37}}

`survey` says to which plan and laws it belongs, `id` whose it is: the same one counts once. `row` has the code that was
drawn for each column, or for each group of joined columns; where a row answers for one thing, for that one only. What
no law can give is counted and left out, whatever it is: anybody may write to whoever receives answers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
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


def read_answers(paths: Iterable[Path], law: RowLaw) -> Received:
    """The answers in some files; those to another survey are refused."""
    key, known = survey_key(law), {group.name: place for place, group in enumerate(law.groups)}
    fits = [_fits(group) for group in law.groups]
    codes: list[list[Any]] = [[] for _ in law.groups]
    places: list[list[int]] = [[] for _ in law.groups]
    ids: set[str] = set()
    repeated = left_out = 0
    for name, number, line in _lines(paths):
        found = _parsed(line)
        if isinstance(found.get("survey"), str) and found["survey"] != key:
            raise SourceError(
                f"line {number} of {name!r} answers another survey than this plan's: keep the answers of different "
                "plans, or of different versions of one, in different files"
            )
        row: Any = found.get("row")
        own: Any = found.get("id")
        whole = isinstance(row, dict) and (row.keys() == known.keys() if law.weights is None else len(row) == 1)
        named = isinstance(own, str) and 0 < len(own) <= _LONGEST_ID and found.get("survey") == key
        if not whole or not named or not all(part in known and fits[known[part]](row[part]) for part in row):
            left_out += 1
        elif own in ids:
            repeated += 1
        else:
            for part, code in row.items():
                group = law.groups[known[part]]
                codes[known[part]].append(group.mechanism.family.absent if code is None else code)
                places[known[part]].append(len(ids))
            ids.add(own)
    drawn, rows = (tuple(np.array(numbers, np.int64) for numbers in some) for some in (codes, places))
    return Received(len(ids), drawn, rows, repeated, left_out)


def _lines(paths: Iterable[Path]) -> Iterator[tuple[str, int, bytes]]:
    """The name of the file, the number and the bytes of every line that is not blank."""
    for path in paths:
        try:
            with path.open("rb") as file:
                for number, line in enumerate(file, 1):
                    if line.strip():
                        yield path.name, number, line
        except OSError as error:
            raise FileError(f"the answers {str(path)!r} cannot be read: {error.strerror}") from None


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

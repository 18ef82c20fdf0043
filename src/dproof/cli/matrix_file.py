"""Reading a law from a file: CSV, JSON or .npy; rows are inputs, columns are outputs.

A header row and a label column are recognised. What cannot be read is refused with the place and the way out;
nothing is guessed that could drop an input.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from dproof.errors import FileError, InputError
from dproof.exact import exact
from dproof.limits import LARGEST_MATRIX, LONGEST_LABEL
from dproof.mechanisms.finite import solution_matrix
from dproof.mechanisms.mechanism import Mechanism
from dproof.spaces.categories import Categories

_NPY = b"\x93NUMPY"


@dataclass(frozen=True, slots=True)
class MatrixFile:
    """The labels of inputs and outputs, numbered from 0 where the file has none, and the entries."""

    inputs: tuple[Hashable, ...]
    outputs: tuple[Hashable, ...]
    rows: list[list[Fraction]]


def read_matrix(path: Path) -> MatrixFile:
    """Read a matrix of numbers: decimals such as 0.25, or fractions such as 1/3."""
    with path.open("rb") as file:
        data = file.read(LARGEST_MATRIX + 1)
    try:
        if len(data) > LARGEST_MATRIX:
            raise FileError(f"the file is larger than {LARGEST_MATRIX >> 20} MiB, which no matrix here needs")
        if not data.strip():
            raise FileError("the file is empty; it needs one row of probabilities for each input")
        if data.startswith(_NPY):
            return _from_npy(data)
        text = _text(data)
        return _from_json(text) if path.suffix.lower() == ".json" else _from_csv(text)
    except InputError as error:
        raise FileError(f"{path.name}: {error}") from None


def read_law(path: Path) -> Mechanism:
    """The mechanism whose law is the matrix in a file."""
    law = read_matrix(path)
    try:
        inputs = Categories(law.inputs)
        return solution_matrix(inputs, law.rows, outputs=None if law.outputs == law.inputs else Categories(law.outputs))
    except InputError as error:
        raise FileError(f"{path.name}: {error}") from None


def _text(data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"byte {error.start + 1} is not UTF-8 text; save the file as CSV in UTF-8") from None
    if "\0" in text:
        raise FileError("this is a binary file; CSV, JSON and .npy can be read")
    return text


def _from_npy(data: bytes) -> MatrixFile:
    import numpy as np

    try:
        array = np.load(io.BytesIO(data), allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise FileError("the .npy file is damaged or holds objects; save a plain array of numbers") from error
    if array.ndim != 2 or array.dtype.kind not in "fiu":
        raise FileError(f"the array has {array.ndim} dimensions of {array.dtype}; it needs 2 dimensions of numbers")
    return _numbered(array.tolist(), None, None)


def _from_json(text: str) -> MatrixFile:
    try:
        # Numbers stay text until `exact` reads them, so that 0.1 is one tenth and no size can hurt.
        content = json.loads(text, parse_float=str, parse_int=str, parse_constant=str)
    except json.JSONDecodeError as error:
        raise FileError(f"line {error.lineno}, column {error.colno}: not JSON; {error.msg.lower()}") from None
    except RecursionError:
        raise FileError("the JSON is nested too deeply; it needs a list of rows") from None
    if isinstance(content, dict):
        if not isinstance(content.get("rows"), list):
            raise FileError('the JSON object has no list "rows"; give {"inputs": …, "outputs": …, "rows": [[…], …]}')
        return _numbered(content["rows"], content.get("inputs"), content.get("outputs"))
    return _numbered(content, None, None)


def _numbered(rows: Any, inputs: Any, outputs: Any) -> MatrixFile:
    """A matrix from JSON or NumPy: rows are counted from 1, as people do."""
    if not isinstance(rows, list) or not rows or not all(isinstance(row, list) and row for row in rows):
        raise FileError("there must be a list of rows, each a list of numbers")
    placed = [(f"row {n}", row) for n, row in enumerate(rows, 1)]
    _check_width(placed)
    return _labelled(inputs, outputs, [_entries(row, place, 1) for place, row in placed])


def _check_width(rows: Sequence[tuple[str, Sequence[Any]]]) -> None:
    first, model = rows[0]
    for place, row in rows:
        if len(row) != len(model):
            counts = f"{place} has {len(row)} entries and {first} has {len(model)}"
            raise FileError(f"{counts}; every row needs as many")


def _from_csv(text: str) -> MatrixFile:
    first = text.lstrip().split("\n", 1)[0]
    delimiter = next((sign for sign in "\t;" if sign in first), ",")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True, skipinitialspace=True)
    try:
        cells = ([cell.strip() for cell in row] for row in reader)
        lines = [(f"line {reader.line_num}", row) for row in cells if any(row)]
    except csv.Error as error:
        raise FileError(f"line {reader.line_num}: not CSV; {error}") from None
    if not lines:
        raise FileError("there is no number in it; it needs one row of probabilities for each input")
    header = lines[0][1] if _is_header(lines[0][1]) else None
    body = lines[1:] if header is not None else lines
    if not body:
        raise FileError("there is a header row and nothing else; add one row of probabilities for each input")
    _check_width(body)
    width = len(body[0][1])
    labels = int(_has_labels(header, [row for _, row in body]))
    if header is not None and len(header) not in {width, width - labels}:
        raise FileError(f"the header has {len(header)} names for {width} columns; name every column")
    names = None if header is None else header[len(header) - (width - labels) :]
    numbers = [_entries(row[labels:], place, labels + 1) for place, row in body]
    return _labelled([row[0] for _, row in body] if labels else None, names, numbers)


def _is_header(row: Sequence[str]) -> bool:
    """A row of names only, or one whose corner is empty; a row of numbers with a slip in it is no header."""
    return row[0] == "" or not any(map(_is_number, row))


def _has_labels(header: Sequence[str] | None, rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first column names the inputs.

    It does under an empty corner, beside a header that is one short, and where none of it is a number. Under
    a header it also does where it holds different whole numbers and all rows sum to one without it.
    """
    if len(rows[0]) == 1:
        return False
    if header is not None and (header[0] == "" or len(header) == len(rows[0]) - 1):
        return True
    first = [row[0] for row in rows]
    if not any(map(_is_number, first)):
        return True
    if header is None or len(set(first)) < len(first) or not all(label.isdecimal() for label in first):
        return False
    try:
        return all(abs(sum(map(exact, row[1:]), Fraction(-1))) < Fraction(1, 10**6) for row in rows)
    except InputError:
        return False


def _is_number(cell: str) -> bool:
    try:
        exact(cell)
    except InputError:
        return cell.lower().lstrip("+-") in ("nan", "inf", "infinity")  # meant as numbers, and refused as such
    return True


def _entries(row: Sequence[Any], place: str, first_column: int) -> list[Fraction]:
    entries = []
    for column, cell in enumerate(row, first_column):
        try:
            entry = exact(cell)
        except InputError:
            raise FileError(
                f"{place}, column {column}: {str(cell)[:40]!r} is not a finite number; write 0.25 or 1/3, and leave "
                "the top left cell empty if the first row and column are names"
            ) from None
        if entry.numerator < 0:  # at a million entries, comparing fractions would tell
            raise FileError(f"{place}, column {column}: {str(cell)[:40]!r} is negative; probabilities are not")
        entries.append(entry)
    return entries


def _labelled(inputs: Any, outputs: Any, rows: list[list[Fraction]]) -> MatrixFile:
    """One set of labels serves both sides of a square matrix."""
    height, width = len(rows), len(rows[0])
    if height == width:
        inputs, outputs = outputs if inputs is None else inputs, inputs if outputs is None else outputs
    return MatrixFile(_labels(inputs, height, "inputs"), _labels(outputs, width, "outputs"), rows)


def _labels(labels: Any, size: int, side: str) -> tuple[Hashable, ...]:
    if labels is None:
        return tuple(range(size))
    if not isinstance(labels, list) or len(labels) != size:
        raise FileError(f"the labels of the {side} must be a list of {size}")
    for n, label in enumerate(labels, 1):
        if not isinstance(label, str) or not label.isprintable() or len(label) > LONGEST_LABEL:
            raise FileError(f"label {n} of the {side} must be printable text of at most {LONGEST_LABEL} characters")
    if len(set(labels)) < size:
        twice = next(label for n, label in enumerate(labels) if label in labels[:n])
        raise FileError(f"two {side} are called {twice[:40]!r}; give each a name of its own")
    return tuple(labels)

"""The formats of a file with an answer: one table, from which `Answer.save`, `--out` and `--plot` take them.

A format is a line in `FORMATS`: the ending of its files, and a function from an answer to bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from dproof.errors import ArgumentError, FileError

if TYPE_CHECKING:
    from dproof.questions.answer import Answer


@dataclass(frozen=True, slots=True)
class Format:
    """How an answer is written, as which media type; a picture needs the extra `plot`."""

    write: Callable[[Answer], bytes]
    media_type: str
    is_picture: bool = False


def _json(answer: Answer) -> bytes:
    return (json.dumps(answer.to_json(), indent=2, allow_nan=False) + "\n").encode()


def _csv(answer: Answer) -> bytes:
    """A column for each field of an estimate, as in `Answer.flat`; a set or a curve is a list in JSON."""
    import csv

    columns, text = answer.flat(), StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow(json.dumps(value) if isinstance(value, (list, dict)) else value for value in row)
    return text.getvalue().encode()


def _parquet(answer: Answer) -> bytes:
    import pyarrow.parquet

    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(answer.to_arrow(), sink)
    return bytes(sink.getvalue().to_pybytes())


def _arrow(answer: Answer) -> bytes:
    import pyarrow

    table, sink = answer.to_arrow(), pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def _svg(answer: Answer) -> bytes:
    return answer.to_svg().encode()


def _png(answer: Answer) -> bytes:
    from dproof.plotting import render_png

    return render_png(answer.plot().to_dict())


def _html(answer: Answer) -> bytes:
    """A page without any script that has the picture and the table."""
    from markupsafe import Markup

    from dproof.html import render

    picture, table = Markup(answer.to_svg()), Markup(answer._repr_html_())
    return render("answer.html", title=", ".join(answer.columns), picture=picture, table=table).encode()


FORMATS = {
    ".json": Format(_json, "application/json"),
    ".csv": Format(_csv, "text/csv"),
    ".parquet": Format(_parquet, "application/vnd.apache.parquet"),
    ".arrow": Format(_arrow, "application/vnd.apache.arrow.file"),
    ".svg": Format(_svg, "image/svg+xml", is_picture=True),
    ".png": Format(_png, "image/png", is_picture=True),
    ".html": Format(_html, "text/html", is_picture=True),
}


def endings(*, pictures: bool = False) -> str:
    """The endings of the formats, or of those that are pictures, as a sentence has them.

    >>> endings(pictures=True)
    '.svg, .png or .html'
    """
    *first, last = (ending for ending, one in FORMATS.items() if one.is_picture or not pictures)
    return f"{', '.join(first)} or {last}"


def output_file(path: str | os.PathLike[str], *, picture: bool = False) -> Path:
    """The path of a file that an answer can be written to, checked before anything is asked, paid for or drawn.

    >>> output_file("answer.gif", picture=True)
    Traceback (most recent call last):
    dproof.errors.ArgumentError: a picture is written to a file that ends in .svg, .png or .html, not 'answer.gif'
    """
    file = Path(path)
    found = FORMATS.get(file.suffix.lower())
    if found is None or (picture and not found.is_picture):
        what = "a picture" if picture else "an answer"
        raise ArgumentError(f"{what} is written to a file that ends in {endings(pictures=picture)}, not {file.name!r}")
    if not file.absolute().parent.is_dir():
        raise FileError(f"the folder {str(file.absolute().parent)!r} is not there: make it first")
    if found.is_picture:
        from dproof.plotting import check_drawing

        check_drawing()
    return file


def save(answer: Answer, file: Path) -> None:
    """Write an answer in the format that the file's ending names."""
    file.write_bytes(FORMATS[file.suffix.lower()].write(answer))

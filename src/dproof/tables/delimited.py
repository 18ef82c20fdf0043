"""Text files with a separator between their fields: CSV and its relatives, in any encoding, packed or not."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv

from dproof.columns.values import PLAIN
from dproof.errors import InputError, SourceError
from dproof.exact import several
from dproof.tables.source import MOST_TITLES, Layout, Source, ending, names_apart, refusing

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_BLOCKS = (1 << 23, 1 << 26, 1 << 29)  # bytes of a file read at a time; more where a record is longer
_LONGEST_HEADER, _LONGEST_LINE = _BLOCKS[0], _BLOCKS[-1]
_TITLED = (
    "is that a title? Then header = 2 under [file] in the plan says where the names stand, and for a new plan "
    "`dproof init --header 2`; or leave it out of the file"
)
_MENDING = "text that has a separator, a quote or a line break needs quotes around it"
_CHUNK = 1 << 18  # bytes of a file in another encoding read at a time
# Text is taken as it stands: what it means is the plan's business, and no type is ever guessed from the data. Without a
# dictionary, for to make one takes longer where texts differ.
_TEXT = pa.binary()


def open_delimited(path: Path, layout: Layout) -> Source:
    """Open a file of fields; its columns are named by the first line, and every value is a text.

    A name that stands there twice is told apart by a number: see `names_apart`.
    """
    titles = layout.header - 1
    head = header_line(path, layout.encoding, titles)
    try:
        text = head.split(b"\r")[0].decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SourceError(
            f'the header of {path.name!r} is not UTF-8 text: write encoding = "cp1252", or whichever it has, under '
            "[file] in the plan"
        ) from None
    separator, seen = layout.separator or usual_separator(path), separator_of(text, path)
    if layout.separator is None and seen != separator:
        written = seen.replace("\t", "\\t")
        raise SourceError(
            f"{path.name!r} has {SEPARATORS[seen]} between its fields: write separator = "
            f'"{written}" under [file] in the plan'
        )
    between, what = SEPARATORS.get(separator, repr(separator)), f"{path.name!r}"
    why = (
        f"each line needs as many fields as the first, {between} between them, and quotes around text that has any; "
        "`dproof check` shows which line differs"
    )

    named: dict[str, Any] = {}  # Arrow finds no column by a name that stands twice

    def reader(text: Any, columns: Sequence[str], *, blank_lines: bool = False, block: int = _BLOCKS[0]) -> Any:
        return pa.csv.open_csv(
            text,
            read_options=pa.csv.ReadOptions(block_size=block, **named),
            parse_options=pa.csv.ParseOptions(
                delimiter=separator, newlines_in_values=True, ignore_empty_lines=not blank_lines
            ),
            convert_options=pa.csv.ConvertOptions(
                column_types=dict.fromkeys(columns, _TEXT), include_columns=list(columns), check_utf8=False
            ),
        )

    def content() -> Any:
        # A header without a line end is a table without rows, which Arrow takes for no table.
        whole = len(head) < _LONGEST_HEADER and not head.endswith(b"\n")
        return io.BytesIO(head + b"\n") if whole else _content(path, layout.encoding, titles)

    def blocks(columns: Sequence[str]) -> Iterator[Any]:
        """The rows, from the last one on again in larger blocks where one is longer than a block."""
        done = 0
        for block in _BLOCKS:
            skipped = done
            try:
                # A blank line is a row with a missing value where there is one column, else no row.
                for batch in reader(content(), columns, blank_lines=len(names) == 1, block=block):
                    done += max(0, batch.num_rows - skipped)
                    yield batch.slice(skipped)
                    skipped = max(0, skipped - batch.num_rows)
                return
            except pa.ArrowInvalid:
                if block == _BLOCKS[-1]:
                    raise

    def start() -> None:
        with refusing(f"{what} cannot be read", why):
            next(blocks([]), None)

    with refusing(f"{path.name!r} cannot be opened", why="its header cannot be read"):
        # Of the header alone, so that no row decides whether there are names.
        blank, first = _whole_header(path, layout.encoding, separator, titles)
        opened = reader(io.BytesIO(first + b"\n"), [])
        names, repeated = names_apart(opened.schema.names)
        if names != tuple(opened.schema.names):
            named |= {"column_names": names, "skip_rows_after_names": blank + 1}
        opened.close()
    fault = partial(_first_fault, path, layout.encoding, separator, titles)
    return Source(names, blocks, typed=False, start=start, fault=fault, what=what, why=why, repeated=repeated)


def usual_separator(path: Path) -> str:
    """The separator that a file's ending stands for."""
    return "\t" if ending(path).startswith(".tsv") else ","


def separator_of(header: str, path: Path) -> str:
    """The separator that a header shows: the one it has most of outside quotes, or the one of the file's ending.

    >>> separator_of('"town, city";age;hours', Path("people.csv"))
    ';'
    """
    return max([usual_separator(path), *SEPARATORS], key=lambda sign: len(_fields(header, sign)))


def header_encoding(path: Path, titles: int = 0) -> str:
    """The encoding that a header shows: UTF-16 by its mark, UTF-8, or else the usual one of Windows."""
    if _is_utf_16(path):
        return "utf-16"
    try:
        header_line(path, "utf-8", titles).split(b"\r")[0].decode()
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def title_lines(path: Path, encoding: str, separator: str | None = None) -> int:
    """How many lines stand above the names of the columns, as far as the first lines show.

    The names are the first line with as many fields as the next, more than half of them filled; a title fills at most
    half as many. Only whoever may look at rows may ask: where no line has the names, it may be one of these.
    """
    lines = list(islice(_lines(path, encoding, _LONGEST_HEADER, 0), MOST_TITLES))
    there = [(place, line) for place, line in enumerate(lines) if line.strip()]
    for n, ((place, line), (_, following)) in enumerate(pairwise(there)):
        sign = separator or separator_of(line, path)
        fields = len(_fields(line, sign))
        if fields > 1 and fields == len(_fields(following, sign)) and 2 * _filled(line, sign) > fields:
            above = [title for _, title in there[:n]]
            # A name in quotes may go on in the next line.
            are_titles = all(2 * _filled(title, sign) <= fields and title.count('"') % 2 == 0 for title in above)
            return place if above and are_titles else 0
    return 0


def _fields(line: str, separator: str) -> list[str]:
    """The parts of a line between separators that stand outside quotes; what is in quotes is left out of them."""
    return re.sub('"[^"]*"', '"', line).split(separator)


def _filled(line: str, separator: str) -> int:
    return sum(bool(field.strip()) for field in _fields(line, separator))


def header_line(path: Path, encoding: str, titles: int = 0) -> bytes:
    """The first line below the titles that is not blank, in UTF-8 where the file is what the encoding says."""
    if is_utf_8(encoding) and _is_utf_16(path):
        raise SourceError(f'{path.name!r} is UTF-16 text: write encoding = "utf-16" under [file] in the plan')
    with refusing(f"{path.name!r} cannot be opened"), unpacked(path) as raw:
        file = _below(raw if is_utf_8(encoding) else io.BufferedReader(_Utf8File(raw, encoding)), titles)
        while line := file.readline(_LONGEST_HEADER):
            if line.removeprefix(codecs.BOM_UTF8).strip():
                return bytes(line)
    where = "is empty" if titles == 0 else f"has nothing from line {titles + 1:,} on"
    raise SourceError(f"{path.name!r} {where}: it needs a header line")


def _below(file: Any, titles: int) -> Any:
    """A file from the line on that follows so many."""
    for _ in range(titles):
        while (line := file.readline(_LONGEST_HEADER)) and not line.endswith(b"\n"):
            pass  # a line that is longer than any header
    return file


def _whole_header(path: Path, encoding: str, separator: str, titles: int) -> tuple[int, bytes]:
    """How many lines are blank, and the first record below them, in UTF-8: more than a line where a name in quotes goes
    on in the next."""
    blank, taken = 0, list[str]()

    def lines() -> Iterator[str]:
        nonlocal blank
        for line in _lines(path, encoding, _LONGEST_HEADER, titles):
            if taken or line.strip("\r\n"):
                taken.append(line)
                if len(line) == _LONGEST_HEADER:
                    raise SourceError(f"the header of {path.name!r} is too long")
                yield line
            else:
                blank += 1
        raise SourceError(f"the header of {path.name!r} has a quote that is never closed")

    try:
        next(csv.reader(lines(), delimiter=separator))
    except csv.Error:
        raise SourceError(f"the header of {path.name!r} has a name that is too long, or a quote left open") from None
    return blank, "".join(taken).encode("latin-1")


def _first_fault(path: Path, encoding: str, separator: str, titles: int) -> str | None:
    """Which record is the first with more or fewer fields than the header; None where each has as many."""
    records, fields, line = csv.reader(_lines(path, encoding, _LONGEST_LINE, titles), delimiter=separator), 0, 1
    usual = csv.field_size_limit(_LONGEST_LINE)
    try:
        for record in records:
            fields = fields or len(record)
            if record and len(record) != fields:
                way = _TITLED if fields == 1 else _MENDING
                found = f"{several(len(record), 'field')} and the header {fields:,}; {way}"
                if records.line_num > line:
                    found = f"a field that goes on over {records.line_num - line + 1:,} lines: is a quote left open?"
                return f"{path.name!r} cannot be read: line {line + titles:,} has {found}"
            line = records.line_num + 1
    except Exception:
        pass  # told by the reader
    finally:
        csv.field_size_limit(usual)
    return None


def _lines(path: Path, encoding: str, longest: int, titles: int) -> Iterator[str]:
    """The lines of a file with their ends, each character one byte of UTF-8: only separators and quotes matter."""
    with unpacked(path) as raw:
        file = _below(raw if is_utf_8(encoding) else io.BufferedReader(_Utf8File(raw, encoding)), titles)
        text = io.TextIOWrapper(file, "latin-1", newline="")
        line = text.readline(longest).removeprefix(codecs.BOM_UTF8.decode("latin-1"))
        while line:
            yield line
            line = text.readline(longest)


def _is_utf_16(path: Path) -> bool:
    with refusing(f"{path.name!r} cannot be opened"), unpacked(path) as file:
        return file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def is_utf_8(encoding: str) -> bool:
    """Whether a file can be read as it is."""
    return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")


def _content(path: Path, encoding: str, titles: int) -> Any:
    """What Arrow reads: the file itself, or a stream of the same text in UTF-8, below its titles."""
    if not is_utf_8(encoding):
        return _below(io.BufferedReader(_Utf8File(unpacked(path), encoding), _CHUNK), titles)
    if _is_packed(path):
        return _below(gzip.open(path), titles) if titles else pa.input_stream(str(path), compression="gzip")
    if not titles:
        return path
    file = pa.OSFile(str(path))
    with path.open("rb") as raw:
        file.seek(_below(raw, titles).tell())
    return file


def unpacked(path: Path) -> BinaryIO:
    """The bytes of a file, packed or not."""
    return gzip.open(path) if _is_packed(path) else path.open("rb")  # type: ignore[return-value]


def _is_packed(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


class _Utf8File(io.RawIOBase):
    """A file in UTF-8, in bounded memory.

    Bytes that the encoding does not know become U+FFFD, so the value around them is one that no plan declares, and
    nothing else is any different for it.
    """

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        ended = False
        while not self._ready and not ended:
            raw = self._file.read(_CHUNK)
            ended = not raw
            self._ready = memoryview(self._decoder.decode(raw, ended).encode("utf-8", "surrogatepass"))
        count = min(len(buffer), len(self._ready))
        buffer[:count], self._ready = self._ready[:count], self._ready[count:]
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


_LOOKED_AT = 1000  # rows
_DATE = re.compile(r"\d{4}[-/]\d\d?[-/]\d\d?|\d\d?([./-])\d\d?\1\d{2,4}")


def doubtful_names(source: Source, *, look: bool) -> tuple[str, ...]:
    """The names that look like values: numbers, dates, and with a `look` texts that the first rows have below them.

    So do those that the header has several times, as a row may have a value.

    Only a file of texts, such as CSV, can lack its header. After a look the answer is for the custodian alone.

    >>> rows = pa.record_batch({"f": ["m", "f"], "town": ["Bonn", "Ulm"], "34": ["51", "28"]})
    >>> doubtful_names(Source(("f", "town", "34"), lambda names: iter([rows]), typed=False), look=True)
    ('f', '34')
    """
    if source.typed:
        return ()
    below: dict[str, set[str]] = {}
    with suppress(InputError):  # what cannot be read is told when the table is read through
        for first in islice(source.read(source.names), 1 if look else 0):
            below = {name: _texts(first.column(name)[:_LOOKED_AT]) for name in source.names}

    def is_doubtful(name: str) -> bool:
        text = name.strip()
        if name in source.repeated:
            return True
        return PLAIN.plain(text) is not None or bool(_DATE.fullmatch(text)) or text in below.get(name, set())

    return tuple(name for name in source.names if name.strip() and is_doubtful(name))


def _texts(array: pa.Array) -> set[str]:
    found = (value for value in array.to_pylist() if value is not None)
    return {(value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)).strip() for value in found}

"""What every engine gives: the names of the columns, and the rows as a stream of Arrow batches."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from dproof.arguments import as_path, described, expect, is_database
from dproof.columns.values import PLAIN, Numerals
from dproof.errors import DproofError, SourceError

if TYPE_CHECKING:
    from dproof.tables.duckdb import InDuckDB

_SHOWN = 5  # names, or places of columns
_LONGEST_SHOWN = 40  # characters of a name
_DAMAGED = "it is damaged, cut short or not what its name says"
BATCH_ROWS = 1 << 17  # rows in a batch at most: a column of codes then stays in the second-level cache
MOST_TITLES = 20  # lines or rows above the names of a file's columns, as far as a look goes
Work = Callable[[Iterator[Any]], bytes]
Draw = Callable[[Iterator[Any]], Iterator[Any]]
Progress = Callable[[int, int | None], None]  # is told how many rows were read, and of how many where that is known
Put = Callable[[Path], None]
# Rows, the hash of each file, and of how many rows the parts are, at least, that each have a random order
Written = tuple[int, dict[str, str], int]


@dataclass(frozen=True, slots=True)
class Bound:
    """At most so many rows of each person; which ones depends on what these columns of that person's rows hold."""

    person: str
    rows: int
    columns: tuple[str, ...]


class Spread(Protocol):
    """Work on each part of a table, where its rows are."""

    def __call__(
        self, columns: Sequence[str], work: Work, *, deal: bool = False, bound: Bound | None = None
    ) -> list[bytes]: ...


class Store(Protocol):
    """Draw each part of a table where its rows are, and write it to a folder by its URI.

    `types` tells the schema of what is drawn from that of the rows. Inside the context are the number of rows, the hash
    of each file, and a function that adds a file to the folder; where it fails the folder is deleted.
    """

    def __call__(
        self, uri: str, columns: Sequence[str], draw: Draw, types: Callable[[Any], Any], deal: bool
    ) -> AbstractContextManager[tuple[Written, Put]]: ...


@dataclass(frozen=True, slots=True)
class Source:
    """A table that can be read by column names, in bounded memory.

    `read(columns)` yields record batches of exactly these columns in this order, whatever Arrow types the engine
    has for them, and of a bounded size; what an engine gives to begin with may be larger, with more columns. `rows` is
    their number and `types` the Arrow schemas that they may have, where the engine knows these before reading. Where it
    cannot go on, `what` cannot be read, and `why`, in one sentence.

    Where the rows lie on many machines, `spread(columns, work)` runs `work` on the batches of each part of the
    table, there, and returns its answers: one for each part, from one attempt, however many were made. With `deal`
    the rows are dealt over the parts at random first, so that no part says anything about its rows; with a `bound`
    only so many rows of each person are there. `store` writes what is drawn to a file system of the engine's own.

    `relation()` is the same table as DuckDB reads it by itself, where it can; it is opened once. Where every value is a
    text the columns are not `typed`. `start` refuses a table whose first rows cannot be read:
    it is called before anything is paid for. `fault` may tell in which line that is, for the custodian alone.
    """

    names: tuple[str, ...]
    read: Callable[[Sequence[str]], Iterator[Any]]
    rows: int | None = None
    types: Sequence[Any] = ()
    spread: Spread | None = None
    store: Store | None = None
    relation: Callable[[], InDuckDB | None] = lambda: None
    typed: bool = True
    start: Callable[[], None] = lambda: None
    fault: Callable[[], str | None] = lambda: None
    what: str = "the table"
    why: str = _DAMAGED
    repeated: tuple[str, ...] = ()  # names that the header of a file has several times: they are numbered

    def __post_init__(self) -> None:
        faults = _name_faults(self.names)
        if faults:
            raise SourceError("; ".join(faults))
        object.__setattr__(self, "read", partial(_read, self.read, f"{self.what} cannot be read", self.why))


def _read(read: Callable[[Sequence[str]], Iterator[Any]], what: str, why: str, columns: Sequence[str]) -> Iterator[Any]:
    with refusing(what, why):
        for batch in read(columns):
            part = batch.select(list(columns))
            for start in range(0, part.num_rows, BATCH_ROWS):
                yield part.slice(start, BATCH_ROWS)


def names_apart(cells: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the columns of a file, and those that its header has several times.

    From the second on they are numbered, and several cells that are blank have the number of their column; but where
    half of them are blank it is no header, or not the last line of one. No row is looked at.

    >>> names_apart(["town", "", "town", "town (2)", ""])
    (('town', 'column 2', 'town (3)', 'town (2)', 'column 5'), ('town', 'town (3)'))
    """
    times, seen, names, taken = Counter(cells), Counter[str](), list[str](), set(cells)
    blanks_are_told = 1 < times[""] < len(cells) / 2
    for place, cell in enumerate(cells, 1):
        seen[cell] += 1
        name = cell
        if cell and seen[cell] > 1:
            name = next(one for one in _numbered(cell, seen[cell]) if one not in taken)
        elif blanks_are_told and not cell:
            name = next(one for one in _numbered(f"column {place}", 1) if one not in taken)
        taken.add(name)
        names.append(name)
    return tuple(names), tuple(name for name, cell in zip(names, cells, strict=True) if cell and times[cell] > 1)


def _numbered(name: str, number: int) -> Iterator[str]:
    return (name if n == 1 else f"{name} ({n})" for n in count(number))


def _name_faults(names: Sequence[str]) -> list[str]:
    """Every name that stands over more than one column, with their places."""
    places: dict[str, list[str]] = {}
    for place, name in enumerate(names, 1):
        places.setdefault(name, []).append(f"{place}")
    nameless = places.pop("", [])
    cut = {name: name if len(name) <= _LONGEST_SHOWN else f"{name[: _LONGEST_SHOWN - 1]}…" for name in places}
    shared = [(_listed(columns), cut[name]) for name, columns in places.items() if len(columns) > 1]
    titled = (
        "; where titles stand above the names of a file's columns, write header = 2, say, under [file] in the plan, "
        "and for a new plan `dproof init --header 2`"
    )
    faults = [f"columns {_listed(nameless)} have no name: name all but one{titled}"] if len(nameless) > 1 else []
    if shared:
        (first, name), *others = shared
        said = [
            f"columns {first} share the name {name!r}",
            *(f"{columns} the name {name!r}" for columns, name in others),
        ]
        more = f", and {len(said) - _SHOWN} more" if len(said) > _SHOWN else ""
        faults.append(f"{', '.join(said[:_SHOWN])}{more}: rename all but one")
    return faults


def _listed(places: Sequence[str]) -> str:
    """Places in words, such as 3, 5 and 9."""
    last = places[-1] if len(places) <= _SHOWN else f"{len(places) - _SHOWN} more"
    return f"{', '.join(places[:-1][:_SHOWN])} and {last}"


@dataclass(frozen=True, slots=True)
class Parts:
    """A stored table that many machines can read: `each(work)` runs work on every part of it, there.

    One machine reads its `files()`: their paths, or an Arrow dataset.
    """

    files: Callable[[], Any]
    each: Callable[[Callable[[Any], bytes]], list[bytes]]


@contextmanager
def refusing(what: str, why: str = _DAMAGED) -> Iterator[None]:
    """Turn whatever an engine raises into one sentence without its text, which may quote a private value."""
    try:
        yield
    except DproofError:
        raise
    except MemoryError:
        raise SourceError(f"{what}: it needs more memory than there is") from None
    except BaseException as error:
        # A panic in an engine that is written in Rust is no Exception.
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            raise SourceError(f"{what}: {why}") from None
        raise


@dataclass(frozen=True, slots=True)
class Layout:
    """What a plan says about its file. Whatever does not concern a kind of file is not looked at.

    Without a separator it is the one of the file's ending; without a sheet it is the first of the workbook. The first
    line, or row, from number `header` on that is not blank has the names of the columns: above it are titles.
    """

    separator: str | None = None
    encoding: str = "utf-8"
    numerals: Numerals = PLAIN
    sheet: str | None = None
    header: int = 1


USUAL = Layout()


def ending(path: Path) -> str:
    """What tells the kind of a file: the end of its name, with the one before it where it is packed.

    >>> ending(Path("people.2020.CSV.gz")), ending(Path("people.tsv"))
    ('.csv.gz', '.tsv')
    """
    last = path.suffix.lower()
    return f"{Path(path.stem).suffix.lower()}{last}" if last == ".gz" else last


_ADDRESS = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]+:/")


def open_source(thing: Any, table: str | None = None, layout: Layout = USUAL) -> Source:
    """Open a path, the address of a database, a frame, an array, or anything that hands out an Arrow stream.

    `table` names the table inside a database, or the sheet of a workbook; `layout` is how a plan says that its file
    is written.

    >>> import pyarrow
    >>> open_source(pyarrow.table({"age": [41]})).names
    ('age',)
    """
    if isinstance(thing, Source):
        return thing
    from dproof.tables.database import open_postgresql
    from dproof.tables.engines import ENGINES, NO_TABLES, engine_of, open_file

    if table is not None:
        expect(table, str, "table", "the name of a table inside a database, or of a sheet")
    if is_database(thing):
        return open_postgresql(thing, table)
    if isinstance(thing, (str, os.PathLike)):
        path = as_path(thing, "source")
        if not path.exists() and _ADDRESS.match(str(path)):  # which may have a password in it
            raise SourceError(
                "the source is neither a file nor an address that dproof reads: postgresql://HOST/NAME; download the "
                "file of any other"
            )
        if not path.exists():
            piped = ": standard input is not read, so write the rows to a file" if str(path) == "-" else ""
            raise SourceError(f"there is no file or folder {str(path)!r}{piped}")
        return open_file(path, table, layout)
    engine = engine_of(thing)
    if engine is None:
        raise SourceError(
            f"source must be a path, or a table of {', '.join(k for k in ENGINES if k[0] != '_')} or of any class "
            f"that has __arrow_c_stream__; not {described(thing)}"
        )
    if table is not None:
        raise SourceError(NO_TABLES)
    if layout.numerals != USUAL.numerals:
        # Among mixed objects a number is read by its text, so the signs of a file would decide how it is read by what
        # the other rows hold.
        raise SourceError(
            f"the plan reads numbers with decimal = {layout.numerals.decimal!r}, thousands = "
            f"{layout.numerals.thousands!r} and units = {layout.numerals.units!r}, which are for files: give the "
            "file's path, or turn texts of the frame into numbers and leave them out"
        )
    return engine(thing)


def readable_again(thing: Any) -> Any:
    """The source in a form that can be read as often as one likes: a stream is read into memory."""
    from dproof.tables.engines import engine_of, in_memory, open_stream

    return in_memory(thing) if hasattr(thing, "read_all") or engine_of(thing) is open_stream else thing

"""What every engine gives: the names of the columns, and the rows as a stream of Arrow batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from dproof.errors import InputError

BATCH_ROWS = 1 << 17  # rows in a batch at most: a column of codes then stays in the second-level cache
Work = Callable[[Iterator[Any]], bytes]
Draw = Callable[[Iterator[Any]], Iterator[Any]]
Put = Callable[[Path], None]


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
    ) -> AbstractContextManager[tuple[int, dict[str, str], Put]]: ...


@dataclass(frozen=True, slots=True)
class Source:
    """A table that can be read by column names, in bounded memory.

    `read(columns)` yields record batches of exactly these columns in this order, whatever Arrow types the engine
    has for them; `rows` is their number where the engine knows it before reading.

    Where the rows lie on many machines, `spread(columns, work)` runs `work` on the batches of each part of the
    table, there, and returns its answers: one for each part, from one attempt, however many were made. With `deal`
    the rows are dealt over the parts at random first, so that no part says anything about its rows; with a `bound`
    only so many rows of each person are there. `store` writes what is drawn to a file system of the engine's own.
    """

    names: tuple[str, ...]
    read: Callable[[Sequence[str]], Iterator[Any]]
    rows: int | None = None
    spread: Spread | None = None
    store: Store | None = None

    def __post_init__(self) -> None:
        repeated = [name for name, times in Counter(self.names).items() if times > 1]
        if repeated:
            what = f"named {repeated[0]!r}: rename" if repeated[0] else "without a name: name"
            raise InputError(f"the source has more than one column {what} all but one")


@dataclass(frozen=True, slots=True)
class Parts:
    """A stored table that many machines can read: `each(work)` runs work on every part of it, there."""

    whole: Callable[[], Any]
    each: Callable[[Callable[[Any], bytes]], list[bytes]]

    @property
    def files(self) -> Any:
        """What one machine reads: the paths of the files, or an Arrow dataset."""
        return self.whole()


@contextmanager
def refusing(
    what: str, *errors: type[BaseException], why: str = "it is damaged, cut short or not what its name says"
) -> Iterator[None]:
    """Turn an engine's own errors into one sentence without their text, which may quote a private value."""
    try:
        yield
    except errors:
        raise InputError(f"{what}: {why}") from None

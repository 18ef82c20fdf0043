"""What a command prints: one JSON object, or a page for a person; advice goes to stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dproof.questions.answer import Answer

Page = Iterable[Any]  # what a person is shown: markup and renderables of rich


def emit(answer: Mapping[str, Any], as_json: bool, human: Callable[[], Page]) -> None:
    """Print the answer as JSON, or the page that `human()` makes of it.

    Colours appear on a terminal only, and not where NO_COLOR is set. Text from outside needs `escape`.

    >>> emit({"private": True}, True, human=list)
    {
      "private": true
    }
    """
    _write(json.dumps(answer, indent=2, allow_nan=False) + "\n" if as_json else _page(human()))


def advise(message: str) -> None:
    """Say something beside the answer, on stderr: one line, which breaks between words where a terminal shows it."""
    text = f"dproof: {' '.join(message.split())}"
    if sys.stderr.isatty():
        text = fill(text, get_terminal_size().columns, break_long_words=False, break_on_hyphens=False)
    print(text, file=sys.stderr)


@contextmanager
def having_done(what: str) -> Iterator[None]:
    """Whatever stops the command in here tells as well what was done before."""
    try:
        yield
    except BaseException as error:
        error.add_note(what)
        raise


def escape(text: object) -> str:
    """Text from outside, such as a label or the name of a file, in which rich is to see no markup."""
    from rich.markup import escape as escaped

    return escaped(str(text))


def table(headings: Iterable[str], rows: Iterable[Iterable[str]], left: Container[int] = ()) -> Any:
    """A table of figures on the right of their columns; those numbered in `left` hold names instead."""
    from dproof.cli.fitting import FittingTable

    return FittingTable(headings, rows, left)


def pairs(rows: Iterable[tuple[Any, ...]]) -> Any:
    """Names and what is to be said of each, side by side."""
    from rich.table import Table

    made = Table.grid(padding=(0, 2))
    for row in rows:
        made.add_row(*row)
    return made


def answer_page(answer: Answer, every: bool = False) -> Page:
    """The table of an answer, all of it or its first rows, and how and with what care it was made."""
    from dproof.exact import percent
    from dproof.questions.answer import SHOWN_ROWS, Cell

    names = [n for n, key in enumerate(answer.columns) if not any(isinstance(row[key], Cell) for row in answer.rows)]
    most = None if every else SHOWN_ROWS
    yield ""
    yield table(map(escape, answer.columns), (map(escape, line) for line in answer.texts(most)), left=names)
    if most is not None and len(answer.rows) > most:
        yield f"… {len(answer.rows) - most:,} more (--all)"
    yield ""
    if answer.method != "raw":
        said = [f"{percent(answer.level)} intervals"] * answer.has_intervals + [escape(answer.method)]
        text = "; ".join(said)
        yield f"[dim]{text[:1].upper()}{text[1:]}.[/dim]"
    yield from (f"[yellow]{escape(note)}[/yellow]" for note in answer.notes)


def _page(parts: Page) -> str:
    from rich.console import Console

    width, height = get_terminal_size()  # rich itself takes every dumb terminal for one of 80 columns
    console = Console(highlight=False, width=width, height=height)
    with console.capture() as page:
        for part in parts:
            console.print(part)
    return "".join(f"{line.rstrip()}\n" for line in page.get().splitlines())


def _write(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough; the command still ends with the code of its answer.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

"""What a command prints: one JSON object, or a page for a person; advice goes to stderr."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from shutil import get_terminal_size
from textwrap import fill
from typing import Any

import click

from dproof.errors import DproofError

_GAP = 3  # columns of the terminal between two columns of a table
Page = Iterable[Any]  # what a person is shown: markup and renderables of rich


def emit(answer: Mapping[str, Any], as_json: bool, human: Callable[[], Page]) -> None:
    """Print the answer as JSON, or the page that `human()` makes of it.

    Colours appear on a terminal only, and not where NO_COLOR is set. Text from outside needs `escape`.

    >>> emit({"private": True}, True, human=list)
    {
      "private": true
    }
    """
    emit_text(json.dumps(answer, indent=2, allow_nan=False) + "\n" if as_json else _rendered_page(human()))


def emit_text(text: str) -> None:
    """Print a text as it is."""
    context = click.get_current_context(silent=True)
    if context is not None and isinstance(context.obj, list):
        context.obj.append(text)
    _write(text)


def advise(message: str) -> None:
    """Say something beside the answer, on stderr: one line, which breaks between words where a terminal shows it."""
    text = visible(f"dproof: {' '.join(message.split())}")
    if sys.stderr.isatty():
        text = fill(text, get_terminal_size().columns, break_long_words=False, break_on_hyphens=False)
    print(text, file=sys.stderr)


# Arguments of a method in Python, as notes and errors name them, and the options that they are here.
_OPTIONS = [
    (re.compile(r"\b(method|target|assume) ?= ?['\"](\w+)['\"]"), r"--\1 \2"),
    (re.compile(r"^(method|target|assume|level)(?= must | '[^']*' is not known)"), r"--\1"),
    (re.compile(r"(?<=[(])assume smooth\b"), "--assume smooth"),
    (re.compile(r"\bleave (target|simultaneous) out\b"), r"leave --\1 out"),
    (re.compile(r"\bleave the method out\b"), "leave --method out"),
    (re.compile(r"\bleave out simultaneous, or the method\b"), "leave out --simultaneous, or --method"),
    (re.compile(r"\bthe cell's `raw` \(on the command line: with --json\)"), "`raw` with --json"),
    (re.compile(r" \(in Python all_groups=True\)"), ""),
    (re.compile(r"\banyway=True\b"), "--anyway"),
    (re.compile(r"\braw\(\.\.\.\)"), "--raw"),
    (re.compile(r"(?<=; )query\(\.\.\.\)"), "a query without --raw"),
    (re.compile(r"\bask query\(\.\.\.\)"), "leave --raw out"),
]


def as_options(text: str) -> str:
    """A note or an error about the arguments of a method, in the words of the command line.

    >>> as_options("or ask with method = 'model' for what the synthetic rows say")
    'or ask with --method model for what the synthetic rows say'
    """
    for python, option in _OPTIONS:
        text = python.sub(option, text)
    return text


@contextmanager
def naming_options() -> Iterator[None]:
    """Whatever is refused in here names options of the command and not arguments of a method."""
    try:
        yield
    except DproofError as error:
        error.args = (as_options(str(error)), *error.args[1:])
        raise


def quoted_path(path: object) -> str:
    """A path as a shell takes it, for commands to copy.

    >>> quoted_path("my release"), quoted_path("release")
    ("'my release'", 'release')
    """
    return shlex.quote(str(path))


def promised(answer: Mapping[str, Any]) -> str:
    """The ε and the δ of an answer.

    >>> promised({"epsilon": 1.0, "delta": 1e-6})
    'ε = 1, δ = 1e-06'
    """
    return f"ε = {answer['epsilon']:.6g}, δ = {answer['delta']:.6g}"


def what_next(release: str, account: object = None) -> Page:
    """The end of the page about a new release: the commands to run next; `account` is what pays for it."""
    quoted = escape(quoted_path(release))
    yield f"\nQuery it, without limit:\n  dproof query {quoted} 'SELECT … FROM release'"
    yield f"Verify it:\n  dproof verify {quoted}"
    if account is not None:
        yield f"See what is left of the budget:\n  dproof budget {escape(quoted_path(account))}"
    yield f"Read what was done:\n  {escape(release)}/report.html\n"


@contextmanager
def having_done(what: str) -> Iterator[None]:
    """Whatever stops the command in here tells as well what was done before."""
    try:
        yield
    except BaseException as error:
        error.add_note(what)
        raise


# What moves the cursor, changes a terminal or turns the direction of a text. A label may have it, or a row.
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """A text from outside with what a terminal would obey written out.

    >>> visible("a\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    return _UNSEEN.sub(lambda sign: sign[0].encode("unicode_escape").decode(), text)


def escape(text: object) -> str:
    """Text from outside, such as a label or the name of a file, in which rich is to see no markup."""
    from rich.markup import escape as escaped

    return escaped(visible(str(text)))


class Table:
    """A table of rich, or where its words are too wide for the terminal, a line for each cell, row by row.

    Figures stay on one line, on the right of their columns; columns numbered in `left` hold words, and break between
    two of them. Columns numbered in `spare` are left out first, one after another, until the rest fits.
    """

    def __init__(
        self,
        headings: Iterable[str],
        rows: Iterable[Iterable[str]],
        left: Container[int] = (),
        spare: Sequence[int] = (),
    ) -> None:
        from rich.text import Text

        self.headings = [Text.from_markup(heading, style="bold") for heading in headings]
        self.rows = [[Text.from_markup(cell) for cell in row] for row in rows]
        self.left, self.spare = left, spare

    def __rich_measure__(self, console: Any, options: Any) -> Any:
        from rich.measure import Measurement

        widest = sum(most for _, most in self._ranges()) + _GAP * (len(self.headings) - 1)
        return Measurement(1, max(1, widest)).clamp(max_width=options.max_width)

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        from rich import box, table
        from rich.text import Text

        for hidden in (self.spare[:count] for count in range(len(self.spare) + 1)):
            shown = [n for n in range(len(self.headings)) if n not in hidden]
            widths = self._widths(shown, options.max_width)
            if widths is None:
                continue
            made = table.Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
            for n, width in zip(shown, widths, strict=True):
                made.add_column(self.headings[n], justify="left" if n in self.left else "right", width=width)
            for row in self.rows:
                made.add_row(*(row[n] for n in shown))
            yield made
            if hidden:
                names = ", ".join(self.headings[n].plain for n in sorted(hidden))
                yield f"[dim]In a wider terminal also: {names}.[/dim]"
            return
        for n, row in enumerate(self.rows):
            yield from [""] * (n > 0)
            for heading, cell in zip(self.headings, row, strict=True):
                if cell.plain:
                    yield Text.assemble(heading, ": ", cell) if heading.plain else cell

    def _widths(self, shown: Sequence[int], room: int) -> list[int] | None:
        """The width of each column; None: no room. What is too wide breaks between words (rich's may break words).

        Headings break first, of which there is one line; then the widest columns give way.
        """
        ranges = [self._ranges()[n] for n in shown]
        least, widths = [low for low, _ in ranges], [most for _, most in ranges]
        unbroken = [
            max(low, *(row[n].cell_len for row in self.rows)) if self.rows else low
            for n, low in zip(shown, least, strict=True)
        ]
        for narrowest in (unbroken, least):
            while sum(widths) + _GAP * (len(widths) - 1) > room:
                wide = [n for n, width in enumerate(widths) if width > narrowest[n]]
                if not wide:
                    break
                widths[max(wide, key=widths.__getitem__)] -= 1
        return widths if sum(widths) + _GAP * (len(widths) - 1) <= room else None

    def _ranges(self) -> list[tuple[int, int]]:
        """The least width of each column, that of its longest word or figure, and its full width."""
        from rich.cells import cell_len

        def longest_word(text: Any) -> int:
            return max(map(cell_len, text.plain.split()), default=0)

        ranges = []
        for n, (heading, *cells) in enumerate(zip(self.headings, *self.rows, strict=True)):
            whole = [cell.cell_len for cell in cells]
            least = max([longest_word(heading), *(map(longest_word, cells) if n in self.left else whole)])
            ranges.append((least, max([heading.cell_len, *whole])))
        return ranges


def unbroken(text: str) -> Any:
    """Text to be copied, such as TOML: no line of it is broken, however narrow the terminal is."""
    from rich.console import Group
    from rich.text import Text

    return Group(Text(text, no_wrap=True, overflow="ignore"))  # a text by itself is wrapped all the same


def pairs(rows: Iterable[tuple[Any, ...]]) -> Any:
    """Names and what is to be said of each, side by side."""
    from rich.table import Table

    made = Table.grid(padding=(0, 2))
    for row in rows:
        made.add_row(*row)
    return made


def _rendered_page(parts: Page) -> str:
    from rich.console import Console

    width, height = get_terminal_size()  # rich itself takes every dumb terminal for one of 80 columns
    console = Console(highlight=False, width=width, height=height)
    with console.capture() as page:
        for part in parts:
            console.print(part, crop=False)
    return "".join(f"{line.rstrip()}\n" for line in page.get().splitlines())


def _write(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough; the command still ends with the code of its answer.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

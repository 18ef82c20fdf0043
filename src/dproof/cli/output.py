"""What a command prints: one JSON object, or a page for a person; advice goes to stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any

_BETWEEN = 3  # spaces between two columns of a table
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
    """Say something beside the answer, on stderr."""
    print(f"dproof: {message}", file=sys.stderr)


def escape(text: object) -> str:
    """Text from outside, such as a label or the name of a file, in which rich is to see no markup."""
    from rich.markup import escape as escaped

    return escaped(str(text))


def several(count: int, what: str) -> str:
    """So many of something, in words that fit one as well.

    >>> several(1, "row"), several(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def not_protected(public: Sequence[str]) -> str:
    """The end of a sentence that states a promise: which columns it does not cover.

    >>> not_protected(["name", "town"])
    '; not protected, because the plan calls them public: name, town'
    """
    them = "it" if len(public) == 1 else "them"
    return f"; not protected, because the plan calls {them} public: {', '.join(public)}" if public else ""


def table(headings: Iterable[str], rows: Iterable[Iterable[str]], left: Container[int] = ()) -> Any:
    """A table of figures on the right of their columns; those numbered in `left` hold names instead."""
    return _table(list(enumerate(headings)), [list(row) for row in rows], left)


class FittingTable:
    """A table whose names stay in one line: where it is too wide for the terminal, other columns give way.

    The texts of the column `wraps` are broken between words; those numbered in `spare` are left out, one after
    another, until the rest fits.
    """

    def __init__(
        self,
        headings: Iterable[str],
        rows: Iterable[Iterable[str]],
        *,
        left: Container[int],
        wraps: int,
        spare: Sequence[int],
    ) -> None:
        self.headings, self.rows = list(headings), [list(row) for row in rows]
        self.left, self.wraps, self.spare = left, wraps, spare

    def __rich_console__(self, console: Any, options: Any) -> Iterable[Any]:
        for least in range(len(self.spare) + 1):
            kept = [(n, text) for n, text in enumerate(self.headings) if n not in self.spare[:least]]
            made = _table(kept, self.rows, self.left, wraps=self.wraps)
            if sum(map(self._least, kept)) + _BETWEEN * (len(kept) - 1) <= options.max_width:
                break
        else:  # a name longer than the terminal is wide
            made = _table(kept, self.rows, self.left)
        yield made
        if least:
            hidden = ", ".join(self.headings[n] for n in sorted(self.spare[:least]))
            yield f"[dim]In a wider terminal also: {hidden}.[/dim]"

    def _least(self, column: tuple[int, str]) -> int:
        """How wide a column must be, so that no text in it is broken where it must not be."""
        from rich.cells import cell_len
        from rich.text import Text

        n, heading = column
        texts = [Text.from_markup(text).plain for text in (heading, *(row[n] for row in self.rows))]
        return max(cell_len(part) for text in texts for part in (text.split() or [""] if n == self.wraps else [text]))


def _table(
    headings: Sequence[tuple[int, str]],
    rows: Sequence[Sequence[str]],
    left: Container[int],
    wraps: int | None = None,
) -> Any:
    """The columns of these numbers; where `wraps` is given, no text of another column is broken."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for n, heading in headings:
        justify: Any = "left" if n in left else "right"
        made.add_column(heading, justify=justify, overflow="fold", no_wrap=wraps not in (None, n))
    for row in rows:
        made.add_row(*(row[n] for n, _ in headings))
    return made


def pairs(rows: Iterable[tuple[Any, ...]]) -> Any:
    """Names and what is to be said of each, side by side."""
    from rich.table import Table

    made = Table.grid(padding=(0, 2))
    for row in rows:
        made.add_row(*row)
    return made


def _page(parts: Page) -> str:
    from rich.console import Console

    console = Console(highlight=False)
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

"""Tables that fit the terminal: no word and no figure is ever broken in two."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

_GAP = 3  # columns of the terminal between two columns of a table


class FittingTable:
    """A table, or where its words are too wide for the terminal, a line for each cell, row by row.

    Figures stay on one line and on the right of their columns; those numbered in `left` hold words, and break between
    two of them. Columns numbered in `spare` are left out first, one after another, until the rest fits.
    """

    def __init__(
        self,
        headings: Iterable[str],
        rows: Iterable[Iterable[str]],
        left: Container[int] = (),
        spare: Sequence[int] = (),
    ) -> None:
        self.headings = [Text.from_markup(heading, style="bold") for heading in headings]
        self.rows = [[Text.from_markup(cell) for cell in row] for row in rows]
        self.left = [n in left for n in range(len(self.headings))]
        self.spare = spare

    def _without(self, hidden: Container[int]) -> FittingTable:
        """The same table without some of its columns."""
        kept = [n for n in range(len(self.headings)) if n not in hidden]
        rest = FittingTable((), (), ())
        rest.headings, rest.left = [self.headings[n] for n in kept], [self.left[n] for n in kept]
        rest.rows = [[row[n] for n in kept] for row in self.rows]
        return rest

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(1, max(1, self._whole(self._widest()))).clamp(max_width=options.max_width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Any]:
        for hidden in range(1, len(self.spare) + 1):
            if self._widths(options.max_width) is not None:
                break
            rest = self._without(self.spare[:hidden])
            if rest._widths(options.max_width) is not None:
                yield rest
                names = ", ".join(self.headings[n].plain for n in sorted(self.spare[:hidden]))
                yield f"[dim]In a wider terminal also: {names}.[/dim]"
                return
        widths = self._widths(options.max_width)
        if widths is None:
            yield from self._lines()
            return
        made = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for heading, width, left in zip(self.headings, widths, self.left, strict=True):
            made.add_column(heading, justify="left" if left else "right", width=width, overflow="fold")
        for row in self.rows:
            made.add_row(*row)
        yield made

    def _widths(self, room: int) -> list[int] | None:
        """The width of each column in that much room; the widest give way first. None where nothing can give way."""
        widths, least = self._widest(), self._least()
        while self._whole(widths) > room:
            wide = [n for n, width in enumerate(widths) if width > least[n]]
            if not wide:
                return None
            widths[max(wide, key=widths.__getitem__)] -= 1
        return widths

    def _whole(self, widths: Sequence[int]) -> int:
        return sum(widths) + _GAP * (len(widths) - 1)

    def _widest(self) -> list[int]:
        return [max(cell.cell_len for cell in column) for column in self._columns()]

    def _least(self) -> list[int]:
        """How narrow each column can be: its longest word, or its longest figure."""
        return [
            max(_word(heading), *(_word(cell) if left else cell.cell_len for cell in cells), 0)
            for left, (heading, *cells) in zip(self.left, self._columns(), strict=True)
        ]

    def _columns(self) -> Iterator[tuple[Text, ...]]:
        return zip(self.headings, *self.rows, strict=True)

    def _lines(self) -> Iterator[Text]:
        for n, row in enumerate(self.rows):
            if n:
                yield Text()
            for heading, cell in zip(self.headings, row, strict=True):
                if cell.plain:
                    yield Text.assemble(heading, ": ", cell) if heading.plain else cell


def _word(text: Text) -> int:
    return max((Text(word).cell_len for word in text.plain.split()), default=0)

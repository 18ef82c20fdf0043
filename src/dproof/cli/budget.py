"""`dproof budget`: what a table has told so far, and what it may still tell."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dproof.cli.options import AsJson
from dproof.cli.output import emit
from dproof.curation.account import Amount
from dproof.curation.ledger import Ledger
from dproof.exact import float_above

if TYPE_CHECKING:
    from rich.console import RenderableType


def budget(
    ledger: Annotated[Path, typer.Argument(help="The ledger.", metavar="FILE")],
    mark: Annotated[str | None, typer.Option(help="A mark that was kept: is it in here?", metavar="HASH")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what was spent, for what, and what is left.

    The whole ledger is checked first. Keep the mark outside the machine: with it, an older copy of the ledger put in
    its place is found out.
    """
    opened = Ledger(ledger, mark=mark)
    whole, spent = opened.budget, opened.spent()
    left = Amount(whole.epsilon, whole.delta) - spent
    entries = [
        {key: value for key, value in entry.items() if key not in ("answer", "key")} | _question(entry)
        for entry in opened.entries
        if entry["kind"] != "answer"
    ]
    answer = {
        "budget": Amount(whole.epsilon, whole.delta).to_json(),
        "spent": {"epsilon": float_above(spent.epsilon), "delta": float_above(spent.delta)},
        "remaining": left.to_json(),
        "neighbours": whole.neighbours,
        "accounting": "basic composition: costs add up, also when questions and prices are chosen one after another",
        "entries": entries,
        "mark": opened.mark,
    }
    emit(answer, as_json, lambda: _page(answer))


def _question(entry: dict[str, Any]) -> dict[str, str]:
    return {"question": entry["key"].rpartition(" -- ")[0] or entry["key"]} if "key" in entry else {}


def _page(answer: dict[str, Any]) -> Iterator[RenderableType]:
    from rich.table import Table
    from rich.text import Text

    for word in ("budget", "spent", "remaining"):
        amount = answer[word]
        yield Text(f"{word:<10} ε {amount['epsilon']:<10.6g} δ {amount['delta']:.6g}")
    table = Table(box=None, pad_edge=False)
    for heading in ("", "ε", "δ", "what", "who", "when"):
        table.add_column(heading, overflow="fold")
    for entry in answer["entries"]:
        what = entry.get("question") or entry.get("description") or entry["kind"]
        cost = (f"{float_above(Fraction(entry[key])):.6g}" for key in ("epsilon", "delta"))
        cells = (entry["number"], *cost, what, entry.get("analyst", ""), entry["at"])
        table.add_row(*(Text(str(cell)) for cell in cells))
    yield table
    yield Text(f"mark       {answer['mark']}")

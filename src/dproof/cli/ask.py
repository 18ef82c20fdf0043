"""`dproof ask`: a question on the private table, under a budget."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from dproof.cli.init import Data, Table
from dproof.cli.options import AsJson
from dproof.cli.output import emit_text
from dproof.curation.curator import Curator


def ask(
    data: Data,
    question: Annotated[str, typer.Argument(help="SELECT … FROM data …", metavar="QUESTION", show_default=False)],
    plan: Annotated[Path, typer.Option(help="The plan.", metavar="PLAN.toml")],
    ledger: Annotated[
        Path, typer.Option(help="The ledger; begun with the plan's budget if not there.", metavar="FILE")
    ],
    epsilon: Annotated[str | None, typer.Option(help="ε that the question may cost.", metavar="E")] = None,
    delta: Annotated[str, typer.Option(help="δ that the question may cost.", metavar="D")] = "0",
    accuracy: Annotated[
        str | None, typer.Option(help="Instead of ε: the half-width wanted, at the least cost.", metavar="A")
    ] = None,
    level: Annotated[float, typer.Option(help="With what probability intervals cover the truth.", metavar="P")] = 0.95,
    analyst: Annotated[str | None, typer.Option(help="Who asks, where analysts have budgets.", metavar="NAME")] = None,
    mark: Annotated[str | None, typer.Option(help="A mark of the ledger that was kept.", metavar="HASH")] = None,
    table: Table = None,
    preview: Annotated[bool, typer.Option("--preview", help="Show cost and accuracy; spend and read nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Ask the private table a question; the ledger pays first.

    The answer has noise of whole numbers and an interval. The same question again is free: its answer is the same.
    """
    wanted: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "accuracy": accuracy, "level": level}
    if preview or not ledger.exists():
        # A preview, or a first question that is refused, begins no ledger: it is tried on one that is thrown away.
        with TemporaryDirectory() as folder:
            tried = ledger if ledger.exists() else Path(folder, ledger.name)
            curator = Curator(data, plan, ledger=tried, analyst=analyst, mark=mark, table=table)
            seen = curator.preview(question, **wanted)
            curator.ledger.close()
        if preview:
            emit_text(seen.to_json(), as_json, seen)
            return
    curator = Curator(data, plan, ledger=ledger, analyst=analyst, mark=mark, table=table)
    answer = curator.ask(question, **wanted)
    emit_text({**answer.to_json(), "remaining": curator.remaining().to_json()}, as_json, answer)

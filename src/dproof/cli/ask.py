"""`dproof ask`: a question on the private table, under a budget."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import click

from dproof.advice.before_spending import warnings_before
from dproof.cli.budget import ledger_option, no_ledger_option, paying_ledger, telling_ways_out
from dproof.cli.command import PATH, command, data_argument, table_option
from dproof.cli.output import advise, emit, escape, having_done, naming_options
from dproof.cli.query import Printing, printing_options
from dproof.curator.curator import Curator, Terms
from dproof.curator.ledger import Ledger
from dproof.errors import ArgumentError, FileError, InputError
from dproof.limits import MOST_ASKED_GROUPS
from dproof.plans.plan import Plan


@command
@data_argument
@click.argument("question", metavar="QUESTION", help="SELECT … FROM data …")
@click.option("--plan", metavar="PLAN.toml", type=PATH, required=True, help="The plan.")
@ledger_option
@no_ledger_option
@click.option("--epsilon", metavar="E", help="ε that the question may cost.")
@click.option(
    "--delta",
    metavar="D",
    default="0",
    help="δ that the question may cost; under a budget with δ, many questions that have one cost less.",
)
@click.option("--accuracy", metavar="A", help="Instead of ε: the half-width wanted, at the least ε.")
@click.option("--level", metavar="P", type=float, default=0.95, help="Confidence level of the intervals.")
@click.option("--analyst", metavar="NAME", help="Who asks; needed where analysts have budgets.")
@click.option("--mark", metavar="HASH", help="A mark of the ledger that you kept: refuse an older copy.")
@table_option
@click.option("--preview", is_flag=True, help="Show cost and accuracy; spend and read nothing.")
@printing_options(f"Answer more than {MOST_ASKED_GROUPS:,} groups too, and print every one.")
def ask(
    data: Path | str,
    question: str,
    plan: Path,
    ledger: Path | None,
    without: bool,
    epsilon: str | None,
    delta: str,
    accuracy: str | None,
    level: float,
    analyst: str | None,
    mark: str | None,
    table: str | None,
    preview: bool,
    printing: Printing,
) -> None:
    """Ask the private table a question; the ledger is debited first.

    The answer is noisy and has an interval. Asking the same question again is free and gives the same answer. The
    ledger is DATA.ledger beside the table, unless you name another; it is begun with the plan's budget.
    """
    over = (file for file in printing.files if isinstance(data, Path) and data.exists() and file.exists())
    if any(file.samefile(data) for file in over):
        raise FileError(f"{str(data)!r} is the table itself, and an answer would replace it: choose another name")
    if (epsilon is None) == (accuracy is None):
        raise ArgumentError(
            "say what the question may cost, with --epsilon, or how good it must be, with --accuracy"
            + ("" if epsilon is None else ", and not both")
        )
    terms = Terms(epsilon, delta, accuracy, level, printing.every)
    account, ledger = None if without else ledger or data, paying_ledger(data, ledger, without, needed=not preview)
    with TemporaryDirectory() as folder, naming_options(), telling_ways_out(account):
        # A preview, or a first question that is refused, begins no ledger: it is tried on one that is thrown away.
        begun = ledger is not None and Ledger.is_begun(ledger)
        tried = ledger if ledger is not None and begun else Path(folder, "ledger")
        chosen = Plan.read(plan)
        if not begun:
            for said in warnings_before(chosen, chosen.privacy):
                advise(f"warning: {said}")
        curator = Curator(data, chosen, ledger=tried, analyst=analyst, mark=mark, table=table)
        if preview or not begun:
            seen = curator.preview(question, terms)
            curator.ledger.close()
        if preview:
            emit(seen.to_json(), printing.as_json, lambda: [escape(seen)])
            return
        if ledger is not None and not begun:
            curator.keep_account(ledger)
        answer = curator.ask(question, terms)
        left = curator.remaining().to_json()
        if ledger is None:
            curator.ledger.close()
    stored = "asking it again is free" if ledger is not None else "no ledger keeps it"
    with having_done(f"the question is paid for and its answer stored: {stored}"):
        printing.emit(answer, {**answer.to_json(), "remaining": left})
        for file, what in printing.files.items():
            try:
                answer.save(file)
            except InputError as problem:  # the answer is paid for and printed; only its picture is missing
                advise(f"no {what}: {problem}")
            else:
                advise(f"the {what} is in {file}")

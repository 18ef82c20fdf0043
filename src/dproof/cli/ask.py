"""`dproof ask`: a question on the private table, under a budget."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from dproof.cli.init import Data, Table
from dproof.cli.options import AsJson, Plot, argument, flag, option
from dproof.cli.output import advise, answer_page, emit, escape, having_done
from dproof.curator.curator import Curator
from dproof.curator.ledger_file import is_begun
from dproof.errors import InputError
from dproof.questions.output_formats import output_file


def ask(
    data: Data,
    question: Annotated[str, argument("QUESTION", "SELECT … FROM data …")],
    plan: Annotated[Path, option("PLAN.toml", "The plan.")],
    ledger: Annotated[Path, option("FILE", "The ledger; created with the plan's budget if it does not exist.")],
    epsilon: Annotated[str | None, option("E", "ε that the question may cost.")] = None,
    delta: Annotated[
        str, option("D", "δ that the question may cost; under a budget with δ, many questions that have one cost less.")
    ] = "0",
    accuracy: Annotated[str | None, option("A", "Instead of ε: the half-width wanted, at the least ε.")] = None,
    level: Annotated[float, option("P", "Confidence level of the intervals.")] = 0.95,
    analyst: Annotated[str | None, option("NAME", "Who asks; needed where analysts have budgets.")] = None,
    mark: Annotated[str | None, option("HASH", "A mark of the ledger that you kept: refuse an older copy.")] = None,
    table: Table = None,
    preview: Annotated[bool, flag("--preview", "Show cost and accuracy; spend and read nothing.")] = False,
    plot: Plot = None,
    every: Annotated[bool, flag("--all", "Answer more than 1,000 groups too, and print every one.")] = False,
    as_json: AsJson = False,
) -> None:
    """Ask the private table a question; the ledger is debited first.

    The answer is noisy and has an interval. Asking the same question again is free and gives the same answer.
    """
    picture = None if plot is None else output_file(plot, picture=True)  # before anything is paid
    if (epsilon is None) == (accuracy is None):
        raise InputError("say what the question may cost, with --epsilon, or how good it must be, with --accuracy")
    wanted: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "accuracy": accuracy, "level": level}
    wanted["all_groups"] = every
    with TemporaryDirectory() as folder:
        # A preview, or a first question that is refused, begins no ledger: it is tried on one that is thrown away.
        tried = ledger if is_begun(ledger) else Path(folder, ledger.name)
        curator = Curator(data, plan, ledger=tried, analyst=analyst, mark=mark, table=table)
        if preview or tried != ledger:
            seen = curator.preview(question, **wanted)
            curator.ledger.close()
        if preview:
            emit(seen.to_json(), as_json, lambda: [escape(seen)])
            return
        if tried != ledger:
            curator.keep_account(ledger)
    answer = curator.ask(question, **wanted)
    with having_done("the question is paid for and its answer stored: asking it again is free"):
        remaining = {"remaining": curator.remaining().to_json()}
        emit({**answer.to_json(), **remaining}, as_json, lambda: answer_page(answer, every))
        if picture is not None:
            try:
                answer.plot(picture)
            except InputError as problem:  # the answer is paid for and printed; only its picture is missing
                advise(f"no picture: {problem}")
            else:
                advise(f"the picture is in {picture}")

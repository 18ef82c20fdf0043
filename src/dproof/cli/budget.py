"""`dproof budget`: what was spent on a table, for what, and what is left; and which ledger pays for a command."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from dproof.cli.command import PATH, command, json_option
from dproof.cli.output import Page, Table, advise, emit, escape, pairs, quoted_path
from dproof.curator.ledger import Ledger
from dproof.errors import ArgumentError, FileError, OverBudget
from dproof.plans.plan import Plan
from dproof.privacy import Privacy, Unit
from dproof.questions.question import in_short

_KINDS = ("budget", "spent", "remaining")
_WORDS = {"budget": "the whole budget", "analyst": "an analyst's budget"}

_EARLIER = """
In an earlier version curves by group had too little noise: the answers that say so may have cost a person more than was
paid. What was spent and what is left count what they may have cost. Asked again, such a question is paid for again."""


@command
@click.argument("path", metavar="FILE", type=PATH, help="The ledger, or the table that it lies beside.")
@click.option(
    "--plan", metavar="PLAN.toml", type=PATH, help="Create the ledger with this plan's budget if it does not exist."
)
@click.option("--analyst", metavar="NAME", help="Give this analyst a budget of their own.")
@click.option("--epsilon", metavar="E", help="ε that the analyst may spend; with --plan alone, the whole budget.")
@click.option("--delta", metavar="D", default="0", help="δ, likewise.")
@click.option("--mark", metavar="HASH", help="A mark that you kept: check that it is in this ledger.")
@json_option
def budget(
    path: Path,
    plan: Path | None,
    analyst: str | None,
    epsilon: str | None,
    delta: str,
    mark: str | None,
    as_json: bool,
) -> None:
    """Show what was spent, for what, and what is left.

    The whole ledger is checked first. Keep the mark on another machine: with --mark you detect that an older copy was
    put in the ledger's place. With --plan and --epsilon a new ledger gets a larger budget than the plan's, for several
    releases and questions. Once one analyst has a budget, only analysts with a budget may ask, by their names.
    """
    if analyst is not None and epsilon is None:
        raise ArgumentError("--analyst and --epsilon go together: name the analyst and what they may spend")
    if epsilon is not None and analyst is None and plan is None:
        raise ArgumentError("--epsilon is for an analyst, with --analyst, or for a new ledger, with --plan")
    limits = {} if analyst is None else {analyst: Privacy(epsilon, delta)}
    chosen, ledger = None if plan is None else Plan.read(plan), ledger_of(path)
    begun = None if chosen is None or Ledger.is_begun(ledger) else chosen.promised
    if chosen is not None and epsilon is not None and analyst is None:
        begun = Privacy(epsilon, delta, neighbours=chosen.privacy.neighbours)
    if chosen is None and ledger != path and not Ledger.is_begun(ledger):
        raise FileError(f"{path.name!r} has no ledger beside it: nothing is known to be spent on it")
    unit = None if chosen is None else chosen.unit
    opened = Ledger(ledger, budget=begun, unit=unit, analysts=limits, mark=mark)
    answer, left = opened.statement(), opened.standing().in_words(opened.unit.rows_per_person)
    emit(answer, as_json, lambda: _budget_page(answer, left, opened.unanswered))


def _budget_page(answer: dict[str, Any], left: str, unanswered: frozenset[int]) -> Page:
    spent, budget = answer["spent"], answer["budget"]
    leaves = left.replace("about", "that leaves about", 1)
    used = f"ε {spent['epsilon']:.6g} of {budget['epsilon']:.6g}"
    notes = dict.fromkeys(_KINDS, "")
    if spent.get("rho") and spent["epsilon"] + answer["remaining"]["epsilon"] > 1.000001 * budget["epsilon"]:
        part = 100 * spent["rho"] / budget["rho"]
        used = f"{part:.3g}% of the budget (ε {budget['epsilon']:.6g}, δ {budget['delta']:.6g})"
        notes = {
            "budget": "",
            "spent": f"{part:.3g}%, by all answers together",
            "remaining": f"{100 - part:.3g}%, for one more",
        }
    yield f"[bold]You have spent {used}; {leaves}.[/bold]\n"
    for word in _KINDS:
        yield f"{word:<10} ε {answer[word]['epsilon']:<10.6g} δ {answer[word]['delta']:<8.6g} {notes[word]}".rstrip()
    if spent.get("rho"):
        yield f"{'ρ':<10} {spent['rho']:.6g} of {budget['rho']:.6g} spent: this is what adds up, not ε"
    yield pairs([("counted  ", escape(str(Unit(answer["neighbours"], answer["person"], answer["rows_per_person"]))))])
    if answer["analysts"]:
        analysts = [(escape(one["name"]), *(_figures(one[word]) for word in _KINDS)) for one in answer["analysts"]]
        yield ""
        yield Table(("analyst", *(f"{word} ε, δ" for word in _KINDS)), analysts, left=range(4))
    entries = []
    for entry in answer["entries"]:
        what = in_short(entry.get("question", "")) or entry.get("description") or _WORDS[entry["kind"]]
        what += "" if entry.get("published", True) else ", paid for and not published yet"
        what += ", paid for and without a stored answer" if entry["number"] in unanswered else ""
        what += f", may have cost ε {entry['may_have_cost']:.6g}" if "may_have_cost" in entry else ""
        when = entry["at"][:16].replace("T", " ")
        entries.append((_figures(entry), *map(escape, (what, entry.get("analyst", ""), when))))
    yield ""
    yield Table(("ε, δ", "what", "who", "when (UTC)"), entries, left=range(4))
    if any("may_have_cost" in entry for entry in answer["entries"]):
        yield _EARLIER
    yield f"\nmark       {answer['mark']}"


def _figures(amount: dict[str, Any] | None) -> str:
    return "none" if amount is None else f"{amount['epsilon']:.6g}, {amount['delta']:.6g}"


# Which ledger pays: one that is named, none, or the one beside the table ----------------------------------------------

ledger_option = click.option(
    "--ledger",
    metavar="FILE",
    type=PATH,
    help="The ledger that pays, begun with the plan's budget; without this option DATA.ledger, beside the table.",
)
no_ledger_option = click.option("--no-ledger", "without", is_flag=True, help="Keep no account of what is spent.")


def paying_ledger(data: Path | str, named: Path | None, without: bool, *, needed: bool = False) -> Path | None:
    """The ledger that pays for what is asked of a table, and a warning where it does not know what was spent before.

    Where none is named and none can be kept beside the table there is none, or an error where one is `needed`.
    """
    if named is not None and without:
        raise ArgumentError("--ledger and --no-ledger exclude each other: choose one")
    if isinstance(data, str):
        if named is None and not without:
            raise ArgumentError("nothing lies beside a database: name a ledger with --ledger, or say --no-ledger")
        return named
    usual = Ledger.beside(data)
    if named is None and not without:
        if Ledger.is_begun(usual) or not data.exists() or os.access(usual.parent, os.W_OK):
            return usual
        if needed:
            raise FileError(f"no ledger can be kept in {str(usual.parent)!r}: name one with --ledger")
        advise(f"warning: no ledger can be kept in {str(usual.parent)!r}: name one with --ledger. {_UNKNOWN}")
    elif Ledger.is_begun(usual) and not (named is not None and named.exists() and named.samefile(usual)):
        advise(f"warning: {usual.name} has an account of this table too, with {Ledger(usual).spent()} spent. {_BOTH}")
    elif named is None:
        advise(f"warning: no ledger is kept. {_UNKNOWN}")
    return named


_UNKNOWN = "A second release of this table will not be noticed, and people lose both."
_BOTH = "This is not counted there, and people lose both."


def ledger_of(path: Path) -> Path:
    """The ledger that a user means: the file itself, or that of a table."""
    from dproof.tables.database import is_sqlite
    from dproof.tables.engines import FILES
    from dproof.tables.source import ending

    usual = Ledger.beside(path)
    # A ledger is a file of SQLite itself, and an empty file is where one is being begun.
    is_table = path.is_file() and ending(path) in FILES and path.stat().st_size > 0 and not is_sqlite(path)
    return usual if path.is_dir() or is_table or (path != usual and Ledger.is_begun(usual)) else path


@contextmanager
def telling_ways_out(account: Path | str | None) -> Iterator[None]:
    """Whatever goes over the budget in here is told with what to do about it."""
    try:
        yield
    except OverBudget as error:
        if account is not None:
            error.add_note(
                f"`dproof budget {quoted_path(account)}` lists what was paid for; query a release that you have, or "
                "with --no-ledger people lose this as well"
            )
        raise

"""`dproof budget`: what was spent on a table, for what, and what is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dproof.cli.command import PATH, command, json_option
from dproof.cli.output import Page, Table, emit, escape
from dproof.curator.ledger import Ledger
from dproof.errors import ArgumentError
from dproof.plans.plan import Plan
from dproof.privacy import Privacy, Unit

_KINDS = ("budget", "spent", "remaining")
_WORDS = {"budget": "the whole budget", "analyst": "an analyst's budget"}

_EARLIER = """
In an earlier version curves by group had too little noise: the answers that say so may have cost a person more than was
paid. What was spent and what is left count what they may have cost. Asked again, such a question is paid for again."""


@command
@click.argument("ledger", metavar="FILE", type=PATH, help="The ledger.")
@click.option(
    "--plan", metavar="PLAN.toml", type=PATH, help="Create the ledger with this plan's budget if it does not exist."
)
@click.option("--analyst", metavar="NAME", help="Give this analyst a budget of their own.")
@click.option("--epsilon", metavar="E", help="ε that the analyst may spend.")
@click.option("--delta", metavar="D", default="0", help="δ that the analyst may spend.")
@click.option("--mark", metavar="HASH", help="A mark that you kept: check that it is in this ledger.")
@json_option
def budget(
    ledger: Path,
    plan: Path | None,
    analyst: str | None,
    epsilon: str | None,
    delta: str,
    mark: str | None,
    as_json: bool,
) -> None:
    """Show what was spent, for what, and what is left.

    The whole ledger is checked first. Keep the mark on another machine: with --mark you detect that an older copy was
    put in the ledger's place. Once one analyst has a budget, only analysts with a budget may ask, by their names.
    """
    if (analyst is None) != (epsilon is None):
        raise ArgumentError("--analyst and --epsilon go together: name the analyst and what they may spend")
    limits = {} if analyst is None else {analyst: Privacy(epsilon, delta)}
    chosen = None if plan is None else Plan.read(plan)
    begun = None if chosen is None or Ledger.is_begun(ledger) else chosen.privacy
    unit = None if chosen is None else chosen.unit
    opened = Ledger(ledger, budget=begun, unit=unit, analysts=limits, mark=mark)
    answer, left = opened.statement(), opened.standing().in_words(opened.unit.rows_per_person)
    emit(answer, as_json, lambda: _budget_page(answer, left, opened.unanswered))


def _budget_page(answer: dict[str, Any], left: str, unanswered: frozenset[int]) -> Page:
    for word in _KINDS:
        rho = f"  ρ {answer[word]['rho']:.6g}" if "rho" in answer[word] else ""
        yield f"{word:<10} ε {answer[word]['epsilon']:<10.6g} δ {answer[word]['delta']:<8.6g}{rho}".rstrip()
    yield f"           {left}"
    yield escape(f"counted    {Unit(answer['neighbours'], answer['person'], answer['rows_per_person'])}")
    if answer["analysts"]:
        analysts = [(escape(one["name"]), *(_figures(one[word]) for word in _KINDS)) for one in answer["analysts"]]
        yield ""
        yield Table(("analyst", *(f"{word} ε, δ" for word in _KINDS)), analysts, left=range(4))
    entries = []
    for entry in answer["entries"]:
        what = entry.get("question") or entry.get("description") or _WORDS[entry["kind"]]
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

"""`dproof explain`: what a guarantee means for one person."""

from __future__ import annotations

from typing import Any

import click

from dproof import meaning
from dproof.cli.command import command, delta_option, epsilon_option, json_option, neighbours_option
from dproof.cli.output import Page, Table, emit, pairs
from dproof.privacy import Privacy

_RELATION = {
    "change-one": "two tables of the same, public size that differ in one person's row",
    "add-remove": "a table with one person's row, and the same table without it",
}


@command
@epsilon_option
@delta_option
@neighbours_option
@click.option(
    "--stake", metavar="B", default="10000", help="The difference between your best and worst outcome, in euros say."
)
@json_option
def explain(epsilon: str, delta: str, neighbours: str, stake: str, as_json: bool) -> None:
    """Say what a guarantee means for one person.

    Beliefs, chances and money: how far anything that anyone learns from the output can depend on one row.
    """
    privacy = Privacy(epsilon, delta, neighbours=neighbours)  # type: ignore[arg-type]  # checked by Privacy
    answer = meaning.explain(privacy, stake=stake)
    emit(answer, as_json, lambda: _explain_page(answer))


def _explain_page(answer: dict[str, Any]) -> Page:
    epsilon, delta, relation = meaning.figure(answer["epsilon"]), meaning.figure(answer["delta"]), answer["neighbours"]
    yield f"\n[bold]ε = {epsilon}, δ = {delta}, {relation}[/bold]: neighbours are {_RELATION[relation]}.\n"
    yield "Whoever sees the output, whatever else they know, now or later:\n"
    yield pairs(row for section in meaning.sections(answer) for row in (_shown(section), ()))


def _shown(section: meaning.Section) -> tuple[str, Any]:
    from rich.console import Group

    style = "bold" if section.heading != "Take care" else "bold yellow"
    body = Group(f"{section.text}\n", Table(section.head, section.rows)) if section.rows else section.text
    return f"[{style}]{section.heading}[/{style}]", body

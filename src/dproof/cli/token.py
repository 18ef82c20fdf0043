"""`dproof token`: who may do what at a server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dproof.cli import output
from dproof.cli.command import PATH, command, json_option
from dproof.cli.output import Page, advise, emit, escape
from dproof.errors import InputError
from dproof.privacy import Privacy
from dproof.serve.custody import Record, check_all, is_checked
from dproof.serve.desk import give_budgets
from dproof.serve.folder import Folder
from dproof.serve.limits import MOST_TOKEN_DAYS
from dproof.serve.tokens import Tokens


@command
@click.argument("folder", metavar="FOLDER", type=PATH, help="The folder that is served.")
@click.option("--custodian", metavar="NAME", help="Give a token to a custodian, who may do everything.")
@click.option("--analyst", metavar="NAME", help="Give a token to an analyst, with a budget on tables.")
@click.option("--table", metavar="NAME", multiple=True, help="A table that the analyst may ask; repeatable.")
@click.option("--epsilon", metavar="E", help="ε that the analyst may spend on each of these tables.")
@click.option("--delta", metavar="D", default="0", help="δ that the analyst may spend on each of them.")
@click.option(
    "--days", metavar="N", type=click.IntRange(1, MOST_TOKEN_DAYS), default=90, help="How long the token lasts."
)
@click.option("--revoke", metavar="NUMBER", type=int, help="End a token now.")
@json_option
def token(
    folder: Path,
    custodian: str | None,
    analyst: str | None,
    table: tuple[str, ...],
    epsilon: str | None,
    delta: str,
    days: int,
    revoke: int | None,
    as_json: bool,
) -> None:
    """Give, list and revoke the tokens of a server.

    A token is shown once and kept as a hash. Without an option the tokens that were given are listed. An analyst's
    budget is written into the ledger of each table, as a share under the one promise to the people in it.
    """
    served = Folder.open(folder)
    tokens, record = Tokens(served.tokens), Record(served.record)
    if sum(option is not None for option in (custodian, analyst, revoke)) > 1:
        raise InputError("one thing at a time: --custodian, --analyst or --revoke")
    if revoke is not None:
        tokens.revoke(revoke)
        record.add(None, "revoked a token", of=revoke)
    text, holder = None, None
    if custodian is not None:
        text, holder = tokens.issue(custodian, "custodian", days=days)
    if analyst is not None:
        if not table or epsilon is None:
            raise InputError("--analyst needs --table, the tables that may be asked, and --epsilon, the budget on each")
        budgets = dict.fromkeys(table, Privacy(epsilon, delta))
        text, holder = give_budgets(served, tokens, analyst, budgets, days)
    if holder is not None:
        record.add(None, "gave a token", of=holder.number, to=holder.name, tables=", ".join(holder.tables))
    answer = {"token": text, "number": holder and holder.number, "tokens": [one.to_json() for one in tokens.holders]}
    emit(answer, as_json, lambda: _tokens_page(answer))
    for sentence in served.open_to_others():
        advise(sentence)
    new = [name for name in table or () if analyst and not is_checked(served, name, served.state(name))]
    if new:
        advise(f"the token is good already; now {', '.join(new)} is read through, before anybody may ask it")
    for name, why in check_all(served, new):
        advise(f"the table {name!r} is closed to analysts until it can be read: {why}")


def _tokens_page(answer: dict[str, Any]) -> Page:
    if answer["token"] is not None:
        yield f"\nThe token, shown this once:\n\n  [bold]{answer['token']}[/bold]\n"
    rows = [
        (
            str(one["number"]),
            *map(escape, (one["name"], one["role"], ", ".join(one["tables"]))),
            one["ends"][:10],
            (one["revoked"] or "")[:10],
        )
        for one in answer["tokens"]
    ]
    yield output.Table(("number", "name", "role", "tables", "ends", "revoked"), rows, left=range(6))

"""`dproof token`: who may do what at a server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from dproof.cli import output
from dproof.cli.options import AsJson, argument, option
from dproof.cli.output import Page, advise, emit, escape
from dproof.errors import InputError
from dproof.privacy import Privacy
from dproof.serve.custody import Record, check_all, is_checked
from dproof.serve.desk import give_budgets
from dproof.serve.folder import Folder
from dproof.serve.tokens import Tokens


def token(
    folder: Annotated[Path, argument("FOLDER", "The folder that is served.")],
    custodian: Annotated[str | None, option("NAME", "Give a token to a custodian, who may do everything.")] = None,
    analyst: Annotated[str | None, option("NAME", "Give a token to an analyst, with a budget on tables.")] = None,
    table: Annotated[list[str] | None, option("NAME", "A table that the analyst may ask; repeatable.")] = None,
    epsilon: Annotated[str | None, option("E", "ε that the analyst may spend on each of these tables.")] = None,
    delta: Annotated[str, option("D", "δ that the analyst may spend on each of them.")] = "0",
    days: Annotated[int, option("N", "How long the token lasts.", limits=(1, 3650))] = 90,
    revoke: Annotated[int | None, option("NUMBER", "End a token now.")] = None,
    as_json: AsJson = False,
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
    emit(answer, as_json, lambda: _page(answer))
    for sentence in served.open_to_others():
        advise(sentence)
    new = [name for name in table or () if analyst and not is_checked(served, name, served.state(name))]
    if new:
        advise(f"the token is good already; now {', '.join(new)} is read through, before anybody may ask it")
    for name, why in check_all(served, new):
        advise(f"the table {name!r} is closed to analysts until it can be read: {why}")


def _page(answer: dict[str, Any]) -> Page:
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
    yield output.table(("number", "name", "role", "tables", "ends", "revoked"), rows, left=range(6))

"""`dproof serve`, the tokens of a server, and the tools by which an assistant asks it."""

from __future__ import annotations

import logging
import os
import socket
from pathlib import Path
from typing import Any

import click

from dproof.cli.command import PATH, command, json_option
from dproof.cli.output import Page, Table, advise, emit, escape
from dproof.errors import InputError, MissingExtra
from dproof.serve.limits import MOST_TOKEN_DAYS

_TOKEN = "DPROOF_TOKEN"  # in the environment of `dproof mcp`
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


@command
@click.argument(
    "folder", metavar="FOLDER", type=PATH, help="The folder, with tables/, plans/, ledgers/ and releases/ in it."
)
@click.option("--port", metavar="N", type=click.IntRange(1, 65535), default=8722, help="The port.")
@click.option(
    "--host",
    metavar="ADDRESS",
    default="127.0.0.1",
    help="The address to listen on; any but this machine's own needs TLS.",
)
@click.option("--name", metavar="HOST", multiple=True, help="A name that people use for the server; repeatable.")
@click.option("--certificate", metavar="FILE", type=PATH, help="The TLS certificate, in PEM.")
@click.option("--key", metavar="FILE", type=PATH, help="The TLS key, in PEM.")
@click.option("--behind-proxy", "proxied", is_flag=True, help="A proxy on this machine ends TLS and passes Host on.")
@click.option(
    "--tick", metavar="S", type=float, default=1.0, help="Answers from the table leave at multiples of S seconds."
)
def serve(
    folder: Path,
    port: int,
    host: str,
    name: tuple[str, ...],
    certificate: Path | None,
    key: Path | None,
    proxied: bool,
    tick: float,
) -> None:
    """Serve tables and releases over HTTP, for people with tokens.

    The page is for custodians, who plan, sanitise and hand out tokens, and for analysts, who ask under a budget.
    Programs use the same server by /openapi.json or `dproof.connect`. Make the first token with
    `dproof token FOLDER --custodian NAME`. It needs the extra serve.
    """
    if (certificate is None) != (key is None):
        raise InputError("--certificate and --key go together")
    if host not in _LOOPBACK and certificate is None:
        raise InputError("off this machine the server needs TLS: give --certificate and --key, or a proxy in front")
    if not 0.05 <= tick <= 60:
        raise InputError("--tick is from 0.05 to 60 seconds")
    try:
        import uvicorn

        from dproof.serve.app import application, hosts_of
        from dproof.serve.connections import listening
        from dproof.serve.custody import load_early
        from dproof.serve.desk import Desk
        from dproof.serve.folder import Folder
        from dproof.serve.service import Settings
        from dproof.serve.tokens import Tokens
    except ModuleNotFoundError as error:
        raise MissingExtra.of(f"the server needs {error.name}", "serve") from None

    logging.disable(logging.CRITICAL)  # what a library logs when it fails may quote a value
    served = Folder.open(folder)
    secure = certificate is not None or proxied
    shown = f"[{host}]" if ":" in host else host
    with served.held():
        tokens = Tokens(served.tokens)
        if not tokens.holders:
            advise(f"nobody has a token yet: make one with `dproof token {folder} --custodian NAME`")
        for sentence in served.open_to_others():
            advise(sentence)
        hosts = hosts_of([*_LOOPBACK, "[::1]", shown], port, name or ())
        desk = Desk(served, tokens)
        app = application(desk, hosts, Settings(tick=tick, secure=secure))
        try:
            config = listening(app, certificate, key)
        except OSError as error:
            raise InputError(f"--certificate and --key cannot be used: {error.strerror}") from None
        with _bound(host, port) as bound:
            load_early()
            advise(f"serving {folder} at {'https' if certificate else 'http'}://{shown}:{port}; Ctrl-C ends it")
            desk.custody.check_in_background(served.tables, _tell_fault)
            try:
                uvicorn.Server(config).run([bound])
            except BaseException as error:  # a signal: much may have been written by then
                error.add_note("the server has ended")
                raise


def _tell_fault(table: str, why: str) -> None:
    advise(f"the table {table!r} is closed to analysts until it can be read: {why}")


def _bound(host: str, port: int) -> socket.socket:
    """A socket at an address, or a sentence before anybody is told that there is a server."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        why = str(error.strerror).partition(" (")[0]
        raise InputError(f"port {port} of {host} cannot be listened on: {why}; try another --port") from None


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
    from dproof.privacy import Privacy
    from dproof.serve.custody import Record, check_all, is_checked
    from dproof.serve.desk import give_budgets
    from dproof.serve.folder import Folder
    from dproof.serve.tokens import Tokens

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
        _tell_fault(name, why)


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
    yield Table(("number", "name", "role", "tables", "ends", "revoked"), rows, left=range(6))


@command
@click.argument("url", metavar="URL", help="The address of a running `dproof serve`.")
def mcp(url: str) -> None:
    """Let an assistant ask a server, by the Model Context Protocol.

    The token is taken from the environment variable DPROOF_TOKEN. The assistant sees answers with noise and never a
    row, and pays from the budget of that token. It needs the extra mcp.
    """
    token = os.environ.get(_TOKEN)
    if not token:
        raise InputError(f"put the token into the environment variable {_TOKEN}")
    from dproof.serve.client import connect
    from dproof.serve.mcp import protocol_server, sdk_is_there

    if not sdk_is_there():
        raise MissingExtra.of("this needs mcp", "mcp")

    server = connect(url, token)
    server.tables()  # refused here rather than at the first question
    protocol_server(server).run("stdio")

"""`dproof serve`: tables and releases over HTTP, for people with tokens."""

from __future__ import annotations

import logging
import socket
from pathlib import Path

import click

from dproof.cli.command import PATH, command
from dproof.cli.output import advise
from dproof.errors import InputError, MissingExtra

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
            advise(f"serving {folder} at {'https' if certificate else 'http'}://{shown}:{port}; Ctrl-C ends it")
            desk.custody.check_in_background(served.tables, _tell_fault)
            uvicorn.Server(config).run([bound])


def _tell_fault(table: str, why: str) -> None:
    advise(f"the table {table!r} is closed to analysts until it can be read: {why}")


def _bound(host: str, port: int) -> socket.socket:
    """A socket at an address, or a sentence before anybody is told that there is a server."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        why = str(error.strerror).partition(" (")[0]
        raise InputError(f"port {port} of {host} cannot be listened on: {why}; try another --port") from None

"""`dproof mcp`: a server's tables for an assistant, over standard input and output."""

from __future__ import annotations

import os

import click

from dproof.cli.command import command
from dproof.errors import InputError, MissingExtra

TOKEN = "DPROOF_TOKEN"


@command
@click.argument("url", metavar="URL", help="The address of a running `dproof serve`.")
def mcp(url: str) -> None:
    """Let an assistant ask a server, by the Model Context Protocol.

    The token is taken from the environment variable DPROOF_TOKEN. The assistant sees answers with noise and never a
    row, and pays from the budget of that token. It needs the extra mcp.
    """
    token = os.environ.get(TOKEN)
    if not token:
        raise InputError(f"put the token into the environment variable {TOKEN}")
    from dproof.serve.client import connect
    from dproof.serve.mcp import protocol_server, sdk_is_there

    if not sdk_is_there():
        raise MissingExtra.of("this needs mcp", "mcp")

    server = connect(url, token)
    server.tables()  # refused here rather than at the first question
    protocol_server(server).run("stdio")

"""Which ledger pays: one that is named, none, or the one beside the table."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from dproof.cli.command import PATH
from dproof.cli.output import advise, quoted_path
from dproof.curator.ledger import Ledger
from dproof.errors import ArgumentError, FileError, OverBudget

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

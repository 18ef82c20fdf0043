"""How a command is declared, by click, and the arguments and options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import click

from dproof.arguments import is_database

PATH: Any = click.Path(path_type=Path)


class Data(click.Path):
    """A path, or the address of a database, which stays a text."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        return value if is_database(value) else super().convert(value, param, ctx)


def shown_name(data: Path | str) -> str:
    """What a table is called on a page: an address may hold a password."""
    return data.name if isinstance(data, Path) else "the table"


data_argument = click.argument(
    "data",
    metavar="DATA",
    type=Data(path_type=Path),
    help="A .csv, .tsv, .xlsx, .parquet, .arrow, .duckdb or .sqlite file, a folder, or postgresql://HOST/NAME.",
)
table_option = click.option("--table", metavar="NAME", help="The table inside a database, or the sheet of an .xlsx.")
epsilon_option = click.option(
    "--epsilon", metavar="E", required=True, help="ε of the guarantee: a decimal or a fraction; small is private."
)
delta_option = click.option("--delta", metavar="D", default="0", help="δ of the guarantee, between 0 and 1.")
neighbours_option = click.option(
    "--neighbours",
    metavar="RELATION",
    default="change-one",
    help="Who is a neighbour: change-one (same size) or add-remove.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")


class Command(click.Command):
    """A command no option of which takes another option's name for its value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = args[: args.index("--")] if "--" in args else args
        if not set(ctx.help_option_names).isdisjoint(words):  # also after an option that wants a value
            click.echo(ctx.get_help())
            ctx.exit()
        names = {name for option in self.get_params(ctx) for name in option.opts if name.startswith("-")}
        valued = {name for option in self.params if not getattr(option, "is_flag", True) for name in option.opts}
        for word, after in pairwise(words):
            if word in valued and after in names:
                raise click.BadOptionUsage(
                    word, f"Option {word!r} needs a value, and {after!r} is another option.", ctx
                )
        try:
            return super().parse_args(ctx, args)
        except click.MissingParameter as error:
            if error.param is not None and error.param.name == "plan":
                drafts = "`dproof init DATA` drafts a plan, and with --ask makes it with you."
                raise click.UsageError(f"{error.format_message()} {drafts}", ctx) from None
            raise
        except click.UsageError as error:
            if "unexpected extra argument" in error.message:
                raise click.UsageError(f"{error.message}: quote what has blanks", ctx) from None
            raise


def command(function: Callable[..., None]) -> Command:
    """A command of the function's name; its docstring, each paragraph in one line, is what help says."""
    text = "\n\n".join(" ".join(part.split()) for part in (function.__doc__ or "").split("\n\n"))
    return click.command(cls=Command, help=text)(function)

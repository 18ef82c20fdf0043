"""How a command is written: a function whose parameters say what the command line takes.

A parameter is annotated with its type and with `argument`, `option` or `flag`; its default is that of the command line.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import click

_TYPES: dict[Any, Any] = {str: click.STRING, Path: click.Path(path_type=Path), int: click.INT, float: click.FLOAT}


@dataclass(frozen=True, slots=True)
class Written:
    """How a parameter is written on the command line, and what help says of it."""

    text: str
    metavar: str | None = None
    positional: bool = False
    name: str | None = None  # of an option that is not called as its parameter
    limits: tuple[int, int] | None = None


def argument(metavar: str, text: str) -> Written:
    """A value that stands by itself."""
    return Written(text, metavar, positional=True)


def option(metavar: str, text: str, *, limits: tuple[int, int] | None = None) -> Written:
    """An option that takes a value, named as its parameter."""
    return Written(text, metavar, limits=limits)


def flag(name: str, text: str) -> Written:
    """An option that is given or not."""
    return Written(text, name=name)


Epsilon = Annotated[str, option("E", "ε of the guarantee: a decimal or a fraction; small is private.")]
Delta = Annotated[str, option("D", "δ of the guarantee, between 0 and 1.")]
Neighbours = Annotated[str, option("RELATION", "Who is a neighbour: change-one (same size) or add-remove.")]
AsJson = Annotated[bool, flag("--json", "Print one JSON object and nothing else.")]
EveryRow = Annotated[bool, flag("--all", "Print every row, not only the first 50.")]
Plot = Annotated[Path | None, option("FILE", "Draw it into FILE: .svg, .png or .html.")]


class Commands(click.Group):
    """Commands in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


class Command(click.Command):
    """A command whose help has a section for its arguments; no option takes another's name for its value."""

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
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        arguments = [(p.metavar or "", p.text) for p in self.params if isinstance(p, _Argument)]
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl(arguments)
        super().format_options(ctx, formatter)


class _Argument(click.Argument):
    text: str


def parameters(function: Callable[..., None]) -> list[click.Parameter]:
    """What the command line of a function takes."""
    hints = get_type_hints(function, include_extras=True)
    defaults = {name: parameter.default for name, parameter in inspect.signature(function).parameters.items()}
    return [_parameter(name, hints[name], default) for name, default in defaults.items()]


def _parameter(name: str, hint: Any, default: Any) -> click.Parameter:
    kind, written = get_args(hint)
    shared: dict[str, Any] = {"required": True} if default is inspect.Parameter.empty else {"default": default}
    if written.name is not None:
        return click.Option([name, written.name], is_flag=True, help=written.text, **shared)
    plain = (
        next((part for part in get_args(kind) if part is not NoneType), kind) if NoneType in get_args(kind) else kind
    )
    several = get_origin(plain) is list
    limited = None if written.limits is None else click.IntRange(*written.limits)
    shared |= {"type": limited or _TYPES[get_args(plain)[0] if several else plain], "metavar": written.metavar}
    if written.positional:
        made = _Argument([name], nargs=-1 if several else 1, **shared)
        made.text = written.text
        return made
    if several:
        shared |= {"multiple": True, "callback": lambda _, __, given: list(given) or default}
    shown = shared.get("default") is not None
    return click.Option([name, f"--{name.replace('_', '-')}"], help=written.text, show_default=shown, **shared)

"""How options are written, and those that several commands share, so that they read the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def argument(metavar: str, text: str) -> Any:
    """An argument as help shows it."""
    return typer.Argument(help=text, metavar=metavar)


def option(metavar: str, text: str) -> Any:
    """An option that takes a value, named as its parameter."""
    return typer.Option(help=text, metavar=metavar)


def flag(name: str, text: str) -> Any:
    """An option that is given or not."""
    return typer.Option(name, help=text)


Epsilon = Annotated[str, option("E", "ε of the guarantee: a decimal or a fraction; small is private.")]
Delta = Annotated[str, option("D", "δ of the guarantee, between 0 and 1.")]
Neighbours = Annotated[str, option("RELATION", "Who is a neighbour: change-one (same size) or add-remove.")]
AsJson = Annotated[bool, flag("--json", "Print one JSON object and nothing else.")]
EveryRow = Annotated[bool, flag("--all", "Print every row, not only the first 50.")]
Plot = Annotated[Path | None, option("FILE", "Draw it into FILE: .svg, .png or .html.")]

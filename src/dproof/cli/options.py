"""The options that several commands share, so that they read the same everywhere."""

from __future__ import annotations

from typing import Annotated

import typer

Epsilon = Annotated[
    str, typer.Option(help="ε of the guarantee: a decimal or a fraction; small is private.", metavar="E")
]
Delta = Annotated[str, typer.Option(help="δ of the guarantee, between 0 and 1.", metavar="D")]
Neighbours = Annotated[
    str, typer.Option(help="Who is a neighbour: change-one (same size) or add-remove.", metavar="RELATION")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]

"""A column from its table in a plan: the space is found by its name, and reads its own keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import dproof.curves  # noqa: F401  # adds the codec of curves
from dproof.arguments import described, expect
from dproof.columns import CODECS, codec_class
from dproof.columns.codec import Codec, Key
from dproof.columns.column import Column
from dproof.errors import ArgumentError, PlanError
from dproof.plans.reader import Reader
from dproof.spaces.space import Space

# The spaces that a plan can name, as their codecs call them; of those that share one the first. `add_space` adds one.
SPACES: dict[str, type] = {}
for _space, _codec in CODECS.items():
    if _codec.kind is not None:
        SPACES.setdefault(_codec.kind, _space)
_OWN = frozenset(SPACES)


def plan_keys(space: str) -> tuple[Key, ...]:
    """The keys that a plan may have for a column of a space, each with its form, its help and its options.

    >>> [key.name for key in plan_keys("interval") if key.options]
    ['outside']
    """
    expect(space, str, "space", "the name of a space")
    if space not in SPACES:
        raise PlanError(f"no space is called {space[:40]!r}: there are {', '.join(SPACES)}")
    return tuple(codec_class(SPACES[space]).keys)


def add_space(name: str, space: type[Space], codec: type[Codec] | None = None) -> None:
    """Let plans say `space = "name"` for a space of one's own, whose class has `from_plan`.

    `codec`, a subclass of `dproof.columns.codec.Codec`, reads and stores its values where they are more than texts.
    """
    expect(name, str, "name", "a text: what plans call the space")
    if not isinstance(space, type) or not issubclass(space, Space):
        raise ArgumentError(f"space must be a class of spaces, a subclass of dproof.Space, not {described(space)}")
    if SPACES.get(name, space) is not space:
        raise ArgumentError(f"there is a space called {name!r} already: choose another name")
    if codec is not None and not (isinstance(codec, type) and issubclass(codec, Codec)):
        raise ArgumentError(f"codec must be a subclass of dproof.columns.codec.Codec, not {described(codec)}")
    SPACES[name] = space
    if codec is not None:
        CODECS[space] = codec


def added_sizes() -> dict[str, Callable[[Any], int]]:
    """For each space that was added, how many values a column has whose table in a plan this is."""

    def size_of(table: Any) -> int:
        return int(read_column("column", Reader(table, ())).space.size)

    return dict.fromkeys(SPACES.keys() - _OWN, size_of)


def read_column(name: str, table: Reader) -> Column:
    """A column from its table in the plan."""
    if table.flag("drop"):
        several = table.texts("columns") if "columns" in table else (name,)
        table.finish()
        return Column(name, "drop", several)
    if table.flag("public"):
        table.finish()
        return Column(name, "public", (name,))
    kind = table.choice("space", tuple(SPACES))
    column = codec_class(SPACES[kind]).read_column(SPACES[kind], name, kind, table)
    column = replace(column, share=table.share("share", Fraction(1)), mechanism=table.text("mechanism", "auto"))
    table.finish()
    return column

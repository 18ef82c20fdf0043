"""Columns of a plan: from texts and Arrow arrays to the codes of a space, from codes to what is stored, and NULL.

`CODECS` says what reads and stores the values of each space; `dproof.curves` adds those of curves.
"""

from __future__ import annotations

from typing import Any

from dproof.columns.codec import CategoryCodec, Codec, CodeCodec, NullCodec
from dproof.columns.column import Column
from dproof.columns.numbers import DateCodec, NumberCodec
from dproof.columns.sets import AnswerCodec, SetCodec
from dproof.spaces.categories import Categories, Codes
from dproof.spaces.dates import Dates, Days
from dproof.spaces.interval import Interval, Line
from dproof.spaces.space import Space
from dproof.spaces.subsets import Answers, Subsets

CODECS: dict[type, type[Codec]] = {
    Space: Codec,
    Categories: CategoryCodec,
    Codes: CodeCodec,
    Interval: NumberCodec,
    Line: NumberCodec,
    Dates: DateCodec,
    Days: DateCodec,
    Subsets: SetCodec,
    Answers: AnswerCodec,
}


def codec_class(space: type) -> type[Codec]:
    """The codec of a class of spaces: its own, or that of what it is a subclass of."""
    return next(CODECS[kind] for kind in space.__mro__ if kind in CODECS)


def codec_of(space: Any, column: Column) -> Codec:
    """What reads and stores the values of a space, as a column has them.

    >>> codec_of(Categories(["a", "b"]), Column("x", "categories", ("x",))).sql
    '"x"'
    """
    if space.present is not None:
        return NullCodec(space, column, codec_of(space.present, column))
    return codec_class(type(space))(space, column)

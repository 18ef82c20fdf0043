"""Columns of a plan: from texts and Arrow arrays to the codes of a space, from codes to what is stored, and NULL.

`CODECS` says what reads and stores the values of each space; `dproof.curves` adds those of curves.
"""

from __future__ import annotations

from dproof.columns.codec import CODECS, CategoryCodec, Codec, CodeCodec
from dproof.columns.numbers import DateCodec, NumberCodec, TimeCodec
from dproof.columns.sets import AnswerCodec, SetCodec
from dproof.spaces.categories import Answers, Categories, Codes, Subsets
from dproof.spaces.dates import Dates, Days, Minutes, Times
from dproof.spaces.interval import Interval, Line
from dproof.spaces.space import Space

CODECS |= {
    Space: Codec,
    Categories: CategoryCodec,
    Codes: CodeCodec,
    Interval: NumberCodec,
    Line: NumberCodec,
    Dates: DateCodec,
    Days: DateCodec,
    Times: TimeCodec,
    Minutes: TimeCodec,
    Subsets: SetCodec,
    Answers: AnswerCodec,
}

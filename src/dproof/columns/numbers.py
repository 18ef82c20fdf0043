"""Columns of numbers and dates: how they are read from texts and Arrow arrays, exactly, and how they are stored.

Numbers that are written as texts are read a whole column at once. A table says what each byte makes of the state in
which a text is; it knows the same numbers as `Numerals.plain`. The few texts that it leaves open are read one by one:
those beyond ASCII, longer than 32 bytes, with more than 18 digits or more than two in the exponent, and words that
begin like `inf`, `true` or `false`.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dproof.columns.arrow import as_numpy, buffers, from_numpy, is_text, plain_texts
from dproof.columns.codec import Codec, Draft, Key, accepted, missing_key, outside_key, settled
from dproof.columns.column import Column
from dproof.columns.values import MISSING, OUTSIDE, PLAIN, Numerals, infinite_sign, is_missing, number_of
from dproof.errors import SourceError
from dproof.exact import int_or_float
from dproof.spaces.bins import bins_between
from dproof.spaces.dates import CLOCK, EXAMPLE, day_of
from dproof.spaces.interval import largest

if TYPE_CHECKING:
    from dproof.plans.reader import Reader

_FARTHEST_BOUND = 1 << 60  # of a column: noise reaches farther, and ends where 64 bits do
_FARTHEST_STORED = 1 << 62  # of what is stored in 64 bits
_SURE = 1 << 48  # up to here the nearest whole number is found by a division of floats
_1970 = date(1970, 1, 1).toordinal() - 1  # the day that Arrow counts from
_FARTHEST_DAY = (1 << 31) - 2  # days before or after 1970 that are stored: 5.8 million years
_A_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_TENS = np.array([1000, 100, 10, 1])
_NUMBER = r"^\s*[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|(?i:inf(inity)?))\s*$"
_BINS = Key(
    "bins",
    "list",
    "Edges from low to high: a row is sanitised by its bin, and conditions at the edges are sharp.",
    default=None,
)
_CLAMP = "it becomes the nearer end, or is refused"


class NumberCodec(Codec):
    """Numbers of an interval, and the points of a line without ends, where noise on them ends up."""

    kind: ClassVar[str | None] = "interval"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("low", "number", "The least number.", "low = 0"),
        Key("high", "number", "The greatest number.", "high = 100"),
        Key(
            "step",
            "number",
            "The distance of neighbouring numbers; without it a fine one follows from the bounds.",
            "step = 1",
            None,
            draft="step = 1",
        ),
        _BINS,
        outside_key("clamp", "refuse", meaning=_CLAMP),
        missing_key(
            "number from low to high",
            'missing = a number, or "category"',
            "a number stands for it",
            'missing = 0    # what stands for a blank, or "category" to keep it',
        ),
    )
    noun: ClassVar[str | None] = "number"
    unreadable_advice: ClassVar[str] = "are `decimal` and `thousands` under [file] right?"

    @classmethod
    def declared_space(cls, space: Any, table: Reader) -> Any:
        low, high, step = (key.read(table) for key in cls.keys[:3])
        made = space(low, high, step)
        if max(abs(made.low), abs(made.high)) >= _FARTHEST_BOUND:
            raise table.wrong(
                "high", "or low lies beyond 2^60, too far for a column of numbers with noise: change the unit"
            )
        return made

    @classmethod
    def read_column(cls, space: Any, name: str, kind: str, table: Reader) -> Column:
        made = super().read_column(space, name, kind, table)
        edges = _BINS.read(table)
        bins = None if edges is None else table.calling(lambda: bins_between(made.space.without_missing, edges))
        return replace(made, bins=bins)

    @classmethod
    def draft(cls, kind: Any) -> Draft | None:
        import pyarrow as pa

        is_number = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
        return Draft("interval", {"low": "?", "high": "?"}) if any(is_(kind) for is_ in is_number) else None

    def stand_in(self, code: int) -> str:
        line = self.space.line
        return f"{int_or_float(line.origin + line.step * code):,}"

    # From a source to codes -------------------------------------------------------------------------------------------

    def read_number(self, value: Any) -> Fraction | float | None:
        """The number that a value of a source is written as, or infinity; None for what is not a number."""
        sign = infinite_sign(value)
        return sign * inf if sign else number_of(value, self.column.numerals)

    def lookup(self, value: Any) -> int:
        number = None if is_missing(value) else self.read_number(value)
        if number is None:
            return MISSING  # what is no number is a number that is missing
        if not self.column.clamp and not self.space.low <= number <= self.space.high:
            return OUTSIDE
        return int(self.space.nearest(number))

    def lookups(self, values: Any) -> NDArray[np.int64]:
        """Decimals and texts all at once, in whole numbers; what is odd, and all on a very fine lattice, one by one."""
        import pyarrow as pa

        space, factor = self.space, 2 * self.space.line.scale
        low, high, step = (int(factor * number) for number in (space.low, space.high, space.step))
        is_decimal = pa.types.is_decimal(values.type)
        too_fine = factor > LARGEST_FACTOR or max(abs(low), abs(high)) + step >= FAR
        if too_fine or not (is_decimal or is_text(values.type)):
            return self.one_by_one(values)
        texts = values.cast(pa.string()) if is_decimal else values
        found = read_decimals(texts, PLAIN if is_decimal else self.column.numerals)
        floors, above = found.floors(factor)
        codes = ((floors - low + step // 2) // step).clip(0, space.size - 1)
        if not self.column.clamp:
            codes[(floors < low) | (floors > high) | ((floors == high) & above)] = OUTSIDE
        codes[~found.known] = MISSING  # what is no number is a number that is missing
        codes[found.unread] = self.one_by_one(values.filter(from_numpy(found.unread)))
        return codes

    def encode(self, arrays: Sequence[Any]) -> NDArray[Any]:
        """Whole and floating numbers all rows at once."""
        import pyarrow as pa

        from dproof.columns.values import single

        array = single(arrays[0])
        if pa.types.is_integer(array.type) or pa.types.is_float32(array.type) or pa.types.is_float64(array.type):
            return self.encode_numbers(as_numpy(array, missing=0), as_numpy(array.is_null(nan_is_null=True)))
        return self.encode_texts(array)

    def encode_texts(self, array: Any) -> NDArray[Any]:
        """Texts all rows at once, which takes as long whether they are alike or not; others by each distinct value."""
        if is_text(array.type):
            return accepted(self.column, settled(self.column, self.lookups(plain_texts(array))))
        return Codec.encode(self, [array])

    def encode_numbers(self, values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
        """The nearest lattice points of whole or floating numbers, treated as the plan says."""
        values = np.where(missing, values.dtype.type(0), values)
        codes = self.space.codes_of(values, clamp=True).astype(np.int64)
        if not self.column.clamp:
            codes[~self.space.holds(values)] = OUTSIDE
        codes[missing] = MISSING
        return accepted(self.column, settled(self.column, codes))

    def code_sql(self, whole: str | None) -> str | None:
        column, space = self.column, self.space
        if whole is None or not space.has_sums or space.line.scale != 1:
            return None
        outside, missing = (OUTSIDE if code is None else code for code in (column.outside, column.missing))
        below, above = (0, space.size - 1) if column.clamp else (outside, outside)
        low, high, step = int(space.low), int(space.high), int(space.step)
        code = f"{whole} - {low}" if step == 1 else f"(2 * ({whole} - {low}) + {step}) // {2 * step}"
        return (
            f"CASE WHEN {whole} BETWEEN {low} AND {high} THEN {code} WHEN {whole} < {low} THEN {below} "
            f"WHEN {whole} > {high} THEN {above} ELSE {missing} END"
        )

    # From codes to what is stored, and back ---------------------------------------------------------------------------

    def store(self, codes: NDArray[Any]) -> list[Any]:
        """64-bit numbers, whole on a lattice of whole numbers."""
        line = self.space.line
        if line.scale > 1:
            return [self.to_arrow(line.numbers(codes).astype(np.float64, copy=False))]
        # A point that no 64-bit number holds is too far out to be told from the farthest that one does.
        farthest = int((_FARTHEST_STORED - abs(line.origin)) // line.step)
        codes = codes.clip(-farthest, farthest) if farthest < _FARTHEST_STORED >> 1 else codes
        numbers = codes if line.origin == 0 and line.step == 1 else line.numbers(codes)
        return [self.to_arrow(numbers.astype(np.int64, copy=False))]

    def restore(self, arrays: Sequence[Any]) -> NDArray[np.int64]:
        """The codes of the points nearest to stored numbers."""
        numbers, line = self.from_arrow(arrays[0]), self.space.line
        if line.scale == 1 and numbers.dtype.kind in "iu":
            codes = numbers.astype(np.int64) - int(line.origin)
            return codes if line.step == 1 else codes // int(line.step)
        numbers = np.where(np.isfinite(numbers), numbers, 0)
        if (largest(numbers) + 2 * abs(line.origin) + 1) * line.scale >= _SURE:
            near_ones = (round((Fraction(number) - line.origin) / line.step) for number in numbers.tolist())
            return np.array([max(-_FARTHEST_STORED, min(code, _FARTHEST_STORED)) for code in near_ones], np.int64)
        # Whole numbers below 2^48, which floats hold and divide without an error of their own.
        return np.rint((numbers - float(line.origin)) / float(line.step)).astype(np.int64)

    def possible(self, arrays: Sequence[Any], given: NDArray[np.bool_] | None, reach: int | None) -> bool:
        """On a line without ends, whether stored numbers lie no farther out than noise reaches."""
        if self.space.size is not None:
            return super().possible(arrays, given, reach)
        codes, last = self.restore(arrays), self.column.space.candidates - 1
        if reach is not None and len(codes) and not -reach <= codes.min() <= codes.max() <= last + reach:
            return False
        return bool(self.store(codes)[0].equals(arrays[0]))

    def to_arrow(self, numbers: NDArray[Any]) -> Any:
        """Numbers as they are stored."""
        return from_numpy(numbers)

    def from_arrow(self, array: Any) -> NDArray[Any]:
        """Stored numbers, 0 for a null."""
        return as_numpy(array, missing=0)


class DateCodec(NumberCodec):
    """Dates in ISO 8601, or of Arrow's own types; stored as days after 1970, as Arrow has them."""

    kind: ClassVar[str | None] = "date"
    keys: ClassVar[tuple[Key, ...]] = (
        Key(
            "low",
            "date",
            "The first day.",
            "low = 2024-01-01",
            draft=f"dates are written in ISO 8601, {EXAMPLE}, here and in the table",
        ),
        Key("high", "date", "The last day.", "high = 2024-12-31"),
        Key(
            "step",
            "whole number",
            "Every so many days, such as 7.",
            "step = 7 (in days)",
            1,
            draft="step = 1    # in days",
        ),
        _BINS,
        outside_key("clamp", "refuse", meaning=_CLAMP),
        missing_key(
            "date from low to high",
            'missing = a date, or "category"',
            "a date stands for it",
            'missing = 2024-01-31    # or "category" to keep a blank; else refused',
        ),
    )
    noun: ClassVar[str | None] = "date"
    unreadable_advice: ClassVar[str] = f"write them in ISO 8601, {EXAMPLE}."

    @classmethod
    def declared_space(cls, space: Any, table: Reader) -> Any:
        low, high, step = cls.keys[:3]
        for key in (low, high):
            given = key.read(table)
            if day_of(given) is None or isinstance(given, datetime.datetime):
                raise table.wrong(key.name, f"must be a date {EXAMPLE}")
        return space(low.read(table), high.read(table), step.read(table))

    @classmethod
    def draft(cls, kind: Any) -> Draft | None:
        import pyarrow as pa

        is_date = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
        return Draft("date", {"low": "?", "high": "?"}) if is_date else None

    def stand_in(self, code: int) -> str:
        return str(self.space.label(code))

    def read_number(self, value: Any) -> Fraction | None:
        day = day_of(value)
        return None if day is None else Fraction(day)

    def lookups(self, values: Any) -> NDArray[np.int64]:
        """Texts all at once where they are a date, alone or with a time that has no offset; others one by one."""
        if not is_text(values.type):
            return self.one_by_one(values)
        days, known, odd = _written_days(values)
        codes: NDArray[np.int64] = self.space.codes_of(days, clamp=True).astype(np.int64)
        if not self.column.clamp:
            codes[~self.space.holds(days)] = OUTSIDE
        codes[~known] = MISSING
        codes[odd] = self.one_by_one(values.filter(from_numpy(odd)))
        return codes

    def encode(self, arrays: Sequence[Any]) -> NDArray[Any]:
        """Arrow's dates and timestamps all rows at once."""
        import pyarrow as pa

        from dproof.columns.values import single

        array = single(arrays[0])
        kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
        if not pa.types.is_date(kind) and not pa.types.is_timestamp(kind):
            return self.encode_texts(array)
        array = array.cast(kind)
        parts = 1 if pa.types.is_date32(kind) else _A_DAY["ms" if pa.types.is_date64(kind) else kind.unit]
        numbers = as_numpy(array.view(pa.int32() if parts == 1 else pa.int64()), missing=0)
        return self.encode_numbers(numbers.astype(np.int64) // parts + _1970, as_numpy(array.is_null()))

    def to_arrow(self, numbers: NDArray[Any]) -> Any:
        import pyarrow as pa

        days = (numbers - _1970).clip(-_FARTHEST_DAY, _FARTHEST_DAY).astype(np.int32)
        return pa.Array.from_buffers(pa.date32(), len(days), [None, pa.py_buffer(days)])

    def from_arrow(self, array: Any) -> NDArray[Any]:
        import pyarrow as pa

        return as_numpy(array.view(pa.int32()), missing=0).astype(np.int64) + _1970

    @property
    def number_sql(self) -> str:
        return f"({self.sql} - DATE '0001-01-01')::DOUBLE"


def _written_days(texts: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
    """The day of each text that is a date, alone or with a time that has no offset, which texts these are, and which of
    the others are not empty."""
    import pyarrow.compute as pc

    data, starts, lengths, texts = buffers(texts)
    timed = as_numpy(pc.match_substring_regex(texts, rf"^.{{10}}[T ]{CLOCK}(?:\.[0-9]{{1,9}})?Z?$"), missing=False)
    known = (lengths == 10) | timed
    signs = np.where(known, starts, 0)[:, None] + np.arange(10)
    letters = data.take(signs, mode="clip").astype(np.int64) - ord("0")
    is_digit = (letters >= 0) & (letters <= 9)
    is_digit[:, [4, 7]] = letters[:, [4, 7]] == ord("-") - ord("0")
    letters *= is_digit
    year, month, day = (letters[:, at] @ _TENS[-len(at) :] for at in (range(4), range(5, 7), range(8, 10)))
    first = (12 * (year - 1970) + month - 1).astype("M8[M]")
    begins, ends = (moment.astype("M8[D]").astype(np.int64) for moment in (first, first + 1))
    known &= is_digit.all(axis=1) & (year > 0) & (month > 0) & (month < 13) & (day > 0) & (day <= ends - begins)
    return begins + day - 1 + _1970, known, ~known & (lengths > 0)


# Numbers that are written as texts ----------------------------------------------------------------------------------

_LONGEST = 32  # bytes of a text that is read here
_FULL = 10**17  # digits that have come to this take no other one
_BILLION = 10**9
FAR = 1 << 61  # farther than any bound of a lattice that is read here
LARGEST_FACTOR = (1 << 32) - 1  # of `Decimals.floors`
_TEN = 10 ** np.arange(19, dtype=np.int64)

_CLASSES = _OTHER, _DIGIT, _SIGN, _DECIMAL, _MARK, _POWER, _SPACE, _OPEN = range(8)
# What may stand after what: in each state the states that a digit, a sign, … lead to; any other leads to `none`.
# `wholeN` and `groupN` are N digits, `many` more than three without a mark between them.
_STATES = {
    "start": {_DIGIT: "whole1", _SIGN: "signed", _DECIMAL: "point", _SPACE: "start"},
    "signed": {_DIGIT: "whole1", _DECIMAL: "point"},
    "whole1": {_DIGIT: "whole2", _MARK: "mark", _DECIMAL: "part", _POWER: "power", _SPACE: "end"},
    "whole2": {_DIGIT: "whole3", _MARK: "mark", _DECIMAL: "part", _POWER: "power", _SPACE: "end"},
    "whole3": {_DIGIT: "many", _MARK: "mark", _DECIMAL: "part", _POWER: "power", _SPACE: "end"},
    "many": {_DIGIT: "many", _DECIMAL: "part", _POWER: "power", _SPACE: "end"},
    "mark": {_DIGIT: "group1"},
    "group1": {_DIGIT: "group2"},
    "group2": {_DIGIT: "group3"},
    "group3": {_MARK: "mark", _DECIMAL: "part", _POWER: "power", _SPACE: "end"},
    "point": {_DIGIT: "part"},
    "part": {_DIGIT: "part", _POWER: "power", _SPACE: "end"},
    "power": {_DIGIT: "power1", _SIGN: "power0"},
    "power0": {_DIGIT: "power1"},
    "power1": {_DIGIT: "power2", _SPACE: "end"},
    "power2": {_DIGIT: "open", _SPACE: "end"},
    "end": {_SPACE: "end"},
    "none": {},
    "open": {},
}
_NAMES = list(_STATES)
_NONE, _UNREAD, _START = _NAMES.index("none"), _NAMES.index("open"), _NAMES.index("start")
_FINAL = ("whole1", "whole2", "whole3", "many", "group3", "part", "power1", "power2", "end")
_POWERS = ("power", "power0", "power1", "power2")
_COUNT, _PART, _RAISE, _SIGNED, _LESSEN, _PASS = range(6)  # what is done with a byte
_MINUS, _BLANKS = ord("-"), "\t\n\v\f\r\x1c\x1d\x1e\x1f "


@dataclass(frozen=True, slots=True)
class Decimals:
    """Numbers ±digits·10^power, and of each text whether it is one (`known`), or is left `unread`."""

    negative: NDArray[np.bool_]
    digits: NDArray[np.int64]
    power: NDArray[np.int64]
    known: NDArray[np.bool_]
    unread: NDArray[np.bool_]

    def floors(self, factor: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """⌊x·factor⌋ of each number x, and whether x·factor lies above it, for a factor < 2^32.

        What lies 2^61 or farther out is brought to there.
        """
        # |x|·factor = (high + low/10^9)·10^shift, high < 2^63 and low < 10^9
        low = factor * (self.digits % _BILLION)
        high, low, shift = factor * (self.digits // _BILLION) + low // _BILLION, low % _BILLION, self.power + 9
        down = _TEN[np.clip(-shift, 0, 18)]
        floors, above = high // down, (high % down != 0) | (low != 0)
        tiny = shift < -18
        floors, above = np.where(tiny, 0, floors), np.where(tiny, (high != 0) | (low != 0), above)
        up = shift > 0
        part = low * _TEN[np.clip(shift, 0, 9)]  # of 10^9
        large = _raised(high, shift) + np.where(shift > 9, _raised(low, shift - 9), part // _BILLION)
        floors = np.where(up, np.minimum(large, FAR), floors)
        above = np.where(up, (shift < 9) & (part % _BILLION != 0), above)
        return np.where(self.negative, -floors - above, floors), above


def _raised(numbers: NDArray[np.int64], power: NDArray[np.int64]) -> NDArray[np.int64]:
    """numbers·10^power, or 2^61 where it is more."""
    factor = _TEN[np.clip(power, 0, 18)]
    far = (numbers > FAR // factor) | ((power > 18) & (numbers > 0))
    return np.where(far, FAR, numbers * factor)


def read_decimals(texts: Any, numerals: Numerals) -> Decimals:
    """The numbers of an Arrow array of texts or bytes; a null is none.

    >>> import pyarrow
    >>> found = read_decimals(pyarrow.array([" 1,250.5", "-3e2", "12,5", "inf"]), Numerals(thousands=","))
    >>> found.digits[:2], found.power[:2], found.known, found.unread
    (array([12505,     3]), array([-1,  2]), array([ True,  True, False, False]), array([False, False, False,  True]))
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    for mark in numerals.other_marks:  # each means the same as the one of ASCII
        texts = pc.replace_substring(texts.cast(pa.large_binary()), mark.encode(), numerals.thousands.encode())
    data, starts, lengths, _ = buffers(texts)
    count = len(lengths)
    # The longest first, so that those which have a byte at a place come before those which end earlier.
    order = np.argsort(np.maximum(_LONGEST + 1 - lengths, 0).astype(np.uint8), kind="stable")
    starts = starts[order]
    longer = count - np.cumsum(np.bincount(np.minimum(lengths, _LONGEST + 1), minlength=_LONGEST + 2))
    kinds, following, actions = _table(numerals)
    state, digits, decimals, power = (np.full(count, first, np.int64) for first in (_START, 0, 0, 0))
    negative, lessening = np.zeros(count, bool), np.zeros(count, bool)
    for place, some in enumerate(longer[:_LONGEST].tolist()):  # always as many turns, whatever the longest text is
        byte = data[starts[:some] + place]
        step = state[:some] * len(_CLASSES) + kinds[byte]
        action, value = actions[step], byte.astype(np.int64) - 48
        counts, raises, number = action <= _PART, action == _RAISE, digits[:some]
        state[:some] = np.where(counts & (number >= _FULL), _UNREAD, following[step])
        digits[:some] = np.where(counts, 10 * number + value, number)
        decimals[:some] += action == _PART
        power[:some] = np.where(raises, 10 * power[:some] + value, power[:some])
        minus = byte == _MINUS
        negative[:some] |= minus & (action == _SIGNED)
        lessening[:some] |= minus & (action == _LESSEN)
    state[: longer[_LONGEST]] = _UNREAD
    back = np.empty_like(order)
    back[order] = np.arange(count)
    shift = np.where(lessening, -power, power) - decimals
    known = _final(numerals)[state]
    return Decimals(negative[back], digits[back], shift[back], known[back], (state == _UNREAD)[back])


@lru_cache
def _table(numerals: Numerals) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int8]]:
    """The class of each byte, and what follows from a state and a class: the next state, and what is done."""
    kinds = np.full(256, _OTHER, np.uint8)
    kinds[128:] = _OPEN
    given = {_DIGIT: "0123456789", _SIGN: "+-", _POWER: "eE", _SPACE: _BLANKS, _OPEN: "tTfFiI"}
    for kind, characters in (given | {_DECIMAL: numerals.decimal, _MARK: numerals.thousands}).items():
        kinds[list(characters.encode())] = kind
    following = np.full((len(_NAMES), len(_CLASSES)), _NONE)
    actions = np.full(following.shape, _PASS, np.int8)
    for state, name in enumerate(_NAMES):
        ways = _STATES[name]
        if numerals.thousands == " ":  # which ends a number too
            ways = {_MARK: ways.get(_SPACE, "none")} | ways | ({_MARK: "end", _SPACE: "end"} if name == "mark" else {})
        for kind, then in ways.items():
            following[state, kind] = _NAMES.index(then)
        following[state, _OPEN] = _UNREAD
        actions[state, _SIGN] = {"start": _SIGNED, "power": _LESSEN}.get(name, _PASS)
        actions[state, _DIGIT] = _RAISE if name in _POWERS else _PART if name in ("point", "part") else _COUNT
    following[[_NONE, _UNREAD]] = [[_NONE], [_UNREAD]]
    return kinds, following.ravel(), actions.ravel()


def _final(numerals: Numerals) -> NDArray[np.bool_]:
    """Whether a number may end in a state."""
    marks = ("mark",) if numerals.thousands == " " else ()
    return np.array([name in (*_FINAL, *marks) for name in _NAMES])


# Rows of numbers ------------------------------------------------------------------------------------------------------


def arrow_rows(arrays: Sequence[Any], points: int, numerals: Numerals = PLAIN) -> NDArray[np.float64]:
    """The rows of wide columns in grid order, or of one column of lists; NaN for what is missing or no number.

    A list that is missing or has another length is a row of NaN.
    """
    import pyarrow as pa

    from dproof.columns.values import listed

    if len(arrays) > 1:
        return np.column_stack([_floats(array, numerals) for array in arrays])
    rows = np.full((len(arrays[0]), points), np.nan)
    for array in listed(arrays[0]):
        if pa.types.is_null(array.type):
            continue
        checks = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
        if not any(check(array.type) for check in checks):
            raise SourceError(
                f"a column of type {array.type} holds no curves: they are lists of numbers, or wide columns"
            )
        import pyarrow.compute as pc  # slow to load, so where it is used

        whole = pc.fill_null(pc.equal(pc.list_value_length(array), points), False)
        rows[as_numpy(whole)] = _floats(array.filter(whole).flatten(), numerals).reshape(-1, points)
    return rows


def _floats(array: Any, numerals: Numerals) -> NDArray[np.float64]:
    """Numbers, or texts that are numbers; NaN for what is missing or none. No value stops the work, only a type."""
    import pyarrow as pa

    from dproof.columns.values import single

    array = single(array)
    if pa.types.is_dictionary(array.type):
        known = np.append(_floats(array.dictionary, numerals), np.nan)
        return np.asarray(known[as_numpy(array.indices.cast(pa.int64()), missing=-1)])
    if any(check(array.type) for check in (pa.types.is_binary_view, pa.types.is_string_view)):
        array = array.cast(pa.large_binary())
    if pa.types.is_binary(array.type) or pa.types.is_large_binary(array.type):
        array = array.cast(pa.large_string(), safe=False)
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        import pyarrow.compute as pc

        if numerals != PLAIN:
            texts = array.cast(pa.large_binary()).to_pylist()  # which may be no UTF-8
            read = [None if text is None else numerals.plain(text.decode("utf-8", "replace")) for text in texts]
            array = pa.array(read, pa.string())
        array = pc.if_else(pc.match_substring_regex(array, _NUMBER), pc.ascii_trim_whitespace(array), None)
    try:
        if pa.types.is_boolean(array.type):  # among other objects True is a text, and no number
            raise pa.ArrowTypeError
        return np.array(as_numpy(array.cast(pa.float64(), safe=False), missing=np.nan))
    except pa.ArrowException:
        raise SourceError(f"a column of type {array.type} holds no numbers: cast it first") from None

"""Numerical data: the lattice points of an interval of the real line. HLM15, Examples 2 and 5."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor, inf, lcm
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import COLUMN
from dproof.columns.arrow import as_numpy, from_numpy, is_arrow, is_text, narrowest
from dproof.columns.column import Column, Draft, Encode, Lookup, Lookups, accepted, one_by_one, settled
from dproof.columns.values import (
    FAR,
    LARGEST_FACTOR,
    MISSING,
    OUTSIDE,
    PLAIN,
    Numerals,
    infinite_sign,
    is_missing,
    number_of,
    read_decimals,
)
from dproof.errors import InputError, TooLarge
from dproof.exact import exact, int_or_float, plain_number
from dproof.spaces.bins import bins_between
from dproof.spaces.space import Space

if TYPE_CHECKING:
    from dproof.plans.reader import Reader

_FINE = 5000  # steps of a lattice that nobody chose: rounding stays below a thousandth of the noise up to ε = 10
_LARGEST = 1 << 48
_FARTHEST_BOUND = 1 << 60  # of a column: noise reaches farther, and ends where 64 bits do
_DIGITS = 15  # significant digits that every float keeps: up to these, its shortest decimal is the exact multiple
_SURE = 1 << 48  # up to here the nearest whole number is found by a division of floats
_FARTHEST_STORED = 1 << 62  # of what is stored in 64 bits
ABSENT = -(1 << 63)  # the code of a missing value beside the points of a line: none that is stored has it


@dataclass(frozen=True, slots=True, init=False)
class Interval(Space):
    """The points low, low + step, …, high of a lattice, with ρ(x, y) = |x − y|.

    Any exact numbers will do for the bounds. A value between two points stands for the nearest, the upper one when
    it is half-way. Without a step the lattice has a power of ten as its step, or a ten-thousandth of the length,
    and 5000 points or more: it depends on the bounds alone, and rounding to it costs less than a thousandth of
    the noise up to ε = 10.

    >>> age = Interval(0, 110, 1)
    >>> age.size, age.diameter, age.encode([36, 36.5, 110]).tolist()
    (111, Fraction(110, 1), [36, 37, 110])
    """

    low: Fraction
    high: Fraction
    step: Fraction

    def __init__(self, low: Any, high: Any, step: Any = None) -> None:
        bottom, top = exact(low, "low"), exact(high, "high")
        if bottom > top:
            raise InputError("low must not lie above high; exchange them")
        length = top - bottom
        chosen = _fine_step(length) if step is None else exact(step, "step")
        if chosen <= 0:
            raise InputError("step must be above 0")
        if length and chosen > length:
            raise InputError("step must not be longer than the interval from low to high")
        if (length / chosen).denominator != 1:
            last = bottom + length // chosen * chosen
            start, end, one, before, after = map(plain_number, (bottom, top, chosen, last, last + chosen))
            raise InputError(
                f"from {start} to {end} is not a whole number of steps of {one}; end at {before} or {after}, or "
                "leave the step out"
            )
        if length / chosen >= _LARGEST:
            raise TooLarge("the interval has too many lattice points; use a coarser step")
        for name, value in {"low": bottom, "high": top, "step": chosen}.items():
            object.__setattr__(self, name, value)

    @property
    def line(self) -> Line:
        """The lattice that the interval is cut from."""
        return Line(self.low, self.step)

    @property
    def size(self) -> int:
        return int((self.high - self.low) / self.step) + 1

    @property
    def diameter(self) -> Fraction:
        return self.high - self.low

    @property
    def separation(self) -> Fraction:
        return self.step if self.size > 1 else Fraction(0)

    @property
    def spacing(self) -> Fraction:
        return self.step

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        return self.low, self.high

    def refusal(self, value: Any, *, ordered: bool = False) -> str | None:
        if not isinstance(value, Fraction):
            return f"holds numbers, and {str(value)!r} is not one"
        if ordered or (self.low <= value <= self.high and ((value - self.low) / self.step).denominator == 1):
            return None
        low, high, step = map(plain_number, (self.low, self.high, self.step))
        return f"never has the value {plain_number(value)}: it goes from {low} to {high} by {step}"

    def selected(self, sign: str, value: Any) -> tuple[int, ...]:
        place = (self.number(value) - self.low) / self.step  # a code, if it is whole and in range
        # How many codes have a value < and ≤ this one.
        below, upto = (min(max(n, 0), self.size) for n in (ceil(place), floor(place) + 1))
        ends = {"<": (0, below), "<=": (0, upto), ">": (upto, self.size), ">=": (below, self.size), "=": (below, upto)}
        return (0, below, upto, self.size) if sign == "<>" else ends[sign]

    def distances_from(self, value: Any) -> NDArray[Any]:
        place = (self.number(value) - self.low) / self.step
        return np.asarray(abs(np.arange(self.size).astype(object) - place) * self.step)

    def distance(self, x: Any, y: Any) -> Fraction:
        """The distance of the lattice points that two values stand for."""
        return self.step * abs(self.code(x) - self.code(y))

    def distances(self, code: int) -> NDArray[Any]:
        steps = np.abs(np.arange(self.size) - code)
        whole = self.step.denominator == 1 and self.diameter < 1 << 62
        return steps * int(self.step) if whole else steps.astype(object) * self.step

    def number(self, value: Any) -> Fraction:
        """The number that a value stands for; what is not a number is refused without being named."""
        return exact_number(value)

    def code(self, value: Any) -> int:
        number = self.number(value)
        if not self.low <= number <= self.high:
            raise _outside()
        return self._nearest(number)

    def _nearest(self, number: Fraction | float) -> int:
        inside = Fraction(min(max(number, self.low), self.high))
        return (2 * (inside - self.low) + self.step) // (2 * self.step)

    def label(self, code: int) -> Any:
        return self.line.label(code)

    def decode(self, codes: NDArray[Any]) -> list[Any]:
        return self.line.decode(codes)

    def values_of(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        return self.line.values_of(codes)

    def between(self, low: Any, high: Any, step: Any) -> Interval:
        """An interval of the same kind of values."""
        return Interval(low, high, step)

    def numbers(self, codes: NDArray[Any]) -> NDArray[Any]:
        """The points as int64 on a lattice of whole numbers, else as the nearest floats."""
        return self.line.numbers(codes)

    def encode(self, values: Any, *, clamp: bool = False) -> NDArray[Any]:
        """The codes of a column: the nearest lattice points, exactly.

        A value outside the interval is refused without being named, or with `clamp` stands for the nearer end; one
        that is not a number is refused in any case.
        """
        if is_arrow(values):
            codes = self.encode_arrow(values, clamp=clamp)
            if (codes < 0).any():
                raise no_number() if (self.encode_arrow(values, clamp=True) < 0).any() else _outside()
            return codes.astype(narrowest(self.size), copy=False)
        column = values if isinstance(values, np.ndarray) else np.array(values, object)
        if column.ndim != 1:
            raise InputError(f"values must be {COLUMN}")
        return self._encode(_narrowed(column) if column.dtype == object else column, clamp)

    def _encode(self, column: NDArray[Any], clamp: bool) -> NDArray[Any]:
        if len(column) == 0:
            return np.empty(0, narrowest(self.size))
        if column.dtype in (np.float32, np.float64):
            codes = self._floats(column, clamp)
        elif column.dtype.kind in "iu":
            codes = self._whole(column, clamp)
        else:
            codes = self._any(column, clamp)
        return codes.astype(narrowest(self.size), copy=False)

    def holds(self, column: NDArray[Any]) -> NDArray[np.bool_]:
        """Which numbers of a column of whole or floating ones lie inside, a float meaning its shortest decimal.

        >>> Interval("0.3", "0.7", "0.1").holds(np.array([0.3, 0.7, 0.7000001])).tolist()
        [True, True, False]
        """
        least, most = self._range(column.dtype)
        return np.asarray((least <= column) & (column <= most))

    def _range(self, kind: np.dtype[Any]) -> tuple[Any, Any]:
        """The least and the most number of a type inside. Floats stand in the order of their shortest decimals."""
        if kind.kind in "iu":
            return ceil(self.low), floor(self.high)
        with np.errstate(over="ignore"):
            low, high = kind.type(self.low), kind.type(self.high)
        least = min(x for x in (low, *_beside(low)) if _meant(x) >= self.low)
        return least, max(x for x in (high, *_beside(high)) if _meant(x) <= self.high)

    def _whole(self, column: NDArray[Any], clamp: bool) -> NDArray[Any]:
        """⌊(x − low)/step + 1/2⌋ for whole numbers x, in whole numbers."""
        if not (clamp or self.holds(column).all()):
            raise _outside()
        ends = np.iinfo(column.dtype)
        # The last whole numbers on either side of a bound have the same nearest point once cut to the interval.
        below, above = self.low // 1, -(-self.high // 1)
        column = column.clip(min(max(below, ends.min), ends.max), max(min(above, ends.max), ends.min))
        scale = self.line._scale
        low, step = int(self.low * scale), int(self.step * scale)
        farthest = max(abs(below), abs(above))
        if scale == step == 1 and farthest < 1 << 62:
            codes = column.astype(np.int64) - low
        else:
            room = 4 * scale * (farthest + 1) + 4 * abs(low) + 4 * step
            wide = column.astype(np.int64 if room < 1 << 62 else object)
            codes = ((2 * (wide * scale - low) + step) // (2 * step)).astype(np.int64)
        return codes.clip(0, self.size - 1)

    def _floats(self, column: NDArray[Any], clamp: bool) -> NDArray[Any]:
        """In floats, and exactly from the shortest decimal wherever floats cannot tell the nearest point."""
        low, high = self._range(column.dtype)
        least, most = column.min(), column.max()
        if np.isnan(least):
            raise no_number()
        if not (clamp or (low <= least and most <= high)):
            raise _outside()
        # What is cut off lies outside still, so that it has the code of an end also where floats are far between.
        ends, furthest = (_beside(low)[0], _beside(high)[1]), np.finfo(column.dtype).max
        inside = column.clip(*ends).clip(-furthest, furthest).astype(np.float64)
        place = (inside - float(self.low)) / float(self.step)
        place += 0.5
        codes = np.floor(place)
        # Value, bounds, step and quotient are each within a few units in the last place of what they stand for.
        largest = max(abs(self.low), abs(self.high)) / self.step + self.size
        doubt = float(largest) * 2.0 ** (-50 if column.dtype.itemsize == 8 else -20)
        place -= codes
        near = np.flatnonzero((place < doubt) | (place > 1 - doubt))
        codes = codes.astype(np.int64)
        if len(near):
            distinct, inverse = np.unique(inside[near].astype(column.dtype), return_inverse=True)
            codes[near] = np.array([self._nearest(_meant(x)) for x in distinct], np.int64)[inverse]
        return codes.clip(0, self.size - 1)

    def _any(self, column: NDArray[Any], clamp: bool) -> NDArray[Any]:
        """Decimals, fractions, texts and mixtures, one by one."""
        codes = np.empty(len(column), np.int64)
        for n, value in enumerate(column):
            number = self.number(value)
            if not (clamp or self.low <= number <= self.high):
                raise _outside()
            codes[n] = self._nearest(number)
        return codes

    # A column of a plan ----------------------------------------------------------------------------------------------

    mechanisms: ClassVar[str] = "interval"
    outside_ways: ClassVar[tuple[str, ...]] = ("clamp", "refuse")
    noun: ClassVar[str | None] = "number"
    unreadable_advice: ClassVar[str] = "are `decimal` and `thousands` under [file] right?"
    is_counted: ClassVar[bool] = False

    @classmethod
    def from_plan(cls, table: Reader) -> Interval:
        space = cls(table.number("low"), table.number("high"), table.number("step", None))
        if max(abs(space.low), abs(space.high)) >= _FARTHEST_BOUND:
            raise table.wrong(
                "high", "or low lies beyond 2^60, too far for a column of numbers with noise: change the unit"
            )
        return space

    @classmethod
    def column(cls, name: str, kind: str, table: Reader) -> Column:
        made = super(Interval, cls).column(name, kind, table)
        edges, space = table.value("bins", None), made.space
        bins = None if edges is None else table.calling(lambda: bins_between(space.present or space, edges))
        return replace(made, bins=bins)

    @classmethod
    def draft(cls, kind: Any) -> Draft | None:
        import pyarrow as pa

        is_number = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
        below = '# step = 1\n# missing = 0    # what stands for a blank, or "category" to keep it\n'
        return Draft("interval", {"low": "?", "high": "?"}, below) if any(is_(kind) for is_ in is_number) else None

    def stand_in(self, code: int) -> str:
        number = self.line.origin + self.line.step * code
        return f"{int_or_float(number):,}"

    def lookup(self, column: Column) -> Lookup:
        def look_up(value: Any) -> int:
            number = None if is_missing(value) else self.read_number(value, column.numerals)
            if number is None:
                return MISSING  # what is no number is a number that is missing
            if not column.clamp and not self.low <= number <= self.high:
                return OUTSIDE
            return self._nearest(number)

        return look_up

    def read_number(self, value: Any, numerals: Numerals) -> Fraction | float | None:
        """The number that a value of a source is written as, or infinity; None for what is not a number."""
        number, sign = number_of(value, numerals), infinite_sign(value)
        return sign * inf if sign else number

    def lookups(self, column: Column) -> Lookups:
        """Decimals and texts all at once, in whole numbers; what is odd, and all on a very fine lattice, one by one."""
        import pyarrow as pa

        each, factor = one_by_one(self.lookup(column)), 2 * self.line._scale
        low, high, step = (int(factor * number) for number in (self.low, self.high, self.step))
        if factor > LARGEST_FACTOR or max(abs(low), abs(high)) + step >= FAR:
            return each

        def look_up(values: Any) -> NDArray[np.int64]:
            is_decimal = pa.types.is_decimal(values.type)
            if not is_decimal and not is_text(values.type):
                return each(values)
            written = values.cast(pa.string()) if is_decimal else values
            found = read_decimals(written, PLAIN if is_decimal else column.numerals)
            floors, above = found.floors(factor)
            codes = ((floors - low + step // 2) // step).clip(0, self.size - 1)
            if not column.clamp:
                outside = (floors < low) | (floors > high) | ((floors == high) & above)
                codes[outside] = OUTSIDE
            codes[~found.known] = MISSING  # what is no number is a number that is missing
            codes[found.unread] = each(values.filter(from_numpy(found.unread)))
            return codes

        return look_up

    def encoder(self, column: Column) -> Encode:
        """Whole and floating numbers all rows at once, others by each distinct value."""
        import pyarrow as pa

        from dproof.columns.objects import single

        distinct, is_number = super(Interval, self).encoder(column), (pa.types.is_float32, pa.types.is_float64)

        def encode(arrays: Sequence[Any]) -> NDArray[Any]:
            array = single(arrays[0])
            if pa.types.is_integer(array.type) or any(is_(array.type) for is_ in is_number):
                missing = as_numpy(array.is_null(nan_is_null=True))
                return self.encode_numbers(column, as_numpy(array, missing=0), missing)
            return distinct(arrays)

        return encode

    def encode_numbers(self, column: Column, values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
        """The nearest lattice points of whole or floating numbers, as a column treats them."""
        values = np.where(missing, values.dtype.type(0), values)
        codes = self._encode(values, clamp=True).astype(np.int64)
        if not column.clamp:
            codes[~self.holds(values)] = OUTSIDE
        codes[missing] = MISSING
        return accepted(column, settled(column, codes))

    def code_sql(self, column: Column, whole: str | None) -> str | None:
        if whole is None or not self.has_sums or self.line._scale != 1:
            return None
        outside, missing = (OUTSIDE if code is None else code for code in (column.outside, column.missing))
        below, above = (0, self.size - 1) if column.clamp else (outside, outside)
        low, step = int(self.low), int(self.step)
        code = f"{whole} - {low}" if step == 1 else f"(2 * ({whole} - {low}) + {step}) // {2 * step}"
        return (
            f"CASE WHEN {whole} BETWEEN {low} AND {int(self.high)} THEN {code} WHEN {whole} < {low} THEN {below} "
            f"WHEN {whole} > {int(self.high)} THEN {above} ELSE {missing} END"
        )

    def store(self, column: Column, codes: NDArray[Any]) -> list[Any]:
        return self.line.store(column, codes)

    def restore(self, column: Column, arrays: Sequence[Any]) -> NDArray[np.int64]:
        return self.line.restore(column, arrays)


def _meant(value: Any) -> Any:
    """The shortest decimal of a float of any type, exactly; infinity is itself."""
    return Fraction(np.format_float_scientific(value, unique=True, trim="k")) if np.isfinite(value) else float(value)


def _beside(value: Any) -> tuple[Any, Any]:
    """The floats next to one, below and above."""
    with np.errstate(over="ignore"):
        return np.nextafter(value, -np.inf, dtype=value.dtype), np.nextafter(value, np.inf, dtype=value.dtype)


def _narrowed(column: NDArray[Any]) -> NDArray[Any]:
    """Python floats alone, or whole numbers alone that fit a machine word, as NumPy has them."""
    kinds = {type(value) for value in column}
    if kinds == {float} or kinds == {np.float64}:
        return column.astype(np.float64)
    if kinds == {int} and max(map(abs, column)) < 1 << 62:
        return column.astype(np.int64)
    return column


def _outside() -> InputError:
    return InputError("a value lies outside the interval; widen the interval, or clamp")


def _fine_step(length: Fraction) -> Fraction:
    """The largest power of ten that fits the length 5000 times or more, without rest; else a ten-thousandth."""
    if length == 0:
        return Fraction(1)
    step = Fraction(10) ** (len(str(int(length))) + 1)
    while length / step < _FINE:
        step /= 10
    for _ in range(3):
        if (length / step).denominator == 1:
            return step
        step /= 10
    return length / 10_000


@dataclass(frozen=True, slots=True)
class Line:
    """All points origin + step·k of a lattice, k any whole number; where unbounded noise ends up.

    Like a space, but without what needs an end: no number of points, no diameter, no list of distances.

    A point is an int on a lattice of whole numbers; else the float that prints as it, or a Decimal or a Fraction
    where no float does.

    >>> Line(Fraction(0), Fraction(1, 10)).decode(np.array([3, -7]))
    [0.3, -0.7]
    """

    origin: Fraction
    step: Fraction
    labels: ClassVar[None] = None
    items: ClassVar[None] = None
    absent: ClassVar[int | None] = None
    holds_curves: ClassVar[bool] = False
    code_shape: ClassVar[tuple[int, ...]] = ()  # of one code: a whole number, but for curves

    @property
    def line(self) -> Line:
        return self

    def with_missing(self) -> Any:
        """The line with one more value, a missing one, that is stored as null."""
        from dproof.columns.null import OptionalLine

        return OptionalLine(self)

    @property
    def separation(self) -> Fraction:
        return self.step

    def distance(self, x: Any, y: Any) -> Fraction:
        return self.step * abs(self.code(x) - self.code(y))

    def place(self, value: Any) -> Fraction:
        """How many steps a value lies from the origin; a whole number at the points of the lattice."""
        return (exact_number(value) - self.origin) / self.step

    def code(self, value: Any) -> int:
        place = self.place(value)
        if place.denominator != 1:
            raise InputError("a value is not a point of the lattice; round it to a multiple of the step")
        return place.numerator

    def label(self, code: int) -> Any:
        return self.decode(np.array([int(code)]))[0]

    def encode(self, values: Any) -> NDArray[Any]:
        return np.array([self.code(value) for value in values], np.int64)

    def decode(self, codes: NDArray[Any]) -> list[Any]:
        tops, scale = self._tops(np.asarray(codes)), self._scale
        if scale == 1 and tops.dtype != object:
            return tops.tolist()  # type: ignore[no-any-return]
        if _largest(tops) < 10**_DIGITS and 10**_DIGITS % scale == 0:
            return (tops / scale).tolist()  # type: ignore[no-any-return]
        return [plain_number(Fraction(int(top), scale)) for top in tops]

    def values_of(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(float(self.origin) + float(self.step) * codes)

    def numbers(self, codes: NDArray[Any]) -> NDArray[Any]:
        """The points as int64 on a lattice of whole numbers, else as the nearest floats."""
        tops, scale = self._tops(np.asarray(codes)), self._scale
        if scale == 1 and tops.dtype != object:
            return tops
        if tops.dtype != object and _largest(tops) < 1 << 53 > scale:
            return np.asarray(tops / scale)
        return np.array([int(top) / scale for top in tops], np.float64)

    @property
    def _scale(self) -> int:
        return lcm(self.origin.denominator, self.step.denominator)

    def _tops(self, codes: NDArray[Any]) -> NDArray[Any]:
        """The points times the common denominator, in whole numbers."""
        origin, step = int(self.origin * self._scale), int(self.step * self._scale)
        wide = np.int64 if abs(origin) + step * _largest(codes) < 1 << 62 else object
        tops: NDArray[Any] = codes.astype(wide) * step + origin
        return tops

    # As it is stored --------------------------------------------------------------------------------------------------

    def store(self, column: Column, codes: NDArray[Any]) -> list[Any]:
        """The Arrow array that codes are stored as: 64-bit numbers, whole on a lattice of whole numbers."""
        if self._scale > 1:
            return [self.to_arrow(self.numbers(codes).astype(np.float64, copy=False))]
        # A point that no 64-bit number holds is too far out to be told from the farthest that one does.
        farthest = int((_FARTHEST_STORED - abs(self.origin)) // self.step)
        codes = codes.clip(-farthest, farthest) if farthest < _FARTHEST_STORED >> 1 else codes
        numbers = codes if self.origin == 0 and self.step == 1 else self.numbers(codes)
        return [self.to_arrow(numbers.astype(np.int64, copy=False))]

    def restore(self, column: Column, arrays: Sequence[Any]) -> NDArray[np.int64]:
        """The codes of the points nearest to stored numbers."""
        numbers = self.from_arrow(arrays[0])
        if self._scale == 1 and numbers.dtype.kind in "iu":
            codes = numbers.astype(np.int64) - int(self.origin)
            return codes if self.step == 1 else codes // int(self.step)
        numbers = np.where(np.isfinite(numbers), numbers, 0)
        if (_largest(numbers) + 2 * abs(self.origin) + 1) * self._scale >= _SURE:
            near_ones = (round((Fraction(number) - self.origin) / self.step) for number in numbers.tolist())
            return np.array([max(-_FARTHEST_STORED, min(code, _FARTHEST_STORED)) for code in near_ones], np.int64)
        # Whole numbers below 2^48, which floats hold and divide without an error of their own.
        return np.rint((numbers - float(self.origin)) / float(self.step)).astype(np.int64)

    def possible(
        self, column: Column, arrays: Sequence[Any], given: NDArray[np.bool_] | None, reach: int | None
    ) -> bool:
        """Whether stored numbers are what lattice points are stored as, no farther out than noise reaches."""
        codes = self.restore(column, arrays)
        last = column.space.candidates - 1
        if reach is not None and len(codes) and not -reach <= codes.min() <= codes.max() <= last + reach:
            return False
        return bool(self.store(column, codes)[0].equals(arrays[0]))

    def to_arrow(self, numbers: NDArray[Any]) -> Any:
        """Numbers as they are stored."""
        return from_numpy(numbers)

    def from_arrow(self, array: Any) -> NDArray[Any]:
        """Stored numbers, 0 for a null."""
        return as_numpy(array, missing=0)

    def reader(
        self, column: Column, bits: Sequence[int] | None
    ) -> tuple[list[str], Callable[[Sequence[Any]], NDArray[np.int64]]]:
        """A stored number in SQL, and how it is decoded."""
        return [column.sql], lambda arrays: self.restore(column, arrays)


def _largest(numbers: NDArray[Any]) -> int:
    """The largest absolute value."""
    return max(abs(int(numbers.min())), abs(int(numbers.max()))) if len(numbers) else 0


def exact_number(value: Any) -> Fraction:
    """The number a value stands for; what is not a number is refused without being named."""
    try:
        return exact(value)
    except InputError:
        raise no_number() from None


def no_number() -> InputError:
    return InputError("a value is missing or no number; say what stands for it")

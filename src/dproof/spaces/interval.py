"""Numerical data: the lattice points of an interval, the line that noise on them ends up on, bins, and scales.

HLM15, Examples 2 and 5. Bins lie between public edges, and the points of one are counted together.

A scale says how codes become the numbers that are added up. Noise is added to sums of whole numbers, multiples of a
public unit (`WholeScale`): sums of floats would depend on their order, and so would the guarantee. Estimates and
formulas calculate with floats, about the middle of the range, so that powers stay small (`Scale`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from math import ceil, floor, gcd, inf, lcm
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import COLUMN, named
from dproof.errors import ArgumentError, InputError, TooLarge
from dproof.exact import exact, plain_number
from dproof.limits import MOST_LATTICE_POINTS
from dproof.spaces.categories import Categories
from dproof.spaces.space import ABSENT, MISSING, Endless, Space, decode_present, is_arrow, narrowest

_FINE = 5000  # steps of a lattice that nobody chose: rounding stays below a thousandth of the noise up to ε = 10
_DIGITS = 15  # significant digits that every float keeps: up to these, its shortest decimal is the exact multiple


@dataclass(frozen=True, init=False)  # without slots: what follows from it is worked out once
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
    mechanisms: ClassVar[str] = "interval"
    is_counted: ClassVar[bool] = False

    @named
    def __init__(self, low: Any, high: Any, step: Any = None) -> None:
        bottom, top = exact(low, "low"), exact(high, "high")
        if bottom > top:
            raise ArgumentError("low must not lie above high; exchange them")
        length = top - bottom
        chosen = _fine_step(length) if step is None else exact(step, "step")
        if chosen <= 0:
            raise ArgumentError("step must be above 0")
        if length and chosen > length:
            raise ArgumentError("step must not be longer than the interval from low to high")
        if (length / chosen).denominator != 1:
            last = bottom + length // chosen * chosen
            start, end, one, before, after = map(plain_number, (bottom, top, chosen, last, last + chosen))
            raise ArgumentError(
                f"from {start} to {end} is not a whole number of steps of {one}; end at {before} or {after}, or "
                "leave the step out"
            )
        if length / chosen >= MOST_LATTICE_POINTS:
            raise TooLarge(f"the interval has more than {MOST_LATTICE_POINTS:,} steps: use a coarser step")
        for name, value in {"low": bottom, "high": top, "step": chosen}.items():
            object.__setattr__(self, name, value)

    @cached_property
    def line(self) -> Line:
        """The lattice that the interval is cut from."""
        return Line(self.low, self.step)

    @cached_property
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
        if place.denominator == 1 and 0 <= place < self.size:
            return self.distances(int(place))
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
        return self.nearest(number)

    def nearest(self, number: Fraction | float) -> int:
        """The code of the lattice point nearest to a number, which may be infinite."""
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
            codes = self._arrow_codes(values, clamp=clamp)
            if (codes < 0).any():
                raise no_number() if (self._arrow_codes(values, clamp=True) < 0).any() else _outside()
            return codes.astype(narrowest(self.size), copy=False)
        column = values if isinstance(values, np.ndarray) else np.array(values, object)
        if column.ndim != 1:
            raise ArgumentError(f"values must be {COLUMN}")
        return self.codes_of(_narrowed(column) if column.dtype == object else column, clamp)

    def codes_of(self, column: NDArray[Any], clamp: bool) -> NDArray[Any]:
        """The codes of a NumPy array; one outside is refused, or stands for the nearer end."""
        if len(column) == 0:
            return np.empty(0, narrowest(self.size))
        is_float = column.dtype in (np.float32, np.float64)
        if not is_float and column.dtype.kind not in "iu":
            return self._any(column, clamp)
        if is_float and np.isnan(column.min()):
            raise no_number()
        if not (clamp or self.holds(column).all()):
            raise _outside()
        return (self._floats(column) if is_float else self._whole(column)).astype(narrowest(self.size), copy=False)

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

    def _whole(self, column: NDArray[Any]) -> NDArray[Any]:
        """⌊(x − low)/step + 1/2⌋ for whole numbers x, in whole numbers."""
        ends = np.iinfo(column.dtype)
        # The last whole numbers on either side of a bound have the same nearest point once cut to the interval.
        below, above = self.low // 1, -(-self.high // 1)
        column = column.clip(min(max(below, ends.min), ends.max), max(min(above, ends.max), ends.min))
        scale = self.line.scale
        low, step = int(self.low * scale), int(self.step * scale)
        farthest = max(abs(below), abs(above))
        if scale == step == 1 and farthest < 1 << 62:
            codes = column.astype(np.int64) - low
        else:
            room = 4 * scale * (farthest + 1) + 4 * abs(low) + 4 * step
            wide = column.astype(np.int64 if room < 1 << 62 else object)
            codes = (2 * (wide * scale - low) + step) // (2 * step)
        # On a fine lattice the point of a whole number outside is beyond all machine words, until it is an end.
        return codes.clip(0, self.size - 1).astype(np.int64)

    def _floats(self, column: NDArray[Any]) -> NDArray[Any]:
        """In floats, and exactly from the shortest decimal wherever floats cannot tell the nearest point."""
        low, high = self._range(column.dtype)
        # What is cut off lies outside still, so that it has the code of an end also where floats are far between.
        kind = np.finfo(column.dtype)
        inside = column.clip(_beside(low)[0], _beside(high)[1]).clip(kind.min, kind.max)
        # Value, bounds, step and quotient are each within a few units in the last place of what they stand for.
        largest = max(abs(self.low), abs(self.high)) / self.step + self.size
        doubt = largest / (1 << (50 if column.dtype.itemsize == 8 else 20))
        if doubt >= Fraction(1, 2) or self.step < Fraction(
            float(kind.tiny)
        ):  # floats tell no points of so fine a lattice
            return self._one_by_one(inside)
        place = (inside.astype(np.float64) - float(self.low)) / float(self.step)
        place += 0.5
        codes = np.floor(place)
        place -= codes
        near = np.flatnonzero((place < float(doubt)) | (place > 1 - float(doubt)))
        codes = codes.clip(0, self.size - 1).astype(np.int64)
        codes[near] = self._one_by_one(inside[near])
        return codes

    def _one_by_one(self, column: NDArray[Any]) -> NDArray[np.int64]:
        """The codes of floats from their shortest decimals, each of the different ones once."""
        distinct, inverse = np.unique(column, return_inverse=True)
        return np.array([self.nearest(_meant(x)) for x in distinct], np.int64)[inverse]

    def _any(self, column: NDArray[Any], clamp: bool) -> NDArray[Any]:
        """Decimals, fractions, texts and mixtures, one by one."""
        codes = np.empty(len(column), np.int64)
        for n, value in enumerate(column):
            number = self.number(value)
            if not (clamp or self.low <= number <= self.high):
                raise _outside()
            codes[n] = self.nearest(number)
        return codes.astype(narrowest(self.size))


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
    return ArgumentError("a value lies outside the interval; widen the interval, or clamp")


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


# The line that noise ends up on ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line(Endless):
    """All points origin + step·k of a lattice, k any whole number; where unbounded noise ends up.

    A point is an int on a lattice of whole numbers; else the float that prints as it, or a Decimal or a Fraction
    where no float does.

    >>> Line(Fraction(0), Fraction(1, 10)).decode(np.array([3, -7]))
    [0.3, -0.7]
    """

    origin: Fraction
    step: Fraction
    optional: bool = False

    @property
    def line(self) -> Line:
        return self

    @property
    def separation(self) -> Fraction:
        return self.step

    def distance(self, x: Any, y: Any) -> Fraction:
        return self.step * abs(self.code(x) - self.code(y))

    def place(self, value: Any) -> Fraction:
        """How many steps a value lies from the origin; a whole number at the points of the lattice."""
        return (exact_number(value) - self.origin) / self.step

    def code(self, value: Any) -> int:
        if value is None and self.optional:
            return ABSENT
        place = self.place(value)
        if place.denominator != 1:
            raise ArgumentError("a value is not a point of the lattice; round it to a multiple of the step")
        return place.numerator

    def label(self, code: int) -> Any:
        return self.decode(np.array([int(code)]))[0]

    def encode(self, values: Any) -> NDArray[Any]:
        return np.array([self.code(value) for value in values], np.int64)

    def decode(self, codes: NDArray[Any]) -> list[Any]:
        return decode_present(self.points, codes, ABSENT) if self.optional else self.points(codes)

    def points(self, codes: NDArray[Any]) -> list[Any]:
        """The values of codes of which none is missing."""
        tops, scale = self._tops(np.asarray(codes)), self.scale
        if scale == 1 and tops.dtype != object:
            return tops.tolist()  # type: ignore[no-any-return]
        if largest(tops) < 10**_DIGITS and 10**_DIGITS % scale == 0:
            return (tops / scale).tolist()  # type: ignore[no-any-return]
        return [plain_number(Fraction(int(top), scale)) for top in tops]

    def values_of(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(float(self.origin) + float(self.step) * codes)

    def numbers(self, codes: NDArray[Any]) -> NDArray[Any]:
        """The points as int64 on a lattice of whole numbers, else as the nearest floats."""
        tops, scale = self._tops(np.asarray(codes)), self.scale
        if scale == 1 and tops.dtype != object:
            return tops
        if tops.dtype != object and largest(tops) < 1 << 53 > scale:
            return np.asarray(tops / scale)
        return np.array([int(top) / scale for top in tops], np.float64)

    @property
    def scale(self) -> int:
        """The common denominator of all points."""
        return lcm(self.origin.denominator, self.step.denominator)

    def _tops(self, codes: NDArray[Any]) -> NDArray[Any]:
        """The points times the common denominator, in whole numbers."""
        origin, step = int(self.origin * self.scale), int(self.step * self.scale)
        wide = np.int64 if abs(origin) + step * max(1, largest(codes)) < 1 << 62 else object
        tops: NDArray[Any] = codes.astype(wide) * step + origin
        return tops


def largest(numbers: NDArray[Any]) -> int:
    """The largest absolute value."""
    return max(abs(int(numbers.min())), abs(int(numbers.max()))) if len(numbers) else 0


def exact_number(value: Any) -> Fraction:
    """The number a value stands for; what is not a number is refused without being named."""
    try:
        return exact(value)
    except InputError:
        raise no_number() from None


def no_number() -> InputError:
    return ArgumentError("a value is missing or no number; say what stands for it")


# Bins of consecutive points -------------------------------------------------------------------------------------------

_MOST = 12  # bins that an interval has by default
_EXAMPLE = "such as [0, 20, 40, 60]"


@dataclass(frozen=True)  # without slots: what follows from it is worked out once
class Bins:
    """Bins by the first code of each: a bin has the codes from its start up to the next start, or to the stop.

    A plan declares them, so they are compared and hashed with it. What a question tells apart is a `Partition`, whose
    blocks may have several runs, or be patterns of bits.
    """

    starts: tuple[int, ...]
    labels: tuple[Any, ...]
    stop: int

    @property
    def size(self) -> int:
        return len(self.starts)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many values each bin has.

        >>> Bins((0, 8, 18), ("a", "b", "c"), 91).sizes
        (8, 10, 73)
        """
        return tuple(stop - start for start, stop in pairwise((*self.starts, self.stop)))

    def of(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        """The bin of each code.

        >>> Bins((0, 8, 18), ("a", "b", "c"), 91).of(np.array([0, 7, 8, 90])).tolist()
        [0, 0, 1, 2]
        """
        return np.asarray(np.searchsorted(self.starts, codes, side="right") - 1, np.int64)

    def cut_by(self, ends: Iterable[int]) -> tuple[int, ...]:
        """The bins that are cut when codes below one of these ends are told from the others; all else are covered.

        >>> Bins((0, 8, 18), ("a", "b", "c"), 91).cut_by([0, 8, 20])
        (2,)
        """
        inside = sorted({end for end in ends if 0 < end < self.stop} - set(self.starts))
        return tuple(dict.fromkeys(self.of(np.array(inside, np.int64)).tolist()))

    @property
    def space(self) -> Categories:
        """The bins as values of a column: what a number is sanitised as where it has bins.

        >>> Bins((0, 8, 18), ("a", "b", "c"), 91).space.size
        3
        """
        return Categories(self.labels)

    def with_missing(self, absent: int | None) -> Bins:
        """These bins, and one more for a missing value if there is a code for it, which is the last."""
        return self if absent is None else Bins((*self.starts, absent), (*self.labels, None), absent + 1)


def bins_between(space: Interval, edges: Any) -> Bins:
    """The bins [a, b) between edges from the low to the high end of an interval, the last one closed.

    >>> from dproof.spaces import Interval
    >>> bins_between(Interval(17, 90, 1), [17, 25, 65, 90])
    Bins(starts=(0, 8, 48), labels=('[17, 25)', '[25, 65)', '[65, 90]'), stop=74)
    """
    if not isinstance(edges, Sequence) or isinstance(edges, str) or len(edges) < 2:
        raise ArgumentError(f"bins must be a list of edges from low to high, {_EXAMPLE}")
    try:
        numbers = [space.number(edge) for edge in edges]
    except InputError:
        raise ArgumentError(f"bins must be a list of edges of the same kind as low and high, {_EXAMPLE}") from None
    shown = _shown(space, numbers)
    if (numbers[0], numbers[-1]) != (space.low, space.high):
        ends = " to ".join(_shown(space, [space.low, space.high]))
        raise ArgumentError(f"bins must go from low to high, {ends}, and these go from {shown[0]} to {shown[-1]}")
    for n in range(1, len(numbers)):
        if numbers[n - 1] >= numbers[n]:
            raise ArgumentError(f"bins must rise from edge to edge, and {shown[n - 1]} comes before {shown[n]}")
    starts = [-int((space.low - number) // space.step) for number in numbers[:-1]]  # rounded up: [a, b)
    for n, (start, end) in enumerate(zip(starts, [*starts[1:], space.size], strict=True)):
        if start == end:
            raise ArgumentError(f"no value lies in the bin from {shown[n]} to {shown[n + 1]}: leave an edge out")
    return Bins(tuple(starts), bin_labels(shown), space.size)


def default_bins(space: Interval) -> Bins:
    """Each value by itself where there are few; else bins of one width, but for the ends.

    Numbers have edges at multiples of a round width, 1, 2 or 5 times a power of ten, and times of day at the hours.

    >>> from dproof.spaces import Interval
    >>> default_bins(Interval(17, 90, 1)).labels
    ('[17, 20)', '[20, 30)', '[30, 40)', '[40, 50)', '[50, 60)', '[60, 70)', '[70, 80)', '[80, 90]')
    """
    if space.size <= _MOST:
        return each_value(space)
    hours = space.date_part("hour")
    if hours is not None:
        return bins_from(space, hours[0].tolist())
    if not space.has_sums:  # dates: no number of days is round
        return bins_from(space, [n * space.size // _MOST for n in range(_MOST)])
    least = (space.high - space.low) / _MOST
    power = Fraction(10) ** (len(str(int(least))) if least >= 1 else -len(str(int(1 / least))))
    width = next(w for scale in (power / 10, power, 10 * power) for n in (1, 2, 5) if (w := n * scale) >= least)
    inside = range(space.low // width + 1, -(-space.high // width))
    return bins_between(space, [space.low, *(width * n for n in inside), space.high])


def bins_from(space: Interval, starts: Sequence[int]) -> Bins:
    """The bins that begin at these codes of an interval, of which the first is 0.

    >>> from dproof.spaces import Interval
    >>> bins_from(Interval(17, 90, 1), [0, 8, 48]) == bins_between(Interval(17, 90, 1), [17, 25, 65, 90])
    True
    """
    edges = [*(space.low + space.step * start for start in starts), space.high]
    return Bins(tuple(starts), bin_labels(_shown(space, edges)), space.size)


def each_value(space: Any) -> Bins:
    """A bin for each value of a finite space, a missing one included."""
    return Bins(tuple(range(space.size)), tuple(space.label(code) for code in range(space.size)), space.size)


def _shown(space: Interval, numbers: Sequence[Fraction]) -> list[str]:
    """The numbers of a space as its bins are labelled by them."""
    if space.has_sums:
        return [str(plain_number(number)) for number in numbers]
    return [str(space.shown(float(number))) for number in numbers]


def bin_labels(shown: Sequence[str]) -> tuple[str, ...]:
    """The labels of bins between edges, as these are shown."""
    pairs = list(pairwise(shown))
    return tuple(f"[{low}, {high}{']' if n == len(pairs) - 1 else ')'}" for n, (low, high) in enumerate(pairs))


# Scales on which numbers are added up ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scale:
    """x = middle + unit · z, with |z| ≤ half about the middle of a range, and low ≤ x ≤ high where that is known."""

    middle: float = 0.0
    unit: float = 1.0
    half: float = 1.0
    low: float = -inf
    high: float = inf

    def numbers(self, space: Any, codes: NDArray[Any]) -> NDArray[Any]:
        """The z that codes of a space or a line stand for, also between and beyond those of an interval."""
        return np.asarray((space.values_of(codes) - self.middle) / self.unit)


@dataclass(frozen=True, slots=True)
class WholeScale:
    """The numbers of a column as whole numbers: value = origin + unit · (shift + factor · code), or a table of them.

    `ends` are the least and the greatest.
    """

    unit: Fraction
    origin: Fraction
    ends: tuple[int, int]
    shift: int
    factor: int
    table: tuple[int, ...] | None = None

    def whole(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        """The whole number of each code; 0 for a missing value, which adds nothing to any sum."""
        integers = np.asarray(codes).astype(np.int64)
        if self.table is not None:
            return np.where(integers == MISSING, 0, np.array(self.table, np.int64)[integers])
        return np.where(integers == MISSING, 0, self.shift + self.factor * integers)

    def value(self, whole: int) -> Fraction:
        return self.origin + self.unit * whole

    def in_floats(self) -> Scale:
        """The scale whose z are these whole numbers."""
        low, high = (float(self.value(end)) for end in self.ends)
        return Scale(float(self.origin), float(self.unit), float(self.ends[1]), low, high)


@lru_cache(maxsize=256)  # a question needs it again and again
def whole_scale(space: Any, centred: bool) -> WholeScale:
    """The exact scale of a space of numbers, about zero or, centred, about the middle of its range.

    >>> from dproof.spaces import Categories
    >>> whole_scale(Categories([0, 5, 10]), True)
    WholeScale(unit=Fraction(5, 1), origin=Fraction(5, 1), ends=(-1, 1), shift=0, factor=0, table=(-1, 0, 1))
    """
    if space.line is None:
        numbers = [None if label is None else exact(label) for label in space.labels]
        known = [number for number in numbers if number is not None]
        low, high = min(known), max(known)
        origin = (low + high) / 2 if centred else Fraction(0)
        unit = _unit([number - origin for number in known])
        table = tuple(0 if number is None else int((number - origin) / unit) for number in numbers)
        return WholeScale(unit, origin, (int((low - origin) / unit), int((high - origin) / unit)), 0, 0, table)
    low, step = space.line.origin, space.line.step
    origin = space.middle if centred else Fraction(0)
    unit = _unit([low - origin, step])
    shift, factor = int((low - origin) / unit), int(step / unit)
    return WholeScale(unit, origin, (shift, shift + factor * (space.candidates - 1)), shift, factor)


def scale_of(space: Any) -> Scale:
    """The scale on which the numbers of a space go from −1 to 1."""
    whole = whole_scale(space, True)
    return Scale(float(whole.origin), float(whole.unit * whole.ends[1]) or 1.0)


def _unit(numbers: list[Fraction]) -> Fraction:
    """The greatest number of which all of these are whole multiples."""
    bottom = lcm(*(number.denominator for number in numbers))
    return Fraction(gcd(*(int(number * bottom) for number in numbers)) or 1, bottom)

"""A lattice of numbers without ends: what an interval is cut from, and where unbounded noise ends up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dproof.errors import InputError
from dproof.exact import exact
from dproof.spaces.arrow import as_numpy, from_numpy

if TYPE_CHECKING:
    from dproof.spaces.column import Column

_DIGITS = 15  # significant digits that every float keeps: up to these, its shortest decimal is the exact multiple
_SURE = 1 << 48  # up to here the nearest whole number is found by a division of floats
_FARTHEST = 1 << 62  # of what is stored in 64 bits
ABSENT = -(1 << 63)  # the code of a missing value beside the points of a line: none that is stored has it


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
        from dproof.spaces.optional import OptionalLine

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
        farthest = int((_FARTHEST - abs(self.origin)) // self.step)
        codes = codes.clip(-farthest, farthest) if farthest < _FARTHEST >> 1 else codes
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
            return np.array([max(-_FARTHEST, min(code, _FARTHEST)) for code in near_ones], np.int64)
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


def plain_number(number: Fraction) -> Any:
    """An int, else a float whose shortest decimal is the number, else a Decimal, else the fraction."""
    if number.denominator == 1:
        return number.numerator
    value = float(number)
    if Fraction(repr(value)) == number:
        return value
    twos_and_fives = number.denominator
    for prime in (2, 5):
        while twos_and_fives % prime == 0:
            twos_and_fives //= prime
    if twos_and_fives > 1:
        return number
    digits = number.denominator.bit_length()  # enough places for any denominator of twos and fives
    return Decimal(number.numerator * 10**digits // number.denominator).scaleb(-digits).normalize()

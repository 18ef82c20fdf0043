"""Block designs, for counts of many values: a block of values, in whole numbers, as one code.

At the end the numbers behind them: primes, their primitive roots, and the difference sets of projective planes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from math import isqrt
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dproof.coins import Coins, Guide, guide, uniform_below
from dproof.errors import ArgumentError
from dproof.laws.debias import DebiasAxes, DesignAxis, SeenColumn, Shifts
from dproof.laws.law import WEIGHT, Span
from dproof.laws.response import AlikeValues
from dproof.spaces.categories import Codes
from dproof.spaces.products import Rows
from dproof.spaces.space import Space

_COUNT: Span = (1, 1 << 24)
LARGEST_ORDER = (1 << 12) - 1  # of a plane, whose points are fewer than 2^24 then
_TRANSFORMED = 1 << 15  # numbers whose transforms are computed together
_TABLED = 1 << 13  # blocks; up to here a guide table beats arithmetic on whole words


class Blocks(NamedTuple):
    """The numbers of a design: v, m, w, and of the m·v blocks how many hold two given values."""

    modulus: int
    bases: int
    width: int
    shared: int


class CyclicDesign(AlikeValues):
    """Each of m·v blocks of values has weight `high` if it holds the input and `low` if not.

    The values are residues of v, the modulus. Block (j, y) holds x where y − x lies in one of m sets of w residues, and
    any two values lie together in the same number of blocks: a 2-design. So the law of a count is that of subset
    selection with width w of v values (Ye and Barg 2018), and a row is one code below m·v. Park, Nam and Lee 2024
    (block designs).

    Why it is private: a block's weight takes two values only, and every input has the same total. Two inputs differ on
    the blocks, m·w less those they share, that hold one of them and not the other, and on as many the other way round.
    """

    __slots__ = ()
    is_coded: ClassVar[bool] = True
    is_sharp: ClassVar[bool] = True

    if TYPE_CHECKING:  # as in `Law`

        @property
        def high(self) -> int: ...

        @property
        def low(self) -> int: ...

    @property
    @abstractmethod
    def blocks(self) -> Blocks: ...

    @abstractmethod
    def away(self, j: NDArray[Any], place: NDArray[Any]) -> NDArray[np.int64]:
        """The residue at each place, of which the first w are the set of j."""

    @abstractmethod
    def incidence(self) -> Shifts:
        """The relation of values to the blocks that hold them."""

    @property
    def outputs(self) -> int:
        return self.blocks.bases * self.blocks.modulus

    @property
    def total(self) -> int:
        v, m, w, _ = self.blocks
        return m * (w * self.high + (v - w) * self.low)

    @property
    def telling(self) -> tuple[int, int, int]:
        _, m, w, shared = self.blocks
        return (m * w - shared) * self.high, (m * w - shared) * self.low, self.total

    @property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """The chances that the released block holds a value, where it is the input, and where it is not."""
        own, other, total = self.telling
        both = self.blocks.shared * self.high
        return Fraction(both + own, total), Fraction(both + other, total)

    def released_in(self, space: Space) -> Space:
        """Codes; of joined columns the first has the code, and the others have nothing to tell."""
        if space.factors is None:
            return Codes(self.outputs)
        return Rows({name: Codes(1 if n else self.outputs) for n, name in enumerate(space.factors)})

    def weights(self, source: int) -> NDArray[Any]:
        j, place = np.divmod(np.arange(self.blocks.bases * self.blocks.width), self.blocks.width)
        law = np.full(self.outputs, self.low, object)
        law[self.block(np.full(len(j), source), j, place)] = self.high
        return law

    def cells_variance(self, cells: int, held: int) -> float:
        """As if the value of a row were any residue: then its block is any block, and holds two given values with the
        chance w(w − 1)/(v(v − 1))."""
        (hit, miss), (v, _, w, _) = map(float, self.support_probabilities), self.blocks
        both = w * (w - 1) / (v * (v - 1))
        squares = cells * held * (miss + (held - 1) * both) + (hit - miss)
        means = cells * (held * miss) ** 2 + 2 * held * miss * (hit - miss) + (hit - miss) ** 2
        return (squares - means) / (hit - miss) ** 2

    def debias_axes(self, seen: Sequence[SeenColumn], others: int, name: str) -> DebiasAxes:
        """One axis, whose states are the blocks of the design. It needs all columns, also those not asked about."""
        block_of, blocks = np.zeros(self.size, np.int64), 1
        numbers = []
        digits = np.unravel_index(np.arange(self.size), [column.space.size for column in seen])
        for column, codes in zip(seen, digits, strict=True):
            block_of = block_of * column.blocks.blocks + column.blocks.of(codes)
            blocks *= column.blocks.blocks
            numbers += [column.numbers(codes)] if column.asked else []
        hit, miss = map(float, self.support_probabilities)
        high, low = self.high / self.total, self.low / self.total
        axis = DesignAxis(name, self.incidence(), block_of, blocks, hit, miss, high - low, low, tuple(numbers))
        return DebiasAxes((axis,), lambda released: released[0])

    def draw(self, codes: NDArray[Any], coins: Coins) -> NDArray[Any]:
        if self.outputs > _TABLED:
            return self.block(codes, *self._chosen(len(codes), coins))
        return self._table.draw(codes.astype(np.uint32), coins, finish=self._moved)

    @property
    def _table(self) -> Guide:
        """The sampler of j and a place as one number j·v + place."""
        return _guide(self.blocks, self.high, self.low)

    def _moved(self, codes: NDArray[np.uint32], chosen: NDArray[Any]) -> NDArray[np.uint32]:
        """The blocks of values, by look-up; in unsigned arithmetic the smaller of s and s − v is s mod v."""
        starts, away = _moves(self)
        moved = codes + away.take(chosen, mode="clip")
        np.minimum(moved, moved - np.uint32(self.blocks.modulus), out=moved)
        return np.asarray(moved + starts.take(chosen, mode="clip"))

    def _chosen(self, count: int, coins: Coins) -> tuple[NDArray[Any], NDArray[Any]]:
        """`count` times a number j below m, and a place among the v residues: each of the first w has weight `high`,
        and each other one `low`."""
        words = uniform_below(np.broadcast_to(np.uint64(self.total), count), coins)
        j, word = np.divmod(words, self.total // self.blocks.bases)
        return j, self._place(word)

    def _place(self, word: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place that owns each word below w·high + (v − w)·low."""
        width = self.blocks.width
        beyond = word - width * self.high
        return np.where(beyond < 0, word // max(self.high, 1), width + beyond // max(self.low, 1))

    def block(self, codes: NDArray[Any], j: NDArray[Any], place: NDArray[Any]) -> NDArray[np.int64]:
        """Block (j, x + d) of each value x, where d is the residue at a place."""
        moved = (codes.astype(np.int64) + self.away(j, place)) % self.blocks.modulus
        return np.asarray(j.astype(np.int64) * self.blocks.modulus + moved)


@dataclass(frozen=True, slots=True)
class BlockDesign(CyclicDesign):
    """Blocks of residues of a prime p, by their discrete logarithms.

    The non-zero residues fall into m = `classes` classes by their discrete logarithm modulo m. The set of j is that of
    the `taken` classes j, j + 1, … Two values share as many blocks as any two others, for the classes are images of
    each other under multiplication.

    >>> law = BlockDesign(6, 7, 3, 1, 3, 1)  # blocks of two residues of 7
    >>> law.odds(Fraction(0)).value, law.outputs, str(law.support_probabilities[0]), str(law.support_probabilities[1])
    (Fraction(3, 1), 21, '6/11', '8/33')
    """

    kind: ClassVar[str] = "block-design"  # in certificates
    ranges: ClassVar[Mapping[str, Span]] = {
        **dict.fromkeys(("size", "prime", "classes", "taken"), _COUNT),
        "high": WEIGHT,
        "low": WEIGHT,
    }

    prime: int
    classes: int
    taken: int
    high: int
    low: int

    def __post_init__(self) -> None:
        exists = is_prime(self.prime) and (self.prime - 1) % self.classes == 0 and 1 <= self.taken < self.classes
        if not exists or not 1 <= self.size <= self.prime or min(self.high, self.low) < 0 or self.total < 1:
            raise ArgumentError("a block design needs a prime p, classes that divide p − 1, and at most p values")

    @property
    def blocks(self) -> Blocks:
        width = self.taken * (self.prime - 1) // self.classes
        return Blocks(self.prime, self.classes, width, self.taken * (width - 1))

    def incidence(self) -> Shifts:
        width = self.blocks.width
        residues = self.away(*np.indices((self.classes, width), sparse=True))
        return (Classes if width**2 > self.prime else Shifts)(self.prime, residues, self.size)

    def away(self, j: NDArray[Any], place: NDArray[Any]) -> NDArray[np.int64]:
        """g^j times the residues of the set of 0, which are followed by the others: g^j moves class 0 to class j."""
        places = _places(self.prime, self.classes, self.taken)
        return np.asarray(places[place] * primitive_powers(self.prime)[j] % self.prime)


@dataclass(frozen=True, slots=True)
class PlaneDesign(CyclicDesign):
    """The lines of the projective plane over the field of q elements, for a prime q = `order`.

    It has v = q² + q + 1 points and as many lines of q + 1 points, and two points lie on one line. So it has far fewer
    codes than classes of residues where a block must hold few of many values, which is so for a large ε. The set of
    residues is `plane_set(q)`. Singer 1938.

    >>> law = PlaneDesign(6, 2, 3, 1)  # lines of three of seven points
    >>> law.odds(Fraction(0)).value, law.outputs, str(law.support_probabilities[0]), str(law.support_probabilities[1])
    (Fraction(3, 1), 7, '9/13', '5/13')
    """

    kind: ClassVar[str] = "plane-design"  # in certificates
    ranges: ClassVar[Mapping[str, Span]] = {"size": _COUNT, "order": (2, LARGEST_ORDER), "high": WEIGHT, "low": WEIGHT}

    order: int
    high: int
    low: int

    def __post_init__(self) -> None:
        fits = is_prime(self.order) and 1 <= self.size <= self.blocks.modulus
        if not fits or min(self.high, self.low) < 0 or self.total < 1:
            raise ArgumentError("a plane design needs a prime q, at most q² + q + 1 values, and a weight above 0")

    @property
    def blocks(self) -> Blocks:
        return Blocks(self.order * (self.order + 1) + 1, 1, self.order + 1, 1)

    def incidence(self) -> Shifts:
        return Shifts(self.blocks.modulus, plane_set(self.order)[None], self.size)

    def away(self, j: NDArray[Any], place: NDArray[Any]) -> NDArray[np.int64]:
        return np.asarray(_plane_places(self.order)[place])


# How often the blocks hold a value ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Classes(Shifts):
    """Where the residues of a row are many: correlations, by fast Fourier transforms."""

    @property
    def _length(self) -> int:
        """The length of the transforms: a prime would be slow, and twice the residues leave room to wrap around."""
        return min(odd << ((2 * self.modulus - 1) // odd).bit_length() for odd in (1, 3, 5))

    @property
    def _parts(self) -> list[slice]:
        """The classes, as many at a time as fit a cache."""
        many = max(1, _TRANSFORMED // self._length)
        return [slice(j, j + many) for j in range(0, len(self.residues), many)]

    @cached_property
    def _transforms(self) -> NDArray[Any]:
        held = np.zeros((len(self.residues), self.modulus), bool)
        np.put_along_axis(held, self.residues, True, axis=1)
        return np.fft.rfft(held, self._length)

    def count(self, counts: NDArray[Any]) -> NDArray[Any]:
        by_class = counts.reshape(*counts.shape[:-1], len(self.residues), self.modulus)
        spectrum = np.zeros((*counts.shape[:-1], self._length // 2 + 1), complex)
        for part in self._parts:
            moved = np.fft.rfft(by_class[..., part, :], self._length)
            spectrum += np.einsum("...jf,jf->...f", moved, self._transforms[part].conj())
        differences = np.fft.irfft(spectrum, self._length)
        before = self._length - self.modulus
        return np.asarray(differences[..., : self.size] + differences[..., before : before + self.size])

    def add(self, weights: NDArray[Any]) -> NDArray[Any]:
        padded = np.fft.rfft(weights, self._length)[..., None, :]
        added = np.empty((*weights.shape[:-1], len(self.residues), self.modulus))
        for part in self._parts:
            sums = np.fft.irfft(padded * self._transforms[part], self._length)
            added[..., part, :] = sums[..., : self.modulus]
            added[..., part, :-1] += sums[..., self.modulus : 2 * self.modulus - 1]
        return added.reshape(*weights.shape[:-1], self.states)


# Tables of residues ---------------------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def _places(prime: int, classes: int, taken: int) -> NDArray[np.int64]:
    """All residues, those of the classes 0, …, taken − 1 first."""
    powers, inside = primitive_powers(prime), np.arange(prime - 1) % classes < taken
    return np.concatenate([powers[inside], [0], powers[~inside]])


@lru_cache(maxsize=4)
def _plane_places(order: int) -> NDArray[np.int64]:
    """All residues, those of the set first."""
    inside = plane_set(order)
    return np.concatenate([inside, np.delete(np.arange(order * (order + 1) + 1), inside)])


@lru_cache(maxsize=16)
def _moves(law: CyclicDesign) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """For every j and place as one number: where the blocks of j start, and how far a value moves."""
    j, place = np.divmod(np.arange(law.outputs), law.blocks.modulus)
    return (j * law.blocks.modulus).astype(np.uint32), law.away(j, place).astype(np.uint32)


@lru_cache(maxsize=16)
def _guide(blocks: Blocks, high: int, low: int) -> Guide:
    law = ([high] * blocks.width + [low] * (blocks.modulus - blocks.width)) * blocks.bases
    return guide([law], sum(law))


_CHUNK = 1 << 16  # powers that are looked at together

Polynomial = tuple[int, int, int]  # c₀ + c₁x + c₂x², modulo a cubic one


def is_prime(number: int) -> bool:
    """Whether a number of at most 2^24 is prime, by trial division.

    >>> [n for n in range(20) if is_prime(n)]
    [2, 3, 5, 7, 11, 13, 17, 19]
    """
    return number > 1 and all(number % n for n in range(2, isqrt(number) + 1))


def prime_factors(number: int) -> set[int]:
    """The primes that divide a number.

    >>> sorted(prime_factors(1092))
    [2, 3, 7, 13]
    """
    factors = set[int]()
    for n in range(2, isqrt(number) + 1):
        while number % n == 0:
            factors.add(n)
            number //= n
    return factors | {number} - {1}


@lru_cache(maxsize=8)
def primitive_powers(prime: int) -> NDArray[np.int64]:
    """The powers 0, …, p − 2 of the least primitive root of a prime: every non-zero residue once.

    >>> primitive_powers(7).tolist()
    [1, 3, 2, 6, 4, 5]
    """
    order = prime - 1
    factors = prime_factors(order)
    root = next(g for g in range(1, prime) if all(pow(g, order // n, prime) != 1 for n in factors))
    powers = np.ones(1, np.int64)
    while len(powers) < order:  # doubled
        powers = np.concatenate([powers, powers * pow(root, len(powers), prime) % prime])
    return powers[:order]


@lru_cache(maxsize=8)
def plane_set(q: int) -> NDArray[np.int64]:
    """q + 1 residues of v = q² + q + 1, for a prime q, such that every other residue is the difference of exactly one
    ordered pair of them: a line of the projective plane over the field of q elements.

    The points of the plane are the powers 0, …, v − 1 of an element x of the field of q³ elements, up to factors from
    the field of q. The residues are those n for which xⁿ = c₀ + c₁x. Singer 1938.

    >>> plane_set(2).tolist(), plane_set(3).tolist()
    ([0, 1, 3], [0, 1, 3, 9])
    """
    v, x = q * q + q + 1, (0, 1, 0)
    cubic = _cubic(q)
    powers = [(1, 0, 0)]
    while len(powers) < min(v, _CHUNK):
        powers.append(_times(powers[-1], x, cubic, q))
    first = np.array(powers, np.int64)
    chunks, start, step = [], (1, 0, 0), _power(x, len(powers), cubic, q)
    for n in range(0, v, len(powers)):
        # The last coefficient of xⁿ⁺ⁱ is linear in those of xⁱ.
        last = [_times(start, unit, cubic, q)[2] for unit in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
        chunks.append(n + np.flatnonzero(first @ np.array(last) % q == 0))
        start = _times(start, step, cubic, q)
    residues = np.concatenate(chunks)
    return residues[residues < v]


def _cubic(q: int) -> Polynomial:
    """The first cubic, as the value of x³, modulo which the powers of x are all v points of the plane.

    It is irreducible then: modulo another one x has fewer powers, up to factors.
    """
    v = q * q + q + 1
    for c2, c1, c0 in product(range(q), range(q), range(1, q)):
        cubic = (c0, c1, c2)
        orders = (_power((0, 1, 0), v // n, cubic, q)[1:] for n in prime_factors(v))
        if _power((0, 1, 0), v, cubic, q)[1:] == (0, 0) and (0, 0) not in orders:
            return cubic
    raise AssertionError("there is a primitive polynomial of every degree over every finite field")


def _times(one: Polynomial, other: Polynomial, cubic: Polynomial, q: int) -> Polynomial:
    """The product, modulo x³ = cubic."""
    (a0, a1, a2), (b0, b1, b2), (c0, c1, c2) = one, other, cubic
    high = a2 * b2  # of x⁴
    third = a1 * b2 + a2 * b1 + high * c2
    return (a0 * b0 + third * c0) % q, (a0 * b1 + a1 * b0 + high * c0 + third * c1) % q, (
        a0 * b2 + a1 * b1 + a2 * b0 + high * c1 + third * c2
    ) % q  # fmt: skip


def _power(base: Polynomial, exponent: int, cubic: Polynomial, q: int) -> Polynomial:
    result: Polynomial = (1, 0, 0)
    while exponent:
        if exponent & 1:
            result = _times(result, base, cubic, q)
        base, exponent = _times(base, base, cubic, q), exponent >> 1
    return result

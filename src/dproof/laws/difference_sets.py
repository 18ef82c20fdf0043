"""Numbers behind block designs: primes, their primitive roots, and the difference sets of projective planes."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import isqrt

import numpy as np
from numpy.typing import NDArray

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

"""How well a mechanism counts: every frequency protocol comes down to two probabilities."""

from __future__ import annotations

from fractions import Fraction

from dproof.errors import InputError
from dproof.laws.keep_or_other import KeepOrOther
from dproof.laws.sets import SubsetSelection, Unary
from dproof.mechanisms.mechanism import Mechanism


def hit_and_miss(mechanism: Mechanism) -> tuple[Fraction, Fraction]:
    """p and q: how likely a value is to show in the output of a row that has it, and of a row that does not.

    >>> from dproof import Categories
    >>> from dproof.mechanisms.randomised_response import response_with
    >>> hit_and_miss(response_with(Categories(range(5)), "0.1"))
    (Fraction(3, 5), Fraction(1, 10))
    """
    family = mechanism.family
    if isinstance(family, KeepOrOther):
        return Fraction(family.keep, family.total), Fraction(family.other, family.total)
    if isinstance(family, (Unary, SubsetSelection)):
        return family.hit, family.miss
    raise InputError("only randomised response, unary encoding and subset selection count with two probabilities")


def count_variance(hit: Fraction, miss: Fraction, *, rows: int, holders: int) -> Fraction:
    """The variance of (S − nq)/(p − q), the unbiased count of a value's holders among n rows from S outputs with it.

    nq(1−q)/(p−q)² + c(1−p−q)/(p−q) for c holders, given the table.

    >>> count_variance(Fraction(3, 5), Fraction(1, 10), rows=100, holders=0)
    Fraction(36, 1)
    """
    if hit == miss:
        raise InputError("a mechanism whose outputs do not depend on the value counts nothing")
    return rows * miss * (1 - miss) / (hit - miss) ** 2 + holders * (1 - hit - miss) / (hit - miss)

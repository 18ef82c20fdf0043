"""What a whole row, or several rows of one person, lose together, exactly where the laws are simple enough.

A pair of laws dominates a family when no two inputs differ more than it does, at any odds. The product of dominating
pairs dominates the product of the families (Zhu, Dong and Wang 2022), and it is attained where all columns change at
once. Randomised response and item-wise response are dominated by one of their own pairs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from dproof.laws.bits import Bits
from dproof.laws.family import Family
from dproof.laws.keep_or_other import KeepOrOther
from dproof.laws.pair import hockey_stick, tight_odds

_MOST_ATOMS = 1 << 13
Atoms = dict[Fraction | None, tuple[int, int]]  # by the ratio p/q, None where q = 0: the masses p and q


@dataclass(frozen=True, slots=True)
class Pair:
    """Two laws over the same outputs, which are told apart only by their ratio."""

    atoms: Atoms
    total: int

    def delta(self, odds: Fraction) -> Fraction:
        """The tight δ at these odds."""
        p, q = zip(*self.atoms.values(), strict=True)
        return hockey_stick(p, q, self.total, odds)

    def odds(self, delta: Fraction) -> Fraction | None:
        """The tight e^ε at this δ; None where there is none."""
        p, q = zip(*self.atoms.values(), strict=True)
        return tight_odds(p, q, self.total, delta)


def composed(families: Iterable[Family], times: int = 1) -> Pair | None:
    """The pair that dominates independent draws from all the families, `times` over; None where it has no short form.

    >>> pair = composed([KeepOrOther(2, 3, 1), KeepOrOther(2, 3, 1)])
    >>> pair.odds(Fraction(0)), pair.odds(Fraction(1, 16))
    (Fraction(9, 1), Fraction(8, 1))
    """
    whole = Pair({Fraction(1): (1, 1)}, 1)
    for family in [*families] * times:
        part = _dominating(family)
        if part is None or len(whole.atoms) * len(part.atoms) > 2 * _MOST_ATOMS:
            return None
        atoms: Atoms = {}
        for p, q in whole.atoms.values():
            for x, y in part.atoms.values():
                _add(atoms, p * x, q * y)
        whole = Pair(atoms, whole.total * part.total)
        if len(atoms) > _MOST_ATOMS:
            return None
    return whole


def _dominating(family: Family) -> Pair | None:
    if isinstance(family, KeepOrOther):
        if family.size == 1:
            return Pair({Fraction(1): (1, 1)}, 1)
        rest = (family.size - 2) * family.other
        masses = [(family.keep, family.other), (family.other, family.keep), (rest, rest)]
    elif isinstance(family, Bits):
        masses = list(family.atoms())
    else:
        return None
    atoms: Atoms = {}
    for p, q in masses:
        _add(atoms, p, q)
    return Pair(atoms, family.total)


def _add(atoms: Atoms, p: int, q: int) -> None:
    if p or q:
        ratio = Fraction(p, q) if q else None
        before = atoms.get(ratio, (0, 0))
        atoms[ratio] = (before[0] + p, before[1] + q)

"""Which sets must be checked, and how many that are under each theorem. HLM16, section 3."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np

from dproof.errors import InputError
from dproof.exact import exp_below
from dproof.laws.divergence import worst_set
from dproof.laws.law import listed
from dproof.mechanisms.mechanism import Mechanism, as_mechanism
from dproof.privacy import Privacy

_SAME_LEVEL = Fraction(1, 10**9)  # whole numbers round the ideal exponentials, far more closely than this


@dataclass(frozen=True, slots=True)
class SufficientSets:
    """The sets that decide the ordered pair d, d' under inequality (5) of HLM16.

    `S` is {y : P_d(y) > P_d'(y)}: its subsets suffice (Theorem 2). `levels` partitions it by the ratio P_d/P_d':
    they suffice for δ = 0 (Theorem 3, Corollary 1), whether or not the normalisers C_d are equal, and not for
    δ > 0. Where there is one level, as with the Hamming distance, S alone suffices for every δ (Corollary 2).
    The one set {y : P_d(y) > e^ε P_d'(y)} suffices for every law and every δ: it collects the positive terms.
    """

    d: Any
    d_prime: Any
    S: tuple[Any, ...]
    levels: tuple[tuple[Any, ...], ...]
    outputs: int
    _mechanism: Mechanism = field(repr=False)

    @property
    def checks(self) -> dict[str, int]:
        """How many sets each theorem asks for; Corollary 2 asks for no fewer than Theorem 2 where it does not apply."""
        subsets = 2 ** len(self.S) - 1
        return {
            "brute force": 2**self.outputs - 2,
            "theorem 2": subsets,
            "corollary 1": len(self.levels),
            "corollary 2": 1 if len(self.levels) == 1 else subsets,
            "single set": 1,
        }

    def single(self, epsilon: Any) -> tuple[Any, ...]:
        """The one set that decides the pair at ε, for every δ."""
        m = self._mechanism
        p, q = (m.family.weights(m.inputs.code(d)) for d in (self.d, self.d_prime))
        codes = worst_set(p, q, exp_below(Privacy(epsilon).epsilon))
        return tuple(m.outputs.decode(np.array(codes, np.int64)))


def sufficient_sets(mechanism: Mechanism, d: Any, d_prime: Any) -> SufficientSets:
    """The sufficient sets of one ordered pair of inputs. HLM16, Theorems 2 and 3, Corollaries 1 and 2.

    >>> from dproof import Categories, Privacy, randomised_response
    >>> sets = sufficient_sets(randomised_response(Categories(["a", "b", "c"]), Privacy(1)), "a", "b")
    >>> sets.S, sets.checks["brute force"], sets.checks["theorem 2"]
    (('a',), 6, 1)
    """
    as_mechanism(mechanism)
    source, target = mechanism.inputs.code(d), mechanism.inputs.code(d_prime)
    if source == target:
        raise InputError("give two different inputs")
    _, outputs, _ = listed(mechanism.family)
    p, q = mechanism.family.weights(source), mechanism.family.weights(target)
    codes = worst_set(p, q, Fraction(1))
    levels: list[list[int]] = []
    last: Fraction | None = None
    for code in sorted(codes, key=lambda y: _ratio(p[y], q[y]), reverse=True):
        ratio = _ratio(p[code], q[code])
        if last is None or last - ratio > _SAME_LEVEL * last:
            levels.append([])
            last = ratio
        levels[-1].append(code)

    def labels(group: Any) -> tuple[Any, ...]:
        return tuple(mechanism.outputs.decode(np.array(sorted(group), np.int64)))

    partition = tuple(labels(level) for level in levels)
    return SufficientSets(d, d_prime, labels(codes), partition, outputs, mechanism)


def count_checks(mechanism: Mechanism) -> dict[str, int]:
    """The checks over all ordered neighbouring pairs. HLM16, Example 2.

    For that example they are 18,360 by brute force, 924 by Theorem 2, and 36 by each corollary and by single sets.
    The paper prints 1,092 where 924 is right: on ties, P_d(y) = P_d'(y), two sums of the same numbers in another
    order differ in their last bit, and a strict comparison of floats then counts some ties as greater.
    """
    family, label = as_mechanism(mechanism).family, mechanism.inputs.label
    neighbours = family.neighbours
    counts: Counter[str] = Counter()
    for source, target in permutations(range(mechanism.inputs.size), 2):
        if neighbours is None or neighbours[source, target]:
            counts.update(sufficient_sets(mechanism, label(source), label(target)).checks)
    return dict(counts)


def _ratio(p: Any, q: Any) -> Fraction:
    return Fraction(int(p), int(q)) if q else Fraction(10**400)

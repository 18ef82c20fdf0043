"""Randomised response on k values, the mechanism of least error. HLM16, section 4."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dproof.arguments import expect
from dproof.errors import InputError, TooLarge
from dproof.exact import exact, exp_above, exp_below
from dproof.laws.keep_or_other import KeepOrOther, keep_up_to
from dproof.laws.sets import Bits
from dproof.mechanisms.mechanism import Mechanism, Optimum
from dproof.privacy import Privacy, Promise
from dproof.spaces.categories import Categories
from dproof.spaces.space import Space, as_space
from dproof.spaces.subsets import Subsets

_LARGEST_SIZE = 1 << 48  # values; beyond this whole numbers of 62 bits grow coarse
_FLIP = 1 << 36


def randomised_response(space: Space, privacy: Promise) -> Mechanism:
    """Keep the value, or take each other one with probability p = (1 − δ)/(m + e^ε), on m + 1 values.

    P(Y_d = d) = (e^ε + mδ)/(e^ε + m), P(Y_d = d') = (1 − δ)/(e^ε + m).
    HLM16, Theorems 8 and 10; among all sanitisations into D it has the least error under the discrete metric.

    Why it is private: two inputs d, d' differ in the probabilities of the outputs d and d' only, so the worst set
    is {d} and the condition is keep ≤ e^ε · other + δ · total; `keep` is the largest whole number that meets it.
    With δ > 0 the law publishes each true value with probability δ on top of the ε-private response.

    >>> from dproof import Categories
    >>> m = randomised_response(Categories("abcde"[n] for n in range(5)), Privacy(1))
    >>> round(float(m.law("a")["b"]), 10)
    0.1488475812
    """
    m, privacy = as_space(space).size - 1, Privacy.of(privacy)
    if m >= _LARGEST_SIZE:
        raise TooLarge(f"randomised response takes at most {_LARGEST_SIZE} values; treat the items of a set one by one")
    if m == 0:
        family = KeepOrOther(1, 1, 1)
    elif privacy.delta == 1:
        family = KeepOrOther(space.size, 1, 0)
    else:
        # keep · (1 − δ) ≤ other · (e^ε + mδ)
        family = keep_up_to((exp_below(privacy.epsilon) + m * privacy.delta) / (1 - privacy.delta), space.size)
    return Mechanism("randomised response", space, space, family, "HLM16, Theorem 10", _optimum(family, space, privacy))


def _optimum(family: KeepOrOther, space: Space, privacy: Privacy) -> Optimum | None:
    """HLM16, Theorem 10: under the discrete metric no sanitisation into D errs less than (1 − δ)m/(m + e^ε)."""
    if space.diameter != space.separation or space.size < 2:
        return None
    m, kappa = space.size - 1, space.separation
    attained = kappa * Fraction(m * family.other, family.total)
    return Optimum("metric", attained, kappa * (1 - privacy.delta) * m / (m + exp_above(privacy.epsilon)))


def response_with(space: Space, p: Any) -> Mechanism:
    """Randomised response with a given p: P(Y_d = d) = 1 − pm, P(Y_d = d') = p. HLM16, equation (19).

    For p ≤ 1/(m+1) it is (ε, δ)-private iff p ≥ (1 − δ)/(m + e^ε); in general iff
    (1 − δ)/(m + e^ε) ≤ p ≤ (e^ε + δ)/(1 + m e^ε).

    >>> from dproof import Categories
    >>> response_with(Categories(["a", "b", "c", "d", "e"]), "0.1").family
    KeepOrOther(size=5, keep=6, other=1)
    """
    m, chance = as_space(space).size - 1, exact(p, "p")
    if not 0 <= chance * max(m, 1) <= 1:
        raise InputError(f"p must lie between 0 and 1/{max(m, 1)}, so that 1 − {m}p is a probability")
    family = KeepOrOther(space.size, chance.denominator - m * chance.numerator, chance.numerator)
    return Mechanism("randomised response", space, space, family, "HLM16, equation (19)")


def itemwise_response(space: Subsets, privacy: Promise) -> Mechanism:
    """Randomised response on every item of a set, each with an equal part of ε.

    P(Y_a = b) = stay^(h−r) flip^r / (stay + flip)^h where r items differ, with (stay/flip)^h ≤ e^ε.

    Why it is private: two sets differ in at most all h items, and each item's odds are at most e^(ε/h).
    δ is not used: the law is ε-private.

    >>> m = itemwise_response(Subsets(["Music", "Football", "Chess"]), Privacy(1))
    >>> round(float(m.error), 7)
    1.2522894
    """
    privacy = Privacy.of(privacy)
    expect(space, Subsets, "space", "a space of Subsets for an itemwise response")
    h = len(space.values)
    ratio = min(exp_below(privacy.epsilon / h), Fraction(1 << 20))
    return Mechanism("itemwise response", space, space, Bits(h, int(_FLIP * ratio), _FLIP), "Warner 1965, item by item")


EXAMPLES = (
    randomised_response(Categories(["Sports", "Cars", "Television", "Computer games", "Reading"]), Privacy(1)),
    randomised_response(Categories(["yes", "no"]), Privacy("0.5", "0.1")),
    response_with(Categories(["a", "b", "c", "d", "e"]), "0.1"),
    itemwise_response(Subsets(["Music", "Football", "Chess"]), Privacy(1)),
)

"""What a mechanism does at its worst: the pair of inputs and the set that give the most away, at any ε."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from dproof.arguments import listed as as_list
from dproof.certification.certify import Witness, find_witness, pairwise_law
from dproof.errors import TooLarge
from dproof.exact import exact, exp_below, float_above, log_above
from dproof.laws.matrix import Matrix
from dproof.mechanisms.mechanism import Distribution, Mechanism, as_mechanism
from dproof.privacy import Privacy

_MOST_INPUTS = 100_000


@dataclass(frozen=True, slots=True)
class WorstCase:
    """The tight δ at ε, rounded up, and the witness (d, d', A) that attains it."""

    epsilon: Fraction
    delta: float
    witness: Witness

    def __str__(self) -> str:
        return f"δ = {self.delta:.6g} at ε = {self.epsilon}: {self.witness}"


def worst_case(mechanism: Mechanism, epsilon: Any = 0) -> WorstCase:
    """The pair of inputs and the set for which P(Y_d ∈ A) − e^ε P(Y_d' ∈ A) is largest; it is the tight δ at ε.

    >>> from dproof import Categories, Privacy, randomised_response
    >>> found = worst_case(randomised_response(Categories(["yes", "no"]), Privacy(1)), 0)
    >>> found.witness.d, found.witness.outputs, round(found.delta, 4)
    ('yes', ('yes',), 0.4621)
    """
    as_mechanism(mechanism)
    given = Privacy(epsilon).epsilon
    odds = exp_below(given)
    worst = mechanism.family.worst(odds)
    return WorstCase(given, float_above(worst.value), find_witness(mechanism, worst.source, worst.target, odds))


def delta_over(mechanism: Mechanism, epsilon: Any, sets: Iterable[Any]) -> float:
    """The largest P(Y_d ∈ A) − e^ε P(Y_d' ∈ A) over the given sets A alone, at least 0, rounded up.

    The tight δ is that over all sets. HLM16, section 3 asks which sets suffice, HLM15, Theorem 3 which classes of
    sets: for numbers, finite unions of intervals. A set is a list of outputs or, for numbers and dates, of intervals
    too, as in `law(d).probability`.

    >>> from dproof import Categories, Interval, Privacy, gaussian, randomised_response
    >>> m = randomised_response(Categories(["a", "b", "c"]), Privacy(1))
    >>> delta_over(m, 0, [["a", "b"]]) == delta_over(m, 0, [["c"]]), delta_over(m, 0, [["a", "b", "c"]])
    (True, 0.0)
    >>> m = gaussian(Interval(0, 1, "0.01"), Privacy(1, "1e-5"))
    >>> delta_over(m, 1, [[(None, "-13.4")]]) <= m.delta(1) <= 1e-5
    True
    """
    inputs = as_mechanism(mechanism).family.inputs
    if inputs is None or inputs > _MOST_INPUTS:
        raise TooLarge(f"sets are tried on every input, and there are more than {_MOST_INPUTS:,}")
    laws = [Distribution(mechanism.family, mechanism.outputs, n) for n in range(inputs)]
    odds, most = exp_below(Privacy(epsilon).epsilon), Fraction(0)
    for one in as_list(sets, "sets", "one or more sets of outputs"):
        masses = [law.probability(one) for law in laws]
        if mechanism.family.neighbours is None:  # every two inputs count, so the most and the least probable one
            most = max(most, max(masses) - odds * min(masses))
        for source, target in _pairs(mechanism):
            most = max(most, masses[source] - odds * masses[target])
    return float_above(most)


def metric_epsilon(mechanism: Mechanism, delta: Any = 0) -> float:
    """The least ε with P(Y_d ∈ A) ≤ e^(ε·ρ(d, d')) P(Y_d' ∈ A) + δ for all d, d' and A, rounded up.

    That is metric privacy: near values must be hard to tell apart, and far ones may be easier.
    Chatzikokolakis, Andrés, Bordenabe and Palamidessi 2013.

    >>> from dproof import Interval, Privacy, laplace
    >>> round(metric_epsilon(laplace(Interval(0, 4, 1), Privacy(2), clamp=True)), 6)
    0.5
    """
    as_mechanism(mechanism)
    allowed = Privacy(0, delta).delta
    law, most = pairwise_law(mechanism), Fraction(0)
    for i, j in combinations(range(law.inputs), 2):
        odds = Matrix(law.rows[[i, j]], law.total).odds(allowed).value
        if odds is None:
            return float("inf")
        most = max(most, log_above(odds) / exact(mechanism.inputs.distances(i)[j]))
    return float_above(most)


def _pairs(mechanism: Mechanism) -> Iterator[tuple[int, int]]:
    """The ordered pairs of inputs that count, where not all do."""
    neighbours = mechanism.family.neighbours
    return iter(()) if neighbours is None else ((int(i), int(j)) for i, j in np.argwhere(neighbours))

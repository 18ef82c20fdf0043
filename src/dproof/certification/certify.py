"""Certification: whether a law keeps (ε, δ), decided in exact arithmetic. HLM15, Definition 2."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from dproof.arguments import expect, flag
from dproof.certification.certificate import Certificate, certified_part
from dproof.errors import NotPrivate, TooLarge
from dproof.exact import exact, exp_above, exp_below, float_above, log_above
from dproof.laws.divergence import Worst, worst_set
from dproof.laws.law import Law, listed
from dproof.laws.matrix import Matrix
from dproof.mechanisms.mechanism import Mechanism, as_mechanism
from dproof.privacy import Privacy, Promise

_BITS = (128, 512, 4096)
_LARGEST_PAIRWISE = 1 << 24  # pairs of inputs times outputs
_LONGEST_INPUT = 400  # letters of an input in a message
_LARGEST_SET = 1 << 16  # outputs; beyond this the set is told by its pair alone


@dataclass(frozen=True, slots=True)
class Witness:
    """P(Y_d ∈ A) and P(Y_d' ∈ A) for the set A = {y : P(Y_d = y) > e^ε P(Y_d' = y)} of the worst pair.

    `outputs` is None where the outputs are too many to list.
    """

    d: Any
    d_prime: Any
    outputs: tuple[Any, ...] | None
    probability: Fraction | None
    probability_prime: Fraction | None

    def __str__(self) -> str:
        pair = f"inputs {_shown(self.d)} and {_shown(self.d_prime)}"
        if self.outputs is None or self.probability is None or self.probability_prime is None:
            return pair
        shown = ", ".join(repr(y) for y in self.outputs[:6]) + (", …" if len(self.outputs) > 6 else "")
        return (
            f"{pair} fall in the set {{{shown}}} with probabilities "
            f"{float(self.probability):.6g} and {float(self.probability_prime):.6g}"
        )

    def __repr__(self) -> str:
        return f"<witness: {self}>"


def _shown(value: Any) -> str:
    """An input as a message has it: a long table by its beginning."""
    text = repr(value)
    return text if len(text) <= _LONGEST_INPUT else f"{text[:_LONGEST_INPUT]}…"


def find_witness(mechanism: Mechanism, source: int, target: int, odds: Fraction) -> Witness:
    """The witness for an ordered pair of input codes at given odds."""
    family = mechanism.family
    if family.inputs is None:  # curves, of which each is as bad as another, and missing ones, with the code −1
        one, other = ("a curve" if code >= 0 else None for code in (source, target))
        return Witness(one, other, None, None, None)
    d, d_prime = mechanism.inputs.label(source), mechanism.inputs.label(target)
    if family.outputs is None or family.total is None or family.outputs > _LARGEST_SET:
        return Witness(d, d_prime, None, None, None)
    p, q = family.weights(source), family.weights(target)
    codes = worst_set(p, q, odds)
    masses = [Fraction(sum(int(law[y]) for y in codes), family.total) for law in (p, q)]
    return Witness(d, d_prime, tuple(mechanism.outputs.decode(np.array(codes, np.int64))), *masses)


def certify(mechanism: Mechanism, privacy: Promise, *, metric_privacy: bool = False, name: str = "row") -> Certificate:
    """The certificate that P(Y_d ∈ A) ≤ e^ε P(Y_d' ∈ A) + δ for all inputs d, d' and all sets A.

    Raises NotPrivate with the witness (d, d', A) where it does not hold. Only the law of whole numbers is read.
    With `metric_privacy`, ε is multiplied by the distance of d and d' (Chatzikokolakis et al. 2013).

    >>> from dproof import Categories, randomised_response
    >>> certify(randomised_response(Categories(["yes", "no"]), Privacy(1)), Privacy(1)).epsilon
    0.9999999999999998
    """
    as_mechanism(mechanism)
    privacy = Privacy.of(privacy)
    expect(name, str, "name", "a text: what the part is called in the certificate")
    if flag(metric_privacy, "metric_privacy"):
        return _certify_metric(mechanism, privacy, name)
    decision = decide(mechanism.family, privacy.epsilon, privacy.delta)
    if not decision.holds:
        worst = decision.worst
        witness = find_witness(mechanism, worst.source, worst.target, exp_above(privacy.epsilon))
        raise NotPrivate(
            f"not ({privacy.epsilon}, {privacy.delta})-private: {witness}; at epsilon = {privacy.epsilon} it takes "
            f"delta = {float_above(worst.value):.6g}",
            witness,
        )
    return Certificate(privacy, (certified_part(name, mechanism, privacy),))


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a law keeps a promise, and the worst pair of inputs."""

    holds: bool
    worst: Worst


def decide(family: Law, epsilon: Fraction, delta: Fraction) -> Decision:
    """Whether the family is (ε, δ)-private, with the worst pair.

    e^ε lies between two fractions. Below the lower one the guarantee is proven, above the upper one it is refuted,
    and for ε ≠ 0, as e^ε is transcendental, P(A) − e^ε Q(A) = δ only if Q(A) = 0, so more digits always decide.
    """
    for bits in _BITS:
        worst = family.worst(exp_below(epsilon, bits))
        if worst.value <= delta:
            return Decision(True, worst)
        refuted = family.worst(exp_above(epsilon, bits))
        if refuted.value > delta:
            return Decision(False, refuted)
    return Decision(False, worst)  # within 2^-4096 of the boundary: refused, which is the safe side


def pairwise_law(mechanism: Mechanism) -> Matrix:
    """The law as a matrix small enough for metric privacy, which is decided pair by pair."""
    inputs, outputs, _ = listed(mechanism.family)
    if inputs**2 * outputs > _LARGEST_PAIRWISE:
        raise TooLarge("metric privacy is checked pair by pair, for up to about 250 inputs and outputs")
    return Matrix(*mechanism.weights())


def _certify_metric(mechanism: Mechanism, privacy: Privacy, name: str) -> Certificate:
    """P_i(A) ≤ e^{ε ρ(i, k)} P_k(A) + δ, pair by pair; the tight ε is the largest log odds over ρ."""
    law = pairwise_law(mechanism)
    k = law.inputs
    rho = [[exact(x) for x in mechanism.inputs.distances(n)] for n in range(k)]
    epsilon, delta = Fraction(0), Fraction(0)
    for i, j in combinations(range(k), 2):
        pair = Matrix(law.rows[[i, j]], law.total)
        scaled = privacy.epsilon * rho[i][j]
        decision = decide(pair, scaled, privacy.delta)
        worst = decision.worst
        if not decision.holds:
            source, target = (i, j)[worst.source], (i, j)[worst.target]
            witness = find_witness(mechanism, source, target, exp_above(scaled))
            raise NotPrivate(
                f"not ({privacy.epsilon} times the distance, {privacy.delta})-private: {witness}, at distance "
                f"{rho[i][j]}",
                witness,
            )
        odds = pair.odds(privacy.delta).value
        assert odds is not None  # the pair is private
        epsilon, delta = max(epsilon, log_above(odds) / rho[i][j]), max(delta, worst.value)
    part = replace(
        certified_part(name, mechanism, privacy),
        epsilon=float_above(epsilon),
        delta=float_above(delta),
        law=law.to_json(),  # pairs are not alike, so each input is written out
        lower_bound=None,  # the known bounds are for ordinary privacy
        distances=tuple(tuple(map(str, row)) for row in rho),
    )
    return Certificate(privacy, (part,))

"""Certification: whether a law keeps (ε, δ), decided in exact arithmetic; its worst case, and the sets that decide it.

A certificate is the law of whole numbers and what it guarantees, as JSON that anyone can check again. HLM15,
Definition 2; HLM16, section 3.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations, permutations
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from dproof.arguments import expect, flag, named
from dproof.arguments import listed as as_list
from dproof.certification.verify_certificate import LARGEST_FILE, Refused, seal
from dproof.certification.verify_certificate import read as read_strictly
from dproof.coins import NOT_PRIVATE
from dproof.errors import ArgumentError, InputError, NotPrivate, TooLarge, VerificationFailed
from dproof.exact import exact, exp_above, exp_below, float_above, log_above, written
from dproof.laws.divergence import Worst, worst_set
from dproof.laws.law import Law, listed_sizes
from dproof.laws.matrix import Matrix
from dproof.mechanisms.mechanism import Distribution, Mechanism, as_mechanism
from dproof.privacy import Privacy, Promise, as_delta, as_epsilon

_BITS = (128, 512, 4096)
_LARGEST_PAIRWISE = 1 << 24  # pairs of inputs times outputs
_LONGEST_INPUT = 400  # letters of an input in a message
_LARGEST_SET = 1 << 16  # outputs; beyond this the set is told by its pair alone


@named
def certify(mechanism: Mechanism, privacy: Promise, *, metric_privacy: bool = False, name: str = "row") -> Certificate:
    """The certificate that P(Y_d ∈ A) ≤ e^ε P(Y_d' ∈ A) + δ for all inputs d, d' and all sets A.

    Raises NotPrivate with the witness (d, d', A) where it does not hold. Only the law of whole numbers is read.
    With `metric_privacy`, ε is multiplied by the distance of d and d' (Chatzikokolakis et al. 2013).

    `mechanism` is what is checked, against `privacy`, a Privacy or a number ε; `name` is what the certificate
    calls it.

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
    inputs, outputs, _ = listed_sizes(mechanism.family)
    if inputs**2 * outputs > _LARGEST_PAIRWISE:
        raise TooLarge("metric privacy is checked pair by pair, for up to about 250 inputs and outputs")
    return Matrix(*mechanism.weights())


def _certify_metric(mechanism: Mechanism, privacy: Privacy, name: str) -> Certificate:
    """P_i(A) ≤ e^{ε ρ(i, k)} P_k(A) + δ, pair by pair; the tight ε is the largest log odds over ρ."""
    law = pairwise_law(mechanism)
    k = law.inputs
    rho = [[exact(x) for x in mechanism.inputs.distances(n)] for n in range(k)]
    delta = Fraction(0)
    for i, j in combinations(range(k), 2):
        scaled = privacy.epsilon * rho[i][j]
        decision = decide(Matrix(law.rows[[i, j]], law.total), scaled, privacy.delta)
        worst = decision.worst
        if not decision.holds:
            source, target = (i, j)[worst.source], (i, j)[worst.target]
            witness = find_witness(mechanism, source, target, exp_above(scaled))
            raise NotPrivate(
                f"not ({privacy.epsilon} times the distance, {privacy.delta})-private: {witness}, at distance "
                f"{rho[i][j]}",
                witness,
            )
        delta = max(delta, worst.value)
    part = replace(
        certified_part(name, mechanism, privacy),
        epsilon=metric_epsilon(mechanism, privacy.delta),
        delta=float_above(delta),
        law=law.to_json(),  # pairs are not alike, so each input is written out
        lower_bound=None,  # the known bounds are for ordinary privacy
        distances=tuple(tuple(map(str, row)) for row in rho),
    )
    return Certificate(privacy, (part,))


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


# The certificate, as it is written ------------------------------------------------------------------------------------

FORMAT = "dproof certificate"
CERTIFICATE_VERSION = 1


@dataclass(frozen=True, slots=True)
class Part:
    """One mechanism of a certificate: the part of the promise it must keep, and the tight values it attains."""

    name: str
    mechanism: str
    source: str
    privacy: Privacy
    law: Mapping[str, Any]
    epsilon: float  # tight at the promised δ, rounded up; infinite where no ε will do
    delta: float  # tight at the promised ε, rounded up
    error: Fraction | None
    lower_bound: Fraction | None
    distances: tuple[tuple[str, ...], ...] | None = None  # metric privacy: ε is multiplied by these

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Part:
        """The part that `to_json` wrote, of a release: such parts have no distances."""
        error, bound = (None if record[key] is None else Fraction(record[key]) for key in ("error", "lower_bound"))
        privacy, tight = Privacy(record["epsilon"], record["delta"]), record["tight"]
        named = (record["name"], record["mechanism"], record["source"])
        return cls(*named, privacy, record["law"], float(tight["epsilon"]), float(tight["delta"]), error, bound)

    def to_json(self) -> dict[str, Any]:
        """The record of a certificate."""
        record = {
            "name": self.name,
            "mechanism": self.mechanism,
            "source": self.source,
            "epsilon": str(self.privacy.epsilon),
            "delta": str(self.privacy.delta),
            "law": dict(self.law),
            "tight": {"epsilon": "inf" if self.epsilon == inf else self.epsilon, "delta": self.delta},
            "error": None if self.error is None else str(self.error),
            "lower_bound": None if self.lower_bound is None else str(self.lower_bound),
        }
        return record if self.distances is None else {**record, "distances": [list(row) for row in self.distances]}


def certified_part(name: str, mechanism: Mechanism, privacy: Privacy) -> Part:
    """The part of a certificate for one mechanism; its tight values are computed from the law alone."""
    optimum = mechanism.optimum
    try:
        error: Fraction | None = mechanism.error
    except InputError:  # outputs in another space have no distance from the inputs
        error = None
    return Part(
        name,
        mechanism.name,
        mechanism.source,
        privacy,
        mechanism.family.to_json(),
        mechanism.epsilon(privacy.delta),
        mechanism.delta(privacy.epsilon),
        error,
        optimum.lower_bound if optimum is not None and optimum.loss == "metric" else None,
    )


@dataclass(frozen=True, slots=True)
class Certificate:
    """The promise for one whole row, the laws that keep it, and their release.

    The parts are independent mechanisms on the columns of one row, so their promises add up (basic composition). Where
    a row is `sampled` it answers for one part, drawn whatever its data, and none may promise more than the row.

    >>> from dproof import Categories, Privacy, certify, randomised_response
    >>> c = certify(randomised_response(Categories(["yes", "no"]), Privacy(1)), Privacy(1))
    >>> c.to_json()["format"], c.delta
    ('dproof certificate', 0.0)
    """

    privacy: Privacy
    parts: tuple[Part, ...]
    release: Mapping[str, Any] | None = None
    private: bool = True  # False where seeded coins were used
    sampled: tuple[tuple[tuple[str, ...], int], ...] | None = None  # for each part its columns, and its weight

    def __post_init__(self) -> None:
        expect(self.privacy, Privacy, "privacy", "a Privacy")
        for part in as_list(self.parts, "parts", "a list of certified parts"):
            expect(part, Part, "each of the parts", "a certified part")
        together = sum if self.sampled is None else max
        epsilon = together([part.privacy.epsilon for part in self.parts] or [Fraction(0)])
        delta = together([part.privacy.delta for part in self.parts] or [Fraction(0)])
        if epsilon > self.privacy.epsilon or delta > self.privacy.delta:
            raise ArgumentError(
                f"the columns promise ({epsilon}, {delta}) together, more than the row's "
                f"({self.privacy.epsilon}, {self.privacy.delta})"
            )

    @property
    def epsilon(self) -> float:
        """The sum of the parts' tight ε, each at its own δ, rounded up; of a sampled row the largest."""
        parts = [part.epsilon for part in self.parts]
        return _sum_above(parts) if self.sampled is None else max(parts)

    @property
    def delta(self) -> float:
        """The sum of the parts' tight δ, each at its own ε, rounded up; of a sampled row the largest."""
        parts = [part.delta for part in self.parts]
        return _sum_above(parts) if self.sampled is None else max(parts)

    def to_json(self) -> dict[str, Any]:
        """The certificate as it is written, sealed with a hash of all the rest."""
        body: dict[str, Any] = {"laws": [part.to_json() for part in self.parts]}
        body["release"] = None if self.release is None else dict(self.release)
        if self.sampled is not None:
            body["sample"] = [{"columns": list(columns), "weight": weight} for columns, weight in self.sampled]
        return sealed(FORMAT, CERTIFICATE_VERSION, self.private, self.privacy, body)

    def write(self, path: str | Path) -> None:
        """Store it as JSON, which `dproof verify` and the stand-alone verifier read."""
        write_certificate(self.to_json(), Path(path))

    def __repr__(self) -> str:
        laws = ", ".join(f"{part.name!r} by {part.mechanism}" for part in self.parts)
        return f"<certificate: {self._promise()}; {laws}>"

    def _repr_html_(self) -> str:
        """The laws and their promises as a notebook shows them."""
        return laws_table(f"Certified: {self._promise()}", self.parts)

    def _promise(self) -> str:
        seeded = "" if self.private else f", {NOT_PRIVATE}"
        figures = f"ε = {written(self.privacy.epsilon)}, δ = {written(self.privacy.delta)}"
        return f"{figures}, {self.privacy.neighbours}{seeded}"


def laws_table(title: str, parts: Iterable[Part]) -> str:
    """Each law as HTML: ε and δ as promised, the tight ε, the error and the least possible."""
    from dproof.html import paragraph, table

    rows = (
        (
            part.name,
            part.mechanism,
            written(part.privacy.epsilon),
            written(part.privacy.delta),
            "∞" if part.epsilon == inf else written(part.epsilon, 6),
            *("" if value is None else written(value) for value in (part.error, part.lower_bound)),
        )
        for part in parts
    )
    return paragraph(title) + table(["law", "mechanism", "ε", "δ", "tight ε", "error", "at best"], rows)


def _sum_above(values: Iterable[float]) -> float:
    parts = list(values)
    return inf if inf in parts else float_above(sum(map(exact, parts), Fraction(0)))


def sealed(form: str, version: int, private: bool, privacy: Privacy, body: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a certificate of either model: what all begin with, its own body, and a hash of all that."""
    head = {"format": form, "version": version, "private": private, "neighbours": privacy.neighbours}
    record = {**head, "epsilon": str(privacy.epsilon), "delta": str(privacy.delta), **body}
    return {**record, "seal": seal(record)}


def write_certificate(certificate: Mapping[str, Any], file: Path) -> None:
    """Store the sealed record of a law or of measured tables."""
    file.write_text(json.dumps(certificate, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_certificate(file: Path) -> dict[str, Any]:
    """The JSON object in a certificate's file; nothing about it is checked yet."""
    try:
        if file.stat().st_size > LARGEST_FILE:
            raise VerificationFailed("the certificate is too large to be one")
        certificate = read_strictly(file.read_text("utf-8"))
    except Refused as refused:
        raise VerificationFailed(str(refused)) from None
    except (OSError, ValueError, RecursionError):
        raise VerificationFailed("the certificate is damaged: it cannot be read to its end") from None
    if not isinstance(certificate, dict):
        raise VerificationFailed("the certificate is damaged: it is no JSON object")
    return certificate


# The worst case -------------------------------------------------------------------------------------------------------

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

    `mechanism` has the law; `epsilon` is the ε of the inequality.

    >>> from dproof import Categories, Privacy, randomised_response
    >>> found = worst_case(randomised_response(Categories(["yes", "no"]), Privacy(1)), 0)
    >>> found.witness.d, found.witness.outputs, round(found.delta, 4)
    ('yes', ('yes',), 0.4621)
    """
    as_mechanism(mechanism)
    given = as_epsilon(epsilon)
    odds = exp_below(given)
    worst = mechanism.family.worst(odds)
    return WorstCase(given, float_above(worst.value), find_witness(mechanism, worst.source, worst.target, odds))


def delta_over(mechanism: Mechanism, epsilon: Any, sets: Iterable[Any]) -> float:
    """The largest P(Y_d ∈ A) − e^ε P(Y_d' ∈ A) over the given sets A alone, at least 0, rounded up.

    The tight δ is that over all sets. HLM16, section 3 asks which sets suffice, HLM15, Theorem 3 which classes of
    sets: for numbers, finite unions of intervals. A set is a list of outputs or, for numbers and dates, of intervals
    too, as in `law(d).probability`.

    `mechanism` has the law; `epsilon` is the ε, and `sets` are the sets of outputs that are tried.

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
    odds, most, neighbours = exp_below(as_epsilon(epsilon)), Fraction(0), mechanism.family.neighbours
    for one in as_list(sets, "sets", "one or more sets of outputs"):
        masses = [law.probability(one) for law in laws]
        if neighbours is None:  # every two inputs count, so the most and the least probable one
            most = max(most, max(masses) - odds * min(masses))
        for source, target in [] if neighbours is None else np.argwhere(neighbours).tolist():
            most = max(most, masses[source] - odds * masses[target])
    return float_above(most)


def metric_epsilon(mechanism: Mechanism, delta: Any = 0) -> float:
    """The least ε with P(Y_d ∈ A) ≤ e^(ε·ρ(d, d')) P(Y_d' ∈ A) + δ for all d, d' and A, rounded up.

    That is metric privacy: near values must be hard to tell apart, and far ones may be easier.
    Chatzikokolakis, Andrés, Bordenabe and Palamidessi 2013.

    `mechanism` has the law, and `delta` is allowed.

    >>> from dproof import Interval, Privacy, laplace
    >>> round(metric_epsilon(laplace(Interval(0, 4, 1), Privacy(2), clamp=True)), 6)
    0.5
    """
    as_mechanism(mechanism)
    allowed = as_delta(delta)
    law, most = pairwise_law(mechanism), Fraction(0)
    rho = [mechanism.inputs.distances(n) for n in range(law.inputs)]
    for i, j in combinations(range(law.inputs), 2):
        odds = Matrix(law.rows[[i, j]], law.total).odds(allowed).value
        if odds is None:
            return inf
        most = max(most, log_above(odds) / exact(rho[i][j]))
    return float_above(most)


# The sets that decide it ----------------------------------------------------------------------------------------------

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
        """The number of sets that each theorem asks for; where Corollary 2 does not apply, as many as Theorem 2."""
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
        codes = worst_set(p, q, exp_below(as_epsilon(epsilon)))
        return tuple(m.outputs.decode(np.array(codes, np.int64)))


def sufficient_sets(mechanism: Mechanism, d: Any, d_prime: Any) -> SufficientSets:
    """The sufficient sets of one ordered pair of inputs. HLM16, Theorems 2 and 3, Corollaries 1 and 2.

    `mechanism` has the law; `d` and `d_prime` are two neighbouring inputs.

    >>> from dproof import Categories, Privacy, randomised_response
    >>> sets = sufficient_sets(randomised_response(Categories(["a", "b", "c"]), Privacy(1)), "a", "b")
    >>> sets.S, sets.checks["brute force"], sets.checks["theorem 2"]
    (('a',), 6, 1)
    """
    as_mechanism(mechanism)
    source, target = mechanism.inputs.code(d), mechanism.inputs.code(d_prime)
    if source == target:
        raise ArgumentError("give two different inputs")
    _, outputs, _ = listed_sizes(mechanism.family)
    p, q = mechanism.family.weights(source), mechanism.family.weights(target)
    codes = worst_set(p, q, Fraction(1))
    ratios = {y: Fraction(int(p[y]), int(q[y])) if q[y] else Fraction(10**400) for y in codes}
    levels: list[list[int]] = []
    for code in sorted(codes, key=ratios.__getitem__, reverse=True):
        if not levels or (last := ratios[levels[-1][0]]) - ratios[code] > _SAME_LEVEL * last:
            levels.append([])
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

    `mechanism` is what would be checked.
    """
    family, label = as_mechanism(mechanism).family, mechanism.inputs.label
    neighbours = family.neighbours
    counts: Counter[str] = Counter()
    for source, target in permutations(range(mechanism.inputs.size), 2):
        if neighbours is None or neighbours[source, target]:
            counts.update(sufficient_sets(mechanism, label(source), label(target)).checks)
    return dict(counts)

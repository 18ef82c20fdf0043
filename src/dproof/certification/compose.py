"""What several promises or mechanisms cost together, exactly: `compose`, and the privacy losses that it multiplies.

All that composition needs of two laws P, Q is how much of each falls on every ratio P/Q. Atoms of whole numbers with
equal ratios are merged, so k answers of randomised response have k + 1 atoms, not 2^k.

At the end what a random order of the rows adds (`shuffled`); its bound is in `verify_certificate`, where others check
it with Python alone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, chain, combinations_with_replacement, pairwise, permutations, product
from math import comb, erfc, exp, gcd, prod, sqrt
from typing import Any, Literal, get_args

from dproof import composition
from dproof.arguments import choice, flag, whole
from dproof.arguments import listed as as_list
from dproof.certification.verify_certificate import LAWS, Blanket, by_kind, row_blankets, shuffled_delta
from dproof.composition import one_relation
from dproof.errors import ArgumentError, TooLarge
from dproof.exact import bisect, exact, exp_above, exp_below, float_above, least_decimal, log_above
from dproof.laws.divergence import hockey_stick, profile_odds
from dproof.laws.law import Law
from dproof.limits import MOST_SHUFFLED
from dproof.mechanisms.mechanism import Mechanism, as_mechanism
from dproof.privacy import Privacy, Promise, as_delta, as_epsilon

_MOST_ATOMS = 1 << 13  # in one part; two parts are paired without being multiplied out
_LONGEST_DENOMINATOR = 1 << 15  # bits of a denominator
_MOST_BITS = 1 << 31  # of all atoms of a power together
_MOST_RATIOS, _MOST_BEYOND = 512, 128
_MOST_LISTED = 8 * 7 * 32  # ordered pairs of inputs, times outputs, of a law whose pairs are looked at one by one
_MOST_STEPS, _STEP = 32, 1 << 16  # of the largest ratio of noise, and how finely the ratio of one step is told
# A probability, and an ε, at which the profile of noise has levelled off.
_LEVEL_PROBABILITY, _LEVEL_EPSILON = Fraction(1, 1 << 60), Fraction(256)
_MOST_PRODUCTS = 1 << 17  # of atoms that are multiplied to see how many are the same
_MOST_CASES = 256  # choices of a pair for each of several laws
_PARTS = 1 << 96  # in which the atoms of a dominating loss are written


@dataclass(frozen=True, slots=True)
class PrivacyLoss:
    """Whole numbers (p, q) over one total, with distinct ratios p : q, the largest first.

    `tight` where some mechanism attains it, but for rounding in the last of 64 bits. Else it is an upper bound: P may
    be a little too large, or Q a little too small.

    >>> pair = PrivacyLoss.of(zip([6, 1, 1, 1, 1], [1, 6, 1, 1, 1]), 10)
    >>> pair.atoms, pair.delta(Fraction(4))
    (((6, 1), (3, 3), (1, 6)), Fraction(1, 5))
    """

    atoms: tuple[tuple[int, int], ...]
    total: int
    tight: bool = True

    @classmethod
    def of(cls, weights: Iterable[tuple[Any, Any]], total: int, *, tight: bool = True) -> PrivacyLoss:
        """The loss of two laws, from what both weigh on every output: those with equal ratios are added up."""
        sums: dict[tuple[int, int], tuple[int, int]] = {}
        for p, q in ((int(p), int(q)) for p, q in weights):
            if p or q:
                common = gcd(p, q)
                key = (p // common, q // common)
                x, y = sums.get(key, (0, 0))
                sums[key] = (x + p, y + q)
        infinite = [pair for pair in sums.values() if pair[1] == 0]
        finite = [pair for pair in sums.values() if pair[1]]
        return cls((*infinite, *sorted(finite, key=lambda pair: Fraction(*pair), reverse=True)), total, tight)

    @classmethod
    def of_privacy(cls, privacy: Privacy) -> PrivacyLoss:
        """The pair that every (ε, δ)-private pair is a post-processing of. Kairouz, Oh and Viswanath 2015.

        With probability δ the input is shown; else it is randomised response with odds e^ε, rounded up.
        """
        odds, d = exp_above(privacy.epsilon, 64), privacy.delta
        shown, whole = d.numerator, d.denominator
        a, b = odds.numerator, odds.denominator
        hidden = whole - shown
        atoms = [(shown * (a + b), 0), (hidden * a, hidden * b), (hidden * b, hidden * a), (0, shown * (a + b))]
        return cls.of(atoms, whole * (a + b))

    def __mul__(self, other: PrivacyLoss) -> PrivacyLoss:
        """The loss of both together, on independent coins."""
        if len(self.atoms) == 1 == self.total:  # tells nothing
            return other
        if len(self.atoms) * len(other.atoms) > 16 * _MOST_ATOMS**2:
            raise TooLarge("too many losses to compose exactly; add up the promises of some of them instead")
        pairs = ((p * x, q * y) for p, q in self.atoms for x, y in other.atoms)
        return PrivacyLoss.of(pairs, self.total * other.total, tight=self.tight and other.tight)

    def __pow__(self, times: int) -> PrivacyLoss:
        if self.is_binomial:
            return self._binomial(times)
        result, square = PrivacyLoss(((1, 1),), 1), self
        while times:
            if times & 1:
                result *= square
            times >>= 1
            if times:
                square *= square
        return result

    @property
    def is_binomial(self) -> bool:
        """Whether at most two ratios are neither 0 nor infinite, so that a power has few of them."""
        return sum(p > 0 < q for p, q in self.atoms) <= 2

    def _binomial(self, times: int) -> PrivacyLoss:
        """The power of such a loss: n + 1 atoms, without comparing any ratios."""
        if times**2 * self.total.bit_length() > _MOST_BITS:
            raise TooLarge(f"{times:,} promises are too many to compose exactly; take rule='advanced' or 'basic'")
        finite = [(p, q) for p, q in self.atoms if p > 0 < q]
        (a, b), (c, d) = (*finite, (0, 0), (0, 0))[:2]
        p, q, total = a**times, b**times, self.total**times
        atoms = [(p, q)]
        for n in range(times if p else 0):  # C(k, n)·a^(k−n)·c^n from the one before it
            p, q = p * c * (times - n) // (a * (n + 1)), q * d * (times - n) // (b * (n + 1))
            atoms.append((p, q))
        # The rest has the ratio infinity, or 0; of a bound P and Q need not sum to the total.
        shown, other = (sum(x[n] for x in self.atoms) ** times - sum(x[n] for x in atoms) for n in (0, 1))
        kept = [atom for atom in ((shown, 0), *atoms, (0, other)) if atom != (0, 0)]
        return PrivacyLoss(tuple(kept), total, self.tight)

    def delta(self, odds: Fraction) -> Fraction:
        """Σ max(0, P − e·Q)."""
        p, q = zip(*self.atoms, strict=True)
        return hockey_stick(p, q, self.total, odds)

    def dominates(self, other: PrivacyLoss) -> bool:
        """Whether the other loss is nowhere above this one, and so not in any composition either.

        Between two of its ratios this profile is linear and the other convex, and beyond the largest one it is constant
        and the other falls, so the ratios themselves decide.
        """
        ratios = (Fraction(p, q) for p, q in self.atoms if q)
        return all(self.delta(e) >= other.delta(e) for e in ratios)


@dataclass(frozen=True)
class _SideBySide:
    """Two losses, of which the one has fewer atoms, that are never multiplied out."""

    few: PrivacyLoss
    many: PrivacyLoss

    @cached_property
    def _sums(self) -> tuple[list[int], list[int]]:
        p, q = zip(*self.many.atoms, strict=True)
        return list(accumulate(p, initial=0)), list(accumulate(q, initial=0))

    @property
    def largest(self) -> tuple[int, int]:
        """The largest ratio."""
        (p, q), (x, y) = self.few.atoms[0], self.many.atoms[0]
        return p * x, q * y

    def worst(self, odds: Fraction) -> Fraction:
        """Σ max(0, P − e·Q) over all pairs of atoms: as the ratio of the one falls, fewer atoms of the other count."""
        a, b = odds.numerator, odds.denominator
        atoms, (sums_p, sums_q) = self.many.atoms, self._sums
        count, excess = len(atoms), 0
        for p, q in self.few.atoms:
            up, down = p * b, q * a
            count = bisect_left(range(count), True, key=lambda n: up * atoms[n][0] <= down * atoms[n][1])
            excess += up * sums_p[count] - down * sums_q[count]
        whole = b * self.few.total * self.many.total
        if whole.bit_length() > _LONGEST_DENOMINATOR:  # reducing it would take longer than all before: round up
            return Fraction(-(-(excess << 1024) // whole), 1 << 1024)
        return Fraction(excess, whole)


@dataclass(frozen=True, slots=True)
class _Apart:
    """The plain sums of what each law keeps by itself, which are exact at δ = 0 and for one law alone."""

    families: Mapping[Law, int]  # how many of each

    def epsilon(self, delta: Fraction) -> Fraction | None:
        """Σ ε at an even part of δ each; None where one has none."""
        odds = [(family.odds(delta / self._count).value, times) for family, times in self.families.items()]
        logs = [times * log_above(value) for value, times in odds if value is not None]
        return sum(logs, Fraction(0)) if len(logs) == len(odds) else None

    def delta(self, epsilon: Fraction) -> Fraction:
        """Σ δ at a part of ε each: as it has of all ε at δ = 0, or an even one."""
        pure = self.epsilon(Fraction(0))

        def part(family: Law) -> Fraction:
            own = family.odds(Fraction(0)).value if pure else None
            return epsilon / self._count if own is None or not pure else epsilon * log_above(own) / pure

        return sum((n * one.worst(exp_below(part(one))).value for one, n in self.families.items()), Fraction(0))

    @property
    def _count(self) -> int:
        return sum(self.families.values())


@dataclass(frozen=True, slots=True)
class ComposedLoss:
    """The cost of a composition: the most of several cases.

    >>> round(compose_losses([PrivacyLoss.of_privacy(Privacy("0.1"))] * 10).delta("0.5"), 10)
    0.0099296269
    """

    cases: tuple[_SideBySide, ...]
    apart: _Apart | None = None  # a second bound

    def __repr__(self) -> str:
        return f"<composition, {'tight' if self.tight else 'an upper bound'}>"

    @property
    def tight(self) -> bool:
        """Whether some mechanisms cost this much together; else it is an upper bound."""
        return all(case.few.tight and case.many.tight for case in self.cases)

    def worst(self, odds: Fraction) -> Fraction:
        """The largest Σ max(0, P − e·Q)."""
        return max(case.worst(odds) for case in self.cases)

    def delta(self, epsilon: Any) -> float:
        """The δ at ε, rounded up."""
        given = as_epsilon(epsilon)
        found = self.worst(exp_below(given))
        return float_above(found if self.apart is None else min(found, self.apart.delta(given)))

    def epsilon(self, delta: Any = 0) -> float:
        """The least ε at δ, rounded up; `inf` where none will do."""
        largest = [case.largest for case in self.cases]
        pure = max(Fraction(p, q) for p, q in largest) if all(q for _, q in largest) else None
        odds = profile_odds(self.worst, pure, as_delta(delta))
        sums = None if self.apart is None else self.apart.epsilon(as_delta(delta))
        found = [sums, None if odds is None else log_above(odds)]
        return min((float_above(epsilon) for epsilon in found if epsilon is not None), default=float("inf"))


def compose_losses(losses: Sequence[PrivacyLoss]) -> ComposedLoss:
    """The composition of independent losses; equal ones are merged as they go, so many of few kinds are cheap."""
    one = PrivacyLoss(((1, 1),), 1)
    counts: dict[PrivacyLoss, int] = defaultdict(int)
    for loss in losses:
        counts[loss] += 1
    halves = [one, one]
    for part in sorted((power for loss, times in counts.items() for power in _powers(loss, times)), key=_fewest):
        smaller = min((0, 1), key=lambda n: len(halves[n].atoms))
        if len(halves[smaller].atoms) * len(part.atoms) > _MOST_ATOMS:
            raise TooLarge("too many different losses to compose exactly, above about 20; add up the promises")
        halves[smaller] *= part
    return ComposedLoss((_SideBySide(*sorted(halves, key=_fewest, reverse=True)),))


def _fewest(loss: PrivacyLoss) -> int:
    return -len(loss.atoms)


def _powers(loss: PrivacyLoss, times: int) -> Sequence[PrivacyLoss]:
    """A power as one loss or, where that would have too many atoms, as two that stand side by side."""
    if times < 2 or loss.is_binomial:
        return (loss**times,)
    half, rest = loss ** (times // 2), loss ** (times - times // 2)
    if len(half.atoms) * len(rest.atoms) > _MOST_PRODUCTS:
        return half, rest
    whole = half * rest
    return (whole,) if len(whole.atoms) <= _MOST_ATOMS else (half, rest)


def compose_promises(promises: Sequence[Privacy]) -> ComposedLoss:
    """The least that any mechanisms with these promises can be held to together. Tight.

    δ_k(t) = 1 − (1−δ)^k (1 − Σ_l C(k,l) (e^((k−l)ε) − e^(t+lε))₊ / (1+e^ε)^k) for k equal promises (Kairouz, Oh and
    Viswanath 2015); for different ones the sum over all subsets (Murtagh and Vadhan 2016), up to about 20 of them.

    >>> round(compose_promises([Privacy("0.1")] * 100).epsilon("1e-5"), 6)
    4.306791
    """
    one_relation(promises)
    losses = {p: PrivacyLoss.of_privacy(p) for p in dict.fromkeys(promises)}
    return compose_losses([losses[p] for p in promises])


def compose_mechanisms(mechanisms: Sequence[Mechanism]) -> ComposedLoss:
    """The cost of the laws themselves together, which is less than what their promises do; each at a pair of its own.

    Tight where each law has a pair of inputs that is the worst at every ε, and where laws are so few and so small that
    every choice of a pair for each can be tried; else an upper bound: `tight` says which. The mechanisms are those
    given, whatever the answers of earlier ones.

    >>> from dproof import Categories, response_with
    >>> twice = compose_mechanisms([response_with(Categories([0, 1, 2]), "0.2")] * 2)
    >>> round(twice.delta("0.4"), 10), twice.tight
    (0.4209810363, True)
    """
    candidates = {m: _candidates(as_mechanism(m).family.of_one_row) for m in dict.fromkeys(mechanisms)}
    times: dict[tuple[PrivacyLoss, ...], int] = defaultdict(int)
    for m in mechanisms:
        times[candidates[m]] += 1
    if prod(comb(len(losses) + n - 1, n) for losses, n in times.items()) <= _MOST_CASES and () not in times:
        chosen = product(*(combinations_with_replacement(losses, n) for losses, n in times.items()))
        with suppress(TooLarge):
            return ComposedLoss(tuple(case for losses in chosen for case in compose_losses([*chain(*losses)]).cases))
    bounds = {m: dominating(m.family.of_one_row) for m in candidates}
    whole = compose_losses([bounds[m] for m in mechanisms])
    return ComposedLoss(whole.cases, _Apart(Counter(m.family.of_one_row for m in mechanisms)))


def _candidates(family: Law) -> tuple[PrivacyLoss, ...]:
    """The losses of those pairs of inputs that no other pair dominates; none where there are too many to look at."""
    worst = own_worst_pair(family)
    if worst is not None:
        return (worst,)
    if not _is_small(family):
        return ()
    kept: list[PrivacyLoss] = []
    for loss in dict.fromkeys(_losses(family).values()):
        if not any(other.dominates(loss) for other in kept):
            kept = [*(other for other in kept if not loss.dominates(other)), loss]
    return tuple(kept)


def _is_small(family: Law) -> bool:
    """Whether the losses of all pairs of inputs are few enough to be looked at one by one."""
    if family.inputs is None or family.outputs is None:
        return False
    return family.inputs * (family.inputs - 1) * family.outputs <= _MOST_LISTED


def _losses(family: Law) -> dict[tuple[int, int], PrivacyLoss]:
    """The loss of every ordered pair of neighbouring inputs."""
    (laws, total), counts = family.written_out(), family.neighbours
    pairs = (pair for pair in permutations(range(len(laws)), 2) if counts is None or counts[pair])
    return {(i, k): PrivacyLoss.of(zip(laws[i], laws[k], strict=True), total) for i, k in pairs}


def compose_about_one_value(mechanisms: Sequence[Mechanism]) -> ComposedLoss:
    """The cost of several answers about one and the same value: one pair of inputs for all. Tight.

    >>> from dproof import Categories, solution_matrix
    >>> a, b, c = [["0.5", "0.3", "0.2"], ["0.2", "0.5", "0.3"], ["0.1", "0.1", "0.8"]]
    >>> m, n = (solution_matrix(Categories(["x", "y", "z"]), rows) for rows in ([a, b, c], [c, a, b]))
    >>> round(compose_about_one_value([m, n]).delta(1), 6), round(compose_mechanisms([m, n]).delta(1), 6)
    (0.476903, 0.531269)
    """
    first = as_mechanism(mechanisms[0])
    losses = {m: _losses(m.family) if _is_small(m.family) else None for m in dict.fromkeys(mechanisms)}
    if any(m.inputs.size != first.inputs.size or m.inputs.label(0) != first.inputs.label(0) for m in losses):
        raise ArgumentError("answers about one value come from mechanisms on the same space of inputs")
    if any(found is None for found in losses.values()):
        raise TooLarge("a mechanism has too many inputs and outputs to try every pair of values; leave same_value out")
    pairs = dict.fromkeys(pair for found in losses.values() for pair in found or ())
    cases = (compose_losses([(losses[m] or {})[pair] for m in mechanisms]) for pair in pairs)
    return ComposedLoss(tuple(case for composed in cases for case in composed.cases))


def own_worst_pair(family: Law) -> PrivacyLoss | None:
    """The loss of a pair of the family's own inputs that no other pair exceeds at any odds, where it is known.

    With it a composition is exact: all columns of a row, and all rows of a person, can be at their worst at once.
    """
    if family.inputs == 1:
        return PrivacyLoss(((1, 1),), 1)
    pair = family.worst_pair()
    return None if pair is None else PrivacyLoss.of(zip(map(int, pair.p), map(int, pair.q), strict=True), pair.total)


def dominating(family: Law) -> PrivacyLoss:
    """A loss that dominates every pair of a family's inputs, so that its powers bound any composition of the family.

    Where one of its own pairs does, that is it, and it is tight. Else δ(e), the maximum over all pairs, is convex
    in e, and δ(e) = 1 − e + e·δ(1/e) gives it below 1, where P and Q change places; the chords
    between its values at given ratios lie above it, and are the profile of one pair: an atom at each ratio with Q the
    change of slope there (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022).
    """
    worst = own_worst_pair(family)
    if worst is not None:
        return worst
    if family.outputs is None:
        return _noise_loss(family)
    columns = [sorted({int(w) for w in column}) for column in family.written_out()[0].T]
    ratios = sorted({Fraction(p, q) for column in columns for p in column for q in column if q})
    chosen = ratios[:: -(-len(ratios) // _MOST_RATIOS)]
    ends = [ratios[-1], *_falling_on(family, ratios[-1])]
    at = sorted({Fraction(0), *chosen, *ends, *(1 / end for end in ends)})
    atoms = [(-(-_profile(family, at[-1]) * _PARTS // 1), 0)]
    atoms += [(-(-e * q * _PARTS // 1), q * _PARTS // 1) for e, q in zip(at[1:], _bends(family, at), strict=True)]
    return PrivacyLoss.of(atoms, _PARTS, tight=False)


def _bends(family: Law, at: Sequence[Fraction]) -> list[Fraction]:
    """By how much the chords of the profile between given ratios change their slope, at each ratio but the first."""
    values = [_profile(family, e) for e in at]
    slopes = [(y - x) / (f - e) for (x, y), (e, f) in zip(pairwise(values), pairwise(at), strict=True)]
    return [after - before for before, after in pairwise([*slopes, Fraction(0)])]


def _noise_loss(family: Law) -> PrivacyLoss:
    """A loss that dominates noise with infinitely many values, with the ratios r^n of one r.

    Powers of one ratio multiply to powers of it, so many answers together have few atoms. Laplace noise under a shift
    of D steps has the ratios e^(ε(D − 2k)/D), which these meet but for the rounding of r.
    """
    pure = largest = family.odds(Fraction(0)).value
    steps = _MOST_STEPS if pure is None else min(_MOST_STEPS, max(1, (family.inputs or 1) - 1))
    if largest is None:  # Gaussian noise has no largest ratio, truncated noise an infinite one
        largest = family.odds(family.worst(exp_below(_LEVEL_EPSILON)).value + _LEVEL_PROBABILITY).value
    assert largest is not None
    top, bottom = -(-exp_above(log_above(largest) / steps) * _STEP // 1), _STEP
    powers = [n for n in range(-steps, steps + 1) if (n - steps) % 2 == 0 or steps == _MOST_STEPS]
    at = [Fraction(0), *(Fraction(top, bottom) ** n for n in powers)]
    whole = bottom**steps * _PARTS
    atoms = []
    for n, bend in zip(powers, _bends(family, at), strict=True):
        p, q = (top**n, bottom**n) if n >= 0 else (bottom**-n, top**-n)
        # Bounds that are rounded up may bend the other way by a hair: no atom, which only adds to the loss.
        times = max(0, bend * whole // q)
        atoms.append((p * times, q * times))
    # What rounding took from P is put at the largest ratio, or where Q has nothing: that only adds to the loss.
    rest = max(0, whole - sum(p for p, _ in atoms))
    if pure is None:
        return PrivacyLoss.of([(rest, 0), *atoms], whole, tight=False)
    times = -(-rest // top**steps)
    return PrivacyLoss.of([(top**steps * times, bottom**steps * times), *atoms], whole, tight=False)


def _falling_on(family: Law, odds: Fraction) -> Iterator[Fraction]:
    """Odds beyond the largest ratio of a law: what clamped noise tells of itself is told of the noise, and falls on."""
    before = _profile(family, odds)
    for _ in range(_MOST_BEYOND):
        odds *= Fraction(17, 16)
        now = _profile(family, odds)
        if now == before:
            return
        yield odds
        before = now


def _profile(family: Law, odds: Fraction) -> Fraction:
    """The largest Σ max(0, P − e·Q) over ordered pairs; a family tells it for odds of at least 1."""
    if odds >= 1:
        return family.worst(odds).value
    return 1 - odds + odds * family.worst(1 / odds).value if odds else Fraction(1)


Rule = Literal["optimal", "basic", "advanced"]


@dataclass(frozen=True, slots=True)
class Composition:
    """The cost of parts together: `epsilon(delta)` and `delta(epsilon)`, both rounded up.

    `tight` where some mechanisms with these promises, or the given ones themselves, cost this much, by the basic rule
    at δ = 0; else it is an upper bound.
    """

    rule: str
    tight: bool
    _cost: Any = field(repr=False)

    def epsilon(self, delta: Any = 0) -> float:
        """The least ε at δ that the rule gives; `inf` where it gives none."""
        return float(self._cost.epsilon(delta))

    def delta(self, epsilon: Any) -> float:
        """The least δ at ε that the rule gives; 1 where it gives none."""
        return float(self._cost.delta(epsilon))


@dataclass(frozen=True, slots=True)
class _Sums:
    """Basic composition."""

    whole: Privacy

    def epsilon(self, delta: Any) -> float:
        return float_above(self.whole.epsilon) if as_delta(delta) >= self.whole.delta else float("inf")

    def delta(self, epsilon: Any) -> float:
        return float_above(self.whole.delta) if as_epsilon(epsilon) >= self.whole.epsilon else 1.0


@dataclass(frozen=True, slots=True)
class _Advanced:
    """Advanced composition of equal promises."""

    one: Privacy
    times: int

    def epsilon(self, delta: Any) -> float:
        slack = exact(delta, "delta") - self.times * self.one.delta
        if slack <= 0:
            return _Sums(composition.basic([self.one] * self.times)).epsilon(delta)
        return float_above(composition.advanced(self.one, self.times, min(slack, Fraction(1, 2))).epsilon)

    def delta(self, epsilon: Any) -> float:
        wanted = as_epsilon(epsilon)
        spent = min(Fraction(1), self.times * self.one.delta)

        def enough(slack: Fraction) -> bool:
            return composition.advanced(self.one, self.times, slack).epsilon <= wanted

        if self.times * self.one.epsilon <= wanted:
            return float_above(spent)
        if not enough(Fraction(1, 2)):
            return 1.0
        power = bisect(lambda p: not enough(Fraction(1, 1 << int(p))), Fraction(1), Fraction(200))
        slack = Fraction(1, 1 << max(1, int(power) - 1))
        slack = bisect(enough, slack / 4, slack, 1 << 20)
        return float_above(min(Fraction(1), spent + slack))


def compose(parts: Sequence[Promise | Mechanism], rule: Rule = "optimal", *, same_value: bool = False) -> Composition:
    """The cost of promises, or mechanisms, together when all answer about the same rows.

    A row that changes may move every mechanism between another pair of its inputs, as the columns of a row do, or
    questions about different things: so each mechanism is taken at a pair of its own. With `same_value` all of them are
    given one and the same value, such as several draws for one answer; then one pair of inputs serves all, and the cost
    can be less.

    "optimal" is the least that anything with these promises can be held to (Kairouz, Oh and Viswanath 2015; Murtagh and
    Vadhan 2016), and for mechanisms what their laws cost, by their exact privacy loss. "basic" adds ε and δ up,
    "advanced" is Dwork, Rothblum and Vadhan 2010, for equal promises. For several rows of one person together see
    `Privacy.for_group`, and for change-one from add-remove `Privacy.restated`.

    `parts` are promises or mechanisms; `rule` says how their costs are added.

    >>> many = [Privacy("0.1")] * 100
    >>> [round(compose(many, rule).epsilon("1e-5"), 4) for rule in ("basic", "advanced", "optimal")]
    [10.0, 5.8502, 4.3068]
    """
    choice(rule, get_args(Rule), "rule")
    flag(same_value, "same_value")
    given = as_list(parts, "parts", "one or more promises or mechanisms")
    if not given:
        raise ArgumentError("parts must be one or more promises or mechanisms, and there is none")
    mechanisms = [part for part in given if isinstance(part, Mechanism)]
    if mechanisms and (len(mechanisms) < len(given) or rule != "optimal"):
        raise ArgumentError("mechanisms are composed by their laws: leave rule out, and give no promises beside them")
    if mechanisms:
        if any(m.family.inputs is None for m in mechanisms):
            raise ArgumentError("noise on curves has no law to list: compose promises")
        cost = compose_about_one_value(mechanisms) if same_value else compose_mechanisms(mechanisms)
        return Composition("privacy loss", cost.tight, cost)
    if same_value:
        raise ArgumentError("same_value is for mechanisms: a promise does not say at which values it is attained")
    promises = [Privacy.of(part, "a part") for part in given]
    if rule == "basic":
        whole = composition.basic(promises)
        return Composition(rule, not whole.delta, _Sums(whole))
    if rule == "optimal":
        cost = compose_promises(promises)
        return Composition(rule, cost.tight, cost)
    composition.one_relation(promises)
    if any(promise != promises[0] for promise in promises):
        raise ArgumentError("advanced composition is for equal promises: take rule='optimal', which is never worse")
    return Composition(rule, False, _Advanced(promises[0], len(promises)))


# What a random order of the rows adds ---------------------------------------------------------------------------------

_DIGITS = 3  # of an ε that is found


def shuffled(local: Promise | Mechanism, rows: int, *, delta: Any) -> Privacy:
    """What rows that were sanitised one by one keep once they are in a random order, for whoever sees only them.

    `local` is the mechanism of a row, or its promise with δ = 0, for which the bound holds whatever the mechanism is;
    `rows` is how many are shuffled together, of people whose coins the observer does not know. The promise at `delta`
    is for change-one neighbours; its ε has three digits, rounded up, and is never more than that of a row.

    Balle, Bell, Gascón and Nissim 2019; Feldman, McMillan and Talwar 2021. It is an upper bound.

    >>> from dproof import Categories, randomised_response
    >>> mechanism = randomised_response(Categories(list("abcde")), Privacy(3))
    >>> float(shuffled(mechanism, 1000, delta="1e-6").epsilon), float(shuffled(Privacy(1), 1000, delta="1e-6").epsilon)
    (0.751, 0.183)
    """
    whole(rows, "rows", 1, MOST_SHUFFLED)
    wanted = as_delta(delta)
    if isinstance(local, Mechanism):
        if local.family.neighbours is not None or local.family.of_one_row is not local.family:
            raise ArgumentError("shuffling is for the mechanism of one row, whose values are all neighbours")
        odds, records = local.family.odds(Fraction(0)).value, [local.family.to_json()]
        if odds is None:
            raise ArgumentError("shuffling adds to mechanisms with δ = 0 only, and this one has no ε then")
        epsilon = least_decimal(lambda x: exp_below(x) >= odds, Fraction(1), Fraction(0), Fraction(1000), 12)
        assert epsilon is not None, "odds of more than e^1000"
    else:
        promise = Privacy.of(local, "local")
        if promise.delta:
            raise ArgumentError("shuffling adds to promises with δ = 0 only")
        epsilon, records = promise.epsilon, [{}]  # some law
    found = shuffled_epsilon(blankets(records, epsilon), rows, wanted)
    return Privacy(epsilon if found is None else min(found, epsilon), wanted)


def blankets(laws: Iterable[Mapping[str, Any]], epsilon: Fraction, weights: list[int] | None = None) -> list[Blanket]:
    """What all rows have in common, by each way to bound it, from the recorded laws of a row with δ = 0."""
    read = [by_kind(LAWS)(dict(law), "the law") if law.get("kind") in LAWS else {} for law in laws]
    return list(row_blankets(read, epsilon, weights))


def shuffled_epsilon(every: Iterable[Blanket], rows: int, delta: Fraction) -> Fraction | None:
    """The least ε of three digits at which this δ is kept, by the way that promises the most; None above 100."""
    guess, blanket = min((normal_epsilon(blanket, rows, float(delta)), blanket) for blanket in every)
    near = Fraction(guess).limit_denominator(10**9)

    def kept(epsilon: Fraction) -> bool:
        return shuffled_delta(rows, blanket, exp_below(epsilon)) <= delta

    return least_decimal(kept, near, Fraction(1, 10**6), Fraction(100), _DIGITS)


def usual_delta(rows: int) -> Fraction:
    """A δ for so many rows: a power of ten, at most 10⁻⁶ and a tenth of one row in all."""
    return Fraction(1, max(10**6, 10 ** len(str(rows))))


def normal_epsilon(blanket: Blanket, rows: int, delta: float) -> float:
    """About the ε at which δ is kept, as if the sums of the bound were normal; only to begin a search."""
    mass, low, high = map(float, blanket)
    share = min((1 - low) / (high - low), 1) if high > low else 0.0
    mu = sqrt(2 * min(share, 1 - share) * (high - low) ** 2 / (1 + (rows - 1) * mass)) + 1e-9

    def kept(epsilon: float) -> float:
        far = [erfc((sign * mu / 2 + epsilon / mu) / sqrt(2)) / 2 for sign in (-1, 1)]
        return far[0] - (exp(epsilon) * far[1] if far[1] else 0.0)

    least, most = 0.0, 50.0
    for _ in range(60):
        middle = (least + most) / 2
        least, most = (middle, most) if kept(middle) > delta else (least, middle)
    return max(most, 1e-6)

"""What several answers cost together, by the rule that is asked for: one function, one answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, get_args

from dproof import composition
from dproof.arguments import choice, flag, listed
from dproof.certification.loss import Composed, compose_about_one_value, compose_mechanisms, compose_promises
from dproof.errors import InputError
from dproof.exact import bisect, exact, float_above
from dproof.mechanisms.mechanism import Mechanism
from dproof.privacy import Privacy, Promise

Rule = Literal["optimal", "basic", "advanced"]


@dataclass(frozen=True, slots=True)
class Composition:
    """What parts cost together: `epsilon(delta)` and `delta(epsilon)`, both rounded up.

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
        return float_above(self.whole.epsilon) if Privacy(0, delta).delta >= self.whole.delta else float("inf")

    def delta(self, epsilon: Any) -> float:
        return float_above(self.whole.delta) if Privacy(epsilon).epsilon >= self.whole.epsilon else 1.0


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
        wanted = Privacy(epsilon).epsilon
        spent = min(Fraction(1), self.times * self.one.delta)

        def enough(slack: Fraction) -> bool:
            return composition.advanced(self.one, self.times, slack).epsilon <= wanted

        if self.times * self.one.epsilon <= wanted:
            return float_above(spent)
        if not enough(Fraction(1, 2)):
            return 1.0
        power = bisect(lambda p: not enough(Fraction(1, 1 << int(p))), Fraction(1), Fraction(200))
        slack = Fraction(1, 1 << max(1, int(power) - 1))
        slack = bisect(enough, slack / 4, slack, lambda low, high: high - low <= high / (1 << 20))
        return float_above(min(Fraction(1), spent + slack))


def compose(parts: Sequence[Promise | Mechanism], rule: Rule = "optimal", *, same_value: bool = False) -> Composition:
    """What promises, or mechanisms, cost together when all answer about the same rows.

    A row that changes may move every mechanism between another pair of its inputs, as the columns of a row do, or
    questions about different things: so each mechanism is taken at a pair of its own. With `same_value` all of them are
    given one and the same value, such as several draws for one answer; then one pair of inputs serves all, and the cost
    can be less.

    "optimal" is the least that anything with these promises can be held to (Kairouz, Oh and Viswanath 2015; Murtagh and
    Vadhan 2016), and for mechanisms what their laws cost, by their exact privacy loss. "basic" adds ε and δ up,
    "advanced" is Dwork, Rothblum and Vadhan 2010, for equal promises. For several rows of one person together see
    `Privacy.for_group`, and for change-one from add-remove `Privacy.restated`.

    >>> many = [Privacy("0.1")] * 100
    >>> [round(compose(many, rule).epsilon("1e-5"), 4) for rule in ("basic", "advanced", "optimal")]
    [10.0, 5.8502, 4.3068]
    """
    choice(rule, get_args(Rule), "rule")
    flag(same_value, "same_value")
    given = listed(parts, "parts", "one or more promises or mechanisms")
    if not given:
        raise InputError("parts must be one or more promises or mechanisms, and there is none")
    mechanisms = [part for part in given if isinstance(part, Mechanism)]
    if mechanisms and (len(mechanisms) < len(given) or rule != "optimal"):
        raise InputError("mechanisms are composed by their laws: leave rule out, and give no promises beside them")
    if mechanisms:
        if any(m.family.inputs is None for m in mechanisms):
            raise InputError("noise on curves has no law to list: compose promises")
        return _composition("privacy loss", (compose_about_one_value if same_value else compose_mechanisms)(mechanisms))
    if same_value:
        raise InputError("same_value is for mechanisms: a promise does not say at which values it is attained")
    promises = [Privacy.of(part, "a part") for part in given]
    if rule == "basic":
        whole = composition.basic(promises)
        return Composition(rule, not whole.delta, _Sums(whole))
    if rule == "optimal":
        return _composition(rule, compose_promises(promises))
    composition.one_relation(promises)
    if any(promise != promises[0] for promise in promises):
        raise InputError("advanced composition is for equal promises: take rule='optimal', which is never worse")
    return Composition(rule, False, _Advanced(promises[0], len(promises)))


def _composition(rule: str, cost: Composed) -> Composition:
    return Composition(rule, cost.tight, cost)

"""The cost of several answers or several tables together, from their promises alone.

Sanitise once, and all questions are free (HLM15, Theorem 4). Everything else composes: questions on the private data,
the columns of one row, a table that is sanitised again. Each rule says whether it is tight or an upper bound. What
known laws cost together, and the least that given promises can be held to, is in `certification.compose`; what a
promise for one row means for several is `Privacy.for_group`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import exp, log1p
from typing import Any, Literal, get_args

from dproof.arguments import choice, whole
from dproof.errors import ArgumentError
from dproof.exact import bisect, exact, exp_above, log_above, log_below, root_above
from dproof.privacy import Neighbours, Privacy

__all__ = [
    "advanced",
    "basic",
    "concentrated_delta",
    "concentrated_epsilon",
    "concentrated_rho",
    "parallel",
    "pure_epsilon",
    "pure_rho",
]

Blocks = Literal["value", "position"]
Of = Literal["block", "table"]
_GRID = 1 << 96  # ρ is a whole number of these parts, so that sums of many stay short


def basic(promises: Sequence[Privacy]) -> Privacy:
    """The sums of ε and δ. Tight where every δ is 0, else an upper bound.

    >>> basic([Privacy("0.1"), Privacy("0.2", "1e-6")])
    Privacy(epsilon='3/10', delta='1/1000000', neighbours='change-one')
    """
    epsilon = sum((p.epsilon for p in promises), Fraction(0))
    delta = sum((p.delta for p in promises), Fraction(0))
    return Privacy.derived(epsilon, delta, one_relation(promises))


def advanced(privacy: Privacy, times: int, slack: Any) -> Privacy:
    """ε√(2k ln(1/s)) + kε(e^ε − 1) at kδ + s, or the plain sums where these are no larger. An upper bound.

    Dwork, Rothblum and Vadhan 2010. `certification.compose.compose_promises` is never worse, and tight.

    >>> round(float(advanced(Privacy("0.1"), 100, "1e-5").epsilon), 4)
    5.8502
    """
    s, eps = exact(slack, "slack"), privacy.epsilon
    whole(times, "times", 0)
    if not 0 < s < 1:
        raise ArgumentError("slack must lie between 0 and 1, such as 1e-6")
    square = 2 * times * -log_below(s) * eps * eps
    epsilon = root_above(square) + times * eps * (exp_above(eps) - 1)
    sums = basic([privacy] * times)
    if times * eps <= epsilon:
        return sums
    return Privacy.derived(epsilon, sums.delta + s, privacy.neighbours)


def parallel(promises: Sequence[Privacy], *, blocks: Blocks = "value", of: Of = "block") -> Privacy:
    """The cost of answers on disjoint blocks of the rows together; each promise is that of one answer.

    `of` says which tables a promise compares: two states of its own block ("block"), or of the whole table, of which
    the answer looks at one block ("table").

    Blocks by the row's own value: under add-remove a row is in one block, and the largest promise holds. Under
    change-one a changed row can leave one block and enter another. Then promises of the whole table add up, the two
    largest of them. Promises of a block say nothing: the block has a row less, and change-one compares equal sizes.
    Blocks by position: a changed row stays where it is, so the largest promise holds; under add-remove rows have no
    place of their own. Tight where every δ is 0, else an upper bound.

    >>> parallel([Privacy(1), Privacy(2), Privacy(3)], of="table").epsilon
    Fraction(5, 1)
    >>> parallel([Privacy(1, neighbours="add-remove"), Privacy(2, neighbours="add-remove")]).epsilon
    Fraction(2, 1)
    """
    choice(blocks, get_args(Blocks), "blocks")
    choice(of, get_args(Of), "of")
    relation = one_relation(promises)
    moves = relation == "change-one" and blocks == "value"
    if moves and of == "block":
        raise ArgumentError(
            "a changed row can move to another block, and a change-one promise of a block says nothing about a block "
            "with a row more or less: state the promises for add-remove, or, where each holds for the whole table, "
            "say of='table'"
        )
    if relation == "add-remove" and blocks == "position":
        raise ArgumentError("a row that is added moves those behind it to other positions: make the blocks by value")
    # Every pair of blocks can be the pair that a row moves between, so ε and δ are each the worst over the pairs.
    epsilon, delta = (
        sum(sorted((getattr(p, name) for p in promises), reverse=True)[: 2 if moves else 1], Fraction(0))
        for name in ("epsilon", "delta")
    )
    return Privacy.derived(epsilon, delta, relation)


# Concentrated privacy: D_α(P‖Q) ≤ αρ for every α > 1 and all neighbours. Bun and Steinke 2016.


def concentrated_delta(rho: Any, epsilon: Any) -> Fraction:
    """A δ that ρ gives at ε: min over α > 1 of e^((α−1)(αρ−ε)) (1 − 1/α)^α / (α−1), rounded up.

    Canonne, Kamath, Steinke 2020, Corollary 13. Any α gives a bound, so α is looked for in floats.

    >>> float(concentrated_delta("0.024355", 1)) < 1e-6
    True
    """
    rho, epsilon = _at_least_0(rho, "rho"), _at_least_0(epsilon, "epsilon")
    alpha = _order(lambda x, a: exp(x) * (a * float(rho) - float(epsilon)) - x + a * log1p(-1 / a))
    power = (alpha - 1) * (alpha * rho - epsilon) + alpha * log_above(1 - 1 / alpha)
    return min(Fraction(1), exp_above(power) / (alpha - 1)) if power < 20 else Fraction(1)


@lru_cache(maxsize=1024)
def concentrated_rho(epsilon: Any, delta: Any) -> Fraction:
    """The ρ that gives (ε, δ), as large as the same bound allows, rounded down; δ lies between 0 and 1.

    With α fixed, the bound is at most δ where ρ ≤ (ε + ln(δ(α−1)/(1 − 1/α)^α) / (α−1)) / α.

    >>> round(float(concentrated_rho(1, "1e-6")), 6)
    0.024356
    """
    epsilon, delta = _at_least_0(epsilon, "epsilon"), _chance(delta)
    least = float(log_below(delta))  # not log(δ): δ may be too small for a float
    alpha = _order(lambda x, a: -(float(epsilon) + (least + x - a * log1p(-1 / a)) / exp(x)) / a)
    room = log_below(delta * (alpha - 1)) - alpha * log_above(1 - 1 / alpha)
    rho = (epsilon + room / (alpha - 1)) / alpha
    return max(Fraction(0), Fraction(rho * _GRID // 1, _GRID))


def concentrated_epsilon(rho: Any, delta: Any) -> Fraction:
    """The ε that ρ gives at δ, as small as the same bound allows, rounded up; δ lies between 0 and 1.

    >>> round(float(concentrated_epsilon("0.01", "1e-6")), 6)
    0.621693
    """
    given, delta = _at_least_0(rho, "rho"), _chance(delta)
    least = float(log_below(delta))
    alpha = _order(lambda x, a: a * float(given) - (least + x - a * log1p(-1 / a)) / exp(x))
    room = log_below(delta * (alpha - 1)) - alpha * log_above(1 - 1 / alpha)
    return max(Fraction(0), alpha * given - room / (alpha - 1))


@lru_cache(maxsize=1024)
def pure_rho(epsilon: Any) -> Fraction:
    """ε·tanh(ε/2), rounded up: the least ρ that holds for everything that keeps (ε, 0).

    The least, as it is the divergence of randomised response at α → 1. And enough: everything that keeps (ε, 0) is
    a post-processing of randomised response, for which (α−1)·D_α = f(α) − f(1) with f(α) = ln cosh((α − ½)ε). The
    difference h(α) = α(α−1)·f′(1) − f(α) + f(1) has h(1) = h′(1) = 0, and h″ = 2f′(1) − f″(α) ≥ 2f′(1) − f″(1), which
    is 2ε·tanh(ε/2) − ε²/cosh²(ε/2) ≥ 0 because sinh ε ≥ ε. So h ≥ 0: D_α ≤ α·f′(1) = α·ε·tanh(ε/2).

    >>> round(float(pure_rho(1)), 6)
    0.462117
    """
    epsilon = _at_least_0(epsilon, "epsilon")
    odds = exp_above(epsilon)
    return Fraction(-(-epsilon * (odds - 1) / (odds + 1) * _GRID // 1), _GRID)


@lru_cache(maxsize=1024)
def pure_epsilon(rho: Any) -> Fraction:
    """The largest ε whose ρ is no larger, rounded down.

    >>> round(float(pure_epsilon("0.462117")), 5)
    1.0
    """
    rho = _at_least_0(rho, "rho")
    if rho * _GRID < 1:
        return Fraction(0)
    most = rho + 2  # more than enough: x·tanh(x/2) ≥ x − 1
    too_much = bisect(lambda epsilon: pure_rho(epsilon) > rho, Fraction(0), most)
    return too_much * (1 - Fraction(1, 1 << 58))


def _at_least_0(value: Any, name: str) -> Fraction:
    number = exact(value, name)
    if number < 0:
        raise ArgumentError(f"{name} must be at least 0")
    return number


def _chance(delta: Any) -> Fraction:
    number = exact(delta, "delta")
    if not 0 < number < 1:
        raise ArgumentError("delta must lie between 0 and 1, such as 1e-6")
    return number


def _order(exponent: Callable[[float, float], float]) -> Fraction:
    """An α > 1 at which a function of ln(α − 1) and α is nearly least, if it falls first and then rises."""
    low, high = -20.0, 20.0
    for _ in range(80):
        third = (high - low) / 3
        a, b = low + third, high - third
        if exponent(a, 1 + exp(a)) < exponent(b, 1 + exp(b)):
            high -= third
        else:
            low += third
    return 1 + Fraction(exp(low))


def one_relation(promises: Sequence[Privacy]) -> Neighbours:
    """The relation between neighbours that all promises are stated for."""
    relations = {p.neighbours for p in promises}
    if len(relations) > 1:
        raise ArgumentError(
            "the promises have different neighbours; read those with add-remove as restated('change-one')"
        )
    return relations.pop() if relations else "change-one"

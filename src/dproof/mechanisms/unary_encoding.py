"""Unary encoding of categories: a sanitisation into sets of categories, for estimating frequencies."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from typing import Literal, get_args

from dproof.errors import InputError, did_you_mean
from dproof.exact import exp_below
from dproof.laws.sets import Unary
from dproof.mechanisms.mechanism import Mechanism
from dproof.privacy import Privacy
from dproof.spaces.categories import Categories
from dproof.spaces.subsets import Subsets

Form = Literal["optimised", "symmetric"]
_WHOLE = 1 << 56


def unary_encoding(space: Categories, privacy: Privacy, *, form: Form = "optimised") -> Mechanism:
    """A set of categories: the true one is in it with probability p, each other one with probability q.

    δ(ε) = p(1−q) − e^ε q(1−p). "optimised" has p = 1/2 and the least q, "symmetric" has q = 1 − p and the largest p,
    which is the permanent response of RAPPOR. Wang, Blocki, Li and Jha 2017; Erlingsson, Pihur and Korolova 2014.

    Why it is private: two values differ in the law of two bits only; p and q meet the inequality in whole numbers.

    >>> m = unary_encoding(Categories(["a", "b", "c"]), Privacy(1))
    >>> round(m.delta("0.6"), 10), m.epsilon() <= 1
    (0.1205076793, True)
    """
    demand_categories(space)
    if form not in get_args(Form):
        raise InputError(f"the form {str(form)[:40]!r} is not known{did_you_mean(form, get_args(Form))}")
    odds, allowed = exp_below(privacy.epsilon), privacy.delta * _WHOLE**2

    def too_much(own: int, other: int) -> bool:
        return Fraction(own * (_WHOLE - other)) - odds * other * (_WHOLE - own) > allowed

    half = _WHOLE // 2
    if form == "optimised":
        other = bisect_left(range(half), True, key=lambda q: not too_much(half, q))
        family = Unary(space.size, half, other, _WHOLE)
    else:
        steps = range(half, _WHOLE + 1)
        own = half + bisect_left(steps, True, key=lambda p: too_much(p, _WHOLE - p)) - 1
        family = Unary(space.size, own, _WHOLE - own, _WHOLE)
    return Mechanism(f"{form} unary encoding", space, Subsets(space.values), family, "Wang et al. 2017")


def demand_categories(space: object) -> None:
    if not isinstance(space, Categories):
        raise InputError("frequencies are those of categories: give a Categories space")
    if space.size > 62:
        raise InputError("a set of more than 62 categories does not fit a machine word; use randomised_response")


EXAMPLES = (
    unary_encoding(Categories(["a", "b", "c", "d"]), Privacy(1)),
    unary_encoding(Categories(["a", "b", "c"]), Privacy(1, "0.05"), form="symmetric"),
)

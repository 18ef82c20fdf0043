"""Frequencies of categories: sanitisations into sets of categories."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from math import comb, exp
from typing import Any, Literal, get_args

from dproof.arguments import choice, expect, whole
from dproof.errors import InputError
from dproof.exact import exp_below
from dproof.laws.sets import SubsetSelection, Unary
from dproof.mechanisms.mechanism import Mechanism
from dproof.privacy import Privacy, Promise
from dproof.spaces.categories import Categories
from dproof.spaces.subsets import Subsets

Form = Literal["optimised", "symmetric"]
_WHOLE = 1 << 56
_LOW = 1 << 30


def unary_encoding(space: Categories, privacy: Promise, *, form: Form = "optimised") -> Mechanism:
    """A set of categories: the true one is in it with probability p, each other one with probability q.

    δ(ε) = p(1−q) − e^ε q(1−p). "optimised" has p = 1/2 and the least q, "symmetric" has q = 1 − p and the largest p,
    which is the permanent response of RAPPOR. Wang, Blocki, Li and Jha 2017; Erlingsson, Pihur and Korolova 2014.

    Why it is private: two values differ in the law of two bits only; p and q meet the inequality in whole numbers.

    >>> m = unary_encoding(Categories(["a", "b", "c"]), Privacy(1))
    >>> round(m.delta("0.6"), 10), m.epsilon() <= 1
    (0.1205076793, True)
    """
    privacy = Privacy.of(privacy)
    _demand(space)
    choice(form, get_args(Form), "form")
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


def subset_selection(space: Categories, privacy: Promise, *, width: int | None = None) -> Mechanism:
    """A set of w categories, e^ε times likelier if it holds the true one.

    P(S | x) ∝ e^ε if x ∈ S, else 1, over all sets of size w, by default near k/(1 + e^ε); w = 1 is randomised
    response. δ(t) = C(k−2, w−1)·(e^ε − e^t) / (C(k−1, w−1)·e^ε + C(k−1, w)). Ye and Barg 2018.

    Why it is private: a set's weight takes two values only, and their ratio is rounded down.

    >>> m = subset_selection(Categories(list(range(10))), Privacy(1))
    >>> m.family.width, m.epsilon() <= 1
    (3, True)
    """
    privacy = Privacy.of(privacy)
    _demand(space)
    k = space.size
    if width is None:
        width = max(1, round(k / (1 + exp(min(float(privacy.epsilon), 700.0)))))
    whole(width, "width", 1, max(1, k - 1))
    if privacy.delta == 1:
        raise InputError("delta 1 promises nothing; ask for less than 1")
    # C(k−2, w−1)·(r − e^ε) ≤ δ·(C(k−1, w−1)·r + C(k−1, w)) for the ratio r, as large as it goes.
    telling = comb(k - 2, width - 1) if k > 1 else 1
    slope = telling - privacy.delta * comb(k - 1, width - 1)
    most = Fraction(1 << 31)
    ratio = (telling * exp_below(privacy.epsilon) + privacy.delta * comb(k - 1, width)) / slope if slope > 0 else most
    family = SubsetSelection(k, width, int(_LOW * min(ratio, most)), _LOW)
    return Mechanism("subset selection", space, Subsets(space.values), family, "Ye and Barg 2018")


def _demand(space: Any) -> None:
    expect(space, Categories, "space", "a space of Categories, whose frequencies are counted")
    if space.size > 62:
        raise InputError("a set of more than 62 categories does not fit a machine word; use randomised_response")

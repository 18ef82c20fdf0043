"""Subset selection on categories: a sanitisation into sets of one size. Ye and Barg 2018."""

from __future__ import annotations

from fractions import Fraction
from math import comb, exp

from dproof.errors import InputError
from dproof.exact import exp_below
from dproof.laws.sets import SubsetSelection
from dproof.mechanisms.mechanism import Mechanism
from dproof.mechanisms.unary_encoding import demand_categories
from dproof.privacy import Privacy
from dproof.spaces.categories import Categories
from dproof.spaces.subsets import Subsets

_LOW = 1 << 30


def subset_selection(space: Categories, privacy: Privacy, *, width: int | None = None) -> Mechanism:
    """A set of w categories, e^ε times likelier if it holds the true one.

    P(S | x) ∝ e^ε if x ∈ S, else 1, over all sets of size w, by default near k/(1 + e^ε); w = 1 is randomised
    response. δ(t) = C(k−2, w−1)·(e^ε − e^t) / (C(k−1, w−1)·e^ε + C(k−1, w)). Ye and Barg 2018.

    Why it is private: a set's weight takes two values only, and their ratio is rounded down.

    >>> m = subset_selection(Categories(list(range(10))), Privacy(1))
    >>> m.family.width, m.epsilon() <= 1
    (3, True)
    """
    demand_categories(space)
    k = space.size
    if width is None:
        width = max(1, round(k / (1 + exp(min(float(privacy.epsilon), 700.0)))))
    if not 1 <= width <= max(1, k - 1):
        raise InputError(f"width must lie between 1 and {max(1, k - 1)}, below the number of categories")
    if privacy.delta == 1:
        raise InputError("delta 1 promises nothing; ask for less than 1")
    # C(k−2, w−1)·(r − e^ε) ≤ δ·(C(k−1, w−1)·r + C(k−1, w)) for the ratio r, as large as it goes.
    telling = comb(k - 2, width - 1) if k > 1 else 1
    slope = telling - privacy.delta * comb(k - 1, width - 1)
    most = Fraction(1 << 31)
    ratio = (telling * exp_below(privacy.epsilon) + privacy.delta * comb(k - 1, width)) / slope if slope > 0 else most
    family = SubsetSelection(k, width, int(_LOW * min(ratio, most)), _LOW)
    return Mechanism("subset selection", space, Subsets(space.values), family, "Ye and Barg 2018")


EXAMPLES = (
    subset_selection(Categories(["a", "b", "c", "d", "e"]), Privacy(1)),
    subset_selection(Categories(["a", "b", "c", "d"]), Privacy("0.5", "0.02"), width=2),
)

"""Frequencies of categories: sanitisations into sets of categories, and which is the best."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from functools import lru_cache
from itertools import count
from math import comb, exp, inf, isqrt, lcm
from typing import Any, Literal, get_args

from dproof.arguments import choice, expect, whole
from dproof.errors import ArgumentError
from dproof.exact import exact, exp_below
from dproof.laws.designs import LARGEST_ORDER, BlockDesign, CyclicDesign, PlaneDesign, is_prime
from dproof.laws.law import Law
from dproof.laws.response import OneItem, SubsetSelection, Unary, response_law
from dproof.mechanisms.finite import randomised_response
from dproof.mechanisms.mechanism import Mechanism
from dproof.privacy import Privacy, Promise
from dproof.spaces.categories import Categories, Subsets
from dproof.spaces.products import Rows

Form = Literal["optimised", "symmetric"]
_WHOLE = 1 << 56
_LOW = 1 << 30
MOST_CODES = 1 << 24  # of a block design: all are counted to answer a question
_TOTAL_BITS = 54  # of the total of a design's weights
_MOST_ODDS = 1 << 20
_MOST_TRIED_FULLY = 300  # values for which designs of every prime near them are tried
_FARTHEST_PRIME = 40  # beyond these values
_NEAR_BEST = 1.003  # times the least variance
_GOOD_ENOUGH = 1.01  # times that of subset selection: where few classes do not come so near, more designs are tried
_NEXT_WIDTH = 1.1  # from one width of classes or order of a plane that is tried to the next
_MOST_LISTED = 14  # values of which all sets are counted
_NAMES = {
    SubsetSelection.kind: ("subset selection", "Ye and Barg 2018"),
    BlockDesign.kind: ("block design", "Park, Nam and Lee 2024"),
    PlaneDesign.kind: ("block design", "Park, Nam and Lee 2024; Singer 1938"),
}


def unary_encoding(
    space: Categories, privacy: Promise | None = None, *, form: Form | None = None, p: Any = None, q: Any = None
) -> Mechanism:
    """A set of categories: the true one is in it with probability p, each other one with probability q.

    δ(ε) = p(1−q) − e^ε q(1−p). "optimised", the default, has p = 1/2 and the least q, "symmetric" has q = 1 − p and
    the largest p, which is the permanent response of RAPPOR. With `p` and `q` instead of a promise both are given;
    `epsilon()` gives what they keep. Wang, Blocki, Li and Jha 2017; Erlingsson, Pihur and Korolova 2014.

    Why it is private: two values differ in the law of two bits only; p and q meet the inequality in whole numbers.

    `space` holds the values; `privacy` is a Privacy or a number ε; `form` is one of these two words.

    >>> m = unary_encoding(Categories(["a", "b", "c"]), Privacy(1))
    >>> round(m.delta("0.6"), 10), m.epsilon() <= 1
    (0.1205076793, True)
    >>> round(unary_encoding(Categories(["a", "b", "c"]), p="1/2", q="1/4").epsilon(), 6)  # ln 3
    1.098612
    """
    _demand(space)
    if p is not None or q is not None:
        return _given_chances(space, p, q, privacy, form)
    if privacy is None:
        raise ArgumentError("unary encoding is calibrated to a promise, or has p and q: give the one or the other")
    privacy, form = Privacy.of(privacy), "optimised" if form is None else form
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


def _given_chances(space: Categories, p: Any, q: Any, privacy: Any, form: Any) -> Mechanism:
    if p is None or q is None or privacy is not None or form is not None:
        raise ArgumentError("give both p and q, or a promise with an optional form, but not a mixture")
    own, other = exact(p, "p"), exact(q, "q")
    if not (0 <= own <= 1 and 0 <= other <= 1):
        raise ArgumentError("p and q must lie between 0 and 1: they are probabilities")
    whole = lcm(own.denominator, other.denominator)
    family = Unary(space.size, int(own * whole), int(other * whole), whole)
    return Mechanism("unary encoding", space, Subsets(space.values), family, "Wang et al. 2017")


def subset_selection(space: Categories, privacy: Promise, *, width: int | None = None) -> Mechanism:
    """A set of w categories, e^ε times likelier if it holds the true one.

    P(S | x) ∝ e^ε if x ∈ S, else 1, over all sets of size w, by default near k/(1 + e^ε); w = 1 is randomised
    response. δ(t) = C(k−2, w−1)·(e^ε − e^t) / (C(k−1, w−1)·e^ε + C(k−1, w)). Ye and Barg 2018.

    Why it is private: a set's weight takes two values only, and their ratio is rounded down.

    `space` holds the values; `privacy` is a Privacy or a number ε; `width` is the number of values in a
    released set.

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
        raise ArgumentError("delta 1 promises nothing; ask for less than 1")
    # C(k−2, w−1)·(r − e^ε) ≤ δ·(C(k−1, w−1)·r + C(k−1, w)) for the ratio r, as large as it goes.
    telling = comb(k - 2, width - 1) if k > 1 else 1
    slope = telling - privacy.delta * comb(k - 1, width - 1)
    most = Fraction(1 << 31)
    ratio = (telling * exp_below(privacy.epsilon) + privacy.delta * comb(k - 1, width)) / slope if slope > 0 else most
    family = SubsetSelection(k, width, int(_LOW * min(ratio, most)), _LOW)
    return Mechanism("subset selection", space, Subsets(space.values), family, "Ye and Barg 2018")


def one_item(space: Subsets, privacy: Promise) -> Mechanism:
    """One item, drawn whatever the set is, and whether the set holds it, answered with all of ε.

    With h items the count of one has the variance h·e^ε/(e^ε − 1)² and a little more, where an answer for every item at
    ε/h has e^(ε/h)/(e^(ε/h) − 1)², about h²/ε². Nothing can be told about two items together.

    Why it is private: which item it is depends on no set, and the answer keeps e^ε, or δ.

    `space` is one of Subsets; `privacy` is a Privacy or a number ε.

    >>> m = one_item(Subsets(["Music", "Football", "Chess"]), Privacy(1))
    >>> m.epsilon() <= 1, m.outputs.label(3)
    (True, 'Football: yes')
    """
    privacy = Privacy.of(privacy)
    expect(space, Subsets, "space", "a space of Subsets, whose items are counted")
    answer = response_law(2, privacy.epsilon, privacy.delta)
    law = OneItem(len(space.values), answer.keep, answer.other)
    return Mechanism("one item", space, law.released_in(space), law, "sampling of items")


def frequency(space: Categories | Rows, privacy: Promise) -> Mechanism:
    """The law of least variance of a count, on average over the values: randomised response where there are few, else
    subset selection or a block design.

    A block design has the variance of subset selection, about 4e^ε/(e^ε − 1)² for any number k of values, where
    randomised response has (e^ε + k − 2)/(e^ε − 1)²; each row is one code of 32 bits (`BlockDesign`). The promise's δ
    is not used.

    Why it is private: it is one of these laws, each of which is.

    `space` holds the values; `privacy` is a Privacy or a number ε.

    >>> m = frequency(Categories(list(range(100))), Privacy(1))
    >>> m.name, m.epsilon() <= 1, round(even_variance(m.family, 100), 2)
    ('block design', True, 3.61)
    """
    privacy = Privacy.of(privacy)
    plain = randomised_response(space, privacy)
    if privacy.epsilon == 0 or space.size == 1:
        return plain
    size, design = space.size, best_design(space.size, privacy.epsilon)
    laws: list[Law] = [plain.family]
    if size <= _MOST_LISTED and space.factors is None:
        ratio = min(exp_below(privacy.epsilon), Fraction(_MOST_ODDS))
        laws += [SubsetSelection(size, width, int(_LOW * ratio), _LOW) for width in range(2, size - 1)]
    laws += [] if design is None else [design]
    best = min(laws, key=lambda law: even_variance(law, size))
    if best is plain.family:
        return plain
    name, source = _NAMES[best.kind]
    return Mechanism(name, space, best.released_in(space), best, source)


def even_variance(law: Law, size: int) -> float:
    """The variance that a row adds to a debiased count, on average over so many values that are equally frequent."""
    hit, miss = law.support_probabilities or (0, 0)
    return _variance(float(hit), float(miss), size)


def _variance(hit: float, miss: float, size: int) -> float:
    return inf if hit <= miss else (hit * (1 - hit) + (size - 1) * miss * (1 - miss)) / (size * (hit - miss) ** 2)


@lru_cache(maxsize=256)
def best_design(size: int, epsilon: Fraction) -> CyclicDesign | None:
    """The block design with the least variance of a count, and among those that have nearly the same the one with the
    fewest codes; None where there is none with few enough."""
    if size > MOST_CODES // 2:
        return None
    ratio = min(exp_below(epsilon), Fraction(_MOST_ODDS))
    share = 1 / (1 + float(ratio))  # of the residues in the best block, which takes some of the classes
    wanted = {*range(2, 66), *(int(n / share) + more for n in range(1, 4) for more in (0, 1))}
    if size <= _MOST_TRIED_FULLY:
        wanted |= set(range(max(2, size - 1), size + _FARTHEST_PRIME))  # a class for each residue
    designs = [law for classes in wanted for law in _of_classes(size, classes, ratio)]
    best = min((even_variance(law, size) for law in designs), default=inf)
    if best > _GOOD_ENOUGH * _subset_variance(size, float(ratio)):
        designs += [law for width in _between(max(2, int(size * share)), 8) for law in _of_width(size, width, ratio)]
        designs += [law for order in _between(int(share**-0.5), 2 / share) for law in _of_plane(size, order, ratio)]
        best = min((even_variance(law, size) for law in designs), default=inf)
    near = (law for law in designs if even_variance(law, size) <= _NEAR_BEST * best)
    return min(near, key=lambda law: law.outputs, default=None)


def _between(first: int, last: float) -> list[int]:
    """Whole numbers that grow by a tenth."""
    numbers = [first]
    while numbers[-1] < last:
        numbers.append(int(numbers[-1] * _NEXT_WIDTH) + 1)
    return numbers


def _subset_variance(size: int, ratio: float) -> float:
    """The variance of subset selection of the best width, on average over values that are equally frequent."""
    width = size / (1 + ratio)
    chances = [(w * ratio / (w * ratio + size - w), w) for w in {max(1, int(width)), int(width) + 1}]
    return min(_variance(hit, (w - hit) / (size - 1), size) for hit, w in chances)


def _of_classes(size: int, classes: int, ratio: Fraction) -> list[CyclicDesign]:
    """The designs of the least prime that is 1 modulo so many classes."""
    prime = _prime_from(size, classes)
    most = int(classes / (1 + float(ratio)))
    return _of_residues(size, prime, classes, {max(1, min(classes - 1, most + more)) for more in (0, 1)}, ratio)


def _of_width(size: int, width: int, ratio: Fraction) -> list[CyclicDesign]:
    """The design whose classes have so many residues each, of the least prime that has such classes."""
    prime = _prime_from(size, width)
    return _of_residues(size, prime, (prime - 1) // width, {1}, ratio)


def _prime_from(size: int, step: int) -> int:
    """The least prime of at least a size, and 3, that is 1 modulo a step."""
    first = -(-(max(size, 3) - 1) // step) * step + 1
    return next(p for p in count(first, step) if is_prime(p))


def _of_residues(size: int, prime: int, classes: int, taken: set[int], ratio: Fraction) -> list[CyclicDesign]:
    """The designs of a prime whose blocks take so many of its classes; none where there are too many codes."""
    if prime * classes > MOST_CODES or classes < 2:
        return []
    widths = ((some, some * (prime - 1) // classes) for some in taken)
    return [BlockDesign(size, prime, classes, some, *_weights(classes, prime, w, ratio)) for some, w in widths]


def _of_plane(size: int, order: int, ratio: Fraction) -> list[CyclicDesign]:
    """The plane of the least prime order from a number that has enough points."""
    prime = next(q for q in count(max(order, isqrt(size) - 1)) if q * (q + 1) >= size - 1 and is_prime(q))
    if prime > LARGEST_ORDER:
        return []
    return [PlaneDesign(size, prime, *_weights(1, prime * (prime + 1) + 1, prime + 1, ratio))]


def _weights(bases: int, modulus: int, width: int, ratio: Fraction) -> tuple[int, int]:
    """high : low comes nearest to the ratio from below, with a total of 2^54 at most."""
    low = max(1, (1 << _TOTAL_BITS) // (bases * (modulus + width * int(ratio))))
    return int(low * ratio), low


def _demand(space: Any) -> None:
    expect(space, Categories, "space", "a space of Categories, whose frequencies are counted")
    if space.size > 62:
        raise ArgumentError("a set of more than 62 categories does not fit a machine word; use randomised_response")

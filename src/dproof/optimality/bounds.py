"""What no mechanism can beat: lower bounds of the maximal expected error. HLM15, section 6.

Every bound is a fraction, rounded down. Where a bound needs outputs to lie in D, it says so: a larger space of outputs
can beat HLM15's Theorem 7 (three points at mutual distance 1 and a hub at 1/2 from each: always answer the hub).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import choice
from dproof.exact import exact, exp_above, exp_below, written
from dproof.mechanisms.error import losses
from dproof.optimality.design import Problem
from dproof.optimality.pure import Seen, least_two_level, view
from dproof.privacy import Privacy, Promise
from dproof.spaces.categories import Categories
from dproof.spaces.space import Space, as_space

Outputs = Literal["inside", "anywhere"]
_MOST_PACKED = 64  # points of a packing
_LARGEST_LISTED = 2048  # points whose distances are looked at
_LARGEST_COMPARED = 256  # points whose views of the space are compared
_LARGEST_SPAN = 6  # points whose tight span is written out
_LINE, _LINE_WITH_DELTA = 65, 9  # points that stand for a line; more raise the bound by little


@dataclass(frozen=True, slots=True)
class LowerBound:
    """A lower bound of max_d E ρ(Y_d, d) for every mechanism with the guarantee, and what proves it."""

    value: Fraction
    name: str

    def __repr__(self) -> str:
        return f"<lower bound: {written(self.value, 6)} by {self.name}>"


def lower_bound(space: Space, privacy: Promise, *, outputs: Outputs = "inside") -> LowerBound:
    """The largest of all bounds that apply, with its name.

    `outputs="inside"` is for mechanisms that release points of the space; "anywhere" for any outputs at all.

    >>> bound = lower_bound(Categories(["a", "b", "c", "d", "e"]), Privacy(1))
    >>> round(float(bound.value), 10), bound.name
    (0.5953903248, 'HLM15, Theorem 7')
    """
    return max(lower_bounds(space, privacy, outputs=outputs), key=lambda bound: bound.value)


def lower_bounds(space: Space, privacy: Promise, *, outputs: Outputs = "inside") -> list[LowerBound]:
    """Every bound that applies, the published ones first."""
    choice(outputs, get_args(Outputs), "outputs")
    curves = getattr(space, "holds_curves", False)  # of which only the diameter is looked at
    known, promise, inside = space if curves else as_space(space), Privacy.of(privacy), outputs == "inside"
    if not curves and known.row is not None:
        return [_of_each_row(bound, known) for bound in lower_bounds(known.row, promise, outputs=outputs)]
    return list(_bounds(known, promise, inside))


def _of_each_row(bound: LowerBound, table: Any) -> LowerBound:
    """The bound for tables that differ in one row: n times that of a row where the metric is the sum over rows.

    Give every row the least favourable prior, independently. Averaged over the others, the law of each row keeps the
    promise, so it errs by the bound at least; and the mean of a norm is at least the norm of the means.
    """
    return LowerBound(table.norm([Fraction(1)] * table.n) * bound.value, f"{bound.name}, for each row")


def _bounds(space: Any, privacy: Privacy, inside: bool) -> Iterator[LowerBound]:
    odds, rest = exp_above(privacy.epsilon), 1 - privacy.delta
    diameter = _diameter_below(space)
    yield LowerBound(rest * diameter / (2 * (1 + odds)), "HLM15, Theorem 6")
    yield LowerBound(rest * diameter / (1 + odds), "HLM15, Theorem 6, doubled")
    size = getattr(space, "size", 0)
    if size < 2:
        return
    m = size - 1
    share = m / (m + odds)
    if inside or exp_below(privacy.epsilon) >= m:
        yield LowerBound(rest * space.separation * share, "HLM15, Theorem 7")
    yield LowerBound(rest * space.separation * min(Fraction(1, 2), share), "HLM15, Theorem 7, for outputs anywhere")
    if space.present is not None:  # "missing" lies no nearer to a value than any other value does
        yield from _bounds(space.present, privacy, False)
    if size <= _LARGEST_LISTED:
        yield LowerBound(rest * _packing(space, odds), "packing")
    seen = _view(space) if inside and privacy.delta == 0 else None
    if seen is not None:
        yield LowerBound(least_two_level(seen, odds).error, "a space that looks the same from every point")
    if space.spacing is not None:
        yield LowerBound(_on_a_line(space, privacy), "linear programme on a line, every space of outputs")
    elif size <= _LARGEST_SPAN:
        yield LowerBound(_optimum_below(_tight_span(space).T, privacy), "tight span, every space of outputs")


def _diameter_below(space: Any) -> Fraction:
    """The diameter; that of curves in L2 is rounded up by 2^-64 at most, relatively."""
    diameter = Fraction(space.diameter)
    return diameter if hasattr(space, "size") else diameter * (1 - Fraction(1, 1 << 40))


def _packing(space: Space, odds: Fraction) -> Fraction:
    """max over m of r·min{1/2, m/(m + e^ε)}, where r is the least distance among m + 1 points far apart.

    The points are found by always taking the farthest from those before, beginning at an end of a diameter.
    """
    first = next(n for n in range(space.size) if max(space.distances(n)) == space.diameter)
    nearest = space.distances(first).copy()
    best = Fraction(0)
    for m in range(1, min(space.size, _MOST_PACKED)):
        farthest = int(nearest.argmax())
        best = max(best, exact(nearest[farthest]) * min(Fraction(1, 2), m / (m + odds)))
        nearest = np.minimum(nearest, space.distances(farthest))
    return best


def _view(space: Space) -> Seen | None:
    """The distances that every point sees, each with how often; None where points see different ones."""
    distances = space.by_differences()
    if distances is not None and not space.is_discrete:
        return [(distance, comb(len(distances) - 1, n)) for n, distance in enumerate(distances)]
    if space.size > _LARGEST_COMPARED:
        return None
    return view(losses(space))


def _on_a_line(space: Space, privacy: Privacy) -> Fraction:
    """The optimum on some of the points, from below: it holds for all of them, and for outputs anywhere.

    Between two neighbours among the points every loss |y − d| is linear in y, so any output on the line may be split
    onto them, and the tight span of points on a line is the segment between the outer two.
    """
    count = min(space.size, _LINE if privacy.delta == 0 else _LINE_WITH_DELTA)
    places = np.unique(np.rint(np.linspace(0, space.size - 1, count)).astype(np.int64)).astype(object)
    return _optimum_below(np.abs(places[:, None] - places) * space.separation, privacy)


def _tight_span(space: Space) -> NDArray[Any]:
    """The vertices f of {f ≥ 0, f_i + f_j ≥ ρ_ij}, as fractions, one row each.

    The distances of any point anywhere dominate a mixture of them. A vertex solves as many of the equations f_i = 0 and
    f_i + f_j = ρ_ij as there are points; twice the inverse of such a system is a matrix of whole numbers.
    """
    distances, k = losses(space), space.size
    pairs = list(combinations(range(k), 2))
    left = np.array([np.eye(k)[i] for i in range(k)] + [np.eye(k)[i] + np.eye(k)[j] for i, j in pairs])
    right = np.array([0] * k + [int(distances.whole[i, j]) for i, j in pairs], object)
    right = right.astype(np.int64) if right.max() < 1 << 56 else right
    chosen = np.array(list(combinations(range(len(left)), k)))
    chosen = chosen[np.abs(np.linalg.det(left[chosen])) > 0.5]
    twice = np.rint(2 * np.linalg.inv(left[chosen])).astype(np.int64)
    doubled = (twice * right[chosen][:, None, :]).sum(axis=2)
    fits = (doubled @ left.T.astype(np.int64) >= 2 * right).all(axis=1)
    vertices = {tuple(int(x) for x in row) for row in doubled[fits]}
    return np.array([[Fraction(x, 2 * distances.unit) for x in row] for row in sorted(vertices)], object)


def _optimum_below(losses_: NDArray[Any], privacy: Privacy) -> Fraction:
    """A proven lower bound of the optimum under a matrix of losses."""
    points, outputs = (Categories(list(range(n))) for n in losses_.shape)
    best = Problem(points, privacy, losses_.tolist(), outputs).best()
    return best.optimum.lower_bound if best.optimum else Fraction(0)

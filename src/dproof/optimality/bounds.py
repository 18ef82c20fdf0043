"""Bounds that no mechanism can beat: lower bounds of the maximal expected error, and the known mechanisms beside them.

HLM15, section 6.

Every bound is a fraction, rounded down. Where a bound needs outputs to lie in D, it says so: a larger space of outputs
can beat HLM15's Theorem 7 (three points at mutual distance 1 and a hub at 1/2 from each: always answer the hub).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations
from math import comb
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dproof.arguments import choice
from dproof.errors import ArgumentError, InputError
from dproof.exact import exp_above, exp_below, whole_numbers, written
from dproof.mechanisms.finite import itemwise_response, randomised_response
from dproof.mechanisms.frequency import subset_selection, unary_encoding
from dproof.mechanisms.mechanism import Mechanism, losses
from dproof.mechanisms.noise import bounded_laplace, gaussian, laplace, staircase, truncated_laplace
from dproof.optimality.design import Problem
from dproof.optimality.programme import LossCounts, least_two_level, view
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

    `space` holds the values; `privacy` is a Privacy or a number ε.

    >>> bound = lower_bound(Categories(["a", "b", "c", "d", "e"]), Privacy(1))
    >>> round(float(bound.value), 10), bound.name
    (0.5953903248, 'HLM15, Theorem 7')
    """
    return max(lower_bounds(space, privacy, outputs=outputs), key=lambda bound: bound.value)


def lower_bounds(space: Space, privacy: Promise, *, outputs: Outputs = "inside") -> list[LowerBound]:
    """Every bound that applies, the published ones first.

    `space` holds the values; `privacy` is a Privacy or a number ε; `outputs` is the space of what is released,
    where it is another.
    """
    choice(outputs, get_args(Outputs), "outputs")
    curves = getattr(space, "holds_curves", False)  # of which only the diameter is looked at
    known: Any = space if curves else as_space(space)
    promise, inside = Privacy.of(privacy), outputs == "inside"
    if curves or known.row is None:
        return list(_bounds(known, promise, inside))
    # Tables that differ in one row: n times the bound of a row where the metric is the sum over rows. Give every row
    # the least favourable prior, independently. Averaged over the others, the law of each row keeps the promise, so it
    # errs by the bound at least; and the mean of a norm is at least the norm of the means.
    times, of_row = known.norm([Fraction(1)] * known.n), lower_bounds(known.row, promise, outputs=outputs)
    return [LowerBound(times * bound.value, f"{bound.name}, for each row") for bound in of_row]


def _bounds(space: Any, privacy: Privacy, inside: bool) -> Iterator[LowerBound]:
    odds, rest = exp_above(privacy.epsilon), 1 - privacy.delta
    diameter = Fraction(space.diameter)
    if space.size is None:  # that of curves in L2 is rounded up by 2^-64 at most, relatively
        diameter *= 1 - Fraction(1, 1 << 40)
    yield LowerBound(rest * diameter / (2 * (1 + odds)), "HLM15, Theorem 6")
    yield LowerBound(rest * diameter / (1 + odds), "HLM15, Theorem 6, doubled")
    size = space.size or 0  # of curves there is none
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
        yield LowerBound(least_two_level(seen, odds)[0], "a space that looks the same from every point")
    if space.spacing is not None:
        yield LowerBound(_on_a_line(space, privacy), "linear programme on a line, every space of outputs")
    elif size <= _LARGEST_SPAN:
        yield LowerBound(_optimum_below(_tight_span(space).T, privacy), "tight span, every space of outputs")


def _packing(space: Space, odds: Fraction) -> Fraction:
    """max over m of r·min{1/2, m/(m + e^ε)}, where r is the least distance among m + 1 points far apart.

    The points are found by always taking the farthest from those before, beginning at an end of a diameter.
    """
    first = next(n for n in range(space.size) if max(space.distances(n)) == space.diameter)
    nearest = space.distances(first).copy()
    apart = []
    for _ in range(1, min(space.size, _MOST_PACKED)):
        farthest = int(nearest.argmax())
        apart.append(nearest[farthest])
        nearest = np.minimum(nearest, space.distances(farthest))
    whole, unit = whole_numbers([apart], "a distance")
    shares = (Fraction(int(r), unit) * min(Fraction(1, 2), m / (m + odds)) for m, r in enumerate(whole[0], 1))
    return max(shares, default=Fraction(0))


def _view(space: Space) -> LossCounts | None:
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


_MOST_DESIGNED = 101  # points for which the linear programme is solved while one waits


@dataclass(frozen=True, slots=True)
class ComparedMechanism:
    """One mechanism of a comparison.

    `error` is the maximal expected error, None where outputs have no distance from inputs. `variance` is that of one
    released number, or of one row's part in an unbiased count of a rare category; None for neither.
    `bound` is what no mechanism with such outputs can beat.
    """

    mechanism: Mechanism
    error: float | None
    variance: float | None
    bound: float | None

    @property
    def name(self) -> str:
        return self.mechanism.name


@dataclass(frozen=True, slots=True)
class Comparison:
    """Mechanisms with one promise, those of least error first; and why others were left out."""

    space: Space
    privacy: Privacy
    rows: tuple[ComparedMechanism, ...]
    left_out: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        table = [["mechanism", "error", "variance", "none below"]]
        table += [[r.name, *(_short(x) for x in (r.error, r.variance, r.bound))] for r in self.rows]
        first, *others = (max(map(len, column)) for column in zip(*table, strict=True))
        lines = [
            "  ".join([name.ljust(first), *(cell.rjust(w) for cell, w in zip(cells, others, strict=True))])
            for name, *cells in table
        ]
        return "\n".join([*lines, *(f"{name}: {why}" for name, why in self.left_out)])

    __repr__ = __str__

    def chart(self) -> Any:
        """The errors as bars, each with the bound that holds for it as a line: an Altair chart."""
        from dproof.plotting import altair

        alt = altair()
        bars = [
            {"mechanism": r.name, "error": r.error, "none below": r.bound} for r in self.rows if r.error is not None
        ]
        base = alt.Chart({"values": bars}).encode(y=alt.Y("mechanism:N", sort=None, title=None))
        error = base.mark_bar().encode(x=alt.X("error:Q", title="maximal expected error"))
        bound = base.mark_tick(thickness=3, color="black").encode(x="none below:Q", tooltip=["none below:Q"])
        return error + bound


def compare(space: Space, privacy: Promise) -> Comparison:
    """The known mechanisms that fit the space, calibrated to the promise.

    `space` holds the values; `privacy` is a Privacy or a number ε.

    >>> from dproof import Interval
    >>> shown = compare(Interval(0, 1, "0.05"), Privacy(1))
    >>> [row.name for row in shown.rows][:3]
    ['optimal design', 'clamped staircase', 'clamped Laplace']
    """
    as_space(space)
    privacy = Privacy.of(privacy)
    rows: list[ComparedMechanism] = []
    left_out: list[tuple[str, str]] = []
    within, anywhere = (float(lower_bound(space, privacy, outputs=where).value) for where in get_args(Outputs))
    for name, make in _candidates(space):
        try:
            mechanism = make(space, privacy)
        except InputError as problem:
            left_out.append((name, str(problem)))
            continue
        if mechanism.name not in {row.name for row in rows}:  # the best design may be a mechanism with a name
            rows.append(_row(mechanism, within if mechanism.outputs == mechanism.inputs else anywhere))
    if not rows:
        raise ArgumentError(
            "no mechanism fits this space and this promise; the documentation of each says what it needs"
        )
    ordered = sorted(rows, key=lambda r: (r.error is None, r.error or 0.0, r.variance or 0.0))
    return Comparison(space, privacy, tuple(ordered), tuple(left_out))


def _candidates(space: Space) -> Iterator[tuple[str, Callable[[Any, Privacy], Mechanism]]]:
    yield "design", _design
    if space.line is not None:
        yield "Laplace", laplace
        yield "clamped Laplace", partial(laplace, clamp=True)
        yield "truncated Laplace", truncated_laplace
        yield "bounded Laplace", bounded_laplace
        yield "Gaussian", gaussian
        yield "staircase", staircase
        yield "clamped staircase", partial(staircase, clamp=True)
    yield "randomised response", randomised_response
    if space.items is not None:
        yield "itemwise response", itemwise_response
    if space.labels is not None:
        yield "optimised unary encoding", unary_encoding
        yield "symmetric unary encoding", partial(unary_encoding, form="symmetric")
        yield "subset selection", subset_selection


def _design(space: Space, privacy: Privacy) -> Mechanism:
    if space.size > _MOST_DESIGNED:
        raise ArgumentError(f"takes a while beyond {_MOST_DESIGNED} points; call design itself")
    return Problem(space, privacy).best()


def _row(mechanism: Mechanism, bound: float) -> ComparedMechanism:
    try:
        error: float | None = float(mechanism.error)
    except InputError:
        error = None
    return ComparedMechanism(mechanism, error, _variance(mechanism), None if error is None else bound)


def _variance(mechanism: Mechanism) -> float | None:
    """The largest variance of a released number over all inputs, or what one row adds to that of a rare count."""
    if mechanism.inputs.line is not None:
        of_numbers = mechanism.bias_and_variance()
        return None if of_numbers is None else of_numbers.variance
    hit, miss = mechanism.family.support_probabilities or (0, 0)
    return None if hit == miss else float(miss * (1 - miss) / (hit - miss) ** 2)


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.5g}"

"""All mechanisms for a space side by side: what each errs, and what none can beat."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

from dproof.errors import InputError
from dproof.mechanisms.additive import bounded_laplace, gaussian, laplace, staircase, truncated_laplace
from dproof.mechanisms.finite import itemwise_response, randomised_response
from dproof.mechanisms.frequency import subset_selection, unary_encoding
from dproof.mechanisms.mechanism import Mechanism
from dproof.optimality.bounds import Outputs, lower_bound
from dproof.optimality.design import Problem
from dproof.privacy import Privacy, Promise
from dproof.spaces.space import Space, as_space

_MOST_DESIGNED = 101  # points for which the linear programme is solved while one waits


@dataclass(frozen=True, slots=True)
class Compared:
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
    rows: tuple[Compared, ...]
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
        import altair as alt

        bars = [
            {"mechanism": r.name, "error": r.error, "none below": r.bound} for r in self.rows if r.error is not None
        ]
        base = alt.Chart({"values": bars}).encode(y=alt.Y("mechanism:N", sort=None, title=None))
        error = base.mark_bar().encode(x=alt.X("error:Q", title="maximal expected error"))
        bound = base.mark_tick(thickness=3, color="black").encode(x="none below:Q", tooltip=["none below:Q"])
        return error + bound


def compare(space: Space, privacy: Promise) -> Comparison:
    """Every mechanism that fits the space, calibrated to the promise.

    >>> from dproof import Interval
    >>> shown = compare(Interval(0, 1, "0.05"), Privacy(1))
    >>> [row.name for row in shown.rows][:3]
    ['optimal design', 'clamped staircase', 'clamped Laplace']
    """
    as_space(space)
    privacy = Privacy.of(privacy)
    rows: list[Compared] = []
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
        raise InputError(
            "no mechanism fits this space and this promise; see the documentation of each for what it needs"
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
        raise InputError(f"takes a while beyond {_MOST_DESIGNED} points; call design itself")
    return Problem(space, privacy).best()


def _row(mechanism: Mechanism, bound: float) -> Compared:
    try:
        error: float | None = float(mechanism.error)
    except InputError:
        error = None
    return Compared(mechanism, error, _variance(mechanism), None if error is None else bound)


def _variance(mechanism: Mechanism) -> float | None:
    """The largest variance of a released number over all inputs, or what one row adds to that of a rare count."""
    if mechanism.inputs.line is not None:
        of_numbers = mechanism.bias_and_variance()
        return None if of_numbers is None else of_numbers.variance
    hit, miss = mechanism.family.hit_and_miss or (0, 0)
    return None if hit == miss else float(miss * (1 - miss) / (hit - miss) ** 2)


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.5g}"

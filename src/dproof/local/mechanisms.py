"""Which mechanism a column gets: `mechanism = "auto"` is decided here and nowhere else.

A release is asked questions that nobody knows yet, so a law must not only err little: it must let the true counts be
estimated. The law of least error often answers several values alike, and then no count of one of them can be had.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

from dproof.arguments import described, expect
from dproof.curves.noise import curve_noise
from dproof.errors import ArgumentError, DproofError, InputError, PlanError, did_you_mean
from dproof.laws.law import LAWS
from dproof.mechanisms.finite import itemwise_response, randomised_response
from dproof.mechanisms.frequency import even_variance, frequency, one_item
from dproof.mechanisms.mechanism import Mechanism
from dproof.mechanisms.noise import bounded_laplace, gaussian, laplace, staircase, truncated_laplace
from dproof.optimality.design import SHORT, Problem, design, is_long, output_lattice, rounded_design
from dproof.privacy import Privacy
from dproof.spaces.interval import Interval

if TYPE_CHECKING:
    from dproof.plans.questions import Use

Calibrate = Callable[[Any, Privacy], Mechanism]
Uses = frozenset["Use"]
_MOST_DESIGNED_VALUES = 32  # values, of a space for which a law is designed
_MOST_READABLE = 15  # values that rows go on to hold where nobody says what will be asked
_MOST_VARIANCE_RATIO = 10  # times the variance of a count that a smaller error may cost


def unbiased_design(space: Interval, privacy: Privacy) -> Mechanism:
    """The unbiased law of least variance, on a coarse lattice where the interval has many points."""
    if privacy.epsilon > 0 and is_long(space, privacy):
        return rounded_design(space, privacy)
    return replace(design(space, privacy, unbiased=True), inputs=space)


# The names that a plan may give, by what a space says of itself (`mechanisms`).
MECHANISMS: dict[str, dict[str, Calibrate]] = {
    "categories": {"randomised_response": randomised_response, "frequency": frequency, "design": design},
    "interval": {
        "laplace": laplace,
        "clamped_laplace": partial(laplace, clamp=True),
        "truncated_laplace": truncated_laplace,
        "bounded_laplace": bounded_laplace,
        "staircase": staircase,
        "gaussian": gaussian,
        "unbiased_design": unbiased_design,
        "design": design,
        "randomised_response": randomised_response,
    },
    "subsets": {
        "itemwise_response": itemwise_response,
        "one_item": one_item,
        "randomised_response": randomised_response,
        "design": design,
    },
    "joint": {"randomised_response": randomised_response, "frequency": frequency},
    "curves": {kind: partial(curve_noise, noise=kind) for kind in ("laplace", "gaussian", "k_norm")},
}
# By which a row of what is counted holds a value, and no code that stands for several.
READABLE = {"categories": "randomised_response", "joint": "randomised_response", "subsets": "itemwise_response"}
_ADDING = ("categories", "interval", "subsets")  # of one column, with finitely many values


def choose(space: Any, privacy: Privacy, name: str = "auto", uses: Uses = frozenset()) -> Mechanism:
    """The mechanism for a space, calibrated to its part of the promise; "auto" is the best for these uses.

    >>> from dproof import Categories
    >>> choose(Categories(["yes", "no"]), Privacy(1)).name
    'randomised response'
    """
    known: dict[str, Calibrate] = {"auto": partial(AUTO[space.mechanisms], uses), **MECHANISMS[space.mechanisms]}
    if name not in known:
        raise PlanError(f"the mechanism {name[:40]!r} is not known for {space.mechanisms}{did_you_mean(name, known)}")
    if space.present is None:
        return known[name](space, privacy)
    try:
        return known[name](space.present, privacy).with_missing(privacy)
    except InputError:
        if name != "auto" or not uses:
            raise
        return choose(space, privacy)  # the best law for these uses cannot tell that a value is missing


def add_mechanism(name: str, function: Calibrate) -> None:
    """Let plans say `mechanism = "name"` for a function of a space and a `Privacy` that gives a `Mechanism`.

    It is for a column of categories, numbers, dates or sets, or of a space that was added; the function raises an
    `InputError` for those that it does not serve. What it gives is certified as every law is.

    `name` is what plans call it; `function` makes the mechanism from a space and a Privacy.
    """
    expect(name, str, "name", "a text: what plans call the mechanism")
    if not callable(function):
        raise ArgumentError(f"function must be a function of a space and a Privacy, not {described(function)}")
    added = _AddedMechanism(name, function)
    if name == "auto" or any(known.get(name, added) != added for known in MECHANISMS.values()):
        raise ArgumentError(f"there is a mechanism called {name[:40]!r} already: choose another name")
    for kind in _ADDING:
        MECHANISMS[kind][name] = added


@dataclass(frozen=True, slots=True)
class _AddedMechanism:
    """A mechanism that was added: refused where no release could be made of it, or opened again."""

    name: str
    function: Calibrate

    def __call__(self, space: Any, privacy: Privacy) -> Mechanism:
        made: Any = self.function(space, privacy)
        if not isinstance(made, Mechanism):
            raise PlanError(f"the mechanism {self.name!r} must give a Mechanism, not {described(made)}")
        law = made.family
        if made.inputs != space or law.inputs != space.size:
            raise PlanError(f"the mechanism {self.name!r} gives a law for another space than the column's")
        if made.outputs != space and (space.line is None or made.outputs.line is None):
            raise PlanError(f"the mechanism {self.name!r} must release values of the column's space, or numbers")
        if law.neighbours is not None:
            raise PlanError(f"the mechanism {self.name!r} must be private for every pair of values, not for some")
        if law.kind not in LAWS:
            raise PlanError(
                f"the mechanism {self.name!r} has a law of the kind {law.kind!r}, which cannot be read back: "
                "add it to dproof.laws.law.LAWS"
            )
        return made


def _counts(otherwise: Calibrate, uses: Uses, space: Any, privacy: Privacy) -> Mechanism:
    """The law of least variance of counts where these are asked for, or where there are many values: all that can be
    told of such a column is told by counts. Few values, and values that lie near each other, stay readable in rows."""
    usual = otherwise(space, privacy)
    near = space.diameter != space.separation and space.factors is None
    many = space.size > _MOST_READABLE and not near
    counted = many or (uses and uses <= {"values", "ranks"})
    if "rows" in uses or not counted or (privacy.delta and not privacy.epsilon):
        return usual
    best = frequency(space, privacy.without_delta())
    return best if even_variance(best.family, space.size) < even_variance(usual.family, space.size) else usual


def _sets(uses: Uses, space: Any, privacy: Privacy) -> Mechanism:
    """The law of least variance of counts where single items are all that is asked for, else that of least error."""
    usual = _finite(space, privacy)
    if uses != {"items"} or privacy.epsilon == 0:
        return usual
    single = one_item(space, privacy)
    before, after = (mechanism.family.count_variance(space) for mechanism in (usual, single))
    return single if after is not None and (before is None or after < before) else usual


def _finite(space: Any, privacy: Privacy) -> Mechanism:
    """The law of least error that still lets counts be estimated.

    Under the discrete metric it is randomised response (HLM16, Theorem 10). Sets take that or a response for each
    item, whichever errs less. Under another metric a small space has its law designed.
    """
    best = randomised_response(space, privacy)
    if space.diameter == space.separation or privacy.epsilon == 0:
        return best
    if space.items is not None:
        best = min(best, itemwise_response(space, privacy), key=lambda mechanism: mechanism.error)
    if space.size > _MOST_DESIGNED_VALUES:
        return best
    designed = _tried(Problem(space, privacy).best)
    if designed is None or designed.error >= best.error:
        return best
    usual, variance = best.family.count_variance(space), designed.family.count_variance(space)
    return designed if usual is not None and variance is not None and variance <= _MOST_VARIANCE_RATIO * usual else best


def _numbers(uses: Uses, space: Interval, privacy: Privacy) -> Mechanism:
    """Unbiased in any case: Laplace noise, or the law of least variance where the interval is short, or where nothing
    but sums and means are asked for. From such a law of a long interval little else could be told."""
    noise, pure = laplace(space, privacy), privacy.without_delta()
    if privacy.epsilon == 0 or space.size == 1:
        return noise
    if space.size <= SHORT and output_lattice(space, privacy.epsilon).step == space.step:
        designed = _tried(Problem(space, pure, unbiased=True).best)
        if designed is None or (privacy.delta and _largest_variance(noise) < _largest_variance(designed)):
            return noise
        return replace(designed, inputs=space)
    if uses == {"sums"} and is_long(space, privacy):
        designed = _tried(partial(rounded_design, space, pure))
        return min(noise, designed or noise, key=_largest_variance)
    return noise


def _largest_variance(mechanism: Mechanism) -> float:
    found = mechanism.bias_and_variance()
    return inf if found is None else found.variance


def _tried(best: Callable[[], Mechanism]) -> Mechanism | None:
    """A designed law, or None where there is none to be had; what it cannot estimate is judged here."""
    try:
        return best()
    except DproofError:
        return None


AUTO: dict[str, Callable[[Uses, Any, Privacy], Mechanism]] = {
    "categories": partial(_counts, _finite),
    "interval": _numbers,
    "subsets": _sets,
    "joint": partial(_counts, randomised_response),
    "curves": lambda uses, space, privacy: curve_noise(space, privacy),
}

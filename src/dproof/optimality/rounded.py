"""Unbiased numbers on any interval: the design of a coarse lattice, to which values are rounded at random."""

from __future__ import annotations

from functools import lru_cache
from math import ceil, exp
from typing import Any

from dproof.laws.rounded import Rounded
from dproof.mechanisms.mechanism import Mechanism
from dproof.optimality.design import Problem
from dproof.optimality.pure import spread
from dproof.optimality.unbiased import demand_epsilon, finest_outputs
from dproof.privacy import Privacy
from dproof.spaces.interval import Interval

SHORT = 41  # points of an interval whose own lattice is designed
_LEAST, _MOST = 20, 128  # steps of a coarse lattice; the design of more takes seconds
_BASE, _GROWTH = 6.4, 0.375  # rounding adds h²/4 at most; with 6.4·e^(3ε/8) steps that is below 1% of the variance


def is_long(space: Interval, privacy: Privacy) -> bool:
    """Whether an interval has so many points that those of a coarse lattice are designed in their place."""
    return space.size > SHORT and coarse_steps(space, privacy) < space.size - 1


def rounded_design(space: Interval, privacy: Privacy) -> Mechanism:
    """The unbiased law of least worst-case variance on a coarse lattice, to whose points numbers are first rounded, at
    random and without bias.

    For ε up to 8 the largest variance is at most 1.02 of the least that any unbiased ε-private law has on the interval.
    Why it is private: a mixture of private laws is private (`Rounded`).

    >>> law = rounded_design(Interval(-1, 1), Privacy(1))
    >>> law.family.steps, round(law.bias_and_variance().variance, 3)
    (20, 3.993)
    """
    steps = coarse_steps(space, privacy)
    coarse = _designed(steps, privacy)
    grid: Any = coarse.outputs
    law: Any = coarse.family
    width = space.diameter / steps
    outputs = space.between(space.low + width * grid.low, space.low + width * grid.high, width * grid.step)
    return Mechanism(coarse.name, space, outputs, Rounded(space.size, steps, law), coarse.source)


def coarse_steps(space: Interval, privacy: Privacy) -> int:
    """How many steps the coarse lattice has: enough for ε, and where it can be, a divisor of those of the interval."""
    demand_epsilon(privacy.epsilon)
    wanted = max(_LEAST, ceil(_BASE * exp(min(_GROWTH * float(privacy.epsilon), 10.0))))
    # Outputs must lie on the coarse lattice, and with little ε they reach far beyond the interval.
    most = min(_MOST, finest_outputs(spread(privacy.epsilon)))
    wanted, fine = min(wanted, most), space.size - 1
    dividing = (steps for steps in range(wanted, min(2 * wanted, most + 1)) if fine % steps == 0)
    return min(fine, next(dividing, wanted))


@lru_cache(maxsize=64)
def _designed(steps: int, privacy: Privacy) -> Mechanism:
    """The design depends on the number of steps and ε alone, so columns that share these share it."""
    return Problem(Interval(0, steps, 1), privacy, unbiased=True).best()

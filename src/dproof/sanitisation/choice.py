"""Which mechanism a column gets: `mechanism = "auto"` is decided here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dproof.curves.noise import curve_noise
from dproof.errors import InputError, did_you_mean
from dproof.mechanisms.bounded_laplace import bounded_laplace
from dproof.mechanisms.gaussian import gaussian
from dproof.mechanisms.laplace import laplace, truncated_laplace
from dproof.mechanisms.mechanism import Mechanism
from dproof.mechanisms.randomised_response import itemwise_response, randomised_response
from dproof.mechanisms.staircase import staircase
from dproof.privacy import Privacy

Calibrate = Callable[[Any, Privacy], Mechanism]

# The names that a plan may give, for each kind of column.
MECHANISMS: dict[str, dict[str, Calibrate]] = {
    "categories": {"randomised_response": randomised_response},
    "interval": {
        "laplace": laplace,
        "clamped_laplace": partial(laplace, clamp=True),
        "truncated_laplace": truncated_laplace,
        "bounded_laplace": bounded_laplace,
        "staircase": staircase,
        "gaussian": gaussian,
        "randomised_response": randomised_response,
    },
    "subsets": {"itemwise_response": itemwise_response, "randomised_response": randomised_response},
    "joint": {"randomised_response": randomised_response},
    "curves": {"laplace": partial(curve_noise, noise="laplace"), "gaussian": partial(curve_noise, noise="gaussian")},
}


def choose(kind: str, space: Any, privacy: Privacy, name: str = "auto") -> Mechanism:
    """The mechanism for a kind of column, calibrated to its part of the promise.

    >>> from dproof import Categories
    >>> choose("categories", Categories(["yes", "no"]), Privacy(1)).name
    'randomised response'
    """
    if name == "auto":
        return _AUTO[kind](space, privacy)
    known = MECHANISMS[kind]
    if name not in known:
        raise InputError(f"the mechanism {name[:40]!r} is not known for {kind}{did_you_mean(name, ['auto', *known])}")
    return known[name](space, privacy)


_AUTO: dict[str, Calibrate] = {
    "categories": randomised_response,
    "interval": laplace,
    "subsets": itemwise_response,
    "joint": randomised_response,
    "curves": curve_noise,
}

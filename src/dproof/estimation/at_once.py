"""Intervals that hold all at once: the options of each of several answers that are worked out one by one."""

from __future__ import annotations

from dataclasses import replace

from dproof.estimation.estimated import Options
from dproof.estimation.intervals import simultaneous


def for_each(options: Options, answers: int) -> Options:
    """The options of each of several answers; where all shall hold at once, with a higher level.

    Answers to be split further may be: level^(1/m) to the power 1/k is level^(1/(m·k)).

    >>> round(for_each(Options(simultaneous=True), 5).level, 6), for_each(Options(), 5).level
    (0.989794, 0.95)
    """
    return replace(options, level=simultaneous(options.level, answers)) if options.simultaneous else options

"""What can go wrong, in words a user can act on.

Every message says what, where and the way out, and none carries a value of the private data.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


class DproofError(Exception):
    """The root of every error that dproof raises on purpose."""


class InputError(DproofError, ValueError):
    """What was asked cannot be done as it was asked."""


class TooLarge(InputError):
    """The problem is larger than can be solved; the message names the size that fits."""


class NotPrivate(DproofError):
    """The mechanism breaks the promise; `witness` is the pair of inputs and the set that show it."""

    def __init__(self, message: str, witness: Any = None) -> None:
        super().__init__(message)
        self.witness = witness


class VerificationFailed(DproofError):
    """A certificate, a release or a ledger does not match its stored data or its hash chain."""


class OverBudget(DproofError):
    """The question costs more than is left; nothing was read and nothing was spent."""


class DproofWarning(UserWarning):
    """Something legitimate that a careful curator would want to know."""


_NEAR = 0.65  # of the letters alike: one slip in a word of three, but not "round" for "count"


def nearest(name: object, options: Iterable[object]) -> str | None:
    """The option that was probably meant, if one is near enough.

    >>> nearest("epslon", ["epsilon", "delta"]), nearest("round", ["count", "sum"])
    ('epsilon', None)
    """
    known = [str(option) for option in options]
    near = [o for o in known if o.casefold() == str(name).casefold()]
    return next(iter(near or get_close_matches(str(name), known, n=1, cutoff=_NEAR)), None)


def did_you_mean(name: object, options: Iterable[object]) -> str:
    """The nearest of the public options, or all where none is near, as a clause to end a message with.

    >>> did_you_mean("hoby", ["hobby", "age"])
    "; did you mean 'hobby'?"
    >>> did_you_mean("AGE", ["hobby", "age"])
    "; did you mean 'age'?"
    """
    known = [str(option) for option in options]
    near = nearest(name, known)
    if near is not None:
        return f"; did you mean {near!r}?"
    return f"; known are {', '.join(known[:12])}{', …' if len(known) > 12 else ''}" if known else ""

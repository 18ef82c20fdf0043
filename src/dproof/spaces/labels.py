"""The labels that a user declares: each known by its place in the list."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from dproof.arguments import listed
from dproof.errors import InputError, did_you_mean


def undeclared(value: Any, labels: Sequence[Any]) -> str | None:
    """Why a value is none of these labels, as the end of a sentence; None where it is one."""
    if any(value == label and isinstance(value, bool) == isinstance(label, bool) for label in labels):
        return None
    shown = repr(value) if isinstance(value, str) else str(value)
    return f"has no value {shown}{did_you_mean(value, [label for label in labels if label is not None])}"


def numbered(values: Iterable[Any], what: str) -> tuple[tuple[Hashable, ...], dict[Hashable, int]]:
    """The labels, each different from the others, and the place of each.

    >>> numbered(["yes", "no"], "category")
    (('yes', 'no'), {'yes': 0, 'no': 1})
    """
    labels = tuple(map(plain, listed(values, "values", f"a list with at least one {what}")))
    if not labels:
        raise InputError(f"values must be a list with at least one {what}")
    try:
        places = {label: place for place, label in enumerate(labels)}
    except TypeError:  # a list, say, cannot be looked up
        raise InputError(f"every {what} must be a text, a number, a boolean or None") from None
    if any(label != label for label in labels):
        raise InputError(
            f"not-a-number cannot be told from itself, so it is no {what}; declare None for what is missing"
        )
    if len(places) < len(labels):
        twice = next(label for place, label in enumerate(labels) if places[label] != place)
        raise InputError(f"the {what} {twice!r} is listed twice; every {what} needs a name of its own")
    return labels, places


def plain(value: Any) -> Any:
    """A NumPy scalar as the Python value it stands for."""
    return value.item() if isinstance(value, np.generic) else value

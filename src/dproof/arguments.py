"""Arguments as a caller hands them over, checked at the surface: a mistake is one sentence that names the argument.

Only the kind of a wrong value is told, never the value: it may be somebody's private data in the wrong place.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

from dproof.errors import ArgumentError, did_you_mean

T = TypeVar("T")
P = ParamSpec("P")
COLUMN = "a column of values: a list or an array"


def expect(value: Any, kind: type[T], name: str, what: str) -> T:
    """The argument, which must be of a kind; `what` says in words which.

    >>> expect(3, str, "column", "the name of a column")
    Traceback (most recent call last):
    dproof.errors.ArgumentError: column must be the name of a column, not an int
    """
    if isinstance(value, kind) and not isinstance(value, type):
        return value
    raise ArgumentError(f"{name} must be {what}, not {described(value)}")


class UnknownKeyword(ArgumentError, TypeError):
    """A function was called with a keyword that it does not have: a TypeError, as in Python itself."""


def named(function: Callable[P, T]) -> Callable[P, T]:
    """The function, which refuses a keyword that it does not have by naming the one that was probably meant.

    >>> named(lambda epsilon, delta=0: epsilon)(eps=1)
    Traceback (most recent call last):
    dproof.arguments.UnknownKeyword: there is no keyword 'eps'; did you mean 'epsilon'?
    """
    parameters = signature(function).parameters
    names = [name for name, one in parameters.items() if one.kind is not Parameter.VAR_KEYWORD and name != "self"]

    @wraps(function)
    def checked(*args: P.args, **keywords: P.kwargs) -> T:
        check_keywords(keywords, names)
        return function(*args, **keywords)

    return checked


def check_keywords(given: Iterable[str], known: Sequence[str]) -> None:
    """Refuse the first keyword that is not known."""
    for name in given:
        if name not in known:
            raise UnknownKeyword(f"there is no keyword {name[:40]!r}{did_you_mean(name, known)}")


def described(value: Any) -> str:
    """The kind of a value in words.

    >>> described(None), described([]), described(1), described(int)
    ('None', 'a list', 'an int', 'the class int')
    """
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    name = type(value).__name__
    return f"{'an' if name[0].casefold() in 'aeiou' else 'a'} {name}"


def choice(value: Any, options: Sequence[str], name: str) -> str:
    """A word that must be one of a few.

    >>> choice("supp", ("sup", "l2"), "norm")
    Traceback (most recent call last):
    dproof.errors.ArgumentError: norm 'supp' is not known; did you mean 'sup'?
    """
    if isinstance(value, str) and value in options:
        return str(value)
    if isinstance(value, str):
        raise ArgumentError(f"{name} {value[:40]!r} is not known{did_you_mean(value, options)}")
    raise ArgumentError(f"{name} must be one of {', '.join(map(repr, options))}, not {described(value)}")


def flag(value: Any, name: str) -> bool:
    """True or False, and nothing that merely counts as one of them."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise ArgumentError(f"{name} must be True or False, not {described(value)}")


def whole(value: Any, name: str, least: int, most: int | None = None) -> int:
    """A whole number in a range; True is none.

    >>> whole(0, "rows", 1)
    Traceback (most recent call last):
    dproof.errors.ArgumentError: rows must be a whole number of at least 1
    """
    number = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if number and value >= least and (most is None or value <= most):
        return int(value)
    span = f"of at least {least}" if most is None else f"from {least} to {most}"
    raise ArgumentError(f"{name} must be a whole number {span}" + ("" if number else f", not {described(value)}"))


def listed(value: Any, name: str, what: str) -> list[Any]:
    """The members of a list, a tuple, an array or another series of values; a text or a mapping is none."""
    if not isinstance(value, Iterable) or isinstance(value, (str, bytes, Mapping, type)):
        raise ArgumentError(f"{name} must be {what}, not {described(value)}")
    return list(value)


def mapping(value: Any, name: str, what: str) -> Mapping[Any, Any]:
    """A dict, or anything that is looked up like one."""
    if isinstance(value, Mapping):
        return value
    raise ArgumentError(f"{name} must be {what}, not {described(value)}")


def is_database(thing: Any) -> bool:
    """Whether a text is the address of a database.

    >>> is_database("postgresql://localhost/clinic?table=visits"), is_database("visits.csv")
    (True, False)
    """
    return isinstance(thing, str) and thing.startswith(("postgresql://", "postgres://"))


def as_path(value: Any, name: str) -> Path:
    """The path of a file or a folder."""
    if not isinstance(value, (str, os.PathLike)) or isinstance(os.fspath(value), bytes):
        raise ArgumentError(f"{name} must be a path, not {described(value)}")
    if not os.fspath(value) or "\0" in os.fspath(value):
        raise ArgumentError(f"{name} must be a path, not an empty text or one with a zero byte")
    return Path(value)

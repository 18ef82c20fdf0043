"""The TOML of a plan: read key by key, so that every mistake has a place, and written from plain values."""

from __future__ import annotations

import os
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

from dproof.arguments import as_path, described
from dproof.certification.verify_certificate import LONGEST_PLAN, is_deep
from dproof.errors import FileError, InputError, PlanError, did_you_mean, nearest
from dproof.exact import exact, plain_number
from dproof.spaces.space import plain

T = TypeVar("T")
Keys = tuple[str, ...]


def read_text(path: str | os.PathLike[str], what: str) -> str:
    """The text of a TOML file; `what` it holds is for the messages."""
    where = as_path(path, "path")
    try:
        if where.stat().st_size > LONGEST_PLAN:
            raise PlanError(f"{where.name!r} is too long for a {what}")
        return where.read_text("utf-8")
    except UnicodeDecodeError:
        raise PlanError(f"{where.name!r} is not UTF-8 text: a {what} is a TOML file") from None
    except OSError as error:
        raise FileError(f"the {what} {str(path)!r} cannot be read: {error.strerror}") from None


def read_toml(text: str, name: str, build: Callable[[Reader], T]) -> T:
    """What `build` makes of a TOML text; a mistake is told with its key and line."""
    try:
        if is_deep(text):
            raise RecursionError
        return build(Reader(tomllib.loads(text), ()))
    except tomllib.TOMLDecodeError as error:
        hint = "text needs quotes, and yes and no are written true and false" if "value" in str(error).lower() else ""
        raise PlanError(f"{name}: not valid TOML: {error}{hint and f'; {hint}'}") from None
    except Misplaced as error:
        line = line_of(text, error.path)
        raise WrongKey(f"{name}{f', line {line}' if line else ''}: {error}", error) from None
    except RecursionError:
        raise PlanError(f"{name}: tables or lists lie too deep inside each other") from None


def line_of(text: str, path: Keys) -> int | None:
    """The line of a key, or of the nearest table around it that the text names; [[tables]] are counted from 1.

    >>> line_of("[columns.age]\\nlow = 0\\nhigh = 9", ("columns", "age", "high"))
    3
    >>> line_of("[[joint]]\\ncolumns = []\\n[[joint]]\\ncolumns = []", ("joint", "2", "columns"))
    4
    """
    lines: dict[Keys, int] = {}
    table: Keys = ()
    times: Counter[Keys] = Counter()
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("["):
            table = _header(stripped) or table
            lines.setdefault(table, number)
            if stripped.startswith("[["):
                times[table] += 1
                table = (*table, str(times[table]))
                lines.setdefault(table, number)
        elif "=" in stripped:
            keys = _keys(stripped.split("=", 1)[0] + "= 0")
            if keys:
                lines.setdefault(table + keys, number)
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return None


def _header(line: str) -> Keys | None:
    return _keys(line.split("#")[0] if '"' not in line else line)


def _keys(line: str) -> Keys | None:
    try:
        value: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return None
    keys: list[str] = []
    while isinstance(value, dict) and value:
        (key, value), *_ = value.items()
        keys.append(key)
        value = value[0] if isinstance(value, list) and value else value
    return tuple(keys)


def to_toml(tables: Mapping[str, Any]) -> str:
    """Plain values as TOML. A number that no TOML number is exactly is written as a text, which a plan reads exactly.

    >>> print(to_toml({"order": "keep", "privacy": {"epsilon": Fraction(1, 3)}}))
    order = "keep"
    <BLANKLINE>
    [privacy]
    epsilon = "1/3"
    <BLANKLINE>
    """
    import tomli_w

    return tomli_w.dumps(_written(tables, ()))


def _written(value: Any, path: Keys) -> Any:
    """A value as TOML can write it."""
    value = plain(value)
    if isinstance(value, Mapping):
        wrong = next((key for key in value if not isinstance(key, str)), None)
        if wrong is not None:
            raise PlanError(f"each key of a plan must be a text, not {described(wrong)}")
        return {key: _written(item, (*path, key)) for key, item in value.items()}
    if isinstance(value, (list, tuple)) or hasattr(value, "tolist"):
        return [_written(item, path) for item in value]
    if isinstance(value, (Fraction, Decimal)):
        number = plain_number(exact(value, ".".join(path)))
        return number if isinstance(number, (int, float)) else str(number)
    if isinstance(value, (str, int, float, date)):
        return value
    raise PlanError(f"{'.'.join(path)} must be a text, a number or another value of TOML, not {described(value)}")


class Misplaced(Exception):
    """A mistake in a plan, with the path of its key."""

    def __init__(self, path: Keys, message: str) -> None:
        super().__init__(f"{'.'.join(path) or 'this'} {message}")
        self.path = path


class WrongKey(PlanError):
    """A mistake in a plan, told with its line; a form shows it beside the field of its key."""

    def __init__(self, message: str, misplaced: Misplaced) -> None:
        super().__init__(message)
        self.path, self.sentence = misplaced.path, str(misplaced)


class Reader:
    """One table of a plan; `finish` refuses the keys that nobody asked for."""

    def __init__(self, table: Any, path: Keys) -> None:
        if not isinstance(table, Mapping):
            raise Misplaced(path, "must be a table")
        self._table = table
        self._asked: set[str] = set()
        self.path = path

    def __contains__(self, key: str) -> bool:
        return key in self._table

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def given(self, *keys: str) -> list[str]:
        """Those of some keys that stand there."""
        return [key for key in keys if key in self._table]

    def wrong(self, key: str, message: str) -> Misplaced:
        """The mistake of one key."""
        return Misplaced((*self.path, key), message)

    def value(self, key: str, *default: Any) -> Any:
        """Whatever stands there; without a default the key is required."""
        self._asked.add(key)
        if key in self._table:
            return self._table[key]
        if not default:
            meant = nearest(key, [other for other in self._table if other not in self._asked])
            raise self.wrong(key, "is missing") if meant is None else self._unknown(meant, [key])
        return default[0]

    def table(self, key: str) -> Reader:
        return Reader(self.value(key), (*self.path, key))

    def tables(self, key: str) -> list[Reader]:
        given = self.value(key, [])
        if not isinstance(given, list):
            raise self.wrong(key, f"must be a list of tables: write [[{key}]]")
        return [Reader(table, (*self.path, key, str(n))) for n, table in enumerate(given, 1)]

    def text(self, key: str, *default: Any) -> Any:
        given = self.value(key, *default)
        if not isinstance(given, str) and (not default or given is not default[0]):
            raise self.wrong(key, "must be text")
        return given

    def texts(self, key: str) -> tuple[str, ...]:
        given = self.value(key)
        if not isinstance(given, list) or not given or not all(isinstance(x, str) for x in given):
            raise self.wrong(key, "must be a list of texts")
        if len(set(given)) < len(given):
            raise self.wrong(key, "names something twice")
        return tuple(given)

    def choice(self, key: str, options: tuple[str, ...], *default: str) -> str:
        given = self.text(key, *default)
        if given not in options:
            raise self.wrong(key, f"cannot be {given[:40]!r}{did_you_mean(given, options)}")
        return str(given)

    def flag(self, key: str) -> bool:
        given = self.value(key, False)
        if not isinstance(given, bool):
            raise self.wrong(key, "must be true or false")
        return given

    def integer(self, key: str, default: int) -> int:
        given = self.value(key, default)
        if isinstance(given, bool) or not isinstance(given, int):
            raise self.wrong(key, "must be a whole number")
        return given

    def number(self, key: str, *default: Any) -> Any:
        given = self.value(key, *default)
        if default and given is default[0]:
            return given
        if not isinstance(given, (int, float, str)) or isinstance(given, bool):
            raise self.wrong(key, "must be a number")
        try:
            return exact(given, "the number")
        except InputError as error:
            raise self.wrong(key, f"is wrong: {error}") from None

    def share(self, key: str, default: Fraction) -> Fraction:
        given: Fraction = self.number(key, default)
        if given <= 0:
            raise self.wrong(key, "must be positive: it is a weight in the split of epsilon")
        return given

    def calling(self, build: Callable[[], T]) -> T:
        """What `build` makes; its refusal is a mistake of this table."""
        try:
            return build()
        except InputError as error:
            raise Misplaced(self.path, f"is wrong: {error}") from None

    def finish(self) -> None:
        """Refuse what nobody asked for."""
        for key in self._table:
            if key not in self._asked:
                raise self._unknown(key, sorted(self._asked))

    def _unknown(self, key: str, known: Iterable[str]) -> Misplaced:
        return self.wrong(key, f"is not a known key{did_you_mean(key, known)}")

"""Plans as text: the line that a key stands on, and TOML written from plain values."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dproof.arguments import expect

Path = tuple[str, ...]


def line_of(text: str, path: Path) -> int | None:
    """The line of a key, or of the nearest table around it that the text names; [[tables]] are counted from 1.

    >>> line_of("[columns.age]\\nlow = 0\\nhigh = 9", ("columns", "age", "high"))
    3
    >>> line_of("[[joint]]\\ncolumns = []\\n[[joint]]\\ncolumns = []", ("joint", "2", "columns"))
    4
    """
    found: dict[Path, int] = {}
    table: Path = ()
    times: Counter[Path] = Counter()
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("["):
            table = _header(stripped) or table
            found.setdefault(table, number)
            if stripped.startswith("[["):
                times[table] += 1
                table = (*table, str(times[table]))
                found.setdefault(table, number)
        elif "=" in stripped:
            keys = _keys(stripped.split("=", 1)[0] + "= 0")
            if keys:
                found.setdefault(table + keys, number)
    for length in range(len(path), 0, -1):
        if path[:length] in found:
            return found[path[:length]]
    return None


def _header(line: str) -> Path | None:
    return _keys(line.split("#")[0] if '"' not in line else line)


def _keys(line: str) -> Path | None:
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
    """Plain values as TOML: top-level values first, then tables, then lists of tables.

    >>> print(to_toml({"order": "keep", "privacy": {"epsilon": "2"}}))
    order = "keep"
    <BLANKLINE>
    [privacy]
    epsilon = "2"
    <BLANKLINE>
    """
    parts = {name: list(_tables(toml_key(name), value)) for name, value in tables.items()}
    lines = _body({name: value for name, value in tables.items() if not parts[name]})
    for header, table in (part for found in parts.values() for part in found):
        lines += ["", header, *_body(table)]
    return "\n".join(lines).lstrip("\n") + "\n"


def _tables(key: str, value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The tables that a value is written as, each under its header; none for a plain value."""
    if isinstance(value, Mapping) and value and all(isinstance(v, Mapping) for v in value.values()):
        yield from ((f"[{key}.{toml_key(name)}]", table) for name, table in value.items())
    elif isinstance(value, Mapping):
        yield f"[{key}]", value
    elif isinstance(value, Sequence) and not isinstance(value, str) and any(isinstance(v, Mapping) for v in value):
        yield from ((f"[[{key}]]", table) for table in value)


def _body(table: Mapping[str, Any]) -> list[str]:
    return [f"{toml_key(k)} = {_value(v)}" for k, v in table.items()]


def toml_key(name: str) -> str:
    """A name as a key: in quotes where TOML needs them."""
    expect(name, str, "each key of a plan", "a text")
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else _text(name)


def _text(value: str) -> str:
    # A JSON string is a TOML string, but for the one control character that JSON leaves alone.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(_value(v) for v in value) + "]"
    return _text(str(value))

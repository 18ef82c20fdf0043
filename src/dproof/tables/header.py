"""Whether the first line of a file holds names, or the values of a person: names become public with the plan."""

from __future__ import annotations

import re

import pyarrow as pa

from dproof.spaces.values import PLAIN
from dproof.tables.source import Source

_LOOKED_AT = 1000  # rows
_DATE = re.compile(r"\d{4}[-/]\d\d?[-/]\d\d?|\d\d?([./-])\d\d?\1\d{2,4}")


def doubtful_names(source: Source) -> tuple[str, ...]:
    """The names that look like values: numbers, dates, and texts that stand in the first rows of their column too.

    Only a file of texts, such as CSV, can lack its header. The answer is for the custodian alone: it depends on rows.

    >>> rows = pa.record_batch({"f": ["m", "f"], "town": ["Bonn", "Ulm"], "34": ["51", "28"]})
    >>> doubtful_names(Source(("f", "town", "34"), lambda names: iter([rows]), typed=False))
    ('f', '34')
    """
    if source.typed:
        return ()
    first = next(iter(source.read(source.names)), None)
    below = {} if first is None else {name: _texts(first.column(name)[:_LOOKED_AT]) for name in source.names}
    return tuple(name for name in source.names if name.strip() and _is_doubtful(name.strip(), below.get(name, set())))


def _is_doubtful(name: str, below: set[str]) -> bool:
    return PLAIN.plain(name) is not None or _DATE.fullmatch(name) is not None or name in below


def _texts(array: pa.Array) -> set[str]:
    found = (value for value in array.to_pylist() if value is not None)
    return {(value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)).strip() for value in found}

"""Whether the first line of a file holds names, or the values of a person: names become public with the plan."""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import islice

import pyarrow as pa

from dproof.errors import InputError
from dproof.spaces.values import PLAIN
from dproof.tables.source import Source

_LOOKED_AT = 1000  # rows
_DATE = re.compile(r"\d{4}[-/]\d\d?[-/]\d\d?|\d\d?([./-])\d\d?\1\d{2,4}")


def doubtful_names(source: Source, *, look: bool) -> tuple[str, ...]:
    """The names that look like values: numbers, dates, and with a `look` texts that the first rows have below them.

    Only a file of texts, such as CSV, can lack its header. After a look the answer is for the custodian alone.

    >>> rows = pa.record_batch({"f": ["m", "f"], "town": ["Bonn", "Ulm"], "34": ["51", "28"]})
    >>> doubtful_names(Source(("f", "town", "34"), lambda names: iter([rows]), typed=False), look=True)
    ('f', '34')
    """
    if source.typed:
        return ()
    below: dict[str, set[str]] = {}
    with suppress(InputError):  # what cannot be read is told when the table is read through
        for first in islice(source.read(source.names), 1 if look else 0):
            below = {name: _texts(first.column(name)[:_LOOKED_AT]) for name in source.names}
    return tuple(name for name in source.names if name.strip() and _is_doubtful(name.strip(), below.get(name, set())))


def _is_doubtful(name: str, below: set[str]) -> bool:
    return PLAIN.plain(name) is not None or _DATE.fullmatch(name) is not None or name in below


def _texts(array: pa.Array) -> set[str]:
    found = (value for value in array.to_pylist() if value is not None)
    return {(value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)).strip() for value in found}

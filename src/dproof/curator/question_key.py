"""What a ledger knows a question by: made when it is paid for, and read as the question that people asked."""

from __future__ import annotations

import hashlib
import re

# Earlier versions measured coefficients of curves, with other noise: their answers cannot be read as those of values
# on the grid; and those by group had noise that cost more than was paid (`earlier`).
ON_THE_GRID = " -- on the grid"
BY_GROUP = f"{ON_THE_GRID} by group"
_QUOTED = re.compile("'[^']*'|\"[^\"]*\"")


def key_of(text: str, reading: str) -> str:
    """The key of a canonical text, with a digest of how the plan reads its columns.

    >>> key_of("SELECT count(*) FROM data", "")
    'SELECT count(*) FROM data -- plan e3b0c44298fc1c14'
    """
    return f"{text} -- plan {hashlib.sha256(reading.encode()).hexdigest()[:16]}"


def question_of(key: str) -> str:
    """The question in a key, without what only a ledger needs.

    >>> question_of(key_of("SELECT avg(load) FROM data" + ON_THE_GRID, ""))
    'SELECT avg(load) FROM data'
    """
    text = key.rpartition(" -- ")[0] or key  # whoever keeps a ledger by hand may give any text
    return text.removesuffix(BY_GROUP).removesuffix(ON_THE_GRID)


def shared_a_cell(key: str) -> bool:
    """Whether a key is that of curves by group in an earlier version.

    >>> asked = "SELECT kind, avg(load) FROM data GROUP BY kind"
    >>> [shared_a_cell(key_of(asked + kind, "")) for kind in (ON_THE_GRID, BY_GROUP)]
    [True, False]
    """
    text = key.rpartition(" -- ")[0]
    return text.endswith(ON_THE_GRID) and " GROUP BY " in _QUOTED.sub("", text)

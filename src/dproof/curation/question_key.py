"""What a ledger knows a question by: made when it is paid for, and read as the question that people asked."""

from __future__ import annotations

import hashlib

# Earlier versions measured coefficients of curves, with other noise: their answers cannot be read as those of values
# on the grid.
ON_THE_GRID = " -- on the grid"


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
    return text.removesuffix(ON_THE_GRID)

"""Words and names of local variables make no other program; whatever a test could notice does."""

from __future__ import annotations

import pytest

from tests.mutants.same_program import program_hash

PROGRAM = '''
from math import floor
LIMIT = 3

def size(x, most=LIMIT):
    """How large it is."""
    found = floor(x)  # from below
    def less(y):
        return found - y
    if found > most:
        raise ValueError(f"{found} is too large")
    return [less(n) for n in range(found)]
'''


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("found", "whole"),
        ("less(n) for n in", "less(found_n) for found_n in"),
        ("How large it is.", "Its size."),
        ("from below", "exact"),
        ("is too large", "is more than allowed"),
    ],
)
def test_the_same_program(old: str, new: str) -> None:
    changed = PROGRAM.replace(old, new)
    assert changed != PROGRAM and program_hash(changed) == program_hash(PROGRAM)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("found > most", "found >= most"),
        ("found > most", "LIMIT > most"),
        ("found - y", "y - y"),
        ("most", "limit"),  # a caller may name it
        ("def size", "def extent"),
        ("LIMIT = 3", "LIMIT = 4"),
        ("ValueError", "TypeError"),
        ("    found = ", "    floor = "),  # no longer the function of the module
        ("n) for n in range", "range) for range in range"),
    ],
)
def test_another_program(old: str, new: str) -> None:
    changed = PROGRAM.replace(old, new)
    assert changed != PROGRAM and program_hash(changed) != program_hash(PROGRAM)

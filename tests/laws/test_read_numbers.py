"""Numbers of a certificate are read up to the 4300 digits that Python itself reads, and refused beyond."""

from __future__ import annotations

import pytest

from dproof import VerificationFailed
from dproof.laws.law import read_number


def test_the_longest_number_is_read_and_no_longer_one() -> None:
    longest = "1" + "0" * 4299
    assert read_number({"n": longest}, "n", (0, 10**4299)) == 10**4299
    assert read_number({"n": f"{longest}/{longest}"}, "n", (1, 1)) == 1
    with pytest.raises(VerificationFailed, match="'n' lies outside its range"):
        read_number({"n": longest + "0"}, "n", (0, 10**4300))

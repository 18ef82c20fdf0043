"""The stand-alone verifier reads a law of bits with any weights that are not both 0, also one that tells nothing."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dproof.certification.verify_certificate import Refused, bits


@pytest.mark.parametrize("kind", ["bits", "one-item"])
@pytest.mark.parametrize(("stay", "flip"), [(3, 1), (1, 1), (1, 3), (0, 1), (1, 0)])
def test_weights_that_are_not_both_0_are_read(kind: str, stay: int, flip: int) -> None:
    ((source, target, p, q, total),) = bits({"kind": kind, "bits": 2, "stay": stay, "flip": flip}, Fraction(1))
    assert (source, target) == (0, 3) and p == q[::-1] and sum(p) == total


@pytest.mark.parametrize("kind", ["bits", "one-item"])
def test_a_law_without_weight_is_refused(kind: str) -> None:
    with pytest.raises(Refused, match="has no weight"):
        next(bits({"kind": kind, "bits": 2, "stay": 0, "flip": 0}, Fraction(1)))

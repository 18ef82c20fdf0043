"""The page on the certificate names every kind of law, and every number of it, that the verifiers know."""

from __future__ import annotations

from pathlib import Path

import pytest

from dproof.certification.verify_certificate import CERTIFICATE, LAWS, NOISES
from dproof.laws.recorded import RANGES

PAGE = (Path(__file__).parents[2] / "docs" / "certificate.md").read_text("utf-8")


@pytest.mark.parametrize("kind", [*LAWS, *NOISES])
def test_every_kind_of_law_and_all_its_names_are_on_the_page(kind: str) -> None:
    rows = PAGE.split(f"| `{kind}` |")[1]
    own = "".join(line for n, line in enumerate(rows.splitlines(True)) if n == 0 or line.startswith("| |"))
    for name in {**LAWS, **NOISES}[kind]:
        assert f"`{name}`" in own, name


def test_the_readers_know_the_same_names() -> None:
    """What a release's laws are read from is what the stand-alone verifier knows, but for laws that no release has."""
    written = {name for shape in (*LAWS.values(), *NOISES.values()) for name in shape}
    assert RANGES.keys() - {"error", "lower_bound"} <= written
    only_there = {"clamped", "noise", "norm", "terms", "radius", "box", "weights", "own", "whole", "high", "low"}
    assert written - RANGES.keys() == only_there


def test_what_is_no_record_is_refused_in_words() -> None:
    from dproof.certification.verify_certificate import Refused

    for given in (None, [], "", 1, {}):
        with pytest.raises(Refused, match="must be a record of format, version"):
            CERTIFICATE(given, "the certificate")

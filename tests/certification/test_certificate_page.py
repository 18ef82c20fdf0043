"""The page on the certificate names every kind of law, and every number of it, that the verifiers know."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dproof.certification.verify_certificate import LAWS, NOISES, certificate_with
from dproof.laws import (
    Bits,
    BlockDesign,
    BoundedLattice,
    Gaussian,
    GaussianSum,
    KeepOrOther,
    Lattice,
    Matrix,
    OneItem,
    PlaneDesign,
    RoundedLaw,
    RowByRow,
    SubsetSelection,
    Unary,
)
from dproof.laws import law as readers
from dproof.laws import noise as noise_readers
from dproof.laws.laplace import stairs, two_sided

PAGE = (Path(__file__).parents[2] / "docs" / "certificate.md").read_text("utf-8")


@pytest.mark.parametrize("kind", [*LAWS, *NOISES])
def test_every_kind_of_law_and_all_its_names_are_on_the_page(kind: str) -> None:
    rows = PAGE.split(f"| `{kind}` |")[1]
    own = "".join(line for n, line in enumerate(rows.splitlines(True)) if n == 0 or line.startswith("| |"))
    for name in {**LAWS, **NOISES}[kind]:
        assert f"`{name.removesuffix('?')}`" in own, name


WRITTEN = [
    Bits(2, 2, 1),
    BlockDesign(6, 7, 3, 1, 3, 1),
    Gaussian(Fraction(2)),
    GaussianSum(Gaussian(Fraction(400)), 9, 2),
    KeepOrOther(3, 2, 1),
    BoundedLattice(3, two_sided(Fraction(2))),
    Lattice(3, two_sided(Fraction(2)), True),
    Matrix(np.array([[3, 1], [1, 3]]), 4),
    OneItem(3, 2, 1),
    PlaneDesign(6, 2, 3, 1),
    RowByRow(KeepOrOther(3, 2, 1), 7),
    RoundedLaw(5, 1, Matrix(np.array([[3, 1], [1, 3]]), 4)),
    SubsetSelection(5, 2, 3, 1),
    Unary(3, 2, 1, 4),
    stairs(Fraction(3), 10),
    two_sided(Fraction(2)),
]


def test_the_readers_know_the_same_kinds() -> None:
    """A curve's law is read with its plan, and the noise of its coefficients with it; vectors are in no plan."""
    assert readers.LAWS.keys() == LAWS.keys() - {"coefficients", "vectors"}
    assert noise_readers.NOISES.keys() == NOISES.keys() - {"convolved", "k-norm"}


@pytest.mark.parametrize("law", WRITTEN, ids=lambda law: law.kind)
def test_the_names_that_are_written_are_those_that_the_verifier_knows(law) -> None:
    names = {name for name in {**LAWS, **NOISES}[law.kind] if not name.endswith("?")}
    assert {"kind", *names} == law.to_json().keys()


@pytest.mark.parametrize("law", WRITTEN, ids=lambda law: law.kind)
def test_what_is_written_is_read_back(law) -> None:
    assert type(law).from_json(law.to_json()).to_json() == law.to_json()


def test_what_is_no_record_is_refused_in_words() -> None:
    from dproof.certification.verify_certificate import Refused

    for given in (None, [], "", 1, {}):
        with pytest.raises(Refused, match="must be a record of format, version"):
            certificate_with({})(given, "the certificate")

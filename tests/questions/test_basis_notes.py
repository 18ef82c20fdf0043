"""What the note of a band advises is not there yet: a kernel where the plan has none, else more terms."""

from __future__ import annotations

from dproof import Curves, expand
from dproof.questions.curve_estimate import basis_notes

DAY = Curves(0, 1, 24, 0, 1)


def test_a_plan_without_a_kernel_is_told_of_one() -> None:
    (note,) = basis_notes(expand(DAY, terms=3).lattice("gaussian"))
    assert "3 terms" in note and note.endswith("a kernel in the plan can say that curves are smooth")


def test_a_plan_with_a_kernel_is_told_of_more_terms() -> None:
    lattice = expand(DAY, kernel="matern-3/2", length="0.3", radius=2, terms=3).lattice("gaussian")
    (note,) = basis_notes(lattice)
    assert note.endswith("more `terms` in the plan leave out less")

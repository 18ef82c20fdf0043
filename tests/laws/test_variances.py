"""The variance of a debiased count is that of the worst row, by the law itself."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dproof import Categories, Interval, Space
from dproof.laws import KeepOrOther, Lattice, Law, Matrix, OptionalLaw, PlaneDesign, RoundedLaw, SubsetSelection
from dproof.laws.laplace import two_sided
from dproof.spaces.space import OptionalSpace

LAWS = [
    KeepOrOther(4, 5, 1),
    KeepOrOther(3, 0, 1),  # never the true value
    SubsetSelection(4, 2, 3, 1),
    SubsetSelection(3, 2, 1, 0),  # always the true value, and one more
]


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_it_is_the_largest_over_the_true_values(law: Law) -> None:
    """A row counts (h − miss)/(hit − miss), where h is whether what it shows holds the value that is asked for."""
    matrix = np.array([law.weights(value) for value in range(law.inputs)]).astype(float) / law.total
    outputs = np.arange(law.outputs)
    holds = outputs == 0 if isinstance(law, KeepOrOther) else (outputs & 1) == 1
    hit, *miss = matrix @ holds
    scores = (holds - miss[0]) / (hit - miss[0])
    worst = (matrix @ scores**2 - (matrix @ scores) ** 2).max()
    assert law.count_variance(Categories(range(law.inputs))) == pytest.approx(worst)


def test_a_law_that_tells_nothing_has_none() -> None:
    space = Categories(["a", "b", "c"])
    assert KeepOrOther(3, 1, 1).count_variance(space) is None
    assert SubsetSelection(3, 3, 1, 1).count_variance(space) is None  # always all values


@pytest.mark.parametrize("law", [KeepOrOther(1, 1, 0), KeepOrOther(1, 1, 1), SubsetSelection(1, 1, 1, 1)], ids=repr)
def test_the_only_value_is_counted_exactly(law: Law) -> None:
    assert law.count_variance(Categories(["a"])) == 0


@pytest.mark.parametrize("cells", [1, 3, 19, 57])
@pytest.mark.parametrize("law", [KeepOrOther(57, 5, 1), PlaneDesign(57, 7, 5, 1)], ids=repr)
def test_counts_of_cells_together_have_the_mean_variance_over_all_values(law: Law, cells: int) -> None:
    matrix = np.array([law.weights(value) for value in range(57)]).astype(float) / law.total
    holds = (matrix == matrix.max()).T.astype(float)  # what each output shows
    hit, miss = map(float, law.support_probabilities)
    scores = ((holds - miss) / (hit - miss)) @ np.kron(np.eye(cells), np.ones((57 // cells, 1)))
    variances = matrix @ scores**2 - (matrix @ scores) ** 2
    assert law.cells_variance(cells, 57 // cells) == pytest.approx(variances.sum(axis=1).mean(), abs=1e-9)


# The variance that a matrix law gives a count of one value, and none for a law that cannot be undone ------------------


SPACE = Categories(["a", "b", "c"])


def test_a_singular_law_has_no_variance() -> None:
    """Inputs b and c have the same law: nothing tells them apart, although a is told apart from both."""
    assert Matrix(np.array([[6, 1, 1], [2, 3, 3], [2, 3, 3]]), 8).count_variance(SPACE) is None


def test_a_law_with_fewer_outputs_has_no_variance() -> None:
    assert Matrix(np.array([[6, 2], [2, 6], [4, 4]]), 8).count_variance(SPACE) is None


def test_randomised_response_has_the_variance_of_the_textbook() -> None:
    """A row counts (1{y = v} − q)/(p − q) towards v: the variance is p(1 − p)/(p − q)², or q for p with other rows."""
    p, q = 6 / 8, 1 / 8
    worst = max(p * (1 - p), q * (1 - q)) / (p - q) ** 2
    law = Matrix(np.array([[6, 1, 1], [1, 6, 1], [1, 1, 6]]), 8)
    assert law.count_variance(SPACE) == pytest.approx(worst)


# The variance of a mean where numbers may be missing: as the definition gives it, outcome by outcome ------------------


LAW = Matrix(np.array([[14, 9, 1, 8], [6, 16, 6, 4], [4, 5, 20, 3], [5, 5, 5, 17]]), 32)


@pytest.mark.parametrize(("low", "high"), [(0, 4), (-4, 0), (10, 14)])
def test_a_matrix_law(low: int, high: int) -> None:
    """A row with response y adds s(y) − x·t(y), where s and t are unbiased for the number and for being there."""
    numbers = np.array([low, (low + high) / 2, high])
    law = LAW.rows / LAW.total
    undone = np.linalg.inv(law)
    number, there = undone @ [*numbers, 0], undone @ [1, 1, 1, 0]
    added = number - numbers[:, None] * there
    assert np.allclose((law[:3] * added).sum(axis=1), 0)
    worst = (law[:3] * added**2).sum(axis=1)
    assert worst.max() > 1.01 * worst[0]  # the first value is not the worst
    assert LAW.mean_variance(Interval(low, high, step=2).with_missing()) == pytest.approx(worst.max())
    fine = Interval(low, high, step=1)  # rounded at random to the three numbers
    assert RoundedLaw(5, 2, LAW).mean_variance(fine.with_missing()) == pytest.approx(worst.max())
    assert RoundedLaw(5, 2, LAW).mean_variance(fine) is None


def test_there_is_none_for_what_has_no_numbers_or_is_singular_or_large() -> None:
    space = Interval(0, 4, step=2)
    assert LAW.mean_variance(Categories(["a", "b", "c", "d"])) is None
    assert LAW.mean_variance(Interval(0, 6, step=2)) is None  # none of its values is missing
    assert Matrix(np.array([[2, 1, 1], [2, 1, 1], [0, 2, 2]]), 4).mean_variance(Interval(0, 1).with_missing()) is None
    assert LAW.mean_variance(space.with_missing()) is not None
    size = (1 << 10) + 1
    large = Matrix(np.eye(size, dtype=np.int64), 1)
    assert large.mean_variance(Interval(0, size - 2).with_missing()) is None


@pytest.mark.parametrize(("present", "missing"), [(3, 1), (7, 5)])
def test_noise_on_numbers(present: int, missing: int) -> None:
    """All numbers lie at the farther end, `away` from the middle; what is not shown adds −x·t."""
    step, size, away = Fraction(1, 2), 6, 3
    noise = two_sided(Fraction(2))
    law = OptionalLaw(Lattice(size, noise), present, missing, 8)
    p, q = present / 8, missing / 8
    shown, hidden = (1 - q) / (p - q), -q / (p - q)
    chances = {k: float(noise.probability(k)) for k in range(-60, 61)}
    variance = sum(p * chance * ((away + k) / p - away * shown) ** 2 for k, chance in chances.items())
    variance += (1 - p) * (away * hidden) ** 2
    space = Interval(0, step * (size - 1), step=step).with_missing()
    assert law.mean_variance(space) == pytest.approx(variance / 4, rel=1e-6)


# Noise that may hide a value has no variance of a mean where no value is missing, or values are not on a line ---------


KEPT = OptionalLaw(Lattice(3, two_sided(Fraction(2))), 3, 1, 8)


@pytest.mark.parametrize("space", [Interval(0, 2), OptionalSpace(Categories(["a", "b", "c"]))])
def test_there_is_none(space: Space) -> None:
    assert KEPT.mean_variance(space) is None


def test_it_depends_on_the_spacing() -> None:
    near, far = (KEPT.mean_variance(Interval(0, 2 * step, step=step).with_missing()) for step in (1, 3))
    assert near is not None and far == pytest.approx(9 * near)

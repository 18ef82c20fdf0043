"""The variance of a debiased count is that of the worst row, by the law itself."""

from __future__ import annotations

import numpy as np
import pytest

from dproof import Categories
from dproof.laws import KeepOrOther, Law, PlaneDesign, SubsetSelection

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

"""Lines of projective planes: the difference set, the sampler, and what undoes the counts."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import dproof as dp
from dproof import Categories, Privacy, frequency
from dproof.certification.verify_certificate import Refused, alike
from dproof.laws import PlaneDesign
from dproof.laws.debias import DesignAxis
from dproof.laws.designs import plane_set
from dproof.mechanisms.frequency import MOST_CODES, best_design, even_variance
from dproof.testing import check_mechanism
from tests.laws.test_block_design import best_known

PLANES = [(2, 2), (7, 2), (13, 3), (20, 5)]


@pytest.mark.parametrize("q", [2, 3, 5, 7, 11, 31, 257])
def test_every_difference_comes_once(q: int) -> None:
    residues, v = plane_set(q), q * q + q + 1
    assert len(residues) == q + 1
    differences = np.bincount(np.subtract.outer(residues, residues).reshape(-1) % v, minlength=v)
    assert differences[0] == q + 1 and (differences[1:] == 1).all()


@pytest.mark.parametrize(("size", "order"), PLANES)
def test_it_is_a_design(size: int, order: int) -> None:
    law = PlaneDesign(size, order, 3, 1)
    held = np.array([law.weights(x) for x in range(size)]) == 3
    assert (held.sum(axis=1) == order + 1).all()
    assert {int((held[x] & held[y]).sum()) for x, y in combinations(range(size), 2)} == {1}
    hit, miss = law.support_probabilities
    weights = law.weights(0)
    assert hit == Fraction(int(weights[held[0]].sum()), law.total)
    assert all(miss == Fraction(int(weights[held[y]].sum()), law.total) for y in range(1, size))
    check_mechanism(
        dp.Mechanism("plane", Categories(range(size)), law.released_in(Categories(range(size))), law, "a test")
    )


@pytest.mark.parametrize(("size", "order"), PLANES)
@pytest.mark.parametrize(("high", "low"), [(3, 1), (5, 2), (2, 0)])
def test_the_sampler_gives_every_block_its_weight(size: int, order: int, high: int, low: int) -> None:
    """Every word below the total, for every value; and every number of the guide table, which is proven elsewhere."""
    law = PlaneDesign(size, order, high, low)
    words = np.arange(law.total)
    places = np.arange(law.outputs)
    for x in range(size):
        drawn = law.block(np.full(law.total, x, np.uint8), np.zeros_like(words), law._place(words))
        assert np.bincount(drawn, minlength=law.outputs).tolist() == law.weights(x).tolist()
        tabled = law._moved(np.full(law.outputs, x, np.uint32), places)
        assert tabled.tolist() == law.block(np.full(law.outputs, x), np.zeros_like(places), places).tolist()


@pytest.mark.parametrize("block_of", [np.arange(10), np.arange(10) // 5, np.array([0, 1, 2, 2, 0, 2, 2, 2, 2, 2])])
def test_counts_are_undone(block_of: np.ndarray) -> None:
    law = PlaneDesign(10, 3, 3, 1)
    matrix = np.array([law.weights(x) for x in range(10)]).astype(float) / law.total
    groups = int(block_of.max()) + 1
    chances = (*map(float, law.support_probabilities), (law.high - law.low) / law.total, law.low / law.total)
    axis = DesignAxis("x", law.incidence(), block_of, groups, *chances, (None,))
    assert np.allclose(axis.law.gather(np.eye(10), 1), matrix)
    assert np.allclose(axis.law.spread(np.eye(13), 1), matrix.T)
    scores = axis.scores((0,))
    assert np.allclose(scores.gather(matrix, 1), np.eye(groups)[block_of])
    assert np.allclose(matrix @ scores.spread(np.eye(groups), 1).T, np.eye(groups)[block_of])


@pytest.mark.parametrize("wrong", [(5, 4, 3, 1), (8, 2, 3, 1), (0, 2, 3, 1), (5, 2, 0, 0), (5, 2, 3, -1)])
def test_what_is_no_plane_is_refused(wrong: tuple[int, ...]) -> None:
    with pytest.raises(dp.InputError, match="plane design"):
        PlaneDesign(*wrong)


@pytest.mark.parametrize("wrong", [{"order": 4}, {"order": 9}, {"size": 8}])
def test_the_verifier_knows_which_planes_exist(wrong: dict[str, int]) -> None:
    law = {"kind": "plane-design", "size": 7, "order": 2, "high": 3, "low": 1}
    assert list(alike(law, Fraction(1))) == [(0, 1, [6, 2], [2, 6], 13)]
    with pytest.raises(Refused, match="no such projective plane"):
        list(alike(law | wrong, Fraction(1)))


LARGE = [(1000, 6, 1.01), (2000, 7, 1.02), (10_000, 7, 1.02), (10_000, 8, 1.1), (30_000, 7, 1.03), (100_000, 6, 1.02),
         (100_000, 8, 1.02)]  # fmt: skip


@pytest.mark.parametrize(("size", "epsilon", "most"), LARGE)
def test_large_epsilons_come_near_the_best_known_protocol(size: int, epsilon: int, most: float) -> None:
    law = frequency(Categories(range(size)), Privacy(epsilon)).family
    assert law.outputs <= MOST_CODES
    assert law.odds(Fraction(0)).value <= dp.exact.exp_above(Fraction(epsilon))
    assert even_variance(law, size) <= most * best_known(size, epsilon)


def test_a_plane_is_taken_where_classes_would_have_too_many_codes() -> None:
    law = best_design(100_000, Fraction(6))
    assert law is not None and law.kind == "plane-design" and law.outputs < 1 << 18

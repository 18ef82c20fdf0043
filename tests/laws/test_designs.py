"""Block designs: any two values share as many blocks, every block gets its weight, and counts are undone."""

from __future__ import annotations

from contextlib import nullcontext
from fractions import Fraction
from itertools import combinations
from math import exp, inf
from types import SimpleNamespace

import numpy as np
import pytest

import dproof as dp
from dproof import Categories, Privacy, TooLarge, frequency
from dproof.certification.verify_certificate import Refused, alike
from dproof.laws import BlockDesign, PlaneDesign
from dproof.laws import designs as module
from dproof.laws.debias import DesignAxis, ScoreProducts
from dproof.laws.designs import plane_set
from dproof.mechanisms.frequency import MOST_CODES, best_design, even_variance
from dproof.testing import check_mechanism

DESIGNS = [(2, 3, 2, 1), (5, 5, 4, 1), (6, 7, 3, 1), (7, 7, 3, 2), (7, 7, 6, 4), (10, 11, 5, 2), (11, 13, 4, 3)]


@pytest.mark.parametrize(("size", "prime", "classes", "taken"), DESIGNS)
def test_it_is_a_design(size: int, prime: int, classes: int, taken: int) -> None:
    law = BlockDesign(size, prime, classes, taken, 3, 1)
    held = np.array([law.weights(x) for x in range(size)]) == 3
    assert (held.sum(axis=1) == classes * law.blocks.width).all()
    together = {int((held[x] & held[y]).sum()) for x, y in combinations(range(size), 2)}
    assert together == {taken * (law.blocks.width - 1)}
    hit, miss = law.support_probabilities
    weights = law.weights(0)
    assert hit == Fraction(int(weights[held[0]].sum()), law.total)
    assert all(miss == Fraction(int(weights[held[y]].sum()), law.total) for y in range(1, size))


@pytest.mark.parametrize(("size", "prime", "classes", "taken"), DESIGNS)
@pytest.mark.parametrize(("high", "low"), [(3, 1), (5, 2), (2, 0)])
def test_the_sampler_gives_every_block_its_weight(
    size: int, prime: int, classes: int, taken: int, high: int, low: int
) -> None:
    """All pairs of a number below m and a word below the rest of the total, for every value."""
    law = BlockDesign(size, prime, classes, taken, high, low)
    j, word = np.divmod(np.arange(law.total), law.total // classes)
    place = law._place(word)
    assert np.bincount(place, minlength=prime).tolist() == [classes * high] * law.blocks.width + [classes * low] * (
        prime - law.blocks.width
    )
    for x in range(size):
        drawn = law.block(np.full(law.total, x, np.uint8), j, place)
        assert np.bincount(drawn, minlength=law.outputs).tolist() == law.weights(x).tolist()


@pytest.mark.parametrize(("size", "prime", "classes", "taken"), DESIGNS)
def test_the_tables_give_the_same_blocks(size: int, prime: int, classes: int, taken: int) -> None:
    """Every number j·p + place has its weight in the guide table, which is proven elsewhere, and the same block."""
    law = BlockDesign(size, prime, classes, taken, 3, 1)
    j, place = np.divmod(np.arange(law.outputs), prime)
    weights = np.where(place < law.blocks.width, 3, 1)
    sizes = np.diff(np.append(law._table.starts[0], np.uint64((1 << 64) // law.total * law.total)))[: law.outputs]
    assert (sizes // np.uint64((1 << 64) // law.total)).tolist() == weights.tolist()
    for x in range(size):
        codes = np.full(law.outputs, x, np.uint32)
        moved = law._moved(codes, np.arange(law.outputs))
        assert moved.tolist() == law.block(codes, j, place).tolist()
        drawn = np.bincount(moved, weights, law.outputs).astype(int).tolist()
        assert drawn == law.weights(x).tolist()


@pytest.mark.parametrize("law", [BlockDesign(10, 11, 5, 2, 3, 1), PlaneDesign(50, 7, 9, 1)], ids=["blocks", "plane"])
def test_both_ways_to_draw_follow_the_law(law: module.CyclicDesign, monkeypatch: pytest.MonkeyPatch) -> None:
    """By tables and by arithmetic: χ² of 50,000 draws over 55 or 57 blocks is less than one in a million exceeds."""
    expected = law.weights(4).astype(float) / law.total * 50_000
    for tabled in (1 << 12, 0):
        monkeypatch.setattr(module, "_TABLED", tabled)
        with dp.testing.seeded_coins(5):
            drawn = law.draw(np.full(50_000, 4, np.uint8), dp.coins.current())
        counts = np.bincount(drawn, minlength=law.outputs)
        assert ((counts - expected) ** 2 / expected).sum() < 120


@pytest.mark.parametrize(("size", "prime", "classes", "taken"), DESIGNS)
def test_its_worst_pair_is_that_of_all_pairs(size: int, prime: int, classes: int, taken: int) -> None:
    check_mechanism(
        dp.Mechanism(
            "block design",
            Categories(range(size)),
            BlockDesign(size, prime, classes, taken, 3, 1).released_in(Categories(range(size))),
            BlockDesign(size, prime, classes, taken, 3, 1),
            "a test",
        )
    )


@pytest.mark.parametrize("wrong", [(5, 9, 4, 1), (8, 7, 3, 1), (5, 7, 4, 1), (5, 7, 3, 3), (0, 7, 3, 1)])
def test_what_is_no_design_is_refused(wrong: tuple[int, ...]) -> None:
    with pytest.raises(dp.InputError, match="block design"):
        BlockDesign(*wrong, 3, 1)


GROUPS = {
    "single": np.arange(10),
    "two": np.array([0] + [1] * 9),
    "three": np.array([0, 1, 2, 2, 0, 2, 2, 2, 2, 2]),
    "half": np.arange(10) // 5,
}


@pytest.mark.parametrize("block_of", GROUPS.values(), ids=GROUPS)
def test_scores_are_unbiased_for_every_value(block_of: np.ndarray) -> None:
    """Σ_y P(Y_x = y) s(y, b) = [x lies in b], and the two directions of a transform are the same matrix."""
    law = BlockDesign(10, 11, 5, 2, 3, 1)
    axis = _axis(law, block_of)
    scores = axis.scores((0,))
    matrix = np.array([law.weights(x) for x in range(10)]).astype(float) / law.total
    groups = int(block_of.max()) + 1
    assert np.allclose(scores.gather(matrix, 1), np.eye(groups)[block_of])
    dense = scores.spread(np.eye(groups), 1).T
    assert np.allclose(matrix @ dense, np.eye(groups)[block_of])
    counts = np.arange(law.outputs * 2.0).reshape(law.outputs, 2)
    assert np.allclose(scores.gather(counts, 0), np.einsum("yk,yb->bk", counts, dense))
    assert np.allclose(scores.times(scores).gather(counts, 0), np.einsum("yk,yb->bk", counts, dense**2))
    assert (np.abs(dense).max(axis=0) <= scores.largest() + 1e-9).all()
    if np.sort(np.bincount(block_of))[:-1].sum() < 5:  # then some block holds all of the smaller groups, and one none
        assert np.allclose(np.abs(dense).max(axis=0), scores.largest())
    if groups < 10:
        assert np.allclose(dense.sum(axis=1), 1), "the groups of all values have all rows"


def test_equal_groups_have_equal_variances() -> None:
    """Only a group of half of the values or more is what the others leave."""
    law = BlockDesign(10, 11, 5, 2, 3, 1)
    dense = _axis(law, np.arange(10) // 2).scores((0,)).spread(np.eye(5), 1)
    squares = (dense**2).mean(axis=1)
    assert squares.max() < 1.1 * squares.min()


def test_the_law_of_the_axis_is_the_law() -> None:
    law = BlockDesign(10, 11, 5, 2, 3, 1)
    matrix = np.array([law.weights(x) for x in range(10)]).astype(float) / law.total
    axis = _axis(law, np.arange(10))
    assert np.allclose(axis.law.gather(np.eye(10), 1), matrix)
    assert np.allclose(axis.law.spread(np.eye(55), 1), matrix.T)
    assert np.allclose(axis.law.gather(axis.even_nodes(), 0), matrix.mean(axis=0))
    fold = _axis(law, GROUPS["three"]).wanted((0,))
    assert fold.gather(np.arange(10.0), 0).tolist() == [4.0, 1.0, 40.0]
    assert fold.spread(np.array([1.0, 2.0, 3.0]), 0).tolist() == [1, 2, 3, 3, 1, 3, 3, 3, 3, 3]


@pytest.mark.parametrize("more", [0, 1])
def test_groups_are_refused_from_a_billion_scores_on(more: int) -> None:
    scores = SimpleNamespace(
        own=np.ones(1), incidence=SimpleNamespace(states=(1 << 30) + more), spread=lambda weights, axis: np.ones((1, 1))
    )
    with pytest.raises(TooLarge, match="too many groups") if more else nullcontext():
        ScoreProducts(scores, scores).gather(np.ones(1), 0)


def _axis(law: BlockDesign, block_of: np.ndarray) -> DesignAxis:
    chances = (*map(float, law.support_probabilities), (law.high - law.low) / law.total, law.low / law.total)
    return DesignAxis("x", law.incidence(), block_of, int(block_of.max()) + 1, *chances, (None,))


def best_known(size: int, epsilon: float) -> float:
    """The least variance of subset selection of any width, of which randomised response is that of width 1."""
    odds, best = exp(epsilon), inf
    for width in range(1, min(size, int(size / (1 + odds)) + 3)):
        hit = width * odds / (width * odds + size - width)
        miss = (width - hit) / (size - 1)
        best = min(best, (hit * (1 - hit) + (size - 1) * miss * (1 - miss)) / (size * (hit - miss) ** 2))
    return best


@pytest.mark.parametrize("epsilon", ["0.25", "0.5", "1", "1.5", "2", "3", "4", "5"])
def test_frequencies_are_as_sharp_as_the_best_known_protocol(epsilon: str) -> None:
    ratios = {}
    for size in (2, 3, 4, 8, 10, 14, 16, 20, 32, 50, 64, 100, 256, 1000, 10_000, 100_000):
        law = frequency(Categories(range(size)), Privacy(epsilon)).family
        assert law.odds(Fraction(0)).value <= dp.exact.exp_above(Fraction(epsilon))
        assert law.outputs <= MOST_CODES
        ratios[size] = even_variance(law, size) / best_known(size, float(epsilon))
    assert max(ratios.values()) <= 1.05, ratios


# Lines of projective planes: the difference set, the sampler, and what undoes the counts ------------------------------


PLANES = [(2, 2), (7, 2), (13, 3), (20, 5)]


@pytest.mark.parametrize("q", [2, 3, 5, 7, 11, 31, 257])
def test_every_difference_comes_once(q: int) -> None:
    residues, v = plane_set(q), q * q + q + 1
    assert len(residues) == q + 1
    differences = np.bincount(np.subtract.outer(residues, residues).reshape(-1) % v, minlength=v)
    assert differences[0] == q + 1 and (differences[1:] == 1).all()


@pytest.mark.parametrize(("size", "order"), PLANES)
def test_it_is_a_plane(size: int, order: int) -> None:
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
def test_the_sampler_gives_every_line_its_weight(size: int, order: int, high: int, low: int) -> None:
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

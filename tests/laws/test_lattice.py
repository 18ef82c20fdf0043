"""Noise on the lattice: the law is its tables, and everything said about it follows from them."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dproof import Interval, TooLarge
from dproof.exact import exp_above, exp_below, log_above
from dproof.laws import Gaussian, Lattice, Matrix, TwoSided
from dproof.laws.divergence import hockey_stick
from dproof.laws.gaussian import gaussian_law
from dproof.laws.laplace import IdealLaplace, stairs, two_sided
from dproof.laws.noise import _STATES, NODES, NoiseLaw, lay_nodes, membership, node_law
from tests import brute_force

LAWS: dict[str, NoiseLaw] = {
    "scale 1/5": two_sided(exp_below(Fraction(5))),
    "scale 1": two_sided(exp_below(Fraction(1))),
    "scale 3": two_sided(exp_below(Fraction(1, 3))),
    "truncated": two_sided(exp_below(Fraction(1, 2)), 9),
    "gaussian 1/2": gaussian_law(Fraction(1, 4)),
    "gaussian 2": gaussian_law(Fraction(4)),
    "gaussian in cells of 3": Gaussian(Fraction(4), 3),
    "stairs of 4": stairs(exp_below(Fraction(1)), 4),
    "stairs of 1": stairs(exp_below(Fraction(2)), 1),
    "narrow stairs": stairs(exp_below(Fraction(5)), 7),
}
REACH = 170
WINDOW = range(-REACH, REACH + 1)  # what lies outside weighs less than 2^-60 for each of these laws
each_law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)


@cache
def weights(law: NoiseLaw) -> dict[int, int]:
    """The law as whole numbers over one denominator, on the window and a little beyond."""
    total = law.denominator(REACH + 10)
    return {k: int(law.probability(k) * total) for k in range(-REACH - 10, REACH + 11)}


def direct_delta(law: NoiseLaw, odds: Fraction, shift: int) -> Fraction:
    """The definition, on a window that holds nearly all of the mass."""
    w = weights(law)
    return hockey_stick([w[k] for k in WINDOW], [w[k - shift] for k in WINDOW], law.denominator(REACH + 10), odds)


@each_law
def test_probabilities_add_up_to_the_cumulative_ones(law: NoiseLaw) -> None:
    for k in WINDOW:
        assert law.cumulative(k) - law.cumulative(k - 1) == law.probability(k) >= 0
        assert (law.denominator(REACH) * law.cumulative(k)).denominator == 1
    assert law.cumulative(-REACH - 1) + 1 - law.cumulative(REACH) < Fraction(1, 1 << 60)


@each_law
def test_moments_are_those_of_the_law(law: NoiseLaw) -> None:
    w, total = weights(law), law.denominator(REACH + 10)
    sums = [Fraction(sum(w[k] * f(k) for k in WINDOW), total) for f in (int, abs, lambda k: k * k)]
    assert [float(m) for m in law.moments] == pytest.approx([float(s) for s in sums], rel=1e-11, abs=1e-11)


@each_law
@pytest.mark.parametrize("odds", [Fraction(1), Fraction(6, 5), Fraction(2), Fraction(7), Fraction(200)])
@pytest.mark.parametrize("shift", [0, 1, 2, 3, 4])
def test_delta_is_the_divergence_of_the_worst_shift(law: NoiseLaw, odds: Fraction, shift: int) -> None:
    if getattr(law, "width", shift) < shift:
        with pytest.raises(TooLarge):
            law.delta(odds, shift)
        return
    worst = max(direct_delta(law, odds, d) for d in range(-shift, shift + 1))
    assert worst <= law.delta(odds, shift) <= worst + Fraction(1, 10**12)


@each_law
def test_pure_odds_are_enough_and_nearly_needed(law: NoiseLaw) -> None:
    odds = law.pure(1)
    if odds is None:
        assert law.delta(Fraction(10**12), 1) > 0
        return
    assert direct_delta(law, odds, 1) == 0 == law.delta(odds, 1)
    assert direct_delta(law, odds * (1 - Fraction(1, 10**6)), 1) > 0


@settings(max_examples=60)
@given(st.fractions(Fraction(1, 50), 10**6), st.integers(1, 10**6))
def test_no_neighbouring_ratio_exceeds_the_one_asked_for(scale: Fraction, k: int) -> None:
    ratio = exp_below(1 / scale)
    law = two_sided(ratio)
    assert law.ratio <= ratio
    k %= 4 * law.unit * len(law.top[0])  # some blocks out, and no farther
    for here in (k, -k, 0, law.unit - 1, -law.unit, law.unit * (len(law.top[0]) - 1) - 1):
        p, q = law.probability(here), law.probability(here + 1)
        assert max(p / q, q / p) <= law.ratio
    assert all(sum(table) <= 1 << 62 for table in law.lower) and sum(map(sum, law.top)) <= 1 << 62


@pytest.mark.parametrize("scale", [1, 20, 100, 1000, 10**4, 10**6, 10**9])
def test_the_tables_are_as_good_as_the_ideal_law(scale: int) -> None:
    """What rounding to 62 bits costs of ε, and how far the law is from the ideal one."""
    law = two_sided(exp_below(Fraction(1, scale)))
    assert 1 - float(log_above(law.ratio) * scale) < 1e-7
    mean, absolute, square = law.moments
    ideal = IdealLaplace(1 / law.ratio, None)
    assert abs(float(mean)) < 1e-6 * scale
    assert float(absolute / ideal.moments[0]) == pytest.approx(1, abs=1e-6)
    assert float(square / ideal.moments[1]) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("shift", [10, 1000, 10**6])
def test_the_bound_of_delta_is_tight_to_a_billionth_on_wide_lattices(shift: int) -> None:
    law = two_sided(exp_below(Fraction(1, shift)))
    odds = exp_below(Fraction(1, 3))
    ideal = IdealLaplace(1 / law.ratio, None).delta(odds, shift)
    assert ideal <= law.delta(odds, shift) < ideal + Fraction(1, 10**9)


def test_too_wide_a_scale_is_refused_when_the_law_is_made() -> None:
    with pytest.raises(TooLarge):
        two_sided(exp_below(Fraction(1, 10**17)))
    with pytest.raises(TooLarge):
        gaussian_law(Fraction(10**40))
    two_sided(exp_below(Fraction(1, 10**15)))


@pytest.mark.parametrize("shifts", [(1, 1), (2, 1), (1, 3), (2, 2)])
@pytest.mark.parametrize("odds", [Fraction(1), Fraction(3, 2), Fraction(4)])
def test_a_vector_of_laplace_noise_is_no_worse_than_one_coordinate(shifts: tuple[int, int], odds: Fraction) -> None:
    law = two_sided(exp_below(Fraction(1, 2)))
    window = range(-45, 46)
    p = [law.probability(k) for k in window]
    rows = [[law.probability(k - d) for k in window] for d in shifts]
    pair = [p[i] * p[j] for i, j in product(range(len(p)), repeat=2)]
    moved = [rows[0][i] * rows[1][j] for i, j in product(range(len(p)), repeat=2)]
    bound = law.delta_vector(odds, sum(shifts), 2)
    assert brute_force.divergence(pair, moved, odds) <= bound
    assert bound < law.delta(odds, sum(shifts)) + Fraction(1, 10**12)


@pytest.mark.parametrize(("shape", "square"), [((1, 1), 2), ((2, 1), 5), ((2, 2), 8)])
@pytest.mark.parametrize("odds", [Fraction(1), Fraction(2), Fraction(9)])
def test_a_vector_of_gaussian_noise(shape: tuple[int, int], square: int, odds: Fraction) -> None:
    law = gaussian_law(Fraction(9, 4))
    window = range(-17, 18)
    p = [law.probability(k) for k in window]
    rows = [[law.probability(k - d) for k in window] for d in shape]
    pair = [p[i] * p[j] for i, j in product(range(len(p)), repeat=2)]
    moved = [rows[0][i] * rows[1][j] for i, j in product(range(len(p)), repeat=2)]
    direct = brute_force.divergence(pair, moved, odds)
    bound = law.delta_vector(odds, square, 2)
    assert direct <= bound + Fraction(1, 10**18)
    if shape == (1, 1):
        assert bound <= direct + Fraction(1, 10**12)
    concentrated = Gaussian(law.square).delta_vector(odds, 17 * square, 2)  # past the listed shapes: a bound for all
    assert concentrated >= bound


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (4, 1), (5, 5)])
@pytest.mark.parametrize("odds", [Fraction(1), Fraction(2), Fraction(30)])
def test_a_vector_of_gaussian_noise_in_cells(shape: tuple[int, int], odds: Fraction) -> None:
    """A shift that is no multiple of the cell's width moves some values one cell farther."""
    law = Gaussian(Fraction(16), 3)
    total, window = law.denominator(0), range(-140, 141)
    whole = [int(law.probability(k) * total) for k in range(-150, 151)]
    p, *moved = ([whole[k + 150 - d] for k in window] for d in (0, *shape))
    assert sum(p) == total
    a, b = odds.numerator, odds.denominator
    pairs = ((p[i] * p[j], moved[0][i] * moved[1][j]) for i, j in product(range(len(p)), repeat=2))
    direct = Fraction(sum(max(0, b * x - a * y) for x, y in pairs), b * total**2)
    assert direct <= law.delta_vector(odds, sum(d * d for d in shape), 2)


@pytest.mark.parametrize("size", [2, 3, 6])
@each_law
def test_the_clamped_family_is_a_post_processing(law: NoiseLaw, size: int) -> None:
    if getattr(law, "width", size) < size - 1:
        return
    family = Lattice(size, law, clamped=True)
    rows = [family.weights(n) for n in range(size)]
    for source, row in enumerate(rows):
        assert sum(row) == family.total
        inside = [0] * size
        for k, weight in weights(law).items():
            inside[min(max(source + k, 0), size - 1)] += weight
        total = law.denominator(REACH + 10)
        assert [w / family.total for w in row] == pytest.approx([w / total for w in inside], abs=1e-15)
        assert [Fraction(int(w), family.total) for w in row] == [family.probability(source, y) for y in range(size)]
        off = sum(Fraction(int(w), family.total) * abs(y - source) for y, w in enumerate(row))
        assert family.error(source, Interval(0, size - 1, 1)) == off
    matrix = Matrix(np.array(rows, object), family.total)
    for odds in (Fraction(1), Fraction(3, 2), Fraction(5)):
        assert matrix.worst(odds).value <= family.worst(odds).value
    if isinstance(law, TwoSided) and law.reach is None:  # the worst set is a half-line that ends inside the interval
        gap = family.worst(Fraction(3, 2)).value - matrix.worst(Fraction(3, 2)).value
        assert gap < Fraction(1, 10**12)


def test_the_tight_odds_of_a_family_keep_their_delta() -> None:
    family = Lattice(4, two_sided(exp_below(Fraction(1, 2))))
    for delta in (Fraction(0), Fraction(1, 100), Fraction(1, 4)):
        odds = family.odds(delta).value
        assert odds is not None and family.worst(odds).value <= delta
        assert family.worst(odds * (1 - Fraction(1, 10**6))).value > delta
    assert Lattice(4, gaussian_law(Fraction(1))).odds(Fraction(0)).value is None
    assert family.odds(Fraction(1)).value == 1


def test_a_staircase_is_symmetric_and_flat() -> None:
    law = stairs(exp_above(Fraction(1)), 10)
    for stair in range(1, 4):
        start = law.inner + (stair - 1) * 10
        heights = {law.probability(sign * k) for sign in (1, -1) for k in range(start, start + 10)}
        assert len(heights) == 1


def test_odds_beyond_what_a_shift_costs_leave_nothing() -> None:
    ideal = IdealLaplace(Fraction(1, 2), None)
    assert [ideal.delta(Fraction(4) ** n, 2) > 0 for n in range(5)] == [True, False, False, False, False]


# How a noisy number is seen for estimates: nodes of true values, states of noisy ones, and the law between them -------


LATTICES = {
    "small": Lattice(7, two_sided(Fraction(2))),
    "clamped": Lattice(7, two_sided(Fraction(2)), clamped=True),
    "wide": Lattice(1000, two_sided(Fraction(11, 10))),
    "wide and clamped": Lattice(1000, gaussian_law(Fraction(400)), clamped=True),
}


def in_two(size: int) -> Any:
    """Block 0 has the outer thirds of the codes, block 1 the middle."""
    third = size // 3
    first = np.array([0, third, size - third])
    return SimpleNamespace(first=first, last=np.append(first[1:], size) - 1, block=np.array([0, 1, 0]), blocks=2)


@pytest.mark.parametrize("name", LATTICES)
def test_the_states_have_the_chances_of_the_law(name: str) -> None:
    law = LATTICES[name]
    nodes = lay_nodes(law, np.array([law.size // 3]))
    chances = node_law(law, nodes)
    assert chances.shape == (len(nodes.centres), len(nodes.edges) + 1)
    assert chances.sum(axis=1) == pytest.approx(1) and (chances >= 0).all()
    inner = list(zip(nodes.edges, nodes.edges[1:], strict=False))
    for n in (0, len(nodes.centres) // 2, len(nodes.centres) - 1):
        source = int(nodes.centres[n])
        exact = [sum(law.noise.probability(y - source) for y in range(low, high)) for low, high in inner]
        assert chances[n, 1:-1] == pytest.approx(np.array([float(p) for p in exact]))
    if not law.clamped:
        assert chances[:, [0, -1]].max() < 1e-5  # the outermost states are all but never seen


@pytest.mark.parametrize("name", LATTICES)
def test_each_code_belongs_to_the_node_nearest_to_it(name: str) -> None:
    law = LATTICES[name]
    nodes, cut = lay_nodes(law, np.array([law.size // 3])), in_two(law.size)
    shares = membership(nodes, cut)
    assert len(nodes.centres) <= NODES and shares.sum(axis=1) == pytest.approx(1)
    blocks = np.repeat(cut.block, cut.last - cut.first + 1)
    middle = (nodes.step - 1) // 2
    owner = np.minimum((np.arange(law.size) + middle) // nodes.step, len(nodes.centres) - 1)
    counted = [np.bincount(blocks[owner == n], minlength=2) / (owner == n).sum() for n in range(len(shares))]
    assert shares == pytest.approx(np.array(counted))


# States of noisy numbers are as fine as their number allows: one for each code of a short lattice, and whole nodes


NO_CUTS = np.array([], np.int64)


@pytest.mark.parametrize("clamped", [True, False])
def test_every_code_of_a_short_lattice_has_its_own_state(clamped: bool) -> None:
    nodes = lay_nodes(Lattice(NODES, two_sided(Fraction(2)), clamped), NO_CUTS)
    assert (nodes.step, nodes.wide) == (1, 1) and np.all(np.diff(nodes.edges) == 1)


@pytest.mark.parametrize("scale", [2, 40, 1000])
@pytest.mark.parametrize("size", [NODES + 1, 1000, 5000])
def test_a_state_is_as_wide_as_some_nodes_and_no_wider_than_it_must_be(size: int, scale: int) -> None:
    nodes = lay_nodes(Lattice(size, two_sided(Fraction(scale))), NO_CUTS)
    length = nodes.edges[-1] - nodes.edges[0]
    assert nodes.wide % nodes.step == 0 and len(nodes.edges) <= _STATES + 3
    assert nodes.wide == nodes.step or length > (nodes.wide - nodes.step) * _STATES

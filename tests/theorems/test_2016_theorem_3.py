"""HLM16, Theorem 3: on a level set of u(d, ·) − u(d', ·), inequality (5) decides it on all subsets of that set.

The paper asks that C_d be the same for all d. It need not: on a level set P_d'/P_d = (C_d/C_d') e^{−α} is constant
whatever the normalisers are, and that is all the proof uses.
"""

from collections import defaultdict
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dproof import Categories, Mechanism, solution_matrix, sufficient_sets
from tests import brute_force
from tests.strategies import deltas, odds

UTILITIES = st.integers(2, 6).flatmap(
    lambda k: st.tuples(*(st.lists(st.integers(-3, 0), min_size=k, max_size=k) for _ in range(2)))
)


def exponential_laws(utilities: tuple[list[int], list[int]], base: Fraction) -> list[list[Fraction]]:
    """Two laws b^u / C with a rational b for e, so that level sets are exact; their normalisers differ in general."""
    powers = [[base**u for u in row] for row in utilities]
    return [[w / sum(row) for w in row] for row in powers]


def mechanism_of(laws: list[list[Fraction]]) -> Mechanism:
    return solution_matrix(Categories([0, 1]), laws, outputs=Categories(range(len(laws[0]))))


def level_sets(utilities: tuple[list[int], list[int]], laws: list[list[Fraction]]) -> list[list[int]]:
    levels = defaultdict(list)
    for y, (u, v) in enumerate(zip(*utilities, strict=True)):
        if laws[0][y] > laws[1][y]:
            levels[u - v].append(y)
    return list(levels.values())


@given(UTILITIES, st.sampled_from([Fraction(2), Fraction(27, 10)]), odds, deltas)
def test_a_level_set_decides_its_subsets(utilities, base: Fraction, at: Fraction, delta: Fraction) -> None:
    laws = exponential_laws(utilities, base)
    for level in sufficient_sets(mechanism_of(laws), 0, 1).levels:
        if brute_force.excess(*laws, level, at) <= delta:
            assert brute_force.delta(*laws, at, brute_force.subsets(level)) <= delta


@given(UTILITIES, st.sampled_from([Fraction(2), Fraction(27, 10)]))
def test_the_ratio_is_constant_on_a_level_set_whatever_the_normalisers(utilities, base: Fraction) -> None:
    """So the levels can be told from the laws alone, and the steepest comes first."""
    laws = exponential_laws(utilities, base)
    levels = sufficient_sets(mechanism_of(laws), 0, 1).levels
    ratios = [{laws[0][y] / laws[1][y] for y in level} for level in levels]
    assert all(len(ratio) == 1 for ratio in ratios)
    assert [max(ratio) for ratio in ratios] == sorted((max(ratio) for ratio in ratios), reverse=True)
    assert sorted(map(list, levels)) == sorted(level_sets(utilities, laws))

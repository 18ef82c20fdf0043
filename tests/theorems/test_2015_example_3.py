"""HLM15, Example 3: a query may answer with a number or with a set; both can be asked of sanitised rows."""

from collections import Counter
from fractions import Fraction

from dproof import Categories, Subsets, response_with
from tests import brute_force

INTERESTS = Subsets(["Classical Music", "Football", "Chess"])
HOBBIES = Categories(["Sports", "Cars", "Chess", "Music"])


def interested(table: tuple[frozenset[str], ...]) -> int:
    """How many like classical music or football."""
    return sum(bool(row & {"Classical Music", "Football"}) for row in table)


def three_most_common(table: tuple[str, ...]) -> frozenset[str]:
    """Ties are broken by a fixed, public rule: the order in which the values are declared."""
    counts = Counter(table)
    return frozenset(sorted(HOBBIES.values, key=lambda hobby: -counts[hobby])[:3])


def test_a_number_as_an_answer() -> None:
    table = tuple(frozenset(row) for row in [{"Chess"}, {"Football", "Chess"}, set(), {"Classical Music"}])
    assert interested(table) == 2
    assert interested(tuple(INTERESTS.decode(INTERESTS.encode(table)))) == 2


def test_both_kinds_of_answer_have_a_law_on_sanitised_rows() -> None:
    law = brute_force.product_law([brute_force.probabilities(response_with(HOBBIES, "0.1"))] * 2)[1]
    listed = brute_force.tables(HOBBIES.values, 2)
    numbers = brute_force.image(law, listed, lambda table: table.count("Chess"))
    sets = brute_force.image(law, listed, three_most_common)
    assert sum(numbers.values()) == sum(sets.values()) == 1
    assert numbers[2] == Fraction(1, 100)

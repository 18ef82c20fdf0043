"""HLM16, Example 1 (HLM15, Example 3): five hobbies, six people, and what can be asked about them."""

from collections import Counter
from itertools import product

from dproof import Categories, Privacy, randomised_response

HOBBIES = Categories(["Sports", "Cars", "Television", "Computer games", "Reading"])
TABLE = ("Sports", "Computer games", "Television", "Sports", "Reading", "Television")


def distinct(table: tuple[str, ...]) -> int:
    return len(set(table))


def watch_television(table: tuple[str, ...]) -> int:
    return table.count("Television")


def three_most_common(table: tuple[str, ...]) -> frozenset[str]:
    """A set as an answer; ties go by the order in which the space lists its values, which is public."""
    counts = Counter(table)
    return frozenset(sorted(HOBBIES.values, key=lambda hobby: -counts[hobby])[:3])


def test_the_example_has_m_equal_to_4() -> None:
    assert HOBBIES.size - 1 == 4
    assert HOBBIES.encode(TABLE).tolist() == [0, 3, 2, 0, 4, 2]


def test_the_answers_on_the_six_rows() -> None:
    assert distinct(TABLE) == 4
    assert watch_television(TABLE) == 2
    assert three_most_common(TABLE) == {"Sports", "Television", "Computer games"}


def test_counts_and_distinct_counts_have_sensitivity_1_under_both_relations() -> None:
    values = HOBBIES.values[:3]
    for query in (distinct, lambda table: table.count(values[0])):
        changed = added = 0
        for n in range(4):
            for table in product(values, repeat=n):
                for value in values:
                    added = max(added, abs(query((*table, value)) - query(table)))
                    for row in range(n):
                        other = (*table[:row], value, *table[row + 1 :])
                        changed = max(changed, abs(query(other) - query(table)))
        assert (changed, added) == (1, 1)


def test_any_of_these_queries_can_be_asked_of_the_sanitised_rows() -> None:
    sanitised = tuple(randomised_response(HOBBIES, Privacy(1)).draw(list(TABLE)))
    assert len(sanitised) == 6
    assert set(sanitised) <= set(HOBBIES.values)
    assert 1 <= distinct(sanitised) <= 5
    assert 0 <= watch_television(sanitised) <= 6
    assert len(three_most_common(sanitised)) == 3

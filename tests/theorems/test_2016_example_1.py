"""HLM16, Example 1 (HLM15, Example 3): five hobbies, six people, and what can be asked about them."""

from collections import Counter
from itertools import product

import pyarrow as pa

from dproof import Categories, Privacy, randomised_response, sanitise, sensitivity

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
    """At so large an ε nothing is changed: what is asked of the release is what the six people said."""
    plan = {
        "privacy": {"epsilon": 600},
        "columns": {"hobby": {"space": "categories", "values": list(HOBBIES.values)}},
    }
    release = sanitise(pa.table({"hobby": list(TABLE)}), plan)
    (row,) = release.raw("SELECT count(*) AS n, count(DISTINCT hobby) AS k FROM release").rows
    assert (row["n"], row["k"]) == (6, distinct(TABLE)) == (6, 4)
    number = release.query("SELECT count(DISTINCT hobby) AS k FROM release").rows[0]["k"]
    assert (number.low, number.estimate) == (4, 4) and number.high >= 4
    (row,) = release.raw("SELECT count(*) AS n FROM release WHERE hobby = 'Television'").rows
    assert row["n"] == watch_television(TABLE) == 2
    assert three_most_common(tuple(release.to_arrow()["hobby"].to_pylist())) == three_most_common(TABLE)
    assert three_most_common(TABLE) == {"Sports", "Television", "Computer games"}


def test_counts_and_distinct_counts_have_sensitivity_1_under_both_relations() -> None:
    """As the product derives it, and over every table of up to three rows with three values."""
    space = Categories(HOBBIES.values[:3])
    questions = {
        "SELECT count(DISTINCT hobby) FROM data": distinct,
        "SELECT count(*) FROM data WHERE hobby = 'Sports'": lambda table: table.count("Sports"),
    }
    for question, query in questions.items():
        changed = added = 0
        for n in range(4):
            for table in product(space.values, repeat=n):
                for value in space.values:
                    added = max(added, abs(query((*table, value)) - query(table)))
                    for row in range(n):
                        other = (*table[:row], value, *table[row + 1 :])
                        changed = max(changed, abs(query(other) - query(table)))
        for relation, found in (("change-one", changed), ("add-remove", added)):
            assert sensitivity(question, {"hobby": space}, relation).l1 == found == 1


def test_any_of_these_queries_can_be_asked_of_the_sanitised_rows() -> None:
    sanitised = tuple(randomised_response(HOBBIES, Privacy(1)).draw(list(TABLE)))
    assert len(sanitised) == 6
    assert set(sanitised) <= set(HOBBIES.values)
    assert 1 <= distinct(sanitised) <= 5
    assert 0 <= watch_television(sanitised) <= 6
    assert len(three_most_common(sanitised)) == 3

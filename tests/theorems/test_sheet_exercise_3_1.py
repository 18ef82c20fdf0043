"""The sheet, exercise 3.1: the sensitivity of six questions on a survey, under both relations, with evidence."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dproof import Categories, sensitivity
from dproof.questions.question import Schema

SURVEY = Schema(
    "data",
    {
        "read": Categories(["Yes", "No"]),
        "books": Categories(list(range(8))),
        "gender": Categories(["Male", "Female"]),
    },
)
READERS = "SELECT count(*) FROM data WHERE read = 'Yes'"
GENDERS = "SELECT gender, count(*) FROM data GROUP BY gender"
BY_FILTER = (
    "SELECT count(*) FILTER (WHERE gender = 'Male') AS m, count(*) FILTER (WHERE gender = 'Female') AS f FROM data"
)
FOUR = "SELECT gender, read, count(*) FROM data GROUP BY gender, read"
TOTAL = "SELECT sum(books) FROM data"

# part: question, l1 and l2² under add-remove, l1 and l2² under change-one
PARTS = {
    "i": (READERS, 1, 1, 1, 1),
    "ii": (GENDERS, 1, 1, 2, 2),
    "ii by filters": (BY_FILTER, 1, 1, 2, 2),
    "iii": ([READERS, GENDERS], 2, 2, 3, 3),
    "iii by filters": ([READERS, BY_FILTER], 2, 2, 3, 3),
    "iv": (FOUR, 1, 1, 2, 2),
    "v": (TOTAL, 7, 49, 7, 49),
}


@pytest.mark.parametrize("part", PARTS)
def test_sums_over_rows(part: str) -> None:
    question, added, added2, changed, changed2 = PARTS[part]
    add_remove = sensitivity(question, SURVEY, "add-remove")
    change_one = sensitivity(question, SURVEY, "change-one")
    assert (add_remove.l1, add_remove.l2_squared, add_remove.kind) == (added, added2, "exact")
    assert (change_one.l1, change_one.l2_squared, change_one.kind) == (changed, changed2, "exact")


@pytest.mark.parametrize("rows", [1, 2, 10])
def test_the_mean_depends_on_how_many_rows_there_are(rows: int) -> None:
    mean = "SELECT avg(books) FROM data"
    assert sensitivity(mean, SURVEY, "add-remove", rows=rows).l1 == Fraction(7, rows + 1)
    assert sensitivity(mean, SURVEY, "change-one", rows=rows).l1 == Fraction(7, rows)


def test_six_numbers_of_the_sheet() -> None:
    mean = "SELECT avg(books) FROM data"
    questions = [READERS, GENDERS, [READERS, GENDERS], FOUR, TOTAL, mean]
    found = [sensitivity(question, SURVEY, "add-remove").l1 for question in questions]
    assert found == [1, 1, 2, 1, 7, Fraction(7, 2)]


def test_the_witness_of_the_total_is_a_person_who_owns_all_seven() -> None:
    added = sensitivity(TOTAL, SURVEY, "add-remove").witness
    assert added is not None
    assert (added.before, added.after, added.distance) == ((), ({"books": 7},), 7)
    swapped = sensitivity(TOTAL, SURVEY, "change-one").witness
    assert swapped is not None
    assert {row["books"] for row in (*swapped.before, *swapped.after)} == {0, 7}

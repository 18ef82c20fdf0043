"""A program of one's own as a mechanism on whole tables, by enumeration."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

import dproof as dp
from dproof import TooLarge
from tests import brute_force

YES = dp.Categories(["no", "yes"])
HOBBIES = dp.Categories(["Sports", "Cars", "Reading"])


def test_row_by_row_it_is_the_product_of_the_rows() -> None:
    parent = dp.response_with(HOBBIES, "1/5")
    table = dp.Table(HOBBIES, 3)
    made = dp.from_program(lambda d, draw: tuple(draw(parent.law(row)) for row in d), table, outputs=table)
    wanted = dp.product_sanitisation(parent, 3)
    assert brute_force.probabilities(made) == brute_force.probabilities(wanted)
    assert made.epsilon() == wanted.epsilon() and made.error == wanted.error
    dp.certify(made, made.epsilon())


def noisy_mode(table: tuple[str, ...], draw: Any) -> str:
    """The most frequent hobby after noise of −1, 0 or 1 on each count; ties go to the first."""
    counts = Counter(table)
    noisy = {hobby: counts[hobby] + draw({0: 2, 1: 1, -1: 1}) for hobby in HOBBIES.values}
    return str(max(noisy, key=lambda hobby: noisy[hobby]))


def test_a_law_that_is_no_product() -> None:
    """Its δ at ε, from the definition over all tables that differ in one row."""
    made = dp.from_program(noisy_mode, dp.Table(HOBBIES, 3))
    rows, tables = brute_force.probabilities(made), brute_force.tables(HOBBIES.values, 3)
    law = Counter[str]()
    for noise in brute_force.tables((0, 0, 1, -1), 3):  # three tables of weights, written out
        counts = [tables[5].count(hobby) + extra for hobby, extra in zip(HOBBIES.values, noise, strict=True)]
        law[HOBBIES.values[counts.index(max(counts))]] += 1
    assert {y: made.law(tables[5])[y] for y in law} == {y: Fraction(n, 64) for y, n in law.items()}
    pairs = brute_force.neighbours(tables)
    for odds in (Fraction(1), Fraction(2), Fraction(5)):
        exact = max(brute_force.divergence(rows[i], rows[j], odds) for i, j in pairs)
        assert made.family.worst(odds).value == exact
    with pytest.raises(dp.NotPrivate) as refused:
        dp.certify(made, dp.Privacy(1, "0.01"))
    assert brute_force.hamming(refused.value.witness.d, refused.value.witness.d_prime) == 1
    assert "program noisy_mode" in repr(made)


def test_draws_may_depend_on_draws() -> None:
    def stops(table: Any, draw: Any) -> int:
        return next((n for n in range(3) if draw({"go on": "0.75", "stop": "0.25"}) == "stop"), 3)

    made = dp.from_program(stops, dp.Table(YES, 1))
    assert made.law(["no"])[1] == Fraction(3, 16) and made.law(["no"])[3] == Fraction(27, 64)
    assert made.epsilon() == 0


def test_one_person_has_all_pairs_and_a_table_one_row() -> None:
    def keeps(value: Any, draw: Any) -> Any:
        first, second = value.values() if isinstance(value, dict) else value
        return draw({first: 3, "other": 1}), draw({second: 3, "other": 1}), "x"

    answers = dp.Categories([1, 2])
    row, table = (
        dp.from_program(keeps, space) for space in (dp.Rows({"a": answers, "b": answers}), dp.Table(answers, 2))
    )
    assert row.family.neighbours is None and int(table.family.neighbours.sum()) == 8
    assert row.delta(0) > table.delta(0) == 0.75
    given = dp.from_program(keeps, dp.Table(answers, 2), neighbours=[((1, 1), (2, 2))])
    assert given.delta(0) == row.delta(0)


def unsteady_options() -> Callable[[Any, Any], Any]:
    runs: list[int] = []

    def program(table: Any, draw: Any) -> Any:
        runs.append(1)
        return draw(dict.fromkeys(range(1 + len(runs) % 3), 1))

    return program


@pytest.mark.parametrize(
    ("program", "told"),
    [
        (3, "a function"),
        (lambda table, draw: [1], "no lists"),
        (lambda table, draw: draw([1, 2]), "mapping from values to weights"),
        (lambda table, draw: draw({}), "not all 0"),
        (lambda table, draw: draw({1: -1, 2: 2}), "at least 0"),
        (lambda table, draw: draw({1: "much"}), "a weight"),
        (lambda table, draw: random.random(), "must come from draw"),
        (unsteady_options(), "must come from draw"),
        (lambda table, draw: True if "yes" in table else 1, "in one form"),
        (lambda table, draw: (True, 1) if "yes" in table else (1, True), "in one form"),
        (lambda table, draw: Decimal("1.0") if "yes" in table else Decimal("1.00"), "in one form"),
        (lambda table, draw: (0.0,) if "yes" in table else (-0.0,), "in one form"),
    ],
)
def test_what_is_no_program_is_refused(program: Any, told: str) -> None:
    with pytest.raises(dp.InputError, match=told):
        dp.from_program(program, dp.Table(YES, 2))


def test_it_is_clear_about_its_size() -> None:
    with pytest.raises(TooLarge, match="about 10\\^30 inputs, and a program is run for each; at most 4,096"):
        dp.from_program(lambda table, draw: 1, dp.Table(YES, 100))
    with pytest.raises(TooLarge, match="more than 65,536 ways"):
        dp.from_program(lambda table, draw: sum(draw(dict.fromkeys(range(300), 1)) for _ in range(300)), YES)
    with pytest.raises(TooLarge, match="too large to write out"):
        dp.from_program(lambda table, draw: 1, YES, outputs=dp.Interval(0, 1 << 30, 1))
    assert dp.from_program(lambda table, draw: table.count("yes"), dp.Table(YES, 8)).epsilon() == float("inf")


@pytest.mark.parametrize("going_on", [{True: 1, False: 1}, {False: 1, True: 1}])
def test_a_loop_that_need_not_end_is_refused(going_on: dict[bool, int]) -> None:
    """The first way of such a loop goes on for ever, or each run takes one more turn."""

    def turns(value: str, draw: Any) -> int:
        count = 0
        while draw(going_on):
            count += 1
        return min(count, 3)

    with pytest.raises(TooLarge, match="more than 400 times in one run"):
        dp.from_program(turns, YES)

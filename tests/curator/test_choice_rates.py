"""The rate at which a chance falls: no two neighbouring tables give a choice away by more than e^ε."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement
from math import exp

import pytest

from dproof import Categories, Interval, Privacy
from dproof.curator.select import Choice, _runs, choice_of, codes_by_value
from dproof.questions.question import Schema
from dproof.questions.sql import parse

SIZE = 4
SCHEMA = Schema("data", {"x": Interval(0, SIZE - 1)})


def chances(choice: Choice, rows: tuple[int, ...]) -> list[float]:
    """Of the exponential mechanism, P(x) ∝ e^(−t·miss(x)); permute-and-flip keeps the same promise."""
    counts = {value: rows.count(value) for value in set(rows)}
    lengths, misses = _runs(choice, counts, SIZE)
    weights = [
        exp(-float(choice.rate) * miss) for length, miss in zip(lengths, misses, strict=True) for _ in range(length)
    ]
    return [weight / sum(weights) for weight in weights]


@pytest.mark.parametrize("neighbours", ["change-one", "add-remove"])
@pytest.mark.parametrize("asked", ["median(x)", "quantile_disc(x, 0.25)", "quantile_disc(x, 0.9)"])
def test_a_quantile_costs_epsilon_at_most_and_uses_a_good_part_of_it(asked: str, neighbours: str) -> None:
    privacy = Privacy(1, neighbours=neighbours)
    aggregate = parse(f"SELECT {asked} FROM data").select[0].expression
    choice = choice_of(aggregate, SCHEMA, privacy, 1, 1)
    tables = [rows for n in range(4) for rows in combinations_with_replacement(range(SIZE), n)]
    most = 0.0
    for rows in tables:
        if neighbours == "change-one":
            others = [
                tuple(sorted((*rows[:n], value, *rows[n + 1 :]))) for n in range(len(rows)) for value in range(SIZE)
            ]
        else:
            others = [tuple(sorted((*rows, value))) for value in range(SIZE)]
        for other in others:
            pairs = zip(chances(choice, rows), chances(choice, other), strict=True)
            most = max(most, *(max(p / q, q / p) for p, q in pairs))
    assert exp(0.4) < most <= exp(1) * (1 + 1e-12)


def test_people_with_several_rows_and_several_groups_cost_as_many_times_more() -> None:
    aggregate = parse("SELECT median(x) FROM data").select[0].expression
    alone = choice_of(aggregate, SCHEMA, Privacy(1), 1, 1).rate
    assert choice_of(aggregate, SCHEMA, Privacy(1), 5, 1).rate == alone / 5
    added = Privacy(1, neighbours="add-remove")
    assert choice_of(aggregate, SCHEMA, added, 1, 1).rate == choice_of(aggregate, SCHEMA, added, 1, 9).rate
    assert alone == Fraction(1, 4) and choice_of(aggregate, SCHEMA, Privacy(1), 1, 9).rate == Fraction(1, 4)


@pytest.mark.parametrize(
    ("asked", "moves"), [("median(x)", 2), ("quantile_disc(x, 0.9)", 18), ("quantile_disc(x, 0.2)", 8)]
)
def test_a_row_that_leaves_a_group_for_another_moves_the_misses_of_both(asked: str, moves: int) -> None:
    aggregate = parse(f"SELECT {asked} FROM data").select[0].expression
    assert choice_of(aggregate, SCHEMA, Privacy(1), 1, 9).rate == Fraction(1, 2 * moves)
    added = Privacy(1, neighbours="add-remove")
    assert {choice_of(aggregate, SCHEMA, added, 1, groups).rate for groups in (1, 9)} == {Fraction(1, moves)}


def test_numbers_that_are_listed_in_any_order_are_chosen_among_in_their_own() -> None:
    assert codes_by_value(Categories([30, 10, 20])) == [1, 2, 0]
    assert codes_by_value(Interval(0, 10**9, step=1)) is None  # in order already, and too many to list

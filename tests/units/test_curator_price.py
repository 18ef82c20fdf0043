"""What a question is charged covers what any one row can do: recomputed from the laws that are sampled."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dproof.curation.drawing import _runs
from dproof.curation.measurement import Measurement, measure
from dproof.exact import log_above
from dproof.privacy import Privacy
from dproof.queries.linear import Term
from dproof.queries.schema import Schema, resolve
from dproof.queries.sql import parse
from dproof.spaces import Categories
from dproof.spaces.interval import Interval
from tests.units.test_curator_selection import law_of_flips
from tests.units.test_sensitivity_by_enumeration import holds

SCHEMA = Schema(
    "data",
    {"x": Interval(-2, 3, 1), "y": Categories([5, 0, 2]), "g": Categories(["a", "b", "c"])},
    frozenset({"g"}),
)
ROWS = [dict(zip("xyg", row, strict=True)) for row in product(range(-2, 4), [5, 0, 2], ["a", "b", "c", None])]
QUESTIONS = [
    "SELECT count(*) FROM data WHERE x > 0",
    "SELECT g, count(*) FROM data GROUP BY g",
    "SELECT g, count(*), sum(x), avg(x) FROM data GROUP BY g",
    "SELECT avg(x), avg(y) FROM data",
    "SELECT sum(x) FILTER (WHERE g = 'a') AS p, sum(y) FILTER (WHERE g <> 'a') AS q FROM data",
    "SELECT var_pop(x), count(*) FILTER (WHERE g IS NULL) AS n FROM data",
    "SELECT g, stddev(x) FROM data WHERE y > 0 GROUP BY g",
    "SELECT corr(x, y) FROM data",
    "SELECT x, covar_pop(x, y), count(g) FROM data GROUP BY x",
]


def effect(measurement: Measurement, row: dict[str, Any]) -> dict[Any, int]:
    """What one row adds to each noisy number, written out from the definition."""
    question = measurement.question
    if holds(question.where, row) is not True:
        return {}
    group = tuple(row[key.column] for key in question.group_by)
    found = {}
    for n, noisy in enumerate(measurement.noisy):
        term = noisy.statistic
        assert isinstance(term, Term)
        if holds(term.where, row) is True:
            value = Fraction(1)
            for column in term.columns:
                scale = term.scale(column, SCHEMA)
                value *= (row[column] - scale.origin) / scale.unit
            assert value.denominator == 1
            found[n, group] = int(value)
    return found


@pytest.mark.parametrize("neighbours", ["change-one", "add-remove"])
@pytest.mark.parametrize("text", QUESTIONS)
def test_no_pair_of_rows_costs_more_than_epsilon(text: str, neighbours: Any) -> None:
    question = resolve(parse(text), SCHEMA)
    privacy = Privacy("0.7", neighbours=neighbours)
    measurement = measure(question, SCHEMA, privacy)
    effects = [effect(measurement, row) for row in ROWS]
    price = [log_above(n.noise.law.ratio) if n.noise is not None else None for n in measurement.noisy]
    most = Fraction(0)
    others: list[dict[Any, int]] = [{}] if neighbours == "add-remove" else effects
    for a in effects:
        for b in others:
            loss = Fraction(0)
            for key in {*a, *b}:
                moved = abs(a.get(key, 0) - b.get(key, 0))
                each = price[key[0]]
                assert each is not None or moved == 0
                loss += moved * (each or 0)
            most = max(most, loss)
    assert most <= privacy.epsilon
    if measurement.exact:
        assert most > privacy.epsilon * Fraction(99, 100)  # and nothing is wasted


@settings(max_examples=30)
@given(st.sampled_from(QUESTIONS), st.integers(1, 4))
def test_a_person_with_more_rows_gets_more_noise(text: str, rows: int) -> None:
    question = resolve(parse(text), SCHEMA)
    one = measure(question, SCHEMA, Privacy(1))
    several = measure(question, SCHEMA, Privacy(1), rows_per_person=rows)
    for a, b in zip(one.noisy, several.noisy, strict=True):
        assert b.sensitivity >= rows * a.sensitivity


def test_delta_buys_narrower_noise_and_is_split_too() -> None:
    question = resolve(parse("SELECT g, x, count(*) FROM data GROUP BY g, x"), SCHEMA)
    relaxed = measure(question, SCHEMA, Privacy("0.1", "0.01"))
    pure = measure(question, SCHEMA, Privacy("0.1"))
    assert relaxed.noisy[0].noise is not None and pure.noisy[0].noise is not None
    assert relaxed.noisy[0].noise.variance < pure.noisy[0].noise.variance
    assert relaxed.noisy[0].noise.meets(Privacy("0.1", "0.01"))
    two = measure(resolve(parse("SELECT sum(x), sum(y) FROM data"), SCHEMA), SCHEMA, Privacy("0.1", "0.01"))
    spent = [n.noise.delta("0.05") for n in two.noisy if n.noise is not None]
    assert sum(spent) <= 0.01


def test_ranks_are_charged_twice_where_a_row_can_change_its_group() -> None:
    one = measure(resolve(parse("SELECT min(x) FROM data"), SCHEMA), SCHEMA, Privacy(1))
    many = measure(resolve(parse("SELECT g, min(x) FROM data GROUP BY g"), SCHEMA), SCHEMA, Privacy(1))
    added = Privacy(1, neighbours="add-remove")
    more = measure(resolve(parse("SELECT g, min(x) FROM data GROUP BY g"), SCHEMA), SCHEMA, added)
    assert [m.chosen[0].rate for m in (one, many, more)] == [Fraction(1, 2), Fraction(1, 4), Fraction(1, 2)]


SMALL = Schema("data", {"x": Categories([0, 1, 3]), "g": Categories(["a", "b"])})
KINDS = list(product([0, 1, 3], "ab"))
CHOICES = ["mode(x)", "median(x)", "quantile(x, 0.2)", "min(x)", "max(x)"]


def law_of_choice(measurement: Measurement, rows: list[tuple[int, str]]) -> dict[Any, float]:
    """The law of the chosen codes of all groups, written out from the law of permute-and-flip."""
    (choice,) = measurement.chosen
    groups = ["ab"] if not measurement.keys else ["a", "b"]
    laws = []
    for group in groups:
        counts = Counter([0, 1, 3].index(x) for x, g in rows if g in group)
        if choice.aggregate.kind == "mode":
            misses = [-counts[code] for code in range(3)]
        else:
            lengths, found = _runs(choice, counts, 3)
            misses = [miss for length, miss in zip(lengths, found, strict=True) for _ in range(length)]
        laws.append(law_of_flips(misses, float(choice.rate)))
    return {
        codes: math.prod(law[c] for law, c in zip(laws, codes, strict=True))
        for codes in product(range(3), repeat=len(laws))
    }


@pytest.mark.parametrize("neighbours", ["change-one", "add-remove"])
@pytest.mark.parametrize("groups", ["", "GROUP BY g"])
@pytest.mark.parametrize("chosen", CHOICES)
def test_no_pair_of_tables_costs_a_choice_more_than_epsilon(chosen: str, groups: str, neighbours: Any) -> None:
    question = resolve(parse(f"SELECT {chosen} AS c FROM data {groups}"), SMALL)
    measurement = measure(question, SMALL, Privacy(2, neighbours=neighbours))
    most = 0.0
    for shared in combinations_with_replacement(KINDS, 4 if "quantile" in chosen else 2):
        laws = [law_of_choice(measurement, [*shared, row]) for row in KINDS]
        others = [law_of_choice(measurement, list(shared))] if neighbours == "add-remove" else laws
        for p in laws:
            for q in others:
                most = max(most, *(abs(math.log(p[c] / q[c])) for c in p))
    assert most <= 2 + 1e-9


def test_a_top_list_splits_its_price_over_its_places() -> None:
    top = measure(resolve(parse("SELECT top(g, 2) FROM data"), SMALL), SMALL, Privacy(1))
    one = measure(resolve(parse("SELECT mode(g) FROM data"), SMALL), SMALL, Privacy("1/2"))
    assert top.chosen[0].rate == one.chosen[0].rate

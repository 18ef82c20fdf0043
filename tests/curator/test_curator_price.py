"""What a question is charged covers what any one row can do: recomputed from the laws that are sampled."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dproof import Categories, Interval, Privacy
from dproof.curator.recipe import Choice, Measurement, measure
from dproof.curator.select import _runs, promise
from dproof.exact import log_above
from dproof.privacy import Unit
from dproof.questions.question import Aggregate, Schema
from dproof.questions.sums import Term
from tests.curator.test_curator_selection import law_of_flips
from tests.makers import measured_for, resolved
from tests.questions.test_sensitivity_by_enumeration import holds

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


GAPS = Schema("data", SCHEMA.spaces, frozenset("xyg"))  # numbers that may be missing
GAP_ROWS = [dict(zip("xyg", r, strict=True)) for r in product([*range(-2, 4), None], [5, 0, 2, None], ["a", "b", None])]


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


@pytest.mark.parametrize("by_person", [False, True])
@pytest.mark.parametrize("neighbours", ["change-one", "add-remove"])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("text", [*QUESTIONS, "SELECT count(*), avg(x) FROM data", "SELECT count(x), sum(x) FROM data"])
def test_no_pair_of_rows_costs_more_than_epsilon(text: str, gaps: bool, neighbours: Any, by_person: bool) -> None:
    """Where rows say who owns them, a person's only row may also be there in one table and not in the other."""
    schema, rows = (GAPS, GAP_ROWS) if gaps else (SCHEMA, ROWS)
    question = resolved(text, schema)
    privacy = Privacy("0.7", neighbours=neighbours)
    measurement = measure(question, schema, privacy, unit=Unit(neighbours, "id" if by_person else None))
    effects = [effect(measurement, row) for row in rows]
    price = [log_above(n.noise.law.ratio) if n.noise is not None else None for n in measurement.noisy]
    most = Fraction(0)
    others: list[dict[Any, int]] = [{}] if neighbours == "add-remove" else [*effects, *[{}] * by_person]
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
    assert most > privacy.epsilon * Fraction(99, 100)  # and nothing is wasted


@settings(max_examples=30)
@given(st.sampled_from(QUESTIONS), st.integers(1, 4))
def test_a_person_with_more_rows_gets_more_noise(text: str, rows: int) -> None:
    question = resolved(text, SCHEMA)
    one = measure(question, SCHEMA, Privacy(1))
    several = measure(question, SCHEMA, Privacy(1), unit=Unit(rows_per_person=rows))
    for a, b in zip(one.noisy, several.noisy, strict=True):
        assert b.sensitivity >= rows * a.sensitivity


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_gaussian_noise_and_choices_are_for_all_rows_of_a_person(rows: int) -> None:
    """r rows move a sum r times as far, its square r² times, and a choice costs r times what one row makes it cost."""
    privacy = Privacy("0.1", "0.01", neighbours="add-remove")
    question = resolved("SELECT sum(x) FROM data", SCHEMA)
    (noisy,) = measure(question, SCHEMA, privacy, unit=Unit(privacy.neighbours, rows_per_person=rows)).noisy
    assert noisy.noise is not None and noisy.noise.meets(privacy)
    assert (noisy.noise.name, noisy.sensitivity, noisy.noise.size) == ("Gaussian", 3 * rows, (3 * rows) ** 2)
    for chosen in ("min(x)", "median(x)", "mode(g)", "top(g, 2)"):
        question = resolved(f"SELECT {chosen} FROM data", SCHEMA)
        one, several = (
            measure(question, SCHEMA, privacy, unit=Unit(privacy.neighbours, rows_per_person=r)).chosen[0]
            for r in (1, rows)
        )
        assert several.rate * rows == one.rate


def test_delta_buys_narrower_noise_and_is_split_too() -> None:
    question = resolved("SELECT g, x, count(*) FROM data GROUP BY g, x", SCHEMA)
    relaxed = measure(question, SCHEMA, Privacy("0.1", "0.01"))
    pure = measure(question, SCHEMA, Privacy("0.1"))
    assert relaxed.noisy[0].noise is not None and pure.noisy[0].noise is not None
    assert relaxed.noisy[0].noise.variance < pure.noisy[0].noise.variance
    assert relaxed.noisy[0].noise.meets(Privacy("0.1", "0.01"))
    two = measured_for("SELECT sum(x), sum(y) FROM data", SCHEMA, Privacy("0.1", "0.01"))
    spent = [n.noise.delta("0.05") for n in two.noisy if n.noise is not None]
    assert sum(spent) <= 0.01


def test_ranks_are_charged_twice_where_a_row_can_change_its_group() -> None:
    one = measured_for("SELECT min(x) FROM data", SCHEMA, Privacy(1))
    many = measured_for("SELECT g, min(x) FROM data GROUP BY g", SCHEMA, Privacy(1))
    added = Privacy(1, neighbours="add-remove")
    more = measured_for("SELECT g, min(x) FROM data GROUP BY g", SCHEMA, added)
    assert [m.chosen[0].rate for m in (one, many, more)] == [Fraction(1, 2), Fraction(1, 4), Fraction(1, 2)]


def misses(choice: Choice, counts: Mapping[int, int], size: int) -> list[int]:
    lengths, found = _runs(choice, counts, size)
    return [miss for length, miss in zip(lengths, found, strict=True) for _ in range(length)]


@pytest.mark.parametrize("q", ["0.5", "0.2", "0.75", "0.9"])
def test_quantiles_are_charged_exactly_what_misses_can_move(q: str) -> None:
    """What a choice costs at the rate 1 is how much further its worst miss moves than its best, over all groups."""
    schema = Schema("data", {"x": Categories([0, 1, 2, 3]), "g": Categories(["a", "b"])})

    def charged(groups: str, neighbours: Any) -> Fraction:
        question = resolved(f"SELECT quantile(x, {q}) AS c FROM data {groups}", schema)
        (choice,) = measure(question, schema, Privacy(1, neighbours=neighbours)).chosen
        return 1 / choice.rate

    quantile = Aggregate("quantile", ("x",), Fraction(q))
    choice = Choice(quantile, "exponential", Fraction(1), 4)
    tables = [Counter(rows) for rows in combinations_with_replacement(range(4), 13)]
    added = changed = 0
    for table in tables:
        before = misses(choice, table, 4)
        for gone in table:
            fewer = table - Counter([gone])
            added = max(added, apart(before, misses(choice, fewer, 4)))
            changed = max(changed, *(apart(before, misses(choice, fewer + Counter([x]), 4)) for x in range(4)))
    assert (charged("", "add-remove"), charged("", "change-one")) == (added, changed)
    assert charged("GROUP BY g", "add-remove") == added
    assert charged("GROUP BY g", "change-one") == 2 * added  # a row leaves one group and enters another


def apart(before: list[int], after: list[int]) -> int:
    moved = [y - x for x, y in zip(before, after, strict=True)]
    return max(moved) - min(moved)


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
        missed = [-counts[code] for code in range(3)] if choice.aggregate.kind == "mode" else misses(choice, counts, 3)
        laws.append(law_of_flips(missed, float(choice.rate)))
    return {
        codes: math.prod(law[c] for law, c in zip(laws, codes, strict=True))
        for codes in product(range(3), repeat=len(laws))
    }


@pytest.mark.parametrize("neighbours", ["change-one", "add-remove"])
@pytest.mark.parametrize("groups", ["", "GROUP BY g"])
@pytest.mark.parametrize("chosen", CHOICES)
def test_no_pair_of_tables_costs_a_choice_more_than_epsilon(chosen: str, groups: str, neighbours: Any) -> None:
    question = resolved(f"SELECT {chosen} AS c FROM data {groups}", SMALL)
    measurement = measure(question, SMALL, Privacy(2, neighbours=neighbours))

    @cache
    def logs(*rows: tuple[int, str]) -> Any:
        return np.log([*law_of_choice(measurement, list(rows)).values()])

    most = 0.0
    for shared in combinations_with_replacement(KINDS, 4 if "quantile" in chosen else 2):
        laws = np.array([logs(*sorted([*shared, row])) for row in KINDS])
        others = logs(*sorted(shared))[None] if neighbours == "add-remove" else laws
        most = max(most, np.abs(laws[:, None] - others).max())
    assert most <= 2 + 1e-9


def as_told(chosen: str, numbers: list[float], counts: Counter[int], code: int) -> bool:
    """Whether a chosen code is as good as the promise says, given the numbers in its text."""
    below, above = (sum(n for x, n in counts.items() if side * (x - code) > 0) for side in (-1, 1))
    if chosen == "mode(x)":
        return max(counts.values(), default=0) <= counts[code] + numbers[-1]
    if chosen in ("min(x)", "max(x)"):
        return (below if chosen == "min(x)" else above) <= numbers[-2]
    low, more, high, again = numbers[-4:]
    total = counts.total()
    return below <= low * total + more and above <= high * total + again and more == again


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("chosen", CHOICES)
def test_a_choice_keeps_what_it_says_on_every_small_table(chosen: str, level: float) -> None:
    measurement = measured_for(f"SELECT {chosen} AS c FROM data", SMALL, Privacy(4))
    numbers = [
        float(text) for text in re.findall(r"[\d.]*\d", promise(measurement.chosen[0], level, measurement.question))
    ]
    assert level in numbers
    least = 1.0
    for rows in range(9):
        for table in combinations_with_replacement([0, 1, 3], rows):
            counts = Counter([0, 1, 3].index(x) for x in table)
            law = law_of_choice(measurement, [(x, "a") for x in table])
            least = min(least, sum(p for (code,), p in law.items() if as_told(chosen, numbers, counts, code)))
    assert level <= least + 1e-9
    assert least < 1  # and some table puts it to the test


def test_a_top_list_keeps_what_it_says() -> None:
    measurement = measured_for("SELECT top(x, 2) FROM data", SMALL, Privacy(4))
    (choice,) = measurement.chosen
    most = int(re.findall(r"\d+", promise(choice, 0.9, measurement.question))[-1])
    worst = 1.0
    for counts in product(range(2 * most + 3), repeat=3):
        kept = 0.0
        for first, p in enumerate(law_of_flips([-n for n in counts], float(choice.rate))):
            left = [n for code, n in enumerate(counts) if code != first]
            good = sum(
                q
                for n, q in zip(left, law_of_flips([-n for n in left], float(choice.rate)), strict=True)
                if n >= max(left) - most
            )
            kept += p * good * (counts[first] >= max(counts) - most)
        worst = min(worst, kept)
    assert 0.9 <= worst < 1


def test_a_top_list_splits_its_price_over_its_places() -> None:
    top = measured_for("SELECT top(g, 2) FROM data", SMALL, Privacy(1))
    one = measured_for("SELECT mode(g) FROM data", SMALL, Privacy("1/2"))
    assert top.chosen[0].rate == one.chosen[0].rate

"""COUNT(DISTINCT ...): what one person can do to it, over every pair of small tables, is what its noise is made for."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dproof import Categories, Cost, Curator, Privacy, Subsets
from dproof.curator.answer import answer_of
from dproof.exact import log_above
from dproof.mechanisms.noise import integer_laplace
from dproof.privacy import Unit
from dproof.questions.measured import different, level_of_each
from dproof.questions.question import Schema, canonical
from tests.makers import measured_for, resolved
from tests.statistics.told import Told

TABLE = Schema("data", {"x": Categories([0, 1, 2]), "g": Categories(["a", "b"])}, frozenset("x"))
ROWS = list(product([0, 1, 2, None], "ab"))


def tables(most: int) -> list[tuple[Any, ...]]:
    return [rows for size in range(most + 1) for rows in combinations_with_replacement(ROWS, size)]


def counted(rows: tuple[Any, ...], grouped: bool, by_value: bool) -> list[int]:
    """The number of different values, of all rows or in each group; or the number of rows that have each value."""
    groups = ["a", "b"] if grouped else ["ab"]
    if by_value:
        return [sum(x == value and g in group for x, g in rows) for group in groups for value in range(3)]
    return [len({x for x, g in rows if g in group and x is not None}) for group in groups]


@pytest.mark.parametrize("rows_per_person", [1, 2])
@pytest.mark.parametrize("neighbours", ["change-one", "add-remove"])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("by_value", [False, True])
@pytest.mark.parametrize("delta", ["0", "1e-3"])
def test_the_noise_is_made_for_what_one_person_can_do(
    grouped: bool, neighbours: Any, rows_per_person: int, delta: str, by_value: bool
) -> None:
    privacy = Privacy("0.7", delta, neighbours=neighbours)
    text = f"SELECT count(DISTINCT x) AS n FROM data {'GROUP BY g' if grouped else ''}"
    unit = Unit(privacy.neighbours, rows_per_person=rows_per_person)
    (noisy,) = measured_for(text, TABLE, privacy, unit=unit, by_value=by_value).noisy
    noise, person = noisy.noise, tables(rows_per_person)
    assert noise is not None and noisy.values == (3 if by_value else None)
    moved, squared, cells = 0, 0, 0
    for shared in tables(1):
        found = [counted((*shared, *rows), grouped, by_value) for rows in person]
        others = found if neighbours == "change-one" else [counted(shared, grouped, by_value)]
        for a, b in product(found, others):
            steps = [abs(x - y) for x, y in zip(a, b, strict=True)]
            moved, squared = max(moved, sum(steps)), max(squared, sum(step**2 for step in steps))
            cells = max(cells, sum(step > 0 for step in steps))
    assert noisy.sensitivity == moved
    assert noise.size == (moved if noise.name == "Laplace" else squared)
    assert noise.coordinates >= cells and noise.meets(privacy)
    if delta == "0":
        loss = moved * log_above(noise.law.ratio)  # type: ignore[union-attr]
        assert privacy.epsilon * Fraction(99, 100) < loss <= privacy.epsilon


@pytest.mark.parametrize("neighbours", ["change-one", "add-remove"])
@pytest.mark.parametrize("grouped", [False, True])
def test_a_set_adds_to_the_count_of_each_item(neighbours: Any, grouped: bool) -> None:
    schema = Schema("data", {"x": Subsets(["tea", "jam", "rum"]), "g": Categories(["a", "b"])})
    text = f"SELECT count(DISTINCT unnest(x)) AS n FROM data {'GROUP BY g' if grouped else ''}"
    (noisy,) = measured_for(text, schema, Privacy(1, neighbours=neighbours)).noisy
    rows = [[(mask >> bit & 1) * (g == group) for group in range(1 + grouped) for bit in range(3)]
            for mask in range(8) for g in range(1 + grouped)]  # fmt: skip
    others = rows if neighbours == "change-one" else [[0] * 3 * (1 + grouped)]
    moved = max(sum(abs(x - y) for x, y in zip(a, b, strict=True)) for a in rows for b in others)
    assert noisy.values == 3 and noisy.sensitivity == moved and noisy.noise is not None
    assert moved * log_above(noisy.noise.law.ratio) <= 1  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "column",
    [
        {"space": "interval", "low": 0, "high": 10**9, "step": 1},
        {"space": "interval", "low": 0, "high": 10**9, "step": 1, "missing": "category"},
        {"space": "subsets", "values": [*"abcdefghijklmnopqrstuvwxyz0123"]},
        {"space": "subsets", "values": [*"abcdefghijklmnopqrst"], "missing": "category"},
    ],
)
def test_a_column_may_have_more_values_than_memory_has_room_for(column: dict[str, Any], tmp_path: Path) -> None:
    rows = [1, 7, 7, None] if column["space"] == "interval" else [["a"], ["b", "c"], [], None]
    plan = {"privacy": {"epsilon": 100}, "columns": {"x": column}}
    asked = Curator(pa.table({"x": rows}), plan, ledger=tmp_path / "b.db")
    true = 2 if column["space"] == "interval" else 3
    assert asked.ask("SELECT count(DISTINCT x) AS n FROM data", epsilon=99).rows[0]["n"].estimate == true


@pytest.mark.parametrize("held", [(0, 0, 0), (9, 0, 0), (3, 1, 0), (1, 1, 1), (30, 12, 7)])
@pytest.mark.parametrize("level", ["0.5", "0.95"])
def test_the_number_lies_in_its_interval_as_often_as_it_says(held: tuple[int, ...], level: str) -> None:
    """Over every outcome of the noise on three counts."""
    noise = integer_laplace(2, Privacy(1))
    reach = np.arange(-20, 21)  # what lies beyond has less than 2 in 10,000, and counts as missed
    chances = np.array([float(noise.probability(int(k))) for k in reach])
    noises = np.stack(np.meshgrid(reach, reach, reach), axis=-1).reshape(-1, 3)
    counts = np.array(held) + noises
    half = noise.quantile(repr(level_of_each(float(level), 3)))
    cells = different(counts, counts - half, counts + half, counts)
    true = sum(map(bool, held))
    covered = np.array([cell.low <= true <= cell.high and cell.low <= cell.estimate <= cell.high for cell in cells])
    assert covered @ np.prod(chances[noises + 20], axis=1) >= float(level)


@pytest.mark.parametrize(("held", "epsilon", "told"), [((2, 2), "0.5", 0), ((30, 0), "1", 0.99)])
def test_a_number_that_is_told_holds(held: tuple[int, int], epsilon: str, told: float) -> None:
    """Each outcome is a group. Of two rows for each value 12 % of the answers were told, and 81 % of those held."""
    privacy = Privacy(epsilon, neighbours="add-remove")
    alone = Schema("data", {"x": Categories([0, 1])})
    noise = measured_for("SELECT count(DISTINCT x) AS n FROM data", alone, privacy).noisy[0].noise
    assert noise is not None
    end = noise.quantile("0.9999")
    noises = np.array(list(product(range(-end, end + 1), repeat=2)))
    chances = np.array([float(noise.probability(a) * noise.probability(b)) for a, b in noises.tolist()])
    grouped = Schema("data", {"x": Categories([0, 1]), "g": Categories(list(range(len(noises))))})
    measurement = measured_for("SELECT g, count(DISTINCT x) AS n FROM data GROUP BY g", grouped, privacy)
    released = {"noisy": [(held + noises).tolist()], "chosen": [], "private": True}
    cells = [row["n"] for row in answer_of(measurement, released, 0.95).rows]
    found = Told.of(cells, chances, sum(map(bool, held)))
    assert found.told >= told and (found.held >= 0.93 or found.told < 0.01)


def survey(path: Path, **privacy: Any) -> Curator:
    values = ["Sports", "Games", "Television", "Reading", "Music"]
    columns = {"hobby": {"space": "categories", "values": values}, "sex": {"space": "categories", "values": ["f", "m"]}}
    plan = {"privacy": {"epsilon": 100, **privacy}, "columns": columns}
    rows = pa.table({"hobby": values[:4] * 750, "sex": ["f", "m", "m"] * 1000})
    return Curator(rows, plan, ledger=path / "budget.db")


@pytest.mark.parametrize("asked", ["count(DISTINCT hobby)", "count(DISTINCT hobby) FILTER (WHERE sex = 'f')"])
def test_few_values_are_told_by_their_counts(tmp_path: Path, asked: str) -> None:
    """Noise on a number of at most 5 said nothing, of 3,000 people at ε = 1."""
    answer = survey(tmp_path).ask(f"SELECT {asked} AS n, 10 * {asked} AS ten FROM data", epsilon=1)
    cell, ten = answer.rows[0]["n"], answer.rows[0]["ten"]
    assert cell.informative and 4 in (cell.low, cell.high) and cell.low >= 3
    assert (ten.low, ten.high) == (10 * cell.low, 10 * cell.high)
    assert not any("below 0" in note for note in answer.notes)


def test_a_number_that_an_earlier_version_told_is_told_again(tmp_path: Path) -> None:
    curator, text = survey(tmp_path), "SELECT count(DISTINCT hobby) AS n FROM data"
    key = curator._key_of(canonical(resolved(text, curator.schema)), ["hobby"])
    curator._buy(key, Cost(Fraction(1)), dict, lambda: {"noisy": [[6]], "chosen": [], "private": True})
    left = curator.remaining()
    for answer in (curator.ask(text, epsilon=1), curator.ask(text, epsilon="0.5")):
        assert answer.rows[0]["n"].raw == 6 and answer.notes[0].startswith("It was free")
    assert curator.remaining() == left


def test_an_accuracy_is_that_of_the_number(tmp_path: Path) -> None:
    curator, text = survey(tmp_path), "SELECT count(DISTINCT hobby) AS n FROM data"
    assert curator.preview(text, accuracy=1).half_widths == {"n": 1}
    assert curator.preview(text, epsilon=1).half_widths == {"n": None}
    cell = curator.ask(text, accuracy=1).rows[0]["n"]
    assert cell.high - cell.low <= 2


@pytest.mark.parametrize("neighbours", ["change-one", "add-remove"])
def test_two_of_them_share_the_price(neighbours: Any) -> None:
    text = "SELECT g, count(DISTINCT x) AS n, count(DISTINCT x) FILTER (WHERE x > 0) AS m FROM data GROUP BY g"
    found = measured_for(text, TABLE, Privacy(1, neighbours=neighbours)).noisy
    loss = sum(part.sensitivity * log_above(part.noise.law.ratio) for part in found)  # type: ignore[union-attr]
    assert len(found) == 2 and Fraction(99, 100) < loss <= 1


MEAN = -50 / 3000


@pytest.mark.parametrize(
    ("asked", "truth"),
    [
        ("count(DISTINCT g) / avg(x)", 3 / MEAN),
        ("count(DISTINCT g) * avg(x) * avg(x)", 3 * MEAN**2),
        ("count(DISTINCT g) / (avg(x) * avg(x) - 0.04)", 3 / (MEAN**2 - 0.04)),
    ],
)
def test_a_calculation_holds_also_between_the_ends_of_its_parts(tmp_path: Path, asked: str, truth: float) -> None:
    """A divisor that may be 0, and a square, are not between what they are at the ends: 3 / −0.04 was in ± 0.6."""
    x = {"space": "interval", "low": -20, "high": 20}
    plan = {"privacy": {"epsilon": 100}, "columns": {"g": {"space": "categories", "values": ["a", "b", "c"]}, "x": x}}
    rows = pa.table({"g": ["a", "b", "c"] * 1000, "x": [-20, 20, 0] * 999 + [-20, -20, -10]})
    curator = Curator(rows, plan, ledger=tmp_path / "budget.db")
    cell = curator.ask(f"SELECT {asked} AS n FROM data", epsilon="0.02").rows[0]["n"]
    assert not cell.informative or cell.low <= truth <= cell.high

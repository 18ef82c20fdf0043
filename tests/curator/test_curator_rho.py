"""A question with δ buys ρ, and all of its sums share it: by how far one row moves them together, in l2."""

from __future__ import annotations

import json
import math
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dproof import Categories, Curator, Interval, OverBudget, Privacy, Terms
from dproof.composition import pure_epsilon
from dproof.curator.account import rho_for
from dproof.curator.recipe import Measurement, measure
from dproof.exact import log_above
from dproof.privacy import Unit
from dproof.questions.question import Schema
from dproof.testing import seeded_coins
from tests.curator.test_curator_price import GAP_ROWS, GAPS, QUESTIONS, ROWS, SCHEMA, effect
from tests.makers import resolved
from tests.releases.test_versions import EMPTY, figures

PEOPLE = pa.table({"age": np.random.default_rng(5).integers(0, 100, 3000)})


def plan(neighbours: str = "add-remove", epsilon: str = "1", delta: str = "1e-6", **more: Any) -> dict[str, Any]:
    return {
        "privacy": {"epsilon": epsilon, "delta": delta, "neighbours": neighbours, **more},
        "columns": {"age": {"space": "interval", "low": 0, "high": 99, "step": 1}},
    }


def losses(measurement: Measurement) -> list[tuple[int, float]]:
    """What a move d of a noisy number costs: d²/2σ² in ρ under Gaussian noise, d·ln(ratio) under Laplace noise."""
    found = []
    for noisy in measurement.noisy:
        law: Any = noisy.noise.law if noisy.noise is not None else None
        if law is None:
            found.append((1, math.inf))
        elif noisy.noise is not None and noisy.noise.name == "Gaussian":
            assert law.unit == 1
            found.append((2, float(1 / (2 * law.square))))
        else:
            found.append((1, float(log_above(law.ratio))))
    return found


@pytest.mark.parametrize("by_person", [False, True])
@pytest.mark.parametrize("neighbours", ["change-one", "add-remove"])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("text", QUESTIONS)
def test_no_pair_of_rows_costs_more_than_rho(text: str, gaps: bool, neighbours: Any, by_person: bool) -> None:
    schema, rows = (GAPS, GAP_ROWS) if gaps else (SCHEMA, ROWS)
    rho, question = Fraction("0.02"), resolved(text, schema)
    privacy, unit = Privacy(1, "1e-6", neighbours=neighbours), Unit(neighbours, "id" if by_person else None)
    measurement = measure(question, schema, privacy, rho=rho, unit=unit)
    effects = [effect(measurement, row) for row in rows]
    others: list[dict[Any, int]] = [{}] if neighbours == "add-remove" else [*effects, *[{}] * by_person]
    steps, most = losses(measurement), 0.0
    for a in effects:
        for b in others:
            moved = {key: abs(a.get(key, 0) - b.get(key, 0)) for key in {*a, *b}}
            most = max(most, sum(d ** steps[n][0] * steps[n][1] for (n, _), d in moved.items() if d))
    names = {noisy.noise.name for noisy in measurement.noisy if noisy.noise is not None}
    allowed = float(rho if names == {"Gaussian"} else pure_epsilon(rho))
    assert len(names) == 1 and allowed * 0.97 < most <= allowed * (1 + 1e-12)


@pytest.mark.parametrize(("groups", "moved"), [("", 1), ("GROUP BY g", 2)])
def test_wide_noise_is_charged_for_its_cells(groups: str, moved: int) -> None:
    """Where a cell of a table holds several values, a move may cross one cell more than it is long."""
    schema = Schema("data", {"x": Interval(0, 10**5, 1), "g": Categories(["a", "b"])})
    rho = Fraction("0.002")
    question = resolved(f"SELECT sum(x) FROM data {groups}", schema)
    made = measure(question, schema, Privacy(1, "1e-6"), rho=rho)
    (noisy,) = made.noisy
    assert noisy.noise is not None and noisy.noise.name == "Gaussian"
    unit, square = noisy.noise.law.unit, noisy.noise.law.square  # type: ignore[union-attr]
    assert unit > 1 and made.cut > 0
    cells = noisy.sensitivity // moved // unit + 1  # of each of the sums that move
    assert rho * Fraction(96, 100) < Fraction(moved * cells**2) / (2 * square) <= rho


def test_a_hundred_counts_at_once(tmp_path: Path) -> None:
    """The figure of the documentation: the exact standard deviation of each of 100 counts at (1, 1e-6)."""
    asked = ", ".join(f"count(*) FILTER (WHERE age >= {n})" for n in range(1, 100))
    curator = Curator(PEOPLE, plan(), ledger=tmp_path / "b.db")
    made = curator._measurement(f"SELECT {asked}, count(*) FROM data", Terms("1", "1e-6", None, 0.95, False))
    noises = [noisy.noise for noisy in made.noisy]
    assert len(noises) == 100 and {noise.name for noise in noises if noise is not None} == {"Gaussian"}
    spreads = {round(noise.variance**0.5, 2) for noise in noises if noise is not None}
    assert spreads == {45.44}


def test_a_hundred_counts_one_after_another(tmp_path: Path) -> None:
    """As many at the price of a hundredth each, chosen one by one, and then nothing is left."""
    curator = Curator(PEOPLE, plan(), ledger=tmp_path / "b.db")
    whole = curator.remaining().rho
    assert whole is not None
    epsilon = max(
        (n for n in range(1, 2000) if rho_for(Fraction(n, 10**4), Fraction(1, 10**8)) <= whole / 100), default=0
    )
    price = {"epsilon": Fraction(epsilon, 10**4), "delta": "1e-8"}
    with seeded_coins(2):
        answers = [curator.ask(f"SELECT count(*) AS n FROM data WHERE age < {n}", **price) for n in range(1, 101)]
        assert max(answer.rows[0]["n"].stderr for answer in answers) < 46
        with pytest.raises(OverBudget):
            curator.ask("SELECT count(*) AS n FROM data WHERE age > 5", **price)


@pytest.mark.parametrize("rows_per_person", [1, 3])
def test_persons_with_several_rows_move_that_much_more(rows_per_person: int) -> None:
    question = resolved("SELECT count(*), sum(x) FROM data", SCHEMA)
    privacy, rho = Privacy(1, "1e-6", neighbours="add-remove"), Fraction("0.02")
    one, several = (
        measure(question, SCHEMA, privacy, rho=rho, unit=Unit(privacy.neighbours, rows_per_person=n))
        for n in (1, rows_per_person)
    )
    for a, b in zip(one.noisy, several.noisy, strict=True):
        assert a.noise is not None and b.noise is not None
        assert b.noise.variance == pytest.approx(a.noise.variance * rows_per_person**2, rel=1e-3)


def test_an_answer_keeps_its_price_and_its_interval(tmp_path: Path) -> None:
    sql = "SELECT count(*) AS n, sum(age) AS s FROM data WHERE age < 50"
    with seeded_coins(3):
        first = Curator(PEOPLE, plan(), ledger=tmp_path / "b.db")
        answer = first.ask(sql, epsilon="0.2", delta="1e-7")
        assert "rho 0.0009" in answer.notes[0]
        left = first.remaining()
        again = Curator(PEOPLE, plan(), ledger=tmp_path / "b.db")
        cheaper = again.ask(sql, epsilon="0.1", delta="1e-8")
    assert cheaper.rows == answer.rows and again.remaining() == left and "free" in cheaper.notes[0]


def test_choices_and_distinct_counts_share_rho(tmp_path: Path) -> None:
    question = resolved("SELECT median(x), count(DISTINCT x), count(*) FROM data WHERE y > 0", SCHEMA)
    rho = Fraction("0.03")
    made = measure(question, SCHEMA, Privacy(1, "1e-6", neighbours="add-remove"), rho=rho)
    (choice,) = made.chosen
    assert choice.rate == pure_epsilon(rho / 3) / 2
    for noisy in made.noisy:
        assert noisy.noise is not None and noisy.noise.name == "Gaussian"
        assert noisy.noise.variance == pytest.approx(1 / (2 * rho / 3), rel=1e-3)


def test_too_small_a_delta_buys_laplace_noise() -> None:
    """Of so small a δ, what a table of Gaussian noise misses would be too large a part."""
    question = resolved("SELECT count(*) FROM data WHERE x > 0", SCHEMA)
    rho = rho_for(Fraction(1), Fraction("1e-30"))
    (noisy,) = measure(question, SCHEMA, Privacy(1, "1e-30"), rho=rho).noisy
    assert noisy.noise is not None and noisy.noise.name == "Laplace"
    assert log_above(noisy.noise.law.ratio) <= pure_epsilon(rho)  # type: ignore[union-attr]


HERE = Path(__file__).parents[1] / "fixtures" / "version-1-delta"
ANSWERS = json.loads((HERE / "answers.json").read_text("utf-8"))


@pytest.mark.parametrize("sql", ANSWERS)
def test_a_ledger_of_version_1_with_delta_keeps_its_sums_and_answers(sql: str, tmp_path: Path) -> None:
    files = Path(shutil.copytree(HERE, tmp_path / "files"))
    curator = Curator(EMPTY, files / "plan.toml", ledger=files / "ledger.db")
    before = curator.remaining()
    assert (before.epsilon, before.delta, before.rho) == (Fraction("1.25"), Fraction("0.04"), None)
    answer = curator.ask(sql, epsilon="0.25", delta="0.02")
    assert curator.remaining() == before and any("free" in note for note in answer.notes)
    now = json.loads(json.dumps(answer.to_json(), default=str))
    for then, found in zip(figures(ANSWERS[sql]), figures(now), strict=True):
        assert found == [pytest.approx(x) if isinstance(x, float) else x for x in then]
    with pytest.raises(OverBudget):
        curator.ask("SELECT count(*) FROM data WHERE age > 1", epsilon="0.25", delta="0.05")
    curator.ask("SELECT count(*) FROM data WHERE age > 1", epsilon="0.25", delta="0.04")
    assert (curator.remaining().epsilon, curator.remaining().delta) == (1, 0)


def test_half_widths_are_those_of_the_noise_that_is_drawn(tmp_path: Path) -> None:
    curator = Curator(PEOPLE, plan(), ledger=tmp_path / "b.db")
    seen = curator.preview("SELECT count(*) AS n FROM data", epsilon="0.1", delta="1e-8")
    assert seen.cost.rho == rho_for(Fraction("0.1"), Fraction("1e-8")) and seen.times == 116
    assert seen.half_widths["n"] == pytest.approx(1.96 / math.sqrt(2 * seen.cost.rho), rel=0.01)
    assert "enough for 116 questions at this price" in str(seen)
    wanted = curator.preview("SELECT count(*) AS n FROM data", accuracy=50, delta="1e-8")
    assert 45 < wanted.half_widths["n"] <= 50  # type: ignore[operator]

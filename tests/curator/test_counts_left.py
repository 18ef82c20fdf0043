"""What is left, in words: so many counts can really be asked, at the ± that is named, and hardly more."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dproof import Cost, Curator
from dproof.curator.account import Limit, rho_for
from dproof.curator.ledger import counts_left

PEOPLE = pa.table({"age": list(range(100)) * 20})
COUNT = "SELECT count(*) AS n FROM data WHERE age < 30"


def curator(folder: Path, epsilon: str, delta: str, **more: Any) -> Curator:
    plan = {
        "privacy": {"epsilon": epsilon, "delta": delta, **more},
        "columns": {
            "id": {"drop": True},
            "age": {"space": "interval", "low": 0, "high": 99, "step": 1},
        },
    }
    people = PEOPLE.append_column("id", pa.array(range(PEOPLE.num_rows)))
    return Curator(people, plan, ledger=folder / "budget.db")


def read(words: str) -> tuple[int, int, bool]:
    """The number of counts, their half-width, and whether they need a δ."""
    number, width, how = re.fullmatch(
        r"about ([\d,]+) more counts at ± ([\d,]+)(, each asked with a δ)?", words
    ).groups()  # type: ignore[union-attr]
    return int(number.replace(",", "")), int(width.replace(",", "")), how is not None


@pytest.mark.parametrize("person", [{}, {"person": "id", "rows_per_person": 3}], ids=["rows", "persons"])
@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [
        ("1", "1e-6"),
        ("8", "1e-6"),
        ("20", "1e-3"),
        ("0.1", "1e-5"),
        ("0.01", "1e-12"),
        ("1", "0"),
        ("30", "0"),
        ("0.001", "0"),
    ],
)
def test_so_many_counts_can_be_asked(tmp_path: Path, epsilon: str, delta: str, person: Mapping[str, Any]) -> None:
    asked = curator(tmp_path, epsilon, delta, **person)
    number, width, with_delta = read(counts_left(asked.remaining(), asked.plan.rows_per_person))
    seen = asked.preview(COUNT, accuracy=width, delta="1e-7" if with_delta else 0)
    assert seen.half_widths["n"] is not None and seen.half_widths["n"] <= width
    assert seen.times is not None and number <= seen.times <= 1.1 * number + 1


def test_what_sums_still_cover_is_told_where_rho_is_nearly_gone(tmp_path: Path) -> None:
    asked = curator(tmp_path, "1", "1e-6")
    asked.ask(COUNT, epsilon="0.22")
    assert asked.remaining().rho and asked.remaining().epsilon == Fraction("0.78")
    number, width, with_delta = read(counts_left(asked.remaining(), 1))
    seen = asked.preview("SELECT count(*) AS n FROM data WHERE age < 31", accuracy=width)
    assert not with_delta and width <= 200 and seen.times is not None and number <= seen.times <= 1.1 * number


def test_an_analyst_without_delta_is_told_of_counts_without_one() -> None:
    whole = Limit.of(Cost(Fraction(1), Fraction("1e-6")), in_rho=True).whole
    assert counts_left(whole.at_most(Cost(Fraction("0.5"))), 1) == counts_left(Cost(Fraction("0.5")), 1)


def test_counts_that_gaussian_noise_is_too_wide_for_are_told_without_delta() -> None:
    small = Cost(Fraction("0.01"), Fraction("1e-12"), rho_for(Fraction("0.01"), Fraction("1e-12")))
    assert "δ" not in counts_left(small, 1)


@pytest.mark.parametrize("delta", ["0", "1e-8"])
@pytest.mark.parametrize("width", ["3", "47", "700", "30000"])
def test_an_accuracy_costs_the_least_price_of_three_digits(tmp_path: Path, width: str, delta: str) -> None:
    asked = curator(tmp_path, "1", "1e-6")
    epsilon = asked.preview(COUNT, accuracy=width, delta=delta).cost.epsilon
    step = min(Fraction(1, 1000), Fraction(10) ** (len(str(int(epsilon * 10**12))) - 15))
    assert epsilon % step == 0
    less = asked.preview(COUNT, epsilon=epsilon - step, delta=delta).half_widths["n"]
    assert less is not None and less > float(width)


def test_a_sum_that_has_no_noise_at_small_prices_still_has_an_accuracy(tmp_path: Path) -> None:
    """Below some price the noise of a sum of large numbers is too wide to be drawn."""
    plan = {
        "privacy": {"epsilon": 1, "delta": "1e-6", "neighbours": "add-remove"},
        "columns": {"wage": {"space": "interval", "low": 0, "high": 10**14, "step": 1, "missing": 0}},
    }
    asked = Curator(pa.table({"wage": [1, 2, 3]}), plan, ledger=tmp_path / "budget.db")
    seen = asked.preview("SELECT sum(wage) AS s FROM data", accuracy="5e15")
    assert seen.half_widths["s"] is not None and seen.half_widths["s"] <= 5e15


def test_a_missing_value_of_a_witness_is_null(tmp_path: Path) -> None:
    text = str(curator(tmp_path, "1", "0").preview("SELECT count(*) FROM data WHERE age < 30", epsilon=1))
    assert "attained by" in text and "(age = NULL)" in text and "None" not in text

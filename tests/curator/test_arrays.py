"""Statistics of arrays in one call: what NumPy says, within the interval, and paid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dproof import InputError, OverBudget, arrays

VALUES = np.random.default_rng(3).normal(50, 10, 3000).round(2)
BOUNDS = (0, 100)


@pytest.mark.parametrize("name", ["mean", "sum", "var", "std"])
def test_it_is_what_numpy_says_but_for_the_noise(name: str) -> None:
    cell = getattr(arrays, name)(VALUES, bounds=BOUNDS, epsilon=900, level=1 - 1e-7)
    true = getattr(np, name)(VALUES)
    assert cell.low <= true <= cell.high and float(cell) == pytest.approx(true, rel=1e-3)


def test_quantiles_are_chosen() -> None:
    assert float(arrays.median(VALUES, bounds=BOUNDS, epsilon=100)) == pytest.approx(np.median(VALUES), abs=0.5)
    high = arrays.quantile(VALUES, "0.9", bounds=BOUNDS, epsilon=100)
    assert float(high) == pytest.approx(np.quantile(VALUES, 0.9), abs=0.5) and high.low is None


@pytest.mark.parametrize("bins", [4, [0, 10, 50, 60.5, 100], [40, 60]])
def test_a_histogram_has_numpys_bins(bins: Any) -> None:
    values = np.append(VALUES, [0, 100, 50, 60.5])
    cells, edges = arrays.histogram(values, bins, bounds=BOUNDS, epsilon=900)
    counts, wanted = np.histogram(values, bins, BOUNDS)
    assert [float(cell) for cell in cells] == counts.tolist() and edges == wanted.tolist()


def test_counts_of_truth_values() -> None:
    assert float(arrays.count(VALUES > 50, epsilon=900)) == (VALUES > 50).sum()


def test_missing_values_are_left_out_or_replaced_and_others_are_clamped() -> None:
    values = [np.nan, 10.0, 500.0, -3.0, 50.0]
    assert float(arrays.sum(values, bounds=BOUNDS, epsilon=900)) == pytest.approx(160, abs=1)
    assert float(arrays.sum(values, bounds=BOUNDS, epsilon=900, missing=40)) == pytest.approx(200, abs=1)


@pytest.mark.parametrize("odd", ["x", None, [1], 10**400, object(), True])
def test_no_value_stops_the_work_whatever_it_is(odd: Any) -> None:
    values = np.array([50.0, 50.0, 0], object)
    values[2] = odd
    found = float(arrays.sum(values, bounds=BOUNDS, epsilon=900))
    counted = 100 if odd == 10**400 else 1 if odd is True else 0
    assert found == pytest.approx(100 + counted, abs=0.9)


def test_every_call_is_paid_from_one_budget(tmp_path: Path) -> None:
    for ledger in (None, tmp_path / "ledger.db"):
        accountant = arrays.Accountant(1, ledger=ledger)
        first = arrays.mean(VALUES, bounds=BOUNDS, epsilon="0.4", accountant=accountant)
        second = arrays.mean(VALUES[::-1], bounds=BOUNDS, epsilon="0.4", accountant=accountant)
        assert first.raw != second.raw  # no stored answer is taken for that of another array
        with pytest.raises(OverBudget):
            arrays.count(VALUES > 50, epsilon="0.4", accountant=accountant)
        assert accountant.remaining().epsilon * 5 == 1
    again = arrays.Accountant(1, ledger=tmp_path / "ledger.db")
    assert again.remaining().epsilon * 5 == 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: arrays.mean([[1, 2]], bounds=BOUNDS, epsilon=1), "one dimension"),
        (lambda: arrays.mean([1, 2], bounds=(3, 1), epsilon=1), "bounds must be two numbers"),
        (lambda: arrays.mean([1, 2], bounds=3, epsilon=1), "bounds must be two numbers"),  # type: ignore[arg-type]
        (lambda: arrays.mean([[1], [2, 3]], bounds=BOUNDS, epsilon=1), "one dimension"),
        (lambda: arrays.count([1, 2], epsilon=1), "truth values"),
        (lambda: arrays.histogram(VALUES, [3, 2], epsilon=1), "increase"),
        (lambda: arrays.histogram(VALUES, epsilon=1), "bounds must be"),
        (lambda: arrays.mean([1], bounds=BOUNDS, epsilon=1, levle=0.9), "did you mean 'level'"),  # type: ignore[call-arg]
        (lambda: arrays.mean([1], bounds=BOUNDS, epsilon=1, accountant=3), "an Accountant"),  # type: ignore[arg-type]
    ],
)
def test_a_mistake_gets_one_sentence(call: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        call()

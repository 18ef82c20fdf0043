"""What is told before anything is spent: from the plan, and from no more rows than it takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof import warnings_before
from dproof.advice.before_spending import least_rows, public_rows, tells_little, tells_nothing
from dproof.advice.expect import row_widths
from dproof.tables import Source
from tests.makers import SEX, interval, row_law, table_law

PRIVACY = {"epsilon": "1"}


def law(model: str, **privacy: Any) -> Any:
    plan = {"privacy": {**PRIVACY, "model": model, **privacy}, "columns": {"sex": SEX}}
    return (table_law if model == "central" else row_law)(plan)


def source(*sizes: int) -> tuple[Source, list[int]]:
    """A table whose number of rows is not known before it is read, and the batches that were read of it."""
    read: list[int] = []

    def batches(columns: Sequence[str]) -> Iterator[Any]:
        for size in sizes:
            read.append(size)
            yield pa.record_batch({"sex": ["f"] * size})

    return Source(("sex",), batches), read


@pytest.mark.parametrize("model", ["local", "central"])
def test_rows_are_counted_until_there_are_enough(model: str) -> None:
    few, read = source(1, 1)
    assert public_rows(few, law(model)) == 2 and read == [1, 1]
    many, read = source(10**5, 1, 1)
    assert public_rows(many, law(model)) is None and read == [10**5]


@pytest.mark.parametrize("privacy", [{"neighbours": "add-remove"}, {"rows_per_person": 2}])
def test_a_private_number_of_rows_is_not_read(privacy: dict[str, Any]) -> None:
    table, read = source(1)
    assert public_rows(table, law("central", **privacy)) is None and not read


@pytest.mark.parametrize("model", ["local", "central"])
@pytest.mark.parametrize("epsilon", ["1", "0.01"])
def test_the_least_number_of_rows_is_where_an_interval_stops_holding_everything(model: str, epsilon: str) -> None:
    one = law(model, epsilon=epsilon)
    least = least_rows(one)
    assert least > 0 and tells_nothing(one, least) is not None and tells_nothing(one, least + 1) is None
    if model == "local":
        widths = [row_widths(one, rows)["sex"].count or 0 for rows in (least, least + 1)]
        assert widths[0] >= least and widths[1] < least + 1


def test_means_tell_something_where_counts_do_not() -> None:
    plan = {"privacy": PRIVACY, "columns": {"age": interval(0, 100)}}
    one = row_law(plan)
    least = least_rows(one)
    means = [row_widths(one, rows)["age"].mean or 0 for rows in (least, least + 1)]
    assert means[0] >= 100 > means[1] and tells_little(one, least) is None  # which is about counts


def test_a_count_of_a_tenth_of_the_rows_is_little() -> None:
    said = [tells_little(law("local"), rows) for rows in (200, 10**4)]
    assert said[0] is not None and "±" in said[0] and "'sex'" in said[0] and said[1] is None
    assert tells_little(law("central"), 200) is None and tells_little(law("local"), 0) is None


def test_a_sound_plan_has_no_warning() -> None:
    for name, warned in (("name", False), ("patient_id", True), ("id", True), ("idea", False), ("Email", True)):
        plan = dp.Plan.from_dict({"privacy": PRIVACY, "columns": {"sex": SEX, name: {"drop": True}}})
        assert bool(warnings_before(plan, plan.privacy)) is warned

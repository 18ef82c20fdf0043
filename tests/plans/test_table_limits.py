"""Plans of measured tables at their limits: each is refused in one sentence before any data is opened, or works."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof import DproofError, Plan
from tests.makers import table_law

pytestmark = pytest.mark.usefixtures("gaussian")

NUMBER = {"space": "interval", "low": 0, "high": 20, "step": 1, "bins": [0, 5, 20]}


def categories(*values: Any) -> dict[str, Any]:
    return {"space": "categories", "values": [str(value) for value in values]}


def plan(columns: dict[str, Any], release: dict[str, Any], delta: str = "1e-6", **privacy: Any) -> Plan:
    promise = {"model": "central", "epsilon": 1, "delta": delta, "neighbours": "add-remove", **privacy}
    return Plan.from_dict({"privacy": promise, "columns": columns, "release": release})


def refusal(columns: dict[str, Any], release: dict[str, Any], **more: Any) -> str:
    with pytest.raises(DproofError) as refused:
        table_law(plan(columns, release, **more))
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
def test_a_sum_by_a_column_with_one_value_is_measured_without_delta(neighbours: str) -> None:
    columns = {"one": categories("x"), "n": NUMBER}
    release = {"sums": True, "tables": [{"columns": ["one", "n"]}]}
    law = table_law(plan(columns, release, "0", neighbours=neighbours))
    counted = "contrast of n" if neighbours == "change-one" else "n"  # their number is public then
    assert [law.measured_name(one) for one in law.noise] == [counted, "sum of n"]


@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_columns_with_one_value_alone_tell_the_number_of_rows(delta: str) -> None:
    described = plan({"one": categories("x")}, {}, delta, neighbours="change-one")
    release = dp.sanitise(pa.table({"one": ["x"] * 7}), described)
    assert release.query("SELECT count(*) AS n FROM release WHERE one = 'x'").rows[0]["n"].estimate == 7


def test_without_delta_a_sum_counts_for_as_much_as_its_weight_says_whatever_its_steps() -> None:
    """The noise of a sum, in parts of its range, does not depend on how fine its steps are."""
    parts = []
    for step in ("0.1", "0.001"):
        columns = {"n": {**NUMBER, "step": step}, "sex": categories("f", "m")}
        law = table_law(plan(columns, {"sums": True}, "0"))
        parts.append(
            [float(cost) * (law.domain.max_abs[0] if one.number == 0 else 1) for one, cost in law.noise.items()]
        )
    assert parts[0] == pytest.approx(parts[1], rel=1e-3)


@pytest.mark.parametrize("weight", ["1e-400", "1e400", "1e-10"])
def test_a_weight_that_no_noise_can_follow_is_refused(weight: str) -> None:
    columns = {"a": categories(1, 2), "b": categories(1, 2)}
    tables = [{"columns": ["a", "b"], "weight": weight}, {"columns": ["a"]}]
    assert "weight must lie between 1e-9 and 1e9" in refusal(columns, {"tables": tables})


@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_the_least_and_the_largest_weight_do(delta: str) -> None:
    columns = {"a": categories(1, 2), "b": categories(1, 2)}
    tables = [{"columns": ["a", "b"], "weight": "1e-9"}, {"columns": ["a"], "weight": "1e9"}]
    assert table_law(plan(columns, {"tables": tables}, delta)).noise


@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_a_table_of_very_many_columns_is_refused_at_once(delta: str) -> None:
    columns = {f"c{n}": categories(0, 1) for n in range(22)}
    assert "more than 12 columns" in refusal(columns, {"tables": [{"columns": list(columns)}]}, delta=delta)


def test_residuals_are_counted_too_where_cells_are_limited() -> None:
    columns = {f"c{n}": categories(*range(3)) for n in range(12)}  # 3^12 cells, 4^12 numbers
    assert "more than 10,000,000 cells" in refusal(columns, {"tables": [{"columns": list(columns)}]})


def test_sums_that_would_not_be_exact_are_refused() -> None:
    """1000 · 5e10 steps a row: 300,000 rows do not fit into 64 bits."""
    fine = {"space": "interval", "low": 0, "high": 10**9, "step": "0.01"}
    said = refusal({"n": fine, "a": categories(*range(1000))}, {"sums": True})
    assert "sum of n has too many steps to be exact: give 'n' a larger `step`" in said
    assert "too many steps" in refusal({"n": fine}, {"sums": True}, delta="0")
    assert table_law(plan({"n": fine}, {})).noise  # nothing is added up

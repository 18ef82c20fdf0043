"""Dates: read value by value, stored as dates, asked about as dates."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof import InputError
from dproof.columns.codec import Column, codec_of
from dproof.columns.values import as_numpy, object_array
from dproof.plans.reader import Reader, read_column
from dproof.testing import check_column, seeded_coins

LEAP = dp.Dates("2024-02-01", "2024-03-10")
TREATED = {"space": "date", "low": "2024-02-01", "high": "2024-03-10", "missing": "2024-02-02"}


def column_of(**keys: Any) -> Column:
    return read_column("day", Reader({"space": "date", "low": "2024-02-01", "high": "2024-03-10", **keys}, ()))


def read(array: Any, **keys: Any) -> list[Any]:
    """What the encoder makes of an array; None for what would be refused."""
    from dataclasses import replace

    column = replace(column_of(**keys), invalid_as_null=True)
    return [None if code < 0 else str(column.space.label(code)) for code in column.encoder()([array]).tolist()]


# The space -----------------------------------------------------------------------------------------------------------


def test_days_are_the_days_of_the_calendar() -> None:
    assert LEAP.size == 39 and LEAP.label(28) == dt.date(2024, 2, 29)
    assert LEAP.distance("2024-02-28", dt.date(2024, 3, 1)) == 2
    assert LEAP.encode(["2024-02-01", dt.date(2024, 3, 10)]).tolist() == [0, 38]
    assert LEAP.decode(np.array([0, 38])) == [dt.date(2024, 2, 1), dt.date(2024, 3, 10)]
    assert repr(LEAP) == "Dates('2024-02-01', '2024-03-10', 1)" and dp.Interval(LEAP.low, LEAP.high, 1) != LEAP


@pytest.mark.parametrize("column", [column_of(), column_of(step=19), column_of(low="0001-01-01", high="0001-01-09")])
def test_what_is_stored_is_read_back(column: Column) -> None:
    check_column(column)
    (stored,) = column.codec.store(np.arange(3))
    assert stored.type == pa.date32()


@pytest.mark.parametrize(
    ("low", "high", "step", "problem"),
    [
        ("2024-01-31", "2024-01-01", 1, "low must not lie above high"),
        ("2024-02-30", "2024-03-01", 1, "low must be a date such as 2024-01-31"),
        (7, "2024-03-01", 1, "low must be a date"),
        ("2024-01-01", "2024-01-31", 7, "end on 2024-01-29 or 2024-02-05"),
        ("2024-01-01", "2024-01-31", 0, "step, the number of days,"),
        ("2024-01-01", "2024-01-31", 0.5, "step, the number of days,"),
    ],
)
def test_a_space_without_days_is_refused(low: Any, high: Any, step: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        dp.Dates(low, high, step)


def test_values_that_are_none_of_the_days_are_refused_unnamed() -> None:
    for values in (["2024-02-30"], [7], [None], ["2025-01-01"], pa.array(["soon"]), pa.array([dt.date(2025, 1, 1)])):
        with pytest.raises(InputError) as refused:
            LEAP.encode(values)
        assert "2025" not in str(refused.value) and "soon" not in str(refused.value)


def test_mechanisms_take_and_give_dates() -> None:
    with seeded_coins(1):
        drawn = dp.laplace(LEAP, dp.Privacy(1)).draw([dt.date(2024, 2, 10)] * 50)
        inside = dp.laplace(LEAP, dp.Privacy(1), clamp=True).draw(["2024-02-10"] * 50)
    assert all(isinstance(day, dt.date) for day in drawn) and min(drawn) < dt.date(2024, 2, 1) < max(drawn)
    assert all(dt.date(2024, 2, 1) <= day <= dt.date(2024, 3, 10) for day in inside)
    assert dp.design(dp.Dates("2024-02-01", "2024-02-05"), dp.Privacy(1)).error > 0


# Reading -------------------------------------------------------------------------------------------------------------

SAME_DAY = [
    pa.array([dt.date(2024, 2, 29)], pa.date32()),
    pa.array([dt.date(2024, 2, 29)], pa.date64()),
    pa.array([dt.date(2024, 2, 29)]).dictionary_encode(),
    *(pa.array([dt.datetime(2024, 2, 29, 23, 59, 59)], pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")),
    pa.array(["2024-02-29"]),
    pa.array([" 2024-02-29 "], pa.large_string()),
    pa.array([b"2024-02-29T00:00:00"]),
    pa.array(["2024-02-29 12:30"]).dictionary_encode(),
    object_array([dt.date(2024, 2, 29)]),
    object_array([dt.datetime(2024, 2, 29, 5)]),
    object_array([np.datetime64("2024-02-29")]),
]


@pytest.mark.parametrize("array", SAME_DAY, ids=lambda array: f"{array.type} {array.to_pylist()}"[:60])
def test_a_day_is_read_from_every_type(array: Any) -> None:
    assert read(array) == ["2024-02-29"]


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2024-02-28T23:30:00-05:00", "2024-02-29"),
        ("2024-03-01 00:30:00+02:00", "2024-02-29"),
        ("2024-02-29T23:59:59Z", "2024-02-29"),
        ("2024-02-29 00:00:00+00:00", "2024-02-29"),
        ("2024-02-29 00:00:10+00:00:20", "2024-02-28"),
    ],
)
def test_a_time_with_a_zone_has_its_day_in_utc(text: str, utc: str) -> None:
    moment = dt.datetime.fromisoformat(text)
    zoned = pa.array([moment], pa.timestamp("us", tz="America/New_York"))
    for array in (zoned, pa.array([text]), object_array([moment]), object_array([moment, "x"]).slice(0, 1)):
        assert read(array) == [utc]


@pytest.mark.parametrize(
    "value",
    [
        *("29.2.2024", "20240229", "2024-02-30", "2024-2-9", "2024-02-29T25:00", "2024-W09-4", "２０２４-02-29"),
        *("now", "2024-02-29" + "0" * 10_000, "1e400", "-0001-01-01"),
    ],
)
def test_what_is_no_date_is_missing(value: str) -> None:
    """Else it would depend on the reader's customs which day it is."""
    assert read(pa.array([value])) == [None] and read(pa.array([value]), missing="2024-02-02") == ["2024-02-02"]


@pytest.mark.parametrize("array", [pa.array([20240229]), pa.array([45351.0]), pa.array([True]), pa.nulls(1)], ids=str)
def test_numbers_are_no_dates(array: Any) -> None:
    assert read(array) == [None] and read(array, missing="2024-02-02") == ["2024-02-02"]


@pytest.mark.parametrize("array", [pa.array([1], pa.time32("s")), pa.array([1], pa.duration("s"))], ids=str)
def test_clock_times_are_no_dates(array: Any) -> None:
    assert read(array, missing="2024-02-02") == ["2024-02-02"]


@pytest.mark.parametrize(
    ("array", "end"),
    [
        (pa.array([dt.date(1, 1, 1)]), "2024-02-01"),
        (pa.array(["0001-01-01"]), "2024-02-01"),
        (pa.array(["0001-01-01T00:00:00+12:00"]), "2024-02-01"),
        (pa.array(["9999-12-31T23:59:59-12:00"]), "2024-03-10"),
        (pa.array([-(2**31)], pa.int32()).view(pa.date32()), "2024-02-01"),
        (pa.array([2**31 - 1], pa.int32()).view(pa.date32()), "2024-03-10"),
        (pa.array([2**63 - 1]).view(pa.timestamp("s")), "2024-03-10"),
        (pa.array([-(2**63)]).view(pa.timestamp("ns")), "2024-02-01"),
        (pa.array([2**63 - 1]).view(pa.date64()), "2024-03-10"),
        (pa.array([2**31 - 1], pa.int32()).view(pa.date32()).dictionary_encode(), "2024-03-10"),
    ],
    ids=str,
)
def test_days_outside_are_clamped_or_refused(array: Any, end: str) -> None:
    assert read(array) == [end]
    assert read(array, outside="refuse") == [None]


@pytest.mark.parametrize("others", [[], [None], ["x"], [2.5], [dt.date(2024, 2, 5)], [b"\xff"], [["a"]]], ids=repr)
@pytest.mark.parametrize("value", [dt.date(2024, 2, 29), "2024-02-29", dt.datetime(2024, 2, 29, 4), 5, None], ids=repr)
def test_no_row_decides_how_another_is_read(value: Any, others: list[Any]) -> None:
    alone = read(object_array([value]))
    assert read(object_array([value, *others]))[:1] == alone


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"low": 5}, "columns.day.low must be a date such as 2024-01-31"),
        ({"low": "soon"}, "columns.day.low must be a date"),
        ({"high": dt.datetime(2024, 5, 1)}, "columns.day.high must be a date"),
        ({"step": "7"}, "columns.day.step must be a whole number"),
        ({"step": 7}, "end on 2024-03-07 or 2024-03-14"),
        ({"missing": "2023-01-01"}, "columns.day.missing must be a value of the space"),
        ({"outside": "category"}, "columns.day.outside cannot be 'category'"),
    ],
)
def test_a_plan_with_a_wrong_date_says_where(keys: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        dp.Plan.from_dict({"privacy": {"epsilon": 1}, "columns": {"day": {**TREATED, **keys}}})


def test_dates_of_a_plan_are_dates_of_toml_or_texts() -> None:
    for low in ("2024-02-01", dt.date(2024, 2, 1)):
        plan = dp.Plan.from_dict({"privacy": {"epsilon": 1}, "columns": {"day": {**TREATED, "low": low}}})
        assert plan.column("day").space == LEAP


# A release and a curator ---------------------------------------------------------------------------------------------


def table(rows: int = 2928) -> Any:
    """Every day of 2024 as often as any other, and a value that is public knowledge."""
    days = np.datetime64("2024-01-01") + np.arange(rows) % 366
    return pa.table({"day": pa.array(days.astype("datetime64[D]")), "sex": ["f", "m"] * (rows // 2)})


PLAN: dict[str, Any] = {
    "privacy": {"epsilon": 100},
    "columns": {
        "day": {"space": "date", "low": "2024-01-01", "high": "2024-12-31", "missing": "2024-01-01"},
        "sex": {"space": "categories", "values": ["f", "m"]},
    },
}


@pytest.fixture(scope="module")
def release() -> Any:
    with seeded_coins(3):
        return dp.sanitise(table(), PLAN)


def test_a_release_stores_dates_and_answers_in_dates(release: Any) -> None:
    stored = release.to_arrow()
    assert stored.schema.field("day").type == pa.date32()
    (row,) = release.query("SELECT min(day) AS a, max(day) AS b, median(day) AS m, avg(day) AS v FROM release").rows
    year = [dt.date(2024, 1, 1), dt.date(2024, 12, 31)]
    assert all(isinstance(row[key].estimate, dt.date) for key in row)
    assert row["a"].low == year[0] and row["b"].high == year[1]
    assert row["v"].low <= dt.date(2024, 7, 1) <= row["v"].high and row["v"].low < row["v"].high
    assert row["m"].low <= dt.date(2024, 7, 1) <= row["m"].high
    assert row["v"].to_json()["low"] == str(row["v"].low) and str(row["v"]).count("2024-") == 3


def test_conditions_and_groups_are_dates(release: Any) -> None:
    asked = "SELECT count(*) AS n FROM release WHERE day BETWEEN '2024-02-01' AND '2024-03-31'"
    (row,) = release.query(asked).rows
    assert row["n"].low < 2928 * 60 / 366 < row["n"].high
    weeks = release.query("SELECT bin(day, 91) AS q, count(*) AS n FROM release GROUP BY bin(day, 91)").rows
    assert [row["q"].isoweekday() for row in weeks] == [1] * len(weeks)  # whole weeks begin on Mondays
    assert sum(row["n"].estimate for row in weeks) == pytest.approx(2928, abs=1e-6)
    spread = release.query("SELECT stddev(day) AS s FROM release").rows[0]["s"]
    assert spread.low < 105.7 < spread.high  # in days


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ("sum(day) AS s FROM {}", "the values of column 'day' have no sum: ask for AVG"),
        ("count(*) AS n FROM {} WHERE day > 5", "holds dates, and '5' is not one such as"),
        ("count(*) AS n FROM {} WHERE day = 'soon'", "holds dates, and 'soon' is not one"),
        ("count(*) AS n FROM {} WHERE day = '2025-01-01'", "never has the value 2025-01-01: it goes from 2024-01-01"),
        ("count(*) AS n FROM {} WHERE day IN ('2024-01-01', '2025-01-01')", "never has the value 2025-01-01"),
        ("max(day) - min(day) AS d FROM {}", "dates and times of day cannot be used in calculations"),
        ("sex, avg(day) AS a FROM {} GROUP BY sex HAVING avg(day) > 5", "or in HAVING"),
    ],
)
def test_what_dates_do_not_have_is_refused_before_anything_is_paid(
    release: Any, tmp_path: Path, asked: str, problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        release.query(f"SELECT {asked.format('release')}")
    curator = dp.Curator(table(), PLAN, budget=dp.Privacy(3), ledger=tmp_path / "budget.db")
    with pytest.raises(InputError, match=problem):
        curator.ask(f"SELECT {asked.format('data')}", epsilon=1)
    assert curator.ledger.spent().epsilon == 0


def test_a_date_beyond_the_space_may_be_compared_with(release: Any) -> None:
    (row,) = release.query("SELECT count(*) AS n FROM release WHERE day >= '1999-01-01' AND day < '2030-01-01'").rows
    assert row["n"].estimate == pytest.approx(2928)


@pytest.mark.parametrize("kind", ["date32", "text", "timestamp", "whole numbers"])
def test_a_curator_answers_in_dates(tmp_path: Path, kind: str) -> None:
    source = table()
    day = source["day"].combine_chunks()
    made = {
        "date32": day,
        "text": day.cast(pa.string()),
        "timestamp": day.cast(pa.timestamp("us")),
        "whole numbers": day.view(pa.int32()),  # which are no dates: all of them are missing
    }
    given = source.set_column(0, "day", made[kind])
    curator = dp.Curator(given, PLAN, budget=dp.Privacy(300), ledger=tmp_path / "budget.db")
    (row,) = curator.ask("SELECT avg(day) AS a, count(*) AS n FROM data WHERE day >= '2024-07-01'", epsilon=100).rows
    if kind == "whole numbers":
        assert row["n"].estimate == 0
        return
    assert row["n"].estimate == int((day.to_numpy(zero_copy_only=False) >= np.datetime64("2024-07-01")).sum())
    assert row["a"].low <= dt.date(2024, 9, 30) <= row["a"].high
    (row,) = curator.ask("SELECT min(day) AS a, max(day) AS b, median(day) AS m FROM data", epsilon=100).rows
    assert [row[key].estimate.month for key in "abm"] == [1, 12, 7] or row["m"].estimate.month == 6
    groups = curator.ask("SELECT bin(day, 91) AS q, count(*) AS n FROM data GROUP BY bin(day, 91)", epsilon=50).rows
    assert all(isinstance(row["q"], dt.date) for row in groups)


def test_noise_beyond_the_calendar_is_stored_verified_and_estimated(tmp_path: Path) -> None:
    """Under wide noise a date can leave the years that Python has: what is stored stays exact, so means stay right."""
    plan = {"privacy": {"epsilon": "0.0004"}, "columns": {"day": PLAN["columns"]["day"]}}
    with seeded_coins(5):
        dp.sanitise(table(400).drop_columns(["sex"]), plan, tmp_path / "out")
    found = dp.verify(tmp_path / "out")
    assert found is not None
    days = as_numpy(found.to_arrow()["day"].combine_chunks().view(pa.int32()))
    assert days.max() > (dt.date.max - dt.date(1970, 1, 1)).days and days.min() < -719_162
    assert found.to_pandas()["day"].dtype.kind == "M"
    assert found.query("SELECT avg(day) AS a FROM release").rows[0]["a"].informative is False
    assert len(found.raw("SELECT day FROM release").rows) == 400


def test_a_stored_day_off_the_lattice_is_refused(tmp_path: Path) -> None:
    column = column_of(step=19)
    for days, possible in (([0, 19], True), ([0, 18], False), ([0, None], False)):
        start = dt.date(2024, 2, 1)
        array = pa.array([None if n is None else start + dt.timedelta(n) for n in days])
        assert column.codec.possible([array], None, None) is possible
        assert codec_of(column.space.line, column).possible([array], None, 500) is possible


def test_the_distance_of_days_is_exact() -> None:
    assert LEAP.distances_from("2024-02-03").tolist()[:3] == [2, 1, 0]
    assert LEAP.diameter == Fraction(38) and LEAP.spacing == 1

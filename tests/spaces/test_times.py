"""Times of day: read value by value, stored as minutes, asked about by the hour."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dproof as dp
from dproof.certification.verify_certificate import bins, declared
from dproof.columns.codec import Column
from dproof.columns.values import object_array
from dproof.plans.reader import MisplacedKey, Reader, read_column
from dproof.questions.question import Schema, resolve
from dproof.questions.sql import parse
from dproof.releases.drafting import draft, draft_text
from dproof.spaces.dates import minute_of
from dproof.spaces.interval import default_bins
from dproof.testing import check_column, check_metric, seeded_coins

DAY = {"space": "time", "low": "00:00", "high": "23:59"}


def column_of(**keys: Any) -> Column:
    return read_column("at", Reader({**DAY, **keys}, ()))


def read(array: Any, **keys: Any) -> list[str | None]:
    """What the encoder makes of an array; None for what would be refused."""
    column = replace(column_of(**keys), invalid_as_null=True)
    return [None if code < 0 else str(column.space.label(code)) for code in column.encoder()([array]).tolist()]


def test_the_minutes_of_a_day_are_a_space() -> None:
    office = dp.Times("08:00", "17:59")
    assert office.size == 600 and office.label(599) == "17:59" and repr(office) == "Times('08:00', '17:59')"
    assert office.encode(["08:00", dt.time(9, 30, 59)]).tolist() == [0, 90]
    check_metric(dp.Times("08:00", "08:20"))
    for low, high, problem in (
        ("09:00", "08:00", "low must not lie above high"),
        ("24:00", "08:00", "low must be a time such as 08:30"),
        ("08:00", 9, "high must be a time"),
    ):
        with pytest.raises(dp.InputError, match=problem):
            dp.Times(low, high)


@pytest.mark.parametrize("column", [column_of(), column_of(low="08:00", high="09:30", missing="category")])
def test_what_is_stored_is_read_back(column: Column) -> None:
    check_column(column)
    assert column.codec.store(np.arange(2))[0].type == pa.time64("us")  # which Parquet keeps, too


MOMENT = dt.datetime(2024, 3, 1, 8, 5, 59, 999_999)


@pytest.mark.parametrize(
    "array",
    [
        pa.array([dt.time(8, 5, 59, 999_999)]),
        pa.array([dt.time(8, 5, 59)], pa.time32("s")),
        pa.array([MOMENT], pa.timestamp("ns")),
        pa.array([MOMENT], pa.timestamp("us", "UTC")),
        pa.array([MOMENT.replace(year=1950)], pa.timestamp("ms")),
        pa.array([MOMENT], pa.timestamp("us")).dictionary_encode(),
        pa.array(["08:05", "8:05", "8:05:59.999", " 08:05 ", "2024-03-01T08:05:59Z", "2024-03-01 10:05:59+02"]),
        pa.array([b"2024-03-01 8:05"]),
        object_array([dt.time(8, 5, 59), MOMENT, "08:05", MOMENT.replace(tzinfo=dt.timezone(dt.timedelta(0)))]),
    ],
    ids=lambda array: str(array.type),
)
def test_every_type_of_a_time_is_read_to_the_minute(array: Any) -> None:
    assert read(array) == ["08:05"] * len(array)


def test_what_is_no_time_is_missing() -> None:
    texts = ["24:00", "8h", "10:65", "1435", "", "14", "8:05 PM", None]
    assert read(pa.array(texts)) == [None] * len(texts)
    assert read(pa.array([dt.date(2024, 3, 1)])) == [None]  # a date has no time of day
    assert read(pa.array(["14:00"]), low="15:00", outside="refuse") == [None]
    assert read(pa.array(["14:00"]), low="15:00") == ["15:00"]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_what_no_text_could_say_is_no_time(unit: str) -> None:
    """24:00, which DuckDB has, and its infinities, which are numbers like others to Arrow: 04:00 in microseconds."""
    day = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit] * 86_400
    wide = pa.int32() if unit in ("s", "ms") else pa.int64()
    clock = pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
    assert read(pa.array([day - 1, day, -1, 2 * day, 0], wide).view(clock)) == ["23:59", None, None, None, "00:00"]
    ends = pa.array([2**63 - 1, 1 - 2**63, 0], pa.int64()).view(pa.timestamp(unit))
    assert read(ends) == [None, None, "00:00"]
    if unit != "ns":  # whose numbers end in 2262
        last = (dt.date(9999, 12, 31).toordinal() - dt.date(1970, 1, 1).toordinal() + 1) * day
        beyond = pa.array([last - 1, last, last - 3_652_059 * day, last - 3_652_059 * day - 1], pa.int64())
        assert read(beyond.view(pa.timestamp(unit))) == ["23:59", None, "00:00", None]
    wider = dp.Plan.of({"privacy": {"epsilon": 1}, "columns": {"x": {"space": "date", "low": "1600-01-01",
        "high": "2999-12-31", "outside": "refuse", "missing": "category"}}}).column("x")  # fmt: skip
    assert (replace(wider, invalid_as_null=True).encoder()([ends]) < 0).tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("%I:%M %p", "2:35 PM"),
        ("%m/%d/%Y %I:%M:%S %p", "3/1/2024 02:35:10 p.m."),
        ("%d.%m.%Y %H.%M Uhr", "1.3.2024 14.35 Uhr"),
    ],
)
def test_a_format_says_how_they_are_written(text: str, value: str) -> None:
    assert read(pa.array([value, "14:35"]), format=text) == ["14:35", "14:35"]
    assert read(object_array([value, dt.time(14, 35)]), format=text) == ["14:35", "14:35"]


def test_noon_and_midnight_are_hours_of_twelve() -> None:
    assert read(pa.array(["12:05 AM", "12:05 PM", "1:05 pm", "0:05 AM", "13:05 PM"]), format="%I:%M %p") == [
        "00:05", "12:05", "13:05", None, None,
    ]  # fmt: skip


TEXTS = st.one_of(
    st.text(alphabet="0123456789:.- TZ+apmAPM\n", max_size=20),
    st.builds(str, st.times()),
    st.builds(str, st.datetimes(timezones=st.none() | st.timezones())),
    st.builds("{}:{:02} {}".format, st.integers(0, 13), st.integers(0, 61), st.sampled_from(["AM", "pm", "p.m."])),
)


@given(st.lists(TEXTS, max_size=8), st.sampled_from([None, "%I:%M %p", "%H%M", "%d.%m.%Y %H:%M"]), st.booleans())
def test_a_column_at_once_is_read_as_value_by_value(texts: list[str], text: str | None, clamp: bool) -> None:
    keys = {"low": "06:00", "high": "20:00", "outside": "clamp" if clamp else "refuse"}
    column = column_of(**keys, **({} if text is None else {"format": text}))
    codec = replace(column, invalid_as_null=True).codec
    assert codec.lookups(pa.array(texts, pa.string())).tolist() == [codec.lookup(word) for word in texts]


@given(st.datetimes(timezones=st.timezones()))
def test_a_time_with_a_zone_is_the_one_in_utc(moment: dt.datetime) -> None:
    try:
        utc = moment.astimezone(dt.UTC)
    except OverflowError:
        return
    assert minute_of(str(moment)) == 60 * utc.hour + utc.minute == minute_of(moment)


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"format": "%H"}, "an hour and a minute, each once"),
        ({"format": "%I:%M"}, "go together"),
        ({"format": "%M:%H"}, "would be read as others"),
        ({"format": "%H:%M:%M"}, "stands in it twice"),
        ({"low": "0:75"}, "must be a time such as 08:30"),
        ({"low": dt.datetime(2024, 1, 1, 8)}, "must be a time"),
        ({"bins": "hour"}, "did you mean 'hours'?"),
        ({"bins": ["00:00", "23:00"]}, "bins must go from low to high, 00:00 to 23:59"),
    ],
)
def test_what_a_plan_cannot_say_is_refused(keys: dict[str, Any], problem: str) -> None:
    with pytest.raises(MisplacedKey, match=problem):
        column_of(**keys)


@pytest.mark.parametrize(
    ("low", "high"), [("00:00", "23:59"), ("08:30", "17:00"), ("10:59", "11:00"), ("03:03", "03:03")]
)
def test_the_verifier_counts_points_and_hours(low: str, high: str) -> None:
    column = column_of(low=low, high=high, bins="hours")
    assert column.bins is not None and bins({**DAY, "low": low, "high": high, "bins": "hours"}) == column.bins.size
    assert declared({**DAY, "low": low, "high": high}, {}) == column.space.size
    assert (
        declared({**DAY, "low": low, "high": high, "missing": "category", "bins": "hours"}, {}) == column.bins.size + 1
    )
    assert default_bins(dp.Times("08:30", "17:00")).labels[:2] == ("[08:30, 09:00)", "[09:00, 10:00)")


ROWS = pa.table({"at": [f"{8 + n % 9:02}:{n % 60:02}" for n in range(900)] + [None] * 100, "sex": ["f", "m"] * 500})
TRUTH = [sum(text is not None and int(text[:2]) == hour for text in ROWS["at"].to_pylist()) for hour in range(8, 17)]
PLANS = {
    "local": {"privacy": {"epsilon": 6}, "columns": {"at": {**DAY, "bins": "hours", "missing": "category"}}},
    "noise": {"privacy": {"epsilon": 900}, "columns": {"at": {**DAY, "missing": "category"}}},
    "central": {"privacy": {"epsilon": 40, "model": "central"}, "columns": {"at": {**DAY, "missing": "category"}}},
}
BY_HOUR = "SELECT hour(at) AS h, count(*) AS n FROM {} GROUP BY h ORDER BY h"


@pytest.mark.parametrize("model", PLANS)
def test_a_question_by_the_hour_is_answered_by_a_release(model: str, tmp_path: Path) -> None:
    plan = {**PLANS[model], "columns": {**PLANS[model]["columns"], "sex": {"drop": True}}}
    with seeded_coins(3):
        release = dp.sanitise(ROWS, plan, tmp_path / "release", anyway=True)
    dp.verify(tmp_path / "release")
    answer = release.query(BY_HOUR.format("release"))
    found = {row["h"]: row["n"] for row in answer.rows}
    assert all(found[hour].low <= truth <= found[hour].high for hour, truth in zip(range(8, 17), TRUTH, strict=True))
    (late,) = release.query("SELECT avg(at) AS a, count(*) FILTER (WHERE at >= '12:00') AS n FROM release").rows
    assert late["a"].low <= "12:29" <= late["a"].high
    assert late["n"].low <= sum(TRUTH[4:]) <= late["n"].high


@pytest.mark.parametrize("missing", [{}, {"missing": "category"}])
@pytest.mark.parametrize("mechanism", ["randomised_response", "clamped_laplace"])
def test_a_release_of_times_of_day_is_stored_and_read(mechanism: str, missing: dict[str, str], tmp_path: Path) -> None:
    """Mechanisms that give a time of the space: in memory and in a folder, which holds, and adds nothing to them."""
    plan = {"privacy": {"epsilon": 20}, "columns": {"at": {**DAY, "mechanism": mechanism, **missing}}}
    rows = pa.table({"at": [f"{9 + n % 2:02}:30" for n in range(400)]})
    with seeded_coins(3):
        release = dp.sanitise(rows, plan, tmp_path / "release")
        inside = dp.sanitise(rows, plan)
    dp.verify(tmp_path / "release")
    sql = "SELECT count(*) FILTER (WHERE at < '10:00') AS n, avg(at) AS a FROM release"
    for one in (release, dp.load(tmp_path / "release"), inside):
        (row,) = one.query(sql).rows
        assert row["n"].low <= 200 <= row["n"].high and row["a"].low <= "10:00" <= row["a"].high


def test_a_question_by_the_hour_is_answered_by_asking(tmp_path: Path) -> None:
    plan = {"privacy": {"epsilon": 400}, "columns": {"at": {**DAY, "missing": "category"}, "sex": {"drop": True}}}
    with seeded_coins(3):
        curator = dp.Curator(ROWS, plan, ledger=tmp_path / "budget.db")
        answer = curator.ask(BY_HOUR.format("data"), epsilon=200)
        (other,) = curator.ask("SELECT median(at) AS m FROM data WHERE at < TIME '12:00'", epsilon=100).rows
    assert [cell.estimate for cell in answer["n"]][8:17] == pytest.approx(TRUTH, abs=1)
    assert other["m"].estimate in {f"{hour:02}:{minute:02}" for hour in (9, 10) for minute in range(60)}


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT count(*) FROM data WHERE at = '8:30'", "holds times, and '8:30' is not one such as 08:30"),
        ("SELECT count(*) FROM data WHERE at = '23:59'", "never has the value 23:59: it goes from 08:00 to 16:59"),
        ("SELECT sum(at) FROM data", "have no sum: ask for AVG"),
        ("SELECT count(*) FROM data WHERE year(at) = 8", "YEAR needs dates, and column 'at' has none"),
        ("SELECT count(*) FROM data WHERE hour(sex) = 8", "HOUR needs times of day"),
    ],
)
def test_what_times_do_not_have_is_refused(sql: str, why: str) -> None:
    with pytest.raises(dp.QuestionError, match=why):
        resolve(parse(sql), Schema("data", {"at": dp.Times("08:00", "16:59"), "sex": dp.Categories(["f", "m"])}))


def test_rounding_is_to_the_minute() -> None:
    space = dp.Times("08:00", "16:59")
    assert space.shown(500.7) == "08:20" and space.shown(-3) == "00:00" and space.shown(5000) == "23:59"
    assert space.shown(float("nan")) is None and space.middle == Fraction(60 * 16 + 59 + 480, 2)


# One column of dates with times, read twice ---------------------------------------------------------------------------

ARRIVED = pa.table({"arrived": [f"2024-0{1 + n % 6}-11 {8 + n % 9:02}:30:00" for n in range(600)]})
TWICE = {
    "arrived": {"space": "date", "low": "2024-01-01", "high": "2024-06-30", "bins": "months"},
    "arrived_time": {**DAY, "columns": ["arrived"], "bins": "hours"},
}
SAME = TWICE["arrived_time"]


@pytest.mark.parametrize("model", ["central", "local"])
def test_dates_with_times_are_read_for_days_and_for_times(model: str, tmp_path: Path) -> None:
    plan = {"privacy": {"epsilon": 20, "model": model}, "columns": TWICE}
    with seeded_coins(1):
        release = dp.sanitise(ARRIVED, plan, tmp_path / "release", anyway=True)
    dp.verify(tmp_path / "release")
    for part, column in (("month", "arrived"), ("hour", "arrived_time")):
        counts = release.query(f"SELECT {part}({column}) AS p, count(*) AS n FROM release GROUP BY p")["n"]
        assert sum(cell.estimate for cell in counts if cell.informative) == pytest.approx(600, abs=12)
    assert [one.missing for one in dp.check(ARRIVED, plan).columns] == [0, 0]
    curator = dp.Curator(ARRIVED, plan, ledger=tmp_path / "budget.db")
    sql = "SELECT count(*) AS n FROM data WHERE month(arrived) = 1 AND hour(arrived_time) = 8"
    (row,) = curator.ask(sql, epsilon=15).rows
    assert row["n"].estimate == sum(text.startswith("2024-01-11 08") for text in ARRIVED["arrived"].to_pylist())


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"a": SAME, "b": SAME}, "uses a column of the source that another uses too"),
        ({"arrived": {"drop": True}, "b": SAME}, "uses a column of the source that another uses too"),
        ({"arrived": {"public": True}, "b": SAME}, "uses a column of the source that another uses too"),
        ({"b": SAME | {"columns": ["arrived", "left"]}}, "must name one column of the table"),
        ({"b": SAME | {"columns": "arrived"}}, "must be a list of texts"),
    ],
)
def test_other_columns_are_not_read_twice(columns: dict[str, Any], problem: str) -> None:
    with pytest.raises(dp.InputError, match=problem):
        dp.Plan.from_dict({"privacy": {"epsilon": 1}, "columns": columns})


def test_a_draft_says_how_the_times_are_asked_about(tmp_path: Path) -> None:
    lines = [f"{1 + n % 28}/3/2024 {n % 12 + 1}:05 PM" for n in range(60)]
    (tmp_path / "x.csv").write_text("\n".join(["when", *lines]))
    text = draft_text(draft(tmp_path / "x.csv", look=True))
    commented = text[text.index("# [columns.when_time]") :].replace("# ", "")
    filled = text.replace('low = "?"', "low = 2024-01-01").replace('high = "?"', "high = 2024-12-31")
    plan = dp.Plan.parse(filled + "\n" + commented)
    assert [(one.kind, one.sources) for one in plan.columns] == [("date", ("when",)), ("time", ("when",))]
    assert plan.columns[1].date_format == "%d/%m/%Y %I:%M %p"
    (batch,) = [pa.table({"when": lines}).to_batches()[0]]
    assert [str(plan.columns[1].space.label(c)) for c in plan.columns[1].encoder()([batch.column(0)])][:2] == [
        "13:05", "14:05",
    ]  # fmt: skip


def test_a_time_with_a_zone_in_a_database_is_the_one_in_utc(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "times.duckdb")) as database:
        database.execute(
            "CREATE TABLE t AS SELECT unnest([TIMETZ '00:30:00+02', TIMETZ '08:30:00-05:30', NULL]) \"at\""
        )
        plan = {"privacy": {"epsilon": 1000}, "columns": {"at": {**DAY, "bins": "hours", "missing": "category"}}}
        for source, out in ((database.table("t"), "relation"), (tmp_path / "times.duckdb", "file")):
            if out == "file":
                database.close()
            release = dp.sanitise(source, plan, tmp_path / out, anyway=True)
            found = {row["h"]: round(row["n"].estimate) for row in release.query(BY_HOUR.format("release")).rows}
            assert {hour: n for hour, n in found.items() if n} == {22: 1, 14: 1, None: 1}

"""Bins of numbers and dates: exact edges, and which of them a condition cuts."""

from __future__ import annotations

import datetime as dt
import tracemalloc
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dproof import Dates, InputError, Interval, Plan, TooLarge
from dproof.certification import verify_certificate
from dproof.plans.reader import MisplacedKey, Reader, read_column
from dproof.spaces.dates import PERIODS, calendar_bins, uncut_period
from dproof.spaces.interval import bins_between, default_bins
from tests.makers import row_law

YEAR = ("2024-01-01", "2024-12-31")


def plan(**keys: Any) -> Plan:
    age = {"space": "interval", "low": 17, "high": 90, "step": 1, **keys}
    return Plan.from_dict({"privacy": {"epsilon": 1}, "columns": {"age": age}})


@given(
    st.lists(st.fractions(0, 10, max_denominator=7), min_size=1, max_size=5, unique=True), st.sampled_from([1, "1/2"])
)
def test_a_value_lies_in_the_bin_whose_edges_enclose_it(inner: list[Fraction], step: Any) -> None:
    space = Interval(0, 10, step)
    edges = sorted({Fraction(0), Fraction(10), *inner})
    points = [space.low + space.step * code for code in range(space.size)]
    expected = [next(n for n in range(len(edges) - 1) if x < edges[n + 1] or n == len(edges) - 2) for x in points]
    if set(expected) < set(range(len(edges) - 1)):
        with pytest.raises(InputError, match="no value lies in the bin"):
            bins_between(space, edges)
    else:
        assert bins_between(space, edges).of(np.arange(space.size)).tolist() == expected


def test_a_condition_cuts_the_bins_that_it_ends_inside_of() -> None:
    space = Interval(17, 90, 1)
    bins = bins_between(space, [17, 25, 35, 90])
    assert bins.cut_by(space.selected(">=", 25)) == bins.cut_by(space.selected("<", 35)) == ()
    assert bins.cut_by(space.selected("<=", 25)) == (1,)
    assert bins.cut_by([*space.selected("=", 20), *space.selected(">", 80)]) == (0, 2)


def test_a_missing_value_has_a_bin_of_its_own() -> None:
    column = plan(bins=[17, 40, 90], missing="category").column("age")
    assert column.bins is not None
    bins = column.bins.with_missing(column.space.absent)
    assert bins.labels == ("[17, 40)", "[40, 90]", None)
    assert bins.of(column.space.encode([17, 90, None])).tolist() == [0, 1, 2]


def test_dates_have_bins_too() -> None:
    column = {
        "space": "date",
        "low": "2024-01-01",
        "high": "2024-12-31",
        "bins": ["2024-01-01", "2024-07-01", "2024-12-31"],
    }
    made = Plan.from_dict({"privacy": {"epsilon": 1}, "columns": {"day": column}}).column("day").bins
    assert made is not None and made.labels == ("[2024-01-01, 2024-07-01)", "[2024-07-01, 2024-12-31]")
    assert made.of(Dates("2024-01-01", "2024-12-31").encode(["2024-06-30", "2024-07-01"])).tolist() == [0, 1]


@pytest.mark.parametrize(
    "space",
    [
        *(Interval(17, 90, 1), Interval(0, 99, 1), Interval(0, 10, 1), Interval("-0.37", "0.11"), Interval(5, 5)),
        *(Interval(0, "1e9"), Interval(0, "1e-9", "1e-11"), Dates(*YEAR), Dates("2024-01-01", "2024-01-05")),
    ],
)
def test_the_default_holds_every_value_in_a_dozen_bins_at_most(space: Interval) -> None:
    bins = default_bins(space)
    assert bins.starts[0] == 0 and 1 <= bins.size <= 12
    assert all(a < b for a, b in zip(bins.starts, (*bins.starts[1:], space.size), strict=True))


@pytest.mark.parametrize(
    ("bins", "why"),
    [
        (5, "must be a list of edges"),
        ([17], "must be a list of edges"),
        (["a", "b"], "of the same kind as low and high"),
        ([0, 90], "must go from low to high, 17 to 90, and these go from 0 to 90"),
        ([17, 40, 40, 90], "must rise from edge to edge, and 40 comes before 40"),
        ([17, "17.2", "17.4", 90], "no value lies in the bin from 17.2 to 17.4"),
    ],
)
def test_edges_that_make_no_bins_are_refused_with_the_line(bins: Any, why: str) -> None:
    with pytest.raises(InputError, match=why) as refused:
        plan(bins=bins)
    assert "columns.age" in str(refused.value) and "\n" not in str(refused.value)


def test_a_release_row_by_row_is_sanitised_by_the_bins() -> None:
    (group,) = row_law(plan(bins=[17, 40, 90])).groups
    assert group.mechanism.inputs.labels == ("[17, 40)", "[40, 90]")


def test_how_a_value_is_read_does_not_depend_on_bins() -> None:
    assert plan(bins=[17, 40, 90]).reading(["age"]) == plan().reading(["age"])


# Bins of the calendar ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "name", "starts"),
    [
        ("2024-01-01", "2024-12-31", "months", (0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335)),
        ("2024-01-31", "2024-03-01", "months", (0, 1, 30)),
        ("2023-11-15", "2024-04-01", "quarters", (0, 47, 138)),
        ("1999-12-31", "2001-01-01", "years", (0, 1, 367)),
        ("1999-12-31", "2010-01-01", "decades", (0, 1, 3654)),
        ("2024-01-01", "2024-01-15", "weeks", (0, 7, 14)),  # a Monday
        ("0001-01-01", "0001-01-09", "decades", (0,)),
        ("9999-12-30", "9999-12-31", "months", (0,)),
    ],
)
def test_periods_of_the_calendar(low: str, high: str, name: str, starts: tuple[int, ...]) -> None:
    bins = calendar_bins(Dates(low, high), name)
    assert bins.starts == starts and bins.stop == Dates(low, high).size
    assert bins.labels[0].startswith(f"[{low}, ") and bins.labels[-1].endswith(f", {high}]")


@pytest.mark.parametrize(
    ("low", "high", "as_named"),
    [
        ("2024-01-01", "2024-12-31", "months"),
        ("2024-01-01", "2025-09-30", "months"),
        ("2024-01-01", "2025-10-01", "quarters"),
        ("2020-01-01", "2024-12-31", "quarters"),
        ("2000-01-01", "2020-12-31", "years"),
        ("1940-01-01", "2010-12-31", "decades"),
        ("0001-01-01", "9999-12-31", "decades"),
        ("2024-01-31", "2024-03-01", "months"),
        ("2024-01-01", "2024-02-29", "weeks"),
    ],
)
def test_the_range_suggests_the_periods(low: str, high: str, as_named: str) -> None:
    space = Dates(low, high)
    assert calendar_bins(space, "calendar") == calendar_bins(space, as_named)


@given(st.dates(), st.integers(0, 700), st.integers(1, 40), st.sampled_from(PERIODS))
def test_the_stand_alone_verifier_counts_the_same_bins(low: dt.date, points: int, step: int, name: str) -> None:
    high = min(low.toordinal() + points * step, dt.date.max.toordinal())
    last = dt.date.fromordinal(high - (high - low.toordinal()) % step)
    if last == low:
        step = 1
    bins = calendar_bins(Dates(low, last, step), name)
    assert verify_certificate.bins({"space": "date", "low": low, "high": last, "step": step, "bins": name}) == bins.size
    assert all(size > 0 for size in bins.sizes)


@pytest.mark.parametrize("name", ["month", "", "fortnights"])
def test_other_names_are_refused(name: str) -> None:
    column = {"space": "date", "low": "2024-01-01", "high": "2024-12-31", "bins": name}
    with pytest.raises(MisplacedKey, match="bins cannot be"):
        read_column("day", Reader(column, ()))
    with pytest.raises(verify_certificate.Refused, match="bins that are not known"):
        verify_certificate.bins(column)


def test_numbers_have_no_periods() -> None:
    with pytest.raises(MisplacedKey, match="must be a list of edges"):
        read_column("age", Reader({"space": "interval", "low": 0, "high": 9, "bins": "months"}, ()))


_EVER = Dates("0001-01-01", "9999-12-31")


@pytest.mark.parametrize("name", [name for name in PERIODS if name != "calendar"])
@pytest.mark.parametrize("step", [1, 7, 28, 29, 30, 31, 90, 92, 365, 3653])
def test_periods_are_those_that_days_lie_in(name: str, step: int) -> None:
    """Found from the periods, or the days where they are fewer: they are what going through all days gives."""
    for low, many in (("0001-01-01", 40), ("1969-12-31", 9), ("2023-12-30", 400), ("9990-05-06", 2)):
        first = dt.date.fromisoformat(low)
        last = min(first.toordinal() + step * many, dt.date.max.toordinal() - (dt.date.max - first).days % step)
        space = Dates(first, dt.date.fromordinal(last), step)
        days = [dt.date.fromordinal(day) for day in range(first.toordinal(), last + 1, step)]
        months = {"months": 1, "quarters": 3, "years": 12, "decades": 120}.get(name)
        period = [(d.toordinal() - 1) // 7 if months is None else (12 * d.year + d.month - 1) // months for d in days]
        starts = [n for n in range(len(days)) if n == 0 or period[n] != period[n - 1]]
        assert calendar_bins(space, name).starts == tuple(starts)
        column = {"space": "date", "low": first, "high": dt.date.fromordinal(last), "step": step, "bins": name}
        assert verify_certificate.bins(column) == len(starts)


def test_so_many_periods_are_refused_before_they_are_made() -> None:
    for name in ("weeks", "months", "quarters", "years"):
        with pytest.raises(TooLarge, match=f"bins by {name} are more than 4,096"):
            calendar_bins(_EVER, name)
        with pytest.raises(verify_certificate.Refused, match="more bins of dates"):
            verify_certificate.bins({"space": "date", "low": dt.date.min, "high": dt.date.max, "bins": name})
    tracemalloc.start()
    assert calendar_bins(_EVER, "decades").size == calendar_bins(_EVER, "calendar").size == 1000
    assert uncut_period(_EVER, [0]) == "decades"
    made = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert made < 4 << 20  # and not as much as millions of days take

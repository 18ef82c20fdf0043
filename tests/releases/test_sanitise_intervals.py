"""Columns of numbers: treated exactly, released on their lattice, read back with the law they were drawn from."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dproof as dp
from dproof import InputError, Interval
from dproof.columns.codec import Column
from dproof.local.mechanisms import MECHANISMS
from dproof.testing import seeded_coins
from tests.makers import row_law


def plan_for(column: dict[str, Any], **privacy: Any) -> dict[str, Any]:
    return {"privacy": {"epsilon": "1", **privacy}, "order": "keep", "columns": {"x": {"space": "interval", **column}}}


AGE = {"low": 0, "high": 110, "step": 1}


@pytest.mark.parametrize("name", ["auto", *MECHANISMS["interval"]])
def test_every_mechanism_is_released_verified_and_read_back(name: str, tmp_path: Path) -> None:
    table = pa.table({"x": np.arange(21)})
    delta = "1e-6" if name in ("gaussian", "truncated_laplace") else "0"
    column = {"low": 0, "high": 20, "step": 1, "mechanism": name}
    drawn = dp.sanitise(table, plan_for(column, delta=delta), tmp_path / "out")
    loaded = dp.verify(tmp_path / "out")
    assert loaded is not None and loaded.to_arrow().schema.field("x").type == pa.int64()
    ours, theirs = drawn.law.groups[0].mechanism, loaded.law.groups[0].mechanism
    assert ours.family.to_json() == theirs.family.to_json()
    assert (ours.inputs, ours.outputs, ours.name) == (theirs.inputs, theirs.outputs, theirs.name)
    assert drawn.law.parts == loaded.law.parts


def test_a_short_interval_gets_the_unbiased_law_of_least_variance_and_a_long_one_laplace_noise() -> None:
    def law(**column: Any) -> Any:
        return row_law(plan_for(column)).groups[0].mechanism

    short, long, fine = law(low=0, high=40, step=1), law(low=0, high=110, step=1), law(low=0, high=110)
    assert (short.name, long.name, fine.name) == ("unbiased design", "Laplace", "Laplace")
    weights, total = short.weights()
    places = [int(short.outputs.low) + n for n in range(short.outputs.size)]
    for value, row in enumerate(weights):
        assert sum(int(w) * y for w, y in zip(row, places, strict=True)) == value * total, "E Y_d = d, exactly"
    noise = law(low=0, high=40, step=1, mechanism="laplace").family.noise
    assert short.optimum.value < 0.55 * float(noise.moments[2]), "the variance is almost halved"


def test_an_unknown_mechanism_is_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"column 'x': the mechanism 'laplac' is not known.*did you mean 'laplace'"):
        dp.sanitise(pa.table({"x": [1]}), plan_for({**AGE, "mechanism": "laplac"}))


def test_noise_leaves_the_mean_where_it_was() -> None:
    with seeded_coins(21):
        release = dp.sanitise(pa.table({"x": np.full(400_000, 40)}), plan_for({**AGE, "mechanism": "laplace"}))
    drawn = release.to_arrow()["x"].to_numpy()
    deviation = np.sqrt(2) * 110 / np.sqrt(len(drawn))
    assert abs(drawn.mean() - 40) < 4 * deviation
    assert np.abs(drawn - 40).mean() == pytest.approx(float(release.law.groups[0].mechanism.error), rel=0.01)


def test_released_numbers_are_multiples_of_the_step_and_print_as_such() -> None:
    column = {"low": "-1", "high": "1", "step": "0.1"}
    release = dp.sanitise(pa.table({"x": np.linspace(-1, 1, 5000)}), plan_for(column)).to_arrow()
    for text in map(repr, release["x"].to_pylist()):
        assert (Fraction(text) * 10).denominator == 1


def test_one_row_far_outside_changes_nothing_that_is_public(tmp_path: Path) -> None:
    usual, odd = pa.table({"x": [1, 2, 3]}), pa.table({"x": [1, 10**9, 3]})
    releases = [dp.sanitise(t, plan_for(AGE), tmp_path / str(n)) for n, t in enumerate((usual, odd))]
    records = [{k: v for k, v in r.certificate.items() if k not in ("release", "seal")} for r in releases]
    assert records[0] == records[1]
    assert releases[0].to_arrow().schema == releases[1].to_arrow().schema


COLUMNS = {
    "clamping": Column("x", "interval", ("x",), Interval("-0.5", "9.5", "0.5"), clamp=True, missing=3),
    "refusing": Column("x", "interval", ("x",), Interval("-0.5", "9.5", "0.5")),
}
NUMBERS = st.one_of(
    st.integers(-(2**63), 2**63 - 1).map(float),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-2, 12),
    st.integers(-4, 40).map(lambda n: n / 4),
)


@given(st.lists(NUMBERS, min_size=1, max_size=8))
def test_a_number_has_the_same_code_however_it_is_written(numbers: list[float]) -> None:
    treat = COLUMNS["clamping"].encoder()
    codes = treat([pa.array(numbers, pa.float64())]).tolist()
    assert codes == treat([pa.array([repr(x) for x in numbers]).dictionary_encode()]).tolist()
    assert codes == treat([pa.array([repr(x).encode() for x in numbers])]).tolist()
    space = COLUMNS["clamping"].space
    for x, code in zip(numbers, codes, strict=True):
        inside = min(max(Fraction(repr(x)), space.low), space.high)
        assert abs(inside - (space.low + code * space.step)) <= space.step / 2


@given(st.lists(st.integers(-3, 12), min_size=1, max_size=8))
def test_whole_numbers_of_every_type_have_the_same_codes(numbers: list[int]) -> None:
    treat = COLUMNS["clamping"].encoder()
    codes = treat([pa.array([float(x) for x in numbers])]).tolist()
    for kind in (pa.int8(), pa.int16(), pa.int64(), pa.float32(), pa.decimal128(30, 3)):
        assert treat([pa.array(numbers).cast(kind)]).tolist() == codes


def test_bounds_are_exact_where_values_outside_are_refused() -> None:
    treat = COLUMNS["refusing"].encoder()
    assert treat([pa.array([-0.5, 9.5, -0.0])]).tolist() == [0, 20, 1]
    for beyond in (np.nextafter(9.5, 10), np.nextafter(-0.5, -1), np.inf, -np.inf, 1e300):
        for array in (pa.array([0.0, beyond]), pa.array(["0", repr(float(beyond))])):
            with pytest.raises(InputError, match="column 'x' has a value outside"):
                treat([array])
    for array in (pa.array([0.0, None]), pa.array([np.nan]), pa.array(["0", ""]), pa.array(["zero"])):
        with pytest.raises(InputError, match="column 'x' has a missing value"):
            treat([array])


def test_a_missing_number_is_the_plans_stand_in() -> None:
    treat = COLUMNS["clamping"].encoder()
    assert treat([pa.array([0.0, None, np.nan])]).tolist() == [1, 3, 3]
    assert treat([pa.array([0, None])]).tolist() == [1, 3]
    assert treat([pa.array(["0", None, "", "n/a", "NaN"])]).tolist() == [1, 3, 3, 3, 3]
    assert treat([pa.array([np.inf, -np.inf])]).tolist() == treat([pa.array(["inf", "-Infinity"])]).tolist() == [20, 0]


def test_numbers_can_be_joined() -> None:
    columns = {
        "x": {"space": "interval", "low": 0, "high": 3, "step": 1},
        "y": {"space": "categories", "values": ["a", "b"]},
    }
    plan = {"privacy": {"epsilon": 700}, "order": "keep", "columns": columns, "joint": [{"columns": ["y", "x"]}]}
    table = pa.table({"x": [0, 3, 2], "y": ["b", "a", "b"]})
    assert dp.sanitise(table, plan).to_arrow().to_pydict() == table.to_pydict()


def test_an_interval_has_room_for_its_noise_in_64_bits_or_is_refused() -> None:
    for low, high, step in ((10**30, 10**30 + 9, 1), ("-1e300", "1e300", "1e290"), (-(2**62) + 2**20, 0, 2**20)):
        with pytest.raises(InputError, match=r"high or low lies beyond 2\^60"):
            dp.Plan.from_dict(plan_for({"low": str(low), "high": str(high), "step": str(step)}))
    far = plan_for({"low": -(2**59), "high": 2**59, "step": 2**13, "missing": -(2**59)}, epsilon="100")
    found = dp.sanitise(pa.table({"x": [2**59, None] * 200}), far).to_arrow()["x"].to_numpy() / 2.0**59
    assert abs(np.median(found[::2]) - 1) < 0.1 > abs(np.median(found[1::2]) + 1)

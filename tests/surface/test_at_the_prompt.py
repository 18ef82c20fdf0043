"""What somebody tries at a Python prompt: it works, or one sentence says what to do instead."""

from __future__ import annotations

import pydoc
import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp

LETTERS, TEN = dp.Categories(["a", "b", "c"]), dp.Interval(0, 10, 1)
RESPONSE = dp.randomised_response(LETTERS, 1)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: RESPONSE.then({"a": 1, "b": 2, "c": [3]}), "must give labels"),
        (lambda: dp.laplace(TEN, scale="1e-30"), "below a thousandth of the step"),
        (lambda: dp.gaussian(TEN, sigma="1e-30"), "below a thousandth of the step"),
        (lambda: dp.compose([dp.laplace(TEN, 1)] * 2, same_value=True), "leave same_value out"),
        (lambda: dp.compose([1, 1], same_value=True), "same_value is for mechanisms"),
        (lambda: dp.compose([dp.curve_noise(dp.Curves(0, 1, 5, 0, 1), 1)]), "compose promises"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(call: Any, told: str) -> None:
    with pytest.raises(dp.InputError, match=told):
        call()


def test_clamped_noise_is_composed_below_the_sum_of_its_promises() -> None:
    """Its profile is told of the noise before clamping, and goes on beyond the ratios of the clamped law."""
    one = dp.gaussian(dp.Interval(0, 20, 1), dp.Privacy(1, "1e-5"), clamp=True)
    twice = dp.compose([one] * 2)
    assert 1 < twice.epsilon("1e-4") < 1.3 and twice.delta(2) <= 2e-5
    assert dp.compose([one]).delta(1) == pytest.approx(one.delta(1), rel=0.2)


def test_an_arrow_table_is_transformed_into_one() -> None:
    plan = {"privacy": {"epsilon": 1}, "columns": {"read": {"space": "categories", "values": [0, 1]}}}
    made = dp.Sanitiser(plan).fit_transform(pa.table({"read": [0, 1, 1]}))
    assert isinstance(made, pa.Table) and made.num_rows == 3


def test_modules_of_their_own_are_found_without_an_import() -> None:
    said = "import dproof as dp; print(dp.arrays.mean.__name__, dp.testing.check_metric.__name__)"
    ran = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["mean", "check_metric"]
    assert np.isfinite(float(dp.arrays.mean(np.arange(50), bounds=(0, 50), epsilon=1).estimate))


def test_help_of_the_library_needs_no_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """`help(dproof)` loads every name that `dir` has, and ends where one cannot be loaded."""
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setattr(dp, "find_spec", lambda name: None if name == "sklearn" else object())
    monkeypatch.delitem(vars(dp), "Sanitiser", raising=False)
    assert "Sanitiser" not in dir(dp) and "Sanitiser" in dp.__all__
    assert "sanitise" in pydoc.plain(pydoc.render_doc(dp))
    with pytest.raises(dp.MissingExtra, match=r"Sanitiser needs sklearn: install dproof with the extra sklearn"):
        dp.Sanitiser  # noqa: B018


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_frame_of_a_package_that_is_not_there(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    plan = {"privacy": {"epsilon": 1}, "columns": {"read": {"space": "categories", "values": ["no", "yes"]}}}
    release = dp.sanitise(pa.table({"read": ["no", "yes"]}), plan)
    answer = release.query("SELECT count(*) AS n FROM release")
    monkeypatch.setitem(sys.modules, package, None)
    for made in (release, answer):
        with pytest.raises(
            dp.MissingExtra, match=f"DataFrame needs {package}: install dproof with the extra {package}"
        ):
            getattr(made, f"to_{package}")()

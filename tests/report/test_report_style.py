"""What the report looks like: dark where the reader wants it, and no mean curve where none can be."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof.html import render
from dproof.report import page
from dproof.report.page import release_page
from dproof.testing import seeded_coins


def test_the_report_has_the_colours_of_the_service_in_light_and_dark() -> None:
    colours = (files("dproof.report") / "templates" / "palette.css").read_text(encoding="utf-8")
    made = str(render("release.html", "top", title="title"))
    assert "prefers-color-scheme: dark" in colours and colours.strip() in made
    declared = {
        part.partition(":")[0] for part in colours.replace("{", ";").split(";") if part.strip().startswith("--")
    }
    declared = {name.strip() for name in declared}
    used = {part.partition(")")[0] for part in made.split("var(")[1:]}
    assert used <= {*declared, "--strength"}  # which each cell of a table says for itself


def test_a_mean_curve_is_drawn_within_the_declared_range(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []
    original = page.band_picture
    monkeypatch.setattr(page, "band_picture", lambda *args, **more: drawn.append(args) or original(*args, **more))
    plan = {
        "privacy": {"model": "central", "epsilon": 1, "delta": "1e-6"},
        "columns": {"load": {"space": "curves", "start": 0, "stop": 3, "points": 4, "low": 0, "high": 4}},
    }
    with seeded_coins(1):
        made = dp.sanitise(pa.table({"load": [[0.0, 0.1, 3.9, 4.0]] * 300}), plan)
    assert "Mean curves" in release_page(made)
    _, estimate, low, high = drawn[-1]
    assert min(low) == 0 and max(high) == 4 and 0 <= min(estimate) <= max(estimate) <= 4

"""What the report looks like: dark where the reader wants it, and no mean curve where none can be."""

from __future__ import annotations

import itertools
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


@pytest.mark.parametrize("delta", ["0", "1e-6"])
@pytest.mark.parametrize("dependent", [True, False])
def test_only_columns_that_depend_on_each_other_beyond_noise_are_shown_together(delta: str, dependent: bool) -> None:
    """Six of ten tables of two columns are shown at most; of pure noise none is, though one is always the strongest."""
    rows = list(itertools.product("ab", "ab", "abc", "ab", "abcd")) * 20
    table = {f"c{n}": [row[n] for row in rows] for n in range(5)}
    if dependent:
        table["c1"] = [second if row[3] == "a" else row[0] for row, second in zip(rows, table["c1"], strict=True)]
    spaces = {name: {"space": "categories", "values": sorted(set(values))} for name, values in table.items()}
    plan = {"privacy": {"model": "central", "epsilon": 2, "delta": delta}, "columns": spaces}
    for seed in range(4):
        with seeded_coins(seed):
            html = release_page(dp.sanitise(pa.table(table), plan))
        assert ("<h3>c0 × c1</h3>" in html or "<h3>c1 × c0</h3>" in html) == dependent
        assert ("more than noise alone could show" in html) == (not dependent)

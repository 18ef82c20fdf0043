"""The page about measured tables: both promises in words, bars with intervals, and maps of columns that depend."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa

import dproof as dp
from dproof.report.page import release_page
from dproof.testing import seeded_coins


def shown(**release: Any) -> str:
    draw = np.random.default_rng(2)
    one = draw.integers(0, 3, 4000)
    columns = {"one": one, "same": one, "other": draw.integers(0, 2, 4000), "many": draw.integers(0, 30, 4000)}
    plan = {
        "privacy": {"model": "central", "epsilon": 2, "delta": "1e-6"},
        "columns": {
            name: {"space": "categories", "values": list(range(int(codes.max()) + 1))}
            for name, codes in columns.items()
        },
        "release": release,
    }
    with seeded_coins(1):
        made = dp.sanitise(pa.table({name: codes.tolist() for name, codes in columns.items()}), plan)
    return release_page(made)


def test_both_promises_are_told_without_formulas() -> None:
    text = shown()
    promises = text[text.index("two kinds of promise") : text.index('class="facts"')]
    assert "custodian is trusted" in promises and "nobody is trusted" in promises
    assert not re.search(r"[εδ≤]", promises)


def test_columns_that_depend_on_each_other_come_first_and_wide_ones_are_left_out() -> None:
    text = shown()
    maps = re.findall(r"<h3>([^<]*×[^<]*)</h3>", text)
    assert maps[0] == "one × same" and len(maps) <= 3 and not any("many" in name for name in maps)
    assert re.search(r'title="[\d,]+ ± [\d.]+"', text)


def test_every_bar_has_its_interval_within_the_page() -> None:
    text = shown()
    lines = re.findall(r'<rect class="line" x="([\d.]+)" width="([\d.]+)"', text)
    assert len(lines) == 3 + 3 + 2 + 30
    assert all(float(left) + float(width) <= 100.6 for left, width in lines)


def test_the_proof_is_folded_and_rows_are_said_to_be_synthetic() -> None:
    folded = shown().partition("<details><summary>The proof, and how to check it</summary>")[2]
    assert "What was measured" in folded and "dproof verify ." in folded and "</details>" in folded
    assert "synthetic rows" not in shown() and "synthetic rows" in shown(rows=True)

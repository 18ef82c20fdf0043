"""Items of a large set: what is asked of them, and what is refused says the way out."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import dproof as dp

ITEMS = [f"i{n}" for n in range(20)]
PLAN = {"privacy": {"epsilon": 8}, "columns": {"s": {"space": "subsets", "values": ITEMS}}}


def test_conditions_on_too_many_items_are_refused_with_the_way_out_and_nothing_is_paid(tmp_path: Path) -> None:
    table = pa.table({"s": [[ITEMS[n % 20]] for n in range(500)]})
    curator = dp.Curator(table, PLAN, ledger=tmp_path / "budget.db")
    before = curator.remaining
    with pytest.raises(dp.InputError, match=r"ask about fewer at once, or query a release by unnest\(s\)"):
        curator.ask("SELECT unnest(s) AS i, count(*) AS n FROM data GROUP BY i", epsilon=1)
    assert curator.remaining == before
    release = dp.sanitise(table, PLAN)
    assert len(release.query("SELECT unnest(s) AS i, count(*) AS n FROM release GROUP BY i").rows) == len(ITEMS)

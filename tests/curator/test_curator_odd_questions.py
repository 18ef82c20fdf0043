"""Questions that nobody would ask in earnest: each is refused in a sentence, before anything is paid."""

import pyarrow as pa
import pytest

import dproof as dp

PLAN = {
    "privacy": {"epsilon": 1},
    "columns": {
        "tags": {"space": "subsets", "values": list("abcdefgh"), "separator": ";"},
        "town": {"space": "categories", "values": [f"t{n}" for n in range(126)]},
    },
}


@pytest.fixture
def curator(tmp_path):
    table = pa.table({"tags": ["a;b"] * 5, "town": ["t1"] * 5})
    return dp.Curator(table, PLAN, ledger=tmp_path / "budget.db")


def test_groups_by_the_items_of_sets_are_counted(curator):
    sql = "SELECT unnest(tags) AS tag, town, count(*) AS n FROM data GROUP BY tag, town"
    with pytest.raises(dp.InputError, match="has 1,008 groups"):
        curator.ask(sql, epsilon="0.5")
    assert curator.remaining().epsilon == 1
    assert len(curator.ask(sql, epsilon="0.5", all_groups=True).rows) == 1008


@pytest.mark.parametrize("calculation", ["count(*) * 1e300 * 1e300", "count(*) / 0"])
def test_no_price_gives_an_accuracy_where_the_half_width_is_no_number(curator, calculation):
    sql = f"SELECT {calculation} AS x FROM data WHERE town = 't1'"
    with pytest.raises(dp.InputError, match="no epsilon up to 100 gives that accuracy"):
        curator.preview(sql, accuracy=5)

"""Sets in the central model: counted by their items, one at a time and with other columns."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof import InputError, Plan
from dproof.central.release import about, release_of
from dproof.certification import verify_central, verify_certificate
from dproof.testing import seeded_coins
from tests.makers import exact_tables, table_law

ROWS, TIMES = 2000, 120
ITEMS = ["Corn", "Peas", "Rice"]


def table() -> Any:
    generator = np.random.default_rng(7)
    sex = generator.choice(["f", "m"], ROWS)
    chosen = generator.random((ROWS, 3)) < np.where(sex == "f", 0.7, 0.2)[:, None]
    sides = [";".join(item for item, has in zip(ITEMS, row, strict=True) if has) for row in chosen]
    return pa.table({"sides": [None if n % 10 == 0 else text or "none" for n, text in enumerate(sides)], "sex": sex})


def plan(neighbours: str = "add-remove", **release: Any) -> dict[str, Any]:
    sides = {"space": "subsets", "values": [*ITEMS, "none"], "separator": ";", "missing": "category"}
    return {
        "privacy": {"model": "central", "epsilon": 2, "delta": "1e-6", "neighbours": neighbours},
        "columns": {"sides": sides, "sex": {"space": "categories", "values": ["f", "m"]}},
        "release": release,
    }


def sets() -> list[set[str] | None]:
    return [None if text is None else set(text.split(";")) for text in table()["sides"].to_pylist()]


QUESTIONS = {
    "list_contains(sides, 'Corn')": lambda s, f: s is not None and "Corn" in s,
    "list_contains(sides, 'Corn') AND sex = 'f'": lambda s, f: s is not None and "Corn" in s and f,
    "list_contains(sides, 'Corn') AND list_contains(sides, 'Rice')": (
        lambda s, f: s is not None and {"Corn", "Rice"} <= s
    ),
    "list_contains(sides, 'Peas') OR list_contains(sides, 'Rice')": lambda s, f: (
        s is not None and bool({"Peas", "Rice"} & s)
    ),
    "sides IS NULL": lambda s, f: s is None,
    "sides IS NULL AND sex = 'm'": lambda s, f: s is None and not f,
}


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
def test_conditions_on_items_are_answered_without_bias_and_cover(neighbours: str) -> None:
    law = table_law(plan(neighbours, item_pairs=True))
    rows, counts = exact_tables(table(), law)
    certificate = law.record(about(rows if law.plan.rows_are_public else None, None, {}), private=False)
    women = [sex == "f" for sex in table()["sex"].to_pylist()]
    truth = {where: sum(map(holds, sets(), women)) for where, holds in QUESTIONS.items()}
    cells: dict[str, list[Any]] = {where: [] for where in QUESTIONS}
    for seed in range(TIMES):
        with seeded_coins(seed) as coins:
            release = release_of(law, certificate, law.measure(counts, coins))
        for where, found in cells.items():
            found.append(release.query(f"SELECT count(*) AS n FROM release WHERE {where}").rows[0]["n"])
    for where, found in cells.items():
        estimates = np.array([cell.estimate for cell in found])
        assert abs(estimates.mean() - truth[where]) < 4 * estimates.std() / TIMES**0.5, where
        assert found[0].stderr == pytest.approx(estimates.std(), rel=0.3), where
        assert np.mean([cell.low <= truth[where] <= cell.high for cell in found]) > 0.88, where


def two_sets(*questions: str, **release: Any) -> dict[str, Any]:
    """A plan with two sets, one of them without missing values, and a number."""
    made = plan("change-one", **release)
    made["columns"]["pies"] = {"space": "subsets", "values": ["Apple", "Pecan"], "separator": ";"}
    made["columns"]["age"] = {"space": "interval", "low": 0, "high": 90, "step": 1, "bins": [0, 30, 60, 90]}
    return {**made, "questions": [{"sql": sql} for sql in questions]} if questions else made


def weights(of: Plan) -> dict[tuple[str, ...], Any]:
    assert of.asked is not None
    return dict(of.asked.tables)


def test_items_of_one_set_are_counted_by_other_columns_and_not_by_each_other() -> None:
    usual, before = weights(Plan.from_dict(two_sets())), weights(Plan.from_dict(two_sets(item_pairs=True)))
    assert set(before.values()) == {1} and len(before) == 9 + 36
    apart = [*combinations([f"sides: {item}" for item in (*ITEMS, "none")], 2), ("pies: Apple", "pies: Pecan")]
    assert before.keys() - usual.keys() == set(apart)
    # A question about those without an item needs to know who has no set at all.
    assert usual["sides: Corn", "sides: (missing)"] == usual["sides: Corn", "sex"] == usual["age",] == 1
    assert usual["sides: Corn", "pies: Pecan"] == usual["sides: (missing)", "pies: Pecan"] == Fraction(1, 16)
    assert usual["sides: Corn",] == 2 and usual["sex", "age"] == 1
    three = weights(Plan.from_dict(two_sets(tables=3)))
    assert ("sides: Corn", "sex", "age") in three and ("sides: Corn", "sides: Peas", "sex") not in three
    alone = Plan.from_dict(two_sets(tables=1))
    assert weights(alone).keys() == {key for key in before if len(key) == 1}
    assert alone.asked is not None and not alone.asked.unpaired


def test_what_cannot_be_asked_of_sets_is_said_with_the_way_out() -> None:
    both = "SELECT count(*) AS n FROM release WHERE list_contains(sides, 'Corn') AND list_contains(sides, 'Rice')"
    with pytest.raises(InputError, match=r"declare the question under \[\[questions\]\], or item_pairs = true under"):
        dp.sanitise(table(), plan()).query(both)
    for made in (plan(item_pairs=True), {**plan(tables=2), "questions": [{"sql": both}]}):
        (row,) = dp.sanitise(table(), made).query(both).rows
        assert row["n"].low < sum(held is not None and {"Corn", "Rice"} <= held for held in sets()) < row["n"].high
    without = "SELECT count(*) AS n FROM release WHERE NOT list_contains(sides, 'Corn')"
    assert dp.sanitise(table(), plan()).query(without).rows[0]["n"].informative
    by_sex = "SELECT count(*) AS n FROM release WHERE list_contains(sides, 'Corn') AND sex = 'f'"
    with pytest.raises(InputError, match=r'\[\[release.tables\]\] with columns = \["sides", "sex"\] next time'):
        dp.sanitise(table(), plan(tables=1)).query(by_sex)


@pytest.mark.parametrize("more", [{"questions": [{"sql": "SELECT count(*) AS n FROM release"}]}, {"listed": True}])
def test_pairs_of_items_belong_to_a_number_of_columns(more: dict[str, Any]) -> None:
    made = plan(item_pairs=True, **({"tables": [{"columns": ["sex", "sides"]}]} if "listed" in more else {}))
    with pytest.raises(InputError, match=r"item_pairs (needs `tables`|belongs to a number of columns)"):
        Plan.from_dict({**made, **{key: value for key, value in more.items() if key == "questions"}})


@pytest.mark.parametrize(("delta", "neighbours"), list(product(["0", "1e-6"], ["add-remove", "change-one"])))
def test_both_verifiers_know_which_items_were_counted_together(delta: str, neighbours: str, tmp_path: Path) -> None:
    made = plan(neighbours)
    made["privacy"]["delta"] = delta
    dp.sanitise(table(), made, tmp_path / "out")
    certificate = verify_certificate.read((tmp_path / "out" / "certificate.json").read_text())
    assert certificate["version"] == verify_central.VERSION
    verify_central.verify(certificate, tmp_path / "out")
    assert dp.verify(tmp_path / "out") is not None
    paired = {**made, "release": {"item_pairs": True}}
    dp.sanitise(table(), paired, tmp_path / "paired")
    other = verify_certificate.read((tmp_path / "paired" / "certificate.json").read_text())
    verify_central.verify(other, tmp_path / "paired")
    with pytest.raises(verify_certificate.Refused, match="other tables than the plan"):
        verify_central.check_plan(opened(certificate), paired)
    with pytest.raises(verify_certificate.Refused, match="other tables than the plan"):
        verify_central.check_plan(opened(other), made)


def opened(certificate: Any) -> dict[str, Any]:
    known = verify_central.FORMAT, verify_central.VERSION, verify_central.CERTIFICATE
    return verify_certificate.opened(certificate, *known)


def test_a_listed_table_with_a_set_is_one_for_each_item() -> None:
    listed = Plan.from_dict(plan(tables=[{"columns": ["sex", "sides"]}]))
    assert listed.asked is not None
    assert [names for names, _ in listed.asked.tables] == [
        *((f"sides: {item}", "sex") for item in (*ITEMS, "none", "(missing)"))
    ]


@pytest.mark.parametrize("tables", [2, [{"columns": ["sex", "sides"]}]])
def test_it_is_stored_with_rows_and_verified(tables: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    dp.sanitise(table(), plan("change-one", tables=tables, rows=True), out)
    release = dp.verify(out)
    assert release is not None
    verify_central.verify(verify_certificate.read((out / "certificate.json").read_text()), out)
    sql = "SELECT proportion(list_contains(sides, 'Corn')) AS p FROM release WHERE sex = 'f'"
    share = release.query(sql).rows[0]["p"]
    women = [held for held, sex in zip(sets(), table()["sex"].to_pylist(), strict=True) if sex == "f"]
    truth = np.mean([held is not None and "Corn" in held for held in women])
    assert abs(share.estimate - truth) < 5 * share.stderr
    raw = release.raw("SELECT avg(list_contains(sides, 'Corn')::INT) AS p FROM release WHERE sex = 'f'").rows[0]["p"]
    assert raw == pytest.approx(0.66, abs=0.12)


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT sides, count(*) FROM release GROUP BY sides", "would need all its items at once"),
        (
            "SELECT count(*) FROM release WHERE list_contains(sides, 'Corn') AND list_contains(sides, 'Peas') "
            "AND list_contains(sides, 'Rice')",
            "needs the table of sides: Corn × sides: Peas × sides: Rice, which was not measured",
        ),
    ],
)
def test_what_was_not_measured_is_refused(sql: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        dp.sanitise(table(), plan()).query(sql)

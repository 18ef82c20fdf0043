"""Small files that would take hours or gigabytes to read: what they hold is counted before the work is done."""

from __future__ import annotations

import json
import os
import random
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import dproof as dp
from dproof import InputError, TooLarge, VerificationFailed
from dproof.central import recipe, workload
from dproof.central.release import TABLES
from dproof.central.workload import Domain, Residual, largest_loss
from dproof.certification import verify_central, verify_certificate
from dproof.certification.verify_certificate import MOST_VALUES, Refused
from dproof.storage import CERTIFICATE, DATA, PARQUET, PLAN
from tests.forging import forge, resealed

COLUMNS = {name: {"space": "categories", "values": ["a", "b"]} for name in ("x", "y")}
ROWS = pa.table({"x": ["a", "b"] * 5, "y": ["a"] * 10})
CENTRAL = {"privacy": {"model": "central", "epsilon": 1, "delta": "1e-6"}, "columns": COLUMNS}


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    dp.sanitise(ROWS, CENTRAL, out=tmp_path / "out")
    return tmp_path / "out"


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    dp.sanitise(ROWS, {"privacy": {"epsilon": 1}, "columns": COLUMNS}, out=tmp_path / "out")
    return tmp_path / "out"


# Stored files --------------------------------------------------------------------------------------------------------


# It knows the most that was taken at a time. It must live as long as any buffer from it, so it is never let go.
POOL = pa.proxy_memory_pool(pa.default_memory_pool())


@pytest.mark.parametrize("name", ["more rows", "long names", "packed tightly"])
def test_stored_tables_are_measured_before_they_are_read(tables: Path, name: str) -> None:
    stored, settings = pa.parquet.read_table(tables / TABLES), PARQUET
    if name == "more rows":
        stored = stored.take(pa.array([0] * 4_000_000))
    elif name == "long names":
        names = pa.DictionaryArray.from_arrays(pa.array([0] * stored.num_rows, pa.int32()), pa.array(["x" * (1 << 24)]))
        stored = stored.set_column(0, "table", names).cast(stored.schema)
    else:
        settings = PARQUET | {"compression": "zstd"}
    pa.parquet.write_table(stored, tables / TABLES, **settings)
    forge(tables)
    del stored
    usual = pa.default_memory_pool()
    pa.set_memory_pool(POOL)
    try:
        for read in (dp.load, dp.verify):
            with pytest.raises(VerificationFailed, match=r"other cells|not as the plan|beside its rows"):
                read(tables)
    finally:
        pa.set_memory_pool(usual)
    assert POOL.max_memory() < 1 << 26


def test_a_file_with_holes_is_not_read(rows: Path) -> None:
    os.truncate(rows / DATA, 1 << 38)
    if (rows / DATA).stat().st_blocks * 4096 > 1 << 38:
        pytest.skip("this disk has no files with holes")
    body = json.loads((rows / CERTIFICATE).read_text("utf-8"))
    (rows / CERTIFICATE).write_text(json.dumps(resealed(body)), "utf-8")
    with pytest.raises(VerificationFailed, match="has holes"):
        dp.verify(rows)
    (rows / DATA).unlink()
    (rows / DATA).touch()
    os.truncate(rows / DATA, 1 << 38)
    with pytest.raises(VerificationFailed, match="is no Parquet file"):
        dp.verify(rows)


def test_more_rows_than_the_certificate_says_are_not_looked_at(rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = pa.parquet.read_table(rows / DATA)
    pa.parquet.write_table(pa.concat_tables([stored, stored]), rows / DATA, **PARQUET)
    forge(rows)
    monkeypatch.setattr("dproof.releases.verify._check_support", None)
    with pytest.raises(VerificationFailed, match="another number of rows"):
        dp.verify(rows)


# Texts ---------------------------------------------------------------------------------------------------------------

_DEEP = 1 << 19
DEEP = {
    "lists": "values = " + "[" * _DEEP + "]" * _DEEP,
    "tables": "values = " + "{a=" * _DEEP + "1" + "}" * _DEEP,
    "keys": "values" + ".a" * _DEEP + " = 1",
    "quoted keys": "values" + "." + '"a b".' * _DEEP + "a = 1",
    "a header": "[columns" + " . a" * _DEEP + "]",
}


@pytest.mark.parametrize("deep", DEEP.values(), ids=DEEP)
def test_a_plan_that_is_nested_deeply_is_refused(rows: Path, deep: str) -> None:
    text = f'[privacy]\nepsilon = 1\n[columns.x]\nspace = "categories"\n{deep}\n'
    with pytest.raises(InputError, match="too deep inside each other"):
        dp.Plan.parse(text)
    (rows / PLAN).write_text(text, "utf-8")
    forge(rows)
    with pytest.raises((InputError, VerificationFailed)):
        dp.verify(rows)
    assert verify_certificate.main([str(rows / CERTIFICATE)]) == 1


def test_words_with_dots_in_a_plan_are_no_deep_keys() -> None:
    values = ["0.1", "a.b.c", "e.g. this", "…" * 200, "." * 200, ", ".join("0.5" for _ in range(200))]
    plan = {"privacy": {"epsilon": 1}, "columns": {"x": {"space": "categories", "values": values}}}
    assert dp.Plan.from_dict(plan).columns[0].space.size == len(values)


@pytest.mark.parametrize("value", ["[]", "{}", '"10"', '{"a":0}'])
def test_a_certificate_of_too_many_values_is_not_read(value: str) -> None:
    with pytest.raises(Refused, match="too large for a certificate"):
        verify_certificate.read(f"[{','.join([value] * (MOST_VALUES + 1))}]")


# Tables of many columns ----------------------------------------------------------------------------------------------


def test_the_losses_of_all_sets_of_columns_are_those_of_each() -> None:
    rng = random.Random(1)
    for _ in range(60):
        sizes = [rng.randint(2, 4) for _ in range(rng.randint(1, 5))]
        tables = [t for n in range(1, len(sizes) + 1) for t in combinations(range(len(sizes)), n)]
        counts = {
            t: Fraction(rng.randint(1, 50), rng.randint(1, 900)) for t in tables if rng.random() < 0.7 or t == (0,)
        }
        columns = tuple(sorted({i for table in counts for i in table}))
        every = [s for n in range(len(columns) + 1) for s in combinations(columns, n)]
        unit, change = verify_central.UNIT, verify_central.change
        losses = [sum(-(-change(sizes, t, s) * p * unit // 1) for t, p in counts.items()) for s in every]
        assert sorted(
            verify_central.losses(sizes, counts, [[i] for i in columns], [1] * len(columns), (2, -2))
        ) == sorted(losses)
        domain = Domain(tuple(sizes), {})
        found = largest_loss(domain, {Residual(table): p for table, p in counts.items()}, "change-one")
        assert found == Fraction(max(losses), unit)
        for table in counts:
            most = max(change(sizes, table, s) for n in range(len(table) + 1) for s in combinations(table, n))
            assert verify_central.sensitivity(sizes, [], (table, None, False), "change-one") == most
            assert domain.sensitivity(Residual(table), "change-one") == most


def test_the_losses_of_sums_of_all_sets_of_columns_are_those_of_each() -> None:
    rng = random.Random(2)
    for _ in range(30):
        sizes = [rng.randint(2, 4) for _ in range(rng.randint(1, 4))]
        domain = Domain(tuple(sizes), {7: 10 ** rng.randint(0, 9), 8: 3})
        tables = [t for n in range(1, len(sizes) + 1) for t in combinations(range(len(sizes)), n)]
        keys = [Residual(t, number) for t in tables for number in (None, 7, 8) if rng.random() < 0.7]
        known = {one: Fraction(rng.randint(1, 50), rng.randint(1, 9 * 10 ** rng.randint(0, 30))) for one in keys}
        always = sum(_units(2 * domain.norm(one), p) for one, p in known.items() if one.number is not None)
        losses = []
        for apart in (s for n in range(len(sizes) + 1) for s in combinations(range(len(sizes)), n)):
            inner = {one: verify_central.inner(sizes, one.table, apart) for one in known}
            here = sum(
                _units(verify_central.change(sizes, r.table, apart), known[r]) for r in known if r.number is None
            )
            for number in (7, 8):
                double = 2 * domain.added(number).square
                moved = [_units(double * inner[r], p) for r, p in known.items() if r.number == number]
                here += max(sum(moved), len(moved) - sum(moved))
            losses.append(here)
        assert largest_loss(domain, known, "change-one") == Fraction(always + max(losses), verify_central.UNIT)


def _units(length: int, precision: Fraction) -> int:
    return -(-length * precision.numerator * verify_central.UNIT // precision.denominator)


def test_sums_by_every_table_of_a_short_plan_are_little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most tables are alike: what they lose is weighed once for all, and added up for all sets of columns at once."""
    weighed, fixed, asked = 0, workload._fixed, recipe.wanted_answers
    cells: list[Any] = []

    def counted(length: Any, precision: Fraction) -> Any:
        nonlocal weighed
        weighed += np.size(length)
        return fixed(length, precision)

    columns = {n: {"space": "interval", "low": 0, "high": 9999, "bins": [0, 5000, 9999]} for n in "abcdefgh"}
    plan: dict[str, Any] = {**CENTRAL, "columns": columns, "release": {"tables": 8, "sums": True}}
    monkeypatch.setattr(workload, "_fixed", counted)
    monkeypatch.setattr(recipe, "wanted_answers", lambda law: (cells.append(law), asked(law))[1])
    recipe.certify_tables(dp.Plan.from_dict(plan))
    assert weighed < 200_000 and len(cells) == 1


def test_widths_need_no_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {n: {"space": "interval", "low": 0, "high": 9999, "bins": [0, 5000, 9999]} for n in "abc"}
    asked: dict[str, Any] = {**CENTRAL, "columns": columns | COLUMNS, "release": {"tables": 3, "sums": True}}
    with monkeypatch.context() as without:
        without.setattr("dproof.central.estimates._part", None)
        law = recipe.certify_tables(dp.Plan.from_dict(asked))
        assert law.half_widths
    for number, told in law.precisions.items():
        told_of = [one for one in law.spreads if one.number == number and not one.ladder]
        spreads = {one.table: law.spreads[one] for one in told_of}
        assert dict.fromkeys(told.variances, 0.0) | spreads == told.variances


def test_tables_with_very_many_columns_in_common_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {f"c{n}": {"space": "categories", "values": [0, 1, 2]} for n in range(6)}
    listed = [{"columns": list(names)} for names in combinations(columns, 5)]
    pure = {"model": "central", "epsilon": 1}
    plan: dict[str, Any] = {"privacy": pure, "columns": columns, "release": {"tables": listed}}
    monkeypatch.setattr(recipe, "MOST_TOLD_PARTS", 6 << 5)
    assert recipe.certify_tables(dp.Plan.from_dict(plan)).noise
    monkeypatch.setattr(recipe, "MOST_TOLD_PARTS", (6 << 5) - 1)
    with pytest.raises(TooLarge, match="those of several tables counted for each"):
        recipe.certify_tables(dp.Plan.from_dict({**plan, "privacy": pure | {"epsilon": 2}}))  # another: laws are kept
    weaker = {**plan, "privacy": pure | {"delta": "1e-6"}}
    assert not recipe.certify_tables(dp.Plan.from_dict(weaker)).is_pure
    of_two = {name: column | {"values": [0, 1]} for name, column in columns.items()}
    assert all(one.contrast for one in recipe.certify_tables(dp.Plan.from_dict({**plan, "columns": of_two})).noise)


def test_a_short_plan_of_all_tables_and_sums_is_refused_before_it_is_worked_out() -> None:
    """It took minutes of `plan`, `sanitise` and of whoever opens it; what a person would write stays open."""
    columns = {f"c{n}": {"space": "interval", "low": 0, "high": 100, "bins": [0, 50, 100]} for n in range(12)}
    plan: dict[str, Any] = {**CENTRAL, "columns": columns, "release": {"tables": 12, "sums": True}}
    with pytest.raises(TooLarge, match="a smaller number of `tables`"):
        recipe.certify_tables(dp.Plan.from_dict(plan))
    assert recipe.certify_tables(dp.Plan.from_dict({**plan, "release": {"tables": 3, "sums": True}})).noise


def test_tables_of_too_many_parts_are_refused_before_they_are_listed(tmp_path: Path) -> None:
    columns = {f"c{n}": {"space": "categories", "values": ["a", "b"]} for n in range(204)}
    names = list(columns)
    listed = [{"columns": names[n : n + 12]} for n in range(0, 204, 12)]
    plan: dict[str, Any] = {**CENTRAL, "columns": columns, "release": {"tables": listed}}
    with pytest.raises(TooLarge, match="or 65,536 parts"):
        dp.sanitise(pa.table({name: ["a"] for name in columns}), plan, out=tmp_path / "out")


def test_steps_of_vector_noise_are_bounded_without_long_powers() -> None:
    fall = Fraction(10**1998 - 7, 10**1999)
    noise = {"kind": "k-norm", "norm": "linf", "terms": 2, "cell": 1, "fall": fall}
    found = verify_central.step_odds(noise, {"terms": 2, "radius": None, "box": [1 << 14] * 2})
    assert found > 1 << 4000 and found.numerator.bit_length() < 1 << 13


def test_a_law_of_many_columns_is_checked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"c{n}" for n in range(4)]
    plan = {"privacy": {"epsilon": 4}, "columns": {name: {"space": "interval", "low": 0, "high": 9} for name in names}}
    dp.sanitise(pa.table({name: [1, 2] for name in names}), plan, out=tmp_path / "out")
    seen: list[str] = []
    checked = verify_certificate.check_law
    monkeypatch.setattr(
        verify_certificate, "check_law", lambda part, work: [seen.append(part["name"]), checked(part, work)]
    )
    dp.verify(tmp_path / "out")
    assert seen == ["c0"]


def test_a_short_plan_makes_no_end_of_bins_or_questions():
    day = {"space": "date", "low": "2000-01-01", "high": "2020-12-31", "bins": "years"}
    sex = {"space": "categories", "values": ["f", "m"]}
    plan = {"privacy": {"epsilon": 1}, "columns": {f"d{n}": day for n in range(1025)}}
    with pytest.raises(dp.errors.PlanError, match="more than 1,024 columns with bins"):
        dp.Plan.from_dict(plan)
    asked = [{"sql": "SELECT count(*) FROM release WHERE sex = 'f'"}] * 2049
    with pytest.raises(dp.errors.PlanError, match="questions are more than 2,048"):
        dp.Plan.from_dict({"privacy": {"epsilon": 1}, "columns": {"sex": sex}, "questions": asked})


def test_the_runs_of_a_part_of_dates_are_worked_out_once():
    """A long range has millions of days, and a plan asks about them again and again."""
    from dproof.spaces import dates

    dates._runs_of_a_part.cache_clear()
    day = {"space": "date", "low": "1000-01-01", "high": "1999-12-31"}
    asked = [{"sql": f"SELECT count(*) FROM release WHERE weekday(day) = {n % 7}"} for n in range(20)]
    dp.Plan.from_dict({"privacy": {"epsilon": 1}, "columns": {"day": day}, "questions": asked})
    assert dates._runs_of_a_part.cache_info().misses == 1

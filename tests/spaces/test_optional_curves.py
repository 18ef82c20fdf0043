"""Curves that may be missing: how they are read, stored as null and found again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dproof import Curves, Plan, expand
from dproof.columns.codec import Column, codec_of
from dproof.curves.columns import stored_values
from dproof.spaces.interval import ABSENT

POINTS = 5
EXPANSION = expand(Curves(0, 4, POINTS, low=0, high=8, norm="l2"), terms=3)
SPACE: Any = EXPANSION.with_missing()
LATTICE: Any = EXPANSION.lattice("laplace").with_missing()
NAMES = tuple("abcde")
FORMS = {
    "list": Column("load", "curves", ("load",), SPACE, "list", missing=1),
    "wide": Column("load", "curves", NAMES, SPACE, "wide", missing=1),
}
CODES = np.array([[5, -3, 900], [ABSENT] * 3, [0, 0, 0], [ABSENT] * 3, [-70, 2, 1]])


def column(form: str, **keys: Any) -> Column:
    keys |= {"columns": list(NAMES)} if form == "wide" else {"points": POINTS}
    curves = {"space": "curves", "low": 0, "high": 8, "terms": 3, "missing": "category", **keys}
    return Plan.of({"privacy": {"epsilon": 1}, "columns": {"load": curves}}).column("load")


def arrays(form: str, rows: list[Any]) -> list[Any]:
    if form == "list":
        return [pa.array(rows, pa.list_(pa.float64()))]
    points = range(POINTS)
    return [pa.array([None if row is None else row[n] for row in rows], pa.float64()) for n in points]


def test_a_plan_reads_it() -> None:
    for form in FORMS:
        read = column(form)
        assert read.space.present.by_terms == EXPANSION  # all of the grid is measured, and the basis named is kept
        assert read.missing == read.space.absent == SPACE.absent == 1 and not read.refuses
        assert read.codec.stand_in(1) is None and read.codec.stand_in(0) == "the public centre"
    assert SPACE.present == EXPANSION and EXPANSION.present is None and SPACE != EXPANSION
    assert SPACE.diameter == EXPANSION.space.diameter


@pytest.mark.parametrize("form", FORMS)
def test_a_curve_that_is_broken_is_missing_and_one_outside_is_clamped(form: str) -> None:
    rows: list[Any] = [[1.0, 2.0, 3.0, 4.0, 5.0], None, [1.0, None, 3.0, 4.0, 5.0], [-9.0, 2.0, 3.0, 4.0, float("inf")]]
    read = column(form)
    codes = read.encoder()(arrays(form, rows))
    assert (codes[1:3] == -1).all() and (codes[[0, 3]] >= 0).all()
    assert codes[3].tolist() == EXPANSION.space.encode([[0.0, 2.0, 3.0, 4.0, 8.0]])[0].tolist()
    assert codes.dtype == read.encoder()(arrays(form, rows[:1])).dtype
    if form == "list":
        ragged = [[1.0] * 4, [1.0] * 6, [], [1.0] * 5]
        assert (read.encoder()(arrays(form, ragged))[:, 0] < 0).tolist() == [True, True, True, False]


@pytest.mark.parametrize("form", FORMS)
def test_what_is_refused_has_a_gap_for_those_who_see_the_truth(form: str) -> None:
    """A curator and `check` see the curves as they are: there a missing one is not there, whatever stands for it."""
    read, rows = column(form, outside="refuse"), arrays(form, [[1.0] * 5, None, [9.0] * 5])
    seen = read.with_missing_allowed()
    assert seen.space == read.space.present and seen.missing is None
    assert (seen.encoder()(rows)[:, 0] < 0).tolist() == [False, True, True]
    outside = replace(read, invalid_as_null=True, missing=0)
    assert (outside.encoder()(rows)[:, 0] < 0).tolist() == [False, False, True]


@pytest.mark.parametrize("form", FORMS)
def test_a_missing_curve_is_stored_as_null_with_nothing_of_the_row_beneath_it(form: str) -> None:
    stored = codec_of(LATTICE, FORMS[form]).store(CODES)
    assert len(stored) == (POINTS if form == "wide" else 1)
    for array in stored:
        assert array.is_null().to_pylist() == [False, True, False, True, False]
    plain = codec_of(EXPANSION.lattice("laplace"), FORMS[form]).store(np.where(CODES == ABSENT, 0, CODES))
    for array, under in zip(stored, plain, strict=True):
        values, beneath = (x.values if form == "list" else x for x in (array, under))
        assert values.buffers()[-1].to_pybytes() == beneath.buffers()[-1].to_pybytes()
    values = stored_values(LATTICE, stored)
    assert np.array_equal(values[[1, 3]], np.full((2, POINTS), 4.0)), "the centre"
    assert np.array_equal(values[[0, 2, 4]], LATTICE.evaluate(CODES[[0, 2, 4]]))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("which", [[0, 2, 4], [1, 3], []])
def test_the_stored_type_does_not_depend_on_what_is_missing(form: str, which: list[int]) -> None:
    stored = codec_of(LATTICE, FORMS[form]).store(CODES[which])
    assert [array.type for array in stored] == [array.type for array in codec_of(LATTICE, FORMS[form]).store(CODES)]
    assert codec_of(LATTICE, FORMS[form]).possible(stored, None, None)


@pytest.mark.parametrize("form", FORMS)
def test_what_no_law_gives_is_not_possible(form: str) -> None:
    stored = codec_of(LATTICE, FORMS[form]).store(CODES)
    assert codec_of(LATTICE, FORMS[form]).possible(stored, None, None)
    codec = codec_of(LATTICE, FORMS[form])
    assert not codec.possible(stored, None, 1 - 16384 + 100), "900 is farther than noise reaches"
    certain = codec_of(EXPANSION.lattice("laplace"), FORMS[form])
    assert not certain.possible(stored, None, None), "where none may be missing"
    rows: list[Any] = [array.to_pylist() for array in stored]
    if form == "wide":
        rows[2][0] = None  # one point of a curve
    else:
        rows[0][0] = [*rows[0][0][:4], None]
    broken = [pa.array(row, array.type) for row, array in zip(rows, stored, strict=True)]
    assert not codec_of(LATTICE, FORMS[form]).possible(broken, None, None) and stored_values(LATTICE, broken) is None


def test_it_is_one_value_in_sql() -> None:
    import duckdb

    for form, column in FORMS.items():
        stored = codec_of(LATTICE, column).store(CODES)
        table = pa.table(dict(zip(column.stored, stored, strict=True)))
        found = duckdb.from_arrow(table).project(f"{codec_of(SPACE, column).sql} AS load").fetchall()
        assert [row[0] is None for row in found] == [False, True, False, True, False], form
        assert found[2][0] == [4.0] * POINTS


def test_none_is_a_missing_curve() -> None:
    codes = SPACE.encode([[0.0] * POINTS, None])
    assert codes.tolist() == [[0] * POINTS, [-1] * POINTS]
    assert SPACE.encode(np.zeros((2, POINTS))).tolist() == [[0] * POINTS] * 2
    assert np.isnan(LATTICE.evaluate(CODES[1])).all() and not np.isnan(LATTICE.evaluate(CODES[0], [0.5])).any()

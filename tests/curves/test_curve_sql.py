"""In SQL a curve is a list, whether its stored form is one column of lists or one for each point."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from dproof import Curves, expand
from dproof.columns.codec import codec_of

FORMS = {
    "wide": ('SELECT 1.0 AS "h 0", 2.0 AS h1', ("h 0", "h1")),
    "list": ("SELECT [1.0, 2.0] AS load", ("load",)),
}


@pytest.mark.parametrize("form", FORMS)
def test_either_form_is_read_as_a_list(form: str) -> None:
    table, stored = FORMS[form]
    column: Any = SimpleNamespace(form=form, stored=stored)
    read = codec_of(expand(Curves(0, 1, 2, 0, 5)), column).sql
    (row,) = duckdb.connect().execute(f"SELECT {read} FROM ({table})").fetchall()
    assert [float(value) for value in row[0]] == [1.0, 2.0]

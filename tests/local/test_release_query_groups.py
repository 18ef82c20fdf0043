"""A question with more groups than anybody can read is refused at once."""

from __future__ import annotations

import pyarrow as pa
import pytest

import dproof as dp
from dproof import InputError


def test_every_day_of_a_century_is_too_many_groups() -> None:
    column = {"space": "date", "low": "1920-01-01", "high": "1989-12-31", "missing": "1950-01-01"}
    release = dp.sanitise(
        pa.table({"born": ["1955-05-05"] * 9}), {"privacy": {"epsilon": 1}, "columns": {"born": column}}
    )
    with pytest.raises(InputError, match="25,568 groups, and 10,000 are the most"):
        release.query("SELECT born, count(*) FROM release GROUP BY born")


def test_counts_of_thousands_of_values_are_answered() -> None:
    column = {"space": "interval", "low": 0, "high": 2600, "step": 1}
    asked = "SELECT x, count(*) FROM release GROUP BY x"
    for mechanism in ("randomised_response", "laplace"):
        plan = {"privacy": {"epsilon": 1}, "columns": {"x": {**column, "mechanism": mechanism}}}
        release = dp.sanitise(pa.table({"x": [5] * 9}), plan)
        assert len(release.query(asked).rows) == 2601

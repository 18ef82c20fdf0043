"""A question with more groups than anybody can read is refused at once."""

from __future__ import annotations

import pyarrow as pa
import pytest

import dproof as dp
from dproof.errors import InputError


def test_every_day_of_a_century_is_too_many_groups() -> None:
    column = {"space": "date", "low": "1920-01-01", "high": "1989-12-31", "missing": "1950-01-01"}
    release = dp.sanitise(
        pa.table({"born": ["1955-05-05"] * 9}), {"privacy": {"epsilon": 1}, "columns": {"born": column}}
    )
    with pytest.raises(InputError, match="the question has 25,568 groups, and 10,000 are the most: group by fewer"):
        release.query("SELECT born, count(*) FROM release GROUP BY born")

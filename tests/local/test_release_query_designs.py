"""Releases by designed laws: matrices of any kind, undone where they can be, and refused with the reason where not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dproof as dp
from dproof import InputError
from dproof.testing import seeded_coins

ROWS = 3000
RNG = np.random.default_rng(9)
GRADE = RNG.choice(list("abcde"), ROWS, p=[0.3, 0.1, 0.2, 0.1, 0.3])
LIKES = [[item for item in "xyz" if RNG.random() < 0.4] for _ in range(ROWS)]
TABLE = pa.table({"grade": GRADE, "likes": LIKES})

pytestmark = pytest.mark.filterwarnings("ignore:this design cannot be inverted")


def released(epsilon: Any, seed: int = 1) -> Any:
    columns = {
        "grade": {"space": "categories", "values": list("abcde"), "metric": "ordinal", "mechanism": "design"},
        "likes": {"space": "subsets", "values": list("xyz"), "mechanism": "design"},
    }
    with seeded_coins(seed):
        return dp.sanitise(TABLE, {"privacy": {"epsilon": epsilon}, "columns": columns})


def test_matrix_laws_are_undone() -> None:
    hits, errors = [], []
    for seed in range(25):
        release = released(4, seed)
        answers = [
            *release.query("SELECT grade, count(*) AS n FROM release GROUP BY grade").rows,
            *release.query("SELECT count(*) AS n FROM release WHERE list_contains(likes, 'x') AND grade <= 'c'").rows,
        ]
        truth = [(g == GRADE).sum() for g in "abcde"]
        truth.append(sum("x" in own and grade <= "c" for own, grade in zip(LIKES, GRADE, strict=True)))
        for row, true in zip(answers, truth, strict=True):
            hits.append(row["n"].low <= true <= row["n"].high)
            errors.append((row["n"].estimate - true) / row["n"].stderr)
    assert np.mean(hits) >= 0.88 and abs(np.mean(errors)) < 4 / np.sqrt(25)


def test_a_singular_law_answers_what_it_can_and_says_what_that_is() -> None:
    release = released(1)
    (row,) = release.query("SELECT count(*) AS n FROM release WHERE list_contains(likes, 'x')").rows
    assert row["n"].low <= sum("x" in own for own in LIKES) <= row["n"].high
    sql = "SELECT count(*) AS n FROM release WHERE list_contains(likes, 'x') AND NOT list_contains(likes, 'y')"
    with pytest.raises(InputError, match=r"'likes' cannot be debiased: its law .* sets with 'x', .* can be asked for"):
        release.query(sql)
    with pytest.raises(InputError, match="cannot be debiased"):
        release.query(sql, method="projection")
    fitted = release.query(sql, method="likelihood").rows[0]["n"]
    assert 0 <= fitted.estimate <= ROWS and fitted.low is None and fitted.stderr is None


def test_the_naive_count_of_a_matrix_law_is_that_of_its_rows() -> None:
    release = released(4)
    (row,) = release.query("SELECT count(*) AS n FROM release WHERE grade = 'c'").rows
    assert row["n"].raw == release.to_arrow()["grade"].to_pylist().count("c")

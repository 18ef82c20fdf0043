"""Texts of numbers are compared with numbers, and numbers with texts of numbers, as SQL casts them."""

from __future__ import annotations

import pytest

from dproof import QuestionError
from dproof.questions.question import Schema, canonical, resolve
from dproof.questions.sql import parse
from dproof.spaces import Categories, Dates, Interval, Subsets

TABLE = Schema(
    "data",
    {
        "open": Categories(["0", "1", "(other)"]),
        "size": Categories(["1", "2", "10"], metric="ordinal"),
        "twice": Categories(["1", "1.0"]),
        "word": Categories(["yes", "no", "true"]),
        "score": Categories([1, 2.5]),
        "age": Interval(0, 99, 1),
        "day": Dates("2024-01-01", "2024-12-31"),
        "tags": Subsets(["1", "2"]),
    },
)


def asked(where: str) -> str:
    return canonical(resolve(parse(f"SELECT count(*) FROM data WHERE {where}"), TABLE)).split(" WHERE ")[1]


@pytest.mark.parametrize(
    ("where", "meant"),
    [
        ("open = 1", "\"open\" = '1'"),
        ("open <> 1.0", "\"open\" <> '1'"),
        ("open IN (0, '1')", "\"open\" IN ('0', '1')"),
        ("size >= 2", "\"size\" >= '2'"),
        ("list_contains(tags, 2)", "list_contains(\"tags\", '2')"),
        ("age >= '18'", '"age" >= 18'),
        ("age = ' 18 '", '"age" = 18'),
        ("score = '2.5'", '"score" = 2.5'),
        ("open = '1'", "\"open\" = '1'"),
        ("day >= '2024-02-01'", "\"day\" >= '2024-02-01'"),
    ],
)
def test_a_number_is_cast(where: str, meant: str) -> None:
    assert asked(where) == meant


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("open = 2", "has no value 2"),
        ("open < 1", "have no order"),
        ("twice = 1", "has no value 1"),
        ("word = 1", "has no value 1"),
        ("age = 'old'", "holds numbers, and 'old' is not one"),
        ("age = 'inf'", "holds numbers, and 'inf' is not one"),
        ("age = ''", "holds numbers, and '' is not one"),
        ("day = 20240101", "holds dates"),
    ],
)
def test_what_is_no_such_number_is_refused(where: str, why: str) -> None:
    with pytest.raises(QuestionError, match=why):
        asked(where)

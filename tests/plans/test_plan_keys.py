"""A space describes its keys of a plan once: the reader, the page and the verifiers know the same ones."""

from __future__ import annotations

from typing import Any

import pytest

from docs.make_keys import PAGE, text
from dproof import plan_keys
from dproof.certification.verify_central import axes_of
from dproof.certification.verify_certificate import declared
from dproof.plans.reader import SPACES, Reader, read_column

# The least that a plan says of a column of each space, and more; a space that is added needs its line here.
TABLES: dict[str, list[dict[str, Any]]] = {
    "categories": [{"values": ["a", "b"]}, {"values": [1, 2], "outside": "category", "outside_value": 9}],
    "interval": [{"low": 0, "high": 9}, {"low": 0, "high": 9, "step": 3, "bins": [0, 6, 9]}],
    "date": [{"low": "2024-01-01", "high": "2024-01-31"}, {"low": "2024-01-01", "high": "2024-01-29", "step": 7}],
    "time": [{"low": "00:00", "high": "23:59"}, {"low": "08:30", "high": "17:00", "bins": "hours"}],
    "subsets": [{"values": ["a", "b"]}, {"columns": ["a", "b", "c"]}],
    "curves": [{"low": 0, "high": 5, "points": 4}],
}
COLUMN_KEYS = {"drop", "public", "space", "share", "mechanism", "question", "help"}


def test_no_space_is_left_out() -> None:
    assert list(TABLES) == list(SPACES)


@pytest.mark.parametrize("space", TABLES)
@pytest.mark.parametrize("missing", [{}, {"missing": "category"}])
def test_what_is_read_is_described_and_known_to_the_verifiers(space: str, missing: dict[str, Any]) -> None:
    described = {key.name for key in plan_keys(space)}
    for keys in TABLES[space]:
        given = {"space": space, **keys, **missing}
        table = Reader(given, ())
        column = read_column("x", table)
        assert table._asked <= described | COLUMN_KEYS and set(keys) <= described
        assert declared(given, {}) == (None if column.space.holds_curves else column.sanitised.size)
        assert axes_of("x", given)


def test_every_key_is_explained() -> None:
    for space in SPACES:
        assert all(key.help.endswith(".") and key.form for key in plan_keys(space))
        assert {"outside", "missing"} <= {key.name for key in plan_keys(space)}


def test_the_page_has_every_key() -> None:
    assert PAGE.read_text("utf-8") == text(), "run `python docs/make_keys.py`"

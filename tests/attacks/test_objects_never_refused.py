"""Under a plan that treats every value no object stops a release or an answer, and none shows in a warning."""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

import pytest

import dproof as dp
from tests.odd_objects import COLUMNS, FRAMES, ODD, batches_of

_TREATED = {name: plan for name, plan in COLUMNS.items() if "gaps" not in name}
PLAN: dict[str, Any] = {
    "privacy": {"epsilon": 10, "neighbours": "add-remove", "person": "person", "rows_per_person": 2},
    "columns": {
        **_TREATED,
        "flags": {**_TREATED["flags"], "columns": ["a", "b"], "missing": ["a"]},
        "wide": {**_TREATED["wide"], "columns": ["t1", "t2"]},
        "person": {"drop": True},
    },
}
SOURCES = [name for column in PLAN["columns"] for name in PLAN["columns"][column].get("columns", [column])]
RELEASED = {**PLAN, "privacy": {"epsilon": 10}}
QUESTIONS = [
    "SELECT texts, count(*) FROM data GROUP BY texts",
    "SELECT count(*), avg(interval), median(interval) FROM data WHERE numbers = 1 OR truths",
    "SELECT count(*) FROM data WHERE list_contains(joined, 'a') AND list_contains(list, 'a')",
    "SELECT avg(wide) FROM data",
    "SELECT avg(curves) FROM data WHERE texts = 'f'",
]
PLAIN = {
    "texts": "f",
    "numbers": 1,
    "truths": True,
    "interval": 0.5,
    "joined": "a;f",
    "list": ["a"],
    "a": True,
    "b": False,
    "t1": 0.5,
    "t2": 1.0,
    "curves": [0.5, 1.0],
    "person": "ann",
}


def _columns(chance: random.Random) -> dict[str, list[Any]]:
    """Usual values with odd ones among them; some columns hold odd ones alone, of one sort or of any."""
    rows = chance.randint(1, 12)
    columns = {}
    for name in SOURCES:
        odd = [chance.choice(ODD) for _ in range(rows)]
        share = chance.choice([0, 0.2, 1])
        usual = [PLAIN[name] if chance.random() >= share else value for value in odd]
        columns[name] = chance.choice([usual, odd, [odd[0]] * rows])
    return columns


def _run(frame: Any, batch: int, ledger: Path) -> None:
    with warnings.catch_warnings(), batches_of(batch):
        warnings.simplefilter("error")
        dp.sanitise(frame, RELEASED)
        curator = dp.Curator(frame, PLAN, ledger=ledger)
        for question in QUESTIONS:
            curator.ask(question, epsilon=1)


@pytest.mark.parametrize("seeds", [range(6), pytest.param(range(6, 200), marks=pytest.mark.slow)])
@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_no_object_stops_a_release_or_an_answer(frame: Any, seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        chance = random.Random(seed)
        _run(frame(_columns(chance)), chance.randint(1, 12), tmp_path / f"{seed}.db")


@pytest.mark.parametrize("names", [SOURCES[::2], SOURCES[1::2]], ids="+".join)
def test_one_odd_object_among_usual_ones_is_treated(names: list[str], tmp_path: Path) -> None:
    """Each odd object in each column, in batches of three rows with usual ones beside it.

    Columns are read one by one, but for those that are one set or one curve together: these take turns.
    """
    columns = {column: [PLAIN[column]] * (2 * len(ODD)) for column in SOURCES}
    for name in names:
        columns[name] = [value for odd in ODD for value in (PLAIN[name], odd)]
    _run(FRAMES["pandas"](columns), 3, tmp_path / "budget.db")


def test_a_column_without_a_value_is_missing_in_every_row() -> None:
    nobody = {name: [None] * 5 for name in SOURCES}
    for frame in FRAMES.values():
        assert dp.sanitise(frame(nobody), RELEASED).rows == 5

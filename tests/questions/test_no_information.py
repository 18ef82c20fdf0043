"""What tells nothing is not a value: it has no estimate in any form, comes last in every order and passes no HAVING."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dproof as dp
from dproof import Answer, Categories, Cell, Interval
from dproof.questions.measured import answer
from dproof.questions.question import Schema
from dproof.serve.client import _told_answer
from dproof.testing import seeded_coins
from tests.makers import resolved

SCHEMA = Schema("data", {"town": Categories(list("abcd")), "pay": Interval(0, 100, 1)})
HALF_WIDTHS = {"a": 10.0, "b": 10_000.0, "c": 10.0, "d": 45.0}
MEANS = {"a": 20.0, "b": 246_148.0, "c": 70.0, "d": 45.0}
# Of the level of one row among four d is known to lie anywhere from 0 to 100.
WIDER = 1.5


class Stub:
    """Four towns: nothing is known of b, and of d nothing at a level above 0.95 (see `AnswerSource`)."""

    suggestions, rows, shown = "none", None, range(4)
    labels = tuple((town,) for town in MEANS)

    def __init__(self, level: float) -> None:
        self.factor = 1.0 if level <= 0.95 else WIDER

    def cells(self, expression: Any, groups: Sequence[int]) -> Sequence[Any]:
        if not hasattr(expression, "kind"):
            return [float(expression.value)] * len(groups)
        towns = [list(MEANS)[n] for n in groups]
        halves = [self.factor * HALF_WIDTHS[town] for town in towns]
        return [
            Cell(MEANS[town], MEANS[town] - half, MEANS[town] + half, half / 2, 1.0)
            for town, half in zip(towns, halves, strict=True)
        ]

    def notes(self, groups: Sequence[int]) -> Iterator[str]:
        return iter(())


def ask(rest: str, selected: str = "avg(pay)") -> Answer:
    question = resolved(f"SELECT town, {selected} AS m FROM data GROUP BY town {rest}", SCHEMA)
    return answer(question, SCHEMA, Stub, 0.95)


def towns(rest: str) -> str:
    return "".join(row["town"] for row in ask(rest).rows)


@pytest.mark.parametrize(
    ("rest", "shown"),
    [
        ("ORDER BY avg(pay) DESC", "cdab"),
        ("ORDER BY avg(pay)", "adcb"),
        ("ORDER BY round(avg(pay), 1) DESC", "cdab"),
        ("ORDER BY coalesce(avg(pay), 1000) DESC", "cdab"),
        ("ORDER BY avg(pay) DESC LIMIT 3", "cad"),  # at the level of three rows among four nothing is known of d
        ("ORDER BY avg(pay) LIMIT 2", "ad"),
        ("HAVING avg(pay) > 0", "ac"),
        ("HAVING avg(pay) < 1000000", "ac"),
        ("HAVING avg(pay) < 60", "a"),
    ],
)
def test_what_tells_nothing_comes_last_and_passes_no_test(rest: str, shown: str) -> None:
    assert towns(rest) == shown


def test_an_answer_says_that_having_leaves_out_what_tells_nothing() -> None:
    said = [note for note in ask("HAVING avg(pay) > 0").notes if "HAVING leaves out" in note]
    assert len(said) == 1
    assert not any("HAVING" in note for note in ask("ORDER BY avg(pay)").notes)


@pytest.mark.parametrize("selected", ["avg(pay)", "round(avg(pay), 1)", "coalesce(avg(pay), 7)", "sqrt(avg(pay))"])
def test_no_form_of_an_answer_has_a_number_where_nothing_is_known(selected: str, tmp_path: Path) -> None:
    found = ask("", selected)
    cell = found.rows[1]["m"]
    assert (cell.estimate, cell.raw, cell.informative, cell.clamped_estimate) == (None, 246_148.0, False, None)
    assert math.isnan(float(cell)) and str(cell) == "no information"
    assert json.loads(json.dumps(found.to_json()))["rows"][1]["m"]["estimate"] is None
    assert found.flat()["m"][1] is None and found.to_arrow()["m"][1].as_py() is None
    assert math.isnan(found.to_pandas()["m"][1]) and found.to_polars()["m"][1] is None
    assert "no information" in str(found) and "no information" in found._repr_html_()
    assert "246" not in str(found) + found._repr_html_() + json.dumps(found.plot().to_dict())
    assert _told_answer(found.to_json()).rows[1]["m"].to_json() == cell.to_json()  # as a server tells it
    found.plot(tmp_path / "answer.svg")


def test_a_curve_that_tells_nothing_has_an_estimate_at_no_point() -> None:
    plan = {
        "privacy": {"epsilon": "1/100"},
        "columns": {"load": {"space": "curves", "points": 3, "low": 0, "high": 4, "terms": 3}},
    }
    with seeded_coins(1):
        release = dp.sanitise(pa.table({"load": [[1.0, 2.0, 3.0]] * 40}), plan)
    found = release.query("SELECT avg(load) AS m FROM release")
    cell = found.rows[0]["m"]
    assert not cell.informative and cell.estimate == [None] * 3 and all(map(math.isfinite, cell.raw))
    assert found.to_arrow()["m"][0].as_py() == [None] * 3 and str(cell) == "no information"
    assert "no information" in json.dumps(found.plot().to_dict())

"""What fails whatever the table holds fails before anything is paid: every kind of question, on extreme plans."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dproof import Curator, DproofError, InputError, declare
from dproof.laws import Gaussian, GaussianSum, TwoSided
from dproof.laws.k_norm import KNorm

pa = pytest.importorskip("pyarrow")

TABLE = {
    "load": [[1.0, 2.0, 3.0, 2.0, 1.0]] * 4,
    "kind": ["a", "b"] * 2,
    "x": [1, 2, 3, 4],
    "day": [date(2020, 1, 1)] * 4,
    "tags": [["a"]] * 4,
}
ASKED = {
    "curve": "SELECT avg(load) FROM data",
    "curves": "SELECT kind, avg(load) FROM data GROUP BY kind",
    "covariance": "SELECT covar(load, load) FROM data",
    "counts": "SELECT kind, count(*), sum(x) FROM data WHERE x > 1 GROUP BY kind",
    "moments": "SELECT variance(x) / avg(x), avg(day) FROM data",
    "chosen": "SELECT median(x), max(x), mode(kind) FROM data",
    "distinct": "SELECT count(DISTINCT x) FROM data",
    "items": "SELECT unnest(tags) AS tag, count(*), sum(x) FROM data GROUP BY tag",
}
CURVES = ("curve", "curves", "covariance")
EXTREME_CURVES: list[dict[str, Any]] = [
    {"radius": "1e12"},
    {"radius": "1e99"},
    {"radius": "1e400"},
    {"radius": "1e-400"},
    {"box": ["1e9"] * 4},
    {"box": ["1e-99", "1", "1", "1e99"]},
    {"kernel": "matern-3/2", "length": "1e-9", "radius": 1},
    {"kernel": "matern-3/2", "length": 4, "radius": "1e12"},
    {"low": "-1e300", "high": "1e300"},
    {"high": "1e-400"},
    {"start": 0, "stop": "1e400"},
    {"start": 0, "stop": "1e99"},
    {"low": 10**17, "high": 10**17 + 1},
]
EXTREME_NUMBERS: list[dict[str, Any]] = [
    {"high": 9, "step": "1e-15"},
    {"high": "1e15", "step": 1},
    {"low": "-1e400", "high": "1e400", "step": "1e390"},
    {"high": "1e-400", "step": "1e-402"},
]
PRICES = [("1", 0), ("1e-12", 0), ("1e-300", 0), ("1", "1e-300"), ("0", "1e-6"), ("1000", "1e-300"), ("1e-12", "0.9")]


def opened(folder: Path, load: dict[str, Any], x: dict[str, Any], **privacy: Any) -> Curator:
    columns = {
        "load": {"space": "curves", "points": 5, "low": 0, "high": 5, "terms": 4, **load},
        "kind": {"space": "categories", "values": ["a", "b"]},
        "x": {"space": "interval", "low": 0, "high": 9, "step": 1, **x},
        "day": {"space": "date", "low": "0001-01-01", "high": "9999-12-31"},
        "tags": {"space": "subsets", "values": ["a", "b"]},
    }
    promise = {"epsilon": 1000, "delta": "0.95", **privacy}
    return Curator(pa.table(TABLE), {"privacy": promise, "columns": columns}, ledger=folder / "ledger.db")


@pytest.mark.parametrize("price", PRICES, ids=str)
@pytest.mark.parametrize("asked", ASKED)
def test_what_cannot_be_answered_costs_nothing(asked: str, price: tuple[str, Any], tmp_path: Path) -> None:
    """Every two of a question, a price and a plan meet; all three in one of three cases."""
    turn = ([*ASKED].index(asked) + PRICES.index(price)) % 3
    extremes = [(load, {}) for load in EXTREME_CURVES] if asked in CURVES else [({}, x) for x in EXTREME_NUMBERS]
    extremes = extremes[turn::3]
    for n, (load, x) in enumerate(extremes):
        (folder := tmp_path / str(n)).mkdir()
        try:
            curator = opened(folder, load, x)
        except InputError:  # the plan itself is refused
            continue
        try:
            with np.errstate(divide="raise", over="raise"):
                curator.ask(ASKED[asked], epsilon=price[0], delta=price[1])
        except DproofError:  # one sentence, and nothing else is raised
            assert all(entry["kind"] != "question" for entry in curator.ledger.entries)


def test_curves_far_from_their_region_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="reaches too far beyond the range"):
        opened(tmp_path, {"radius": "1e12"}, {}).ask(ASKED["curve"], epsilon=1)


class Broken(Exception):
    """Raised by a law that cannot be drawn."""


@pytest.mark.parametrize("asked", [*ASKED, "declared", "functions"])
@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_no_law_is_first_drawn_after_the_debit(
    asked: str, delta: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever law a question has: one that cannot be drawn stops it while nothing is spent."""

    def broken(*arguments: Any) -> Any:
        raise Broken

    curator = opened(tmp_path, {}, {})
    for law in (TwoSided, Gaussian, GaussianSum, KNorm):
        monkeypatch.setattr(law, "draw", broken)
    monkeypatch.setattr("dproof.curator.draw.pick", broken)
    with pytest.raises(Broken) as raised:
        if asked == "declared":
            query, _ = declare("least", lambda rows: min((r["x"] or 0 for r in rows), default=0), 9, curator.schema)
            curator.ask_declared(query, epsilon=1)
        elif asked == "functions":
            curator.curves(ASKED["curves"], epsilon=1, delta=delta)
        else:
            curator.ask(ASKED[asked], epsilon=1, delta=delta)
    assert not getattr(raised.value, "__notes__", []) and len(curator.ledger.entries) == 1


def test_an_answer_that_cannot_be_told_is_not_paid_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any) -> Any:
        raise Broken

    curator = opened(tmp_path, {}, {})
    monkeypatch.setattr("dproof.curator.answer.answer_of", broken)
    for asked in ASKED.values():
        with pytest.raises(Broken):
            curator.ask(asked, epsilon=1)
    assert len(curator.ledger.entries) == 1

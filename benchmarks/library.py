"""A made-up survey of a library: 4,000 people whose answers depend on each other a little, for `benchmarks/asked`."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).parent.parent / "build" / "library.csv"
_ROWS = 4000

# Values with how many of a hundred people have them, in the order of what they depend on.
_CATEGORIES = {
    "gender": {"Female": 58, "Male": 40, "Other": 2},
    "district": {f"District {n}": part for n, part in enumerate((18, 15, 13, 12, 10, 9, 8, 7, 5, 3), 1)},
    "education": {
        "None": 3,
        "Primary": 7,
        "Lower secondary": 22,
        "Upper secondary": 33,
        "Bachelor": 20,
        "Master or above": 15,
    },
    "household_income": {
        "Under 15,000": 10,
        "15,000 to 24,999": 15,
        "25,000 to 39,999": 24,
        "40,000 to 59,999": 23,
        "60,000 to 79,999": 14,
        "80,000 to 119,999": 10,
        "120,000 and up": 4,
    },
    "work": {"In education": 14, "Unemployed": 6, "Self-employed": 9, "Employed": 48, "Retired": 23},
    "language": {"German": 71, "Turkish": 8, "English": 6, "Arabic": 5, "Polish": 4, "Other": 6},
    "member": {"No": 35, "Yes": 65},
    "travels": {"By bicycle": 22, "On foot": 31, "By bus": 24, "By car": 20, "Other": 3},
}
_GENRES = {
    "Crime": 0.2,
    "Fantasy": -0.6,
    "History": -0.4,
    "Romance": -0.5,
    "Science": -0.8,
    "Travel": -0.7,
    "Cooking": -0.6,
    "Children": -0.2,
}
_FORMATS = {"Paper": 1.3, "E-book": -0.6, "Audio": -0.9, "Magazines": -0.5}


def made_up() -> Path:
    """The file, written where it is not there yet."""
    if not FILE.exists():
        columns = _columns(np.random.default_rng(20))
        FILE.parent.mkdir(parents=True, exist_ok=True)
        with FILE.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
    return FILE


def _columns(draw: np.random.Generator) -> dict[str, Sequence[Any]]:
    old, learned = draw.normal(size=_ROWS), draw.normal(size=_ROWS)
    keen = draw.normal(size=_ROWS) + 0.3 * learned

    def chosen(name: str, depends: Any = 0.0) -> Any:
        shares = np.array([*_CATEGORIES[name].values()]) / 100
        score = depends + draw.normal(size=_ROWS)
        places = np.searchsorted(np.quantile(score, np.cumsum(shares)[:-1]), score)
        return np.array([*_CATEGORIES[name]])[places]

    def number(mean: Any, deviation: float, low: int, high: int) -> Any:
        return np.clip(np.rint(mean + deviation * draw.normal(size=_ROWS)), low, high).astype(int)

    def items(means: dict[str, float], depends: Any) -> list[str]:
        held = [draw.normal(size=_ROWS) + depends + mean > 0 for mean in means.values()]
        return [";".join(item for item, has in zip(means, row, strict=True) if has) for row in zip(*held, strict=True)]

    def blank(values: Any, missing: Any) -> Any:
        return np.where(missing, "", values.astype(str))

    member = chosen("member", keen)
    joined = np.clip(2025 - draw.exponential(12, _ROWS), 1970, 2025).astype(int)
    return {
        "age": number(46 + 15 * old, 8, 16, 95),
        "gender": chosen("gender"),
        "district": chosen("district", learned),
        "education": chosen("education", 2 * learned),
        "household_income": blank(chosen("household_income", learned), draw.random(_ROWS) < 0.15),
        "work": chosen("work", 2 * old),
        "children": np.minimum(draw.poisson(np.exp(-0.4 - 0.3 * old)), 6),
        "language": chosen("language"),
        "member": member,
        "joined": blank(joined, member == "No"),
        "visits": np.minimum(draw.poisson(np.exp(0.7 + 0.6 * keen)), 30),
        "minutes": np.clip(draw.gamma(2, 25, _ROWS) * np.exp(0.1 * keen), 0, 300).astype(int),
        "travels": chosen("travels", 0.7 * old),
        "genres": items(_GENRES, 0.4 * keen),
        "formats": items(_FORMATS, -0.3 * old),
        "satisfied": number(4.1 + 0.3 * keen, 0.9, 1, 5),
        "satisfied_hours": blank(number(3.2 + 0.3 * keen, 0.9, 1, 5), draw.random(_ROWS) < 0.08),
        "satisfied_staff": number(4.4 + 0.3 * keen, 0.9, 1, 5),
        "recommends": number(7.8 + 0.7 * keen, 1.8, 0, 10),
    }

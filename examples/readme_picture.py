"""Make docs/images/survey.svg: a made-up survey, its sanitised rows as they stand, and the debiased answers."""

from __future__ import annotations

from pathlib import Path

import altair as alt
import numpy as np
import pyarrow as pa

import dproof as dp
from dproof.plotting import ACCENT, INK, svg
from dproof.testing import seeded_coins

HOBBIES = ["Sports", "Cars", "Television", "Computer games", "Reading"]
TRUTH = [6400, 1200, 7300, 3900, 1200]
PLAN = {"privacy": {"epsilon": "1.5"}, "columns": {"hobby": {"space": "categories", "values": HOBBIES}}}


def main() -> None:
    people = pa.table({"hobby": np.repeat(HOBBIES, TRUTH)})
    with seeded_coins(4):  # the picture shall be the same each time it is made
        answer = dp.sanitise(people, PLAN).query("SELECT hobby, count(*) AS n FROM release GROUP BY hobby")
    cells = {row["hobby"]: row["n"] for row in answer.rows}
    rows = [
        {"hobby": hobby, "truth": truth, "raw": cells[hobby].raw, "estimate": cells[hobby].estimate}
        | {"low": cells[hobby].low, "high": cells[hobby].high}
        for hobby, truth in zip(HOBBIES, TRUTH, strict=True)
    ]
    base = alt.Chart(
        {"values": rows},
        title=alt.Title(
            "20,000 sanitised rows, ε = 1.5",
            subtitle="bars: the truth, which stays private  ·  grey: the sanitised rows counted as they stand  ·  "
            "dots: debiased, with 95 % intervals",
        ),
    ).encode(y=alt.Y("hobby:N", sort=HOBBIES, axis=alt.Axis(title=None, labelFontSize=13)))
    bars = base.mark_bar(color="#d5e8e6", height=26).encode(
        x=alt.X("truth:Q", axis=alt.Axis(title="people", tickCount=8))
    )
    raw = base.mark_tick(color="#8a9ba8", thickness=3, height=26).encode(x="raw:Q")
    interval = base.mark_rule(color=ACCENT, strokeWidth=3).encode(x="low:Q", x2="high:Q")
    dots = base.mark_point(color=INK, filled=True, size=70).encode(x="estimate:Q")
    page = Path(__file__).parent.parent / "docs" / "images" / "survey.svg"
    page.write_text(svg((bars + raw + interval + dots).properties(width=640, height=220)), encoding="utf-8")


if __name__ == "__main__":
    main()

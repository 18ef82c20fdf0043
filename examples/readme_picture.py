"""Make docs/images/survey.svg: a fictitious survey, and the answers of releases in both models."""

from __future__ import annotations

from pathlib import Path

import altair as alt
import numpy as np
import pyarrow as pa

import dproof as dp
from dproof.plotting import INK, svg
from dproof.testing import seeded_coins

HOBBIES = ["Sports", "Cars", "Television", "Computer games", "Reading"]
TRUTH = [6400, 1200, 7300, 3900, 1200]
COLOURS = {"central": INK, "local": "#8a9ba8"}


def main() -> None:
    people = pa.table({"hobby": np.repeat(HOBBIES, TRUTH)})
    rows = [{"hobby": hobby, "truth": truth} for hobby, truth in zip(HOBBIES, TRUTH, strict=True)]
    layers = []
    for model, colour in COLOURS.items():
        plan = {
            "privacy": {"model": model, "epsilon": 1},
            "columns": {"hobby": {"space": "categories", "values": HOBBIES}},
        }
        with seeded_coins(4):  # the picture shall be the same each time it is made
            answer = dp.sanitise(people, plan).query("SELECT hobby, count(*) AS n FROM release GROUP BY hobby")
        told = [
            {"hobby": row["hobby"], "estimate": cell.estimate, "low": cell.low, "high": cell.high}
            for row, cell in zip(answer.rows, answer["n"], strict=True)
        ]
        moved = -6 if model == "central" else 7
        base = alt.Chart({"values": told}).encode(y=alt.Y("hobby:N", sort=HOBBIES))
        layers += [
            base.mark_rule(color=colour, strokeWidth=3, yOffset=moved).encode(x="low:Q", x2="high:Q"),
            base.mark_point(color=colour, filled=True, opacity=1, size=60, yOffset=moved).encode(x="estimate:Q"),
        ]
    title = alt.Title(
        "People by hobby: 20,000 answers, ε = 1",
        subtitle="bars: the truth, which stays private  ·  dark: published by a trusted holder, ± 5 people  ·  "
        "grey: every row randomised, ± 400",
    )
    bars = (
        alt.Chart({"values": rows}, title=title)
        .mark_bar(color="#d5e8e6", height=28)
        .encode(
            x=alt.X("truth:Q", axis=alt.Axis(title="people", tickCount=8)),
            y=alt.Y("hobby:N", sort=HOBBIES, axis=alt.Axis(title=None, labelFontSize=13)),
        )
    )
    page = Path(__file__).parent.parent / "docs" / "images" / "survey.svg"
    page.write_text(svg(alt.layer(bars, *layers).properties(width=640, height=220)), encoding="utf-8")


if __name__ == "__main__":
    main()

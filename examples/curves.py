"""Original and private mean curves of real data, as pictures.

    python examples/curves.py DATA_FOLDER OUT_FOLDER

The data is not part of the project; whatever of it is absent is left out. The dashed line is the original mean, which
only the curator of the data may see.
"""

import sys
import tempfile
from pathlib import Path

import altair as alt
import numpy as np
import pyarrow.csv

import dproof as dp
from dproof.plotting import ACCENT, INK, WARM, svg

PLANS = Path(__file__).parent
EXAMPLES = {
    "household": ("household_electricity_daily.csv", "load", "kWh in an hour, mean of 112 days"),
    "growth": ("berkeley_growth_wide.csv", "height", "height in cm, mean of 93 children"),
    "weather": ("canadian_weather_wide.csv", "temperature", "°C, mean of 35 stations"),
}


def original(table, column) -> np.ndarray:
    """The true mean curve, between low and high."""
    space = column.space.space
    rows = np.column_stack([table.column(name).to_numpy() for name in column.sources])
    return space.read(rows, outside="clamp").mean(axis=0)


def draw(name: str, data: Path, out: Path) -> None:
    """Ask a curator for the mean curve and draw it beside the original one."""
    file, column, title = EXAMPLES[name]
    plan = dp.Plan.read(PLANS / f"{name}.toml")
    table = pyarrow.csv.read_csv(data / file)
    with tempfile.TemporaryDirectory() as folder:
        curator = dp.Curator(table, plan, ledger=f"{folder}/budget.db")
        price = {"epsilon": plan.privacy.epsilon, "delta": plan.privacy.delta}
        ((_, curve),) = curator.curves(f"SELECT avg({column}) FROM data", **price)
    truth = original(table, plan.column(column))
    chart = curve.chart(original=truth, title=title, value=column)
    (out / f"{name}.svg").write_text(svg(chart), encoding="utf-8")
    error = np.abs(curve.estimate - truth).max()
    print(f"{name}: off by at most {error:.3g}, the band holds the original: {curve.covers(truth)}")


def projection_chart(projections: dict, certified: dict) -> alt.Chart:
    """δ as more and more points see it, and the line of the whole function that it grows to. HLM15, Example 4."""
    seen = [
        {"points": p.points, "delta": p.delta, "function": name} for name, found in projections.items() for p in found
    ]
    whole = [{"delta": value, "function": name} for name, value in certified.items()]
    scale = alt.Scale(range=[ACCENT, WARM, INK, "#9cc9c6"])
    colour = alt.Color("function:N", scale=scale, legend=alt.Legend(title=None))
    axis = alt.X(
        "points:Q", scale=alt.Scale(type="log", base=2, nice=False), axis=alt.Axis(title="grid points", tickCount=8)
    )
    line = alt.Chart({"values": seen}).mark_line(point=True, strokeWidth=2)
    line = line.encode(x=axis, y=alt.Y("delta:Q", axis=alt.Axis(title="δ at ε")), color=colour)
    limit = alt.Chart({"values": whole}).mark_rule(strokeDash=[4, 4]).encode(y="delta:Q", color=colour)
    return (limit + line).properties(width=520, height=220)


def draw_projections(out: Path) -> None:
    """δ at ε = 1/2 of two differences under the same noise, as more points see them. HLM15, Example 4."""
    kernel = dp.Kernel("exponential", 1)
    functions = {"t": lambda t: t, "sin(4πt)": lambda t: np.sin(4 * np.pi * t)}
    norms = {"t": 7 / 6, "sin(4πt)": (16 * np.pi**2 + 1) / 4}
    sizes = [2, 3, 5, 9, 17, 33, 65, 129, 257]
    seen = {name: dp.projections.refine(kernel, f, sizes, sigma=2, epsilon="0.5") for name, f in functions.items()}
    certified = {name: dp.projections.gaussian_delta(norm**0.5 / 2, "0.5") for name, norm in norms.items()}
    (out / "projections.svg").write_text(svg(projection_chart(seen, certified)), encoding="utf-8")


def main(data: str, out: str) -> None:
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    draw_projections(folder)
    for name, (file, _, _) in EXAMPLES.items():
        if (Path(data) / file).exists():
            draw(name, Path(data), folder)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])

"""Original and private mean curves of real data, as pictures.

    python examples/curves.py DATA_FOLDER OUT_FOLDER

The data is not part of the project; whatever of it is absent is left out. The dashed line is the original mean, which
only the curator of the data may see.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.csv

import dproof as dp
from dproof.plotting import projection_chart, svg

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

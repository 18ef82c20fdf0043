"""How long `import dproof` takes, and what it does not load."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.measure import Section, duration

HEAVY = ("pyarrow", "scipy", "duckdb", "pandas", "polars", "highspy", "dp_accounting", "typer", "rich", "altair")


def run() -> Section:
    def fresh(code: str) -> None:
        subprocess.run([sys.executable, "-c", code], check=True)

    bare = duration("python alone", lambda: fresh("pass"), repeats=5)
    ours = duration("python and `import dproof`", lambda: fresh("import dproof"), repeats=5)
    used = duration(
        "python, dproof and a first randomised response",
        lambda: fresh("import dproof as dp; dp.randomised_response(dp.Categories('ab'.split()+['c']), dp.Privacy(1))"),
        repeats=5,
    )
    probe = f"import dproof, sys; sys.exit(any(name in sys.modules for name in {HEAVY!r}))"
    fresh(probe)
    return Section(
        "Import",
        f"A fresh interpreter each time. `import dproof` loads none of {', '.join(HEAVY)}.",
        (bare, ours, used),
        (("seconds added by `import dproof`", ours.value - bare.value, "at most 0.2"),),
    )

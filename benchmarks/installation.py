"""What an installation weighs and how long an import takes, beside those of peers."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

from packaging.requirements import Requirement

from benchmarks.measure import Grid, Section, in_turns, number

HEAVY = ("pyarrow", "scipy", "duckdb", "pandas", "polars", "highspy", "dp_accounting", "click", "rich", "altair")
PEERS = {  # distribution: what its documentation imports first
    "opendp": "opendp.prelude",
    "diffprivlib": "diffprivlib.tools",
    "multi-freq-ldpy": "multi_freq_ldpy.pure_frequency_oracles.GRR",
    "pure-ldp": "pure_ldp.frequency_oracles.direct_encoding",
    "python-dp": "pydp.algorithms.laplacian",
}
RESPONSE = "import dproof as dp; dp.randomised_response(dp.Categories(['a', 'b', 'c']), dp.Privacy(1))"


def run() -> Section:
    ours = _added("import dproof")
    rows = [_row("dproof", _told(ours))]
    for name, module in PEERS.items():
        rows.append(_row(name, _imported(module)) if _installed(name) else (name, "not installable here", "", "", ""))
    used = _told(_added(RESPONSE))
    _fresh(f"import dproof, sys; sys.exit(any(name in sys.modules for name in {HEAVY!r}))")
    how = (
        "Bytes of the files that an installation records, without compiled copies, alone and with all that it requires "
        "(dproof's core; extras such as Spark come on top). Import: seconds that a fresh interpreter needs beyond one "
        f"that does nothing, in turns. `import dproof` loads none of {', '.join(HEAVY)}; with a first randomised "
        f"response it takes {used}."
    )
    return Section(
        "Installation and import",
        how,
        ratios=(("seconds added by `import dproof`", ours[0], "at most 0.2"),),
        grids=(Grid(("", "alone", "with what it requires", "packages", "import"), tuple(rows)),),
    )


def _fresh(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def _added(code: str) -> tuple[float, float]:
    """The seconds that a piece of code adds to a fresh interpreter, and half the range between the quartiles."""
    bare, full = in_turns(lambda: _fresh("pass"), lambda: _fresh(code), repeats=5)
    added = sorted(y - x for x, y in zip(bare, full, strict=True))
    return added[2], (added[3] - added[1]) / 2


def _told(added: tuple[float, float]) -> str:
    return f"{added[0]:.3f} s ± {added[1]:.3f}"


def _imported(module: str) -> str:
    """A peer may not load beside the libraries that pip gave it."""
    try:
        return _told(_added(f"import {module}"))
    except subprocess.CalledProcessError as failed:
        return f"fails: {failed.stderr.decode().strip().splitlines()[-1].split(':')[0]}"


def _row(name: str, imported: str) -> tuple[str, ...]:
    everything = _required(name)
    sizes = {found: _bytes(found) for found in everything}
    total = sum(sizes.values())
    return (name, f"{number(sizes[name])}B", f"{number(total)}B", str(len(everything)), imported)


def _installed(name: str) -> bool:
    try:
        return bool(distribution(name))
    except PackageNotFoundError:
        return False


def _required(name: str) -> list[str]:
    """A distribution and all that it needs, by the names that it gives them, each once."""
    found, left = {}, [name]
    while left:
        name = left.pop()
        if name.lower() not in found and _installed(name):
            found[name.lower()] = name
            needs = map(Requirement, distribution(name).requires or ())
            left += [need.name for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]
    return list(found.values())


def _bytes(name: str) -> int:
    """The size of the installed files; of a package that is run from its source, the size of that."""
    files = [Path(str(file.locate())) for file in distribution(name).files or ()]
    if any(file.suffix == ".pth" for file in files):
        spec = find_spec(name)
        assert spec is not None and spec.submodule_search_locations
        files = [file for folder in spec.submodule_search_locations for file in Path(folder).rglob("*")]
    return sum(file.stat().st_size for file in files if file.suffix != ".pyc" and file.is_file())

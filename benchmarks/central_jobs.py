"""`python -m benchmarks.central_jobs [SECONDS]`: fit every peer to every table at every ε, one after another.

Each fit is a process of its own, with one thread, whose result is kept in build/central: a second run does what is
missing. A fit that has used SECONDS of processor time is stopped, and that is its result.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from math import inf, log, log1p
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.central_tables import DELTA, TABLES, Table

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "build" / "central"
PYTHON = ROOT / ".venv-central" / "bin" / "python"
EPSILONS = ("1", "10", "0.1")
PEERS = ("OpenDP MST", "OpenDP AIM", "mbi, all pairs")
LONGEST = 1500  # seconds of processor time of a fit, unless told otherwise
_ONE_THREAD = {
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "OMP_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
    "JAX_PLATFORMS": "cpu",
}


@dataclass(frozen=True)
class Job:
    table: Table
    epsilon: str
    peer: str

    @property
    def file(self) -> Path:
        return RESULTS / f"{self.table.name}, {self.epsilon}, {self.peer}.json"

    def result(self) -> dict[str, Any]:
        """What was measured, or why it failed."""
        if not self.file.exists():
            return {"failed": "not measured"}
        found: dict[str, Any] = json.loads(self.file.read_text())
        return found

    def run(self, longest: int) -> None:
        codes, sizes = self.table.codes()
        stored = RESULTS / f"{self.table.name}.npy"
        np.save(stored, codes)
        arguments = [str(stored), json.dumps(sizes), repr(rho(float(self.epsilon), float(DELTA))), self.peer]
        command = [str(PYTHON), "-m", "benchmarks.central_peer", *arguments, str(self.file), str(longest)]
        done = subprocess.run(command, cwd=ROOT, env=os.environ | _ONE_THREAD, capture_output=True, text=True)
        if done.returncode:
            self.file.write_text(json.dumps({"failed": why(done.returncode, done.stderr, longest)}))


def why(code: int, stderr: str, longest: int) -> str:
    """Why a fit has no result.

    >>> why(-signal.SIGXCPU, "", 1500)
    'stopped after 1,500 s of processor time'
    >>> why(1, "Traceback\\nPeerException: \\n  no such table", 1500)
    'PeerException: no such table'
    """
    if code == -signal.SIGXCPU:
        return f"stopped after {longest:,} s of processor time"
    if code < 0:
        return f"ended by {signal.Signals(-code).name}"
    # From the last line that names an exception on: some messages begin on the line below it.
    lines = stderr.splitlines()
    last = max((n for n, line in enumerate(lines) if "Error" in line or "Exception" in line), default=len(lines))
    return " ".join(" ".join(lines[last:]).split())[:200] or "no message"


def jobs() -> list[Job]:
    """Every fit: MST and mbi first, then AIM, which takes longest, small tables before large ones.

    >>> [(job.table.name, job.epsilon, job.peer) for job in jobs()][24:26]
    [('adult, 6 columns', '1', 'OpenDP AIM'), ('pums', '1', 'OpenDP AIM')]
    """
    tables = sorted(TABLES.values(), key=lambda table: len(table.columns))
    every = [Job(table, epsilon, peer) for epsilon in EPSILONS for table in tables for peer in PEERS]
    return sorted(every, key=lambda job: job.peer == "OpenDP AIM")


def rho(epsilon: float, delta: float) -> float:
    """The largest ρ of concentrated privacy that is (ε, δ)-private, by Canonne, Kamath, Steinke 2020.

    >>> round(rho(1.0, 1e-6), 5)
    0.02436
    """
    low, high = 0.0, epsilon
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _log_delta(middle, epsilon) <= log(delta) else (low, middle)
    return low


def _log_delta(rho: float, epsilon: float) -> float:
    """log of the least (1 − 1/α)^α e^((α−1)(αρ−ε)) / (α − 1) over α > 1."""
    least = inf
    for a in np.geomspace(1e-3, 1e5, 4000).tolist():  # α − 1
        alpha = 1 + a
        least = min(least, a * (alpha * rho - epsilon) + alpha * log1p(-1 / alpha) - log(a))
    return least


def main(longest: int = LONGEST) -> None:
    RESULTS.mkdir(parents=True, exist_ok=True)
    for job in jobs():
        if not job.file.exists() and job.table.path.exists():
            print(f"{job.table.name}, ε = {job.epsilon}: {job.peer} ...", flush=True)
            job.run(longest)
            print(f"  {job.result()}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

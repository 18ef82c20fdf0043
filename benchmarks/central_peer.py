"""`python -m benchmarks.central_peer CODES SIZES RHO PEER OUT SECONDS`: one fit of one peer, in their environment.

OpenDP's MST and AIM are called as their documentation says, with pairs of columns as what AIM shall answer; "mbi" adds
equal Gaussian noise to all pair tables and fits mbi's graphical model to them. After SECONDS of processor time the
system ends the process.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pair_errors import PairErrors, counted, pair_errors

_LARGEST = 4_000_000  # cells of the full table: beyond, a graphical model of all pairs does not fit


def opendp(algorithm: str) -> Callable[[Any, Sequence[int], float], Any]:
    def fit(codes: Any, sizes: Sequence[int], rho: float) -> Any:
        import opendp.prelude as dp
        import polars as pl

        dp.enable_features("contrib")
        names = [f"c{n}" for n in range(len(sizes))]
        context = dp.Context.compositor(
            data=pl.DataFrame(dict(zip(names, codes.T, strict=True))).lazy(),
            privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(rho=rho),
        )
        # A cut after each code but the last: as many cells as there are codes.
        cuts = {name: list(range(size - 1)) for name, size in zip(names, sizes, strict=True)}
        chosen = dp.mbi.AIM(queries=2) if algorithm == "AIM" else dp.mbi.MST()
        return context.query(rho=rho).contingency_table(keys={}, cuts=cuts, algorithm=chosen).release().model

    return fit


def mbi(codes: Any, sizes: Sequence[int], rho: float) -> Any:
    from mbi import Domain, LinearMeasurement, estimation

    names = [f"c{n}" for n in range(len(sizes))]
    if np.prod([float(size) for size in sizes]) > _LARGEST:
        raise ValueError(f"not tried: the full table has more than {_LARGEST:,} cells")
    pairs = list(combinations(range(len(sizes)), 2))
    deviation = float(np.sqrt(len(pairs) / (2 * rho)))
    draw, measured = np.random.default_rng(), []
    for pair in pairs:
        table = counted(codes, sizes, pair).ravel()
        noisy = table + draw.normal(0.0, deviation, table.shape)
        measured.append(LinearMeasurement(noisy, tuple(names[n] for n in pair), stddev=deviation))
    return estimation.mirror_descent(Domain(names, sizes), measured, iters=1000)


PEERS = {"OpenDP MST": opendp("MST"), "OpenDP AIM": opendp("AIM"), "mbi, all pairs": mbi}


def _fitted(peer: str, codes: Any, sizes: Sequence[int], rho: float) -> tuple[float, Any]:
    """When the fit began, in processor time, and the model.

    MST's shares of ρ, summed in floats, exceed some budgets by their last digit, and it refuses: then a ρ that is
    smaller by a billionth is tried.
    """
    while True:
        start = time.process_time()
        try:
            return start, PEERS[peer](codes, sizes, rho)
        except Exception as failed:
            if "insufficient budget" not in str(failed):
                raise
            rho *= 1 - 1e-9


def _rows(model: Any, codes: Any, sizes: Sequence[int], method: str) -> PairErrors:
    made = model.synthetic_data(method=method).df
    rows = np.column_stack([np.asarray(made[f"c{n}"]) for n in range(len(sizes))]).astype(np.int64)
    return pair_errors(codes, sizes, lambda pair: counted(rows, sizes, pair))


def main(file: str, sizes: list[int], rho: float, peer: str, out: Path, longest: int) -> None:
    # Processor time, not the clock: a busy machine does not decide which fits come to their end.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (longest, longest + 10))  # SIGXCPU, then SIGKILL
    codes = np.load(file)
    try:
        start, model = _fitted(peer, codes, sizes, rho)
    except ValueError as failed:
        out.write_text(json.dumps({"failed": str(failed).splitlines()[0]}))
        return
    fitted = time.process_time()

    def estimate(pair: tuple[int, int]) -> Any:
        return np.asarray(model.project([f"c{n}" for n in pair]).values)

    tables = pair_errors(codes, sizes, estimate)
    answered = time.process_time()
    rows = min(_rows(model, codes, sizes, method) for method in ("round", "sample"))  # whichever is nearer
    drawn = (time.process_time() - answered) / 2
    found = {
        "tables": tables,
        "rows": rows,
        "seconds": {"tables": answered - start, "rows": fitted - start + drawn},
        "versions": {name: version(name) for name in ("opendp", "mbi", "jax")},
    }
    out.write_text(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]), float(sys.argv[3]), sys.argv[4], Path(sys.argv[5]), int(sys.argv[6]))

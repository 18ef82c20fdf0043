"""The least maximal expected error of any private mechanism, by a linear programme written as plainly as can be.

It shares nothing with the product: it is what optimality is compared with.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import permutations

import highspy


def least_error(
    losses: Sequence[Sequence[float]],
    odds: float,
    delta: float = 0.0,
    pairs: Iterable[tuple[int, int]] | None = None,
    average: bool = False,
) -> float:
    """min over solution matrices P of max_i (or the average over i of) Σ_j P_ij·loss_ij, where P is private.

    The ordered pairs of inputs that count are all, if none are given.
    """
    inputs, outputs = range(len(losses)), range(len(losses[0]))
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    error = solver.addVariable(lb=0)
    p = [[solver.addVariable(lb=0, ub=1) for _ in outputs] for _ in inputs]
    expected = [sum(p[i][j] * float(losses[i][j]) for j in outputs) for i in inputs]
    for i in inputs:
        solver.addConstr(sum(p[i][j] for j in outputs) == 1)
        if not average:
            solver.addConstr(expected[i] - error <= 0)
    if average:
        solver.addConstr(sum(expected) - len(inputs) * error <= 0)
    for i, k in permutations(inputs, 2) if pairs is None else pairs:
        # Σ_j max(0, P_ij − e·P_kj) ≤ δ, with a variable above each term; at δ = 0 each term is at most 0.
        above = [solver.addVariable(lb=0) if delta else 0 for _ in outputs]
        for j in outputs:
            solver.addConstr(p[i][j] - odds * p[k][j] - above[j] <= 0)
        if delta:
            solver.addConstr(sum(above) <= delta)
    solver.minimize(error)
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        raise AssertionError(f"the solver stopped with {solver.getModelStatus()}")
    return float(solver.val(error))

"""The least and the greatest of a linear function under linear constraints, by HiGHS."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from dproof.laws.scores import Array

_OPTIONS = {"output_flag": False, "solver": "simplex", "presolve": "off"}


class Constraints:
    """All x ≥ 0 with lower ≤ A x ≤ upper.

    >>> Constraints(np.array([[1.0, 1.0], [1.0, 0.0]]), np.array([2.0, 0.5]), np.array([2.0, 1.0])).range(np.eye(2)[1])
    (1.0, 1.5)
    """

    def __init__(self, matrix: Array, lower: Array, upper: Array) -> None:
        highspy: Any = import_module("highspy")  # quick, but not needed by most
        rows, self._columns = matrix.shape
        nothing = np.zeros(self._columns)
        row, column = np.nonzero(matrix)
        start = np.searchsorted(row, np.arange(rows + 1)).astype(np.int32)
        self._solver = highspy.Highs()
        for option, value in _OPTIONS.items():
            self._solver.setOptionValue(option, value)
        # In one call: each field of a model by itself takes as long as all of them.
        self._solver.passModel(
            self._columns,
            rows,
            len(row),
            int(highspy.MatrixFormat.kRowwise),
            int(highspy.ObjSense.kMinimize),
            0.0,
            nothing,
            nothing,
            nothing + np.inf,
            lower,
            upper,
            start,
            column.astype(np.int32),
            matrix[row, column],
            nothing.astype(np.int32),  # no variable is a whole number
        )
        self._senses = highspy.ObjSense.kMinimize, highspy.ObjSense.kMaximize
        self._status = highspy.HighsModelStatus

    def range(self, costs: Array) -> tuple[float, float] | None:
        """The least and the greatest Σ costs · x, infinite where there is none; None where no x satisfies all."""
        self._solver.changeColsCost(self._columns, np.arange(self._columns, dtype=np.int32), costs)
        ends = []
        for sense, without in zip(self._senses, (-np.inf, np.inf), strict=True):
            self._solver.changeObjectiveSense(sense)
            self._solver.run()
            status = self._solver.getModelStatus()
            if status == self._status.kInfeasible:
                return None
            # Whatever else happened, the solver proved no end.
            is_proven = status == self._status.kOptimal
            ends.append(float(self._solver.getInfo().objective_function_value) if is_proven else without)
        return ends[0], ends[1]

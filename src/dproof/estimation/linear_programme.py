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
        model: Any = highspy.HighsLp()
        model.num_row_, model.num_col_ = rows, self._columns
        model.col_cost_, model.col_lower_ = np.zeros(self._columns), np.zeros(self._columns)
        model.col_upper_ = np.full(self._columns, np.inf)
        model.row_lower_, model.row_upper_ = lower, upper
        row, column = np.nonzero(matrix)
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = np.searchsorted(row, np.arange(rows + 1))
        model.a_matrix_.index_, model.a_matrix_.value_ = column, matrix[row, column]
        self._solver = highspy.Highs()
        for option, value in _OPTIONS.items():
            self._solver.setOptionValue(option, value)
        self._solver.passModel(model)
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

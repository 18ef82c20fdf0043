"""Tables as sums of residuals: measured in whole numbers, combined without bias, with the variance of every answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from dproof.central.workload import Residual, Table, parts

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def measured(counts: Integers, columns: int | None = None) -> Integers:
    """Y_A v_A: the residual of a table of counts, in whole numbers.

    Of a table of vectors too: its axes are so many columns, and the last one that of the vectors.

    >>> measured(np.array([5, 1, 3])).tolist(), measured(np.array(9)).tolist()
    ([6, -6, 0], 9)
    """
    for axis in range(counts.ndim if columns is None else columns):
        counts = counts * counts.shape[axis] - counts.sum(axis=axis, keepdims=True)
    return counts


def contrast(counts: Integers) -> Integers:
    """Σ ±v over the cells of a table whose columns have two values each.

    >>> contrast(np.array([[5, 1], [2, 4]])).tolist()
    6
    """
    for _ in range(counts.ndim):
        counts = counts[0] - counts[1]
    return np.asarray(counts)


def projected(values: Floats, columns: int) -> Floats:
    """P_A: what is left of a table when the means along each of its columns are taken away."""
    for axis in range(columns):
        values = values - values.mean(axis=axis, keepdims=True)
    return values


@dataclass(frozen=True, slots=True)
class ResidualEstimates:
    """The estimated residuals P_A v_A of counts, or of sums of one column, and the variance s_A of each.

    The covariance of a residual is s_A P_A, and different residuals are independent. What follows from them is the
    best linear unbiased estimate of every table at once, and consistent: two tables agree on what they share.

    Sums of curves have their coefficients along the last axis. Each has the same variances, independent of the others.
    """

    sizes: tuple[int, ...]
    residuals: Mapping[Table, Floats]
    variances: Mapping[Table, float]

    def table(self, columns: Table) -> Floats:
        """The estimated table over these columns.

        v_M = Σ over A within M of P_A v_A, spread evenly over the other columns.
        """
        terms = self.residuals[()].shape
        total = np.zeros((*(self.sizes[i] for i in columns), *terms))
        for part in parts([columns]):
            spread = prod(self.sizes[i] for i in columns if i not in part)
            own = tuple(self.sizes[i] if i in part else 1 for i in columns)
            total += self.residuals[part].reshape((*own, *terms)) / spread
        return total

    def covariance(self, columns: Table, questions: NDArray[np.float64]) -> Floats:
        """The covariances of Σ q·v_M for several weights q of the cells of a table.

        Cov(q, q') = Σ s_A ⟨P_A q_A, P_A q'_A⟩, with q_A the sum of q over the other columns, divided by their cells.
        """
        count = len(questions)
        weights = questions.reshape(count, *(self.sizes[i] for i in columns))
        total = np.zeros((count, count))
        for part in parts([columns]):
            if not self.variances[part]:
                continue
            others = tuple(n + 1 for n, i in enumerate(columns) if i not in part)
            mean = weights.mean(axis=others) if others else weights
            for axis in range(1, mean.ndim):
                mean = mean - mean.mean(axis=axis, keepdims=True)
            flat = mean.reshape(count, -1)
            total += self.variances[part] * (flat @ flat.T)
        return total

    def cell_variance(self, columns: Table) -> float:
        """The variance of one cell of a table, the same for each."""
        return float(
            sum(
                self.variances[part]
                * prod((self.sizes[i] - 1) / self.sizes[i] for i in part)
                * prod(1 / self.sizes[j] ** 2 for j in columns if j not in part)
                for part in parts([columns])
            )
        )


def estimates(
    sizes: Sequence[int],
    noisy: Mapping[Residual, Floats],
    variances: Mapping[Residual, float],
    *,
    number: int | None = None,
    known: int | None = None,
    plain: bool = False,
    tables: Iterable[Table] = (),
) -> ResidualEstimates:
    """The estimates from measured residuals, or from plain tables, with the variance of the noise on each number.

    `number` is the column whose sums are estimated instead of counts: of numbers or of curves. `known` is the number of
    rows where that is public: then the residual of the empty table has no noise. What several plain tables tell of one
    residual is weighed by precision. All of `tables` can be told, with columns that have one value too.
    """
    weighed: dict[Table, Floats] = {}
    precisions: dict[Table, float] = {}
    for measurement, values in noisy.items():
        if measurement.number == number:
            for part, factor in residual_variances(sizes, measurement, plain).items():
                variance = factor * variances[measurement]
                estimate = _part(sizes, measurement, values, part, plain)
                weighed[part] = weighed.get(part, 0.0) + estimate / variance
                precisions[part] = precisions.get(part, 0.0) + 1 / variance
    residuals = {part: total / precisions[part] for part, total in weighed.items()}
    spreads = {part: 1 / precision for part, precision in precisions.items()}
    if known is not None:
        residuals[()], spreads[()] = np.array(float(known)), 0.0
    for table in parts([*residuals, *tables]):
        if table not in residuals:  # that of a column with one value is zero
            terms = residuals[()].shape if table else ()
            residuals[table], spreads[table] = np.zeros((*(sizes[i] for i in table), *terms)), 0.0
    return ResidualEstimates(tuple(sizes), residuals, spreads)


def residual_variances(sizes: Sequence[int], measurement: Residual, plain: bool) -> dict[Table, float]:
    """The residuals that a measurement tells, each with its variance where that of a measured number is 1.

    A plain table M tells the residual of every A within it with covariance v Π k P_A, over the columns outside A.
    """
    table = measurement.table
    if measurement.contrast:
        return {table: 1 / 2 ** len(table)}
    if not plain:
        return {table: 1 / prod(sizes[i] for i in table) ** 2}
    return {part: float(prod(sizes[i] for i in table if i not in part)) for part in parts([table])}


def _part(sizes: Sequence[int], measurement: Residual, values: Floats, part: Table, plain: bool) -> Floats:
    """The residual of a part of a measured table, as this measurement tells it."""
    if measurement.contrast:
        signs = np.array(1.0)
        for _ in part:
            signs = np.multiply.outer(signs, [1.0, -1.0])
        return np.asarray(signs * (float(values) / 2 ** len(part)))
    if not plain:
        return projected(values / prod(sizes[i] for i in part), len(part))
    others = tuple(n for n, i in enumerate(measurement.table) if i not in part)
    return projected(values.sum(axis=others), len(part))

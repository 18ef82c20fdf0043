"""Tables of counts and sums from measured residuals: unbiased, with the variance of every answer, or with less noise.

`estimates` combines all measurements without bias. `projection` shrinks what tables say beyond smaller ones towards 0,
the more the noise hides it, and moves all tables to the nearest ones without negative counts that agree with each
other.

The smaller tables within one tell what to expect if there is nothing more to be known: of one column that all values
are equally frequent, of two that they are independent. Where the noise is large against the deviations from that, most
of an estimated deviation is noise. How large true deviations are is estimated from all cells of the table together:
their law is a mixture of normal laws, whose variance is some multiple of the expected count or of its square, and how
often each occurs maximises the likelihood (empirical Bayes: Robbins 1956; mixtures of normal laws: Stephens 2017). What
is kept of a deviation is its mean given the estimate. Nothing is chosen by hand but a fine grid of multiples, and no
data is needed but the estimates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod, sqrt

import numpy as np

from dproof.central.workload import (
    Residual,
    Table,
    cell_shares,
    maximal,
    parts_within,
    residual_variances,
    subtables,
    told_precisions,
)
from dproof.errors import TooLarge
from dproof.laws.debias import on_simplex
from dproof.limits import MOST_PROJECTED
from dproof.spaces.space import Floats, Integers


def residual_of(counts: Integers, columns: int | None = None) -> Integers:
    """Y_A v_A: the residual of a table of counts, in whole numbers.

    Of a table of vectors too: its axes are so many columns, and the last one that of the vectors.

    >>> residual_of(np.array([5, 1, 3])).tolist(), residual_of(np.array(9)).tolist()
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
class Ladder:
    """The rows in each part of the bins of a number beyond an even spread over each bin: estimated, with the variance
    of a measured count. Within a bin the covariance is that variance times I − 11ᵀ/parts."""

    parts: tuple[int, ...]  # of each bin
    deviations: Floats
    variance: float

    @classmethod
    def of(cls, parts: tuple[int, ...], counts: Floats, variance: float) -> Ladder:
        return cls(parts, counts - spread_evenly(parts, counts), variance)


def spread_evenly(parts: Sequence[int], values: Floats) -> Floats:
    """The mean of the values of the parts of each bin, for each of its parts.

    >>> spread_evenly((2, 1), np.array([1.0, 3.0, 5.0])).tolist()
    [2.0, 2.0, 5.0]
    """
    return np.repeat(np.add.reduceat(values, np.cumsum([0, *parts[:-1]])) / np.array(parts), parts)


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
    ladders: Mapping[int, Ladder] = field(default_factory=dict)  # of numbers that are counted by fine bins, too

    def table(self, columns: Table) -> Floats:
        """The estimated table over these columns.

        v_M = Σ over A within M of P_A v_A, spread evenly over the other columns.
        """
        terms = self.residuals[()].shape
        total = np.zeros((*(self.sizes[i] for i in columns), *terms))
        for part in parts_within(columns):
            spread = prod(self.sizes[i] for i in columns if i not in part)
            own = tuple(self.sizes[i] if i in part else 1 for i in columns)
            total += self.residuals[part].reshape((*own, *terms)) / spread
        return total

    def cell_variance(self, columns: Table) -> float:
        """The variance of one cell of a table, the same for each."""
        return float(sum(self.variances[part] * cost for part, cost in cell_shares(self.sizes, columns).items()))


def estimates(
    sizes: tuple[int, ...],
    noisy: Mapping[Residual, Floats],
    variances: Mapping[Residual, float],
    tables: Mapping[int | None, Iterable[Table]],
    *,
    known: int | None = None,
    plain: bool = False,
) -> dict[int | None, ResidualEstimates]:
    """The estimates from measured residuals, or from plain tables, with the variance of the noise on each number.

    They are those of counts (None), and of the sums of each column, of numbers or of curves, that has `tables`: all of
    these can be told, with columns that have one value too. `known` is the number of rows where that is public: then
    the residual of the empty table has no noise.
    """
    precisions = told_precisions(sizes, {m: variances[m] for m in noisy if not m.ladder}, plain=plain)
    weighed: dict[Residual, Floats] = {}
    for measurement, values in noisy.items():
        for residual, factor in () if measurement.ladder else residual_variances(sizes, measurement, plain).items():
            estimate = _part(sizes, measurement, values, residual.table, plain)
            weighed[residual] = weighed.get(residual, 0.0) + estimate / (factor * variances[measurement])
    found = {}
    for number, some in tables.items():
        of_number = [residual for residual in weighed if residual.number == number]
        residuals = {residual.table: weighed[residual] / precisions[residual] for residual in of_number}
        spreads = {residual.table: 1 / precisions[residual] for residual in of_number}
        if known is not None and number is None:
            residuals[()], spreads[()] = np.array(float(known)), 0.0
        for table in subtables([*residuals, *some]):
            if table not in residuals:  # that of a column with one value is zero
                terms = residuals[()].shape if table else ()
                residuals[table], spreads[table] = np.zeros((*(sizes[i] for i in table), *terms)), 0.0
        found[number] = ResidualEstimates(sizes, residuals, spreads)
    return found


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


# Less noise -----------------------------------------------------------------------------------------------------------

_POWERS = (1, 2)  # of the expected count: deviations like those of drawn rows, or in proportion to the count
_GRID = 10  # multiples for each power
_ROUNDS = 50  # of expectation and maximisation
_LEAST_SCALE = 0.01  # of the variance of the noise: a deviation of which nothing is kept
_TOGETHER = 1 << 16  # cells that are looked at together
_FEWEST_SHRUNK = 4  # values of a single column: fewer than three differences are best left as they are (Stein 1956)


def shrunk(estimates: ResidualEstimates, tables: Iterable[Table]) -> ResidualEstimates:
    """The estimates with the residual of every table drawn towards what smaller tables say.

    Of one column that is that its values are equally frequent; where it has fewer than four it stays as it is.

    >>> noise = {(): 1.0, (0,): 1.0, (1,): 1.0, (0, 1): 400.0}
    >>> told = {(): np.array(400.0), (0,): np.zeros(4), (1,): np.zeros(4), (0, 1): projected(np.eye(4) * 8, 2)}
    >>> shrunk(ResidualEstimates((4, 4), told, noise), [(0, 1)]).table((0, 1)).round(0)[0].tolist()
    [25.0, 25.0, 25.0, 25.0]
    """
    total = float(estimates.residuals[()])
    if total <= 0:
        return estimates
    residuals, likely = dict(estimates.residuals), dict[Table, Floats]()
    for part in subtables(tables):
        cells = estimates.table(part)
        if estimates.variances[part] and (len(part) > 1 or cells.size >= _FEWEST_SHRUNK):
            expected = _expected(part, cells.shape, likely, total)
            cells = expected + _kept(cells - expected, expected, estimates.cell_variance(part))
            residuals[part] = projected(cells, len(part))
        likely[part] = on_simplex(cells.reshape(1, -1), np.array([total])).reshape(cells.shape)
    return replace(estimates, residuals=residuals)


def _expected(table: Table, shape: tuple[int, ...], smaller: Mapping[Table, Floats], total: float) -> Floats:
    """The table of which the smaller ones within it say all: Π v_B^(±1), the sign that of an odd |A∖B|; normalised.

    Of one column n/k, of two v_i v_j / n. Kirkwood 1935.
    """
    logarithm = np.zeros(shape)
    with np.errstate(divide="ignore"):
        for part in parts_within(table)[:-1]:
            logs = np.log(smaller[part]).reshape(
                [smaller[part].shape[part.index(i)] if i in part else 1 for i in table]
            )
            # Where a smaller table has nobody, neither has this one, whatever the sign.
            logarithm = logarithm + np.where(np.isfinite(logs), logs * (-1) ** (len(table) - len(part) + 1), -np.inf)
    product = np.exp(logarithm - logarithm.max()) if np.isfinite(logarithm.max()) else np.ones(logarithm.shape)
    return np.asarray(product * (total / product.sum()))


def _kept(deviations: Floats, expected: Floats, variance: float) -> Floats:
    """What is kept of noisy deviations from expected counts: the mean of the true one, given the noisy one."""
    noisy, counts = deviations.ravel(), expected.ravel()
    scales = [_scales(noisy, counts**power, variance) for power in _POWERS]
    some = slice(None, None, 1 + len(noisy) // _TOGETHER)  # enough cells to tell how often each component occurs
    shares = np.full(1 + len(_POWERS) * _GRID, 1.0)
    _, likelihood = _components(noisy[some], counts[some], scales, variance)
    for _ in range(_ROUNDS):
        chances = likelihood * shares
        shares = (chances / chances.sum(axis=1, keepdims=True)).mean(axis=0)
    kept = np.empty_like(noisy)
    for start in range(0, len(noisy), _TOGETHER):
        chunk = slice(start, start + _TOGETHER)
        parts_kept, likelihood = _components(noisy[chunk], counts[chunk], scales, variance)
        chances = likelihood * shares
        kept[chunk] = noisy[chunk] * (chances * parts_kept).sum(axis=1) / chances.sum(axis=1)
    return kept.reshape(deviations.shape)


def _scales(noisy: Floats, sizes: Floats, variance: float) -> Floats:
    """Multiples of the sizes of deviations: from what the noise hides everywhere to what allows any of them."""
    usual = float(np.median(sizes[sizes > 0]))
    return np.geomspace(
        _LEAST_SCALE * variance / float(sizes.max()), max(float((noisy**2).max()), variance) / usual, _GRID
    )


def _components(noisy: Floats, counts: Floats, scales: Sequence[Floats], variance: float) -> tuple[Floats, Floats]:
    """For every cell and component, the first without deviations: the part that it keeps, and its likelihood."""
    columns = [np.zeros((len(noisy), 1))]
    columns += [counts[:, None] ** power * multiples for power, multiples in zip(_POWERS, scales, strict=True)]
    true = np.concatenate(columns, axis=1)
    spread = true + variance
    logarithm = -(np.log(spread) + noisy[:, None] ** 2 / spread) / 2
    return true / spread, np.exp(logarithm - logarithm.max(axis=1, keepdims=True))


# No negative counts ---------------------------------------------------------------------------------------------------

_STEPS = 1000
_SETTLED = 1e-3  # of the rows that a cell has in the mean, and of one row: what a step may still change
_ROUNDING = 1e-9  # rows: residuals that cancel leave a little less than 0


def projection(estimates: ResidualEstimates, tables: Iterable[Table]) -> ResidualEstimates:
    """The estimates with less noise (see `shrunk`), moved to the nearest tables without a negative count."""
    listed, k = list(tables), estimates.sizes
    if sum(prod(k[i] for i in table) for table in maximal(listed)) > MOST_PROJECTED:
        raise TooLarge(f"projection takes tables of {MOST_PROJECTED:,} cells at most: leave the method out")
    return nearest_tables(shrunk(estimates, listed), listed)


def nearest_tables(estimates: ResidualEstimates, tables: Iterable[Table]) -> ResidualEstimates:
    """The estimates with the least Σ (change of a cell)² over these tables that have no negative cell in any of them.

    Tables stay sums of residuals, so they agree on what they share; the total stays, and is 0 at least. Solved from the
    dual by the accelerated gradient method (Beck, Teboulle 2009): what a cell lacks raises it, and the residuals carry
    that to all tables. With the weight 1 / Σ_M 1/Π_{M∖A} k for the residual of A that map is a projection, so its
    largest eigenvalue, which the steps need, is 1. What is still below 0 at last is lifted by a little of the table in
    which all cells are equal.

    >>> found = ResidualEstimates((3,), {(): np.array(9.0), (0,): np.array([5.0, -4.0, -1.0])}, {(): 1.0, (0,): 1.0})
    >>> found.table((0,)).tolist(), nearest_tables(found, [(0,)]).table((0,)).round(2).tolist()
    ([8.0, -1.0, 2.0], [7.5, 0.0, 1.5])
    """
    largest, k = maximal(tables), estimates.sizes
    cells = max(prod(k[i] for i in table) for table in largest)
    settled = _SETTLED * min(1.0, max(float(estimates.residuals[()]), 0.0) / cells)
    inside = {part: [table for table in largest if set(part) <= set(table)] for part in subtables(largest) if part}

    def outside(table: Table, part: Table) -> int:
        return prod(k[i] for i in table if i not in part)

    weights = {part: 1 / sum(1 / outside(table, part) for table in within) for part, within in inside.items()}

    def lifted(raised: dict[Table, Floats]) -> ResidualEstimates:
        residuals: dict[Table, Floats] = {(): np.maximum(estimates.residuals[()], 0.0)}
        for part, within in inside.items():
            carried = sum(_margin(raised[table], table, part) / outside(table, part) for table in within)
            residuals[part] = estimates.residuals[part] + weights[part] * projected(np.asarray(carried), len(part))
        return replace(estimates, residuals=residuals)

    raised = {table: np.zeros(tuple(k[i] for i in table)) for table in largest}
    ahead, pace = raised, 1.0
    for _ in range(_STEPS):
        now = lifted(ahead)
        following = {table: np.maximum(ahead[table] - now.table(table), 0.0) for table in largest}
        if all(np.abs(following[table] - ahead[table]).max() <= settled for table in largest):
            break
        quicker = (1 + sqrt(1 + 4 * pace**2)) / 2
        push = (pace - 1) / quicker
        ahead = {table: following[table] + push * (following[table] - raised[table]) for table in largest}
        raised, pace = following, quicker
    return _without_negative(lifted(ahead), largest)


def _margin(values: Floats, table: Table, part: Table) -> Floats:
    return np.asarray(values.sum(axis=tuple(n for n, i in enumerate(table) if i not in part)))


def _without_negative(estimates: ResidualEstimates, tables: Iterable[Table]) -> ResidualEstimates:
    """A mean of the tables and of those with equal cells, as little of these as leaves no cell below 0."""
    total, most = float(estimates.residuals[()]), 0.0
    for table in tables:
        cells = estimates.table(table)
        below = max(0.0, _ROUNDING - float(cells.min()))
        most = max(most, below / (below + total / cells.size) if below else 0.0)
    kept = {part: values * (1 - most) if part else values for part, values in estimates.residuals.items()}
    return replace(estimates, residuals=kept)

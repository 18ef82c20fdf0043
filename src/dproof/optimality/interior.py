"""The linear programme of pure privacy, solved by an interior-point method that knows its shape.

    minimise t  subject to  Σ_j R_ij P_ij ≤ t,  Σ_j P_ij = 1,  l_j ≤ P_ij ≤ e^ε l_j

has two constraints that couple a whole row and none but the column minima l_j that couple a column. With P_ij = l_j +
s_ij and 0 ≤ s_ij ≤ (e^ε − 1) l_j, every Newton step comes down to one symmetric system with an unknown for each
constraint of a row, here two, however many outputs there are. Floats suffice here: what is found is rounded to whole
numbers and certified, and its distance from the optimum is proven, both exactly, elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dproof.errors import TooLarge
from dproof.spaces.space import Floats

Group = tuple[Floats, ...]

_MOST_STEPS = 200
_PATIENCE = 8  # steps without progress after which the floats have given what they can
_STEP = 0.995  # of the way to the boundary
_GOAL = 1e-10  # relative gap, and what rows may lack
_CORRECTORS = 3
LARGEST_PROGRAMME = 600_000  # rows (half of them under reflection) times columns


def solve_pure(
    features: Floats, sums: Sequence[float], cost: Floats, spread: float, *, minimax: bool
) -> tuple[Floats, Floats]:
    """minimise t or Σ cost·P over laws with Σ_j features[m, i, j] P_ij = sums[m] for each row i.

    Feature 0 is 1 with sum 1. With `minimax` the last feature is the loss, and its row reads ≤ t instead; `spread` is
    e^ε − 1. The law, and the multipliers of each row's constraints, as near to the optimum as floats come.

    Where turning rows and columns round keeps the cost and every feature, but for the sign of some whose sum is 0, as
    on a line of even steps, half of the rows are solved for and the others are their mirror images.
    """
    signs = [_parity(feature) for feature in features]
    mirrored = 0 not in signs and _parity(cost) == 1
    _, rows, columns = features.shape
    half = (rows + 1) // 2 if mirrored else rows
    if half * columns > LARGEST_PROGRAMME:
        raise TooLarge(
            f"a design of {rows} inputs by {columns} outputs is too large; about 1000 points on a line fit, or 700 of "
            "any kind, so use a coarser step or fewer values"
        )
    # A row stands for its mirror image too, but the middle one for itself alone.
    images = np.where(np.arange(half) == rows - 1 - np.arange(half), 1, 2) if mirrored else np.ones(half)
    found = _Programme(features[:, :half], np.array(sums), cost[:half] * images[:, None], spread, minimax, mirrored)
    law, multipliers = found.solve()
    if not mirrored:
        return law, multipliers
    law = np.concatenate([law, law[: rows // 2][::-1, ::-1]])
    shared = np.zeros((len(signs), rows))
    shared[:, :half] += multipliers / 2
    shared[:, rows - half :] += np.array(signs)[:, None] * multipliers[:, ::-1] / 2
    return (law + law[::-1, ::-1]) / 2, shared  # a middle row is made its own mirror image


def _parity(values: Floats) -> int:
    """1 where turning round keeps all values, −1 where it turns their signs, else 0."""
    turned = values[::-1, ::-1]
    return 1 if (values == turned).all() else -1 if (values == -turned).all() else 0


@dataclass(frozen=True, slots=True)
class _Programme:
    """The rows that are solved for; with `mirrored` they are the first half, and l_j = l_{J−1−j}."""

    features: Floats
    sums: Floats
    cost: Floats
    spread: float
    minimax: bool
    mirrored: bool

    def solve(self) -> tuple[Floats, Floats]:
        from threadpoolctl import threadpool_limits

        # Systems of a few hundred unknowns: threads that wait for one another cost more than they give.
        with threadpool_limits(1, user_api="blas"), np.errstate(all="ignore"):
            best = point = _start(self)
            least, waiting = np.inf, 0
            for _ in range(_MOST_STEPS):
                distance = self.distance(point)
                if distance < 0.9 * least:
                    best, least, waiting = point, distance, 0
                waiting += 1
                if least < _GOAL or waiting > _PATIENCE:
                    break
                try:
                    point = _advance(self, point)
                except (np.linalg.LinAlgError, FloatingPointError):
                    break
        return best.law, best.multipliers

    def pooled(self, columns: Floats) -> Floats:
        """The sums of what belongs to one column minimum, over the columns that share it."""
        return columns + columns[..., ::-1] if self.mirrored else columns

    def combine(self, multipliers: Floats) -> Floats:
        """Σ_m multipliers[m, i] · features[m, i, j]."""
        return np.asarray(np.einsum("mij,mi->ij", self.features, multipliers))

    def apply(self, law: Floats) -> Floats:
        """Σ_j features[m, i, j] · law[i, j]."""
        return np.asarray(np.einsum("mij,ij->mi", self.features, law))

    def missing(self, point: _Point) -> Floats:
        """By how much each row constraint fails."""
        rest = self.sums[:, None] - self.apply(point.law)
        if self.minimax:
            rest[-1] += point.bound - point.primal[3]
        return rest

    def distance(self, point: _Point) -> float:
        """The distance from an optimum: the complementarity gap, relatively, or what the rows lack."""
        value = point.bound if self.minimax else float((self.cost * point.law).sum())
        gap = sum(float(product.sum()) for product in point.products())
        return max(gap / max(abs(value), 1e-9), float(np.abs(self.missing(point)).max()))


@dataclass(frozen=True, slots=True)
class _Point:
    """An iterate, or a move from one to the next.

    It has s, (e^ε − 1)l − s, l and the slack of the loss rows, and the multipliers that each is paired with.
    """

    primal: Group
    dual: Group
    multipliers: Floats
    bound: float  # t

    @property
    def law(self) -> Floats:
        return self.primal[2] + self.primal[0]

    def products(self) -> Group:
        return tuple(x * z for x, z in zip(self.primal, self.dual, strict=True))

    def moved(self, move: _Point, a: float, b: float) -> _Point:
        """The point so far along a move, in the primal and in the dual variables."""
        return _Point(
            tuple(x + a * dx for x, dx in zip(self.primal, move.primal, strict=True)),
            tuple(z + b * dz for z, dz in zip(self.dual, move.dual, strict=True)),
            self.multipliers + b * move.multipliers,
            self.bound + a * move.bound,
        )


def _start(programme: _Programme) -> _Point:
    """The uniform law, and multipliers that leave every dual slack positive."""
    (m, rows, columns), spread = programme.features.shape, programme.spread
    least = np.full(columns, 1 / (columns * (1 + spread / 2)))
    excess = np.tile(spread * least / 2, (rows, 1))
    multipliers = np.zeros((m, rows))
    multipliers[0] = 1 / rows
    bound, slack = 0.0, np.ones(0)
    if programme.minimax:
        multipliers[-1] = 1 / rows
        expected = programme.apply(least + excess)[-1]
        bound = 2 * float(expected.max()) + 0.1
        slack = bound - expected
    prices = programme.cost + programme.combine(multipliers)
    weights = np.tile(prices.mean(axis=0) / (2 * spread), (rows, 1))
    rest = programme.pooled(prices.sum(axis=0) - spread * weights.sum(axis=0))
    primal = (excess, spread * least - excess, least, slack)
    dual = (prices + weights, weights, rest, multipliers[-1] if programme.minimax else slack)
    return _Point(primal, dual, multipliers, bound)


def _advance(programme: _Programme, point: _Point) -> _Point:
    """One step of Mehrotra's predictor and corrector, with Gondzio's centrality correctors."""
    products = point.products()
    count = sum(product.size for product in products)
    mean = sum(float(product.sum()) for product in products) / count
    newton = _Newton(programme, point)
    move = newton.solve(tuple(-product for product in products))
    ahead = sum(float(product.sum()) for product in point.moved(move, *_longest(point, move)).products()) / count
    target = max((ahead / mean) ** 3, 1e-6) * mean
    wanted = tuple(target - product - change for product, change in zip(products, move.products(), strict=True))
    move = newton.solve(wanted)
    reach = _longest(point, move)
    for _ in range(_CORRECTORS):
        hoped = [min(1.0, 1.5 * length + 0.1) for length in reach]
        there = point.moved(move, *hoped).products()
        corrected = tuple(w + _towards(product, target) for w, product in zip(wanted, there, strict=True))
        other = newton.solve(corrected)
        longer = _longest(point, other)
        if sum(longer) < sum(reach) + 0.05 * (sum(hoped) - sum(reach)):
            break
        wanted, move, reach = corrected, other, longer
    return point.moved(move, *(min(1.0, _STEP * length) for length in reach))


class _Newton:
    """The linear system of one step.

    With D₁ = s/z_s and D₂ = u/z_u a change Δc of the prices c_ij = Σ_m η_mi F_mij changes the law by
    ΔP = −H Δc − a (Σ_i a Δc)/q, where H = D₁D₂/(D₁+D₂), a = 1 + (e^ε − 1) D₁/(D₁+D₂) and q_j is the stiffness of l_j;
    so the system for the multipliers is (a block for each row) + V V'/q with V = F·a.
    """

    def __init__(self, programme: _Programme, point: _Point) -> None:
        self.programme, self.point = programme, point
        (s, u, least, slack), (zs, zu, rest, prices) = point.primal, point.dual
        features, self.spread = programme.features, programme.spread
        d1, d2 = s / zs, u / zu
        self.fraction, self.give = d1 / (d1 + d2), d1 * d2 / (d1 + d2)
        self.tilt = 1 + self.spread * self.fraction
        self.stiffness = rest / least + self.spread**2 * programme.pooled((1 / (d1 + d2)).sum(axis=0))
        m, rows, columns = features.shape
        v = programme.pooled(features * self.tilt).reshape(m * rows, columns)
        matrix = (v / (self.stiffness * (2 if programme.mirrored else 1))) @ v.T
        blocks = np.einsum("mij,ij,nij->mni", features, self.give, features)
        if programme.minimax:
            blocks[-1, -1] += slack / prices
        matrix.reshape(m, rows, m, rows)[:, np.arange(rows), :, np.arange(rows)] += blocks.transpose(2, 0, 1)
        self.scale = np.sqrt(matrix.diagonal())
        matrix /= self.scale[:, None]
        matrix /= self.scale
        matrix[np.diag_indices_from(matrix)] += 1e-14
        if not np.isfinite(matrix).all():
            raise FloatingPointError
        self.matrix = matrix
        self.missing = programme.missing(point)
        self.losses = np.zeros((m, rows))
        if programme.minimax:
            self.losses[-1] = 1
            self.per_bound = self._multipliers(self.losses)

    def _multipliers(self, right: Floats) -> Floats:
        # Solved anew each time: the matrix comes close to singular, and an inverse would leave residuals.
        solved = np.linalg.solve(self.matrix, right.reshape(-1) / self.scale)
        return np.asarray(solved / self.scale).reshape(right.shape)

    def solve(self, wanted: Group) -> _Point:
        """The move after which, to first order, each product has changed by what is wanted."""
        (s, u, least, slack), (_, zu, _, prices) = self.point.primal, self.point.dual
        programme, spread = self.programme, self.spread
        pull = wanted[0] / s - wanted[1] / u
        load = wanted[2] / least + spread * programme.pooled((wanted[1] / u + self.fraction * pull).sum(axis=0))
        right = programme.apply(self.tilt * (load / self.stiffness) + self.give * pull) - self.missing
        bound = 0.0
        if programme.minimax:
            right[-1] += wanted[3] / prices
            multipliers = self._multipliers(right)
            lack = 1 - prices.sum()
            bound = float((multipliers[-1].sum() - lack) / self.per_bound[-1].sum())
            multipliers -= bound * self.per_bound
        else:
            multipliers = self._multipliers(right)
        change = programme.combine(multipliers)
        d_least = (load - programme.pooled((self.tilt * change).sum(axis=0))) / self.stiffness
        d_s = self.give * (pull - change) + spread * self.fraction * d_least
        d_u = spread * d_least - d_s
        d_zu = (wanted[1] - zu * d_u) / u
        d_rest = programme.pooled(change.sum(axis=0) - spread * d_zu.sum(axis=0))
        d_prices = multipliers[-1] if programme.minimax else slack
        d_slack = (wanted[3] - slack * d_prices) / prices
        return _Point((d_s, d_u, d_least, d_slack), (change + d_zu, d_zu, d_rest, d_prices), multipliers, bound)


def _longest(point: _Point, move: _Point) -> tuple[float, float]:
    """How far the primal and the dual variables can go before one of them reaches zero, at most 1."""

    def length(values: Group, steps: Group) -> float:
        fastest = max(float((-dx / x).max(initial=0.0)) for x, dx in zip(values, steps, strict=True))
        if not np.isfinite(fastest):
            raise FloatingPointError
        return 1.0 if fastest <= 1 else 1 / fastest

    return length(point.primal, move.primal), length(point.dual, move.dual)


def _towards(product: Floats, target: float) -> Floats:
    """What brings outlying products back within a factor of ten of the target."""
    low = np.maximum(0.1 * target - product, 0)
    high = np.minimum(10 * target - product, 0)
    return np.asarray(low + np.maximum(high, -10 * target))

"""The linear programmes of least loss, their proofs, and the way from floats to whole numbers that keep the promise.

Any guarantee, (ε, δ) or metric privacy, with what is known of the symmetry, is a programme for HiGHS:

    minimise t  subject to  Σ_j R_ij P_ij ≤ t,  Σ_j P_ij = 1,  P ≥ 0,
    P_ij − e^{ε_ik} P_kj ≤ z_ikj,  Σ_j z_ikj ≤ δ,  z ≥ 0        for every pair (i, k) of inputs

If a map of inputs and outputs keeps every loss, it turns a private law into a private law of the same error, and the
average over a group of such maps is no worse. So variables and constraints are taken once for each orbit.
With multipliers λ and y of the loss and privacy rows, weak duality gives, for any λ, y ≥ 0 with Σλ = 1 and no matter
how they were found,

    t ≥ Σ_i min_j (λ_i R_ij + Σ_k y_ikj − e^{ε_ki} y_kij) − δ Σ_ik max_j y_ikj,

which is evaluated in whole numbers: that is a proof.

At δ = 0 between all pairs of inputs there are closed forms, and `interior` solves the rest. The lower bound of every
ε-private mechanism's error comes from any guess of the dual solution, in whole numbers. For prices λ ≥ 0 of sum 1 over
the inputs and any numbers μ, put c_ij = λ_i R_ij − μ_i. Every law P satisfies
Σ_i λ_i Σ_j R_ij P_ij = Σ_i μ_i + Σ_ij c_ij P_ij, and in a column l_j ≤ P_ij ≤ e^ε l_j, so

    max_i Σ_j R_ij P_ij ≥ Σ_i μ_i − max_j (e^ε Σ_i (−c_ij)⁺ − Σ_i (c_ij)⁺)⁺        as Σ_j l_j ≤ 1.

With δ > 0 the weights above e^ε·min_k P_kj hold at most (K − 1)δ in each row; without them the same argument goes
through, and (K − 1)δ Σ_i μ_i⁺ is lost at most. Unbiased laws satisfy Σ_j (y_j − x_i) P_ij = 0 as well, and any multiple
ν_i of that may be added to c_ij.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dproof.certification.certify import decide
from dproof.errors import DproofError
from dproof.exact import exp_above, exp_below
from dproof.laws.divergence import hockey_stick
from dproof.laws.matrix import Matrix
from dproof.mechanisms.mechanism import Losses, Optimum
from dproof.optimality.interior import solve_pure
from dproof.spaces.space import Space

_SMALL = 4_000  # rows up to which the simplex method is the quicker one
_LARGEST_EPSILON = 20.0  # beyond it the coefficients are too large for floats; a law at this ε will do
_LARGEST_GAP = 5e-7  # relative gap that is near enough
_BITS = 80  # of the multipliers in exact arithmetic


@dataclass(frozen=True, slots=True, eq=False)
class Symmetry:
    """The orbits of a group: of pairs (input, output) by number, with one input and one ordered pair of inputs each."""

    orbits: NDArray[np.int64]  # inputs by outputs, numbered from 0
    inputs: tuple[int, ...]
    shares: tuple[int, ...]  # how many inputs each stands for
    pairs: tuple[tuple[int, int], ...]


def find_symmetry(
    inputs: Space,
    outputs: Space,
    losses: Losses,
    prior: NDArray[Any] | None,
    distances: Losses | None = None,
    neighbours: NDArray[np.bool_] | None = None,
) -> Symmetry:
    """The largest group that is known of a space: permutations and flips of items, a reflection, or none.

    Its pairs of inputs are those that are neighbours, all by default.
    """
    items = inputs.items if neighbours is None else None
    cube = items is not None and (outputs is inputs or outputs == inputs) and losses.name != "matrix"
    if items is not None and cube and (prior is None or bool((prior == prior[0]).all())):
        codes = np.arange(inputs.size)
        orbits = np.bitwise_count(codes[:, None] ^ codes).astype(np.int64)
        whole_cube = tuple((0, (1 << n) - 1) for n in range(1, len(items) + 1))
        return Symmetry(orbits, (0,), (inputs.size,), whole_cube)
    k, j = losses.shape
    numbers = np.arange(k * j).reshape(k, j)
    counted = np.ones((k, k), bool) if neighbours is None else neighbours
    ordered = ((i, k) for i, k in np.argwhere(counted).tolist() if i != k)
    # Whether turning inputs and outputs round keeps all losses, as on a line of even steps, and what else is given.
    squares = [x.whole for x in (losses, distances) if x is not None] + ([] if neighbours is None else [neighbours])
    mirrored = all((x == x[::-1, ::-1]).all() for x in squares)
    if not mirrored or (prior is not None and (prior != prior[::-1]).any()):
        return Symmetry(numbers, tuple(range(k)), (1,) * k, tuple(ordered))
    _, orbits = np.unique(np.minimum(numbers, numbers[::-1, ::-1]), return_inverse=True)
    half = tuple(range((k + 1) // 2))
    pairs = tuple(pair for pair in ordered if pair <= (k - 1 - pair[0], k - 1 - pair[1]))
    return Symmetry(orbits.reshape(k, j), half, tuple(1 if i == k - 1 - i else 2 for i in half), pairs)


@dataclass(frozen=True, slots=True, eq=False)
class Constraint:
    """An ordered pair of inputs, its ε, and the distinct pairs of orbits (P_ij, P_kj) with their number."""

    epsilon: Fraction
    above: NDArray[np.int64]
    below: NDArray[np.int64]
    counts: NDArray[np.int64]

    def odds(self, slack: float) -> float:
        """A little less than e^ε."""
        return 1 + float(np.expm1(min(float(self.epsilon), _LARGEST_EPSILON))) * (1 - slack)


@dataclass(frozen=True, slots=True, eq=False)
class Programme:
    """A design problem, folded by its symmetry."""

    losses: Losses
    symmetry: Symmetry
    constraints: Sequence[Constraint]
    delta: Fraction
    prior: NDArray[Any] | None = None  # fractions; None is minimax

    def solve(self, slack: float) -> tuple[NDArray[np.float64], Fraction]:
        """A law in floats that keeps `slack` away from the limits, and a proven lower bound of the optimum."""
        rows = 2 * len(self.symmetry.inputs) + sum(len(c.counts) + (self.delta > 0) for c in self.constraints)
        methods = [SIMPLEX] if rows <= _SMALL else [_INTERIOR, _INTERIOR | _CROSSOVER]
        for options in methods:
            values, multipliers = self._run(slack, options)
            law, bound = values[self.symmetry.orbits], self._bound(multipliers, slack)
            losses = (law * self.losses.floats).sum(axis=1)
            value = losses.max() if self.prior is None else float(self.prior @ losses)
            if value - float(bound) <= _LARGEST_GAP * value:
                break
        return law, bound

    def _prior(self) -> list[Fraction] | None:
        """The probability of all inputs that each input stands for."""
        if self.prior is None:
            return None
        shares = zip(self.symmetry.inputs, self.symmetry.shares, strict=True)
        return [self.prior[i] * share for i, share in shares]

    def _run(self, slack: float, options: dict[str, Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The value of each orbit, and the multiplier of each row; a ≤ row has one of at least 0."""
        inputs, orbits = np.array(self.symmetry.inputs), self.symmetry.orbits
        losses, prior = self.losses.floats[inputs], self._prior()
        scale = float(losses.max()) or 1.0
        count, delta = int(orbits.max()) + 1, float(self.delta)
        rows = LinearRows()
        rows.add(orbits[inputs], 1.0, 1.0, 1.0)
        loss_rows = rows.add(orbits[inputs], losses / scale, -np.inf, 0.0 if prior is None else np.inf)
        rows.extend(loss_rows, np.full(len(inputs), count), -1.0)
        column = count + 1
        for pair in self.constraints:
            odds = pair.odds(slack)
            limits = rows.add(pair.above[:, None], 1.0, -np.inf, 0.0)
            rows.extend(limits, pair.below, -odds)
            if delta:
                excess = column + np.arange(len(limits))
                rows.extend(limits, excess, -1.0)
                rows.add(excess[None, :], pair.counts[None, :], -np.inf, delta - slack * min(delta, 1 - delta))
                column += len(limits)
        costs = np.zeros(column)
        if prior is None:
            costs[count] = 1
        else:
            np.add.at(costs, orbits[inputs], np.array(prior, float)[:, None] * losses / scale)
        values, duals = rows.solve(costs, options)
        return values[:count], -scale * duals

    def _bound(self, duals: NDArray[np.float64], slack: float) -> Fraction:
        """The bound by weak duality (at the top of this module), in whole numbers over 2^bits · unit."""
        one, inputs = 1 << _BITS, np.array(self.symmetry.inputs)
        orbits, first = self.symmetry.orbits[inputs], 2 * len(inputs)
        lambdas = self._prior() or least_favourable(duals[first // 2 : first])
        share = lcm(*(price.denominator for price in lambdas))
        whole = np.zeros(int(self.symmetry.orbits.max()) + 1, object)
        np.add.at(whole, orbits, np.array([[int(p * share)] for p in lambdas], object) * self.losses.whole[inputs])
        # λ_i R_ij + Σ y − e y, summed over the orbit's places in its row
        prices = [Fraction(int(price), share * self.losses.unit) for price in whole]
        spent = Fraction(0)
        for pair in self.constraints:
            last = first + len(pair.counts)
            # The multipliers belong to odds a little smaller; scaled, they err where that matters least.
            odds = exp_above(pair.epsilon)
            scale = Fraction(pair.odds(slack)) / odds / one
            weights = [max(0, round(y * one)) * scale for y in duals[first:last].tolist()]
            first = last + (1 if self.delta else 0)
            for y, a, b in zip(weights, pair.above, pair.below, strict=True):
                if y:
                    prices[a] += y
                    prices[b] -= odds * y
            if self.delta:
                spent += max((y / int(n) for y, n in zip(weights, pair.counts, strict=True)), default=Fraction(0))
        means = [price / int(n) for price, n in zip(prices, np.bincount(orbits.reshape(-1)), strict=True)]
        order = sorted(range(len(means)), key=means.__getitem__)
        least = np.argsort(order)[orbits].min(axis=1)  # fractions are compared once, their ranks in every row
        bound = sum((means[order[rank]] for rank in least), Fraction(0))
        return max(bound - self.delta * spent, Fraction(0))


_OPTIONS: dict[str, Any] = {
    "output_flag": False,
    "primal_feasibility_tolerance": 1e-10,
    "dual_feasibility_tolerance": 1e-10,
    "ipm_optimality_tolerance": 1e-12,
}
SIMPLEX: dict[str, Any] = {"solver": "simplex"}
_INTERIOR: dict[str, Any] = {"solver": "ipm", "run_crossover": "off"}
_CROSSOVER: dict[str, Any] = {"run_crossover": "on"}  # slower, and right to more digits


def privacy_constraints(
    symmetry: Symmetry, pairs: Iterable[tuple[int, int]], epsilon: Fraction, distances: NDArray[Any] | None = None
) -> list[Constraint]:
    """The constraints between inputs: ε for every pair, or ε·ρ(i, k) where distances are given."""
    constraints = []
    for i, k in pairs:
        both, counts = np.unique(np.stack([symmetry.orbits[i], symmetry.orbits[k]]), axis=1, return_counts=True)
        differ = both[0] != both[1]
        scale = Fraction(1) if distances is None else distances[i, k]
        constraints.append(Constraint(epsilon * scale, both[0, differ], both[1, differ], counts[differ]))
    return constraints


def between(distances: NDArray[Any], i: int, k: int) -> bool:
    """Whether some point lies on a shortest way from i to k: pure metric privacy follows from the two parts."""
    detours = distances[i] + distances[k]
    detours[[i, k]] = distances[i, k] + 1
    return bool((detours == distances[i, k]).any())


class LinearRows:
    """Constraints as HiGHS wants them, several rows at a time."""

    def __init__(self) -> None:
        self.entries: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = []
        self.lower: list[float] = []
        self.upper: list[float] = []

    def add(self, columns: NDArray[Any], values: Any, lower: float, upper: float) -> NDArray[np.int64]:
        """A row for each row of columns, with Σ values·columns between the limits; the numbers of the new rows."""
        new = len(self.lower) + np.arange(len(columns))
        self.extend(np.broadcast_to(new[:, None], columns.shape).reshape(-1), columns.reshape(-1), values)
        self.lower += [lower] * len(new)
        self.upper += [upper] * len(new)
        return new

    def extend(self, rows: NDArray[Any], columns: NDArray[Any], values: Any) -> None:
        """More entries; what comes twice is added up."""
        self.entries.append((rows, columns, np.broadcast_to(np.reshape(values, -1), len(rows))))

    def solve(self, costs: NDArray[np.float64], options: dict[str, Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """The variables and the multipliers of the rows at least cost; a ≤ row has one of at most 0."""
        highspy: Any = import_module("highspy")  # quick, but not needed by most
        rows, columns, values = (np.concatenate(part) for part in zip(*self.entries, strict=True))
        places, inverse = np.unique(rows * len(costs) + columns, return_inverse=True)
        model: Any = highspy.HighsLp()
        model.num_row_, model.num_col_ = len(self.lower), len(costs)
        model.col_cost_, model.col_lower_ = costs, np.zeros(len(costs))
        model.col_upper_ = np.full(len(costs), np.inf)
        model.row_lower_, model.row_upper_ = np.array(self.lower), np.array(self.upper)
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = np.searchsorted(places, np.arange(len(self.lower) + 1) * len(costs))
        model.a_matrix_.index_, model.a_matrix_.value_ = places % len(costs), np.bincount(inverse, values)
        solver = highspy.Highs()
        for option, value in (_OPTIONS | options).items():
            solver.setOptionValue(option, value)
        solver.passModel(model)
        solver.run()
        if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            raise DproofError("the solver found no optimum; a coarser space would help")
        solution = solver.getSolution()
        return np.maximum(solution.col_value, 0), np.array(solution.row_dual)


# Pure privacy ---------------------------------------------------------------------------------------------------------

_LARGEST_ODDS = 1 << 50  # whole numbers of 62 bits tell no larger odds apart
_ONE = 1 << 64
_SHIFTS = 4

LossCounts = list[tuple[Fraction, int]]  # the losses that every point sees, rising, each with how often
Solution = tuple[Matrix, Fraction]  # a law that keeps the promise, and what no law can beat, which is proven


def view(losses: Losses) -> LossCounts | None:
    """The losses that every input and every output sees, each with how often; None where they see different ones."""
    by_input, by_output = np.sort(losses.whole, axis=1), np.sort(losses.whole, axis=0)
    same = (by_input == by_input[0]).all() and (by_output == by_output[:, :1]).all()
    if not same or losses.shape[0] != losses.shape[1]:
        return None
    values, counts = np.unique(by_input[0], return_counts=True)
    return [(Fraction(int(v), losses.unit), int(n)) for v, n in zip(values, counts, strict=True)]


def best_answers(losses: Losses, prior: NDArray[Any] | None) -> Solution:
    """Each input is answered by an output of least loss: what δ = 1 allows, or a space of one point.

    The optimum is max_i min_j R_ij, or with a prior the mean over i.
    """
    whole = np.zeros(losses.shape, np.int64)
    whole[np.arange(len(whole)), losses.whole.argmin(axis=1)] = 1
    least = losses.whole.min(axis=1)
    return Matrix(whole, 1), Fraction(least.max() if prior is None else prior @ least) / losses.unit


def free_answer(losses: Losses, prior: NDArray[Any] | None) -> Solution | None:
    """One output for all inputs, where it costs nothing: private whatever the promise, and the optimum is 0.

    None where every output costs something, under an input that counts.
    """
    costs = losses.whole if prior is None else losses.whole[(prior > 0).astype(bool)]
    free = np.flatnonzero(~costs.any(axis=0))
    if not len(free):
        return None
    whole = np.zeros(losses.shape, np.int64)
    whole[:, free[0]] = 1
    return Matrix(whole, 1), Fraction(0)


def ball_law(losses: Losses, seen: LossCounts, epsilon: Fraction) -> Solution:
    """The law of a space that looks the same from every point: two levels, with all near outputs on the higher.

    P_ij = e^ε·l for the n outputs nearest to i and l for the others, with the n of least error; for the discrete metric
    that is n = 1, randomised response. Why it is optimal: with equal prices λ_i = 1/K and levels μ_i = E/K the dual
    bound is E, because every output sees the same losses.

    >>> from dproof import Subsets
    >>> from dproof.mechanisms.mechanism import losses
    >>> sets = losses(Subsets(["Music", "Football", "Chess"]))
    >>> round(float(ball_law(sets, view(sets), Fraction(1))[1]), 7)
    1.1534121
    """
    error, radius, near = least_two_level(seen, exp_above(epsilon))
    odds, size = exp_below(epsilon), losses.shape[1]
    low = max(1, int(WHOLE / (odds * near + size - near)))
    high = min(int(low * odds), WHOLE // near)
    whole = np.where((losses.whole <= radius * losses.unit).astype(bool), high, low).astype(np.int64)
    return Matrix(whole, near * high + (size - near) * low), error


def least_two_level(seen: LossCounts, odds: Fraction) -> tuple[Fraction, Fraction, int]:
    """The least error of a law with e^ε·l on a ball and l outside, the radius of the ball, and the outputs in it.

    min_r (e Σ_{ρ ≤ r} ρ + Σ_{ρ > r} ρ) / (e #{ρ ≤ r} + #{ρ > r}), from the rising losses and how often each is seen.
    """
    size, total = sum(n for _, n in seen), sum(loss * n for loss, n in seen)
    laws, near, inner = [], 0, Fraction(0)
    for loss, count in seen:
        near, inner = near + count, inner + loss * count
        laws.append(((odds * inner + total - inner) / (odds * near + size - near), loss, near))
    return min(laws)


def spread(epsilon: Fraction) -> float:
    """e^ε − 1 as a float, from above but for rounding, and below 2⁵⁰: who takes it keeps a slack, and certifies."""
    return float(min(exp_above(epsilon), Fraction(_LARGEST_ODDS)) - 1)


def pure_law(
    losses: Losses, epsilon: Fraction, prior: NDArray[Any] | None, delta: Fraction = Fraction(0)
) -> tuple[NDArray[np.float64], Fraction]:
    """A law in floats, ε-private with a little to spare, and a proven lower bound for all (ε, δ)-private ones."""
    scale = float(losses.floats.max()) or 1.0
    floats = losses.floats / scale
    law, prices, (levels,) = solve_priced([np.ones_like(floats)], floats, spread(epsilon) * (1 - SLACK), prior)
    return law, pure_bound(exp_above(epsilon), losses, prices, -scale * levels, delta=delta)


def solve_priced(
    features: list[NDArray[Any]], losses: NDArray[Any], width: float, prior: NDArray[Any] | None
) -> tuple[NDArray[np.float64], list[Fraction], NDArray[np.float64]]:
    """The law in floats of least largest loss, or of least loss under a prior, with Σ_j features[m]_ij P_ij = 1 for the
    first feature and 0 for others; the prices λ of the inputs, and the multipliers of the features."""
    sums = (1, *(0 for _ in features[1:]))
    if prior is not None:
        law, found = solve_pure(np.stack(features), sums, losses * prior.astype(float)[:, None], width, minimax=False)
        return law, list(prior), found
    law, found = solve_pure(np.stack([*features, losses]), (*sums, 0), np.zeros_like(losses), width, minimax=True)
    return law, least_favourable(found[-1]), found[:-1]


def attained_optimum(losses: Losses, law: Matrix, prior: NDArray[Any] | None, bound: Fraction) -> Optimum:
    """The loss that a law attains at worst, or on average under a prior, beside what none can beat."""
    attained = losses.expected(law.rows, law.total)
    if prior is None:
        return Optimum(losses.name, max(attained), bound)
    return Optimum(f"{losses.name}, under the prior", Fraction(prior @ np.array(attained, object)), bound)


def least_favourable(prices: NDArray[np.float64]) -> list[Fraction]:
    """Non-negative prices of sum 1, near those a solver found."""
    positive = np.maximum(prices, 0)
    if not positive.any():
        positive = np.ones(len(prices))
    whole = [round(price * _ONE) for price in (positive / positive.sum()).tolist()]
    return [Fraction(price, sum(whole)) for price in whole]


def pure_bound(
    odds: Fraction,
    losses: Losses,
    prices: list[Fraction],
    levels: NDArray[np.float64],
    drift: tuple[NDArray[np.float64], NDArray[Any]] | None = None,
    delta: Fraction = Fraction(0),
) -> Fraction:
    """A lower bound of the error, for odds ≥ e^ε, prices λ, levels μ and a drift (ν, whole numbers y_j − x_i).

    >>> from dproof import Categories
    >>> from dproof.mechanisms.mechanism import losses
    >>> pair = losses(Categories(["yes", "no"]))
    >>> pure_bound(Fraction(3), pair, [Fraction(1, 2)] * 2, np.array([0.125, 0.125]))
    Fraction(1, 4)
    """
    share = lcm(*(price.denominator for price in prices))
    scale = share * losses.unit
    fine = max(1, (_ONE << 32) // scale)  # so that no digit of a float is lost
    weights = np.array([int(price * share) * fine for price in prices], object)
    unit = scale * fine
    mu = np.array([_whole(level, unit) for level in levels.tolist()], object)
    c = weights[:, None] * losses.whole - mu[:, None]
    if drift is not None:
        c = c - np.array([_whole(slope, unit) for slope in drift[0].tolist()], object)[:, None] * drift[1]
    a, b = odds.numerator, odds.denominator
    lost = 0
    for last in range(_SHIFTS, -1, -1):
        below = (c < 0).astype(bool)
        negative = np.where(below, -c, 0).sum(axis=0)
        over = a * negative - b * (c.sum(axis=0) + negative)
        worst = int(over.max())
        if worst <= 0 or last == 0:
            break
        # Lowering every μ_i by s lowers the excess of a column by s times its slope, at least.
        counts = below.sum(axis=0).tolist()
        shift = max(-(-x // (a * n + b * (len(mu) - n))) for x, n in zip(over, counts, strict=True))
        c, lost = c + shift, lost + shift
    lowered = [int(m) - lost for m in mu]
    bound = sum(lowered) - Fraction(max(worst, 0), b) - (len(mu) - 1) * delta * sum(max(m, 0) for m in lowered)
    return max(bound / unit, Fraction(0))


def _whole(value: float, unit: int) -> int:
    """⌊value · unit⌋, with all the digits that the float has."""
    numerator, denominator = value.as_integer_ratio()
    return numerator * unit // denominator


# From floats to whole numbers -----------------------------------------------------------------------------------------

WHOLE = 1 << 61
SLACK = 1e-9  # what a programme keeps away from its limits, relatively; rounding needs far less
_MIXTURES = (0.0, *(2.0**-n for n in range(44, 0, -2)), 1.0)

Edge = tuple[int, int, Fraction]  # two inputs i, k and odds that P_ij ≤ odds · P_kj must keep


def certified_law(law: NDArray[np.float64], epsilon: Fraction, delta: Fraction) -> Matrix:
    """Whole numbers near the law for which P ≤ e^ε P' + δ is decided, between all pairs of inputs.

    >>> certified_law(np.array([[0.75, 0.25], [0.25, 0.75]]), Fraction(11, 10), Fraction(0)).total == WHOLE
    True
    """
    odds = exp_below(epsilon)

    def lift(whole: NDArray[np.int64]) -> None:
        # A column's least weight must not lie below its largest over the odds; raising it costs next to nothing.
        least = [-(-int(most) * odds.denominator // odds.numerator) for most in whole.max(axis=0)]
        np.maximum(whole, np.array(least, np.int64), out=whole)

    keep = lift if delta == 0 else (lambda whole: None)
    return _round(law, keep, lambda family: decide(family, epsilon, delta).holds)


def certified_pairs_law(law: NDArray[np.float64], edges: Sequence[Edge], delta: Fraction) -> Matrix:
    """Whole numbers near the law that keep the odds of given pairs of inputs: metric privacy, or neighbours."""

    def lift(whole: NDArray[np.int64]) -> None:
        changed = delta == 0
        while changed:
            changed = False
            for i, k, odds in edges:
                least = np.array([-(-int(w) * odds.denominator // odds.numerator) for w in whole[i]], np.int64)
                changed |= bool((least > whole[k]).any())
                np.maximum(whole[k], least, out=whole[k])

    def holds(family: Matrix) -> bool:
        excesses = (hockey_stick(family.rows[i], family.rows[k], family.total, odds) for i, k, odds in edges)
        return all(excess <= delta for excess in excesses)

    return _round(law, lift, holds)


def _round(law: NDArray[np.float64], lift: Callable[[NDArray[Any]], None], holds: Callable[[Matrix], bool]) -> Matrix:
    """Round and lift; where that breaks the promise, mix with a law that is the same for all inputs, ever more."""
    law = law / law.sum(axis=1, keepdims=True)
    common = law.mean(axis=0)
    for mixture in _MIXTURES:
        whole = np.rint(((1 - mixture) * law + mixture * common) * WHOLE).astype(np.int64)
        lift(whole)
        largest = whole.argmax(axis=1)
        whole[np.arange(len(whole)), largest] += WHOLE - whole.sum(axis=1)
        if (whole >= 0).all() and holds(family := Matrix(whole, WHOLE)):  # a law far off may be lifted beyond its total
            return family
    raise DproofError("the law could not be rounded to whole numbers; epsilon or delta is too small to matter")

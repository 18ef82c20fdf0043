"""The noise of measured tables: which is best, and what measuring all of them together costs.

The variances of all that is asked are sums over residuals, and the noise is chosen to make them least. With δ > 0
residuals get discrete Gaussian noise; with δ = 0 plain tables of counts, and contrasts, get integer Laplace noise.
Curves are added up as whole numbers and get either, or K-norm noise: the plan alone decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dproof.central.workload import (
    Added,
    Domain,
    Residual,
    cell_shares,
    largest_loss,
    maximal,
    parts,
    residual_variances,
)
from dproof.curves.lattice import CurveLattice, Expansion, Split
from dproof.curves.noise import FEW_ROWS, least_noise
from dproof.errors import PlanError
from dproof.exact import exp_above, exp_below, least, root_above
from dproof.laws.divergence import normal_delta
from dproof.laws.gaussian import Gaussian, GaussianSum, gaussian, gaussian_sum
from dproof.laws.k_norm import MOST_TERMS_L2, KNorm, k_norm
from dproof.laws.laplace import TwoSided, two_sided
from dproof.plans.release_table import Objective
from dproof.privacy import Neighbours, Privacy

Floats = NDArray[np.float64]
Costs: TypeAlias = Mapping[Residual, float]  # the variance of an answer for each unit of the variance of a residual
_WEIGHT_ROUNDS = 400  # in which the weights of answers are moved towards those with the largest variances
_NEAR = 1e-3  # of the largest variance to its lower bound, at which that ends


def cell_costs(domain: Domain, asked: Residual) -> dict[Residual, float]:
    """The costs of one cell of a table of counts or, in units of half the range, of sums by a table."""
    unit = domain.added(asked.number).unit
    return {Residual(part, asked.number): cost / unit for part, cost in cell_shares(domain.sizes, asked.table).items()}


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Answers with their weights: the weighed variance of each is Σ cost · variance over some residuals."""

    residuals: tuple[Residual, ...]
    answer: NDArray[np.int64]  # the answer, the residual and the cost of every entry
    residual: NDArray[np.int64]
    cost: Floats
    count: int

    @classmethod
    def of(cls, weighed: Sequence[tuple[float, Costs]], residuals: Sequence[Residual]) -> Answers:
        """The answers with these weights and costs; what is not among the residuals has no variance."""
        place = {residual: n for n, residual in enumerate(residuals)}
        entries = [
            (n, place[residual], weight * cost)
            for n, (weight, costs) in enumerate(weighed)
            for residual, cost in costs.items()
            if residual in place
        ]
        answer, residual, cost = np.array(entries, np.float64).reshape(-1, 3).T
        return cls(tuple(residuals), answer.astype(np.int64), residual.astype(np.int64), cost, len(weighed))

    def costs(self, factors: Floats) -> Floats:
        """Of each residual, the costs of all answers, each times its factor."""
        return np.asarray(np.bincount(self.residual, self.cost * factors[self.answer], len(self.residuals)), float)

    def variances(self, residuals: Floats) -> Floats:
        """The weighed variance of each answer."""
        return np.asarray(np.bincount(self.answer, self.cost * residuals[self.residual], self.count), float)

    def value(self, residuals: Floats, objective: Objective) -> float:
        """What shall be least."""
        variances = self.variances(residuals)
        return float(variances.sum() if objective == "total" else variances.max(initial=0.0))


def best(answers: Answers, objective: Objective, solve: Callable[[Floats], Floats]) -> Floats:
    """The costs of residuals for which `solve` gives the variances that make the total, or the largest, least.

    `solve` gives the variances of residuals that make Σ cost · variance least at a fixed loss. With f(λ) that least sum
    for the costs Σ λ · cost of the answers, and Σ λ = 1, the least possible largest variance is the greatest f(λ): more
    weight goes to answers whose variance is larger, until the largest is no longer above their mean. With the power 3/2
    of the variance no step makes f smaller, for Gaussian noise (Cauchy) as for Laplace noise (Hölder).
    """
    factors = np.ones(answers.count)
    if objective == "total" or not answers.count:
        return answers.costs(factors)
    factors /= answers.count
    least, chosen = np.inf, answers.costs(factors)
    for _ in range(_WEIGHT_ROUNDS):
        costs = answers.costs(factors)
        variances = answers.variances(solve(costs))
        if variances.max() < least:
            least, chosen = float(variances.max()), costs
        if variances.max() <= (1 + _NEAR) * float(factors @ variances):
            break
        factors = factors * (variances / variances.max()) ** 1.5
        factors /= factors.sum()
    return chosen


def residual_losses(domain: Domain, residuals: Sequence[Residual]) -> Floats:
    """The loss of each residual for each unit of 1/2s: Δ²/Πk² under add-remove."""
    return np.array([domain.norm(one) / domain.cells(one.table) ** 2 for one in residuals])


def shape(domain: Domain, answers: Answers, objective: Objective) -> dict[Residual, float]:
    """The variances of residuals, up to one factor, that make the total or the largest variance of answers least.

    With c the cost of a residual and p its loss for each unit of 1/2s, the least Σ cs at a given Σ p/2s has s = √(p/c).
    Xiao, He, Zhang, Kifer 2023.
    """
    losses = residual_losses(domain, answers.residuals)

    def solve(costs: Floats) -> Floats:
        return np.asarray(np.sqrt(losses / costs) * np.sqrt(losses * costs).sum())  # at Σ p/s = 1

    found = solve(best(answers, objective, solve)) if answers.residuals else np.zeros(0)
    return dict(zip(answers.residuals, found.tolist(), strict=True))


def combined_variances(
    sizes: Sequence[int], variances: Mapping[Residual, float], residuals: Sequence[Residual], *, plain: bool
) -> Floats:
    """The variance of each residual, told by measurements whose numbers have these variances."""
    precisions = dict.fromkeys(residuals, 0.0)
    for measurement, variance in variances.items():
        for part, factor in residual_variances(sizes, measurement, plain).items():
            if (residual := Residual(part, measurement.number)) in precisions:  # the number of rows may be known
                precisions[residual] += 1 / (factor * variance)
    return 1 / np.array([precisions[residual] for residual in residuals])


_SMOOTH = 4  # τ²: of a discrete Gaussian's variance, the part that hides where the lattice lies
# κ ≥ ln((1 + η)/(1 − η)) with η = 2 Σ_j exp(−2π²τ²j²) < 2^-112 at τ = 2, and the ripple of sums of draws.
_RIPPLE = Fraction(1, 1 << 104)
_CUT = Fraction(1, 1 << 64)  # how far what is drawn may lie from the ideal law, in total variation
_LARGEST = Fraction(16)  # ε beyond which its δ is no smaller: e^ε times what is cut off would weigh more
_LEAST = 25  # γ² of what is drawn, below which the lattice shows
_FINE = 400  # γ² of what is drawn, from which the smoothing costs no more than a hundredth of it
_FINEST = 64  # parts that a whole number is divided into at most
_TABLE = 1 << 18  # γ² up to which one table holds the law
_DIGITS = 20  # bits of a γ², and of what a step may cost
_MOST = Fraction(1 << 90)  # the largest factor of a shape that is tried


@lru_cache(maxsize=1024)
def noise_law(square: Fraction) -> Gaussian | GaussianSum:
    """The law of the noise that is drawn: N_Z(0, γ²) but for what `_RIPPLE` and `_CUT` charge."""
    if square < _LEAST:
        raise PlanError("the noise would be too narrow to be charged as Gaussian noise: ask for a smaller epsilon")
    if square > _TABLE:
        return gaussian_sum(square)
    law = gaussian(square)
    if law.unit != 1 or law.distance > _CUT:
        raise AssertionError("a table must hold the discrete Gaussian law itself")
    return law


def parts_of(square: Fraction) -> int:
    """Into how many parts a whole number is divided, so that a lattice of these is fine beside noise with this γ².

    A number v is measured as parts · v with noise of parts² · γ², all in whole numbers.

    >>> parts_of(Fraction(400)), parts_of(Fraction(2))
    (1, 16)
    """
    parts = 1
    while parts < _FINEST and square * parts**2 < _FINE:
        parts *= 2
    return parts


def delta(
    domain: Domain,
    squares: Mapping[Residual, Fraction],
    epsilon: Fraction,
    neighbours: Neighbours,
    persons_rows: int = 1,
    *,
    in_parts: bool = True,
) -> Fraction:
    """An upper bound of δ at ε, when every number of each residual gets independent noise with that γ².

    N_Z(0, γ²) is, pointwise within a factor e^(±κ), what becomes of N(0, γ² − τ²) when a point c of it is replaced by a
    draw of N_Z(c, τ²): completing the square leaves Σ_j exp(−(j − c)²/2τ²), which by Poisson's summation hardly depends
    on c. So all N numbers together are within e^(±Nκ) of a post-processing of Gaussian noise, whose profile at distance
    μ is exact (Balle and Wang 2018); μ² = max Σ ‖shift‖²/(γ² − τ²). What the tables cut off is charged in full.

    Where a number is measured in parts, as it is unless `in_parts` says otherwise, τ is so many parts of a whole one.
    A person with r rows moves every number r times as far at most.
    """
    return _delta_by_noise(domain, squares, epsilon, neighbours, persons_rows, in_parts)(squares)


def _delta_by_noise(
    domain: Domain,
    residuals: Iterable[Residual],
    epsilon: Fraction,
    neighbours: Neighbours,
    persons_rows: int,
    in_parts: bool,
) -> Callable[[Mapping[Residual, Fraction]], Fraction]:
    """The bound of δ at ε for any γ² of these residuals: what their ripple costs, and what is cut off, is the same."""
    epsilon, numbers = min(epsilon, _LARGEST), sum(map(domain.count, residuals))
    slack = 2 * numbers * _RIPPLE
    factor, cut = exp_above(slack), 4 * numbers * (1 + exp_above(epsilon)) * _CUT

    def bound(squares: Mapping[Residual, Fraction]) -> Fraction:
        smooth = {r: Fraction(_SMOOTH, parts_of(s) ** 2 if in_parts else 1) for r, s in squares.items()}
        loss = largest_loss(domain, {r: 1 / (square - smooth[r]) for r, square in squares.items()}, neighbours)
        distance = root_above(loss * persons_rows**2)
        return min(Fraction(1), factor * normal_delta(distance, epsilon - 2 * slack) + cut)

    return bound


def calibrate(
    domain: Domain,
    shape: Mapping[Residual, float],
    privacy: Privacy,
    persons_rows: int = 1,
    *,
    in_parts: bool = True,
) -> dict[Residual, Fraction]:
    """The least noise of this shape that keeps the promise: γ² of each residual, rounded up to 20 bits.

    `shape` has the variances of residuals up to a factor; what is returned has itself been found to do.
    """
    lowest = Fraction(_FINE, _FINEST**2) if in_parts else Fraction(_LEAST)
    if not privacy.delta:
        raise PlanError("Gaussian noise needs delta above 0")

    wide = {r: Fraction(s) * domain.cells(r.table) ** 2 for r, s in shape.items()}
    # Factors are 1/μ² by this unit, so where their search begins and ends does not depend on the units of the shape.
    unit = largest_loss(domain, {r: 1 / square for r, square in wide.items()}, privacy.neighbours)

    bound = _delta_by_noise(domain, wide, privacy.epsilon, privacy.neighbours, persons_rows, in_parts)

    def squares(factor: Fraction) -> dict[Residual, Fraction]:
        return {r: -_rounded_down(-max(square * unit * factor, lowest)) for r, square in wide.items()}

    def good(factor: Fraction) -> bool:
        return bound(squares(factor)) <= privacy.delta

    if not good(_MOST):
        raise PlanError("no noise that can be drawn keeps this promise: allow a larger epsilon or delta")
    return squares(least(good, Fraction(1)))


def _rounded_down(value: Fraction) -> Fraction:
    """A fraction of 20 bits, not above this one."""
    scale = Fraction(2) ** (_DIGITS - (value.numerator.bit_length() - value.denominator.bit_length()))
    return Fraction(value * scale // 1) / scale


_SLACK = Fraction(1, 1 << 40)  # of ε, left for the rounding of the largest change of contrasts
_ROUNDS = 12  # in which the split is improved


@lru_cache(maxsize=1024)
def laplace_law(step: Fraction) -> TwoSided:
    """The law of the noise on each number, of which a shift by one step costs this ε at most."""
    return two_sided(exp_below(step))


def measured_tables(domain: Domain, tables: Sequence[tuple[int, ...]], *, contrasts: bool) -> list[Residual]:
    """What is measured to tell these tables of counts: the largest ones or, of those whose columns all have two values,
    the contrast of every table within them.

    >>> [one.table for one in measured_tables(Domain((2, 2, 3), {}), [(0, 1), (1, 2)], contrasts=True)]
    [(1, 2), (), (0,), (1,), (0, 1)]
    """
    largest = maximal(tables)
    pairs = [table for table in largest if contrasts and table and all(domain.sizes[i] == 2 for i in table)]
    plain = [Residual(table) for table in largest if table not in pairs]
    return [*plain, *(Residual(table, None, True) for table in parts(pairs))]


def steps(domain: Domain, table: Residual, neighbours: Neighbours, persons_rows: int) -> int:
    """How many steps a person moves a table at most, over all its cells: one for a row that comes or goes.

    >>> steps(Domain((2,), {}), Residual((0,)), "change-one", 3)
    6
    """
    return persons_rows * domain.added(table.number).steps * (1 if neighbours == "add-remove" else 2)


def spent(domain: Domain, costs: Mapping[Residual, Fraction], neighbours: Neighbours, persons_rows: int) -> Fraction:
    """The ε of measurements of which a step costs so much each, for a person.

    A row that comes or goes moves every contrast by one step. One that is replaced by another moves a contrast by two
    if they differ on an odd number of its columns, else not at all: with k = 2 this is Δ²_A(S)/2^(|A|+1). Where the
    number of rows is measured by itself, a row may also be replaced by none.
    """
    added = sum((steps(domain, one, "add-remove", 1) * cost for one, cost in costs.items()), Fraction(0))
    if neighbours == "add-remove":
        return persons_rows * added
    plain = sum((steps(domain, m, neighbours, 1) * cost for m, cost in costs.items() if not m.contrast), Fraction(0))
    contrasts = {Residual(m.table): cost / 2 ** (len(m.table) + 1) for m, cost in costs.items() if m.contrast}
    contrasts.pop(Residual(()), None)
    largest = max(contrasts.values(), default=Fraction(1))  # losses are rounded up to parts of 1, not of a small ε
    changed = plain + largest * largest_loss(domain, {m: c / largest for m, c in contrasts.items()}, neighbours)
    return persons_rows * (max(added, changed) if Residual((), None, True) in costs else changed)


def split(
    domain: Domain,
    measurements: Sequence[Residual],
    answers: Answers,
    privacy: Privacy,
    persons_rows: int = 1,
    objective: Objective = "total",
) -> dict[Residual, Fraction]:
    """What a step of each measurement may cost, such that all together cost ε, rounded down.

    The total, or the largest, variance of the answers is least, or nearly: the variance of a number is about 2/cost²,
    times the spread of its noise.
    """
    moved = np.array([float(steps(domain, one, privacy.neighbours, 1)) for one in measurements])
    places = {residual: n for n, residual in enumerate(answers.residuals)}
    entries = [
        (n, places[Residual(part, one.number)], factor * domain.added(one.number).spread)
        for n, one in enumerate(measurements)
        for part, factor in residual_variances(domain.sizes, one, True).items()
        if Residual(part, one.number) in places
    ]
    *places_of, factors = np.array(entries, np.float64).reshape(-1, 3).T
    measurement, residual = (column.astype(np.int64) for column in places_of)

    def improved(costs: Floats) -> tuple[Floats, Floats]:
        """What a step of each measurement shall cost for these costs of residuals, and the variances of these.

        At the optimum a step costs ∝ (w/steps)^(1/3), with w the derivative of the total by the measurement's variance.
        """
        shares, least, kept = 1 / (moved * len(moved)), np.inf, (moved, costs)
        for _ in range(_ROUNDS):
            precisions = shares[measurement] ** 2 / (2 * factors)
            variances = 1 / np.bincount(residual, precisions, len(costs))
            if float(costs @ variances) < least:
                least, kept = float(costs @ variances), (shares, variances)
            weights = np.bincount(
                measurement, (costs * variances**2)[residual] * precisions * shares[measurement] ** 2 / 2, len(moved)
            )
            wanted = np.cbrt(weights / moved)
            shares = np.sqrt(shares * wanted / (moved @ wanted))
            shares = shares / (moved @ shares)
        return kept

    shape = improved(best(answers, objective, lambda costs: improved(costs)[1]))[0]
    exact = {one: Fraction(float(cost)) for one, cost in zip(measurements, shape, strict=True)}
    unit = privacy.epsilon / spent(domain, exact, privacy.neighbours, persons_rows)
    if any(one.contrast for one in measurements):
        unit *= 1 - _SLACK
    return {one: _rounded_down(cost * unit) for one, cost in exact.items()}


@lru_cache(maxsize=64)
def lattice_of(expansion: Expansion, privacy: Privacy) -> CurveLattice:
    """The lattice on which the mean of 1,000 curves would have the least error, were nothing else measured.

    The noise of all measurements is chosen together, and needs to know the lattices first. So of the expansions that
    the plan allows that one is taken which would be best with all of the promise, were there no lattice.
    """
    splits: tuple[Split, ...] = ("gaussian",) if privacy.delta else ("k_norm",)

    def foreseen(lattice: CurveLattice, _: Split) -> _ForeseenNoise:
        added = added_curve(lattice)
        if privacy.delta:
            return _ForeseenNoise(_normal_deviation(privacy) ** 2 * added.square)
        return _ForeseenNoise(2 * added.spread * (added.steps / float(privacy.epsilon)) ** 2)

    return least_noise(expansion.present or expansion, splits, foreseen, Fraction(1, FEW_ROWS**2))[0]


class _ForeseenNoise(NamedTuple):
    """The noise that a sum of curves would have with all of the promise."""

    variance: float


@lru_cache(maxsize=64)
def _normal_deviation(privacy: Privacy) -> float:
    """The standard deviation of normal noise that hides a move by 1."""
    return float(least(lambda scale: normal_delta(1 / scale, privacy.epsilon) <= privacy.delta, Fraction(1)))


def has_k_norm(lattice: CurveLattice) -> bool:
    """Whether noise by the norm of the region can be drawn; in a ball of many terms it cannot."""
    return lattice.ball == "linf" or lattice.terms <= MOST_TERMS_L2


def pure_law(lattice: CurveLattice, cost: Fraction) -> KNorm | TwoSided:
    """The noise with δ = 0 on the vector of each cell: K-norm noise, of which a curve that comes or goes costs so much;
    or Laplace noise on each number, of which a step does."""
    if not has_k_norm(lattice):
        return laplace_law(cost)
    return k_norm(lattice.ball, lattice.terms, lattice.size("linf", "add-remove"), cost)


def added_curve(lattice: CurveLattice) -> Added:
    """What a curve adds to a sum: a lattice vector z with |z|² at most that of the region.

    For noise by the norm of the region it is one step, else |z|₁ steps. With T from a gamma law with k + 1 as its shape
    K-norm noise is even on a cube with sides of 2ST/ε, or in a ball with the radius ST/ε; S is that of the region.

    Its unit: the variance of a coefficient at which a grid point, on average over the grid, has the variance of half
    the range from low to high.
    """
    k, size = lattice.terms, lattice.size("linf", "add-remove")
    steps, spread = lattice.size("l1", "add-remove"), 1.0
    if has_k_norm(lattice):
        steps, spread = 1, size**2 * (k + 1) / 2 * ((k + 2) / 3 if lattice.ball == "linf" else 1)
    half = float(lattice.space.high - lattice.space.low) / 2
    unit = half**2 / float(np.mean(variances_at_points(lattice)))
    return Added(k, lattice.size("l2", "add-remove"), steps, unit, spread)


def variances_at_points(lattice: CurveLattice) -> Floats:
    """The variance at each grid point of a sum of curves whose coefficients have the variance 1, each by itself."""
    at_points = (lattice.scales[:, None] * lattice.functions(lattice.space.times)) ** 2
    return np.asarray(at_points.sum(axis=0))
